"""What one measurement says: flat records of plain values, one JSON object each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

#: ``ok``: measured; ``not read``: the engine has no notation for the case; ``refused``: it said
#: no, by an error or at a token of the walk; ``crashed``, ``timed out``: its process ended so.
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
    #: From token bytes to a first small mask, nothing remembered.
    prepare_ms: float | None = None
    #: The same once the user's cache folder holds the vocabulary.
    cached_ms: float | None = None
    #: A whole new process, from import to first mask, numba's kernels compiled anew.
    process_s: float | None = None
    #: The same with the kernels in numba's cache.
    process_cached_s: float | None = None
    kind: Literal["engine"] = "engine"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRecord:
    """An engine on a case.

    Unit: ``*_ms`` milliseconds, of fresh compilations the quickest (what is above it is the
          machine's other work); ``*_us`` microseconds, over the steps of the walk: means
          of each step's median, p99 of all samples. None: not measured for this engine.
    """

    engine: str
    version: str
    vocabulary: str
    case: str
    status: Status = "ok"
    reason: str = ""
    #: Tokens of the walk.
    tokens: int | None = None
    #: Text to an object ready to make masks.
    compile_ms: float | None = None
    #: Text to the first mask.
    first_mask_ms: float | None = None
    #: Parsed tree to the first mask, for grammars.
    tree_mask_ms: float | None = None
    #: Masks along the walk of a freshly compiled constraint.
    cold_us: float | None = None
    cold_p99_us: float | None = None
    #: Masks along the same walk again.
    warm_us: float | None = None
    warm_p99_us: float | None = None
    #: Steps by a token along the same walk again.
    advance_us: float | None = None
    advance_p99_us: float | None = None
    #: The closed form, every row at once, from the machine; for ours with what the vocabulary
    #: remembers of other machines, and without.
    closed_ms: float | None = None
    closed_first_ms: float | None = None
    #: What it takes then to write every edge out by itself, as others store them.
    closed_told_ms: float | None = None
    closed_edges: int | None = None
    #: What it stores, the vocabulary's share aside.
    closed_bytes: int | None = None
    #: Why there is no closed form.
    closed_note: str = ""
    #: What Python and numpy hold for the constraint after its walk.
    memory_bytes: int | None = None
    kind: Literal["case"] = "case"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRecord:
    """Masks of a peer held against ours, bit by bit, along the walk; special tokens aside."""

    engine: str
    version: str
    vocabulary: str
    case: str
    #: Masks compared, and those there are (one more than tokens of the walk).
    masks: int
    expected: int
    #: (mask, token) pairs we allow and the peer does not, and the other way round.
    dropped: int
    added: int
    #: Up to three of each: the text so far, then the token.
    dropped_examples: tuple[tuple[str, str], ...] = ()
    added_examples: tuple[tuple[str, str], ...] = ()
    kind: Literal["check"] = "check"


Record = EngineRecord | CaseRecord | CheckRecord


def median(samples: Iterable[float]) -> float:
    """The middle sample, of an even number the lower of the two."""
    ordered = sorted(samples)
    return ordered[(len(ordered) - 1) // 2]


def percentile_99(samples: Iterable[float]) -> float:
    """The smallest sample that 99 % of them do not exceed (nearest rank)."""
    ordered = sorted(samples)
    return ordered[-(-len(ordered) * 99 // 100) - 1]
