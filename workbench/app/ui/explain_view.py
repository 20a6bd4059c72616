"""Explanations of forbidden tokens for the page.

``reasons`` gives a short note for each of several tokens and reads the preceding text once. ``why``
gives the full answer for one token, with places in the grammar and the path in the pictures.
"""

from __future__ import annotations

from itertools import islice
from typing import Annotated, cast

from workbench.analysis.earley import ExpectedPiece, Frame
from workbench.analysis.explain import Explanation, explain, explain_each
from workbench.app.pipeline import Compiled
from workbench.app.ui import wire
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.question import question
from workbench.app.ui.request_fields import bytes_in, checked_switch, field, optional
from workbench.app.ui.requests import ConstrainedRequest, checked_tokens
from workbench.app.ui.run_records import Record
from workbench.app.ui.shares import LIGHT
from workbench.base.source import Source
from workbench.base.visible_text import shorten, visible
from workbench.constraint.combined import is_small
from workbench.constraint.compile import compile as compile_constraint
from workbench.constraint.labels import longest_tokens
from workbench.constraint.mask_answers import Reason, label_reason
from workbench.grammar.grammar import Grammar
from workbench.grammar.label_encoding import labels_of
from workbench.grammar.monitors.monitor import monitor_named

#: Characters of a note, which is shown next to a bar.
_MAX_NOTE = 200

#: Characters shown of a long token before the one that fails, and after it.
_MAX_BEFORE, _MAX_AFTER = 40, 24

#: Bytes of a token whose path in the pictures is returned.
_MAX_FOLLOWED = 64

#: Characters shown of a terminal before and after a part of it.
_MAX_AROUND = 14

#: Innermost frames of a stack that are shown; and places.
_MAX_FRAMES, _MAX_PLACES = 24, 60


def reasons(
    grammar: Grammar,
    so_far: bytes,
    tokens: list[bytes | None],
    *,
    small_tokens: bool = False,
    monitor: str = "",
) -> list[str]:
    """For each token (None is the end) what the grammar expected where it fails.

    Empty where the grammar allows the token, unless the run allows ``small_tokens`` only or has a
    ``monitor``, which says what it forbids.

    Cost: the preceding text is read once.
    """
    if not grammar.is_prefix(so_far):
        return ["no accepted text begins with this text" for _ in tokens]
    explanations = zip(tokens, explain_each(grammar, so_far, tokens), strict=True)
    notes = [
        _note(explanation) or _not_small(token, small_tokens) for token, explanation in explanations
    ]
    if not monitor:
        return notes
    why = monitor_named(monitor, grammar, grammar.limits).why
    return [
        note or shorten(why(so_far, token), _MAX_NOTE)
        for note, token in zip(notes, tokens, strict=True)
    ]


#: Why a text that must end in its budget forbids a token that the grammar allows.
_TOO_LATE = "no text ends with the tokens left after it"


def or_too_late(notes: list[str], tokens: list[bytes | None]) -> list[str]:
    """The notes on forbidden tokens of a run whose text must end in its budget."""
    return [
        note or _TOO_LATE * (token is not None) for note, token in zip(notes, tokens, strict=True)
    ]


def _not_small(token: bytes | None, small_tokens: bool) -> str:
    """Why a run in small tokens forbids a token that the grammar allows; empty for the others."""
    return "" if not small_tokens or token is None or is_small(token) else "small tokens only"


def _note(explanation: Explanation) -> str:
    if explanation.allowed:
        return ""
    begun = explanation.text[len(explanation.so_far) :]
    note = f"{explanation.note} after {visible(begun)}" if begun else explanation.note
    return note if len(note) <= _MAX_NOTE else note[: _MAX_NOTE - 1] + "…"


class ReasonsRequest(ConstrainedRequest):
    """What restricts a run, its text, and the tokens after it; null for the end."""

    so_far: Annotated[bytes, field(bytes_in, sent=str)]
    tokens: Annotated[list[bytes | None], field(checked_tokens, sent=list[str | None])]


@question(LIGHT, refused=lambda error: {"reasons": [], "problem": error.message})
def explain_tokens(handlers: Handlers, request: ReasonsRequest) -> wire.Reasons:
    """A short note for each of several tokens: why it is forbidden after a text."""
    grammar = handlers.compiled(request).grammar
    if grammar is None:
        return {"reasons": []}
    so_far, tokens = request.so_far, request.tokens
    notes = reasons(
        grammar, so_far, tokens, small_tokens=request.small_tokens, monitor=request.monitor
    )
    if labels_of(grammar):
        labels = _LabelReasons(handlers, grammar, so_far)
        notes = [note or labels.note(token) for note, token in zip(notes, tokens, strict=True)]
    return {"reasons": or_too_late(notes, tokens) if request.finish else notes}


class WhyRequest(ConstrainedRequest):
    """What restricts a run, its text, and the token after it; null for the end.

    A test string is sent as a token after an empty text, with ``tested``: it may have any white
    space.
    """

    so_far: Annotated[bytes, field(bytes_in, sent=str)] = b""
    token: Annotated[bytes | None, optional(field(bytes_in, sent=str))] = None
    tested: Annotated[bool, field(checked_switch, sent=bool | None)] = False


@question(LIGHT)
def why(handlers: Handlers, request: WhyRequest) -> wire.Why | wire.Refusal:
    """Why one token is forbidden after a text: what was read, and what was expected next."""
    compiled = handlers.compiled(request)
    grammar = compiled.accepting if request.tested else compiled.readable()
    so_far, token = request.so_far, request.token
    explanation = explain(grammar, so_far, token, request.monitor or None)
    text, shown = (
        so_far + explanation.read,
        len(so_far) + max(0, len(explanation.read) - _MAX_FOLLOWED),
    )
    path = _path(compiled, text, shown)
    answer = _explanation(explanation, grammar.source)
    if explanation.allowed and labels_of(grammar):
        answer["reason"] = str(_LabelReasons(handlers, grammar, so_far).reason(token) or "")
    elif explanation.allowed and _not_small(token, request.small_tokens):
        answer["allowed"] = False
        answer["reason"] = "the grammar allows it, but this run allows small tokens only"
    if explanation.allowed and not answer["reason"] and token and request.finish:
        answer["allowed"] = False
        answer["reason"] = f"the grammar allows it, but {_TOO_LATE}"
    return cast("wire.Why", {"ok": True, "path": path, "before": text[:shown].hex(), **answer})


class _LabelReasons:
    """How terminal labels allow or forbid a token after a text (in its longest allowed tokens)."""

    def __init__(self, handlers: Handlers, grammar: Grammar, so_far: bytes) -> None:
        self._grammar = grammar
        self._vocabulary = handlers.room.vocabulary()
        self._taken = longest_tokens(compile_constraint(grammar, self._vocabulary), so_far)

    def note(self, token: bytes | None) -> str:
        """A short note on how a token is read, or why not; empty where unknown."""
        reason = self.reason(token)
        return "" if reason is None else reason.note

    def reason(self, token: bytes | None) -> Reason | None:
        """How a token is read, or why not; None where unknown."""
        token_id = self._vocabulary.end
        if token is not None:
            token_id = next(iter(self._vocabulary.ids_of.get(token, ())), None)
        if self._taken is None or token_id is None:
            return None
        return label_reason(self._grammar, self._vocabulary, self._taken, token_id)


def _path(compiled: Compiled, text: bytes, shown: int) -> Record:
    """The path of a text in the pictures, from the byte ``shown`` on."""
    follower = compiled.follower()
    # in parts: the follower lists the paths of each part, which is slow for a long part
    for begin in range(0, shown, _MAX_FOLLOWED):
        follower.take(text[begin : min(begin + _MAX_FOLLOWED, shown)])
    return follower.take(text[shown:]).path


def _explanation(explanation: Explanation, source: Source) -> Record:
    return {
        "so_far": explanation.so_far.hex(),
        "token": None if explanation.token is None else explanation.token.hex(),
        "cells": _cells(explanation),
        "read": visible(explanation.read),
        "failing": visible(explanation.failing),
        "allowed": explanation.allowed,
        "reason": explanation.reason,
        "expected": explanation.wanted,
        "may_end": explanation.may_end,
        "stacks": [
            [_frame(frame) for frame in stack[-_MAX_FRAMES:]] for stack in explanation.stacks
        ],
        "left_out": [max(0, len(stack) - _MAX_FRAMES) for stack in explanation.stacks],
        "spans": [_place(piece, source) for piece in islice(explanation.places, _MAX_PLACES)],
        "complete": explanation.complete and len(explanation.places) <= _MAX_PLACES,
    }


def _cells(explanation: Explanation) -> list[wire.Cell]:
    """The token in cells: the part that was read, the cell that fails, the rest.

    A cell is a character, or a byte that is not part of a character.
    """
    if explanation.token is None:
        return []
    # a character that fails at its second byte fails as a whole, if the token has all of it
    cut = max(0, len(explanation.text) - len(explanation.so_far))
    if not explanation.token[cut:].startswith(explanation.failing.encode()):
        cut = len(explanation.read)
    read, rest = _pieces(explanation.token[:cut]), _pieces(explanation.token[cut:])
    fails = rest[:1] if explanation.byte is not None else []
    after = rest[len(fails) :]
    cells: list[wire.Cell] = [{"text": text, "is": "read"} for text in read[-_MAX_BEFORE:]]
    if len(read) > _MAX_BEFORE:
        cells.insert(0, {"text": "…", "is": "more"})
    cells += [{"text": text, "is": "fails"} for text in fails]
    cells += [{"text": text, "is": "after"} for text in after[:_MAX_AFTER]]
    if len(after) > _MAX_AFTER:
        cells.append({"text": "…", "is": "more"})
    return cells


def _pieces(data: bytes) -> list[str]:
    return [visible(character) for character in data.decode("utf-8", "surrogateescape")]


def _frame(frame: Frame) -> wire.StackFrame:
    return {"rule": frame.rule, "start": frame.span.start, "end": frame.span.end}


def _place(piece: ExpectedPiece, source: Source) -> wire.Place:
    start, end, whole = piece.span.start, piece.span.end, piece.whole
    line, column = source.position(start)
    innermost = [stack[-1].rule for stack in piece.stacks if stack]
    before, behind = source.text[whole.start : start], source.text[end : whole.end]
    return {
        "start": start,
        "end": end,
        "line": line,
        "column": column,
        "what": visible(source.text[start:end]),
        # the terminal around it
        "before": visible(
            before if len(before) <= _MAX_AROUND else "…" + before[1 - _MAX_AROUND :]
        ),
        "behind": visible(
            behind if len(behind) <= _MAX_AROUND else behind[: _MAX_AROUND - 1] + "…"
        ),
        "rule": innermost[0] if innermost else "",
    }
