"""Files for download: machines and runs as text, code, a replay.

The page saves the pictures itself; the files made here need the machines.
"""

from __future__ import annotations

import base64
from dataclasses import asdict
from enum import StrEnum

from workbench import __version__
from workbench.drawing import as_json
from workbench.errors import WorkbenchError
from workbench.export.programs import PROGRAMS
from workbench.export.registry import export
from workbench.pipeline import OVER_TOKENS, Machine
from workbench.ui import code as programs
from workbench.ui.handlers import Handlers
from workbench.ui.models import BUILTIN
from workbench.ui.pictures import sentence
from workbench.ui.records import Record
from workbench.ui.replay import MARK, drawn, shell, taken_in
from workbench.ui.requests import TextRequest, text_in
from workbench.ui.written import att, automaton

#: Bytes of a file that still travel to a browser.
_LARGEST = 16_000_000


class Form(StrEnum):
    """What a whole machine is written as."""

    JSON = "json"
    #: AT&T text with its tables of symbols, in a zip.
    FST = "fst"


def take_machine(handlers: Handlers, sent: Record) -> Record:
    """A whole machine as a file: its name, its type, its bytes in base 64.

    Raises: WorkbenchError for a machine the grammar has not, or that cannot be written so.
    """
    request = TextRequest.of(sent)
    compiled = handlers.compiled(request)
    machine, form = Machine(_one_of(sent, "machine", Machine)), Form(_one_of(sent, "form", Form))
    if compiled.grammar is None:
        raise WorkbenchError("the grammar cannot be read yet", "fix its problems first")
    if why := compiled.missing(machine):
        raise WorkbenchError(why)
    vocabulary = handlers.room.vocabulary() if machine in OVER_TOKENS else None
    limits = handlers.pipeline.limits
    if form is Form.FST:
        content = att(compiled.grammar, machine, vocabulary, limits).archive(str(machine))
        return _file(f"{machine}.fst.zip", "application/zip", content)
    record = automaton(compiled.grammar, machine, vocabulary, limits)
    text = as_json.text({**record, "grammar": asdict(request)})
    return _file(f"{machine}.json", "application/json", text.encode())


def _one_of(sent: Record, name: str, known: type[StrEnum]) -> str:
    value = text_in(sent, name, 40)
    if value not in list(known):
        raise WorkbenchError(f"expected one of {', '.join(known)} as {name}, not {value!r}")
    return value


def _file(name: str, kind: str, content: bytes) -> Record:
    if len(content) > _LARGEST:
        raise WorkbenchError(
            f"the file would have {len(content) / 1e6:.0f} MB", "use workbench draw instead"
        )
    return {"name": name, "type": kind, "base64": base64.b64encode(content).decode()}


def take_code(handlers: Handlers, sent: Record) -> Record:
    """The run on the page as programs, by the name of their tab; another engine's if it is asked.

    Raises: WorkbenchError for settings that are none.
    """
    wanted = programs.Wanted.of({**sent, "model": handlers.room.name}, handlers.gallery)
    written = {name: write(wanted) for name, write in programs.WRITERS.items()}
    engine = text_in(sent, "code", 40)
    if engine in PROGRAMS and engine not in written:
        written[engine] = _for_engine(handlers, wanted, engine)
    return written


def _for_engine(handlers: Handlers, wanted: programs.Wanted, engine: str) -> str:
    """A program for another engine, or a comment with the reason why there is no program."""
    grammar = handlers.compiled(wanted.run.grammar).grammar
    if grammar is None:
        return "# the grammar cannot be read yet"
    named = {} if wanted.model == BUILTIN else {"model": wanted.model}
    try:
        return export(grammar, engine, prompt=wanted.run.prompt, **named)
    except WorkbenchError as error:
        return "".join(f"# {line}\n" for line in sentence(error).splitlines())


def take_replay(handlers: Handlers, sent: Record) -> Record:
    """A page that plays a run, but for its recording, which the browser has: it goes at ``mark``.

    Raises: WorkbenchError where the grammar cannot be read.
    """
    made = drawn(handlers, sent, taken_in(sent.get("taken", [])))
    return {"html": shell(), "mark": MARK, "drawn": made, "version": __version__}
