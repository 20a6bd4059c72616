"""The closed form of Algorithm 3, edge by edge against reading every token from every state."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.constraint.test_compose import BYTES, PIECES, vocabulary_of
from tests.laws.test_mask_laws import grammar_of, slow, trees
from workbench.base.dfa import State
from workbench.base.errors import LimitError
from workbench.base.limits import LIMITS, Limits
from workbench.constraint.engine.compose_kernel import LOOP
from workbench.constraint.engine.compose_pda import (
    END,
    RelativeMachine,
    TokenPda,
    TokenPdaEdge,
    compose_pda,
)
from workbench.grammar.grammar import Grammar
from workbench.pushdown.network import Network
from workbench.syntax.grammar_tree import GrammarTree
from workbench.vocabulary.vocabulary import Vocabulary

#: State, popped, pushed, as the network numbers them.
Told = tuple[State, tuple[State, ...], tuple[State, ...]]

WHOLE = vocabulary_of(
    *BYTES, *PIECES, *(b"[" * n for n in range(2, 6)), *(b"]" * n for n in range(2, 6))
)
SMALL = vocabulary_of(
    b"a", b"b", b"bb", b"aaab", b"ab", b"ab", b"ba", b"abab", b"c", b"cc", b"\xc3"
)

JSON = r"""
start ::= value;
value ::= '{' (string ':' value (',' string ':' value)*)? '}' | '[' (value (',' value)*)? ']' | string;
string ::= #"\"([^\"\\\\\\x00-\\x1f]|\\\\[\"\\\\/bfnrt])*\"";
"""

#   grammar                                                because
SHAPES = [
    ("start ::= 'ab' | 'a' start 'b';",                    "Figure 7"),
    ("start ::= '[' start ']' start | 'ab';",              "two calls in a row"),
    ("start ::= '[' start ']' | start 'b' | 'a';",         "left recursion"),
    ("start ::= 'a' start | 'b';",                         "nothing to return to"),
    ("start ::= 'a' start 'a' | 'b' start 'b' | 'c';",     "palindromes"),
    ("start ::= 'a' start 'a' | 'a';",                     "two ways at every step"),
    ("start ::= A 'b'; A ::= '[' A ']' | #'<[a-z ]*>';",     "a loop inside a rule"),
    ("start ::= '[' start ']' | #'[a-z ]*';",              "a loop that may end anywhere"),
    (JSON,                                                 "strings and two kinds of brackets"),
]  # fmt: skip


def by_reading(network: Network, vocabulary: Vocabulary) -> Iterator[tuple[State, int, Told]]:
    """Every edge, source by source, in the order of the trie: every token read byte by byte."""
    found = [network.initial]
    tokens = [vocabulary.tokens[i] for i in vocabulary.trie.token_ids]
    for state in found:
        for token_id, token in zip(vocabulary.trie.token_ids.tolist(), tokens, strict=True):
            here: set[Told] = {(state, (), ())}
            for byte in token or b"":
                here = {told for at in here for told in after(network, at, byte)}
            for told in sorted(here):
                yield state, token_id, told
                found += [told[0]] if told[0] != END and told[0] not in found else []


def after(network: Network, here: Told, byte: int) -> Iterator[Told]:
    at, popped, pushed = here
    if at != END:
        for target, opened in network.moves(at, int(network.byte_classes[byte])):
            yield from settled(network, target, popped, (*pushed, *opened))


def settled(
    network: Network, state: State, popped: tuple[State, ...], pushed: tuple[State, ...]
) -> Iterator[Told]:
    if network.goes_on[state]:
        yield state, popped, pushed
    if network.finals[state] and pushed:
        yield from settled(network, pushed[-1], popped, pushed[:-1])
    elif network.finals[state]:
        if len(popped) == 32:
            raise LimitError("without end", "token_edges")
        for waiting in network.returns[network.owner[state]]:
            yield from settled(network, waiting, (*popped, waiting), ())
        if network.owner[state] in network.ends_text:
            yield END, (*popped, END), ()


def as_told(machine: TokenPda, edge: TokenPdaEdge) -> tuple[State, int, Told]:
    """An edge, numbered as the network is."""
    states, symbols = machine.network_states, machine.network_symbols
    pops, pushes = (tuple(symbols[s] for s in its) for its in (edge.pops, edge.pushes))
    return states[edge.source], edge.token_id, (states[edge.target], pops, pushes)


def check(network: Network, vocabulary: Vocabulary) -> TokenPda:
    machine = compose_pda(network, vocabulary)
    edges = list(by_reading(network, vocabulary))
    assert [as_told(machine, edge) for edge in machine.edges] == edges
    assert machine.edge_count == len(edges)
    for state in range(machine.states):
        own = [edge for edge in machine.edges if edge.source == state]
        assert machine.row(state)[0].tolist() == sorted({edge.token_id for edge in own})
        for token_id in range(len(vocabulary)):
            moves = [(e.target, e.pops, e.pushes) for e in own if e.token_id == token_id]
            assert list(machine.moves(state, token_id)) == moves
    return machine


@pytest.mark.parametrize("vocabulary", [SMALL, WHOLE], ids=["holes", "whole"])
@pytest.mark.parametrize(("text", "because"), SHAPES, ids=[row[1] for row in SHAPES])
def test_every_edge(text: str, because: str, vocabulary: Vocabulary) -> None:
    network = Grammar.from_kbnf(text).network
    machine = check(network, vocabulary)
    if vocabulary is WHOLE and because in ("a loop inside a rule", SHAPES[-1][1]):
        assert (machine.rows.arrays.rows[:, LOOP] >= 0).any(), "the loop is shared"


@pytest.mark.exhaustive
@slow
@given(
    trees(), st.sets(st.sampled_from([b"a", b"b", b"c", b"aa", b"ab", b"bca", b"cc"]), min_size=1)
)
def test_every_edge_of_any_grammar(tree: GrammarTree, tokens: set[bytes]) -> None:
    network, vocabulary = grammar_of(tree).network, vocabulary_of(*sorted(tokens))
    try:
        edges = sum(1 for _ in by_reading(network, vocabulary))
    except LimitError:
        with pytest.raises(LimitError):
            compose_pda(network, vocabulary)
        return
    assume(edges < 5_000)
    check(network, vocabulary)


def test_error_when_a_token_can_pop_without_end() -> None:
    network = Grammar.from_kbnf("start ::= 'a' start? 'b'?;").network
    with pytest.raises(LimitError, match="any number of rules"):
        compose_pda(network, SMALL)


def test_error_when_there_are_too_many_edges() -> None:
    machine = compose_pda(Grammar.from_kbnf(JSON).network, WHOLE, Limits(token_edges=2_500))
    with pytest.raises(LimitError, match="token edges"):
        _ = machine.edges


def test_error_when_a_set_has_too_many_configurations() -> None:
    network = Grammar.from_kbnf("start ::= 'a' start 'x' | 'aa' start 'y' | 'a';").network
    with pytest.raises(LimitError, match="configurations"):
        compose_pda(network, vocabulary_of(b"a" * 12, b"b"), Limits(configurations=20))


def test_error_when_returns_multiply() -> None:
    """One byte ends 14 rules, each called from four places: 4¹⁴ stacks."""
    rules = "".join(
        f"r{i} ::= " + " | ".join(f"'{x}' r{i + 1} '{x}'?" for x in "abcd") + ";" for i in range(14)
    )
    network = Grammar.from_kbnf(f"start ::= r0; {rules} r14 ::= 'x' | '(' start ')';").network
    with pytest.raises(LimitError, match="2,000 configurations"):
        compose_pda(network, vocabulary_of(b"x", b"a"))


def test_the_machine_grows() -> None:
    network = Grammar.from_kbnf("start ::= '[' start ']' | 'x';").network
    machine = RelativeMachine(network, LIMITS)
    room, state = len(machine.table), machine.at(network.initial)
    for _ in range(2 * room):
        state = machine.grow(state, int(network.byte_classes[ord("[")]))
    assert len(machine.table) > room
    ((_, popped, pushed),) = machine.configurations[state]
    assert (popped, len(pushed)) == ((), 2 * room - 1), "the first bracket calls no rule"
