"""The classes of the page's questions, by how much of the server each may take (``admission``)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from workbench.app.ui.streams import RUNS_AT_ONCE


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Share:
    """The limits of one class of questions. Two classes with equal limits have separate queues."""

    #: The most questions answered at a time, of all addresses and of each one.
    at_once: int
    each_at_once: int
    #: The most questions that wait to be begun, of all addresses and of each one; one more is
    #: answered "busy".
    waiting: int
    each_waiting: int
    #: Seconds after which a waiting question is answered "busy".
    patience: float = 20.0
    #: CPU seconds after which a question is paused, so that others have their turn.
    slice: float = math.inf
    #: The most paused questions; one more is answered "busy".
    paused: int = 0


#: Questions that a visitor expects to be answered while they type.
LIGHT = Share(at_once=3, each_at_once=2, waiting=128, each_waiting=32, slice=0.05, paused=24)

#: Questions that may take all of their time budget: pictures, advice, samples, exports.
HEAVY = Share(at_once=2, each_at_once=1, waiting=64, each_waiting=16, slice=0.1, paused=12)

#: Questions to the model, which may have to be loaded first.
MODEL = Share(at_once=4, each_at_once=2, waiting=64, each_waiting=8, patience=60.0)

#: Files of results, each of which a separate process reads.
READING = Share(at_once=1, each_at_once=1, waiting=16, each_waiting=2, patience=120.0)

#: Audits of engines, each in a separate process that may take more than a minute.
AUDIT = Share(at_once=1, each_at_once=1, waiting=16, each_waiting=2, patience=120.0)

#: Runs, whose tokens are computed in shared forward passes.
RUN = Share(at_once=RUNS_AT_ONCE, each_at_once=36, waiting=200, each_waiting=64, patience=300.0)

#: Comparisons, each of many runs.
COMPARISON = Share(at_once=1, each_at_once=1, waiting=32, each_waiting=4, patience=600.0)
