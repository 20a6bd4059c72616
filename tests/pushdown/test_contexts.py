"""Assertions that look beyond their terminals, against all derivations with Python's ``re``."""

from __future__ import annotations

import re
from functools import cache
from itertools import product
from random import Random

import pytest

from workbench import Grammar, Vocabulary, compile
from workbench.base.errors import BuildError
from workbench.base.limits import Limits
from workbench.base.source import Source
from workbench.pushdown.cfg import gathered
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    Literal,
    Nonterminal,
    Pattern,
    Repetition,
    Sequence,
)
from workbench.syntax.kbnf.kbnf_parser import parse_kbnf

#: The machine these tests run on may be busy.
PATIENT = Limits(seconds=60)


def texts(letters: str, longest: int) -> list[str]:
    return ["".join(text) for n in range(longest + 1) for text in product(letters, repeat=n)]


class Derivations:
    """The ends of all pieces of one text that an expression derives, from their beginnings.

    The regex of a terminal is matched where the piece begins, and sees the whole text.
    """

    def __init__(self, rules: dict[str, Expression], text: str) -> None:
        self.text = text
        self.ends: dict[tuple[str, int], set[int]] = {}
        before = None
        while before != self.ends:
            before = dict(self.ends)
            for name, body in rules.items():
                for start in range(len(text) + 1):
                    self.ends[name, start] = self.of(body, start)

    def of(self, node: Expression, start: int) -> set[int]:
        match node:
            case Literal(value=value):
                word = value.decode()
                return {start + len(word)} if self.text.startswith(word, start) else set()
            case Pattern(text=pattern):
                length = len(self.text)
                found = [(end, _up_to(pattern, length - end)) for end in range(start, length + 1)]
                return {end for end, regex in found if regex.match(self.text, start)}
            case Nonterminal(name=name):
                return self.ends.get((name, start), set())
            case Sequence(items=items):
                ends = {start}
                for item in items:
                    ends = {end for place in ends for end in self.of(item, place)}
                return ends
            case Choice(options=options):
                return {end for option in options for end in self.of(option, start)}
            case Repetition(item=item, low=low, high=high):
                ends, reached = set[int](), {start}
                for count in range((len(self.text) + low + 1 if high is None else high) + 1):
                    ends |= reached if count >= low else set()
                    reached = {end for place in reached for end in self.of(item, place)}
                return ends
        raise TypeError(node)


@cache
def _up_to(pattern: str, left: int) -> re.Pattern[str]:
    """The pattern, with ``left`` characters of the text after its match."""
    return re.compile(rf"(?:{pattern})(?=[\s\S]{{{left}}}\Z)")


def differences(grammar: str, letters: str = "ab-", longest: int = 4) -> list[str]:
    """The texts about which the engine and the derivations disagree."""
    rules = gathered(parse_kbnf(Source(grammar, "grammar")))
    try:
        machine = Grammar.from_kbnf(grammar, limits=PATIENT)
    except BuildError as error:
        if error.kind not in ("unproductive", "empty_grammar"):
            raise
        machine = None
    found = []
    for text in texts(letters, longest):
        if not text and (machine is None or r"\\B" in grammar):
            continue  # before Python 3.14 \B was false in the empty text
        expected = len(text) in Derivations(rules, text).ends["start", 0]
        if (machine is not None and machine.accepts(text)) is not expected:
            found.append(text)
    return found


GRAMMARS = [
    "start ::= #'a\\\\b' '-'? #'[ab]+';",
    "start ::= #'[ab]+(?=-)' #'[ab-]+';",
    "start ::= (word '-'?)+; word ::= #'\\\\b(a|b)\\\\b' | #'[ab]{2}';",
    "start ::= '-' #'(?=[^-]*b)[^-]{1,2}' '-' #'[ab]*';",
    "start ::= item ('-' item)*; item ::= #'[ab](?!a)' | 'a' start 'b' #'(?<!-.)';",
    "start ::= start 'b' #'(?!b)' | #'a(?!-)';",
    "start ::= 'a'* #'(?<=a)' 'b'* #'(?<!b)'? '-'*;",
    "start ::= #'(?m:^a)' | '-' start;",
    "start ::= 'a' '' #'\\\\B' 'b'? | except!(stop) #'(?=-)' '-'; stop ::= 'b' | '-';",
]


@pytest.mark.parametrize("grammar", GRAMMARS[:-1])
def test_contexts_accept_the_texts_of_all_derivations(grammar: str) -> None:
    assert differences(grammar) == []


def test_except_expands_the_rule_as_written() -> None:
    machine = Grammar.from_kbnf(GRAMMARS[-1], limits=PATIENT)
    assert [text for text in texts("ab-", 3) if machine.accepts(text)] == ["ab", "a-", "aa-"]


TERMINALS = [
    "a", "b", "-", "[ab]+", "a(?=b)", "a(?!b)", "(?<=a)b", "(?<!a)[ab]", r"\\b[ab]+\\b", r"\\b",
    r"\\B", "(?=.*b)a?", "(?!.*-)", "(?<=-)", "a(?=a|-)", "(?<=ab)", "(?=(?<=a)b)", "[ab-](?!.)",
    "(?:a(?=b)|b)*", "(?=..)", "a(?![ab-]*b)",
]  # fmt: skip


def random_body(random: Random, depth: int) -> str:
    kind = random.random()
    if depth == 0 or kind < 0.35:
        return f"#'{random.choice(TERMINALS)}'"
    part = random_body(random, depth - 1)
    if kind < 0.6:
        return f"{part} {random_body(random, depth - 1)}"
    if kind < 0.75:
        return f"({part} | {random_body(random, depth - 1)})"
    if kind < 0.87:
        return f"({part}){random.choice('*+?')}"
    return random.choice(["start", "x", "'ab'"])


@pytest.mark.slow
def test_random_grammars() -> None:
    random, wrong = Random(0), {}
    for _ in range(60):
        grammar = f"start ::= {random_body(random, 3)}; x ::= {random_body(random, 2)} | 'b';"
        if found := differences(grammar):
            wrong[grammar] = found
    assert wrong == {}


def test_rules_without_such_assertions_stay() -> None:
    text = "start ::= (word ' ')*; word ::= #'(?=.*a)[ab]+(?<!b)c' | #'(?!b)[ab]x' start;"
    tree = Grammar.from_kbnf(text, limits=PATIENT).tree
    assert tree is not None
    assert [rule.body for rule in tree.rules] == [
        rule.body for rule in parse_kbnf(Source(text, "grammar")).rules
    ]


LARK = r"""
start: (NAME "=" NAME ";" | IF NAME ";")+
IF: /if\b/
NAME: /(?!if\b)[a-z]+\b/
%ignore " "
"""


def test_lark_keywords() -> None:
    grammar = Grammar.from_lark(LARK, limits=PATIENT)
    for text in ("if a;", "a=ifx ;", "ifa = b; if  c;"):
        assert grammar.accepts(text), text
    for text in ("ifa;", "if=a;", "a=if;", "if if;"):
        assert not grammar.accepts(text), text


def test_counted_copies() -> None:
    grammar = Grammar.from_lark('start: (/(?!aa)/ "a" | "b")~2..3 "-"?', limits=PATIENT)
    for text in texts("ab-", 5):
        assert grammar.accepts(text) is (re.fullmatch("(?:(?!aa)a|b){2,3}-?", text) is not None), (
            text
        )


def test_masks_allow_what_can_be_finished() -> None:
    text = "start ::= item '-' item; item ::= #'[ab]{1,2}(?!-b)' | #'\\\\b(a|bb)\\\\b';"
    grammar = Grammar.from_kbnf(text, limits=PATIENT)
    accepted = [text.encode() for text in texts("ab-", 5) if grammar.accepts(text)]
    tokens = [b"a", b"b", b"-", b"ab", b"b-", b"-b", b"a-a", b"bb", b"-ba"]
    constraint = compile(grammar, Vocabulary([*tokens, None], end=len(tokens)))
    waiting = [(constraint.initial, b"")]
    for state, begun in waiting:  # grows during the iteration
        allowed = {n for n, token in enumerate(tokens) if _begins(accepted, begun + token)}
        end = {len(tokens)} if begun in accepted else set()
        assert set(constraint.mask(state)) == allowed | end, begun
        waiting += [(constraint.advance(state, n), begun + tokens[n]) for n in allowed]


def _begins(accepted: list[bytes], text: bytes) -> bool:
    return any(one.startswith(text) for one in accepted)


#   text, message, its place
ERRORS = [
    (r"start ::= #'a(?=b)' 'c';", "no text is left for which all assertions hold", "start"),
    (r"start ::= #'a(?=b)' #'(?P<TEXT_TOKEN>)';", "expected no TEXT_TOKEN in a grammar with",
     "(?P<TEXT_TOKEN>)"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message", "place"), ERRORS)
def test_error_has_a_place(text: str, message: str, place: str) -> None:
    with pytest.raises(BuildError) as caught:
        Grammar.from_kbnf(text, limits=PATIENT)
    error = caught.value
    assert message in error.message
    assert error.span is not None
    assert text[error.span.start : error.span.end] == place
    assert error.hint
