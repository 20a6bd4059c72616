"""What a schema's author is told: in come a keyword's node and words, out come errors and notes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from workbench.errors import BuildError, ParseError
from workbench.schema.reading import Node
from workbench.source import Span


@dataclass(frozen=True, slots=True)
class SchemaNote:
    """Something that is no error and that the author should know: an unknown ``format``."""

    message: str
    #: The JSON pointer of the keyword.
    pointer: str
    span: Span


class Untold(Exception):  # noqa: N818  # told to people as a BuildError by whoever began
    """A set cannot be worked out; the message says why."""


def unsupported(keyword: Node, why: str, hint: str = "") -> BuildError:
    """The refusal of a keyword that reads well and cannot be honoured."""
    return BuildError(
        f"{told(keyword)}: {why}",
        keyword.document.source,
        keyword.name_span,
        hint or "leave the keyword out, or say the same in another way",
        kind="unsupported_schema",
    )


def blamed(subschema: Node, words: Iterable[str]) -> Node:
    """The first of some keywords that a subschema has; itself where it has none of them."""
    held = subschema.members or {}
    return next((held[word] for word in words if word in held), subschema)


def wrong(place: Node, expected: str) -> ParseError:
    """The error of a schema that is none: a keyword with a value it cannot have."""
    return ParseError(
        f"{told(place)}: expected {expected}",
        place.document.source,
        place.span,
        kind="schema",
    )


def note(keyword: Node, message: str) -> SchemaNote:
    """A note at a keyword."""
    return SchemaNote(message, keyword.pointer, keyword.name_span)


def told(place: Node) -> str:
    """How a place in a schema is spoken of: by its JSON pointer, which ends in the keyword."""
    return place.pointer or "the schema"
