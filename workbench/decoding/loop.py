"""The state of a run between two tokens: strategies ask it where they stand, and take tokens."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from workbench.constraint.mask import TokenMask
from workbench.constraint.protocol import Constraint, State
from workbench.decoding.model import Logits, Session
from workbench.decoding.sampling import Sampling
from workbench.decoding.trace import Candidate, Step, StopReason
from workbench.decoding.turn import Turn, since
from workbench.errors import ModelError
from workbench.vocabulary.vocabulary import TokenId

#: A mask and the milliseconds it took.
Masked = tuple[TokenMask, float]


@dataclass(frozen=True, slots=True)
class Drafted:
    """A token that somebody says comes next, before the model was asked."""

    token_id: TokenId
    #: Whether it is taken whatever the model says: no other text is left.
    certain: bool


@dataclass(slots=True, eq=False, kw_only=True)
class Loop:
    """A generation between two tokens. Strategies alone change it, by ``advance`` and its users."""

    constraint: Constraint
    sampling: Sampling
    session: Session
    #: Prompt, prefix and everything taken since, as the model reads it.
    context: list[TokenId]
    #: The constraint's state after everything taken.
    state: State
    #: How many tokens may still be taken.
    left: int
    #: The index of the next token: how many were taken after the prompt.
    index: int
    top: int
    stop_asked: Callable[[], bool] | None
    #: Why the generation is over; None while it goes on.
    stop: StopReason | None = None

    def masked(self, state: State) -> Masked:
        """The mask of a state."""
        started = time.perf_counter()
        mask = self.constraint.mask(state)
        return mask, since(started)

    def opens(self, mask: TokenMask) -> bool:
        """Whether one more token is to be taken here; else ``stop`` says why not."""
        if self.stop is None and not len(mask):
            self.end()
        return self.goes_on()

    def end(self) -> None:
        """Nothing may follow."""
        final = self.constraint.is_final(self.state)
        self.stop = StopReason.FORCED_END if final else StopReason.DEAD_END

    def goes_on(self) -> bool:
        """Whether there is room for a token, and nobody asked for a stop."""
        if self.stop is None and self.left <= 0:
            self.stop = StopReason.TOKEN_BUDGET
        elif self.stop is None and self.stop_asked is not None and self.stop_asked():
            self.stop = StopReason.STOPPED
        return self.stop is None

    def judge(self, draft: Sequence[TokenId]) -> tuple[Logits, float]:
        """The logits after the context, and after each token of a draft, in one pass.

        Where the draft alone is too long for the model the context is judged without it.
        Shape:  (1 + drafted, rows), or (1, rows); with the milliseconds it took.
        Raises: ModelError.
        """
        started = time.perf_counter()
        try:
            rows = self.session.judge([*self.context, *draft], len(draft) + 1)
        except ModelError:
            if not draft:
                raise
            rows = self.session.judge(self.context, 1)
        return rows, since(started)

    def turn(self, masked: Masked, row: Logits, model_ms: float) -> Turn:
        """The next token before it is chosen. Raises: ModelError."""
        return Turn.of(self.constraint.vocabulary, self.state, masked, row, model_ms)

    def draw(self, turn: Turn) -> TokenId:
        """What the plain loop takes at this place."""
        return turn.drawn(self.sampling, self.index)

    def take(self, turn: Turn, token_id: TokenId, *, forward: bool = True) -> Step:
        """Take a token the model was asked about; ``forward`` as ``Step`` says."""
        index, advance_ms = self.advance(token_id, turn.mask)
        return turn.taken(token_id, index, self.top, advance_ms, forward=forward)

    def judged(self, step: Step, row: Logits) -> Step:
        """A step that was skipped, as it would have been told of after this row of logits."""
        vocabulary, masked = self.constraint.vocabulary, (step.mask, step.mask_ms)
        turn = Turn.of(vocabulary, step.state, masked, row, 0.0)
        return turn.taken(step.token_id, step.index, self.top, step.advance_ms, forward=False)

    def skip(self, masked: Masked, token_id: TokenId) -> Step:
        """Take a token the model is never asked about; what it thinks of it is not known."""
        vocabulary, (mask, mask_ms), state = self.constraint.vocabulary, masked, self.state
        token = vocabulary.tokens[token_id]
        single = len(mask) == 1
        alone = (Candidate(token_id, token, math.nan, 1.0, True),) if single else ()
        index, advance_ms = self.advance(token_id, mask)
        return Step(
            index=index,
            token_id=token_id,
            token=token or b"",
            state=state,
            mask=mask,
            logprob=math.nan,
            masked_logprob=0.0 if single else math.nan,
            favourite_id=token_id,
            kept=math.nan,
            rank=1,
            masked_rank=1,
            wanted=(),
            allowed=alone[: self.top],
            forward=False,
            model_ms=0.0,
            mask_ms=mask_ms,
            advance_ms=advance_ms,
            is_end=token_id == vocabulary.end,
        )

    def advance(self, token_id: TokenId, mask: TokenMask) -> tuple[int, float]:
        """Move on past a token; its index, and the milliseconds it took."""
        started = time.perf_counter()
        if token_id != self.constraint.vocabulary.end:
            self.state = self.constraint.advance(self.state, token_id)
        else:
            self.stop = StopReason.FORCED_END if len(mask) == 1 else StopReason.ACCEPTED
        self.context.append(token_id)
        self.left -= 1
        self.index += 1
        return self.index - 1, since(started)

    def run(self, draft: Sequence[Drafted]) -> Iterator[Step]:
        """Judge a draft in one pass and take what the plain loop takes, while both agree.

        One more token than drafted is taken where all of them are right. The first token that is
        not certain is the one the pass was run for.
        """
        end = self.constraint.vocabulary.end
        masked = self.masked(self.state)
        if not self.opens(masked[0]):
            return
        rows, model_ms = self.judge([d.token_id for d in draft if d.token_id != end])
        asked = False
        for place, row in enumerate(rows):
            if place:
                masked = self.masked(self.state)
                if not self.opens(masked[0]):
                    return
            guess = draft[place] if place < len(draft) else None
            certain = guess is not None and guess.certain
            forward = not asked and (not certain or place == len(rows) - 1)
            turn = self.turn(masked, row, model_ms if forward else 0.0)
            token_id = guess.token_id if guess is not None and certain else self.draw(turn)
            yield self.take(turn, token_id, forward=forward)
            asked = asked or forward
            if guess is None or token_id != guess.token_id or token_id == end:
                return
