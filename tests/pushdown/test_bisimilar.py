"""bisimilar(): rewritten rules are found alike; what differs by a text never is."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.laws.test_mask_laws import slow, trees
from tests.oracles.brute_force import byte_texts
from tests.oracles.grammar_oracle import GrammarOracle
from workbench.base.errors import BuildError
from workbench.base.limits import LIMITS
from workbench.base.source import Source
from workbench.pushdown.build import build
from workbench.pushdown.network import Network, bisimilar
from workbench.syntax.grammar_tree import GrammarTree
from workbench.syntax.kbnf.kbnf_parser import parse_kbnf


def network(kbnf: str) -> Network:
    made = build(parse_kbnf(Source(kbnf, "grammar")), "start", LIMITS)
    assert isinstance(made, Network)
    return made


FIRST = "start ::= '[' (item (',' item)*)? ']'; item ::= start | '{' item '}' | 'x';"

#   second grammar                                                                       bisimilar, why
CASES = [
    ("start ::= '[' (y (',' y)*)? ']'; y ::= 'x' | '{' y '}' | start;", True, "other names, another order"),
    ("start ::= '[' list? ']'; list ::= y | list ',' y; y ::= 'x' | '{' y '}' | start;", False, "the same language by other rules: not recognised"),
    ("start ::= '[' ']' | '[' item more ']'; more ::= ',' item more | ''; item ::= start | '{' item '}' | #'x';", True, "a star as a rule"),
    ("start ::= '[' (item (',' item)*)? ']'; item ::= start | '{' item '}' | 'y';",      False, "another letter"),
    ("start ::= '[' (item (',' item)*)? ']'; item ::= start | '{' start '}' | 'x';",     False, "another call"),
    ("start ::= '[' (item (',' item)*) ']'; item ::= start | '{' item '}' | 'x';",       False, "no empty list"),
]  # fmt: skip


@pytest.mark.parametrize(("second", "wanted", "because"), CASES, ids=[row[-1] for row in CASES])
def test_rewritten_rules_are_bisimilar(second: str, wanted: bool, because: str) -> None:
    assert bisimilar(network(FIRST), network(second)) is wanted, because
    assert bisimilar(network(second), network(FIRST)) is wanted


@pytest.mark.exhaustive
@slow
@given(trees(), trees())
def test_bisimilar_networks_are_equivalent(one: GrammarTree, other: GrammarTree) -> None:
    try:
        first, second = build(one), build(other)
    except BuildError:
        return
    if not isinstance(first, Network) or not isinstance(second, Network):
        return
    if bisimilar(first, second):
        for text in byte_texts(b"ab", 4):
            assert GrammarOracle(one, text).accepts == GrammarOracle(other, text).accepts
