"""Checks that anchors are only at the edges of a regex, where they have no effect."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.base.source import Span
from workbench.syntax.regex.reader import Reader
from workbench.syntax.regex.tree import Alternate, Concat, Group, Regex, Repeat

_HINT = (
    "the whole text has to match anyway: leave the anchor out, or move it to the end of the regex"
)


@dataclass(frozen=True, slots=True)
class Anchor:
    """``^`` or ``\\A``, which belong at the start, or ``$``, ``\\z``, ``\\Z``, at the end."""

    text: str
    at_start: bool


#: Anchors by span; in the tree an anchor is an empty ``Concat`` with that span.
Anchors = dict[Span, Anchor]


def check_anchors(reader: Reader, regex: Regex, anchors: Anchors) -> None:
    """Reject every anchor that is not at an edge of the regex.

    The whole text has to match, so ``^`` has no effect if only other ``^`` precede it, and ``$`` if
    only other ``$`` follow it. Elsewhere an anchor makes its branch match nothing or changes a
    repetition, which is probably a mistake.

    Raises: ParseError at the first such anchor.
    """
    if anchors:
        _check(reader, regex, anchors, first=True, last=True)


def _check(reader: Reader, regex: Regex, anchors: Anchors, *, first: bool, last: bool) -> None:
    """``first`` and ``last``: nothing is read before, or after, this part."""
    match regex:
        case Concat(parts) if not parts:
            anchor = anchors.get(regex.span)
            if anchor and not (first if anchor.at_start else last):
                raise _misplaced(reader, regex.span, anchor)
        case Concat(parts):
            at_end = [_is_only(part, anchors, at_start=False) for part in parts]
            for position, part in enumerate(parts):
                followed = not all(at_end[position + 1 :])
                _check(reader, part, anchors, first=first, last=last and not followed)
                first = first and _is_only(part, anchors, at_start=True)
        case Alternate(options):
            for option in options:
                _check(reader, option, anchors, first=first, last=last)
        case Group(part):
            _check(reader, part, anchors, first=first, last=last)
        case Repeat(part):
            _check(reader, part, anchors, first=False, last=False)
        case _:
            pass


def _is_only(regex: Regex, anchors: Anchors, *, at_start: bool) -> bool:
    """Whether a part reads nothing and contains only anchors of one side."""
    match regex:
        case Concat(parts) if not parts:
            anchor = anchors.get(regex.span)
            return anchor is None or anchor.at_start == at_start
        case Concat(parts) | Alternate(parts):
            return all(_is_only(part, anchors, at_start=at_start) for part in parts)
        case Group(part):
            return _is_only(part, anchors, at_start=at_start)
        case _:
            return False


def _misplaced(reader: Reader, span: Span, anchor: Anchor) -> Exception:
    edge = "start" if anchor.at_start else "end"
    return reader.fail(
        f"expected '{anchor.text}' only at the {edge} of the regex",
        span,
        _HINT,
        "unsupported_regex",
    )
