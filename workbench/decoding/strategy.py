"""Strategies: how often a model is asked on the way through a generation; a loop in, steps out.

All of them take the text of ``Plain``, which asks once a token. Where several tokens are judged in
one pass their logits may differ from single passes in the last bits, as sums of floats do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from workbench.constraint.protocol import Constraint, State
from workbench.decoding.loop import Drafted, Loop
from workbench.decoding.rest import only_rest
from workbench.decoding.trace import Step
from workbench.errors import TokenNotAllowed
from workbench.vocabulary.vocabulary import TokenId


class Strategy(Protocol):
    """A way through a generation."""

    def steps(self, loop: Loop) -> Iterator[Step]:
        """A step for each token, until ``loop.stop`` is known.

        Raises: ModelError, LimitError.
        """
        ...


@dataclass(frozen=True, slots=True)
class Plain:
    """One pass of the model for every token.

    Source: Beurer-Kellner et al. 2024 (DOMINO), Algorithm 1.
    """

    def steps(self, loop: Loop) -> Iterator[Step]:
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

    def steps(self, loop: Loop) -> Iterator[Step]:
        """As ``Strategy`` says."""
        while loop.stop is None:
            draft, state = single(loop, loop.state, loop.left)
            over = _is_over(loop, draft, state)
            if not over:
                rest = only_rest(loop.constraint, state)[: loop.left - len(draft)]
                draft += [Drafted(token_id, certain=True) for token_id in rest]
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

    def steps(self, loop: Loop) -> Iterator[Step]:
        """As ``Strategy`` says."""
        while loop.stop is None:
            draft, state = single(loop, loop.state, loop.left)
            if _is_over(loop, draft, state):
                yield from _skipped(loop, draft)
            else:
                yield from loop.run(self._guessed(loop, draft, state))

    def _guessed(self, loop: Loop, draft: list[Drafted], state: State) -> list[Drafted]:
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
            draft.append(Drafted(guess[0], certain=False))
            guesses, chance = guesses + 1, chance * guess[1]
            sure, state = single(loop, state, loop.left - len(draft))
            draft += sure
            if sure and sure[-1].token_id == end:
                break
        return draft


def single(loop: Loop, state: State, room: int) -> tuple[list[Drafted], State]:
    """The tokens from a state on while one is allowed, at most ``room``, and the state after."""
    found: list[Drafted] = []
    while len(found) < room and len(mask := loop.masked(state)[0]) == 1:
        token_id = int(mask.ids[0])
        found.append(Drafted(token_id, certain=True))
        if token_id == loop.constraint.vocabulary.end:
            break
        state = loop.constraint.advance(state, token_id)
    return found, state


def _is_over(loop: Loop, draft: Sequence[Drafted], state: State) -> bool:
    """Whether a draft of single tokens is all there is to take: no pass is needed after it."""
    full = 0 < loop.left <= len(draft)
    ends = bool(draft) and draft[-1].token_id == loop.constraint.vocabulary.end
    return full or ends or not len(loop.masked(state)[0])


def _skipped(loop: Loop, draft: Sequence[Drafted]) -> Iterator[Step]:
    """The steps of a draft that no pass comes after."""
    masked = loop.masked(loop.state)
    while loop.opens(masked[0]) and draft:
        yield loop.skip(masked, draft[0].token_id)
        draft, masked = draft[1:], loop.masked(loop.state)


#: Asks once a token.
PLAIN = Plain()
