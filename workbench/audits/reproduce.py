"""The shortest reproduction of a finding: every part that can be left out is left out."""

from __future__ import annotations

import json
import time
from typing import Any

from workbench.audits.engine_process import MaskEngine
from workbench.audits.engines import AuditedEngine, case_of, program
from workbench.audits.findings import Finding, Kind, Level, Reproduction
from workbench.audits.judge import usual_text
from workbench.audits.shortening import shrunk, smaller_pairs, smaller_texts, smaller_values
from workbench.audits.texts import Subject, judge_of
from workbench.base.errors import WorkbenchError
from workbench.base.limits import Limits
from workbench.engines.answering import EngineLostError
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation

#: Of each shorter constraint: it is tried and left.
_LIMITS = Limits(seconds=1.0, states=20_000)


def reproduction(
    grammar: Grammar, engine: AuditedEngine, answers: MaskEngine, finding: Finding, ends: float
) -> Reproduction:
    """A finding with a shorter constraint and text, as a program that was run.

    Raises: WorkbenchError, EngineLostError where not even the finding itself can be repeated.
    """
    test = _Test(grammar, answers, finding)
    text, whole = grammar.source.text, finding.text
    if finding.level is Level.TEXT:
        text, whole = (
            _shorter_schema(test, text, whole, ends)
            if grammar.notation is Notation.JSON_SCHEMA
            else _shorter_grammar(test, text, whole, ends)
        )
    short = test.grammar_of(text)
    case = case_of(short)
    if (refusal := answers.compile(case)) is not None:
        raise WorkbenchError(f"the engine refuses the reproduction: {refusal}")
    path, token = _difference(short, answers, finding, whole)
    expected = "forbidden" if finding.kind is Kind.OVER else "allowed"
    written = program(engine, case, path, token, _comment(finding, engine, whole))
    printed = answers.output(written)
    return Reproduction(
        constraint=text,
        text=whole,
        so_far=b"".join(path).decode("utf-8", "backslashreplace"),
        token=None if token is None else token.decode("utf-8", "backslashreplace"),
        program=written,
        printed=printed,
        confirmed=printed == expected,
    )


class _Test:
    """Whether a shorter constraint and text still have the difference."""

    def __init__(self, grammar: Grammar, answers: MaskEngine, finding: Finding) -> None:
        self._grammar, self._answers, self._finding = grammar, answers, finding
        self._compiled: str | None = None

    def grammar_of(self, text: str) -> Grammar:
        """The grammar of a shorter text, in the same notation.

        Raises: ParseError, BuildError, LimitError.
        """
        return Grammar.from_text(
            text, self._grammar.notation, self._grammar.start, limits=_LIMITS.begun()
        )

    def __call__(self, constraint: str, text: str) -> bool:
        try:
            return self._holds(constraint, text)
        except (WorkbenchError, EngineLostError, RecursionError):
            return False

    def _holds(self, constraint: str, text: str) -> bool:
        short = self.grammar_of(constraint)
        wanted = self._finding.kind is Kind.OVER
        if short.accepts(text) is not wanted:
            return False
        if self._compiled != constraint:
            self._compiled = None
            if self._answers.compile(case_of(short)) is not None:
                return False
            self._compiled = constraint
        if self._answers.accepts([text])[0] is wanted:
            return False
        judge = judge_of(Subject("", short))
        opinion = judge.refused(text, self._answers.accepts) if wanted else judge.accepted(text)
        return opinion.kind is self._finding.kind


def _shorter_schema(test: _Test, text: str, whole: str, ends: float) -> tuple[str, str]:
    """The schema without what can be left out, and the value likewise if it is spelled as usual."""
    schema: Any = json.loads(text)
    try:
        value: Any = json.loads(whole)
    except ValueError:
        short = shrunk(
            schema, smaller_values, lambda shorter: test(json.dumps(shorter), whole), ends
        )
        return json.dumps(short), whole

    def holds(pair: tuple[Any, Any]) -> bool:
        return test(json.dumps(pair[0]), usual_text(*pair))

    if holds((schema, value)):
        schema, value = shrunk((schema, value), smaller_pairs, holds, ends)
        return json.dumps(schema, ensure_ascii=False), usual_text(schema, value)
    short = shrunk(schema, smaller_values, lambda shorter: test(json.dumps(shorter), whole), ends)
    return json.dumps(short, ensure_ascii=False), whole


def _shorter_grammar(test: _Test, text: str, whole: str, ends: float) -> tuple[str, str]:
    """The text first, in half of the time, then the grammar."""
    half = time.monotonic() + (ends - time.monotonic()) / 2
    whole = shrunk(whole, smaller_texts, lambda shorter: test(text, shorter), half)
    return shrunk(text, smaller_texts, lambda shorter: test(shorter, whole), ends), whole


def _difference(
    grammar: Grammar, answers: MaskEngine, finding: Finding, text: str
) -> tuple[list[bytes], bytes | None]:
    """The tokens before the difference, and the token: bytes, or the finding's own tokens."""
    if finding.level is Level.TOKEN:
        token = None if finding.token is None else finding.token.encode()
        return [bytes((byte,)) for byte in finding.so_far.encode()], token
    data = text.encode()
    pieces = [bytes((byte,)) for byte in data]
    if finding.kind is Kind.OVER:
        index = answers.refused_at(text)
    else:
        failed = grammar.check(text).byte
        index = len(data) if failed is None else failed
    return pieces[:index], pieces[index] if index < len(data) else None


def _comment(finding: Finding, engine: AuditedEngine, text: str) -> str:
    short = text if len(text) < 200 else f"{text[:200]}…"
    if finding.kind is Kind.OVER:
        says = f"should print: allowed. {finding.evidence}: {short!r}"
    else:
        says = f"should print: forbidden. {finding.evidence}; it is {short!r}"
    return says.replace("\n", " ")
