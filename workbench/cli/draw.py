"""``workbench draw``: a machine of a grammar as a picture or as data."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.options import (
    LOCAL_LIMITS,
    ExampleOption,
    KbnfOption,
    RegexFileOption,
    RegexOption,
    StartOption,
    VocabularyOption,
    named_grammar,
    told,
)
from workbench.drawing import as_json
from workbench.drawing.graph import Graph
from workbench.drawing.reductions import reduce
from workbench.errors import WorkbenchError
from workbench.pipeline import OVER_TOKENS, Machine, compile_grammar
from workbench.ui.written import att, automaton
from workbench.vocabulary.vocabulary import Vocabulary


class Format(StrEnum):
    """What a machine is written as."""

    DOT = "dot"
    SVG = "svg"
    PNG = "png"
    #: The whole machine as a record; ``drawing.as_json`` says how.
    JSON = "json"
    #: AT&T text, as OpenFst's tools read it; ``drawing.att`` says which labels.
    FST = "fst"
    OPENFST = "openfst"


def draw(
    machine: Annotated[Machine, typer.Option(help="Which machine.")] = Machine.CHARACTERS,
    form: Annotated[Format, typer.Option("--format", help="Written as what.")] = Format.SVG,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A file; without one it goes to stdout.")
    ] = None,
    states: Annotated[
        int, typer.Option(min=1, help="The most states shown; larger machines show a part.")
    ] = 60,
    regex: RegexOption = None,
    regex_file: RegexFileOption = None,
    kbnf: KbnfOption = None,
    example: ExampleOption = None,
    start: StartOption = "start",
    vocab: VocabularyOption = "builtin",
) -> None:
    """Draw the character FSA, token FSA, PDA, rules or detokenizer of a grammar.

    fst: labels are numbers on stdout (a byte is itself, 0x00 is 256; token i is i + 1; 0 is ε);
    a file named …zip has them by name, with both tables of symbols.
    """
    with told():
        grammar = named_grammar(regex, regex_file, kbnf, example, start).grammar
        vocabulary = Vocabulary.load(vocab) if machine in OVER_TOKENS else None
        if form in (Format.FST, Format.OPENFST):
            written = att(grammar, machine, vocabulary, LOCAL_LIMITS)
            zipped = out is not None and out.suffix == ".zip"
            _write(written.archive(str(machine)) if zipped else written.numbered().encode(), out)
        elif form is Format.JSON:
            record = automaton(grammar, machine, vocabulary, LOCAL_LIMITS)
            _write(as_json.text(record).encode(), out)
        else:
            compiled = compile_grammar(grammar, LOCAL_LIMITS)
            _write(picture(compiled.graph(machine, vocabulary), form, states), out)


def picture(graph: Graph, form: Format, states: int) -> bytes:
    """A graph as a file's content.

    Raises: LimitError where no layout ends in time.
    """
    from workbench.drawing.dot import dot
    from workbench.drawing.render import renderer

    shown = reduce(graph, states)
    if shown.shown_nodes < shown.total_nodes:
        typer.echo(shown.text, err=True)
    if form is Format.SVG:
        return renderer().draw(shown.graph).encode()
    text = dot(shown.graph)
    return renderer().png(text) if form is Format.PNG else text.encode()


def _write(content: bytes, out: Path | None) -> None:
    if out is None:
        sys.stdout.buffer.write(content)
        return
    try:
        out.write_bytes(content)
    except OSError as error:
        raise WorkbenchError(f"cannot write {out}: {error}", "choose another --out") from error
