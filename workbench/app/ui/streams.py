"""The lines of runs: steps as records that the page reads, in batches computed ahead.

Gradio sends the page a component's latest value and may skip earlier ones. A text therefore
contains two batches and the number of its first line. A page that misses more lines requests them;
the lines of the latest runs are stored here. (Tried before: a text of the last 64,000 characters
that grows to twice that. Gradio compares the values of a component as JSON on both sides, which
took most of the page's time.)
"""

from __future__ import annotations

import json
import math
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar, cast

from workbench.analysis.run_tracing import TracedToken
from workbench.app.ui import wire
from workbench.base import kernels
from workbench.base.errors import ModelError
from workbench.base.limits import current_budget, within
from workbench.constraint.protocol import Constraint, State, TokenMask, reads_labels
from workbench.constraint.reasoning import Reasoning
from workbench.constraint.within_budget import WithinBudget, state_without_budget, without_budget
from workbench.decoding.generate import run_together, shared_passes_of
from workbench.decoding.model import ForwardPass, TimedLogits
from workbench.decoding.reading import Reading
from workbench.decoding.retokenize import ImproperToken
from workbench.decoding.sampling import Stages, TokenDistribution, milliseconds_since
from workbench.decoding.trace import Candidate, Step, StopReason, Trace, repetition
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

Item = TypeVar("Item")

#: The most runs of all visitors at a time: their tokens are computed in shared forward passes.
RUNS_AT_ONCE = 16


#: The least seconds between two texts of a run.
BATCH_SECONDS = 0.08

#: The same for each run of a model at a time: an event takes Gradio about 4 ms, whatever its size.
_SECONDS_PER_RUN = 0.03

#: Runs whose lines are stored: those that are computed, and as many before them.
MAX_KEPT_RUNS = 2 * RUNS_AT_ONCE

#: What computes items and, in between, waits for the results of forward passes.
Work = Generator[Item | ForwardPass, TimedLogits | ModelError | None, None]

#: Work that needed more seconds between two passes gets a separate thread.
_SLOW_SECONDS = 0.05


def in_thread(items: Iterator[Item], seconds: float) -> Generator[list[Item], None, None]:
    """The items in the same order, in lists, computed in a separate thread.

    If the caller stops, the work ends at its next item; its exceptions are raised in the caller.
    """

    def work() -> Work[Item]:
        yield from items

    one = _Advancing(work())
    one.advance_alone()
    return one.batches(lambda: seconds)


class PassLoop:
    """Runs the work of many callers in one thread, with the forward passes of all together.

    Compared to a thread for each work, no threads are switched for a token, and no other Python
    code runs between the operations of a pass, each of which would wait for it. In a separate
    thread continues what would delay the others: work with slow masks, all work before the kernels
    are compiled, and that of models whose sessions cannot share passes. The loop's thread ends when
    there is no work.
    """

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._new: list[_Advancing[Any]] = []
        self._count = 0
        self._active = False

    def batches(self, work: Work[Item], seconds: float) -> Iterator[list[Item]]:
        """The items of some work in the same order, in lists, computed ahead of the caller.

        What comes before the first forward pass is computed in the caller's thread, each item a
        list. If the caller stops, the work is closed after the pass it waits for.

        ``seconds``  the least time between two lists; longer if the loop has much work.

        Raises: what the work raises, after the items before it.
        """
        first = next(work, None)
        while first is not None and not isinstance(first, ForwardPass):
            yield [first]
            first = next(work, None)
        if first is None:
            return
        one = _Advancing(work, first)
        if kernels.interpreting() or shared_passes_of(first.session) is None:
            one.advance_alone()
        else:
            self._add(one)
        yield from one.batches(lambda: max(seconds, self._count * _SECONDS_PER_RUN))

    def _add(self, one: _Advancing[Any]) -> None:
        with self._mutex:
            self._new.append(one)
            if not self._active:
                self._active = True
                threading.Thread(target=self._run, name="runs", daemon=True).start()

    def _run(self) -> None:
        running: list[_Advancing[Any]] = []
        while True:
            with self._mutex:
                running += self._new
                self._new.clear()
                self._count = len(running)
                if not running:
                    self._active = False
                    return
            running = list(_advanced(running))


def _advanced(running: Sequence[_Advancing[Any]]) -> Iterator[_Advancing[Any]]:
    """Run the passes that all wait for; those that the loop continues with."""
    try:
        results = run_together([one.waits_for for one in running if one.waits_for is not None])
    except BaseException as error:  # raised in each caller
        for one in running:
            one.end(error)
        return
    for one, result in zip(running, results, strict=True):
        started = time.perf_counter()
        if one.advance(result):
            if milliseconds_since(started) > 1000 * _SLOW_SECONDS:
                one.advance_alone()
            else:
                yield one


class _Advancing(Generic[Item]):
    """Work that is computed in another thread than its caller's."""

    def __init__(self, work: Work[Item], waits_for: ForwardPass | None = None) -> None:
        self._work = work
        #: The caller's, which may end the work.
        self._budget = current_budget()
        #: None before work that may have no passes.
        self.waits_for = waits_for
        #: Whether the caller wants no further items.
        self._left = False
        self._computed: deque[Item] = deque()
        self._error: BaseException | None = None
        #: Set when there are items, or none will follow.
        self._found = threading.Event()
        self._ended = threading.Event()

    def advance(self, result: TimedLogits | ModelError | None) -> bool:
        """Compute up to the next forward pass; False at the end."""
        try:
            while not self._left:
                with within(self._budget):
                    item = self._work.send(result)
                if isinstance(item, ForwardPass):
                    self.waits_for = item
                    return True
                result = None
                self._computed.append(item)
                self._found.set()
            self._work.close()  # in the thread that ran it: its resources are released immediately
        except StopIteration:
            self.end()
        except BaseException as error:  # raised again in the caller
            self.end(error)
        else:
            self.end()
        return False

    def advance_alone(self) -> None:
        """Compute the rest in a separate thread."""

        def run() -> None:
            goes_on = self.waits_for is not None or self.advance(None)
            while goes_on:
                goes_on = any(_advanced([self]))

        threading.Thread(target=run, name="run", daemon=True).start()

    def end(self, error: BaseException | None = None) -> None:
        """There are no further items; an error is raised in the caller."""
        self._error = error
        self._ended.set()
        self._found.set()

    def batches(self, seconds: Callable[[], float]) -> Generator[list[Item], None, None]:
        """The items in lists, some ``seconds`` apart; the first and the last without delay."""
        try:
            while True:
                self._found.wait()
                self._found.clear()
                ended = self._ended.is_set()
                if items := [self._computed.popleft() for _ in range(len(self._computed))]:
                    yield items
                if ended:
                    break
                self._ended.wait(seconds())
        finally:
            self._left = True
        if self._error is not None:
            raise self._error


class Streams:
    """The lines of the latest runs; safe to share between threads."""

    def __init__(self) -> None:
        self._lines: OrderedDict[str, list[str]] = OrderedDict()
        self._lock = threading.Lock()

    def texts(self, batched: Iterator[list[Record]]) -> Iterator[str]:
        """A text for each batch of records; the first one is the head alone.

        A text consists of the head, ``{"k":"from","n":…}`` with the number of lines before it, the
        last batch and the new batch.
        """
        [first] = next(batched)
        head, lines = line(first), self._stored(first["run"])
        start = 0
        for batch in batched:
            sent = len(lines)
            lines += map(line, batch)
            yield _text(head, start, lines)
            start = sent

    def since(self, run: str, count: int) -> str | None:
        """The lines of a run after the first ``count``; None if the run is not stored."""
        lines = self._lines.get(run)
        return None if lines is None else "".join(lines[count:])

    def _stored(self, run: str) -> list[str]:
        """A new list of lines for a run; without a name it is not stored."""
        lines: list[str] = []
        if not run:
            return lines
        with self._lock:
            self._lines[run] = lines
            self._lines.move_to_end(run)
            while len(self._lines) > MAX_KEPT_RUNS:
                self._lines.popitem(last=False)
        return lines


def _text(head: str, start: int, lines: list[str]) -> str:
    return "".join((head, line({"k": "from", "n": start}), *lines[start:]))


# -- records --------------------------------------------------------------------------------------
# Steps of a run as the records the page reads: one JSON object a line.


#: A record for the page: a JSON object.
Record = dict[str, Any]

#: Why a run ended, in words.
WORDS = {
    StopReason.ACCEPTED: "valid and complete; the model ended it",
    StopReason.FORCED_END: "valid and complete",
    StopReason.DEAD_END: "dead end: no token is allowed",
    StopReason.TOKEN_BUDGET: "cut off at the token limit",
    StopReason.STOPPED: "stopped by you",
}

_BITS = 1 / math.log(2)


def token_record(token_id: TokenId, token: bytes | None, vocabulary: Vocabulary) -> wire.Token:
    """A token as text if it is UTF-8, else as hexadecimal bytes."""
    if token_id in vocabulary.ends:
        return {"id": token_id, "end": True}
    if token is None:
        name = vocabulary.names.get(token_id, f"special {token_id}")
        return {"id": token_id, "text": f"⟨{name}⟩"}
    try:
        return {"id": token_id, "text": token.decode("utf-8")}
    except UnicodeDecodeError:
        return {"id": token_id, "hex": token.hex()}


def step_record(
    step: Step, place: TracedToken, cycle: int | None, vocabulary: Vocabulary
) -> wire.UnlabelledStep:
    """The fields the page shows of one token.

    ``p``, ``s`` and ``rank`` are the model's, before the mask; ``pm``, ``sm`` and ``rankm`` among
    the allowed tokens. ``loop`` is the number of the machine's cycle that the token stays in.
    Unit: ``s``, ``sm`` (surprisal) and ``m`` (removed by the mask) in bits, null for infinite;
          ``ms`` milliseconds.
    """
    wanted = [_candidate(candidate, vocabulary) for candidate in step.wanted]
    same = step.allowed is step.wanted
    return {
        "k": "step",
        "i": step.index,
        "id": step.token_id,
        "token": token_record(step.token_id, step.token or None, vocabulary),
        "s": _finite(step.surprisal * _BITS),
        "sm": _finite(step.masked_surprisal * _BITS),
        "p": _probability(step.logprob),
        "pm": _probability(step.masked_logprob),
        "rank": step.rank,
        "rankm": step.masked_rank,
        "cut": step.intervened,
        **_masked(step.mask, step.kept, vocabulary),
        **_position(place),
        "loop": cycle,
        "ms": {**_times(step.model_ms, step.mask_ms), "advance": round(step.advance_ms, 3)},
        "wanted": wanted,
        "may": wanted if same else [_candidate(one, vocabulary) for one in step.allowed],
        **stages_record([name for name, _ in step.stages]),
        **after_record([share for _, share in step.stages]),
    }


def stages_record(names: Sequence[str]) -> wire.Staged:
    """The names of the stages of sampling; nothing if they are not recorded."""
    return {"stages": list(names)} if names else {}


def after_record(shares: Sequence[float]) -> wire.AfterStages:
    """A token's probability after every stage; nothing if they are not recorded."""
    return {"after_stages": [float(f"{share:.4g}") for share in shares]} if shares else {}


def label_record(constraint: Constraint, state: State, token_id: TokenId) -> Record:
    """The terminal label that reads a token; empty if it is read as text."""
    label = constraint.label(state, token_id) if reads_labels(constraint) else None
    return {} if label is None else {"label": label.name}


def free_record(constraint: Constraint, state: State, token_id: TokenId | None) -> Record:
    """What the grammar reads of a token in the free part; nothing of one that is not chosen yet."""
    constraint, state = without_budget(constraint), state_without_budget(state)
    if not isinstance(constraint, Reasoning) or state.thought is None:
        return {}
    return {"free": "" if token_id is None else constraint.read_as(state, token_id).hex()}


def budget_record(constraint: Constraint, state: State) -> Record:
    """The tokens left, and the fewest that end the text; empty if it need not end in a budget."""
    if not isinstance(constraint, WithinBudget):
        return {}
    return {"budget": {"left": state.left, "needs": constraint.fewest(state)}}


def draft_record(step: Step, vocabulary: Vocabulary) -> Record:
    """The token that a draft model proposed at a step; empty if it proposed none."""
    if (draft := step.draft_id) is None:
        return {}
    return {"draft": token_record(draft, vocabulary.tokens[draft], vocabulary)}


def turn_record(
    turn: TokenDistribution, index: int, place: TracedToken, top: int, stages: Stages = ()
) -> wire.PlainTurn:
    """The record of a token that is not chosen yet, with the fields known before the choice."""
    wanted = turn.wanted(top, stages)
    return {
        "k": "turn",
        "i": index,
        "cut": not wanted[0].allowed,
        **_masked(turn.mask, turn.kept, turn.vocabulary),
        **_position(place),
        "ms": _times(turn.model_ms, turn.mask_ms),
        "wanted": [_candidate(candidate, turn.vocabulary) for candidate in wanted],
        "may": [_candidate(candidate, turn.vocabulary) for candidate in turn.allowed(top, stages)],
        **stages_record([name for name, _ in stages]),
    }


def _masked(mask: TokenMask, kept: float, vocabulary: Vocabulary) -> wire.Masked:
    """The fields of the mask."""
    allowed = len(mask)
    return {
        "m": _finite(-math.log2(kept)) if kept else None,
        "kept": _rounded(kept),
        "allowed": allowed,
        "forced": allowed == 1,
        "may_end": vocabulary.end is not None and vocabulary.end in mask,
    }


def _position(place: TracedToken) -> wire.Position:
    """The states of the machines at a token."""
    return {
        "state": place.state,
        "path": cast("wire.Path", place.path),
        "stack": list(place.stack),
        "rules": list(dict.fromkeys(place.stack)),
        "read_in": [{"start": span.start, "end": span.end} for span in place.read_in],
    }


def _times(model_ms: float, mask_ms: float) -> wire.Times:
    return {"model": round(model_ms, 3), "mask": round(mask_ms, 3)}


def _candidate(candidate: Candidate, vocabulary: Vocabulary) -> wire.Candidate:
    """A token with both of its probabilities."""
    return {
        **token_record(candidate.token_id, candidate.token, vocabulary),
        "before": _rounded(candidate.probability),
        "after": _rounded(candidate.masked_probability),
        "ok": candidate.allowed,
        **after_record(candidate.stages),
    }


def searched_record(turn: TokenDistribution, token_id: TokenId) -> wire.Found:
    """A token that was searched for, with its rank among all and, if allowed, among the allowed."""
    candidate = turn.candidate(token_id)
    rankm = turn.masked_rank(token_id) if candidate.allowed else None
    return {**_candidate(candidate, turn.vocabulary), "rank": turn.rank(token_id), "rankm": rankm}


def stop_record(trace: Trace, milliseconds: float) -> wire.Stop:
    """Why a run ended, and how fast it was."""
    assert trace.stop is not None
    seconds = max(milliseconds, 0.001) / 1000
    record: wire.Stop = {
        **ended_record(trace.stop),
        "rate": round(len(trace.steps) / seconds, 1),
        "perplexity": _finite(trace.perplexity),
    }
    if repeats := repetition([step.token for step in trace.steps]):
        record["repeats"] = repeats
    return record


def ended_record(reason: StopReason) -> wire.Stop:
    """Why there is no further token."""
    good = reason in (StopReason.ACCEPTED, StopReason.FORCED_END)
    return {"k": "stop", "reason": reason.value, "words": WORDS[reason], "good": good}


def full_record() -> wire.Stop:
    """The end of a run whose model can read no further token."""
    words = "cut off: the model can read no more tokens"
    return {"k": "stop", "reason": "model full", "words": words, "good": False}


def reading_record(reading: Reading) -> wire.Stop:
    """The end of a text that was read: whether the grammar accepts it."""
    refused = reading.refused
    if reading.accepted:
        words = "the grammar accepts this text"
    elif refused is None or reading.steps[refused].is_end:
        words = "the text is not complete: the grammar needs more"
    else:
        words = f"token {refused + 1} is refused"
        if refused + 1 < len(reading.steps):
            words += "; the model alone scores the rest"
    return {
        "k": "stop",
        "reason": "read",
        "words": words,
        "good": reading.accepted,
        "perplexity": _finite(reading.perplexity),
    }


def proper_record(found: ImproperToken | None, vocabulary: Vocabulary) -> wire.Improper | None:
    """Where the tokenizer would have written other tokens, and which."""
    if found is None:
        return None
    own = [token_record(i, vocabulary.tokens[i], vocabulary) for i in found.proper]
    return {"at": found.index, "own": own, "at_prompt": found.at_prompt}


def _finite(value: float) -> float | None:
    return round(value, 4) if math.isfinite(value) else None


def _probability(logprob: float) -> float:
    return _rounded(math.exp(logprob)) if logprob == logprob else 0.0


def _rounded(value: float) -> float:
    """Round to six significant digits, which halves the bytes."""
    return float(f"{value:.6g}") if math.isfinite(value) else 0.0


def line(record: Mapping[str, Any]) -> str:
    """A record as one line of NDJSON."""
    return json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"
