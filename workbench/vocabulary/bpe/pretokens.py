"""Pretokens: a pre-tokenizer's pattern comes in, the automaton of its correctly cut texts goes out.

Merges stay inside a piece, and where pieces begin may depend on what comes later (``\\s+(?!\\S)``).
Texts in which every piece's first character is marked, and no other, are a regular language over
(mark, class of the character); its automaton K is small (reference, section 9). It is built by
asking the pre-tokenizer itself, and refused where the two disagree on random texts.
"""

from __future__ import annotations

import hashlib
import random
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations, product

import numpy as np
import numpy.typing as npt

from workbench.errors import VocabularyError
from workbench.vocabulary.bpe.atoms import atoms, runs
from workbench.vocabulary.bpe.classes import Classes, classes
from workbench.vocabulary.bpe.pieces import Splitter, splitter
from workbench.vocabulary.cache import Arrays, remembered

#: Automata larger than this are refused.
MOST_STATES = 400
#: Random texts the automaton is held against, and how long they are at most.
CHECKS, LENGTH = 6_000, 12

#: Where pieces begin.
_Starts = tuple[int, ...]
#: For each further text where pieces begin in it, or None where a marked text cannot go on so.
_Signature = tuple[_Starts | None, ...]


@dataclass(frozen=True, eq=False)
class Pretokens:
    """K: reads (mark, class) character by character; a state is what may still come.

    Shape: ``steps`` (K, 2, C) int16, the next state or −1; ``accepts`` (K,) bool, whether the
           text may end. State 0 is the start.
    """

    patterns: tuple[str, ...]
    classes: Classes
    steps: npt.NDArray[np.int16]
    accepts: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.accepts)

    @cached_property
    def split(self) -> Splitter:
        """The pre-tokenizer itself."""
        return splitter(*self.patterns)

    def markings(self, text: str) -> list[tuple[bool, ...]]:
        """All markings of a text that K accepts: one, where it is right."""
        runs: list[tuple[int, tuple[bool, ...]]] = [(0, ())]
        for kind in self.classes.of[[ord(c) for c in text]].tolist():
            runs = [
                (target, (*marks, bool(mark)))
                for state, marks in runs
                for mark in (0, 1)
                if (target := int(self.steps[state, mark, kind])) >= 0
            ]
        return [marks for state, marks in runs if self.accepts[state]]


@cache
def pretokens(*patterns: str) -> Pretokens:
    """K of one pattern or of several, checked, and remembered on disk.

    Cost:   0.4 s for GPT-2's pattern and Tekken's, 0.7 s for Llama 3's, 2.2 s for o200k's, once.
    Raises: VocabularyError where the pattern's cuts are not told by a small automaton.
    """
    from tokenizers import __version__  # its tables of characters are part of K

    def make() -> Arrays:
        made = _made(patterns)
        return {"of": made.classes.of, "steps": made.steps, "accepts": made.accepts}

    key = hashlib.sha256("\0".join((__version__, *patterns)).encode()).hexdigest()
    return remembered("pretokens", key, make, lambda arrays: _read(patterns, arrays))


def _read(patterns: tuple[str, ...], arrays: Arrays) -> Pretokens:
    """K as it was written.

    Raises: KeyError, ValueError where the arrays do not fit together: kernels trust its numbers.
    """
    of = arrays["of"].astype(np.uint8, copy=False)
    steps = arrays["steps"].astype(np.int16, copy=False)
    accepts = arrays["accepts"].astype(np.bool_, copy=False)
    states = len(accepts)
    whole = of.shape == (0x110000,) and steps.ndim == 3 and steps.shape[:2] == (states, 2)
    if not whole or steps.max() >= states or steps.min() < -1:
        raise ValueError("the arrays of a pre-tokenizer do not fit together")
    if np.delete(of, range(0xD800, 0xE000)).max() >= steps.shape[2]:
        raise ValueError("the classes of a pre-tokenizer do not fit its automaton")
    return Pretokens(patterns, Classes(of), steps, accepts)


def _made(patterns: tuple[str, ...]) -> Pretokens:
    """K, asked of the pre-tokenizer and checked.

    Two characters ahead gave the automata of all patterns in use, in a tenth of the time that
    three take. To guess first which classes are cut alike (contractions name letters one by one)
    took as long as to ask about all of them.
    """
    kinds = classes(list(dict.fromkeys(a for pattern in patterns for a in atoms(pattern))))
    words = ["".join(map(kinds.example, run)) for pattern in patterns for run in runs(pattern)]
    split = splitter(*patterns)
    for ahead in (2, 3):
        made = _explored(patterns, kinds, split, _further(kinds, words, ahead))
        if (wrong := mistaken(made, kinds, words)) is None:
            return _joined(made)
    raise VocabularyError(
        f"the pre-tokenizer cuts {wrong!r} in a way a small automaton cannot decide",
        "choose a tokenizer whose pattern decides within three characters",
    )


def _joined(made: Pretokens) -> Pretokens:
    """The same automaton with classes taken together that it does not tell apart."""
    found: dict[bytes, int] = {}
    columns = [made.steps[:, :, kind].tobytes() for kind in range(made.steps.shape[2])]
    names = [found.setdefault(column, len(found)) for column in columns]
    kept = [names.index(name) for name in range(len(found))]
    steps = np.ascontiguousarray(made.steps[:, :, kept])
    return Pretokens(made.patterns, made.classes.joined(names), steps, made.accepts)


def marks_of(split: Splitter, text: str) -> tuple[bool, ...]:
    """Which characters of a text begin a piece."""
    starts = set(split(text))
    return tuple(place in starts for place in range(len(text)))


def _further(kinds: Classes, words: Sequence[str], ahead: int) -> list[str]:
    """What may follow: all texts of so many classes, and the words of the patterns from within.

    Without the words a piece such as ``<|tool|>`` was never met.
    """
    found = ["".join(s) for n in range(ahead + 1) for s in product(kinds.examples, repeat=n)]
    ends = {word[i:j] for word in words for i, j in combinations(range(len(word) + 1), 2)}
    if ahead > 2:  # a word may count only where it ends, or where it goes on
        ends |= {end + after for end in ends for after in kinds.examples}
    return [*found, *sorted(end for end in ends if len(end) > ahead)]


def _explored(
    patterns: tuple[str, ...], kinds: Classes, split: Splitter, further: Sequence[str]
) -> Pretokens:
    """All marked prefixes, breadth first, told apart by what may follow them."""
    examples = kinds.examples
    prefixes: list[tuple[str, _Starts]] = [("", ())]
    known = {_signatures("", further, split)[()]: 0}
    steps: list[list[list[int]]] = []
    while len(steps) < len(prefixes):
        text, starts = prefixes[len(steps)]
        row = [[-1] * len(examples) for _ in range(2)]
        for kind, example in enumerate(examples):
            signatures = _signatures(text + example, further, split)
            for mark in (0, 1):
                marked = (*starts, len(text)) if mark else starts
                signature = signatures.get(marked)
                if signature is None:
                    continue
                if signature not in known:
                    known[signature] = len(prefixes)
                    prefixes.append((text + example, marked))
                row[mark][kind] = known[signature]
        steps.append(row)
        if len(prefixes) > MOST_STATES:
            raise VocabularyError("the pre-tokenizer's pattern looks too far around itself")
    accepts = [tuple(split(text)) == starts for text, starts in prefixes]
    return Pretokens(patterns, kinds, np.array(steps, np.int16), np.array(accepts, np.bool_))


def _signatures(text: str, further: Sequence[str], split: Splitter) -> dict[_Starts, _Signature]:
    """What may follow a text, for each way to cut it that anything can follow."""
    size = len(text)
    found: dict[_Starts, list[_Starts | None]] = {}
    for place, more in enumerate(further):
        starts = split(text + more)
        cut = bisect_left(starts, size)
        told = found.setdefault(tuple(starts[:cut]), [None] * len(further))
        told[place] = tuple([start - size for start in starts[cut:]])
    return {starts: tuple(told) for starts, told in found.items()}


def mistaken(made: Pretokens, kinds: Classes, words: Sequence[str]) -> str | None:
    """A text that K cuts otherwise than its pre-tokenizer, or in more or fewer ways than one.

    Looked for among all texts of up to two classes, random ones of any characters, and random
    ones with words of the patterns, whole or begun, which chance alone would not spell.
    """
    rng = random.Random(1)
    members = [[chr(code) for code in kinds.members(kind)] for kind in range(len(kinds))]
    examples = kinds.examples
    texts = ["".join(t) for n in range(3) for t in product(examples, repeat=n)]
    for place in range(CHECKS):
        size = rng.randint(1, LENGTH)
        # rare characters find what classes get wrong, common ones what follows from what
        pools = members if place % 2 else [examples]
        texts.append("".join(rng.choice(rng.choice(pools)) for _ in range(size)))
    for word in words:
        begun = [word, *(word[:end] for end in range(1, len(word)))]
        for _ in range(CHECKS // (10 * len(words))):
            texts.append("".join(rng.choice(rng.choice((begun, examples))) for _ in range(4)))
    wrong = (t for t in texts if made.markings(t) != [marks_of(made.split, t)])
    return next(wrong, None)
