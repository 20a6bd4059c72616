"""What the page asks, answered: in come plain requests, out go plain records; no Gradio here."""

from __future__ import annotations

import json
from dataclasses import asdict

from workbench.automata.describe import describe
from workbench.constraint.automaton import AutomatonConstraint
from workbench.drawing.counting import fold_counts
from workbench.drawing.dot import Direction, dot
from workbench.drawing.graph import Edge, Graph, Node
from workbench.drawing.reductions import Shown, reduce
from workbench.drawing.render import renderer
from workbench.errors import WorkbenchError
from workbench.gallery import Gallery, load_gallery
from workbench.grammar import Grammar, Verdict
from workbench.pipeline import Compiled, Machine, Pipeline, Problem
from workbench.resources import GRAMMARS
from workbench.ui.models import ModelRoom
from workbench.ui.records import Record, token_record
from workbench.ui.requests import TextRequest, text_in, tried_in

#: The tab that lists a machine instead of drawing it.
TABLE = "table"

#: Rows of a table sent to the page.
MOST_ROWS = 2_000

#: Allowed tokens listed; their number is always told.
MOST_TOKENS = 500

#: States drawn at once of a machine that is larger.
SHOWN = {Machine.TOKENS: 20, Machine.STACK: 24, Machine.DETOKENIZER: 24}
_SHOWN_ELSE = 40


class Handlers:
    """Every question of the page but the run itself; safe to share between visitors."""

    def __init__(self, room: ModelRoom, pipeline: Pipeline | None = None) -> None:
        self.room = room
        self.pipeline = pipeline or Pipeline()
        self.gallery: Gallery = load_gallery()

    # -- what the page is opened with -------------------------------------------------------

    def page(self) -> Record:
        """The gallery, and which of its examples stands first."""
        shown = [
            {
                "name": example.name,
                "title": example.title,
                "note": example.note,
                "notation": str(example.notation),
                "text": example.text,
                "prompt": example.prompt,
                "max_tokens": example.max_tokens,
                "accepts": list(example.accepts),
                "rejects": list(example.rejects),
                "group": example.group,
            }
            for example in self.gallery.values()
        ]
        return {"gallery": shown, "first": 0}

    def model_state(self) -> Record:
        """What the header says of the model; asking also begins to load it."""
        self.room.start()
        return asdict(self.room.state())

    # -- grammars --------------------------------------------------------------------------

    def compile(self, sent: Record) -> Record:
        """Facts, problems and which machines there are, of the text in the editor."""
        try:
            request = TextRequest.of(sent)
        except WorkbenchError as error:
            return _refused(Problem.of(error))
        if not request.text.strip():
            return {**_refused(), "empty": True}
        compiled = self.pipeline.compile(request.text, request.notation)
        if compiled.grammar is None:
            return _refused(*compiled.problems)
        return {
            "ok": True,
            "facts": list(compiled.facts),
            "ms": round(compiled.milliseconds, 2),
            "phases": [{"name": p.name, "ms": round(p.milliseconds, 2)} for p in compiled.phases],
            "problems": [_problem(problem) for problem in compiled.problems],
            "tabs": {**{str(m): compiled.missing(m) for m in Machine}, TABLE: ""},
        }

    def check(self, sent: Record) -> Record:
        """Which of the texts to try are accepted; for the others where and what was expected."""
        try:
            request, texts = TextRequest.of(sent), tried_in(sent)
            grammar = self._compiled(request).grammar
            if grammar is None:
                return {"results": []}
            return {"results": [_verdict(grammar, text) for text in texts]}
        except WorkbenchError as error:
            return {"results": [], "problem": error.message}

    def _compiled(self, request: TextRequest) -> Compiled:
        return self.pipeline.compile(request.text, request.notation)

    # -- pictures --------------------------------------------------------------------------

    def draw(self, sent: Record) -> Record:
        """A machine as SVG with all a reader can ask of it, or the reason there is none."""
        try:
            compiled = self._compiled(TextRequest.of(sent))
            tab = text_in(sent, "tab", 40)
            if tab == TABLE:
                return self._table(compiled)
            machine = Machine(tab) if tab in list(Machine) else Machine.CHARACTERS
            graph = compiled.graph(machine, self.room.vocabulary())
            centre = text_in(sent, "centre", 40) or None
            shown = reduce(fold_counts(graph), SHOWN.get(machine, _SHOWN_ELSE), centre)
            direction: Direction = "TB" if sent.get("narrow") else "LR"
            svg = renderer().draw(shown.graph, direction)
            return _picture(shown, svg, dot(shown.graph, direction), len(graph.nodes), centre)
        except WorkbenchError as error:
            return {"ok": False, "why": _sentence(error)}

    def _table(self, compiled: Compiled) -> Record:
        machine = Machine.RULES if compiled.missing(Machine.CHARACTERS) else Machine.CHARACTERS
        graph = compiled.graph(machine, self.room.vocabulary())
        names = {node.id: node for node in graph.nodes}
        rows = [
            [edge.source, "  ".join(edge.labels) or "ε", names[edge.target].label or edge.target,
             _marks(names[edge.source])]
            for edge in graph.edges[:MOST_ROWS]
        ]  # fmt: skip
        count = f"{len(graph.nodes):,} states, {len(graph.edges):,} edges"
        if len(graph.edges) > MOST_ROWS:
            count = f"showing {MOST_ROWS:,} of {len(graph.edges):,} edges"
        return {
            "ok": True,
            "tab": TABLE,
            "heads": ["state", "reads", "goes to"],
            "rows": rows,
            "count": count,
            "note": "",
            "states": [],
            "edges": [],
            "where": {},
        }

    def mask(self, sent: Record) -> Record:
        """The tokens that may come next after a text, the first few hundred of them."""
        try:
            compiled, so_far = self._compiled(TextRequest.of(sent)), text_in(sent, "so_far")
            vocabulary = self.room.vocabulary()
            constraint = compiled.constraint(vocabulary)
            assert isinstance(constraint, AutomatonConstraint), "the method asked for"
            state = constraint.step_bytes(constraint.initial, so_far.encode())
            if state is None:
                raise WorkbenchError("no accepted text begins so", "/check says where it fails")
            ids = constraint.mask(state).ids.tolist()
            tokens = [token_record(i, vocabulary.tokens[i], vocabulary) for i in ids[:MOST_TOKENS]]
            final = constraint.is_final(state)
            return {"ok": True, "allowed": len(ids), "final": final, "tokens": tokens}
        except WorkbenchError as error:
            return {"ok": False, "why": _sentence(error)}

    # -- runs made before --------------------------------------------------------------------

    def recorded(self, sent: Record) -> str:
        """A run recorded for an example, as NDJSON; empty where there is none."""
        try:
            name = text_in(sent, "example", 80)
        except WorkbenchError:
            return ""
        if name not in self.gallery:
            return ""  # a name from outside never becomes a path
        kept = GRAMMARS / f"{name}.trace.ndjson"
        return kept.read_text("utf-8") if kept.is_file() else ""


def _refused(*problems: Problem) -> Record:
    told = [_problem(problem) for problem in problems]
    return {"ok": False, "facts": [], "ms": 0, "phases": [], "problems": told, "tabs": {}}


def _problem(problem: Problem) -> Record:
    line, column = problem.position or (0, 0)
    return {
        "severity": problem.severity,
        "message": problem.message,
        "hint": problem.hint,
        "start": problem.span.start if problem.span else 0,
        "end": problem.span.end if problem.span else 0,
        "line": line,
        "column": column,
    }


def _verdict(grammar: Grammar, text: str) -> Record:
    verdict: Verdict = grammar.check(text)
    expected = describe(verdict.expected) if verdict.expected else ""
    ending = "the end" if verdict.may_end and not verdict.accepted else ""
    offset = verdict.offset
    return {
        "text": text,
        "accepted": verdict.accepted,
        "at_end": verdict.incomplete,
        "offset": offset,
        "column": None if offset is None else offset + 1,
        "expected": " or ".join(part for part in (expected, ending) if part),
        "rules": list(verdict.rules),
    }


def _picture(shown: Shown, svg: str, text: str, total: int, centre: str | None) -> Record:
    graph: Graph = shown.graph
    return {
        "ok": True,
        "svg": svg,
        "dot": text,
        "count": _told(shown, total),
        "centre": centre or "",
        "partial": shown.shown_nodes < shown.total_nodes,
        "note": graph.note,
        "where": graph.where,
        "states": [
            {"id": n.id, "label": n.label, "title": n.title, "kinds": list(n.kinds)}
            for n in graph.nodes
        ],
        "edges": [_edge(edge) for edge in graph.edges],
    }


def _told(shown: Shown, total: int) -> str:
    """How much of the machine is in the picture."""
    if shown.total_nodes == total:
        return shown.text
    _, around, centre = shown.text.partition(", those around ")
    rest = f"{around}{centre}" if around else "; the rest stands inside edges"
    return f"showing {shown.shown_nodes:,} of {total:,} states{rest}"


def _edge(edge: Edge) -> Record:
    return {
        "source": edge.source,
        "target": edge.target,
        "labels": list(edge.labels),
        "title": edge.title,
    }


def _marks(node: Node) -> str:
    return "".join(("→" * ("initial" in node.kinds), "◎" * ("final" in node.kinds)))


def _sentence(error: WorkbenchError) -> str:
    return f"{error.message}. {error.hint}" if error.hint else error.message


def encoded(record: Record) -> str:
    """A record as the JSON text a component's value is."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))
