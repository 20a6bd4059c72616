"""``repr`` of every public object is one line that says what it is."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import workbench as wb
from tests.decoding.worlds import TableModel
from workbench.audits.findings import Status
from workbench.base.resources import GRAMMARS
from workbench.base.source import Source, Span
from workbench.constraint.compile import METHODS
from workbench.vocabulary.toy_vocabularies import all_bytes, toy

#: The most characters of a repr: two lines of a terminal.
MOST = 160

LONG = "start ::= 'a' | " + " | ".join(f"'{n:030}'" for n in range(40)) + ";"


def _grammar() -> wb.Grammar:
    return wb.Grammar.from_kbnf(LONG)


def _constraint() -> wb.Constraint:
    return wb.compile(wb.Grammar.from_regex("[a-c]{2,9}|[a-c]+d"), all_bytes())


def _trace() -> wb.Trace:
    generation = _generation()
    list(generation)
    return generation.trace


def _source_error(kind: type[wb.WorkbenchError]) -> Callable[[], object]:
    return lambda: kind("expected a rule", Source(LONG, "grammar"), Span(0, 5))  # type: ignore[call-arg,arg-type]


def _model() -> Any:
    return _Model(all_bytes(), [0.0] * 257)


class _Model(TableModel):
    """A model whose ``repr`` is as short as that of ``TransformersModel``."""

    def __repr__(self) -> str:
        return "Model(257 tokens)"


def _counts() -> wb.CountProposer:
    return wb.CountProposer.learnt(_constraint(), [_trace()])


def _trees() -> wb.ParseTrees:
    return wb.parse_trees(wb.Grammar.from_kbnf("start ::= '(' start ')' | #'[0-9]+';"), "(" * 90)


def _generation() -> wb.Generation:
    constraint = _constraint()
    return wb.generate(_model(), constraint, "x", max_tokens=9)


def _exercise() -> wb.Exercise:
    return wb.Exercise(task="A long task. " * 20, solution=wb.GrammarText(LONG, wb.Notation.KBNF))


MADE: dict[str, Callable[[], object]] = {
    "Advance": lambda: wb.Advance(next(iter(wb.Advance))),
    "Advice": lambda: wb.lint(wb.Grammar.from_kbnf(LONG + " unused ::= 'x';")).advice[0],
    "Asap": wb.Asap,
    "Audit": lambda: wb.Audit(
        name="schema " * 40, engine="xgrammar", version="0.2.8", status=Status.AUDITED, texts=3
    ),
    "Awrs": wb.Awrs,
    "Block": lambda: wb.best_block(_constraint(), [[0.0] * 257] * 40),
    "BlockStep": lambda: wb.BlockStep(0, (1, None), (0,), (1, 2), (1, 1), -0.5),
    "BuildError": _source_error(wb.BuildError),
    "Capability": lambda: wb.Capability.BYTES,
    "Cars": wb.Cars,
    "CountProposer": _counts,
    "CoupledSpeculation": lambda: wb.CoupledSpeculation(_model()),
    "Difference": lambda: wb.equivalent(wb.Grammar.from_regex("[ab]*"), _grammar()),
    "DraftSpeculation": lambda: wb.DraftSpeculation(_model(), counts=_counts()),
    "Drawn": lambda: wb.draw(_grammar(), "rules"),
    "Engine": lambda: wb.Engine(LONG, all_bytes()),
    "Exercise": _exercise,
    "Explanation": lambda: wb.explain(_grammar(), b"00", b"x"),
    "ForcedProposer": wb.ForcedProposer,
    "Generation": _generation,
    "Graded": lambda: _exercise().check("[0-9]", "regex"),
    "Grammar": _grammar,
    "GrammarText": lambda: wb.GrammarText(LONG, wb.Notation.KBNF),
    "Healed": lambda: wb.heal(_model(), "a" * 300, _grammar()),
    "Intersection": lambda: wb.Intersection(_constraint(), _constraint()),
    "JumpForward": wb.JumpForward,
    "LimitError": lambda: wb.LimitError("too many", "states"),
    "Limits": wb.Limits,
    "Lint": lambda: wb.lint(wb.Grammar.from_kbnf(LONG + " unused ::= 'x';")),
    "LogitsProcessor": lambda: wb.LogitsProcessor(_constraint()),
    "Message": lambda: wb.Message(role="user", content="hi"),
    "MixtureModel": lambda: wb.MixtureModel(all_bytes(), {(1, 2): 0.5}),
    "ModelError": lambda: wb.ModelError("no model"),
    "Monitored": lambda: wb.compile(
        wb.Grammar.from_kbnf((GRAMMARS / "typed.kbnf").read_text("utf-8")),
        all_bytes(),
        monitor="types",
    ),
    "Notation": lambda: wb.Notation.KBNF,
    "OpportunisticMasking": wb.OpportunisticMasking,
    "ParseError": _source_error(wb.ParseError),
    "ParseNode": lambda: _trees().first,
    "ParseTrees": _trees,
    "Particles": wb.Particles,
    "Population": lambda: wb.Population((), 0.0, 0, 0),
    "Problem": lambda: wb.problems(f"{LONG} a ::= b;", "kbnf")[0],
    "Reading": lambda: wb.read_text(_model(), _constraint(), [0], "00"),
    "Reason": lambda: wb.label_reason(
        wb.Grammar.from_regex("a(?P<TEXT_TOKEN>)"), toy(["a", "b"]), [0], 1
    ),
    "Reasoning": lambda: wb.Reasoning(_constraint(), "<", ">"),
    "Sampling": wb.Sampling,
    "Shown": lambda: wb.show(_constraint()),
    "Speculation": lambda: wb.Speculation(_counts()),
    "Step": lambda: _trace().steps[0],
    "StopReason": lambda: wb.StopReason.ACCEPTED,
    "Template": lambda: wb.Template.parse("a {gen('x', regex='[0-9]+')} " * 20),
    "TokenMachine": _constraint,
    "TokenMask": lambda: _constraint().mask(_constraint().initial),
    "TokenNotAllowed": lambda: wb.TokenNotAllowed("no"),
    "ToolCall": lambda: wb.ToolCall("weather", {"city": "Paris"}),
    "Trace": _trace,
    "Verdict": lambda: _grammar().check("x"),
    "Vocabulary": all_bytes,
    "VocabularyError": lambda: wb.VocabularyError("no"),
    "Wording": lambda: wb.in_words(_grammar()),
    "WithinBudget": lambda: wb.WithinBudget(_constraint(), 9),
    "WorkbenchError": lambda: wb.WorkbenchError("no", "a hint"),
}

#: Protocols have no instances; the model is loaded in ``tests/decoding``.
LEFT_OUT = {"TransformersModel"}


def test_every_public_class_is_made_here() -> None:
    classes = {name for name in wb.__all__ if inspect.isclass(getattr(wb, name))}
    protocols = {name for name in classes if getattr(getattr(wb, name), "_is_protocol", False)}
    assert classes - protocols - LEFT_OUT == set(MADE)


@pytest.mark.parametrize("name", MADE)
def test_a_repr_is_one_short_line(name: str) -> None:
    value = MADE[name]()
    assert value is not None
    shown = repr(value)
    assert "\n" not in shown
    assert len(shown) <= MOST, shown
    assert " object at 0x" not in shown


@pytest.mark.parametrize("method", METHODS)
def test_a_constraint_of_every_method_names_its_vocabulary(method: str) -> None:
    vocabulary = wb.Vocabulary((b"a", b"b", None), 2, [], name="ab")
    made = wb.compile(wb.Grammar.from_regex("[ab]+"), vocabulary, method)
    assert repr(made) == f"{type(made).__name__}({vocabulary!r})"
