"""Speculative decoding with a draft model: two models and one constraint come in, steps go out.

The draft proposes tokens under the constraint, the target judges all of them in one pass, and what
is taken is distributed as if the target had been sampled alone, token by token, under the same
masks. Unlike the strategies of ``strategy`` it takes other tokens than the plain loop of its seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from workbench.constraint.protocol import Constraint
from workbench.decoding.generate import GREEDY, Generation, generate, same_tokens
from workbench.decoding.loop import Loop, Masked
from workbench.decoding.model import LanguageModel, Prompt, Session
from workbench.decoding.sampling import Sampling
from workbench.decoding.trace import Step, StopReason, Trace
from workbench.errors import ModelError, WorkbenchError
from workbench.vocabulary.vocabulary import TokenId

Shares = npt.NDArray[np.float64]


@dataclass(slots=True)
class Acceptance:
    """How the proposals of a run fared."""

    proposed: int = 0
    #: Proposals the target was asked about: those after a refused one never are.
    judged: int = 0
    accepted: int = 0

    @property
    def rate(self) -> float:
        """The share of accepted ones among those judged; nan of none."""
        return self.accepted / self.judged if self.judged else float("nan")


class Dice(Protocol):
    """Where chance comes from."""

    def draw(self, shares: Shares) -> int:
        """An index, each with its share."""
        ...

    def accepts(self, chance: float) -> bool:
        """True with this probability."""
        ...


@dataclass(frozen=True, slots=True)
class _Rolled:
    rng: np.random.Generator

    def draw(self, shares: Shares) -> int:
        total = np.cumsum(shares)
        drawn = int(np.searchsorted(total, self.rng.random() * total[-1], side="right"))
        return min(drawn, len(total) - 1)  # rounding may reach the very end

    def accepts(self, chance: float) -> bool:
        return bool(self.rng.random() < chance)


@dataclass(frozen=True, slots=True, eq=False)
class _Proposal:
    token_id: TokenId
    #: Its index among the allowed tokens.
    place: int
    #: The mask it was drawn under, which the target is penalised with too.
    masked: Masked
    #: The draft's shares of the allowed tokens.
    shares: Shares


@dataclass(frozen=True, slots=True, eq=False)
class Drafting:
    """A smaller model of the same vocabulary proposes, rejection sampling decides.

    A proposed token of draft share q and target share p, both after mask, temperature, top-k and
    top-p, is accepted with probability min(1, p / q); the first refused one is replaced by a token
    drawn from what p exceeds q by, and the rest is forgotten: states are values, so going back is
    keeping the old one. If all are accepted the target's pass yields one token more.

    ``tokens``  how many are proposed for a pass.

    Source: Koo et al. 2024, §5.3; the rejection rule is Leviathan et al. 2023, Algorithm 1.
    """

    draft: LanguageModel
    tokens: int = 4
    acceptance: Acceptance = field(default_factory=Acceptance)
    dice: Callable[[Loop], Dice] = lambda loop: _Rolled(loop.sampling.rng(loop.index))

    def steps(self, loop: Loop) -> Iterator[Step]:
        """As ``Strategy`` says."""
        same_tokens(self.draft.vocabulary, loop.constraint.vocabulary)
        session, dice = self.draft.session(), self.dice(loop)
        while loop.opens(loop.masked(loop.state)[0]):
            yield from self._decided(loop, self._proposals(loop, session, dice), dice)

    def _proposals(self, loop: Loop, session: Session, dice: Dice) -> list[_Proposal]:
        """Tokens drawn from the draft, one pass of it each."""
        end, state, read = loop.constraint.vocabulary.end, loop.state, list(loop.context)
        found: list[_Proposal] = []
        # the target's pass yields the last token there is room for
        while len(found) < min(self.tokens, loop.left - 1):
            masked = loop.masked(state)
            if not len(masked[0]):
                break
            try:
                turn = loop.turn(masked, session.logits(read), 0.0)
            except ModelError:
                break  # it cannot read so much, which is no reason for the target to stop
            shares = loop.sampling.shares(turn.within)
            place = dice.draw(shares)
            token_id = int(turn.ids[place])
            found.append(_Proposal(token_id, place, masked, shares))
            if token_id == end:
                break
            state = loop.constraint.advance(state, token_id)
            read.append(token_id)
        self.acceptance.proposed += len(found)
        return found

    def _decided(self, loop: Loop, proposals: Sequence[_Proposal], dice: Dice) -> Iterator[Step]:
        """Accepted proposals, then one token of the target's own."""
        end = loop.constraint.vocabulary.end
        rows, model_ms = loop.judge([p.token_id for p in proposals if p.token_id != end])
        for number, row in enumerate(rows):
            proposal = proposals[number] if number < len(proposals) else None
            masked = loop.masked(loop.state) if proposal is None else proposal.masked
            if number and not loop.opens(masked[0]):
                return
            turn = loop.turn(masked, row, 0.0 if number else model_ms)
            shares = loop.sampling.shares(turn.within)
            accepted = proposal is not None and self._accepted(proposal, shares, dice)
            if proposal is not None and accepted:
                place = proposal.place
            else:
                place = dice.draw(shares if proposal is None else _excess(shares, proposal.shares))
            yield loop.take(turn, int(turn.ids[place]), forward=not number)
            if not accepted or loop.stop is not None:
                return

    def _accepted(self, proposal: _Proposal, shares: Shares, dice: Dice) -> bool:
        chance = float(shares[proposal.place] / proposal.shares[proposal.place])
        accepted = chance >= 1 or dice.accepts(chance)
        self.acceptance.judged += 1
        self.acceptance.accepted += accepted
        return accepted


def _excess(target: Shares, draft: Shares) -> Shares:
    """What the target gives tokens more than the draft does; all of it where that is rounding."""
    more = np.maximum(target - draft, 0.0)
    return more if more.any() else target


@dataclass(slots=True, eq=False)
class Speculation(Iterator[Step]):
    """A generation by two models: iterate for steps, as with ``Generation``."""

    generation: Generation
    acceptance: Acceptance

    @property
    def trace(self) -> Trace:
        """The steps so far, and why it ended."""
        return self.generation.trace

    @property
    def stop(self) -> StopReason | None:
        """Why it ended."""
        return self.generation.stop

    def __next__(self) -> Step:
        return next(self.generation)


def speculative(
    model: LanguageModel,
    draft: LanguageModel,
    constraint: Constraint,
    prompt: Prompt,
    sampling: Sampling = GREEDY,
    *,
    tokens: int = 4,
    max_tokens: int = 256,
    top: int = 10,
    stop: Callable[[], bool] | None = None,
) -> Speculation:
    """Generate from ``model`` with the proposals of ``draft``; the other settings as ``generate``.

    Raises: VocabularyError where the models' vocabularies differ; as ``generate``.
    """
    if tokens < 0:
        raise WorkbenchError(f"expected to propose 0 tokens or more, not {tokens}")
    same_tokens(draft.vocabulary, constraint.vocabulary)
    strategy = Drafting(draft, tokens)
    generation = generate(
        model,
        constraint,
        prompt,
        sampling,
        max_tokens=max_tokens,
        top=top,
        stop=stop,
        strategy=strategy,
    )
    return Speculation(generation, strategy.acceptance)
