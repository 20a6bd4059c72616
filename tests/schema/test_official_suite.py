"""The JSON Schema Test Suite, drafts 7 and 2020-12: what compiles, and which instances are accepted.

``tests/data/json_schema_test_suite.json.gz`` holds its groups and its remote documents (MIT, Julian
Berman; the licence is in the file) and the metaschemas of the specification. Each group that does
not compile and each instance that is judged otherwise is named below with its reason; the tests
fail if one of them changes.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from workbench.audits.instances import spellings
from workbench.base.errors import BuildError, LimitError
from workbench.base.limits import LIMITS
from workbench.grammar.grammar import Grammar

DATA = Path(__file__).parents[1] / "data" / "json_schema_test_suite.json.gz"
#: The machine that runs the tests may be busy.
UNHURRIED = replace(LIMITS, seconds=60.0)
DRAFT_7 = "http://json-schema.org/draft-07/schema#"

UNIQUE = "items of any type, and no automaton stores all items that it has read"
LARGE = "an automaton of the multiples of 123456789 has as many states"
IDN = "which letters a host name may combine is decided by tables of Unicode"
#: Groups that do not compile: their names after the draft, and why.
REFUSED = {
    **{f"{draft}/{name}": why for draft in ("draft2020-12", "draft7") for name, why in (
        ("uniqueItems#0", UNIQUE),
        ("uniqueItems#1", UNIQUE),
        ("multipleOf#3", LARGE),
        ("optional/format/idn-email#0", IDN),
        ("optional/format/idn-hostname#0", IDN),
        ("optional/format/idn-hostname#1", IDN),
    )},
}  # fmt: skip

WHOLE = "an integer is written without a fraction"
COMPATIBLE = "'dependencies' is not a keyword of this draft"
CONTENT = "'contentEncoding' and 'contentMediaType' are annotations"
EXPONENT = "an integer is written without an exponent"
NARROWED = "the automaton of the format accepts fewer texts; see NARROWED_FORMATS"
#: Instances that are judged otherwise: groups, numbers of their tests, why.
JUDGED_OTHERWISE = {
    **{f"{draft}/{name}": (tests, why) for draft in ("draft2020-12", "draft7")
       for name, tests, why in (
        ("type#0", {1}, WHOLE),
        ("optional/float-overflow#0", {0}, EXPONENT),
        ("optional/format/ecmascript-regex#3", {0, 1}, NARROWED),
        ("optional/format/ecmascript-regex#4", {0}, NARROWED),
        ("optional/format/ecmascript-regex#5", {0, 1, 2}, NARROWED),
        ("optional/format/hostname#1",
         {1, 6, 7, 14, 17, 20, 23, 26, 27, 28, 30, 31, 34, 35, 36}, NARROWED),
    )},
    "draft2020-12/optional/dependencies-compatibility#0": ({3}, COMPATIBLE),
    "draft2020-12/optional/dependencies-compatibility#2": ({3, 4, 5}, COMPATIBLE),
    "draft2020-12/optional/dependencies-compatibility#3": ({2, 3}, COMPATIBLE),
    "draft2020-12/optional/dependencies-compatibility#4": ({2, 3, 4}, COMPATIBLE),
    "draft2020-12/optional/dependencies-compatibility#5": ({1, 2}, COMPATIBLE),
    "draft2020-12/optional/dependencies-compatibility#6": ({1, 2, 3}, COMPATIBLE),
    "draft7/optional/content#0": ({1}, CONTENT),
    "draft7/optional/content#1": ({1}, CONTENT),
    "draft7/optional/content#2": ({1, 2}, CONTENT),
}  # fmt: skip


@dataclass
class Findings:
    """The results of the required or the optional groups."""

    groups: int = 0
    compiled: int = 0
    #: Groups that are reported to have no instance; all of their tests are invalid.
    empty: int = 0
    valid: int = 0
    accepted: int = 0
    invalid: int = 0
    wrongly_accepted: int = 0
    refused: set[str] = field(default_factory=set)
    otherwise: dict[str, set[int]] = field(default_factory=dict)


@cache
def suite() -> dict[str, Any]:
    with gzip.open(DATA, "rt", encoding="utf-8") as file:
        read: dict[str, Any] = json.load(file)
    return read


def groups(optional: bool) -> Iterator[tuple[dict[str, Any], Any]]:
    """The groups with their schemas; those of draft 7 name the draft."""
    for group in suite()["groups"]:
        schema = group["schema"]
        if isinstance(schema, dict) and group["draft"] == "draft7":
            schema = {"$schema": DRAFT_7, **schema}
        if group["optional"] == optional:
            yield group, schema


@cache
def findings(optional: bool) -> Findings:
    found = Findings()
    for group, schema in groups(optional):
        name = group["id"]
        found.groups += 1
        # the groups of format.json say that it is an annotation, others that it is asserted
        meaning = "annotation" if "/format#" in name else "assert"
        try:
            grammar = Grammar.from_json_schema(
                schema, format=meaning, documents=suite()["documents"], limits=UNHURRIED
            )
        except (BuildError, LimitError) as error:
            is_empty = isinstance(error, BuildError) and error.kind == "empty_grammar"
            if is_empty and not any(test["valid"] for test in group["tests"]):
                found.empty += 1
            else:
                found.refused.add(name)
            continue
        found.compiled += 1
        for number, test in enumerate(group["tests"]):
            spelled = spellings(schema, test["data"])
            texts = {text for how, text in spelled.items() if how.startswith("declared")}
            if not test["valid"]:
                texts |= set(spelled.values())
            answers = [grammar.accepts(text) for text in texts]
            if test["valid"]:
                found.valid += 1
                found.accepted += all(answers)
            else:
                found.invalid += 1
                found.wrongly_accepted += any(answers)
            if set(answers) != {test["valid"]}:
                found.otherwise.setdefault(name, set()).add(number)
    return found


pytestmark = pytest.mark.slow


@pytest.mark.parametrize("optional", [False, True], ids=["required", "optional"])
def test_every_exclusion_is_named(optional: bool) -> None:
    found = findings(optional)
    assert found.refused == {name for name in REFUSED if ("/optional/" in name) == optional}
    assert found.otherwise == {
        name: tests
        for name, (tests, _) in JUDGED_OTHERWISE.items()
        if ("/optional/" in name) == optional
    }


def test_figures_of_the_required_groups() -> None:
    found = findings(False)
    assert (found.groups, found.compiled, found.empty) == (640, 613, 21)
    assert (found.valid, found.accepted) == (1273, 1271)
    assert (found.invalid, found.wrongly_accepted) == (805, 0)
    assert found.compiled + found.empty >= 0.98 * found.groups
    assert found.accepted >= 0.995 * found.valid


def test_figures_of_the_optional_groups() -> None:
    found = findings(True)
    assert (found.groups, found.compiled, found.empty) == (142, 136, 0)
    reasons = {why for _, why in JUDGED_OTHERWISE.values()}
    assert found.wrongly_accepted == 18, reasons
