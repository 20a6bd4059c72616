"""The decoding loop: one ``Step`` per token; continuous batching of several contexts.

``generate`` runs one generation, ``generate_batch`` many of them in shared forward passes.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Generic, Protocol, TypeVar

from workbench.base.arguments import Count, PositiveCount, checked
from workbench.base.errors import ModelError, TokenNotAllowed, VocabularyError, WorkbenchError
from workbench.constraint.protocol import Constraint, State
from workbench.constraint.within_budget import WithinBudget
from workbench.decoding.model import (
    ForwardPass,
    LanguageModel,
    Prompt,
    Session,
    SharedPasses,
    TimedLogits,
    context_of,
)
from workbench.decoding.sampling import Sampling, milliseconds_since
from workbench.decoding.strategy import PLAIN, DecodingLoop, Steps, Strategy
from workbench.decoding.trace import Step, StopReason, Trace
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

# -- shared passes --------------------------------------------------------------------------------
# Continuous batching: forward passes that several contexts share.
#
# ``run_together`` runs the passes that one thread waits for. ``PassQueue`` is for many threads:
# calls wait until one of them runs a pass for all. Neither knows how a model shares a pass.


#: The most contexts that share a pass.
MAX_ROWS = 64


def run_together(passes: Sequence[ForwardPass]) -> list[TimedLogits | ModelError]:
    """Run forward passes, those of one model's sessions together if they can be shared.

    Each result is that of ``Session.score`` with the milliseconds of its pass, or its error.
    """
    shared: dict[SharedPasses, list[int]] = {}
    found: dict[int, TimedLogits | ModelError] = {}
    for index, one in enumerate(passes):
        model = shared_passes_of(one.session)
        if model is not None:
            shared.setdefault(model, []).append(index)
            continue
        started = time.perf_counter()
        try:
            rows = one.session.score(one.token_ids, one.last)
            found[index] = rows, milliseconds_since(started)
        except ModelError as error:
            found[index] = error
    for model, indices in shared.items():
        started = time.perf_counter()
        results = model.score([passes[index] for index in indices])
        ms = milliseconds_since(started)
        for index, result in zip(indices, results, strict=True):
            found[index] = result if isinstance(result, ModelError) else (result, ms)
    return [found[index] for index in range(len(passes))]


def shared_passes_of(session: Session) -> SharedPasses | None:
    """What runs a session's passes with those of other sessions; None if they are run alone."""
    found: SharedPasses | None = getattr(session, "shared_passes", None)
    return found


@dataclass(slots=True, eq=False)
class Call:
    """The requests of one thread, which waits until all of them are answered."""

    #: How many are not answered.
    left: int = 0
    #: Gets an item when the thread may return, or run the next pass.
    woken: queue.SimpleQueue[None] = field(default_factory=queue.SimpleQueue, init=False)
    returned: bool = field(default=False, init=False)
    thread: int = field(default_factory=threading.get_ident, init=False)


class Request(Protocol):
    """What a pass answers."""

    call: Call


_Request = TypeVar("_Request", bound=Request)

#: Seconds that a call waits for the threads of the last pass: as long as that pass took, within
#: these bounds.
_LEAST_PATIENCE, _MOST_PATIENCE = 0.002, 0.05


class PassQueue(Generic[_Request]):
    """Collects the requests of many threads, and lets one of them run a pass for several.

    A thread that finds no pass running, and no other thread that is expected, runs the pass itself:
    a program with one thread never waits. Expected are the threads whose calls the last pass
    completed, since they will ask for their next token. A call waits for them until the last one
    has asked, or for as long as a pass takes; then they are no longer expected.

    The threads that a pass answered return one after the other: each wakes the next one when it
    asks again. If all ran at the same time, they would switch at every array operation (16 threads
    of the embedded model took 1.4 times as long). A thread that is not woken for 50 ms returns by
    itself, so a slow one does not stop the others.

    ``choose``  which of the waiting requests, oldest first, share the next pass; none if all of
                them must wait for memory.
    ``run``     runs the pass and stores the answers; may raise only what ends a program.
    """

    def __init__(
        self,
        choose: Callable[[Sequence[_Request]], Sequence[_Request]],
        run: Callable[[Sequence[_Request]], None],
    ) -> None:
        self._choose = choose
        self._run = run
        self._mutex = threading.Lock()
        self._waiting: list[_Request] = []
        #: Calls that are answered, and wait for their turn to return.
        self._answered: deque[Call] = deque()
        #: The call that runs a pass, and the requests that share it.
        self._running: tuple[Call, Sequence[_Request]] | None = None
        self._expected: set[int] = set()
        #: When calls no longer wait for the expected threads.
        self._due = 0.0
        self._patience = _LEAST_PATIENCE

    def answer(self, call: Call, requests: Sequence[_Request]) -> None:
        """Return when passes have answered all requests of a call."""
        try:
            with self._mutex:
                self._waiting += requests
                self._expected.discard(call.thread)
                now = time.monotonic()
                if now < self._due:
                    self._due = now + self._patience
                self._wake_answered()
            while call.left:
                with self._mutex:
                    chosen, seconds = self._begin(call, time.monotonic())
                if chosen:
                    self._pass(chosen)
                elif call.left:
                    self._wait(call, seconds)
        except BaseException:  # such as KeyboardInterrupt: another thread must run the next pass
            with self._mutex:
                if self._running is not None and self._running[0] is call:
                    self._waiting[:0] = self._running[1]
                    self._running = None
                self._waiting = [one for one in self._waiting if one.call is not call]
                self._wake_next()
            raise
        finally:
            call.returned = True

    @staticmethod
    def _wait(call: Call, seconds: float) -> None:
        with contextlib.suppress(queue.Empty):
            call.woken.get(timeout=seconds)

    def _begin(self, call: Call, now: float) -> tuple[Sequence[_Request], float]:
        """The requests of the pass that the caller runs; else none, and the seconds to wait."""
        if self._running is not None or not self._waiting:
            return (), _MOST_PATIENCE
        if self._expected and now < self._due:
            return (), self._due - now
        chosen = self._choose(self._waiting)
        if not chosen:
            return (), _MOST_PATIENCE
        taken = set(map(id, chosen))
        self._running = call, chosen
        self._waiting = [one for one in self._waiting if id(one) not in taken]
        return chosen, 0.0

    def _pass(self, chosen: Sequence[_Request]) -> None:
        """Run a pass and wake the threads it answered, and one of those that still wait."""
        started = time.monotonic()
        self._run(chosen)
        now = time.monotonic()
        with self._mutex:
            self._running = None
            self._completed(chosen, now, now - started)
            self._wake_next()

    def _completed(self, chosen: Sequence[_Request], now: float, seconds: float) -> None:
        for one in chosen:
            one.call.left -= 1
        calls = {id(one.call): one.call for one in chosen if not one.call.left}
        self._expected = {call.thread for call in calls.values()}
        self._patience = min(max(seconds, _LEAST_PATIENCE), _MOST_PATIENCE)
        self._due = now + self._patience
        self._answered.extend(calls.values())
        if not any(call.thread == threading.get_ident() for call in calls.values()):
            self._wake_answered()  # otherwise this thread returns first

    def _wake_answered(self) -> None:
        """Let the next answered call return."""
        while self._answered:
            call = self._answered.popleft()
            if not call.returned and call.thread != threading.get_ident():
                call.woken.put(None)
                return

    def _wake_next(self) -> None:
        """Let the thread that waits longest begin a pass, unless one is running."""
        if self._waiting and self._running is None:
            self._waiting[0].call.woken.put(None)


# -- the loop -------------------------------------------------------------------------------------


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
        known = [loop.scored_step(step, row) for step, row in zip(tail, rows, strict=True)]
        return replace(self.trace, steps=(*self.steps[: -len(tail)], *known))

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
        results = run_together([one for _, one in running])
        answered = [(run, result) for (run, _), result in zip(running, results, strict=True)]
        running = []
        for run, result in answered:
            running += yield from _proceeded(run, result)
        while waiting is not None and len(running) < min(at_once, _most_rows(running, waiting)):
            if any(waiting is run for run, _ in running):
                raise WorkbenchError("expected each generation of a batch once")
            running += yield from _proceeded(waiting, None)
            waiting = next(source, None)


def _proceeded(
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
