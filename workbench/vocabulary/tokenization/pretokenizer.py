r"""Automata of a pre-tokenizer's pattern: characters by class, and correctly split texts.

Only what matches one character counts; how atoms are put together is the library's business. What
this reading gets wrong, the check of the automaton finds, which draws from all characters.

Merges stay inside a piece. Patterns are run by the library that tokenizers themselves use (Rust's
``tokenizers``, Oniguruma), so that no reading of them is ours.

Merges stay inside a piece, and where pieces begin may depend on what comes later (``\s+(?!\S)``).
Texts in which every piece's first character is marked, and no other, are a regular language over
(mark, class of the character); its automaton K is small (reference, section 9). It is built by
asking the pre-tokenizer itself, and refused where the two disagree on random texts.
"""

from __future__ import annotations

import hashlib
import random
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations, product

import numpy as np
import numpy.typing as npt

from workbench.base.errors import VocabularyError
from workbench.vocabulary.disk_cache import Arrays, remembered

#: ``table[node, byte]``: the next node, ``DEAD``, or where a character ends ``END`` − its class.
Table = npt.NDArray[np.int16]

DEAD, END = -1, -2
#: Continuation bytes.
_MORE = slice(0x80, 0xC0)


def utf8_table(of: npt.NDArray[np.uint8], none: int) -> Table:
    """The automaton; node 0 stands between characters.

    Equal stretches of 64 and of 4096 code points share a node, so there are some hundred nodes.

    Shape: ``of`` (0x110000,), ``none`` marks code points that end nowhere.
    Raises: VocabularyError where the nodes are too many.
    """
    ends = np.where(of == none, DEAD, END - of.astype(np.int16)).astype(np.int16)
    nodes: dict[bytes, int] = {}
    lowest = _shared(ends, nodes)
    # what fewer bytes spell is not spelt with more
    middle = _shared(np.where(np.arange(len(lowest)) < 0x800 >> 6, DEAD, lowest), nodes)
    highest = _shared(np.where(np.arange(len(middle)) < 0x10000 >> 12, DEAD, middle), nodes)
    if len(nodes) > 4_000:
        raise VocabularyError("the pre-tokenizer's classes are scattered over too many characters")
    table = np.full((len(nodes) + 1, 256), DEAD, np.int16)
    table[0, :0x80] = ends[:0x80]
    table[0, 0xC2:0xE0] = lowest[2:0x20]
    table[0, 0xE0:0xF0] = middle[:0x10]
    table[0, 0xF0:0xF5] = highest[:5]
    for stretch, node in nodes.items():
        table[node, _MORE] = np.frombuffer(stretch, np.int16)
    return table


def _shared(entries: Table, nodes: dict[bytes, int]) -> Table:
    """The node of every 64 entries, the same for equal ones, dead where all of them are."""
    rows = np.pad(entries, (0, -len(entries) % 64), constant_values=DEAD).reshape(-1, 64)
    dead = np.full(64, DEAD, np.int16).tobytes()
    found = [row.tobytes() for row in rows]
    return np.array(
        [DEAD if row == dead else nodes.setdefault(row, len(nodes) + 1) for row in found], np.int16
    )


_QUANTIFIER = re.compile(r"[*+?]|\{\d*,?\d*\}")
#: How often something is there at most, where that is said.
_COUNTS = re.compile(r"\{(?:\d*,)?(\d+)\}")
#: More often than this nothing is repeated in a run.
_REPEATED = 40
_GROUP = re.compile(r"\((?:\?(?:([a-zA-Z]*)(?:-([a-zA-Z]+))?([:)])|[=!>]|<[=!]|P?<\w+>))?")
_ESCAPE = re.compile(
    r"\\(?:[pP](?:\{[^}]*\}|.)|x\{[0-9A-Fa-f]+\}|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|.)"
)
#: Places, not characters, and the characters that make them.
_PLACES = {
    r"\b": r"\w", r"\B": r"\w", r"\A": None, r"\z": None, r"\G": None,
    r"\Z": r"\n", "^": r"\n", "$": r"\n",
}  # fmt: skip


def atoms(pattern: str) -> list[str]:
    """The character sets of a pattern, each as a pattern of its own, in their order.

    Raises: VocabularyError for what cannot be told by characters alone, such as back references.
    """
    return list(dict.fromkeys(atom for _, atom in _read_atoms(pattern) if atom is not None))


def runs(pattern: str) -> list[list[str]]:
    """Atoms that stand after one another in a pattern, as often as it repeats them: its words.

    What is optional counts once, and groups count as if they were not there, so that these are
    texts to try and not what the pattern matches.
    """
    found: list[list[str]] = [[]]
    for sign, atom in _read_atoms(pattern):
        if sign == "|":
            found.append([])
        elif atom is not None:
            found[-1].append(atom)
        elif found[-1] and (counts := _COUNTS.match(sign)):
            found[-1] += found[-1][-1:] * (min(int(counts[1]), _REPEATED) - 1)
    return found


def _read_atoms(pattern: str) -> Iterator[tuple[str, str | None]]:
    """The pieces of a pattern, each with the atom it is, if it is one."""
    folding = [False]
    at = 0
    while at < len(pattern):
        size, atom = _next(pattern, at, folding)
        yield pattern[at : at + size], f"(?i:{atom})" if atom and folding[-1] else atom
        at += size


def _next(pattern: str, at: int, folding: list[bool]) -> tuple[int, str | None]:
    """How long the piece of the pattern at a place is, and the atom it is, if it is one."""
    sign = pattern[at]
    if sign == "(" and (group := _GROUP.match(pattern, at)):
        _open(group, folding)
        return len(group[0]), None
    if sign == ")":
        if len(folding) > 1:
            folding.pop()
        return 1, None
    if sign == "[":
        text = _bracket(pattern, at)
        return len(text), text
    if sign == "\\" and (escape := _ESCAPE.match(pattern, at)):
        if escape[0][1] in "123456789kKRXX":
            raise VocabularyError(f"the pre-tokenizer's pattern has {escape[0]}, which is no set")
        return len(escape[0]), _PLACES.get(escape[0], escape[0])
    if quantifier := _QUANTIFIER.match(pattern, at):
        return len(quantifier[0]), None
    if sign in "|.^$":
        return 1, {"|": None, ".": ".", **_PLACES}[sign]
    return 1, re.escape(sign)


def _open(group: re.Match[str], folding: list[bool]) -> None:
    """Note whether case counts from here on: in a group, or in the rest of the one around it."""
    on, off, end = group[1] or "", group[2] or "", group[3]
    if set(on + off) - set("im"):
        raise VocabularyError(
            f"the pre-tokenizer's pattern has the flags {on + off!r}",
            r"write it with no flags but i and m: [\s\S] is every character",
        )
    folds = (folding[-1] or "i" in on) and "i" not in off
    if end == ")":
        folding[-1] = folds
    else:
        folding.append(folds)


def _bracket(pattern: str, at: int) -> str:
    """A character class with all that is nested in it."""
    depth, place = 0, at
    while place < len(pattern):
        if pattern[place] == "\\":
            place += 1
        elif pattern[place] == "[":
            depth += 1
        elif pattern[place] == "]" and not _literal(pattern, place):
            depth -= 1
            if not depth:
                return pattern[at : place + 1]
        place += 1
    raise VocabularyError("the pre-tokenizer's pattern has a class without its end")


def _literal(pattern: str, place: int) -> bool:
    """Whether a closing bracket stands first in its class, where it means itself."""
    return pattern[place - 1] == "[" or pattern[place - 2 : place] == "[^"


#: Code points, surrogates among them.
_CODES = 0x110000
_SURROGATES = range(0xD800, 0xE000)
#: What stands for code points that are no characters.
NONE = 255


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """A partition of the characters.

    Shape: ``of`` (0x110000,) uint8, the class of each code point, ``NONE`` for surrogates.
    """

    of: npt.NDArray[np.uint8]

    def __len__(self) -> int:
        return int(np.delete(self.of, _SURROGATES).max()) + 1

    def members(self, kind: int) -> npt.NDArray[np.int64]:
        """The code points of a class."""
        return np.flatnonzero(self.of == kind)

    @property
    def examples(self) -> list[str]:
        """One character of each class, ASCII where there is one."""
        return [chr(int(self.members(kind)[0])) for kind in range(len(self))]

    def example(self, atom: str) -> str:
        """A character that an atom these classes were made for matches; nothing if none does."""
        examples = np.array([ord(character) for character in self.examples], np.uint32)
        matching = examples[~np.isin(examples, _unmatched(atom, examples))]
        return chr(int(matching[0])) if len(matching) else ""

    def joined(self, into: Sequence[int]) -> Classes:
        """The coarser partition where class i is part of class ``into[i]``."""
        table = np.full(256, NONE, np.uint8)
        table[: len(into)] = into
        return Classes(table[self.of])


def classes(atoms: Sequence[str]) -> Classes:
    """Characters by the atoms they match, as the library behind tokenizers matches them.

    Cost:   20 ms an atom.
    Raises: VocabularyError where an atom cannot be read, or they are too many.
    """
    if len(atoms) > 62:
        raise VocabularyError("the pre-tokenizer's pattern names too many kinds of characters")
    characters = _asked(atoms)
    signature = np.zeros(len(characters), np.int64)
    for place, atom in enumerate(atoms):
        matching = ~np.isin(characters, _unmatched(atom, characters), assume_unique=True)
        signature |= matching.astype(np.int64) << place
    begins = np.concatenate(([True], np.diff(signature) != 0))
    edges = characters[begins].astype(np.int64)
    found: dict[int, int] = {}  # by their first characters
    names = [found.setdefault(told, len(found)) for told in signature[begins].tolist()]
    of = np.repeat(np.array(names, np.uint8), np.diff(np.append(edges, _CODES)))
    of[_SURROGATES] = NONE
    return Classes(of)


def _asked(atoms: Sequence[str]) -> npt.NDArray[np.uint32]:
    """Every character; of the planes where Unicode has all alike, their ends stand for them.

    Planes 4 to 13 and what follows the tags in plane 14 are unassigned, 15 and 16 for private
    use, the last two of each are no characters. Where an atom names some of them all are asked.
    """
    every = np.delete(np.arange(_CODES, dtype=np.uint32), _SURROGATES)
    if any(_NAMES_HIGH.search(atom) for atom in atoms):
        return every
    low = every & 0xFFFF
    ends = (low == 0) | (low >= 0xFFFD)
    found: npt.NDArray[np.uint32] = every[
        (every < 0x40000) | ((every >= 0xE0000) & (every < 0xE1000)) | ends
    ]
    return found


#: A character of those planes, or its number.
_NAMES_HIGH = re.compile(r"[\U00040000-\U0010FFFF]|\\x\{?0*[0-9A-Fa-f]{5,}|\\U")


def _unmatched(atom: str, characters: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """The characters an atom does not match: what is left when its matches are taken out."""
    from tokenizers import Regex
    from tokenizers.normalizers import Replace

    text = characters.tobytes().decode("utf-32-le")
    try:
        left = Replace(Regex(f"(?:{atom})+"), "").normalize_str(text)
    except Exception as error:  # the tokenizers library raises a bare Exception
        raise VocabularyError(f"cannot read {atom!r} in the pre-tokenizer's pattern") from error
    return np.frombuffer(left.encode("utf-32-le"), np.uint32)


#: A text → where its pieces begin, in characters; 0 first, nothing for an empty text.
Splitter = Callable[[str], list[int]]


@cache
def splitter(*patterns: str) -> Splitter:
    """How patterns cut a text: matches are pieces, and what lies between them too.

    Each cuts the pieces that the one before it made.

    Raises: VocabularyError where the library cannot read the pattern.
    """
    from tokenizers import Regex
    from tokenizers.pre_tokenizers import Sequence, Split

    try:
        parts = [Split(Regex(pattern), "isolated") for pattern in patterns]
    except Exception as error:  # the tokenizers library raises a bare Exception
        raise VocabularyError(f"cannot read the pre-tokenizer's pattern: {error}") from error
    split = parts[0] if len(parts) == 1 else Sequence(parts)
    return lambda text: [start for _, (start, _) in split.pre_tokenize_str(text)] if text else []


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
    return remembered("pretokens", key, make, lambda arrays: _read_patterns(patterns, arrays))


def _read_patterns(patterns: tuple[str, ...], arrays: Arrays) -> Pretokens:
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
