from __future__ import annotations

import numpy as np
import pytest

from workbench.vocabulary.token_search import find, typed_bytes
from workbench.vocabulary.toy_vocabularies import toy
from workbench.vocabulary.vocabulary import Vocabulary

VOCABULARY = toy(["a", "ab", "ba", "abc", "b", "\n", "é", "end"])
SCORES = -np.arange(len(VOCABULARY), dtype=np.float64)


@pytest.mark.parametrize(
    ("query", "found", "why"),
    [
        ("ab", ["ab", "abc", "a"], "the same, what begins with it, what it begins with"),
        ("b", ["b", "ba", "ab", "abc"], "then what holds it"),
        ("abx", ["ab", "a"], "what it could be written with, the longest first"),
        ("\\n", ["\n"], "a break is typed as an escape"),
        ("<0x0A>", ["\n"], "or as a byte"),
        ("#1", ["ab"], "or by its number"),
        ("é", ["é"], "not only ASCII"),
        ("", [], "nothing was asked"),
        ("x", [], "nothing is found"),
    ],
)
def test_tokens_are_listed_by_how_well_they_fit(query: str, found: list[str], why: str) -> None:
    ids, more = find(VOCABULARY, query, SCORES, 10)
    assert [(VOCABULARY.tokens[i] or b"").decode() for i in ids] == found, why
    assert more == 0


def test_the_end_token_has_a_name() -> None:
    ids, _ = find(VOCABULARY, "end", SCORES, 10)
    assert set(ids[:2]) == {VOCABULARY.end, *VOCABULARY.ids("end")}


@pytest.mark.parametrize("query", ["end", "#2", "#1"])
def test_of_several_end_tokens_the_first_is_found(query: str) -> None:
    vocabulary = Vocabulary((b"a", None, None), (2, 1))
    assert find(vocabulary, query, np.zeros(3), 10) == ([2], 0)


def test_likelier_tokens_first_and_the_rest_is_counted() -> None:
    ids, more = find(VOCABULARY, "b", -SCORES, 2)
    assert [VOCABULARY.tokens[i] for i in ids] == [b"b", b"ba"]
    assert more == 2


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("a\\n", b"a\n"),
        ("\\\\n", b"\\n"),
        ("\\x41<0xe2>", b"A\xe2"),
        ("\\q", b"\\q"),
        ("#12", b"#12"),
    ],
)
def test_typed_bytes(typed: str, meant: bytes) -> None:
    assert typed_bytes(typed) == meant
