"""Answers the page's requests with plain records; independent of the web server.

Larger groups of requests are in ``author``, ``picture_view``, ``explain_view``, ``compare_view``,
``lesson_view``, ``takeaway`` and ``runs``; ``questions.QUESTIONS`` lists all of them.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import asdict, replace
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

from workbench.app.pipeline import Compiled, Pipeline
from workbench.app.ui.model_registry import BUILTIN, ModelRoom, ModelRooms
from workbench.app.ui.notation_guess import other_notation, schema_inside
from workbench.app.ui.pictures import (
    TABLE,
    TOGETHER,
    View,
    flags,
    picture,
    sentence,
    table,
    table_of,
)
from workbench.app.ui.requests import MAX_NAME, RunRequest, TextRequest, text_in, tried_in
from workbench.app.ui.run_records import Record, token_record
from workbench.automata.class_descriptions import expected
from workbench.base.diagnostics import Advice, Problem
from workbench.base.errors import LimitError, WorkbenchError
from workbench.base.kernels import interpreting
from workbench.base.limits import time_budget
from workbench.constraint.compile import METHODS
from workbench.constraint.masks import TokenMask
from workbench.decoding.generate import after
from workbench.drawing.drawable import OVER_TOKENS, Drawn, Machine
from workbench.drawing.tikz import tikz
from workbench.grammar.gallery import Example, Gallery, load_gallery, recorded_run
from workbench.grammar.grammar import Grammar
from workbench.grammar.monitors.monitor import MONITORS
from workbench.grammar.notations import FINISHING, Notation
from workbench.grammar.recognition import Verdict
from workbench.schema.schema_options import open_objects
from workbench.vocabulary.toy_vocabularies import toy
from workbench.vocabulary.vocabulary import Vocabulary

P = ParamSpec("P")
T = TypeVar("T")

#: The hint where a machine of rules is too large to be drawn.
_RAILROAD = "Railroad draws the rules without their machine"

#: Allowed tokens that are listed; their number is always reported.
MAX_LISTED_TOKENS = 500


def or_refusal(question: Callable[P, Record]) -> Callable[P, Record]:
    """A request that answers an error with a ``Refusal``: a sentence that says why."""

    @wraps(question)
    def answered(*args: P.args, **kwargs: P.kwargs) -> Record:
        try:
            return question(*args, **kwargs)
        except WorkbenchError as error:
            return {"ok": False, "why": sentence(error)}

    return answered


class Handlers:
    """Answers to the page's requests, except runs; safe to share between visitors."""

    def __init__(self, rooms: ModelRooms | ModelRoom, pipeline: Pipeline | None = None) -> None:
        self.rooms = ModelRooms((rooms,)) if isinstance(rooms, ModelRoom) else rooms
        #: The model chosen by this visitor.
        self.room = self.rooms.first
        self.pipeline = pipeline or Pipeline()
        self.gallery: Gallery = load_gallery()
        #: Set when the server closes: all runs end.
        self.closing = threading.Event()
        #: The results file that the page is served with.
        self.served_results: Path | None = None
        self._figures: dict[str, Vocabulary] = {}
        #: Two runs at a time compute their constraint: the number of cores of a small machine.
        self.preparing = threading.BoundedSemaphore(2)

    def with_model(self, fields: Record) -> Handlers:
        """These handlers with the model that ``model`` in the request names.

        Raises: WorkbenchError for a model that is not offered.
        """
        room = self.rooms.get(text_in(fields, "model", MAX_NAME))
        if room is self.room:
            return self
        chosen = copy(self)
        chosen.room = room
        return chosen

    def within_budget(self, answer: Callable[P, T]) -> Callable[P, T]:
        """A request all of whose stages share the seconds that one compilation may take."""

        @wraps(answer)
        def answered(*args: P.args, **kwargs: P.kwargs) -> T:
            with time_budget(self.pipeline.limits.seconds):
                return answer(*args, **kwargs)

        return answered

    # -- the opening of the page     -------------------------------------------------------

    def page(self) -> Record:
        """All examples by name, the first one in full, the methods, and the Space's id if any."""
        examples = list(self.gallery.values())
        names = [{"name": each.name, "title": each.title, "group": each.group} for each in examples]
        first = example_record(examples[0]) if examples else None
        space = os.environ.get("SPACE_ID", "")
        results = self.served_results
        return {
            "gallery": names,
            "first": first,
            "methods": method_records(),
            "space": space,
            **({"results": results.name} if results else {}),
        }

    def example(self, fields: Record) -> Record:
        """An example in full, by its name."""
        try:
            name = text_in(fields, "name", 80)
        except WorkbenchError as error:
            return {"fault": error.message}
        if name not in self.gallery:
            return {"fault": "there is no such example"}
        return example_record(self.gallery[name])

    def open_model(self, fields: Record) -> Record:
        """Open a model that the page does not offer; its name on the page."""
        name, token = text_in(fields, "name", MAX_NAME), text_in(fields, "token", MAX_NAME)
        return {"name": self.rooms.open(name, token)}

    def model_state(self) -> Record:
        """The state of the models for the header; also begins to load the chosen one.

        ``compiling``: a new installation compiles the engine's kernels, and answers take longer.
        """
        self.room.start()
        rooms = self.rooms
        return {
            **asdict(self.room.state()),
            "models": rooms.known(),
            "may_open": rooms.may_open,
            "compiling": interpreting(),
        }

    # -- grammars --------------------------------------------------------------------------

    def compile(self, fields: Record) -> Record:
        """Facts, problems and available machines of the text in the editor."""
        try:
            request = TextRequest.of(fields)
        except WorkbenchError as error:
            return _refusal(Problem.of(error))
        if not request.text.strip():
            return {**_refusal(), "empty": True}
        compiled = self.compiled(request)
        hints = _hints(request)
        if compiled.grammar is None:
            whole = self.compiled(replace(request, hole=None))
            unfilled = {} if whole.grammar is None else {"unfilled": True}
            drawable = {} if compiled.diagnosis.tree is None else {"drawable": True}
            return {**_refusal(*compiled.problems), **hints, **unfilled, **drawable}
        problems = (*compiled.problems, *compiled.advice, *closing_advice(request, compiled))
        return {
            "ok": True,
            **hints,
            "facts": list(compiled.facts),
            "ms": round(compiled.milliseconds, 2),
            "phases": [{"name": p.name, "ms": round(p.milliseconds, 2)} for p in compiled.phases],
            "problems": [problem_record(problem) for problem in problems],
            "tabs": {**{str(m): compiled.missing(m) for m in Machine}, TABLE: ""},
            **_monitors(compiled.monitors),
        }

    def check(self, fields: Record) -> Record:
        """Which texts are accepted; for the others, where they fail and what was expected."""
        try:
            request, texts = TextRequest.of(fields), tried_in(fields)
            compiled = self.compiled(request)
            if compiled.grammar is None:
                return {"results": []}
            grammar = compiled.accepting
            return {"results": [_verdict(grammar, text) for text in texts]}
        except WorkbenchError as error:
            return {"results": [], "problem": error.message}

    def compiled(self, request: TextRequest) -> Compiled:
        """The compiled grammar of a request, from the cache if it is there."""
        text, notation, start = request.text, request.notation, request.start
        return self.pipeline.compile(text, notation, start, request.options, request.hole)

    # -- pictures --------------------------------------------------------------------------

    @or_refusal
    def draw(self, fields: Record) -> Record:
        """A machine as SVG with the data of its parts, or the reason why there is no picture."""
        try:
            machine, drawn, is_own = self.drawn(fields)
            view = View.of(fields)
            if text_in(fields, "tab", 40) == TABLE:
                return table(drawn, view.centre)
            return picture(drawn, machine, view, is_own=is_own)
        except LimitError as error:
            grammar = self.compiled(TextRequest.of(fields)).grammar
            if grammar is None or grammar.tree is None:
                raise
            raise LimitError(error.message, error.budget, _RAILROAD) from None

    @or_refusal
    def tikz(self, fields: Record) -> Record:
        """The picture of ``draw`` for LaTeX, or the reason for its absence."""
        answer = self.draw(fields)
        return {"ok": True, "tikz": tikz(answer["svg"])} if answer["ok"] else answer

    def run_mask(self, fields: Record) -> TokenMask | None:
        """The mask of a run after its tokens, where it may be another than the grammar's.

        ``masked`` has the settings of the run. None without a run, or if its tokens are refused.
        """
        masked = fields.get("masked")
        if not isinstance(masked, dict):
            return None
        try:
            request = RunRequest.of({**fields, **masked})
            compiled = self.compiled(request.grammar)
            constraint = request.constraint(compiled, self.room.vocabulary())
            if request.finish:
                constraint = request.within_budget(constraint, compiled, self.room.model())
            ends = constraint.vocabulary.ends
            taken = [token for token in request.prefix if token not in ends]
            return constraint.mask(after(constraint, taken))
        except WorkbenchError:
            return None

    @or_refusal
    def flags(self, fields: Record, mask: TokenMask | None = None) -> Record:
        """The tokens that may follow a text, as flags over the picture of the tab Together.

        ``mask`` is that of a run; by default it is computed from its settings in the request.
        """
        drawn, is_own = self.over_tokens(fields)
        under = self.drawn({**fields, "tab": TOGETHER})[1]
        if mask is None and not is_own:
            mask = self.run_mask(fields)
        answer = flags(drawn, under, View.of(fields), mask)
        if is_own:
            answer["count"] += ", of the figure's own tokens"
        return answer

    def over_tokens(self, fields: Record) -> tuple[Drawn, bool]:
        """The machine over tokens, and whether it uses a figure's own tokens."""
        vocabulary = self.vocabulary_of(fields)
        drawn = self.compiled(TextRequest.of(fields)).drawn(Machine.TOKENS, vocabulary)
        return drawn, vocabulary in self._figures.values()

    def drawn(self, fields: Record) -> tuple[Machine, Drawn, bool]:
        """The requested machine, its drawing, and whether it uses a figure's own tokens.

        Raises: WorkbenchError where there is no such machine.
        """
        compiled = self.compiled(TextRequest.of(fields))
        name = text_in(fields, "tab", 40)
        if name == TABLE:
            name = text_in(fields, "of", 40) or table_of(compiled)
        if name == TOGETHER:
            name = Machine.STACK if compiled.missing(Machine.CHARACTERS) else Machine.CHARACTERS
        machine = Machine(name) if name in list(Machine) else Machine.CHARACTERS
        if machine not in OVER_TOKENS:
            return machine, compiled.drawn(machine), False
        vocabulary = self.vocabulary_of(fields)
        return machine, compiled.drawn(machine, vocabulary), vocabulary in self._figures.values()

    def vocabulary_of(self, fields: Record) -> Vocabulary:
        """The tokens of an example's pictures: its own, or the model's."""
        return self._figure(text_in(fields, "example", 80)) or self.room.vocabulary()

    def _figure(self, name: str) -> Vocabulary | None:
        """The own tokens of an example; None if it uses the model's."""
        example = self.gallery.get(name)
        if example is None or not example.vocabulary:
            return None
        if name not in self._figures:
            self._figures[name] = toy(example.vocabulary, name=example.title)
        return self._figures[name]

    @or_refusal
    def mask(self, fields: Record) -> Record:
        """The tokens that may come next after a text, the first few hundred of them."""
        compiled, so_far = self.compiled(TextRequest.of(fields)), text_in(fields, "so_far")
        vocabulary = self.room.vocabulary()
        constraint = compiled.constraint(vocabulary)
        state = constraint.step_bytes(constraint.initial, so_far.encode())
        if state is None:
            raise WorkbenchError(
                "no accepted text begins with this text", "/check says where it fails"
            )
        ids = constraint.mask(state).ids.tolist()
        tokens = [
            token_record(i, vocabulary.tokens[i], vocabulary) for i in ids[:MAX_LISTED_TOKENS]
        ]
        final = constraint.is_final(state)
        return {"ok": True, "allowed": len(ids), "final": final, "tokens": tokens}

    # -- recorded runs -----------------------------------------------------------------------

    def recorded(self, fields: Record) -> str:
        """A run of the embedded model recorded for an example, as NDJSON; empty without one."""
        try:
            name = text_in(fields, "example", 80)
        except WorkbenchError:
            return ""
        if name not in self.gallery or self.room.name != BUILTIN:
            return ""  # a name from a request never becomes a path
        return recorded_run(name)


def method_records() -> list[Record]:
    """Every method for the page; ``deep`` if it has the option ``k``."""
    return [
        {"name": name, "title": each.title, "source": each.source, "deep": "k" in each.options}
        for name, each in METHODS.items()
    ]


def example_record(example: Example) -> Record:
    """An example as the page opens it."""
    return {
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
        "start": example.start,
        "breaks": list(example.breaks) or None,
        "settings": {
            "small_tokens": example.small_tokens,
            "monitor": example.monitor,
            "temperature": example.temperature,
            "seed": example.seed,
            "finish": example.notation in FINISHING and not example.monitor,
        },
    }


def _monitors(fitting: Iterable[str]) -> Record:
    """The monitors that fit a grammar; nothing if none does."""
    monitors = [
        {"name": name, "title": MONITORS[name].title, "source": MONITORS[name].source}
        for name in fitting
    ]
    return {"monitors": monitors} if monitors else {}


def _hints(request: TextRequest) -> Record:
    """Hints that the text is another notation, or a tool description around a schema."""
    schema = request.notation is Notation.JSON_SCHEMA
    return {
        "looks": other_notation(request.text, request.notation) or "",
        "inside": schema_inside(request.text) if schema else None,
    }


def _refusal(*problems: Problem) -> Record:
    return {
        "ok": False,
        "looks": "",
        "inside": None,
        "facts": [],
        "ms": 0,
        "phases": [],
        "problems": [problem_record(problem) for problem in problems],
        "tabs": {},
    }


def problem_record(problem: Problem) -> Record:
    """A problem as the page's list shows it."""
    line, column = problem.position or (0, 0)
    where = problem.fix_span
    elsewhere = where is not None and where != problem.span
    return {
        "severity": problem.severity,
        "message": problem.message,
        "hint": problem.hint,
        "start": problem.span.start if problem.span else 0,
        "end": problem.span.end if problem.span else 0,
        "line": line,
        "column": column,
        "fix": problem.fix,
        **({"fix_at": {"start": where.start, "end": where.end}} if where and elsewhere else {}),
        **({"rule": {"start": rule.start, "end": rule.end}} if (rule := problem.rule) else {}),
        **({"missing_rule": problem.missing_rule} if problem.missing_rule else {}),
    }


def closing_advice(request: TextRequest, compiled: Compiled) -> Iterator[Problem]:
    """A note where objects may have members that a schema does not name: they can be closed."""
    if request.notation is not Notation.JSON_SCHEMA or dict(request.options).get("closed"):
        return
    if (span := open_objects(request.text)) is not None:
        message = "objects may have members that the schema does not name"
        hint = "choose 'close objects', as strict tool calls do"
        advice = Advice(message, span, "open_objects", hint)
        yield Problem.advised(advice, compiled.readable().source)


def _verdict(grammar: Grammar, text: str) -> Record:
    verdict: Verdict = grammar.check(text)
    ending = verdict.may_end and not verdict.accepted
    wanted = expected([verdict.expected], end=ending) if verdict.expected or ending else ""
    offset = verdict.offset
    return {
        "text": text,
        "accepted": verdict.accepted,
        "at_end": verdict.incomplete,
        "offset": offset,
        "column": None if offset is None else offset + 1,
        "expected": wanted,
        "rules": list(verdict.rules),
    }


def encoded(record: Record | list[Record]) -> str:
    """A record as JSON text, the value of a component."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))
