"""Asking: parts of a Lark grammar that syntax cannot make in, what others make of them out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from workbench.errors import ParseError, SourceError
from workbench.source import Source, Span
from workbench.syntax.beyond import Beyond
from workbench.syntax.grammar_tree import Automaton, Expression, GrammarTree
from workbench.syntax.lark.nodes import Body, Both, Definition, Not
from workbench.syntax.rule_attributes import Wanted, cut_short

#: What a body is inside a terminal.
_Operand = Callable[[Body], Expression]
#: What a label shows of the text it stands for.
_LABEL = 40


@dataclass(frozen=True, slots=True, eq=False)
class Asking:
    """What ``beyond`` is asked, and how it is told."""

    source: Source
    beyond: Beyond | None
    #: All terminals that expressions are made of.
    called_by: Callable[..., dict[str, Expression]]

    def operation(self, body: Both | Not, operand: _Operand) -> Expression:
        """``A & B`` or ``~A``."""
        if isinstance(body, Not):
            beyond, part = self._asked("'~'", body.span), operand(body.part)
            machine = beyond.but(None, part, self.called_by(part))
            return Automaton(machine, self._label(body.span), body.span)
        beyond = self._asked("'&'", body.span)
        wholes = [part for part in body.parts if not isinstance(part, Not)]
        others = [part.part for part in body.parts if isinstance(part, Not)]
        if len(wholes) == len(others) == 1:
            # ``A & ~B`` is a difference: all texts but those of B would be made for nothing
            whole, part = operand(wholes[0]), operand(others[0])
            machine = beyond.but(whole, part, self.called_by(whole, part))
        else:
            parts = [operand(part) for part in body.parts]
            machine = beyond.both(parts, self.called_by(*parts))
        return Automaton(machine, self._label(body.span), body.span)

    def cut(self, one: Definition, want: Wanted, operand: _Operand) -> Expression:
        """A rule that is one terminal, which its attributes cut short."""
        beyond = self._asked(f"the attribute {want.name!r}", want.span)
        end = None if want.end is None else operand(cast("Body", want.end))
        return cut_short(operand(one.body), end, want, one.name, beyond, self.called_by)

    def schema(self, span: Span) -> GrammarTree:
        """The rules of a schema, read where it stands."""
        beyond = self._asked("a schema", span)
        text = self.source.text
        # what stands before becomes blanks, so that places stay places of the whole text
        blanks = "".join(c if c == "\n" else " " for c in text[: span.start])
        try:
            return beyond.schema(Source(blanks + text[span.start : span.end], self.source.name))
        except SourceError as error:
            error.source = self.source
            raise

    def _asked(self, what: str, span: Span) -> Beyond:
        if self.beyond is None:
            hint = "read the grammar by Grammar.from_lark"
            raise ParseError(f"{what} cannot be read", self.source, span, hint, "unsupported")
        return self.beyond

    def _label(self, span: Span) -> str:
        text = " ".join(self.source.text[span.start : span.end].split())
        return text if len(text) <= _LABEL else text[: _LABEL - 1] + "…"
