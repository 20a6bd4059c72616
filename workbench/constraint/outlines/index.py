"""Willard & Louf's index: a character machine and a vocabulary in, state → tokens out.

Algorithms 3 and 4 of Willard & Louf 2023 line by line, the functions called as there. Decided:

* Algorithm 3 as printed begins its path with the state that reads v₀ and then walks v₁, v₂, … from
  it, so v₀ is never read and the path ends one state early. The walk here reads all of v, from v₀.
* It appends the empty path of a start state that fails; Algorithm 4 then asks for its first state.
  Failed ones are left out.
* Σ are characters. A token that is no whole characters (half of a UTF-8 sequence) cannot be read by
  such a machine and is in no set: what only such tokens spell cannot be generated.
* Tokens that the machine reads alike (all words of one set of letters, by length) go through the
  loop of Algorithm 4 together. With 131k tokens ``"[^"]{0,40}"`` has an index of 988 entries so;
  token by token 256 MB were not enough.
* A state of which no token leads to the end would leave an empty mask. The paper does not speak of
  it; such states are taken out afterwards, by ``without_dead_ends``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from workbench.constraint.outlines.characters import CharacterMachine, State, Symbol
from workbench.limits import LIMITS, Clock, Limits
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: The number of some tokens the machine reads alike.
Alike = int

#: Bytes of an entry in a ``dict`` of small numbers, about, for the budget of megabytes.
_ENTRY = 100


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """σ: for each state the tokens it may go on with, and where each leads.

    The paper keeps the tokens alone; the last state of a path is kept too, so that advancing does
    not walk again.

    Shape: ``alike_of`` (V,) int32, by whom a token is read alike, −1 where it is read nowhere.
    """

    #: The tokens that are read alike, sorted, int32.
    tokens: tuple[npt.NDArray[np.int32], ...]
    alike_of: npt.NDArray[np.int32]
    sigma: dict[State, dict[Alike, State]]

    def row(self, state: State) -> dict[TokenId, State]:
        """σ(state), token by token."""
        row = self.sigma[state]
        return {i: there for alike, there in row.items() for i in self.tokens[alike].tolist()}

    def target(self, state: State, token_id: TokenId) -> State | None:
        """Where a token leads; None where σ(state) does not have it."""
        known = 0 <= token_id < len(self.alike_of)
        return self.sigma[state].get(int(self.alike_of[token_id])) if known else None


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

    Cost:   Σ over tokens v not read alike of |δ(·, v₀)|·|v| steps.
    Raises: LimitError past ``limits.seconds`` or ``limits.megabytes``.
    """
    clock = limits.clock()
    read_alike = _read_alike(machine, vocabulary)
    sigma: dict[State, dict[Alike, State]] = {state: {} for state in machine.edges}  # line 3
    entries = 0
    for alike, token in enumerate(read_alike):  # line 4
        paths = find_sub_sequences(machine, token)  # line 5
        for path in paths:  # lines 6 to 8
            sigma[path[0]][alike] = path[-1]
        entries += len(paths)
        _check(entries, limits, clock)
    alike_of = np.full(len(vocabulary), -1, np.int32)
    for alike, ids in enumerate(read_alike.values()):
        alike_of[ids] = alike
    tokens = tuple(np.array(ids, np.int32) for ids in read_alike.values())
    return Index(tokens, alike_of, sigma)


def without_dead_ends(index: Index, finals: frozenset[State]) -> Index:
    """The index without states, and tokens to states, from which no tokens lead to a final one."""
    before: dict[State, list[State]] = {}
    for state, row in index.sigma.items():
        for target in set(row.values()):
            before.setdefault(target, []).append(state)
    alive = set(finals)
    waiting = list(finals)
    while waiting:
        for state in before.get(waiting.pop(), ()):
            if state not in alive:
                alive.add(state)
                waiting.append(state)
    sigma = {
        state: {alike: there for alike, there in row.items() if there in alive}
        for state, row in index.sigma.items()
        if state in alive
    }
    return replace(index, sigma=sigma)


def _read_alike(
    machine: CharacterMachine, vocabulary: Vocabulary
) -> dict[tuple[Symbol, ...], list[TokenId]]:
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
    hint = "an index of every state is too large for it; choose the method 'automaton'"
    clock.check(hint)
    limits.check("megabytes", entries * _ENTRY / 2**20, hint)
