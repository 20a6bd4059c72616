from __future__ import annotations

import pytest

from workbench.grammar import Grammar
from workbench.ui.explain import reasons

TIME = Grammar.from_regex("[0-8]{2}:[0-8]{2}")


@pytest.mark.parametrize(
    ("so_far", "token", "told", "why"),
    [
        (b"", b"x", "expected [0-8]", "it fails at once"),
        (b"1", b"4x", "after 4: expected :", "its first character is right"),
        (b"14", None, "not finished: expected :", "the end comes too early"),
        (b"14:30", None, "", "the end is allowed"),
        (b"14", b":3", "", "it is allowed"),
        (b"14:30", b"1", "expected the end", "nothing more may come"),
        (b"xx", b"1", "the text has left the grammar", "a run without a mask"),
    ],
)
def test_why_a_token_is_forbidden(so_far: bytes, token: bytes | None, told: str, why: str) -> None:
    assert reasons(TIME, so_far, [token]) == [told], why


def test_a_character_is_told_whole_wherever_its_bytes_fail() -> None:
    grammar = Grammar.from_regex("ä+")
    assert reasons(grammar, b"", ["äö".encode()]) == ["after ä: expected ä or the end"]


def test_a_long_list_is_cut() -> None:
    grammar = Grammar.from_regex("[acegikmoqsuwyACEGIKMOQSUWY02468!#%*+,/:;=@~]")
    (told,) = reasons(grammar, b"", [b"b"])
    assert "…" in told
    assert len(told) < 80


def test_in_a_grammar_that_nests() -> None:
    grammar = Grammar.from_kbnf("start ::= '(' start? ')';")
    assert reasons(grammar, b"((", [b")))", b"x"])[0].startswith("after ))")
