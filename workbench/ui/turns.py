"""One token at a time: the probabilities of the next token, or a step with a chosen one.

Every question names the whole run by its prompt and its tokens, so no visitor's data is kept
here; what the model has read is cached (``decoding.sessions``), for one question at a time.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from workbench.constraint.labelled import read_as
from workbench.constraint.protocol import Constraint, State
from workbench.decoding.generate import after
from workbench.decoding.model import LanguageModel, Session
from workbench.decoding.trace import StopReason
from workbench.decoding.turn import Turn, since
from workbench.errors import TokenNotAllowed, WorkbenchError
from workbench.pipeline import Compiled
from workbench.ui.circling import circle
from workbench.ui.follow import Follower
from workbench.ui.handlers import Handlers
from workbench.ui.pictures import sentence
from workbench.ui.records import (
    Record,
    ended_record,
    full_record,
    label_record,
    searched_record,
    step_record,
    turn_record,
)
from workbench.ui.requests import RunRequest, text_in, token_in
from workbench.ui.runs import TOP, closing, following, room_left
from workbench.vocabulary.search import find
from workbench.vocabulary.vocabulary import TokenId

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

    def next(self) -> Record:
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
