"""Compares a grammar with its version before an edit, as a record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from workbench.difference import equivalent
from workbench.errors import WorkbenchError
from workbench.ui.handlers import Handlers
from workbench.ui.pictures import sentence
from workbench.ui.records import Record
from workbench.ui.requests import TextRequest

#: So long two grammars are compared; the answer says how far that went.
_SECONDS = 0.5


def what_changed(handlers: Handlers, sent: Record) -> Record:
    """A shortest text gained and lost against ``before``, and how sure that is."""
    try:
        now = handlers.compiled(TextRequest.of(sent)).grammar
        earlier = sent.get("before")
        earlier = earlier if isinstance(earlier, Mapping) else {}
        before = handlers.compiled(TextRequest.of(earlier)).grammar
        if now is None or before is None:
            which = "grammar" if now is None else "grammar before the change"
            return {"ok": False, "why": f"The {which} cannot be read."}
        found = equivalent(before, now, limits=replace(handlers.pipeline.limits, seconds=_SECONDS))
    except WorkbenchError as error:
        return {"ok": False, "why": sentence(error)}
    told = found.gained is not None or found.lost is not None
    return {
        "ok": True,
        "same": bool(found),
        "exact": found.exact,
        "gained": _text(found.gained),
        "lost": _text(found.lost),
        "how": "both machines were compared as a whole" if told and found.exact else found.why,
    }


def _text(data: bytes | None) -> Record | None:
    return None if data is None else {"text": data.decode("utf-8", "replace")}
