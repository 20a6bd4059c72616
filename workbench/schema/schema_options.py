"""How the instances of a schema may be written: whitespace options, and ``x-guidance``.

The keyword ``x-guidance`` is llguidance's, not part of any draft. Its separators are regexes
there; the supported ones contain no special character, so they are compared as texts.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as Words
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache

import numpy as np

from workbench.base.dfa import DEAD, Dfa
from workbench.base.diagnostics import VERY_SIMILAR, suggestion
from workbench.base.errors import WorkbenchError
from workbench.base.source import Source, Span
from workbench.schema.schema_reader import UNASSERTABLE, Document, Node
from workbench.syntax.grammar_tree import (
    Automaton,
    Expression,
    Literal,
    Nonterminal,
    Repetition,
    Rule,
    Sequence,
)


class Whitespace(StrEnum):
    """The whitespace between the lexemes of an instance."""

    #: What the schema's ``x-guidance`` chooses. Without it a text that is checked may have any
    #: whitespace, and a text that is generated has one space (``Grammar.for_generation``).
    AUTO = "auto"
    #: Any JSON whitespace, each run at most ``LONGEST_RUN`` characters long.
    ANY = "any"
    #: Nothing: ``{"a":1,"b":2}``.
    COMPACT = "compact"
    #: One space after commas and colons, as ``json.dumps`` writes: ``{"a": 1, "b": 2}``.
    ONE_SPACE = "one space"
    #: A line for each member and item, as ``json.dumps`` writes with ``indent``: a level is two
    #: spaces, four spaces or a tab.
    INDENT_2 = "indent 2"
    INDENT_4 = "indent 4"
    INDENT_TAB = "indent tab"


class Formats(StrEnum):
    """What the keyword ``format`` means."""

    #: Only strings of the format are instances, as its RFC defines it.
    ASSERTED = "assert"
    #: As ``ASSERTED``, but only times that Python's ``datetime`` has: without leap seconds.
    PYTHON = "python"
    #: It restricts nothing.
    ANNOTATION = "annotation"


class Order(StrEnum):
    """The order of the properties of an object."""

    #: The order in which the schema declares them.
    DECLARED = "declared"
    #: Any order.
    ANY = "any"


class Spellings(StrEnum):
    """How the characters of property names, constants and formats, and integers, are written."""

    #: Printable ASCII without escapes, and integers in digits alone, as programs write them.
    USUAL = "usual"
    #: Every character by any of its escapes too, and integers with a fraction of zeros.
    ANY = "any"


#: The longest run of whitespace unless another is chosen: a line feed and the indentation of depth
#: 8 with four spaces each, plus three for the blank line or carriage return of some writers.
#: Measured with 20 properties and 131k tokens: a mask takes 0.02 to 0.04 ms (with 12: half of
#: that); with 68 up to 0.5 ms, because then every token of many spaces has to be distinguished.
LONGEST_RUN = 36


_UNASSERTABLE_TEXT = ", ".join(sorted(UNASSERTABLE))


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaOptions:
    """How instances are written, which a schema does not determine, and what is not asserted.

    Raises: WorkbenchError for an unknown choice, or a run of less than one character.
    """

    #: A policy; or any whitespace, with this number as the most characters of each run.
    whitespace: Whitespace | str | int = Whitespace.AUTO
    format: Formats | str = Formats.ASSERTED
    order: Order | str = Order.DECLARED
    spellings: Spellings | str = Spellings.USUAL
    #: Whether an object has only the members that its schemas name, as in strict tool calls
    #: (``algebra.closing``).
    closed: bool = False
    #: Keywords that are read as annotations, everywhere in the schema; also as one text, separated
    #: by commas. Each place where one would restrict instances has a note.
    unasserted: Words[str] | str = ()

    def __post_init__(self) -> None:
        if isinstance(self.whitespace, str):
            _check("whitespace policy", self.whitespace, Whitespace)
        elif self.whitespace < 1:
            raise WorkbenchError(
                f"expected runs of at least 1 character of whitespace, not {self.whitespace}",
                "choose the policy 'compact' for no whitespace at all",
            )
        _check("meaning of 'format'", self.format, Formats)
        _check("order of properties", self.order, Order)
        _check("choice of spellings", self.spellings, Spellings)
        words = self.unasserted
        words = words.replace(",", " ").split() if isinstance(words, str) else words
        for word in words:
            if word not in UNASSERTABLE:
                choose = f"choose from {_UNASSERTABLE_TEXT}"
                hint, _ = suggestion(word, sorted(UNASSERTABLE), choose, similar=VERY_SIMILAR)
                raise WorkbenchError(f"{word!r} cannot be left unasserted", hint)
        object.__setattr__(self, "unasserted", tuple(sorted(set(words))))

    @property
    def longest_run(self) -> int:
        """The longest run of free whitespace: a model could write unbounded whitespace forever."""
        return LONGEST_RUN if isinstance(self.whitespace, str) else self.whitespace


def _check(what: str, chosen: str, choices: type[StrEnum]) -> None:
    try:
        choices(chosen)
    except ValueError:
        names = ", ".join(repr(str(choice)) for choice in choices)
        message = f"unknown {what} {str(chosen)!r}"
        raise WorkbenchError(message, f"choose one of {names}") from None


#: The default options.
OPTIONS = SchemaOptions()

KEYWORD = "x-guidance"

#: The policy of each pair of item and key separator, if whitespace is not flexible.
_POLICIES: dict[object, Whitespace] = {
    (",", ":"): Whitespace.COMPACT,
    (", ", ": "): Whitespace.ONE_SPACE,
}
_SEPARATORS = ("item_separator", ","), ("key_separator", ":")
_FLEXIBLE = "whitespace_flexible"
_LAYOUT = frozenset({_FLEXIBLE, *(name for name, _ in _SEPARATORS)})
#: Settings that always hold here: every JSON escape is accepted.
_ALWAYS = {"json_allow_general_unicode_escapes": True}


def apply_guidance(root: Node, options: SchemaOptions) -> tuple[SchemaOptions, tuple[Node, ...]]:
    """The options with the policy of ``x-guidance``, and its members that are not supported.

    Any policy in ``options`` takes precedence over it.

    Law: the separators mean what they mean in llguidance 1.9, where whitespace is flexible unless
         a separator is given.
    """
    guidance = (root.members or {}).get(KEYWORD)
    if guidance is None:
        return options, ()
    if guidance.members is None:
        return options, (guidance,)
    policy = _policy(guidance.members)
    ignored = tuple(_unsupported(guidance.members, policy))
    if policy is not None and options.whitespace == Whitespace.AUTO:
        options = replace(options, whitespace=policy)
    return options, ignored


#: The keywords that say which members an object has besides its ``properties``.
OTHER_MEMBERS = frozenset(("additionalProperties", "patternProperties", "unevaluatedProperties"))
#: The keywords whose values are no schemas.
_VALUES = frozenset(("const", "default", "enum", "examples", "required"))


def open_objects(text: str) -> Span | None:
    """The place of the first ``properties`` that ``closed`` changes; None without one."""
    try:
        waiting = [Document(Source(text, "schema")).root]
    except WorkbenchError:
        return None
    while waiting:
        node = waiting.pop()
        members = node.members or {}
        if "properties" in members and OTHER_MEMBERS.isdisjoint(members):
            return members["properties"].name_span
        inner = [each for name, each in members.items() if name not in _VALUES]
        waiting += [*(node.items or ()), *inner][::-1]
    return None


def chooses_whitespace(text: str) -> bool:
    """Whether a schema itself says how its instances are laid out (``x-guidance``)."""
    if KEYWORD not in text:
        return False
    try:
        root = Document(Source(text, "schema")).root
    except WorkbenchError:
        return False
    return apply_guidance(root, OPTIONS)[0].whitespace != Whitespace.AUTO


def _policy(guidance: dict[str, Node]) -> Whitespace | None:
    """The policy of the layout settings; None if there is no such policy here."""
    given = {name: node.json_value() for name, node in guidance.items() if name in _LAYOUT}
    if not given:
        return None
    separators = tuple(given.get(name, usual) for name, usual in _SEPARATORS)
    flexible = given.get(_FLEXIBLE, False)
    if flexible is True:
        return Whitespace.ANY if separators == (",", ":") else None
    policies = (policy for written, policy in _POLICIES.items() if written == separators)
    return next(policies, None) if flexible is False else None


def _unsupported(guidance: dict[str, Node], policy: Whitespace | None) -> Iterator[Node]:
    for name, node in guidance.items():
        if name in _LAYOUT:
            if policy is None:
                yield node
        elif name not in _ALWAYS or node.value is not _ALWAYS[name]:
            yield node


#: JSON whitespace (RFC 8259, §2).
WHITESPACE_BYTES = b" \t\n\r"


#: One level of each style of indentation.
_INDENTS = {
    Whitespace.INDENT_2: b"  ",
    Whitespace.INDENT_4: b"    ",
    Whitespace.INDENT_TAB: b"\t",
}


@dataclass(frozen=True, slots=True)
class Spacing:
    """The punctuation of objects and arrays under one policy; of indented ones at one level."""

    #: The separator of members, and of a name and its value, with whitespace.
    comma: Expression
    colon: Expression
    #: The whitespace after an opening bracket and at both ends of the text; None for none.
    blank: Expression | None = None
    #: The whitespace before the first member or item, and after the last one; None for none.
    before: Expression | None = None
    after: Expression | None = None
    #: The rules that these expressions call.
    rules: tuple[Rule, ...] = ()
    #: One level of indentation; None if lines are not indented.
    unit: bytes | None = None

    @staticmethod
    def of(options: SchemaOptions, span: Span) -> Spacing:
        """The punctuation of a policy, at the outermost level; ``span`` is that of its rules."""
        match options.whitespace:
            case Whitespace.COMPACT:
                return Spacing(Literal(b",", span), Literal(b":", span))
            case Whitespace.ONE_SPACE:
                return Spacing(Literal(b", ", span), Literal(b": ", span))
            case Whitespace.INDENT_2 | Whitespace.INDENT_4 | Whitespace.INDENT_TAB:
                return _indented(_INDENTS[Whitespace(options.whitespace)], 0, span)
            case _:
                return _any(options.longest_run, span)

    def inside(self, level: int | None, span: Span) -> Spacing:
        """The punctuation of brackets inside ``level`` others; None: inside any number of them."""
        return self if self.unit is None else _indented(self.unit, level, span)


#: One level of each style of indentation.
_INDENTS = {
    Whitespace.INDENT_2: b"  ",
    Whitespace.INDENT_4: b"    ",
    Whitespace.INDENT_TAB: b"\t",
}


def _indented(unit: bytes, level: int | None, span: Span) -> Spacing:
    def line(levels: int, before: bytes = b"") -> Expression:
        if level is not None:
            return Literal(before + b"\n" + levels * unit, span)
        any_level = Repetition(Literal(unit, span), 0, None, span)
        return Sequence((Literal(before + b"\n", span), any_level), span)

    outer = level or 0
    comma, colon = line(outer + 1, b","), Literal(b": ", span)
    return Spacing(comma, colon, None, line(outer + 1), line(outer), (), unit)


def _any(bound: int, span: Span) -> Spacing:
    blank = Nonterminal("whitespace", span)
    comma = Sequence((blank, Literal(b",", span), blank), span)
    colon = Sequence((blank, Literal(b":", span), blank), span)
    run = Automaton(whitespace_machine(bound), f"up to {bound} blanks", span)
    rules = tuple(
        Rule(name, body, span, span)
        for name, body in (("comma", comma), ("colon", colon), ("whitespace", run))
    )
    calls = Nonterminal("comma", span), Nonterminal("colon", span)
    return Spacing(*calls, blank, None, blank, rules)


@lru_cache(maxsize=16)
def whitespace_machine(bound: int) -> Dfa:
    """At most ``bound`` characters of whitespace: a chain of ``bound + 1`` states."""
    classes = np.zeros(256, np.uint16)
    classes[[*WHITESPACE_BYTES]] = 1
    table = np.full((bound + 1, 2), DEAD, np.int32)
    table[:-1, 1] = np.arange(1, bound + 1)
    return Dfa(classes, table, np.ones(bound + 1, np.bool_))
