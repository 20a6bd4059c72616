"""A run of the model, as a stream of records: in comes a request, out come the page's records."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from typing import Any

from workbench.constraint.protocol import Constraint
from workbench.decoding.generate import generate
from workbench.decoding.model import LanguageModel
from workbench.errors import WorkbenchError
from workbench.pipeline import Compiled
from workbench.ui.follow import Follower
from workbench.ui.handlers import Handlers
from workbench.ui.records import Record, growing, step_record, stop_record
from workbench.ui.requests import RunRequest

_log = logging.getLogger(__name__)

#: Candidates shown of each token.
TOP = 8


def run_lines(handlers: Handlers, sent: dict[str, Any]) -> Iterator[str]:
    """The lines of a run so far, longer and longer. What goes wrong is its last line."""
    return growing(run_records(handlers, sent))


def run_records(handlers: Handlers, sent: dict[str, Any]) -> Iterator[Record]:
    """The records of a run: ``head``, ``status``, ``start``, steps, then ``stop`` or ``error``."""
    yield {"k": "head", "run": str(sent.get("run", ""))[:64]}
    try:
        yield from _records(handlers.with_model(sent), RunRequest.of(sent))
    except WorkbenchError as error:
        yield {"k": "error", "message": error.message, "hint": error.hint}
    except Exception as error:
        # a fault of ours: the page must hear of it, or it would wait for ever
        _log.exception("a run failed")
        yield {
            "k": "error",
            "message": f"a fault of the workbench itself ({type(error).__name__})",
            "hint": "the log says more",
        }


def _records(handlers: Handlers, request: RunRequest) -> Iterator[Record]:
    asked = request.grammar
    compiled = handlers.pipeline.compile(asked.text, asked.notation, asked.start)
    if not handlers.room.is_loaded:
        yield {"k": "status", "text": "loading the model, a few seconds the first time…"}
    model = handlers.room.model()
    constraint = compiled.constraint(model.vocabulary, request.method)
    yield {"k": "start", "model": model.name}
    yield from steps(model, constraint, compiled, request, lambda: handlers.is_stopped(request.run))


def steps(
    model: LanguageModel,
    constraint: Constraint,
    compiled: Compiled,
    request: RunRequest,
    stop: Callable[[], bool],
) -> Iterator[Record]:
    """A record for every token, then the one that says why it ended."""
    follower = Follower(compiled)
    for token_id in request.prefix:
        follower.take(model.vocabulary.tokens[token_id] or b"")
    generation = generate(
        model,
        constraint,
        request.prompt,
        request.sampling,
        max_tokens=request.max_tokens,
        top=TOP,
        prefix=request.prefix,
        stop=stop,
    )
    started = time.perf_counter()
    for step in generation:
        yield step_record(step, follower.take(step.token), model.vocabulary)
    yield stop_record(generation.trace, 1000 * (time.perf_counter() - started))
