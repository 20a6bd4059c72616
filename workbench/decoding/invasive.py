"""Tests whether a method is minimally invasive, by a search for counterexamples.

There are two questions. *With a model*: is every valid output of the unconstrained model also
generated under the constraint (DOMINO, definition 2.1)? *Without a model*: do the masks allow every
tokenization of every accepted text? The second shows what any model could be prevented from. One
counterexample refutes either; the first cannot be proven by trials.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from workbench.constraint.mask import TokenMask
from workbench.constraint.protocol import Constraint, State, Unconstrained
from workbench.decoding.contenders import PreparedContender
from workbench.decoding.generate import Generation, generate
from workbench.decoding.model import LanguageModel
from workbench.decoding.sampling import Sampling
from workbench.decoding.trace import Trace
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.vocabulary import TokenId

#: The most pairs of states and the most tokens that the search for forbidden tokenizations tries.
_MAX_PAIRS = 2_000
_MAX_TOKENS = 200_000


@dataclass(frozen=True, slots=True, eq=False)
class ModelOutput:
    """An output of the unconstrained model, up to the last token after which it is accepted.

    If the model continued, a minimally invasive constraint ends there (DOMINO §2). Without tokens
    the output was not valid.
    """

    prompt: str
    sampling: Sampling
    token_ids: tuple[TokenId, ...]


def model_outputs(
    model: LanguageModel,
    grammar: Grammar,
    prompts: Sequence[str],
    samplings: Iterable[Sampling],
    *,
    max_tokens: int = 128,
) -> Iterator[ModelOutput]:
    """Outputs of the unconstrained model; a sampling of temperature 0 is greedy.

    Raises: ModelError, LimitError.
    """
    free = Unconstrained(model.vocabulary)
    for sampling in samplings:
        for prompt in prompts:
            run = generate(model, free, prompt, sampling, max_tokens=max_tokens, top=0)
            yield ModelOutput(prompt, sampling, _valid(grammar, _trace(run)))


@dataclass(frozen=True, slots=True, eq=False)
class Counterexample:
    """A valid output of the unconstrained model that the constrained model does not generate."""

    output: ModelOutput
    #: The first of its tokens the mask forbids, counted from 0.
    index: int
    #: The constrained run with the same seed; only for the first counterexample, since it costs a
    #: run.
    instead: Trace | None


@dataclass(frozen=True, slots=True, eq=False)
class InvasiveTrial:
    """The result of trials of definition 2.1."""

    #: The number of outputs of the unconstrained model, and how many were valid.
    outputs: int
    valid: int
    kept: tuple[Counterexample, ...]

    @property
    def holds(self) -> bool | None:
        """False if a counterexample was found; None if no output was valid."""
        return False if self.kept else True if self.valid else None


def try_outputs(
    prepared: PreparedContender, outputs: Iterable[ModelOutput], *, max_tokens: int = 128
) -> InvasiveTrial:
    """Test definition 2.1 on some outputs of the unconstrained model.

    The constrained model *can* generate an output if the mask allows each of its tokens; with
    greedy decoding it then does.

    Raises: ModelError, LimitError.
    Source: DOMINO, definition 2.1.
    """
    count, valid = 0, 0
    kept: list[Counterexample] = []
    for output in outputs:
        count += 1
        valid += bool(output.token_ids)
        index = forbidden_at(prepared.constraint, output.token_ids)
        if index is not None:
            run = prepared.start(output.prompt, output.sampling, max_tokens=max_tokens, top=0)
            kept.append(Counterexample(output, index, None if kept else _trace(run)))
    return InvasiveTrial(count, valid, tuple(kept))


def _trace(run: Generation) -> Trace:
    """Run to the end."""
    deque(run, maxlen=0)
    return run.trace


def _valid(grammar: Grammar, trace: Trace) -> tuple[TokenId, ...]:
    """The tokens up to the last one after which the grammar accepts the text; none if never."""
    text, longest = b"", 0
    steps = [step for step in trace.steps if not step.is_end]
    for number, step in enumerate(steps, 1):
        text += step.token
        if grammar.accepts(text):
            longest = number
        elif not grammar.is_prefix(text):
            break
    return tuple(step.token_id for step in steps[:longest])


def forbidden_at(constraint: Constraint, token_ids: Sequence[TokenId]) -> int | None:
    """The index of the first token that the masks forbid; None if all are allowed."""
    state = constraint.initial
    for index, token_id in enumerate(token_ids):
        if token_id not in constraint.mask(state):
            return index
        state = constraint.advance(state, token_id)
    return None


@dataclass(frozen=True, slots=True)
class ForbiddenSpelling:
    """A tokenization of an accepted text that a method's masks forbid and the exact masks allow.

    ``before`` are the allowed tokens, ``token_id`` the forbidden one (the end token if the text may
    not end); ``after`` completes an accepted text, None if none was found within the limit.
    """

    before: tuple[TokenId, ...]
    token_id: TokenId
    after: tuple[TokenId, ...] | None


@dataclass(frozen=True, slots=True)
class SpellingSearch:
    """The result of a search for forbidden tokenizations, and the number of pairs visited."""

    forbidden: ForbiddenSpelling | None
    pairs: int
    #: Whether all reachable pairs were visited; then finding nothing is a proof.
    complete: bool


def search_spellings(
    exact: Constraint, constraint: Constraint, most: int = _MAX_PAIRS
) -> SpellingSearch:
    """The first forbidden tokenization, breadth-first over pairs of states of both constraints.

    ``exact`` is any exact constraint of the same grammar.
    Cost: two masks and one comparison per pair; every allowed token of a pair leads to a pair.
    """
    first = (exact.initial, constraint.initial)
    seen = {first}
    waiting: deque[tuple[State, State, tuple[TokenId, ...]]] = deque([(*first, ())])
    token_count = 0
    while waiting:
        state, other, before = waiting.popleft()
        here, there = exact.mask(state), constraint.mask(other)
        missing = TokenMask(here.bits & ~there.bits, here.size)
        if len(missing):
            token_id = int(missing.ids[0])
            return SpellingSearch(
                ForbiddenSpelling(before, token_id, _rest(exact, state, token_id)), len(seen), False
            )
        for token_id in here:
            token_count += 1
            if token_id == exact.vocabulary.end:
                continue
            pair = exact.advance(state, token_id), constraint.advance(other, token_id)
            if pair not in seen:
                if len(seen) >= most or token_count > _MAX_TOKENS:
                    return SpellingSearch(None, len(seen), False)
                seen.add(pair)
                waiting.append((*pair, (*before, token_id)))
    return SpellingSearch(None, len(seen), True)


def _rest(exact: Constraint, state: State, token_id: TokenId) -> tuple[TokenId, ...] | None:
    """The fewest tokens that complete an accepted text after ``token_id``."""
    if token_id == exact.vocabulary.end:
        return ()
    first = exact.advance(state, token_id)
    seen, token_count = {first}, 0
    waiting: deque[tuple[State, tuple[TokenId, ...]]] = deque([(first, ())])
    while waiting:
        here, ids = waiting.popleft()
        if exact.is_final(here):
            return ids
        for next_id in exact.mask(here):
            token_count += 1
            if token_count > _MAX_TOKENS:
                return None
            there = exact.advance(here, next_id)
            if there not in seen:
                seen.add(there)
                waiting.append((there, (*ids, next_id)))
    return None
