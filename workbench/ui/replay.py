"""Builds one HTML page that replays a run from its step records and pictures.

The file holds the page's own cards, scripts and sheets, so a replay looks and moves as the page
does; what a card would ask the server is in the file. It loads nothing and sends nothing: its
content security policy forbids it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

from workbench.errors import LimitError, WorkbenchError
from workbench.grammar import Grammar
from workbench.pipeline import Machine
from workbench.resources import STATIC
from workbench.ui.explain import reasons
from workbench.ui.files import SCRIPTS, SHEETS
from workbench.ui.handlers import Handlers
from workbench.ui.records import Record
from workbench.ui.requests import TextRequest, bytes_in, switch_in

#: Where the recording goes in the page.
MARK = "@@recording@@"

#: Scripts and sheets of cards a replay has not.
_NOT_HERE = frozenset(
    {
        *("drafts.js", "share.js", "yours.js", "export.js", "models.js", "intro.js"),
        *("names.js", "editor.js"),
        *("header.js", "grammar.js", "takeaway.js", "learn.js", "footer.js"),
        *("takeaway.css", "learn.css"),
    }
)

#: The machines shown, in the order they are drawn.
_MACHINES = (Machine.CHARACTERS, Machine.TOKENS, Machine.STACK, Machine.RULES)

#: Parts drawn of a machine that is too large for one picture.
MOST_PARTS = 16

#: Seconds spent on parts of pictures, and on why tokens are forbidden; a long run in a tangled
#: machine goes without the rest.
_DRAWING, _SECONDS = 10.0, 2.0

#: Names of states one machine may ask parts for.
_MOST_NAMES = 2_000


@cache
def shell() -> str:
    """The page around a recording, which goes in the place of ``MARK``."""
    scripts = [name for name in SCRIPTS if name not in _NOT_HERE]
    script = "\n".join(_text(name) for name in (*scripts, "replay.js"))
    style = "\n".join(_text(name) for name in (*SHEETS, "replay.css") if name not in _NOT_HERE)
    body = _text("replay.html")
    for part in ("picture", "run"):
        body = body.replace(f"<!--{part}-->", _text(f"{part}.html"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # styles are allowed inline: the scripts set some on elements
    policy = f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}; img-src data:">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>A replay</title>\n<style>\n{style}\n</style>\n</head>\n"
        f'<body class="replay">\n{body}\n'
        f'<script type="application/json" id="recording">{MARK}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def _text(name: str) -> str:
    return (STATIC / name).read_text("utf-8")


def replay(about: Record, steps: Sequence[Record], end: Record | None, drawn: Record) -> str:
    """The whole file.

    ``about`` says what the run was made with: text, notation, start, prompt, model and
    settings, as the ``head`` of its records does. ``drawn`` is what the server gave for it.
    """
    recording = {"about": about, "steps": steps, "end": end, **drawn}
    data = json.dumps(recording, ensure_ascii=False, separators=(",", ":"))
    # in a script element only < can end anything, and JSON has another way to write it
    return shell().replace(MARK, data.replace("<", "\\u003c"))


#: A token that was taken (None for the end), and those the model wanted in vain.
Taken = tuple[bytes | None, list[bytes | None]]


def drawn(
    handlers: Handlers, sent: Record, standing: Mapping[str, Iterable[str]], taken: Iterable[Taken]
) -> Record:
    """What a page would ask for while a run is looked at.

    ``pictures``: every machine of the grammar, as the parts in which the run stands;
    ``standing`` names for each kind of path its states, in order. ``reasons``:
    for each token why what the model wanted there was forbidden.

    Raises: WorkbenchError where the grammar cannot be read.
    """
    grammar = handlers.compiled(TextRequest.of(sent)).grammar
    if grammar is None:
        raise WorkbenchError("the grammar of the run cannot be read", "was it changed since?")
    pictures = {}
    until = time.monotonic() + _DRAWING
    for machine in _MACHINES:
        asked = {**sent, "tab": str(machine), "centre": ""}
        if parts := _parts(handlers, asked, standing, until):
            pictures[str(machine)] = parts
    small_tokens = switch_in(sent, "small_tokens")
    return {"pictures": pictures, "reasons": list(_reasons(grammar, taken, small_tokens))}


def _reasons(grammar: Grammar, taken: Iterable[Taken], small_tokens: bool) -> Iterator[list[str]]:
    """For each token why what the model wanted was forbidden, as long as there is time."""
    until, so_far = time.monotonic() + _SECONDS, b""
    for token, wanted in taken:
        told: list[str] = []
        if wanted and time.monotonic() < until:
            with suppress(LimitError):  # too ambiguous to list the states: the run plays without
                told = reasons(grammar, so_far, wanted, small_tokens=small_tokens)
        yield told
        so_far += token or b""


def _parts(
    handlers: Handlers, asked: Record, standing: Mapping[str, Iterable[str]], until: float
) -> list[Record]:
    first = handlers.draw(asked)
    if not first.get("ok"):
        return []
    parts = [first]
    for name in standing.get(first.get("follow") or "", ()):
        state = first["names"].get(name, name)
        if len(parts) == MOST_PARTS or not first["partial"] or time.monotonic() > until:
            break
        if not any(state in part["where"] for part in parts):
            part = handlers.draw({**asked, "centre": state})
            parts += [part] if part.get("ok") else []
    return parts


def standing(steps: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """The states of a run, by the kind of path, each once."""
    found: dict[str, dict[str, None]] = {}
    for step in steps:
        for kind, moments in step.get("path", {}).items():
            if kind != "stacks" and moments and moments[0]:
                found.setdefault(kind, {})[str(moments[0][0])] = None
    return {kind: list(names)[:_MOST_NAMES] for kind, names in found.items()}


def standing_in(sent: object) -> dict[str, list[str]]:
    """The same, as a browser sends it.

    Raises: WorkbenchError where it is none.
    """
    if not isinstance(sent, dict) or len(sent) > 20:
        raise WorkbenchError("expected the states of a run")
    for names in sent.values():
        if not isinstance(names, list) or not all(
            isinstance(name, str) and len(name) <= 40 for name in names
        ):
            raise WorkbenchError("expected the states of a run as lists of names")
    return {str(kind): names[:_MOST_NAMES] for kind, names in sent.items()}


def taken(steps: Iterable[Mapping[str, Any]]) -> list[Taken]:
    """The tokens of a run, each with those the model wanted in vain."""
    return [
        (_bytes(step["token"]), [_bytes(one) for one in step.get("wanted", ()) if not one["ok"]])
        for step in steps
    ]


def _bytes(token: Mapping[str, Any]) -> bytes | None:
    if token.get("end"):
        return None
    return bytes_in(token["hex"]) if "hex" in token else str(token.get("text", "")).encode()


def taken_in(sent: object) -> list[Taken]:
    """The same, as a browser sends it: in hexadecimal digits, null for the end.

    Raises: WorkbenchError where it is none.
    """
    if not isinstance(sent, list):
        raise WorkbenchError("expected the tokens of a run")
    found: list[Taken] = []
    for each in sent[:_MOST_NAMES]:
        if not isinstance(each, list) or len(each) != 2 or not isinstance(each[1], list):
            raise WorkbenchError("expected the tokens of a run, each with its candidates")
        token, *wanted = (
            None if one is None else bytes_in(one) for one in (each[0], *each[1][:20])
        )
        found.append((token, wanted))
    return found
