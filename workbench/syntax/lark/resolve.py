"""Resolves names in a Lark grammar: imports, templates, rules with a parameter.

They are read from ``common.lark`` of the installed lark, but for those whose regexes look back or
stop early: these are given here as what they match.

``%override`` and ``%extend`` change what is there, imported terminals bring those they are made
of along; a name that would be taken twice is told.

Equal uses are one rule. The rules are written later, one after the other: a template may use
itself.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar, cast

from workbench.base.errors import BuildError, ParseError
from workbench.base.source import Source, Span
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    Nonterminal,
    called,
    calls,
    renamed,
    shape,
)
from workbench.syntax.lark.bodies import value
from workbench.syntax.lark.lark_tree import (
    Applied,
    Body,
    Definition,
    Imported,
    Indexed,
    LarkGrammar,
)

_Node = TypeVar("_Node")

#: A string of Lark's ends at the first quote without an odd number of backslashes before it.
_INSTEAD = r"""
ESCAPED_STRING: "\"" /([^"\\\n]|\\.)*/ "\""
_STRING_INNER: /.*/
_STRING_ESC_INNER: /([^\\\n]|\\.)*/
C_COMMENT: /\/\*([^*]|\*+[^*\/])*\*+\//
"""
_NAME = re.compile(r"^(\w+)\s*:", re.MULTILINE)


@cache
def common_terminals() -> Mapping[str, Definition]:
    """All terminals of the module by name."""
    from workbench.syntax.lark.lark_parser import read

    theirs = files("lark").joinpath("grammars", "common.lark").read_text(encoding="utf-8")
    given = set(_NAME.findall(_INSTEAD))
    kept = [line for line in theirs.splitlines() if line.split(":")[0].strip() not in given]
    text = "\n".join(kept) + _INSTEAD
    return {one.name: one for one in read(Source(text, "common")).definitions}


def needed(name: str) -> tuple[str, ...]:
    """A terminal of the module and all it is made of, itself first."""
    known = common_terminals()
    names = [name]
    for one in names:  # grows while it is read
        names += [call for call in called(cast("Expression", known[one].body)) if call not in names]
    return tuple(names)


def placed(node: _Node, span: Span) -> _Node:
    """The same node, with all it holds written at one place."""
    return _placed(node, span)  # type: ignore[no-any-return]  # as its kind


def _placed(node: Any, span: Span) -> Any:  # noqa: ANN401  # nodes of every kind
    if isinstance(node, Span):
        return span
    if isinstance(node, tuple):
        return tuple(_placed(part, span) for part in node)
    if not is_dataclass(node) or isinstance(node, type):
        return node
    held = {field.name: _placed(getattr(node, field.name), span) for field in fields(node)}
    return replace(node, **held)


def named(source: Source, grammar: LarkGrammar) -> dict[str, Definition]:
    """All definitions by name, in the order written; what is imported comes last.

    Raises: ParseError where a name is defined twice or changed before it is there.
    """
    own = {one.name for one in grammar.definitions if not one.changing}
    brought = _brought(source, grammar.imports, own)
    known: dict[str, Definition] = {}
    for one in grammar.definitions:
        if one.changing:
            before = known.get(one.name) or brought.pop(one.name, None)
            known[one.name] = _changed(source, one, before)
        elif (twice := known.get(one.name) or brought.get(one.name)) is not None:
            line, _ = source.position(twice.span.start)
            message = f"{one.name!r} is already defined in line {line}"
            hint = "write its alternatives together, or change it by %extend or %override"
            raise ParseError(message, source, one.name_span, hint)
        else:
            known[one.name] = one
    return {**known, **{name: one for name, one in brought.items() if name not in known}}


def _changed(source: Source, change: Definition, before: Definition | None) -> Definition:
    if before is None:
        raise ParseError(
            f"{change.name!r} cannot be changed: nothing is called so before",
            source,
            change.name_span,
            "import it, or define it without a statement",
        )
    if change.changing == "override":
        return change
    bodies = cast("tuple[Expression, ...]", (before.body, change.body))
    return replace(before, body=Choice(bodies, change.span))


def _brought(source: Source, imports: tuple[Imported, ...], own: set[str]) -> dict[str, Definition]:
    """The imported terminals under the names they are given here, with all they are made of."""
    given: dict[str, str] = {}
    spans: dict[str, Span] = {}
    for one in imports:
        name = one.path[-1]
        if name not in common_terminals():
            near = get_close_matches(name, list(common_terminals()), n=1)
            hint = f"did you mean {near[0]!r}?" if near else "it has WS, NUMBER, CNAME and others"
            message = f"Lark's module 'common' has no terminal {name!r}"
            raise ParseError(message, source, one.span, hint)
        given.setdefault(name, one.alias)
        for part in needed(name):
            spans.setdefault(part, one.span)
    for name in spans:
        given.setdefault(name, f"COMMON__{name}" if name in own else name)
    brought = {}
    for one in imports:
        brought[one.alias] = _here(one.path[-1], one.alias, one.span, given)
    for name, span in spans.items():
        brought.setdefault(given[name], _here(name, given[name], span, given))
    return brought


def _here(name: str, called: str, span: Span, given: Mapping[str, str]) -> Definition:
    """A terminal of the module as if it were written at the place of its import."""
    one = placed(common_terminals()[name], span)
    return replace(one, name=called, body=renamed(cast("Expression", one.body), given.__getitem__))


def undefined(source: Source, call: Nonterminal, known: Mapping[str, object]) -> BuildError:
    """The error for a call of a name that nothing is called by."""
    near = get_close_matches(call.name, list(known), n=1)
    if call.name in common_terminals():
        hint = f"write %import common.{call.name}"
    elif near:
        hint = f"did you mean {near[0]!r}?"
    else:
        hint = f"add a line such as  {call.name}: …"
    kind = "undefined_nonterminal"
    return BuildError(f"no rule or terminal is called {call.name!r}", source, call.span, hint, kind)


@dataclass(slots=True, eq=False)
class Terminals:
    """Terminals, each lowered when it is first asked for, and what is used like one."""

    source: Source
    known: Mapping[str, Definition]
    #: What the names of all rules of the grammar begin with.
    prefix: str
    lower: Callable[[Body], Expression]
    #: What a rule is that nobody wrote as such, by its name.
    written: Callable[[str], Expression | None]
    found: dict[str, Expression] = field(default_factory=dict)
    #: Rules that are cut short: one terminal each.
    cut: dict[str, Expression] = field(default_factory=dict)
    #: The names of all that machines were made of.
    absorbed: set[str] = field(default_factory=set)
    _asked: set[str] = field(default_factory=set)

    def of(self, name: str, one: Definition) -> Expression:
        """What a terminal is.

        Raises: ParseError where it is made of itself.
        """
        if name not in self.found:
            if name in self._asked:
                raise self._circle(one.name, one.name_span)
            self._asked.add(name)
            self.found[name] = self.lower(one.body)
            self._asked.discard(name)
        return self.found[name]

    def called_by(self, *bodies: Expression) -> dict[str, Expression]:
        """All terminals that expressions are made of, by name."""
        rules: dict[str, Expression] = {}
        waiting = [call for body in bodies for call in calls(body)]
        while waiting:
            call = waiting.pop()
            if call.name not in rules:
                rules[call.name] = self._body(call)
                waiting += calls(rules[call.name])
        self.absorbed.update(rules)
        return rules

    def _body(self, call: Nonterminal) -> Expression:
        if call.name in self.cut:
            return self.cut[call.name]
        if (one := self.known.get(call.name.removeprefix(self.prefix))) is not None:
            return self.of(call.name, one)
        body = self.written(call.name)
        if body is None:  # it is being written
            raise self._circle(call.name, call.span)
        return body

    def _circle(self, name: str, span: Span) -> ParseError:
        message = f"the terminal {name!r} is made of itself"
        hint = "a rule may call itself: write its name in small letters"
        return ParseError(message, self.source, span, hint)


#: Rules that all uses may come to, and templates inside one another.
_MOST, _DEEPEST = 10_000, 64


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """Where a body stands."""

    #: Inside a terminal nothing is ignored, and rules cannot be called.
    lexical: bool
    #: What the names of a template's parameters stand for.
    given: Mapping[str, Expression] = field(default_factory=dict)
    #: The value of llguidance's parameter.
    parameter: int | None = None
    #: How many templates stand around it.
    deep: int = 0


@dataclass(slots=True, eq=False)
class Uses:
    """All uses in one grammar, and the rules they come to that are not yet written."""

    source: Source
    known: Mapping[str, Definition]
    fresh: Callable[[str], str]
    waiting: deque[tuple[str, Definition, Scope]] = field(default_factory=deque)
    _names: dict[object, str] = field(default_factory=dict)

    def template(self, use: Applied) -> Definition:
        """The template that is used.

        Raises: ParseError where it takes another number of things; BuildError without one.
        """
        one = self._definition(use.name, use.span)
        if len(one.parameters) != len(use.arguments):
            message = f"{use.name!r} takes {len(one.parameters)} parameters"
            raise ParseError(message, self.source, use.span, "give it one for each")
        return one

    def applied(self, use: Applied, arguments: Sequence[Expression], around: Scope) -> str:
        """The rule that a template with these arguments is.

        Raises: ParseError where a template is used with ever more of itself.
        """
        one = self.template(use)
        given = dict(zip(one.parameters, arguments, strict=True))
        scope = Scope(one.is_terminal, given, deep=around.deep + 1)
        if scope.deep > _DEEPEST:
            message = f"templates are nested deeper than {_DEEPEST}"
            hint = "let a template use itself with what it was given alone"
            raise ParseError(message, self.source, use.span, hint, "unsupported")
        key = (use.name, tuple(map(shape, arguments)))
        named = [part.name for part in use.arguments if isinstance(part, Nonterminal)]
        return self._use(key, "_".join([use.name, *named[:1]]), one, scope, use.span)

    def indexed(self, use: Indexed, parameter: int | None) -> str:
        """The rule that a rule with a parameter is, where its own caller has ``parameter``."""
        one = self._definition(use.name, use.span)
        if not one.indexed:
            message, hint = f"{use.name!r} takes no parameter", f"write {use.name}::_ : …"
            raise ParseError(message, self.source, use.span, hint)
        if parameter is None and use.argument.function != "number":
            hint = "write a number, as in name::0"
            raise ParseError("there is no parameter here", self.source, use.argument.span, hint)
        number = value(use.argument, parameter or 0)
        scope = Scope(one.is_terminal, parameter=number)
        return self._use((use.name, number), f"{use.name}_{number}", one, scope, use.span)

    def taken(self, name: str) -> tuple[str, Definition, Scope] | None:
        """A rule that was to be written later, to be written now."""
        for place, waiting in enumerate(self.waiting):
            if waiting[0] == name:
                del self.waiting[place]
                return waiting
        return None

    def _definition(self, name: str, span: Span) -> Definition:
        if name not in self.known:
            raise undefined(self.source, Nonterminal(name, span), self.known)
        return self.known[name]

    def _use(self, key: object, base: str, one: Definition, scope: Scope, span: Span) -> str:
        if key not in self._names:
            if len(self._names) == _MOST:
                message = f"{one.name!r} and others come to more than {_MOST:,} rules"
                hint = "let a parameter take fewer values"
                raise ParseError(message, self.source, span, hint, "unsupported")
            self._names[key] = self.fresh(base)
            self.waiting.append((self._names[key], one, scope))
        return self._names[key]
