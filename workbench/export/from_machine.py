"""The texts of an automaton over characters, as a regex or as rules.

Bytes that are no part of a character are left out: what is written in characters speaks of texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from workbench.automata.dfa import State
from workbench.automata.fold import CharacterFsa
from workbench.export.elimination import Paths, TooLongError
from workbench.export.spelled import spelled
from workbench.export.terms import EMPTY, one_of
from workbench.limits import LIMITS, Limits
from workbench.source import Span
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    Nonterminal,
    Repetition,
    Sequence,
)
from workbench.syntax.regex.tree import Ranges, Regex

#: Before and after all states.
_BEFORE, _AFTER = -1, -2
#: Automata with more states between characters are not tried.
_STATES = 1_000


def machine_regex(folded: CharacterFsa, most: int, limits: Limits = LIMITS) -> Regex | None:
    """The texts of a machine as a regex; None where it has more than ``most`` characters.

    Raises: LimitError past ``limits.seconds``.
    """
    if len(folded.states) > _STATES:
        return None
    edges: list[tuple[State, Regex, State]] = [(_BEFORE, EMPTY, folded.initial)]
    edges += [(source, one_of(ranges), target) for source, ranges, target in _alive(folded)]
    edges += [(state, EMPTY, _AFTER) for state in folded.finals]
    try:
        return Paths(edges, most).between(_BEFORE, _AFTER, limits.clock())
    except TooLongError:
        return None


def machine_rules(
    folded: CharacterFsa,
    names: Iterator[str],
    span: Span,
    one: Callable[[Ranges, Span], Expression] = lambda ranges, span: spelled(one_of(ranges), span),
) -> tuple[tuple[str, Expression], ...]:
    """The texts of a machine as rules: of a state, each calling the next at its end.

    The first rule is that of the initial state; ``names`` gives the names, ``one`` what reads one
    character of a set. A state with one way in
    and one way on is written in where it is called. No rule: the machine has no text.

    Cost: linear in the edges over characters.
    """
    edges: dict[State, list[tuple[Ranges, State]]] = {}
    entries: dict[State, int] = {folded.initial: 2}
    for source, ranges, target in _alive(folded):
        edges.setdefault(source, []).append((ranges, target))
        if source != target:
            entries[target] = entries.get(target, 0) + 1
    if folded.initial not in edges and folded.initial not in folded.finals:
        return ()
    rules = _Rules(folded, edges, entries, names, lambda ranges: one(ranges, span), span)
    return tuple((rules.name(state), rules.body(state)) for state in rules.called())


class _Rules:
    """The rules of the states of a machine."""

    def __init__(
        self,
        folded: CharacterFsa,
        edges: dict[State, list[tuple[Ranges, State]]],
        entries: dict[State, int],
        names: Iterator[str],
        one: Callable[[Ranges], Expression],
        span: Span,
    ) -> None:
        self._span = span
        self._one = one
        self._finals = folded.finals
        self._edges = edges
        self._entries = entries
        self._free = names
        self._names = {folded.initial: next(names)}

    def called(self) -> Iterator[State]:
        """The states that have rules, also those that are named while they are read."""
        done = 0
        while done < len(self._names):
            yield list(self._names)[done]
            done += 1

    def name(self, state: State) -> str:
        if state not in self._names:
            self._names[state] = next(self._free)
        return self._names[state]

    def body(self, state: State) -> Expression:
        """What is read from a state on."""
        loops = [ranges for ranges, target in self._edges.get(state, ()) if target == state]
        ways = [self._way(*edge) for edge in self._edges.get(state, ()) if edge[1] != state]
        rest: tuple[Expression, ...] = ()
        if ways:
            body = ways[0] if len(ways) == 1 else Choice(tuple(ways), self._span)
            rest = (Repetition(body, 0, 1, self._span) if state in self._finals else body,)
        if loops:
            rest = (Repetition(self._one(loops[0]), 0, None, self._span), *rest)
        return rest[0] if len(rest) == 1 else Sequence(rest, self._span)

    def _way(self, ranges: Ranges, target: State) -> Expression:
        """A character and what follows it, as far as there is one way on."""
        items = [self._one(ranges)]
        while self._is_passage(target):
            ((ranges, target),) = self._edges[target]
            items.append(self._one(ranges))
        if target in self._edges:
            items.append(Nonterminal(self.name(target), self._span))
        return items[0] if len(items) == 1 else Sequence(tuple(items), self._span)

    def _is_passage(self, state: State) -> bool:
        ways = self._edges.get(state, [])
        once = len(ways) == 1 and self._entries[state] == 1
        return once and state not in self._finals and ways[0][1] != state


def _alive(folded: CharacterFsa) -> Iterator[tuple[State, Ranges, State]]:
    """The edges over characters that lead on to a final state by such edges."""
    before: dict[State, set[State]] = {}
    for source, _, target in folded.edges:
        before.setdefault(target, set()).add(source)
    alive = set(folded.finals)
    waiting = list(alive)
    for state in waiting:  # grows while it is read
        fresh = before.get(state, set()) - alive
        alive |= fresh
        waiting.extend(fresh)
    return (edge for edge in folded.edges if edge[2] in alive)
