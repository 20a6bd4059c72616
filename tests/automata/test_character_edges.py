"""fold(): characters from bytes, with separate edges for bytes that belong to no character."""

from __future__ import annotations

import numpy as np
import pytest

from tests.automata.machines import machine, tree
from workbench.automata.code_points import CharacterFsa, character_edges, fold
from workbench.automata.operations import complement, substrings, without_match
from workbench.base.dfa import DEAD, Dfa
from workbench.syntax.ranges import ANY_CHARACTER, Ranges, normalized
from workbench.syntax.regex.unicode_sets import property_set, python_class


def steps(dfa: Dfa, state: int) -> list[tuple[Ranges, int]]:
    return character_edges(dfa.step, state, dfa.classes)


#   pattern                     set of its only edge                    because
SINGLE = [
    ("a",                       ((97, 97),),                            "ASCII"),
    ("[a-z]",                   ((97, 122),),                           "one range"),
    ("é",                       ((0xE9, 0xE9),),                        "two bytes"),
    ("[é-ꙮ]",                   ((0xE9, 0xA66E),),                      "two and three bytes"),
    ("[\U0001f600-\U0001f64f]", ((0x1F600, 0x1F64F),),                  "four bytes"),
    (r"(?s:.)",                 ANY_CHARACTER,                          "everything"),
    (".",                       ((0, 9), (11, 0xD7FF), (0xE000, 0x10FFFF)), "all but one"),
    (r"\w",                     python_class("w"),                      "a large set"),
    (r"\p{Greek}",              property_set("Greek") or (),            "a script"),
    ("[\ud7ff\ue000]",          ((0xD7FF, 0xD7FF), (0xE000, 0xE000)),   "both sides of the surrogates"),
    ("[\x7f\x80\u07ff\u0800\uffff\U00010000\U0010ffff]",
     normalized((c, c) for c in (0x7F, 0x80, 0x7FF, 0x800, 0xFFFF, 0x10000, 0x10FFFF)),
     "both sides of each length"),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "ranges", "because"), SINGLE)
def test_character_edges(pattern: str, ranges: Ranges, because: str) -> None:
    dfa = machine(pattern)
    assert steps(dfa, dfa.initial) == [(ranges, 1 if len(dfa) == 2 else dfa.run(_one(ranges)))], (
        because
    )


def _one(ranges: Ranges) -> bytes:
    return chr(ranges[0][0]).encode()


def test_character_edges_are_sorted_and_merged_by_target() -> None:
    dfa = machine("[a-cx-z]1|[d-w]2|é1")
    here = steps(dfa, dfa.initial)
    assert [ranges for ranges, _ in here] == [
        ((97, 99), (120, 122), (0xE9, 0xE9)),
        ((100, 119),),
    ]


def test_character_edges_of_any_machine() -> None:
    # a machine that counts bytes modulo three and is not a Dfa
    def step(place: str, byte: int) -> str:
        return "gone" if byte == 0x61 else "abc"["abc".index(place) - 2]

    classes = np.zeros(256, np.uint16)
    classes[0x61] = 1
    assert character_edges(step, "a", classes, dead="gone") == [
        (((0, 0x60), (0x62, 0x7F), (0x10000, 0x10FFFF)), "b"),
        (((0x80, 0x7FF),), "c"),
        (((0x800, 0xD7FF), (0xE000, 0xFFFF)), "a"),
    ]


def test_fold_of_the_worked_example() -> None:
    fsa = fold(machine("(foo)+d"))  # Koo et al. 2024, figure 2
    f, o, d = ((102, 102),), ((111, 111),), ((100, 100),)
    assert fsa.states == (0, 1, 2, 3, 4)
    assert fsa.finals == frozenset({4})
    assert set(fsa.edges) == {(0, f, 1), (1, o, 2), (2, o, 3), (3, f, 1), (3, d, 4)}
    assert fsa.raw == ()


@pytest.mark.parametrize("pattern", [".", r"[^é]\w*", r"(?s:.)*", "[а-яё]+é?", r"\s|\S\S"])
def test_regexes_over_characters_never_leave_utf8(pattern: str) -> None:
    assert fold(machine(pattern)).raw == ()


LEAVING = [
    without_match(tree("ab")),
    without_match(tree("é")),
    complement(machine("é|è")),
    complement(machine("")),
    substrings("naïve été".encode()),
    machine("a|b"),
    machine("é+"),
]


@pytest.mark.parametrize("dfa", LEAVING, ids=range(len(LEAVING)))
def test_fold_keeps_the_language(dfa: Dfa) -> None:
    fsa = fold(dfa)
    samples = ["", "a", "ab", "ba", "é", "è", "né", "été", "ïv", "éé", "xé", "\u20ac", "b😀"]
    texts = {text.encode() for text in samples}
    texts |= {text[start:] for text in texts for start in range(len(text))}
    texts |= {
        text[:end] + more
        for text in set(texts)
        for end in range(len(text) + 1)
        for more in (b"", b"\xff", b"\xc3")
    }
    for text in texts:
        assert _accepts(fsa, text) is dfa.accepts(text), text


def _accepts(fsa: CharacterFsa, text: bytes) -> bool:
    """Read greedily: a whole character if there is one, else a single byte."""
    state, at = fsa.initial, 0
    while at < len(text):
        size = next((n for n in range(1, 5) if _decodes(text[at : at + n])), 0)
        edges, value = (
            (fsa.edges, ord(text[at : at + size].decode())) if size else (fsa.raw, text[at])
        )
        state = next(
            (
                target
                for source, ranges, target in edges
                if source == state and any(low <= value <= high for low, high in ranges)
            ),
            DEAD,
        )
        if state == DEAD:
            return False
        at += size or 1
    return state in fsa.finals


def _decodes(data: bytes) -> bool:
    try:
        return len(data.decode()) == 1
    except UnicodeDecodeError:
        return False
