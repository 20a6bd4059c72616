"""Grammar.check(): verdicts, positions of failures, expected characters."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest

from workbench.base.errors import LimitError
from workbench.base.limits import Limits
from workbench.grammar.grammar import Grammar

JSON = Grammar.from_kbnf(
    """start ::= value;
    value ::= object | list | #'[0-9]+' | '"' #'[a-zé]*' '"';
    object ::= '{' (member (',' member)*)? '}';
    member ::= '"' #'[a-z]+' '":' value;
    list ::= '[' (value (',' value)*)? ']';"""
)
WORD = Grammar.from_regex("(foo)+d")

#   grammar  text             message                                                    rules
CHECKS = [
    (WORD,   "foofood",       "accepted",                                             ()),
    (WORD,   "fox",           "fails at column 3: expected o",                        ()),
    (WORD,   "foo",           "ends too early: expected [df]",                        ()),
    (WORD,   "food!",         "fails at column 5: expected the end",                  ()),
    (WORD,   "",              "ends too early: expected f",                           ()),
    (JSON,   '{"a":}',        'fails at column 6: expected [0-9"\\[{]',               ("start", "value", "object", "member", "value")),
    (JSON,   '[1,[2,"é',      'ends too early: expected [a-zé"]',                     ("start", "value", "list", "value", "list", "value")),
    (JSON,   '"é"x',          "fails at column 4: expected the end",                  ("start", "value")),
    (JSON,   '"éà"',          'fails at column 3: expected [a-zé"]',                  ("start", "value")),
    (JSON,   "12]",           "fails at column 3: expected digit or the end",         ("start", "value")),
]  # fmt: skip


@pytest.mark.parametrize(
    ("grammar", "text", "message", "rules"), CHECKS, ids=[c[1] for c in CHECKS]
)
def test_a_verdict_has_its_message_and_position(
    grammar: Grammar, text: str, message: str, rules: tuple[str, ...]
) -> None:
    verdict = grammar.check(text)
    assert str(verdict) == message
    assert verdict.accepted == grammar.accepts(text)
    if not verdict.accepted and verdict.offset is not None:
        assert grammar.is_prefix(text[: verdict.offset])
        assert not grammar.is_prefix(text[: verdict.offset + 1])


def test_bytes_are_read_as_they_are() -> None:
    grammar = Grammar.from_regex("[é]")
    assert grammar.is_prefix(b"\xc3")
    assert not grammar.accepts(b"\xc3")
    verdict = grammar.check(b"\xc3")
    assert verdict.incomplete
    assert str(verdict) == "ends too early: expected é"


def test_a_failure_inside_a_character_is_reported_at_the_character() -> None:
    verdict = Grammar.from_regex("aé").check("aè")  # é is C3 A9, è is C3 A8
    assert (verdict.offset, verdict.byte) == (1, 2)
    assert str(verdict) == "fails at column 2: expected é"


def test_the_empty_language_accepts_nothing() -> None:
    nothing = Grammar.from_regex(r"[^\s\S]")
    assert not nothing.accepts("")
    assert not nothing.is_prefix("")


def test_regular_grammars_need_no_stack() -> None:
    grammar = Grammar.from_kbnf("start ::= 'a' start | year; year ::= #'[0-9]{4}';")
    assert grammar.is_regular
    assert grammar.dfa is not None
    assert grammar.rules.names == ("start", "year")
    assert grammar.live_rules("aa20") == ("start", "start", "start", "year")


def test_a_rule_of_another_name_can_be_the_start() -> None:
    assert Grammar.from_kbnf("x ::= 'a';", start="x").accepts("a")


def test_texts_that_fill_the_memory_leave_room_for_others() -> None:
    rules = "start ::= 'a' start 'b' | 'c' start 'd' | 'x';"
    grammar, random = Grammar.from_kbnf(rules, limits=Limits(megabytes=1)), Random(0)
    for _ in range(50):
        left = "".join(random.choices("ac", k=100))
        text = left + "x" + left[::-1].replace("a", "b").replace("c", "d")
        assert grammar.accepts(text)
        assert grammar.is_prefix(text[:150])
        assert not grammar.accepts(text + "b")
    with pytest.raises(LimitError):
        grammar.accepts("ac" * 20_000)


def test_threads_share_a_memory_that_fills() -> None:
    rules = "start ::= 'a' start 'b' | 'c' start 'd' | 'x';"
    grammar = Grammar.from_kbnf(rules, limits=Limits(megabytes=1))

    def read(seed: int) -> bool:
        left = "".join(Random(seed).choices("ac", k=100))
        return grammar.accepts(left + "x" + left[::-1].replace("a", "b").replace("c", "d"))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(read, range(400)))
