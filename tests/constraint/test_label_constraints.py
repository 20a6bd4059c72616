"""Terminal labels on a stack, in imported grammars, and where they are refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from workbench.base.errors import BuildError, TokenNotAllowed, WorkbenchError
from workbench.base.source import Source, Span
from workbench.constraint.compile import METHODS, compile
from workbench.constraint.labels import Labelled, longest_tokens
from workbench.constraint.protocol import State
from workbench.grammar.grammar import Grammar
from workbench.grammar.label_encoding import encode_labels, labels_of
from workbench.syntax.grammar_tree import Choice, Pattern, Sequence, Stop
from workbench.syntax.regex.extensions import labels_in
from workbench.syntax.regex.parser import parse_regex
from workbench.syntax.regex.reader import Dialect
from workbench.syntax.regex.tree import Bytes
from workbench.vocabulary.toy_vocabularies import toy

AB = toy([b"a", b"b", b"ab", b"\n", b"(", b")", b"((", b"a\n", b"\xfc", b"\xf9", b"x\xff"])


def spelt(constraint: object, state: State) -> set[bytes]:
    assert isinstance(constraint, Labelled)
    return {constraint.vocabulary.tokens[i] or b"<end>" for i in constraint.mask(state)}


def test_labels_within_rules_that_nest() -> None:
    grammar = Grammar.from_kbnf("start ::= '(' start ')' | #'(?P<PARAGRAPH_TOKEN>)' #'\\n';")
    constraint = compile(grammar, AB)
    inner = constraint.advance(constraint.initial, AB.ids("((")[0])
    every = {b"a", b"b", b"ab", b"(", b")", b"((", b"\xfc", b"\xf9", b"x\xff"}
    assert spelt(constraint, inner) == every
    # '((' is read as text, though the label has it too
    assert constraint.label(inner, AB.ids("((")[0]) is None
    named = constraint.label(inner, AB.ids("ab")[0])
    assert named is not None
    assert named.name == "PARAGRAPH_TOKEN"
    read = constraint.advance(inner, AB.ids("ab")[0])
    assert spelt(constraint, read) == {b"\n"}
    with pytest.raises(TokenNotAllowed, match="not allowed"):
        constraint.advance(read, AB.ids("a\n")[0])


def test_text_has_priority_over_labels() -> None:
    """The cost of Koo's heuristic: 'b' is read as text and ends it, although the label has it."""
    constraint = compile(Grammar.from_regex("(?P<TEXT_TOKEN>)*b"), AB)
    over = constraint.advance(constraint.initial, AB.ids("b")[0])
    assert spelt(constraint, over) == {b"<end>"}


def test_a_label_whose_tokens_are_all_read_as_text_is_never_read() -> None:
    """The text before it loops on all its tokens: masks are never empty, and the text never ends."""
    vocabulary = toy([b"a", b"aa"])
    round_it = compile(Grammar.from_regex("a*(?P<TEXT_TOKEN>)"), vocabulary)
    assert spelt(round_it, round_it.initial) == {b"a", b"aa"}
    for token in ("a", "aa"):
        there = round_it.advance(round_it.initial, vocabulary.ids(token)[0])
        assert there == round_it.initial
    assert not round_it.is_final(round_it.initial)
    # with one token that the loop cannot read as text, the label is read
    more = toy([b"a", b"aa", b"ab"])
    leaves = compile(Grammar.from_regex("a*(?P<TEXT_TOKEN>)"), more)
    assert leaves.is_final(leaves.advance(leaves.initial, more.ids("ab")[0]))


def test_forced_bytes_end_before_a_label() -> None:
    constraint = compile(Grammar.from_regex("ab(?P<TEXT_TOKEN>)b"), AB)
    assert constraint.forced(constraint.initial) == b"ab"
    here = constraint.advance(constraint.initial, AB.ids("ab")[0])
    assert constraint.forced(here) == b""


def test_only_labels_read_reserved_bytes() -> None:
    """``except!`` reads any byte, and a token may consist of reserved bytes."""
    grammar = Grammar.from_kbnf(r"start ::= except!('b') | '(' #'(?P<TEXT_TOKEN>)' ')';")
    constraint = compile(grammar, AB)
    assert spelt(constraint, constraint.initial) == {b"a", b"\n", b"(", b")", b"((", b"a\n"}
    inside = constraint.advance(constraint.initial, AB.ids("(")[0])
    # the first byte of a code does not lead to the second
    through = constraint.advance(inside, AB.ids(b"\xfc")[0])
    assert spelt(constraint, through) == {b")"}


def test_byte_patterns_do_not_read_reserved_bytes() -> None:
    """No notation allows both in one grammar; a tree built by the caller may have them."""
    nowhere = Span(0, 0)
    byte = Pattern(Bytes(((0, 255),), nowhere), Stop.ANYWHERE, "", nowhere)
    grammar = Grammar.from_kbnf("start ::= 'x' | '(' #'(?P<TEXT_TOKEN>)' ')';")
    assert grammar.tree is not None
    rule = grammar.tree.rules[0]
    body = Choice((Sequence((byte, byte), nowhere), rule.body), nowhere)
    tree = replace(grammar.tree, rules=(replace(rule, body=body),))
    constraint = compile(replace(grammar, tree=tree), AB)
    assert b"\xfc" not in spelt(constraint, constraint.initial)
    assert b"a" in spelt(constraint, constraint.initial)


def test_grammars_without_labels_do_not_change() -> None:
    grammar = Grammar.from_regex("(?P<QUOTED_TEXT>)")
    assert encode_labels(grammar) is grammar
    assert not isinstance(compile(grammar, toy(['"', "a"])), Labelled)


def test_a_named_group_is_not_a_label() -> None:
    """Patterns of JSON Schemas have no labels: there the name is the user's."""
    regex = parse_regex(Source("(?<TEXT_TOKEN>a)", "pattern"), dialect=Dialect.ECMA)
    assert not [*labels_in(regex)]


@pytest.mark.parametrize("method", [m for m, of in METHODS.items() if of.no_labels])
def test_error_when_a_method_reads_no_labels(method: str) -> None:
    with pytest.raises(WorkbenchError, match=f"{method}' does not read TEXT_TOKEN: .+"):
        compile(Grammar.from_regex("(?P<TEXT_TOKEN>)"), AB, method)


def test_error_for_a_label_where_a_match_depends_on_its_text() -> None:
    grammar = Grammar.from_kbnf("start ::= #e'a(?P<TEXT_TOKEN>)' ;")
    with pytest.raises(BuildError, match="TEXT_TOKEN is not allowed where a match ends") as caught:
        compile(grammar, AB)
    assert grammar.source.text[caught.value.span.start :].startswith("(?P<TEXT_TOKEN>)")


@pytest.mark.parametrize(
    "rules",
    [
        "A: /(?P<TEXT_TOKEN>)/ & /[a-z]+/",
        "A: ~/(?P<TEXT_TOKEN>)/",
        'A[stop="x"]: /(?P<TEXT_TOKEN>)+/',
        "A[lazy]: B\nB: /(?P<TEXT_TOKEN>)/",
    ],
)
def test_error_when_a_label_is_made_into_a_machine(rules: str) -> None:
    """As characters it would silently lose its meaning."""
    with pytest.raises(BuildError, match="TEXT_TOKEN cannot be combined") as caught:
        Grammar.from_lark(f"start: A\n{rules}")
    source, span = caught.value.source, caught.value.span
    assert source.text[span.start : span.end].startswith("(?P<TEXT_TOKEN>)")


@pytest.mark.parametrize(
    "grammar",
    [
        Grammar.from_lark('start: A B\nA: /(?P<TEXT_TOKEN>)/\nB: "b"\n%ignore /;+/'),
        Grammar.from_gbnf('root ::= Regex("(?P<TEXT_TOKEN>)") "b"'),
    ],
    ids=["lark", "gbnf"],
)
def test_labels_of_imported_grammars(grammar: Grammar) -> None:
    constraint = compile(grammar, AB)
    assert isinstance(constraint, Labelled)
    assert b"a\n" in spelt(constraint, constraint.initial)


def test_labels_are_listed_with_their_spans() -> None:
    text = "start ::= #'x(?P<IMAGE>)' | '(' (#'(?P<TEXT_TOKEN>)+')? ')';"
    found = labels_of(Grammar.from_kbnf(text))
    assert [(label.name, text[span.start : span.end]) for label, span in found] == [
        ("IMAGE", "(?P<IMAGE>)"),
        ("TEXT_TOKEN", "(?P<TEXT_TOKEN>)"),
    ]


def test_longest_tokens() -> None:
    constraint = compile(Grammar.from_regex("ab?(?P<PARAGRAPH_TOKEN>){2}"), AB)
    assert longest_tokens(constraint, b"ab") is not None
    assert longest_tokens(constraint, b"aba") == AB.ids("ab", "a")
    # with "ab" as the label's token no "b" is left, so 'a' is read by itself
    ends = compile(Grammar.from_regex(r"a(?P<TEXT_TOKEN>)b\n"), AB)
    assert longest_tokens(ends, b"aab") == AB.ids("a", "ab")
    assert longest_tokens(ends, b"aab\n") == AB.ids("a", "a", "b", "\n")
    assert longest_tokens(constraint, b"ba") is None
    assert longest_tokens(constraint, b"") == []
