from __future__ import annotations

import pytest

from workbench.analysis.run_tracing import token_cycle
from workbench.app.pipeline import compile_text
from workbench.grammar.grammar import Grammar


@pytest.mark.parametrize(
    ("grammar", "pieces", "circling", "why"),
    [
        (Grammar.from_regex("a[0-9]*b"), ["a", "12", "3", "b"], "·oo·", "digits without an end"),
        (Grammar.from_regex("a[0-9]{3}b"), ["a", "12", "3", "b"], "····", "a chain has an end"),
        (Grammar.from_regex("(ab)*c"), ["a", "ba", "b", "c"], "ooo·", "a cycle of two states"),
        (Grammar.from_kbnf("start ::= 'x' ws start? 'y'; ws ::= #' *';"), ["x", "  ", "  "], "·oo",
         "in a rule that calls itself"),
    ],
)  # fmt: skip
def test_token_cycle(grammar: Grammar, pieces: list[str], circling: str, why: str) -> None:
    follower = compile_text(grammar.source.text, grammar.notation).follower()
    found = [token_cycle(grammar, follower.take(piece.encode()).path) for piece in pieces]
    assert "".join("·" if each is None else "o" for each in found) == circling, why
    assert len({each for each in found if each is not None}) <= 1, why


@pytest.mark.slow
def test_a_machine_that_explodes_is_not_searched() -> None:
    grammar = Grammar.from_regex("(a|b)*a(a|b){30}")
    place = compile_text(grammar.source.text, grammar.notation).follower().take(b"a")
    assert token_cycle(grammar, place.path) is None
