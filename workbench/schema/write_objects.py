"""Writes objects as expressions.

Members are written in declared order, optional ones may be missing, and undeclared names follow in
any order. An undeclared name may occur twice: to exclude that, an automaton would need to store
every name that it has read.

With ``Order.ANY`` members are in any order, undeclared ones among them: a permutation phrase
(``syntax.permutation_phrases``).
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as Row
from itertools import product, zip_longest

from workbench.base.source import Span, replaced
from workbench.schema.member_graphs import write_graph
from workbench.schema.normal_form import LazySet, Objects
from workbench.schema.schema_options import Order
from workbench.schema.string_sets import StringSet
from workbench.schema.write_phrases import bracketed_phrase
from workbench.schema.write_values import RuleWriter, declared_in, has_no_value, optional
from workbench.syntax.grammar_tree import (
    Expression,
    Nonterminal,
    Repetition,
    Sequence,
    choice,
    sequence,
)
from workbench.syntax.permutation_phrases import Element, PermutationPhrase

#: The most conditions of ``Objects.some`` for which undeclared required names are added to them.
_MAX_CONDITIONS = 5

#: More declared names are written in blocks of ``_BLOCK``.
_MAX_IN_A_ROW = 128
_BLOCK = 16

#: Up to this many members before or after a property that distinguishes items are written in place.
_MAX_IN_PLACE = 3

#: The texts with at least one member of a part of an object, None if none, and whether there may be
#: no member.
_Part = tuple[Expression | None, bool]

#: State of an object graph: the index of the next declared member, the number of members read, and
#: the bit set of the conditions of ``some`` that are satisfied.
_State = tuple[int, int, int]
#: A bit set of conditions, and the names and values that satisfy them.
_Satisfying = tuple[int, StringSet, LazySet]


def object_expression(
    shape: Objects, name: str, owner: LazySet, writer: RuleWriter
) -> Expression | None:
    """The texts of the objects of a shape of ``owner``; ``name`` is the prefix of further rules.

    None if there turn out to be none.

    Raises: BuildError; LimitError.
    """
    span = owner.span
    in_any_order = writer.algebra.options.order == Order.ANY
    if shape.undeclared and not in_any_order:
        shape = _unordered(shape, writer)
    if not shape.properties and not shape.extras:
        return writer.bracketed(b"{}", None, True, span)
    counts = _counts(shape)
    if in_any_order and (len(shape.properties) > 1 or shape.extras):
        return _AnyOrder(shape, name, owner, writer).expression()
    if len(shape.properties) > _MAX_IN_A_ROW and not counts:
        inside, may_be_empty = _in_blocks(shape, name, owner, writer)
    elif shape.required and not (counts or shape.low):
        inside, may_be_empty = _row(shape, name, owner, writer), False
    elif not (counts or shape.required):
        inside, may_be_empty = _optional_members(shape, name, owner, writer)
    else:
        graph = _ObjectGraph(shape, name, owner, writer)
        inside, may_be_empty = write_graph(graph, (0, 0, 0), writer, owner.node)
    return writer.bracketed(b"{}", inside, may_be_empty, span)


def _unordered(shape: Objects, writer: RuleWriter) -> Objects:
    """Moves names that no schema declares to the undeclared names, so that they have no order.

    A required one becomes a condition in ``some``. There is a rule for every set of satisfied
    conditions, so with too many of them all names have an order. A single one in a row of members
    stays in ``undeclared``, as the last property: ``_row`` writes undeclared members before it too.
    """
    required = shape.required & shape.undeclared
    if len(required) + len(shape.some) > _MAX_CONDITIONS:
        return replaced(shape, undeclared=frozenset())
    is_row = not _counts(shape) and len(shape.properties) <= _MAX_IN_A_ROW
    kept = required if len(required) == 1 and is_row else frozenset[str]()
    required -= kept
    names = [(StringSet.of([name]), shape.properties[name]) for name in shape.properties
             if name in shape.undeclared and name not in kept]  # fmt: skip
    conditions = [((StringSet.of([name]), writer.algebra.anything),) for name in sorted(required)]
    declared = {
        name: held for name, held in shape.properties.items() if name not in shape.undeclared
    }
    return replaced(
        shape,
        properties=declared | {name: shape.properties[name] for name in kept},
        required=shape.required - required,
        extras=(*names, *shape.extras),
        some=(*shape.some, *conditions),
        undeclared=kept,
    )


def _counts(shape: Objects) -> bool:
    """Whether the members of a shape are counted, or have conditions."""
    return bool(shape.some) or shape.low > 1 or shape.high is not None


#: The name of a member; None is any number of undeclared ones.
_Step = str | None


def _row(shape: Objects, name: str, owner: LazySet, writer: RuleWriter) -> Expression:
    """The members of an object with a required property.

    Where items are distinguished by a property, the members before it and those after it are rules.
    """
    steps: list[_Step] = [*shape.properties, None]
    if shape.undeclared:
        steps.insert(-2, None)
    middle = writer.distinguished.get(owner)
    if middle not in shape.required:
        return sequence(_members(shape, steps, True, owner, writer), owner.span)
    index = steps.index(middle)
    is_first = shape.required.isdisjoint(steps[:index])
    row = [
        *_shared_members(shape, steps[:index], True, f"{name}_before", owner, writer),
        *_members(shape, [middle], is_first, owner, writer),
        *_shared_members(shape, steps[index + 1 :], False, f"{name}_after", owner, writer),
    ]
    return sequence(row, owner.span)


def _members(
    shape: Objects, steps: Row[_Step], is_first: bool, owner: LazySet, writer: RuleWriter
) -> list[Expression]:
    """Members of an object with a required property; ``is_first``: no required one is before them.

    The first required member has no comma; members before it have one after them, members after it
    have one before them.
    """
    comma, span, places = writer.spacing.comma, owner.span, declared_in(owner)
    row: list[Expression] = []
    for name in steps:
        if name is None:
            pairs = [
                member
                for those, lazy in shape.extras
                for member in writer.other(those, lazy, owner)
            ]
        elif name in shape.undeclared:
            pairs = writer.other(StringSet.of([name]), shape.properties[name], owner)
        else:
            pairs = [writer.member(name, shape.properties[name], places)]
        if name in shape.required:
            (pair,) = pairs
            row += pair if is_first else [comma, *pair]
            is_first = False
        elif pairs:
            parts = [[*pair, comma] if is_first else [comma, *pair] for pair in pairs]
            option = choice([sequence(part, span) for part in parts], span)
            row.append(Repetition(option, 0, None if name is None else 1, span))
    return row


def _shared_members(
    shape: Objects, steps: Row[_Step], is_first: bool, name: str, owner: LazySet, writer: RuleWriter
) -> list[Expression]:
    """The members before a property that distinguishes items, or those after it: a rule, if many.

    Equal ones of several shapes are the same rule.
    """
    held = tuple((step and shape.properties[step], step in shape.required) for step in steps)
    extras = shape.extras if None in steps else ()
    key = owner.node, is_first, (*steps,), held, extras, writer.level
    if key not in writer.shared:
        row = _members(shape, steps, is_first, owner, writer)
        if len(row) <= _MAX_IN_PLACE:
            return row
        writer.shared[key] = writer.new_name(name)
        writer.rule(writer.shared[key], sequence(row, owner.span), owner.span)
    return [Nonterminal(writer.shared[key], owner.span)]


def _optional_members(shape: Objects, name: str, owner: LazySet, writer: RuleWriter) -> _Part:
    """The members of an object without a required property, counts and conditions.

    Those after each member, at least one of them, are a rule: they follow the member and a comma,
    or the member is missing.
    """
    comma, span, places = writer.spacing.comma, owner.span, declared_in(owner)
    pairs = [writer.member(key, lazy, places) for key, lazy in shape.properties.items()]
    others = [pair for names, lazy in shape.extras for pair in writer.other(names, lazy, owner)]
    further = choice([Sequence((comma, *pair), span) for pair in others], span)
    rest: Row[Expression] = [Repetition(further, 0, None, span)] if others else []
    firsts = [sequence([Sequence(pair, span), *rest], span) for pair in others]
    after = rest
    for index, (key, pair) in enumerate(zip([*shape.properties][::-1], pairs[::-1], strict=True)):
        if index:
            rule = writer.new_name(f"{name}_after_{key}")
            writer.rule(rule, choice(firsts, span), span)
            call = Nonterminal(rule, span)
            firsts, after = [call], [optional(Sequence((comma, call), span), span)]
        firsts.insert(0, Sequence((*pair, *after), span))
    return choice(firsts, span) if firsts else None, shape.low == 0


def _in_blocks(shape: Objects, name: str, owner: LazySet, writer: RuleWriter) -> _Part:
    """The members of an object with many declared ones.

    In a row, any later member may follow each one: a number of edges that grows with the square of
    the number of members. Here each block of members is a separate rule, and so is each half,
    quarter and so on of the blocks.
    """
    pairs = [*shape.properties.items()]
    blocks = [
        replaced(shape, properties=held, required=shape.required & held.keys(), extras=(), low=0)
        for start in range(0, len(pairs), _BLOCK)
        if (held := dict(pairs[start : start + _BLOCK]))
    ]
    if shape.extras:
        blocks.append(replaced(shape, properties={}, required=frozenset(), low=0))
    graphs = [_ObjectGraph(block, name, owner, writer) for block in blocks]
    parts = [write_graph(graph, (0, 0, 0), writer, owner.node) for graph in graphs]
    while len(parts) > 1:
        parts = [
            left if right is None else _follow(left, right, name, owner, writer)
            for left, right in zip_longest(parts[::2], parts[1::2])
        ]
    inside, may_be_empty = parts[0]
    return inside, may_be_empty and not shape.low


def _follow(left: _Part, right: _Part, name: str, owner: LazySet, writer: RuleWriter) -> _Part:
    """The members of one part, then those of another."""
    (first, first_optional), (second, second_optional) = left, right
    may_be_empty = first_optional and second_optional
    if (None, False) in (left, right):
        return None, False
    if first is None or second is None:
        return second if first is None else first, may_be_empty
    span = owner.span
    calls = [_call_rule(part, f"{name}_part", span, writer) for part in (first, second)]
    more = sequence([writer.spacing.comma, calls[1]], span)
    row = sequence([calls[0], optional(more, span) if second_optional else more], span)
    return choice([row, calls[1]] if first_optional else [row], span), may_be_empty


def _call_rule(part: Expression, wanted: str, span: Span, writer: RuleWriter) -> Expression:
    """The call of a rule of an expression."""
    if isinstance(part, Nonterminal):
        return part
    name = writer.new_name(wanted)
    writer.rule(name, part, span)
    return Nonterminal(name, span)


class _ObjectGraph:
    """The members of an object with counts or conditions, or without a required property."""

    def __init__(self, shape: Objects, name: str, owner: LazySet, writer: RuleWriter) -> None:
        self._shape = shape
        self._name = name
        self._owner = owner
        self._writer = writer
        self._places = declared_in(owner)
        self._pairs = list(shape.properties.items())
        self._texts = [StringSet.of([name]) for name in shape.properties]
        #: The number of members is counted up to the largest one, or up to the least one.
        self._max_counted = max(1, shape.low) if shape.high is None else max(1, shape.high)
        self._written: dict[tuple[str, LazySet], tuple[Expression, ...]] = {}
        self._all_satisfied = (1 << len(shape.some)) - 1
        self._satisfying_cache: dict[_Satisfying, list[_Satisfying]] = {}

    def edges(self, state: _State) -> Iterator[tuple[Expression | None, _State]]:
        """The possible next members; None for omitting an optional one."""
        index, count, satisfied = state
        full = self._shape.high is not None and count >= self._shape.high
        if index < len(self._pairs):
            name, lazy = self._pairs[index]
            if not full:
                for more, _, held in self._satisfying(satisfied, self._texts[index], lazy):
                    pair = self._pair(name, held)
                    yield self._read(state, pair), self._after(state, 1, more)
            if name not in self._shape.required:
                yield None, (index + 1, count, satisfied)
        elif not full:
            for names, lazy in self._shape.extras:
                for more, those, held in self._satisfying(satisfied, names, lazy):
                    for pair in self._writer.other(those, held, self._owner):
                        yield self._read(state, pair), self._after(state, 0, more)

    def _pair(self, name: str, held: LazySet) -> tuple[Expression, ...]:
        """A declared member, cached for all states."""
        if (name, held) not in self._written:
            self._written[name, held] = self._writer.member(name, held, self._places)
        return self._written[name, held]

    def _read(self, state: _State, pair: tuple[Expression, ...]) -> Expression:
        comma = [self._writer.spacing.comma] if state[1] else []
        return sequence([*comma, *pair], self._owner.span)

    def _after(self, state: _State, further: int, more: int) -> _State:
        """The state after a member that satisfies more conditions."""
        index, count, satisfied = state
        return index + further, min(count + 1, self._max_counted), satisfied | more

    def _satisfying(self, satisfied: int, names: StringSet, lazy: LazySet) -> list[_Satisfying]:
        """The sets of open conditions that a member may satisfy, with its names and values.

        A member that may satisfy a condition is also read as one that does not, which accepts no
        additional objects. A required name does not occur again.
        """
        if not self._shape.some:
            return [(0, names, lazy)]
        key = satisfied, names, lazy
        if key not in self._satisfying_cache:
            self._satisfying_cache[key] = list(self._options(*key))
        return self._satisfying_cache[key]

    def _options(self, satisfied: int, names: StringSet, lazy: LazySet) -> Iterator[_Satisfying]:
        intersection, sure = self._writer.algebra.intersection, 0
        could: list[list[_Satisfying]] = []
        for number, pairs in enumerate(self._shape.some):
            shared = [(1 << number, those & names, held) for those, held in pairs]
            is_all = self._always_satisfies(pairs, names, lazy)
            if satisfied >> number & 1:
                if is_all and _is_one_name(pairs):
                    return
            elif is_all:
                sure |= 1 << number
            else:
                could.append([pair for pair in shared if not pair[1].is_empty])
        chosen = [(sure, names, lazy)]
        for options in could:
            for (more, its_names, its_values), (bit, those, held) in product(chosen[:], options):
                if not (common := its_names & those).is_empty:
                    chosen.append((more | bit, common, intersection(its_values, held)))
                self._writer.clock.check()
        for option in chosen:
            if option[2] is lazy or not has_no_value(option[2].values):
                yield option

    def _always_satisfies(
        self, pairs: Row[tuple[StringSet, LazySet]], names: StringSet, lazy: LazySet
    ) -> bool:
        """Whether every member with one of the names and a value of the set is one of the pairs."""
        return any(
            (shared := those & names).words is not None
            and shared.words == names.words
            and self._writer.algebra.intersection(lazy, held) is lazy
            for those, held in pairs
        )

    def is_final(self, state: _State) -> bool:
        index, count, satisfied = state
        is_complete = index == len(self._pairs) and satisfied == self._all_satisfied
        return is_complete and count >= self._shape.low

    def name_of(self, state: _State) -> str:
        index = state[0]
        return f"{self._name}_after_{self._pairs[index - 1][0]}" if index else f"{self._name}_more"


def _is_one_name(pairs: Row[tuple[StringSet, LazySet]]) -> bool:
    """Whether a condition is satisfied by one name alone: a required undeclared one."""
    return len(pairs) == 1 and len(pairs[0][0].words or ()) == 1


class _AnyOrder(_ObjectGraph):
    """The members of an object in any order; each declared one occurs at most once.

    The conditions of its phrase are first that a declared name occurred, then those of ``some``.
    """

    def expression(self) -> Expression | None:
        """The object; None if it has no text."""
        elements: list[Element] = []
        pairs: list[tuple[Expression, ...]] = []
        for index, (name, lazy) in enumerate(self._pairs):
            for element, _, held in self._elements(self._texts[index], lazy, 1 << index):
                elements.append(element)
                pairs.append(self._pair(name, held))
        for names, lazy in self._shape.extras:
            for element, those, held in self._elements(names, lazy, 0):
                for pair in self._writer.other(those, held, self._owner):
                    elements.append(element)
                    pairs.append(pair)
        shape = self._shape
        phrase = PermutationPhrase(tuple(elements), self._required(), shape.low, shape.high)
        return bracketed_phrase(b"{}", phrase, pairs, self._owner.span, self._writer)

    def _elements(
        self, names: StringSet, lazy: LazySet, occurred: int
    ) -> Iterator[tuple[Element, StringSet, LazySet]]:
        """The ways to write a member; ``occurred`` is the condition of a declared name."""
        count = len(self._pairs)
        excluded_by = occurred
        for number, condition in enumerate(self._shape.some):
            if _is_one_name(condition) and self._always_satisfies(condition, names, lazy):
                excluded_by |= 1 << count + number
        for more, those, held in self._satisfying(0, names, lazy):
            yield Element(occurred | more << count, excluded_by), those, held

    def _required(self) -> int:
        """The conditions that must hold at the end."""
        names = [name for name, _ in self._pairs]
        required = sum(1 << names.index(name) for name in self._shape.required)
        return required | self._all_satisfied << len(names)
