"""The tree of a Lark grammar before names are resolved, and its operators that need automata.

A body consists of nodes of ``grammar_tree`` and of additional nodes, which ``lark.lowering``
replaces: uses of templates, rules with a parameter, operations on terminals, schemas.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, cast

from workbench.base.dfa import Dfa
from workbench.base.errors import BuildError, ParseError, SourceError
from workbench.base.source import Source, Span
from workbench.syntax import grammar_tree
from workbench.syntax.cursor import Part
from workbench.syntax.derived_rules import words
from workbench.syntax.grammar_tree import (
    Automaton,
    Choice,
    Expression,
    GrammarTree,
    Nonterminal,
    Pattern,
    Stop,
    all_called,
)
from workbench.syntax.regex.printer import class_text
from workbench.syntax.regex.tree import (
    Alternate,
    Characters,
    Concat,
    Extension,
    Group,
    Kind,
    Look,
    LookKind,
    Regex,
    asserted,
    has_look,
)
from workbench.syntax.rule_attributes import (
    Attribute,
    LanguageOperations,
    RuleOptions,
    Rules,
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


def is_terminal(name: str) -> bool:
    """Whether a name is that of a terminal: its first letter is upper-case."""
    return name.lstrip("_")[:1].isupper()


def no_text(span: Span) -> Pattern:
    """The empty language: an empty set of characters."""
    return Pattern(Characters((), span), Stop.ANYWHERE, class_text(()), span)


_HINT = 'write {"substring_chars": "…"}, {"substring_words": "…"} or {"substring_chunks": ["…"]}'


def chunks_of(source: Source, written: Part, span: Span) -> SubstringChunks:
    """The chunks that a JSON object describes.

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
    return SubstringChunks(chunks, span)


#: Lowers a body inside a terminal.
_Operand = Callable[[Body], Expression]
#: The most characters of a label.
_MAX_LABEL = 40


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
        label = self._label(body.span)
        if any(operations.looks_beyond(part, rules) for part in (*wholes, *others)):
            made = BorderAssertions(self.source, body.span, label, operations, rules)
            return made.combined(wholes, others)
        if len(wholes) <= 1 == len(others):
            machine = operations.but(wholes[0] if wholes else None, others[0], rules)
        else:
            outside = [operations.but(None, part, rules) for part in others]
            leaves = [Automaton(one, label, body.span) for one in outside]
            machine = operations.both((*wholes, *leaves), rules)
        return Automaton(machine, label, body.span)

    def cut(self, one: Definition, options: RuleOptions, operand: _Operand) -> Expression:
        """A rule with attributes, which is one terminal."""
        operations = self.required(f"the attribute {options.name!r}", options.span)
        end = None if options.end is None else operand(cast("Body", options.end))
        return apply_options(operand(one.body), end, options, one.name, operations, self.called_by)

    def schema(self, span: Span) -> GrammarTree:
        """The rules of the embedded schema at a span."""
        operations = self.required("a schema", span)
        text = self.source.text
        # replace the text before by blanks, so that spans remain valid in the whole text
        blanks = "".join(c if c == "\n" else " " for c in text[: span.start])
        try:
            return operations.schema(Source(blanks + text[span.start : span.end], self.source.name))
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

    def _label(self, span: Span) -> str:
        text = " ".join(self.source.text[span.start : span.end].split())
        return text if len(text) <= _MAX_LABEL else text[: _MAX_LABEL - 1] + "…"


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
    def of(source: Source, grammar: LarkGrammar, known: Container[str]) -> Indenter | None:
        """The indenter of a grammar: that of ``//%indenter``, or Python's if its names are used.

        Raises: ParseError for an unknown attribute, a value of another type or an unknown name.
        """
        declared = dict(grammar.declared)
        if grammar.indenter is None:
            found = Indenter()
            has_names = {*found.added} <= declared.keys()
            return found if has_names and found.NL_type in known else None
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
        found = Indenter(**values)
        for name, names in (
            (found.NL_type, known),
            (found.INDENT_type, declared),
            (found.DEDENT_type, declared),
        ):
            if name not in names:
                message = f"the indenter needs the terminal {name!r}"
                hint = "define the newline, and %declare the other two"
                raise ParseError(message, source, span, hint)
        return found


#: The types of the attributes; a tuple is a list of names in JSON.
_ATTRIBUTES = {name: type(getattr(Indenter(), name)) for name in Indenter.__slots__}


def _fits(value: object, kind: type) -> bool:
    if kind is tuple:
        return isinstance(value, list) and all(isinstance(one, str) for one in value)
    if kind is int:
        return isinstance(value, int) and value > 0 and not isinstance(value, bool)
    return isinstance(value, str)


# -- assertions at borders ------------------------------------------------------------------------
# ``A & B`` and ``~A`` of terminals whose assertions look beyond them.
#
# A terminal ``(?<=b)X(?=a)`` is split into the assertions at its beginning, the texts ``X``, and
# the assertions at its end; a terminal with alternatives is a union of such parts. Then
#
#     uXv & sYt  =  us (X & Y) vt
#     W & ~(uXv) =  (W & ~X)  |  ¬u (W & X)  |  (W & X) ¬v
#
# and the assertions, in separate terminals, see the whole text (``pushdown.contexts``). The results
# are unions of the same kind, so operands may be nested.


#: The most parts of a union.
_MAX_PARTS = 64

_OPPOSITE = {
    LookKind.AHEAD: LookKind.NOT_AHEAD,
    LookKind.NOT_AHEAD: LookKind.AHEAD,
    LookKind.END: LookKind.AHEAD,
    LookKind.LINE_END: LookKind.AHEAD,
    LookKind.BEHIND: LookKind.NOT_BEHIND,
    LookKind.NOT_BEHIND: LookKind.BEHIND,
    LookKind.START: LookKind.BEHIND,
    LookKind.LINE_START: LookKind.BEHIND,
    LookKind.BOUNDARY: LookKind.INSIDE,
    LookKind.INSIDE: LookKind.BOUNDARY,
}

Looks = tuple[Look, ...]


@dataclass(frozen=True, slots=True)
class Bordered:
    """Texts, with the assertions at their beginning and at their end."""

    before: Looks
    texts: Expression
    after: Looks


@dataclass(frozen=True, slots=True, eq=False)
class BorderAssertions:
    """The operators on unions of parts with assertions at their borders."""

    source: Source
    #: The span of the result, and the text of its automata.
    span: Span
    label: str
    operations: LanguageOperations
    #: The terminals that the operands call.
    rules: Rules

    def combined(self, wholes: Sequence[Expression], others: Sequence[Expression]) -> Expression:
        """The texts of all ``wholes`` that are not texts of one of the ``others``.

        Raises: BuildError for assertions that are not at a border, and for too many cases.
        """
        found: list[Bordered] | None = None
        for whole in wholes:
            union = self._bordered(whole)
            found = union if found is None else self._intersection(found, union)
        for other in others:
            found = self._difference(found, self._bordered(other))
        return self._expression(found or [])

    def _intersection(self, left: Sequence[Bordered], right: Sequence[Bordered]) -> list[Bordered]:
        self._check(len(left) * len(right))
        pairs = [
            Bordered(
                one.before + two.before, self._both(one.texts, two.texts), one.after + two.after
            )
            for one, two in product(left, right)
        ]
        return [one for one in pairs if not _is_empty(one)]

    def _difference(
        self, whole: Sequence[Bordered] | None, part: Sequence[Bordered]
    ) -> list[Bordered]:
        """The texts of ``whole``, or all texts, that are not texts of ``part``."""
        found = list[Bordered | None]([None] if whole is None else whole)
        for one in part:
            self._check(len(found) * (1 + len(one.before) + len(one.after)))
            rest = [left for each in found for left in self._without(each, one)]
            found = [left for left in rest if not _is_empty(left)]
        return [one for one in found if one is not None]

    def _without(self, whole: Bordered | None, part: Bordered) -> Iterator[Bordered]:
        texts = None if whole is None else whole.texts
        before, after = ((), ()) if whole is None else (whole.before, whole.after)
        parts = (part.texts,) if texts is None else (texts, part.texts)
        rest = self.operations.but(texts, part.texts, self._called_by(*parts))
        yield Bordered(before, self._automaton(rest), after)
        if not part.before and not part.after:
            return
        common = self._both(*parts)
        for look in part.before:
            yield Bordered((*before, _negated(look)), common, after)
        for look in part.after:
            yield Bordered(before, common, (_negated(look), *after))

    def _bordered(self, part: Expression) -> list[Bordered]:
        """A terminal as a union; assertions that are not at a border stay in the texts."""
        found: list[Bordered] = []
        match part:
            case Nonterminal(name=name) if name in self.rules:
                return self._bordered(self.rules[name])
            case Choice(options=options):
                for option in options:
                    found += self._bordered(option)
            case grammar_tree.Sequence(items=(first, *middle, last)):
                lasts = [_at_end(one) for one in self._bordered(last)]
                pairs = list(product(self._bordered(first), lasts))
                if not any(one.after or two.before for one, two in pairs):
                    found = [
                        Bordered(one.before, _row([one.texts, *middle, two.texts]), two.after)
                        for one, two in pairs
                    ]
            case Pattern(regex=regex, stop=Stop.ANYWHERE, text=text, span=span):
                inner = asserted(regex)
                if inner is not None:
                    found = [_of_regex(option, text, span) for option in _options(inner)]
        plain = [one.texts for one in found if not one.before and not one.after]
        if len(plain) == len(found):
            return [Bordered((), part, ())]
        self._check(len(found))
        if len(plain) > 1:
            found = [one for one in found if one.before or one.after]
            found.append(Bordered((), Choice(tuple(plain), part.span), ()))
        return found

    def _both(self, *parts: Expression) -> Automaton:
        return self._automaton(self.operations.both(parts, self._called_by(*parts)))

    def _called_by(self, *parts: Expression) -> Rules:
        """The other terminals may have assertions that look beyond them."""
        return {name: self.rules[name] for part in parts for name in all_called(part, self.rules)}

    def _automaton(self, machine: Dfa) -> Automaton:
        return Automaton(machine, self.label, self.span)

    def _check(self, parts: int) -> None:
        if parts > _MAX_PARTS:
            raise BuildError(
                f"expected at most {_MAX_PARTS} cases of assertions that look beyond the terminal",
                self.source,
                self.span,
                "use fewer assertions in the operands",
                kind="unsupported_regex",
            )

    def _expression(self, union: Sequence[Bordered]) -> Expression:
        """A union as an expression of the grammar."""
        options: list[Expression] = []
        for one in union:
            before, after = (
                [self._assertions(looks)] if looks else [] for looks in (one.before, one.after)
            )
            options.append(_row([*before, one.texts, *after]))
        if len(options) == 1:
            return options[0]
        return Choice(tuple(options), self.span)

    def _assertions(self, looks: Looks) -> Expression:
        """The empty text where all assertions hold."""
        found = _pattern(Concat(looks, self.span), self.label, self.span)
        # one that tests no other text is always true or always false
        return found if self.operations.looks_beyond(found, {}) else self._both(found)


def _at_end(one: Bordered) -> Bordered:
    """Assertions without texts as those at an end."""
    match one.texts:
        case Pattern(regex=Concat(parts=())):
            return Bordered((), one.texts, one.before + one.after)
    return one


def _options(regex: Regex) -> tuple[Regex, ...]:
    """The alternatives of a regex."""
    match regex:
        case Group(part=part, name=None):
            return _options(part)
        case Alternate(options=options):
            return tuple(inner for option in options for inner in _options(option))
    return (regex,)


def _of_regex(regex: Regex, text: str, span: Span) -> Bordered:
    parts = list(_factors(regex))
    begin, end = 0, len(parts)
    while begin < end and isinstance(parts[begin], Look):
        begin += 1
    while end > begin and isinstance(parts[end - 1], Look):
        end -= 1
    looks = [part for part in parts if isinstance(part, Look)]
    before, after = looks[:begin], looks[len(looks) - (len(parts) - end) :]
    texts = Concat(tuple(parts[begin:end]), span)
    return Bordered(tuple(before), _pattern(texts, text, span), tuple(after))


def _factors(regex: Regex) -> Iterator[Regex]:
    match regex:
        case Concat(parts=parts):
            for part in parts:
                yield from _factors(part)
        case Group(part=part, name=None):
            yield from _factors(part)
        case _:
            yield regex


def _pattern(regex: Regex, text: str, span: Span) -> Pattern:
    tree = Extension(Kind.ASSERTED, (regex,), span) if has_look(regex) else regex
    return Pattern(tree, Stop.ANYWHERE, text, span)


def _negated(look: Look) -> Look:
    return Look(_OPPOSITE[look.kind], look.part, look.span)


def _row(items: list[Expression]) -> Expression:
    if len(items) == 1:
        return items[0]
    return grammar_tree.Sequence(tuple(items), items[0].span.to(items[-1].span))


def _is_empty(one: Bordered) -> bool:
    return isinstance(one.texts, Automaton) and one.texts.machine.is_empty
