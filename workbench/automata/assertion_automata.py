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
    """The texts of both; each tests its assertions between right_state symbols."""
    builder, clock = NfaBuilder(max(left.symbols, right.symbols)), limits.clock()
    builder.new_states(2)
    numbers = {(left.initial, right.initial): 1}
    waiting = deque(numbers)

    def number(left_state: int, right_state: int) -> int:
        if (left_state, right_state) not in numbers:
            numbers[left_state, right_state] = builder.new_state()
            waiting.append((left_state, right_state))
        return numbers[left_state, right_state]

    while waiting:
        left_state, right_state = waiting.popleft()
        clock.check()
        state = numbers[left_state, right_state]
        limits.check("states", state, HINT)
        if left_state in left.finals and right_state in right.finals:
            builder.epsilon(state, 0)
        pairs = [(target, right_state) for target in left.epsilons[left_state]]
        for pair in (*pairs, *((left_state, target) for target in right.epsilons[right_state])):
            builder.epsilon(state, number(*pair))
        for low, high, target in left.edges[left_state]:
            if low >= plain:
                builder.edge(state, low, high, number(target, right_state))
        for first, last, other in right.edges[right_state]:
            if first >= plain:
                builder.edge(state, first, last, number(left_state, other))
                continue
            for low, high, target in left.edges[left_state]:
                begin, end = max(low, first), min(high, last)
                if begin <= end:
                    builder.edge(state, begin, end, number(target, other))
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

    def number(node: int, states: frozenset[int], guesses: _Guesses | None) -> int:
        key = node, states, guesses
        if key not in numbers:
            numbers[key] = builder.new_state()
            waiting.append(key)
        return numbers[key]

    while waiting:
        key = waiting.popleft()
        clock.check()
        node, states, guesses = key
        state = numbers[key]
        limits.check("states", state, HINT)
        if guesses is None:
            for target in whole.epsilons[node]:
                builder.epsilon(state, number(target, states, None))
            for low, high, target in whole.edges[node]:
                if low >= plain:
                    builder.edge(state, low, high, number(target, states, None))
        truth = dict(guesses or ())
        states, reading = _closure(states, part, plain, truth)
        tested = {(low - plain) // 2 for low, _, _ in reading if low >= plain} - truth.keys()
        if tested:
            look = min(tested)
            for negated in (0, 1):
                there = number(node, states, (*(guesses or ()), (look, negated)))
                symbol = plain + 2 * look + negated
                builder.edge(state, symbol, symbol, there)
            continue
        has_text = not part.finals.isdisjoint(states)
        if has_text is shortest and node in whole.finals:
            builder.epsilon(state, 0)
        if has_text and shortest:
            continue
        for low, high, target in whole.edges[node]:
            for first, last, reached in _targets(reading, low, high) if low < plain else ():
                builder.edge(state, first, last, number(target, reached, None))
    return builder.build(1, {0})


def _closure(
    states: frozenset[int], nfa: Nfa, plain: int, truth: dict[int, int]
) -> tuple[frozenset[int], _Edges]:
    """The states reached by ε-edges and assertions that hold, and all edges of these states."""

    def after(state: int) -> list[int]:
        tested = (edge for edge in nfa.edges[state] if edge[0] >= plain)
        holding = (
            to for low, _, to in tested if truth.get((low - plain) // 2) == (low - plain) % 2
        )
        return [*nfa.epsilons[state], *holding]

    closure = frozenset(reachable(states, after))
    return closure, [edge for state in closure for edge in nfa.edges[state]]


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
