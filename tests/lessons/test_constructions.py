"""The films of constructions compared with the engine, and every frame with its definition."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.automata.machines import dfa_of
from workbench.app.lessons.composition_films import MAX_PAIRS, MAX_TOKENS, few_tokens
from workbench.app.lessons.construction_films import (
    MAX_SETS,
    CharacterNfa,
    Partitions,
    characters_of,
    classes_of,
    deterministic,
    merged,
    subset_steps,
)
from workbench.app.lessons.constructions import (
    Construction,
    Positions,
    character_nfa,
    construct,
    missing_construction,
    nfa_of,
    part_of,
    parts_of,
)
from workbench.app.lessons.films import film
from workbench.app.lessons.lesson import Film, Frame, Kind, LessonError
from workbench.app.lessons.lesson_world import World
from workbench.automata.code_points import fold
from workbench.automata.determinize import determinize
from workbench.automata.nfa import NfaBuilder
from workbench.automata.to_regex import StateElimination
from workbench.base.dfa import DEAD
from workbench.base.errors import LimitError, WorkbenchError
from workbench.base.limits import LIMITS
from workbench.base.source import Source
from workbench.constraint.engine.compose import compose
from workbench.drawing.graph import Graph
from workbench.grammar.grammar import Grammar
from workbench.pushdown.textbook_pda import pda
from workbench.syntax.ranges import contains, intersection, union
from workbench.syntax.regex.parser import parse_regex
from workbench.vocabulary.toy_vocabularies import all_bytes, toy

REGEXES = st.recursive(
    st.sampled_from(["a", "b", "c", "é", "[ab]", "[^a]", "a?"]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda p: f"({p[0]}|{p[1]})"),
        st.tuples(inner, inner).map("".join),
        inner.map(lambda p: f"({p})*"),
        inner.map(lambda p: f"({p}){{1,2}}"),
    ),
    max_leaves=5,
)
TEXTS = st.text("abcé", max_size=6)


def _row(frame: Frame, name: str) -> tuple[str, ...]:
    return next(row.chips for row in frame.rows if row.name == name)


def _nfa(text: str) -> CharacterNfa:
    return CharacterNfa.of(nfa_of(Grammar.from_regex(text)), text)


def _film(text: str, construction: Construction) -> Film:
    return construct(
        Grammar.from_regex(text), construction, toy(["a", "b", "c", "ab", "é", "ba", "d"])
    )


# -- positions --------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(REGEXES, TEXTS)
def test_a_path_through_the_positions_accepts_what_the_engine_accepts(
    regex: str, text: str
) -> None:
    grammar = Grammar.from_regex(regex)
    assert grammar.regex is not None
    positions = Positions(grammar.regex, 1_000)
    here = {0}
    for character in text:
        after = {p for s in here for p in _after(positions, s)}
        here = {p for p in after if contains(positions.letters[p - 1], ord(character))}
    assert bool(here & positions.finals) == grammar.accepts(text)


def _after(positions: Positions, state: int) -> list[int]:
    if state == 0:
        return list(positions.whole.first)
    return positions.follow.get(state, [])


def test_the_positions_of_a_textbook_example() -> None:
    # Aho, Lam, Sethi & Ullman 2006, figure 3.60: followpos of (a|b)*abb#, without the end marker
    positions = Positions(parse_regex(_source("(a|b)*abb")), 10)
    follow = {number: set(after) for number, after in positions.follow.items()}
    assert follow == {1: {1, 2, 3}, 2: {1, 2, 3}, 3: {4}, 4: {5}}
    assert set(positions.whole.first) == {1, 2, 3}
    assert set(positions.finals) == {5}


def _source(text: str):  # type: ignore[no-untyped-def]

    return Source(text, "regex")


def test_error_when_a_regex_has_too_many_positions() -> None:
    with pytest.raises(LimitError, match="at most 30"):
        _film("(abc){11}", Construction.POSITIONS)


# -- the subset construction ------------------------------------------------------------------


def test_the_subset_construction_of_figure_2() -> None:
    # worked out from Koo et al., Figure 2: {0,3} –a→ {1,2,3,4} –a→ {1,3,4} –a→ itself, –b→ {1}
    steps = [
        (set(s.source), chr(s.letters[0][0]), set(s.target), s.is_new)
        for s in subset_steps(_nfa("a+|ab"))
    ]
    assert steps == [
        ({0, 3}, "a", {1, 2, 3, 4}, True),
        ({1, 2, 3, 4}, "a", {1, 3, 4}, True),
        ({1, 2, 3, 4}, "b", {1}, True),
        ({1, 3, 4}, "a", {1, 3, 4}, False),
    ]


def test_the_film_of_it_grows_and_its_worklist_empties() -> None:
    made = film(Kind("subsets"), World(text="a+|ab"))
    grown = [len(frame.views[1].nodes or ()) for frame in made.frames]
    assert grown == [1, 2, 3, 4, 4, 4]
    assert _row(made.frames[-1], "worklist") == ("empty",)
    assert _row(made.frames[3], "worklist") == ("{1, 2, 3, 4}", "{1, 3, 4}", "{1}")


@settings(max_examples=60, deadline=None)
@given(REGEXES)
def test_every_frame_of_the_subset_construction_shows_closures(regex: str) -> None:
    nfa = _nfa(regex)
    made = _film(regex, Construction.SUBSETS)
    names = {node.id: node.label for node in made.graphs[1].nodes}
    for frame in made.frames[1:-1]:
        above, below = frame.views
        here = frozenset(map(int, above.lit))
        assert here == nfa.closure(here)
        assert names[below.lit[0]] == nfa.shown(here)
        (arc,) = below.arcs
        edge = made.graphs[1].edges[arc]
        assert edge.target == below.lit[0]
        assert {edge.source, edge.target} <= (below.nodes or set())


@settings(max_examples=60, deadline=None)
@given(REGEXES, TEXTS)
def test_the_last_frame_of_the_subset_construction_is_the_engines_automaton(
    regex: str, text: str
) -> None:
    made = _film(regex, Construction.SUBSETS)
    engine = determinize(nfa_of(Grammar.from_regex(regex)))
    last = made.frames[-1].views[1]
    nfa = _nfa(regex)
    sets = {nfa.closure(nfa.initials), *(step.target for step in subset_steps(nfa))}
    assert len(last.nodes or ()) == len(sets)
    # the engine's sets are without states that only ε-edges leave
    reading = {s for s in nfa.edges if nfa.edges[s]} | nfa.finals
    kept = {states & reading for states in sets}
    assert len(kept) - len(last.dead) == len(fold(engine).states)
    here = nfa.closure(nfa.initials)
    for character in text:
        here = nfa.closure(nfa.moved(here, ord(character)))
    assert bool(here & nfa.finals) == engine.accepts(text.encode())


def test_the_film_of_an_exponential_construction_ends_at_its_limit() -> None:
    made = _film("(a|b)*a(a|b){12}", Construction.SUBSETS)
    assert len(made.graphs[1].nodes) == MAX_SETS
    assert f"more than {MAX_SETS} sets" in made.frames[-1].say


def test_characters_between_two_sets_are_one_step() -> None:
    steps = merged(subset_steps(_nfa("[a-f]x|[d-z]x")))
    assert [(s.letters, s.is_new) for s in steps if 0 in s.source] == [
        (((97, 99),), True),
        (((100, 102),), True),
        (((103, 122),), True),
    ]


@given(st.lists(st.sets(st.integers(0, 40), min_size=1), max_size=5))
def test_classes_are_the_fewest_of_which_every_set_is_a_union(sets: list[set[int]]) -> None:
    ranges = [union(*(((n, n),) for n in sorted(one))) for one in sets]
    classes = classes_of(ranges)
    members = [{n for low, high in one for n in range(low, high + 1)} for one in classes]
    assert len(members) == len({tuple(n in one for one in sets) for s in sets for n in s})
    for one in sets:
        assert set().union(*(m for m in members if m & one)) == one
    assert not any(intersection(a, b) for i, a in enumerate(classes) for b in classes[:i])


def test_error_where_a_regex_reads_bytes_that_are_no_characters() -> None:
    builder = NfaBuilder()
    first, last = builder.new_state(), builder.new_state()
    builder.edge(first, 0xC3, 0xC3, last)
    nfa = builder.build(first, {last})
    with pytest.raises(LessonError, match="bytes that are no characters"):
        CharacterNfa.of(nfa, "half a character")
    with pytest.raises(LessonError, match="bytes that are no characters"):
        characters_of(determinize(nfa))


DRAWN = """\
initial even
final even, done
even -> odd : a
odd -> even : a, bc
even -> even : [b-d]
odd -> done : ε
"""


def test_the_film_of_a_drawn_machine_has_its_authors_states() -> None:
    grammar = Grammar.from_machine(DRAWN)
    made = construct(grammar, Construction.SUBSETS)
    names = [node.label for node in made.graphs[0].nodes]
    assert names[:3] == ["even", "done", "odd"]
    assert [name.partition("·")[0] for name in names[3:]] == ["odd"] * len(names[3:])
    assert made.frames[0].say == "The first set is the start state, which no ε-edge leaves: {even}."
    assert any("{done, odd, " in node.label for node in made.graphs[1].nodes)


@settings(max_examples=80, deadline=None)
@given(st.text("abcd", max_size=7))
def test_a_drawn_machine_accepts_what_the_engine_accepts(text: str) -> None:
    grammar = Grammar.from_machine(DRAWN)
    nfa = character_nfa(grammar)
    here = nfa.closure(nfa.initials)
    for character in text:
        here = nfa.closure(nfa.moved(here, ord(character)))
    assert bool(here & nfa.finals) == grammar.accepts(text)
    rounds = Partitions(deterministic(nfa)).rounds
    assert grammar.dfa is not None
    assert len(rounds[-1]) == len(grammar.dfa)


# -- minimisation -----------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(REGEXES)
def test_the_rounds_end_with_a_block_a_state_of_the_minimal_machine(regex: str) -> None:
    made = _film(regex, Construction.MINIMAL)
    engine = dfa_of(regex)
    rounds = Partitions(deterministic(_nfa(regex))).rounds
    assert len(rounds[-1]) == len(made.graphs[1].nodes) == len(fold(engine).states)
    for before, after in pairwise(rounds):
        assert all(any(piece <= block for block in before) for piece in after)


@settings(max_examples=30, deadline=None)
@given(REGEXES)
def test_a_round_separates_what_texts_of_its_length_distinguish(regex: str) -> None:
    machine = deterministic(_nfa(regex))
    partitions = Partitions(machine)
    for length, blocks in enumerate(partitions.rounds):
        verdicts = {state: tuple(_verdicts(partitions, state, length)) for state in machine.states}
        assert len(set(verdicts.values())) == len(blocks)


def _verdicts(partitions: Partitions, state: int, length: int) -> Iterator[bool | None]:
    """Whether each text of at most this length is accepted, None where it cannot be read."""
    yield None if state == DEAD else state in partitions.machine.finals
    if length:
        for target in partitions.targets.get(state, [DEAD] * len(partitions.alphabet)):
            yield from _verdicts(partitions, target, length - 1)


def test_the_rounds_of_a_machine_that_shrinks() -> None:
    made = film(Kind("minimise"), World(text="ab|cb"))
    assert [_row(frame, "blocks") for frame in made.frames] == [
        ("{0, 1, 2}", "{3}"),
        ("{0}", "{1, 2}", "{3}"),
        ("{0}", "{1, 2}", "{3}"),
    ]
    assert (len(made.graphs[0].nodes), len(made.graphs[1].nodes)) == (4, 3)
    assert "3 instead of 4" in made.frames[-1].say


# -- state elimination ------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(REGEXES)
def test_every_frame_of_the_elimination_has_the_same_language(regex: str) -> None:
    grammar = Grammar.from_regex(regex)
    made = construct(grammar, Construction.REGEX)
    for graph in made.graphs:
        whole = _finished(graph)
        assert wb.equivalent(grammar, Grammar.from_regex(whole))
    (last,) = made.frames[-1].rows
    result = "" if last.chips == ("ε",) else last.chips[0]
    assert wb.equivalent(grammar, Grammar.from_regex(result))


def _finished(graph: Graph) -> str:
    """The regex of a picture, its states eliminated in the order of their names."""
    edges = {(e.source, e.target): "" if e.title == "ε" else e.title for e in graph.edges}
    for state in sorted({n.id for n in graph.nodes} - {"begin", "end"}):
        loop = edges.pop((state, state), None)
        into = {s: r for (s, t), r in edges.items() if t == state}
        out = {t: r for (s, t), r in edges.items() if s == state}
        edges = {ends: r for ends, r in edges.items() if state not in ends}
        for source, first in into.items():
            for target, then in out.items():
                path = f"(?:{first})" + (f"(?:{loop})*" if loop else "") + f"(?:{then})"
                old = edges.get((source, target))
                edges[source, target] = path if old is None else f"(?:{old}|{path})"
    return edges["begin", "end"]


def test_every_frame_of_the_elimination_shows_one_picture() -> None:
    made = _film("(foo)+d", Construction.REGEX)
    assert [frame.only for frame in made.frames] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    states = [len(graph.nodes) for graph in made.graphs]
    assert states == [7, 6, 5, 4, 3, 2]
    assert _row(made.frames[-1], "regex") == ("(?:foo)+d",)


def test_order_yields_each_state_before_it_is_eliminated() -> None:
    one = parse_regex(_source("a"))
    elimination: StateElimination[int] = StateElimination([(0, one, 1), (1, one, 2)], 100)
    for state in elimination.order(0, 2, LIMITS.clock()):
        assert state == 1
        assert [ends for ends, _ in elimination.edges] == [(0, 1), (1, 2)]
    assert [ends for ends, _ in elimination.edges] == [(0, 2)]


# -- the stack --------------------------------------------------------------------------------

NESTED = "S ::= 'ab' | 'a' S 'b' | '(' T ')'; T ::= S | T ',' S;"


def test_the_film_ends_with_all_edges_of_the_push_down_automaton() -> None:
    grammar = Grammar.from_kbnf(NESTED, "S")
    made = construct(grammar, Construction.STACK)
    below = made.graphs[1]
    new = [arc for frame in made.frames for arc in frame.views[1].arcs]
    assert sorted(new) == list(range(len(below.edges)))  # each is made in one frame
    assert made.frames[-1].views[1].edges == frozenset(range(len(below.edges)))
    assert made.frames[-1].views[1].nodes == frozenset(node.id for node in below.nodes)
    assert len(below.nodes) == pda(grammar.rules).states
    for frame in made.frames:  # no edge is shown before its ends
        for arc in frame.views[1].edges or ():
            assert {below.edges[arc].source, below.edges[arc].target} <= (
                frame.views[1].nodes or set()
            )


def test_an_edge_that_pushes_lights_the_call_it_comes_from() -> None:
    made = construct(Grammar.from_kbnf("S ::= 'ab' | 'a' S 'b';", "S"), Construction.STACK)
    (frame,) = [frame for frame in made.frames if "pushes" in frame.say and "calls" in frame.say][
        :1
    ]
    assert any(node.startswith("call-") for node in frame.views[0].lit)
    assert frame.say.startswith("In state 1, S calls a rule: the edge reads a, pushes ")


# -- the composition --------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(REGEXES)
def test_the_last_picture_of_the_composition_is_the_engines(regex: str) -> None:
    grammar, vocabulary = Grammar.from_regex(regex), toy(["a", "b", "c", "ab", "é", "ba", "d"])
    dfa = grammar.dfa
    assert dfa is not None
    made = construct(grammar, Construction.TOKENS, vocabulary)
    engine = compose(dfa, few_tokens(dfa, vocabulary)[0])
    assert len(made.graphs[3].nodes) == len({s for s in range(len(engine)) if engine.edges(s)} | {
        t for s in range(len(engine)) for _, t in engine.edges(s)} | {engine.initial})  # fmt: skip
    assert made.frames[-1].views[3].nodes is None


def test_a_large_vocabulary_is_cut_to_tokens_that_are_read() -> None:
    dfa = dfa_of("[a-f]{1,3}[0-9][xyz]")
    few, note = few_tokens(dfa, all_bytes())
    words = [token for token in few.tokens if token]
    assert 0 < len(words) <= MAX_TOKENS
    assert all(word in b"abcdef0123456789xyz" for word in words)
    assert f"{len(words)} of the 19 short tokens" in note
    made = construct(Grammar.from_regex("[a-f]{1,3}[0-9][xyz]"), Construction.TOKENS, all_bytes())
    assert note in made.frames[0].say
    assert len(made.graphs[2].nodes) <= MAX_PAIRS


def test_a_small_vocabulary_takes_part_whole() -> None:
    dfa = dfa_of("(foo)+d")
    few, note = few_tokens(dfa, toy(["f", "oo", "foo", "food"]))
    assert (set(few.tokens), note) == ({b"f", b"oo", b"foo", b"food", None}, "")


def test_a_lesson_shows_any_construction_by_its_name() -> None:
    world = World(text="(foo)+d", tokens=("f", "oo", "foo", "food"))
    for construction in set(Construction) - {Construction.STACK}:
        made = film(Kind("construction", {"construction": str(construction)}), world)
        assert made.frames
    with pytest.raises(LessonError, match="expected one of positions"):
        film(Kind("construction", {"construction": "?"}), world)


# -- which there are --------------------------------------------------------------------------


def test_every_notation_has_the_films_of_its_language() -> None:
    rules = Grammar.from_kbnf("start ::= item (',' item)*; item ::= #'[a-z]+';")
    made = construct(rules, Construction.SUBSETS)
    assert made.frames[-1].say.startswith("The worklist is empty")
    assert missing_construction(rules, Construction.STACK) == "a regular language needs no stack"
    nested = Grammar.from_kbnf("start ::= '(' start ')' | 'x';")
    for construction in set(Construction) - {Construction.STACK}:
        with pytest.raises(WorkbenchError, match="need a stack"):
            construct(nested, construction, all_bytes())


@pytest.mark.parametrize(
    ("construction", "text"),
    [
        (Construction.SUBSETS, "[a-z]{80}"),
        (Construction.MINIMAL, "[a-z]{50}"),
        (Construction.REGEX, "[a-z]{30}"),
        (Construction.TOKENS, "[a-z]{30}"),
    ],
)
def test_error_where_a_machine_is_too_large(construction: Construction, text: str) -> None:
    with pytest.raises(LimitError, match=f"the film shows at most {construction.most}") as caught:
        construct(Grammar.from_regex(text), construction, all_bytes())
    assert caught.value.hint == "choose a smaller part of the grammar"


def test_a_part_is_a_grammar_itself() -> None:
    regex = Grammar.from_regex("[a-z]+@(foo|bar)*")
    titles = {part.title: part.key for part in parts_of(regex)}
    assert list(titles) == ["[a-z]+", "(foo|bar)*", "(foo|bar)", "foo|bar", "foo", "bar"]
    assert part_of(regex, titles["foo|bar"]).accepts("bar")
    rules = Grammar.from_kbnf("start ::= '(' start ')' | item; item ::= #'[a-z]';")
    assert [part.title for part in parts_of(rules)] == ["item"]
    assert part_of(rules, "rule:item").accepts("x")
    assert part_of(rules, "") is rules


@pytest.mark.parametrize("key", ["rule:nothing", "piece:0:1000", "piece:a:b", "x"])
def test_error_for_an_unknown_part(key: str) -> None:
    with pytest.raises(LessonError, match="expected a part"):
        part_of(Grammar.from_regex("(ab|c)+d"), key)
