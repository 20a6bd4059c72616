"""Outlines: the reported properties of rules are true."""

from __future__ import annotations

import pytest
from hypothesis import assume, given

from tests.laws.test_mask_laws import slow, trees
from workbench.analysis.outline import RuleFacts, outline
from workbench.base.errors import WorkbenchError
from workbench.grammar.grammar import Grammar
from workbench.pushdown.build import build
from workbench.pushdown.network import Network
from workbench.syntax.grammar_tree import GrammarTree


def outlined(text: str, start: str = "start") -> dict[str, RuleFacts]:
    tree = Grammar.from_kbnf(text, start).tree
    assert tree is not None
    return {facts.name: facts for facts in outline(tree, start)}


def flags(facts: RuleFacts) -> str:
    """A letter for each thing that holds."""
    held = {
        "r": facts.is_recursive, "l": facts.is_left_recursive, "n": facts.is_nullable,
        "e": not facts.is_productive, "s": not facts.is_regular, "u": not facts.is_used,
    }  # fmt: skip
    return "".join(letter for letter, holds in held.items() if holds)


#   grammar                                              letters of each rule, and why
FLAGS = [
    ("start ::= a; a ::= 'x' a | 'x';",                  {"start": "", "a": "r"}, "recursion at the end needs no stack"),
    ("start ::= a; a ::= a 'x' | 'x';",                  {"start": "", "a": "rl"}, "nor does one at the start"),
    ("start ::= a; a ::= '(' a ')' | 'x';",              {"start": "s", "a": "rs"}, "one in the middle does, for callers too"),
    ("start ::= 'x' b; b ::= c?; c ::= 'y'?;",           {"start": "", "b": "n", "c": "n"}, "nullable through others"),
    ("start ::= 'x'; b ::= c; c ::= b | 'y';",           {"start": "", "b": "rlu", "c": "rlu"}, "unused"),
    ("start ::= 'x' | b; b ::= 'y' b;",                  {"start": "", "b": "re"}, "never ends"),
    ("start ::= n a; n ::= 'y'?; a ::= n a 'x' | 'z';",  {"start": "s", "n": "n", "a": "rls"}, "hidden left recursion, with something before"),
    ("start ::= ''* a; a ::= '' a '' | 'x';",            {"start": "", "a": "rl"}, "nothing is read around it"),
    ("start ::= a*; a ::= 'x' start | 'y';",             {"start": "rns", "a": "rs"}, "a repetition reads again"),
    ("start ::= except!(w) w; w ::= '!' | '?';",         {"start": "", "w": ""}, "an exception is a use"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "letters", "why"), FLAGS, ids=[why for *_, why in FLAGS])
def test_the_facts_of_rules(text: str, letters: dict[str, str], why: str) -> None:
    assert {name: flags(facts) for name, facts in outlined(text).items()} == letters, why


def test_references_and_definitions() -> None:
    text = "start ::= a b a;\na ::= 'x';\na ::= b;\nb ::= 'y';"
    facts = outlined(text)
    a = facts["a"]
    assert [text[span.start : span.end] for span in (*a.definitions, *a.references)] == ["a"] * 4
    assert [span.start for span in a.references] == [10, 14]
    assert [text.count("\n", 0, span.start) for span in a.definitions] == [1, 2]
    assert (facts["start"].calls, facts["start"].called_by) == (("a", "b"), ())
    assert (facts["b"].calls, facts["b"].called_by) == ((), ("start", "a"))
    assert list(facts) == ["start", "a", "b"]


def test_error_a_grammar_that_cannot_be_built_has_no_outline() -> None:
    tree = Grammar.from_kbnf("start ::= 'x';").tree
    assert tree is not None
    with pytest.raises(WorkbenchError):
        outline(tree, "unused")


@pytest.mark.slow
@slow
@given(trees())
def test_rules_without_nesting_need_no_stack(tree: GrammarTree) -> None:
    try:
        machine = build(tree)
        facts = {one.name: one for one in outline(tree)}
    except WorkbenchError:
        assume(False)
    if facts["start"].is_regular:
        assert not isinstance(machine, Network)
