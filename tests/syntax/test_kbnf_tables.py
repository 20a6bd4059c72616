"""Tables.parse() against lark's own LALR parser."""

from __future__ import annotations

from collections.abc import Callable

import lark
import pytest
from lark.exceptions import UnexpectedToken

from workbench.syntax.kbnf.kbnf_lexer import END, Part
from workbench.syntax.kbnf.kbnf_parser import Tables, UnexpectedError

SUMS = lark.Lark(
    """
    start: sum
    ?sum: term | sum PLUS term -> add
    ?term: N | LPAR sum RPAR -> group | FROM sum (COMMA sum)* TO -> row
    N: /[0-9]+/
    PLUS: "+"
    LPAR: "("
    RPAR: ")"
    FROM: "["
    COMMA: ","
    TO: "]"
    """,
    parser="lalr",
    lexer="basic",
    keep_all_tokens=True,
)


def parts(text: str) -> list[Part]:
    kinds = {"+": "PLUS", "(": "LPAR", ")": "RPAR", "[": "FROM", ",": "COMMA", "]": "TO"}
    found = [Part(kinds.get(sign, "N"), sign, at, at + 1) for at, sign in enumerate(text)]
    return [*found, Part(END, "", len(text), len(text))]


class Trees:
    """Combines the parts of every rule to a tree."""

    def __getattr__(self, name: str) -> Callable[[list[object]], lark.Tree[object]]:
        return lambda parts: lark.Tree(name, parts)


def shape(tree: object) -> object:
    if isinstance(tree, lark.Tree):
        return (str(tree.data), [shape(child) for child in tree.children])
    return tree.node if isinstance(tree, Part) else str(tree)


@pytest.mark.parametrize(
    "text", ["1", "1+2", "1+2+3", "(1)", "((1+2)+3)+(4)", "[1]", "[1,2+3,[4,5]]"]
)
def test_the_same_trees(text: str) -> None:
    assert shape(Tables.of(SUMS, Trees()).parse(parts(text))) == shape(SUMS.parse(text))


@pytest.mark.parametrize("text", ["", "+", "1+", "(1", "1)", "(+1)", "[]", "[1,]"])
def test_the_same_mistakes(text: str) -> None:
    with pytest.raises(UnexpectedToken) as theirs:
        SUMS.parse(text)
    with pytest.raises(UnexpectedError) as ours:
        Tables.of(SUMS, Trees()).parse(parts(text))
    place = theirs.value.token.start_pos
    at_end = theirs.value.token.type == "$END"
    assert ours.value.part.start == (len(text) if at_end else place)
