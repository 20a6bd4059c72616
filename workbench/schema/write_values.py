"""Writes sets of JSON values as expressions of a grammar.

Leaves (strings, numbers, true, false, null) are written inline, with the span of their subschema.
Arrays and objects are rules, one for each set. A queue of sets whose rules are not yet written
allows schemas to refer to themselves and to nest to any depth.

A shape may turn out to have no instance only when its members are counted, after rules that call
it have been written; ``productive_rules`` then removes the rules without texts.
"""

from __future__ import annotations

import json
import re
from collections import Counter, deque
from collections.abc import Callable, Collection, Hashable, Mapping, Set
from collections.abc import Sequence as Sequences
from dataclasses import replace
from fractions import Fraction
from itertools import islice

from workbench.automata import graphs
from workbench.base.dfa import Dfa
from workbench.base.errors import LimitError
from workbench.base.limits import Limits
from workbench.base.source import Span
from workbench.pushdown.cfg import derives, least
from workbench.schema.algebra.subschemas import LEAVES_OF, Algebra
from workbench.schema.counting import (
    BLOCK,
    MAX_COUNTED_SINGLY,
    BlockCounter,
    PatternCounter,
    character_counter,
    long_string,
    needs_blocks,
)
from workbench.schema.intervals import Interval
from workbench.schema.normal_form import LazySet, Values
from workbench.schema.numbers import NumberSet
from workbench.schema.schema_options import Spacing, Spellings
from workbench.schema.schema_reader import Node, at_keyword, first_keyword, unsupported
from workbench.schema.string_machines import Content
from workbench.schema.string_sets import StringSet
from workbench.syntax.grammar_tree import (
    Automaton,
    Choice,
    Expression,
    Literal,
    Mark,
    Nonterminal,
    Repetition,
    Rule,
    Sequence,
    calls,
    choice,
    sequence,
)
from workbench.syntax.regex.tree import outermost

#: The most strings or numbers that a label lists.
_MAX_LISTED = 3


def texts_label(texts: StringSet, lazy: LazySet | None = None) -> str:
    """``string``, ``string of 1 to 5 characters``, ``date``; ``lazy`` is the set it belongs to."""
    if texts.words is not None:
        return _list_text(sorted(texts.words), _quoted)
    label = "string"
    members = (lazy and lazy.node.members) or {}
    if texts.content is not None and "format" in members:
        label = str(members["format"].value)
    if texts.content is not None and "pattern" in members:
        label += f" with {members['pattern'].value}"
    if texts.content is None or not {"minLength", "maxLength"}.isdisjoint(members):
        label += _lengths(texts.low, texts.high)
    if texts.without:
        label += f" but {_list_text(sorted(texts.without), _quoted)}"
    return label


def _lengths(low: int, high: int | None) -> str:
    if high is None:
        return f" of {_characters(low)} or more" if low else ""
    if low == high:
        return f" of {_characters(high)}"
    return f" of {low:,} to {_characters(high)}" if low else f" of at most {_characters(high)}"


def _characters(count: int) -> str:
    return f"{count:,} character{'' if count == 1 else 's'}"


def numbers_label(numbers: NumberSet) -> str:
    """``number``, ``integer from 0 to 10``, ``multiple of 5``, ``1, 2 or 3``."""
    points = [interval.point for interval in numbers.intervals]
    if all(point is not None for point in points):
        return _list_text([_number(point) for point in points if point is not None])
    return _list_text([_interval_label(interval) for interval in numbers.intervals])


def _interval_label(interval: Interval) -> str:
    if interval.point is not None:
        return _number(interval.point)
    label = "number"
    if not interval.grid.is_everything:
        whole = interval.grid.step == 1 and interval.grid.period == 1 and not interval.grid.between
        multiple = len(interval.grid.members) == 1 and not interval.grid.between
        step = interval.grid.step * interval.grid.period
        label = "integer" if whole else f"multiple of {_number(step)}" if multiple else "number"
    low, high = interval.low, interval.high
    if low is not None:
        label += f" above {_number(low.number)}" if low.after else f" from {_number(low.number)}"
    if high is not None:
        label += f" to {_number(high.number)}" if high.after else f" below {_number(high.number)}"
    return label


def _number(number: Fraction) -> str:
    """A number as a JSON numeral; JSON's numbers are decimal fractions."""
    return str(number) if number.denominator == 1 else f"{float(number):g}"


#: Writes a string in JSON.
_quoted = json.JSONEncoder(ensure_ascii=False).encode


def _list_text(words: Collection[str], write: Callable[[str], str] = str) -> str:
    """``a``, ``a or b``, ``a, b, c, …``."""
    shown = [*map(write, islice(words, _MAX_LISTED))]
    if len(words) > _MAX_LISTED:
        return ", ".join([*shown, "…"])
    return " or ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)


def productive_rules(rules: Sequences[Rule], start: str) -> list[Rule]:
    """The rules reachable from the start that derive a text; empty if the start derives none."""
    bodies = {rule.name: rule.body for rule in rules}
    while True:
        # no automaton of a leaf is empty: sets without strings or numbers are not written
        alive = least(bodies, lambda body, names: derives(body, names, lambda _: True))
        impossible = [name for name in alive if not _is_possible(bodies[name], alive)]
        if not impossible:
            break
        for name in impossible:
            del bodies[name]
    productive = {
        rule.name: replace(rule, body=body)
        for rule in rules
        if rule.name in bodies and (body := _productive(rule.body, alive)) is not None
    }
    reached = graphs.reachable(
        [start] if start in productive else [],
        lambda name: [c.name for c in calls(productive[name].body)],
    )
    return [rule for name, rule in productive.items() if name in reached]


def _is_possible(body: Expression, alive: Set[str]) -> bool:
    """Whether a rule has a text with the elements of its permutation phrase that have one."""
    marks = outermost(body, Mark)
    if not marks:
        return True
    part = _productive(body, alive)
    numbers = [mark.number for mark in outermost(part, Mark)] if part else []
    return marks[0].phrase.restricted(numbers).is_possible


def _productive(body: Expression, alive: Set[str]) -> Expression | None:
    """The part of an expression that derives a text; None if there is none."""
    match body:
        case Nonterminal(name=name):
            return body if name in alive else None
        case Sequence(items=items, span=span):
            parts = [part for item in items if (part := _productive(item, alive)) is not None]
            row = tuple(part for part in parts if part != Sequence((), part.span))
            return Sequence(row, span) if len(parts) == len(items) else None
        case Choice(options=options, span=span):
            parts = [part for option in options if (part := _productive(option, alive)) is not None]
            return Choice(tuple(parts), span) if len(parts) > 1 else parts[0] if parts else None
        case Repetition(item=item, low=low, span=span):
            part = _productive(item, alive)
            if part is not None:
                return replace(body, item=part)
            return Sequence((), span) if low == 0 else None
        case _:
            return body


#: A finite set of at most this many strings is written as literals; a larger one as an automaton.
_MAX_LITERALS = 64
#: The levels at which a set that contains itself is written, each with its own indentation: the
#: texts of all levels together are not context-free. Deeper lines have any number of levels.
MAX_LEVELS = 8
#: At most this many leaves of one set are written inline; more are a separate rule.
_MAX_INLINE_LEAVES = 8
#: The most states of all member graphs together; each one is at most one rule.
_MAX_GRAPH_STATES = 5_000
#: Keywords of numbers, those with large automata first.
_NUMERIC = ("multipleOf", "maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum")
#: Keywords whose rules count members or record which ones have occurred, and what makes the rules
#: fewer.
_FEWER: dict[str, str] = {
    "minProperties": "lower it",
    "maxProperties": "lower it",
    "contains": "lower minContains and maxContains",
    "oneOf": "give a property such as 'type' another value in each option, and require it",
    "not": "require fewer properties in it",
    "if": "require fewer properties in it",
    "dependentRequired": "name fewer properties",
}
#: Strings that are never escaped: printable ASCII without quotes and backslashes.
_PLAIN = re.compile(r"[ !#-\[\]-~]*")
#: Suffixes of the names of rules for items and for values of undeclared properties.
_PARTS = {"items": "_item", "additionalItems": "_item", "additionalProperties": "_value"}
#: Characters that are not allowed in the name of a rule in every notation.
_NO_NAME = re.compile(r"\W+", re.ASCII)


class RuleWriter:
    """Writes the rules of a schema."""

    def __init__(self, algebra: Algebra, spacing: Spacing, limits: Limits) -> None:
        self.algebra = algebra
        #: The punctuation of the brackets that are written.
        self.spacing = spacing
        #: The number of brackets around a value inside these, which indentation depends on; None
        #: for any number, and if lines are not indented.
        self.level: int | None = None if spacing.unit is None else 0
        self.clock = limits.clock()
        self.rules: list[Rule] = []
        #: Sets whose rules have a name but are not yet written.
        self.waiting: deque[tuple[str, LazySet, int | None]] = deque()
        #: Whether a written rule has no text.
        self.without_text = False
        self._names: dict[str, int] = {rule.name: 1 for rule in spacing.rules}
        #: The name of each set's rule, by the identity of ``LazySet.raw``, which a ``$ref`` and its
        #: target share, and the level.
        self._calls: dict[tuple[int, int | None], str] = {}
        #: The levels at which each set is written.
        self._levels = Counter[int]()
        #: The leaves of each of ``LEAVES_OF`` that are written, by the identity of the values.
        self._typed: dict[int, list[Expression]] = {id(kind): [] for kind in LEAVES_OF.values()}
        #: The expressions of unique items, by what determines them.
        self.unique_items: dict[Hashable, Expression] = {}
        #: The property by which items are distinguished, for the set of each class of items.
        self.distinguished: dict[LazySet, str] = {}
        #: The rules of objects, and of the members before and after such a property, by what
        #: determines them: several sets and classes have the same ones.
        self.shared: dict[Hashable, str] = {}
        #: The declared members of objects, by name, set and place: shapes share most of them.
        self._members: dict[Hashable, tuple[Expression, ...]] = {}
        self._counted = 0
        #: The rules of blocks, by name, character class and level.
        self._blocks: dict[tuple[str, Content | None, int], str] = {}
        #: The automata of this schema, by set.
        self._machines: dict[StringSet, Dfa] = {}
        self._limits = limits
        self._any_spelling = algebra.options.spellings == Spellings.ANY
        #: The expressions of long strings of a pattern.
        self._long: dict[StringSet, Expression | None] = {}

    def of(self, lazy: LazySet, span: Span | None = None) -> Expression:
        """The expression of a set: its leaves or a call of its rule, with its span or ``span``."""
        raw, span, level = lazy.raw, lazy.span if span is None else span, self.level
        name = self._calls.get((id(raw), level))
        if name is not None:
            return Nonterminal(name, span)
        values = lazy.values
        is_leaf = not values.arrays and not values.objects
        if level is not None and not is_leaf:
            self._levels[id(raw)] += 1
            if self._levels[id(raw)] > MAX_LEVELS:
                level = None
                if name := self._calls.get((id(raw), level)):
                    return Nonterminal(name, span)
        if is_leaf:
            leaves = self.leaves(lazy, span)
            if len(leaves) <= _MAX_INLINE_LEAVES:
                return choice(leaves, span)
        name = self._calls[id(raw), level] = self.new_name(self._name_of(lazy))
        if is_leaf:
            self.rule(name, choice(leaves, span), span)
        else:
            self.waiting.append((name, lazy, level))
        return Nonterminal(name, span)

    def _name_of(self, lazy: LazySet) -> str:
        """The name of the rule of a set: of its property, or of the set that it is an item of."""
        if lazy.raw is self.algebra.all_values:
            return "value"
        return lazy.name + _PARTS.get(str(lazy.node.step), "")

    def leaves(self, lazy: LazySet, span: Span) -> list[Expression]:
        """The expressions of the strings, numbers, booleans and null of a set."""
        values = lazy.values
        typed = self._typed.get(id(values))
        if typed:
            return [_at(leaf, span) for leaf in typed]
        expressions: list[Expression] = [
            Literal(b"true" if boolean else b"false", span)
            for boolean in sorted(values.booleans, reverse=True)
        ]
        if values.null:
            expressions.append(Literal(b"null", span))
        if not values.numbers.is_empty:
            try:
                numbers = values.numbers
                if self._any_spelling:
                    numbers = replace(numbers, digits_only=False)
                machine = numbers.machine(self._limits)
            except LimitError as error:
                raise at_keyword(error, first_keyword(lazy.node, _NUMERIC)) from None
            expressions.append(Automaton(machine, numbers_label(values.numbers), span))
        if not values.texts.is_empty:
            expressions += self.strings(values.texts, span, lazy)
        if typed is not None:
            typed += expressions
        return expressions

    def strings(
        self, texts: StringSet, span: Span, lazy: LazySet | None = None
    ) -> list[Expression]:
        """The JSON literals, with quotes, of a set of strings; ``lazy`` is the set around it.

        Raises: LimitError with the JSON pointer of the bound, if their automaton is too large.
        """
        any_spelling = self._any_spelling
        texts = texts.in_any_spelling if any_spelling else texts
        words = None if any_spelling else texts.words
        if words is not None and len(words) <= _MAX_LITERALS and all(map(_PLAIN.fullmatch, words)):
            return [Literal(b'"%b"' % word.encode(), span) for word in sorted(words)]
        if max(texts.low, texts.high or 0) > MAX_COUNTED_SINGLY and texts.only_counts:
            kind = texts.content
            counting = character_counter(
                texts, span, lambda level: self.block("characters", counting, level, kind)
            )
            return [long_string(texts.low, texts.high, counting)]
        try:
            if needs_blocks(texts):
                return self._long_strings(texts, span)
            machine = self._machines.get(texts)
            if machine is None:
                machine = texts.machine(self._limits, any_spelling=any_spelling)
                self._machines[texts] = machine
        except LimitError as error:
            if lazy is None:
                raise
            keyword = first_keyword(lazy.node, ("maxLength", "minLength", "pattern"))
            raise at_keyword(error, keyword) from None
        return [Automaton(machine, texts_label(texts, lazy), span)]

    def _long_strings(self, texts: StringSet, span: Span) -> list[Expression]:
        """The long strings of a pattern, written once for each set."""
        if texts not in self._long:
            counter = PatternCounter(texts, span, self, self._limits)
            self._long[texts] = counter.expression()
        rule = self._long[texts]
        return [] if rule is None else [rule]

    def block(
        self, name: str, counting: BlockCounter, level: int, kind: Content | None = None
    ) -> str:
        """The name of the rule of a block, written on first use."""
        rule_name = self._blocks.get((name, kind, level))
        if rule_name is None:
            rule_name = self._blocks[name, kind, level] = self.new_name(f"{BLOCK**level}_{name}")
            self.rule(rule_name, counting.body(level), counting.span)
        return rule_name

    def member(
        self, name: str, lazy: LazySet, places: Mapping[str, Node]
    ) -> tuple[Expression, ...]:
        """A declared name of an object, a colon and a value; ``places`` as ``declared_in``."""
        declared = places.get(name)
        key = name, lazy, declared, self.level
        member = self._members.get(key)
        if member is None:
            if declared is not None and declared.document.referred_from is None:
                place, span = declared.name_span, declared.span
            else:
                place = span = lazy.span
            if _PLAIN.fullmatch(name) and not self._any_spelling:
                text: Expression = Literal(b'"%b"' % name.encode(), place)
            else:
                text = choice(self.strings(StringSet.of([name]), place), place)
            member = self._members[key] = self.pair(text, lazy, span)
        return member

    def other(
        self, names: StringSet, lazy: LazySet, owner: LazySet
    ) -> list[tuple[Expression, ...]]:
        """An undeclared name from a set, a colon and a value."""
        origin = owner if lazy.raw is self.algebra.all_values else lazy  # no subschema
        span = origin.span
        return [self.pair(name, lazy, span) for name in self.strings(names, span)]

    def pair(self, names: Expression, lazy: LazySet, span: Span) -> tuple[Expression, ...]:
        """A name, a colon and a value of a set."""
        return (names, self.spacing.colon, self.of(lazy, span))

    def bracketed(
        self, brackets: bytes, inside: Expression | None, may_be_empty: bool, span: Span
    ) -> Expression | None:
        """The contents in brackets, with whitespace; ``inside`` is None if only empty ones exist.

        None if neither contents nor empty brackets are possible.
        """
        if inside is None and not may_be_empty:
            return None
        blank, before, after = self.spacing.blank, self.spacing.before, self.spacing.after
        row: list[Expression | None] = [Literal(brackets[:1], span), blank]
        if inside is not None:
            items = inside.items if isinstance(inside, Sequence) else (inside,)
            held = [part for part in (before, *items, after) if part is not None]
            row += [optional(sequence(held, span), span)] if may_be_empty else held
        row.append(Literal(brackets[1:], span))
        return Sequence(tuple(part for part in row if part is not None), span)

    def enter(self, level: int | None, span: Span) -> None:
        """Write what is inside brackets of a level from now on; ``span`` is that of the set."""
        self.spacing = self.spacing.inside(level, span)
        self.level = None if level is None else level + 1

    def rule(self, name: str, body: Expression, span: Span) -> None:
        """Add a rule with a name returned by ``new_name``."""
        self.rules.append(Rule(name, body, span, span))

    def count_state(self, owner: Node) -> None:
        """Count one more state of a member graph.

        Raises: BuildError past ``_MAX_GRAPH_STATES``; LimitError past the time limit.
        """
        self._counted += 1
        self.clock.check()
        if self._counted > _MAX_GRAPH_STATES:
            keyword = first_keyword(owner, _FEWER)
            raise unsupported(
                keyword,
                f"to distinguish its members takes more than {_MAX_GRAPH_STATES:,} rules",
                _FEWER.get(str(keyword.step), "declare fewer properties"),
            )

    def new_name(self, wanted: str) -> str:
        """An unused name of letters, digits and underscores."""
        name = wanted
        if not (wanted.isascii() and wanted.isidentifier()) or "_" in (wanted[0], wanted[-1]):
            name = _NO_NAME.sub("_", wanted).strip("_") or "value"
        if name[0].isdigit():
            name = f"_{name}"
        count = self._names.get(name, 0)
        while count and f"{name}_{count + 1}" in self._names:
            count += 1
        self._names[name] = count + 1
        if not count:
            return name
        self._names[f"{name}_{count + 1}"] = 1
        return f"{name}_{count + 1}"


def declared_in(owner: LazySet) -> Mapping[str, Node]:
    """The ``properties`` in the subschema of a set, by name."""
    declared = (owner.node.members or {}).get("properties")
    return (declared and declared.members) or {}


def _at(leaf: Expression, span: Span) -> Expression:
    """A leaf in another place."""
    if isinstance(leaf, Automaton):
        return Automaton(leaf.machine, leaf.label, span)
    assert isinstance(leaf, Literal), "the values of a type are automata and literals"
    return Literal(leaf.value, span)


def optional(item: Expression, span: Span) -> Expression:
    """An item or nothing."""
    return Repetition(item, 0, 1, span)


def has_no_value(values: Values) -> bool:
    """Whether a simplified set is empty."""
    return not (
        values.null
        or values.booleans
        or values.arrays
        or values.objects
        or not values.numbers.is_empty
        or not values.texts.is_empty
    )
