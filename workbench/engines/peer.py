"""The interface of an engine in the benchmark, and the registry of engines."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.engines.case import Case
from workbench.vocabulary.vocabulary import Vocabulary

#: The engine's object that computes masks.
Compiled = Any


class Walker(NamedTuple):
    """A text being generated: computes the current mask, and advances by a token."""

    mask: Callable[[], object]
    #: Returns ``False`` where the engine refuses the token.
    advance: Callable[[int], object]


@dataclass(frozen=True, slots=True)
class Extras:
    """Measurements that only some engines have; ``CaseRecord`` has fields of the same names."""

    tree_mask_ms: float | None = None
    closed_ms: float | None = None
    closed_first_ms: float | None = None
    closed_told_ms: float | None = None
    closed_edges: int | None = None
    closed_bytes: int | None = None
    closed_note: str = ""
    memory_bytes: int | None = None


class Peer(ABC):
    """An engine made ready for one vocabulary.

    Shape: ``buffer`` (1, ceil(V / 32)) int32, the packed mask engines write into.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.buffer = np.zeros((1, (len(vocabulary) + 31) // 32), np.int32)
        self.prepare()

    @abstractmethod
    def prepare(self) -> None:
        """Import the engine and pass it the vocabulary."""

    @abstractmethod
    def compiler(self, case: Case) -> Callable[[], Compiled] | None:
        """What compiles the case from its text, or None where the engine has no notation for it."""

    @abstractmethod
    def start(self, compiled: Compiled) -> Walker:
        """A walker at the beginning of a text."""

    def bits(self) -> npt.NDArray[np.uint32]:
        """A copy of the last mask, (ceil(V / 32),)."""
        copied: npt.NDArray[np.uint32] = self.buffer[0].view(np.uint32).copy()
        return copied

    def extras(self, case: Case, walk: list[int]) -> Extras:
        """Further measurements; none for most."""
        return Extras()

    @property
    def end(self) -> int:
        """The end token; the vocabularies of the benchmark have one."""
        assert self.vocabulary.end is not None
        return self.vocabulary.end


#: Repetitions at most, and seconds after which none begins.
_MAX_TIMES, _MAX_SECONDS = 30, 1.0


def quickest_ms(make: Callable[[], object], before: Callable[[], object] = lambda: None) -> float:
    """Milliseconds of the quickest of some calls, each after a call of ``before``."""
    samples: list[float] = []
    begun = time.perf_counter()
    while not samples or (len(samples) < _MAX_TIMES and time.perf_counter() - begun < _MAX_SECONDS):
        before()
        start = time.perf_counter()
        result = make()
        samples.append(time.perf_counter() - start)
        del result  # freed outside the measured time
    return min(samples) * 1e3


def greedy_tokens(text: str, vocabulary: Vocabulary) -> list[int]:
    """A text as tokens, always the longest match; of equal tokens not the byte token.

    Raises: VocabularyError where a byte of the text is in no token.
    """
    data, ids_of, token_ids = text.encode(), vocabulary.ids_of, []
    longest = vocabulary.trie.height
    while data:
        for length in range(min(longest, len(data)), 0, -1):
            if data[:length] in ids_of:
                break
        else:
            length = 1
            vocabulary.ids(data[:1])  # raises, and names the byte
        token_ids.append(ids_of[data[:length]][-1])
        data = data[length:]
    return token_ids
