"""Arguments of the endpoints, converted to and from the page's records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.errors import WorkbenchError
from workbench.ui.pictures import sentence

Answer = dict[str, Any]

#: What of a picture, and of a step, is for the page's script alone. (Gradio tells a client how each
#: record differs from the last one, and gets lists in lists wrong: with ``path`` it would hang.)
_PAGES_OWN = frozenset({"where", "follow", "names", "ends", "path"})


def grammar_sent(text: str, notation: str, start: str, style: str) -> Answer:
    """A grammar as the page sends it."""
    return {"text": text, "notation": notation, "start": start, "style": style}


def for_programs(record: Answer) -> Answer:
    """A record without what is the page's own."""
    return {name: value for name, value in record.items() if name not in _PAGES_OWN}


def answered(question: Callable[[], Answer]) -> Answer:
    """The answer, or what is wrong with the question."""
    try:
        return question()
    except WorkbenchError as error:
        return {"ok": False, "why": sentence(error)}


def token_bytes(token: Answer) -> bytes:
    """The bytes of a token's record."""
    return bytes.fromhex(token["hex"]) if "hex" in token else token.get("text", "").encode()


def hexadecimal(text: str) -> str:
    """A text as the page sends bytes."""
    return text.encode("utf-8", "replace").hex()
