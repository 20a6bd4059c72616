"""One engine on one case: in come a Peer and the tokens of a walk, out come a record and its masks.

Each repetition compiles anew, asks for the first mask, walks the text once cold and, on the same
object, once warm. The garbage collector is off while a clock runs.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.bench.cases import Case
from workbench.bench.peers.peer import Compiled, Peer, Walker
from workbench.bench.records import CaseRecord, median, percentile_99

#: Warm walks for every compilation: they are short, and their samples are a microsecond each.
_WARM_WALKS = 5

#: So many times more compilations, as long as all of them take no longer than this.
_MORE, _CHEAP_SECONDS = 10, 0.5


class RefusedError(Exception):
    """The engine did not take a token of the walk."""


@dataclass(slots=True)
class _Samples:
    """Seconds, one list a walk."""

    compile: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    cold: list[list[float]] = field(default_factory=list)
    warm: list[list[float]] = field(default_factory=list)
    advance: list[list[float]] = field(default_factory=list)


def measure(
    peer: Peer, name: tuple[str, str], case: Case, walk: list[int], repeat: int, seconds: float
) -> CaseRecord:
    """The times of one case; ``name`` is the engine's and its version.

    Repetitions end after ``repeat``, or once ``seconds`` are spent; cheap ones go on.
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
        tree_mask_ms=extras.tree_mask_ms,
        cold_us=cold[0],
        cold_p99_us=cold[1],
        warm_us=warm[0],
        warm_p99_us=warm[1],
        advance_us=advance[0],
        advance_p99_us=advance[1],
        closed_ms=extras.closed_ms,
        closed_first_ms=extras.closed_first_ms,
        closed_told_ms=extras.closed_told_ms,
        closed_edges=extras.closed_edges,
        closed_bytes=extras.closed_bytes,
        closed_note=extras.closed_note,
        memory_bytes=extras.memory_bytes,
    )


def _sampled(
    peer: Peer, compile_: Callable[[], Compiled], walk: list[int], repeat: int, seconds: float
) -> _Samples:
    samples = _Samples()
    begun = time.perf_counter()
    gc.collect()
    gc.freeze()  # what was there before is not swept through the processor's caches each time
    gc.disable()
    try:
        while goes_on(len(samples.first), time.perf_counter() - begun, repeat, seconds):
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


def goes_on(done: int, spent: float, repeat: int, seconds: float) -> bool:
    """Whether to compile once more: what is cheap is repeated more often."""
    if done < repeat:
        return done == 0 or spent < seconds
    return done < _MORE * repeat and spent < _CHEAP_SECONDS


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

    Fewer where the engine refuses a token, or any mask once only the end is left.
    """
    compile_ = peer.compiler(case)
    assert compile_ is not None
    walker, rows = peer.start(compile_()), []
    for token in [*walk, None]:
        try:
            walker.mask()
        except Exception:  # engines have no error in common; what is missing is counted
            break
        rows.append(peer.bits())
        if token is not None and walker.advance(token) is False:
            break
    return np.stack(rows) if rows else np.empty((0, peer.buffer.size), np.uint32)
