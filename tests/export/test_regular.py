"""write_regex(): readable patterns that Python's ``re`` and this library read alike."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.automata.machines import dfa_of
from tests.laws.test_mask_laws import slow
from tests.oracles.brute_force import texts
from workbench.analysis.difference import equivalent
from workbench.automata.code_points import fold
from workbench.automata.to_regex import (
    EMPTY,
    NOTHING,
    concat,
    either,
    factored,
    one_of,
    plain,
    repeat,
    text,
)
from workbench.base.errors import BuildError
from workbench.base.source import Source
from workbench.grammar.export.regular import write_regex
from workbench.grammar.export.terminals import machine_regex
from workbench.grammar.grammar import Grammar
from workbench.syntax.regex.parser import parse_regex
from workbench.syntax.regex.printer import pattern
from workbench.syntax.regex.reader import Dialect
from workbench.syntax.regex.tree import Regex

#   rules                                                                regex, why
RULES = [
    ("start ::= year '-' month; year ::= #'[0-9]{4}'; month ::= '0' #'[1-9]' | '1' #'[0-2]';",
     "[0-9]{4}-(?:0[1-9]|1[0-2])",                                      "rules are written in where called"),
    ("start ::= 'a' start | 'b';", "a*b",                               "a rule that ends with itself is a loop"),
    ("start ::= start 'a' | 'b';", "ba*",                               "and one that begins with itself"),
    ("start ::= digit (',' digit)*; digit ::= #'[0-9]';", "[0-9](?:,[0-9])*", "a list"),
    ("start ::= 'x' a; a ::= 'y' start | 'z';", "(?:xy)*xz",            "two rules that call each other at their ends"),
    ("start ::= #'(ab){3}' #'(ab){0,40}' '=' #'={40}';", "(?:ab){3,43}={41}",   "many copies are counted"),
    ("start ::= 'abab' '====';", "abab====",                            "few letters are not"),
    ("start ::= ('ha')+ '!'?;", "(?:ha)+!?",                            "signs stay what they are"),
    ("start ::= #'[^\"]*' '\\n' '.' '-';", '[^"]*\\n\\.-',              "escapes where something would mean more"),
    ("start ::= except!('ab');", "a+|(?:[^a]|a+[^ab])+a*",              "what has no sign, from its machine"),
    ("start ::= #e'a+b|c';", "c|a+b",                                   "a first match likewise"),
    ("start ::= 'a' b | 'c'; b ::= 'x' b 'y' | 'd';", None,             "a rule inside itself is refused"),
]  # fmt: skip


@pytest.mark.parametrize(("rules", "wanted", "because"), RULES, ids=[row[-1] for row in RULES])
def test_rules_without_recursion_become_one_regex(
    rules: str, wanted: str | None, because: str
) -> None:
    grammar = Grammar.from_kbnf(rules)
    if wanted is None:
        with pytest.raises(BuildError, match="'b' is read inside itself") as caught:
            write_regex(grammar)
        assert grammar.source.text[caught.value.span.start :].startswith("b ::=")
        return
    found = write_regex(grammar)
    again = equivalent(grammar, Grammar.from_regex(found))
    assert again or again.lost is not None  # of bytes that are no text
    assert found == wanted, because


#   machine of                        its regex, why
MACHINES = [
    ("ab{3}c",                        "abbbc",                           "letters stay letters"),
    ("[0-9]{4}-[0-9]{2}",             "[0-9]{4}-[0-9]{2}",               "counts of sets"),
    ("a{0,3}",                        "a{0,3}",                          "a tail of options"),
    ("(foo)+d",                       "(?:foo)+d",                       "a row repeated"),
    ("[0-9]{1,3}(\\.[0-9]{1,3}){3}",  "(?:[0-9]{1,3}\\.){3}[0-9]{1,3}",  "rows of rows"),
    ("-?(0|[1-9][0-9]*)",             "-?(?:0|[1-9][0-9]*)",             "ends that options share stand once"),
    ("yes|no",                        "no|yes",                          "words stay words"),
    (r"[^\s\S]",                      "[^\\x00-\\U0010ffff]",            "no text at all"),
    (".*",                            ".*",                              "the dot"),
]  # fmt: skip


@pytest.mark.parametrize(("written", "wanted", "because"), MACHINES, ids=[r[-1] for r in MACHINES])
def test_a_machine_becomes_a_short_regex(written: str, wanted: str, because: str) -> None:
    dfa = dfa_of(written)
    regex = machine_regex(fold(dfa), 200)
    assert regex is not None
    assert pattern(regex) == wanted, because


def test_a_string_of_forty_characters_is_one_count() -> None:
    character = r'(?:[^"\\\x00-\x1f]|\\(?:["/\\bfnrt]|u[0-9A-Fa-f]{4}))'
    dfa = dfa_of(f'"{character}{{1,40}}"')
    regex = machine_regex(fold(dfa), 100)
    assert regex is not None
    assert pattern(regex).endswith('{1,40}"')


#   regex                     dialect           written, why
SETS = [
    (r"\d+",                  Dialect.PYTHON,   r"\d+",        "the dialect's own letters"),
    (r"[\w.]",                Dialect.PYTHON,   r"[\w.]",      "inside a set too"),
    (r"\D",                   Dialect.PYTHON,   r"\D",         "all but these"),
    (r"[\s\S]",               Dialect.PYTHON,   "(?s:.)",      "every character"),
    (r"[\]\[^\-\\]",          None,             r"[\-\[-\^]",  "signs of sets"),
    ("[a-cx]",                None,             "[a-cx]",      "ranges"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("written", "dialect", "wanted", "because"), SETS, ids=[r[0] for r in SETS]
)
def test_a_set_of_characters_is_written_for_its_dialect(
    written: str, dialect: Dialect | None, wanted: str, because: str
) -> None:
    regex = plain(parse_regex(Source(written, "regex")))
    assert regex is not None
    assert pattern(regex, dialect) == wanted, because


def test_a_regex_stays_as_it_is_where_python_reads_it() -> None:
    assert write_regex(Grammar.from_regex("(?P<a>x)|y{2,}")) == "(?P<a>x)|y{2,}"
    found = write_regex(Grammar.from_regex("(?P<QUOTED_TEXT>)"))  # to Python an empty group
    assert re.fullmatch(found, '"text"')


def test_a_regex_that_would_be_long_is_refused() -> None:
    grammar = Grammar.from_kbnf("start ::= except!('abcabd');")
    with pytest.raises(BuildError, match="more than 20 characters"):
        write_regex(grammar, longest=20)


letters = st.sampled_from("ab").map(text)
sets = st.sampled_from([((97, 98),), ((98, 99),), ((97, 97), (99, 99))]).map(one_of)
regexes: st.SearchStrategy[Regex] = st.recursive(
    letters | sets | st.just(EMPTY) | st.just(NOTHING),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(lambda parts: concat(*parts)),
        st.lists(inner, max_size=4).map(lambda options: either(*options)),
        st.lists(inner, max_size=4).map(lambda options: factored(*options)),
        st.tuples(inner, st.sampled_from([(0, 1), (0, None), (1, None), (2, 3), (0, 2)])).map(
            lambda both: repeat(both[0], *both[1])
        ),
    ),
    max_leaves=8,
)
plainly: st.SearchStrategy[str] = st.recursive(
    st.sampled_from(["a", "b", "[ab]", "[^a]", ""]),
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"({'|'.join(parts)})"),
        st.tuples(inner, st.sampled_from(["?", "*", "+", "{2}", "{1,3}"])).map(
            lambda both: f"(?:{both[0]}){both[1]}"
        ),
    ),
    max_leaves=7,
)


@slow
@given(plainly)
def test_rewriting_keeps_the_texts(written: str) -> None:
    grammar = Grammar.from_regex(written)
    regex = plain(grammar.regex) if grammar.regex else None
    assert regex is not None
    assert equivalent(grammar, Grammar.from_regex(pattern(regex))), pattern(regex)
    assert grammar.dfa is not None
    taken = machine_regex(fold(grammar.dfa), 5_000)
    assume(taken is not None)
    assert taken is not None
    assert equivalent(grammar, Grammar.from_regex(pattern(taken))), pattern(taken)
    for tried in texts("abc", 3):
        assert bool(re.fullmatch(pattern(taken), tried)) == grammar.accepts(tried)


@pytest.mark.slow
@slow
@given(st.lists(regexes, min_size=1, max_size=3))
def test_putting_together_keeps_the_texts(parts: list[Regex]) -> None:
    def languages(regex: Regex) -> set[str]:
        return {tried for tried in texts("abc", 4) if re.fullmatch(pattern(regex), tried)}

    each = [languages(part) for part in parts]
    assert languages(either(*parts)) == set().union(*each)
    assert languages(factored(*parts)) == set().union(*each)
    joined = {""}
    for some in each:
        joined = {left + right for left in joined for right in some if len(left + right) <= 4}
    assert languages(concat(*parts)) == joined
