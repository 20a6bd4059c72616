"""Grammar against the recorded grammars of other engines, in all their notations.

Rows are accepted as labelled. Rows with additions of one engine are accepted as labelled or rejected
by name, except for the few where the engines disagree.
"""

from __future__ import annotations

import gzip
import json
from functools import cache
from itertools import islice, product
from pathlib import Path
from typing import Any

import pytest

from workbench.base.errors import SourceError
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation

DATA = Path(__file__).parent / "data"
ROWS: dict[str, dict[str, Any]] = {
    row["id"]: row
    for row in map(
        json.loads,
        gzip.decompress((DATA / "interchange.jsonl.gz").read_bytes()).decode().splitlines(),
    )
}
CASES: dict[str, dict[str, Any]] = json.loads(
    gzip.decompress((DATA / "grammar_cases.json.gz").read_bytes())
)
WRITTEN: dict[str, dict[str, str]] = json.loads(
    gzip.decompress((DATA / "grammar_notations.json.gz").read_bytes())
)

#: The rejected rows, and what the message names.
REFUSED = {
    "ic-0390": "has no text",  # anchors inside a regex, which xgrammar ignores and lark tests
    "ic-0338": "x-guidance",
}
#: Rows that are read differently from their label, with the reason.
OTHERWISE = {
    "ic-0236": ({" // initial\na b"}, "in Lark ignored text may begin a text"),
    "ic-0237": ({" a1c"}, "in Lark ignored text may begin a text"),
    "ic-0342": ({'"\\u00e9"', '"\\uD83D\\uDE00"'}, "llguidance reads no escape in a pattern"),
    "ic-0346": ({'"\\u00e9"'}, "JSON lets every character be escaped, llguidance few"),
    "ic-0393": ({"żółwz"}, "the flag i holds beyond ASCII for Lark and llguidance"),
}
READ = [row for row in ROWS.values() if row["id"] not in REFUSED]
#: The most texts of an exhaustive case.
_TRIED = 1_000


def read(text: str, notation: str, start: str | None) -> Grammar:
    return Grammar.from_text(text, Notation(notation), start or "start")


def test_the_rows_are_all_there() -> None:
    plain = [row for row in ROWS.values() if row["core"]]
    assert (len(ROWS), len(plain)) == (253, 146)
    assert {row["id"] for row in plain if row["id"] in {**REFUSED, **OTHERWISE}} == {"ic-0390"}


@pytest.mark.parametrize("row", READ, ids=lambda row: row["id"])
def test_accepts_and_rejects(row: dict[str, Any]) -> None:
    grammar = read(row["grammar"], row["format"], row["start"])
    missing = [text for text in texts(row, "accepts") if not grammar.accepts(text)]
    extra = {text for text in texts(row, "rejects") if grammar.accepts(text)}
    assert not missing
    assert extra == OTHERWISE.get(row["id"], (set(), ""))[0]


@pytest.mark.parametrize("row", READ, ids=lambda row: row["id"])
def test_failure_positions(row: dict[str, Any]) -> None:
    grammar = read(row["grammar"], row["format"], row["start"])
    otherwise = OTHERWISE.get(row["id"], (set(), ""))[0]
    for kind in ("rejects", "rejects_generated"):
        dead = row.get(f"{kind}_dead_at") or []
        for text, place in zip(row[kind], dead, strict=False):
            if text in otherwise or not row["core"]:
                continue
            assert grammar.is_prefix(text[: len(text) if place is None else place]), text
            assert place is None or not grammar.is_prefix(text[: place + 1]), text


def texts(row: dict[str, Any], kind: str) -> list[str]:
    return [*row[kind], *row[f"{kind}_generated"]]


@pytest.mark.parametrize("row", [ROWS[name] for name in REFUSED], ids=lambda row: row["id"])
def test_error_names_what_cannot_be_read(row: dict[str, Any]) -> None:
    with pytest.raises(SourceError) as caught:
        read(row["grammar"], row["format"], row["start"])
    assert REFUSED[row["id"]] in caught.value.message
    assert caught.value.kind in ("unsupported", "empty_grammar")
    assert caught.value.hint


@cache
def notations(name: str) -> list[tuple[str, Grammar]]:
    """A grammar in all its notations."""
    kbnf = Grammar.from_kbnf(CASES[name]["kbnf"], CASES[name]["start"])
    starts = {"gbnf": "root", "lark": "start"}
    others = [(one, read(text, one, starts[one])) for one, text in WRITTEN[name].items()]
    return [("kbnf", kbnf), *others]


@pytest.mark.parametrize("name", list(CASES))
def test_all_notations_read_the_same(name: str) -> None:
    case = CASES[name]
    for notation, grammar in notations(name):
        assert all(map(grammar.accepts, case["accept"])), notation
        for rejected in case["reject"]:
            text, dead_at = rejected["text"], rejected["dead_at"]
            assert not grammar.accepts(text), notation
            assert grammar.is_prefix(text[: len(text) if dead_at is None else dead_at]), notation
            assert dead_at is None or not grammar.is_prefix(text[: dead_at + 1]), notation


@pytest.mark.parametrize("name", [name for name in CASES if "exhaustive" in CASES[name]])
def test_all_notations_agree_on_all_small_texts(name: str) -> None:
    exhaustive = CASES[name]["exhaustive"]
    alphabet, accepted = exhaustive["alphabet"], set(exhaustive["accepted"])
    every = (
        "".join(letters)
        for length in range(exhaustive["max_len"] + 1)
        for letters in product(alphabet, repeat=length)
    )
    small = list(islice(every, _TRIED))
    for notation, grammar in notations(name):
        assert [text for text in small if grammar.accepts(text)] == [
            text for text in small if text in accepted
        ], notation
        assert all(map(grammar.accepts, accepted)), notation
