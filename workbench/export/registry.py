"""The registry of notations and programs to which a grammar can be exported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from workbench.errors import WorkbenchError
from workbench.export.gbnf import write_gbnf
from workbench.export.kbnf import write_kbnf
from workbench.export.lark import write_lark
from workbench.export.programs import PROGRAMS
from workbench.export.regex import write_regex
from workbench.grammar import Grammar


@dataclass(frozen=True, slots=True)
class Export:
    """One thing to write."""

    #: What people call it.
    title: str
    #: How the name of its file ends.
    suffix: str
    write: Callable[..., str]


#: By the word ``--to`` takes.
EXPORTS: dict[str, Export] = {
    "kbnf": Export("KBNF", ".kbnf", write_kbnf),
    "gbnf": Export("GBNF", ".gbnf", write_gbnf),
    "lark": Export("Lark", ".lark", write_lark),
    "regex": Export("Regex", ".regex", write_regex),
    **{name: Export(title, ".py", write) for name, (title, write) in PROGRAMS.items()},
}


def named_by_suffix(name: str) -> str | None:
    """What a file of this name is written as; of several the first."""
    return next((word for word, one in EXPORTS.items() if name.endswith(one.suffix)), None)


def export(grammar: Grammar, notation: str, **options: object) -> str:
    """A grammar as text in another notation, or as a program.

    ``options`` are those of the writer: ``start`` or ``root`` of rules, ``longest`` of a regex,
    ``model`` and ``prompt`` of a program.

    Raises: WorkbenchError for a notation there is none of; BuildError for what it cannot say, at
            its place; LimitError.
    """
    if notation not in EXPORTS:
        known = ", ".join(EXPORTS)
        raise WorkbenchError(f"expected one of {known}, not {notation!r}")
    return EXPORTS[notation].write(grammar, **options)
