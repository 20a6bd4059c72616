"""The frames of films of decoding methods compared with results worked out manually."""

from __future__ import annotations

import pytest

from workbench.app.lessons.films import film
from workbench.app.lessons.lesson import Film, Frame, Kind, LessonError
from workbench.app.lessons.lesson_reader import lessons
from workbench.app.lessons.lesson_world import World
from workbench.base.errors import WorkbenchError

AB = World(text="a*b*", tokens=("a", "b", "ab", "aa"), merges=(("a", "b"), ("a", "a")))


def _made(kind: str, world: World, given: object = None, **how: object) -> Film:
    return film(Kind(kind, how), world, given)  # type: ignore[arg-type]  # tests hand in anything


def _shipped(lesson: str, step: int, given: object = None) -> Film:
    found = lessons()[lesson].steps[step]
    assert found.figure is not None
    return film(found.figure, found.world, given)  # type: ignore[arg-type]


def _row(frame: Frame, name: str) -> tuple[str, ...]:
    return next(row.chips for row in frame.rows if row.name == name)


# -- runs side by side ----------------------------------------------------------------------------


def test_two_methods_part_at_the_first_bridge_token() -> None:
    made = _shipped("bridge", 1)
    assert made.frames[3].say == 'aligned: ·", 0.42 bits; greedy: ⇥, 3 bits (·" is masked).'
    assert _row(made.frames[-1], "aligned") == ("{", "⏎", '·"', "name", '":·"', "ann", '"⏎', "}")
    assert _row(made.frames[-1], "greedy")[2:5] == ("⇥", '"', "age")
    # a shade is the surprisal of its token
    greedy = next(row for row in made.frames[-1].rows if row.name == "greedy")
    assert greedy.bits[2] == pytest.approx(3)


def test_error_for_no_methods_and_for_an_unknown_one() -> None:
    with pytest.raises(LessonError, match="expected methods"):
        _made("side by side", AB, methods=[])
    with pytest.raises(WorkbenchError, match="there is no method 'magic'"):
        _made("side by side", AB, methods=[{"method": "magic"}])


# -- passes ---------------------------------------------------------------------------------------


def test_a_wrong_proposal_ends_a_pass() -> None:
    made = _shipped("speculation", 2)
    first = next(row for row in made.frames[1].rows if row.name == "proposed")
    assert first.chips[first.now] == "bob"
    assert _row(made.frames[1], "text") == ("{", "name", ":·", "ann")
    assert made.frames[-1].say == "11 tokens in 2 passes."
    assert made.frames[-2].say == "No choice is left: } end without a pass."


def test_a_draft_is_refused_where_the_target_doubts_it() -> None:
    # bob: 0.3 of 0.75 is less than a half; ann is what the target has more of
    made = _shipped("speculation", 3)
    assert _row(made.frames[1], "proposed") == ("{", "name", ":·", "bob")
    assert _row(made.frames[1], "text") == ("{", "name", ":·", "ann")


def test_error_for_an_unknown_strategy_and_for_no_warm_up() -> None:
    with pytest.raises(LessonError, match="expected plain, skipping"):
        _made("passes", AB, strategy="guessing")
    with pytest.raises(LessonError, match="expected warm"):
        _made("passes", AB, strategy="speculating")


# -- subterminals ---------------------------------------------------------------------------------


def test_the_scanner_reads_what_the_parser_refuses() -> None:
    made = _shipped("subterminals", 0, ")(")
    assert [frame.good for frame in made.frames] == [None, False, False]
    assert "The parser knows it is no text" in made.frames[1].say
    unread = _shipped("subterminals", 0, "1x")
    assert unread.frames[-1].say == (
        "No terminal continues with x: this is no sequence of terminals."
    )


def test_a_tree_grows_token_by_token() -> None:
    made = _shipped("subterminals", 2)
    grown = [len(frame.views[0].nodes or ()) for frame in made.frames[:-1]]
    # the root; 1 and 12 and 0 each as a new int and as the rest of one
    assert grown[:4] == [1, 5, 7, 9]
    assert made.frames[7].say == "+1 is read as [+] [int]."
    assert made.frames[-1].say == "11 tokens are in the tree; 1(, a cannot be read here at all."


def test_the_parser_prunes_level_by_level() -> None:
    made = _shipped("subterminals", 3)
    masks = [_row(frame, "mask") for frame in made.frames[1:]]
    assert masks[0] == ("1", "12", "0", ")", "+")
    assert masks[1] == (*masks[0], "+1", "2)", ")+")
    assert masks[2] == (*masks[1], "+1)")
    assert made.frames[1].say == "k = 0: the parser can continue with ), +, …int, not with (, int."


# -- tokens under a method, and asking ----------------------------------------------------------


def test_parser_row_has_the_accepted_terminals() -> None:
    made = _shipped("terminals", 0)
    assert [_row(frame, "in terminal") for frame in made.frames[:4]] == [
        ("none",),
        ("'foo'",),
        ("'foo'",),
        ("'('",),
    ]
    assert _row(made.frames[3], "parser accepts") == ("'123'", "'456'")
    forbidden = {c.text: c.why for c in made.frames[1].choices if not c.allowed}
    assert forbidden["o(1"] == "the grammar can read it, going by terminals forbids it"


def test_a_token_a_method_forbids_ends_its_film() -> None:
    world = lessons()["terminals"].steps[0].world
    made = _shipped("terminals", 0, tuple(world.vocabulary.ids("fo", "o(1")))
    assert made.frames[-1].say == (
        "o(1 is not allowed: the grammar can read it, going by terminals forbids it."
    )


def test_the_walk_of_a_trie_passes_over_what_cannot_be_read() -> None:
    made = _shipped("online", 1)
    assert made.frames[1].say == "1 cannot be read: 3 tokens are skipped."
    # 1 ; b ba bar bar; f fo foo food for o
    assert made.frames[-1].say == "12 bytes tested for 14 tokens."
    # no token begins with a or r, so that b and ba are dead ends; o is a token
    assert _row(made.frames[-1], "allowed") == ("bar", "bar;", "f", "fo", "foo")


# -- the index on its own machine -----------------------------------------------------------------


def test_algorithm_3_walks_from_every_state_that_reads_the_first_character() -> None:
    made = _shipped("index", 2)
    assert made.frames[1].say == "v = A: no state reads it."
    assert made.frames[2].say == "v = .: the states that read . are {0, 2}."
    assert made.frames[3].say == "From 0: 0 → 1. The path is kept, and . goes into σ(0)."
    assert _row(made.frames[-1], "σ(1)") == ("42", "1")
    stuck = _made("algorithms 3 and 4", World(text="xyz|xw", tokens=("xx",)))
    assert stuck.frames[2].say == "From 0: 0 → 1, and there δ has nothing for x: p is dropped."


# -- merges ---------------------------------------------------------------------------------------


def test_a_text_is_merged_lowest_rank_first() -> None:
    made = _made("encoding", AB, "aaab")
    assert [_row(frame, "tokens") for frame in made.frames] == [
        ("a", "a", "a", "b"),
        ("a", "a", "ab"),
        ("aa", "ab"),
        ("aa", "ab"),
    ]
    with pytest.raises(LessonError, match="expected characters of the rules, not x"):
        _made("encoding", AB, "ax")


def test_error_for_a_step_without_rules() -> None:
    with pytest.raises(LessonError, match="expected merges"):
        _made("encoding", World(text="a", tokens=("a",)), "a")


def test_the_pair_test_undoes_the_later_merge() -> None:
    made = _made("pair", AB, tokens=["aa", "b"])
    # aa, b: no rule; aa is undone; a, b is rule 1 and aa is only rule 2
    assert [view.lit for view in made.frames[1].views] == [("2",), ("0",)]
    assert made.frames[1].say == (
        "(a, b) is rule 1, and it fires first: the pair merges over its border."
    )
    assert made.frames[-1].good is False
    assert _made("pair", AB, tokens=["aa", "a"]).frames[-1].good is True
    with pytest.raises(LessonError, match="expected a token some text encodes to"):
        _made("pair", AB, tokens=["ba", "a"])


# -- rewriting ------------------------------------------------------------------------------------


def test_direct_merge_splits_a_state_with_two_roles() -> None:
    made = _shipped("direct", 1)
    assert made.frames[1].say == "(a, b): in state 2 a ends and b begins."
    assert made.frames[2].say == (
        "State 2 has two roles and is split: a now leads to state 6, which reads everything but b."
    )
    # 6 edges before; b from 1 is gone, ab and y are new
    assert [len(frame.views[0].edges or ()) for frame in made.frames] == [6, 6, 8, 8]


def test_direct_merge_tells_even_runs_from_odd_ones() -> None:
    made = _shipped("direct", 5)
    assert made.frames[2].say.startswith("State 0 is for even runs of a, state 1 for odd ones.")
    assert made.frames[-1].say.startswith("2 states and 2 edges")


def test_direct_merge_comes_to_the_machines_of_the_article() -> None:
    assert _shipped("direct", 3).frames[-1].say.startswith("8 states and 26 edges")
    assert "4 states and 4 edges" in _shipped("direct", 4).frames[-1].say


def test_error_for_an_automaton_that_never_ends() -> None:
    with pytest.raises(LessonError, match="expected 'accept'"):
        _made("direct merge", AB, edges=[[0, "a", 1]])


# -- all proper sequences, and the product --------------------------------------------------------


def test_what_may_not_follow_is_struck_out_with_its_reason() -> None:
    made = _shipped("product", 1)
    assert [frame.views[0].lit for frame in made.frames] == [("0",), ("2",), ("1",), ("0",)]
    after_a = {c.text: c.why for c in made.frames[2].choices if not c.allowed}
    assert set(after_a) == {"a", "b", "c", "aa", "ac"}
    assert after_a["aa"] == "after a it would have become aa a"


def test_a_forbidden_token_ends_the_film() -> None:
    world = lessons()["product"].steps[1].world
    made = _shipped("product", 1, tuple(world.vocabulary.ids("aa", "b")))
    assert made.frames[-1].say == "b is forbidden: after aa it would have become a ab."


def test_the_product_loses_its_dead_end() -> None:
    made = _shipped("product", 2)
    assert made.frames[-2].views[0].dead == {"2-2"}
    assert made.frames[-1].say == "3 pairs and 3 edges are left: the proper sequences."


def test_cuts_part_the_machine_into_regions() -> None:
    made = _shipped("product", 4)
    assert made.frames[1].say == "10 of 14 edges are cuts: a token ends before them."
    # the loops of the values, over a and over b, are none
    assert [_row(frame, "regions")[-1] for frame in made.frames[2:]] == list("12345234")
    assert made.frames[4].views[0].lit == ("3",)


# -- spelling as the model would ------------------------------------------------------------------


def test_algorithm_3_of_domino_takes_the_favourite_that_fits() -> None:
    made = _shipped("templates", 4)
    assert [frame.rows[0].chips[-1] for frame in made.frames[:-1]] == [
        *('{"', "name", '":', '"', "bob", '"}')
    ]
    # { and {" fit at first: a quarter and three quarters, all there is
    bars = made.frames[0].bars
    assert [(bar.text, bar.taken) for bar in bars] == [('{"', True), ("{", False)]
    assert [bar.before for bar in bars] == pytest.approx([0.75, 0.25])
    # only the quote fits then: a quarter of the chances, all of it after the mask
    (bar,) = made.frames[3].bars
    assert [bar.before, bar.after] == pytest.approx([0.25, 1])
