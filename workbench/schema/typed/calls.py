r"""The rules of constructor calls and of Python literals.

Python would evaluate every text of the grammar to an instance. Keywords are in declared order,
and those with a default are optional. There is an optional space after commas and colons, and no
other whitespace. Literals are canonical: decimal numerals without underscores, strings in single
or double quotes on one line, escapes except ``\N{…}`` and octal ones.

The output of ``repr`` is accepted, except for members of enumerations: ``<Colour.RED: 1>`` is not
Python. An early version accepted it, and the embedded model then wrote exactly that.
``instances`` still reads it.

Source: Koo et al. 2024, §5.2.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field, replace
from functools import cache

from workbench.base.source import Source, Span
from workbench.schema.typed.python_printer import value_text
from workbench.schema.typed.types import (
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
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    GrammarTree,
    Literal,
    Nonterminal,
    Pattern,
    Repetition,
    Rule,
    Stop,
)
from workbench.syntax.grammar_tree import Sequence as SequenceNode
from workbench.syntax.regex.parser import parse_regex
from workbench.syntax.regex.tree import Regex, walk

_WHOLE = "(?:0|[1-9][0-9]*)"
_ESCAPE = (
    r"""\\(?:[\\'"abfnrtv]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}"""
    r"|U000[0-9a-fA-F]{5}|U0010[0-9a-fA-F]{4})"
)
#: A whole number is also a float, as for type checkers. ``inf`` and ``nan``, which have no literal,
#: are the output of ``repr``, and names after ``from math import inf, nan``.
REGEXES = {
    Scalar.INT: f"-?{_WHOLE}",
    Scalar.FLOAT: rf"-?(?:{_WHOLE}(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|inf)|nan",
    Scalar.BOOL: "True|False",
    Scalar.STR: (
        rf"'(?:[^'\\\x00-\x1f\x7f]|{_ESCAPE})*'|"
        rf'"(?:[^"\\\x00-\x1f\x7f]|{_ESCAPE})*"'
    ),
}


@cache
def _regex(scalar: Scalar) -> Regex:
    return parse_regex(Source(REGEXES[scalar], "regex"))


def scalar_rule(scalar: Scalar, span: Span) -> Expression:
    """The literals of a scalar type other than ``None``."""
    return Pattern(regex_at(_regex(scalar), span), Stop.ANYWHERE, REGEXES[scalar], span)


def regex_at(regex: Regex, span: Span) -> Regex:
    """The same regex with one span for all its nodes."""
    return replace(regex.rebuild(lambda part: regex_at(part, span)), span=span)


def text_rule(value: str, span: Span) -> Expression:
    """A string literal in single or double quotes; ``repr`` writes one of the two."""
    options = tuple(Literal(_quote(value, quote).encode(), span) for quote in "'\"")
    return Choice(options, span)


def _quote(value: str, quote: str) -> str:
    def written(character: str) -> str:
        return f"\\{character}" if character in ("\\", quote) else repr(character)[1:-1]

    escaped = (c if c.isprintable() and c not in ("\\", quote) else written(c) for c in value)
    return f"{quote}{''.join(escaped)}{quote}"


#: The names of the rules of scalars, except ``None``.
_SCALARS = {
    Scalar.INT: "integer", Scalar.FLOAT: "number", Scalar.BOOL: "boolean", Scalar.STR: "string",
}  # fmt: skip
#: The brackets of a collection with items, and the literal of an empty one.
_BRACKETS = {
    Kind.LIST: ("[", "]", "[]"),
    Kind.SET: ("{", "}", "set()"),
    Kind.FROZENSET: ("frozenset({", "})", "frozenset()"),
}
START = "start"
#: An item with at most this many terminals and calls is written twice instead of as a rule: a
#: constructor call has 7.
_MAX_INLINE_LEAVES = 8


def call_tree(types: Types) -> GrammarTree:
    """The rules of calls of the root; the start symbol is ``start``.

    There is one rule for each dataclass, enumeration and scalar. A dataclass with only optional
    fields has one more for each field: the keywords that may follow it.
    """
    writer = _Writer(types)
    root = types.definitions[types.root]
    writer.rules.append(_rule(START, writer.called(types.root, root.span), root.span))
    while writer.waiting:
        writer.write(types.definitions[writer.waiting.popleft()])
    for scalar, span in writer.scalars.items():
        writer.rules.append(_rule(_SCALARS[scalar], scalar_rule(scalar, span), span))
    return GrammarTree(tuple(writer.rules), types.source)


@dataclass(slots=True, eq=False)
class _Writer:
    """Writes the rules."""

    types: Types
    rules: list[Rule] = field(default_factory=list)
    #: The rule of each class that has been called, by the class's name.
    classes: dict[str, str] = field(default_factory=dict)
    #: The classes in the order of their first calls.
    waiting: deque[str] = field(default_factory=deque)
    #: The span of the first use of each scalar, which becomes the span of its rule.
    scalars: dict[Scalar, Span] = field(default_factory=dict)
    _taken: set[str] = field(default_factory=lambda: {START, *_SCALARS.values()})

    def called(self, name: str, span: Span) -> Nonterminal:
        """A call of the rule of a class."""
        if name not in self.classes:
            self.waiting.append(name)
            self.classes[name] = self._free(name)
        return Nonterminal(self.classes[name], span)

    def _free(self, name: str) -> str:
        """An unused name of a rule, of characters that every notation allows."""
        name = re.sub(r"[^A-Za-z0-9_]", "_", name)
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def write(self, definition: Definition) -> None:
        """Write the rule of a class."""
        rule, span, index = self.classes[definition.name], definition.span, len(self.rules)
        if isinstance(definition, Enumeration):
            members = (_text(f"{definition.name}.{name}", span) for name, _ in definition.members)
            body = _choice(span, *members)
        else:
            body = self._record(definition, rule)
        self.rules.insert(index, _rule(rule, body, span))  # before the rules that only it calls

    def _record(self, record: Record, rule: str) -> Expression:
        """``Person(name=…, age=…)``."""
        span = record.span
        head, tail = _text(f"{record.name}(", span), _text(")", span)
        first_required = next(
            (i for i, member in enumerate(record.fields) if member.default is None), None
        )
        if first_required is None:
            return _sequence(span, head, self._all_optional(record, rule), tail)
        written: list[Expression] = []
        for i, member in enumerate(record.fields):
            keyword = self._keyword(member, rule)
            if i < first_required:
                written.append(
                    _optional(_sequence(member.span, keyword, _separator(",", member.span)))
                )
            elif i == first_required:
                written.append(keyword)
            else:
                following = _sequence(member.span, _separator(",", member.span), keyword)
                written.append(following if member.default is None else _optional(following))
        return _sequence(span, head, *written, tail)

    def _all_optional(self, record: Record, rule: str) -> Expression:
        """Any subset of the fields, separated by commas.

        There is an alternative for each first field. The fields that may follow it are a rule that
        ends in the rule of the next field, so the total size is linear; with inlined tails it would
        be quadratic.
        """
        options: list[Expression] = []
        following: Expression = SequenceNode((), record.span)
        for member in reversed(record.fields):
            keyword = self._keyword(member, rule)
            options.append(_sequence(member.span, keyword, following))
            if member is not record.fields[0]:
                name = self._free(f"{rule}_from_{member.name}")
                more = _optional(_sequence(member.span, _separator(",", member.span), keyword))
                self.rules.append(_rule(name, _sequence(member.span, more, following), member.span))
                following = Nonterminal(name, member.span)
        if not options:
            return SequenceNode((), record.span)
        return _optional(_choice(record.span, *reversed(options)))

    def _keyword(self, field: Field, rule: str) -> Expression:
        name = f"{rule}_{field.name}"
        return _sequence(
            field.span, _text(f"{field.name}=", field.span), self._type(field.type, name)
        )

    def _type(self, type_: Type, name: str) -> Expression:
        """The literals of a type; ``name`` is the prefix of rules that only this type calls."""
        span = type_.span
        match type_:
            case Plain(scalar=Scalar.NONE):
                return _text("None", span)
            case Plain(scalar=scalar):
                self.scalars.setdefault(scalar, span)
                return Nonterminal(_SCALARS[scalar], span)
            case Named(name=called):
                return self.called(called, span)
            case OneOf(values=values):
                return _choice(span, *(_value(value, span) for value in values))
            case Union(options=options):
                return _choice(span, *(self._type(option, name) for option in options))
            case Many(kind=Kind.TUPLE, item=item):
                return _any_tuple(self._item(self._type(item, name), name), span)
            case Many(kind=kind, item=item):
                opening, closing, empty = _BRACKETS[kind]
                return _list_items(
                    opening, self._item(self._type(item, name), name), closing, empty, span
                )
            case Tuple(items=items):
                return _tuple([self._type(item, name) for item in items], span)
            case Dict(key=key, value=value):
                parts = self._type(key, name), _separator(":", span), self._type(value, name)
                return _list_items("{", self._item(_sequence(span, *parts), name), "}", "{}", span)

    def _item(self, item: Expression, name: str) -> Expression:
        """An item, which a collection writes twice: first and after a comma; a call if it is long.

        If it were inlined both times, nested lists would double the size with every level.
        """
        if _leaves(item) <= _MAX_INLINE_LEAVES:
            return item
        rule = self._free(f"{name}_item")
        self.rules.append(_rule(rule, item, item.span))
        return Nonterminal(rule, item.span)


def _leaves(node: Expression) -> int:
    """The number of terminals and calls in an expression."""
    return sum(not isinstance(part, SequenceNode | Choice | Repetition) for part in walk(node))


def _value(value: str | int | Member | None, span: Span) -> Expression:
    """A value of a ``Literal``."""
    return text_rule(value, span) if isinstance(value, str) else _text(value_text(value), span)


def _tuple(items: list[Expression], span: Span) -> Expression:
    """``(a, b)``; a single item is followed by a comma."""
    following = (_sequence(span, _separator(",", span), item) for item in items[1:])
    closing = _text(",)" if len(items) == 1 else ")", span)
    return _sequence(span, _text("(", span), *items[:1], *following, closing)


def _any_tuple(item: Expression, span: Span) -> Expression:
    """``()``, ``(a,)``, ``(a, b)`` and so on."""
    more = Repetition(_sequence(span, _separator(",", span), item), 1, None, span)
    tail = _choice(span, _text(",", span), more)
    return _choice(
        span, _text("()", span), _sequence(span, _text("(", span), item, tail, _text(")", span))
    )


def _list_items(opening: str, item: Expression, closing: str, empty: str, span: Span) -> Expression:
    """Items in brackets, separated by commas; or the literal of an empty collection."""
    more = Repetition(_sequence(span, _separator(",", span), item), 0, None, span)
    filled = _sequence(span, _text(opening, span), item, more, _text(closing, span))
    return _choice(span, _text(empty, span), filled)


def _rule(name: str, body: Expression, span: Span) -> Rule:
    return Rule(name, body, span, span)


def _text(text: str, span: Span) -> Expression:
    return Literal(text.encode(), span)


def _separator(separator: str, span: Span) -> Expression:
    """A comma or a colon, and an optional space."""
    return SequenceNode((_text(separator, span), Repetition(_text(" ", span), 0, 1, span)), span)


def _sequence(span: Span, *items: Expression) -> Expression:
    """The concatenation, without nested sequences."""
    flat = [
        inner
        for item in items
        for inner in (item.items if isinstance(item, SequenceNode) else (item,))
    ]
    return flat[0] if len(flat) == 1 else SequenceNode(tuple(flat), span)


def _optional(item: Expression) -> Expression:
    return Repetition(item, 0, 1, item.span)


def _choice(span: Span, *options: Expression) -> Expression:
    """One of the options, without nested choices."""
    flat = [
        inner
        for option in options
        for inner in (option.options if isinstance(option, Choice) else (option,))
    ]
    return flat[0] if len(flat) == 1 else Choice(tuple(flat), span)
