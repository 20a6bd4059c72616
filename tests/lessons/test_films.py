"""The films' frames compared with results worked out manually."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.app.lessons.composition_films import alive_pairs, compose_steps
from workbench.app.lessons.films import film
from workbench.app.lessons.index_films import read_states
from workbench.app.lessons.lesson import Film, Frame, Kind, LessonError
from workbench.app.lessons.lesson_reader import lessons
from workbench.app.lessons.lesson_world import World
from workbench.app.lessons.questions import quantity
from workbench.app.lessons.stack_films import Tree, tree_of
from workbench.constraint.engine.compose import compose
from workbench.drawing.transducers import merged_detokenizer
from workbench.grammar.notations import Notation

FOO = World(text="(foo)+d", tokens=("f", "oo", "foo", "for", "food"))
ANBN = World(
    notation=Notation.KBNF,
    text="S ::= 'ab' | 'a' S 'b';",
    start="S",
    tokens=("a", "b", "bb", "aaab"),
)


def _made(kind: str, world: World, given: object = None, **how: object) -> Film:
    return film(Kind(kind, how), world, given)  # type: ignore[arg-type]  # tests hand in anything


def _lit(made: Film, view: int = 0) -> list[tuple[str, ...]]:
    return [frame.views[view].lit for frame in made.frames]


def _row(frame: Frame, name: str) -> tuple[str, ...]:
    return next(row.chips for row in frame.rows if row.name == name)


# -- reading ----------------------------------------------------------------------------------


def test_an_automaton_reads_a_text_state_by_state() -> None:
    made = _made("characters", FOO, "food")
    # Koo et al., Figure 5 (left): 0 f 1 o 2 o 3 d 4
    assert _lit(made) == [("0",), ("1",), ("2",), ("3",), ("4",), ("4",)]
    assert made.frames[-1].good is True
    assert made.opens_at == -1


def test_the_character_just_read_is_marked_and_the_next_one() -> None:
    rows = [frame.rows[0] for frame in _made("characters", FOO, "fod").frames]
    # nothing is read in the first frame; in the last d is still to be read
    assert [(row.now, row.next) for row in rows] == [(-1, 0), (0, 1), (1, 2), (1, 2)]
    rows = [frame.rows[0] for frame in _made("characters", FOO, "food").frames]
    assert (rows[-1].now, rows[-1].next) == (3, -1)


def test_rejected_text_shows_where_it_fails() -> None:
    made = _made("characters", FOO, "fod")
    assert _lit(made) == [("0",), ("1",), ("2",), ()]
    assert made.frames[-1].say == "No edge for d leaves state 2: the text is rejected."
    assert made.frames[-1].good is False


def test_a_text_that_ends_too_early_is_rejected() -> None:
    made = _made("characters", FOO, "foo")
    assert made.frames[-1].say == "It ends in state 3, which is not final: rejected."
    assert made.frames[-1].good is False


def test_a_nondeterministic_machine_is_in_several_states() -> None:
    made = _made("nondeterministic", World(text="a+|ab"), "ab")
    assert _lit(made) == [("0", "3"), ("1", "2", "3", "4"), ("1",)]
    assert [frame.good for frame in made.frames] == [None, None, True]


# -- tokens ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("figure", "text", "written", "accepted"),
    [
        ("left", "ab", "x", True),
        ("left", "a", "x", False),
        ("centre", "aaa", "xox", True),
        ("centre", "aa", "xo", False),
        ("right", "bb", "[bb]", True),
        ("right", "", "[]", None),
        ("right", "ab", "[a", False),
    ],
)
def test_the_transducers_of_figure_3(
    figure: str, text: str, written: str, accepted: bool | None
) -> None:
    made = _made("transducer", World(text="a"), text, figure=figure)
    assert "".join(_row(made.frames[-1], "writes")) == written
    assert made.frames[-1].good is accepted


def test_the_detokenizing_transducer_writes_what_tokens_spell() -> None:
    made = _made("detokenize", FOO, tuple(FOO.vocabulary.ids("foo", "f", "food")))
    assert ["".join(_row(frame, "writes")) for frame in made.frames[1:]] == [
        "foo",
        "foof",
        "fooffood",
    ]
    assert (
        made.frames[1].say
        == "It writes fo without reading, then reads foo, writes o, and is at the root again."
    )


def test_algorithm_1_adds_a_cycle_a_token() -> None:
    made = _made("algorithm 1", FOO)
    states = [len(frame.views[0].nodes or ()) for frame in made.frames]
    # root; f needs none, oo one, foo and for two, food three
    assert states == [1, 1, 2, 4, 6, 9, 9]


def test_the_composition_of_figure_5() -> None:
    # pairs, worked out: trie states are 1 = o, 2 = f, 3 = fo, 4 = foo
    pairs = [pair for pair, _ in compose_steps(FOO.dfa, merged_detokenizer(FOO.words))]
    assert pairs == [(0, 0), (1, 0), (1, 2), (2, 1), (2, 3), (3, 0), (3, 4), (4, 0)]
    made = _made("composition", FOO)
    assert _row(made.frames[2], "worklist") == ("(1, 2)", "(2, 1)")
    assert "does not read r in state 2" in made.frames[5].say
    # the pair (2, fo): the automaton in 2, the transducer behind f and o
    assert [view.lit for view in made.frames[5].views] == [("2",), ("3",), ("2-3",), ()]


def test_dead_pairs_are_named() -> None:
    world = World(text="xyz|xw", tokens=("x", "y", "w"))
    steps = list(compose_steps(world.dfa, merged_detokenizer(world.words)))
    alive = alive_pairs(world.dfa, [edge for _, found in steps for edge in found])
    dead = [pair for pair, _ in steps if pair not in alive]
    assert [pair[1] for pair in dead] == [0]  # after y, at the root, where z has no token
    last = _made("composition", world).frames[-1]
    assert len(last.views[2].dead) == 1


WORDS = st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=4, unique=True)


REGEXES = st.recursive(
    st.sampled_from(["a", "b", "c"]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda p: f"({p[0]}|{p[1]})"),
        st.tuples(inner, inner).map("".join),
        inner.map(lambda p: f"({p})*"),
    ),
    max_leaves=5,
)


@settings(max_examples=40, deadline=None)
@given(REGEXES, WORDS)
def test_the_pairs_at_the_root_are_the_states_of_the_composed_machine(
    regex: str, words: list[str]
) -> None:
    world = World(text=regex, tokens=(*words, "a", "b", "c"))
    if len(set(world.tokens)) < len(world.tokens):
        world = World(text=regex, tokens=tuple(dict.fromkeys(world.tokens)))
    steps = list(compose_steps(world.dfa, merged_detokenizer(world.words)))
    joined = [edge for _, found in steps for edge in found]
    fsa = compose(world.dfa, world.vocabulary)
    mine = {
        (edge.source[0] if edge.source[1] == 0 else None, edge.reads, edge.target[0])
        for edge in joined
        if edge.reads is not None
    }
    theirs = {
        (world.vocabulary.tokens[token_id], target)
        for state in range(len(fsa))
        for token_id, target in fsa.edges(state)
    }
    assert {(reads, target) for _, reads, target in mine} == theirs


def test_the_index_of_willard_and_louf() -> None:
    # their example: A is never read; after the point 42 and 1 alone
    made = _made("index", World(text=r"([0-9]*)?\.?[0-9]*", tokens=("A", ".", "42", ".2", "1")))
    assert _row(made.frames[-1], "σ(0)") == (".", "42", ".2", "1")
    assert _row(made.frames[-1], "σ(1)") == ("42", "1")
    assert len(made.frames) == 1 + 5 * 2 + 1


def test_a_walk_stops_where_a_token_fails() -> None:
    assert read_states(FOO.dfa, 0, b"for") == [0, 1, 2]
    assert read_states(FOO.dfa, 0, b"food") == [0, 1, 2, 3, 4]


def test_taken_tokens_move_the_machine_and_change_the_mask() -> None:
    made = _made("tokens", FOO, tuple(FOO.vocabulary.ids("f", "oo", "food")))
    assert _lit(made) == [("0",), ("1",), ("3",), ("4",)]
    allowed = [{c.text for c in frame.choices if c.allowed} for frame in made.frames]
    assert allowed == [{"f", "foo", "food"}, {"oo"}, {"f", "foo", "food"}, {"end"}]


def test_forbidden_token_has_a_reason() -> None:
    made = _made("tokens", FOO, tuple(FOO.vocabulary.ids("foo", "for")))
    assert made.frames[-1].say == "for is not allowed: reads fo, then needs 'o'."


def test_half_a_character_needs_its_other_half() -> None:
    world = World(text="[éè]!", tokens=("é", "<0xC3>", "<0xA9>", "!"))
    made = _made("bytes", world, (1,))
    # è ends with a byte that no token has
    why = {c.text: c.why for c in made.frames[-1].choices}
    assert why == {
        "é": "needs <0xA9>",
        "<0xC3>": "needs <0xA9>",
        "<0xA9>": "",
        "!": "needs <0xA9>",
        "end": "the text may not end yet: it needs <0xA9>",
    }


def test_error_for_tokens_there_are_not() -> None:
    with pytest.raises(LessonError, match="expected tokens of this lesson"):
        _made("tokens", FOO, (99,))


# -- stacks ------------------------------------------------------------------------------------


def test_the_stack_of_anbn_grows_and_shrinks() -> None:
    made = _made("stack", ANBN, "aaabbb")
    place = "S → a S • b"
    heights = [_row(frame, "stack").count(place) for frame in made.frames]
    # the first a is read by the outermost S, which no rule called
    assert heights == [0, 0, 1, 2, 1, 0, 0, 0]
    assert made.frames[-1].good is True


def test_tokens_push_and_pop_as_in_figure_7() -> None:
    made = _made("token stack", ANBN, tuple(ANBN.vocabulary.ids("aaab", "bb")))
    assert made.frames[1].say == "aaab pushes 2 symbols and pops one symbol."
    assert made.frames[2].say == "bb pops one symbol."
    assert {c.text for c in made.frames[2].choices if c.allowed} == {"end"}


def test_a_machine_that_guesses_has_several_stacks() -> None:
    made = _made(
        "stack",
        World(notation=Notation.KBNF, text="S ::= 'i' S | 'i' S 'e' S | 'x';", start="S"),
        "iix",
    )
    assert [row.name for row in made.frames[3].rows] == ["reads", "stack 1", "stack 2"]


def test_a_stack_symbol_names_the_call_that_is_waited_for() -> None:
    # both alternatives of item share one state; the pending call is that of the list
    world = World(
        notation=Notation.KBNF,
        text="list ::= '[' item (',' item)* ']'; item ::= list | 'x';",
        start="list",
    )
    made = _made("rules", world, "[[x")
    assert _row(made.frames[3], "stack") == ("S", "list → [ item • ]", "item → list •")


def test_the_trees_of_the_dangling_else() -> None:
    # i (i x e x) and i (i x) e x
    made = _made(
        "trees", World(notation=Notation.KBNF, text="S ::= 'i' S | 'i' S 'e' S | 'x';", start="S")
    )
    assert [row.chips for row in made.frames[0].rows] == [
        ("S(i S(i S(x) e S(x)))",),
        ("S(i S(i S(x)) e S(x))",),
    ]
    assert [len(graph.nodes) for graph in made.graphs] == [9, 9]
    assert tree_of("S(i S(x))", ("S",)) == Tree("S", (Tree("i"), Tree("S", (Tree("x"),))))


def test_error_when_a_grammar_is_not_ambiguous() -> None:
    with pytest.raises(LessonError, match="expected an ambiguous grammar"):
        _made("trees", World(notation=Notation.KBNF, text="S ::= 'a' S | 'b';", start="S"))


def test_the_engine_of_kbnf_ends_eagerly() -> None:
    world = World(notation=Notation.KBNF, text="start ::= 'a'+;", tokens=("a", "aa"))
    made = _made("eager", world, (0, 0))
    assert [_row(frame, "engine allows") for frame in made.frames] == [
        ("a", "aa"),
        ("nothing",),
        ("nothing",),
    ]
    assert _row(made.frames[1], "exact mask allows") == ("a", "aa", "end")
    assert "INVALID" in made.frames[2].say


# -- chances -----------------------------------------------------------------------------------


def test_surprisal_is_the_mask_and_what_is_left() -> None:
    chances = {"": {"yes": 0.125, "no": 0.125, "maybe": 0.75}}
    world = World(text="yes|no", tokens=("yes", "no", "maybe"), chances=chances)
    made = _made("chances", world, tokens=["yes"])
    assert _row(made.frames[0], "bits") == ("surprisal 3 bits", "mask 2 bits", "after it 1 bit")
    bars = {bar.text: (round(bar.before, 6), bar.after) for bar in made.frames[0].bars}
    assert bars["maybe"] == (0.75, None)
    assert bars["yes"][0] == 0.125
    assert bars["yes"][1] == pytest.approx(0.5)


def test_any_figure_of_the_paper_can_be_named() -> None:
    assert len(_made("figure", FOO, name="3-right").graphs[0].nodes) == 4
    assert len(_made("figure", FOO, name="domino-4").graphs[0].nodes) == 3


def test_error_for_an_unknown_figure() -> None:
    with pytest.raises(LessonError, match="expected a figure, not 'pumping'"):
        _made("pumping", FOO)


def test_error_for_settings_a_figure_does_not_have() -> None:
    with pytest.raises(LessonError, match="the figure 'subsets' cannot be made") as reported:
        _made("subsets", FOO, text="a")
    assert reported.value.hint == "it has no settings"


# -- budgets -----------------------------------------------------------------------------------

ONES = World(text=r"\[(1(,1)*)?\]", tokens=("[", "]", "1", ",", ",1", "1]"))


def test_distances_are_beside_the_states_and_found_backwards() -> None:
    made = film(Kind("distances"), ONES)
    labels = {node.id: node.label for node in made.graphs[0].nodes}
    assert sorted(labels.values()) == ["0: 3", "1: 2", "2: 2", "3: 1", "4: 2"]
    assert [len(frame.views[0].lit) for frame in made.frames] == [1, 3, 1]
    assert labels[made.frames[0].views[0].lit[0]] == "3: 1"


def test_a_budget_forbids_what_cannot_end() -> None:
    made = film(Kind("within budget", {"budget": 4, "tokens": ("[", "1", ",1", ",1")}), ONES)
    assert [frame.rows[-1].chips for frame in made.frames[:3]] == [
        ("4 tokens left", "3 tokens needed"),
        ("3 tokens left", "2 tokens needed"),
        ("2 tokens left", "2 tokens needed"),
    ]
    assert made.frames[-1].say == (
        ",1 is not allowed: 2 tokens would be needed after it, and 1 token would be left."
    )
    allowed = [choice.text for choice in made.frames[2].choices if choice.allowed]
    assert allowed == ["]"]


def test_error_a_text_that_never_ends() -> None:
    with pytest.raises(LessonError, match="expected the beginning of an accepted text"):
        quantity(Kind("fewest tokens", {"after": "]"}), ONES)


# -- other engines -----------------------------------------------------------------------------


def _engine_film(step: int, *taken: str) -> Film:
    found = lessons()["engines"].steps[step]
    assert found.figure is not None
    return film(found.figure, found.world, tuple(found.world.vocabulary.ids(*taken)))


def test_the_cache_leaves_tokens_to_the_stack() -> None:
    last = _engine_film(1, "[", "[").frames[-1]
    assert _row(last, "stack decides") == ("], ✓", "]] ✓", "]]] ✗")
    assert [choice.text for choice in last.choices if choice.allowed] == [
        "[", "]", '"', '"a', "],", "]]", '["',
    ]  # fmt: skip


def test_the_lexer_reads_alone_until_a_lexeme_ends() -> None:
    made = _engine_film(2, "[", '"a', "a", '",')
    rows = [next(row.name for row in f.rows if row.name.startswith("row")) for f in made.frames]
    # the bracket ends before the quote, and the string and the comma with the last token
    assert rows[0] == rows[1]
    assert rows[2] == rows[3] == "row 1"
    assert rows[4] != "row 1"
    assert [frame.views[0].lit for frame in made.frames] == [("0",), (), ("1",), ("1",), ()]


def test_a_token_that_the_store_allows_wrongly_is_taken() -> None:
    made = _engine_film(4, "[", '"a', '"],')
    assert _row(made.frames[2], "allowed wrongly") == ('"],',)
    assert made.frames[-1].say == '"], was allowed wrongly: no token can follow.'
    assert not any(choice.allowed for choice in made.frames[-1].choices)


def test_an_edge_reduces_and_reads_in_one_step() -> None:
    made = _engine_film(5, "[", "[", '"a', '"]', ",")
    assert _row(made.frames[-1], "edges") == (",: 1 1 6 8 ⇒ 1 6 7",)
    assert _row(made.frames[-1], "stack") == ("0", "1", "6", "7")
    assert made.frames[-2].views[0].lit == ("8",)
    refused = _engine_film(5, "]").frames[-1]
    assert refused.say.startswith("] is not allowed: needs")
