"""visible() and printable(): nothing invisible, nothing XML forbids, nothing lost."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.base.visible_text import printable, shorten, visible

#   text                   shown                        because
CASES: list[tuple[str | bytes, str, str]] = [
    ("ab",                 "ab",                        "plain text stays"),
    (" a\n\tb\r",          "·a⏎⇥b␍",                    "white space has glyphs"),
    (b"\xe2\x82",          "<0xE2><0x82>",              "half a character is shown as its bytes"),
    ("€".encode(),         "€",                         "a whole character is shown as itself"),
    (b"a\xff",             "a<0xFF>",                   "a byte that is never UTF-8"),
    ("\x00\x1b\x7f",       "<0x00><0x1B><0x7F>",        "control characters, which XML forbids"),
    ("\x85",               "<U+0085>",                  "a control character past ASCII"),
    ("a\u202eb",           "a<U+202E>b",                "would turn the reading order"),
    ("\u200b\ufeff",       "<U+200B><U+FEFF>",          "has no width"),
    ("\u00a0",             "<U+00A0>",                  "looks like a space and is none"),
    ("\ufffe",             "<U+FFFE>",                  "no character at all"),
    ("\u0301a",            "◌\u0301a",                  "an accent needs something to sit on"),
    ("e\u0301",            "e\u0301",                   "here it has something"),
    ("${1+1} <b> & \\",    "${1+1}·<b>·&·\\",           "no language's marks are touched"),
    ("",                   "",                          "nothing"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "shown", "because"), CASES, ids=[row[2] for row in CASES])
def test_text_is_written_with_visible_characters(
    text: str | bytes, shown: str, because: str
) -> None:
    assert visible(text) == shown, because


@given(st.text() | st.binary())
def test_visible_leaves_only_glyphs(text: str | bytes) -> None:
    shown = visible(text)
    assert all(unicodedata.category(c) not in {"Cc", "Cf", "Cs", "Cn", "Co", "Zl"} for c in shown)
    assert not any(c.isspace() for c in shown)


@given(st.binary(max_size=6), st.binary(max_size=6))
def test_visible_tells_tokens_apart(left: bytes, right: bytes) -> None:
    # two tokens are drawn alike only where a token spells a replacement glyph itself
    glyphs = "·⏎⇥␍◌<"
    if left != right and not any(g in (left + right).decode(errors="replace") for g in glyphs):
        assert visible(left) != visible(right)


def test_printable_keeps_spaces_and_lines() -> None:
    assert printable("a b\n3 tokens\x07") == "a b\n3 tokens<0x07>"


@pytest.mark.parametrize(
    ("width", "shown"), [(9, "abcdefghi"), (8, "abcde…hi"), (4, "ab…i"), (1, "…")]
)
def test_a_long_text_keeps_its_beginning_and_end(width: int, shown: str) -> None:
    assert shorten("abcdefghi", width) == shown
