"""Regexes with assertions against Python's ``re``, over all short texts."""

from __future__ import annotations

import re
import sys
from itertools import product
from random import Random

import pytest

from workbench import Grammar
from workbench.automata.build import pattern_dfa, regex_dfa
from workbench.base.errors import LimitError, ParseError
from workbench.base.limits import Limits
from workbench.base.source import Source
from workbench.syntax.grammar_tree import Pattern, Stop
from workbench.syntax.regex.parser import parse_regex

#: The machine these tests run on may be busy.
PATIENT = Limits(seconds=60)


def texts(letters: str, longest: int) -> list[str]:
    return ["".join(text) for n in range(longest + 1) for text in product(letters, repeat=n)]


def differences(pattern: str, letters: str = "ab-\n", longest: int = 4) -> list[str]:
    """The texts about which we and ``re`` disagree."""
    machine = regex_dfa(parse_regex(Source(pattern, "regex")), PATIENT)
    python = re.compile(pattern)
    return [
        text
        for text in texts(letters, longest)
        # before Python 3.14 \B was false in the empty text
        if (text or r"\B" not in pattern)
        and machine.accepts(text.encode()) is not (python.fullmatch(text) is not None)
    ]


PATTERNS = [
    "(?=ab)a.", "(?!ab)..", "a(?=b)b", "(?<=a)b|a(?<=a)b", "((?=ab)...)*", "(?:(?!--)[ab-])*",
    "(?=.*a)(?=.*b).{2,4}", "(?m)^a$\n^b$", "a$\n", "a$\n\\b", r".*\b.*", "(?<!a)b|ab", r"\Aa*\Z",
    "(?<=(?=ab).)b|ab", "a(?<=(?=ab).)b", r"(?!.*\ba\b)[ab -]+", r"a\Bb", "(?:(?<=a)b|a|(?=ba)b)*",
    "(?:a|(?=b))*b", "(?:(?!ab)(?!b-).)*", "(?=(?:ab)*(?!a)).*", r"(?:\b|-)+", "(?:$|a)+",
    "(?:(?=(a))[ab])*", "(?=.*(?<=b)-)[ab-]*", "(?!(?!a)).?", "(?=)", "(?!)", "(?<!^)a|b", "(?m:^-|a)+",
    r"(?:\b[ab]+\b-?)*", "(?<=a|b)-|a(?<=a|b)-", "(?>a|ab)-?", "a*+a", "(?:ab)*+a?", "[ab]{1,2}+b",
    "a?+a", "(?:a|ab)++-", "(?:a|ab){0}+b", "(?>(?:a|ab){0})", "(?>a*b|a)-?", "(?>a*?)b", "(?>a?b?)b",
    "(?>(?:a|b)*a)b?", "(?>(a|ab)(-|b-a))b?", "(?>(?:a*?b|a){1,2})b*", "(?>(?:|a)*)b", "(?:a?){2,3}+a",
    "(?:(?>a|ab)b?)*", "(?>a*?(?=b)|ab).*", "(a)?(?(1)b|-)", "(?P<n>a)?b(?(n)-)", "(?:(a)|b)*(?(1)a|-)",
    "(?:(?(1)b|(a)))*", "(a)?(b)?(?(1)(?(2)-|a)|b)", "(?(1)a|b)(-)", "(a|b){2}?(?(1)-|a)",
    "(a)?(?!(?(1)b|-)).*", "(?>(a)|ab)*(?(1)b|-)",
]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_assertions_accept_the_texts_that_re_accepts(pattern: str) -> None:
    assert differences(pattern) == []


LETTERS = ["a", "b", "[ab]", "-", "\n", ".", "[^a]", "(?s:.)"]
EDGES = [r"\b", r"\B", "^", "$", r"\A", r"\Z", "(?m:^)", "(?m:$)"]


def random_pattern(random: Random, depth: int, *, fixed: bool = False) -> str:
    """A pattern; ``fixed`` ones have one length, as Python needs after ``(?<=``."""
    kind = random.random()
    if depth == 0 or kind < 0.2:
        return random.choice(LETTERS)
    part = random_pattern(random, depth - 1, fixed=fixed or 0.8 <= kind < 0.9)
    if kind < 0.4:
        return part + random_pattern(random, depth - 1, fixed=fixed)
    if kind < 0.6:
        other = random_pattern(random, depth - 1)
        count = random.choice(["*", "+", "?", "{2}", "{1,2}"])
        return part if fixed else random.choice([f"(?:{part}|{other})", f"(?:{part}){count}"])
    if kind < 0.9:
        look = random.choice(["=", "!"]) if kind < 0.8 else random.choice(["<=", "<!"])
        return f"(?{look}{part})"
    return random.choice(EDGES)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_random_patterns(seed: int) -> None:
    random, wrong, built, accepting = Random(seed), {}, 0, 0
    while built < (800 if seed else 80):
        pattern = random_pattern(random, 4) + random_pattern(random, 3)
        try:
            re.compile(pattern)
        except re.error:  # a lookbehind without a fixed width: two of them in one another
            continue
        built += 1
        accepting += any(map(re.compile(pattern).fullmatch, texts("ab-\n", 3)))
        if found := differences(pattern):
            wrong[pattern] = found
    assert wrong == {}
    assert accepting > built / 4  # the others have contradictory assertions


def possessive_pattern(random: Random, depth: int) -> str:
    kind = random.random()
    if depth == 0 or kind < 0.3:
        return random.choice(["a", "b", "[ab]", "-", "."])
    part = possessive_pattern(random, depth - 1)
    if kind < 0.5:
        return part + possessive_pattern(random, depth - 1)
    if kind < 0.65:
        return f"(?:{part}|{possessive_pattern(random, depth - 1)})"
    if kind < 0.9:
        return f"(?:{part})" + random.choice(
            ["*", "?", "{2}", "*+", "++", "?+", "{0}+", "{1,2}+", "{0,2}+"]
        )
    return random.choice([f"(?>{part})", f"(?>(?:{part})*?)", f"(?!{part})"])


@pytest.mark.slow
@pytest.mark.skipif(sys.version_info < (3, 11, 5), reason="re is wrong there: cpython#106052")
def test_possessive_repetitions_and_atomic_groups() -> None:
    random, wrong, built, refused = Random(0), {}, 0, 0
    while built < 400:
        pattern = possessive_pattern(random, 3) + possessive_pattern(random, 3)
        if not re.search(r"[*+?}]\+|\(\?>", pattern):
            continue
        try:
            found = differences(pattern, "ab-", 5)
        except ParseError:
            refused += 1
            continue
        built += 1
        if found:
            wrong[pattern] = found
    assert wrong == {}
    assert refused < built


#   pattern             text        accepted    because
WORDS = [
    (r"\bé\b.*",        "é!",       True,       "letters of every script"),
    (r"é\b\w",          "éa",       False,      "the same"),
    (r"(?a)a\bé",       "aé",       True,       "words of ASCII"),
    (r".\b😀",          "x😀",      True,       "characters of four bytes"),
    (r"(?<=[à-ÿ]{2}).", "éé",       False,      "characters before, not bytes"),
    (r"..(?<=[à-ÿ]{2})", "éé",      True,       "the same"),
    (r"(?!.*ß)\w{2}",   "aß",       False,      "and after"),
    (r"(?<=a+)b|a+(?<=a+)b", "aab", True,       "a lookbehind of any width"),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "text", "accepted", "because"), WORDS)
def test_assertions_about_characters_beyond_ascii(
    pattern: str, text: str, accepted: bool, because: str
) -> None:
    assert Grammar.from_regex(pattern, limits=PATIENT).accepts(text) is accepted, because


def test_complements_test_their_own_text() -> None:
    for pattern in (r"\bab?\b", "a(?=-)", "^b", "a$", "(?<!a)b"):
        regex = parse_regex(Source(pattern, "regex"), searched=True)
        machine = pattern_dfa(Pattern(regex, Stop.BEFORE_MATCH, pattern, regex.span), PATIENT)
        python = re.compile(pattern)
        for text in texts("ab-", 4)[1:]:
            assert machine.accepts(text.encode()) is (python.search(text) is None), (pattern, text)


def test_error_for_too_many_cases() -> None:
    with pytest.raises(LimitError, match="states"):
        Grammar.from_regex("(?:(?=.{12}a)b|[ac])*[abc]{12}", limits=Limits(states=1_000))
