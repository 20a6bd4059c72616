"""Conflicts: where a machine with a stack cannot know how to go on; advice, never refusal.

In come the ``Network`` the engine runs, and the rules as they were written; out come
``Conflict`` values, each with a shortest text after which one character can be read in two ways.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from workbench.automata.dfa import State
from workbench.errors import LimitError
from workbench.limits import LIMITS, Limits
from workbench.pushdown.conflict_words import Teller, Words
from workbench.pushdown.network import Move, Network
from workbench.pushdown.shortest import Shortest, rank
from workbench.source import Span
from workbench.syntax.grammar_tree import GrammarTree
from workbench.syntax.regex.tree import Ranges

#: So many conflicts are told; an author mends one at a time.
_TOLD = 10

#: So many places are put into words; several may come to the same words.
_PUT_INTO_WORDS = 60

HINT = (
    "the engine follows both; a deterministic grammar would let them begin with different "
    "characters, or mark where the first one ends"
)


@dataclass(frozen=True, slots=True)
class Conflict:
    """A place where one character can be read in two ways.

    ``message`` is a whole sentence: after ``example``, ``next`` can do one thing or another.
    """

    message: str
    #: A shortest text after which the machine cannot know.
    example: str
    #: The same as bytes: it may end inside a character.
    text: bytes
    #: The characters that can be read in two ways; bytes where the text ends inside a character.
    next: Ranges
    #: The bytes of these characters that are read first.
    bytes: tuple[int, ...]
    #: The rules between which it cannot decide, and where they are written.
    rules: tuple[str, ...]
    spans: tuple[Span, ...]
    hint: str = HINT


@dataclass(frozen=True, slots=True)
class Clash:
    """A text and the bytes that can be read in two ways after it."""

    text: bytes
    #: Bytes that are read alike everywhere stand together, the most readable first.
    columns: tuple[tuple[int, ...], ...]


def conflicts(
    network: Network,
    written: Callable[[], Network] | None = None,
    tree: GrammarTree | None = None,
    limits: Limits = LIMITS,
) -> tuple[Conflict, ...]:
    """The conflicts of a machine, the nearest first, at most ten.

    ``written`` makes the rules apart (``rule_network``), by whose names the conflicts are
    told; it is asked only where there is one. Places that read alike are told once. What
    is found before the time is over is told.

    Source: Koo et al. 2024, §3.1 ("detects non-deterministic grammars and signals an
            error"); here the engine goes both ways, so it is advice.
    """
    told: dict[str, Conflict] = {}
    try:
        if not (found := clashes(network, limits)):
            return ()
        teller = Teller([written() if written else network, network], tree, limits)
        for clash in found[:_PUT_INTO_WORDS]:
            for words in teller.words(clash.text, clash.columns):
                told.setdefault(words.choice, _conflict(clash.text, words))
            if len(told) >= _TOLD:
                break
    except LimitError:
        pass  # advice is worth no more than the time it has
    return tuple(told.values())[:_TOLD]


def _conflict(text: bytes, words: Words) -> Conflict:
    return Conflict(
        message=words.message,
        example=text.decode("utf-8", "backslashreplace"),
        text=text,
        next=words.next,
        bytes=words.bytes,
        rules=words.rules,
        spans=words.spans,
    )


def clashes(network: Network, limits: Limits = LIMITS) -> list[Clash]:
    """All places at which a byte leads two ways, with a shortest text to each, nearest first.

    A place is a state, with the return states below it that are reached by ending rules.
    It clashes where two calls begin with the same byte, a call and the state itself, or
    the state and what comes after its rule. None: every text is read in one way.

    Raises: LimitError past ``limits.seconds``.
    Cost: about the edges of the network, once for every way its rules can end.
    """
    if len(network.names) == 1 and not any(network.calling):
        return []
    shortest = Shortest(network, limits)
    found = dict.fromkeys(_clashes_at(network, shortest))
    return sorted(found, key=lambda clash: (rank(clash.text), clash.columns))


def _clashes_at(network: Network, shortest: Shortest) -> Iterator[Clash]:
    moves: dict[State, dict[int, list[Move]]] = {}
    for state in _places(network, shortest):
        shortest.clock.check()
        moves[state] = _moves(network, shortest, state)
    for state, own in moves.items():
        shortest.clock.check()
        before = shortest.to(state)
        if before is None:
            continue
        columns = [c for c, found in own.items() if len(_settled(network, found, ())) > 1]
        if columns:
            yield _clash(shortest, before, columns)
        if not network.finals[state] or not own or state not in shortest.arrived:
            continue
        for way in shortest.ways_back(int(network.owner[state])):
            place = way.chain[-1]
            if way.chain[0] == state and network.stars[state]:
                continue  # the runner keeps no such state above itself
            theirs = moves.get(place) or {}
            columns = [
                column
                for column, found in own.items()
                if column in theirs
                and len(
                    _settled(network, found, way.chain[::-1])
                    | _settled(network, theirs[column], ())
                )
                > 1
            ]
            if columns:
                outer = shortest.before[int(network.owner[place])]
                yield _clash(shortest, outer + way.text + shortest.arrived[state], columns)


def _places(network: Network, shortest: Shortest) -> list[State]:
    """The states a machine can stand in between two bytes."""
    return sorted({network.initial, *shortest.arrived})


def _moves(network: Network, shortest: Shortest, state: State) -> dict[int, list[Move]]:
    """Where bytes lead from a state, by column."""
    found: dict[int, list[Move]] = {}
    for inner, pushed in network.openings(state):
        for column, target in shortest.edges(inner):
            found.setdefault(column, []).append((target, pushed))
    return found


def _settled(network: Network, moves: Sequence[Move], below: tuple[State, ...]) -> set[Move]:
    """Moves as the runner keeps them, above the same stack: finished rules gone at once."""
    return {_settle(network, target, (*below, *pushed)) for target, pushed in moves}


def _settle(network: Network, target: State, stack: tuple[State, ...]) -> Move:
    kept: list[State] = []
    for symbol in stack:
        if not (kept and kept[-1] == symbol and network.stars[symbol]):
            kept.append(symbol)
    while kept and (
        (network.finals[target] and not network.goes_on[target])
        or (network.stars[target] and target == kept[-1])
    ):
        target = kept.pop()
    return target, tuple(kept)


def _clash(shortest: Shortest, text: bytes, columns: Sequence[int]) -> Clash:
    return Clash(text, tuple(members for c, members in shortest.columns.items() if c in columns))
