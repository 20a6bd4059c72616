"""The computed tables compared with manually written rows."""

from __future__ import annotations

import re

import pytest

from workbench.app.lessons.lesson import Kind, LessonError
from workbench.app.lessons.lesson_reader import lessons
from workbench.app.lessons.lesson_tables import hand_masks, table
from workbench.app.lessons.lesson_world import World
from workbench.app.lessons.merge_films import tokenizations
from workbench.app.lessons.theorems import transduced
from workbench.base.dfa import DEAD
from workbench.drawing.transducers import detokenizer, merged_detokenizer
from workbench.vocabulary.vocabulary import Vocabulary

FOO = World(text="(foo)+d", tokens=("f", "oo", "foo", "for", "food"))

Rows = list[tuple[str, ...]]


def _rows(lesson: str, step: int) -> Rows:
    found = lessons()[lesson].steps[step]
    assert found.table is not None
    return list(table(found.table, found.world).rows)


def test_the_example_of_willard_and_louf() -> None:
    assert _rows("index", 3) == [
        ("0", ".  42  .2  1", ". → 1  42 → 0  .2 → 1  1 → 0", "✓"),
        ("1", "42  1", "42 → 1  1 → 1", "✓"),
    ]


def test_the_exact_index_leaves_out_what_leads_nowhere() -> None:
    assert [row[1] for row in _rows("index", 4)] == ["x", "w", "∅", "∅"]


def test_appendix_a_of_koo_and_others() -> None:
    # scores and tokens are the paper's; that the first and the last cross terminals is its point
    assert _rows("tokens", 3) == [
        ("0.4", "fo o(1 2 3 )", "foo(123)", "✓", "o(1"),
        ("0.3", "bar ( 456 )", "bar(456)", "✓", "none"),
        ("0.2", "foo ( 123 )", "foo(123)", "✓", "none"),
        ("0.1", "ba r(4 5 6 )", "bar(456)", "✓", "r(4"),
    ]


def test_the_tokens_that_an_end_needs() -> None:
    # by hand, the end token included; columns after [ ] 1 , ,1 1]
    assert _rows("finishing", 1) == [
        ("(nothing)", "3", "2", "✗", "✗", "✗", "✗", "✗"),
        ("[", "2", "✗", "1", "2", "✗", "✗", "1"),
        ("[1", "2", "✗", "1", "✗", "2", "2", "✗"),
        ("[1,", "2", "✗", "✗", "2", "✗", "✗", "1"),
        ("[1]", "1", "✗", "✗", "✗", "✗", "✗", "✗"),
    ]
    # n lists are closed by n / 2 tokens, rounded up
    assert [row[1] for row in _rows("finishing", 3)] == ["2", "2", "3", "3"]


def test_the_cache_of_xgrammar() -> None:
    # by hand: position 1 is inside a string; what follows the string is decided by the stack
    rows = {row[0]: row for row in _rows("engines", 1)}
    assert rows["1"][1:4] == ('"  a  ab  b"', "8", '",  "]  ","  "],')
    assert rows["0"][3] == "∅", "before a value nothing leaves the rule"


def test_the_spanner_table_of_greatgramma() -> None:
    assert _rows("engines", 3) == [
        ("string", '"  a  ab  b"', "always"),
        ("string ,", '",', "always"),
        ("string , string", '","', "always"),
        ("string ]", '"]', "always"),
        ("string ] ,", '"],', "the stack: ✓"),
    ]


def test_the_store_of_syncode_allows_tokens_wrongly() -> None:
    # by hand: of a token longer than an accept sequence the rest is not read
    assert [(row[0], row[3]) for row in _rows("engines", 4)] == [
        ("(nothing)", "∅"),
        ("[", "],  ]]  ]]]"),
        ('["a', '"],'),
        ('["a"', "],  ]]  ]]]"),
        ('[["a', "∅"),
    ]


def test_the_edges_of_pre3_have_a_condition_for_each_way_down() -> None:
    rows = _rows("engines", 5)
    assert len({row[0] for row in rows}) == len(rows)
    assert ("1 1 6 8", "1 6 7", "value") in rows, "the comma after the inner list of two"


def test_the_engines_compared() -> None:
    rows = {row[0]: row for row in _rows("engines", 0)}
    assert set(rows) == {"this engine", "xgrammar", "llguidance", "GreatGramma", "SynCode", "Pre³"}
    assert all(row[3:] == ("0", "0") for name, row in rows.items() if name != "SynCode")
    assert rows["SynCode"][3] == "296"
    assert rows["SynCode"][4] == "0"


def test_audits_along_a_text() -> None:
    # by hand: the rest of a token is not read; the longest word is going, and ing is missing
    assert [row[3:] for row in _rows("auditing", 0)] == [
        ("∅", "∅"),
        ("∅", "],  ]]  ]]]"),
        ("∅", '"],'),
        ("∅", "∅"),
    ]
    assert [row[1:] for row in _rows("auditing", 2)] == [
        ("go", "5", "∅", "∅"),
        ("ing", "5", "∅", "∅"),
        ("end", "6", "end", "∅"),
    ]


def test_how_many_tags_a_text_has() -> None:
    # by hand; columns a, <1>, a<1>, <1>a, <1><2>
    assert [row[1:] for row in _rows("switching", 1)] == [
        ("✓", "✓", "✓", "✓", "✓"),
        ("✗", "✓", "✗", "✓", "✓"),
        ("✓", "✓", "✓", "✗", "✗"),
        ("✗", "✓", "✗", "✗", "✗"),
    ]


def test_positions_alone_and_the_likeliest_block() -> None:
    """Multiplied by hand: [ 1 1 end is 0.5 × 0.6 × 0.5 × 0.5, and 1 1 1 end 0.4 × 0.6 × 0.5 × 0.5."""
    rows = _rows("holes", 1)
    assert [row[2] for row in rows] == ["[", "1", "1", "end", "not accepted, 0.075"]
    assert [row[3] for row in rows] == ["1", "1", "1", "end", "accepted, 0.06"]


def test_passes_over_a_block() -> None:
    """After the middle token, of which 0.75 of the texts are sure, two texts are left."""
    assert _rows("holes", 3) == [
        ("1", "[  1  end ✗", "[  1  ]", "▢  1  ▢"),
        ("2", "[  1  ] ✓", "[  1  ]", "[  1  ▢"),
        ("3", "[  1  ] ✓", "[  1  ]", "[  1  ]"),
    ]


def test_what_a_monitor_removes() -> None:
    # by hand, from the members of each type
    assert _rows("meaning", 2)[0] == (
        'let·n:·number·=·"a"', ".length  .charAt", ".toFixed  .toString  (  ·+·  ·<·  ;⏎",
    )  # fmt: skip
    assert [row[1:] for row in _rows("meaning", 3)] == [
        ('1  "a"  true', "s  n  s;⏎let·n:·number·=·"),
        ("·+·  ·<·", ";⏎"),
        (".length  .charAt", ".toFixed  .toString  (  ·+·  ·<·  ;⏎"),
        (".toString  ;⏎", ".length  .charAt  .toFixed  (  ·+·  ·<·"),
    ]
    # form and meaning: parses, has a meaning
    assert [row[1:3] for row in _rows("meaning", 0)] == [
        ("✓", "✓"),
        ("✓", "✗"),
        ("✓", "✗"),
        ("✓", "✓"),
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
        ("ax", "8.26 %", "90 %"),
        ("bx", "91.74 %", "10 %"),
        ("total variation", "", "0.82"),
    ]


def test_weights_by_hand() -> None:
    # 0.6 × 0.05, 0.3 × 0.5, 0.3 × 0.1, 0.1 × 0.9, 0.1 × 0.1; together 0.34
    assert _rows("conditional", 0) == [
        ("ax", "30 %", "10 %", "3 %", "8.82 %"),
        ("ay", "30 %", "10 %", "3 %", "8.82 %"),
        ("bx", "25 %", "60 %", "15 %", "44.12 %"),
        ("by", "5 %", "60 %", "3 %", "8.82 %"),
        ("cx", "9 %", "100 %", "9 %", "26.47 %"),
        ("cy", "1 %", "100 %", "1 %", "2.94 %"),
    ]


def test_learnt_bounds_by_hand() -> None:
    first, *rows, last = _rows("conditional", 1)
    assert first == ("nothing yet", "100 %", "30 %", "30 %", "25 %", "5 %", "9 %", "1 %", "0.42")
    assert last == ("the model's own", "34 %", *(r[4] for r in _rows("conditional", 0)), "")
    bounds = [float(row[1].removesuffix(" %")) for row in rows]
    assert bounds == sorted(bounds, reverse=True)
    assert rows[-1][1:] == (*last[1:-1], "0")


def test_rejected_attempts_fall_to_the_valid_share() -> None:
    rows = _rows("conditional", 2)
    assert rows[-1][3] == "34 %"
    assert rows[-1][2] == "0"
    assert any(int(row[2]) for row in rows)


def test_particles_have_the_weights_of_their_texts() -> None:
    kept = {row[0]: float(row[2].removesuffix(" %")) for row in _rows("conditional", 0)}
    rows = _rows("conditional", 3)
    total = sum(kept[text] for _, text, _ in rows)
    for _, text, weight in rows:
        assert float(weight.removesuffix(" %")) == pytest.approx(100 * kept[text] / total, abs=0.01)


def test_the_distance_of_the_mask_alone_stays() -> None:
    found = {row[0]: float(row[4]) for row in _rows("conditional", 4)}
    assert found["mask alone"] == pytest.approx(0.42, abs=0.05)
    assert max(found["ASAp"], found["CARS"], found["8 particles"]) < 0.1


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


def test_both_sides_of_the_theorems() -> None:
    pieces = ["f", "oo", "food"]
    rows = _rows("theorems", 1)
    assert [row[0] for row in rows] == [
        "none",
        *pieces,
        *(f"{a}  {b}" for a in pieces for b in pieces),
    ]
    assert all(written == joined == "".join(cycles.split()) for cycles, written, joined in rows[1:])
    for step, language in ((2, r"(?:foo)+d"), (3, r"ab|aabb|aaabbb|aaaabbbb")):
        rows = _rows("theorems", step)
        for shown, composed, text, direct in rows[1:]:
            assert text == "".join(shown.split())
            expected = "✓" if re.fullmatch(language, text) else "✗"
            assert composed[0] == direct == expected, text
        assert {row[1] for row in rows} == {"✓", "✗ not final", "✗ no edge"}
    assert [row[0] for row in _rows("theorems", 2) if row[1] == "✓"] == ["food", "f  oo  food"]
    assert [row[0] for row in _rows("theorems", 3) if row[1] == "✓"] == ["a  b", "aaab  bb"]


def test_error_where_a_theorem_has_too_many_rows() -> None:
    with pytest.raises(LessonError, match="at most 60 sequences"):
        transduced(FOO, longest=3)


def test_hand_written_masks() -> None:
    # after a*[a*: the note has begun and its text ends with a star, so "[" must not follow
    yes, no, raises = "✓", "✗", "ValueError"
    assert _rows("kbnf", 3) == [
        ("*[", no, yes, raises, no),  # the token *[ was not taken: a*[ was
        ("a*[", no, yes, raises, no),
        ("a*[b", no, yes, raises, no),
        ("*", yes, yes, yes, yes),
        ("[", no, yes, no, no),
        ("a", yes, yes, yes, yes),
        ("]*", yes, yes, yes, yes),
        ("]*a", no, yes, yes, yes),
        ("b[", yes, yes, no, no),
    ]
    world = lessons()["kbnf"].steps[3].world
    before = {row[0]: row[1:] for row in hand_masks(world, after="a").rows}
    assert before["a*[b"] == (yes, yes, raises, no)
    after = {row[0]: row[1:] for row in hand_masks(world, after="*[a").rows}
    assert after["*["] == (no, no, raises, no)


def test_live_rules_follow_the_brackets() -> None:
    rules = [row[1] for row in _rows("masked", 1)]
    assert rules == ["list"] * 4 + ["list ▸ item ▸ list"] * 2 + ["list"] * 2


def test_every_tokenization_of_a_text() -> None:
    assert tokenizations(FOO, "foofood") == [(b"foo", b"food"), (b"f", b"oo", b"food")]
    assert tokenizations(FOO, "fod") == []


def test_algorithm_3_on_the_machine_of_the_article() -> None:
    # its states: 0 nothing read, 1 behind the point, 2 digits before it, 3 digits behind it
    assert _rows("index", 2) == [
        ("A", "∅", "∅", ""),
        (".", "{0, 2}", "0→1  2→1", ""),
        ("42", "{0, 1, 2, 3}", "0→2→2  1→3→3  2→2→2  3→3→3", ""),
        (".2", "{0, 2}", "0→1→3  2→1→3", ""),
        ("1", "{0, 1, 2, 3}", "0→2  1→3  2→2  3→3", ""),
    ]


def test_bridge_tokens_pass_over_the_ends_of_terminals() -> None:
    rows = {row[0]: row[1:] for row in _rows("bridge", 0)}
    assert rows["{"] == ("[{]", "✗")
    assert rows["name"] == ("…string…", "✗")
    assert rows['"'] == ("[string…  …string]", "✗")
    assert rows['·"'] == ("[ws]\u00a0[string…  …ws]\u00a0[string…", "✓")
    assert rows['":·"'] == ("…string]\u00a0[:]\u00a0[ws]\u00a0[string…", "✓")
    assert rows['"⏎'] == ("…string]\u00a0[ws]", "✓")


def test_figure_1_of_domino_by_hand() -> None:
    # 3/4 is 0.415 bits: six of them; and four, an eighth (3), two quarters (2 + 2), a half (1)
    assert _rows("bridge", 1) == [
        ("model alone", '{⏎·"name":·"ann"⏎}', "8", "0", "2.49", "1.24"),
        ("aligned", '{⏎·"name":·"ann"⏎}', "8", "0", "2.49", "1.24"),
        ("greedy", '{⏎⇥"age":·"ten"⏎}', "13", "3", "9.66", "1.67"),
    ]


def test_a_counterexample_to_minimally_invasive() -> None:
    found = _rows("bridge", 2)
    assert found[0] == ("exact mask", "✓", "none", "")
    assert [(row[1], row[3]) for row in found[1:]] == [("✗", '·"'), ("✗", '":·"')]


def test_the_lookahead_a_token_needs() -> None:
    rows = {row[0]: row[1:] for row in _rows("lookahead", 0)}
    assert rows['":·"'] == ("✗", "✗", "✗", "✓", "✓")
    assert rows['"'] == ("✓",) * 5
    assert rows["}"] == ("✗",) * 5


def test_opportunistic_masking_makes_a_mask_for_every_refusal() -> None:
    refused = [row[1] for row in _rows("lookahead", 2) if row[2] == "✗"]
    assert refused == ['·"', '":·"', '"⏎']


def test_figure_2_of_domino_by_hand() -> None:
    # {" 0.415, name 0, ": an eighth, a space a quarter, " a half, ann and "} 0.415: 7.25 bits;
    # without the space: 0.415, 0, 3, a quarter, bob and "} 0.415
    rows = [row[1:] for row in _rows("templates", 1)]
    assert rows[:3] == [
        ('{"name":·"ann"}', "5", "0", "1.66", "1.26"),
        ('{"name":·"ann"}', "7", "2", "7.25", "2.05"),
        ('{"name":"bob"}', "6", "2", "6.25", "2.06"),
    ]
    assert rows[3] == rows[0]


def test_a_healed_border() -> None:
    rows = {row[0]: row[1:] for row in _rows("templates", 2)}
    assert rows['·"'] == ("✗", "✓", "✓")
    assert rows["·"] == ("✓", "✓", "✓")
    # healed: the space, 2 bits, and the quote, 1 bit, become one token of 1 bit
    assert _rows("templates", 3)[0] == (
        "template, healed",
        '{"name":·"ann"}',
        "6",
        "1",
        "5.25",
        "1.83",
    )


def test_naturalised_perplexity() -> None:
    # the first text is natural in other tokens, the second is not natural at all
    assert [row[2:] for row in _rows("templates", 4)] == [
        ("5", "1.26", "5", "1.26"),
        ("7", "2.05", "5", "1.26"),
        ("6", "2.06", "6", "2.06"),
    ]


def test_subterminals_of_figure_3() -> None:
    rows = {row[0]: row[1:] for row in _rows("subterminals", 1)}
    assert rows["+1"] == ("[+]\u00a0[int]", "✓")
    assert rows["12"] == ("[int]  …int]", "✗")
    assert rows["2)"] == ("[int]\u00a0[)]  …int]\u00a0[)]", "✓")
    assert rows["1("] == rows["a"] == ("∅", "✗")


def test_the_masks_of_figure_3e() -> None:
    rows = {row[0]: row[1:] for row in _rows("subterminals", 3)}
    assert rows["+"] == ("✓",) * 4
    assert rows["+1"] == ("✗", "✓", "✓", "✓")
    assert rows["+1)"] == ("✗", "✗", "✓", "✓")
    assert rows["("] == ("✗",) * 4


def test_what_is_counted_on_warm_up_runs() -> None:
    # of five runs one writes : without a space, three are of bob, three of 42
    assert [row[1:3] for row in _rows("speculation", 1)] == [
        *(("{", "100 %"), ("name", "100 %"), (":·", "80 %"), ("bob", "60 %"), (",·", "100 %")),
        *(("age", "100 %"), (":·", "80 %"), ("4", "60 %"), ("2", "60 %"), ("}", "100 %")),
        ("end", "100 %"),
    ]


def test_rejection_sampling_adds_up_to_the_target() -> None:
    # kept: the smaller of q and p, 0.55 together; instead: 0.45, as 0.375 and 0.075 are to each other
    assert _rows("speculation", 3) == [
        ("ann", "12.5 %", "50 %", "100 %", "12.5 %", "37.5 %", "50 %"),
        ("bob", "75 %", "30 %", "40 %", "30 %", "0 %", "30 %"),
        ("cid", "12.5 %", "20 %", "100 %", "12.5 %", "7.5 %", "20 %"),
        ("together", "100 %", "100 %", "", "55 %", "45 %", "100 %"),
    ]


def test_the_ranking_of_appendix_a_is_turned_around() -> None:
    # 0.4 + 0.2 and 0.3 + 0.1; without what crosses terminals 0.2 and 0.3
    assert _rows("terminals", 2) == [
        ("bar(456)", "0.4", "0.3", "0.3", "0.4"),
        ("foo(123)", "0.6", "0.2", "0.2", "0.6"),
        ("best", "foo(123)", "bar(456)", "bar(456)", "foo(123)"),
    ]


def test_what_asking_about_every_token_costs() -> None:
    rows = _rows("online", 0)
    assert rows[-1] == ("together", "", "16", "")
    assert ("12", "1", "2", "✗") in rows
    # every token fails at its first byte, except those that begin like foo or bar; the trie shares first bytes
    counts = [[int(cell.replace(",", "")) for cell in row[1:]] for row in _rows("online", 1)]
    first_bytes = len({token[0] for token in Vocabulary.load("builtin").tokens if token})
    assert all(first_bytes <= trie < flat for flat, trie in counts)


def test_the_likeliest_tokens_alone() -> None:
    assert [row[2:] for row in _rows("online", 2)] == [
        ("∅", "0 %"),
        ("∅", "0 %"),
        ("foo", "12.5 %"),
        ("foo", "12.5 %"),
        ("foo  bar  bar;  f  fo", "25 %"),
    ]


def test_passes_of_the_same_text() -> None:
    assert [row[1:3] for row in _rows("speculation", 0)] == [("11", "11"), ("11", "7")]
    rows = _rows("speculation", 2)
    # worked out: with s = 1 the passes write 3, 1, 3 and 2 tokens; with s = 2 they write 4, 4 and 1;
    # with more ann is found in the first pass, all but the end in the second
    assert [row[2] for row in rows] == ["11", "4", "3", "2", "2"]
    # of those tokens two are forced, and so are the two after the last pass
    assert [row[4:6] for row in rows[1:3]] == [("3 of 4", "2"), ("5 of 5", "3")]
    assert all(row[6] == "✓" for row in rows)


def test_figures_2_and_3_of_tran_thien() -> None:
    # the reference's numbers: 17 states, 48 edges, 1,369 sequences, one choice in 6, 7 and 13
    assert _rows("improper", 1) == [
        ("permissive", "17", "48", "1,369", "3"),
        ("proper", "5", "4", "2", "2"),
    ]


def test_challenge_1_by_hand() -> None:
    # valid: 0.3 + 0.15 · 0.02 = 0.303 William, 0.05 + 0.4 · 0.01 = 0.054 Theodore;
    # permissive: 0.45 of 0.9 each; proper: 0.3 and 0.05 of 0.35
    assert _rows("improper", 2) == [
        ("·Theodore", "15.13 %", "50 %", "14.29 %"),
        ("·William", "84.87 %", "50 %", "85.71 %"),
        ("total variation", "", "0.35", "0.01"),
    ]


def test_calls_where_single_choices_are_skipped() -> None:
    assert [row[2:] for row in _rows("improper", 3)] == [("4", "3"), ("2", "1")]


def test_proper_is_not_minimally_invasive() -> None:
    assert [row[:2] for row in _rows("improper", 4)] == [("permissive", "✓"), ("proper", "✗")]


def test_figure_5_of_tran_thien() -> None:
    assert _rows("product", 0) == [
        ("2", "16", "13", "8", "6"),
        ("3", "61", "40", "17", "10"),
        ("4", "232", "121", "33", "15"),
        ("5", "880", "364", "60", "21"),
    ]


def test_appendix_figure_9() -> None:
    # six tokens after anything, one after a, five after aa
    made = table(Kind("classes"), lessons()["product"].steps[1].world)
    assert made.caption == "3 states, 12 edges"
    assert set(made.rows) == {
        ("0", "the start  b  c  ab  ac", "nothing"),
        ("1", "a", "a  b  c  aa  ac"),
        ("2", "aa", "b"),
    }


def test_product_is_smaller_than_its_factors() -> None:
    # aab as a, ab; ab as ab; what begins with aa is dead
    assert _rows("product", 2)[1] == ("proper", "3", "3", "2", "1")


def test_a_vegas_configuration_is_stored_once() -> None:
    # k 1, = 1, a value 4 + 4, ; 1, l 1; then =, a value and ; again: 22 edges, 12 kinds of them
    step = lessons()["product"].steps[4]
    assert step.table is not None
    made = table(step.table, step.world)
    assert made.caption == "22 token edges, 12 of them stored"
    assert [row[3:] for row in made.rows] == [
        *(("1", ""), ("1", ""), ("8", ""), ("1", ""), ("1", "")),
        *(("1", "as 2"), ("8", "as 3"), ("1", "as 4")),
    ]


def test_pairs_are_not_enough_where_pieces_are_cut() -> None:
    rows = {row[0]: row[1:] for row in _rows("product", 3)}
    assert rows["⏎  ·  ⏎"] == ("✓", "⏎·  ⏎", "✗")
    assert rows["·  ·  a"] == ("✗", "·  ·  a", "✓")


def test_table_1_of_tran_thien() -> None:
    assert _rows("merges", 0) == [
        ("characters", "a  a  a  a  b  a  a  c  a  c"),
        ("after (a, b)", "a  a  a  [ab]  a  a  c  a  c"),
        ("after (a, a)", "[aa]  a  ab  [aa]  c  a  c"),
        ("after (a, c)", "aa  a  ab  aa  c  [ac]"),
    ]


def test_two_meanings_of_encoding_differ() -> None:
    assert ("aaaaa", "aaaaa", "aa  aaa", "✗") in _rows("merges", 1)


def test_a_token_has_one_live_split() -> None:
    rows = {row[1]: row[2:] for row in _rows("merges", 2)}
    assert rows["(a, bc)"] == ("✗", "abc is made by (ab, c)")
    assert rows["(ab, c)"] == ("✓", "makes abc")


def test_sequences_by_their_pairs() -> None:
    assert _rows("merges", 4)[1] == ("aaaa  aa  ab  b", "aaaa  aa  abb", "✗", "ab  b")


def test_the_cases_of_figure_4() -> None:
    # the reference's table of cases, states and all; a final state is in brackets
    rows = {row[0]: set(row[2].replace("\u00a0", " ").split("  ")) for row in _rows("direct", 1)}
    assert rows["neither"] == {"0 ab (2)"}
    assert rows["left by others"] == {"0 a 1", "0 ab (2)", "1 y (3)"}
    assert rows["it accepts"] == {"0 a (1)", "0 ab (2)"}
    assert rows["entered by others"] == {"0 ab (2)", "1 b (2)", "3 x 1"}
    assert rows["it starts"] == {"0 ab (2)", "1 b (2)"}
    assert rows["both"] == {"0 x 2", "1 a 5", "1 ab (3)", "2 b (3)", "2 y (4)", "5 y (4)"}
    assert rows["both, with a loop"] == {
        *("0 x 2", "1 a 5", "1 ab (3)", "2 a 5", "2 ab (3)", "2 b (3)", "2 y (4)", "2 z 2"),
        *("5 a 5", "5 ab (3)", "5 y (4)", "5 z 2"),
    }


def test_figures_of_the_embedded_vocabulary() -> None:
    text = " ".join(lessons()["composition"].steps[4].paragraphs)
    words = [token for token in Vocabulary.load("builtin").tokens if token is not None]
    reported = (len(words), detokenizer(words).states, merged_detokenizer(words).states)
    assert (
        "{:,} tokens of the embedded model this reduces {:,} states to {:,}".format(*reported)
        in text
    )


def test_error_for_terminals_that_spell_nothing() -> None:
    rows = [{"score": "1", "tokens": ["x"]}]
    with pytest.raises(LessonError, match="expected terminals that make up 'x'"):
        table(Kind("cuts", {"rows": rows, "terminals": ["y"]}), FOO)


def test_error_for_a_run_that_was_not_recorded() -> None:
    for name in ("nothing", "../person"):
        with pytest.raises(LessonError, match="expected an example with a recorded run"):
            table(Kind("recorded run", {"example": name}), FOO)


def test_literals_of_types() -> None:
    rows = {name: "".join(cells) for name, *cells in _rows("dataclasses", 1)}
    # the texts are 1, 1.5, '1', None, [1] and (1,)
    assert rows == {
        "int": "✓✗✗✗✗✗",
        "float": "✓✓✗✗✗✗",
        "str": "✗✗✓✗✗✗",
        "int | None": "✓✗✗✓✗✗",
        "Literal[1, '1']": "✓✗✓✗✗✗",
        "list[int]": "✗✗✗✗✓✗",
        "tuple[int, ...]": "✗✗✗✗✗✓",
    }


def test_value_of_a_call() -> None:
    assert [row[1:] for row in _rows("dataclasses", 0)] == [
        ("✓", "P(x=3, y=-4)"),
        ("✓", "P(x=3, y=0)"),
        ("✗", "nothing"),
        ("✗", "nothing"),
    ]
    # the default is filled in, a whole number is read as a float, and nothing is run
    reported = [row[2] for row in _rows("dataclasses", 3)]
    assert reported[:2] == ["P(c=C.RED, w=1.0)", "P(c=C.RED, w=2.0)"]
    assert reported[2:] == ["nothing"] * 3


def test_what_schemas_accept() -> None:
    def rows(step: int) -> dict[str, str]:
        return {name: "".join(cells) for name, *cells in _rows("json_schema", step)}

    # b alone; a and b; b and a; a alone; 1.0 for 1
    assert rows(0) == {"as it is": "✓✓✗✗✓", "nothing required": "✓✓✗✓✓", "b named first": "✓✗✓✗✓"}
    # none, one, two and three members
    assert rows(1) == {"as it is": "✓✓✓✓", "minProperties: 2": "✗✗✓✓", "maxProperties: 1": "✓✓✗✗"}
    # the texts are 8, 20, 24, 15.0, "8", "ab", "\u0061b" and "2024-02-29"
    assert rows(2) == {
        "from 8 to 23": "✓✓✗✗✗✗✗✗",
        "multipleOf: 5": "✗✓✗✗✗✗✗✗",
        "pattern: ^a": "✗✗✗✗✗✓✓✗",
        "format: date": "✗✗✗✗✗✗✗✓",
        "maxLength: 2": "✗✗✗✗✓✓✓✗",
    }
    # the texts are 4, 6, 12 and "x", which multipleOf has nothing against
    assert rows(3) == {"anyOf": "✓✓✓✗", "oneOf": "✓✓✗✗", "allOf": "✗✗✓✗", "not": "✗✓✗✗"}


def test_edges_of_a_wildcard_are_those_of_its_composition() -> None:
    world = lessons()["labels"].steps[4].world
    rows, tokens = _rows("labels", 4), Vocabulary.load("builtin").tokens
    for state, count, _, targets in rows:
        ends = [world.dfa.run(token, int(state)) for token in tokens if token]
        reached = [end for end in ends if end != DEAD]
        assert (f"{len(reached):,}", str(len(set(reached)))) == (count, targets)


def test_labels_and_text_side_by_side() -> None:
    by_label = "read by TEXT_TOKEN, a token of text"
    assert _rows("labels", 2) == [
        ("un", by_label, "6"),
        ("one", by_label, "6"),
        ("do", "read as text", "6"),
        ("ne", "read as text", "1"),
    ]


def test_how_many_tokens_a_label_has() -> None:
    tokens = Vocabulary.load("builtin").tokens
    text = [token for token in tokens if token is not None]
    lines = [token for token in text if b"\n" not in token]
    size = f"of {len(tokens):,}"
    assert _rows("labels", 0) == [
        ("builtin", "PARAGRAPH_TOKEN", f"{len(lines):,} {size}"),
        ("builtin", "TEXT_TOKEN", f"{len(text):,} {size}"),
    ]
