"""Whether a method is minimally invasive: a method comes in, a counterexample goes out, or none.

Two questions. *Of the model*: is every valid output that the model generates alone also generated
under the constraint (DOMINO, definition 2.1)? *Of the masks alone*: is every spelling of every
accepted text allowed, whatever the model? The second needs no model and says what a model could
be kept from; one counterexample of either settles it, and no number of tries proves the first.
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

#: Pairs of states the search for a forbidden spelling looks at, and tokens it tries.
_MOST_PAIRS = 2_000
_MOST_TRIED = 200_000


@dataclass(frozen=True, slots=True, eq=False)
class ModelOutput:
    """What the model alone wrote, up to the last token after which the grammar accepts the text.

    Where it goes on beyond, a minimally invasive constraint ends (DOMINO §2). No tokens at all:
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
    """The model's own outputs; a sampling of temperature 0 is greedy.

    Raises: ModelError, LimitError.
    """
    free = Unconstrained(model.vocabulary)
    for sampling in samplings:
        for prompt in prompts:
            run = generate(model, free, prompt, sampling, max_tokens=max_tokens, top=0)
            yield ModelOutput(prompt, sampling, _valid(grammar, _trace(run)))


@dataclass(frozen=True, slots=True, eq=False)
class Counterexample:
    """A valid output of the model alone which the constrained model does not generate."""

    output: ModelOutput
    #: The first of its tokens the mask forbids, counted from 0.
    index: int
    #: What the method wrote instead, with the same seed; of the first counterexample alone, since
    #: it costs a run.
    instead: Trace | None


@dataclass(frozen=True, slots=True, eq=False)
class InvasiveTrial:
    """What was tried of definition 2.1, and what it came to."""

    #: Outputs of the model alone, and those of them that were valid.
    outputs: int
    valid: int
    kept: tuple[Counterexample, ...]

    @property
    def holds(self) -> bool | None:
        """False where a counterexample was found; None where no output was valid."""
        return False if self.kept else True if self.valid else None


def try_outputs(
    prepared: PreparedContender, outputs: Iterable[ModelOutput], *, max_tokens: int = 128
) -> InvasiveTrial:
    """Definition 2.1 on some outputs of the model alone.

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
    """All of a run."""
    deque(run, maxlen=0)
    return run.trace


def _valid(grammar: Grammar, trace: Trace) -> tuple[TokenId, ...]:
    """The tokens of a text up to the last after which the grammar accepts it; none without one."""
    text, longest = b"", 0
    told = [step for step in trace.steps if not step.is_end]
    for number, step in enumerate(told, 1):
        text += step.token
        if grammar.accepts(text):
            longest = number
        elif not grammar.is_prefix(text):
            break
    return tuple(step.token_id for step in told[:longest])


def forbidden_at(constraint: Constraint, token_ids: Sequence[TokenId]) -> int | None:
    """The first of these tokens that the masks forbid, counted from 0; None where none is."""
    state = constraint.initial
    for index, token_id in enumerate(token_ids):
        if token_id not in constraint.mask(state):
            return index
        state = constraint.advance(state, token_id)
    return None


@dataclass(frozen=True, slots=True)
class ForbiddenSpelling:
    """A spelling of an accepted text that a method's masks forbid, though the exact ones do not.

    ``before`` are the tokens that lead there, ``token_id`` the one forbidden (the end token where
    the text may not end); ``after`` completes an accepted text, None where none was found soon.
    """

    before: tuple[TokenId, ...]
    token_id: TokenId
    after: tuple[TokenId, ...] | None


@dataclass(frozen=True, slots=True)
class SpellingSearch:
    """What a search for forbidden spellings found, over how many pairs of states."""

    forbidden: ForbiddenSpelling | None
    pairs: int
    #: Whether every pair that can be reached was looked at: with nothing found, a proof.
    complete: bool


def search_spellings(
    exact: Constraint, constraint: Constraint, most: int = _MOST_PAIRS
) -> SpellingSearch:
    """The first forbidden spelling, breadth first over the pairs of states of both constraints.

    ``exact`` is any constraint of the same grammar that allows everything there is to allow.
    Cost: a mask of each and one comparison a pair; every token of a pair leads to another one.
    """
    first = (exact.initial, constraint.initial)
    seen = {first}
    waiting: deque[tuple[State, State, tuple[TokenId, ...]]] = deque([(*first, ())])
    tried_tokens = 0
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
            tried_tokens += 1
            if token_id == exact.vocabulary.end:
                continue
            pair = exact.advance(state, token_id), constraint.advance(other, token_id)
            if pair not in seen:
                if len(seen) >= most or tried_tokens > _MOST_TRIED:
                    return SpellingSearch(None, len(seen), False)
                seen.add(pair)
                waiting.append((*pair, (*before, token_id)))
    return SpellingSearch(None, len(seen), True)


def _rest(exact: Constraint, state: State, token_id: TokenId) -> tuple[TokenId, ...] | None:
    """Fewest tokens after which the text is accepted, once ``token_id`` is taken."""
    if token_id == exact.vocabulary.end:
        return ()
    first = exact.advance(state, token_id)
    seen, tried_tokens = {first}, 0
    waiting: deque[tuple[State, tuple[TokenId, ...]]] = deque([(first, ())])
    while waiting:
        here, ids = waiting.popleft()
        if exact.is_final(here):
            return ids
        for next_id in exact.mask(here):
            tried_tokens += 1
            if tried_tokens > _MOST_TRIED:
                return None
            there = exact.advance(here, next_id)
            if there not in seen:
                seen.add(there)
                waiting.append((there, (*ids, next_id)))
    return None
