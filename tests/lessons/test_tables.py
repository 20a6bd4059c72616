"""The worked tables against rows written by hand."""

from __future__ import annotations

import pytest

from workbench.drawing.transducers import detokenizer, merged_detokenizer
from workbench.lessons.lesson import Kind, LessonError
from workbench.lessons.shelf import lessons
from workbench.lessons.tables import cut_ways, table
from workbench.lessons.world import World
from workbench.vocabulary.vocabulary import Vocabulary

FOO = World(regex="(foo)+d", tokens=("f", "oo", "foo", "for", "food"))

Rows = list[tuple[str, ...]]


def _rows(lesson: str, step: int) -> Rows:
    found = lessons()[lesson].steps[step]
    assert found.table is not None
    return list(table(found.table, found.world).rows)


def test_the_example_of_willard_and_louf() -> None:
    assert _rows("index", 2) == [
        ("0", ".  42  .2  1", ". → 1  42 → 0  .2 → 1  1 → 0", "✓"),
        ("1", "42  1", "42 → 1  1 → 1", "✓"),
    ]


def test_the_exact_index_leaves_out_what_leads_nowhere() -> None:
    assert [row[1] for row in _rows("index", 3)] == ["x", "w", "∅", "∅"]


def test_appendix_a_of_koo_and_others() -> None:
    # scores and tokens are the paper's; that the first and the last cross terminals is its point
    assert _rows("tokens", 3) == [
        ("0.4", "fo o(1 2 3 )", "foo(123)", "✓", "o(1"),
        ("0.3", "bar ( 456 )", "bar(456)", "✓", "none"),
        ("0.2", "foo ( 123 )", "foo(123)", "✓", "none"),
        ("0.1", "ba r(4 5 6 )", "bar(456)", "✓", "r(4"),
    ]


def test_utf_8() -> None:
    assert _rows("tokens", 4) == [
        ("a", "U+0061", "<0x61>"),
        ("é", "U+00E9", "<0xC3> <0xA9>"),
        ("è", "U+00E8", "<0xC3> <0xA8>"),
        ("あ", "U+3042", "<0xE3> <0x81> <0x82>"),
        ("😀", "U+1F600", "<0xF0> <0x9F> <0x98> <0x80>"),
    ]


def test_the_subset_construction_as_a_table() -> None:
    assert _rows("machines", 4) == [
        ("{0, 3}", "{1, 2, 3, 4}", "∅", "✗"),
        ("{1, 2, 3, 4}", "{1, 3, 4}", "{1}", "✓"),
        ("{1, 3, 4}", "{1, 3, 4}", "∅", "✓"),
        ("{1}", "∅", "∅", "✓"),
    ]


def test_perplexity_by_hand() -> None:
    # 1/4 is 2 bits, 1/16 is 4; the masks keep 1/2 and 3/4
    assert _rows("perplexity", 3) == [
        ("yes", "25 %", "2", "50 %", "1", "50 %", "1"),
        ("!", "6.25 %", "4", "75 %", "0.42", "8.33 %", "3.58"),
        ("together", "", "6", "", "1.42", "", "4.58"),
    ]


def test_the_distortion_by_hand() -> None:
    # 0.9 × 0.01 and 0.1 × 1, divided by their sum 0.109
    assert _rows("perplexity", 4) == [
        ("a x", "0.9 %", "8.26 %", "90 %"),
        ("b x", "10 %", "91.74 %", "10 %"),
    ]


def test_the_recorded_run_adds_up() -> None:
    *rows, together = _rows("perplexity", 5)
    assert len(rows) == 12
    assert together[0].startswith("all ")
    assert float(together[2]) > 0


def test_operators_of_kbnf() -> None:
    assert _rows("kbnf", 0) == [
        ("'a'?", "✓", "✓", "✗"),
        ("'a'*", "✓", "✓", "✓"),
        ("'a'+", "✗", "✓", "✓"),
    ]


def test_live_rules_follow_the_brackets() -> None:
    rules = [row[1] for row in _rows("masked", 1)]
    assert rules == ["list"] * 4 + ["list ▸ item ▸ list"] * 2 + ["list"] * 2


def test_every_way_to_cut_a_text() -> None:
    assert cut_ways(FOO, "foofood") == [(b"foo", b"food"), (b"f", b"oo", b"food")]
    assert cut_ways(FOO, "fod") == []


def test_the_transition_table() -> None:
    made = table(Kind("automaton"), FOO)
    assert made.heads == ("state", "d", "f", "o", "accepts")
    assert made.rows[3] == ("3", "4", "1", "", "✗")


def test_what_the_lesson_says_of_the_embedded_vocabulary() -> None:
    text = " ".join(lessons()["composition"].steps[4].paragraphs)
    words = [token for token in Vocabulary.load("builtin").tokens if token is not None]
    told = (len(words), merged_detokenizer(words).states, detokenizer(words).states)
    assert (
        "the {:,} tokens of the embedded model it makes {:,} states of {:,}".format(*told) in text
    )


def test_error_for_terminals_that_spell_nothing() -> None:
    rows = [{"score": "1", "tokens": ["x"]}]
    with pytest.raises(LessonError, match="expected terminals that spell 'x'"):
        table(Kind("cuts", {"rows": rows, "terminals": ["y"]}), FOO)


def test_error_for_a_run_that_was_not_recorded() -> None:
    for name in ("nothing", "../person"):
        with pytest.raises(LessonError, match="expected an example with a recorded run"):
            table(Kind("recorded run", {"example": name}), FOO)
