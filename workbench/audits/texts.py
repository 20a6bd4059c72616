"""The texts of an audit, and what judges say where an engine and this library differ."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

from workbench.analysis.random_texts import near_misses, samples
from workbench.audits.findings import Kind
from workbench.audits.judge import (
    GrammarJudge,
    SchemaJudge,
    json_value,
    mutants,
    narrower_by,
    plain_numbers,
    usual_text,
    validator_name,
    wider_by,
    with_implied_types,
)
from workbench.base.cached_property import cached_property
from workbench.base.errors import LimitError, WorkbenchError
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation

#: A JSON value.
Json = Any

#: About the most characters of a sample.
_MAX_SAMPLE = 80

_Accepts = Callable[[Sequence[str]], list[bool]]


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """A constraint to audit with; for a schema perhaps instances and values that are none."""

    name: str
    grammar: Grammar
    instances: tuple[Json, ...] = ()
    invalid: tuple[Json, ...] = ()


@dataclass(frozen=True, slots=True)
class Opinion:
    """What the judges say about a text on which an engine and this library differ."""

    #: None: a difference of interpretation (``policy``), or no judgement.
    kind: Kind | None = None
    policy: str = ""
    evidence: str = ""
    #: JSON pointer of the keyword that the text violates.
    place: str = ""


#: No judgement.
_NONE = Opinion()


class Texts(Protocol):
    """Texts of a language, and opinions about differences."""

    #: Valid texts, and invalid ones near to them; both judged independently.
    valid: list[str]
    invalid: list[str]
    #: Texts about which this library and the judge disagree, with the judge's opinion.
    doubtful: list[tuple[str, Opinion]]

    def draw(self, count: int, seed: int) -> None:
        """Find texts, about ``count`` valid ones."""

    def refused(self, text: str, accepts: _Accepts) -> Opinion:
        """About a valid text that an engine refuses; ``accepts`` asks the engine."""

    def accepted(self, text: str) -> Opinion:
        """About a text that an engine accepts and this library does not."""


def texts_of(subject: Subject, count: int, seed: int) -> Texts:
    """The texts of a subject.

    Raises: WorkbenchError where they cannot be judged.
    """
    texts = judge_of(subject)
    texts.draw(count, seed)
    return texts


def judge_of(subject: Subject) -> SchemaTexts | GrammarTexts:
    """The judge of a subject, without texts.

    Raises: WorkbenchError where the texts cannot be judged.
    """
    schema = subject.grammar.notation is Notation.JSON_SCHEMA
    return SchemaTexts(subject) if schema else GrammarTexts(subject)


class SchemaTexts:
    """Instances of a schema as ``json.dumps`` writes them, and values that are none."""

    def __init__(self, subject: Subject) -> None:
        self._subject, self._grammar = subject, subject.grammar
        self._text = subject.grammar.source.text
        self._schema = json.loads(self._text)
        self._judge = SchemaJudge(self._schema)
        self.valid: list[str] = []
        self.invalid: list[str] = []
        self.doubtful: list[tuple[str, Opinion]] = []

    def draw(self, count: int, seed: int) -> None:
        """Find texts: from the instances given, samples of the exact machine, and mutants."""
        subject = self._subject
        values = [*subject.instances[:count], *self._sample(max(2, count // 2), seed)]
        for value in values:
            self._sort(value)
        for value in subject.invalid[:count]:
            self._sort(value, valid=False)
        random = Random(seed)
        for value in values[:count]:
            for changed in mutants(plain_numbers(value), random, 4):
                self._sort(changed)

    @cached_property
    def _other_readings(self) -> dict[str, Grammar]:
        """The schema with ``format`` as an annotation, and with properties in any order."""
        grammars: dict[str, Grammar] = {}
        for policy, order, formats in (
            ("format", "declared", "annotation"),
            ("property order", "any", "assert"),
        ):
            try:
                grammars[policy] = Grammar.from_json_schema(
                    self._text, limits=self._grammar.limits.begun(), order=order, format=formats
                )
            except WorkbenchError:
                continue
        return grammars

    def _policy_of(self, text: str) -> str:
        """The other reading under which this library accepts a text; or empty."""
        for policy, grammar in self._other_readings.items():
            try:
                if grammar.accepts(text):
                    return policy
            except LimitError:
                continue
        return ""

    @cached_property
    def _typed(self) -> SchemaJudge:
        return SchemaJudge(with_implied_types(self._schema))

    def _sample(self, count: int, seed: int) -> Iterator[Json]:
        """Values of texts that the exact machine samples."""
        try:
            grammar = Grammar.from_json_schema(
                self._text, whitespace="one space", limits=self._grammar.limits
            )
        except WorkbenchError:
            return
        for text in samples(grammar, count, seed=seed, longest=_MAX_SAMPLE):
            try:
                yield json_value(text)
            except ValueError:
                continue

    def _sort(self, value: Json, valid: bool | None = None) -> None:
        """Put the text of a value where it belongs; texts that cannot be written are left out."""
        try:
            text = usual_text(self._schema, value)
            text.encode()
            json.dumps(value, allow_nan=False)
        except ValueError:  # a lone surrogate, or no finite number
            return
        judged = self._judge.judged(value)
        if judged.by_format or text in (*self.valid, *self.invalid):
            return
        if valid is False and judged.valid:
            return  # invalid for a reason that the validator does not check
        ours = self._accepts(text)
        if ours is judged.valid:
            (self.valid if ours else self.invalid).append(text)
        elif ours is False and not self._policy_of(text):
            evidence = f"{validator_name()} accepts it"
            self.doubtful.append((text, Opinion(Kind.OURS, evidence=evidence)))
        elif ours:
            evidence = f"{validator_name()} refuses it: {judged.error}"
            self.doubtful.append(
                (text, Opinion(Kind.OURS, evidence=evidence, place=judged.pointer))
            )

    def _accepts(self, text: str) -> bool | None:
        try:
            return self._grammar.accepts(text)
        except LimitError:
            return None

    def refused(self, text: str, accepts: _Accepts) -> Opinion:
        policy = narrower_by(self._schema, json.loads(text), accepts)
        if policy:
            return Opinion(policy=f"narrower by policy: {policy}")
        value = json.loads(text)
        if not self._judge.judged(value).valid:
            return _NONE
        if not self._typed.judged(value).valid:
            return Opinion(policy="narrower by policy: implied types")
        return Opinion(Kind.OVER, evidence=f"{validator_name()} accepts the text")

    def accepted(self, text: str) -> Opinion:
        try:
            policy = wider_by(self._schema, text, self._grammar.accepts)
        except ValueError as error:
            return Opinion(Kind.UNDER, evidence=f"the text is no JSON: {error}")
        if policy:
            return Opinion(policy=f"wider by policy: {policy}")
        judged = self._judge.judged(json_value(text))
        if judged.by_format:
            return Opinion(policy="wider by policy: format")
        if judged.valid:
            if policy := self._policy_of(text):
                return Opinion(policy=f"wider by policy: {policy}")
            return Opinion(Kind.OURS, evidence=f"{validator_name()} accepts it")
        evidence = f"{validator_name()} refuses the text: {judged.error}"
        return Opinion(Kind.UNDER, evidence=evidence, place=judged.pointer)


class GrammarTexts:
    """Samples of a grammar and texts one edit away, both judged by Earley's recogniser."""

    def __init__(self, subject: Subject) -> None:
        self._grammar = subject.grammar
        self._judge = GrammarJudge(subject.grammar)
        self.valid: list[str] = []
        self.invalid: list[str] = []
        self.doubtful: list[tuple[str, Opinion]] = []

    def draw(self, count: int, seed: int) -> None:
        """Find texts: samples, and those one edit away."""
        drawn = samples(self._grammar, count, seed=seed, longest=_MAX_SAMPLE)
        near = near_misses(self._grammar, 2 * count, seed=seed, longest=_MAX_SAMPLE)
        for expected, texts in ((True, drawn), (False, [text for text, _ in near])):
            for text in texts:
                judged = self._judge.accepts(text)
                if judged is expected:
                    (self.valid if expected else self.invalid).append(text)
                elif judged is not None:
                    verb = "accepts" if judged else "refuses"
                    opinion = Opinion(Kind.OURS, evidence=f"Earley's recogniser {verb} it")
                    self.doubtful.append((text, opinion))

    def refused(self, text: str, accepts: _Accepts) -> Opinion:
        if self._judge.accepts(text):
            return Opinion(Kind.OVER, evidence="Earley's recogniser accepts the text too")
        return _NONE

    def accepted(self, text: str) -> Opinion:
        match self._judge.accepts(text):
            case True:
                return Opinion(Kind.OURS, evidence="Earley's recogniser accepts it")
            case False:
                return Opinion(Kind.UNDER, evidence="Earley's recogniser refuses the text too")
        return _NONE
