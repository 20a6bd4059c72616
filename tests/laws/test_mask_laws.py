"""A token is in the mask exactly when some accepted text continues with it."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.oracles.grammar_oracle import GrammarOracle, brute_mask
from workbench.base.errors import BuildError, LimitError, VocabularyError
from workbench.base.limits import LIMITS
from workbench.base.source import Source, Span
from workbench.constraint.engine.automaton import automaton
from workbench.constraint.methods.composed import composed
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.pushdown.build import build
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    GrammarTree,
    Literal,
    Nonterminal,
    Repetition,
    Rule,
    Sequence,
)
from workbench.vocabulary.vocabulary import Vocabulary

SPAN = Span(0, 0)
NAMES = ("start", "A", "B")

literals = st.sampled_from([b"", b"a", b"b", b"ab", b"ba", b"c"]).map(lambda v: Literal(v, SPAN))
calls = st.sampled_from(NAMES).map(lambda n: Nonterminal(n, SPAN))
expressions: st.SearchStrategy[Expression] = st.recursive(
    literals | calls,
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(lambda p: Sequence(tuple(p), SPAN)),
        st.lists(inner, min_size=2, max_size=3).map(lambda p: Choice(tuple(p), SPAN)),
        st.tuples(inner, st.sampled_from([(0, 1), (0, None), (1, None), (1, 2)])).map(
            lambda p: Repetition(p[0], *p[1], SPAN)
        ),
    ),
    max_leaves=6,
)


@st.composite
def trees(draw: st.DrawFn) -> GrammarTree:
    rules = [Rule(name, draw(expressions), SPAN, SPAN) for name in NAMES]
    return GrammarTree(tuple(rules), Source("…", "random"))


def grammar_of(tree: GrammarTree) -> Grammar:
    """The grammar of a tree; those this issue refuses are not drawn."""
    try:
        return Grammar(tree.source, Notation.KBNF, build(tree), tree=tree)
    except BuildError as error:
        assume(error.kind not in ("unproductive", "empty_grammar"))
        raise


texts = st.lists(st.sampled_from(b"abc"), max_size=7).map(bytes)
slow = settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)


@pytest.mark.exhaustive
@slow
@given(trees(), st.lists(texts, min_size=4, max_size=8))
def test_machine_agrees_with_the_oracle(tree: GrammarTree, tried: list[bytes]) -> None:
    grammar = grammar_of(tree)
    for text in tried:
        oracle = GrammarOracle(tree, text)
        assert grammar.is_prefix(text) == oracle.is_prefix
        assert grammar.accepts(text) == oracle.accepts


def ended(tokens: tuple[bytes, ...], data: st.DataObject) -> Vocabulary:
    """A vocabulary with one or two end tokens."""
    count = data.draw(st.sampled_from([1, 2]))
    return Vocabulary((*tokens, *[None] * count), end=range(len(tokens), len(tokens) + count))


tokens = st.lists(
    st.sampled_from([b"aa", b"ab", b"ba", b"bb", b"abc", b"cc", b"aba", b"bab", b"ab", b"\xc3"]),
    max_size=6,
)


@pytest.mark.exhaustive
@slow
@given(trees(), tokens, st.data())
def test_mask_is_brute_force(tree: GrammarTree, more: list[bytes], data: st.DataObject) -> None:
    """Along a random walk every mask equals the one made by trying each token."""
    grammar = grammar_of(tree)
    vocabulary = ended((b"a", b"b", b"c", *more), data)
    constraint = automaton(grammar, vocabulary, LIMITS)
    state, text = constraint.initial, b""
    for _ in range(4):
        mask = constraint.mask(state)
        assert set(mask) == brute_mask(tree, vocabulary, text)
        choices = [i for i in mask if i not in vocabulary.ends]
        if not choices:
            break
        token_id = data.draw(st.sampled_from(choices))
        state = constraint.advance(state, token_id)
        text += vocabulary.tokens[token_id] or b""


@pytest.mark.exhaustive
@slow
@given(trees(), tokens, st.data())
def test_rows_on_demand_equal_the_closed_form(
    tree: GrammarTree, more: list[bytes], data: st.DataObject
) -> None:
    """Also over vocabularies with holes, where dead ends are trimmed on tokens."""
    grammar = grammar_of(tree)
    singles = data.draw(st.sampled_from([(b"a", b"b", b"c"), (b"a", b"b"), (b"a",), ()]))
    vocabulary = ended((*singles, *more), data)
    try:
        left = automaton(grammar, vocabulary, LIMITS)
        right = composed(grammar, vocabulary, LIMITS)
    except (VocabularyError, LimitError):
        assume(False)
    here, there = left.initial, right.initial
    for _ in range(4):
        mask = left.mask(here)
        assert mask == right.mask(there)
        assert left.forced(here) == right.forced(there)
        assert left.is_final(here) == right.is_final(there)
        assert len(mask) > 0, "a mask is never empty before the end"
        choices = [i for i in mask if i not in vocabulary.ends]
        if not choices:
            break
        token_id = data.draw(st.sampled_from(choices))
        here, there = left.advance(here, token_id), right.advance(there, token_id)
