"""Answers of the grammar card: advice, outline, samples, conversions, differences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from workbench.analysis.difference import equivalent
from workbench.analysis.outline import RuleFacts, outline
from workbench.analysis.random_texts import near_misses, samples, sampling_method
from workbench.app.pipeline import Compiled
from workbench.app.ui.handlers import Handlers, problem_record
from workbench.app.ui.pictures import box_of, sentence
from workbench.app.ui.records import Record
from workbench.app.ui.requests import LONGEST_TEXT, TextRequest, number_in, text_in
from workbench.base.errors import WorkbenchError
from workbench.base.limits import Phase
from workbench.base.problems import Problem
from workbench.base.source import Span
from workbench.drawing.railroad import Railroad
from workbench.drawing.railroad import draw_railroad as draw_tracks
from workbench.grammar.export.registry import export
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.syntax.grammar_tree import GrammarTree
from workbench.syntax.regex.tree import Regex

#: So long two grammars are compared; the answer says how far that went.
_SECONDS = 0.5


def what_changed(handlers: Handlers, sent: Record) -> Record:
    """A shortest text gained and lost against ``before``, and how sure that is."""
    try:
        now = handlers.compiled(TextRequest.of(sent)).grammar
        earlier = sent.get("before")
        earlier = earlier if isinstance(earlier, Mapping) else {}
        before = handlers.compiled(TextRequest.of(earlier)).grammar
        if now is None or before is None:
            which = "grammar" if now is None else "grammar before the change"
            return {"ok": False, "why": f"The {which} cannot be read."}
        found = equivalent(before, now, limits=replace(handlers.pipeline.limits, seconds=_SECONDS))
    except WorkbenchError as error:
        return {"ok": False, "why": sentence(error)}
    told = found.gained is not None or found.lost is not None
    return {
        "ok": True,
        "same": bool(found),
        "exact": found.exact,
        "gained": _text(found.gained),
        "lost": _text(found.lost),
        "how": "both machines were compared as a whole" if told and found.exact else found.why,
    }


def _text(data: bytes | None) -> Record | None:
    return None if data is None else {"text": data.decode("utf-8", "replace")}


#: What the rule is called that a grammar begins with where its notation has a custom.
_START = {Notation.GBNF: "root"}


def convert_grammar(handlers: Handlers, sent: Record) -> Record:
    """The grammar in the notation ``to``; why not, where that cannot be said in it."""
    try:
        grammar = handlers.compiled(TextRequest.of(sent)).grammar
        if grammar is None:
            return {"ok": False, "why": "The grammar cannot be read yet: fix its problems first."}
        to = text_in(sent, "to", 40)
        text = export(grammar, to)
    except WorkbenchError as error:
        return {"ok": False, "why": sentence(error)}
    if len(text) > LONGEST_TEXT:
        why = f"The result has {len(text):,} characters; this page takes at most {LONGEST_TEXT:,}. "
        return {"ok": False, "why": why + "The command workbench convert has no such limit."}
    return {"ok": True, "text": text, "start": _START.get(Notation(to), "start")}


#: Samples made at a press of the button, and texts that just miss the language.
SAMPLES, MISSES = 6, 3

#: The least number of pieces that is reported.
_TOLD_PIECES = 2

#: Rules in the outline at most.
MOST_RULES = 500


def lint_grammar(handlers: Handlers, sent: Record) -> Record:
    """All that is to be said of a grammar that works; asked once it stands still."""
    try:
        compiled = handlers.compiled(TextRequest.of(sent))
        found = compiled.linted(handlers.room.vocabulary())
        source = _grammar(compiled).source
    except WorkbenchError as error:
        return {"ok": False, "why": sentence(error)}
    problems = [problem_record(Problem.advised(one, source)) for one in found.advice]
    return {"ok": True, "problems": problems, "searched": _searched(found.pieces)}


def _searched(pieces: int | None) -> str:
    """How far an ambiguous text was looked for, where that is not all."""
    if pieces is None:
        return ""
    if pieces < _TOLD_PIECES:
        return "no ambiguity found within the time limit; few texts were tried"
    return f"no ambiguity found in texts of up to {pieces:,} pieces; longer ones were not all tried"


def time_mask(handlers: Handlers, sent: Record) -> Record:
    """How long the first mask over the model's tokens takes, or the problem with them."""
    try:
        phases = handlers.compiled(TextRequest.of(sent)).first_mask(handlers.room.vocabulary())
    except WorkbenchError as error:
        return {"ok": False, "phases": [], "problems": [problem_record(Problem.of(error))]}
    return {"ok": True, "phases": [_phase(phase) for phase in phases], "problems": []}


def _phase(phase: Phase) -> Record:
    return {"name": phase.name, "ms": round(phase.milliseconds, 3)}


def outline_rules(handlers: Handlers, sent: Record) -> Record:
    """Every rule, whom it calls and what is true of it; none for a regex."""
    try:
        grammar = _grammar(handlers.compiled(TextRequest.of(sent)))
        facts = () if grammar.tree is None else outline(grammar.tree, grammar.start)
    except WorkbenchError as error:
        return {"ok": False, "why": sentence(error)}
    shown = facts[:MOST_RULES]
    return {
        "ok": True,
        "rules": [_rule(rule, grammar) for rule in shown],
        "left_out": len(facts) - len(shown),
    }


def _rule(rule: RuleFacts, grammar: Grammar) -> Record:
    return {
        "name": rule.name,
        "places": _places(rule.definitions),
        "references": _places(rule.references),
        "calls": list(rule.calls),
        "called_by": list(rule.called_by),
        "flags": list(_flags(rule, grammar)),
    }


def _flags(rule: RuleFacts, grammar: Grammar) -> Iterable[str]:
    """What is worth a word of a rule."""
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
    # of a grammar that needs no stack it would be said of each
    if rule.is_regular and not grammar.is_regular:
        yield "regular"


def _places(spans: Iterable[Span]) -> list[Record]:
    return [{"start": span.start, "end": span.end} for span in spans]


def sample_texts(handlers: Handlers, sent: Record) -> Record:
    """Some texts of the language, and some that miss it by one edit; ``seed`` gives others."""
    try:
        seed = int(number_in(sent, "seed", 0, 0, 2**31 - 1))
        grammar = _grammar(handlers.compiled(TextRequest.of(sent)))
        found = samples(grammar, SAMPLES, seed)
        missed = near_misses(grammar, MISSES, seed)
    except WorkbenchError as error:
        return {"ok": False, "why": sentence(error)}
    return {
        "ok": True,
        "texts": list(found),
        "misses": [{"text": text, "what": what} for text, what in missed],
        "how": sampling_method(grammar),
    }


def draw_railroad(handlers: Handlers, sent: Record) -> Record:
    """Railroad diagrams of all rules, in the shape of any other picture's record."""
    try:
        grammar = _grammar(handlers.compiled(TextRequest.of(sent)))
    except WorkbenchError as error:
        return {"ok": False, "why": sentence(error)}
    drawn_of = grammar.tree or grammar.regex
    assert drawn_of is not None, "a grammar is made of one of both"
    made = _fitted(drawn_of, box_of(sent).width)
    count = f"{made.rules:,} rule{'s' * (made.rules != 1)}" if grammar.tree else "the regex"
    partial = made.drawn < made.rules
    return {
        "ok": True,
        "svg": made.svg,
        "count": f"{made.drawn:,} of {count}" if partial and grammar.tree else count,
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


def _grammar(compiled: Compiled) -> Grammar:
    """Its grammar.

    Raises: WorkbenchError where the grammar cannot be read.
    """
    if compiled.grammar is None:
        raise WorkbenchError("the grammar cannot be read yet", "fix its problems first")
    return compiled.grammar


#: The track is made narrower so often, until the diagram fits into its box.
_TRIES = 3


def _fitted(rules: GrammarTree | Regex, width: float) -> Railroad:
    """The railroad diagrams with lines so long that text keeps its size in a box of this width."""
    lines = width - 60
    for _ in range(_TRIES):
        made = draw_tracks(rules, width=lines)
        if made.width <= 1.08 * width:
            break
        lines = max(120.0, lines - (made.width - width))
    return made
