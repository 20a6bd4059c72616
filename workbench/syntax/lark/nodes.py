"""What a Lark grammar says before its names are resolved: statements, and nodes no tree has.

Bodies are those of ``grammar_tree`` with some nodes more, which ``lark_lowering`` turns into the
others: uses of templates, rules with a parameter, operations on terminals, schemas.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workbench.source import Span
from workbench.syntax.grammar_tree import Expression
from workbench.syntax.rule_attributes import Attribute


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
