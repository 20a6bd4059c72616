"""Terminals that a longest-match lexer would misread, and Lark's expansion of choices."""

from __future__ import annotations

from dataclasses import replace

import pytest

from workbench.automata.to_regex import plain
from workbench.base.errors import LimitError
from workbench.base.limits import LIMITS, Limits
from workbench.base.source import Source, Span
from workbench.grammar.export.lark_lexing import (
    Expansions,
    Lexers,
    PositionAutomaton,
    alternatives,
    is_one,
)
from workbench.grammar.export.rule_names import LARK, Names
from workbench.grammar.export.terminals import terminal
from workbench.grammar.export.writers import _by_letters
from workbench.pushdown.cfg import gathered
from workbench.syntax.grammar_tree import Expression, Literal, Pattern, Repetition, Sequence
from workbench.syntax.kbnf.kbnf_parser import parse_kbnf
from workbench.syntax.regex.parser import parse_regex

HERE = Span(0, 1)


def rules_of(kbnf: str) -> dict[str, Expression]:
    return gathered(parse_kbnf(Source(kbnf, "grammar")))


def leaves(node: Expression) -> list[Literal | Pattern]:
    if isinstance(node, Literal | Pattern):
        return [node]
    parts = getattr(node, "items", None) or getattr(node, "options", None) or ()
    inner = [getattr(node, "item", None)] if hasattr(node, "item") else list(parts)
    return [leaf for part in inner if part is not None for leaf in leaves(part)]


def told(leaf: Literal | Pattern) -> str:
    return leaf.value.decode() if isinstance(leaf, Literal) else leaf.text


#   grammar                                              misread, why
CASES = [
    ("start ::= #'[0-9]+' ',' #'[0-9]+';",               set(),               "a comma is no digit"),
    ("start ::= #'[0-9]+' #'[0-9]';",                    {"[0-9]+"},          "the digit would be gone"),
    ("start ::= 'tr' 'ee' | 'trees';",                   {"tr", "trees"},     "the longer word would be taken"),
    ("start ::= 'in' ' ' | #'[a-z]+' '!';",              set(),               "a blank ends the word anyway"),
    ("start ::= 'in' 'x' | #'[a-z]+' '!';",              {"in", "[a-z]+"},    "no blank: the word continues"),
    ("start ::= 'ab' a | 'ab' b; a ::= ','; b ::= ', ' ' ';", set(),          "a row is read to its end"),
    ("start ::= a | b; a ::= 'x' ',' ' y'; b ::= 'x' ', z';", {", z"},        "read side by side behind one letter"),
]  # fmt: skip


@pytest.mark.parametrize(("kbnf", "wanted", "because"), CASES, ids=[row[-1] for row in CASES])
def test_terminals_that_a_longest_match_lexer_misreads(
    kbnf: str, wanted: set[str], because: str
) -> None:
    rules = rules_of(kbnf)
    bad = Lexers(LIMITS.begun()).misread(rules, "start")
    found = {told(leaf) for body in rules.values() for leaf in leaves(body) if id(leaf) in bad}
    assert found == wanted, because


def test_where_the_time_is_over_all_are_spelled() -> None:
    with pytest.raises(LimitError):
        Lexers(Limits(seconds=1e-9).begun()).misread(rules_of("start ::= 'ab';"), "start")
    assert _by_letters(Literal(b"ab", HERE)) == Sequence(
        (Literal(b"a", HERE), Literal(b"b", HERE)), HERE
    )
    regex = plain(parse_regex(Source("[a-z]{3}(xy|z)*", "regex")))
    assert regex is not None
    assert all(map(is_one, leaves(_by_letters(terminal(regex, HERE)))))


#   regex               whether a character decides, why
REGEXES = [
    ("[0-9]+x",         True,   "a digit continues, an x ends"),
    ("a|ab",            False,  "Python takes the first option, and that is the shorter"),
    ("(a|b)*c?",        True,   "options with other letters"),
    ("a?a",             False,  "an a is the one or the other"),
    ("(a*|b)c",         False,  "Python takes the empty option"),
    ("([a-z]x){2,3}y?", False,  "a y begins the next round or ends it"),
]  # fmt: skip


@pytest.mark.parametrize(("written", "wanted", "because"), REGEXES, ids=[r[0] for r in REGEXES])
def test_one_way(written: str, wanted: bool, because: str) -> None:
    regex = plain(parse_regex(Source(written, "regex")))
    assert regex is not None
    assert PositionAutomaton(regex).is_deterministic is wanted, because


def test_rules_have_few_alternatives() -> None:
    options = " ".join(f"'{letter}'?" for letter in "abcdefghij")
    tree = parse_kbnf(Source(f"start ::= ({options})? 'x' | ({options})* 'y';", "grammar"))
    assert alternatives(tree.rules[0].body) > 1_000
    counted = Repetition(tree.rules[0].body, 1, 40, tree.rules[0].span)
    rules = (*tree.rules, replace(tree.rules[0], name="counted", body=counted))
    made = Expansions(Names.of(LARK, "start", ["start"], "start")).of(rules)
    assert all(alternatives(rule.body) <= 64 for rule in made)
