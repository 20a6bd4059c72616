"""witness(): the shortest text that tells two machines apart."""

from __future__ import annotations

import pytest

from tests.automata.machines import machine
from workbench.automata.operations import equivalent, shortest, witness

#   left            right           witness     because
CASES = [
    ("a*",          "(a|aa)*",      None,       "equal"),
    ("a*",          "a+",           b"",        "the empty text"),
    ("a|b",         "b|c",          b"a",       "the first by bytes among the shortest"),
    ("(ab)*",       "(ab)*abab",    b"",        "nothing read"),
    ("[^x]",        "[^xé]",        "é".encode(), "a character of two bytes"),
    (r"[^\s\S]",    "abc",          b"abc",     "against the empty language"),
    ("a{0,50}",     "a{0,49}",      b"a" * 50,  "far away"),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right", "text", "because"), CASES)
def test_witness(left: str, right: str, text: bytes | None, because: str) -> None:
    assert witness(machine(left), machine(right)) == text, because
    assert witness(machine(right), machine(left)) == text, because
    assert equivalent(machine(left), machine(right)) is (text is None)


@pytest.mark.parametrize(
    ("pattern", "text"), [("b+|ab?", b"a"), (r"[^\s\S]", None), ("x*", b""), (r"\d{3}", b"000")]
)
def test_shortest(pattern: str, text: bytes | None) -> None:
    assert shortest(machine(pattern)) == text
