"""parse_kbnf(): trees, spans, and the exact error messages."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.base.errors import ParseError
from workbench.base.resources import GRAMMARS
from workbench.base.source import Source, Span
from workbench.syntax.grammar_printer import print_kbnf
from workbench.syntax.grammar_tree import (
    Except,
    GrammarTree,
    Literal,
    Nonterminal,
    Pattern,
    Repetition,
    Sequence,
    Stop,
    Substrings,
)
from workbench.syntax.kbnf.kbnf_parser import NESTING, parse_kbnf


def parse(text: str) -> GrammarTree:
    return parse_kbnf(Source(text, "grammar"))


def body(text: str) -> object:
    (rule,) = parse(f"start ::= {text};").rules
    return rule.body


#   written                        means                         because
READ = [
    ("'a'|'b' 'c'|'d'", "'a' | 'b' 'c' | 'd'", "'|' binds loosest"),
    ("'a','b' 'c'", "'a' 'b' 'c'", "a comma is a space"),
    ("'a' 'b'*", "'a' 'b'*", "a postfix sign binds tightest"),
    ("'a' *", "'a'*", "white space before the postfix sign"),
    ("['a']+", "('a'?)+", "brackets take a postfix too"),
    ("{'a' 'b'}", "('a' 'b')*", "braces repeat"),
    ("(('a'))", "'a'", "brackets leave no node"),
    ("('a' 'b') 'c'", "('a' 'b') 'c'", "but keep what belongs together"),
    ("('(' 'a')", "'(' 'a'", "brackets are matched on lexemes, not on text"),
    ("'a' (*;'*) 'b'", "'a' 'b'", "a comment between two items"),
    ("'(*' '*)'", "'(*' '*)'", "no comment inside quotes"),
    ("(**)(***)'a'", "'a'", "the shortest comments"),
    ("(*)*)'a'", "'a'", "'(*)' has begun and not ended"),
    ("e'a'", "e 'a'", "a rule named e, then a string"),
    ("ex substrs except", "ex substrs except", "there are no reserved words"),
    ("''", "''", "the empty text"),
    ("'a\nb'", "'a\\nb'", "a raw break in a string"),
    ('"it\'s"', '"it\'s"', "the other quote"),
    ("except!('a')", "except!('a')", "the post's complement"),
    ("except! ( end , 010 ) end", "except!(end, 10) end", "white space, a name, a limit"),
    ("#ex'a' #e'b' #'c' #substrs'd'", "#ex'a' #e'b' #'c' #substrs'd'", "the special forms"),
]  # fmt: skip


@pytest.mark.parametrize(("written", "means", "because"), READ, ids=[row[0] for row in READ])
def test_operators_bind_as_the_printed_tree_shows(written: str, means: str, because: str) -> None:
    assert print_kbnf(parse(f"start ::= {written};")) == f"start ::= {means};\n", because


def test_both_definition_signs_and_several_rules_of_one_name() -> None:
    tree = parse("a='x';b::=a;(*c*)a='y';(*d*)")
    assert [rule.name for rule in tree.rules] == ["a", "b", "a"]


def test_leaves_have_their_values_and_spans() -> None:
    assert body("'é'") == Literal("é".encode(), Span(10, 13))
    assert body("x") == Nonterminal("x", Span(10, 11))
    assert body("#substrs'ab'") == Substrings(b"ab", Span(10, 22))
    assert body("except!('a', 3)") == Except(Literal(b"a", Span(18, 21)), 3, Span(10, 25))
    assert body("except!(x)") == Except(Nonterminal("x", Span(18, 19)), None, Span(10, 20))


def test_nodes_have_the_spans_of_their_text() -> None:
    text = "start ::= 'a' ('b' 'c')* ;"
    (rule,) = parse(text).rules
    assert (rule.name_span, rule.span) == (Span(0, 5), Span(0, len(text)))
    assert isinstance(rule.body, Sequence)
    assert text[rule.body.span.start : rule.body.span.end] == "'a' ('b' 'c')*"
    _, repeated = rule.body.items
    assert isinstance(repeated, Repetition)
    assert text[repeated.span.start : repeated.span.end] == "('b' 'c')*"
    assert text[repeated.item.span.start : repeated.item.span.end] == "'b' 'c'"


def test_regexes_are_unescaped_first_and_know_their_place() -> None:
    pattern = body(r"#e'\\d\u{2b}'")
    assert isinstance(pattern, Pattern)
    assert (pattern.text, pattern.stop) == (r"\d+", Stop.FIRST_MATCH)
    assert pattern.regex.span == Span(13, 22)


#   text                           message                                            at
ERRORS = [
    ("a ::= 'x'\nb ::= 'y';", "expected ';' after the rule", "'x'|"),
    ("a ::= 'x'  ", "expected ';' after the rule", "'x'|"),
    ("a := 'x';", "expected '::='", ":="),
    ("a: 'x';", "expected '::='", ":"),
    ("a 'x';", "expected '::=' after 'a', not a string", "'"),
    ("a ::= ;", "expected something after '::='", "::="),
    ("a ::= b ::= 'c';", "expected something after '::='", "::="),
    ("a ::= |'x';", "expected an alternative before '|'", "|"),
    ("a ::= 'x'|;", "expected an alternative after '|'", "|"),
    ("a ::= ('x'|);", "expected an alternative after '|'", "|"),
    ("a ::= [];", "expected something inside '['", "["),
    ("a ::= 'x',;", "expected a string, a regex, a rule's name or a bracket after ','", ","),
    ("a ::= 'x';;", "expected a rule before ';'", ";"),
    ("a ::= 'x'{2,3};", "items cannot be counted, only the parts of a regex", "{2"),
    ("a ::= 'x'**;", "an item takes only one of ? * +", "*"),
    ("a ::= *;", "expected something before '*'", "*"),
    ("a ::= 'x", "this string is never closed", "'"),
    ("a ::= #e'x;", "this regex is never closed", "#e'"),
    ("a ::= 'x'; (* y", "this comment is never closed", "(*"),
    ("a ::= 'x' *);", "')' closes nothing", ")"),
    ("a ::= ('x';", "this '(' is never closed: expected ')' before the end of the rule", "("),
    ("a ::= {'x'\nb='y';",
     "this '{' is never closed: expected '}' before the end of the rule", "{"),
    ("a ::= ['x'", "this '[' is never closed: expected ']' before the end of the text", "["),
    ("a ::= ('x'];", "expected ')', not ']', to close the '(' of line 1, column 7", "]"),
    ("a ::= ('x' % y);", "this sign has no meaning outside quotes", "%"),
    ("a ::= 'x'; // y", "this is not a comment in KBNF", "//"),
    ("# y\na ::= 'x';", "this is not a comment in KBNF", "#"),
    ("a ::= # 'x';", "no space may follow '#' here", "#"),
    ("a ::= #x'x';", "there is no such kind of regex", "#x"),
    ("<a> ::= 'x';", "a rule's name is written without angle brackets", "<"),
    ("a ::= b-c;", "expected a name of letters, digits and '_'", "-"),
    ("a ::= [a-z];", "brackets hold an optional part", "-"),
    ("a ::= 'a'..'z';", "there are no ranges between strings", ".."),
    ("a ::= any!;", "only except! has an exclamation mark", "!"),
    ("a ::= except!(#'x');", "expected a string or a rule's name after '(', not a regex", "#"),
    ("a ::= except!('x',);", "expected a number of bytes after ',', not ')'", ")"),
    ("a ::= ‘x’;", "expected a straight quote", "‘"),
    ("a ::= 12;",
     "expected a string, a regex, a rule's name or a bracket after '::=', not '12'", "12"),
    ("a ::= 'x'\u00a0;", "this white space character is not allowed in KBNF", "\u00a0"),
    ("  ", "expected at least one rule", ""),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message", "at"), ERRORS, ids=[row[0] for row in ERRORS])
def test_error_messages(text: str, message: str, at: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    error = caught.value
    assert error.message == message
    assert (error.kind, bool(error.hint)) == ("syntax", True)
    if at.endswith("'x'|"):
        assert error.span == Span(9, 9), "right after the rule"
    elif at:
        assert text[error.span.start :].startswith(at[: error.span.end - error.span.start])


def test_error_text() -> None:
    with pytest.raises(ParseError) as caught:
        parse("start ::= value;\nvalue ::= ('a' | 'b';\n")
    assert str(caught.value) == (
        "grammar, line 2, column 11: this '(' is never closed: "
        "expected ')' before the end of the rule\n"
        "2 | value ::= ('a' | 'b';\n"
        "              ^\n"
        "hint: add ')' where the part ends"
    )


def test_error_when_an_earlier_quote_is_missing_names_it() -> None:
    with pytest.raises(ParseError) as caught:
        parse("a ::= 'x;\nb ::= 'y';")
    assert "opened in line 1" in caught.value.hint


def test_error_in_a_regex_is_shown_where_it_was_written() -> None:
    text = r"start ::= #'\\d\n[z-a]';"
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert caught.value.kind == "bad_regex"
    assert text.index("[") <= caught.value.span.start < caught.value.span.end <= text.index("]") + 1


@pytest.mark.parametrize(
    ("regex", "kind"),
    [(r"(a)\\1", "bad_regex"), ("a(", "bad_regex"), ("(?-u)[^a]", "unsupported_regex")],
)
def test_error_kinds_in_a_regex(regex: str, kind: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(f"start ::= 'a' #'{regex}';")
    assert caught.value.kind == kind
    assert caught.value.span.start >= len("start ::= 'a' #'")


@pytest.mark.parametrize("number", ["0", "000", "1000000000", "9" * 5000])
def test_error_for_an_invalid_limit(number: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(f"start ::= except!('a', {number});")
    assert caught.value.kind == "invalid_except"


def test_the_first_mistake_is_reported() -> None:
    with pytest.raises(ParseError) as caught:
        parse("a ::= '\\q';\nb := 'x';")
    assert caught.value.kind == "bad_escape"


@pytest.mark.parametrize("brackets", ["()", "[]", "{}"])
def test_error_for_deep_nesting(brackets: str) -> None:
    opening, closing = brackets[0], brackets[1]
    parse(f"a ::= {opening * NESTING}'x'{closing * NESTING};")
    for depth in (NESTING + 1, 10_000):
        with pytest.raises(ParseError, match="nested deeper"):
            parse(f"a ::= {opening * depth}'x'{closing * depth};")


TERMINALS = re.compile("_(DEFINE|END|BAR|COMMA|STAR|PLUS|L[A-Z]{3}|R[A-Z]{3})|STRING|REGEX|NUMBER")


def check_error(error: ParseError, text: str) -> None:
    """Check that an error has a span and does not use lark's names."""
    assert error.span.end <= len(text)
    assert error.hint or error.kind in ("bad_regex", "unsupported_regex")
    assert str(error).count("\n") >= 1
    assert all(found[0] in text for found in TERMINALS.finditer(error.message))


def check_parse(text: str) -> None:
    try:
        tree = parse(text)
    except ParseError as error:
        check_error(error, text)
    else:
        assert tree.rules


EXAMPLES = sorted(GRAMMARS.glob("*.kbnf"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_half_typed_text_gives_an_error_with_a_place(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    parse(text)
    for end in range(0, len(text), 1 + len(text) // 100):
        check_parse(text[:end])


@pytest.mark.exhaustive
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_prefix_gives_an_error_with_a_place(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for end in range(len(text)):
        check_parse(text[:end])


PIECES = [
    "a", "b ", "::=", "=", ";", "'x'", '"', "'", "#", "#ex'", "except!", "(", ")", "[", "]", "{",
    "}", "|", ",", "?", "*", "+", "(*", "*)", "\\", "\n", " ", "1", "é", "\\\\d", ":", "!", "#'[",
    "(?", "\ud800", "\0",
]  # fmt: skip
texts = st.one_of(
    st.text(max_size=30),
    st.lists(st.sampled_from(PIECES), max_size=25).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=25).map(lambda pieces: "a ::= " + "".join(pieces)),
)


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(texts)
def test_any_text_gives_a_tree_or_an_error_with_a_place(text: str) -> None:
    check_parse(text)


LONG = {
    "options": "a ::= " + "'x'|" * 10_000 + "'x';",
    "rules": "a ::= 'x';" * 4_000,
    "items without an end": "a ::= " + "'x' " * 10_000,
    "a comment without an end": "a ::= 'x' " + "(* " * 50_000,
    "a string without an end": "a ::= '" + "\\\\" * 50_000,
    "quotes": "a ::= " + "'" * 20_001,
    "escapes": "a ::= '" + "\\n" * 50_000 + "';",
}


@pytest.mark.parametrize("text", LONG.values(), ids=list(LONG))
def test_long_texts_take_linear_time(text: str) -> None:
    started = time.thread_time()
    try:
        parse(text)
    except ParseError as error:
        str(error)
    assert time.thread_time() - started < 5, "about half a second of work"


def test_lark_is_not_imported_before_a_grammar_is_read() -> None:
    code = "import sys, workbench.syntax.kbnf.kbnf_parser as p; assert 'lark' not in sys.modules"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
