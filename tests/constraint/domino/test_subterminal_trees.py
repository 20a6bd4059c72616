"""Subterminal trees against Algorithm 2, token by token."""

from __future__ import annotations

import pytest
from hypothesis import assume, given

from tests.constraint.domino.toys import PIECES, subterminals
from tests.laws.test_mask_laws import grammar_of, slow, trees
from workbench.base.errors import LimitError, VocabularyError
from workbench.base.limits import LIMITS, Limits
from workbench.constraint.methods.domino.domino import DominoConstraint, domino
from workbench.constraint.methods.domino.scanner import BETWEEN
from workbench.constraint.methods.domino.subterminal_trees import SubterminalTree, Trees
from workbench.grammar.grammar import Grammar
from workbench.syntax.grammar_tree import GrammarTree
from workbench.vocabulary.toy_vocabularies import toy


def attached(tree: SubterminalTree) -> list[tuple[tuple[int, ...], int, bool]]:
    """Every sequence of a tree with each of its tokens."""
    return [
        (tree.path(node), int(tree.tokens[i]), bool(tree.partial[i]))
        for node in range(len(tree))
        for i in range(tree.first[node], tree.first[node + 1])
    ]


def check(constraint: DominoConstraint) -> None:
    for state in (BETWEEN, *constraint.scanner.inside):
        tree = constraint.trees.get(state)
        assert tree is not None
        found = attached(tree)
        assert len(found) == len(set(found)), "no token is attached twice"
        assert set(found) == subterminals(constraint, state)
        paths = [tree.path(node) for node in range(len(tree))]
        assert len(paths) == len(set(paths)), "sequences that begin alike share nodes"
        for node, path in enumerate(paths):
            assert len(path) == tree.depth[node] + 1
            below = [n for n, p in enumerate(paths) if p[: len(path)] == path]
            assert below == list(range(node, tree.skip[node]))
        for token_id in range(len(constraint.vocabulary)):
            assert {tree.path(n) for n in tree.nodes_of(token_id)} == {
                path for path, its, _ in found if its == token_id
            }


@pytest.mark.exhaustive
@slow
@given(trees())
def test_trees_are_those_of_algorithm_2(tree: GrammarTree) -> None:
    try:
        constraint = domino(grammar_of(tree), PIECES, LIMITS)
    except VocabularyError:
        assume(False)
        raise
    check(constraint)


#   grammar                                               because
SHAPES = [
    ("start ::= #'[a-c]+' #'[a-b]+' 'c'?;",               "terminals that overlap are cut anywhere"),
    ("start ::= 'abc' | #'[a-c]+';",                      "a keyword that is also a name"),
    ("start ::= 'a'* start 'b' | 'cab';",                 "a loop before what calls itself"),
    ("start ::= #'(ab)*c' | 'b' start 'b';",              "an automaton that comes back to its first state"),
    ("start ::= 'aa' start 'b' | 'c';",                   "a token that is a terminal but for its end"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "because"), SHAPES, ids=[row[1] for row in SHAPES])
def test_trees_of_shapes(text: str, because: str) -> None:
    check(domino(Grammar.from_kbnf(text), PIECES, LIMITS))


def test_nodes_without_tokens_are_removed() -> None:
    """a·b is a sequence, but no token ends there, and abx cannot be read."""
    vocabulary = toy(("a", "b", "x", "abx"))
    constraint = domino(Grammar.from_kbnf("start ::= 'a' start 'b' | 'x';"), vocabulary, LIMITS)
    tree = constraint.trees.get(BETWEEN)
    assert tree is not None
    assert sorted(tree.path(node) for node in range(len(tree))) == [(0,), (1,), (2,)]


def test_error_terminals_that_overlap_without_limit() -> None:
    """Every letter of a token of 40 can be read as four terminals, in any order."""
    vocabulary = toy(("a", "b", "a" * 40))
    text = "start ::= (#'[a-b]' | #'[a-c]' | #'[ad]' | #'[ae]' | x)*; x ::= 'b' x 'b' | 'bb';"
    with pytest.raises(LimitError, match="too many sequences"):
        domino(Grammar.from_kbnf(text), vocabulary, LIMITS)


def test_trees_end_where_the_lookahead_does() -> None:
    grammar = Grammar.from_kbnf("start ::= 'a'* start 'b' | 'cab';")
    whole = domino(grammar, PIECES, LIMITS)
    for k in (0, 1, 2):
        made = domino(grammar, PIECES, LIMITS, k)
        for state in (BETWEEN, *whole.scanner.inside):
            tree, all_of_it = made.trees.get(state), whole.trees.get(state)
            assert tree is not None
            assert all_of_it is not None
            near = [row for row in attached(all_of_it) if len(row[0]) <= k + 1]
            assert sorted(attached(tree)) == sorted(near)


@pytest.mark.parametrize("k", [0, 3])
def test_with_little_lookahead_terminals_may_overlap(k: int) -> None:
    vocabulary = toy(("a", "b", "a" * 40))
    text = "start ::= (#'[a-b]' | #'[a-c]' | #'[ad]' | #'[ae]' | x)*; x ::= 'b' x 'b' | 'bb';"
    constraint = domino(Grammar.from_kbnf(text), vocabulary, LIMITS, k)
    assert set(constraint.mask(constraint.initial)) == {0, 1, 3}, "the long token reaches further"


def test_trees_past_the_time_limit_are_built_on_demand() -> None:
    constraint = domino(Grammar.from_regex("(ab){1,9}c"), PIECES, LIMITS)
    trie, follows = PIECES.trie, constraint.parser.follows
    hurried = Trees(constraint.scanner, follows, trie, Limits(seconds=1e-9), trie.height)
    assert not hurried.each
    for state in (BETWEEN, *constraint.scanner.inside):
        tree, patient = hurried.get(state), constraint.trees.get(state)
        assert tree is not None
        assert patient is not None
        assert attached(tree) == attached(patient)
    assert hurried.get(int(constraint.scanner.initials[0])) is None, "nothing is begun there"
