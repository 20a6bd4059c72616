"""Grammar against the shared grammars: what they accept, where they die, all small texts."""

from __future__ import annotations

import gzip
import json
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from workbench.errors import BuildError
from workbench.grammar import Grammar

DATA = Path(__file__).parent / "data" / "grammar_cases.json.gz"
CASES: dict[str, dict[str, Any]] = json.loads(gzip.decompress(DATA.read_bytes()))
DECODABLE = [name for name, case in CASES.items() if not case["left_recursive"]]
LEFT_RECURSIVE = [name for name, case in CASES.items() if case["left_recursive"]]
EXHAUSTIVE = [name for name in DECODABLE if "exhaustive" in CASES[name]]


@cache
def grammar(name: str) -> Grammar:
    return Grammar.from_kbnf(CASES[name]["kbnf"], start=CASES[name]["start"])


def test_the_cases_are_all_there() -> None:
    assert (len(DECODABLE), len(LEFT_RECURSIVE), len(EXHAUSTIVE)) == (20, 2, 10)


@pytest.mark.parametrize("name", DECODABLE)
def test_accepts(name: str) -> None:
    machine = grammar(name)
    refused = [text for text in CASES[name]["accept"] if not machine.accepts(text)]
    assert refused == []
    assert all(machine.is_prefix(text) for text in CASES[name]["accept"])


@pytest.mark.parametrize("name", DECODABLE)
def test_rejects(name: str) -> None:
    machine = grammar(name)
    taken = [row["text"] for row in CASES[name]["reject"] if machine.accepts(row["text"])]
    assert taken == []


@pytest.mark.parametrize("name", DECODABLE)
def test_dies_at_the_first_character_nothing_can_follow(name: str) -> None:
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


@pytest.mark.parametrize("name", LEFT_RECURSIVE)
def test_error_for_left_recursion(name: str) -> None:
    with pytest.raises(BuildError) as caught:
        grammar(name)
    assert caught.value.kind == "left_recursion"
    assert caught.value.hint
