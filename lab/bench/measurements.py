"""Measures one engine on one case, and its cold start; the benchmark's records.

Each repetition compiles the constraint again, computes the first mask, and walks the text once
cold and then warm on the same object. The garbage collector is off while time is measured.
"""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from lab.bench.cold_starts import start_seconds
from workbench.engines.case import Case
from workbench.engines.peer import Compiled, Peer, Walker
from workbench.vocabulary.vocabulary import Vocabulary

#: ``ok``: measured; ``not read``: the case is in no notation of the engine; ``refused``: the engine
#: raised an error or refused a token of the walk; ``crashed``, ``timed out``: its process did.
Status = Literal["ok", "not read", "refused", "crashed", "timed out"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRecord:
    """An engine over a vocabulary, before any case.

    Unit: ``*_ms`` milliseconds, ``*_s`` seconds. None: not measured for this engine.
    """

    engine: str
    version: str
    vocabulary: str
    status: Status = "ok"
    reason: str = ""
    #: From token bytes to a first small mask, with empty caches.
    prepare_ms: float | None = None
    #: The same once the user's cache folder holds the vocabulary.
    cached_ms: float | None = None
    #: A new process, from import to first mask, without compiled kernels: ordinary Python.
    first_mask_no_kernels_s: float | None = None
    #: The same with the compiled kernels in the cache.
    first_mask_cached_kernels_s: float | None = None
    kind: Literal["engine"] = "engine"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRecord:
    """An engine on a case.

    Unit: ``*_ms`` milliseconds, the quickest of several compilations (the minimum excludes the
          machine's other work); ``*_us`` microseconds over the steps of the walk: means of each
          step's median, p50 and p99 of all samples. None: not measured for this engine.
    """

    engine: str
    version: str
    vocabulary: str
    case: str
    status: Status = "ok"
    reason: str = ""
    #: Tokens of the walk.
    tokens: int | None = None
    #: Text to an object that computes masks.
    compile_ms: float | None = None
    #: Text to the first mask.
    first_mask_ms: float | None = None
    #: Parsed tree to the first mask, for grammars.
    tree_mask_ms: float | None = None
    #: Masks along the walk of a freshly compiled constraint.
    cold_us: float | None = None
    cold_p50_us: float | None = None
    cold_p99_us: float | None = None
    #: Masks along the same walk again.
    warm_us: float | None = None
    warm_p99_us: float | None = None
    #: Steps by a token along the same walk again.
    advance_us: float | None = None
    advance_p99_us: float | None = None
    #: The closed form (every row) from the machine; for ours with the vocabulary's caches filled
    #: by other machines (``closed_ms``), and with empty caches (``closed_first_ms``).
    closed_ms: float | None = None
    closed_first_ms: float | None = None
    #: Additional time to write out every edge, as other engines store them.
    closed_told_ms: float | None = None
    closed_edges: int | None = None
    #: Bytes it stores, without the vocabulary's share.
    closed_bytes: int | None = None
    #: Why there is no closed form.
    closed_note: str = ""
    #: Bytes held by Python and numpy for the constraint after its walk.
    memory_bytes: int | None = None
    kind: Literal["case"] = "case"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRecord:
    """Masks of a peer compared with ours bit by bit along the walk, without special tokens."""

    engine: str
    version: str
    vocabulary: str
    case: str
    #: Masks compared, and the number expected (one more than the tokens of the walk).
    masks: int
    expected: int
    #: (mask, token) pairs we allow and the peer does not, and the reverse.
    dropped: int
    added: int
    #: Up to three of each: the text so far, then the token.
    dropped_examples: tuple[tuple[str, str], ...] = ()
    added_examples: tuple[tuple[str, str], ...] = ()
    kind: Literal["check"] = "check"


Record = EngineRecord | CaseRecord | CheckRecord


def median(samples: Iterable[float]) -> float:
    """The middle sample; the lower of two."""
    ordered = sorted(samples)
    return ordered[(len(ordered) - 1) // 2]


def percentile_99(samples: Iterable[float]) -> float:
    """The smallest sample that 99 % of them do not exceed (nearest rank)."""
    ordered = sorted(samples)
    return ordered[-(-len(ordered) * 99 // 100) - 1]


#: Differences of each kind that are recorded.
_MAX_EXAMPLES = 3

Masks = npt.NDArray[np.uint32]
Pairs = npt.NDArray[np.intp]


def compared(
    name: tuple[str, str],
    case: str,
    vocabulary: Vocabulary,
    walk: list[int],
    ours: Masks,
    theirs: Masks,
) -> CheckRecord:
    """Compare the masks of one walk.

    Special tokens and the end token are left out: engines follow different rules for them.
    """
    text = np.array([token is not None for token in vocabulary.tokens])
    count = min(len(ours), len(theirs))
    left, right = (_bools(masks[:count], len(text)) & text for masks in (ours, theirs))
    dropped, added = np.argwhere(left & ~right), np.argwhere(right & ~left)
    return CheckRecord(
        engine=name[0],
        version=name[1],
        vocabulary=vocabulary.name,
        case=case,
        masks=count,
        expected=len(walk) + 1,
        dropped=len(dropped),
        added=len(added),
        dropped_examples=_shown(dropped, vocabulary, walk),
        added_examples=_shown(added, vocabulary, walk),
    )


def _bools(masks: Masks, size: int) -> npt.NDArray[np.bool_]:
    """Packed rows as booleans, (masks, V)."""
    packed = np.ascontiguousarray(masks).view(np.uint8)
    return np.unpackbits(packed, axis=1, bitorder="little")[:, :size].astype(np.bool_)


def _shown(pairs: Pairs, vocabulary: Vocabulary, walk: list[int]) -> tuple[tuple[str, str], ...]:
    """The text so far and the token of a few pairs, from different masks where possible."""
    _, firsts = np.unique(pairs[:, 0], return_index=True)
    chosen = [*firsts, *(i for i in range(len(pairs)) if i not in set(firsts.tolist()))]
    return tuple(
        (_text(vocabulary.decode(walk[:step])), _text(vocabulary.tokens[token] or b""))
        for step, token in (pairs[i] for i in chosen[:_MAX_EXAMPLES])
    )


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")


#: Warm walks for each compilation: short, with samples of about a microsecond.
_WARM_WALKS = 5

#: A factor for ``repeat``, used while all compilations together take less than these seconds.
_CHEAP_FACTOR, _CHEAP_SECONDS = 10, 0.5


class RefusedError(Exception):
    """The engine refused a token of the walk."""


@dataclass(slots=True)
class _Samples:
    """Seconds; one list for each walk."""

    compile: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    cold: list[list[float]] = field(default_factory=list)
    warm: list[list[float]] = field(default_factory=list)
    advance: list[list[float]] = field(default_factory=list)


def measure(
    peer: Peer, name: tuple[str, str], case: Case, walk: list[int], repeat: int, seconds: float
) -> CaseRecord:
    """The times of one case; ``name`` is the engine's and its version.

    Repetitions end after ``repeat``, or once ``seconds`` are spent; cheap cases are repeated more.
    Raises: RefusedError; whatever the engine raises.
    """
    about: dict[str, Any] = {
        "engine": name[0],
        "version": name[1],
        "vocabulary": peer.vocabulary.name,
    }
    compile_ = peer.compiler(case)
    if compile_ is None:
        reason = "no text in a notation it reads"
        return CaseRecord(**about, case=case.name, status="not read", reason=reason)
    samples = _sampled(peer, compile_, walk, repeat, seconds)
    extras = peer.extras(case, walk)
    cold, warm, advance = (
        _of_steps(walks) for walks in (samples.cold, samples.warm, samples.advance)
    )
    return CaseRecord(
        **about,
        case=case.name,
        tokens=len(walk),
        compile_ms=min(samples.compile) * 1e3,
        first_mask_ms=min(samples.first) * 1e3,
        cold_us=cold[0],
        cold_p50_us=median(mask for masks in samples.cold for mask in masks) * 1e6,
        cold_p99_us=cold[1],
        warm_us=warm[0],
        warm_p99_us=warm[1],
        advance_us=advance[0],
        advance_p99_us=advance[1],
        **asdict(extras),
    )


def _sampled(
    peer: Peer, compile_: Callable[[], Compiled], walk: list[int], repeat: int, seconds: float
) -> _Samples:
    samples = _Samples()
    begun = time.perf_counter()
    gc.collect()
    gc.freeze()  # a collection does not visit older objects, which would flush the CPU caches
    gc.disable()
    try:
        while compiles_again(len(samples.first), time.perf_counter() - begun, repeat, seconds):
            compiled = None  # the last one is freed before the clock runs
            gc.collect()
            start = time.perf_counter()
            compiled = compile_()
            ready = time.perf_counter()
            peer.start(compiled).mask()
            samples.first.append(time.perf_counter() - start)
            samples.compile.append(ready - start)
            samples.cold.append(_walked(peer.start(compiled), walk)[0])
            for _ in range(_WARM_WALKS):
                masks, advances = _walked(peer.start(compiled), walk)
                samples.warm.append(masks)
                samples.advance.append(advances)
    finally:
        gc.enable()
        gc.unfreeze()
    return samples


def compiles_again(done: int, spent: float, repeat: int, seconds: float) -> bool:
    """Whether to compile once more: cheap cases are repeated more often."""
    if done < repeat:
        return done == 0 or spent < seconds
    return done < _CHEAP_FACTOR * repeat and spent < _CHEAP_SECONDS


def _walked(walker: Walker, walk: list[int]) -> tuple[list[float], list[float]]:
    """Seconds of every mask and of every step."""
    mask, advance, clock = walker.mask, walker.advance, time.perf_counter
    masks: list[float] = []
    advances: list[float] = []
    for token in walk:
        asked = clock()
        mask()
        made = clock()
        taken = advance(token)
        stepped = clock()
        if taken is False:
            raise RefusedError(f"token {token} of the walk is refused at step {len(masks) + 1}")
        masks.append(made - asked)
        advances.append(stepped - made)
    return masks, advances


def _of_steps(walks: list[list[float]]) -> tuple[float, float]:
    """Microseconds: the mean over steps of each step's median, and p99 of all samples."""
    steps = [median(step) for step in zip(*walks, strict=True)]
    worst = percentile_99(sample for walk in walks for sample in walk)
    return sum(steps) / len(steps) * 1e6, worst * 1e6


def masks_of(peer: Peer, case: Case, walk: list[int]) -> npt.NDArray[np.uint32]:
    """The masks before every token of the walk and after the last, (masks, ceil(V / 32)).

    Fewer where the engine refuses a token, or computes no mask when only the end is left.
    """
    compile_ = peer.compiler(case)
    assert compile_ is not None
    walker, rows = peer.start(compile_()), []
    for token in [*walk, None]:
        try:
            walker.mask()
        except Exception:  # engines share no error class; missing masks are counted
            break
        rows.append(peer.bits())
        if token is not None and walker.advance(token) is False:
            break
    return np.stack(rows) if rows else np.empty((0, peer.buffer.size), np.uint32)


def first_mask_seconds(vocabulary: str, patience: float) -> tuple[float, float]:
    """Seconds from import to JSON's first mask, without compiled kernels and with them on disk.

    In both, the vocabulary comes from this user's cache folder, if it is there.

    Raises: ProcessError where a process fails or takes too long.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        kernels = {"WORKBENCH_KERNEL_FOLDER": folder}
        new, _ = start_seconds("json", vocabulary, kernels, patience)
        cached, _ = start_seconds("json", vocabulary, kernels, patience)
    return new, cached
