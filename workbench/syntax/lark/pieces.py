"""``%regex { … }`` of llguidance: JSON in, the chunks whose pieces are meant out."""

from __future__ import annotations

from workbench.errors import ParseError
from workbench.source import Source, Span
from workbench.syntax.chunks import words
from workbench.syntax.kbnf.scanner import Part
from workbench.syntax.lark.nodes import Pieces

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
