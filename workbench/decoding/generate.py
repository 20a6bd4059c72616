"""The decoding loop: one ``Step`` per token.

``generate`` runs one generation, ``generate_batch`` many of them in shared forward passes.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

from workbench.base.arguments import Count, PositiveCount, checked
from workbench.base.errors import ModelError, TokenNotAllowed, VocabularyError, WorkbenchError
from workbench.constraint.protocol import Constraint, State
from workbench.constraint.within_budget import WithinBudget
from workbench.decoding.model import (
    ForwardPass,
    LanguageModel,
    Prompt,
    Session,
    TimedLogits,
    context_of,
)
from workbench.decoding.sampling import Sampling
from workbench.decoding.shared_passes import MAX_ROWS, run_together, shared_passes_of
from workbench.decoding.strategy import PLAIN, DecodingLoop, Steps, Strategy
from workbench.decoding.trace import Step, StopReason, Trace
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: The default sampling: greedy.
GREEDY = Sampling()


@checked
def generate(
    model: LanguageModel,
    constraint: Constraint,
    prompt: Prompt,
    sampling: Sampling = GREEDY,
    *,
    max_tokens: Count = 256,
    top: Count = 10,
    stop: Callable[[], bool] | None = None,
    strategy: Strategy = PLAIN,
    prefix: Sequence[TokenId] = (),
    session: Session | None = None,
    finish: bool = False,
    stages: bool = False,
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
    ``finish``       whether only tokens are allowed after which the text can still end within
                     ``max_tokens`` (``WithinBudget``), so that no text is cut.
    ``stages``       whether a step that computes its mask also records the candidates'
                     probabilities after every stage of sampling (``Step.stages``).

    Raises: WorkbenchError for a negative count, for what is not a strategy, and with ``finish`` if
            every text is longer; TokenNotAllowed if the constraint forbids ``prefix``;
            VocabularyError if the constraint was compiled for another vocabulary than the model's;
            while iterating ModelError and LimitError.
    Source: Koo et al. 2024, Algorithm 2; Beurer-Kellner et al. 2024 (DOMINO), Algorithm 1.
    """
    if finish:
        constraint = WithinBudget(constraint, len(prefix) + max_tokens)
    loop = decoding_loop(
        model,
        constraint,
        prompt,
        sampling,
        max_tokens=max_tokens,
        top=top,
        stop=stop,
        prefix=prefix,
        session=session,
        stages=stages,
    )
    return Generation(loop, strategy)


@checked
def decoding_loop(
    model: LanguageModel,
    constraint: Constraint,
    prompt: Prompt,
    sampling: Sampling,
    *,
    max_tokens: Count,
    top: Count,
    stop: Callable[[], bool] | None = None,
    prefix: Sequence[TokenId] = (),
    session: Session | None = None,
    stages: bool = False,
) -> DecodingLoop:
    """The state of a generation before its first token. Arguments and errors: as ``generate``."""
    same_tokens(model.vocabulary, constraint.vocabulary)
    return DecodingLoop(
        constraint=constraint,
        sampling=sampling,
        session=model.session() if session is None else session,
        context=[*context_of(model, prompt), *prefix],
        state=after(constraint, prefix),
        left=max_tokens,
        index=len(prefix),
        top=top,
        stop_asked=stop,
        stages=stages,
    )


def same_tokens(model: Vocabulary, constraint: Vocabulary) -> None:
    """Raise VocabularyError if a constraint's tokens are not the model's."""
    if model is constraint:
        return
    if model.tokens == constraint.tokens and model.ends == constraint.ends:
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
        self._pending: Steps | None = None
        #: Whether the strategy waits for the result of a forward pass.
        self._asked = False
        #: The steps taken in this call.
        self.steps: list[Step] = []

    def __repr__(self) -> str:
        return f"Generation({self.trace!r})"

    @property
    def stop(self) -> StopReason | None:
        """Why it ended; None while it runs, and set as soon as the last step was returned."""
        return self._loop.stop

    @property
    def trace(self) -> Trace:
        """The steps taken in this call, and why it ended."""
        return Trace(tuple(self.steps), self.stop, self._loop.discarded_passes)

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
        scored = [loop.scored_step(step, row) for step, row in zip(tail, rows, strict=True)]
        return replace(self.trace, steps=(*self.steps[: -len(tail)], *scored))

    def __next__(self) -> Step:
        item = self.proceed()
        while isinstance(item, ForwardPass):
            item = self.proceed(run_together([item])[0])
        if item is None:
            raise StopIteration
        return item

    def proceed(self, answer: TimedLogits | ModelError | None = None) -> Step | ForwardPass | None:
        """Continue to the next step or the next forward pass; None at the end.

        ``answer``  the result of the forward pass that the previous call returned; without it, the
                    generation resumes after its last step.

        Raises: ModelError, LimitError; another call resumes after the last step, also after any
                other exception.
        """
        if self.stop is not None:
            return None
        if self._pending is None or (self._asked and answer is None):
            self._pending = self._strategy.steps(self._loop)
        try:
            if answer is None:
                item = next(self._pending)
            elif isinstance(answer, ModelError):
                item = self._pending.throw(answer)
            else:
                item = self._pending.send(answer)
        except StopIteration:
            return None
        except BaseException:
            self._pending = None
            raise
        self._asked = isinstance(item, ForwardPass)
        if isinstance(item, Step):
            self.steps.append(item)
        return item

    @property
    def longest(self) -> int:
        """The most tokens that the model will have read at the end."""
        return len(self._loop.context) + self._loop.left


#: A generation, and the forward pass it waits for.
_Running = tuple[Generation, ForwardPass]


@checked
def generate_batch(
    generations: Iterable[Generation], *, at_once: PositiveCount = MAX_ROWS
) -> Iterator[tuple[Generation, Step | WorkbenchError]]:
    """Run generations at the same time; yields each with its next step, as the steps are computed.

    Models whose sessions share forward passes (``TransformersModel``) score the runs together. A
    run that fails yields its error, and the others continue. Each run takes the tokens that it
    takes alone, except where the rounding of a shared pass decides between two tokens.

    ``generations``  from ``generate``, each with its own constraint, prompt, sampling, strategy and
                     stop; another one is drawn from the iterable when one ends.
    ``at_once``      how many of them run at a time; fewer if the model's cache has no space.

    Raises: WorkbenchError for a number below 1, or a generation that is running already.
    """
    source, running = iter(generations), list[_Running]()
    waiting = next(source, None)
    while running or waiting is not None:
        results = run_together([generation for _, generation in running])
        answered = [(run, result) for (run, _), result in zip(running, results, strict=True)]
        running = []
        for run, result in answered:
            running += yield from _run_to_pass(run, result)
        while waiting is not None and len(running) < min(at_once, _most_rows(running, waiting)):
            if any(waiting is run for run, _ in running):
                raise WorkbenchError("expected each generation of a batch once")
            running += yield from _run_to_pass(waiting, None)
            waiting = next(source, None)


def _run_to_pass(
    run: Generation, answer: TimedLogits | ModelError | None
) -> Generator[tuple[Generation, Step | WorkbenchError], None, list[_Running]]:
    """Yield the steps of a run up to its next forward pass; returns the run unless it ended."""
    try:
        item = run.proceed(answer)
        while item is not None and not isinstance(item, ForwardPass):
            yield run, item
            item = run.proceed()
    except WorkbenchError as error:
        yield run, error
        return []
    return [] if item is None else [(run, item)]


def _most_rows(running: Sequence[_Running], waiting: Generation) -> int:
    """How many runs can share passes if another one begins."""
    model = shared_passes_of(running[0][1].session) if running else None
    if model is None:
        return MAX_ROWS
    return model.most_rows(max(waiting.longest, *(run.longest for run, _ in running)))
