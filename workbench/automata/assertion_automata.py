"""Automata over symbols and assertions, and their language without assertions.

An assertion is read as a symbol: ``plain + 2 * number``, or one more if it must be false.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import pairwise

from workbench.automata.graphs import reachable
from workbench.automata.nfa import Nfa, NfaBuilder, nfa_of_dfa
from workbench.automata.small_dfa import small_dfa
from workbench.base.limits import Limits

HINT = "use fewer assertions, or none inside repetitions"


#: First and last symbol, target.
_Edges = list[tuple[int, int, int]]


def both(left: Nfa, right: Nfa, plain: int, limits: Limits) -> Nfa:
    """The texts of both; each tests its assertions between two symbols."""
    builder, clock = NfaBuilder(max(left.symbols, right.symbols)), limits.clock()
    builder.new_states(2)
    numbers = {(left.initial, right.initial): 1}
    waiting = deque(numbers)

    def number(one: int, two: int) -> int:
        if (one, two) not in numbers:
            numbers[one, two] = builder.new_state()
            waiting.append((one, two))
        return numbers[one, two]

    while waiting:
        one, two = waiting.popleft()
        clock.check()
        here = numbers[one, two]
        limits.check("states", here, HINT)
        if one in left.finals and two in right.finals:
            builder.epsilon(here, 0)
        pairs = [(target, two) for target in left.epsilons[one]]
        for pair in (*pairs, *((one, target) for target in right.epsilons[two])):
            builder.epsilon(here, number(*pair))
        for low, high, target in left.edges[one]:
            if low >= plain:
                builder.edge(here, low, high, number(target, two))
        for first, last, other in right.edges[two]:
            if first >= plain:
                builder.edge(here, first, last, number(one, other))
                continue
            for low, high, target in left.edges[one]:
                begin, end = max(low, first), min(high, last)
                if begin <= end:
                    builder.edge(here, begin, end, number(target, other))
    return builder.build(1, {0})


#: The assertions that are guessed after a symbol, with 1 if they are false.
_Guesses = tuple[tuple[int, int], ...]
#: A state of a machine, the set of states of another one, the guesses; None before the first.
_Decision = tuple[int, frozenset[int], _Guesses | None]


def decided(whole: Nfa, part: Nfa, plain: int, limits: Limits, *, shortest: bool) -> Nfa:
    """The texts of ``whole`` that are no texts of ``part``, or the shortest texts of both.

    The set of states of ``part`` is tracked. Between two symbols each assertion that this set
    tests is guessed and read, true or false, so it is known whether ``part`` has read a text.
    """
    builder, clock = NfaBuilder(max(whole.symbols, part.symbols)), limits.clock()
    builder.new_states(2)
    numbers: dict[_Decision, int] = {(whole.initial, frozenset((part.initial,)), None): 1}
    waiting = deque(numbers)

    def number(node: int, states: frozenset[int], known: _Guesses | None) -> int:
        key = node, states, known
        if key not in numbers:
            numbers[key] = builder.new_state()
            waiting.append(key)
        return numbers[key]

    while waiting:
        key = waiting.popleft()
        clock.check()
        node, states, known = key
        here = numbers[key]
        limits.check("states", here, HINT)
        if known is None:
            for target in whole.epsilons[node]:
                builder.epsilon(here, number(target, states, None))
            for low, high, target in whole.edges[node]:
                if low >= plain:
                    builder.edge(here, low, high, number(target, states, None))
        truth = dict(known or ())
        states, reading = _closed(states, part, plain, truth)
        tested = {(low - plain) // 2 for low, _, _ in reading if low >= plain} - truth.keys()
        if tested:
            look = min(tested)
            for negated in (0, 1):
                there = number(node, states, (*(known or ()), (look, negated)))
                symbol = plain + 2 * look + negated
                builder.edge(here, symbol, symbol, there)
            continue
        has_text = not part.finals.isdisjoint(states)
        if has_text is shortest and node in whole.finals:
            builder.epsilon(here, 0)
        if has_text and shortest:
            continue
        for low, high, target in whole.edges[node]:
            for first, last, reached in _targets(reading, low, high) if low < plain else ():
                builder.edge(here, first, last, number(target, reached, None))
    return builder.build(1, {0})


def _closed(
    states: frozenset[int], nfa: Nfa, plain: int, truth: dict[int, int]
) -> tuple[frozenset[int], _Edges]:
    """The states reached by ε-edges and assertions that hold, and all edges of these states."""

    def after(state: int) -> list[int]:
        tested = (edge for edge in nfa.edges[state] if edge[0] >= plain)
        holding = (
            to for low, _, to in tested if truth.get((low - plain) // 2) == (low - plain) % 2
        )
        return [*nfa.epsilons[state], *holding]

    found = frozenset(reachable(states, after))
    return found, [edge for state in found for edge in nfa.edges[state]]


def _targets(edges: _Edges, low: int, high: int) -> Iterator[tuple[int, int, frozenset[int]]]:
    """The symbols from ``low`` to ``high`` in runs with the same targets."""
    inside = [(max(low, a), min(high, b), to) for a, b, to in edges if a <= high and b >= low]
    cuts = sorted({low, high + 1, *(a for a, _, _ in inside), *(b + 1 for _, b, _ in inside)})
    for first, after in pairwise(cuts):
        targets = frozenset(to for a, b, to in inside if a <= first and after <= b + 1)
        yield first, after - 1, targets


def smaller(nfa: Nfa, plain: int) -> Nfa:
    """The minimal DFA with one final state, if it is small; see ``nfa_of_dfa``."""
    dfa = small_dfa(nfa)
    return nfa if dfa is None else nfa_of_dfa(dfa, plain)
