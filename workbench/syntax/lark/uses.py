"""Uses of templates and of rules with a parameter: a use in, the name of the rule it is out.

Equal uses are one rule. The rules are written later, one after the other: a template may use
itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from workbench.errors import ParseError
from workbench.source import Source, Span
from workbench.syntax.grammar_tree import Expression, Nonterminal
from workbench.syntax.lark.calls import value
from workbench.syntax.lark.names import undefined
from workbench.syntax.lark.nodes import Applied, Definition, Indexed
from workbench.syntax.shapes import shape

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
