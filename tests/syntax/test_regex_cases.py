"""Regexes of four engines' own tests: every row is right, or refused for a reason that is listed.

The rows come from the suites of rust-lang/regex, interegular, lark and JSON schemas in use, with
what Rust's regex, Python's ``re``, PyPI's ``regex`` and RE2 say about each text. A portable row
means the same to both our dialects; any other is asked of those that its engines speak.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from functools import cache
from itertools import chain, product
from pathlib import Path
from typing import Any

import pytest

from workbench.automata.build import regex_dfa
from workbench.base.dfa import DEAD, Dfa
from workbench.base.errors import LimitError, ParseError
from workbench.base.limits import Limits
from workbench.base.source import Source, Span
from workbench.syntax.regex.parser import parse_regex
from workbench.syntax.regex.reader import Dialect, Flags

DATA = Path(__file__).parent.parent / "data"
#: The machine these tests run on may be busy; what is measured is right or wrong, not speed.
PATIENT = Limits(seconds=60)

#: The dialects the rows are of; that of JSON Schema's patterns is tested with these.
BOTH = (Dialect.PYTHON, Dialect.RUST)

#: What is refused of all rows, by the message that says why.
REFUSED = {
    (Dialect.RUST, "expected no flag 'u' where bytes are matched"): 9,
}
#: No text begins with what ``[^\s\S]`` reads: the engines asked do not see that it is empty.
MISLABELLED = ".*[^\\s\\S]A|B"

Row = dict[str, Any]


def load(name: str) -> list[Row]:
    with gzip.open(DATA / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def dialects(row: Row) -> list[Dialect]:
    if row["portable"]:
        return list(BOTH)
    spoken = {"rust": Dialect.RUST, "re": Dialect.PYTHON}
    return [dialect for engine, dialect in spoken.items() if engine in row["engines"]]


def text_of(row: Row) -> bytes:
    return bytes.fromhex(row["text_hex"]) if "text_hex" in row else str(row["text"]).encode()


@cache
def compiled(pattern: str, flags: tuple[str, ...], dialect: Dialect) -> Dfa | ParseError:
    try:
        regex = parse_regex(
            Source(pattern, "regex"), dialect=dialect, flags=Flags(**dict.fromkeys(flags, True))
        )
        return regex_dfa(regex, PATIENT)
    except ParseError as error:
        return error


def outcomes(name: str) -> tuple[list[tuple[Row, Dialect, Dfa]], Counter[tuple[Dialect, str]]]:
    """The rows with their machines, and the reasons of those refused."""
    built: list[tuple[Row, Dialect, Dfa]] = []
    refused: Counter[tuple[Dialect, str]] = Counter()
    for row in load(name):
        for dialect in dialects(row):
            machine = compiled(row["pattern"], tuple(row["flags"]), dialect)
            if isinstance(machine, ParseError):
                refused[dialect, machine.message] += 1
            else:
                built.append((row, dialect, machine))
    return built, refused


@pytest.mark.slow
def test_full_matches() -> None:
    built, refused = outcomes("regex_fullmatch")
    wrong = [
        (row["id"], dialect.name)
        for row, dialect, dfa in built
        if dfa.accepts(text_of(row)) is not row["fullmatch"]
    ]
    assert wrong == []
    assert len(built) > 4_600
    assert set(refused) <= set(REFUSED)


def test_viable_prefixes() -> None:
    built, refused = outcomes("regex_partial")
    wrong = [
        (row["pattern"], dialect.name)
        for row, dialect, dfa in built
        if (not dfa.is_empty and dfa.run(text_of(row)) != DEAD) is not row["viable_prefix"]
        or dfa.accepts(text_of(row)) is not row["fullmatch"]
    ]
    assert {pattern for pattern, _ in wrong} == {MISLABELLED}
    assert len(built) > 3_850
    assert set(refused) <= set(REFUSED)


def test_refused_rows_are_few() -> None:
    total = sum((outcomes(name)[1] for name in ("regex_fullmatch", "regex_partial")), Counter())
    assert total == REFUSED


def test_portable_rows_give_one_machine_in_both_dialects() -> None:
    patterns = {
        (row["pattern"], tuple(row["flags"]))
        for row in load("regex_fullmatch")
        if row["portable"] and not set(row["pattern"]) & set("\\")  # classes differ in Unicode
    }
    for pattern, flags in patterns:
        python, rust = (compiled(pattern, flags, dialect) for dialect in BOTH)
        assert isinstance(python, Dfa)
        assert isinstance(rust, Dfa)
        assert python.table.tolist() == rust.table.tolist(), pattern


def test_each_dialect_reads_as_its_engine() -> None:
    engines = {"re": Dialect.PYTHON, "rust": Dialect.RUST}
    right = 0
    for row in load("regex_dialects"):
        for engine, dialect in engines.items():
            machine = compiled(row["pattern"], tuple(row["flags"]), dialect)
            if engine not in row["verdicts"] and isinstance(machine, ParseError):
                continue
            if isinstance(machine, ParseError):
                assert "(?-u)" in row["pattern"], row
                continue
            assert engine in row["verdicts"], row  # what an engine refuses, we refuse
            assert machine.accepts(text_of(row)) is row["verdicts"][engine], row
            right += 1
    assert right >= 45


#: Why rows of ``regex_unsupported`` are refused, with the number of rows in Python and in Rust.
STILL_REFUSED = {
    "a backreference": (2, 2),
    "backreferences": (3, 3),
    "recursion": (63, 0),  # the flag R of Rust
    "expected a flag out of": (25, 0),
    "expected something to repeat": (8, 0),
    "expected a set of ASCII characters": (0, 3),
    "needs more than": (1, 1),
}


@pytest.mark.slow
@pytest.mark.parametrize("dialect", BOTH, ids=lambda dialect: dialect.name)
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_assertions_of_other_suites(dialect: Dialect) -> None:
    refused: Counter[str] = Counter()
    for row in load("regex_unsupported"):
        pattern, flags = row["pattern"], tuple(row["flags"])
        try:
            machine = compiled(pattern, flags, dialect)
        except LimitError as error:
            machine = ParseError(str(error), Source(pattern, ""), Span(0, len(pattern)), "wait")
        if isinstance(machine, ParseError):
            assert machine.hint, pattern
            assert machine.span.start < machine.span.end <= len(pattern)
            refused[next(why for why in STILL_REFUSED if machine.message.startswith(why))] += 1
        elif dialect is Dialect.PYTHON:
            python = re.compile(pattern, sum(getattr(re, flag.upper()) for flag in flags))
            letters = sorted({*"a \n", *(c for c in pattern if c.isalnum())})[:6]
            for text in map("".join, chain(*(product(letters, repeat=n) for n in range(1, 4)))):
                assert machine.accepts(text.encode()) is (python.fullmatch(text) is not None), (
                    pattern,
                    text,
                )
    at = BOTH.index(dialect)
    assert refused == Counter({why: counts[at] for why, counts in STILL_REFUSED.items()})


def test_error_where_a_count_asks_for_too_much() -> None:
    # one of the patterns above, within the limits of the public page
    with pytest.raises(LimitError):
        regex_dfa(parse_regex(Source("^.{1,2500}", "regex")), Limits(states=10_000))
