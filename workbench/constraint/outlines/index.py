"""Willard & Louf's index: a character machine and a vocabulary in, state → tokens out.

Algorithms 3 and 4 of Willard & Louf 2023 line by line, the functions called as there. Decided:

* Algorithm 3 as printed begins its path with the state that reads v₀ and then walks v₁, v₂, … from
  it, so v₀ is never read and the path ends one state early. The walk here reads all of v, from v₀.
* It appends the empty path of a start state that fails; Algorithm 4 then asks for its first state.
  Failed ones are left out.
* Σ are characters. A token that is no whole characters (half of a UTF-8 sequence) cannot be read by
  such a machine and is in no set: what only such tokens spell cannot be generated.
* A state of which no token leads to the end would leave an empty mask. The paper does not speak of
  it; such states are taken out afterwards, by ``without_dead_ends``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workbench.constraint.outlines.characters import CharacterMachine, State, Symbol
from workbench.limits import LIMITS, Clock, Limits
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: σ: for each state the tokens it may go on with. The paper keeps the tokens alone; where each
#: leads is the last state of its path, kept too, so that advancing does not walk again.
Index = dict[State, dict[TokenId, State]]

#: Bytes of an entry in a ``dict`` of small numbers, about, for the budget of megabytes.
_ENTRY = 100


def find_sub_sequences(
    machine: CharacterMachine, token: Sequence[Symbol]
) -> list[tuple[State, ...]]:
    """Algorithm 3: the state sequences of M that read a token, from any state.

    Shape: each has len(token) + 1 states, the first one before anything is read.
    """
    found = []
    for start in machine.readers.get(token[0], ()):  # lines 4 and 5
        path = [start]
        for symbol in token:  # lines 6 to 13
            there = machine.delta(path[-1], symbol)
            if there is None:
                break
            path.append(there)
        else:
            found.append(tuple(path))  # line 14
    return found


def map_states_to_vocab(
    machine: CharacterMachine, vocabulary: Vocabulary, limits: Limits = LIMITS
) -> Index:
    """Algorithm 4: σ, the tokens each state may go on with.

    Cost:   Σ over tokens v of |δ(·, v₀)|·|v| steps; tokens the machine reads alike (all words of
            a set of letters, by length) are walked once, which the printed loop does not do.
    Raises: LimitError past ``limits.seconds`` or ``limits.megabytes``.
    """
    clock = limits.clock()
    index: Index = {state: {} for state in machine.edges}  # line 3
    entries = 0
    for token, ids in _read_alike(machine, vocabulary).items():  # line 4
        paths = find_sub_sequences(machine, token)  # line 5
        for path in paths:  # lines 6 to 8
            index[path[0]].update(dict.fromkeys(ids, path[-1]))
        entries += len(paths) * len(ids)
        _check(entries, limits, clock)
    return index


def without_dead_ends(index: Index, finals: frozenset[State]) -> Index:
    """The index without states, and tokens to states, from which no tokens lead to a final one."""
    targets = {state: set(row.values()) for state, row in index.items()}
    before: dict[State, list[State]] = {}
    for state, its_targets in targets.items():
        for target in its_targets:
            before.setdefault(target, []).append(state)
    alive = set(finals)
    waiting = list(finals)
    while waiting:
        for state in before.get(waiting.pop(), ()):
            if state not in alive:
                alive.add(state)
                waiting.append(state)
    return {
        state: row
        if targets[state] <= alive
        else {token_id: there for token_id, there in row.items() if there in alive}
        for state, row in index.items()
        if state in alive
    }


def _read_alike(
    machine: CharacterMachine, vocabulary: Vocabulary
) -> Mapping[tuple[Symbol, ...], list[TokenId]]:
    """The tokens by how the machine reads them; not those that it cannot read anywhere."""
    found: dict[tuple[Symbol, ...], list[TokenId]] = {}
    for token_id, token in enumerate(vocabulary.tokens):
        if token is None:
            continue
        try:
            symbols = machine.symbols(token.decode())
        except UnicodeDecodeError:
            continue  # half a character
        if symbols is not None:
            found.setdefault(symbols, []).append(token_id)
    return found


def _check(entries: int, limits: Limits, clock: Clock) -> None:
    hint = "an index of every state is too large for it; use method='automaton'"
    clock.check(hint)
    limits.check("megabytes", entries * _ENTRY / 2**20, hint)
