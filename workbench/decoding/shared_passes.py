"""Continuous batching: forward passes that several contexts share.

``run_together`` runs the passes that one thread waits for; a model knows how they share one.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from workbench.base.errors import ModelError
from workbench.decoding.candidates import milliseconds_since
from workbench.decoding.model import ForwardPass, Session, SharedPasses, TimedLogits

#: The most contexts that share a pass.
MAX_ROWS = 64


def run_together(passes: Sequence[ForwardPass]) -> list[TimedLogits | ModelError]:
    """Run forward passes, those of one model's sessions together if they can be shared.

    Each result is that of ``Session.score`` with the milliseconds of its pass, or its error.
    """
    shared: dict[SharedPasses, list[int]] = {}
    by_index: dict[int, TimedLogits | ModelError] = {}
    for index, forward_pass in enumerate(passes):
        model = shared_passes_of(forward_pass.session)
        if model is not None:
            shared.setdefault(model, []).append(index)
            continue
        started = time.perf_counter()
        try:
            rows = forward_pass.session.score(forward_pass.token_ids, forward_pass.last)
            by_index[index] = rows, milliseconds_since(started)
        except ModelError as error:
            by_index[index] = error
    for model, indices in shared.items():
        started = time.perf_counter()
        results = model.score([passes[index] for index in indices])
        ms = milliseconds_since(started)
        for index, result in zip(indices, results, strict=True):
            by_index[index] = result if isinstance(result, ModelError) else (result, ms)
    return [by_index[index] for index in range(len(passes))]


def shared_passes_of(session: Session) -> SharedPasses | None:
    """What runs a session's passes with those of other sessions; None if they are run alone."""
    passes: SharedPasses | None = getattr(session, "shared_passes", None)
    return passes
