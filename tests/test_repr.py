"""``repr`` of every public object is one line that says what it is."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import workbench as wb
from workbench.base.source import Source, Span
from workbench.vocabulary.toy import all_bytes

#: The most characters of a repr: two lines of a terminal.
MOST = 160

LONG = "start ::= 'a' | " + " | ".join(f"'{n:030}'" for n in range(40)) + ";"


def _grammar() -> wb.Grammar:
    return wb.Grammar.from_kbnf(LONG)


def _constraint() -> wb.Constraint:
    return wb.compile(wb.Grammar.from_regex("[a-c]{2,9}|[a-c]+d"), all_bytes())


def _trace() -> wb.Trace:
    from tests.decoding.models import Uniform

    constraint = _constraint()
    generation = wb.generate(Uniform(constraint.vocabulary), constraint, "x", max_tokens=9)
    list(generation)
    return generation.trace


def _source_error(kind: type[wb.WorkbenchError]) -> Callable[[], object]:
    return lambda: kind("expected a rule", Source(LONG, "grammar"), Span(0, 5))  # type: ignore[call-arg,arg-type]


def _model() -> Any:
    from tests.decoding.models import Uniform

    return Uniform(all_bytes())


def _generation() -> wb.Generation:
    constraint = _constraint()
    return wb.generate(_model(), constraint, "x", max_tokens=9)


MADE: dict[str, Callable[[], object]] = {
    "Advance": lambda: wb.Engine(_grammar(), all_bytes()).try_accept_new_token(97),
    "Advice": lambda: wb.lint(wb.Grammar.from_kbnf(LONG + " unused ::= 'x';")).advice[0],
    "BuildError": _source_error(wb.BuildError),
    "CountProposer": wb.CountProposer,
    "CoupledSpeculation": lambda: wb.CoupledSpeculation(_model()),
    "Difference": lambda: wb.equivalent(wb.Grammar.from_regex("[ab]*"), _grammar()),
    "DraftSpeculation": lambda: wb.DraftSpeculation(_model()),
    "Drawn": lambda: wb.draw(_grammar(), "rules"),
    "Engine": lambda: wb.Engine(_grammar(), all_bytes()),
    "Explanation": lambda: wb.explain(_grammar(), b"x"),
    "ForcedProposer": wb.ForcedProposer,
    "Generation": _generation,
    "Grammar": _grammar,
    "Healed": lambda: wb.heal(_constraint().vocabulary, "abc", _constraint()),
    "Intersection": lambda: wb.Intersection(_constraint(), _constraint()),
    "JumpForward": wb.JumpForward,
    "LimitError": lambda: wb.LimitError("too many", "states"),
    "Limits": wb.Limits,
    "Lint": lambda: wb.lint(wb.Grammar.from_kbnf(LONG + " unused ::= 'x';")),
    "LogitsProcessor": lambda: wb.LogitsProcessor(_constraint()),
    "Message": lambda: wb.Message(role="user", content="hi"),
    "ModelError": lambda: wb.ModelError("no model"),
    "Notation": lambda: wb.Notation.KBNF,
    "OpportunisticMasking": wb.OpportunisticMasking,
    "ParseError": _source_error(wb.ParseError),
    "Reason": lambda: None,
    "Reasoning": lambda: wb.Reasoning(_constraint(), "<", ">"),
    "Sampling": wb.Sampling,
    "Speculation": lambda: wb.Speculation(wb.CountProposer()),
    "Step": lambda: _trace().steps[0],
    "StopReason": lambda: wb.StopReason.ACCEPTED,
    "Template": wb.Template,
    "TokenMask": lambda: _constraint().mask(_constraint().initial),
    "TokenNotAllowed": lambda: wb.TokenNotAllowed("no"),
    "Trace": _trace,
    "TransformersModel": lambda: wb.TransformersModel("builtin"),
    "Verdict": lambda: _grammar().check("x"),
    "Vocabulary": all_bytes,
    "VocabularyError": lambda: wb.VocabularyError("no"),
    "WithinBudget": lambda: wb.WithinBudget(_constraint(), 9),
    "WorkbenchError": lambda: wb.WorkbenchError("no", "a hint"),
}
