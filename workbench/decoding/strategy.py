"""Strategies, and the state of a run that they advance.

All of them take the text of ``Plain``, which asks once a token. Where several tokens are judged in
one pass their logits may differ from single passes in the last bits, as sums of floats do.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from workbench.base.errors import ModelError, TokenNotAllowed
from workbench.constraint.mask import TokenMask
from workbench.constraint.protocol import Constraint, State
from workbench.decoding.candidates import TokenDistribution, milliseconds_since
from workbench.decoding.forced_suffix import forced_suffix
from workbench.decoding.model import Logits, Session
from workbench.decoding.sampling import Sampling
from workbench.decoding.trace import Candidate, Step, StopReason
from workbench.vocabulary.vocabulary import TokenId

#: A mask and the milliseconds it took.
TimedMask = tuple[TokenMask, float]


@dataclass(frozen=True, slots=True)
class DraftToken:
    """A token that somebody says comes next, before the model was asked."""

    token_id: TokenId
    #: Whether it is taken whatever the model says: no other text is left.
    certain: bool


@dataclass(slots=True, eq=False, kw_only=True)
class DecodingLoop:
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

    def masked(self, state: State) -> TimedMask:
        """The mask of a state."""
        started = time.perf_counter()
        mask = self.constraint.mask(state)
        return mask, milliseconds_since(started)

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
        return rows, milliseconds_since(started)

    def turn(self, masked: TimedMask, row: Logits, model_ms: float) -> TokenDistribution:
        """The next token before it is chosen. Raises: ModelError."""
        return TokenDistribution.of(self.constraint.vocabulary, self.state, masked, row, model_ms)

    def draw(self, turn: TokenDistribution) -> TokenId:
        """What the plain loop takes at this place."""
        return turn.drawn(self.sampling, self.index)

    def take(self, turn: TokenDistribution, token_id: TokenId, *, forward: bool = True) -> Step:
        """Take a token the model was asked about; ``forward`` as ``Step`` says."""
        index, advance_ms = self.advance(token_id, turn.mask)
        return turn.taken(token_id, index, self.top, advance_ms, forward=forward)

    def judged(self, step: Step, row: Logits) -> Step:
        """A step that was skipped, as it would have been told of after this row of logits."""
        vocabulary, masked = self.constraint.vocabulary, (step.mask, step.mask_ms)
        turn = TokenDistribution.of(vocabulary, step.state, masked, row, 0.0)
        return turn.taken(step.token_id, step.index, self.top, step.advance_ms, forward=False)

    def skip(self, masked: TimedMask, token_id: TokenId) -> Step:
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
        return self.index - 1, milliseconds_since(started)

    def run(self, draft: Sequence[DraftToken]) -> Iterator[Step]:
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


class Strategy(Protocol):
    """A way through a generation."""

    def steps(self, loop: DecodingLoop) -> Iterator[Step]:
        """A step for each token, until ``loop.stop`` is known.

        Raises: ModelError, LimitError.
        """
        ...


@dataclass(frozen=True, slots=True)
class Plain:
    """One pass of the model for every token.

    Source: Beurer-Kellner et al. 2024 (DOMINO), Algorithm 1.
    """

    def steps(self, loop: DecodingLoop) -> Iterator[Step]:
        """As ``Strategy`` says."""
        while loop.stop is None:
            yield from loop.run(())


@dataclass(frozen=True, slots=True)
class Skipping:
    """No pass where nothing is left to choose; what is skipped is read with the next pass.

    Skipped are single allowed tokens, and whole ends: where a single text is left, longest tokens
    first. Single tokens are the plain loop's own. An end may be spelt in other, fewer tokens than
    the plain loop chooses, so texts are equal, and where ``max_tokens`` cuts either one begins with
    the other. Bytes that every text goes on with for a while are not skipped: the plain loop
    chooses how to spell them, and what it writes after them depends on that (``Speculating`` with
    ``Forced`` has them judged in one pass).

    Skipped tokens that a pass comes after are judged in it; of those at the end of a text it is
    never known what the model thinks.

    Source: Tran-Thien 2024, challenge 3.
    """

    def steps(self, loop: DecodingLoop) -> Iterator[Step]:
        """As ``Strategy`` says."""
        while loop.stop is None:
            draft, state = forced_tokens(loop, loop.state, loop.left)
            over = _is_over(loop, draft, state)
            if not over:
                rest = forced_suffix(loop.constraint, state)[: loop.left - len(draft)]
                draft += [DraftToken(token_id, certain=True) for token_id in rest]
                over = bool(rest)
            yield from _skipped(loop, draft) if over else loop.run(draft)


class Proposer(Protocol):
    """Somebody who guesses the next token, cheaply."""

    def propose(
        self, constraint: Constraint, state: State, taken: Sequence[TokenId]
    ) -> tuple[TokenId, float] | None:
        """A token after ``taken``, and how likely it is the one; None for no guess.

        ``taken`` is what the model reads: the prompt, the tokens so far, the guesses so far.
        """
        ...


@dataclass(frozen=True, slots=True)
class Speculating:
    """Guessed tokens are judged together in one pass, up to the first that is wrong.

    At every place the plain loop's own draw decides (same logits, same random numbers), so tokens
    are its tokens at every temperature. Single allowed tokens need no guess, and where nothing but
    them is left there is no pass either.

    ``tokens``  how many guesses go into one pass; the paper's s.
    ``least``   guesses go on while all of them together are right with this probability. On the
                embedded model each guess costs about a twelfth of a pass. With counts that
                remember four tokens 0.7 was a tenth faster than 0.3 on C and free JSON, as fast on
                the fixed template, a twentieth slower on worked problems; without a memory 0.3 is
                the better on the fixed template (1.63 times the model's own speed to 1.42).

    Source: Beurer-Kellner et al. 2024 (DOMINO), §3.6.
    """

    proposer: Proposer
    tokens: int = 10
    least: float = 0.7

    def steps(self, loop: DecodingLoop) -> Iterator[Step]:
        """As ``Strategy`` says."""
        while loop.stop is None:
            draft, state = forced_tokens(loop, loop.state, loop.left)
            if _is_over(loop, draft, state):
                yield from _skipped(loop, draft)
            else:
                yield from loop.run(self._guessed(loop, draft, state))

    def _guessed(
        self, loop: DecodingLoop, draft: list[DraftToken], state: State
    ) -> list[DraftToken]:
        """A draft and guesses after it, single allowed tokens among them."""
        constraint, end = loop.constraint, loop.constraint.vocabulary.end
        guesses, chance = 0, 1.0
        # the pass itself yields the last token there is room for
        while guesses < self.tokens and len(draft) < loop.left - 1:
            taken = [*loop.context, *(drafted.token_id for drafted in draft)]
            guess = self.proposer.propose(constraint, state, taken)
            if guess is None or guess[0] == end or chance * guess[1] < self.least:
                break
            try:
                state = constraint.advance(state, guess[0])
            except TokenNotAllowed:
                break
            draft.append(DraftToken(guess[0], certain=False))
            guesses, chance = guesses + 1, chance * guess[1]
            sure, state = forced_tokens(loop, state, loop.left - len(draft))
            draft += sure
            if sure and sure[-1].token_id == end:
                break
        return draft


def forced_tokens(loop: DecodingLoop, state: State, room: int) -> tuple[list[DraftToken], State]:
    """The tokens from a state on while one is allowed, at most ``room``, and the state after."""
    found: list[DraftToken] = []
    while len(found) < room and len(mask := loop.masked(state)[0]) == 1:
        token_id = int(mask.ids[0])
        found.append(DraftToken(token_id, certain=True))
        if token_id == loop.constraint.vocabulary.end:
            break
        state = loop.constraint.advance(state, token_id)
    return found, state


def _is_over(loop: DecodingLoop, draft: Sequence[DraftToken], state: State) -> bool:
    """Whether a draft of single tokens is all there is to take: no pass is needed after it."""
    full = 0 < loop.left <= len(draft)
    ends = bool(draft) and draft[-1].token_id == loop.constraint.vocabulary.end
    return full or ends or not len(loop.masked(state)[0])


def _skipped(loop: DecodingLoop, draft: Sequence[DraftToken]) -> Iterator[Step]:
    """The steps of a draft that no pass comes after."""
    masked = loop.masked(loop.state)
    while loop.opens(masked[0]) and draft:
        yield loop.skip(masked, draft[0].token_id)
        draft, masked = draft[1:], loop.masked(loop.state)


#: Asks once a token.
PLAIN = Plain()
