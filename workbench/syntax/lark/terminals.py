"""Terminals of a Lark grammar: a name in, what it stands for inside another terminal out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from workbench.errors import ParseError
from workbench.source import Source, Span
from workbench.syntax.called import calls
from workbench.syntax.grammar_tree import Expression, Nonterminal
from workbench.syntax.lark.nodes import Body, Definition


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
