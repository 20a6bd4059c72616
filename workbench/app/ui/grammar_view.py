"""Answers about the text in the editor: facts and problems, and which texts it accepts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Annotated

from workbench.app.pipeline import Compiled
from workbench.app.ui import wire
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.pictures import TABLE
from workbench.app.ui.question import or_refusal, question
from workbench.app.ui.request_fields import field, up_to
from workbench.app.ui.requests import TextRequest, checked_tried
from workbench.app.ui.run_records import Record, token_record
from workbench.app.ui.shares import LIGHT
from workbench.automata.class_descriptions import expected
from workbench.base.diagnostics import Advice, Problem
from workbench.base.errors import WorkbenchError
from workbench.base.source import Span
from workbench.drawing.drawable import Machine
from workbench.grammar.grammar import Grammar
from workbench.grammar.monitors.monitor import MONITORS
from workbench.grammar.notation_guess import other_notation, reading_hint
from workbench.grammar.notations import Notation
from workbench.grammar.recognition import Verdict
from workbench.schema.schema_options import open_objects
from workbench.schema.wrapped_schema import schema_text, wrapped_schema


@question(LIGHT, refused=lambda error: _refusal(Problem.of(error)))
def compile_grammar(handlers: Handlers, request: TextRequest) -> wire.Compiled:
    """Facts, problems and available machines of the text in the editor."""
    if not request.text.strip():
        record = _refusal()
        record["empty"] = True
        return record
    compiled = handlers.compiled(request)
    looks, inside = _hints(request)
    if compiled.grammar is None:
        whole = handlers.compiled(request.with_fields(hole=None))
        record = _refusal(*without_offers(request, compiled.problems))
        record["looks"], record["inside"] = looks, inside
        if whole.grammar is not None:
            record["unfilled"] = True
        if compiled.diagnosis.tree is not None:
            record["drawable"] = True
        return record
    problems = (*compiled.problems, *compiled.advice, *closing_advice(request, compiled))
    record = {
        "ok": True,
        "looks": looks,
        "inside": inside,
        "facts": list(compiled.facts),
        "ms": round(compiled.milliseconds, 2),
        "phases": [{"name": p.name, "ms": round(p.milliseconds, 2)} for p in compiled.phases],
        "problems": [problem_record(each) for each in without_offers(request, problems)],
        "tabs": {**{str(m): compiled.missing(m) for m in Machine}, TABLE: ""},
    }
    if monitors := _monitors(compiled.monitors):
        record["monitors"] = monitors
    return record


class CheckRequest(TextRequest):
    """A grammar, and the texts that are tried."""

    texts: Annotated[Sequence[str], field(checked_tried, sent=list[str])] = ()


@question(LIGHT, refused=lambda error: {"results": [], "problem": error.message})
def check_texts(handlers: Handlers, request: CheckRequest) -> wire.TestResults:
    """Which texts are accepted; for the others, where they fail and what was expected."""
    compiled = handlers.compiled(request)
    if compiled.grammar is None:
        return {"results": []}
    grammar = compiled.accepting
    return {"results": [_verdict(grammar, text) for text in request.texts]}


#: Allowed tokens that are listed; their number is always reported.
MAX_LISTED_TOKENS = 500


class MaskRequest(TextRequest):
    """A grammar, and the text before a token."""

    so_far: Annotated[str, up_to()] = ""


@or_refusal
def allowed_tokens(handlers: Handlers, request: MaskRequest) -> Record:
    """The tokens that may come next after a text, the first few hundred of them."""
    vocabulary = handlers.room.vocabulary()
    constraint = handlers.compiled(request).constraint(vocabulary)
    state = constraint.step_bytes(constraint.initial, request.so_far.encode())
    if state is None:
        raise WorkbenchError("no accepted text begins with this text", "/check says where it fails")
    ids = constraint.mask(state).ids.tolist()
    tokens = [token_record(i, vocabulary.tokens[i], vocabulary) for i in ids[:MAX_LISTED_TOKENS]]
    final = constraint.is_final(state)
    return {"ok": True, "allowed": len(ids), "final": final, "tokens": tokens}


def _monitors(names: Iterable[str]) -> list[wire.Monitor]:
    return [
        {"name": name, "title": MONITORS[name].title, "source": MONITORS[name].source}
        for name in names
    ]


#: Schemas inside a document that the list of problems offers, and their characters together.
_MOST_INSIDE, _MOST_CHARACTERS = 8, 40_000
#: Notes for which it has a row with a button instead.
_OFFERED = frozenset(("wrapped_schema", "other_notation"))


def _hints(request: TextRequest) -> tuple[str, wire.SchemasInside | None]:
    """Hints that the text is another notation, or a document around a schema."""
    text = request.text
    wrapped = wrapped_schema(text) if request.notation is Notation.JSON_SCHEMA else None
    looks = other_notation(text, request.notation) or ""
    if wrapped is None:
        return looks, None
    schemas: list[wire.SchemaInside] = []
    characters = 0
    for pointer in wrapped.pointers[:_MOST_INSIDE]:
        schema = schema_text(text, pointer)
        characters += len(schema)
        if not schemas or characters <= _MOST_CHARACTERS:
            schemas.append({"pointer": pointer, "text": schema})
    more = len(wrapped.pointers) - len(schemas)
    return looks, {"kind": wrapped.kind, "schemas": schemas, "more": more}


def without_offers(request: TextRequest, problems: Iterable[Problem]) -> Iterator[Problem]:
    """The problems without what ``looks`` and ``inside`` of the record say with a button."""
    looks, wrapped = other_notation(request.text, request.notation), wrapped_schema(request.text)
    said = [reading_hint(request.text, looks)] if looks else []
    said += [wrapped.described] if wrapped else []
    for problem in problems:
        hint = problem.hint
        for each in said:
            hint = hint.removesuffix(each).removesuffix("; ")
        if problem.kind not in _OFFERED:
            yield replace(problem, hint=hint)


def _refusal(*problems: Problem) -> wire.Compiled:
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


def problem_record(problem: Problem) -> wire.Problem:
    """A problem as the page's list shows it."""
    line, column = problem.position or (0, 0)
    record: wire.Problem = {
        "severity": problem.severity,
        "message": problem.message,
        "hint": problem.hint,
        "start": problem.span.start if problem.span else 0,
        "end": problem.span.end if problem.span else 0,
        "line": line,
        "column": column,
        "fix": problem.fix,
    }
    if problem.fix_span and problem.fix_span != problem.span:
        record["fix_at"] = span_record(problem.fix_span)
    if problem.rule:
        record["rule"] = span_record(problem.rule)
    if problem.missing_rule:
        record["missing_rule"] = problem.missing_rule
    if problem.unassertable:
        record["unassertable"] = problem.unassertable
    return record


def span_record(span: Span) -> wire.Span:
    """A span of the grammar's text."""
    return {"start": span.start, "end": span.end}


def closing_advice(request: TextRequest, compiled: Compiled) -> Iterator[Problem]:
    """A note where objects may have members that a schema does not name: they can be closed."""
    if request.notation is not Notation.JSON_SCHEMA or dict(request.options).get("closed"):
        return
    if (span := open_objects(request.text)) is not None:
        message = "objects may have members that the schema does not name"
        hint = "choose 'close objects', as strict tool calls do"
        advice = Advice(message, span, "open_objects", hint)
        yield Problem.advised(advice, compiled.readable().source)


def _verdict(grammar: Grammar, text: str) -> wire.TestResult:
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
