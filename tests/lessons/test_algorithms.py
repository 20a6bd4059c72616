"""The lessons' step-by-step algorithms compared with the engine's."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from workbench.app.lessons.composition_films import machine_of
from workbench.app.lessons.lesson import LessonError
from workbench.app.lessons.lesson_world import World
from workbench.app.lessons.merge_automata_films import merged, product_of, star_of
from workbench.app.lessons.merge_films import greedy, passes, splits, turns
from workbench.app.lessons.method_films import allowed_by, run_of
from workbench.app.lessons.region_tables import regions_of
from workbench.constraint.methods.proper.cartesian_merge import cartesian_merge
from workbench.constraint.methods.proper.direct_merge import permissive
from workbench.decoding.generate import generate

Rules = tuple[tuple[str, str], ...]


@st.composite
def merge_tables(draw: st.DrawFn) -> Rules:
    """Rules over a and b; each side is a letter or what an earlier rule makes."""
    made, rules = ["a", "b"], list[tuple[str, str]]()
    for _ in range(draw(st.integers(1, 5))):
        rule = (draw(st.sampled_from(made)), draw(st.sampled_from(made)))
        if rule not in rules and len(rule[0] + rule[1]) <= 4:
            rules.append(rule)
            made.append(rule[0] + rule[1])
    return tuple(rules or [("a", "b")])


def _world(rules: Rules, regex: str = "[ab]*") -> World:
    tokens = dict.fromkeys(("a", "b", *(left + right for left, right in rules)))
    return World(text=regex, tokens=tuple(tokens), merges=rules)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(merge_tables(), st.text("ab", max_size=8))
def test_greedy_merging_is_the_engines_encoder(rules: Rules, text: str) -> None:
    world = _world(rules)
    tokens = tuple(text)
    for step in greedy(rules, text):
        tokens = step.tokens
    assert tokens == tuple(map(world.shown, world.bpe.encode(text)))


@settings(max_examples=100, deadline=None)
@given(merge_tables(), st.text("ab", max_size=8))
def test_sweeps_agree_where_rules_fire_in_order(rules: Rules, text: str) -> None:
    fired = [rules.index(step.rule) for step in greedy(rules, text)]
    assume(fired == sorted(fired))
    ends = [tuple(text), tuple(text)]
    for number, way in enumerate((greedy, passes)):
        for step in way(rules, text):
            ends[number] = step.tokens
    assert ends[0] == ends[1]


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(merge_tables())
def test_the_pair_test_is_the_engines(rules: Rules) -> None:
    world = _world(rules)
    known = splits(world)
    ids = {token: world.vocabulary.ids(token)[0] for token in known}
    assert all(world.bpe.is_canonical(i) for i in ids.values())
    assume(world.bpe.monotone)
    for one, first in ids.items():
        for other, second in ids.items():
            *_, last = turns(world, one, other)
            assert last.proper is world.bpe.pair_ok(first, second), (one, other)


@settings(max_examples=60, deadline=None)
@given(merge_tables(), st.sampled_from(["a*b*", "(ab|ba)*", "aa?b", "b(a|bb)*", "[ab]{3}"]))
def test_products_and_direct_merge_accept_what_the_engine_accepts(rules: Rules, regex: str) -> None:
    world = _world(rules, regex)
    assume(world.bpe.monotone)
    engine = cartesian_merge(world.dfa, world.bpe).sequences(5)
    _, _, made = product_of(world)
    rows = {pair: {t: there for s, t, there in made.edges if s == pair} for pair in made.order}
    mine, waiting = [], [(made.order[0], tuple[bytes, ...]())]
    while waiting:
        pair, tokens = waiting.pop()
        if pair in made.finals:
            mine.append(tokens)
        for token, there in rows[pair].items():
            if there in made.alive and sum(map(len, tokens)) + len(token) <= 5:
                waiting.append((there, (*tokens, token)))
    assert sorted(mine) == sorted(engine)
    _, steps = merged(world)
    last = steps[-1].automaton if steps else None
    if last is not None:
        assert sorted(last.sequences(5)) == sorted(engine)


@settings(max_examples=60, deadline=None)
@given(merge_tables())
def test_the_automaton_of_all_proper_sequences_is_the_pair_test(rules: Rules) -> None:
    world = _world(rules)
    assume(world.bpe.monotone)
    star = star_of(world)
    ids = {token: world.vocabulary.ids(token)[0] for token in star.tokens}
    for one, first in ids.items():
        for other, second in ids.items():
            may = star.step(star.automaton.state_of[one], other) is not None
            assert may is world.bpe.pair_ok(first, second)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(merge_tables(), st.sampled_from(["k(a|b)+l", "ka*b*l[ab]k", "kab(a|l)?b*", "k[ab]l[ab]l"]))
def test_every_token_edge_is_in_one_region(rules: Rules, regex: str) -> None:
    world = World(text=regex, tokens=("k", "l", *_world(rules).tokens), merges=rules)
    assume(world.bpe.monotone)
    made = permissive(world.dfa, [token.encode() for token in star_of(world).tokens])
    found = regions_of(world)
    inner = [state for region in found for state in region.inner]
    assume(
        len(inner) == len(set(inner))
    )  # cuts at some letters of a loop divide it into two regions
    assert sum(region.edges for region in found) == made.edge_count


# -- methods --------------------------------------------------------------------------------------

FOO = World(
    text="(foo)+d",
    tokens=("f", "oo", "foo", "for", "food", "o", "d"),
    chances={"…": {"foo": 0.5, "d": 0.25, "food": 0.125, "f": 0.125}, "…d": {"end": 1.0}},
)


def test_the_machine_of_a_method_is_found_by_walking_it() -> None:
    made = machine_of(FOO, {"method": "automaton"})
    # states 0 f 1 o 2 o 3 d 4; edges f foo food, o oo, o, d f foo food
    assert (len(made.edges), sum(map(len, made.edges))) == (5, 3 + 2 + 1 + 4)
    assert made.single == 1
    assert made.sequences is None
    with pytest.raises(LessonError, match="at most 500 states"):
        machine_of(World(text="[ab]{600}", tokens=("a", "b")), {"method": "automaton"})


def test_a_run_is_what_the_loop_writes() -> None:
    run = run_of(FOO, {"name": "exact"})
    steps = list(generate(FOO.model, FOO.constraint, "", max_tokens=len(run.steps)))
    assert [s.token_id for s in run.steps] == [s.token_id for s in steps]


def test_method_without_a_name_has_its_method_as_name() -> None:
    assert run_of(FOO, {"method": "online"}).name == "online"
    assert allowed_by(FOO, {"method": "online"}, ["foo"]) == allowed_by(FOO, {}, ["foo"])
