r"""The automaton K of a pre-tokenizer: which marked texts are split correctly.

A pre-tokenizer splits a text into pieces by regexes; merges never cross a piece. Where a piece
begins may depend on later characters (``\s+(?!\S)``). Mark the first character of each piece: the
correctly marked texts are a regular language over pairs (mark, class of the character), and its
automaton K is small (reference, section 9). For GPT-2's pattern::

    text     H e l l o ␣ w o r l d          "Hello" and " world" are the pieces
    marks    1 0 0 0 0 1 0 0 0 0 0

K is learned by querying the pre-tokenizer itself, in four steps:

1. ``atoms`` finds the character sets in the pattern: ``\p{L}``, ``[^\r\n]``, a literal letter. Only
   parts that match one character matter; how they are combined does not.
2. ``classes`` partitions all characters by the atoms they match, so that one example represents a
   class. The patterns are run by the library that tokenizers use (Rust's ``tokenizers``,
   Oniguruma), so there is no second implementation that could differ.
3. ``_explore`` builds K: two marked prefixes are one state if the pre-tokenizer splits all tested
   continuations of them in the same way (texts of two or three classes, and words of the pattern).
4. ``find_mistake`` compares K with the pre-tokenizer on random texts of all characters. If they
   differ, the pattern is refused.

``utf8_table`` turns classes of characters into an automaton over bytes, for ``guide``.
"""

from __future__ import annotations

import hashlib
import random
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product

import numpy as np
import numpy.typing as npt

from workbench.base.cached_property import cached_property
from workbench.base.errors import VocabularyError
from workbench.vocabulary.disk_cache import Arrays, cached_arrays

#: ``table[node, byte]``: the next node, ``DEAD``, or at the end of a character ``END`` − its class.
Table = npt.NDArray[np.int16]

DEAD, END = -1, -2
#: Continuation bytes.
_MORE = slice(0x80, 0xC0)


def utf8_table(of: npt.NDArray[np.uint8] | npt.NDArray[np.uint16], none: int) -> Table:
    """The automaton over bytes that finds the class of a character; node 0 is between characters.

    Equal blocks of 64 and of 4096 code points share a node, so there are a few hundred nodes.

    Shape: ``of`` (0x110000,), the class of each code point, or ``none`` for those not accepted.
    Raises: VocabularyError if there are too many nodes.
    """
    ends = np.where(of == none, DEAD, END - of.astype(np.int16)).astype(np.int16)
    nodes: dict[bytes, int] = {}
    lowest = _share_nodes(ends, nodes)
    # a character that needs fewer bytes has no longer encoding
    middle = _share_nodes(np.where(np.arange(len(lowest)) < 0x800 >> 6, DEAD, lowest), nodes)
    highest = _share_nodes(np.where(np.arange(len(middle)) < 0x10000 >> 12, DEAD, middle), nodes)
    if len(nodes) > 4_000:
        raise VocabularyError("the pre-tokenizer's classes are scattered over too many characters")
    table = np.full((len(nodes) + 1, 256), DEAD, np.int16)
    table[0, :0x80] = ends[:0x80]
    table[0, 0xC2:0xE0] = lowest[2:0x20]
    table[0, 0xE0:0xF0] = middle[:0x10]
    table[0, 0xF0:0xF5] = highest[:5]
    for block, node in nodes.items():
        table[node, _MORE] = np.frombuffer(block, np.int16)
    return table


def _share_nodes(entries: Table, nodes: dict[bytes, int]) -> Table:
    """The node of each block of 64 entries: one node for equal blocks, ``DEAD`` for dead ones."""
    rows = np.pad(entries, (0, -len(entries) % 64), constant_values=DEAD).reshape(-1, 64)
    dead = np.full(64, DEAD, np.int16).tobytes()
    keys = [row.tobytes() for row in rows]
    return np.array(
        [DEAD if row == dead else nodes.setdefault(row, len(nodes) + 1) for row in keys], np.int16
    )


_QUANTIFIER = re.compile(r"[*+?]|\{\d*,?\d*\}")
#: The upper bound of a counted repetition.
_COUNTS = re.compile(r"\{(?:\d*,)?(\d+)\}")
#: An atom is repeated at most this often in a run.
_MAX_REPEATED = 40
_GROUP = re.compile(r"\((?:\?(?:([a-zA-Z]*)(?:-([a-zA-Z]+))?([:)])|[=!>]|<[=!]|P?<\w+>))?")
_ESCAPE = re.compile(
    r"\\(?:[pP](?:\{[^}]*\}|.)|x\{[0-9A-Fa-f]+\}|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|.)"
)
#: Assertions, which match no character, and the character sets they depend on.
_ASSERTIONS = {
    r"\b": r"\w", r"\B": r"\w", r"\A": None, r"\z": None, r"\G": None,
    r"\Z": r"\n", "^": r"\n", "$": r"\n",
}  # fmt: skip


def atoms(pattern: str) -> list[str]:
    """The character sets of a pattern in their order, each as a separate pattern.

    Raises: VocabularyError for what does not depend on characters alone, such as back references.
    """
    return list(dict.fromkeys(atom for _, atom in _read_atoms(pattern) if atom is not None))


def runs(pattern: str) -> list[list[str]]:
    """The sequences of consecutive atoms of a pattern, counted atoms repeated: its words.

    Optional atoms occur once and groups are ignored: these are texts to test, not the texts that
    the pattern matches.
    """
    words: list[list[str]] = [[]]
    for part, atom in _read_atoms(pattern):
        if part == "|":
            words.append([])
        elif atom is not None:
            words[-1].append(atom)
        elif words[-1] and (counts := _COUNTS.match(part)):
            words[-1] += words[-1][-1:] * (min(int(counts[1]), _MAX_REPEATED) - 1)
    return words


def _read_atoms(pattern: str) -> Iterator[tuple[str, str | None]]:
    """The parts of a pattern, each with its atom, or None if it is not an atom."""
    folding = [False]
    position = 0
    while position < len(pattern):
        size, atom = _next(pattern, position, folding)
        yield pattern[position : position + size], f"(?i:{atom})" if atom and folding[-1] else atom
        position += size


def _next(pattern: str, position: int, folding: list[bool]) -> tuple[int, str | None]:
    """The length of the part of the pattern at an index, and its atom, if it is one.

    ``folding`` is the stack of open groups: whether each ignores case.
    """
    first = pattern[position]
    if first == "(" and (group := _GROUP.match(pattern, position)):
        _open(group, folding)
        return len(group[0]), None
    if first == ")":
        if len(folding) > 1:
            folding.pop()
        return 1, None
    if first == "[":
        text = _bracket(pattern, position)
        return len(text), text
    if first == "\\" and (escape := _ESCAPE.match(pattern, position)):
        if escape[0][1] in "123456789kKRXX":
            raise VocabularyError(
                f"the pre-tokenizer's pattern has {escape[0]}, which is not a set of characters"
            )
        return len(escape[0]), _ASSERTIONS.get(escape[0], escape[0])
    if quantifier := _QUANTIFIER.match(pattern, position):
        return len(quantifier[0]), None
    if first in "|.^$":
        return 1, {"|": None, ".": ".", **_ASSERTIONS}[first]
    return 1, re.escape(first)


def _open(group: re.Match[str], folding: list[bool]) -> None:
    """Push whether a group ignores case; flags without a group change the enclosing one."""
    on, off, end = group[1] or "", group[2] or "", group[3]
    if set(on + off) - set("im"):
        raise VocabularyError(
            f"the pre-tokenizer's pattern has the flags {on + off!r}",
            r"use only the flags i and m: [\s\S] matches every character",
        )
    folds = (folding[-1] or "i" in on) and "i" not in off
    if end == ")":
        folding[-1] = folds
    else:
        folding.append(folds)


def _bracket(pattern: str, position: int) -> str:
    """A character class, including nested ones."""
    depth, end = 0, position
    while end < len(pattern):
        if pattern[end] == "\\":
            end += 1
        elif pattern[end] == "[":
            depth += 1
        elif pattern[end] == "]" and not _is_literal(pattern, end):
            depth -= 1
            if not depth:
                return pattern[position : end + 1]
        end += 1
    raise VocabularyError("the pre-tokenizer's pattern has a class without ']'")


def _is_literal(pattern: str, position: int) -> bool:
    """Whether a closing bracket is the first character of its class and so means itself."""
    return pattern[position - 1] == "[" or pattern[position - 2 : position] == "[^"


#: The number of code points, including surrogates.
CODES = 0x110000
SURROGATES = range(0xD800, 0xE000)
#: The class of code points that are not characters.
NONE = 255


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """A partition of the characters.

    Shape: ``of`` (0x110000,) uint8, the class of each code point, ``NONE`` for surrogates.
    """

    of: npt.NDArray[np.uint8]

    def __len__(self) -> int:
        return int(np.delete(self.of, SURROGATES).max()) + 1

    def members(self, kind: int) -> npt.NDArray[np.int64]:
        """The code points of a class."""
        return np.flatnonzero(self.of == kind)

    @property
    def examples(self) -> list[str]:
        """One character of each class, an ASCII one if there is any."""
        return [chr(int(self.members(kind)[0])) for kind in range(len(self))]

    def example(self, atom: str) -> str:
        """A character that an atom of these classes matches, or the empty text."""
        examples = np.array([ord(character) for character in self.examples], np.uint32)
        matching = examples[~np.isin(examples, _unmatched(atom, examples))]
        return chr(int(matching[0])) if len(matching) else ""

    def joined(self, into: Sequence[int]) -> Classes:
        """The coarser partition in which class i is part of class ``into[i]``."""
        table = np.full(256, NONE, np.uint8)
        table[: len(into)] = into
        return Classes(table[self.of])


def classes(atoms: Sequence[str]) -> Classes:
    """The partition of characters by the atoms they match, according to ``tokenizers``.

    Cost:   20 ms for each atom.
    Raises: VocabularyError if an atom cannot be read, or there are too many.
    """
    if len(atoms) > 62:
        raise VocabularyError("the pre-tokenizer's pattern names too many kinds of characters")
    characters = _tested_characters(atoms)
    signature = np.zeros(len(characters), np.int64)
    for bit, atom in enumerate(atoms):
        matching = ~np.isin(characters, _unmatched(atom, characters), assume_unique=True)
        signature |= matching.astype(np.int64) << bit
    begins = np.concatenate(([True], np.diff(signature) != 0))
    edges = characters[begins].astype(np.int64)
    numbering: dict[int, int] = {}  # classes by their first characters
    numbers = [numbering.setdefault(bits, len(numbering)) for bits in signature[begins].tolist()]
    of = np.repeat(np.array(numbers, np.uint8), np.diff(np.append(edges, CODES)))
    of[SURROGATES] = NONE
    return Classes(of)


def _tested_characters(atoms: Sequence[str]) -> npt.NDArray[np.uint32]:
    """All characters; of planes that Unicode treats uniformly only the first and last ones.

    Planes 4 to 13 and the rest of plane 14 after the tags are unassigned, planes 15 and 16 are for
    private use, the last two code points of each are not characters. If an atom names characters
    of these planes, all are tested.
    """
    every = np.delete(np.arange(CODES, dtype=np.uint32), SURROGATES)
    if any(_NAMES_HIGH.search(atom) for atom in atoms):
        return every
    low = every & 0xFFFF
    ends = (low == 0) | (low >= 0xFFFD)
    tested: npt.NDArray[np.uint32] = every[
        (every < 0x40000) | ((every >= 0xE0000) & (every < 0xE1000)) | ends
    ]
    return tested


#: A character of these planes, or an escape of one.
_NAMES_HIGH = re.compile(r"[\U00040000-\U0010FFFF]|\\x\{?0*[0-9A-Fa-f]{5,}|\\U")


def _unmatched(atom: str, characters: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """The characters an atom does not match: the remainder after its matches are removed."""
    from tokenizers import Regex
    from tokenizers.normalizers import Replace

    text = characters.tobytes().decode("utf-32-le")
    try:
        left = Replace(Regex(f"(?:{atom})+"), "").normalize_str(text)
    except Exception as error:  # the tokenizers library raises a bare Exception
        raise VocabularyError(f"cannot read {atom!r} in the pre-tokenizer's pattern") from error
    return np.frombuffer(left.encode("utf-32-le"), np.uint32)


#: A text → the indices (in characters) at which its pieces begin; empty for the empty text.
Splitter = Callable[[str], list[int]]


@cache
def splitter(*patterns: str) -> Splitter:
    """The function that splits a text by patterns: matches and the texts between them are pieces.

    Each pattern splits the pieces of the previous one.

    Raises: VocabularyError if the library cannot read a pattern.
    """
    from tokenizers import Regex
    from tokenizers.pre_tokenizers import Sequence, Split

    try:
        parts = [Split(Regex(pattern), "isolated") for pattern in patterns]
    except Exception as error:  # the tokenizers library raises a bare Exception
        raise VocabularyError(f"cannot read the pre-tokenizer's pattern: {error}") from error
    split = parts[0] if len(parts) == 1 else Sequence(parts)
    return lambda text: [start for _, (start, _) in split.pre_tokenize_str(text)] if text else []


#: The most states of K; larger automata are refused.
MAX_STATES = 400
#: The number of random texts K is checked with, and their maximum length.
RANDOM_TEXTS, MAX_LENGTH = 6_000, 12

#: The indices at which pieces begin.
_Starts = tuple[int, ...]
#: For each tested continuation, where pieces begin in it; None if it contradicts the marks before.
_Signature = tuple[_Starts | None, ...]


@dataclass(frozen=True, eq=False)
class Pretokens:
    """The automaton K, which reads a pair (mark, class) for each character.

    Shape: ``steps`` (K, 2, C) int16, the next state or −1; ``accepts`` (K,) bool, the final
           states. State 0 is initial.
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
        """All markings of a text that K accepts: exactly one if K is correct."""
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
    """K of one or several patterns, checked and cached on disk.

    Cost:   0.4 s for GPT-2's pattern and Tekken's, 0.7 s for Llama 3's, 2.2 s for o200k's, once.
    Raises: VocabularyError if no small automaton splits texts like the patterns.
    """
    from tokenizers import __version__  # K depends on its Unicode tables

    def make() -> Arrays:
        automaton = _learn(patterns)
        return {"of": automaton.classes.of, "steps": automaton.steps, "accepts": automaton.accepts}

    key = hashlib.sha256("\0".join((__version__, *patterns)).encode()).hexdigest()
    return cached_arrays("pretokens", key, make, lambda arrays: _read_patterns(patterns, arrays))


def _read_patterns(patterns: tuple[str, ...], arrays: Arrays) -> Pretokens:
    """K from the arrays of a cached file.

    Raises: KeyError, ValueError if the arrays are inconsistent: kernels do not check indices.
    """
    of = arrays["of"].astype(np.uint8, copy=False)
    steps = arrays["steps"].astype(np.int16, copy=False)
    accepts = arrays["accepts"].astype(np.bool_, copy=False)
    states = len(accepts)
    whole = of.shape == (CODES,) and steps.ndim == 3 and steps.shape[:2] == (states, 2)
    if not whole or steps.max() >= states or steps.min() < -1:
        raise ValueError("the arrays of a pre-tokenizer do not fit together")
    if np.delete(of, SURROGATES).max() >= steps.shape[2]:
        raise ValueError("the classes of a pre-tokenizer do not fit its automaton")
    return Pretokens(patterns, Classes(of), steps, accepts)


def _learn(patterns: tuple[str, ...]) -> Pretokens:
    """K, learned from the pre-tokenizer and checked.

    Continuations of two characters are enough for all patterns in use, in a tenth of the time that
    three need. Guessing first which classes are split alike (contractions name letters one by one)
    took as long as testing all of them.
    """
    kinds = classes(list(dict.fromkeys(a for pattern in patterns for a in atoms(pattern))))
    words = ["".join(map(kinds.example, run)) for pattern in patterns for run in runs(pattern)]
    split = splitter(*patterns)
    for ahead in (2, 3):
        automaton = _explore(patterns, kinds, split, _continuations(kinds, words, ahead))
        if (wrong := find_mistake(automaton, kinds, words)) is None:
            return _with_joined_classes(automaton)
    raise VocabularyError(
        f"the pre-tokenizer cuts {wrong!r} in a way a small automaton cannot decide",
        "choose a tokenizer whose pattern decides within three characters",
    )


def _with_joined_classes(automaton: Pretokens) -> Pretokens:
    """The same automaton, with classes merged that have the same steps in all states."""
    numbering: dict[bytes, int] = {}
    columns = [automaton.steps[:, :, kind].tobytes() for kind in range(automaton.steps.shape[2])]
    names = [numbering.setdefault(column, len(numbering)) for column in columns]
    kept = [names.index(name) for name in range(len(numbering))]
    steps = np.ascontiguousarray(automaton.steps[:, :, kept])
    return Pretokens(automaton.patterns, automaton.classes.joined(names), steps, automaton.accepts)


def marks_of(split: Splitter, text: str) -> tuple[bool, ...]:
    """For each character of a text, whether it begins a piece."""
    starts = set(split(text))
    return tuple(index in starts for index in range(len(text)))


def _continuations(kinds: Classes, words: Sequence[str], ahead: int) -> list[str]:
    """The tested continuations: texts of up to ``ahead`` classes, and substrings of ``words``.

    Without the words a piece such as ``<|tool|>`` would never be tested.
    """
    short = ["".join(s) for n in range(ahead + 1) for s in product(kinds.examples, repeat=n)]
    ends = {word[i:j] for word in words for i, j in combinations(range(len(word) + 1), 2)}
    if ahead > 2:  # the result may depend on the character after a word
        ends |= {end + after for end in ends for after in kinds.examples}
    return [*short, *sorted(end for end in ends if len(end) > ahead)]


def _explore(
    patterns: tuple[str, ...], kinds: Classes, split: Splitter, continuations: Sequence[str]
) -> Pretokens:
    """K, breadth first over marked prefixes; prefixes with equal signatures are one state."""
    examples = kinds.examples
    prefixes: list[tuple[str, _Starts]] = [("", ())]
    states = {_signatures("", continuations, split)[()]: 0}
    steps: list[list[list[int]]] = []
    while len(steps) < len(prefixes):
        text, starts = prefixes[len(steps)]
        row = [[-1] * len(examples) for _ in range(2)]
        for kind, example in enumerate(examples):
            signatures = _signatures(text + example, continuations, split)
            for mark in (0, 1):
                marked = (*starts, len(text)) if mark else starts
                signature = signatures.get(marked)
                if signature is None:
                    continue
                if signature not in states:
                    states[signature] = len(prefixes)
                    prefixes.append((text + example, marked))
                row[mark][kind] = states[signature]
        steps.append(row)
        if len(prefixes) > MAX_STATES:
            raise VocabularyError(
                "the pre-tokenizer's pattern depends on too much text before or after a cut"
            )
    accepts = [tuple(split(text)) == starts for text, starts in prefixes]
    return Pretokens(patterns, kinds, np.array(steps, np.int16), np.array(accepts, np.bool_))


def _signatures(
    text: str, continuations: Sequence[str], split: Splitter
) -> dict[_Starts, _Signature]:
    """For each way in which a text can be split, the signature of its continuations."""
    size = len(text)
    by_starts: dict[_Starts, list[_Starts | None]] = {}
    for index, continuation in enumerate(continuations):
        starts = split(text + continuation)
        cut = bisect_left(starts, size)
        signature = by_starts.setdefault(tuple(starts[:cut]), [None] * len(continuations))
        signature[index] = tuple([start - size for start in starts[cut:]])
    return {starts: tuple(signature) for starts, signature in by_starts.items()}


def find_mistake(automaton: Pretokens, kinds: Classes, words: Sequence[str]) -> str | None:
    """A text that K splits differently from the pre-tokenizer, or not in exactly one way.

    Tests all texts of up to two classes, random texts of any characters, and random texts with
    words of the patterns or prefixes of them, which random characters would hardly produce.
    """
    rng = random.Random(1)
    members = [[chr(code) for code in kinds.members(kind)] for kind in range(len(kinds))]
    examples = kinds.examples
    texts = ["".join(t) for n in range(3) for t in product(examples, repeat=n)]
    for index in range(RANDOM_TEXTS):
        size = rng.randint(1, MAX_LENGTH)
        # rare characters find wrong classes, examples find wrong steps
        pools = members if index % 2 else [examples]
        texts.append("".join(rng.choice(rng.choice(pools)) for _ in range(size)))
    for word in words:
        prefixes = [word, *(word[:end] for end in range(1, len(word)))]
        for _ in range(RANDOM_TEXTS // (10 * len(words))):
            texts.append("".join(rng.choice(rng.choice((prefixes, examples))) for _ in range(4)))
    wrong = (t for t in texts if automaton.markings(t) != [marks_of(automaton.split, t)])
    return next(wrong, None)
