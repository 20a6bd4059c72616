"""The syntax card of every notation: each construct in a small grammar that shows what it means."""

from __future__ import annotations

import re

import pytest

from workbench import Grammar
from workbench.app.ui.syntax_card import CARDS, Card, Construct
from workbench.grammar.notations import Notation

ROWS = [
    pytest.param(notation, card, row, id=f"{notation}: {row.text}")
    for notation, card in CARDS.items()
    for rows in card.groups.values()
    for row in rows
]


@pytest.mark.parametrize(("notation", "card", "row"), ROWS)
def test_the_example_of_a_construct(notation: Notation, card: Card, row: Construct) -> None:
    grammar = Grammar.from_text(re.sub("[‹›]", "", card.example(row)), notation)
    assert grammar.accepts(row.accepted)
    assert not grammar.accepts(row.rejected)


@pytest.mark.parametrize(("notation", "card", "row"), ROWS)
def test_the_form_of_an_insertion(notation: Notation, card: Card, row: Construct) -> None:
    assert (row.frame or card.frame).count("‸") == 1
    assert re.fullmatch(r"[^‹›]*(‹[^‹›]+›[^‹›]*)?", row.insert), "at most one replaceable part"
    if "…" in row.text:
        assert "‹" in row.insert, "a selected text becomes its replaceable part"


@pytest.mark.parametrize("notation", Notation)
def test_a_card_is_short(notation: Notation) -> None:
    rows = [row for group in CARDS[notation].groups.values() for row in group]
    assert 10 <= len(rows) <= 18
    assert len({row.text for row in rows}) == len(rows)
    for row in rows:
        assert len(row.text) <= 22, row
        assert len(row.about) <= 90, row
