"""lexemes(), and the texts the parser refuses, against lark with the rules of kbnf.lark."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from lark import Lark
from lark.exceptions import UnexpectedCharacters, UnexpectedToken

from workbench.base.errors import ParseError
from workbench.base.source import Source
from workbench.syntax.kbnf import kbnf_parser
from workbench.syntax.kbnf.kbnf_errors import explain
from workbench.syntax.kbnf.kbnf_lexer import END, NOTHING, Mistake, lexemes

#   text                        kinds                                       because
ROWS = [
    ("",                        f"{END}",                                   "nothing but the end"),
    (" (* a *) \n",             f"{END}",                                   "what is ignored has no kind"),
    ("a ::= 'b';",              f"NAME _DEFINE STRING _END {END}",          "a rule"),
    ("a='b'",                   f"NAME _DEFINE STRING {END}",               "nothing between them"),
    ("except except!",          f"NAME _EXCEPT {END}",                      "a name, and the word with its sign"),
    ("#'a'#e'b'#ex\"c\"#substrs'd'",
                                f"REGEX REGEX_FIRST REGEX_WITHOUT SUBSTRINGS {END}", "the forms of regexes"),
    ("([{}]) 12 |,?*+",         "_LPAR _LBRACKET _LBRACE _RBRACE _RBRACKET _RPAR NUMBER _BAR _COMMA"
                                f" _OPTIONAL _STAR _PLUS {END}",            "signs and numbers"),
    ("a 'b",                    f"NAME {NOTHING}",                          "a string that is not closed"),
    ("a (* b",                  f"NAME {NOTHING}",                          "a comment that is not closed"),
    ("a (**) %",                f"NAME {NOTHING}",                          "a sign of another notation"),
    (r"'\'' '\\'",              f"STRING STRING {END}",                     "an escaped quote does not close"),
]  # fmt: skip


def kinds_and_texts(text: str, count: int = 64) -> tuple[list[str], list[str]]:
    kinds, texts = [], []
    for some, starts, ends in lexemes(text, count):
        kinds += some
        texts += [text[start:end] for start, end in zip(starts, ends, strict=True)]
    return kinds, texts


@pytest.mark.parametrize(("text", "kinds", "because"), ROWS, ids=[row[2] for row in ROWS])
@pytest.mark.parametrize("count", [1, 2, 64])
def test_a_text_has_these_kinds_of_lexemes(text: str, kinds: str, because: str, count: int) -> None:
    found, texts = kinds_and_texts(text, count)
    assert found == kinds.split(), because
    assert texts[-1] == ""


@pytest.fixture(scope="module")
def oracle() -> Lark:
    rules = Path(__file__).with_name("kbnf.lark").read_text("utf-8")
    return Lark(rules, start="grammar", parser="lalr", lexer="basic")


def place_of_mistake(oracle: Lark, text: str) -> int | None:
    try:
        oracle.parse(text)
    except UnexpectedToken as error:
        token = error.token
        return len(text) if token.type == "$END" else token.start_pos
    except UnexpectedCharacters as error:
        return error.pos_in_stream
    return None


def random_text(random: Random) -> str:
    """A rule in which some lexemes are left out, added or replaced."""
    items = ["a", "'b'", "#'c'", '#ex"d"', "#substrs'e'", "except!('f', 3)", "except!(g)"]
    brackets = ["(", ")", "[", "]", "{", "}"]
    lexemes = ["a", "::="]
    opened: list[str] = []
    for _ in range(random.randrange(1, 12)):
        lexemes.append(random.choice(items))
        if random.random() < 0.3:
            lexemes.append(random.choice("?*+"))
        if random.random() < 0.2:
            opened.append(random.choice("([{"))
            lexemes.insert(-1, opened[-1])
        if random.random() < 0.3:
            lexemes.append(random.choice("|,"))
            lexemes.append(random.choice(items))
    lexemes += [brackets[brackets.index(sign) + 1] for sign in reversed(opened)]
    lexemes.append(";")
    for _ in range(random.randrange(3)):
        at = random.randrange(len(lexemes))
        lexemes[at : at + random.randrange(2)] = random.choice(
            [[], ["|"], [","], ["*"], ["a"], ["="], [";"], ["3"], ["except!"], ["]"], ["("], ["%"]]
        )
    return " ".join(lexemes)


def test_mistakes_are_where_lark_finds_them(oracle: Lark, monkeypatch: pytest.MonkeyPatch) -> None:
    places: list[int] = []

    def record(mistake: Mistake) -> ParseError:
        places.append(mistake.place)
        return explain(mistake)

    monkeypatch.setattr(kbnf_parser, "explain", record)
    random, refused = Random(5), 0
    for _ in range(1_000):
        text = random_text(random)
        place = place_of_mistake(oracle, text)
        places.clear()
        with suppress(ParseError):
            kbnf_parser.parse_kbnf(Source(text, "grammar"))
        assert places == ([] if place is None else [place]), text
        refused += place is not None
    assert 200 < refused < 900
