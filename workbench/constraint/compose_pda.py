"""The closed form of Algorithm 3: a grammar network composed with a vocabulary, edge by edge.

In come a ``Network`` and a ``Vocabulary``; out comes a ``TokenPda`` whose edges read a token, pop
and push. For toy vocabularies, pictures and tests: it is held equal to the rows made on demand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from workbench.automata.dfa import State
from workbench.errors import LimitError
from workbench.limits import LIMITS, Clock, Limits
from workbench.pushdown.dotted import dotted
from workbench.pushdown.network import Network
from workbench.pushdown.pda import BOTTOM
from workbench.vocabulary.trie import Trie
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: The longest run of pops one edge may have.
_POPS = 32


@dataclass(frozen=True, slots=True)
class TokenPdaEdge:
    """One edge of a token PDA: the token read, what it takes off the stack and puts on it."""

    source: State
    token_id: TokenId
    target: State
    #: Stack symbols taken off, in the order they are popped (the top first).
    pops: tuple[int, ...]
    #: Stack symbols put on, in the order they are pushed (the new top last).
    pushes: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class TokenPda:
    """A push-down automaton over tokens, 𝒫 ∘ T_V.

    States and symbols are numbered as its own; ``symbols[0]`` is the initial stack
    symbol, on the stack at the beginning. ``network_states`` and ``network_symbols`` say
    which state of the network each stands for (−1: the final state, the symbol S).

    Source: Koo et al. 2024, Algorithm 3 and Figure 7.
    """

    vocabulary: Vocabulary
    states: int
    initial: State
    finals: frozenset[State]
    edges: tuple[TokenPdaEdge, ...]
    symbols: tuple[str, ...]
    state_labels: tuple[str, ...]
    network_states: tuple[State, ...]
    network_symbols: tuple[State, ...]


#: The final state and the initial stack symbol, before numbering.
_END = -1

#: A configuration relative to an unknown stack: state, popped (first first), pushed (top last).
_Relative = tuple[State, tuple[State, ...], tuple[State, ...]]


def compose_pda(network: Network, vocabulary: Vocabulary, limits: Limits = LIMITS) -> TokenPda:
    """Every edge of the composed machine, from every state whole tokens reach.

    Raises: LimitError past ``limits.token_edges`` edges or ``limits.seconds``, and where one
            token can pop without end (a rule that may end wherever its caller may): such
            a grammar has no finite closed form in this shape.
    Source: Koo et al. 2024, Algorithm 3, §3.2.
    """
    clock = limits.clock()
    found = [network.initial]
    raw: list[tuple[State, TokenId, _Relative]] = []
    for state in found:
        if state == _END:
            continue
        for token_id, relative in _row(network, state, vocabulary.trie, clock):
            raw.append((state, token_id, relative))
            limits.check("token_edges", len(raw), "draw a smaller vocabulary")
            if relative[0] not in found:
                found.append(relative[0])
    return _numbered(network, vocabulary, found, raw)


def _row(
    network: Network, state: State, trie: Trie, clock: Clock
) -> Iterator[tuple[TokenId, _Relative]]:
    """Every way to read every token from a state: one walk of the trie."""
    byte, depth, skip = trie.byte.tolist(), trie.depth.tolist(), trie.skip.tolist()
    first, token_ids = trie.first.tolist(), trie.token_ids.tolist()
    path: list[frozenset[_Relative]] = [frozenset({(state, (), ())})] * (trie.height + 1)
    node = 0
    while node < len(byte):
        clock.check()
        level = depth[node]
        here = _after(network, path[level], byte[node])
        if not here:
            node = skip[node]
            continue
        path[level + 1] = here
        for token_id in token_ids[first[node] : first[node + 1]]:
            for relative in sorted(here):
                yield token_id, relative
        node += 1


def _after(network: Network, here: frozenset[_Relative], byte: int) -> frozenset[_Relative]:
    """All configurations after one more byte."""
    byte_class = int(network.byte_classes[byte])
    return frozenset(
        settled
        for at, popped, pushed in here
        if at != _END
        for target, opened in network.moves(at, byte_class)
        for settled in _settle(network, target, popped, (*pushed, *opened))
    )


def _settle(
    network: Network, state: State, popped: tuple[State, ...], pushed: tuple[State, ...]
) -> Iterator[_Relative]:
    """A configuration after a byte, and all it can return to without reading more."""
    if network.goes_on[state]:
        yield state, popped, pushed
    if not network.finals[state]:
        return
    if pushed:
        yield from _settle(network, pushed[-1], popped, pushed[:-1])
        return
    if len(popped) == _POPS:
        raise LimitError(
            "one token may end any number of rules here, so the closed form has no end",
            "token_edges",
            "the engine itself decodes this grammar; only its written-out machine is infinite",
        )
    for waiting in network.returns[network.owner[state]]:
        yield from _settle(network, waiting, (*popped, waiting), ())
    if network.owner[state] in network.ends_text:
        yield _END, (*popped, _END), ()


def _numbered(
    network: Network,
    vocabulary: Vocabulary,
    found: list[State],
    raw: list[tuple[State, TokenId, _Relative]],
) -> TokenPda:
    states = [state for state in found if state != _END] + [_END]
    number = {state: i for i, state in enumerate(states)}
    used = {s for _, _, (_, popped, pushed) in raw for s in (*popped, *pushed)} - {_END}
    symbols = [_END, *sorted(used)]
    symbol = {state: i for i, state in enumerate(symbols, start=BOTTOM)}
    return TokenPda(
        vocabulary=vocabulary,
        states=len(states),
        initial=number[network.initial],
        finals=frozenset({number[_END]}),
        edges=tuple(
            TokenPdaEdge(
                number[source],
                token_id,
                number[target],
                tuple(symbol[s] for s in popped),
                tuple(symbol[s] for s in pushed),
            )
            for source, token_id, (target, popped, pushed) in raw
        ),
        symbols=("S", *(dotted(network, s) for s in symbols[1:])),
        state_labels=tuple(
            "end" if s == _END else f"{network.names[network.owner[s]]} · {s}" for s in states
        ),
        network_states=tuple(states),
        network_symbols=tuple(symbols),
    )
