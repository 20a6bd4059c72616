"""Experiment: a table of a paper as work that can be interrupted, and a section that tells it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.decoding.model import LanguageModel
from workbench.decoding.sampling import Sampling
from workbench.evaluate.compare import Ended, Failed, Run, followed
from workbench.evaluate.contenders import Prepared
from workbench.evaluate.measures import Measures
from workbench.grammar import Grammar

#: What a unit of work comes to: plain values, as JSON keeps them.
Record = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much of it is done."""

    name: str
    #: Questions whose answers are checked.
    questions: int
    #: Runs of each method on each task whose speed is measured.
    repetitions: int
    #: Repetitions of what takes milliseconds.
    timings: int


QUICK = Size(name="quick", questions=10, repetitions=5, timings=3)
FULL = Size(name="full", questions=50, repetitions=15, timings=10)


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """What an experiment is done with."""

    model: LanguageModel
    size: Size
    #: Asked now and then; True ends the unit under way with ``Stopped``.
    stop: Callable[[], bool]


class Stopped(Exception):  # noqa: N818  # not an error: somebody asked
    """The unit under way was given up; nothing of it is kept."""


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """A piece of an experiment whose result is kept: seconds of work."""

    #: The same in every run of this size; what is done under it is not done again.
    key: str
    work: Callable[[Setting], Record]


@dataclass(frozen=True, slots=True, eq=False)
class Experiment:
    """A table or figure of a paper on the model at hand."""

    name: str
    title: str
    #: Paper and place.
    source: str
    units: Callable[[Size], Sequence[Unit]]
    #: The records by key, some of which may be missing → Markdown.
    section: Callable[[Mapping[str, Record]], str]


def finished(
    setting: Setting, run: Run, prepared: Prepared, grammar: Grammar, sampling: Sampling, most: int
) -> Measures:
    """The measures of one run to its end, steps forgotten; ``most`` tokens.

    Raises: Stopped; WorkbenchError of a run that could not be.
    """
    for event in followed(
        run, prepared, grammar, sampling, max_tokens=most, top=0, stop=setting.stop
    ):
        if isinstance(event, Failed):
            raise event.error
        if isinstance(event, Ended) and not setting.stop():
            return event.measures
    raise Stopped
