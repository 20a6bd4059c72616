"""``workbench draw``: a machine of a grammar as a picture or as data."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from workbench.app.cli.options import (
    LOCAL_LIMITS,
    Named,
    VocabularyOption,
    takes_grammar,
    write_file,
)
from workbench.app.pipeline import compile_grammar
from workbench.app.ui.takeaway import att, automaton
from workbench.base.errors import WorkbenchError
from workbench.drawing import machine_files
from workbench.drawing.drawable import OVER_TOKENS, Machine
from workbench.drawing.graph import Graph
from workbench.drawing.reductions import reduce
from workbench.grammar.grammar import Grammar
from workbench.grammar.recognition import utf8
from workbench.vocabulary.vocabulary import Vocabulary


class Picture(StrEnum):
    """What is drawn: a machine of the page, or one of DOMINO's."""

    CHARACTERS = Machine.CHARACTERS
    TOKENS = Machine.TOKENS
    PROPER = Machine.PROPER
    STACK = Machine.STACK
    RULES = Machine.RULES
    DETOKENIZER = Machine.DETOKENIZER
    #: The automaton of all sequences of terminals.
    SCANNER = "scanner"
    #: The subterminal trees after a text, and the part of them that the parser allows.
    SUBTERMINALS = "subterminals"


class Format(StrEnum):
    """What a machine is written as."""

    DOT = "dot"
    SVG = "svg"
    PNG = "png"
    #: The whole machine as a record (``drawing.machine_files``).
    JSON = "json"
    #: AT&T text for OpenFst's tools (``drawing.machine_files``).
    FST = "fst"
    OPENFST = "openfst"


@takes_grammar
def draw(
    named: Named,
    machine: Annotated[Picture, typer.Option(help="Which machine.")] = Picture.CHARACTERS,
    form: Annotated[Format, typer.Option("--format", help="The output format.")] = Format.SVG,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A file; without one it goes to stdout.")
    ] = None,
    states: Annotated[
        int, typer.Option(min=1, help="The most states shown; larger machines show a part.")
    ] = 60,
    vocab: VocabularyOption = "builtin",
    after: Annotated[str, typer.Option(help="subterminals: after this text.")] = "",
    k: Annotated[
        int | None, typer.Option(min=0, help="subterminals: the lookahead; unlimited by default.")
    ] = None,
) -> None:
    """Draw the character FSA, token FSA, PDA, rules or detokenizer of a grammar.

    Or DOMINO's scanner, or the subterminal trees after a text.

    fst: labels are numbers on stdout (a byte is itself, 0x00 is 256; token i is i + 1; 0 is ε);
    a file named …zip has them by name, with both tables of symbols.
    """
    grammar = named.grammar
    if machine in (Picture.SCANNER, Picture.SUBTERMINALS):
        graph = _domino_graph(grammar, machine, vocab, after, k)
        content = picture(graph, _drawn_form(form, machine), states)
    else:
        content = _machine(grammar, Machine(machine), form, out, vocab, states)
    write_file(out, content, "choose another --out")


def _machine(
    grammar: Grammar, machine: Machine, form: Format, out: Path | None, vocab: str, states: int
) -> bytes:
    """A machine as the content of a file."""
    vocabulary = Vocabulary.load(vocab) if machine in OVER_TOKENS else None
    if form in (Format.FST, Format.OPENFST):
        written = att(grammar, machine, vocabulary, LOCAL_LIMITS)
        zipped = out is not None and out.suffix == ".zip"
        return written.archive(str(machine)) if zipped else written.numbered().encode()
    if form is Format.JSON:
        return machine_files.text(automaton(grammar, machine, vocabulary, LOCAL_LIMITS)).encode()
    compiled = compile_grammar(grammar, LOCAL_LIMITS)
    return picture(compiled.graph(machine, vocabulary), form, states)


def _domino_graph(
    grammar: Grammar, machine: Picture, vocab: str, after: str, k: int | None
) -> Graph:
    """The scanner, or the subterminal trees after a text, pruned by parser and lookahead.

    Raises: WorkbenchError where no accepted text begins with it; LimitError; VocabularyError.
    """
    from workbench.constraint.methods.domino.domino import domino
    from workbench.constraint.methods.domino.scanner import Scanner, terminals_of
    from workbench.drawing.subterminals import draw_pruned, draw_scanner

    if machine is Picture.SCANNER:
        return draw_scanner(Scanner.of(terminals_of(grammar, LOCAL_LIMITS).each))
    constraint = domino(grammar, Vocabulary.load(vocab), LOCAL_LIMITS, k)
    state = constraint.readings.after(constraint.initial, utf8(after))
    if state is None:
        raise WorkbenchError(f"no accepted text begins with {after!r}", "workbench check says why")
    return draw_pruned(constraint, state)


def _drawn_form(form: Format, machine: Picture) -> Format:
    """The form, if it is a format of pictures.

    Raises: WorkbenchError for others.
    """
    if form in (Format.DOT, Format.SVG, Format.PNG):
        return form
    raise WorkbenchError(f"{machine} is a picture, not {form}", "choose svg, png or dot")


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
