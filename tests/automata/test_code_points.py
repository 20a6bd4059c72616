"""UTF-8 sequences compared with Python's encoder, and the automata of character sets."""

from __future__ import annotations

import itertools

import pytest

from workbench.automata.code_points import character_machine, utf8_sequences

#   low       high      sequences                                     because
CASES = [
    (0x00, 0x7F, ["00-7f"], "ASCII is one byte"),
    (0x41, 0x41, ["41"], "one character"),
    (0x80, 0x7FF, ["c2-df 80-bf"], "all of two bytes"),
    (0x7F, 0x80, ["7f", "c2 80"], "a length changes in between"),
    (0xE9, 0xE9, ["c3 a9"], "one character of two bytes"),
    (0x3B1, 0x3C9, ["ce b1-bf", "cf 80-89"], "Greek: the lead byte changes"),
    (0x800, 0xFFFF, ["e0 a0-bf 80-bf", "e1-ec 80-bf 80-bf", "ed 80-9f 80-bf", "ee-ef 80-bf 80-bf"],
     "all of three bytes, without surrogates"),
    (0x10000, 0x10FFFF, ["f0 90-bf 80-bf 80-bf", "f1-f3 80-bf 80-bf 80-bf", "f4 80-8f 80-bf 80-bf"],
     "all of four bytes"),
    (0xD800, 0xDFFF, [], "surrogates are no characters"),
    (0xD7FF, 0xE000, ["ed 9f bf", "ee 80 80"], "on both sides of the surrogates"),
    (0x1F600, 0x1F64F, ["f0 9f 98 80-bf", "f0 9f 99 80-8f"], "emoji"),
]  # fmt: skip


@pytest.mark.parametrize(("low", "high", "hexadecimal", "because"), CASES)
def test_utf8_sequences(low: int, high: int, hexadecimal: list[str], because: str) -> None:
    assert [_hexadecimal(sequence) for sequence in utf8_sequences(low, high)] == hexadecimal, (
        because
    )


def _hexadecimal(sequence: tuple[tuple[int, int], ...]) -> str:
    return " ".join(f"{a:02x}" if a == b else f"{a:02x}-{b:02x}" for a, b in sequence)


@pytest.mark.parametrize(
    ("low", "high"), [(0, 0x900), (0x7E0, 0x820), (0xD7F0, 0xE010), (0xFFF0, 0x10010), (0x40, 0x40)]
)
def test_utf8_sequences_encode_every_character_once(low: int, high: int) -> None:
    encoded = [
        bytes(letters)
        for sequence in utf8_sequences(low, high)
        for letters in itertools.product(*(range(a, b + 1) for a, b in sequence))
    ]
    wanted = [chr(c).encode() for c in range(low, high + 1) if not 0xD800 <= c <= 0xDFFF]
    assert encoded == wanted


def test_character_machine_shares_tails() -> None:
    # é and ü differ only in the last byte; the Greek and Cyrillic ranges have equal last bytes
    assert len(character_machine(((0xE9, 0xE9), (0xFC, 0xFC))).edges) == 3
    assert len(character_machine(((0x3C0, 0x3FF), (0x440, 0x47F))).edges) == 3


def test_character_machine_of_nothing_reads_nothing() -> None:
    assert character_machine(()).edges == ((), ())


def test_character_machine_of_any_character() -> None:
    edges = character_machine(((0, 0xD7FF), (0xE000, 0x10FFFF))).edges
    assert edges[-1] == (
        (0x00, 0x7F, 0),
        (0xC2, 0xDF, 1),
        (0xE0, 0xE0, 2),
        (0xE1, 0xEC, 3),
        (0xED, 0xED, 4),
        (0xEE, 0xEF, 3),
        (0xF0, 0xF0, 5),
        (0xF1, 0xF3, 6),
        (0xF4, 0xF4, 7),
    )
