from __future__ import annotations

import re

import pytest

from workbench.analysis.run_tracing import OUTSIDE, RunTracer
from workbench.app.pipeline import compile_text
from workbench.base.errors import WorkbenchError
from workbench.grammar.notations import Notation


def follower(text: str, notation: Notation = Notation.REGEX) -> RunTracer:
    return compile_text(text, notation).follower()


def test_a_token_passes_the_states_of_its_bytes() -> None:
    run = follower("abc|abd")
    place = run.take(b"ab")
    assert len(place.path["characters"]) == 3
    assert run.take(b"c").path["characters"][0] == place.path["characters"][-1]
    assert place.stack == ()


def test_rules_that_read_the_token() -> None:
    sums = "start ::= term ('+' term)*; term ::= factor ('*' factor)*; factor ::= #'[0-9]+';"
    run = follower(sums, Notation.KBNF)
    assert run.take(b"1").stack == ("start",)
    # after a digit any of the three rules may continue: the one that reads the token counts
    assert run.take(b"*").stack == ("start", "term")
    run.take(b"2")
    assert run.take(b"3").stack == ("start", "term", "factor")
    assert run.take(b"+").stack == ("start",)


def test_the_end_token_passes_nothing() -> None:
    run = follower("a")
    run.take(b"a")
    assert len(run.take(b"").path["characters"]) == 1


def test_outside_the_language_there_is_no_position() -> None:
    run = follower("ab")
    assert run.take(b"ax").path["characters"] == [["0"], ["1"]]
    after = run.take(b"b")
    assert (after.state, after.path, after.stack) == (OUTSIDE, {}, ())


def test_error_a_grammar_that_cannot_be_read() -> None:
    with pytest.raises(WorkbenchError, match="cannot be read"):
        follower("[")


def test_the_stack_before_and_after_a_token() -> None:
    run = follower("start ::= '(' start? ')';", Notation.KBNF)
    place = run.take(b"((")
    before, after = place.path["stacks"]
    assert (before["depth"], after["depth"]) == (0, 1)
    assert [box["rule"] for box in after["boxes"]] == ["start", "start"]
    assert place.path["rules"][0][0] == before["boxes"][-1]["state"]
    assert place.path["rules"][-1][0] == after["boxes"][-1]["state"]
    back = run.take(b")").path["stacks"]
    assert (back[0]["depth"], back[1]["depth"]) == (1, 0)


def test_other_configurations_of_a_text() -> None:
    run = follower("start ::= a | b; a ::= 'x' a? 'y'; b ::= 'x' b? 'z';", Notation.KBNF)
    run.take(b"x")
    before, after = run.take(b"xy").path["stacks"]
    assert before["ways"] > 1
    assert before["others"]
    assert after["ways"] == 1


def test_no_state_inside_a_character_is_passed() -> None:
    run = follower("[äöü]x")
    whole = run.take("äx".encode()).path["characters"]
    assert len(whole) == 3
    half = follower("[äöü]x").take("ä".encode()[:1]).path["characters"]
    assert len(half) == 2, "the token ends inside a character"


def test_every_state_has_a_name_inside_a_rule_drawn_as_one_edge_too() -> None:
    name = '{"type":"string","pattern":"^[A-Z][a-z]*$"}'
    schema = f'{{"type":"object","properties":{{"a":{name},"b":{{"$ref":"#"}}}}}}'
    run = follower(schema, Notation.JSON_SCHEMA)
    steps = [run.take(letter.encode()) for letter in '{"a": "Bob"']
    inside = steps[8]
    rule, _, state = inside.state.rpartition(" · ")
    assert "[A-Z]" in rule
    assert re.fullmatch(r"[0-9]+ of [0-9]+", state)
    assert inside.path["stacks"][0]["boxes"][-1] == {
        "rule": rule, "state": inside.path["rules"][0][0], "number": state,
    }  # fmt: skip
    assert not [step.state for step in steps if "…" in step.state]
    half = follower("start ::= 'é' start | 'x';", Notation.KBNF)
    half.take("é".encode()[:1])
    assert half.take("é".encode()[1:]).state.endswith("mid-character")


@pytest.mark.slow
def test_a_regex_that_explodes_is_followed_as_it_is_read() -> None:
    run = follower("(a|b)*a(a|b){20}")
    first = run.take(b"aab")
    assert len(first.path["characters"]) == 4
    assert run.take(b"b").path["characters"][0] == first.path["characters"][-1]


def test_rules_put_into_each_other_are_followed_where_they_nest() -> None:
    sums = "start ::= term ('+' term)*; term ::= '(' start ')' | #'[0-9]';"
    run = follower(sums, Notation.KBNF)
    assert len(run.take(b"(1").path["network"]) >= 2
