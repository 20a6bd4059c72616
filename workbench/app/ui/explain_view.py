"""Explanations of forbidden tokens for the page.

Short notes for a list of tokens read the preceding text once; the whole answer, with the places in
the grammar and the path through the pictures, is for one token.
"""

from __future__ import annotations

from itertools import islice

from workbench.analysis.earley import ExpectedPiece, Frame
from workbench.analysis.explain import Explanation, explain, explain_each
from workbench.app.pipeline import Compiled
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.pictures import sentence
from workbench.app.ui.records import Record
from workbench.app.ui.requests import TextRequest, bytes_in, switch_in, tokens_in
from workbench.base.errors import WorkbenchError
from workbench.base.source import Source
from workbench.constraint.compile import compile as compile_constraint
from workbench.constraint.label_reasons import Reason, label_reason
from workbench.constraint.labels import longest_tokens
from workbench.constraint.small_tokens import is_small
from workbench.drawing.visible_text import visible
from workbench.grammar.grammar import Grammar
from workbench.grammar.label_encoding import labels_of

#: A reason is a short note next to a bar.
_LONGEST = 200

#: What is shown of a long token: characters before the one that fails, and after it.
_BEFORE, _AFTER = 40, 24

#: Bytes of a token that are followed through the pictures.
_FOLLOWED = 64

#: What is shown of a terminal before and behind a piece of it.
_AROUND = 14

#: Frames of a stack that are shown, the innermost; and places.
_FRAMES, _PLACES = 24, 60


def reasons(
    grammar: Grammar, so_far: bytes, tokens: list[bytes | None], *, small_tokens: bool = False
) -> list[str]:
    """For each token (None is the end) what the grammar expected at the place where it fails.

    Empty where the grammar allows the token, unless the run allows ``small_tokens`` only.

    Cost: the preceding text is read once.
    """
    if not grammar.is_prefix(so_far):
        return ["no accepted text begins with this text" for _ in tokens]
    found = zip(tokens, explain_each(grammar, so_far, tokens), strict=True)
    return [_note(one) or _not_small(token, small_tokens) for token, one in found]


def _not_small(token: bytes | None, small_tokens: bool) -> str:
    """Why a run in small tokens forbids a token that the grammar allows; empty for the others."""
    return "" if not small_tokens or token is None or is_small(token) else "small tokens only"


def _note(found: Explanation) -> str:
    if found.allowed:
        return ""
    begun = found.text[len(found.so_far) :]
    told = f"{found.note} after {visible(begun)}" if begun else found.note
    return told if len(told) <= _LONGEST else told[: _LONGEST - 1] + "…"


def explain_tokens(handlers: Handlers, sent: Record) -> Record:
    """A short note for each of some tokens: why it is forbidden after a text."""
    try:
        grammar = handlers.compiled(TextRequest.of(sent)).grammar
        if grammar is None:
            return {"reasons": []}
        so_far, tokens = bytes_in(sent.get("so_far")), tokens_in(sent)
        told = reasons(grammar, so_far, tokens, small_tokens=switch_in(sent, "small_tokens"))
        if labels_of(grammar):
            beside = _Beside(handlers, grammar, so_far)
            told = [note or beside.note(token) for note, token in zip(told, tokens, strict=True)]
        return {"reasons": told}
    except WorkbenchError as error:
        return {"reasons": [], "problem": error.message}


def why(handlers: Handlers, sent: Record) -> Record:
    """Why one token is forbidden after a text: how far it came, and what could have read on.

    Without a token it explains the end; a test string is sent as a token after an empty text.
    """
    try:
        compiled = handlers.compiled(TextRequest.of(sent))
        if compiled.grammar is None:
            raise WorkbenchError("the grammar cannot be read", "fix its problems first")
        so_far = bytes_in(sent.get("so_far", ""))
        token = None if sent.get("token") is None else bytes_in(sent["token"])
        found = explain(compiled.grammar, so_far, token)
        path = _path(compiled, so_far + found.read, len(found.read))
        told = _told(found, compiled.grammar.source)
        if found.allowed and labels_of(compiled.grammar):
            told["reason"] = str(_Beside(handlers, compiled.grammar, so_far).reason(token) or "")
        elif found.allowed and _not_small(token, switch_in(sent, "small_tokens")):
            told["allowed"] = False
            told["reason"] = "the grammar allows it, but this run allows small tokens only"
    except WorkbenchError as error:
        return {"ok": False, "why": sentence(error)}
    return {"ok": True, "path": path, **told}


class _Beside:
    """What labels have to do with tokens after a text; it is read in the longest tokens allowed."""

    def __init__(self, handlers: Handlers, grammar: Grammar, so_far: bytes) -> None:
        self._grammar = grammar
        self._vocabulary = handlers.room.vocabulary()
        self._taken = longest_tokens(compile_constraint(grammar, self._vocabulary), so_far)

    def note(self, token: bytes | None) -> str:
        """The same in a few words; empty where it is unknown."""
        found = self.reason(token)
        return "" if found is None else found.note

    def reason(self, token: bytes | None) -> Reason | None:
        """How a token is read, or why it is not; None where it is unknown."""
        token_id = self._vocabulary.end
        if token is not None:
            token_id = next(iter(self._vocabulary.ids_of.get(token, ())), None)
        if self._taken is None or token_id is None:
            return None
        return label_reason(self._grammar, self._vocabulary, self._taken, token_id)


def _path(compiled: Compiled, text: bytes, read: int) -> Record:
    """The way of the last ``read`` bytes of a text through the pictures, of a long way its end."""
    follower = compiled.follower()
    shown = len(text) - min(read, _FOLLOWED)
    for begin in range(
        0, shown, _FOLLOWED
    ):  # ways are listed for each piece, which takes long for a long one
        follower.take(text[begin : min(begin + _FOLLOWED, shown)])
    return follower.take(text[shown:]).path


def _told(found: Explanation, source: Source) -> Record:
    return {
        "so_far": found.so_far.hex(),
        "token": None if found.token is None else found.token.hex(),
        "cells": _cells(found),
        "read": visible(found.read),
        "failing": visible(found.failing),
        "allowed": found.allowed,
        "reason": found.reason,
        "expected": found.wanted,
        "may_end": found.may_end,
        "stacks": [[_frame(frame) for frame in stack[-_FRAMES:]] for stack in found.stacks],
        "left_out": [max(0, len(stack) - _FRAMES) for stack in found.stacks],
        "spans": [_place(place, source) for place in islice(found.places, _PLACES)],
        "complete": found.complete and len(found.places) <= _PLACES,
    }


def _cells(found: Explanation) -> list[Record]:
    """The token piece by piece: the part that was read, the byte that fails, the rest.

    A piece is a character, or a byte where that is no character by itself.
    """
    if found.token is None:
        return []
    # a character that fails at its second byte fails as a whole, if all of it is the token's
    cut = max(0, len(found.text) - len(found.so_far))
    if not found.token[cut:].startswith(found.failing.encode()):
        cut = len(found.read)
    read, rest = _pieces(found.token[:cut]), _pieces(found.token[cut:])
    fails = rest[:1] if found.byte is not None else []
    after = rest[len(fails) :]
    cells = [{"text": text, "is": "read"} for text in read[-_BEFORE:]]
    if len(read) > _BEFORE:
        cells.insert(0, {"text": "…", "is": "more"})
    cells += [{"text": text, "is": "fails"} for text in fails]
    cells += [{"text": text, "is": "after"} for text in after[:_AFTER]]
    if len(after) > _AFTER:
        cells.append({"text": "…", "is": "more"})
    return cells


def _pieces(data: bytes) -> list[str]:
    return [visible(character) for character in data.decode("utf-8", "surrogateescape")]


def _frame(frame: Frame) -> Record:
    return {"rule": frame.rule, "start": frame.span.start, "end": frame.span.end}


def _place(place: ExpectedPiece, source: Source) -> Record:
    start, end, whole = place.span.start, place.span.end, place.whole
    line, column = source.position(start)
    innermost = [stack[-1].rule for stack in place.stacks if stack]
    before, behind = source.text[whole.start : start], source.text[end : whole.end]
    return {
        "start": start,
        "end": end,
        "line": line,
        "column": column,
        "what": visible(source.text[start:end]),
        # the terminal around it
        "before": visible(before if len(before) <= _AROUND else "…" + before[1 - _AROUND :]),
        "behind": visible(behind if len(behind) <= _AROUND else behind[: _AROUND - 1] + "…"),
        "rule": innermost[0] if innermost else "",
    }
