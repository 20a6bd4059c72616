"""Sets of strings compared with Python's membership and with all encodings of literals."""

from __future__ import annotations

import json
import re
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.literal_oracle import spellings
from workbench.base.dfa import Dfa
from workbench.base.errors import LimitError, ParseError
from workbench.base.limits import LIMITS, Limits
from workbench.schema.string_sets import StringSet

#: Characters of every kind of encoding.
KINDS = 'ab/"\\\n\x00\x7f\u00e9\u2028\ud7ff\ue000\uffff\U00010000\U0001f600'
WORDS = ("", "a", "ab", '"', "\\", "\n", "\x00b", "a\x7f", "é", "é\U0001f600", "/", "\u2028a")

SETS = {
    "everything": StringSet.everything(),
    "nothing": StringSet.nothing(),
    "words": StringSet.of(WORDS),
    "all but words": ~StringSet.of(WORDS),
    "all but the empty one": ~StringSet.of([""]),
    "one or two": StringSet.lengths(1, 2),
    "three or more": StringSet.lengths(3),
    "not one or two": ~StringSet.lengths(1, 2),
    "short and none of the words": StringSet.lengths(0, 2) & ~StringSet.of(WORDS),
    "a class": StringSet.pattern("^[a-é]+$"),
    "not a class": ~StringSet.pattern("^[a-é]+$"),
    "found": StringSet.pattern("a"),
    "found, of two": StringSet.pattern("a") & StringSet.lengths(2, 2),
    "found, but not that": StringSet.pattern("^a") & ~StringSet.of(["a", "ab"]),
    "a class or words": StringSet.pattern("^[a-b]$") | StringSet.of(WORDS),
    "beyond the plane": StringSet.pattern("^[\U00010000-\U0010ffff]$"),
    "no line end": StringSet.pattern("^.*$"),
    "a run": StringSet.pattern("^[a\\n]{1,2}$"),
    "two or more of a kind": StringSet.pattern("^[a-é]+$") & StringSet.lengths(2),
    "a run that is found": StringSet.pattern("^a{2,}$") & StringSet.pattern("b"),
}


def of_kinds(most: int) -> list[str]:
    return ["".join(letters) for n in range(most + 1) for letters in product(KINDS, repeat=n)]


@pytest.mark.parametrize("name", SETS)
def test_literals_of_members_only(name: str) -> None:
    texts = SETS[name]
    machine = texts.machine()
    for text in of_kinds(2):
        member = texts.contains(text)
        assert machine.accepts(json.dumps(text).encode()) is member, text
        assert machine.accepts(json.dumps(text, ensure_ascii=False).encode()) is member, text
        if not member:
            assert not any(map(machine.accepts, spellings(text))), text


@pytest.mark.parametrize("name", ["everything", "one or two", "a class", "found", "not a class"])
def test_every_encoding_of_a_member(name: str) -> None:
    texts = SETS[name]
    machine = texts.machine()
    for text in filter(texts.contains, of_kinds(2)):
        assert all(map(machine.accepts, spellings(text))), text


@pytest.mark.parametrize(
    ("literal", "because"),
    [
        ("a", "no quotes"),
        ('"a', "no closing quote"),
        ('"a"b', "text after it"),
        ('"\n"', "a control character without escape"),
        (r'"\a"', "no such escape"),
        (r'"\u00e"', "three digits"),
        (r'"\ud83d"', "half a pair"),
        (r'"\ud83da"', "half a pair"),
        (r'"\ude00"', "the other half"),
        (r'"\ude00\ud83d"', "the halves the wrong way round"),
        (r'"\ud83d\n"', "half a pair, then another escape"),
    ],
)
def test_invalid_literals(literal: str, because: str) -> None:
    for texts in (
        StringSet.everything(),
        ~StringSet.of(["x"]),
        StringSet.lengths(1, 9),
        StringSet.pattern(""),
    ):
        assert not texts.machine().accepts(literal.encode()), because


@pytest.mark.parametrize(
    "data", [b'"\xc0\x80"', b'"\xed\xa0\x80"', b'"\xf4\x90\x80\x80"', b'"\xff"']
)
def test_invalid_utf8(data: bytes) -> None:
    for texts in (StringSet.everything(), ~StringSet.of(["x"]), StringSet.lengths(0, 9)):
        assert not texts.machine().accepts(data)


words = st.text('ab\U0001f600"', max_size=3)
sets = st.recursive(
    st.one_of(
        st.builds(StringSet.of, st.lists(words, max_size=3)),
        st.builds(StringSet.lengths, st.integers(0, 2), st.one_of(st.none(), st.integers(0, 3))),
        st.builds(StringSet.pattern, st.sampled_from(["a", "^[ab]*$", "b$", "^(?!ab)", "^..?$"])),
    ),
    lambda inner: st.one_of(
        st.builds(lambda a, b: a & b, inner, inner),
        st.builds(lambda a, b: a | b, inner, inner),
        st.builds(lambda a: ~a, inner),
    ),
    max_leaves=5,
)
SAMPLE = ["".join(letters) for n in range(4) for letters in product('ab"\U0001f600', repeat=n)]


@settings(max_examples=50)
@given(sets, sets)
def test_set_operations(left: StringSet, right: StringSet) -> None:
    for text in SAMPLE:
        a, b = left.contains(text), right.contains(text)
        assert (left & right).contains(text) is (a and b)
        assert (left | right).contains(text) is (a or b)
        assert (~left).contains(text) is not a


@pytest.mark.slow
@given(sets)
def test_emptiness_and_members(texts: StringSet) -> None:
    found = {text for text in SAMPLE if texts.contains(text)}
    finite = texts.finite(2_000)
    if texts.is_empty:
        assert not found
        assert finite == ()
        assert texts.machine().is_empty
    elif finite is not None:
        assert found <= set(finite)
        assert all(map(texts.contains, finite))
    else:
        assert not texts.machine().is_empty
    assert (texts & ~texts).is_empty


@pytest.mark.parametrize(
    ("texts", "members"),
    [
        (StringSet.of(["b", "a"]), ("a", "b")),
        (StringSet.pattern("^[ab]{1,2}$"), ("a", "aa", "ab", "b", "ba", "bb")),
        (StringSet.pattern("^[ab]*$") & StringSet.lengths(0, 1), ("", "a", "b")),
        (StringSet.pattern("^[ab]*$"), None),
        (StringSet.everything(), None),
        (StringSet.lengths(1, 1), None),
        (StringSet.pattern("^[a-z]{9}$"), None),
        (StringSet.lengths(0, 0), ("",)),
        (StringSet.pattern("^a*$") & ~StringSet.pattern("^a*$"), ()),
    ],
)
def test_members_of_a_finite_set_of_strings(
    texts: StringSet, members: tuple[str, ...] | None
) -> None:
    assert texts.finite(100) == members


def test_lone_surrogates_are_not_members() -> None:
    for texts in (
        StringSet.everything(),
        StringSet.of(["a\ud83d"]),
        ~StringSet.of(["\ude00"]),
        StringSet.pattern(""),
    ):
        assert not texts.contains("a\ud83d")
        assert not texts.machine().accepts(rb'"a\ud83d"')
    assert StringSet.of(["a\ud83d"]).is_empty


def test_large_bounds() -> None:
    even = StringSet.pattern("^(?:ab)*$")
    assert (even & StringSet.lengths(10**9 + 1, 10**9 + 1)).is_empty
    assert not (even & StringSet.lengths(10**9 + 1, 10**9 + 2)).is_empty
    assert (even & StringSet.lengths(0, 10**9)).finite(100) is None
    assert not (even & StringSet.lengths(0, 10**9) & ~StringSet.of(["", "ab"])).is_empty
    assert (StringSet.pattern("^a?b?$") & StringSet.lengths(1, 10**9)).finite(9) == ("a", "ab", "b")


def test_lengths_that_repeat_after_many_steps() -> None:
    options = "|".join(f"{chr(97 + p)}(?:x{{{p}}})*" for p in (2, 3, 5, 7, 11, 13, 17, 19))
    texts = StringSet.pattern(f"^(?:{options})y$")
    assert not (texts & StringSet.lengths(10**8)).is_empty
    assert not (texts & StringSet.lengths(10**8, 10**8 + 100)).is_empty
    with pytest.raises(LimitError):  # the lengths repeat after nine million characters
        _ = (texts & StringSet.lengths(10**8, 10**8 + 1)).is_empty


def test_long_strings() -> None:
    machine = StringSet.lengths(0, 4096).machine()
    assert machine.accepts(b'"' + b"\\u00e9" * 4096 + b'"')
    assert not machine.accepts(b'"' + b"a" * 4097 + b'"')


@pytest.mark.slow
def test_error_too_long() -> None:
    with pytest.raises(LimitError, match="states"):
        StringSet.lengths(0, 100_000).machine()
    with pytest.raises(LimitError, match="states"):
        (StringSet.pattern("^[ab]*$") & StringSet.lengths(0, 270_000)).machine(LIMITS)
    with pytest.raises(LimitError, match="states"):
        StringSet.of(["abc"]).machine(Limits(states=3))


#   pattern, what differs from Python or None
PATTERNS = [
    "a", "^a", "a$", "^a$", "^a|b$", "(^a|b)1", r"\ba\b", r"a\Bb", r"\b", "a|", "^$", "$^", "a^",
    "^(?!ab)[ab]+$", "(?!ab)a", "a(?=b)[ab]*1$", "(?<=a)b", "(?<!a)b", "^((?!ab).)*$",
    "^(?=.*a)(?=.*1).{3,4}$", "(a$|b)+", "^^a$$", "^(?:(?!a)[ab1]|b1)$", "^(?!.*--)[a1-]+$",
    "(^|-)a(-|$)", "^(ab|-){2}$", "^(?!a)(?!b)", "(?:a|(?=1)).$", "^(?:(?!-).)+$", "(?<!a)(?=b)",
    "((?!a)b)*1", r"a\b(?=-)", "(?<=a$)b", "(?<=^a)b", "(?<=a(?=-)).b?", r"(?=\b1|b)(?!.*a\b)",
    r"^\d{2}-?$", r"^[\w-]+$", "[^a]b", "a{,2}", "(?i:A)b", r"[-1]{2}|\-a", "^(a|b1)*$", "(?:)",
]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_match_anywhere(pattern: str) -> None:
    texts, python = StringSet.pattern(pattern), re.compile(pattern)
    for length in range(5):
        for letters in product("ab1-", repeat=length):
            text = "".join(letters)
            assert texts.contains(text) is (python.search(text) is not None), text


@pytest.mark.parametrize(
    ("pattern", "text", "found", "because"),
    [
        (r"^\d$", "৪", False, "digits are those of ASCII"),
        (r"^\w$", "é", False, "letters are those of ASCII"),
        (r"^\s$", "\ufeff", True, "the byte order mark is white space"),
        (r"^\s$", "\x1c", False, "a separator of files is none"),
        ("^.$", "\u2028", False, "a dot is no line end"),
        ("^a$", "a\n", False, "the end is the end"),
        ("^[^]$", "\n", True, "any character"),
        ("[]", "a", False, "no character"),
        (r"^\cJ$", "\n", True, "a control character"),
        (r"^\0$", "\0", True, "the character 0"),
        (r"^\ud83d\ude00$", "\U0001f600", True, "a surrogate pair"),
        (r"^\u{1F600}$", "\U0001f600", True, "a code point"),
        (r"^\/\-$", "/-", True, "signs may be escaped"),
        (r"^[\w-.]{3}$", "a-.", True, "a hyphen next to a set is a literal"),
        (r"^[+-\d]{3}$", "+-1", True, "on either side"),
        (r"^[\w-.]$", "/", False, "and no range"),
        (r"^\p{Lu}$", "É", True, "a property"),
        (r"\B", "", True, "no word begins in an empty text"),
        ("(?m)^a$", "b\u2028a\rb", True, "four characters end a line"),
    ],
)
def test_patterns_have_ecmascript_syntax(
    pattern: str, text: str, found: bool, because: str
) -> None:
    assert StringSet.pattern(pattern).contains(text) is found, because


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (r"(a)\1", "backreferences"),
        ("(a", "close the group"),
        ("(?=a", "close the group"),
    ],
)
def test_error_not_regular(pattern: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        StringSet.pattern(pattern)


#   pattern               low, high       any character
RUNS = [
    (r"^[^]{3,9}$",       (3, 9),         True),
    (r"[^]{2}",           (2, None),      True),
    ("",                  (0, None),      True),
    (r"^[a-z_]{1,5000}$", (1, 5000),      False),
    (r"^\S*$",            (0, None),      False),
    (r"^(?:\d\d?)?\d$",   (1, 3),         False),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "lengths", "any_character"), RUNS)
def test_patterns_that_are_length_bounds(
    pattern: str, lengths: tuple[int, int | None], any_character: bool
) -> None:
    texts = StringSet.pattern(pattern)
    assert texts.only_counts
    assert (texts.low, texts.high) == lengths
    assert (texts == StringSet.lengths(*lengths)) is any_character


@pytest.mark.parametrize(
    "pattern", ["a", "^a?b$", "^[ab][abc]$", "^(aa)*$", "^a{2}$|^a{4}$", "^$", "[]"]
)
def test_patterns_that_are_not_length_bounds(pattern: str) -> None:
    assert not StringSet.pattern(pattern).only_counts


def test_non_empty_strings_have_every_encoding() -> None:
    texts = ~StringSet.of([""])
    assert texts == StringSet.lengths(1)
    assert texts.machine().accepts(rb'"\u0061"')


def test_formats_have_no_escapes() -> None:
    address = StringSet.format("uri")
    assert address is not None
    assert address.machine().accepts(b'"a:/b"')
    assert not address.machine().accepts(rb'"a:\/b"')
    assert not address.machine().accepts(rb'"\u0061:/b"')


def test_impossible_lengths_take_no_states() -> None:
    days = StringSet.format("date")
    assert days is not None
    late = days & StringSet.lengths(10**9)
    assert late.is_empty
    assert (~late).contains("2024-01-01")


def test_redundant_bounds_of_finite_sets_cost_nothing() -> None:
    names = StringSet.format("hostname")
    assert names is not None
    assert len((names & StringSet.lengths(1, 253)).machine()) == len(names.machine())
    short = names & StringSet.lengths(2, 3)
    assert [short.contains(name) for name in ("a", "ab", "a.b", "a.bc")] == [
        False,
        True,
        True,
        False,
    ]


def test_machines_are_cached() -> None:
    assert StringSet.everything().machine() is StringSet.everything().machine()
    first: Dfa = (~StringSet.of(["a"])).machine()
    assert (~StringSet.of(["a"])).machine(LIMITS.begun()) is first
