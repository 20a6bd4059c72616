"""Converts a grammar to another notation for the page."""

from __future__ import annotations

from workbench.errors import WorkbenchError
from workbench.export.registry import export
from workbench.notations import Notation
from workbench.ui.handlers import Handlers
from workbench.ui.pictures import sentence
from workbench.ui.records import Record
from workbench.ui.requests import LONGEST_TEXT, TextRequest, text_in

#: What the rule is called that a grammar begins with where its notation has a custom.
_START = {Notation.GBNF: "root"}


def convert_grammar(handlers: Handlers, sent: Record) -> Record:
    """The grammar in the notation ``to``; why not, where that cannot be said in it."""
    try:
        grammar = handlers.compiled(TextRequest.of(sent)).grammar
        if grammar is None:
            return {"ok": False, "why": "The grammar cannot be read yet: fix its problems first."}
        to = text_in(sent, "to", 40)
        text = export(grammar, to)
    except WorkbenchError as error:
        return {"ok": False, "why": sentence(error)}
    if len(text) > LONGEST_TEXT:
        why = f"The result has {len(text):,} characters; this page takes at most {LONGEST_TEXT:,}. "
        return {"ok": False, "why": why + "The command workbench convert has no such limit."}
    return {"ok": True, "text": text, "start": _START.get(Notation(to), "start")}
