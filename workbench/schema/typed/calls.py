r"""The rules of constructor calls and of Python's literals.

Canonical ones: decimal numerals without underscores, strings between single or double quotes on
one line, escapes but ``\N{…}`` and octal ones. What ``repr`` writes is among them.

In come Types, out comes a GrammarTree whose every text Python would evaluate to an instance:
keywords in declared order, those with a default may be left out, a space or none after commas
and colons, and no other white space. What ``repr`` writes is accepted, but for members of
enumerations: theirs, ``<Colour.RED: 1>``, is no Python. It was accepted at first, and the
embedded model wrote just that. ``fitting`` reads it all the same.

Source: Koo et al. 2024, §5.2.
"""

from __future__ import annotations

import re
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
    Sequence,
    Stop,
)
from workbench.syntax.regex.parser import parse_regex
from workbench.syntax.regex.tree import Regex, walk

_WHOLE = "(?:0|[1-9][0-9]*)"
_ESCAPE = (
    r"""\\(?:[\\'"abfnrtv]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}"""
    r"|U000[0-9a-fA-F]{5}|U0010[0-9a-fA-F]{4})"
)
#: A whole number is a float too, as it is to type checkers; ``inf`` and ``nan`` are what ``repr``
#: writes for what has no literal, and names after ``from math import inf, nan``.
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
    """All ways to write the values of a scalar; ``None`` has but one, and no regex."""
    return Pattern(regex_at(_regex(scalar), span), Stop.ANYWHERE, REGEXES[scalar], span)


def regex_at(regex: Regex, span: Span) -> Regex:
    """The same regex, all of which is said to stand at one place: it is written nowhere else."""
    return replace(regex.rebuild(lambda part: regex_at(part, span)), span=span)


def text_rule(value: str, span: Span) -> Expression:
    """One text, between single or double quotes; ``repr`` writes one of the two."""
    options = tuple(Literal(_quoted(value, quote).encode(), span) for quote in "'\"")
    return Choice(options, span)


def _quoted(value: str, quote: str) -> str:
    def written(character: str) -> str:
        return f"\\{character}" if character in ("\\", quote) else repr(character)[1:-1]

    escaped = (c if c.isprintable() and c not in ("\\", quote) else written(c) for c in value)
    return f"{quote}{''.join(escaped)}{quote}"


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
#: Terminals and calls of what is written out twice rather than made a rule: a list of calls has 7.
_LONG = 8


def call_tree(types: Types) -> GrammarTree:
    """The rules for calls of the root; the start symbol is ``start``.

    A rule each for a dataclass, an enumeration and a scalar. A dataclass all of whose fields may
    be left out has one more for each of them: what may follow once a field is written.
    """
    writer = _Writer(types)
    root = types.definitions[types.root]
    writer.rules.append(_rule(START, writer.called(types.root, root.span), root.span))
    for name in writer.waiting:  # grows while it is read
        writer.write(types.definitions[name])
    for scalar, span in writer.scalars.items():
        writer.rules.append(_rule(_SCALARS[scalar], scalar_rule(scalar, span), span))
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
    #: Where each scalar was met first: its rule has no other place.
    scalars: dict[Scalar, Span] = field(default_factory=dict)
    _taken: set[str] = field(default_factory=lambda: {START, *_SCALARS.values()})

    def called(self, name: str, span: Span) -> Nonterminal:
        """A call of the rule of a class."""
        if name not in self.classes:
            self.waiting.append(name)
            self.classes[name] = self._free(name)
        return Nonterminal(self.classes[name], span)

    def _free(self, name: str) -> str:
        """A name for a rule, of the letters that every notation takes, which no other rule has."""
        name = re.sub(r"[^A-Za-z0-9_]", "_", name)
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def write(self, definition: Definition) -> None:
        """The rule of a class."""
        rule, span, place = self.classes[definition.name], definition.span, len(self.rules)
        if isinstance(definition, Enumeration):
            members = (_text(f"{definition.name}.{name}", span) for name, _ in definition.members)
            body = _choice(span, *members)
        else:
            body = self._record(definition, rule)
        self.rules.insert(place, _rule(rule, body, span))  # before the rules that only it calls

    def _record(self, record: Record, rule: str) -> Expression:
        """``Person(name=…, age=…)``."""
        span = record.span
        head, tail = _text(f"{record.name}(", span), _text(")", span)
        first_required = next(
            (i for i, one in enumerate(record.fields) if one.default is None), None
        )
        if first_required is None:
            return _row(span, head, self._all_optional(record, rule), tail)
        written: list[Expression] = []
        for i, one in enumerate(record.fields):
            keyword = self._keyword(one, rule)
            if i < first_required:
                written.append(_optional(_row(one.span, keyword, _sign(",", one.span))))
            elif i == first_required:
                written.append(keyword)
            else:
                following = _row(one.span, _sign(",", one.span), keyword)
                written.append(following if one.default is None else _optional(following))
        return _row(span, head, *written, tail)

    def _all_optional(self, record: Record, rule: str) -> Expression:
        """Any of the fields, commas between them: which one is the first decides what may follow.

        What may follow a field is a rule that ends with the rule of the next one, so their sizes
        add up, where writing each tail out would multiply them.
        """
        options: list[Expression] = []
        following: Expression = Sequence((), record.span)
        for one in reversed(record.fields):
            keyword = self._keyword(one, rule)
            options.append(_row(one.span, keyword, following))
            if one is not record.fields[0]:
                name = self._free(f"{rule}_from_{one.name}")
                more = _optional(_row(one.span, _sign(",", one.span), keyword))
                self.rules.append(_rule(name, _row(one.span, more, following), one.span))
                following = Nonterminal(name, one.span)
        if not options:
            return Sequence((), record.span)
        return _optional(_choice(record.span, *reversed(options)))

    def _keyword(self, one: Field, rule: str) -> Expression:
        name = f"{rule}_{one.name}"
        return _row(one.span, _text(f"{one.name}=", one.span), self._type(one.type, name))

    def _type(self, type_: Type, name: str) -> Expression:
        """All ways to write the values of a type; ``name`` is for rules that only it calls."""
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
                return _listed(
                    opening, self._item(self._type(item, name), name), closing, empty, span
                )
            case Tuple(items=items):
                return _tuple([self._type(item, name) for item in items], span)
            case Dict(key=key, value=value):
                parts = self._type(key, name), _sign(":", span), self._type(value, name)
                return _listed("{", self._item(_row(span, *parts), name), "}", "{}", span)

    def _item(self, item: Expression, name: str) -> Expression:
        """What stands in a collection twice, first and after a comma: a call where it is long.

        Written out both times, lists in lists would double their size with every level.
        """
        if _leaves(item) <= _LONG:
            return item
        rule = self._free(f"{name}_item")
        self.rules.append(_rule(rule, item, item.span))
        return Nonterminal(rule, item.span)


def _leaves(node: Expression) -> int:
    """How many terminals and calls an expression has."""
    return sum(not isinstance(one, Sequence | Choice | Repetition) for one in walk(node))


def _value(value: str | int | Member | None, span: Span) -> Expression:
    """A value of a ``Literal``."""
    return text_rule(value, span) if isinstance(value, str) else _text(value_text(value), span)


def _tuple(items: list[Expression], span: Span) -> Expression:
    """``(a, b)``; one item alone has a comma after it."""
    following = (_row(span, _sign(",", span), item) for item in items[1:])
    closing = _text(",)" if len(items) == 1 else ")", span)
    return _row(span, _text("(", span), *items[:1], *following, closing)


def _any_tuple(item: Expression, span: Span) -> Expression:
    """``()``, ``(a,)``, ``(a, b)`` and so on."""
    more = Repetition(_row(span, _sign(",", span), item), 1, None, span)
    tail = _choice(span, _text(",", span), more)
    return _choice(
        span, _text("()", span), _row(span, _text("(", span), item, tail, _text(")", span))
    )


def _listed(opening: str, item: Expression, closing: str, empty: str, span: Span) -> Expression:
    """Items with commas between brackets, or none."""
    more = Repetition(_row(span, _sign(",", span), item), 0, None, span)
    filled = _row(span, _text(opening, span), item, more, _text(closing, span))
    return _choice(span, _text(empty, span), filled)


def _rule(name: str, body: Expression, span: Span) -> Rule:
    return Rule(name, body, span, span)


def _text(text: str, span: Span) -> Expression:
    return Literal(text.encode(), span)


def _sign(sign: str, span: Span) -> Expression:
    """A comma or a colon, and a space or none."""
    return Sequence((_text(sign, span), Repetition(_text(" ", span), 0, 1, span)), span)


def _row(span: Span, *items: Expression) -> Expression:
    """One after the other, without sequences in sequences."""
    flat = [
        one for item in items for one in (item.items if isinstance(item, Sequence) else (item,))
    ]
    return flat[0] if len(flat) == 1 else Sequence(tuple(flat), span)


def _optional(item: Expression) -> Expression:
    return Repetition(item, 0, 1, item.span)


def _choice(span: Span, *options: Expression) -> Expression:
    """Any one of them, without choices in choices."""
    flat = [
        one
        for option in options
        for one in (option.options if isinstance(option, Choice) else (option,))
    ]
    return flat[0] if len(flat) == 1 else Choice(tuple(flat), span)
