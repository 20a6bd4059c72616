"""atoms() and runs(): the character sets in a pattern."""

from __future__ import annotations

import pytest

from workbench.base.errors import VocabularyError
from workbench.vocabulary.tokenization.pretokenizer import atoms, runs


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("", []),
        (r" ?\p{L}+|\P{N}{1,3}", [r"\ ", r"\p{L}", r"\P{N}"]),
        (r"\pL\x41\x{1F600}\u00e9", [r"\pL", r"\x41", r"\x{1F600}", r"\u00e9"]),
        (r"[^\s\p{L}\]]+[]a][^]]", [r"[^\s\p{L}\]]", "[]a]", "[^]]"]),
        (r"[a-z&&[^b]]", ["[a-z&&[^b]]"]),
        (r"(?i:'s|'t)|s", ["(?i:')", "(?i:s)", "(?i:t)", "s"]),
        (r"(?i)a(?-i:b)c", ["(?i:a)", "b", "(?i:c)"]),
        (r"(?:(?i)a)b", ["(?i:a)", "b"]),
        (r"a(?=b)(?!c)(?<=d)(?<!e)(?>f)(?<n>g)", list("abcdefg")),
        (r"a$|\bb\B\z", ["a", r"\n", r"\w", "b"]),  # a line ends before a line feed
        (r"a*?b++c{2}d{,3}e{1,}", list("abcde")),
        (r"\.\-\r\n.", [r"\.", r"\-", r"\r", r"\n", "."]),
    ],
)
def test_atoms_of_a_pattern_are_its_character_sets(pattern: str, found: list[str]) -> None:
    assert atoms(pattern) == found


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("foo|b", ["foo", "b"]),
        ("(?:hel)lo(?!x)", ["hellox"]),
        ("a{3}b{1,2}c+d", ["aaabbcd"]),
        ("a{2,}|b{99}", ["a", "b" * 40]),  # unbounded, and above the maximum
        ("(foo){2}", ["fooo"]),  # groups are ignored
    ],
)
def test_runs_of_a_pattern_are_its_words(pattern: str, found: list[str]) -> None:
    assert ["".join(run) for run in runs(pattern)] == found


@pytest.mark.parametrize(
    "pattern", [r"(a)\1", r"(?<n>a)\k<n>", r"\R", r"\X", "(?x)a", "(?s:.)", "[a"]
)
def test_error_what_is_not_a_set(pattern: str) -> None:
    with pytest.raises(VocabularyError, match="the pre-tokenizer's pattern has"):
        atoms(pattern)
