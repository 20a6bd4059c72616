"""Writes objects as expressions.

Members come in declared order, the optional ones may be left out, and names that are not
declared come last, in any order. Such a name may stand there twice: to exclude that a machine would
have to remember every name it read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from workbench.schema.member_rows import write_graph
from workbench.schema.normal_form import LazySet, Objects, is_empty
from workbench.schema.string_sets import StringSet
from workbench.schema.write_values import RuleWriter, choice, has_no_value, optional, sequence
from workbench.syntax.grammar_tree import Expression, Repetition

#: The most conditions on some member of which every set is told apart.
_MOST_CONDITIONS = 5

#: Of a graph that counts: the member it comes to, how many were written, and which of the
#: conditions on ``some`` member are met, a bit each.
_State = tuple[int, int, int]
#: A bit for each condition, and names and values that meet them.
_Meeting = tuple[int, StringSet, LazySet]


def object_expression(
    shape: Objects, name: str, owner: LazySet, writer: RuleWriter
) -> Expression | None:
    """The texts of the objects of a shape of ``owner``; ``name`` begins the names of further rules.

    None where there are none, which not every shape shows before.

    Raises: BuildError, LimitError.
    """
    span = owner.span
    if shape.undeclared:
        shape = _unordered(shape, writer)
    if not shape.properties and not shape.extras:
        return writer.bracketed(b"{}", None, True, span)
    if shape.required and not (shape.some or shape.low or shape.high is not None):
        return writer.bracketed(b"{}", _row(shape, owner, writer), False, span)
    graph = _ObjectGraph(shape, name, owner, writer)
    inside, may_be_empty = write_graph(graph, (0, 0, 0), writer, owner.node)
    return writer.bracketed(b"{}", inside, may_be_empty, span)


def _unordered(shape: Objects, writer: RuleWriter) -> Objects:
    """The shape with names that no schema declares among the others, in any order.

    That one of them is required is one more condition on some member; there is a rule for every
    set of conditions that are met, so many such names stay in a row.
    """
    required = shape.required & shape.undeclared
    if len(required) + len(shape.some) > _MOST_CONDITIONS:
        return shape
    names = [(StringSet.of([name]), shape.properties[name]) for name in shape.properties
             if name in shape.undeclared]  # fmt: skip
    conditions = [((StringSet.of([name]), writer.algebra.anything),) for name in sorted(required)]
    declared = {
        name: held for name, held in shape.properties.items() if name not in shape.undeclared
    }
    return replace(
        shape,
        properties=declared,
        required=shape.required - required,
        extras=(*names, *shape.extras),
        some=(*shape.some, *conditions),
        undeclared=frozenset(),
    )


def _row(shape: Objects, owner: LazySet, writer: RuleWriter) -> Expression:
    """One member after the other.

    The first required one has no comma; who comes before it brings one behind, who comes after it
    brings one before.
    """
    comma, span = writer.spacing.comma, owner.span
    row: list[Expression] = []
    is_first = True
    for name, lazy in shape.properties.items():
        pair = writer.member(name, lazy, owner)
        if name not in shape.required:
            parts = [*pair, comma] if is_first else [comma, *pair]
            row.append(optional(sequence(parts, span), span))
        else:
            row += pair if is_first else [comma, *pair]
            is_first = False
    extras = [
        sequence([comma, *pair], span)
        for names, lazy in shape.extras
        for pair in writer.other(names, lazy, owner)
    ]
    if extras:
        row.append(Repetition(choice(extras, span), 0, None, span))
    return sequence(row, span)


class _ObjectGraph:
    """The row of members of a shape that counts them, or of which none is required."""

    def __init__(self, shape: Objects, name: str, owner: LazySet, writer: RuleWriter) -> None:
        self._shape = shape
        self._name = name
        self._owner = owner
        self._writer = writer
        self._pairs = list(shape.properties.items())
        self._texts = [StringSet.of([name]) for name in shape.properties]
        #: As many are told apart: all up to the most allowed, else up to the least.
        self._told_apart = max(1, shape.low) if shape.high is None else max(1, shape.high)
        self._written: dict[tuple[str, LazySet], tuple[Expression, ...]] = {}
        self._all_met = (1 << len(shape.some)) - 1
        self._meetings: dict[_Meeting, list[_Meeting]] = {}

    def edges(self, state: _State) -> Iterator[tuple[Expression | None, _State]]:
        """The members that may come next, or none where one may be left out."""
        place, count, met = state
        full = self._shape.high is not None and count >= self._shape.high
        if place < len(self._pairs):
            name, lazy = self._pairs[place]
            if not full:
                for more, _, held in self._meeting(met, self._texts[place], lazy):
                    pair = self._pair(name, held)
                    yield self._read(state, pair), self._after(state, 1, more)
            if name not in self._shape.required:
                yield None, (place + 1, count, met)
        elif not full:
            for names, lazy in self._shape.extras:
                for more, those, held in self._meeting(met, names, lazy):
                    for pair in self._writer.other(those, held, self._owner):
                        yield self._read(state, pair), self._after(state, 0, more)

    def _pair(self, name: str, held: LazySet) -> tuple[Expression, ...]:
        """A declared member, written once however many states have it."""
        pair = self._written.get((name, held))
        if pair is None:
            pair = self._written[name, held] = self._writer.member(name, held, self._owner)
        return pair

    def _read(self, state: _State, pair: tuple[Expression, ...]) -> Expression:
        comma = [self._writer.spacing.comma] if state[1] else []
        return sequence([*comma, *pair], self._owner.span)

    def _after(self, state: _State, further: int, more: int) -> _State:
        """The state behind a member that meets some more conditions."""
        place, count, met = state
        return place + further, min(count + 1, self._told_apart), met | more

    def _meeting(self, met: int, names: StringSet, lazy: LazySet) -> list[_Meeting]:
        """The conditions a member may meet that are open, with its names and its values then.

        Where it may meet one or not, it is also read as one that does not: that accepts nothing
        more. A required name that was there is not there again.
        """
        if not self._shape.some:
            return [(0, names, lazy)]
        found = self._meetings.get((met, names, lazy))
        if found is None:
            found = self._meetings[met, names, lazy] = list(self._met(met, names, lazy))
        return found

    def _met(self, met: int, names: StringSet, lazy: LazySet) -> Iterator[_Meeting]:
        intersection, sure = self._writer.algebra.intersection, 0
        could: list[list[_Meeting]] = []
        for number, pairs in enumerate(self._shape.some):
            shared = [(1 << number, those & names, held) for those, held in pairs]
            is_all = any(
                those.words is not None
                and those.words == names.words
                and intersection(lazy, held) is lazy
                for _, those, held in shared
            )
            if met >> number & 1:
                if is_all and len(pairs) == 1 and len(pairs[0][0].words or ()) == 1:
                    return
            elif is_all:
                sure |= 1 << number
            else:
                could.append([one for one in shared if not is_empty(one[1])])
        chosen = [(sure, names, lazy)]
        for options in could:
            for (more, its_names, its_values), (bit, those, held) in product(chosen[:], options):
                if not is_empty(common := its_names & those):
                    chosen.append((more | bit, common, intersection(its_values, held)))
                self._writer.clock.check()
        for one in chosen:
            if one[2] is lazy or not has_no_value(one[2].values):
                yield one

    def is_final(self, state: _State) -> bool:
        place, count, met = state
        return place == len(self._pairs) and count >= self._shape.low and met == self._all_met

    def name_of(self, state: _State) -> str:
        place = state[0]
        return f"{self._name}_after_{self._pairs[place - 1][0]}" if place else f"{self._name}_more"
