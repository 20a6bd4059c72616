"""Adversarial inputs: each works, or raises an error with a limit or a span, in time.

One row per kind of input. Times are thread times (see ``conftest``), so they hold on any machine.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from random import Random

import pytest

from workbench.base.errors import LimitError, ParseError, WorkbenchError
from workbench.base.limits import LIMITS, Limits
from workbench.constraint.compile import compile as compiled
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.toy_vocabularies import all_bytes

#: Seconds that a stage may take past the time limit before its next check, on a slow machine and
#: with kernels compiled meanwhile: far from a hang, which these tests look for.
SMALL = 5.0
#: For inputs that always reach the time limit.
SHORT = Limits(seconds=0.5)

regex, kbnf, schema = Grammar.from_regex, Grammar.from_kbnf, Grammar.from_json_schema
#: The newline of a Lark grammar with an indenter, and one more terminal.
LINES = r"""//%indenter {"NL_type": "_NL"}
%declare _INDENT _DEDENT
_NL: /\n[ ]*/
A: "a"
"""


def words(count: int) -> list[str]:
    """Different words of four to nine letters."""
    random = Random(0)
    made = ("".join(random.choices("etaoinshrdlu", k=random.randint(4, 9))) for _ in range(10**6))
    found: dict[str, None] = {}
    while len(found) < count:
        found[next(made)] = None
    return list(found)


WORDS = words(10_000)
QUOTED = " | ".join(f"'{word}'" for word in WORDS)


def chain(rules: int) -> str:
    inner = "\n".join(f"r{i} ::= 'a' r{i + 1} 'b' | 'c';" for i in range(rules))
    return f"start ::= r0;\n{inner}\nr{rules} ::= 'x';"


def tree(rules: int) -> str:
    return "start ::= r0;\n" + "\n".join(
        f"r{i} ::= 'a' r{2 * i + 1} | 'b' r{2 * i + 2} 'c';"
        if 2 * i + 2 < rules
        else f"r{i} ::= 'x{i % 9}';"
        for i in range(rules)
    )


def mutual(rules: int) -> str:
    return "start ::= r0;\n" + "\n".join(
        f"r{i} ::= 'a' r{(i + 1) % rules} 'b' | 'c' r{(7 * i + 3) % rules} | 'd';"
        for i in range(rules)
    )


def scattered(rules: int) -> str:
    random = Random(1)
    return "start ::= r0;\n" + "\n".join(
        f"r{i} ::= r{random.randrange(rules)} '{random.choice('abc')}' r{random.randrange(rules)}"
        f" | r{random.randrange(rules)} | 'z{i}';"
        for i in range(rules)
    )


def context_chain(rules: int) -> str:
    """Rules that all end in one that tests what is before the first of them."""
    called = " | ".join(f"r{i}" for i in reversed(range(rules + 1)))
    chained = "\n".join(f"r{i} ::= 'x' r{i + 1};" for i in range(rules))
    return f"start ::= ('a' | 'b') ({called});\n{chained}\nr{rules} ::= #'(?<=a[^;]*);' | 'y';"


def lark(rules: str, limits: Limits = LIMITS) -> Grammar:
    """A grammar with an indenter."""
    return Grammar.from_lark(LINES + rules, limits=limits)


def empty_rules(rules: int) -> str:
    chained = "\n".join(f"r{i}: r{i + 1} |" for i in range(rules))
    return f"start: r0\n{chained}\nr{rules}: A _NL [_INDENT r0 _DEDENT]"


#   name                        text → grammar                                     a text in it
WORK: list[tuple[str, Callable[[], Grammar], str]] = [
    ("words, regex",            lambda: regex("|".join(WORDS)),                    WORDS[-1]),
    ("words, again and again",  lambda: regex(f"({'|'.join(WORDS)})*"),            WORDS[3] * 9),
    ("words, rules",            lambda: kbnf(f"start ::= {QUOTED};"),              WORDS[-1]),
    ("words, nested",           lambda: kbnf(f"start ::= ({QUOTED}) ('(' start ')')?;"),
                                                                      f"{WORDS[5]}({WORDS[-1]})"),
    ("rules in a row",          lambda: kbnf(chain(5_000)),                        "aaacbbb"),
    ("rules as a tree",         lambda: kbnf(tree(5_000)),             "a" * 12 + "x0"),
    ("explodes, regex",         lambda: regex("(a|b)*a(a|b){200}"),                "a" * 201),
    ("steps of words",          lambda: regex(r"(\w{1,3} ){1,50}"),                "ab cde f " * 9),
    ("many options",            lambda: regex("a?" * 2_000 + "a" * 2_000),         "a" * 3_000),
    ("stars of stars",          lambda: regex("(a*)*" * 500),                      "aaa"),
    ("anything in rows",        lambda: regex(".*" * 1_000 + "x"),                 "abcx"),
    ("a class of thousands",    lambda: regex(f"[{''.join(map(chr, range(256, 9_000, 2)))}]+"), "ĀĂ"),
    ("empty options",           lambda: regex("a" + "|" * 20_000),                 "a"),
    ("nested to the limit",     lambda: kbnf(f"start ::= {'(' * 64}'a'{')' * 64};"), "a"),
    ("repeated repeated lines", lambda: lark(f"start: {'(' * 4}A _NL{' A?)+' * 4}"), "a\na\naa\n"),
    ("repeated lines",          lambda: lark(f"start: {'(' * 60}A _NL{')+' * 60}"), "a\na\n"),
    ("one of 400 numbers",      lambda: schema({"oneOf": [{"const": n} for n in range(400)]}), "399"),
    ("a NUL",                   lambda: regex("a\0b"),                             "a\0b"),
    ("a NUL, rules",            lambda: kbnf("start ::= 'a\0b';"),                 "a\0b"),
]  # fmt: skip


def taken(work: Callable[[], object]) -> float:
    """Seconds of thread time."""
    begun = time.thread_time()
    work()
    return time.thread_time() - begun


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "make", "text"), WORK, ids=[w[0] for w in WORK])
def test_what_fits_works(name: str, make: Callable[[], Grammar], text: str) -> None:
    grammar = make()
    assert grammar.accepts(text)
    constraint = compiled(grammar, all_bytes())
    assert text.encode()[0] in constraint.mask(constraint.initial)


#   name                        text → grammar                                      the budget
LIMITED: list[tuple[str, Callable[[], Grammar], str]] = [
    ("nested counts",           lambda: regex("((a{0,50}){0,50}){0,50}"),           "states"),
    ("counts of counts",        lambda: regex("(((a{0,99}b?){0,99}){0,99}){0,99}"), "unrolled"),
    ("a large count",           lambda: regex("(a|b){5,1000000}"),                  "unrolled"),
    ("a count of one letter",   lambda: regex("a{150000}"),                         "states"),
    ("a million letters",       lambda: regex("a" * 1_000_000),                     "states"),
    ("a million bytes, rules",  lambda: kbnf(f"start ::= '{'a' * 1_000_000}';"),    "states"),
    ("a long piece of text",    lambda: kbnf(f"start ::= #substrs'{''.join(WORDS) * 2}';"), "states"),
    ("explodes, rules",         lambda: kbnf(r"start ::= #'(a|b)*a(a|b){20}' '(' start ')' | 'x';"), "states seconds"),
    ("explodes, complement",    lambda: kbnf("start ::= #ex'(a|b)*a(a|b){18}' 'x';"), "states seconds"),
]  # fmt: skip


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "make", "budget"), LIMITED, ids=[r[0] for r in LIMITED])
def test_error_names_the_budget_and_a_way_out(
    name: str, make: Callable[[], Grammar], budget: str
) -> None:
    def refused() -> None:
        with pytest.raises(LimitError) as caught:
            make()
        # with two limits, a slow processor reaches the seconds first
        assert caught.value.budget in budget.split()
        assert caught.value.hint

    assert taken(refused) < LIMITS.seconds + SMALL


#   name                        text → grammar
EITHER: list[tuple[str, Callable[[], Grammar]]] = [
    ("looking ahead",           lambda: regex("(?=a)" * 5_000)),
    ("rules all over",          lambda: kbnf(scattered(5_000), limits=SHORT)),
    ("rules in cycles",        lambda: kbnf(mutual(5_000), limits=SHORT)),
    ("some rules all over",     lambda: kbnf(scattered(300), limits=SHORT)),
    ("rules that double",       lambda: kbnf("start ::= r0;" + "".join(f"r{i} ::= r{i + 1} r{i + 1};" for i in range(40)) + "r40 ::= 'a';", limits=SHORT)),
    ("one of many numbers",     lambda: schema({"oneOf": [{"const": n} for n in range(3_000)]}, limits=SHORT)),
    ("any of many numbers",     lambda: schema({"anyOf": [{"const": n} for n in range(3_000)]}, limits=SHORT)),
    ("any of many ranges",      lambda: schema({"anyOf": [{"minimum": 9 * n + 0.1, "maximum": 9 * n + 5.3} for n in range(1_000)]}, limits=SHORT)),
    ("words excepted",          lambda: kbnf(f"s ::= {QUOTED}; start ::= except!(s) 'x';", limits=SHORT)),
    ("steps of words, rules",   lambda: kbnf(r"start ::= #'(\\w{1,3} ){1,50}' ('(' start ')')?;", limits=SHORT)),
    ("the same rule over",      lambda: kbnf("start ::= 'a' start 'b';\n" * 5_000 + "start ::= 'c';", limits=SHORT)),
    ("contexts in a row",       lambda: kbnf("start ::= 'a' #'(?<=a)b'" + " 'c'" * 1_200 + ";", limits=SHORT)),
    ("contexts of a chain",     lambda: kbnf(context_chain(600), limits=SHORT)),
    ("lines in a row",          lambda: lark(f"start: {'A _NL ' * 3_000}", limits=SHORT)),
    ("optional lines in a row", lambda: lark(f"start: {'A _NL? ' * 3_000}", limits=SHORT)),
    ("lines nested in choices", lambda: lark(f"start: {'(A _NL? (B | C _NL? ' * 20}A{'))' * 20}\nB: \"b\"\nC: \"c\"", limits=SHORT)),
    ("lines in repetitions",    lambda: lark(f"start: {'(' * 60}A _NL{' A?)+' * 60}", limits=SHORT)),
    ("copies of lines",         lambda: lark("start: (A _NL)~0..1500 (A _NL)~2000", limits=SHORT)),
    ("empty rules of lines",    lambda: lark(empty_rules(500), limits=SHORT)),
    ("sets that exclude one",   lambda: regex("(?!a)" + "".join(f"[^{chr(0x3400 + at)}]" for at in range(5_000)), limits=SHORT)),
    ("sets of many bytes",      lambda: regex(r"(?!.*foo)(?:\w\W){8000}", limits=SHORT)),
    ("long ends of lines",      lambda: lark("start: A _NL A\n%override _NL: /\\n([ ;]{3000})?/", limits=SHORT)),
    ("ends of lines to compare", lambda: lark("start: A _NL B\nB: /(?:;{503})*a/\n%override _NL: /\\n((?:;{499})*!)?/", limits=SHORT)),
    ("a long row of calls",     lambda: kbnf(f"a ::= 'x' | 'y'; start ::= {'a ' * 20_000};", limits=SHORT)),
]  # fmt: skip


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "make"), EITHER, ids=[e[0] for e in EITHER])
def test_in_time_with_a_grammar_or_a_budget(name: str, make: Callable[[], Grammar]) -> None:
    def made() -> None:
        with suppress(LimitError):
            make()

    assert taken(made) < SHORT.seconds + SMALL


#   name                        text → grammar
UNREADABLE: list[tuple[str, Callable[[], Grammar]]] = [
    ("parentheses",             lambda: regex("(" * 10_000 + "a" + ")" * 10_000)),
    ("parentheses, open",       lambda: regex("(" * 100_000)),
    ("a class, open",           lambda: regex("[" * 10_000)),
    ("counts of many digits",   lambda: regex("a{0,99999999999999999999}")),
    ("stars",                   lambda: regex("a" + "*" * 10_000)),
    ("backslashes",             lambda: regex("\\" * 9_999)),
    ("half a pair",             lambda: regex("a\ud800b")),
    ("half a pair in a class",  lambda: regex("[a\udfff]")),
    ("half a pair in a name",   lambda: regex("(?P<a\udc00>b)")),
    ("half a pair, escaped",    lambda: regex(r"\ud800")),
    ("half a pair, rules",      lambda: kbnf("start ::= 'a\ud800b';")),
    ("half a pair in a regex",  lambda: kbnf("start ::= #'a\udc00b';")),
    ("half a pair as a rule",   lambda: kbnf("st\ud800 ::= 'a';")),
    ("brackets",                lambda: kbnf(f"start ::= {'(' * 20_000}'a'{')' * 20_000};")),
    ("brackets, flat",          lambda: lark("start: " + '"(" ' * 1_500 + "A" + ' ")"' * 1_500)),
    ("brackets, one too many",  lambda: kbnf(f"start ::= {'[' * 129}'a'{']' * 129};")),
    ("braces, open",            lambda: kbnf("start ::= " + "{" * 100_000)),
    ("a string, open",          lambda: kbnf("start ::= '" + "a" * 100_000)),
    ("a regex, open",           lambda: kbnf("start ::= #'aa(';")),
    ("comments, open",          lambda: kbnf("(* " * 30_000)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "make"), UNREADABLE, ids=[u[0] for u in UNREADABLE])
def test_error_has_a_position(name: str, make: Callable[[], Grammar]) -> None:
    def refused() -> None:
        with pytest.raises(ParseError) as caught:
            make()
        assert str(caught.value).encode("utf-8", "backslashreplace")

    make_ready = kbnf("start ::= 'a' | start 'b';")
    assert make_ready.accepts("ab")
    assert taken(refused) < LIMITS.seconds + SMALL


@pytest.mark.parametrize("make", [LIMITED[4][1], LIMITED[5][1]], ids=["regex", "rules"])
def test_a_million_letters_take_no_memory(make: Callable[[], Grammar]) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(LimitError):
            make()
        assert tracemalloc.get_traced_memory()[1] < 16_000_000
    finally:
        tracemalloc.stop()


#   grammar                                       opening     closing
NESTED = [
    ("start ::= '(' start ')' | 'a';",            "(",        "a" + ")"),
    ("start ::= '[' (start (',' start)*)? ']' | 'a';", "[",   "a" + "]"),
    ("start ::= start '(' start ')' | '(' start ')' | 'a';", "(", "a" + ")"),
    ("start ::= A 'x'; A ::= '(' A ')' | 'a';",   "(",        "a" + ")"),
]  # fmt: skip
DEPTH = 10_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "opening", "closing"), NESTED, ids=["once", "lists", "left", "in"]
)
def test_texts_nest_ten_thousand_deep(text: str, opening: str, closing: str) -> None:
    grammar = kbnf(text)
    middle, close = closing[0], closing[1]
    begun = opening * DEPTH
    whole = begun + middle + close * DEPTH + ("x" if "'x'" in text else "")
    assert grammar.is_prefix(begun)
    assert grammar.accepts(whole)
    assert not grammar.accepts(begun + middle + close * (DEPTH - 1))
    constraint = compiled(grammar, all_bytes())
    state = constraint.initial
    for byte in whole.encode():
        assert byte in constraint.mask(state)
        state = constraint.advance(state, byte)
    assert constraint.is_final(state)


def test_error_a_text_nests_too_deep() -> None:
    grammar = kbnf("start ::= '(' start ')' | 'a';")
    with pytest.raises(LimitError, match="needs more than 20,000 stack depth"):
        grammar.is_prefix("(" * (LIMITS.stack_depth + 5))
    assert grammar.accepts("((a))"), "and the grammar can still be used"


def test_texts_of_any_characters_are_read() -> None:
    for grammar in (regex("[^a]*"), kbnf("start ::= #'[^a]*' | '(' start ')';")):
        assert grammar.accepts("\0\0")
        assert not grammar.accepts("\ud800")
        assert not grammar.is_prefix(b"\xff\xfe")
        assert "fails at column 1" in str(grammar.check("\ud800"))
    with pytest.raises(WorkbenchError):
        kbnf("start ::= '\ud800';")
