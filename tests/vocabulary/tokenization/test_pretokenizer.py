"""K: patterns in use, small odd ones, and those no small automaton tells."""

from __future__ import annotations

import random
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest

from tests.vocabulary.tokenization.slow_bpe import cases
from workbench.base.errors import VocabularyError
from workbench.vocabulary import disk_cache
from workbench.vocabulary.load import load_vocabulary
from workbench.vocabulary.tokenization import pretokenizer as room
from workbench.vocabulary.tokenization.pretokenizer import (
    NONE,
    Pretokens,
    atoms,
    classes,
    find_mistake,
    marks_of,
    pretokens,
)

#: Of other tokenizers: possessive, with the end of a line, with contractions after a word.
OTHERS = {
    "cl100k": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    "o200k": r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+"
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}
PATTERNS = OTHERS | {case["pattern_name"]: case["pattern"] for case in cases("proper_pretokenized")}


@pytest.mark.parametrize(
    ("name", "states", "classes"),
    [
        ("cl100k", 19, 11),
        ("o200k", 29, 19),
        ("gpt2", 14, 10),
        ("llama3", 20, 11),
        ("tekken", 19, 10),
        ("words", 4, 3),
        ("digits3", 4, 2),
    ],
)
def test_patterns_in_use_have_small_automata(name: str, states: int, classes: int) -> None:
    made = pretokens(PATTERNS[name])
    assert len(made) == states
    assert made.steps.shape == (states, 2, classes)


def test_the_automaton_of_the_embedded_pattern_is_small() -> None:
    pattern = load_vocabulary("builtin").tokenizer.patterns[0]
    assert pattern is not None
    assert len(pretokens(pattern)) == 7


@pytest.mark.parametrize(
    ("pattern", "text", "pieces"),
    [
        (PATTERNS["tekken"], "  1", [" ", " ", "1"]),  # each space is a separate piece
        (PATTERNS["tekken"], "  ", ["  "]),  # the same spaces at the end
        (PATTERNS["llama3"], "\n \n", ["\n \n"]),  # a later line feed takes all before it
        (PATTERNS["llama3"], "\n  a", ["\n", " ", " a"]),  # a letter does not
        (PATTERNS["gpt2"], "'ll'lx", ["'ll", "'", "lx"]),  # decided two characters later
        (PATTERNS["llama3"], "I'LL", ["I", "'LL"]),  # case does not count in contractions
        (PATTERNS["llama3"], "12345", ["123", "45"]),  # counting
        ("a+|b", "aacb", ["aa", "c", "b"]),  # what matches nothing is a piece too
        (r"\bfoo\b|\w", "foo foox", ["foo", " ", "f", "o", "o", "x"]),  # borders of words
    ],
)
def test_the_one_marking_of_a_text(pattern: str, text: str, pieces: list[str]) -> None:
    made = pretokens(pattern)
    (marks,) = made.markings(text)
    starts = [*(i for i, mark in enumerate(marks) if mark), len(text)]
    assert [text[i:j] for i, j in pairwise(starts)] == pieces


@pytest.mark.parametrize("name", PATTERNS)
def test_random_texts_of_any_characters(name: str) -> None:
    made = pretokens(PATTERNS[name])
    rng = random.Random(3)
    pools = [
        " \n\r\t\x0b\u00a0\u3000",
        "'’\"",
        "sStTrReEvVmMlLdDſK",
        "aéßǅʰ你आ\u0301",
        "1½٣",
        "./-_😀",
    ]
    for _ in range(3000):
        text = "".join(rng.choice(rng.choice(pools)) for _ in range(rng.randint(1, 14)))
        assert made.markings(text) == [marks_of(made.split, text)], text


def test_several_patterns_cut_one_after_the_other() -> None:
    """Digits alone, then GPT-2's pattern, as in SmolLM; DeepSeek's numbers, script and words."""
    single = pretokens(r"\p{N}", PATTERNS["gpt2"])
    assert single.markings("a 12b") == [(True, True, True, True, True)]
    assert pretokens(PATTERNS["gpt2"]).markings("a 12b") == [(True, True, False, False, True)]
    deep = pretokens(
        r"\p{N}{1,3}",
        "[一-龥぀-ゟ゠-ヿ]+",
        r"[!-/:-~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+",
    )
    assert deep.markings("a你1234b") == [(True, True, True, False, False, True, True)]


@pytest.mark.parametrize(
    ("pattern", "whole"),
    [
        (r"<\|tool\|>|\w+|.", ["<|tool|>"]),
        (r"a{7}b|c|d|e|f|.", ["aaaaaaab"]),
        (r"https?://|\w+|.", ["https://", "http://"]),
        (r"hello(?!x)|.", ["hello"]),
        (r"(?i:hello)|\w+|\s", ["hello", "HeLLo"]),  # a longer word is another piece
        (r"[0-9]{4}-[0-9]{2}|\w+|.", ["1234-56"]),
    ],
)
def test_words_that_random_texts_do_not_contain(pattern: str, whole: list[str]) -> None:
    """They are one piece, although their prefixes are not."""
    made = pretokens(pattern)
    rng = random.Random(5)
    begun = [word[:end] for word in whole for end in range(1, len(word) + 1)]
    for word in whole:
        assert made.markings(word) == [(True, *[False] * (len(word) - 1))]
    for _ in range(500):
        text = "".join(rng.choice([*begun, *whole, *"xo b "]) for _ in range(rng.randint(1, 5)))
        assert made.markings(text) == [marks_of(made.split, text)], text


def test_guesses_are_few() -> None:
    """At most three for any text (reference, section 9)."""
    for name in PATTERNS:
        made = pretokens(PATTERNS[name])
        sets = {frozenset([0])}
        grown = set(sets)
        while grown:
            targets = {
                frozenset(
                    int(made.steps[state, mark, kind])
                    for state in states
                    for mark in (0, 1)
                    if made.steps[state, mark, kind] >= 0
                )
                for states, kind in product(grown, range(made.steps.shape[2]))
            }
            grown = targets - sets
            sets |= grown
        assert max(map(len, sets)) <= 3
        assert frozenset() not in sets


def test_every_state_can_end() -> None:
    made = pretokens(PATTERNS["llama3"])
    ending = made.accepts.copy()
    for _ in range(len(made)):
        targets = made.steps.reshape(len(made), -1)
        ending |= ((targets >= 0) & ending[targets]).any(axis=1)
    assert ending.all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (
            r"a{4,}b|\S|\s",
            "cuts .* in a way a small automaton cannot decide|depends on too much text",
        ),
        (r"(?:abc){2}|[abc]|\s", "cuts 'abcabc.*' in a way"),  # found with words of the pattern
        (r"(a)\1|\S", r"pattern has \\1, which is not a set"),
        (r"(?x) a b", "has the flags 'x'"),
        (r"[a", "cannot read the pre-tokenizer's pattern|a class without ']'"),
        (r"(a", "cannot read the pre-tokenizer's pattern"),
    ],
)
def test_error_no_small_automaton(pattern: str, message: str) -> None:
    with pytest.raises(VocabularyError, match=message):
        pretokens(pattern)


@pytest.mark.slow
def test_find_mistake() -> None:
    right = pretokens(PATTERNS["words"])
    kinds = classes(atoms(*right.patterns))
    assert find_mistake(right, kinds, []) is None
    steps = right.steps.copy()
    steps[0, 1, 0] = -1
    wrong = Pretokens(right.patterns, right.classes, steps, right.accepts)
    assert find_mistake(wrong, kinds, []) == "\0"


@pytest.mark.slow
def test_the_cached_automaton_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    fresh = room.pretokens.__wrapped__
    made = fresh(PATTERNS["words"])
    (file,) = (tmp_path / "grammar-workbench").iterdir()
    monkeypatch.setattr(room, "_learn", lambda _: pytest.fail("not cached"))
    read = fresh(PATTERNS["words"])
    monkeypatch.undo()
    np.testing.assert_array_equal(made.steps, read.steps)
    np.testing.assert_array_equal(made.classes.of, read.classes.of)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    steps = made.steps + np.int16(5)
    arrays = {"of": made.classes.of, "steps": steps, "accepts": made.accepts}
    with file.open("wb") as opened:
        disk_cache._put(opened, arrays, file.name)
    np.testing.assert_array_equal(fresh(PATTERNS["words"]).steps, made.steps)


@pytest.mark.exhaustive
def test_characters_are_those_of_the_engine_of_tiktoken() -> None:
    """Tekken uses another regex engine, whose character sets are unions of our classes."""
    tiktoken = pytest.importorskip("tiktoken")
    ranks = {bytes([byte]): byte for byte in range(256)}
    found = atoms(PATTERNS["tekken"])
    of = classes(found).of
    every = "".join(chr(code) for code in range(0x110000) if of[code] != NONE)
    for atom in found:
        encoding = tiktoken.Encoding(
            "set", pat_str=f"(?:{atom})+", mergeable_ranks=ranks, special_tokens={}
        )
        matching = bytes(encoding.encode_to_numpy(every).astype(np.uint8)).decode()
        codes = np.zeros(0x110000, np.bool_)
        codes[[ord(character) for character in matching]] = True
        assert not set(of[codes].tolist()) & set(of[~codes].tolist()) - {NONE}, atom
