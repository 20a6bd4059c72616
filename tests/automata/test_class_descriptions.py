"""describe() and expected(): sets of characters in a few words."""

from __future__ import annotations

import pytest

from tests.automata.machines import machine
from workbench.automata.class_descriptions import describe, expected, in_brief
from workbench.automata.code_points import character_edges
from workbench.syntax.ranges import ANY_CHARACTER, Ranges, difference, union
from workbench.syntax.regex.unicode_sets import python_class

#   class               label                   because
LABELS = [
    ("a",               "a",                    "a character is itself"),
    (r"[\^]",           "^",                    "alone nothing is special"),
    ("[0-9]",           "digit",                "the most common set"),
    ("[a-z0-9]",        "[a-z0-9]",             "ranges"),
    ("[ab]",            "[ab]",                 "two in a row are no range"),
    ("[abc]",           "[a-c]",                "three are"),
    (r'[^"\\]',         r'[^"\\]',              "the smaller side"),
    (".",               r"[^\n]",               "all but one"),
    (r"(?s:.)",         "any character",        "everything"),
    (r"\n",             r"\n",                  "a control with a name"),
    (r"\x01",           "U+0001",               "a control without"),
    (" ",               "space",                "invisible characters are named"),
    ("\u00a0",          "U+00A0",               "an invisible space"),
    ("\u0301",          "U+0301",               "a mark that needs a letter"),
    ("é",               "é",                    "a letter"),
    ("[а-яё]",          "[а-яё]",               "other letters"),
    (r"[\x00-\x1f]",    r"[\0-\x1f]",           "controls in a set"),
    (r"[\]\-]",         r"[\-\]]",              "special characters are escaped inside brackets"),
    (r"[a\u00a0]",      r"[a\xa0]",             "unseen members are escaped"),
    (r"\w",             r"\w",                  "a set with a name"),
    (r"\S",             r"\S",                  "a set with a name, negated"),
    (r"\d",             r"\d",                  "the digits of Unicode"),
    ("[acegikmoqsuwyACEGIKMOQSUWY]", "[acegikmoqsuwyACEGIKMOQSUWY]", "exactly the maximum length"),
    ("[acegikmoqsuwy13579ACEGIKMOQSUWY]", "[acegikmoqsuwyACEGIKMOQSUWY1357…]", "longer labels are cut"),
]  # fmt: skip


def only_set(pattern: str) -> Ranges:
    dfa = machine(pattern)
    [(ranges, _)] = character_edges(dfa.step, dfa.initial, dfa.classes)
    return ranges


@pytest.mark.parametrize(("pattern", "label", "because"), LABELS)
def test_a_set_of_characters_is_described_in_a_few_words(
    pattern: str, label: str, because: str
) -> None:
    assert describe(only_set(pattern)) == label, because


def test_describe_nothing() -> None:
    assert describe(()) == "nothing"


#   sets                                    end     words
EXPECTED = [
    ([((34, 34),), ((125, 125), (48, 57))], False,  "'\"', '}' or a digit"),
    ([((97, 122),)],                        False,  "a small letter"),
    ([((97, 121),)],                        False,  "one of [a-y]"),
    ([((48, 57), (65, 90), (95, 95), (97, 122))], False, "'_', a letter or a digit"),
    ([difference(ANY_CHARACTER, ((34, 34), (92, 92)))], True, "any character but '\"' or '\\' or the end"),
    ([difference(ANY_CHARACTER, union(((44, 44),), python_class("s")))], False, "any character but ',' or white space"),
    ([difference(ANY_CHARACTER, ((97, 121),))], False, "any character but [a-y]"),
    ([((10, 10), (32, 32))],                True,   "a line break, a space or the end"),
    ([],                                    True,   "the end"),
    ([],                                    False,  "nothing"),
    ([ANY_CHARACTER],                       True,   "any character or the end"),
    ([((44, 44),), ((44, 44), (93, 93))],   False,  "',' or ']'"),
    ([((48, 57), (65, 70), (97, 102))],     False,  "a hexadecimal digit"),
    ([((0xA0, 0xA0),)],                     False,  "U+00A0"),
]  # fmt: skip


@pytest.mark.parametrize(("sets", "end", "words"), EXPECTED)
def test_expected_sets_and_the_end_are_joined_to_words(
    sets: list[Ranges], end: bool, words: str
) -> None:
    assert expected(sets, end=end) == words


#   set                                     end     words
BRIEF = [
    (((44, 44), (93, 93)),                  False,  "`,` or `]`"),
    (((44, 44), (48, 57), (93, 93)),        False,  "`,` `]` or a digit"),
    (((39, 39),),                           False,  "`'`"),
    (((32, 32), (44, 44), (97, 122)),       False,  "`,` `␠` or a small letter"),
    (((58, 58),),                           True,   "`:` or the end"),
    (((97, 122),),                          False,  "a small letter"),
    ((),                                    True,   "the end"),
]  # fmt: skip


@pytest.mark.parametrize(("ranges", "end", "words"), BRIEF)
def test_in_brief(ranges: Ranges, end: bool, words: str) -> None:
    assert in_brief(ranges, end=end) == words


#   ranges                                      as a class, why
SIGNS = [
    (((0x29, 0x2B), (0x2D, 0x2D)), r"[)*+\-]", "few readers know the order of signs"),
    (((0x21, 0x2F),), "[!-/]", "a long range of signs"),
    (((0x09, 0x0D),), r"[\t-\r]", "invisible characters"),
    (((0x61, 0x63),), "[a-c]", "letters have an order that is known"),
]


@pytest.mark.parametrize(("ranges", "text", "why"), SIGNS, ids=[row[-1] for row in SIGNS])
def test_a_class_lists_its_signs(ranges: Ranges, text: str, why: str) -> None:
    assert describe(ranges) == text, why
