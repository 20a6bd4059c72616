"""Objects written: a conjunctive shape of objects in, the expression of its texts out.

Members come in declared order, the optional ones may be left out, and names that are not
declared come last, in any order. Such a name may stand there twice: to exclude that a machine would
have to remember every name it read.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from workbench.schema.graphs import written_graph
from workbench.schema.texts import Texts
from workbench.schema.values import Later, Objects
from workbench.schema.writing import Writing, any_of, in_a_row, is_nothing, optional
from workbench.syntax.grammar_tree import Expression, Repetition

#: Of a graph that counts: the member it comes to, how many were written, and which of the
#: conditions on ``some`` member are met, a bit each.
_State = tuple[int, int, int]


def object_expression(shape: Objects, name: str, owner: Later, writing: Writing) -> Expression:
    """The texts of the objects of a shape of ``owner``; ``name`` begins the names of further rules.

    Raises: BuildError, LimitError.
    """
    span = owner.span
    if not shape.properties and not shape.extras:
        return writing.bracketed(b"{}", None, True, span)
    if shape.required and not (shape.some or shape.low or shape.high is not None):
        return writing.bracketed(b"{}", _row(shape, owner, writing), False, span)
    graph = _ObjectGraph(shape, name, owner, writing)
    inside, may_be_empty = written_graph(graph, (0, 0, 0), writing, span)
    return writing.bracketed(b"{}", inside, may_be_empty, span)


def _row(shape: Objects, owner: Later, writing: Writing) -> Expression:
    """One member after the other.

    The first required one has no comma; who comes before it brings one behind, who comes after it
    brings one before.
    """
    comma, span = writing.spacing.comma, owner.span
    row: list[Expression] = []
    is_first = True
    for name, later in shape.properties.items():
        pair = writing.member(name, later, owner)
        if name not in shape.required:
            parts = [*pair, comma] if is_first else [comma, *pair]
            row.append(optional(in_a_row(parts, span), span))
        else:
            row += pair if is_first else [comma, *pair]
            is_first = False
    extras = [
        in_a_row([comma, *writing.pair(key, later, later.span)], span)
        for names, later in shape.extras
        for key in writing.strings(names, later.span)
    ]
    if extras:
        row.append(Repetition(any_of(extras, span), 0, None, span))
    return in_a_row(row, span)


class _ObjectGraph:
    """The row of members of a shape that counts them, or of which none is required."""

    def __init__(self, shape: Objects, name: str, owner: Later, writing: Writing) -> None:
        self._shape = shape
        self._name = name
        self._owner = owner
        self._writing = writing
        self._pairs = list(shape.properties.items())
        #: As many are told apart: all up to the most allowed, else up to the least.
        self._told_apart = max(1, shape.low) if shape.high is None else max(1, shape.high)
        self._written: dict[tuple[str, Later], tuple[Expression, ...]] = {}
        self._all_met = (1 << len(shape.some)) - 1

    def edges(self, state: _State) -> Iterator[tuple[Expression | None, _State]]:
        """The members that may come next, or none where one may be left out."""
        place, count, met = state
        full = self._shape.high is not None and count >= self._shape.high
        if place < len(self._pairs):
            name, later = self._pairs[place]
            if not full:
                for more, held in self._meeting(met, name, later):
                    pair = self._pair(name, held)
                    yield self._read(state, pair), self._after(state, 1, more)
            if name not in self._shape.required:
                yield None, (place + 1, count, met)
        elif not full:
            for names, later in self._shape.extras:
                for more, held in self._meeting(met, names, later):
                    for key in self._writing.strings(self._names_of(names, more), later.span):
                        pair = self._writing.pair(key, held, held.span)
                        yield self._read(state, pair), self._after(state, 0, more)

    def _pair(self, name: str, held: Later) -> tuple[Expression, ...]:
        """A declared member, written once however many states have it."""
        pair = self._written.get((name, held))
        if pair is None:
            pair = self._written[name, held] = self._writing.member(name, held, self._owner)
        return pair

    def _read(self, state: _State, pair: tuple[Expression, ...]) -> Expression:
        comma = [self._writing.spacing.comma] if state[1] else []
        return in_a_row([*comma, *pair], self._owner.span)

    def _after(self, state: _State, further: int, more: int) -> _State:
        """The state behind a member that meets some more conditions."""
        place, count, met = state
        return place + further, min(count + 1, self._told_apart), met | more

    def _meeting(self, met: int, name: str | Texts, later: Later) -> Iterator[tuple[int, Later]]:
        """The conditions a member may meet that are open, and its values then.

        A member is also read as one that meets fewer than it does: that accepts nothing more.
        """
        could = [
            (1 << number, held)
            for number, (names, held) in enumerate(self._shape.some)
            if not met >> number & 1
            and (names.contains(name) if isinstance(name, str) else not (names & name).is_empty)
        ]
        if not could:
            yield 0, later
            return
        for size in range(len(could) + 1):
            for chosen in combinations(could, size):
                both = later
                for _, held in chosen:
                    both = self._writing.algebra.both(both, held)
                more = sum(bit for bit, _ in chosen)
                if not is_nothing(both.values):
                    yield more, both

    def _names_of(self, names: Texts, more: int) -> Texts:
        """Of names that are not declared those that meet conditions."""
        for number, (those, _) in enumerate(self._shape.some):
            if more >> number & 1:
                names = names & those
        return names

    def is_final(self, state: _State) -> bool:
        place, count, met = state
        return place == len(self._pairs) and count >= self._shape.low and met == self._all_met

    def name_of(self, state: _State) -> str:
        before = self._pairs[state[0] - 1][0] if state[0] else "start"
        return f"{self._name}_after_{before}"
