"""The automaton of the texts that are in a Unicode normal form.

A tokenizer that normalises texts writes only the tokens of normalised ones. Every part of a
normalised text is normalised (Unicode Standard Annex 15), so the automaton has no final states:
it refuses the character with which a text ceases to be normalised. After the starter S and the
marks m1 … mn, that is a character c which

* is changed alone (a singleton, an excluded composite, under NFD every composite);
* is a mark of a smaller combining class than mn: it would be moved before mn;
* composes with S, and no mark of its class or a larger one is between them.

So a state is the set of characters that would compose with the last starter, and the combining
class of the last mark (0 directly after the starter). Which characters change or compose is found
by normalising them with the library that tokenizers use, all of them in a few calls.

Source: Unicode Standard Annex 15, Unicode Normalization Forms; section 3.11 of the standard.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.vocabulary.disk_cache import Arrays, cached_arrays
from workbench.vocabulary.tokenization.pretokenizer import CODES, SURROGATES
from workbench.vocabulary.tokenizer import normalizer

#: A character that does not interact with others, between texts that are normalised together.
_SEPARATOR = "\0"
#: No character of a later plane is changed by normalisation, or a mark.
_END = 0x40000


class _Kind(NamedTuple):
    """What matters of a character."""

    #: Whether the character alone is changed.
    changes: bool = False
    combining_class: int = 0
    #: A bit for the character itself, if it composes with some starter.
    composing: int = 0
    #: The bits of the characters that would compose with it.
    partners: int = 0


@dataclass(frozen=True, eq=False)
class NormalForm:
    """The automaton of a normal form; all states are final, state 0 is initial.

    Shape: ``of`` (0x110000,) uint16, the class of each code point; ``steps`` (S, C) int16, the next
           state or −1.
    """

    of: npt.NDArray[np.uint16]
    steps: npt.NDArray[np.int16]


@cache
def normal_form(form: str) -> NormalForm:
    """The automaton of a normal form (``tokenizer.FORMS``), cached on disk.

    Cost: three seconds for NFC, once.
    """
    from tokenizers import __version__  # it depends on its Unicode tables

    def make() -> Arrays:
        normal = _make_form(normalizer(form))
        return {"of": normal.of, "steps": normal.steps}

    key = hashlib.sha256(f"{__version__}\0{form}".encode()).hexdigest()
    return cached_arrays("normal_form", key, make, _read)


def _read(arrays: Arrays) -> NormalForm:
    """The automaton from the arrays of a cached file.

    Raises: KeyError, ValueError if the arrays are inconsistent: kernels do not check indices.
    """
    of = arrays["of"].astype(np.uint16, copy=False)
    steps = arrays["steps"].astype(np.int16, copy=False)
    whole = of.shape == (CODES,) and steps.ndim == 2 and steps.max() < len(steps)
    if not whole or steps.min() < -1 or of.max() >= steps.shape[1]:
        raise ValueError("the arrays of a normal form do not fit together")
    return NormalForm(of, steps)


def _make_form(normalize: Callable[[str], str]) -> NormalForm:
    kinds = _kinds(normalize)
    numbers: dict[_Kind, int] = {_Kind(): 0}
    of = np.zeros(CODES, np.uint16)
    for character, kind in kinds.items():
        of[ord(character)] = numbers.setdefault(kind, len(numbers))
    above = _composing_above(kinds.values())
    states: dict[tuple[int, int], int] = {(0, 0): 0}
    rows: list[list[int]] = []
    queue = deque([(0, 0)])
    while queue:
        partners, last = queue.popleft()
        row = []
        for kind in numbers:
            combining = kind.combining_class
            moves = 0 < combining < last
            composes = kind.composing & partners and (last == 0 or combining > last)
            if kind.changes or moves or composes:
                row.append(-1)
                continue
            remaining = partners & above[combining] if combining else kind.partners
            if (remaining, combining) not in states:
                states[remaining, combining] = len(states)
                queue.append((remaining, combining))
            row.append(states[remaining, combining])
        rows.append(row)
    return NormalForm(of, np.array(rows, np.int16))


def _composing_above(kinds: Collection[_Kind]) -> dict[int, int]:
    """For each combining class, the bits of the composing characters of larger classes."""
    composing = {(kind.combining_class, kind.composing) for kind in kinds if kind.composing}
    return {
        least: sum(bit for combining, bit in composing if combining > least)
        for least in {kind.combining_class for kind in kinds}
    }


def _kinds(normalize: Callable[[str], str]) -> dict[str, _Kind]:
    """The kinds of all characters except those that interact with none."""
    characters = [chr(code) for code in range(1, _END) if code not in SURROGATES]
    changed = set(_changed_texts(normalize, characters))
    decomposed = _each(normalizer("NFD"), characters)
    composites = [(c, d) for c, d in zip(characters, decomposed, strict=True) if c != d]
    marks = _combining_classes(normalize, [c for c in characters if c not in changed])
    first = {d[0] for _, d in composites} | {c for c, _ in composites}
    starters = sorted(first - changed - marks.keys())
    composing = sorted({part for _, d in composites for part in d[1:]} - changed)
    partners: dict[str, int] = defaultdict(int)
    for index, second in enumerate(composing):
        for pair in _changed_texts(normalize, [first + second for first in starters]):
            partners[pair[0]] |= 1 << index
    bits = {second: 1 << index for index, second in enumerate(composing)}
    kinds = {c: _Kind(changes=True) for c in changed}
    for c in {*marks, *composing, *partners} - changed:
        kinds[c] = _Kind(False, marks.get(c, 0), bits.get(c, 0), partners.get(c, 0))
    return kinds


def _combining_classes(normalize: Callable[[str], str], characters: list[str]) -> dict[str, int]:
    """The marks, each with a number that orders combining classes; found by normalising.

    A mark is moved before another one of a larger class. One mark for each class is compared with
    all; Python's tables, which may be of another version of Unicode, only propose them.
    """
    proposed = sorted((unicodedata.combining(c), c) for c in characters if unicodedata.combining(c))
    low, high = proposed[0][1], proposed[-1][1]
    smaller = _changed_texts(normalize, [high + c for c in characters])
    larger = _changed_texts(normalize, [c + low for c in characters])
    distinct = {pair[1] for pair in smaller} | {pair[0] for pair in larger} | {low, high}
    samples = {number: mark for number, mark in reversed(proposed) if mark in distinct}
    marks = sorted(distinct)
    classes = dict.fromkeys(marks, 1)
    for sample in samples.values():
        for pair in _changed_texts(normalize, [mark + sample for mark in marks]):
            classes[pair[0]] += 1
    return classes


def _changed_texts(normalize: Callable[[str], str], texts: list[str]) -> list[str]:
    """The texts that are not normalised."""
    return [t for t, n in zip(texts, _each(normalize, texts), strict=True) if t != n]


def _each(normalize: Callable[[str], str], texts: Iterable[str]) -> list[str]:
    """The normalised form of each text, in one call."""
    return normalize(_SEPARATOR.join(texts)).split(_SEPARATOR)
