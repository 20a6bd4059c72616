from __future__ import annotations

import pytest

from workbench.grammar import Grammar
from workbench.pipeline import compile_grammar
from workbench.ui.circling import circle
from workbench.ui.follow import Follower


@pytest.mark.parametrize(
    ("grammar", "pieces", "circling", "why"),
    [
        (Grammar.from_regex("a[0-9]*b"), ["a", "12", "3", "b"], "·oo·", "digits without an end"),
        (Grammar.from_regex("a[0-9]{3}b"), ["a", "12", "3", "b"], "····", "a chain has an end"),
        (Grammar.from_regex("(ab)*c"), ["a", "ba", "b", "c"], "ooo·", "a circle of two states"),
        (Grammar.from_kbnf("start ::= 'x' ws start? 'y'; ws ::= #' *';"), ["x", "  ", "  "], "·oo",
         "in a rule that calls itself"),
    ],
)  # fmt: skip
def test_circle(grammar: Grammar, pieces: list[str], circling: str, why: str) -> None:
    follower = Follower(compile_grammar(grammar))
    found = [circle(grammar, follower.take(piece.encode()).path) for piece in pieces]
    assert "".join("·" if each is None else "o" for each in found) == circling, why
    assert len({each for each in found if each is not None}) <= 1, why


def test_a_machine_that_explodes_is_not_searched() -> None:
    grammar = Grammar.from_regex("(a|b)*a(a|b){30}")
    place = Follower(compile_grammar(grammar)).take(b"a")
    assert circle(grammar, place.path) is None
