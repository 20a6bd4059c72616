"""classes(): the partition of characters, compared with the tokenizers library."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from tokenizers import Regex
from tokenizers.normalizers import Replace

from workbench.base.errors import VocabularyError
from workbench.vocabulary.tokenization.pretokenizer import NONE, classes

EVERY = np.delete(np.arange(0x110000, dtype=np.uint32), range(0xD800, 0xE000))


def matched(atom: str) -> npt.NDArray[np.bool_]:
    """The characters an atom matches, by testing all of them."""
    text = EVERY.tobytes().decode("utf-32-le")
    left = Replace(Regex(f"(?:{atom})+"), "").normalize_str(text).encode("utf-32-le")
    found = np.zeros(0x110000, np.bool_)
    found[EVERY] = True
    found[np.frombuffer(left, np.uint32)] = False
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "atoms",
    [
        [r"\p{L}", r"\s", "[\r\n]", r"\p{N}"],
        [r"\p{Co}", r"\p{Cn}"],  # private use and what is not assigned, in all planes
        [
            "\U00050000",
            "[\U000f0000-\U000f0003]",
        ],  # named characters of planes that are uniform otherwise
    ],
)
def test_each_atom_is_a_union_of_classes(atoms: list[str]) -> None:
    made = classes(atoms)
    keys = made.of.astype(np.int64) << len(atoms)
    for place, atom in enumerate(atoms):
        keys |= matched(atom).astype(np.int64) << place
    pairs = np.flatnonzero(np.bincount(keys[EVERY]))
    kinds, signatures = pairs >> len(atoms), pairs & ((1 << len(atoms)) - 1)
    assert len(pairs) == len(set(kinds.tolist())) == len(set(signatures.tolist())) == len(made)
    assert (made.of[0xD800:0xE000] == NONE).all()


def test_without_atoms_there_is_one_class() -> None:
    made = classes([])
    assert len(made) == 1
    assert made.examples == ["\0"]


def test_coarser_classes() -> None:
    made = classes(["a", "b"])
    assert [made.of[ord(c)] for c in "cab"] == [0, 1, 2]
    joined = made.joined([0, 1, 1])
    assert [joined.of[ord(c)] for c in "cab"] == [0, 1, 1]
    assert len(joined) == 2
    np.testing.assert_array_equal(joined.of == NONE, made.of == NONE)


def test_error_unreadable_atoms() -> None:
    with pytest.raises(VocabularyError, match="cannot read"):
        classes([r"\p{Nothing}"])
    with pytest.raises(VocabularyError, match="too many kinds"):
        classes([chr(code) for code in range(0x4E00, 0x4E00 + 63)])
