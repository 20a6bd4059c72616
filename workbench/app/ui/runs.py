"""Runs the model and streams its steps; answers about one token.

Every question names the whole run by its prompt and its tokens, so no visitor's data is kept
here; what the model has read is cached (``decoding.sessions``), for one question at a time.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from workbench.analysis.run_tracing import Follower, circle
from workbench.app.pipeline import Compiled
from workbench.app.ui import wire
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.pictures import sentence
from workbench.app.ui.records import (
    Record,
    ended_record,
    full_record,
    label_record,
    proper_record,
    searched_record,
    step_record,
    stop_record,
    turn_record,
)
from workbench.app.ui.requests import RunRequest, number_in, text_in, token_in
from workbench.app.ui.streams import ahead
from workbench.base.errors import TokenNotAllowed, WorkbenchError
from workbench.constraint.labels import read_as, read_by
from workbench.constraint.protocol import Constraint, State
from workbench.decoding.candidates import Turn, since
from workbench.decoding.generate import after, generate
from workbench.decoding.model import LanguageModel, Session
from workbench.decoding.retokenize import Improper, improper
from workbench.decoding.trace import Step, StopReason
from workbench.drawing.edge_labels import shorten
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.search import find
from workbench.vocabulary.vocabulary import TokenId

_log = logging.getLogger(__name__)

#: Candidates of each token of a run. (Tried: 14, a third more of the server's time.)
TOP = 8

#: The methods that allow only the tokens the tokenizer itself would write.
_PROPER = frozenset({"proper", "vegas", "direct_merge"})

#: Characters shown of a text's value.
_LONGEST_VALUE = 300

#: More lines than any run or comparison has.
_MAX_LINES = 1_000_000


#: A record, or what makes it: that needs no model, and can be done while the model computes.
_Item = Record | Callable[[], Record]


def run_lines(handlers: Handlers, sent: dict[str, Any]) -> Iterator[str]:
    """The lines of a run in texts of a batch each. What goes wrong is its last line.

    The model runs in a separate thread; records are made and encoded in the reader's thread.
    """
    return handlers.streams.texts(_run(handlers, sent, ahead))


def run_records(handlers: Handlers, sent: dict[str, Any]) -> Iterator[Record]:
    """The records of a run: ``head``, ``status``, ``start``, steps, then ``stop`` or ``error``."""
    return _run(handlers, sent, iter)


def _run(
    handlers: Handlers,
    sent: dict[str, Any],
    worked: Callable[[Iterator[_Item]], Iterator[_Item]],
) -> Iterator[Record]:
    """The records; ``worked`` is where the model runs: here, or in a thread (``ahead``)."""

    def items() -> Iterator[_Item]:
        yield from _items(handlers.with_model(sent), RunRequest.of(sent))

    yield {"k": "head", "run": str(sent.get("run", ""))[:64]}
    yield from with_faults(item() if callable(item) else item for item in worked(items()))


def missed_lines(handlers: Handlers, sent: dict[str, Any]) -> Record:
    """The lines a page lacks of a run, of which it has the first ``from``."""
    count = int(number_in(sent, "from", 0, 0, _MAX_LINES))
    lines = handlers.streams.since(text_in(sent, "run", 64), count)
    if lines is None:
        return {"fault": "the server no longer has this run"}
    return {"from": count, "lines": lines}


def with_faults(records: Iterator[Record]) -> Iterator[Record]:
    """Records of work under way; what goes wrong with it is the last of them."""
    try:
        yield from records
    except WorkbenchError as error:
        yield {"k": "error", "message": error.message, "hint": error.hint}
    except Exception as error:
        # a fault of ours: the page must hear of it, or it would wait for ever
        _log.exception("a run failed")
        yield {
            "k": "error",
            "message": f"internal error ({type(error).__name__})",
            "hint": "details are in the log",
        }


def _items(handlers: Handlers, request: RunRequest) -> Iterator[_Item]:
    compiled = handlers.compiled(request.grammar)
    if not handlers.room.is_loaded:
        yield {"k": "status", "text": "loading the model, a few seconds the first time…"}
    model = handlers.room.model()
    constraint = request.constraint(compiled, model.vocabulary)
    yield {"k": "start", "model": model.name}
    context = [*model.encode(request.prompt), *request.prefix]
    with handlers.room.sessions.lent(model, context) as session:
        stop = partial(handlers.is_stopped, request.run)
        yield from steps(model, session, constraint, compiled, request, stop)


def readable(compiled: Compiled) -> Grammar:
    """The grammar.

    Raises: WorkbenchError where the grammar cannot be read.
    """
    if compiled.grammar is None:
        raise WorkbenchError("the grammar cannot be read", "fix its problems first")
    return compiled.grammar


def steps(
    model: LanguageModel,
    session: Session,
    constraint: Constraint,
    compiled: Compiled,
    request: RunRequest,
    stop: Callable[[], bool],
) -> Iterator[_Item]:
    """What makes a record of every token, then of why the run ended."""
    assert compiled.grammar is not None, "it has a constraint"
    follower = following(compiled, constraint, request.prefix)
    room = room_left(model, request.prompt, len(request.prefix))
    generation = generate(
        model,
        constraint,
        request.prompt,
        request.sampling,
        max_tokens=request.max_tokens if room is None else min(room, request.max_tokens),
        top=TOP,
        prefix=request.prefix,
        stop=stop,
        session=session,
    )
    grammar = compiled.grammar

    def of_step(step: Step) -> Record:
        place = follower.take(read_as(constraint, step.state, step.token_id))
        record = step_record(step, place, circle(grammar, place.path), model.vocabulary)
        return record | label_record(constraint, step.state, step.token_id)

    started = time.perf_counter()
    for step in generation:
        yield partial(of_step, step)
    record = stop_record(generation.trace, 1000 * (time.perf_counter() - started))
    if generation.stop is StopReason.TOKEN_BUDGET and len(generation.steps) == room:
        record |= full_record()
    taken = [*request.prefix, *generation.trace.token_ids]
    yield {**record, **closing(model, compiled, request, taken, generation.stop)}


def following(compiled: Compiled, constraint: Constraint, taken: Sequence[TokenId]) -> Follower:
    """A follower that has passed these tokens."""
    follower = compiled.follower()
    for data in read_by(constraint, taken):
        follower.take(data)
    return follower


def room_left(model: LanguageModel, prompt: str, taken: int) -> int | None:
    """How many tokens can follow until the model can read no more; None where it does not say."""
    longest: int | None = getattr(model, "context_length", None)
    if longest is None:
        return None
    # the token taken last is never read
    return max(0, longest + 1 - len(model.encode(prompt)) - taken)


def _improper(
    model: LanguageModel, request: RunRequest, taken: Sequence[TokenId]
) -> Improper | None:
    """The first difference from the tokenizer's tokens, where it says something about the run.

    In small tokens every text differs. A difference at the end of the prompt depends on the prompt,
    not on the text, and is reported only for the methods that promise the tokenizer's tokens.
    """
    found = None if request.small_tokens else improper(model, request.prompt, taken)
    if found is not None and found.at_prompt and request.method not in _PROPER:
        return None
    return found


def closing(
    model: LanguageModel,
    compiled: Compiled,
    request: RunRequest,
    taken: Sequence[TokenId],
    reason: StopReason | None,
) -> Record:
    """Facts about a whole text: its tokenization, its value, whether it is accepted."""
    assert compiled.grammar is not None, "it has a constraint"
    told: Record = {"proper": proper_record(_improper(model, request, taken), model.vocabulary)}
    text = model.vocabulary.decode(taken)
    good = reason in (StopReason.ACCEPTED, StopReason.FORCED_END)
    if request.method == "unconstrained" and reason is StopReason.ACCEPTED:
        good = compiled.grammar.check(text).accepted
        verdict = "accepts" if good else "rejects"
        told |= {"good": good, "words": f"the model ended it; the grammar {verdict} the text"}
    if good and (value := compiled.grammar.value) is not None:
        # Python has its own bounds: digits of a number, nesting of lists
        with suppress(ValueError, RecursionError):
            told["value"] = shorten(repr(value(text.decode("utf-8"))), _LONGEST_VALUE)
    return told


#: Candidates of the token that is not taken yet.
NEXT_TOP = 14

#: Characters of a search, and tokens it finds at most.
_LONGEST_SEARCH = 100
_MOST_FOUND = 40


def turn(handlers: Handlers, sent: Record) -> Record:
    """What the model wants and the mask allows next, no token taken; or why there is no next."""
    try:
        with _standing(handlers, RunRequest.of(sent)) as here:
            return {"ok": True, "model": here.model.name, "next": here.next()}
    except WorkbenchError as error:
        return {"ok": False, "why": sentence(error)}


def take_token(handlers: Handlers, sent: Record) -> Record:
    """The step of taking a token (the one named, or what the model draws), and what may be next.

    The model draws what a run with the same seed would have drawn there.
    """
    try:
        with _standing(handlers, RunRequest.of(sent)) as here:
            found = here.ask()
            if found is None:
                return {"ok": True, "model": here.model.name, "step": None, "next": here.next()}
            step = here.take(found, token_in(sent))
            return {"ok": True, "model": here.model.name, "step": step, "next": here.next()}
    except WorkbenchError as error:
        return {"ok": False, "why": sentence(error)}


def find_tokens(handlers: Handlers, sent: Record) -> Record:
    """The tokens a text is part of, likeliest first within each kind, with both probabilities."""
    try:
        query = text_in(sent, "query", _LONGEST_SEARCH)
        with _standing(handlers, RunRequest.of(sent)) as here:
            found = here.ask()
            if found is None:
                return {"ok": True, "found": [], "more": 0}
            ids, more = find(found.vocabulary, query, found.logprobs, _MOST_FOUND)
            return {"ok": True, "found": [searched_record(found, i) for i in ids], "more": more}
    except WorkbenchError as error:
        return {"ok": False, "why": sentence(error)}


def replayed(handlers: Handlers, request: RunRequest, constraint: Constraint) -> list[Record]:
    """The steps of taking a request's tokens one after another under a constraint.

    Raises: TokenNotAllowed; WorkbenchError as ``_standing`` does.
    """
    steps: list[Record] = []
    with _standing(handlers, replace(request, prefix=()), constraint) as here:
        for token_id in request.prefix:
            found = here.ask()
            if found is None:
                raise TokenNotAllowed(f"nothing may follow {len(steps):,} tokens")
            steps.append(here.take(found, token_id))
    return steps


@contextmanager
def _standing(
    handlers: Handlers, request: RunRequest, made: Constraint | None = None
) -> Iterator[_Standing]:
    """The position of a run after its tokens; ``made`` constrains it instead of the run's method.

    Raises: WorkbenchError where the grammar cannot be read or forbids one of them.
    """
    compiled = handlers.compiled(request.grammar)
    model = handlers.room.model()
    constraint = made or request.constraint(compiled, model.vocabulary)
    state = after(constraint, request.prefix)
    prompt, taken = model.encode(request.prompt), list(request.prefix)
    follower = following(compiled, constraint, taken)
    with handlers.room.sessions.lent(model, [*prompt, *taken]) as session:
        yield _Standing(
            request, compiled, model, constraint, session, prompt, taken, state, follower
        )


@dataclass(slots=True, eq=False)
class _Standing:
    """A run between two tokens."""

    request: RunRequest
    compiled: Compiled
    model: LanguageModel
    constraint: Constraint
    session: Session
    prompt: list[TokenId]
    taken: list[TokenId]
    state: State
    follower: Follower
    #: Whether the end token was taken.
    ended: bool = False

    def ask(self) -> Turn | None:
        """The next token's chances; None where nothing may follow."""
        started = time.perf_counter()
        mask = self.constraint.mask(self.state)
        mask_ms = since(started)
        if self.ended or not len(mask):
            return None
        vocabulary, context = self.constraint.vocabulary, [*self.prompt, *self.taken]
        return Turn.ask(self.session, context, vocabulary, self.state, mask, mask_ms)

    def take(self, found: Turn, token_id: TokenId | None) -> Record:
        """Take a token, what the model draws for None, and move on past it.

        Raises: TokenNotAllowed.
        """
        assert self.compiled.grammar is not None, "it has a constraint"
        sampling, index = self.request.sampling, len(self.taken)
        if token_id is None:
            token_id = found.drawn(sampling, index)
        elif token_id not in found.mask:
            raise TokenNotAllowed(f"token {token_id} is not allowed here", "take another one")
        read = read_as(self.constraint, self.state, token_id)
        started = time.perf_counter()
        self.ended = token_id == self.constraint.vocabulary.end
        if not self.ended:
            self.state = self.constraint.advance(self.state, token_id)
        step = found.taken(token_id, index, TOP, since(started))
        self.taken.append(token_id)
        place = self.follower.take(read)
        around = circle(self.compiled.grammar, place.path)
        record = step_record(step, place, around, self.model.vocabulary)
        return record | label_record(self.constraint, step.state, token_id)

    def next(self) -> wire.Turn | wire.Stop | Record:
        """The probabilities of the next token, or why no token may follow."""
        if not self.ended and room_left(self.model, self.request.prompt, len(self.taken)) == 0:
            return full_record()
        found = self.ask()
        if found is not None:
            return turn_record(found, len(self.taken), self.follower.take(b""), NEXT_TOP)
        reason = StopReason.DEAD_END
        if self.ended and not self._only_the_end():
            reason = StopReason.ACCEPTED
        elif self.constraint.is_final(self.state):
            reason = StopReason.FORCED_END
        whole = closing(self.model, self.compiled, self.request, self.taken, reason)
        return {**ended_record(reason), **whole}

    def _only_the_end(self) -> bool:
        """Whether nothing but the end token was allowed."""
        return len(self.constraint.mask(self.state)) == 1
