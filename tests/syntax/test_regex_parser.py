"""parse_regex(): the tree and spans of each construct, and the differences of dialects."""

from __future__ import annotations

import re
import tracemalloc
from random import Random

import pytest

from workbench.automata.build import regex_dfa
from workbench.base.errors import LimitError
from workbench.base.limits import time_budget
from workbench.base.source import Source, Span
from workbench.grammar.grammar import Grammar
from workbench.syntax.ranges import Gathering, normalized
from workbench.syntax.regex.parser import parse_regex
from workbench.syntax.regex.reader import Dialect, Flags
from workbench.syntax.regex.tree import (
    Alternate,
    Bytes,
    Characters,
    Concat,
    Group,
    Regex,
    Repeat,
)

PYTHON, RUST = Dialect.PYTHON, Dialect.RUST


def parse(pattern: str, dialect: Dialect = PYTHON, **flags: bool) -> Regex:
    return parse_regex(Source(pattern, "regex"), dialect=dialect, flags=Flags(**flags))


def accepts(pattern: str, text: str | bytes, dialect: Dialect = PYTHON, **flags: bool) -> bool:
    data = text.encode() if isinstance(text, str) else text
    return regex_dfa(parse(pattern, dialect, **flags)).accepts(data)


def char(code: str, start: int, end: int | None = None) -> Characters:
    return Characters(((ord(code), ord(code)),), Span(start, end or start + 1))


#   pattern             tree
TREES: list[tuple[str, Regex]] = [
    ("",                Concat((), Span(0, 0))),
    ("a",               char("a", 0)),
    ("ab",              Concat((char("a", 0), char("b", 1)), Span(0, 2))),
    ("a|b",             Alternate((char("a", 0), char("b", 2)), Span(0, 3))),
    ("a|",              Alternate((char("a", 0), Concat((), Span(2, 2))), Span(0, 2))),
    ("a*",              Repeat(char("a", 0), 0, None, Span(0, 2))),
    ("a+?",             Repeat(char("a", 0), 1, None, Span(0, 3), lazy=True)),
    ("a??",             Repeat(char("a", 0), 0, 1, Span(0, 3), lazy=True)),
    ("a{2}",            Repeat(char("a", 0), 2, 2, Span(0, 4))),
    ("a{2,}",           Repeat(char("a", 0), 2, None, Span(0, 5))),
    ("a{,3}?",          Repeat(char("a", 0), 0, 3, Span(0, 6), lazy=True)),
    ("a{2,3}",          Repeat(char("a", 0), 2, 3, Span(0, 6))),
    ("(a)",             Group(char("a", 1), None, Span(0, 3))),
    ("(?P<n>a)",        Group(char("a", 6), "n", Span(0, 8))),
    ("(?<n>a)",         Group(char("a", 5), "n", Span(0, 7))),
    ("(?:a)",           char("a", 3)),
    ("()",              Group(Concat((), Span(1, 1)), None, Span(0, 2))),
    (r"\x41",           char("A", 0, 4)),
    ("[a-c]",           Characters(((97, 99),), Span(0, 5))),
    ("^a$",             Concat((Concat((), Span(0, 1)), char("a", 1), Concat((), Span(2, 3))), Span(0, 3))),
    ("(?i)a",           Characters(((65, 65), (97, 97)), Span(4, 5))),
    ("a(?#no)b",        Concat((char("a", 0), char("b", 7)), Span(0, 8))),
    ("(?x) a # b\n c",  Concat((char("a", 5), char("c", 12)), Span(0, 13))),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "tree"), TREES, ids=[row[0] or "nothing" for row in TREES])
def test_a_construct_has_its_tree_and_spans(pattern: str, tree: Regex) -> None:
    assert parse(pattern) == tree


def test_bytes_are_nodes_of_their_own() -> None:
    assert parse(r"\xff", bytes=True) == Bytes(((255, 255),), Span(0, 4))
    assert parse("[^a]", bytes=True) == Bytes(((0, 96), (98, 255)), Span(0, 4))


#   pattern         code point  because
ESCAPES = [
    (r"\n",         0x0A,       "line feed"),
    (r"\t",         0x09,       "tab"),
    (r"\r",         0x0D,       "carriage return"),
    (r"\f",         0x0C,       "form feed"),
    (r"\v",         0x0B,       "vertical tab"),
    (r"\a",         0x07,       "bell"),
    (r"\xe9",       0xE9,       "two digits are a code point"),
    (r"\u20ac",     0x20AC,     "four digits"),
    (r"\U0001F600", 0x1F600,    "eight digits"),
    (r"\u{1F600}",  0x1F600,    "any number of digits in braces"),
    (r"\x{e9}",     0xE9,       "Rust's and Perl's spelling"),
    (r"\.",         0x2E,       "a sign"),
    (r"\-",         0x2D,       "a sign that needs no backslash"),
    (r"\ ",         0x20,       "a space"),
]  # fmt: skip


@pytest.mark.parametrize("dialect", [PYTHON, RUST], ids=["python", "rust"])
@pytest.mark.parametrize(("pattern", "code", "because"), ESCAPES)
def test_an_escape_means_the_same_in_a_class(
    pattern: str, code: int, because: str, dialect: Dialect
) -> None:
    for text in (pattern, f"[{pattern}]"):
        node = parse(text, dialect)
        assert isinstance(node, Characters)
        assert node.ranges == ((code, code),), because


#   pattern     code    because
OCTAL = [
    (r"\0",     0,      "a zero byte"),
    (r"\012",   10,     "zero and two digits"),
    (r"\08",    None,   "the 8 is no octal digit: two characters"),
    (r"\101",   65,     "three octal digits are no backreference"),
    (r"[\1]",   1,      "in brackets nothing can be referred to"),
    (r"[\b]",   8,      "in brackets there are no boundaries"),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "code", "because"), OCTAL)
def test_octal_escapes_are_python_s(pattern: str, code: int | None, because: str) -> None:
    node = parse(pattern)
    if code is None:
        assert isinstance(node, Concat), because
    else:
        assert isinstance(node, Characters)
        assert node.ranges == ((code, code),), because


@pytest.mark.parametrize(
    "pattern",
    [r"\N{BULLET}", r"[\N{LATIN SMALL LETTER A}-\N{latin small letter c}]", r"(?i)\N{KELVIN SIGN}",
     r"\N{LINE FEED}", r"\N{CJK UNIFIED IDEOGRAPH-4E00}"],
)  # fmt: skip
def test_named_characters_are_python_s(pattern: str) -> None:
    ours, theirs = Grammar.from_regex(pattern), re.compile(pattern)
    for text in "•abcdkK\u212a\n\u4e00N":
        assert ours.accepts(text) is bool(theirs.fullmatch(text)), text


#   pattern             accepted        rejected    because
CLASSES = [
    ("[]a]",            "]a",           "[",        "a bracket at the start is itself"),
    ("[^]a]",           "[b",           "]a",       "after the negation too"),
    ("[a-]",            "a-",           "b",        "a hyphen at the end is itself"),
    ("[-a]",            "a-",           "b",        "and at the start"),
    (r"[\]\-]",         "]-",           "\\",       "escaped signs"),
    ("[a-c-e]",         "abc-e",        "d",        "a hyphen after a range is itself"),
    (r"[\d-]",          "1٣-",          "a",        "a hyphen after a class is itself"),
    (r"[^\W\d]",        "aé_",          "1 ",       "classes inside brackets"),
    (r"[\s\S]",         "a \né",        "",         "everything"),
    ("[$^.|?*+(){}]",   "$^.|?*+(){}",  "a",        "signs mean nothing inside brackets"),
    ("[а-яё]",          "жё",           "Жe",       "other letters"),
    (r"[\x41-\u{5A}]",  "AZ",           "a",        "escapes as ends of ranges"),
    (r"[\p{Lu}\p{Nd}]", "AЖ1",          "a",        "properties inside brackets"),
    (r"\P{L}",          "1 _",          "aж",       "a property negated"),
    (r"\pL\PL",         "",             "aж",       "one letter needs no braces"),
    (r"\p{Script!=Greek}", "aж",        "λ",        "a value negated"),
    (r"\p{Script:Greek}", "λ",          "aж",       "a colon for the sign"),
]  # fmt: skip


@pytest.mark.parametrize("dialect", [PYTHON, RUST], ids=["python", "rust"])
@pytest.mark.parametrize(("pattern", "inside", "outside", "because"), CLASSES)
def test_a_class_has_its_members_in_a_dialect(
    pattern: str, inside: str, outside: str, because: str, dialect: Dialect
) -> None:
    assert [c for c in inside if not accepts(pattern, c, dialect)] == [], because
    assert [c for c in outside if accepts(pattern, c, dialect)] == [], because


#   pattern                 accepted    rejected    because
ALGEBRA = [
    ("[a-z&&[^aeiou]]",     "bz",       "aeB",      "intersection with a class"),
    ("[a-z--aeiou]",        "bz",       "ae-",      "difference"),
    ("[a-g~~d-k]",          "abchijk",  "defgz",    "symmetric difference"),
    ("[a-c[x-z]]",          "abxz",     "d[",       "union with a class"),
    ("[^a-c[x-z]]",         "d[",       "abxz",     "negation of the whole"),
    ("[a-z&&b-y--m]",       "bn",       "azm",      "from left to right"),
    ("[[:alpha:]_]",        "aZ_",      "é1",       "POSIX classes are ASCII"),
    ("[[:^digit:]]",        "aé",       "1",        "and can be negated"),
    (r"[\w&&\p{Greek}]",    "λ",        "aж",       "with classes of Unicode"),
    ("[&-~]",               "&-~a",     "!",        "single signs are themselves"),
    ("[a&b~c]",             "a&b~c",    "-",        "and so are these"),
    ("[[a]-]",              "a-",       "[",        "a hyphen after a class"),
    ("(?x)[ a - c ]",       "abc",      " -",       "under x blanks are skipped inside brackets"),
    (r"(?i)[k&&\p{Lu}]",    "kK\u212a", "a",        "each side is folded"),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "inside", "outside", "because"), ALGEBRA)
def test_class_algebra_is_rust_s(pattern: str, inside: str, outside: str, because: str) -> None:
    assert [c for c in inside if not accepts(pattern, c, RUST)] == [], because
    assert [c for c in outside if accepts(pattern, c, RUST)] == [], because


@pytest.mark.parametrize("pattern", ["[a&&b]", "[a~~b]", "[[a]", "[a||b]"])
def test_in_python_these_signs_are_themselves(pattern: str) -> None:
    assert all(accepts(pattern, sign) for sign in pattern[1:-1])


#   pattern             text        accepted    because
FLAGS = [
    ("(?i)straße",      "STRAẞE",   True,       "simple folding: one character for one"),
    ("(?i)straße",      "STRASSE",  False,      "never two"),
    ("(?i)[a-z]+",      "K\u212aſ", True,       "the Kelvin sign and the long s"),
    ("(?i)[^k]",        "\u212a",   False,      "folded before it is negated"),
    ("(?ia)k",          "\u212a",   False,      "ASCII alone"),
    ("(?i)a(?-i:b)c",   "AbC",      True,       "turned off for a part"),
    ("(?i)a(?-i:b)c",   "ABC",      False,      "the same"),
    ("(?s).",           "\n",       True,       "the dot and line breaks"),
    (".",               "\n",       False,      "not without the flag"),
    (".",               "\r",       True,       "only the line feed is left out"),
    ("a(?s:.)b.",       "a\nb\n",   False,      "for a part"),
    ("(?x) a b\\ c #d", "ab c",     True,       "blanks and comments are skipped"),
    ("(?x)[ ]",         " ",        True,       "but not inside brackets"),
    ("(?x)a (?-x: b)",  "a b",      True,       "turned off for a part"),
    ("(?a)\\w",         "é",        False,      "ASCII classes"),
    ("(?a:\\w)\\w",     "aé",       True,       "for a part"),
    ("(?im-sx:A)",      "a",        True,       "several at once"),
    ("(?m)a",           "a",        True,       "without anchors it says nothing"),
    ("(?i)(?s)a.",      "A\n",      True,       "two in a row"),
    ("(?i:a)|b",        "B",        False,      "a part ends with its group"),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "text", "accepted", "because"), FLAGS)
def test_flags_change_what_is_accepted(
    pattern: str, text: str, accepted: bool, because: str
) -> None:
    assert accepts(pattern, text) is accepted, because


def test_flags_from_outside() -> None:
    assert accepts("k", "\u212a", ignorecase=True)
    assert accepts("a b#c", "ab", verbose=True)
    assert accepts(".", "\n", dotall=True)
    assert not accepts(r"\w", "é", ascii=True)
    assert accepts(".", b"\xff", bytes=True)
    assert not accepts("k", "\u212a".encode(), ignorecase=True, bytes=True)


#   pattern         text    python      rust        because
DIFFERENCES = [
    ("a{,2}",       "aa",   True,       None,       "Rust wants the lower bound"),
    ("a{",          "a{",   True,       None,       "Rust wants braces escaped"),
    ("{}",          "{}",   True,       None,       "the same"),
    ("a{x}",        "a{x}", True,       None,       "what is no count is text"),
    (r"\101",       "A",    True,       None,       "octal"),
    (r"a\Z",        "a",    True,       None,       "the end"),
    ("a(?#c)",      "a",    True,       None,       "comments"),
    ("a**",         "aa",   None,       True,       "a repetition of a repetition"),
    ("a{2}{3}",     "a" * 6, None,      True,       "the same"),
    ("a++a",        "aa",   False,      True,       "possessive in Python, repeated in Rust"),
    ("(?>a|ab)c",   "abc",  False,      None,       "atomic groups"),
    ("a$\n",        "a\n",  True,       False,      "the end before the last line feed"),
    (r"\<a\>",      "a",    False,      True,       "signs in Python, word edges in Rust"),
    (r"\b{start}a\b{end}", "a", False,   True,       "the same"),
    (r"\b{start-half}-?\b{end-half}", "-", False, True, "one side of them"),
    ("(?mR)a$\r\n^b", "a\r\nb", None,  True,       "two characters end a line"),
    ("(?mR)a\r^\nb", "a\r\nb", None,   False,      "not between them"),
    ("(?mR)a\r$\nb", "a\r\nb", None,   False,      "the same"),
    ("(?mR)a$\r^b", "a\rb", None,       True,       "or one of them"),
    ("(?R).",       "\r",   None,       False,      "which the dot leaves out"),
    (r"(?-u:\b)é",  "é",    None,       False,      "words of ASCII"),
    (r"(?a)\bé",    "é",    False,      None,       "the same"),
    (r"(?-u:\b)a\b", "a",   None,       True,       "both kinds"),
    ("^*a",         "a",    None,       True,       "nothing to repeat in Python"),
    ("a(?i)b",      "aB",   None,       True,       "flags in the middle"),
    ("(?U)a+?",     "aa",   None,       True,       "greed swapped: the same texts"),
    ("(?u)a",       "a",    True,       True,       "Unicode, which is the default"),
    (r"\é",         "é",    True,       None,       "Rust escapes ASCII signs alone"),
    (r"[\b]",       "\b",   True,       None,       "the backspace"),
    ("[[:alpha:]]", "é",    None,       False,      "POSIX classes"),
    ("[a[b]",       "[",    True,       None,       "an open bracket inside brackets"),
    (r"\w",         "²",    True,       False,      "re calls it alphanumeric"),
    (r"\w",         "\u0301", False,    True,       "Rust counts marks"),
    (r"\s",         "\x1c", True,       False,      "separators of information"),
    ("(?i)i",       "ı",    True,       False,      "re holds i and ı equal"),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "text", "python", "rust", "because"), DIFFERENCES)
def test_differences_of_the_dialects(
    pattern: str, text: str, python: bool | None, rust: bool | None, because: str
) -> None:
    for dialect, accepted in ((PYTHON, python), (RUST, rust)):
        if accepted is None:
            with pytest.raises(Exception, match="regex, line 1"):
                parse(pattern, dialect)
        else:
            assert accepts(pattern, text, dialect) is accepted, because


#   pattern                     text        because
ANCHORS = [
    ("^a$",                     "a",        "both edges"),
    (r"\Aa\z",                  "a",        "in letters"),
    ("^^^a$$$",                 "a",        "more than once"),
    ("(^a|^b)$",                "b",        "in every option"),
    ("^$|^(a)$",                "",         "an option of anchors alone"),
    ("(?:^|a)b",                "b",        "nothing precedes the option"),
    ("^(?:a|$)",                "",         "nothing stands after it"),
    ("(((^a)b)c$)",             "abc",      "through groups"),
]  # fmt: skip


@pytest.mark.parametrize("dialect", [PYTHON, RUST], ids=["python", "rust"])
@pytest.mark.parametrize(("pattern", "text", "because"), ANCHORS)
def test_anchors_at_the_edges_say_nothing(
    pattern: str, text: str, because: str, dialect: Dialect
) -> None:
    assert accepts(pattern, text, dialect), because


def test_ascii_mode_of_rust_stays_within_utf8() -> None:
    assert accepts(r"(?i-u)[A_]+", "a_A", RUST)
    assert not accepts(r"(?-u)\w+", "é", RUST)
    assert accepts(r"(?-u:\w)\w", "aé", RUST)


#: Classes of very many members, which are a few different ones.
LONG_CLASSES = {
    "simple": "[" + "ab-c" * 20_000 + "]",
    "escaped": "[" + r"\x61b-c" * 5_000 + "]",
    "signs": "[" + "a~b-c~" * 5_000 + "]",
}


@pytest.mark.parametrize("name", LONG_CLASSES)
def test_a_class_is_as_large_as_its_different_members(name: str) -> None:
    pattern = LONG_CLASSES[name]
    parse_regex(Source("[a-c]", "regex"))
    tracemalloc.start()
    try:
        read = parse_regex(Source(pattern, "regex"))
        assert tracemalloc.get_traced_memory()[1] < 12 * len(pattern)
    finally:
        tracemalloc.stop()
    wanted = ((97, 99), (126, 126)) if name == "signs" else ((97, 99),)
    assert isinstance(read, Characters)
    assert read.ranges == wanted


def test_gathered_ranges_are_the_union(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Gathering, "_MAX_NEW", 3)
    chooser = Random(0)
    for _ in range(100):
        starts = [chooser.randrange(60) for _ in range(20)]
        pieces = [(low, low + chooser.randrange(3)) for low in starts]
        gathering = Gathering()
        for piece in pieces:
            gathering.add([piece])
        assert gathering.ranges == normalized(pieces)


@pytest.mark.parametrize("name", LONG_CLASSES)
def test_error_of_a_class_that_takes_too_long(name: str) -> None:
    with time_budget(1e-9), pytest.raises(LimitError, match="needs more than 1e-09 seconds"):
        parse_regex(Source(LONG_CLASSES[name], "regex"))
