"""Decoding strategies, and the state of a run that they advance; forced suffixes of a text.

A strategy decides when the model runs a forward pass. All strategies here generate the text of
``Plain``, which runs one pass per token. If several tokens are scored in one pass, their logits may
differ from those of single passes in the last bits, because sums of floats are reordered.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Sequence, Set
from dataclasses import dataclass, replace
from typing import Protocol

from workbench.base.arguments import Count, Probability, check_fields
from workbench.base.errors import ModelError, TokenNotAllowed
from workbench.constraint.protocol import Constraint, State, TokenMask
from workbench.decoding.model import ForwardPass, Logits, Session, TimedLogits
from workbench.decoding.sampling import Sampling, TokenDistribution, milliseconds_since
from workbench.decoding.trace import Candidate, Step, StopReason
from workbench.pushdown.cfg import derives, gathered, least
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    GrammarTree,
    Literal,
    Nonterminal,
    Repetition,
    Rule,
    calls,
)
from workbench.syntax.grammar_tree import Sequence as SequenceNode
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
            yield from _skipped(loop, draft) if over else loop.run(draft)


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
                yield from _skipped(loop, draft)
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
    found: list[DraftToken] = []
    while len(found) < room and len(mask := loop.masked(state)[0]) == 1:
        token_id = int(mask.ids[0])
        found.append(DraftToken(token_id, certain=True))
        if token_id == loop.constraint.vocabulary.end:
            break
        state = loop.constraint.advance(state, token_id)
    return found, state


def _is_over(loop: DecodingLoop, draft: Sequence[DraftToken], state: State) -> bool:
    """Whether the generation ends with a draft of forced tokens, so that no pass is needed."""
    full = 0 < loop.left <= len(draft)
    ends = bool(draft) and draft[-1].token_id == loop.constraint.vocabulary.end
    return full or ends or not len(loop.masked(state)[0])


def _skipped(loop: DecodingLoop, draft: Sequence[DraftToken]) -> Steps:
    """The steps of a draft without a forward pass after it."""
    masked = loop.masked(loop.state)
    while loop.can_continue(masked[0]) and draft:
        yield loop.skip(masked, draft[0].token_id)
        draft, masked = draft[1:], loop.masked(loop.state)


#: One forward pass per token.
PLAIN = Plain()


# -- forced suffixes ------------------------------------------------------------------------------
# The forced suffix of a text, and prefixes that can never be completed.
#
# ``forced_suffix``: if only one text can follow, its tokens (used by the strategy ``JumpForward``).
#
# ``unproductive_prefixes``: the exact automaton omits rules that derive no text, such as ``T ::=
# 'b' T;``. The KBNF engine reads into them, although no sentence can result. Its possible tokens
# are those of the grammar together with those of the grammar built here.


def unproductive_prefixes(tree: GrammarTree, start: str) -> tuple[GrammarTree, str] | None:
    """The prefixes that lead into an unproductive rule, as a grammar and its start symbol.

    Every rule gets a copy that stops inside an unproductive rule: the part before the call is
    unchanged, the part after it is never reached. None if no reachable rule is unproductive.
    Terminals count as productive.
    """
    rules = gathered(tree)
    productive = least(rules, is_productive)
    unproductive = rules.keys() - productive
    opens = unproductive | least(
        rules, lambda body, known: any(c.name in known | unproductive for c in calls(body))
    )
    if start not in opens:
        return None
    opener = _Opener(opens, productive)
    span = tree.rules[0].span
    copies = [
        Rule(_copy(name), body, span, span)
        for name in sorted(opens)
        for body in opener.alternatives(name, rules[name])
    ]
    return GrammarTree((*copies, *tree.rules), tree.source), _copy(start)


def _copy(name: str) -> str:
    """The name of a rule's copy; no identifier has a space."""
    return f"{name} without end"


def is_productive(body: Expression, known: Set[str]) -> bool:
    """Whether a body derives a text, given the rules that do."""
    return derives(body, known, lambda _: True)


@dataclass(frozen=True, slots=True)
class _Opener:
    """Builds the copies."""

    #: The rules that reach an unproductive one, including the unproductive ones.
    opens: Set[str]
    productive: Set[str]

    def alternatives(self, name: str, body: Expression) -> list[Expression]:
        """The bodies of a rule's copy."""
        prefixes = self.opened(body)
        # a copy that only calls itself adds nothing and would be left recursion
        found = [w for w in prefixes if not (isinstance(w, Nonterminal) and w.name == _copy(name))]
        # an unproductive rule has been entered once it is called
        return found if name in self.productive else [*found, Literal(b"", body.span)]

    def opened(self, body: Expression) -> list[Expression]:
        """The prefixes of a body that end inside an unproductive rule."""
        match body:
            case Nonterminal(name=name, span=span):
                return [Nonterminal(_copy(name), span)] if name in self.opens else []
            case Choice(options=options):
                return [prefix for option in options for prefix in self.opened(option)]
            case SequenceNode():
                return self._in_sequence(body)
            case Repetition(item=item, high=high, span=span):
                prefixes = self.opened(item)
                if high == 1 or not is_productive(item, self.productive):
                    return prefixes
                before = Repetition(item, 0, None if high is None else high - 1, span)
                return [SequenceNode((before, prefix), span) for prefix in prefixes]
            case _:
                return []

    def _in_sequence(self, body: SequenceNode) -> list[Expression]:
        found: list[Expression] = []
        for index, item in enumerate(body.items):
            before = body.items[:index]
            for prefix in self.opened(item):
                found.append(SequenceNode((*before, prefix), body.span) if before else prefix)
            if not is_productive(item, self.productive):
                break  # nothing after it is ever reached
        return found


#: The most states explored before giving up: enough for a suffix of a few dozen tokens.
_MAX_STATES = 256


def forced_suffix(constraint: Constraint, state: State) -> tuple[TokenId, ...]:
    """The tokens of the only text that can follow, an end token last; empty if texts differ.

    Every tokenization of the remainder is followed from mask to mask, so only the ``Constraint``
    protocol is needed. The tokens are the longest at each position; of equals the lowest id.
    Cost: a mask for every byte of the remainder, at most ``_MAX_STATES``; one if texts differ
          immediately.
    """
    suffix = b""
    ends: set[int] = set()
    waiting, seen = [(0, state)], {(0, state)}
    while waiting:
        position, here = waiting.pop()
        mask = constraint.mask(here)
        ids = mask.ids[:_MAX_STATES].tolist()
        if len(ids) == _MAX_STATES or len(seen) > _MAX_STATES:
            return ()
        if _only_end(constraint, here, ids):
            ends.add(position)
            continue
        for token_id in ids:
            token = constraint.vocabulary.tokens[token_id] or b""
            known = suffix[position : position + len(token)]
            if not token or not token.startswith(known):
                return ()
            suffix += token[len(known) :]
            there = (position + len(token), constraint.advance(here, token_id))
            if there not in seen:
                seen.add(there)
                waiting.append(there)
    return _longest_tokens(constraint, state, suffix) if ends == {len(suffix)} else ()


def _only_end(constraint: Constraint, state: State, ids: list[TokenId]) -> bool:
    """Whether the text is complete and only end tokens can follow."""
    return constraint.is_final(state) and set(ids).issubset(constraint.vocabulary.ends)


def _longest_tokens(constraint: Constraint, state: State, left: bytes) -> tuple[TokenId, ...]:
    found: list[TokenId] = []
    while left:
        token_id = _longest(constraint, constraint.mask(state), left)
        found.append(token_id)
        left = left[len(constraint.vocabulary.tokens[token_id] or b"") :]
        state = constraint.advance(state, token_id)
    return (*found, *constraint.vocabulary.ends[:1])


def _longest(constraint: Constraint, mask: TokenMask, left: bytes) -> TokenId:
    """The longest allowed token that is a prefix of ``left``; it exists."""
    ids_of = constraint.vocabulary.ids_of
    prefixes = (i for length in range(len(left), 0, -1) for i in ids_of.get(left[:length], ()))
    return next(token_id for token_id in prefixes if token_id in mask)
