"""``workbench draw``: a machine of a grammar as a picture or as data."""

from __future__ import annotations

import json as json_text
import sys
from collections.abc import Iterator
from dataclasses import asdict
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
from workbench.drawing.graph import Graph
from workbench.drawing.reductions import reduce
from workbench.errors import WorkbenchError
from workbench.grammar import Grammar
from workbench.pipeline import Machine, compile_grammar
from workbench.vocabulary.vocabulary import Vocabulary


class Format(StrEnum):
    """What a machine is written as."""

    DOT = "dot"
    SVG = "svg"
    PNG = "png"
    JSON = "json"
    #: AT&T text, as OpenFst's tools read it; labels are bytes or token ids, plus one (0 is ε).
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
    """Draw the character FSA, token FSA, PDA, rules or detokenizer of a grammar."""
    with told():
        grammar = named_grammar(regex, regex_file, kbnf, example, start).grammar
        if form is Format.OPENFST:
            _write("".join(f"{edge}\n" for edge in openfst(grammar, machine, vocab)).encode(), out)
            return
        over_tokens = machine in (Machine.TOKENS, Machine.DETOKENIZER)
        vocabulary = Vocabulary.load(vocab) if over_tokens else Vocabulary((b"?",))
        graph = compile_grammar(grammar, LOCAL_LIMITS).graph(machine, vocabulary)
        _write(picture(graph, form, states), out)


def picture(graph: Graph, form: Format, states: int) -> bytes:
    """A graph as a file's content.

    Raises: LimitError where no layout ends in time.
    """
    if form is Format.JSON:
        whole = {
            "name": graph.name,
            "nodes": [asdict(node) for node in graph.nodes],
            "edges": [asdict(edge) for edge in graph.edges],
            "note": graph.note,
        }
        return json_text.dumps(whole, ensure_ascii=False, indent=1).encode() + b"\n"
    from workbench.drawing.dot import dot
    from workbench.drawing.render import renderer

    shown = reduce(graph, states)
    if shown.shown_nodes < shown.total_nodes:
        typer.echo(shown.text, err=True)
    if form is Format.SVG:
        return renderer().draw(shown.graph).encode()
    text = dot(shown.graph)
    return renderer().png(text) if form is Format.PNG else text.encode()


def openfst(grammar: Grammar, machine: Machine, vocab: str) -> Iterator[str]:
    """A finite machine as AT&T text, line by line: its edges, then its final states.

    Raises: WorkbenchError for machines that are not finite.
    """
    dfa = grammar.dfa
    if dfa is None or machine not in (Machine.CHARACTERS, Machine.TOKENS):
        raise WorkbenchError(
            "only the finite machines of a regular grammar can be written for OpenFst",
            "choose --machine characters or tokens, and a grammar without nesting",
        )
    if machine is Machine.TOKENS:
        from workbench.constraint.compose import compose

        fsa = compose(dfa, Vocabulary.load(vocab), LOCAL_LIMITS)
        edges = ((s, i, t) for s in _initial_first(dfa.initial, len(fsa)) for i, t in fsa.edges(s))
        finals = fsa.finals
    else:
        edges = (
            (s, byte, t)
            for s in _initial_first(dfa.initial, len(dfa))
            for byte in range(256)
            if (t := dfa.step(s, byte)) >= 0
        )
        finals = dfa.finals
    for source, label, target in edges:
        yield f"{source}\t{target}\t{label + 1}\t{label + 1}"
    yield from (str(state) for state in range(len(finals)) if finals[state])


def _initial_first(initial: int, count: int) -> Iterator[int]:
    """AT&T text begins with an edge of the initial state."""
    yield initial
    yield from (state for state in range(count) if state != initial)


def _write(content: bytes, out: Path | None) -> None:
    if out is None:
        sys.stdout.buffer.write(content)
        return
    try:
        out.write_bytes(content)
    except OSError as error:
        raise WorkbenchError(f"cannot write {out}: {error}", "choose another --out") from error
