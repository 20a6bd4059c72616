"""The notations a grammar may be written in, and the parser of each.

All but the regex are read into the same nodes, so that one builder serves them; a regex is read
into its own tree, by ``Grammar.from_regex``.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from workbench.base.errors import ParseError, WorkbenchError
from workbench.base.limits import Limits
from workbench.base.problems import Advice
from workbench.base.source import Source
from workbench.pushdown.build import Combining, compile_kernels_separately
from workbench.pushdown.build import compile_kernels as ready_for_rules
from workbench.syntax.grammar_tree import GrammarTree, Sequence


class Importing(Combining):
    """All that ``syntax.beyond`` asks for, for one text."""

    __slots__ = ()

    def schema(self, source: Source) -> GrammarTree:
        """The rules of a JSON Schema, without blanks around the whole instance.

        What stands around it is the grammar's to say.

        Raises: ParseError, BuildError, LimitError.
        """
        from workbench.schema.json_schema import schema_grammar
        from workbench.schema.schema_options import KEYWORD

        made = schema_grammar(source, limits=self.limits)
        for note in made.notes:
            if note.pointer.startswith(f"/{KEYWORD}"):  # nobody is shown the notes of a part
                message = f"{note.pointer} cannot be read: it says how one engine writes JSON"
                raise ParseError(message, source, note.span, "leave it out", "unsupported")
        tree = made.tree
        start, *others = tree.rules
        match start.body:
            case Sequence((before, whole, after), _) if before == after:
                start = replace(start, body=whole)
        return GrammarTree((start, *others), source)


class Notation(StrEnum):
    """How a grammar is written."""

    REGEX = "regex"
    KBNF = "kbnf"
    JSON_SCHEMA = "json_schema"
    DATACLASS = "dataclass"
    GBNF = "gbnf"
    LARK = "lark"

    @property
    def label(self) -> str:
        """What people call it."""
        return _LABELS[self]

    @property
    def suffix(self) -> str:
        """How the name of a file ends that is written so."""
        return _SUFFIXES[self]

    @property
    def styles(self) -> tuple[str, ...]:
        """The ways its texts may be laid out, the usual one first; none where rules say it all."""
        return _STYLES.get(self, ())

    @property
    def is_translated(self) -> bool:
        """Whether programs write its rules, hundreds of them: those are built apart."""
        return self in (Notation.JSON_SCHEMA, Notation.DATACLASS)

    @staticmethod
    def of_file(name: str) -> Notation | None:
        """The notation of a file, by the end of its name; None for an end nobody knows."""
        return next((one for one in Notation if name.endswith(one.suffix)), None)


_LABELS = {
    Notation.REGEX: "Regex",
    Notation.KBNF: "KBNF",
    Notation.JSON_SCHEMA: "JSON Schema",
    Notation.DATACLASS: "Dataclass",
    Notation.GBNF: "GBNF",
    Notation.LARK: "Lark",
}
_SUFFIXES = {
    Notation.REGEX: ".regex",
    Notation.KBNF: ".kbnf",
    Notation.JSON_SCHEMA: ".schema.json",
    Notation.DATACLASS: ".dataclass.py",
    Notation.GBNF: ".gbnf",
    Notation.LARK: ".lark",
}
#: White space in JSON; a constructor call, or JSON.
_STYLES = {
    Notation.JSON_SCHEMA: ("any", "one space", "compact"),
    Notation.DATACLASS: ("call", "json"),
}


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """A grammar as a tree, with what its notation brings besides."""

    tree: GrammarTree
    start: str
    #: What an accepted text stands for: a JSON value, an instance of a dataclass.
    value: Callable[[str], object] | None = None
    #: What reading it leaves to be told.
    notes: tuple[Advice, ...] = ()


def written(
    source: Source, notation: Notation, start: str, limits: Limits, style: str = ""
) -> Written:
    """Read a text in any notation that is made of rules; without a style in its usual one.

    Raises: ParseError, BuildError, LimitError.
    """
    return _READERS[notation](source, start, limits, style or next(iter(notation.styles), ""))


def check_style(notation: Notation, style: str) -> None:
    """Let pass what a notation has, and nothing at all.

    Raises: WorkbenchError for a style it has not.
    """
    if style and style not in notation.styles:
        known = " or ".join(map(repr, notation.styles))
        raise WorkbenchError(
            f"{notation.label} has no style {style!r}",
            f"choose {known}" if known else "leave it out: the grammar defines the text",
        )


def ready(notation: Notation) -> None:
    """Have made what a notation needs once a process; work with a clock asks for this first."""
    ready_for_rules()
    compile_kernels_separately()
    if notation is Notation.KBNF:
        from workbench.syntax.kbnf.kbnf_parser import ready as ready_for_kbnf

        ready_for_kbnf()
    if notation is Notation.JSON_SCHEMA:
        from workbench.schema.json_schema import ready as ready_for_schemas

        ready_for_schemas()
    if notation is Notation.LARK:
        from workbench.syntax.lark.resolve import common_terminals

        common_terminals()


# each reader is imported when a text of its notation comes: most work has one of them


def _kbnf(source: Source, start: str, limits: Limits, _: str) -> Written:
    from workbench.syntax.kbnf.kbnf_parser import parse_kbnf

    return Written(parse_kbnf(source, limits.clock()), start)


def _gbnf(source: Source, start: str, limits: Limits, _: str) -> Written:

    from workbench.syntax.gbnf.gbnf_parser import parse_gbnf

    tree = parse_gbnf(source, limits.clock(), Importing(source, limits))
    # whoever names no rule says "start"; grammars of this notation begin with "root"
    named = any(rule.name == start for rule in tree.rules)
    return Written(tree, "root" if start == "start" and not named else start)


def _lark(source: Source, start: str, limits: Limits, _: str) -> Written:

    from workbench.syntax.lark.lowering import parse_lark

    return Written(parse_lark(source, limits.clock(), Importing(source, limits), start), start)


def _json_schema(source: Source, _: str, limits: Limits, style: str) -> Written:
    return written_schema(source, limits, whitespace=style)


def written_schema(source: Source, limits: Limits, **options: Any) -> Written:  # noqa: ANN401
    """Read a JSON Schema; the options are those of ``SchemaOptions``.

    Raises: ParseError, BuildError, LimitError; WorkbenchError for options there are none of.
    """
    from workbench.schema.json_schema import schema_grammar
    from workbench.schema.schema_options import SchemaOptions

    asked = SchemaOptions(**options)
    with _uncollected():
        made = schema_grammar(source, asked, limits)
    notes = tuple(Advice(one.message, one.span, "schema_note", "") for one in made.notes)
    return Written(made.tree, "start", json.loads, notes)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Python looks for no garbage meanwhile.

    A schema's nodes hold each other and live a moment, and a look at the objects of a whole
    process costs more than most schemas do: of 726 the slowest hundredth took 104 ms, now 63.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _dataclass(source: Source, start: str, limits: Limits, style: str) -> Written:
    from workbench.schema.typed.dataclass_grammar import text_tree

    # of several definitions the last is meant where none is named
    made = text_tree(source, style, limits, "" if start == "start" else start)
    return Written(made.tree, "start", made.parse)


def written_dataclass(cls: type | str, style: str, limits: Limits) -> Written:
    """Read a dataclass, or the text of one; ``style`` is one of ``typed.tree``.

    Raises: ParseError, BuildError, LimitError; WorkbenchError for a style there is none of.
    """
    from workbench.schema.typed.dataclass_grammar import class_tree, text_tree

    if isinstance(cls, str):
        made = text_tree(Source(cls, "dataclass"), style, limits)
    else:
        made = class_tree(cls, style, limits)
    return Written(made.tree, "start", made.parse)


_READERS: dict[Notation, Callable[[Source, str, Limits, str], Written]] = {
    Notation.KBNF: _kbnf,
    Notation.JSON_SCHEMA: _json_schema,
    Notation.DATACLASS: _dataclass,
    Notation.GBNF: _gbnf,
    Notation.LARK: _lark,
}
