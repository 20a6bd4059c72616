"""Types become the rules of constructor calls: ``Person(name="Ada", age=36)``.

In come Types, out comes a GrammarTree whose every text Python would evaluate to an instance:
keywords in declared order, those with a default may be left out, a space or none after commas
and colons, and no other white space. What ``repr`` writes is accepted, but for members of
enumerations: theirs, ``<Colour.RED: 1>``, is no Python. It was accepted at first, and the
embedded model wrote just that. ``fitting`` reads it all the same.

Source: Koo et al. 2024, §5.2.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from workbench.source import Span
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    GrammarTree,
    Literal,
    Nonterminal,
    Repetition,
    Rule,
    Sequence,
)
from workbench.typed.definitions import value_text
from workbench.typed.literals import scalar_rule, text_rule
from workbench.typed.types import (
    Definition,
    Dict,
    Enumeration,
    Field,
    Kind,
    Many,
    Member,
    Named,
    OneOf,
    Plain,
    Record,
    Scalar,
    Tuple,
    Type,
    Types,
    Union,
)

#: The rules of scalars; ``None`` needs none.
_SCALARS = {
    Scalar.INT: "integer", Scalar.FLOAT: "number", Scalar.BOOL: "boolean", Scalar.STR: "string",
}  # fmt: skip
#: How a collection is written that has items, and how one that has none.
_BRACKETS = {
    Kind.LIST: ("[", "]", "[]"),
    Kind.SET: ("{", "}", "set()"),
    Kind.FROZENSET: ("frozenset({", "})", "frozenset()"),
}
START = "start"


def call_tree(types: Types) -> GrammarTree:
    """The rules for calls of the root; the start symbol is ``start``.

    A rule each for a dataclass, an enumeration and a scalar. A dataclass all of whose fields may
    be left out has one more for each of them: what may follow once a field is written.
    """
    writer = _Writer(types)
    root = types.definitions[types.root]
    writer.add(START, writer.called(types.root, root.span), root.span)
    for name in writer.waiting:  # grows while it is read
        writer.write(types.definitions[name])
    for scalar in Scalar:
        if scalar in writer.scalars:
            writer.add(_SCALARS[scalar], scalar_rule(scalar, root.span), root.span)
    return GrammarTree(tuple(writer.rules), types.source)


@dataclass(slots=True, eq=False)
class _Writer:
    """The rules written so far."""

    types: Types
    rules: list[Rule] = field(default_factory=list)
    #: The rule of each class that has been called, by the class's name.
    classes: dict[str, str] = field(default_factory=dict)
    #: The classes in the order in which they were called first.
    waiting: list[str] = field(default_factory=list)
    scalars: set[Scalar] = field(default_factory=set)
    _taken: set[str] = field(default_factory=lambda: {START, *_SCALARS.values()})

    def add(self, name: str, body: Expression, span: Span) -> None:
        self.rules.append(Rule(name, body, span, span))

    def called(self, name: str, span: Span) -> Nonterminal:
        """A call of the rule of a class."""
        if name not in self.classes:
            self.waiting.append(name)
            self.classes[name] = self._free(re.sub(r"[^A-Za-z0-9_]", "_", name))
        return Nonterminal(self.classes[name], span)

    def _free(self, name: str) -> str:
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def write(self, definition: Definition) -> None:
        """The rule of a class."""
        rule = self.classes[definition.name]
        if isinstance(definition, Enumeration):
            self.add(rule, _members(definition), definition.span)
        else:
            self.add(rule, self._record(definition, rule), definition.span)

    def _record(self, record: Record, rule: str) -> Expression:
        """``Person(name=…, age=…)``."""
        span = record.span
        head, tail = _text(f"{record.name}(", span), _text(")", span)
        first_required = next(
            (i for i, one in enumerate(record.fields) if one.default is None), None
        )
        if first_required is None:
            return Sequence((head, self._all_optional(record, rule), tail), span)
        written: list[Expression] = []
        for i, one in enumerate(record.fields):
            keyword = self._keyword(one)
            if i < first_required:
                written.append(_optional(_sequence(keyword, _sign(",", one.span))))
            elif i == first_required:
                written.append(keyword)
            else:
                following = _sequence(_sign(",", one.span), keyword)
                written.append(following if one.default is None else _optional(following))
        return Sequence((head, *written, tail), span)

    def _all_optional(self, record: Record, rule: str) -> Expression:
        """Any of the fields, commas between them: which one is the first decides what may follow.

        What may follow a field is a rule that ends with the rule of the next one, so their sizes
        add up, where writing each tail out would multiply them.
        """
        options: list[Expression] = []
        following: Expression = Sequence((), record.span)
        for i in range(len(record.fields) - 1, -1, -1):
            one = record.fields[i]
            options.append(_sequence(self._keyword(one), following))
            if i:
                name = self._free(f"{rule}_from_{re.sub('[^A-Za-z0-9_]', '_', one.name)}")
                more = _optional(_sequence(_sign(",", one.span), self._keyword(one)))
                self.add(name, _sequence(more, following), one.span)
                following = Nonterminal(name, one.span)
        if not options:
            return Sequence((), record.span)
        return _optional(_choice(tuple(reversed(options)), record.span))

    def _keyword(self, one: Field) -> Expression:
        return Sequence((_text(f"{one.name}=", one.span), self._type(one.type)), one.span)

    def _type(self, type_: Type) -> Expression:
        """All ways to write the values of a type."""
        span = type_.span
        match type_:
            case Plain(scalar=Scalar.NONE):
                return _text("None", span)
            case Plain(scalar=scalar):
                self.scalars.add(scalar)
                return Nonterminal(_SCALARS[scalar], span)
            case Named(name=name):
                return self.called(name, span)
            case OneOf(values=values):
                return _choice(tuple(self._value(value, span) for value in values), span)
            case Union(options=options):
                return _choice(tuple(map(self._type, options)), span)
            case Many(kind=Kind.TUPLE, item=item):
                return self._any_tuple(self._type(item), span)
            case Many(kind=kind, item=item):
                opening, closing, empty = _BRACKETS[kind]
                return _listed(opening, self._type(item), closing, empty, span)
            case Tuple(items=items):
                return self._tuple(tuple(map(self._type, items)), span)
            case Dict(key=key, value=value):
                pair = Sequence((self._type(key), _sign(":", span), self._type(value)), span)
                return _listed("{", pair, "}", "{}", span)

    def _value(self, value: str | int | Member | None, span: Span) -> Expression:
        """A value of a ``Literal``."""
        return text_rule(value, span) if isinstance(value, str) else _text(value_text(value), span)

    def _tuple(self, items: tuple[Expression, ...], span: Span) -> Expression:
        """``(a, b)``; one item alone has a comma after it."""
        written: list[Expression] = [_text("(", span)]
        for i, item in enumerate(items):
            written += [_sign(",", span)] * (i > 0) + [item]
        written.append(_text(",)" if len(items) == 1 else ")", span))
        return Sequence(tuple(written), span)

    def _any_tuple(self, item: Expression, span: Span) -> Expression:
        """``()``, ``(a,)``, ``(a, b)`` and so on."""
        more = Repetition(Sequence((_sign(",", span), item), span), 1, None, span)
        tail = Choice((_text(",", span), more), span)
        filled = Sequence((_text("(", span), item, tail, _text(")", span)), span)
        return Choice((_text("()", span), filled), span)


def _members(one: Enumeration) -> Expression:
    names = tuple(_text(f"{one.name}.{name}", one.span) for name, _ in one.members)
    return _choice(names, one.span)


def _listed(opening: str, item: Expression, closing: str, empty: str, span: Span) -> Expression:
    """Items with commas between brackets, or none."""
    more = Repetition(Sequence((_sign(",", span), item), span), 0, None, span)
    filled = Sequence((_text(opening, span), item, more, _text(closing, span)), span)
    return Choice((_text(empty, span), filled), span)


def _text(text: str, span: Span) -> Expression:
    return Literal(text.encode(), span)


def _sign(sign: str, span: Span) -> Expression:
    """A comma or a colon, and a space or none."""
    return Sequence((_text(sign, span), Repetition(_text(" ", span), 0, 1, span)), span)


def _sequence(*items: Expression) -> Expression:
    return Sequence(items, items[0].span)


def _optional(item: Expression) -> Expression:
    return Repetition(item, 0, 1, item.span)


def _choice(options: tuple[Expression, ...], span: Span) -> Expression:
    return options[0] if len(options) == 1 else Choice(options, span)
