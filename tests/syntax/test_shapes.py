"""shape(): nodes with equal text have equal shapes wherever they are."""

from __future__ import annotations

import pytest

from workbench.grammar.grammar import Grammar
from workbench.syntax.grammar_tree import shape

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
