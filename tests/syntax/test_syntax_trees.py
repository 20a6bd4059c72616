"""Syntax trees: shapes of nodes, and the traversal that regexes and grammars share."""

from __future__ import annotations

import pytest

from workbench.base.source import Source, Span
from workbench.grammar.grammar import Grammar
from workbench.syntax.grammar_tree import Expression, Literal, Nonterminal, holds, shape
from workbench.syntax.kbnf.kbnf_parser import parse_kbnf
from workbench.syntax.regex.parser import parse_regex
from workbench.syntax.regex.tree import Characters, Group, LeafNode, Regex, walk

#   two regexes               alike, why
PAIRS = [
    ("a|a",                   True, "the same letter"),
    ("a|b",                   False, "another letter"),
    ("(ab)+|(ab)+",           True, "the same parts"),
    ("(ab)+|(ab)*",           False, "another count"),
    ("(?P<x>a)|(?P<y>a)",     False, "another name"),
    ("[ab]|[b-ba]",           True, "the same set, written in another way"),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "alike", "why"), PAIRS, ids=[why for *_, why in PAIRS])
def test_branches_written_alike(pattern: str, alike: bool, why: str) -> None:
    left, right = pattern.split("|")
    one, other = Grammar.from_regex(left).regex, Grammar.from_regex(f"  {right}"[2:]).regex
    assert one is not None
    assert other is not None
    assert (shape(one) == shape(other)) is alike, why


def test_rules_written_alike() -> None:
    tree = Grammar.from_kbnf(
        "start ::= a b c; a ::= 'x' #'[0-9]'?; b ::= 'x'  #'[0-9]'?; c ::= 'x' #e'[0-9]'?;"
    ).tree
    assert tree is not None
    _, a, b, c = (shape(rule.body) for rule in tree.rules)
    assert a == b
    assert b != c
    assert len({a, b, c}) == 2


BODY = parse_kbnf(Source("start ::= ('a' b | c*) 'd' except!(e);", "grammar")).rules[0].body
REGEX = parse_regex(Source("(?:a|(b))c*", "regex"))


def test_walk_visits_nodes_before_their_children_from_left_to_right() -> None:
    kinds = [type(node).__name__ for node in walk(BODY)]
    assert kinds == [
        *("Sequence", "Choice", "Sequence", "Literal", "Nonterminal", "Repetition"),
        *("Nonterminal", "Literal", "Except"),
    ]
    assert [n.ranges[0][0] for n in walk(REGEX) if isinstance(n, Characters)] == [97, 98, 99]


def test_walk_has_no_depth_limit() -> None:
    regex: Regex = REGEX
    for _ in range(20_000):
        regex = Group(regex, None, Span(0, 0))
    assert sum(isinstance(node, Group) for node in walk(regex)) == 20_001


def test_rebuild_returns_the_same_object_if_nothing_changes() -> None:
    def same(node: Expression) -> Expression:
        return node.rebuild(same)

    def same_regex(node: Regex) -> Regex:
        return node.rebuild(same_regex)

    assert same(BODY) is BODY
    assert same_regex(REGEX) is REGEX


def test_rebuild_changes_only_the_path_to_a_change() -> None:
    def changed(node: Expression) -> Expression:
        if isinstance(node, Nonterminal):
            return Nonterminal(node.name.upper(), node.span)
        return node.rebuild(changed)

    new = changed(BODY)
    assert [node.name for node in walk(new) if isinstance(node, Nonterminal)] == ["B", "C"]
    assert [node for node in walk(new) if isinstance(node, Literal)] == [
        node for node in walk(BODY) if isinstance(node, Literal)
    ]
    assert all(one is other for one, other in zip(new.children[1:], BODY.children[1:], strict=True))


#   regex         holds     why
NULLABLE = [
    ("a*b?",      True,     "every part of a sequence"),
    ("a*b",       False,    "one part does not"),
    ("a|b*",      True,     "one option"),
    ("a|b",       False,    "no option"),
    ("(?:a){0,2}", True,    "no copy"),
    ("(a*)+",     True,     "the repeated part"),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "wanted", "why"), NULLABLE, ids=[w for *_, w in NULLABLE])
def test_holds_looks_at_every_node(pattern: str, wanted: bool, why: str) -> None:
    regex = parse_regex(Source(pattern, "regex"))
    assert all(isinstance(node, LeafNode) or node.children for node in walk(regex))
    assert holds(regex, lambda _: False) is wanted, why
