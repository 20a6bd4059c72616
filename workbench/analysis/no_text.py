"""Why a regex, or a part of it, matches no text: the condition or the set that excludes every one.

A condition such as ``$`` is named if the regex without it matches a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from workbench.automata.build import regex_machine
from workbench.base.diagnostics import Advice
from workbench.base.errors import BuildError, LimitError
from workbench.base.source import Source, Span
from workbench.base.visible_text import shorten
from workbench.grammar.grammar import Grammar
from workbench.syntax.grammar_tree import holds
from workbench.syntax.regex.tree import (
    Bytes,
    Characters,
    Concat,
    Extension,
    Group,
    Kind,
    Look,
    Regex,
    Repeat,
    asserted,
    outermost,
)

#: The most characters of a condition that a message shows.
_SHOWN = 30
#: The most conditions of a regex that are tried.
_MAX_CONDITIONS = 12


@dataclass(frozen=True, slots=True)
class _Cause:
    """The smallest part that is shown to exclude every text."""

    span: Span
    #: Why, after a colon; empty if it is the part itself.
    reason: str
    hint: str


def no_text(grammar: Grammar) -> BuildError:
    """The error of a grammar that accepts no text, at the part that is the cause."""
    source = grammar.source
    if grammar.regex is None:
        whole = Span(0, len(source.text))
        return BuildError(
            "this grammar accepts no text", source, whole, "let it accept a text", "unproductive"
        )
    cause = _cause(grammar.regex, source)
    hint = next((advice.hint for advice in slashes_advice(source)), cause.hint)
    message = f"this regex matches no text{cause.reason}"
    return BuildError(message, source, cause.span, hint, "unproductive")


def unmatched_advice(regex: Regex, source: Source) -> Iterator[Advice]:
    """A warning for each outermost part of a regex that matches no text."""
    for part in _unmatched(regex):
        cause = _cause(part, source)
        what = "this regex matches no text" if part is regex else "a part of this matches no text"
        yield Advice(f"{what}{cause.reason}", cause.span, "unproductive", cause.hint)


def matches_a_text(regex: Regex) -> bool:
    """Whether a regex matches any text."""
    return holds(regex, _leaf_matches)


def _leaf_matches(leaf: Regex) -> bool:
    if asserted(leaf) is not None:
        try:
            return not regex_machine(leaf).is_empty
        except LimitError:
            return True
    # another extension is taken to match: items that match nothing do not occur in practice
    return not isinstance(leaf, Characters | Bytes) or bool(leaf.ranges)


def _unmatched(regex: Regex) -> Iterator[Regex]:
    """The outermost parts of a regex that match no text."""
    if not matches_a_text(regex):
        yield regex
        return
    for part in regex.children:
        yield from _unmatched(part)


def _cause(regex: Regex, source: Source) -> _Cause:
    """Why a regex that matches no text does not."""
    match regex:
        case Characters() | Bytes():
            hint = "delete it, or add a character to its set"
            return _Cause(regex.span, ": this set has no characters", hint)
        case Concat() | Group() | Repeat():
            unmatched = (part for part in regex.children if not matches_a_text(part))
            return next((_cause(part, source) for part in unmatched), _whole(regex))
        case Extension(Kind.ASSERTED, (inner,)):
            look = _excluding(inner)
            return _whole(regex) if look is None else _condition(look, source)
    return _whole(regex)


def _whole(regex: Regex) -> _Cause:
    return _Cause(regex.span, "", "delete it, or change it so that it matches a text")


def _condition(look: Look, source: Source) -> _Cause:
    written = shorten(source.text[look.span.start : look.span.end], _SHOWN)
    hint = f"delete {written}, or move it to where a text can fulfil it"
    return _Cause(look.span, f": no text matches the rest and fulfils {written} there", hint)


def _excluding(regex: Regex) -> Look | None:
    """The condition because of which a regex matches no text; None if that takes too long.

    The first one without which it matches a text; otherwise the first one that together with those
    before it excludes every text.
    """
    looks = outermost(regex, Look)
    if len(looks) > _MAX_CONDITIONS:
        return None
    alone = (look for look in looks if _matches_without(regex, [look]))
    after = (look for i, look in enumerate(looks) if not _matches_without(regex, looks[i + 1 :]))
    return next(alone, None) or next(after, None)


def _matches_without(regex: Regex, looks: Sequence[Look]) -> bool:
    """Whether a regex matches any text when some of its conditions are left out."""

    def without(node: Regex) -> Regex:
        return Concat((), node.span) if node in looks else node.rebuild(without)

    return _leaf_matches(Extension(Kind.ASSERTED, (without(regex),), regex.span))


#: A regex as JavaScript writes it, with its flags.
_IN_SLASHES = re.compile(r"/((?:[^/\\\n]|\\.)+)/([dgimsuvy]*)")


def slashes_advice(source: Source) -> Iterator[Advice]:
    """A note on slashes around a regex: here they are characters of the text, and flags are too."""
    written = _IN_SLASHES.fullmatch(source.text)
    if written is None:
        return
    kept = "".join(flag for flag in dict.fromkeys(written[2]) if flag in "ims")
    meant = (f"(?{kept})" if kept else "") + written[1]
    whole = Span(0, len(source.text))
    message = "the slashes around the regex are characters of the text"
    yield Advice(message, whole, "slashes", f"did you mean {shorten(meant, 60)!r}?", meant)
