"""The position of a run: states passed, stacks, cycles, and the pieces of the text that could read a token."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from workbench.analysis.run_tracing import (
    OUTSIDE,
    Configuration,
    RunTracer,
    TextTracer,
    innermost,
    token_cycle,
    token_paths,
)
from workbench.app.pipeline import compile_text
from workbench.base.errors import WorkbenchError
from workbench.base.limits import Limits
from workbench.base.source import Span
from workbench.grammar.gallery import load_gallery
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.pushdown.network import Network
from workbench.pushdown.runner import Runner


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


NESTED = "start ::= '(' start? ')';"


def rules(text: str, notation: Notation = Notation.KBNF) -> Network:
    grammar = compile_text(text, notation).grammar
    assert grammar is not None
    return grammar.rules


def standing(runner: Runner, situation: int) -> list[Configuration]:
    return [(state, runner.stack(node)) for state, node in runner.configurations(situation)]


def test_a_call_is_passed_and_put_on_the_stack() -> None:
    network = rules(NESTED)
    runner = Runner(network)
    after_one = runner.run(b"(")
    (way,) = [w for w in token_paths(network, standing(runner, after_one), b"(") if w.after[1]]
    assert len(way.after[1]) == len(way.before[1]) + 1
    call = next(name for name in way.passed if name.startswith("call-"))
    back = way.after[1][-1]
    assert call == f"call-{network.start}-{back}"
    assert way.passed[0] == str(way.before[0])
    assert way.passed[-1] == str(way.after[0])


def test_return_passes_the_box_of_its_call() -> None:
    network = rules("start ::= '<' item '>'; item ::= 'a' | '[' item ']';")
    runner = Runner(network)
    before = standing(runner, runner.run(b"<"))
    found = token_paths(network, before, b"a")
    assert found
    assert all(way.before in before for way in found)
    (way,) = found
    box = next(i for i, name in enumerate(way.passed) if name.startswith("call-"))
    assert way.passed[box] == way.passed[-2], "in and out by the same box"
    assert way.after[1] == ()


def test_no_path_reads_a_text_outside_the_language() -> None:
    network = rules(NESTED)
    assert token_paths(network, standing(Runner(network), 0), b")") == []


@pytest.mark.parametrize("name", [e.name for e in load_gallery().values()])
def test_paths_end_where_the_runner_does(name: str) -> None:
    example = load_gallery()[name]
    compiled = compile_text(example.text, Notation(str(example.notation)), example.start)
    network = compiled.accepting.rules
    runner = Runner(network)
    for text in example.accepts:
        here, data = runner.initial, text.encode()
        for at in range(0, len(data), 3):
            token = data[at : at + 3]
            there = runner.run(token, here)
            found = token_paths(network, standing(runner, here), token)
            assert {way.after for way in found} == set(standing(runner, there)), (text, token)
            for way in found:
                assert way.before[1][: way.kept] == way.after[1][: way.kept]
            here = there


def test_pops_and_pushes_of_a_token() -> None:
    network = rules("start ::= '[' item (',' item)* ']'; item ::= 'a' 'b'? | '(' item ')';")
    runner = Runner(network)
    before = standing(runner, runner.run(b"[a"))
    again = [way for way in token_paths(network, before, b",a") if way.after[1]]
    assert again
    assert all(way.kept == 0 for way in again)
    back = token_paths(network, standing(runner, runner.run(b"[(a")), b")")
    assert back
    assert all(way.kept < len(way.before[1]) for way in back)


@pytest.mark.parametrize(
    ("grammar", "pieces", "circling", "why"),
    [
        (Grammar.from_regex("a[0-9]*b"), ["a", "12", "3", "b"], "·oo·", "digits without an end"),
        (Grammar.from_regex("a[0-9]{3}b"), ["a", "12", "3", "b"], "····", "a chain has an end"),
        (Grammar.from_regex("(ab)*c"), ["a", "ba", "b", "c"], "ooo·", "a cycle of two states"),
        (Grammar.from_kbnf("start ::= 'x' ws start? 'y'; ws ::= #' *';"), ["x", "  ", "  "], "·oo",
         "in a rule that calls itself"),
    ],
)  # fmt: skip
def test_a_token_on_a_cycle_of_states_without_an_end(
    grammar: Grammar, pieces: list[str], circling: str, why: str
) -> None:
    follower = compile_text(grammar.source.text, grammar.notation).follower()
    found = [token_cycle(grammar, follower.take(piece.encode()).path) for piece in pieces]
    assert "".join("·" if each is None else "o" for each in found) == circling, why
    assert len({each for each in found if each is not None}) <= 1, why


@pytest.mark.slow
def test_a_machine_that_explodes_is_not_searched() -> None:
    grammar = Grammar.from_regex("(a|b)*a(a|b){30}")
    place = compile_text(grammar.source.text, grammar.notation).follower().take(b"a")
    assert token_cycle(grammar, place.path) is None


SCHEMA = '{"properties": {"a": {"type": "null"}, "b": {"enum": [1, 2]}}, "required": ["a", "b"], "additionalProperties": false, "type": "object"}'
PERSON = "@dataclass\nclass Person:\n    name: str\n    tags: list[str]\n"

#   notation, text          tokens                          pieces that read the last of them
ROWS = [
    (Notation.JSON_SCHEMA, SCHEMA, ("{", '"a"'),             ['"a"']),
    (Notation.JSON_SCHEMA, SCHEMA, ('{"a":', "null"),        ['{"type": "null"}']),
    (Notation.JSON_SCHEMA, SCHEMA, ('{"a":null,', '"b'),     ['"b"']),
    (Notation.JSON_SCHEMA, SCHEMA, ('{"a":null,"b":', "2"),  ['{"enum": [1, 2]}']),
    (Notation.DATACLASS,   PERSON, ("Person(", "name"),      ["name"]),
    (Notation.DATACLASS,   PERSON, ("Person(name=", "'x"),   ["str"]),
    (Notation.REGEX,       "a+[0-9]|b", ("a", "3"),          ["a", "[0-9]"]),
    (Notation.REGEX,       "a+[0-9]|b", ("x", "3"),          []),
    (Notation.KBNF,        "start ::= 'a';", ("", "a"),      []),
]  # fmt: skip


@pytest.mark.parametrize(("notation", "text", "tokens", "pieces"), ROWS)
def test_the_pieces_that_read_a_token(
    notation: Notation, text: str, tokens: tuple[str, ...], pieces: list[str]
) -> None:
    options: dict[str, Any] = {"whitespace": "compact"} if notation is Notation.JSON_SCHEMA else {}
    run = TextTracer(Grammar.from_text(text, notation, **options))
    for token in tokens:
        found = run.take(token.encode())
    assert [text[span.start : span.end] for span in found] == pieces


def test_a_run_that_left_its_grammar_stays_outside() -> None:
    run = TextTracer(Grammar.from_regex("ab"))
    assert run.take(b"x")
    assert run.take(b"b") == ()
    assert run.take(b"a") == ()


def test_without_time_nothing_is_marked() -> None:
    grammar = replace(Grammar.from_regex("(a|b)*(a|b){9}c"), limits=Limits(seconds=1e-9))
    run = TextTracer(grammar)
    run.take(b"ab" * 5_000)
    assert run.take(b"a") == ()


def test_of_nested_pieces_the_inner_ones() -> None:
    outer, inner, beside = Span(0, 20), Span(3, 8), Span(30, 31)
    assert innermost([outer, inner, beside, inner]) == (inner, beside)
    assert innermost([]) == ()
