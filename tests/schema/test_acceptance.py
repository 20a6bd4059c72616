"""Published schemas with instances: which ones compile, and which instances are accepted.

The rows of the JSON-Schema-Test-Suite (MIT, json-schema-org/JSON-Schema-Test-Suite) lie in
``tests/data``; those of jsonschemabench have no licence and are read from a folder next to the
project if it exists. ``python -m lab bench --schemas FILE`` reports more details.
"""

from __future__ import annotations

import gc
import gzip
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from lab.bench import schema_worker
from workbench.base.errors import BuildError, LimitError, ParseError, WorkbenchError
from workbench.base.limits import LIMITS
from workbench.grammar.grammar import Grammar

SUITE = Path(__file__).parents[1] / "data" / "json_schema_suite.jsonl.gz"
EXTERNAL = Path(__file__).parents[3] / "shared" / "cases" / "jsonschema.jsonl"

#: Rows whose valid instances are not counted, and why.
NOT_REGULAR = {
    "js-1451": "no automaton decides which labels after 'xn--' are Punycode of letters that IDNA permits"
}

#: The machine that runs the tests may be busy.
UNHURRIED = replace(LIMITS, seconds=60.0)

Row = dict[str, Any]


@dataclass
class Findings:
    """The results of many rows, with the ids and numbers of the failed tests."""

    rows: int = 0
    #: With those that are rightly reported to have no instance.
    compiled: int = 0
    valid: int = 0
    unnamed: list[str] = field(default_factory=list)
    #: Valid instances, in declared order, that are not accepted in some notation.
    missed: list[str] = field(default_factory=list)
    #: Invalid instances that are accepted in some notation.
    wrongly_accepted: list[str] = field(default_factory=list)


def suite_rows() -> Iterator[Row]:
    with gzip.open(SUITE, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def other_rows() -> Iterator[Row]:
    if not EXTERNAL.exists():
        pytest.skip(f"the schemas without a licence are missing: no {EXTERNAL}")
    with EXTERNAL.open(encoding="utf-8") as lines:
        yield from (row for row in map(json.loads, lines) if row["suite"] == "jsonschemabench")


def judged(rows: Iterator[Row]) -> Findings:
    found = Findings()
    for row in rows:
        found.rows += 1
        try:
            grammar = Grammar.from_json_schema(row["schema"], limits=UNHURRIED)
        except WorkbenchError as error:
            is_empty = isinstance(error, BuildError) and error.kind == "empty_grammar"
            if is_empty and not any(test["valid"] for test in row["tests"]):
                found.compiled += 1
            if not is_named(error):
                found.unnamed.append(f"{row['id']}: {error.message}")
            continue
        found.compiled += 1
        if row["id"] in NOT_REGULAR:
            row["tests"] = [test for test in row["tests"] if not test["valid"]]
        found.valid += sum(test["valid"] for test in row["tests"])
        _, wrong = schema_worker.judged(grammar.accepts, row)
        for number, spellings in wrong.items():
            if not row["tests"][int(number)]["valid"]:
                found.wrongly_accepted.append(f"{row['id']} test {number}")
            elif any(how.startswith("declared") for how in spellings):
                found.missed.append(f"{row['id']} test {number}")
    return found


def is_named(error: WorkbenchError) -> bool:
    """Whether an error has a span in the schema or names an exceeded limit."""
    if isinstance(error, BuildError | ParseError):
        return error.span.end > error.span.start
    return isinstance(error, LimitError)


@cache
def suite() -> Findings:
    return judged(suite_rows())


@cache
def others() -> Findings:
    return judged(other_rows())


@pytest.mark.parametrize("schema", ["{}", '{"type": 5}'])
def test_garbage_collection_is_enabled_again(schema: str) -> None:
    with suppress(WorkbenchError):
        Grammar.from_json_schema(schema)
    assert gc.isenabled()


@pytest.mark.parametrize("findings", [suite, others])
class TestAcceptance:
    @pytest.mark.slow
    def test_no_invalid_instance_is_accepted(self, findings: Callable[[], Findings]) -> None:
        assert not findings().wrongly_accepted

    def test_valid_instances_are_accepted(self, findings: Callable[[], Findings]) -> None:
        found = findings()
        assert len(found.missed) <= 0.005 * found.valid, found.missed

    def test_most_schemas_compile(self, findings: Callable[[], Findings]) -> None:
        found = findings()
        assert found.compiled >= 0.99 * found.rows

    def test_errors_have_a_location(self, findings: Callable[[], Findings]) -> None:
        assert not findings().unnamed
