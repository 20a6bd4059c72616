"""Unicode properties, against ``unicodedata`` and ``re`` of the running interpreter."""

from __future__ import annotations

import re
import sys
import unicodedata

import pytest

from workbench.syntax.ranges import ANY_CHARACTER, contains, difference, intersection, size
from workbench.syntax.regex.unicode_sets import (
    _tables,
    ascii_folded,
    folded,
    property_set,
    python_class,
    rust_class,
)

ASSIGNED = [
    code
    for code in range(sys.maxunicode + 1)
    if unicodedata.category(chr(code)) not in ("Cn", "Cs")
]


#: The version of Unicode of our properties.
VERSION = str(_tables()["unicode"])


def test_the_version_is_known_and_not_older_than_the_interpreters() -> None:
    ours = tuple(map(int, VERSION.split(".")))
    assert ours >= tuple(map(int, unicodedata.unidata_version.split(".")))


CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Co"


@pytest.mark.parametrize("category", CATEGORIES.split())
def test_general_categories(category: str) -> None:
    """A handful of characters change category between versions of Unicode."""
    ours = property_set(category)
    assert ours is not None
    theirs = {code for code in ASSIGNED if unicodedata.category(chr(code)) == category}
    wrong = [code for code in ASSIGNED if contains(ours, code) is not (code in theirs)]
    assert len(wrong) <= 12, [hex(code) for code in wrong]


#   name                    in              out             because
NAMED = [
    ("L",                   "aÉλ字",        "1 _",          "a group of categories"),
    ("Letter",              "aÉλ字",        "1 _",          "by its long name"),
    ("LC",                  "aÉλ",          "字1",          "cased letters"),
    ("L&",                  "aÉλ",          "字1",          "Perl's name for them"),
    ("gc=Lu",               "AÉ",           "aé",           "with the property named"),
    ("general_category=uppercase letter", "AÉ", "aé",       "names are matched loosely"),
    ("Greek",               "αΩ",           "aа",           "a script"),
    ("isGreek",             "αΩ",           "aа",           "a leading is does not matter"),
    ("Cyrillic",            "аЯ",           "aα",           "another"),
    ("sc=Han",              "漢字",         "かa",          "with the property named"),
    ("scx=Han",             "漢、",         "かa",          "extensions hold shared punctuation"),
    ("Hiragana",            "かな",         "カ漢",         "a script"),
    ("sc",                  "$€",           "aλ",           "alone it is the currency symbol"),
    ("Alphabetic",          "aλ字ͅ",         "1_-",          "a yes-or-no property"),
    ("Uppercase",           "AÉⅧ",          "aé",           "more than Lu"),
    ("White_Space",         " \t\n\u00a0\u2028", "a\u200b", "spaces"),
    ("ASCII",               "a~\x00",       "é",            "a range"),
    ("Any",                 "a\U0010ffff",  "",             "everything"),
    ("Emoji",               "😀#",          "aé",           "a yes-or-no property"),
    ("XID_Start",           "aλ",           "1_",           "a yes-or-no property"),
    ("gcb=Regional_Indicator", "\U0001f1e6", "A",           "grapheme cluster break"),
    ("wb=Hebrew_Letter",    "א",            "aα",           "word break"),
    ("sb=Lower",            "aé",           "A1",           "sentence break"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "inside", "outside", "because"), NAMED)
def test_a_property_has_its_members(name: str, inside: str, outside: str, because: str) -> None:
    ranges = property_set(name)
    assert ranges is not None
    assert [c for c in inside if not contains(ranges, ord(c))] == [], because
    assert [c for c in outside if contains(ranges, ord(c))] == [], because


@pytest.mark.parametrize("name", ["", "Nonsense", "sc=Nonsense", "nonsense=Greek", "sc=", "is"])
def test_names_that_mean_nothing(name: str) -> None:
    assert property_set(name) is None


@pytest.mark.parametrize("letter", list("dsw"))
def test_python_classes_are_those_of_re(letter: str) -> None:
    ours = python_class(letter)
    expression = re.compile(rf"\{letter}")
    for code in (*range(0x3000), *range(0xF900, 0x20000), *range(0xE0000, 0xE0400), 0x10FFFD):
        if not 0xD800 <= code <= 0xDFFF:
            assert contains(ours, code) is bool(expression.match(chr(code))), hex(code)


def test_the_two_dialects_differ_where_the_reference_says_so() -> None:
    python, rust = python_class("w"), rust_class("w")
    assert contains(python, ord("²"))
    assert not contains(rust, ord("²"))
    assert contains(rust, 0x301)  # a combining mark
    assert not contains(python, 0x301)
    assert [contains(rust_class("s"), code) for code in (0x85, 0x1C, 0x1F)] == [True, False, False]
    assert [contains(python_class("s"), code) for code in (0x85, 0x1C, 0x1F)] == [True] * 3


#   text    folds with          because
FOLDED = [
    ("k",   "kK\u212a",         "the Kelvin sign"),
    ("s",   "sSſ",              "the long s"),
    ("ß",   "ßẞ\U0001df95",     "simple folding: never ss; Unicode 18 adds a third"),
    ("é",   "éÉ",               "letters with accents"),
    ("σ",   "σςΣ",              "final sigma"),
    ("µ",   "µμΜ",              "the micro sign"),
    ("\u0390", "\u0390\u1fd3", "tonos and oxia"),
    ("1",   "1",                "no case"),
    ("ǆ",   "ǆǅǄ",              "title case"),
    ("Ꭰ",   "Ꭰꭰ",               "Cherokee folds to capitals"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "others", "because"), FOLDED)
def test_folding_adds_the_other_cases(text: str, others: str, because: str) -> None:
    for other in others:
        ranges = folded(((ord(other), ord(other)),), turkic_i=False)
        assert "".join(chr(c) for low, high in ranges for c in range(low, high + 1)) == "".join(
            sorted(others)
        ), because


def test_i_is_python_s_own() -> None:
    plain = folded(((105, 105),), turkic_i=False)
    assert plain == ((73, 73), (105, 105))
    assert folded(((105, 105),), turkic_i=True) == ((73, 73), (105, 105), (0x130, 0x131))


def test_folding_agrees_with_re_on_what_the_interpreter_knows() -> None:
    cased = [c for c in map(chr, ASSIGNED) if c.lower() != c or c.upper() != c]
    text = "".join(cased)
    for character in cased:
        ours = folded(((ord(character), ord(character)),), turkic_i=True)
        theirs = set(re.findall(re.escape(character), text, re.IGNORECASE))
        assert {c for c in theirs if not contains(ours, ord(c))} == set()
        extra = {chr(c) for low, high in ours for c in range(low, high + 1)} - theirs
        # characters, and cases of characters, that Unicode gave out after the interpreter's
        assert not extra & set(cased) or unicodedata.unidata_version < VERSION


def test_ascii_folded() -> None:
    assert ascii_folded(((75, 75),)) == ((75, 75), (107, 107))
    assert ascii_folded(((0x40, 0x60),)) == ((0x40, 0x7A),)
    assert ascii_folded(((0xE9, 0xE9), (0x212A, 0x212A))) == ((0xE9, 0xE9), (0x212A, 0x212A))
    assert ascii_folded(((0x30, 0x39),)) == ((0x30, 0x39),)


def test_no_property_holds_a_surrogate() -> None:
    for name in ("Any", "C", "Co", "Common", "Assigned", "Cn"):
        ranges = property_set(name)
        assert ranges is not None
        assert intersection(ranges, ((0xD800, 0xDFFF),)) == ()
    assert size(ANY_CHARACTER) == 0x110000 - 0x800
    assert difference(ANY_CHARACTER, property_set("Any") or ()) == ()
