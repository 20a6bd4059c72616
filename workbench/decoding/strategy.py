"""Decoding strategies, and the state of a run that they advance.

A strategy decides when the model runs a forward pass. All strategies here generate the text of
``Plain``, which runs one pass per token. If several tokens are scored in one pass, their logits may
differ from those of single passes in the last bits, because sums of floats are reordered.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from workbench.base.arguments import Count, Probability, check_fields
from workbench.base.errors import ModelError, TokenNotAllowed
from workbench.constraint.masks import TokenMask
from workbench.constraint.protocol import Constraint, State
from workbench.decoding.candidates import TokenDistribution, milliseconds_since
from workbench.decoding.forced_suffix import forced_suffix
from workbench.decoding.model import ForwardPass, Logits, Session, TimedLogits
from workbench.decoding.sampling import Sampling
from workbench.decoding.trace import Candidate, Step, StopReason
from workbench.vocabulary.vocabulary import TokenId

#: A mask and the milliseconds its computation took.
TimedMask = tuple[TokenMask, float]

#: Steps, and the forward passes that must be run before the next step: the results are sent to the
#: generator, or a ModelError is thrown into it. So several generations can share a pass.
Steps = Generator[Step | ForwardPass, TimedLogits, None]


@dataclass(frozen=True, slots=True)
class DraftToken:
    """A token that is proposed as the next one before the model scores it."""

    token_id: TokenId
    #: Whether it is taken whatever the model scores: no other text is possible.
    certain: bool


@dataclass(slots=True, eq=False, kw_only=True)
class DecodingLoop:
    """The state of a generation between two tokens; only strategies change it, by ``advance``."""

    constraint: Constraint
    sampling: Sampling
    session: Session
    #: Prompt, prefix and all tokens taken since, as the model reads them.
    context: list[TokenId]
    #: The constraint's state after all tokens taken.
    state: State
    #: How many more tokens may be taken.
    left: int
    #: The index of the next token: how many were taken after the prompt.
    index: int
    top: int
    stop_asked: Callable[[], bool] | None
    #: Whether steps record the probabilities after every stage of sampling.
    stages: bool = False
    #: Why the generation ended; None while it continues.
    stop: StopReason | None = None
    #: Forward passes for tokens that are not part of the text, such as those of rejected texts.
    discarded_passes: int = 0

    def copy(self) -> DecodingLoop:
        """A loop that continues from here, without changes of this one."""
        return replace(self, context=[*self.context], discarded_passes=0)

    def become(self, other: DecodingLoop, steps: Sequence[Step]) -> Steps:
        """Yield the steps that a copy took, and continue where it is."""
        self.context, self.state = other.context, other.state
        self.left, self.index = other.left, other.index
        yield from steps[:-1]
        self.stop = other.stop  # set when the last step is returned
        yield from steps[-1:]

    def masked(self, state: State) -> TimedMask:
        """The mask of a state, in which the first end token represents all (``sampling``).

        So a state that allows end tokens alone allows a single token: it is forced to end, and no
        forward pass is needed to know it.
        """
        started = time.perf_counter()
        mask = self.constraint.mask(state).without(self.constraint.vocabulary.ends[1:])
        return mask, milliseconds_since(started)

    def can_continue(self, mask: TokenMask) -> bool:
        """Whether one more token can be taken; if not, ``stop`` is set to the reason."""
        if self.stop is None and not len(mask):
            self.end()
        return self.has_room()

    def end(self) -> None:
        """End the generation because no token is allowed."""
        final = self.constraint.is_final(self.state)
        self.stop = StopReason.FORCED_END if final else StopReason.DEAD_END

    def has_room(self) -> bool:
        """Whether the token budget is not used up and no stop was requested."""
        if self.stop is None and self.left <= 0:
            self.stop = StopReason.TOKEN_BUDGET
        elif self.stop is None and self.stop_asked is not None and self.stop_asked():
            self.stop = StopReason.STOPPED
        return self.stop is None

    def score(self, draft: Sequence[TokenId]) -> Generator[ForwardPass, TimedLogits, TimedLogits]:
        """The logits after the context, and after each token of a draft, in one pass.

        If the context with the draft is too long for the model, the context is scored alone.
        Shape:  (1 + drafted, rows), or (1, rows); with the milliseconds it took.
        Raises: ModelError.
        """
        try:
            return (yield ForwardPass(self.session, [*self.context, *draft], len(draft) + 1))
        except ModelError:
            if not draft:
                raise
        return (yield ForwardPass(self.session, [*self.context], 1))

    def distribution(self, masked: TimedMask, row: Logits, model_ms: float) -> TokenDistribution:
        """The distribution of the next token. Raises: ModelError."""
        return TokenDistribution.of(self.constraint.vocabulary, self.state, masked, row, model_ms)

    def draw(self, scored: TokenDistribution) -> TokenId:
        """The token the plain loop takes at this position."""
        return scored.drawn(self.sampling, self.index, self.context)

    def take(self, scored: TokenDistribution, token_id: TokenId, *, forward: bool = True) -> Step:
        """Take a token that the model has scored; ``forward`` as in ``Step``."""
        stages = scored.stages(self.sampling, self.context) if self.stages else ()
        index, advance_ms = self.advance(token_id, scored.mask)
        return scored.taken(token_id, index, self.top, advance_ms, forward=forward, stages=stages)

    def scored_step(self, step: Step, row: Logits) -> Step:
        """A skipped step, completed with the model's row of logits."""
        vocabulary, masked = self.constraint.vocabulary, (step.mask, step.mask_ms)
        scored = TokenDistribution.of(vocabulary, step.state, masked, row, 0.0)
        return scored.taken(step.token_id, step.index, self.top, step.advance_ms, forward=False)

    def skip(self, masked: TimedMask, token_id: TokenId) -> Step:
        """Take a token without a forward pass; its probabilities are nan."""
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
        """Advance past a token; returns its index and the milliseconds it took."""
        started = time.perf_counter()
        if token_id != self.constraint.vocabulary.end:
            self.state = self.constraint.advance(self.state, token_id)
        else:
            self.stop = StopReason.FORCED_END if len(mask) == 1 else StopReason.ACCEPTED
        self.context.append(token_id)
        self.left -= 1
        self.index += 1
        return self.index - 1, milliseconds_since(started)

    def run(self, draft: Sequence[DraftToken]) -> Steps:
        """Score a draft in one pass, and take the plain loop's tokens as long as the draft agrees.

        If the whole draft agrees, one more token is taken. The pass is counted for the first token
        that is not certain.
        """
        end = self.constraint.vocabulary.end
        masked = self.masked(self.state)
        if not self.can_continue(masked[0]):
            return
        rows, model_ms = yield from self.score([d.token_id for d in draft if d.token_id != end])
        counted = False
        for position, row in enumerate(rows):
            if position:
                masked = self.masked(self.state)
                if not self.can_continue(masked[0]):
                    return
            proposal = draft[position] if position < len(draft) else None
            certain = proposal is not None and proposal.certain
            forward = not counted and (not certain or position == len(rows) - 1)
            scored = self.distribution(masked, row, model_ms if forward else 0.0)
            token_id = proposal.token_id if proposal is not None and certain else self.draw(scored)
            step = self.take(scored, token_id, forward=forward)
            if proposal is not None and not certain:
                step = replace(step, draft_id=proposal.token_id)
            yield step
            counted = counted or forward
            if proposal is None or token_id != proposal.token_id or token_id == end:
                return


class Strategy(Protocol):
    """Decides which tokens are scored in which forward pass."""

    def steps(self, loop: DecodingLoop) -> Steps:
        """A step for each token, until ``loop.stop`` is set; forward passes before them.

        Raises: ModelError, LimitError.
        """
        ...


@dataclass(frozen=True, slots=True)
class Plain:
    """One forward pass per token.

    Source: Beurer-Kellner et al. 2024 (DOMINO), Algorithm 1.
    """

    def steps(self, loop: DecodingLoop) -> Steps:
        """Implements ``Strategy``."""
        while loop.stop is None:
            yield from loop.run(())


@dataclass(frozen=True, slots=True)
class JumpForward:
    """Runs no pass for forced tokens; the next pass reads the skipped tokens.

    Two kinds of tokens are skipped: a token that is the only allowed one (end tokens count as one),
    and a forced suffix: if a single text remains, it is taken in the longest tokens. The former are
    also the plain loop's tokens. A suffix may be tokenized into other, fewer tokens than the plain
    loop chooses, so the texts are equal, and if ``max_tokens`` cuts them, one is a prefix of the
    other. Forced bytes in the middle of a text are not skipped: the plain loop chooses how to
    tokenize them, and its later tokens depend on that (``Speculation`` with ``ForcedProposer``
    scores them in one pass).

    Skipped tokens are scored by the next pass. Those at the end of a text have no next pass, so
    their probabilities stay unknown.

    Source: Tran-Thien 2024, challenge 3.
    """

    def steps(self, loop: DecodingLoop) -> Steps:
        """Implements ``Strategy``."""
        while loop.stop is None:
            draft, state = forced_tokens(loop, loop.state, loop.left)
            over = _is_over(loop, draft, state)
            if not over:
                rest = forced_suffix(loop.constraint, state)[: loop.left - len(draft)]
                draft += [DraftToken(token_id, certain=True) for token_id in rest]
                over = bool(rest)
            yield from _skip(loop, draft) if over else loop.run(draft)


class Proposer(Protocol):
    """Proposes the next token at little cost."""

    def propose(
        self, constraint: Constraint, state: State, taken: Sequence[TokenId]
    ) -> tuple[TokenId, float] | None:
        """A proposal after ``taken`` with its probability; None for no proposal.

        ``taken`` is the model's context: the prompt, the tokens taken, the proposals before.
        """
        ...


@dataclass(frozen=True, slots=True)
class Speculation:
    """Scores proposed tokens together in one pass and accepts them up to the first wrong one.

    At every position the plain loop's draw decides (same logits, same random numbers), so the
    tokens equal the plain loop's at every temperature. Forced tokens need no proposal, and if only
    forced tokens remain no pass is run.

    ``tokens``  the most proposals in one pass; the paper's s.
    ``least``   proposals continue while all of them together are right with this probability. On
                the embedded model each proposal costs about a twelfth of a pass. With counts over a
                context of four tokens, 0.7 was 10 % faster than 0.3 on C and free JSON, equal on
                the fixed template, 5 % slower on worked problems; without a context 0.3 is better
                on the fixed template (1.63 times the unconstrained speed, against 1.42).

    Source: Beurer-Kellner et al. 2024 (DOMINO), §3.6.
    """

    proposer: Proposer
    tokens: Count = 10
    least: Probability = 0.7

    def __post_init__(self) -> None:
        check_fields(self)

    def steps(self, loop: DecodingLoop) -> Steps:
        """Implements ``Strategy``."""
        while loop.stop is None:
            draft, state = forced_tokens(loop, loop.state, loop.left)
            if _is_over(loop, draft, state):
                yield from _skip(loop, draft)
            else:
                yield from loop.run(self._with_proposals(loop, draft, state))

    def _with_proposals(
        self, loop: DecodingLoop, draft: list[DraftToken], state: State
    ) -> list[DraftToken]:
        """Extends a draft by proposals, and by forced tokens after them."""
        constraint, end = loop.constraint, loop.constraint.vocabulary.end
        proposals, chance = 0, 1.0
        # the pass itself yields the last token of the budget
        while proposals < self.tokens and len(draft) < loop.left - 1:
            taken = [*loop.context, *(drafted.token_id for drafted in draft)]
            proposal = self.proposer.propose(constraint, state, taken)
            if proposal is None or proposal[0] == end or chance * proposal[1] < self.least:
                break
            try:
                state = constraint.advance(state, proposal[0])
            except TokenNotAllowed:
                break
            draft.append(DraftToken(proposal[0], certain=False))
            proposals, chance = proposals + 1, chance * proposal[1]
            sure, state = forced_tokens(loop, state, loop.left - len(draft))
            draft += sure
            if sure and sure[-1].token_id == end:
                break
        return draft


def forced_tokens(loop: DecodingLoop, state: State, room: int) -> tuple[list[DraftToken], State]:
    """The tokens from a state on while only one is allowed, at most ``room``; the state after."""
    drafts: list[DraftToken] = []
    while len(drafts) < room and len(mask := loop.masked(state)[0]) == 1:
        token_id = int(mask.ids[0])
        drafts.append(DraftToken(token_id, certain=True))
        if token_id == loop.constraint.vocabulary.end:
            break
        state = loop.constraint.advance(state, token_id)
    return drafts, state


def _is_over(loop: DecodingLoop, draft: Sequence[DraftToken], state: State) -> bool:
    """Whether the generation ends with a draft of forced tokens, so that no pass is needed."""
    full = 0 < loop.left <= len(draft)
    ends = bool(draft) and draft[-1].token_id == loop.constraint.vocabulary.end
    return full or ends or not len(loop.masked(state)[0])


def _skip(loop: DecodingLoop, draft: Sequence[DraftToken]) -> Steps:
    """The steps of a draft without a forward pass after it."""
    masked = loop.masked(loop.state)
    while loop.can_continue(masked[0]) and draft:
        yield loop.skip(masked, draft[0].token_id)
        draft, masked = draft[1:], loop.masked(loop.state)


#: One forward pass per token.
PLAIN = Plain()
