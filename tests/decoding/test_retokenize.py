"""Retokenization equals the greedy loop under a grammar of that one text."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.decoding.worlds import TableModel
from workbench.base.errors import VocabularyError
from workbench.decoding.generate import generate
from workbench.decoding.model import ToyModel
from workbench.decoding.retokenize import perplexity_of, retokenized, retokenized_perplexity
from workbench.vocabulary.toy_vocabularies import toy
from workbench.vocabulary.vocabulary import Vocabulary

WORDS = toy(["a", "b", "ab", "ba", "abc", "c", "é", b"\xc3", b"\xa9", "a", "bé"])


@pytest.mark.slow
@given(st.text(st.sampled_from("abcé"), min_size=1, max_size=12), st.integers(0, 30))
def test_it_is_the_greedy_loop_under_the_text_alone(text: str, seed: int) -> None:
    model = ToyModel(WORDS, seed=seed)
    constraint = wb.compile(wb.Grammar.from_regex(re.escape(text)), WORDS)
    run = generate(model, constraint, "a")
    steps = [step for step in run if not step.is_end]
    found = retokenized(model, "a", text)
    assert found == [step.token_id for step in steps]
    assert WORDS.decode(found) == text.encode()
    expected = run.trace.perplexity
    assert perplexity_of(model, "a", found) == pytest.approx(expected)
    assert retokenized_perplexity(model, "a", text) == pytest.approx(expected)


def test_another_tokenization_has_another_perplexity() -> None:
    vocabulary = toy(["a", "b", "ab"])
    model = TableModel(vocabulary, [math.log(p) for p in (0.1, 0.2, 0.3, 0.4)])
    assert retokenized(model, [0], b"abab") == [2, 2]
    assert perplexity_of(model, [0], [2, 2]) == pytest.approx(1 / 0.3)
    assert perplexity_of(model, [0], [0, 1]) == pytest.approx(1 / math.sqrt(0.02))
    assert math.isnan(perplexity_of(model, [0], []))
    assert retokenized(model, "", "") == []


def test_a_token_without_a_row_is_never_preferred() -> None:
    vocabulary = Vocabulary((b"a", b"b", None, b"ab"), end=2)
    assert retokenized(TableModel(vocabulary, [0.0, 0.0, 0.0]), [0], "ab") == [0, 1]


def test_error_no_token_fits() -> None:
    with pytest.raises(VocabularyError, match="no token of toy begins b'x'"):
        retokenized(ToyModel(WORDS), "a", "abx")
