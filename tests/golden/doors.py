"""All imports of the package that golden records need, each behind a small function.

A refactoring that moves or renames modules changes this file and no other file of ``tests.golden``.
What is recorded goes through the public API, the page's handlers and the command line where these
have it.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt
from typer.testing import CliRunner

import workbench as wb
from workbench.analysis.advice import tree_advice
from workbench.analysis.random_texts import samples
from workbench.app.cli.main import app
from workbench.app.ui import author, explain_view, picture_view, runs, state_view
from workbench.app.ui import author as changes
from workbench.app.ui.grammar_view import MaskRequest, allowed_tokens, check_texts, compile_grammar
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.model_registry import TOY, ModelRoom
from workbench.app.ui.opening_view import open_example, page_record
from workbench.app.ui.picture_view import draw_flags, draw_machine
from workbench.app.ui.runs import run_records
from workbench.base import cpu_time, limits
from workbench.base.dfa import Dfa
from workbench.base.errors import SourceError
from workbench.constraint.compile import METHODS
from workbench.constraint.engine.compose import compose
from workbench.constraint.engine.compose_pda import compose_pda
from workbench.constraint.kernel_examples import call_all_kernels
from workbench.constraint.labels import label_vocabulary
from workbench.drawing.dot import dot
from workbench.drawing.graph import Graph
from workbench.drawing.render import Renderer
from workbench.grammar.export.registry import EXPORTS, export
from workbench.grammar.gallery import Example, Gallery, load_gallery
from workbench.grammar.label_encoding import encode_labels, labels_of
from workbench.grammar.notations import Notation

Ints = npt.NDArray[np.int32]
Record = dict[str, Any]

#: Seconds that one reading of the clock of limits adds; see ``fixed_clock``.
TICK = 1e-5

#: The same for the search for ambiguous texts, which continues until its time is over.
LINT_TICK = 1e-4

_now = 0.0


@contextmanager
def fixed_clock(tick: float = TICK) -> Iterator[None]:
    """Let limits count readings of the clock instead of time.

    What a limit of seconds stops is then stopped at the same place on every machine.
    """
    _kernels_loaded()

    def reading() -> float:
        global _now
        _now += tick
        return _now

    with (
        mock.patch.object(limits, "perf_counter", reading),
        mock.patch.object(cpu_time, "cpu_seconds", reading),
    ):
        yield


@cache
def _kernels_loaded() -> None:
    """Loading a kernel reads the clock too."""
    call_all_kernels()


def advice_of(grammar: wb.Grammar) -> tuple[Any, ...]:
    """The advice that the tree of a grammar shows."""
    return tree_advice(grammar)


# -- grammars and vocabularies --------------------------------------------------------------------


@cache
def gallery() -> Gallery:
    """The examples of the page."""
    return load_gallery()


@cache
def builtin() -> wb.Vocabulary:
    """The vocabulary of the embedded model."""
    return wb.Vocabulary.load("builtin")


def grammar(text: str, notation: str, start: str = "start") -> wb.Grammar:
    """The grammar of a text."""
    return wb.Grammar.from_text(text, Notation(notation), start)


@cache
def grammar_of(name: str) -> wb.Grammar:
    """The grammar of an example."""
    example = gallery()[name]
    return grammar(example.text, example.notation, example.start)


def refusal(error: wb.WorkbenchError) -> Record:
    """An error with all that it says."""
    said: Record = {"error": type(error).__name__, "text": str(error)}
    if isinstance(error, SourceError):
        said |= {"kind": error.kind, "start": error.span.start, "end": error.span.end}
    return said


def some_texts(of: wb.Grammar, count: int) -> tuple[str, ...]:
    """Texts of the language, by a fixed seed."""
    return samples(of, count, seed=1)


# -- exports and the command line -----------------------------------------------------------------


def export_notations() -> list[str]:
    """The notations and programs to which a grammar can be exported."""
    return list(EXPORTS)


def exported(of: wb.Grammar, notation: str) -> str:
    """A grammar in another notation.

    Raises: WorkbenchError.
    """
    return export(of, notation)


def command(*arguments: str) -> tuple[int, bytes, str]:
    """Exit status, output and messages of a command."""
    done = CliRunner().invoke(app, list(arguments))
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout_bytes, done.stderr


# -- constraints ----------------------------------------------------------------------------------


def method_names() -> list[str]:
    """The decoding methods."""
    return list(METHODS)


def closed_form(of: wb.Grammar, vocabulary: wb.Vocabulary) -> Record:
    """The edges of the composed machine: arrays by name, with the numbering of the machine.

    Raises: LimitError where it has no end; VocabularyError.
    """
    if labels_of(of):
        of, vocabulary = encode_labels(of), label_vocabulary(vocabulary)
    machine = of.machine
    if isinstance(machine, Dfa):
        fsa = compose(machine, vocabulary)
        return {
            "initial": fsa.initial,
            "finals": np.flatnonzero(fsa.finals),
            "first": fsa.first,
            "token_ids": fsa.token_ids,
            "targets": fsa.targets,
        }
    pda = compose_pda(machine, vocabulary)
    rows = [pda.row(state) for state in range(pda.states)]
    return {
        "initial": pda.initial,
        "finals": np.array(sorted(pda.finals), np.int64),
        "first": np.cumsum([0, *(len(ids) for ids, _ in rows)]),
        "token_ids": np.concatenate([ids for ids, _ in rows]),
        "choices": np.concatenate([choices for _, choices in rows]),
        "moves": {choice: [tuple(move) for move in each] for choice, each in pda.choices.items()},
        "symbols": pda.symbols,
        "labels": pda.state_labels,
        "edges": pda.edge_count,
    }


# -- the page -------------------------------------------------------------------------------------


@cache
def handlers() -> Handlers:
    """The handlers of a page whose model is the toy model over the embedded vocabulary."""
    return Handlers(ModelRoom(TOY))


def sent_for(example: Example) -> Record:
    """What the page sends about an example, whatever it asks."""
    return {
        "example": example.name,
        "text": example.text,
        "notation": str(example.notation),
        "start": example.start,
    }


#: What the page asks, by the name of the question.
QUESTIONS: Mapping[str, Callable[[Handlers, Record], Record]] = {
    "compile": compile_grammar,
    "check": check_texts,
    "draw": draw_machine,
    "flags": draw_flags,
    "railroad": author.draw_railroad,
    "outline": author.outline_rules,
    "lint": author.lint_grammar,
    "samples": author.sample_texts,
    "changes": changes.what_changed,
    "mask": lambda page, sent: allowed_tokens(page, MaskRequest.of(sent)),
    "example": open_example,
    "page": lambda page, _: {**page_record(page)},
    "why": explain_view.why,
    "reasons": explain_view.explain_tokens,
    "about_state": state_view.about_state,
    "about_edge": picture_view.about_edge,
    "find_states": picture_view.find_states,
    "turn": runs.turn,
    "find_tokens": runs.find_tokens,
    "run": lambda page, sent: {"records": [*_run(page, sent)]},
}


def _run(page: Handlers, sent: Record) -> Iterator[Record]:
    """A run without the record that depends on whether the model was loaded before."""
    return (record for record in run_records(page, sent) if record["k"] != "status")


def ask(question: str, sent: Record) -> Record:
    """The answer of the page's server."""
    return QUESTIONS[question](handlers(), sent)


# -- pictures -------------------------------------------------------------------------------------

#: Size of a state, of a letter and of a rank in the pictures of ``without_graphviz``.
_STATE, _LETTER, _EDGE = 40, 7, 24


@contextmanager
def without_graphviz() -> Iterator[None]:
    """Put the DOT text in the place of Graphviz's picture, with a size that is estimated from it.

    Versions of Graphviz and the fonts of a machine change the picture, not the text.
    """

    def draw(_: Renderer, graph: Graph, direction: str = "LR", limits: object = None) -> str:
        text = dot(graph, "TB" if direction == "TB" else "LR")
        ranks = _ranks(graph)
        widest = max((len(one) for edge in graph.edges for one in edge.labels), default=0)
        along = len(ranks) * (_STATE + _LETTER * widest + _EDGE)
        across = max(ranks, default=1) * (_STATE + _EDGE)
        width, height = (along, across) if direction == "LR" else (across, along)
        size = f'width="{width}.00pt" height="{height}.00pt"'
        return f'<svg class="machine" {size}><desc>{html.escape(text)}</desc></svg>'

    with mock.patch.object(Renderer, "draw", draw):
        yield


def _ranks(graph: Graph) -> list[int]:
    """How many states are 0, 1, 2, … edges away from the initial state."""
    following: dict[str, list[str]] = {}
    for edge in graph.edges:
        following.setdefault(edge.source, []).append(edge.target)
    found = {node.id for node in graph.nodes[:1]}
    ranks, here = [], sorted(found)
    while here:
        ranks.append(len(here))
        here = sorted({to for state in here for to in following.get(state, [])} - found)
        found.update(here)
    return ranks
