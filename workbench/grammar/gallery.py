"""The examples of the page, read from the folder ``grammars/``.

``gallery.toml`` has one table per example, in display order. The grammar of the example ``date``
is in ``date.kbnf``, ``date.regex`` or a file of another notation. A recorded run, if there is
one, is in ``date.trace.ndjson`` (written by ``workbench replay``).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

from workbench.base import resources
from workbench.base.errors import ParseError, WorkbenchError
from workbench.base.source import Source, Span
from workbench.grammar.notations import Notation

_TABLE = "gallery.toml"
_NAME = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One example: a grammar with texts, a prompt and explanations."""

    name: str
    group: str
    title: str
    #: One sentence: what the example shows.
    note: str
    notation: Notation
    #: The grammar; of a regex file without the final line break.
    text: str
    #: The file name inside the folder.
    file: str
    #: The prompt that the model continues.
    prompt: str
    #: A number of tokens within which the embedded model ends the text.
    max_tokens: int
    #: Texts of the language, and texts outside it.
    accepts: tuple[str, ...]
    rejects: tuple[str, ...]
    #: Paper and section, or empty.
    source: str = ""
    #: The start symbol of a KBNF grammar.
    start: str = "start"
    #: The tokens of a figure's own vocabulary, or empty.
    vocabulary: tuple[str, ...] = ()
    #: An instructive mistake: a part of the text, its replacement, and a sentence on what changes;
    #: or empty.
    breaks: tuple[str, ...] = ()
    #: Whether its runs use tokens of a single character only.
    small_tokens: bool = False
    #: The name of the monitor that its runs have, or empty.
    monitor: str = ""
    #: The temperature and the seed of its runs.
    temperature: float = 0.7
    seed: int = 1


class Gallery(Mapping[str, Example]):
    """The examples by name, in display order."""

    def __init__(self, examples: tuple[Example, ...]) -> None:
        self._examples = {example.name: example for example in examples}

    def __getitem__(self, name: str) -> Example:
        return self._examples[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._examples)

    def __len__(self) -> int:
        return len(self._examples)

    @property
    def groups(self) -> dict[str, tuple[Example, ...]]:
        """The examples of each group, groups and examples in order."""
        names = dict.fromkeys(example.group for example in self.values())
        return {
            group: tuple(example for example in self.values() if example.group == group)
            for group in names
        }


def load_gallery(folder: Path = resources.GRAMMARS) -> Gallery:
    """Read the table and the texts of the grammars, which are not parsed here.

    Raises: WorkbenchError for a folder without ``gallery.toml``, or with a file that has no
            table; ParseError at a wrong key of the table.
    """
    path = folder / _TABLE
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise WorkbenchError(
            f"expected a gallery at {path}", "give a folder that holds a gallery.toml"
        ) from error
    source = Source(text, _TABLE)
    examples = [_example(source, folder, name, table) for name, table in _tables(source).items()]
    _all_files_named(folder, {example.file for example in examples})
    return Gallery(tuple(examples))


def recorded_run(name: str, folder: Path = resources.GRAMMARS) -> str:
    """The recorded run of an example as NDJSON, with the embedded model; empty without one."""
    path = folder / f"{name}.trace.ndjson"
    return path.read_text("utf-8") if path.is_file() else ""


def _tables(source: Source) -> dict[str, Any]:
    """The tables of the file by name."""
    try:
        return tomllib.loads(source.text)
    except tomllib.TOMLDecodeError as error:
        match = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        offset = len(source.text)
        if match:
            lines = source.text.splitlines(keepends=True)
            offset = sum(map(len, lines[: int(match[1]) - 1])) + int(match[2]) - 1
        message = f"expected TOML: {str(error).partition(' (at ')[0].lower()}"
        raise ParseError(message, source, Span(offset, offset), kind="bad_gallery") from None


def _example(source: Source, folder: Path, name: str, table: object) -> Example:
    """The example of one table; checks the table and reads its grammar."""
    if not _NAME.fullmatch(name) or not isinstance(table, dict):
        raise _wrong(
            source, name, f"expected a table with a plain name, not {name!r}", "write [a_name]"
        )
    values: dict[str, Any] = {key: _check(source, name, key, value) for key, value in table.items()}
    if missing := [key for key in _REQUIRED if key not in values]:
        message = f"{name}: expected {', '.join(missing)}"
        raise _wrong(source, name, message, f"add {missing[0]} = … to [{name}]")
    notation, text = _grammar(source, folder, name)
    if notation is Notation.REGEX:
        text = text.removesuffix("\n")
    _check_breaks(source, name, values.get("breaks", ()), text)
    return Example(name=name, notation=notation, text=text, file=name + notation.suffix, **values)


#: The keys of a table; the other fields of an Example follow from its name.
_FROM_THE_NAME = {"name", "notation", "text", "file"}
_KINDS = {field.name: field.type for field in fields(Example) if field.name not in _FROM_THE_NAME}
_REQUIRED = [
    field.name for field in fields(Example) if field.name in _KINDS and field.default is MISSING
]


def _check(source: Source, name: str, key: str, value: object) -> object:
    """The value of one key, checked: of the field's type and not empty."""
    if key not in _KINDS:
        message = f"{name}: there is no key {key!r}"
        raise _wrong(source, name, message, f"the keys are {', '.join(_KINDS)}", key)
    kind = _KINDS[key]
    if kind == "int":
        good, wanted = type(value) is int and value > 0, "a number above 0"
    elif kind == "float":
        good, wanted = isinstance(value, float) and value >= 0, "a number of at least 0.0"
    elif kind == "bool":
        good, wanted = isinstance(value, bool), "true or false"
    elif kind == "str":
        good, wanted = isinstance(value, str) and value != "", "some text"
    else:
        good = isinstance(value, list) and all(isinstance(item, str) for item in value)
        good, wanted = good and value != [], "a list of texts"
    if not good:
        message = f"{name}: expected {wanted} as {key}, not {value!r}"
        raise _wrong(source, name, message, f"write {key} = {_SAMPLES[str(kind)]}", key)
    return tuple(value) if isinstance(value, list) else value


_SAMPLES = {
    "int": "64",
    "float": "0.7",
    "bool": "true",
    "str": '"…"',
    "tuple[str, ...]": '["…", "…"]',
}


def _grammar(source: Source, folder: Path, name: str) -> tuple[Notation, str]:
    """The notation of an example, by the suffix of its file, and the file's text."""
    notations = [
        notation for notation in Notation if (folder / f"{name}{notation.suffix}").exists()
    ]
    if len(notations) != 1:
        message = (
            f"expected one grammar of the name {name} beside the gallery, not {len(notations)}"
        )
        endings = ", ".join(notation.suffix for notation in Notation)
        raise _wrong(source, name, message, f"a file is named as its table, and ends in {endings}")
    return notations[0], (folder / f"{name}{notations[0].suffix}").read_text(encoding="utf-8")


def _check_breaks(source: Source, name: str, breaks: tuple[str, ...], text: str) -> None:
    if breaks and (len(breaks) != 3 or breaks[0] not in text):
        message = f"{name}: expected a piece of the grammar, another for its place, and a sentence"
        raise _wrong(source, name, message, "the first has to occur in the file", "breaks")


def _all_files_named(folder: Path, named: set[str]) -> None:
    there = {path.name for notation in Notation for path in folder.glob(f"*{notation.suffix}")}
    if unnamed := sorted(there - named):
        hint = f"add a table [{unnamed[0].partition('.')[0]}] to {_TABLE}"
        raise WorkbenchError(f"{unnamed[0]} is no example of the gallery", hint)


def _wrong(source: Source, name: str, message: str, hint: str, key: str = "") -> ParseError:
    """A ParseError at the table of that name, or at a key in it."""
    header = re.search(rf"^\[\"?{re.escape(name)}\"?\]", source.text, re.MULTILINE)
    span = Span(*header.span()) if header else Span(0, 0)
    if key:
        match = re.compile(rf"^{re.escape(key)}\b", re.MULTILINE).search(source.text, span.end)
        span = Span(*match.span()) if match else span
    return ParseError(message, source, span, hint, "bad_gallery")
