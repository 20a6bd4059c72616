"""Classes: the atoms of a pattern come in, characters grouped by those they match go out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workbench.errors import VocabularyError

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
