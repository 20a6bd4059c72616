"""What is a terminal, and that the rules over them read what the grammar does."""

from __future__ import annotations

import pytest

from workbench.base.dfa import Dfa
from workbench.base.errors import LimitError
from workbench.base.limits import Limits
from workbench.base.source import Source
from workbench.constraint.methods.domino.scanner import terminals_of
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.pushdown.build import build
from workbench.syntax.kbnf.kbnf_parser import parse_kbnf

#   grammar                                                terminals                   because
CUTS = [
    ("start ::= 'ab' #'[0-9]';",                           ["'ab'", "#'[0-9]'"],       "literals and regexes as they are written"),
    ("start ::= 'a' start 'a' | 'b';",                     ["'a'", "'b'"],             "the same literal twice is one"),
    ("start ::= 'a' start 'b' | #'a';",                    ["'a'", "'b'"],             "the same texts, written otherwise, are one"),
    ("start ::= int; int ::= #'[1-9][0-9]*|0+';",          ["int"],                    "a terminal that is all of a rule has its name"),
    ("start ::= '<' #'[0-9]'+ '>';",                       ["'<'", "#'[0-9]'+", "'>'"], "digits go round"),
    ("start ::= '<' digit+ '>'; digit ::= #'[0-9]';",      ["'<'", "digit+", "'>'"],   "what goes round is called"),
    ("start ::= '\"' (#'[a-z]' | '\\\\' #'[nt]')* '\"';",  ["'\"'", "inside start"], "a string's inside, with escapes"),
    ("start ::= 'a' ws; ws ::= (#'[ \t]' ws)?;",           ["'a'", "ws"],              "white space that calls itself is a loop"),
    ("start ::= name '='; name ::= #'[a-z_]' #'[a-z_0-9]'*;", ["'='", "name"],         "the first letter could be in the loop"),
    ("start ::= #'[eE]' #'[0-9]'+;",                       ["#'[eE]'", "#'[0-9]'+"],   "an e is no digit"),
    ("start ::= (',' 'x')+;",                              ["','", "'x'"],             "no way of the loop is a single character"),
    ("start ::= (#'[a-z]' | 'x' ','*)*;",                  ["#'[a-z]'", "'x'", "','*"], "a loop inside a loop has a structure"),
    ("start ::= (#'[a-z]' | '(' start ')')*;",             ["#'[a-z]'", "'('", "')'"], "nor do rules that nest go round"),
    ("start ::= 'a' #'[0-9]?' '' | #'';",                  ["'a'", "#'[0-9]?'"],       "nothing is no terminal"),
    ("start ::= 'a' | no; no ::= 'b' no;",                 ["'a'"],                    "what derives no text is left out"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "names", "because"), CUTS, ids=[row[2] for row in CUTS])
def test_terminals_are_named_and_never_empty(text: str, names: list[str], because: str) -> None:
    cut = terminals_of(Grammar.from_kbnf(text))
    assert [terminal.name for terminal in cut.each] == names, because
    assert not any(terminal.dfa.accepts(b"") for terminal in cut.each)


def as_written(text: str) -> Grammar:
    """The machine of the grammar itself is not built."""
    tree = parse_kbnf(Source(text, "grammar"))
    return Grammar(tree.source, Notation.KBNF, Grammar.from_regex("").reader, tree=tree)


def test_optional_terminals_are_optional_in_the_rules() -> None:
    cut = terminals_of(Grammar.from_kbnf("start ::= 'a' #'[0-9]?' 'b';"))
    rules = build(cut.tree, cut.start)
    assert isinstance(rules, Dfa)
    a, digit, b = map(cut.code, range(3))
    assert rules.accepts(a + b)
    assert rules.accepts(a + digit + b)
    assert not rules.accepts(a + digit)
    assert not rules.accepts(a + digit + digit + b)


def test_a_regex_is_one_terminal() -> None:
    cut = terminals_of(Grammar.from_regex("(foo)+d|"))
    assert [terminal.name for terminal in cut.each] == ["(foo)+d|"]
    assert cut.each[0].dfa.accepts(b"food")
    assert not cut.each[0].dfa.accepts(b""), "the rules say that it may be left out"


def test_a_regex_of_the_empty_text_has_no_terminal() -> None:
    assert terminals_of(Grammar.from_regex("")).each == ()


def test_codes_are_wider_where_there_are_more_terminals_than_bytes() -> None:
    words = [f"'w{i}'" for i in range(300)]
    cut = terminals_of(Grammar.from_kbnf(f"start ::= ({' | '.join(words)}) start 'x' | 'x';"))
    assert (len(cut.each), cut.width) == (301, 2)
    assert len({cut.code(i) for i in range(301)}) == 301


def test_loops_of_exploding_rules_are_not_inlined() -> None:
    """What goes round is some texts of up to 2³⁰ letters: the rules as they stand say it shorter."""
    doubling = "".join(f"r{i} ::= r{i + 1} r{i + 1} | 'x';" for i in range(30))
    cut = terminals_of(as_written(f"start ::= 'a' start 'b' | r0*; {doubling} r30 ::= 'y';"))
    assert [terminal.name for terminal in cut.each] == ["'a'", "'b'", "'x'", "'y'"]


def test_error_terminal_too_large() -> None:
    with pytest.raises(LimitError):
        terminals_of(as_written("start ::= 'x' | #'(a|b)*a(a|b){3}';"), Limits(states=8))
