"""Attributes of rules in llguidance's Lark and xgrammar's EBNF, such as ``[lazy]``.

Attributes and some operators need automata or JSON Schemas, on which ``syntax`` does not depend.
The caller passes an implementation of ``LanguageOperations`` (``grammar.notations`` does); without
one, the parser rejects these parts of a grammar by name.
"""

from __future__ import annotations

from collections import abc
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from workbench.base.diagnostics import suggestion
from workbench.base.errors import ParseError
from workbench.base.source import NO_SPAN, Source, Span
from workbench.syntax.cursor import Cursor
from workbench.syntax.grammar_tree import (
    Automaton,
    Expression,
    GrammarTree,
    Literal,
    Sequence,
    any_characters,
)
from workbench.syntax.ranges import Ranges
from workbench.syntax.regex.tree import Operation, Regex, combined

if TYPE_CHECKING:
    from workbench.base.dfa import Dfa


#: The rules that expressions call, by name.
Rules = Mapping[str, Expression]


#: A newline token and the ignored text after it.
Newlines = tuple[tuple["Dfa", "Dfa"], ...]


class LineStart(NamedTuple):
    """The newline tokens that begin a line at one column, each with the ignored text after it."""

    #: Before a terminal.
    before_terminal: Newlines
    #: Before another newline token.
    before_newline: Newlines
    #: At the end of the text.
    before_end: Newlines


class MatchEnds(NamedTuple):
    """The matches of a regex, by what decides that they are not continued to a longer one."""

    #: Those that no character continues; None if there are none.
    alone: Regex | None
    #: Those that the characters of ``run`` continue, and no others; None if there are none.
    running: Regex | None
    run: Ranges


class LanguageOperations(Protocol):
    """Operations on the languages of expressions, which must not need a stack.

    Raises: BuildError for one that does; LimitError.
    """

    def looking(self, parts: abc.Sequence[Expression], rules: Rules) -> list[Regex] | None:
        """The regexes of the parts if an assertion of one tests the text around it."""
        ...

    def terminal(self, regex: Regex, label: str, span: Span) -> Expression:
        """The terminal of a regex with assertions; an automaton if it tests its own text only."""
        ...

    def own_text(self, regex: Regex, label: str, span: Span) -> Expression:
        """The terminal of a regex whose assertions see nothing around its text."""
        ...

    def first_matches(self, regex: Regex, label: str, span: Span) -> Expression | None:
        """The texts that a backtracking matcher matches whole; None if these are all texts."""
        ...

    def match_ends(self, regex: Regex) -> MatchEnds | None:
        """How the matches of a regex end; None if they end in another way, or if it has looks."""
        ...

    def overlap(self, parts: abc.Sequence[Expression], rules: Rules) -> bool:
        """Whether two parts may match the same text, between some other texts."""
        ...

    def both(self, parts: abc.Sequence[Expression], rules: Rules) -> Dfa:
        """The intersection of the parts."""
        ...

    def but(self, whole: Expression | None, part: Expression, rules: Rules) -> Dfa:
        """The texts of ``whole``, or all texts, without those of ``part``."""
        ...

    def shortest(self, part: Expression, rules: Rules) -> Dfa:
        """The texts of a part without a proper prefix that is also a text of it."""
        ...

    def at_most(self, part: Expression, characters: int, rules: Rules) -> Dfa:
        """The texts of a part with at most ``characters`` characters."""
        ...

    def line_starts(
        self,
        newline: Expression,
        ignored: Expression,
        terminals: abc.Sequence[Expression],
        tab: int,
        rules: Rules,
    ) -> tuple[tuple[LineStart, ...], Dfa]:
        """The newline tokens that begin a line at column 0, 1, … up to ``limits.columns``.

        None at all if some texts of the other ``terminals`` continue a newline token, and some
        do not. The machine is that of newline tokens between brackets, where they are dropped: of
        those that no first byte of another terminal continues.
        """
        ...

    def schema(self, source: Source) -> GrammarTree:
        """The rules of a JSON Schema, whose start is ``start``.

        Raises: ParseError, BuildError.
        """
        ...


#: Attributes that do not change the language.
_IGNORED = frozenset({"capture", "stop_capture", "temperature"})
#: All attributes of a rule.
ATTRIBUTES = ("lazy", "stop", "suffix", "max_chars", "max_tokens", *sorted(_IGNORED))
_ATTRIBUTES_HINT = (
    'the attributes are lazy, stop="…", suffix="…", max_chars=10, capture, temperature=0.5'
)
#: The most digits of ``max_chars``.
_MAX_DIGITS = 9
_HINT = "write for example [lazy]"


@dataclass(frozen=True, slots=True)
class Attribute:
    """``name`` or ``name=value`` between brackets after a rule's name."""

    name: str
    #: The digits of a number, an expression of the notation, or None.
    value: object
    span: Span


@dataclass(frozen=True, slots=True)
class RuleOptions:
    """What the attributes of a rule require of its texts."""

    #: Only texts without a proper prefix that matches.
    lazy: bool = False
    #: An expression that follows the body.
    end: object = None
    #: The most characters of a text.
    characters: int | None = None
    #: The last attribute that matters, and its span.
    name: str = ""
    span: Span = NO_SPAN

    @property
    def plain(self) -> bool:
        """Whether no attribute matters."""
        return not self.name


_NO_OPTIONS = RuleOptions()


def take_attributes(cursor: Cursor, value: Callable[[], object]) -> tuple[Attribute, ...]:
    """attributes = "[" (attribute ("," attribute)*)? "]"; attribute = name ("=" value)?.

    Raises: ParseError
    """
    bracket = cursor.take("ATTRIBUTES")
    assert bracket is not None, "the caller checks the bracket"
    cursor.enter(bracket)
    attributes: list[Attribute] = []
    while not cursor.ahead("RBRACKET"):
        start = cursor.here.start
        name = cursor.text(cursor.expect("NAME", "an attribute", _HINT))
        given = value() if cursor.take("EQUALS") else None
        attributes.append(Attribute(name, given, cursor.since(start)))
        if not cursor.take("COMMA") and not cursor.ahead("RBRACKET"):
            raise cursor.unexpected("',' or ']'", _HINT)
    cursor.leave("',' or ']'", _HINT)
    return tuple(attributes)


def rule_options(source: Source, attributes: Iterable[Attribute]) -> RuleOptions:
    """The options that attributes set.

    ``stop`` and ``suffix`` define the same texts: the shortest match of the body and its end.

    Raises: ParseError for an unknown attribute, or one that does not define a set of texts.
    """
    options = _NO_OPTIONS
    for attribute in attributes:
        if attribute.name in _IGNORED:
            continue
        options = replace(
            _with_attribute(source, attribute, options), name=attribute.name, span=attribute.span
        )
    return options


def _with_attribute(source: Source, attribute: Attribute, options: RuleOptions) -> RuleOptions:
    name, value, span = attribute.name, attribute.value, attribute.span
    if name == "lazy" and value is None:
        return replace(options, lazy=True)
    if name in ("stop", "suffix") and value is not None and not isinstance(value, str):
        if isinstance(value, Literal) and not value.value:
            message = f"an empty {name} cannot be read: it needs the end token"
            hint = "write the text that ends it"
            raise ParseError(message, source, span, hint, "unsupported")
        return replace(options, lazy=True, end=value)
    if name == "max_chars" and isinstance(value, str) and value.isdigit():
        if len(value) > _MAX_DIGITS:
            hint = "leave the attribute out"
            raise ParseError("expected a smaller number", source, span, hint)
        return replace(options, characters=int(value))
    if name == "max_tokens":
        message = "max_tokens cannot be read: how many tokens a text has depends on the vocabulary"
        hint = "bound the characters: [max_chars=100], or a count such as {0,100}"
        raise ParseError(message, source, span, hint, "unsupported")
    message = f"there is no attribute {name!r} like this"
    if name in ATTRIBUTES:  # its value is of another kind
        raise ParseError(message, source, span, _ATTRIBUTES_HINT)
    hint, fix = suggestion(name, ATTRIBUTES, _ATTRIBUTES_HINT)
    error = ParseError(message, source, span, hint)
    raise error.with_fix(fix, Span(span.start, span.start + len(name)))


def apply_options(
    body: Expression,
    end: Expression | None,
    options: RuleOptions,
    label: str,
    operations: LanguageOperations,
    called_by: Callable[[Expression], Rules],
) -> Expression:
    """The body of a rule with its options applied; ``called_by`` returns the rules it calls.

    Raises: BuildError if its texts need a stack; LimitError.
    """
    span = body.span
    if end is not None:
        body = Sequence((body, end), span)
    if (looking := operations.looking((body,), called_by(body))) is not None:
        (regex,) = looking
        if options.lazy:
            regex = combined(Operation.SHORTEST, regex)
        if options.characters is not None:
            short = any_characters(0, options.characters, span)
            regex = combined(Operation.BOTH, regex, short)
        return operations.terminal(regex, label, span)
    if options.lazy:
        body = Automaton(operations.shortest(body, called_by(body)), label, span)
    if options.characters is not None:
        machine = operations.at_most(body, options.characters, called_by(body))
        body = Automaton(machine, label, span)
    return body
