"""unescape(): the table of escapes of the KBNF specification, section 1."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.base.errors import ParseError
from workbench.base.source import Source, Span, Unescaped
from workbench.syntax.kbnf.kbnf_lexer import unescape


def read(text: str, *, regex: bool = False) -> Unescaped:
    return unescape(Source(text, "grammar"), Span(0, len(text)), regex=regex)


#   written             value        because
VALUES = [
    (r"\n\r\t\b\f", "\n\r\t\b\f", "the five white escapes"),
    (r"\\\'\"\/", "\\'\"/", "the character itself"),
    (r"\xe9", "é", "a code point, never the byte E9"),
    (r"\x411", "A1", "exactly two digits"),
    (r"\u00E91", "é1", "exactly four digits"),
    (r"\u{1F600}", "😀", "up to 10FFFF"),
    (r"\u{0000000000041}", "A", "as many digits as one likes"),
    (r"\0", "\0", "octal, one digit"),
    (r"\18", "\x018", "the longest octal is \\1, then an 8"),
    (r"\377", "ÿ", "octal, three digits"),
    (r"\477", "'7", "from 4 on two digits at most"),
    (r"\1011", "A1", "never four digits"),
    ("a\nb\tc", "a\nb\tc", "raw breaks are text"),
    ("'", "'", "the other quote needs no escape"),
]  # fmt: skip


@pytest.mark.parametrize(("written", "value", "because"), VALUES, ids=[row[0] for row in VALUES])
def test_an_escape_has_its_value(written: str, value: str, because: str) -> None:
    assert read(written).text == value, because


WRONG = [
    r"\a", r"\v", r"\e", r"\d", r"\s", r"\.", r"\(", r"\-", r"\q", r"\8", r"\cA", r"\U0001F600",
    "\\\n", r"\ud83d", r"\ud83d\ude00", r"\u{d800}", r"\u{110000}", r"\u{}", r"\u{1f600",
    r"\u{+41}", r"\x+4", r"\x4", r"\u004", "\\\U0001F600", "\ud800",
]  # fmt: skip


@pytest.mark.parametrize("written", WRONG, ids=ascii)
def test_error_for_an_unknown_escape(written: str) -> None:
    with pytest.raises(ParseError) as caught:
        read("ab" + written)
    assert caught.value.kind == "bad_escape"
    assert caught.value.span.start == 2
    assert caught.value.hint


def test_error_in_a_regex_shows_the_doubled_backslash() -> None:
    with pytest.raises(ParseError) as caught:
        read(r"[a-z]\d", regex=True)
    assert str(caught.value) == (
        "grammar, line 1, column 6: expected an escape that exists after the backslash, not d\n"
        "1 | [a-z]\\d\n"
        "         ^^\n"
        "hint: a regex inside quotes doubles its backslashes: write \\\\d"
    )


def test_source_positions() -> None:
    unescaped = read(r"a\n\u{41}b")
    assert unescaped.text == "a\nAb"
    assert tuple(unescaped.places) == (0, 1, 3, 9, 10)


@given(st.text(alphabet="abé\\nux{}0189'\""))
def test_each_character_has_a_position(text: str) -> None:
    try:
        unescaped = read(text)
    except ParseError:
        return
    assert len(unescaped.places) == len(unescaped.text) + 1
    assert list(unescaped.places) == sorted(set(unescaped.places))
