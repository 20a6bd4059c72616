"""Grammar against the shared grammars: accepted texts, failures, all small texts."""

from __future__ import annotations

import gzip
import json
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from workbench.base.errors import ParseError, SourceError
from workbench.grammar.grammar import Grammar

DATA = Path(__file__).parent / "data"
CASES: dict[str, dict[str, Any]] = json.loads(
    gzip.decompress((DATA / "grammar_cases.json.gz").read_bytes())
)
ENGINE_CASES: list[dict[str, Any]] = json.loads(
    gzip.decompress((DATA / "kbnf_cases.json.gz").read_bytes())
)
DECODABLE = list(CASES)
EXHAUSTIVE = [name for name in DECODABLE if "exhaustive" in CASES[name]]


@cache
def grammar(name: str) -> Grammar:
    return Grammar.from_kbnf(CASES[name]["kbnf"], start=CASES[name]["start"])


def test_the_cases_are_all_there() -> None:
    left_recursive = [name for name in CASES if CASES[name]["left_recursive"]]
    assert (len(CASES), len(left_recursive), len(EXHAUSTIVE)) == (22, 2, 12)
    assert (len(ENGINE_CASES), len(BUILT), len(REFUSED)) == (76, 63, 11)


@pytest.mark.parametrize("name", DECODABLE)
def test_accepted_texts_are_accepted(name: str) -> None:
    machine = grammar(name)
    refused = [text for text in CASES[name]["accept"] if not machine.accepts(text)]
    assert refused == []
    assert all(machine.is_prefix(text) for text in CASES[name]["accept"])


@pytest.mark.parametrize("name", DECODABLE)
def test_rejected_texts_are_rejected(name: str) -> None:
    machine = grammar(name)
    taken = [row["text"] for row in CASES[name]["reject"] if machine.accepts(row["text"])]
    assert taken == []


@pytest.mark.parametrize("name", DECODABLE)
def test_fails_at_the_first_impossible_character(name: str) -> None:
    machine = grammar(name)
    for row in CASES[name]["reject"]:
        text, dead_at = row["text"], row["dead_at"]
        if dead_at is None:
            assert machine.is_prefix(text), text
        else:
            assert machine.is_prefix(text[:dead_at]), text
            assert not machine.is_prefix(text[: dead_at + 1]), text
            assert not machine.is_prefix(text), text


@pytest.mark.parametrize("name", EXHAUSTIVE)
def test_every_small_text(name: str) -> None:
    machine, block = grammar(name), CASES[name]["exhaustive"]
    texts = [
        "".join(letters)
        for length in range(block["max_len"] + 1)
        for letters in product(block["alphabet"], repeat=length)
    ]
    assert len(texts) == block["total_strings"]
    assert [text for text in texts if machine.accepts(text)] == sorted(
        block["accepted"], key=lambda text: (len(text), [block["alphabet"].index(c) for c in text])
    )
    assert sum(machine.is_prefix(text) for text in texts) == block["viable_prefixes"]


BUILT = [case for case in ENGINE_CASES if not case["error"]]
#: The engine refuses assertions; they are compiled here.
ASSERTIONS = {"err_regex_unicode_non_boundary", "err_regex_lookahead"}
#: The categories that the parser reports; the others are reported when the machine is built.
IN_THE_TEXT = {"syntax", "bad_escape", "bad_regex", "unsupported_regex"}
REFUSED = [c for c in ENGINE_CASES if c["error"] and c["name"] not in ASSERTIONS]


@pytest.mark.parametrize("case", BUILT, ids=lambda case: case["name"])
def test_engine_cases(case: dict[str, Any]) -> None:
    """The engine stops at the first match; a grammar may accept the longer text."""
    machine = Grammar.from_kbnf(case["grammar"], start=case["start"])
    assert machine.tree is not None
    for rule in machine.tree.rules:
        assert case["grammar"][rule.name_span.start : rule.name_span.end] == rule.name
    assert [text for text in case["accepts"] if not machine.accepts(text)] == []
    for text, kind in case["reject_kinds"].items():
        if kind == "dead":
            assert not machine.is_prefix(text)
        elif kind == "incomplete" and text:  # the empty text is never a result of the engine
            assert machine.is_prefix(text)
            assert not machine.accepts(text)


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case["name"])
def test_error_category_of_engine_cases(case: dict[str, Any]) -> None:
    with pytest.raises(SourceError) as caught:
        Grammar.from_kbnf(case["grammar"], start=case["start"])
    assert caught.value.kind in case["error_accept"], case["tags"]
    assert caught.value.hint
    in_the_text = case["error"] in IN_THE_TEXT or not case["grammar"]
    assert isinstance(caught.value, ParseError) is in_the_text
