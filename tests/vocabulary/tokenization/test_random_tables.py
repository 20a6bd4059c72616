"""Properties of encoding on random tables: dead rules, ties, equal sides, offending tokens."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.vocabulary.tokenization.slow_bpe import greedy, passes, ranked, rows_of, spines_ok, table
from workbench.base.errors import VocabularyError
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.tokenization.merge_kernels import NOT_PRODUCED
from workbench.vocabulary.tokenization.pair_automaton import canonical_dfa_by_merges
from workbench.vocabulary.tokenization.pair_test import may_precede
from workbench.vocabulary.vocabulary import TokenId, Tokenizer, Vocabulary

Merges = list[tuple[str, str]]
PATIENT = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
LONGEST = 6


@st.composite
def grown(draw: st.DrawFn) -> Merges:
    """Rules whose sides exist before, as in training; some rules are never applied."""
    words = list(draw(st.sampled_from(["a", "ab", "abc"])))
    merges: Merges = []
    for _ in range(draw(st.integers(0, 7))):
        pair = draw(st.sampled_from(words)), draw(st.sampled_from(words))
        if len("".join(pair)) <= LONGEST and pair not in merges:
            merges.append(pair)
            words.append("".join(pair))
    return merges


@st.composite
def malformed(draw: st.DrawFn) -> Merges:
    """Rules in any order: sides may be produced later than the result, or by no rule."""
    word = st.text("ab", min_size=1, max_size=3)
    pairs = draw(st.lists(st.tuples(word, word), max_size=9, unique=True))
    return draw(st.permutations([pair for pair in pairs if len("".join(pair)) <= LONGEST]))


def of(merges: Merges) -> Bpe:
    return Bpe.of(table(merges, "abc"))


def in_text(bpe: Bpe, tokens: Sequence[TokenId]) -> list[str]:
    return [(bpe.vocabulary.tokens[token] or b"").decode() for token in tokens]


def texts(bpe: Bpe) -> list[str]:
    return [text.decode() for text in bpe.vocabulary.tokens if text]


tables = st.one_of(grown(), malformed())


@pytest.mark.slow
@PATIENT
@given(tables, st.text("abc", max_size=14))
def test_encoding_is_rank_greedy(merges: Merges, text: str) -> None:
    bpe = of(merges)
    assert in_text(bpe, bpe.encode(text)) == greedy(ranked(merges), text)
    long = text * 9  # merged with the heap
    assert in_text(bpe, bpe.encode(long)) == greedy(ranked(merges), long)


@pytest.mark.slow
@PATIENT
@given(tables)
def test_a_token_is_canonical_where_its_text_is_one_token(merges: Merges) -> None:
    bpe = of(merges)
    for token, text in enumerate(texts(bpe)):
        assert bpe.is_canonical(token) == (greedy(ranked(merges), text) == [text])


@pytest.mark.slow
@PATIENT
@given(tables)
def test_pairs_and_rows_are_those_of_encoding(merges: Merges) -> None:
    bpe = of(merges)
    words = texts(bpe)
    for first, left in enumerate(words):
        mask = np.unpackbits(bpe.row_mask(first).view(np.uint8), bitorder="little")
        for second, right in enumerate(words):
            stays = greedy(ranked(merges), left + right) == [left, right]
            assert bpe.pair_ok(first, second) == stays, (left, right)
            if bpe.is_canonical(second):
                assert mask[second] == (not stays), (left, right)


@pytest.mark.slow
@PATIENT
@given(grown())
def test_monotone_tables_have_rows_and_columns_of_intervals(merges: Merges) -> None:
    bpe = of(merges)
    if not bpe.monotone:
        return  # a dead rule may become live by a later one
    nodes = [token for token in range(len(texts(bpe))) if bpe.is_canonical(token)]
    ids = np.array(nodes, np.int32)
    forbidden = {
        first: {int(t) for i, j in bpe.row(first) for t in bpe.tables.order[i:j]} for first in nodes
    }
    for first in nodes:
        assert forbidden[first] == {u for u in nodes if not spines_ok(bpe, first, u)}
        before = {t for t in nodes if first in forbidden[t]}
        assert before == {
            t for t, ok in zip(nodes, may_precede(bpe.tables, ids, first), strict=True) if not ok
        }
    assert len(rows_of(bpe)) == len({frozenset(row) for row in forbidden.values()} | {frozenset()})


@pytest.mark.slow
@PATIENT
@given(tables)
def test_merges_are_an_order_for_all_constructions(merges: Merges) -> None:
    bpe = of(merges)
    try:
        live = [(left.decode(), right.decode()) for left, right in bpe.merges]
    except VocabularyError:
        assert not bpe.monotone
        return
    dfa = canonical_dfa_by_merges("abc", live)
    words = texts(bpe)
    canonical = {word for token, word in enumerate(words) if bpe.is_canonical(token)}
    assert set(dfa.state_of) == canonical
    for left in canonical:
        row = dfa.forbidden[dfa.state_of[left]]
        assert row == {
            right for right in canonical if greedy(ranked(merges), left + right) != [left, right]
        }
        for right in canonical:
            text = left + right + left
            assert passes(live, text) == greedy(ranked(merges), text)


@pytest.mark.slow
@PATIENT
@given(
    st.lists(st.text("ab", min_size=2, max_size=5), unique=True, max_size=8),
    st.randoms(use_true_random=False),
)
def test_ties_go_to_the_left(words: list[str], rng: object) -> None:
    """Every split of a token is a rule, several tokens share a rank, as in SentencePiece."""
    spellings = ["a", "b", *words]
    ranks = [-1, -1, *(rng.randrange(3) for _ in words)]  # type: ignore[attr-defined]
    vocabulary = Vocabulary(
        [w.encode() for w in spellings], tokenizer=Tokenizer(ranks=np.array(ranks, np.int32))
    )
    rules = {
        (word[:cut], word[cut:]): rank
        for word, rank in zip(words, ranks[2:], strict=True)
        for cut in range(1, len(word))
        if word[:cut] in spellings and word[cut:] in spellings
    }
    bpe = Bpe.of(vocabulary)
    for first, left in enumerate(spellings):
        assert bpe.is_canonical(first) == (greedy(rules, left) == [left])
        for second, right in enumerate(spellings):
            stays = greedy(rules, left + right) == [left, right]
            assert bpe.pair_ok(first, second) == stays, (left, right)
            assert in_text(bpe, bpe.encode(left + right)) == greedy(rules, left + right)


LATE = [("a", "a"), ("a", "aa"), ("aa", "aaa"), ("aa", "a")]


def test_a_live_split_that_comes_later_than_other_rules() -> None:
    """The reference's example (section 2): the live split of aaa is the last rule."""
    bpe = of(LATE)
    assert in_text(bpe, bpe.encode("aaaaa")) == ["aaaaa"]
    assert passes(LATE, "aaaaa") == ["aa", "aaa"]


def test_the_row_of_a_token_that_is_not_canonical() -> None:
    bpe = of([("a", "b"), ("b", "c"), ("a", "bc")])  # ab is merged first, so abc is never produced
    abc = bpe.vocabulary.ids("abc")[0]
    assert bpe.tables.rank[abc] == NOT_PRODUCED
    assert not bpe.pair_ok(abc, 0)
    assert not bpe.pair_ok(0, abc)
    others = sorted(set(range(len(texts(bpe)))) - {abc})
    (span,) = bpe.row(abc)
    assert sorted(bpe.tables.order[slice(*span)].tolist()) == others
    assert bpe.row_mask(abc).tolist() == [sum(1 << token for token in others)]
    assert not any(int(bpe.row_mask(token)[0]) >> abc & 1 for token in others)


def test_the_initial_state_forbids_nothing() -> None:
    """Line 11 of the article as printed makes the initial state forbid a here (reference, section 12)."""
    dfa = canonical_dfa_by_merges("ab", [("a", "b"), ("b", "a"), ("ab", "a")])
    assert dfa.forbidden[0] == frozenset()
    assert {t: set(dfa.forbidden[s]) for t, s in dfa.state_of.items()} == {
        "a": {"b", "ba"},
        "b": {"a"},
        "ab": {"a"},
        "ba": {"b", "ba"},
        "aba": {"b", "ba"},
    }
