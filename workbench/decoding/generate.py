"""The decoding loop: generates from a model under a constraint, one ``Step`` per token."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile

from workbench.base.errors import ModelError, TokenNotAllowed, VocabularyError, WorkbenchError
from workbench.constraint.protocol import Constraint, State
from workbench.decoding.model import LanguageModel, Prompt, Session, context_of
from workbench.decoding.sampling import Sampling
from workbench.decoding.strategy import PLAIN, DecodingLoop, Strategy
from workbench.decoding.trace import Step, StopReason, Trace
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: The default sampling: greedy.
GREEDY = Sampling()


def generate(
    model: LanguageModel,
    constraint: Constraint,
    prompt: Prompt,
    sampling: Sampling = GREEDY,
    *,
    max_tokens: int = 256,
    top: int = 10,
    stop: Callable[[], bool] | None = None,
    strategy: Strategy = PLAIN,
    prefix: Sequence[TokenId] = (),
    session: Session | None = None,
) -> Generation:
    """Generate under a constraint; iterate for steps, the iterator also has the trace.

    ``prompt``       text, or the model's own tokens.
    ``max_tokens``   how many tokens this call may take, the end token included.
    ``top``          how many candidates a step records, before and after the mask.
    ``stop``         called before every token; True ends with StopReason.STOPPED.
    ``strategy``     when a forward pass is run: for each token, or for several. The strategies of
                     module ``strategy`` generate the plain loop's text.
    ``prefix``       tokens already taken after the prompt. With the same seed the generation
                     continues exactly as it would have: to rewind or fork, pass another prefix.
    ``session``      a model session to continue: its cached prompt is not computed again.

    Raises: TokenNotAllowed if the constraint forbids ``prefix``; VocabularyError if the constraint
            was compiled for another vocabulary than the model's; while iterating ModelError and
            LimitError.
    Source: Koo et al. 2024, Algorithm 2; Beurer-Kellner et al. 2024 (DOMINO), Algorithm 1.
    """
    same_tokens(model.vocabulary, constraint.vocabulary)
    if max_tokens < 0 or top < 0:
        raise WorkbenchError(f"expected counts of 0 or more, not {min(max_tokens, top)}")
    loop = DecodingLoop(
        constraint=constraint,
        sampling=sampling,
        session=model.session() if session is None else session,
        context=[*context_of(model, prompt), *prefix],
        state=after(constraint, prefix),
        left=max_tokens,
        index=len(prefix),
        top=top,
        stop_asked=stop,
    )
    return Generation(loop, strategy)


def have_same_tokens(one: Vocabulary, other: Vocabulary) -> bool:
    """Whether two vocabularies have the same tokens and end tokens."""
    return one is other or (one.tokens == other.tokens and one.ends == other.ends)


def same_tokens(model: Vocabulary, constraint: Vocabulary) -> None:
    """Raise VocabularyError if a constraint's tokens are not the model's."""
    if have_same_tokens(model, constraint):
        return
    raise VocabularyError(
        f"expected a constraint over the model's own vocabulary ({model.name},"
        f" {len(model)} tokens), not over {constraint.name} ({len(constraint)} tokens)",
        "compile the grammar with model.vocabulary",
    )


def after(constraint: Constraint, prefix: Sequence[TokenId]) -> State:
    """The constraint's state after the tokens of a prefix."""
    state = constraint.initial
    for token_id in prefix:
        if token_id in constraint.vocabulary.ends:
            raise TokenNotAllowed(
                "expected a prefix without the end token", "nothing comes after the end token"
            )
        state = constraint.advance(state, token_id)
    return state


class Generation(Iterator[Step]):
    """A running generation: iterate for steps; ``trace`` has the steps taken."""

    def __init__(self, loop: DecodingLoop, strategy: Strategy) -> None:
        self._loop = loop
        self._strategy = strategy
        self._pending: Iterator[Step] | None = None
        #: The steps taken in this call.
        self.steps: list[Step] = []

    @property
    def stop(self) -> StopReason | None:
        """Why it ended; None while it runs, and set as soon as the last step was returned."""
        return self._loop.stop

    @property
    def trace(self) -> Trace:
        """The steps taken in this call, and why it ended."""
        return Trace(tuple(self.steps), self.stop)

    def scored_trace(self) -> Trace:
        """The trace with skipped tokens at the end scored, in one more pass if there are any.

        The recorded steps are not changed, and the pass counts for no step. Without it the
        perplexity of a text would depend on how much of its end was skipped. A context longer than
        the model can read is not scored.
        """
        tail = list(takewhile(lambda step: not step.is_scored, reversed(self.steps)))[::-1]
        if not tail:
            return self.trace
        loop = self._loop
        try:
            rows = loop.session.score(loop.context[:-1], len(tail))
        except ModelError:
            return self.trace
        known = [loop.scored_step(step, row) for step, row in zip(tail, rows, strict=True)]
        return Trace((*self.steps[: -len(tail)], *known), self.stop)

    def __next__(self) -> Step:
        if self.stop is not None:
            raise StopIteration
        if self._pending is None:
            self._pending = self._strategy.steps(self._loop)
        try:
            step = next(self._pending)
        except WorkbenchError:
            self._pending = None  # another call resumes at the loop's current state
            raise
        self.steps.append(step)
        return step
