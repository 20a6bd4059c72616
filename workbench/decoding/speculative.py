"""Speculative decoding: a draft model, or guesses from earlier runs.

The draft proposes tokens under the constraint, the target judges all of them in one pass, and what
is taken is distributed as if the target had been sampled alone, token by token, under the same
masks. Unlike the strategies of ``strategy`` it takes other tokens than the plain loop of its seed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from workbench.base.errors import ModelError, WorkbenchError
from workbench.constraint.engine.automaton import AutomatonConstraint, StackConstraint
from workbench.constraint.labels import Labelled
from workbench.constraint.protocol import Constraint, State
from workbench.decoding.generate import GREEDY, Generation, generate, same_tokens
from workbench.decoding.model import LanguageModel, Prompt, Session
from workbench.decoding.sampling import Sampling
from workbench.decoding.strategy import DecodingLoop, TimedMask
from workbench.decoding.trace import Step, StopReason, Trace
from workbench.vocabulary.vocabulary import TokenId

Probabilities = npt.NDArray[np.float64]


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


class RandomSource(Protocol):
    """Where chance comes from."""

    def draw(self, shares: Probabilities) -> int:
        """An index, each with its share."""
        ...

    def accepts(self, chance: float) -> bool:
        """True with this probability."""
        ...


@dataclass(frozen=True, slots=True)
class _Rolled:
    rng: np.random.Generator

    def draw(self, shares: Probabilities) -> int:
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
    masked: TimedMask
    #: The draft's shares of the allowed tokens.
    shares: Probabilities


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
    dice: Callable[[DecodingLoop], RandomSource] = lambda loop: _Rolled(
        loop.sampling.rng(loop.index)
    )

    def steps(self, loop: DecodingLoop) -> Iterator[Step]:
        """As ``Strategy`` says."""
        same_tokens(self.draft.vocabulary, loop.constraint.vocabulary)
        session, dice = self.draft.session(), self.dice(loop)
        while loop.opens(loop.masked(loop.state)[0]):
            yield from self._decided(loop, self._proposals(loop, session, dice), dice)

    def _proposals(
        self, loop: DecodingLoop, session: Session, dice: RandomSource
    ) -> list[_Proposal]:
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

    def _decided(
        self, loop: DecodingLoop, proposals: Sequence[_Proposal], dice: RandomSource
    ) -> Iterator[Step]:
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

    def _accepted(self, proposal: _Proposal, shares: Probabilities, dice: RandomSource) -> bool:
        chance = float(shares[proposal.place] / proposal.shares[proposal.place])
        accepted = chance >= 1 or dice.accepts(chance)
        self.acceptance.judged += 1
        self.acceptance.accepted += accepted
        return accepted


def _excess(target: Probabilities, draft: Probabilities) -> Probabilities:
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


#: What a state is counted under.
Key = Callable[[State], Hashable]


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """The token chosen most often where the constraint stood alike: P(l | α, β), frozen.

    For the constraint it was learnt under: keys of another mean nothing.

    Source: Beurer-Kellner et al. 2024 (DOMINO), §3.6.
    """

    key: Key
    #: The likeliest token and its share, by the state's key and up to ``memory`` tokens before.
    likeliest: Mapping[tuple[Hashable, tuple[TokenId, ...]], tuple[TokenId, float]]
    memory: int

    @staticmethod
    def learnt(constraint: Constraint, traces: Iterable[Trace], memory: int = 4) -> Counts:
        """The counts of some runs under this constraint.

        ``memory``  so many tokens before are told apart too, and fewer where these were never met
                    together; the paper has none (0).
        """
        key = state_key(constraint)
        seen: defaultdict[tuple[Hashable, tuple[TokenId, ...]], Counter[TokenId]]
        seen = defaultdict(Counter)
        for trace in traces:
            ids = trace.token_ids
            for place, step in enumerate(trace.steps):
                where = key(step.state)
                for begin in range(max(0, place - memory), place + 1):
                    seen[where, tuple(ids[begin:place])][step.token_id] += 1
        shares = {
            where: (chosen.most_common(1)[0][0], chosen.most_common(1)[0][1] / chosen.total())
            for where, chosen in seen.items()
        }
        return Counts(key, shares, memory)

    def propose(
        self, constraint: Constraint, state: State, taken: Sequence[TokenId]
    ) -> tuple[TokenId, float] | None:
        """As ``Proposer`` says."""
        where, end = self.key(state), len(taken)
        for begin in range(max(0, end - self.memory), end + 1):
            known = self.likeliest.get((where, tuple(taken[begin:end])))
            if known is not None:
                return known
        return None


class Forced:
    """The longest token of the bytes that every accepted text goes on with.

    The text is certain, how the model spells it is not: a guess like any other, and needs no runs
    to learn from. Grammars that allow white space between lexemes force little.
    """

    def __init__(self) -> None:
        self._constraint: Constraint | None = None
        #: The forced bytes of states of this constraint, so far.
        self._known: dict[State, bytes] = {}

    def propose(
        self, constraint: Constraint, state: State, taken: Sequence[TokenId]
    ) -> tuple[TokenId, float] | None:
        """As ``Proposer`` says."""
        if self._constraint is not constraint:
            self._constraint, self._known = constraint, {}
        data = self._known.get(state)
        if data is None:
            data = self._known[state] = self._forced(constraint, state)
        token_id = constraint.vocabulary.longest_at(data, 0)
        return None if token_id is None else (token_id, 1.0)

    @staticmethod
    def _forced(constraint: Constraint, state: State) -> bytes:
        if isinstance(constraint, AutomatonConstraint | Labelled):
            # no token reaches further
            return constraint.forced(state, constraint.vocabulary.longest)
        return constraint.forced(state)


def state_key(constraint: Constraint) -> Key:
    """What of a state is likely to be met again: (α, β), the subterminal and the parser's substate.

    Of a ``StackConstraint`` α are the states of its automata and β the places that wait for them
    to return, one deep. Without a stack α is all there is.
    """
    from workbench.constraint.forced_text import Inserting  # it reads merge tables

    if isinstance(constraint, Inserting):
        exact = state_key(constraint.exact)
        return lambda state: (exact(state[0]), *state[1:])
    if isinstance(constraint, Labelled):
        return state_key(constraint.signed)
    if isinstance(constraint, StackConstraint):
        runner = constraint.runner

        def tops(state: State) -> Hashable:
            configurations = runner.configurations(state)
            return frozenset((at, next(runner.unstack(node), None)) for at, node in configurations)

        return tops
    subterminal = getattr(constraint, "subterminal", None)
    substate = getattr(constraint, "parser_substate", None)
    if subterminal is None or substate is None:
        return lambda state: state
    return lambda state: (subterminal(state), substate(state))
