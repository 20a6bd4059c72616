"""Answers for the grammar editor: advice, outline, samples, conversions, differences."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from itertools import islice
from typing import Annotated

from workbench.analysis.difference import equivalent
from workbench.analysis.in_words import in_words
from workbench.analysis.outline import RuleFacts, outline
from workbench.analysis.random_texts import near_misses, samples, sampling_method
from workbench.app.ui import wire, wire_parts
from workbench.app.ui.grammar_view import (
    closing_advice,
    problem_record,
    span_record,
    without_offers,
)
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.pictures import BoxRequest, sentence
from workbench.app.ui.question import question
from workbench.app.ui.request_fields import MAX_TEXT_CHARACTERS, field, integer, up_to
from workbench.app.ui.requests import MAX_SEED, TextRequest
from workbench.app.ui.shares import HEAVY, LIGHT
from workbench.base.diagnostics import Problem
from workbench.base.errors import LimitError, WorkbenchError
from workbench.base.limits import Phase
from workbench.base.source import Span
from workbench.base.visible_text import count_of
from workbench.drawing.railroad import Railroad
from workbench.drawing.railroad import draw_railroad as draw_tracks
from workbench.grammar.export.registry import export
from workbench.grammar.find import find
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.syntax.grammar_tree import GrammarTree
from workbench.syntax.regex.tree import Regex

#: Seconds of a comparison of two grammars; the answer reports whether it was complete.
_COMPARE_SECONDS = 0.5


def _checked_grammar(value: object, _: str) -> TextRequest:
    return TextRequest.of(value if isinstance(value, Mapping) else {})


class ChangeRequest(TextRequest):
    """A grammar, and what it was before."""

    before: Annotated[TextRequest, field(_checked_grammar, sent=TextRequest)] = TextRequest()


@question(HEAVY)
def what_changed(handlers: Handlers, request: ChangeRequest) -> wire.ChangeAnswer | wire.Refusal:
    """A shortest text gained and one lost compared with ``before``, and whether that is exact."""
    now = handlers.compiled(request).grammar
    before = handlers.compiled(request.before).grammar
    if now is None or before is None:
        which = "grammar" if now is None else "grammar before the change"
        return {"ok": False, "why": f"The {which} cannot be read."}
    difference = equivalent(
        before, now, limits=replace(handlers.pipeline.limits, seconds=_COMPARE_SECONDS)
    )
    differs = difference.gained is not None or difference.lost is not None
    return {
        "ok": True,
        "same": bool(difference),
        "exact": difference.exact,
        "gained": _text(difference.gained),
        "lost": _text(difference.lost),
        "how": "both machines were compared as a whole"
        if differs and difference.exact
        else difference.why,
    }


def _text(data: bytes | None) -> wire.Sample | None:
    return None if data is None else {"text": data.decode("utf-8", "replace")}


#: The usual name of the first rule, for notations that have one.
_START: dict[str, str] = {Notation.GBNF: "root"}


class ConvertRequest(TextRequest):
    """A grammar, and the name of the notation or program that is wanted."""

    to: Annotated[str, up_to(40)] = ""


@question(HEAVY)
def convert_grammar(handlers: Handlers, request: ConvertRequest) -> wire.Converted | wire.Refusal:
    """The grammar in the notation ``to``, or why it cannot be written in it."""
    compiled = handlers.compiled(request)
    grammar = compiled.grammar
    if grammar is None:
        return {"ok": False, "why": "The grammar cannot be read yet: fix its problems first."}
    text = export(grammar, request.to)
    if len(text) > MAX_TEXT_CHARACTERS:
        why = (
            f"The result has {len(text):,} characters; this page takes at most"
            f" {MAX_TEXT_CHARACTERS:,}. The command workbench convert has no such limit."
        )
        if any(closing_advice(request, compiled)):
            why += " It is shorter with closed objects: choose 'close objects' above the schema."
        return {"ok": False, "why": why}
    return {"ok": True, "text": text, "start": _START.get(request.to, "start")}


#: Samples for one press of the button, and texts one edit away from the language.
SAMPLES, MISSES = 6, 3

#: The least number of pieces that is reported.
_MIN_REPORTED_PIECES = 2

#: Rules in the outline at most.
MAX_OUTLINE_RULES = 500


#: The most sentences of a grammar in words.
MAX_WORDED_PARTS = 800


@question(HEAVY)
def lint_grammar(handlers: Handlers, request: TextRequest) -> wire.LintAnswer | wire.Refusal:
    """All advice on a grammar, requested when the author has stopped typing."""
    compiled = handlers.compiled(request)
    lint = compiled.linted(handlers.room.vocabulary())
    source = compiled.readable().source
    advised = (Problem.advised(advice, source) for advice in lint.advice)
    problems = [
        problem_record(problem)
        for problem in without_offers(request, (*advised, *closing_advice(request, compiled)))
    ]
    return {"ok": True, "problems": problems, "searched": _search_extent(lint.pieces)}


def _search_extent(pieces: int | None) -> str:
    """How far the search for an ambiguous text went; empty if it was complete."""
    if pieces is None:
        return ""
    if pieces < _MIN_REPORTED_PIECES:
        return "no ambiguity found within the time limit; few texts were tried"
    return f"no ambiguity found in texts of up to {pieces:,} pieces; longer ones were not all tried"


def _no_mask(error: WorkbenchError) -> wire.MaskTimes:
    return {"ok": False, "phases": [], "problems": [problem_record(Problem.of(error))]}


@question(HEAVY, refused=_no_mask)
def time_mask(handlers: Handlers, request: TextRequest) -> wire.MaskTimes:
    """The time of the first mask over the model's tokens, or the problem with them."""
    phases = handlers.compiled(request).first_mask(handlers.room.vocabulary())
    return {"ok": True, "phases": [_phase(phase) for phase in phases], "problems": []}


def _phase(phase: Phase) -> wire.Phase:
    return {"name": phase.name, "ms": round(phase.milliseconds, 3)}


@question(LIGHT)
def tell_in_words(handlers: Handlers, request: TextRequest) -> wire.WordsAnswer | wire.Refusal:
    """The grammar in words, one sentence for each part, with its span."""
    grammar = handlers.compiled(request).readable()
    parts = list(islice(in_words(grammar).walk(), MAX_WORDED_PARTS + 1))
    lines: list[wire.WordedPart] = [
        {
            "depth": depth,
            "sentence": part.sentence,
            "start": part.span.start,
            "end": part.span.end,
        }
        for depth, part in parts[:MAX_WORDED_PARTS]
    ]
    return {"ok": True, "lines": lines, "cut": len(parts) > MAX_WORDED_PARTS}


@question(LIGHT)
def outline_rules(handlers: Handlers, request: TextRequest) -> wire.OutlineAnswer | wire.Refusal:
    """Every rule, the rules it calls and its properties; no rules for a regex."""
    grammar = handlers.compiled(request).readable()
    facts = () if grammar.tree is None else outline(grammar.tree, grammar.start)
    shown = facts[:MAX_OUTLINE_RULES]
    return {
        "ok": True,
        "rules": [_rule(rule, grammar) for rule in shown],
        "left_out": len(facts) - len(shown),
    }


def _rule(rule: RuleFacts, grammar: Grammar) -> wire.Rule:
    return {
        "name": rule.name,
        "places": _places(rule.definitions),
        "references": _places(rule.references),
        "calls": list(rule.calls),
        "called_by": list(rule.called_by),
        "flags": list(_flags(rule, grammar)),
    }


def _flags(rule: RuleFacts, grammar: Grammar) -> Iterable[str]:
    """The properties of a rule that the outline shows."""
    if rule.name == grammar.start:
        yield "start"
    elif not rule.is_used:
        yield "unused"
    if not rule.is_productive:
        yield "never ends"
    if rule.is_recursive:
        yield "left-recursive" if rule.is_left_recursive else "recursive"
    if rule.is_nullable:
        yield "may be empty"
    # in a regular grammar it holds for every rule
    if rule.is_regular and not grammar.is_regular:
        yield "regular"


def _places(spans: Iterable[Span]) -> list[wire.Span]:
    return list(map(span_record, spans))


class SampleRequest(TextRequest):
    """A grammar, and the seed of its samples."""

    seed: Annotated[int, integer(0, MAX_SEED)] = 0


@question(HEAVY)
def sample_texts(handlers: Handlers, request: SampleRequest) -> wire.SampleAnswer | wire.Refusal:
    """Texts of the language, and texts one edit away from it; another ``seed`` gives others."""
    compiled = handlers.compiled(request)
    grammar = compiled.readable()
    texts = samples(grammar, SAMPLES, seed=request.seed)
    missed = near_misses(compiled.accepting, MISSES, seed=request.seed)
    return {
        "ok": True,
        "texts": list(texts),
        "misses": [{"text": text, "what": what} for text, what in missed],
        "how": sampling_method(grammar),
    }


#: Characters of a text that is searched, and matches that are listed, at most.
MAX_SEARCHED_CHARACTERS, MAX_LISTED_MATCHES = 300_000, 5_000


class SearchRequest(TextRequest):
    """A grammar, and the text in which its matches are searched."""

    searched: Annotated[str, up_to(MAX_SEARCHED_CHARACTERS)] = ""


@question(HEAVY)
def find_matches(handlers: Handlers, request: SearchRequest) -> wire.Matches | wire.Refusal:
    """All matches of a grammar in a long text: ``spans`` has the start and the end of each.

    ``why`` says why the search ended early; of many matches the first ones are listed.
    """
    spans: list[int] = []
    count, why = 0, ""
    compiled = handlers.compiled(request)
    try:
        for span in find(compiled.accepting, request.searched, limits=handlers.pipeline.limits):
            count += 1
            if count <= MAX_LISTED_MATCHES:
                spans += (span.start, span.end)
    except LimitError as error:
        why = sentence(error)
    return {"ok": True, "spans": spans, "count": count, "why": why}


@question(HEAVY)
def draw_railroad(handlers: Handlers, request: BoxRequest) -> wire_parts.Picture | wire.Refusal:
    """Railroad diagrams of all rules, as a record with the fields of other pictures.

    Of an unfinished grammar they are those of the rules that can be read.
    """
    compiled = handlers.compiled(request)
    tree, absent = compiled.diagnosis.tree, compiled.diagnosis.absent
    drawn_of: GrammarTree | Regex | None = tree
    if tree is None:
        grammar = compiled.readable()
        drawn_of = grammar.tree or grammar.regex
    assert drawn_of is not None, "a grammar has a tree or a regex"
    drawn = _fit(drawn_of, request.box.width, absent)
    of_rules = isinstance(drawn_of, GrammarTree)
    count = count_of(drawn.rules, "rule") if of_rules else "the regex"
    if drawn.drawn < drawn.rules and of_rules:
        count = f"{drawn.drawn:,} of {count}"
    if absent:
        count += f", {len(absent):,} missing"
    return {
        "ok": True,
        "svg": drawn.svg,
        "count": count,
        "centre": "",
        "partial": False,
        "note": "",
        "where": {},
        "follow": None,
        "names": {},
        "ends": False,
        "states": [],
        "edges": [],
    }


#: Attempts to make the lines narrower until the diagram fits into its box.
_MAX_FITS = 3


def _fit(rules: GrammarTree | Regex, width: float, absent: Collection[str]) -> Railroad:
    """The railroad diagrams with a line length at which text keeps its size in this width."""
    lines = width - 60
    for _ in range(_MAX_FITS):
        drawn = draw_tracks(rules, width=lines, absent=absent)
        if drawn.width <= 1.08 * width:
            break
        lines = max(120.0, lines - (drawn.width - width))
    return drawn
