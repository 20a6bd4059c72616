"""One HTML page that replays a run, and the recorded runs of the examples.

The file holds the page's own cards, scripts and sheets, so a replay looks and moves as the page
does; what a card would ask the server is in the file. It loads nothing and sends nothing: its
content security policy forbids it.

``python -m workbench.app.ui.replay`` records all examples of the groups in ``GROUPS``, each into
``grammars/NAME.trace.ndjson``; with names it records those. Run it again after a change of the
embedded model, of a grammar or prompt, or of how states are numbered: the tests compare.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

from workbench.analysis.run_tracing import STACKS, Followed
from workbench.app.pipeline import Compiled
from workbench.app.ui.bundle import join_modules
from workbench.app.ui.explain_view import reasons
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.model_registry import ModelRoom
from workbench.app.ui.page_files import SHEETS
from workbench.app.ui.pictures import TOGETHER
from workbench.app.ui.records import Record, line
from workbench.app.ui.requests import TextRequest, bytes_in, switch_in
from workbench.app.ui.runs import run_records
from workbench.base.errors import LimitError, WorkbenchError
from workbench.base.resources import GRAMMARS, STATIC
from workbench.drawing.drawable import Machine
from workbench.grammar.gallery import Gallery
from workbench.grammar.grammar import Grammar

#: Where the recording goes in the page.
MARK = "@@recording@@"

#: Sheets of cards that a replay does not have.
_NOT_HERE = frozenset({"takeaway.css", "learn.css", "compare.css"})

#: The machines whose pictures are in the file besides those of the tokens at each step.
_MACHINES = (Machine.CHARACTERS, Machine.TOKENS, Machine.STACK, Machine.RULES)

#: Pictures in the file: steps of the run with one of their own, and parts of a large machine.
MOST_PARTS = 24

#: Seconds for all pictures, and for the reasons why tokens are forbidden; the file is made without
#: what is not ready then.
_DRAWING, _SECONDS = 10.0, 2.0

#: Tokens of a run that are read.
_MOST_TOKENS = 2_000


@cache
def replay_shell() -> str:
    """The page around a recording, which goes in the place of ``MARK``."""
    script = join_modules(STATIC, "replay.js")
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
    return replay_shell().replace(MARK, data.replace("<", "\\u003c"))


#: A token that was taken (None for the end), and those the model wanted in vain.
Taken = tuple[bytes | None, list[bytes | None]]


@dataclass(frozen=True, slots=True)
class _Moment:
    """The text before a token, and the state after it in each machine, by kind of path."""

    so_far: bytes
    states: Mapping[str, str]


def drawn(handlers: Handlers, sent: Record, taken: Sequence[Taken]) -> Record:
    """What a page would request while a reader looks at a run.

    ``pictures``: for each tab its pictures. Those of the tokens at a step have ``of``: the texts
    before the steps they belong to, in hexadecimal digits, or the states where the grammar needs
    no stack. ``reasons``: for each token why what the model wanted there was forbidden.

    Raises: WorkbenchError where the grammar cannot be read.
    """
    compiled = handlers.compiled(TextRequest.of(sent))
    if compiled.grammar is None:
        raise WorkbenchError("the grammar of the run cannot be read", "was it changed since?")
    moments = _moments(compiled, (token for token, _ in taken))
    until = time.monotonic() + _DRAWING
    pictures = {TOGETHER: _of_steps(handlers, {**sent, "tab": TOGETHER}, moments, until)}
    for machine in _MACHINES:
        asked = {**sent, "tab": str(machine), "centre": ""}
        pictures[str(machine)] = _parts(handlers, asked, moments, until)
    small_tokens = switch_in(sent, "small_tokens")
    return {
        "pictures": {tab: made for tab, made in pictures.items() if made},
        "reasons": list(_reasons(compiled.grammar, taken, small_tokens)),
    }


def _moments(compiled: Compiled, tokens: Iterable[bytes | None]) -> list[_Moment]:
    """The places of a run: one before each token, and its end."""
    follower, so_far = compiled.follower(), b""
    found: list[_Moment] = []
    for token in (*tokens, None):
        path = follower.take(token or b"").path
        states = {kind: str(way[0][0]) for kind, way in path.items() if kind != STACKS and way}
        found.append(_Moment(so_far, states))
        so_far += token or b""
    return found


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


def _of_steps(
    handlers: Handlers, asked: Record, moments: Sequence[_Moment], until: float
) -> list[Record]:
    """The tokens that may follow at each step, drawn once where two steps look the same."""
    made: dict[str, Record] = {}
    nests = bool(handlers.compiled(TextRequest.of(asked)).missing(Machine.CHARACTERS))
    for moment in (*moments[-1:], *moments):  # a replay opens at the end of its run
        so_far = moment.so_far.hex()
        state = moment.states.get(Followed.RULES if nests else Followed.CHARACTERS)
        if state is None or any((so_far if nests else state) in one["of"] for one in made.values()):
            continue
        if len(made) == MOST_PARTS or time.monotonic() > until:
            break
        picture = _draw(handlers, {**asked, "centre": state, "so_far": so_far})
        if picture is not None:
            key = so_far if nests else picture["current"]
            made.setdefault(json.dumps(picture), {**picture, "of": []})["of"].append(key)
    return list(made.values())


def _parts(
    handlers: Handlers, asked: Record, moments: Iterable[_Moment], until: float
) -> list[Record]:
    """A machine as the parts the run goes through; none where it belongs to single steps."""
    first = _draw(handlers, asked)
    if first is None or "current" in first:
        return []
    parts = [first]
    followed = first["follow"] or ""
    for name in dict.fromkeys(m.states[followed] for m in moments if followed in m.states):
        state = first["names"].get(name, name)
        if len(parts) == MOST_PARTS or not first["partial"] or time.monotonic() > until:
            break
        if not any(state in part["where"] for part in parts):
            part = _draw(handlers, {**asked, "centre": state})
            parts += [part] if part is not None else []
    return parts


def _draw(handlers: Handlers, asked: Record) -> Record | None:
    """A picture without the place at which it opens: the file is read in windows of any size."""
    picture = handlers.draw(asked)
    if not picture.get("ok"):
        return None
    return {key: value for key, value in picture.items() if key != "opening"}


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
    for each in sent[:_MOST_TOKENS]:
        if not isinstance(each, list) or len(each) != 2 or not isinstance(each[1], list):
            raise WorkbenchError("expected the tokens of a run, each with its candidates")
        token, *wanted = (
            None if one is None else bytes_in(one) for one in (each[0], *each[1][:20])
        )
        found.append((token, wanted))
    return found


#: Every example of these groups has a recorded run.
GROUPS = ("Start here", "Classics")

#: Temperature and seed where the usual ones write a text that is too short to be worth reading.
_SETTINGS = {"anbn": (1.0, 3), "palindrome": (1.5, 31), "arithmetic": (1.0, 42)}
_USUAL = (0.7, 1)


#: Settings that the head of a recorded run holds.
_KEPT = ("temperature", "seed", "max_tokens", "small_tokens")


def recorded_lines(handlers: Handlers, name: str) -> Iterator[str]:
    """The lines of a run of an example, as the page asks for it.

    Its head holds the settings, so that the page can run it again.

    Raises: WorkbenchError for an unknown name, or where the run ends in an error.
    """
    if name not in handlers.gallery:
        raise WorkbenchError(f"there is no example {name!r}", "the gallery lists them")
    example = handlers.gallery[name]
    temperature, seed = _SETTINGS.get(name, _USUAL)
    sent = {
        "run": "recorded",
        "text": example.text,
        "notation": example.notation,
        "start": example.start,
        "prompt": example.prompt,
        "max_tokens": example.max_tokens,
        "temperature": temperature,
        "seed": seed,
        "small_tokens": example.small_tokens,
    }
    for record in run_records(handlers, sent):
        if record["k"] == "error":
            raise WorkbenchError(f"{name}: {record['message']}", record["hint"])
        if record["k"] == "head":
            record |= {key: sent[key] for key in _KEPT}
        if record["k"] != "status":
            yield line(record)


def main(names: list[str]) -> None:
    """Record the named examples; without names, those of ``GROUPS``."""
    handlers = Handlers(ModelRoom())
    for name in names or to_record(handlers.gallery):
        lines = "".join(recorded_lines(handlers, name))
        (GRAMMARS / f"{name}.trace.ndjson").write_text(lines, "utf-8")


def to_record(gallery: Gallery) -> list[str]:
    """The names of the examples that have a recorded run."""
    return [example.name for example in gallery.values() if example.group in GROUPS]


if __name__ == "__main__":
    main(sys.argv[1:])
