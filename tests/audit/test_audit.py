"""Every kind of finding, on an engine whose mistakes are known."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lab.bench.peers.ours import Ours
from tests.audit.wrong_engine import LACKING, WRONG, Wrong
from workbench.audits.auditor import Auditor, Settings
from workbench.audits.engine_process import LocalEngine
from workbench.audits.findings import Audit, Kind, Level, Status
from workbench.audits.judge import narrower_by
from workbench.audits.texts import Subject
from workbench.base.errors import WorkbenchError
from workbench.engines.peer import Peer
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.vocabulary import Vocabulary

pytest.importorskip("jsonschema")

_BYTES = [bytes((byte,)) for byte in range(256)]
VOCABULARY = Vocabulary([*_BYTES, b'{"', b'": ', b'", "', LACKING, None], end=260, name="audited")


def audited(
    grammar: Grammar, *instances: Any, peer: type[Peer] = Wrong, shorten: float = 5.0
) -> Audit:
    subject = Subject("subject", grammar, instances)
    auditor = Auditor(
        subject, VOCABULARY, Settings(texts=4, seconds=120.0, shorten_seconds=shorten)
    )
    return auditor.audit(WRONG, "1", LocalEngine(peer(VOCABULARY)))


def schema(**keywords: Any) -> Grammar:
    return Grammar.from_json_schema(json.dumps({"$comment": "", **keywords}))


POINT = {"x": {"type": "integer", "maximum": 90}, "name": {"type": "string"}}
PLAIN = {"x": {"type": "integer"}, "name": {"type": "string"}}


def test_the_exact_engine_has_no_finding() -> None:
    found = audited(schema(type="object", properties=PLAIN), {"x": 7, "name": "a"}, peer=Ours)
    assert found.status is Status.AUDITED
    assert (found.findings, found.policies, found.different) == ((), (), 0)
    assert found.texts > 2
    assert found.mutants > 1
    assert found.masks > 40


def test_under_constraining() -> None:
    grammar = schema(type="object", properties=POINT, required=["x"], additionalProperties=False)
    found = audited(grammar, {"x": 90, "name": "a"})
    (one,) = found.claims
    assert one.kind is Kind.UNDER
    assert one.level is Level.TEXT
    assert one.place == "/properties/x/maximum"
    assert "greater than the maximum of 90" in one.evidence
    assert not grammar.is_prefix(one.so_far + (one.token or ""))
    assert grammar.is_prefix(one.so_far)
    made = one.reproduction
    assert made is not None
    assert made.confirmed
    assert made.printed == "allowed"
    assert json.loads(made.constraint) == {"maximum": 9}  # numbers get smaller too
    assert json.loads(made.text) > 9
    assert "should print: forbidden" in made.program


def test_over_constraining() -> None:
    grammar = schema(type="object", properties={"t": {"type": "number"}}, required=["t"])
    found = audited(grammar, {"t": -7, "name": "a"})
    one = found.found(Kind.OVER)
    assert one is not None
    assert (one.so_far[-6:], one.token) == ('"t": -', "7")  # -0 is allowed
    assert one.place == "/properties/t"
    assert "accepts the text" in one.evidence
    made = one.reproduction
    assert made is not None
    assert json.loads(made.constraint) == {"type": "number"}
    assert (made.so_far, made.printed, made.confirmed) == ("-", "forbidden", True)


def test_masks_that_lack_a_token_of_their_language() -> None:
    grammar = schema(**{"$comment": "no token"}, type="boolean")
    (one,) = audited(grammar, True).claims
    assert (one.kind, one.level, one.so_far, one.token) == (Kind.OVER, Level.TOKEN, "", "true")
    made = one.reproduction
    assert made is not None
    assert made.confirmed
    assert "tokens.index(b'true')" in made.program


@pytest.mark.parametrize(
    ("comment", "properties", "instance", "policy"),
    [
        ("compact", PLAIN, {"x": 1, "name": "a"}, "narrower by policy: white space"),
        ("closed", PLAIN, {"x": 1, "other": 2}, "narrower by policy: undeclared properties"),
        ("any order", PLAIN, {"other": 0}, "wider by policy: property order"),
        ("no formats", {"x": {"type": "string", "format": "date"}}, {"x": "2020-01-01"}, "wider by policy: format"),
    ],
)  # fmt: skip
def test_differences_of_interpretation_are_no_findings(
    comment: str, properties: Any, instance: Any, policy: str
) -> None:
    found = audited(schema(**{"$comment": comment}, type="object", properties=properties), instance)
    assert found.claims == ()
    assert policy in [one.name for one in found.policies]


@pytest.mark.parametrize(
    ("keywords", "value", "only"),
    [
        ({"const": {"foo": 1, "baz": 2}}, {"baz": 2, "foo": 1}, '{"foo":1,"baz":2}'),
        ({"required": ["b"]}, {"a": 1, "b": 2}, '{"b": 2, "a": 1}'),
        ({"properties": {"a": {}}, "required": ["c"]}, {"b": 1, "c": 2, "a": 3}, '{"a": 3, "c": 2, "b": 1}'),
        ({}, {"a": 1, "b": {"c": 2, "d": "\x7f"}}, '{"b": {"d": "\\u007f", "c": 2}, "a": 1}'),
    ],
)  # fmt: skip
def test_an_engine_that_reads_one_order_is_narrower_by_the_order(
    keywords: Any, value: Any, only: str
) -> None:
    assert (
        narrower_by(keywords, value, lambda texts: [t == only for t in texts]) == "property order"
    )
    assert narrower_by(keywords, value, lambda texts: [False] * len(texts)) == ""


def test_implied_types_are_no_finding() -> None:
    found = audited(schema(**{"$comment": "objects"}, properties={"a": {}}), {"a": 1}, "text")
    assert found.claims == ()
    assert "narrower by policy: implied types" in [one.name for one in found.policies]


def test_a_refused_schema_has_the_reason() -> None:
    found = audited(schema(**{"$comment": "refuse"}, type="object"))
    assert found.status is Status.REFUSED
    assert "not supported" in found.reason


def test_a_notation_the_engine_does_not_read() -> None:
    found = audited(Grammar.from_kbnf("start ::= 'a' start 'b' | 'c';"))
    assert found.status is Status.NOT_READ


def test_regexes_are_judged_by_earley() -> None:
    found = audited(Grammar.from_regex("(a|b|x){4}cdy"))
    kinds = {one.kind: one for one in found.claims}
    assert set(kinds) == {Kind.OVER, Kind.UNDER}
    assert kinds[Kind.OVER].token == "x"
    assert kinds[Kind.OVER].place.startswith("line 1, column ")
    assert kinds[Kind.UNDER].token is None
    for one in kinds.values():
        made = one.reproduction
        assert made is not None
        assert made.confirmed
        assert len(made.constraint) < len("(a|b|x){4}cdy")


def test_a_mistake_of_this_library_is_none_of_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    grammar = schema(type="object", properties=POINT)
    monkeypatch.setattr(
        "workbench.audits.judge.SchemaJudge.judged",
        lambda judge, value: __import__("workbench.audits.judge", fromlist=["Judged"]).Judged(False, "no", "/x"),
    )  # fmt: skip
    found = audited(grammar, {"x": 1}, peer=Ours)
    assert found.claims == ()
    (one,) = found.findings
    assert one.kind is Kind.OURS
    assert "refuses it: no" in one.evidence


def test_error_labels_read_whole_tokens() -> None:
    with pytest.raises(WorkbenchError, match="no other engine has TEXT_TOKEN"):
        audited(Grammar.from_regex("(?P<TEXT_TOKEN>)"))


def test_records_are_read_back() -> None:
    found = audited(schema(type="number", maximum=3), 1.5, -2, shorten=0.5)
    assert found.claims
    assert Audit.of_record(json.loads(json.dumps(found.as_record()))) == found
