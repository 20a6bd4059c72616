"""``docs/engines.md`` is what the command writes: its figures that do not depend on the machine."""

from __future__ import annotations

import pytest

from lab.bench.engine_table import (
    PAGE,
    SMALL,
    WAYS,
    Way,
    cases,
    claim_rows,
    claims,
    measured,
)
from workbench.base.text_tables import format_table
from workbench.engines.peer import greedy_tokens
from workbench.grammar.grammar import Grammar


@pytest.mark.slow
def test_the_claims_on_the_page_are_what_the_comparisons_show() -> None:
    assert format_table(list(claim_rows()), "markdown") in PAGE.read_text("utf-8")


@pytest.mark.parametrize("way", WAYS, ids=[way.method for way in WAYS])
def test_the_sizes_and_differences_on_the_page(way: Way) -> None:
    title, case, vocabulary = next(cases())
    assert case.written is not None
    grammar = Grammar.from_kbnf(case.written[1])
    made = measured(way, grammar, vocabulary, greedy_tokens(case.walk, vocabulary)).row()
    section = PAGE.read_text("utf-8").split(f"### {title}")[1].split("###")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("|")]
    (found,) = [row for row in rows if row[0] == way.name]
    machine = {1, 4, 5}  # times
    assert [c for i, c in enumerate(found) if i not in machine] == [
        c for i, c in enumerate(made) if i not in machine
    ]


def test_llguidance_loses_texts_only_where_the_longest_match_does() -> None:
    found = {name: one for name, one in claims("llguidance") if one is not None}
    assert len(found) == 1 + len(SMALL)
    assert [name for name, one in found.items() if not one.is_complete] == [
        "the longest match loses texts"
    ]
    lost = found["the longest match loses texts"]
    assert lost.first is not None
