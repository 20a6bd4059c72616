"""print_kbnf(): a printed tree parses to the same tree."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.base.errors import WorkbenchError
from workbench.base.source import Source, Span
from workbench.syntax.grammar_printer import print_kbnf
from workbench.syntax.grammar_tree import (
    Choice,
    Except,
    Expression,
    GrammarTree,
    Literal,
    Nonterminal,
    Repetition,
    Rule,
    Sequence,
    Substrings,
)
from workbench.syntax.kbnf.kbnf_parser import parse_kbnf

NOWHERE = Span(0, 0)
A, B = Literal(b"a", NOWHERE), Literal(b"b", NOWHERE)


def shape(node: Any) -> Any:
    """A tree without spans."""
    if isinstance(node, tuple):
        return tuple(shape(part) for part in node)
    if not is_dataclass(node) or isinstance(node, type):
        return node
    spans = {"span", "name_span"}
    return type(node), *(shape(getattr(node, f.name)) for f in fields(node) if f.name not in spans)


def grammar(*bodies: Expression) -> GrammarTree:
    rules = tuple(Rule("start", body, NOWHERE, NOWHERE) for body in bodies)
    return GrammarTree(rules, Source("", "made"))


names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,3}", fullmatch=True)
texts = st.text(st.characters(codec="utf-8"), max_size=4)
literals = texts.map(lambda text: Literal(text.encode(), NOWHERE))
nonterminals = names.map(lambda name: Nonterminal(name, NOWHERE))
leaves = st.one_of(
    literals,
    nonterminals,
    texts.map(lambda text: Substrings(text.encode(), NOWHERE)),
    st.builds(
        Except,
        st.one_of(literals, nonterminals),
        st.none() | st.integers(1, 99),
        st.just(NOWHERE),
    ),
)


def branches(part: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    several = st.lists(part, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        several.map(lambda parts: Sequence(parts, NOWHERE)),
        several.map(lambda parts: Choice(parts, NOWHERE)),
        st.builds(
            lambda item, bounds: Repetition(item, bounds[0], bounds[1], NOWHERE),
            part,
            st.sampled_from([(0, 1), (0, None), (1, None)]),
        ),
    )


expressions = st.recursive(leaves, branches, max_leaves=12)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(names, expressions), min_size=1, max_size=3))
def test_parse_after_print_is_identity(rules: list[tuple[str, Expression]]) -> None:
    made = tuple(Rule(name, body, NOWHERE, NOWHERE) for name, body in rules)
    text = print_kbnf(GrammarTree(made, Source("", "made")))
    assert shape(parse_kbnf(Source(text, "printed")).rules) == shape(made)


@pytest.mark.parametrize(
    "text",
    [
        r"start ::= #'[^\"\\\\]*' #e'a|\n' #ex'\\.' #substrs'x';",
        "start ::= #'é{2,3}' | (#\"it's\")+;",
    ],
)
def test_patterns_keep_their_text(text: str) -> None:
    tree = parse_kbnf(Source(text, "grammar"))
    again = parse_kbnf(Source(print_kbnf(tree), "printed"))
    assert shape(again.rules) == shape(tree.rules)


#   node                                printed            because
PRINTED = [
    (Repetition(A, 2, 2, NOWHERE), "('a' 'a')", "two copies"),
    (Repetition(A, 1, 3, NOWHERE), "('a' ('a' 'a'?)?)", "each copy asks for the one before"),
    (Repetition(A, 2, None, NOWHERE), "('a' 'a'+)", "the last copy repeats"),
    (Repetition(A, 0, 0, NOWHERE), "('')", "no copy"),
    (Sequence((), NOWHERE), "''", "nothing"),
    (Choice((Sequence((A, B), NOWHERE), A), NOWHERE), "'a' 'b' | 'a'", "a choice binds loosest"),
    (Sequence((A, Choice((A, B), NOWHERE)), NOWHERE), "'a' ('a' | 'b')", "a choice in a sequence"),
    (Literal(b"it's", NOWHERE), '"it\'s"', "the quote that needs no escape"),
    (Literal("\u200b\x7f".encode(), NOWHERE), r"'\u{200B}\u{7F}'", "what cannot be seen"),
]  # fmt: skip


@pytest.mark.parametrize(("node", "printed", "because"), PRINTED, ids=[row[1] for row in PRINTED])
def test_a_tree_is_printed_with_the_parentheses_it_needs(
    node: Expression, printed: str, because: str
) -> None:
    assert print_kbnf(grammar(node)) == f"start ::= {printed};\n", because


def test_long_choices_have_an_option_on_each_line() -> None:
    options = tuple(Literal(b"x" * 40, NOWHERE) for _ in range(3))
    lines = print_kbnf(grammar(Choice(options, NOWHERE))).splitlines()
    assert [line[:11] for line in lines] == ["start ::= '", "        | '", "        | '"]


def test_error_when_a_literal_is_no_text() -> None:
    with pytest.raises(WorkbenchError, match="UTF-8"):
        print_kbnf(grammar(Literal(b"\xff", NOWHERE)))
