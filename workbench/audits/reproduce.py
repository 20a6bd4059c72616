"""The shortest reproduction of a finding: every part that can be left out is left out."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from workbench.audits.engine_process import MaskEngine
from workbench.audits.engines import AuditedEngine, case_of, program
from workbench.audits.findings import Finding, Kind, Level, Reproduction
from workbench.audits.judge import usual_text
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
        short = shrunk(schema, smaller_values, lambda one: test(json.dumps(one), whole), ends)
        return json.dumps(short), whole

    def holds(pair: tuple[Any, Any]) -> bool:
        return test(json.dumps(pair[0]), usual_text(*pair))

    if holds((schema, value)):
        schema, value = shrunk((schema, value), smaller_pairs, holds, ends)
        return json.dumps(schema, ensure_ascii=False), usual_text(schema, value)
    short = shrunk(schema, smaller_values, lambda one: test(json.dumps(one), whole), ends)
    return json.dumps(short, ensure_ascii=False), whole


def _shorter_grammar(test: _Test, text: str, whole: str, ends: float) -> tuple[str, str]:
    """The text first, in half of the time, then the grammar."""
    half = time.monotonic() + (ends - time.monotonic()) / 2
    whole = shrunk(whole, smaller_texts, lambda one: test(text, one), half)
    return shrunk(text, smaller_texts, lambda one: test(one, whole), ends), whole


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
        at = answers.refused_at(text)
    else:
        failed = grammar.check(text).byte
        at = len(data) if failed is None else failed
    return pieces[:at], pieces[at] if at < len(data) else None


def _comment(finding: Finding, engine: AuditedEngine, text: str) -> str:
    short = text if len(text) < 200 else f"{text[:200]}…"
    if finding.kind is Kind.OVER:
        says = f"should print: allowed. {finding.evidence}: {short!r}"
    else:
        says = f"should print: forbidden. {finding.evidence}; it is {short!r}"
    return says.replace("\n", " ")


# -- shortening -----------------------------------------------------------------------------------
# Source: delta debugging (Zeller & Hildebrandt 2002); JSON is shortened by its tree, as in
# hierarchical delta debugging (Misherghi & Su 2006).


T = TypeVar("T")

#: A JSON value.
Json = Any

#: Keywords under which other parts of a schema may be referred to.
_DEFINITIONS = "$defs", "definitions", "$schema"


def shrunk(
    value: T,
    smaller: Callable[[T], Iterator[T]],
    holds: Callable[[T], bool],
    ends: float,
) -> T:
    """The value after replacing it by a smaller one as long as the property holds.

    ``smaller``  smaller values, those that leave out most first.
    ``ends``     the time (``time.monotonic``) after which nothing is tried.
    """
    found = True
    while found:
        found = False
        for one in smaller(value):
            if time.monotonic() > ends:
                return value
            if holds(one):
                value, found = one, True
                break
    return value


def smaller_texts(text: str) -> Iterator[str]:
    """A text without one of its parts: first halves, at last characters."""
    size = len(text) // 2
    while size:
        for begin in range(0, len(text), size):
            yield text[:begin] + text[begin + size :]
        size //= 2


#: Keywords without an effect on what is valid.
_ANNOTATIONS = {"description", "title", "default", "examples", "$comment", "$id", "$schema"}


def without_annotations(schema: Json) -> Json:
    """The schema without annotations that are no properties: their values are no schemas."""
    if isinstance(schema, dict):
        return {
            name: without_annotations(each)
            for name, each in schema.items()
            if name not in _ANNOTATIONS or isinstance(each, dict)
        }
    return [without_annotations(each) for each in schema] if isinstance(schema, list) else schema


def smaller_pairs(pair: tuple[Json, Json]) -> Iterator[tuple[Json, Json]]:
    """A schema and a value of which one is smaller, or both are replaced by one of their parts."""
    schema, value = pair
    bare = without_annotations(schema)
    if bare != schema:
        yield bare, value
    yield from _parts(schema, value)
    for one in smaller_values(schema):
        yield one, value
    for other in smaller_values(value):
        yield schema, other


def _parts(schema: Json, value: Json) -> Iterator[tuple[Json, Json]]:
    """Members and items of the value with the schemas that name them, and choices of the schema."""
    if not isinstance(schema, dict):
        return
    shared = {name: schema[name] for name in _DEFINITIONS if name in schema}

    def inner(part: Json) -> Json:
        return {**shared, **part} if isinstance(part, dict) else part

    properties, items = schema.get("properties"), schema.get("items")
    if isinstance(value, dict) and isinstance(properties, dict):
        for name, part in properties.items():
            if name in value:
                yield inner(part), value[name]
    if isinstance(value, list) and isinstance(items, dict):
        for item in value:
            yield inner(items), item
    for keyword in ("anyOf", "oneOf", "allOf"):
        for part in schema.get(keyword) or () if isinstance(schema.get(keyword), list) else ():
            yield inner(part), value


def smaller_values(value: Json) -> Iterator[Json]:
    """A JSON value without one of its parts, outer parts first."""
    if isinstance(value, dict):
        names = [*value]
        if len(names) > 3:
            for half in (names[: len(names) // 2], names[len(names) // 2 :]):
                yield {name: value[name] for name in half}
        for name in value:
            yield {other: each for other, each in value.items() if other != name}
        for name, each in value.items():
            for less in smaller_values(each):
                yield {**value, name: less}
    elif isinstance(value, list):
        if len(value) > 3:
            yield value[: len(value) // 2]
            yield value[len(value) // 2 :]
        for i in range(len(value)):
            yield [*value[:i], *value[i + 1 :]]
        for i, each in enumerate(value):
            for less in smaller_values(each):
                yield [*value[:i], less, *value[i + 1 :]]
    elif isinstance(value, str):
        yield from smaller_texts(value)
    elif isinstance(value, int | float) and not isinstance(value, bool) and abs(value) > 9:
        yield int(value / 10)
