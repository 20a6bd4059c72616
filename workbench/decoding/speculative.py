"""Speculative decoding with a draft model, and proposers.

A draft model proposes tokens under the constraint, and the target model scores all of them in one
pass. With ``CoupledSpeculation`` the tokens are the plain loop's, as with the strategies in
``strategy``: both models draw with the same random numbers. With ``DraftSpeculation``, rejection
sampling, more proposals are accepted; the tokens are distributed as if the target were sampled
alone under the same masks, but differ from the plain loop's with the same seed.

``CountProposer`` proposes the token chosen most often in the same state of earlier runs;
``ForcedProposer`` proposes the bytes that every accepted text continues with. ``Speculation``
verifies either.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from workbench.base.arguments import Count, Probability, check_fields, checked
from workbench.base.errors import ModelError, VocabularyError
from workbench.base.visible_text import count_of
from workbench.constraint.protocol import Constraint, State
from workbench.constraint.token_machine import machine_of
from workbench.decoding.model import (
    ForwardPass,
    LanguageModel,
    Session,
    TimedLogits,
)
from workbench.decoding.strategy import DecodingLoop, DraftToken, Steps, TimedMask, forced_tokens
from workbench.decoding.trace import Trace
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

Probabilities = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class CoupledSpeculation:
    """A smaller model with the same vocabulary proposes; the tokens are the plain loop's.

    At a position both models draw with the same random numbers (``Sampling.choose``), each from its
    own probabilities, under the same mask. The target's draw is taken, and the proposals after one
    that differs from it are dropped. So the tokens do not depend on the draft model, only the
    number of passes does. If the two distributions have the total variation distance d, the draws
    are equal with a probability of (1 − d) / (1 + d) or more. Forced tokens are proposed without a
    pass of the draft model. ``Step.draft_id`` is the proposal at a step.

    Counts that propose for the embedded model (gallery example person, 12 runs at temperature 0.7):
    59 % of the proposals are taken, 2.1 tokens for each pass; with ``DraftSpeculation`` 70 %, 2.3.

    ``tokens``  how many tokens the draft model proposes for one pass of the target.

    Raises: WorkbenchError for a negative number; VocabularyError, at the first step, if the draft
            model has other tokens.
    Source: Daliri, Musco & Suresh 2024, arXiv 2408.07978; the race of ``Sampling`` is their Gumbel
            sampling with other random variables.
    """

    draft: LanguageModel
    tokens: Count = 4

    def __post_init__(self) -> None:
        check_fields(self)

    def steps(self, loop: DecodingLoop) -> Steps:
        """Implements ``Strategy``."""
        _check_tokens(self.draft, loop.constraint.vocabulary)
        session = self.draft.session()
        while loop.stop is None:
            proposals = yield from self._proposals(loop, session)
            yield from loop.run(proposals)

    def _proposals(
        self, loop: DecodingLoop, session: Session
    ) -> Generator[ForwardPass, TimedLogits, list[DraftToken]]:
        """Tokens drawn from the draft model as the loop would draw them, and forced tokens."""
        end, first, proposed = loop.constraint.vocabulary.end, loop.index, 0
        room = loop.left - 1  # the target's pass yields the last token of the budget
        drafts, state = forced_tokens(loop, loop.state, room)
        while proposed < self.tokens and len(drafts) < room:
            read = [*loop.context, *(each.token_id for each in drafts)]
            masked = loop.masked(state)
            if (drafts and read[-1] == end) or not len(masked[0]):
                break
            try:
                rows, _ = yield ForwardPass(session, read, 1)
            except ModelError:
                break  # the context is too long for the draft model; the target continues alone
            scored = loop.distribution(masked, rows[0], 0.0)
            token_id = scored.drawn(loop.sampling, first + len(drafts), read)
            drafts.append(DraftToken(token_id, certain=False))
            proposed += 1
            if token_id != end:
                state = loop.constraint.advance(state, token_id)
                forced, state = forced_tokens(loop, state, room - len(drafts))
                drafts += forced
        return drafts


def can_draft(draft: Vocabulary, target: Vocabulary) -> bool:
    """Whether a model with one vocabulary can propose tokens of the other: they have the same ones.

    They may end texts with other tokens: only the constraint's vocabulary decides.
    """
    if draft is target or draft.tokens == target.tokens:
        return True
    ends = {*draft.ends, *target.ends}
    return len(draft) == len(target) and all(
        token == other or i in ends
        for i, (token, other) in enumerate(zip(draft.tokens, target.tokens, strict=True))
    )


def _check_tokens(draft: LanguageModel, target: Vocabulary) -> None:
    """Raise VocabularyError if a token of a draft model is another one of the target."""
    if not can_draft(draft.vocabulary, target):
        raise VocabularyError(
            f"{draft.name} cannot draft for {target.name}: their tokens differ"
            f" ({len(draft.vocabulary):,} and {len(target):,})",
            "choose a smaller model of the same family",
        )


@dataclass(slots=True)
class Acceptance:
    """How many proposals of a run were accepted."""

    proposed: int = 0
    #: Proposals compared with the target: those after a rejected one are not.
    compared: int = 0
    accepted: int = 0

    @property
    def rate(self) -> float:
        """Accepted proposals divided by compared ones; nan if none was compared."""
        return self.accepted / self.compared if self.compared else float("nan")


class RandomSource(Protocol):
    """A source of random decisions; tests replace it by enumeration."""

    def draw(self, probabilities: Probabilities) -> int:
        """An index, drawn with these probabilities."""
        ...

    def accepts(self, chance: float) -> bool:
        """True with this probability."""
        ...


@dataclass(frozen=True, slots=True)
class _GeneratorSource:
    rng: np.random.Generator

    def draw(self, probabilities: Probabilities) -> int:
        total = np.cumsum(probabilities)
        drawn = int(np.searchsorted(total, self.rng.random() * total[-1], side="right"))
        return min(drawn, len(total) - 1)  # rounding may reach the total

    def accepts(self, chance: float) -> bool:
        return bool(self.rng.random() < chance)


@dataclass(frozen=True, slots=True, eq=False)
class _Proposal:
    token_id: TokenId
    #: Its index among the allowed tokens.
    position: int
    #: The mask it was drawn under, which the target uses too.
    masked: TimedMask
    #: The draft's probabilities of the allowed tokens.
    probabilities: Probabilities


@dataclass(frozen=True, slots=True, eq=False)
class DraftSpeculation:
    """A smaller model with the same vocabulary proposes; rejection sampling decides.

    A proposed token with draft probability q and target probability p, both after all stages of
    sampling, is accepted with probability min(1, p / q). The first rejected one
    is replaced by a token drawn from max(p − q, 0), and the proposals after it are dropped (states
    are immutable, so nothing has to be undone). If all are accepted, the target's pass yields one
    more token.

    ``tokens``  how many tokens are proposed for one pass.
    ``counts``  proposes first: where its token has a relative frequency of ``least``, the token is
                proposed without a pass of the draft model, as if the draft gave it probability 1.

    The draft model may end texts with other tokens: only the constraint's vocabulary decides.

    Raises: WorkbenchError for a negative number; VocabularyError, at the first step, if the draft
            model has other tokens.
    Source: Koo et al. 2024, §5.3; the rejection rule is Leviathan et al. 2023, Algorithm 1; counts
            jointly with a draft model: Beurer-Kellner et al. 2024 (DOMINO), §3.6.
    """

    draft: LanguageModel
    tokens: Count = 4
    counts: CountProposer | None = None
    least: Probability = 0.7
    acceptance: Acceptance = field(default_factory=Acceptance)
    random: Callable[[DecodingLoop], RandomSource] = lambda loop: _GeneratorSource(
        loop.sampling.rng(loop.index)
    )

    def __post_init__(self) -> None:
        check_fields(self)

    def __repr__(self) -> str:
        counts = f", counts={self.counts!r}, least={self.least}" if self.counts else ""
        return f"DraftSpeculation({self.draft!r}, tokens={self.tokens}{counts})"

    def steps(self, loop: DecodingLoop) -> Steps:
        """Implements ``Strategy``."""
        _check_tokens(self.draft, loop.constraint.vocabulary)
        session, random = self.draft.session(), self.random(loop)
        while loop.can_continue(loop.masked(loop.state)[0]):
            proposals = yield from self._proposals(loop, session, random)
            yield from self._decide(loop, proposals, random)

    def _proposals(
        self, loop: DecodingLoop, session: Session, random: RandomSource
    ) -> Generator[ForwardPass, TimedLogits, list[_Proposal]]:
        """Tokens drawn from the draft model, one pass of it per token."""
        end, state, read = loop.constraint.vocabulary.end, loop.state, list(loop.context)
        proposals: list[_Proposal] = []
        # the target's pass yields the last token of the budget
        while len(proposals) < min(self.tokens, loop.left - 1):
            masked = loop.masked(state)
            if not len(masked[0]):
                break
            probabilities = self._count_probabilities(loop, state, read, masked)
            if probabilities is None:
                try:
                    rows, _ = yield ForwardPass(session, [*read], 1)
                except ModelError:
                    break  # the context is too long for the draft model; the target continues alone
                scored = loop.distribution(masked, rows[0], 0.0)
                probabilities = scored.shares(loop.sampling, read)
            position = random.draw(probabilities)
            token_id = int(masked[0].ids[position])
            proposals.append(_Proposal(token_id, position, masked, probabilities))
            if token_id == end:
                break
            state = loop.constraint.advance(state, token_id)
            read.append(token_id)
        self.acceptance.proposed += len(proposals)
        return proposals

    def _count_probabilities(
        self, loop: DecodingLoop, state: State, read: Sequence[TokenId], masked: TimedMask
    ) -> Probabilities | None:
        """Probability 1 for the token that the counts propose; None if they propose none."""
        proposal = (
            None if self.counts is None else self.counts.propose(loop.constraint, state, read)
        )
        if proposal is None or proposal[1] < self.least or proposal[0] not in masked[0]:
            return None
        return np.asarray(masked[0].ids == proposal[0], np.float64)

    def _decide(
        self, loop: DecodingLoop, proposals: Sequence[_Proposal], random: RandomSource
    ) -> Steps:
        """The accepted proposals, then one token of the target."""
        end = loop.constraint.vocabulary.end
        rows, model_ms = yield from loop.score([p.token_id for p in proposals if p.token_id != end])
        for number, row in enumerate(rows):
            proposal = proposals[number] if number < len(proposals) else None
            masked = loop.masked(loop.state) if proposal is None else proposal.masked
            if number and not loop.can_continue(masked[0]):
                return
            scored = loop.distribution(masked, row, 0.0 if number else model_ms)
            probabilities = scored.shares(loop.sampling, loop.context)
            accepted = proposal is not None and self._accepts(proposal, probabilities, random)
            if proposal is not None and accepted:
                position = proposal.position
            else:
                position = random.draw(
                    probabilities
                    if proposal is None
                    else _excess(probabilities, proposal.probabilities)
                )
            step = loop.take(scored, int(scored.ids[position]), forward=not number)
            yield step if proposal is None else replace(step, draft_id=proposal.token_id)
            if not accepted or loop.stop is not None:
                return

    def _accepts(
        self, proposal: _Proposal, probabilities: Probabilities, random: RandomSource
    ) -> bool:
        chance = float(probabilities[proposal.position] / proposal.probabilities[proposal.position])
        accepted = chance >= 1 or random.accepts(chance)
        self.acceptance.compared += 1
        self.acceptance.accepted += accepted
        return accepted


def _excess(target: Probabilities, draft: Probabilities) -> Probabilities:
    """max(p − q, 0), unnormalized; p itself if rounding leaves nothing."""
    more = np.maximum(target - draft, 0.0)
    return more if more.any() else target


@dataclass(frozen=True, slots=True, eq=False)
class CountProposer:
    """Proposes the token chosen most often in the same state: P(l | α, β), fixed after learning.

    Valid only for the constraint it was learnt under, with or without a budget: keys of another one
    mean nothing.

    Source: Beurer-Kellner et al. 2024 (DOMINO), §3.6.
    """

    #: The most frequent token and its relative frequency, by the state's key and the last tokens.
    likeliest: Mapping[tuple[Hashable, tuple[TokenId, ...]], tuple[TokenId, float]]
    memory: int

    def __repr__(self) -> str:
        return f"CountProposer({count_of(len(self.likeliest), 'context')}, memory={self.memory})"

    @staticmethod
    @checked
    def learnt(constraint: Constraint, traces: Iterable[Trace], memory: Count = 4) -> CountProposer:
        """The counts of some runs, all under this constraint.

        ``memory``  the key includes up to this many preceding tokens, fewer if that context was
                    never seen; the paper uses none (0).
        """
        key = machine_of(constraint).state_key
        seen: defaultdict[tuple[Hashable, tuple[TokenId, ...]], Counter[TokenId]]
        seen = defaultdict(Counter)
        for trace in traces:
            ids = trace.token_ids
            for position, step in enumerate(trace.steps):
                where = key(step.state)
                for begin in range(max(0, position - memory), position + 1):
                    seen[where, tuple(ids[begin:position])][step.token_id] += 1
        probabilities = {
            where: (chosen.most_common(1)[0][0], chosen.most_common(1)[0][1] / chosen.total())
            for where, chosen in seen.items()
        }
        return CountProposer(probabilities, memory)

    def propose(
        self, constraint: Constraint, state: State, taken: Sequence[TokenId]
    ) -> tuple[TokenId, float] | None:
        """Implements ``Proposer``."""
        where, end = machine_of(constraint).state_key(state), len(taken)
        for begin in range(max(0, end - self.memory), end + 1):
            likeliest = self.likeliest.get((where, tuple(taken[begin:end])))
            if likeliest is not None:
                return likeliest
        return None


class ForcedProposer:
    """Proposes the longest token of the bytes that every accepted text continues with.

    The bytes are certain, but not how the model tokenizes them, so this is a proposal like any
    other. It learns from no runs. Grammars that allow white space between lexemes force few bytes.
    """

    def __init__(self) -> None:
        self._constraint: Constraint | None = None
        #: The forced bytes of the states of this constraint, cached.
        self._known: dict[State, bytes] = {}

    def __repr__(self) -> str:
        return "ForcedProposer()"

    def propose(
        self, constraint: Constraint, state: State, taken: Sequence[TokenId]
    ) -> tuple[TokenId, float] | None:
        """Implements ``Proposer``."""
        if self._constraint is not constraint:
            self._constraint, self._known = constraint, {}
        data = self._known.get(state)
        if data is None:
            # a longer text is not needed for one token
            data = constraint.forced(state, constraint.vocabulary.longest)
            self._known[state] = data
        token_id = constraint.vocabulary.longest_at(data, 0)
        return None if token_id is None else (token_id, 1.0)
