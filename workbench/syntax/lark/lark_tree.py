"""The tree of a Lark grammar before names are resolved, and its operators that need automata.

A body consists of nodes of ``grammar_tree`` and of additional nodes, which ``lark.lowering``
replaces: uses of templates, rules with a parameter, operations on terminals, schemas.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, cast

from workbench.base.errors import ParseError, SourceError
from workbench.base.source import Source, Span
from workbench.syntax.derived_rules import words
from workbench.syntax.grammar_tree import (
    Automaton,
    Expression,
    GrammarTree,
    Pattern,
    Stop,
    any_characters,
)
from workbench.syntax.regex.printer import class_text
from workbench.syntax.regex.tree import Characters, Operation, combined
from workbench.syntax.rule_attributes import (
    Attribute,
    LanguageOperations,
    RuleOptions,
    apply_options,
)


@dataclass(frozen=True, slots=True)
class TemplateUse:
    """A use of a template: ``name{x, y}``."""

    name: str
    arguments: tuple[Body, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Intersection:
    """The intersection of terminals: ``A & B``."""

    parts: tuple[Body, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Complement:
    """The complement of a terminal: ``~A``."""

    part: Body
    span: Span


@dataclass(frozen=True, slots=True)
class SubstringChunks:
    """Contiguous runs of chunks, the empty one included: ``%regex { … }``."""

    chunks: tuple[str, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Schema:
    """``%json { … }``: the JSON texts of the schema at the span."""

    span: Span


@dataclass(frozen=True, slots=True)
class Nested:
    """``%lark { … }``: a nested grammar with separate names."""

    grammar: LarkGrammar
    span: Span


@dataclass(frozen=True, slots=True)
class Call:
    """An expression over llguidance's parameter: a function, a number or a range of bits.

    ``_`` and ranges are calls as well: ``[2:4]`` is ``bits(2, 4)``.
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
    """An alternative that exists only if a condition on the parameter holds."""

    body: Body
    condition: Call
    span: Span


Body = (
    Expression
    | TemplateUse
    | Intersection
    | Complement
    | SubstringChunks
    | Schema
    | Nested
    | Indexed
    | Guarded
)


@dataclass(frozen=True, slots=True)
class Definition:
    """A rule or a terminal."""

    name: str
    body: Body
    name_span: Span
    span: Span
    #: The parameters of a template.
    parameters: tuple[str, ...] = ()
    #: Whether it has the parameter of llguidance, ``name::_``.
    indexed: bool = False
    attributes: tuple[Attribute, ...] = ()
    #: ``override`` or ``extend`` if it changes another definition.
    changing: str = ""
    priority: int = 0

    @property
    def is_terminal(self) -> bool:
        return is_terminal(self.name)


@dataclass(frozen=True, slots=True)
class Imported:
    """``%import common.NAME -> alias``."""

    path: tuple[str, ...]
    alias: str
    span: Span
    #: The span of the last name of the path.
    name_span: Span


@dataclass(frozen=True, slots=True, eq=False)
class LarkGrammar:
    """All statements of a grammar, by kind."""

    definitions: tuple[Definition, ...]
    imports: tuple[Imported, ...] = ()
    ignored: tuple[Body, ...] = ()
    declared: tuple[tuple[str, Span], ...] = ()
    #: The JSON value after ``//%indenter`` with its span, if there is one.
    indenter: tuple[object, Span] | None = None
    #: The options of llguidance; None if the grammar sets none.
    options: Mapping[str, object] | None = None


#: The modules of lark whose terminals can be imported.
MODULES = ("common", "python", "unicode")


def is_terminal(name: str) -> bool:
    """Whether a name is that of a terminal: its first letter is upper-case."""
    return name.lstrip("_")[:1].isupper()


def no_text(span: Span) -> Pattern:
    """The empty language: an empty set of characters."""
    return Pattern(Characters((), span), Stop.ANYWHERE, class_text(()), span)


_HINT = 'write {"substring_chars": "…"}, {"substring_words": "…"} or {"substring_chunks": ["…"]}'


def chunks_of(source: Source, written: object, json_span: Span, span: Span) -> SubstringChunks:
    """The chunks that the JSON value at ``json_span`` describes.

    Raises: ParseError for a value of another kind.
    """
    if not isinstance(written, dict) or len(written) != 1:
        raise ParseError("expected an object with one entry", source, json_span, _HINT)
    ((kind, given),) = written.items()
    match kind, given:
        case "substring_chars", str():
            chunks = tuple(given)
        case "substring_words", str():
            chunks = words(given)
        case "substring_chunks", list() if all(isinstance(chunk, str) for chunk in given):
            chunks = tuple(given)
        case _:
            message = f"%regex with {kind!r} like this cannot be read"
            raise ParseError(message, source, json_span, _HINT, "unsupported")
    if any("\ud800" <= character <= "\udfff" for chunk in chunks for character in chunk):
        message = "expected whole characters, not one half of a surrogate pair"
        raise ParseError(message, source, json_span, "write the character itself")
    return SubstringChunks(chunks, span)


#: Lowers a body inside a terminal.
_Operand = Callable[[Body], Expression]


@dataclass(frozen=True, slots=True, eq=False)
class MachineOperators:
    """Replaces operators by automata that ``operations`` builds."""

    source: Source
    operations: LanguageOperations | None
    #: Returns the terminals that expressions call, directly or not.
    called_by: Callable[..., dict[str, Expression]]

    def operation(self, body: Intersection | Complement, operand: _Operand) -> Expression:
        """``A & B`` or ``~A``."""
        symbol = "'~'" if isinstance(body, Complement) else "'&'"
        operations = self.required(symbol, body.span)
        parts = (body,) if isinstance(body, Complement) else body.parts
        # ``A & ~B`` is a difference: avoid building the complement of B
        wholes = [operand(part) for part in parts if not isinstance(part, Complement)]
        others = [operand(part.part) for part in parts if isinstance(part, Complement)]
        rules = self.called_by(*wholes, *others)
        label = self.source.label(body.span)
        if (looking := operations.looking((*wholes, *others), rules)) is not None:
            operands = looking[: len(wholes)] or [any_characters(0, None, body.span)]
            whole = reduce(partial(combined, Operation.BOTH), operands)
            regex = reduce(partial(combined, Operation.BUT), looking[len(wholes) :], whole)
            return operations.terminal(regex, label, body.span)
        if len(wholes) <= 1 == len(others):
            machine = operations.but(wholes[0] if wholes else None, others[0], rules)
        else:
            outside = [operations.but(None, part, rules) for part in others]
            leaves = [Automaton(machine, label, body.span) for machine in outside]
            machine = operations.both((*wholes, *leaves), rules)
        return Automaton(machine, label, body.span)

    def cut(self, definition: Definition, options: RuleOptions, operand: _Operand) -> Expression:
        """A rule with attributes, which is one terminal."""
        operations = self.required(f"the attribute {options.name!r}", options.span)
        end = None if options.end is None else operand(cast("Body", options.end))
        return apply_options(
            operand(definition.body), end, options, definition.name, operations, self.called_by
        )

    def schema(self, span: Span) -> GrammarTree:
        """The rules of the embedded schema at a span."""
        operations = self.required("a schema", span)
        try:
            return operations.schema(self.source.part(span))
        except SourceError as error:
            error.source = self.source
            raise

    def required(self, what: str, span: Span) -> LanguageOperations:
        """The operations.

        Raises: ParseError if there are none.
        """
        if self.operations is None:
            hint = "read the grammar by Grammar.from_lark"
            raise ParseError(f"{what} cannot be read", self.source, span, hint, "unsupported")
        return self.operations


@dataclass(frozen=True, slots=True)
class Indenter:
    """The attributes of lark's class ``Indenter``; the defaults are those of ``PythonIndenter``."""

    NL_type: str = "_NEWLINE"
    INDENT_type: str = "_INDENT"
    DEDENT_type: str = "_DEDENT"
    OPEN_PAREN_types: tuple[str, ...] = ("LPAR", "LSQB", "LBRACE")
    CLOSE_PAREN_types: tuple[str, ...] = ("RPAR", "RSQB", "RBRACE")
    tab_len: int = 8

    @property
    def added(self) -> tuple[str, str]:
        """The terminals that have no text."""
        return self.INDENT_type, self.DEDENT_type

    @staticmethod
    def of(source: Source, grammar: LarkGrammar, rule_names: Container[str]) -> Indenter | None:
        """The indenter of a grammar: that of ``//%indenter``, or Python's if its names are used.

        Raises: ParseError for an unknown attribute, a value of another type or an unknown name.
        """
        declared = dict(grammar.declared)
        if grammar.indenter is None:
            indenter = Indenter()
            has_names = {*indenter.added} <= declared.keys()
            return indenter if has_names and indenter.NL_type in rule_names else None
        given, span = grammar.indenter
        hint = f"the attributes are {', '.join(_ATTRIBUTES)}"
        if not isinstance(given, dict):
            raise ParseError("expected an object of attributes", source, span, hint)
        for name, value in given.items():
            if name not in _ATTRIBUTES or not _fits(value, _ATTRIBUTES[name]):
                message = f"an indenter has no attribute {name!r} like this"
                raise ParseError(message, source, span, hint)
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in given.items()
        }
        indenter = Indenter(**values)
        for name, names in (
            (indenter.NL_type, rule_names),
            (indenter.INDENT_type, declared),
            (indenter.DEDENT_type, declared),
        ):
            if name not in names:
                message = f"the indenter needs the terminal {name!r}"
                hint = "define the newline, and %declare the other two"
                raise ParseError(message, source, span, hint)
        return indenter


#: The types of the attributes; a tuple is a list of names in JSON.
_ATTRIBUTES = {name: type(getattr(Indenter(), name)) for name in Indenter.__slots__}


def _fits(value: object, kind: type) -> bool:
    if kind is tuple:
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    if kind is int:
        return isinstance(value, int) and value > 0 and not isinstance(value, bool)
    return isinstance(value, str)
