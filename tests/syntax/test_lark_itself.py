"""parse_lark() against lark: random grammars accept the same small texts."""

from __future__ import annotations

import warnings
from itertools import product
from random import Random

import pytest
from lark import Lark
from lark.exceptions import GrammarError, LarkError

from workbench.base.errors import BuildError
from workbench.grammar.grammar import Grammar

TEXTS = ["".join(letters) for size in range(5) for letters in product("abc ", repeat=size)]
#: The number of texts per grammar; texts of at most two letters are always included.
SAMPLED = 60


class Drawing:
    """Random grammars in Lark's notation.

    Terminals have no alternatives: Python's ``re``, which lark asks, takes the first that matches
    and never looks at the others.
    """

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def grammar(self) -> str:
        pick = self.random.choice
        lines = [
            f"?start: {self.choice(0)}",
            f"x: {self.choice(0)} -> other",
            f"!y.2: {self.choice(0)}",
            't{p}: p | "c" p',
            f"A: {self.terminal()}",
            f"B.3: {self.terminal()} {self.terminal()}",
            pick(['%ignore " "', "// nothing is ignored"]),
        ]
        return "\n".join(lines)

    def choice(self, deep: int) -> str:
        return " | ".join(self.row(deep) for _ in range(self.random.choice([1, 1, 2])))

    def row(self, deep: int) -> str:
        return " ".join(self.item(deep) for _ in range(self.random.choice([1, 2, 2, 3])))

    def item(self, deep: int) -> str:
        pick, part = self.random.choice, self.atom(deep)
        return part if part[0] == "[" else part + pick([""] * 12 + ["?", "*", "+", "~2", "~1..2"])

    def atom(self, deep: int) -> str:
        leaves = ['"a"', '"b"', '"ab"', '"B"i', "/[ab]+/", "/.c/", '"a".."b"', "A", "B", "x", "y"]
        kind = self.random.random()
        if deep > 2 or kind < 0.8:
            return self.random.choice(leaves)
        if kind < 0.9:
            return f"({self.choice(deep + 1)})"
        return f"[{self.choice(deep + 1)}]" if kind < 0.95 else f"t{{{self.atom(3)}}}"

    def terminal(self) -> str:
        part = self.random.choice(['"a"', '"b"', "/[ab]/", "/b+/", '"c"i', "/a?c/"])
        return part + self.random.choice(["", "", "+", "~2", "~1..2"])


@pytest.mark.parametrize("seed", range(60))
def test_lark_accepts_the_same_texts(seed: int) -> None:
    drawing = Drawing(seed)
    text = drawing.grammar()
    try:
        with warnings.catch_warnings(action="ignore"):
            theirs = Lark(text, parser="earley", lexer="dynamic_complete")
    except GrammarError:
        pytest.skip("lark has no such grammars: two of its rules expand alike")
    small = [one for one in TEXTS if len(one) <= 2] + drawing.random.sample(TEXTS, SAMPLED)
    wanted = {one for one in small if accepts(theirs, one)}
    assert accepted_here(text, small) == wanted, text


#   grammar                                                       because
STATEMENTS = [
    ('%import common.INT\nstart: INT "a"',                         "an import"),
    ('%import common.INT -> B\nstart: B "a" B?',                   "an import under another name"),
    ('%import common (DIGIT, WS)\nstart: DIGIT WS DIGIT',          "several imports"),
    ('%import common.INT\nDIGIT: "a"\nstart: INT DIGIT',           "an import uses its own terminals"),
    ('%import common.DIGIT\n%override DIGIT: "a"\nstart: DIGIT+',  "an import is overridden"),
    ('%import common.INT\n%import common.DIGIT\n%override DIGIT: "a"\nstart: INT', "what another import uses is overridden"),
    ('%import common.DIGIT\n%extend DIGIT: "a"\nstart: DIGIT~2',   "an import is extended"),
    ('start: x\nx: "a"\n%extend x: "b" x | "1"',                   "a rule is extended"),
    ('start: x\nx: "a"\n%override x: "b" x | "1"',                 "a rule is overridden"),
    ('start: list{"a", "b"}\nlist{x, s}: x (s x)*',               "a template"),
    ('start: t{t{"a"}} | t{B}\nt{x}: x "1" | x\nB: "b"',          "a template of a template"),
    ('start: p{"a", "b"}\np{x, y}: x q{y} | y\nq{z}: z z | "1" q{z}', "a template that uses another"),
    ('start: t{"a"}\nt{x}: x | "b" t{x} "1"',                     "a template that uses itself"),
    ('%ignore " "\n%ignore /1+/\nstart: "a" B\nB: "b" "b"',       "two kinds of ignored text"),
    ('W: " " | "1"\n%ignore W\nstart: list{"a", "b"}\nlist{x, s}: x (s x)*', "ignored between the parts of a template"),
    ('%import common.DIGIT\n%ignore DIGIT\nstart: "a"~2..3',      "an import is ignored"),
    ('start: A | B\nA.2: "a"\nB: /[ab]/',                         "a priority of a terminal"),
    ('start: x | y\nx.-1: "a" "b"\ny.3: "ab"',                    "priorities of rules"),
]  # fmt: skip
SMALL = ["".join(letters) for size in range(5) for letters in product("ab1 ", repeat=size)]


@pytest.mark.parametrize("text", [row[0] for row in STATEMENTS], ids=[row[1] for row in STATEMENTS])
def test_statements_mean_the_same(text: str) -> None:
    theirs = Lark(text, parser="earley", lexer="dynamic_complete")
    assert accepted_here(text, SMALL) == {one for one in SMALL if accepts(theirs, one)}


def accepted_here(text: str, small: list[str]) -> set[str]:
    """The accepted texts; none for a grammar that is empty or has only the empty text."""
    try:
        ours = Grammar.from_lark(text)
    except BuildError as error:
        if error.kind not in ("unproductive", "empty_grammar"):
            raise
        return {""} if error.kind == "empty_grammar" else set()
    return {one for one in small if ours.accepts(one)}


def accepts(lark: Lark, text: str) -> bool:
    try:
        lark.parse(text)
    except LarkError:
        return False
    return True
