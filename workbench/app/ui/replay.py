"""One HTML page that replays a run, and the recorded runs of the examples.

The file contains the page's cards, scripts and style sheets, so a replay looks and behaves like the
page; the answers that a card would request from the server are in the file. It loads and sends
nothing; its content security policy forbids both.

``python -m workbench.app.ui.replay`` records all examples of the groups in ``GROUPS``, each into
``grammars/NAME.trace.ndjson``; with names it records those. It also records the comparison with
which the view *Compare* opens. Run it again after a change of the
embedded model, of a grammar or prompt, or of the numbering of states; the tests compare the files.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from typing import Annotated, Any

from workbench import __version__
from workbench.analysis.problems import Diagnosis
from workbench.analysis.run_tracing import STACKS, PicturedMachine
from workbench.app.pipeline import Compiled, Options, Pipeline
from workbench.app.ui import wire_cards
from workbench.app.ui.compare_opening import RECORDED, recorded_comparison
from workbench.app.ui.explain_view import or_too_late, reasons
from workbench.app.ui.grammar_view import check_texts
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.model_registry import ModelRoom
from workbench.app.ui.page_files import SHEETS, join_modules
from workbench.app.ui.picture_view import draw_machine, flags_with
from workbench.app.ui.pictures import TOGETHER, PictureRequest
from workbench.app.ui.request_fields import bytes_in, field
from workbench.app.ui.requests import RunRequest
from workbench.app.ui.run_records import Record, line, stop_record
from workbench.app.ui.runs import record_of, run_records
from workbench.base.errors import LimitError, WorkbenchError
from workbench.base.resources import GRAMMARS, STATIC
from workbench.constraint.engine.automaton import AutomatonConstraint
from workbench.constraint.masks import TokenMask
from workbench.constraint.protocol import Constraint
from workbench.constraint.token_machine import machine_of
from workbench.decoding.generate import after
from workbench.decoding.trace import Trace
from workbench.drawing.drawable import Machine
from workbench.grammar.gallery import Gallery
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import FINISHING, Notation, options_in

#: Replaced by the recording in the page.
MARK = "@@recording@@"

#: Style sheets of cards that a replay does not have.
_LEFT_OUT = frozenset({"takeaway.css", "learn.css", "compare.css"})

#: The machines whose pictures are in the file, besides that of the tab Together.
_MACHINES = (Machine.CHARACTERS, Machine.TOKENS, Machine.STACK, Machine.RULES)

#: Pictures in the file at most, of steps of the run and of parts of a large machine.
MAX_PICTURES = 24

#: Seconds for all pictures, and for the explanations of forbidden tokens; the file is written
#: without those that are not ready then.
_PICTURE_SECONDS, _REASON_SECONDS = 10.0, 2.0

#: Tokens of a run at most.
_MAX_TOKENS = 2_000

#: Characters of a recording that are written as ``\\u003c`` is.
_ESCAPED = re.compile("[<\ud800-\udfff]")


@cache
def replay_shell() -> str:
    """The page around a recording, which replaces ``MARK``."""
    script = join_modules(STATIC, "replay.js")
    style = "\n".join(_text(name) for name in (*SHEETS, "replay.css") if name not in _LEFT_OUT)
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


def replay(
    about: Record,
    steps: Sequence[Mapping[str, Any]],
    end: Record | None,
    drawn: wire_cards.ReplayDrawing,
) -> str:
    """The whole file.

    ``about`` has text, notation, start, prompt, model and settings of the run, as in the ``head``
    of its records. ``drawn`` is the result of the function ``drawn``.
    """
    recording = {"about": about, "steps": steps, "end": end, **drawn}
    data = json.dumps(recording, ensure_ascii=False, separators=(",", ":"))
    # only < can end a script element, and half a surrogate pair has no UTF-8; JSON can escape both
    return replay_shell().replace(MARK, _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", data))


class _OneGrammar(Pipeline):
    """A pipeline for a grammar that is compiled already."""

    def __init__(self, grammar: Grammar) -> None:
        super().__init__(grammar.limits)
        self._compiled = Compiled(
            grammar.source.text, grammar.notation, grammar.limits, grammar, Diagnosis(), []
        )

    def compile(
        self,
        text: str,
        notation: Notation,
        start: str = "",
        options: Options = (),
        hole: tuple[str, str] | None = None,
    ) -> Compiled:
        return self._compiled


def replay_of(
    trace: Trace, grammar: Grammar, constraint: Constraint, prompt: str, title: str
) -> str:
    """The replay of a run of the library, which needs no text that can be read again."""
    grammar = grammar.for_generation
    pipeline = _OneGrammar(grammar)
    room = ModelRoom(constraint.vocabulary.name, load_vocabulary=lambda _: constraint.vocabulary)
    handlers = Handlers(room, pipeline)
    fields = {
        "text": grammar.source.text,
        "notation": str(grammar.notation),
        "start": grammar.start,
        "options": options_in(grammar.options, grammar.notation),
    }
    request = ReplayRequest.of(fields)
    compiled = handlers.compiled(request)
    follower, machine = compiled.follower(), machine_of(constraint)
    steps = [record_of(step, machine, compiled, follower) for step in trace.steps]
    milliseconds = sum(step.model_ms + step.mask_ms + step.advance_ms for step in trace.steps)
    end = None if trace.stop is None else stop_record(trace, milliseconds)
    about = {
        **fields,
        "prompt": prompt,
        "model": constraint.vocabulary.name,
        "title": title,
        "tab": TOGETHER,
        "version": __version__,
    }
    ids = [token for token in trace.token_ids if token not in constraint.vocabulary.ends]
    exact = isinstance(constraint, AutomatonConstraint)
    masks = None if exact else lambda count: constraint.mask(after(constraint, ids[:count]))
    pictures = drawn(handlers, request, taken(steps), masks)
    return replay(about, steps, dict(end) if end else None, pictures)


#: The mask of a run after a number of its tokens; None if they are refused.
Masks = Callable[[int], TokenMask | None]


def run_masks(handlers: Handlers, run: RunRequest, ids: Sequence[object]) -> Masks | None:
    """The masks of a run with these settings and tokens; None if they are the grammar's."""
    if not run.narrows:
        return None
    return lambda count: handlers.run_mask(run, ids[:count])


#: A taken token (None for the end), and the forbidden tokens the model preferred.
Taken = tuple[bytes | None, list[bytes | None]]


@dataclass(frozen=True, slots=True)
class _Moment:
    """The text before a token, and the state after it in each machine, by kind of path."""

    so_far: bytes
    states: Mapping[str, str]


def taken_in(taken: object, _: str = "") -> list[Taken]:
    """The tokens of a run as a browser sends them: in hexadecimal digits, null for the end.

    Raises: WorkbenchError where the value has another form.
    """
    if not isinstance(taken, list):
        raise WorkbenchError("expected the tokens of a run")
    tokens: list[Taken] = []
    for each in taken[:_MAX_TOKENS]:
        if not isinstance(each, list) or len(each) != 2 or not isinstance(each[1], list):
            raise WorkbenchError("expected the tokens of a run, each with its candidates")
        token, *wanted = (
            None if digits is None else bytes_in(digits) for digits in (each[0], *each[1][:20])
        )
        tokens.append((token, wanted))
    return tokens


def _checked_ids(ids: object, _: str) -> list[Any]:
    if not isinstance(ids, list):
        raise WorkbenchError("expected the tokens of a run")
    return ids


class ReplayRequest(PictureRequest, RunRequest):
    """The settings of a run and of its pictures, the ids of its tokens, and their bytes."""

    ids: Annotated[Sequence[Any], field(_checked_ids, sent=list[int])] = ()
    taken: Annotated[
        Sequence[Taken], field(taken_in, sent=list[list[str | list[str | None] | None]])
    ] = ()


def drawn(
    handlers: Handlers,
    request: ReplayRequest,
    taken: Sequence[Taken],
    masks: Masks | None = None,
) -> wire_cards.ReplayDrawing:
    """The answers that a page would request while a reader views a run.

    ``pictures``: the pictures of each tab. ``flags``: the tokens that may follow at each step; they
    have ``of``: the texts before their steps in hexadecimal digits, or the states if the grammar
    needs no stack; where the run has its own ``masks``, the numbers of tokens before their steps,
    as ``after 3``.
    ``narrows``: whether it has. ``reasons``: for each token, why the tokens the model preferred
    there are forbidden.

    Raises: WorkbenchError where the grammar cannot be read.
    """
    compiled = handlers.compiled(request)
    if compiled.grammar is None:
        raise WorkbenchError("the grammar of the run cannot be read", "was it changed since?")
    moments = _moments(compiled, (token for token, _ in taken))
    until = time.monotonic() + _PICTURE_SECONDS
    flags = _flags(handlers, request.with_fields(tab=TOGETHER), moments, until, masks)
    pictures = {
        tab: _parts(handlers, request.with_fields(tab=tab, centre=""), moments, until)
        for tab in (TOGETHER, *map(str, _MACHINES))
    }
    return {
        "pictures": {tab: picture for tab, picture in pictures.items() if picture},
        "flags": flags,
        "narrows": masks is not None,
        "reasons": list(_reasons(compiled.grammar, taken, request)),
    }


def _moments(compiled: Compiled, tokens: Iterable[bytes | None]) -> list[_Moment]:
    """The moments of a run: one before each token, and one at its end."""
    follower, so_far = compiled.follower(), b""
    moments: list[_Moment] = []
    for token in (*tokens, None):
        path = follower.take(token or b"").path
        states = {
            kind: str(steps[0][0]) for kind, steps in path.items() if kind != STACKS and steps
        }
        moments.append(_Moment(so_far, states))
        so_far += token or b""
    return moments


def _reasons(grammar: Grammar, taken: Iterable[Taken], run: ReplayRequest) -> Iterator[list[str]]:
    """For each token why the model's preferred tokens are forbidden; empty when time is up."""
    asked = partial(reasons, grammar, small_tokens=run.small_tokens, monitor=run.monitor)
    until, so_far = time.monotonic() + _REASON_SECONDS, b""
    for token, wanted in taken:
        notes: list[str] = []
        if wanted and time.monotonic() < until:
            with suppress(LimitError):  # too ambiguous to list the states: the run plays without
                notes = asked(so_far, wanted)
                notes = or_too_late(notes, wanted) if run.finish else notes
        yield notes
        so_far += token or b""


def _flags(
    handlers: Handlers,
    request: PictureRequest,
    moments: Sequence[_Moment],
    until: float,
    masks: Masks | None,
) -> list[Record]:
    """The tokens that may follow at each step; one record for steps that look equal."""
    records: dict[str, Record] = {}
    seen: set[str] = set()
    nests = bool(handlers.compiled(request).missing(Machine.CHARACTERS))
    order = [*enumerate(moments)]
    for count, moment in (*order[-1:], *order):  # a replay opens at the end of its run
        so_far = moment.so_far.hex()
        state = moment.states.get(PicturedMachine.RULES if nests else PicturedMachine.CHARACTERS)
        key = f"after {count}" if masks else so_far if nests else state
        if state is None or key is None or key in seen:
            continue
        if len(records) == MAX_PICTURES or time.monotonic() > until:
            break
        mask = None if masks is None else masks(count)
        with suppress(WorkbenchError):  # without a picture
            record = flags_with(
                handlers, request.with_fields(centre=state, so_far=moment.so_far), mask
            )
            records.setdefault(json.dumps(record), {**record, "of": []})["of"].append(key)
            seen.add(key)
    return list(records.values())


def _parts(
    handlers: Handlers, request: PictureRequest, moments: Iterable[_Moment], until: float
) -> list[Record]:
    """A machine as the parts the run visits."""
    first = _draw(handlers, request)
    if first is None:
        return []
    parts = [first]
    followed = first["follow"] or ""
    for name in dict.fromkeys(m.states[followed] for m in moments if followed in m.states):
        state = first["names"].get(name, name)
        if len(parts) == MAX_PICTURES or not first["partial"] or time.monotonic() > until:
            break
        if not any(state in part["where"] for part in parts):
            part = _draw(handlers, request.with_fields(centre=state))
            parts += [part] if part is not None else []
    return parts


def _draw(handlers: Handlers, request: PictureRequest) -> Record | None:
    """A picture without its opening view, which depends on the size of the window."""
    picture = draw_machine(handlers, request)
    if not picture.get("ok"):
        return None
    return {key: value for key, value in picture.items() if key != "opening"}


def taken(steps: Iterable[Mapping[str, Any]]) -> list[Taken]:
    """The tokens of a run, each with the forbidden tokens the model preferred.

    Raises: WorkbenchError for a step without its tokens.
    """
    tokens: list[Taken] = []
    for number, step in enumerate(steps, start=1):
        try:
            wanted = [
                _bytes(candidate) for candidate in step.get("wanted", ()) if not candidate["ok"]
            ]
            tokens.append((_bytes(step["token"]), wanted))
        except (KeyError, TypeError, AttributeError):
            raise WorkbenchError(
                f"step {number} of the run does not name its tokens", "export the run again"
            ) from None
    return tokens


def _bytes(token: Mapping[str, Any]) -> bytes | None:
    if token.get("end"):
        return None
    if "hex" in token:
        return bytes_in(token["hex"])
    return str(token.get("text", "")).encode("utf-8", "replace")


#: Every example of these groups has a recorded run.
GROUPS = ("Start here", "Classics")

#: Settings in the head of a recorded run.
_HEAD_SETTINGS = ("temperature", "seed", "max_tokens", "small_tokens")


def recorded_lines(handlers: Handlers, name: str) -> Iterator[str]:
    """The lines of a run of an example, as the page requests it.

    Its head contains the settings, so that the page can run it again, and what the model writes
    with the same prompt and settings but without a mask.

    Raises: WorkbenchError for an unknown name, or where the run ends in an error.
    """
    if name not in handlers.gallery:
        raise WorkbenchError(f"there is no example {name!r}", "the gallery lists them")
    example = handlers.gallery[name]
    fields = {
        "text": example.text,
        "notation": example.notation,
        "start": example.start,
        "prompt": example.prompt,
        "max_tokens": example.max_tokens,
        "temperature": example.temperature,
        "seed": example.seed,
        "small_tokens": example.small_tokens,
        "finish": example.notation in FINISHING and not example.monitor,
    }
    settings = {key: fields[key] for key in _HEAD_SETTINGS}
    yield line({"k": "head", **settings, "alone": _alone(handlers, name, fields)})
    yield from map(line, _whole_run(handlers, name, fields))


def _whole_run(handlers: Handlers, name: str, fields: Record) -> Iterator[Record]:
    """The records of a run that does not end in an error."""
    for record in run_records(handlers, fields):
        if record["k"] == "error":
            raise WorkbenchError(f"{name}: {record['message']}", record["hint"])
        if record["k"] != "status":
            yield record


def _alone(handlers: Handlers, name: str, fields: Record) -> Record:
    """The text of the same run without a mask, as ``wire.Alone``."""
    free = {**fields, "constraint": "unconstrained", "small_tokens": False, "finish": False}
    steps = [record for record in _whole_run(handlers, name, free) if record["k"] == "step"]
    tokens = [step["token"] for step in steps if not step["token"].get("end")]
    text = b"".join(_bytes(token) or b"" for token in tokens).decode("utf-8", "replace")
    (verdict,) = check_texts(handlers, {**fields, "texts": [text]})["results"]
    return {"tokens": tokens, "accepted": verdict["accepted"]}


def main(names: list[str]) -> None:
    """Record the named examples; without names, those of ``GROUPS`` and the comparison."""
    handlers = Handlers(ModelRoom())
    for name in names or to_record(handlers.gallery):
        lines = "".join(recorded_lines(handlers, name))
        (GRAMMARS / f"{name}.trace.ndjson").write_text(lines, "utf-8")
    if not names:
        RECORDED.write_text(recorded_comparison(handlers), "utf-8")


def to_record(gallery: Gallery) -> list[str]:
    """The names of the examples that have a recorded run."""
    return [example.name for example in gallery.values() if example.group in GROUPS]


if __name__ == "__main__":
    main(sys.argv[1:])
