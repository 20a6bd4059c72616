"""The statements of a Lark grammar before names are resolved, and its parts that need machines.

Bodies are those of ``grammar_tree`` with some nodes more, which ``lark_lowering`` turns into the
others: uses of templates, rules with a parameter, operations on terminals, schemas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from workbench.base.errors import ParseError, SourceError
from workbench.base.source import Source, Span
from workbench.syntax.derived_rules import words
from workbench.syntax.grammar_tree import Automaton, Expression, GrammarTree
from workbench.syntax.kbnf.kbnf_lexer import Part
from workbench.syntax.rule_attributes import (
    Attribute,
    LanguageOperations,
    RuleOptions,
    apply_options,
)


@dataclass(frozen=True, slots=True)
class Applied:
    """A use of a template: ``name{x, y}``."""

    name: str
    arguments: tuple[Body, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Both:
    """The texts of all the parts: ``A & B``."""

    parts: tuple[Body, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Not:
    """The texts that are none of the part: ``~A``."""

    part: Body
    span: Span


@dataclass(frozen=True, slots=True)
class Pieces:
    """Contiguous pieces of a row of chunks, the empty one among them."""

    chunks: tuple[str, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Schema:
    """``%json { … }``: the JSON texts of a schema, which stands at the span."""

    span: Span


@dataclass(frozen=True, slots=True)
class Nested:
    """``%lark { … }``: a grammar inside, with names of its own."""

    grammar: LarkGrammar
    span: Span


@dataclass(frozen=True, slots=True)
class Call:
    """A function of llguidance's parameters, or a number, a range of bits, the parameter itself.

    ``_`` and ranges are calls too: ``[2:4]`` is ``bits(2, 4)``.
    """

    function: str
    arguments: tuple[Call | int, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Indexed:
    """A call of a rule with a parameter: ``name::incr(_)``."""

    name: str
    argument: Call
    span: Span


@dataclass(frozen=True, slots=True)
class Guarded:
    """An alternative that is there only where a condition on the parameter holds."""

    body: Body
    condition: Call
    span: Span


Body = Expression | Applied | Both | Not | Pieces | Schema | Nested | Indexed | Guarded


@dataclass(frozen=True, slots=True)
class Definition:
    """A rule or a terminal."""

    name: str
    body: Body
    name_span: Span
    span: Span
    #: The names of what a template is used with.
    parameters: tuple[str, ...] = ()
    #: Whether it has llguidance's parameter, ``name::_``.
    indexed: bool = False
    attributes: tuple[Attribute, ...] = ()
    #: ``%override`` or ``%extend``, where it changes another one.
    changing: str = ""

    @property
    def is_terminal(self) -> bool:
        return is_terminal(self.name)


@dataclass(frozen=True, slots=True)
class Imported:
    """``%import common.NAME -> alias``."""

    path: tuple[str, ...]
    alias: str
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class LarkGrammar:
    """All statements of a grammar, sorted by what they are."""

    definitions: tuple[Definition, ...]
    imports: tuple[Imported, ...] = ()
    ignored: tuple[Body, ...] = ()
    declared: tuple[tuple[str, Span], ...] = ()
    #: Those of llguidance; None where the grammar sets none.
    options: Mapping[str, object] | None = None


def is_terminal(name: str) -> bool:
    """Whether a name is that of a terminal: its first letter is a capital one."""
    return name.lstrip("_")[:1].isupper()


_HINT = 'write {"substring_chars": "…"}, {"substring_words": "…"} or {"substring_chunks": ["…"]}'


def chunks_of(source: Source, written: Part, span: Span) -> Pieces:
    """The pieces that an object describes.

    Raises: ParseError for an object of another kind.
    """
    place = Span(written.start, written.end)
    if not isinstance(written.node, dict) or len(written.node) != 1:
        raise ParseError("expected an object with one entry", source, place, _HINT)
    ((kind, given),) = written.node.items()
    match kind, given:
        case "substring_chars", str():
            chunks = tuple(given)
        case "substring_words", str():
            chunks = words(given)
        case "substring_chunks", list() if all(isinstance(chunk, str) for chunk in given):
            chunks = tuple(given)
        case _:
            message = f"%regex with {kind!r} like this cannot be read"
            raise ParseError(message, source, place, _HINT, "unsupported")
    if any("\ud800" <= character <= "\udfff" for chunk in chunks for character in chunk):
        message = "expected whole characters, not one half of a surrogate pair"
        raise ParseError(message, source, place, "write the character itself")
    return Pieces(chunks, span)


#: What a body is inside a terminal.
_Operand = Callable[[Body], Expression]
#: What a label shows of the text it stands for.
_LABEL = 40


@dataclass(frozen=True, slots=True, eq=False)
class Asking:
    """What ``beyond`` is asked, and how it is told."""

    source: Source
    beyond: LanguageOperations | None
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

    def cut(self, one: Definition, want: RuleOptions, operand: _Operand) -> Expression:
        """A rule that is one terminal, which its attributes cut short."""
        beyond = self._asked(f"the attribute {want.name!r}", want.span)
        end = None if want.end is None else operand(cast("Body", want.end))
        return apply_options(operand(one.body), end, want, one.name, beyond, self.called_by)

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

    def _asked(self, what: str, span: Span) -> LanguageOperations:
        if self.beyond is None:
            hint = "read the grammar by Grammar.from_lark"
            raise ParseError(f"{what} cannot be read", self.source, span, hint, "unsupported")
        return self.beyond

    def _label(self, span: Span) -> str:
        text = " ".join(self.source.text[span.start : span.end].split())
        return text if len(text) <= _LABEL else text[: _LABEL - 1] + "…"
