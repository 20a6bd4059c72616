"""parse_kbnf() against the recorded behaviour of the KBNF engine (specification, section 11)."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from workbench.base.errors import ParseError
from workbench.base.source import Source
from workbench.syntax.kbnf.kbnf_parser import parse_kbnf

DATA = Path(__file__).parents[1] / "data"
CASES: list[dict[str, Any]] = json.loads(
    gzip.decompress((DATA / "kbnf_cases.json.gz").read_bytes())
)
GRAMMARS: dict[str, dict[str, Any]] = json.loads(
    gzip.decompress((DATA / "grammar_cases.json.gz").read_bytes())
)
#: The categories that the parser reports; the others are reported by ``pushdown.checks``.
IN_THE_TEXT = {"syntax", "bad_escape", "bad_regex", "unsupported_regex"}
#: The engine refuses assertions; they are compiled here.
ASSERTIONS = {"err_regex_unicode_non_boundary", "err_regex_lookahead"}
MISTAKEN = [c for c in CASES if c["error"] in IN_THE_TEXT and c["name"] not in ASSERTIONS]
READABLE = [
    case for case in CASES if case not in MISTAKEN and case["grammar"]
]  # the empty text is an undefined start in the engine, and a ParseError of that kind here


def test_the_cases_are_all_there() -> None:
    assert (len(CASES), len(MISTAKEN), len(GRAMMARS)) == (76, 7, 22)


@pytest.mark.parametrize("case", MISTAKEN, ids=lambda case: case["name"])
def test_error_category(case: dict[str, Any]) -> None:
    with pytest.raises(ParseError) as caught:
        parse_kbnf(Source(case["grammar"], "grammar"))
    assert caught.value.kind in case["error_accept"], case["tags"]
    assert caught.value.hint


@pytest.mark.parametrize("case", READABLE, ids=lambda case: case["name"])
def test_recorded_grammars_are_read_with_their_rules(case: dict[str, Any]) -> None:
    tree = parse_kbnf(Source(case["grammar"], "grammar"))
    assert tree.rules
    assert all(
        tree.source.text[rule.name_span.start : rule.name_span.end] == rule.name
        for rule in tree.rules
    )


def test_error_for_the_empty_text() -> None:
    with pytest.raises(ParseError) as caught:
        parse_kbnf(Source("", "grammar"))
    assert caught.value.kind == "undefined_nonterminal"


@pytest.mark.parametrize("name", GRAMMARS)
def test_reads_the_shared_grammars(name: str) -> None:
    case = GRAMMARS[name]
    tree = parse_kbnf(Source(case["kbnf"], name))
    assert case["start"] in {rule.name for rule in tree.rules}
