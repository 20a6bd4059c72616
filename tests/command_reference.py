"""The reference of the command line: one Markdown page, written from the commands themselves.

::

    python -m tests.command_reference docs/reference/commands.md
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import typer

from workbench.app.cli.main import app

_TABLE = "| option | meaning | default |\n| --- | --- | --- |"
_HEAD = """\
# The command line

This page is written from the commands by `python -m tests.command_reference docs/reference/commands.md`.
`workbench COMMAND --help` prints the same; `workbench --version` prints the version, and
`workbench --install-completion` lets your shell complete commands and options.

A grammar is named by `--regex PATTERN`, by `--regex-file`, `--kbnf`, `--json-schema`, `--dataclass`,
`--gbnf`, `--lark`, `--machine-file` or `--structural-tag` with a file, or by `--example NAME` from the
gallery. Write `--` before a text that begins with a hyphen.

Exit status 0: accepted or done; 1: rejected, advice given, or a run that ended otherwise; 2: wrong
use. With `--json` stdout has one record a line, errors too.
"""


#: An option that this number of commands have, with the same words, is listed once.
_SHARED = 5


def page() -> str:
    """The page in Markdown."""
    group: Any = typer.main.get_command(app)
    rows = Counter(row for command in group.commands.values() for row in _rows(command))
    shared = [row for row, commands in rows.items() if commands >= _SHARED]
    parts = [line for name in group.commands for line in _command(group, name, shared)]
    common = ["## Options of many commands\n", _TABLE, *shared, ""]
    return "\n".join([_HEAD, *common, *parts])


def _command(group: Any, name: str, shared: Sequence[str]) -> Iterator[str]:
    command = group.commands[name]
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    words = [f"workbench {name}", "[OPTIONS]", *(one.metavar or one.name for one in arguments)]
    yield f"## {name}\n"
    yield _text(command.help or "") + "\n"
    yield f"```text\n{' '.join(words)}\n```\n"
    rows = list(_rows(command))
    if separate := [row for row in rows if row not in shared]:
        yield from [_TABLE, *separate, ""]
    if common := [f"`{row.split('`')[1]}`" for row in rows if row in shared]:
        yield f"[Options of many commands](#options-of-many-commands): {', '.join(common)}.\n"


def _rows(command: Any) -> Iterator[str]:
    for option in command.params:
        if option.param_type_name == "option":
            yield f"| {_names(option)} | {_text(option.help or '')} | {_default(option)} |"


def _names(option: Any) -> str:
    names = ", ".join(f"`{one}`" for one in (*option.opts, *option.secondary_opts))
    value = "" if option.is_flag else f" {option.metavar or option.name.upper()}"
    return names + value


def _default(option: Any) -> str:
    value = option.default
    if value is None or isinstance(value, bool) or callable(value) or value in ((), []):
        return ""
    return f"`{' '.join(map(str, value)) if isinstance(value, list | tuple) else value}`"


def _text(text: str) -> str:
    """One line a paragraph; what Markdown or a table would read is escaped."""
    paragraphs = [" ".join(part.split()) for part in text.split("\n\n")]
    return re.sub(r"([|<>*_])", r"\\\1", "\n\n".join(paragraphs))


def main() -> None:
    """Write the page into the named file."""
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tests.command_reference FILE")
    Path(sys.argv[1]).write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
