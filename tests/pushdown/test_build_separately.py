"""build_separately() and build() give the same language, compared situation by situation."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from tests.oracles.exactness.subjects import HARD, grammar
from workbench.automata.build import regex_dfa
from workbench.base.dfa import DEAD, Dfa
from workbench.base.errors import BuildError, LimitError
from workbench.base.limits import LIMITS, Limits
from workbench.base.source import Source, Span
from workbench.grammar import recognition
from workbench.grammar.gallery import Example, load_gallery
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.pushdown.build import build, build_separately, network_of
from workbench.pushdown.network import Network
from workbench.pushdown.runner import Runner
from workbench.syntax.grammar_tree import (
    Automaton,
    Expression,
    GrammarTree,
    Literal,
    Nonterminal,
    Repetition,
    Rule,
    Sequence,
)
from workbench.syntax.kbnf.kbnf_parser import parse_kbnf
from workbench.syntax.regex.parser import parse_regex

HERE = Span(0, 1)
GALLERY = [e for e in load_gallery().values() if e.notation is Notation.KBNF]


def runner(machine: Dfa | Network) -> Runner:
    return Runner(network_of(machine) if isinstance(machine, Dfa) else machine, LIMITS)


def assert_equivalent(one: Dfa | Network, other: Dfa | Network, most: int = 300) -> None:
    """Compare the machines on at most ``most`` pairs of situations, breadth first."""
    left, right = runner(one), runner(other)
    letters = {
        pair: byte for byte, pair in enumerate(zip(left.classes, right.classes, strict=True))
    }
    seen = {(0, 0): b""}
    waiting = [(0, 0)]
    for here in waiting:  # the list grows during the loop
        text = seen[here]
        assert left.is_final(here[0]) == right.is_final(here[1]), text
        for byte in letters.values():
            try:
                there = left.step(here[0], byte), right.step(here[1], byte)
            except LimitError:
                return  # one of them is ambiguous without bound
            assert (there[0] == DEAD) == (there[1] == DEAD), text + bytes((byte,))
            if DEAD not in there and there not in seen and len(seen) < most:
                seen[there] = text + bytes((byte,))
                waiting.append(there)


@pytest.mark.parametrize("example", GALLERY, ids=[e.name for e in GALLERY])
def test_the_gallery(example: Example) -> None:
    tree = parse_kbnf(Source(example.text, "g"))
    assert_equivalent(build(tree), build_separately(tree))


RANDOM = {str(seed): grammar(Random(seed)) for seed in range(40)}


@pytest.mark.slow
@pytest.mark.parametrize("text", [*HARD.values(), *RANDOM.values()], ids=[*HARD, *RANDOM])
def test_hard_and_random_grammars(text: str) -> None:
    tree = parse_kbnf(Source(text, "g"))
    try:
        together = build(tree)
    except BuildError as error:
        with pytest.raises(BuildError, match=error.message[:20]):
            build_separately(tree)
        return
    assert_equivalent(together, build_separately(tree))


def word(pattern: str) -> Expression:
    return Automaton(
        MACHINES.setdefault(pattern, regex_dfa(parse_regex(Source(pattern, "r")))), pattern, HERE
    )


MACHINES: dict[str, Dfa] = {}


def members(count: int) -> GrammarTree:
    """A sequence of optional members: right-linear rules, as in a schema."""
    rules = [Rule("blank", word("[ \n]{0,20}"), HERE, HERE)]
    blank = Nonterminal("blank", HERE)
    for number in range(count):
        member = (
            Literal(b",", HERE),
            blank,
            Literal(b"%d:" % number, HERE),
            blank,
            word('"[a-z]*"'),
        )
        row = (
            Repetition(Sequence(member, HERE), 0, 1, HERE),
            Nonterminal(f"rest_{number + 1}", HERE),
        )
        rules.append(Rule(f"rest_{number}", Sequence(row, HERE), HERE, HERE))
    rules.append(Rule(f"rest_{count}", Literal(b"}", HERE), HERE, HERE))
    start = Sequence((Literal(b"{", HERE), Nonterminal("rest_0", HERE)), HERE)
    return GrammarTree((Rule("start", start, HERE, HERE), *rules), Source("x", "g"))


def test_rules_used_often_are_called() -> None:
    apart, together = build_separately(members(12)), build(members(12))
    assert isinstance(apart, Network)
    assert set(apart.names) == {"start", "[ \n]{0,20}", '"[a-z]*"'}
    assert 5 * len(apart) < len(together)
    assert_equivalent(together, apart)


def test_large_rules_are_separate() -> None:
    apart = build_separately(members(150))
    assert isinstance(apart, Network)
    assert len(apart.names) > 4, "a row of 150 members is cut into pieces"
    at = runner(apart)
    assert at.is_final(at.run(b"{" + b"".join(b', %d:"x"' % n for n in range(0, 150, 7)) + b"}"))
    assert at.run(b'{,7:"x",6:') == DEAD


def test_error_without_texts() -> None:
    tree = parse_kbnf(Source("start ::= other; other ::= '' other;", "g"))
    with pytest.raises(BuildError, match="'start' has no text"):
        build_separately(tree)
    with pytest.raises(BuildError, match="missing"):
        build_separately(parse_kbnf(Source("start ::= missing;", "g")))


def test_error_above_the_time_limit() -> None:
    with pytest.raises(LimitError):
        build_separately(members(150), limits=Limits(seconds=1e-9))


def test_error_above_the_memory_limit() -> None:
    with pytest.raises(LimitError, match="1 megabytes"):
        build_separately(members(1_500), limits=Limits(megabytes=1))


def test_the_whole_machine_is_built_on_demand() -> None:
    flat = Grammar.from_json_schema({"type": "array", "items": {"type": ["integer", "boolean"]}})
    assert isinstance(flat.reader, Network)
    assert flat.is_regular
    assert flat.dfa is not None
    assert_equivalent(flat.dfa, flat.reader)
    nested = Grammar.from_json_schema({"items": {"$ref": "#"}, "type": "array"})
    assert not nested.is_regular
    assert nested.dfa is None


def test_the_reader_is_kept_if_the_whole_machine_explodes() -> None:
    strings = {name: {"type": "string"} for name in "abcdefgh"}
    schema = {"type": "object", "properties": strings, "additionalProperties": False}
    small = Grammar.from_json_schema(schema, limits=Limits(states=100))
    assert small.machine is small.reader
    assert not small.is_regular, "as far as 100 states can tell"
    assert small.accepts('{"a": "b"}')


def test_rules_stay_separate_if_they_have_too_many_states_to_be_inlined_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The machine of a large schema does not depend on how busy the computer is."""
    flat = Grammar.from_json_schema({"type": "array", "items": {"type": ["integer", "boolean"]}})
    states, limits = len(flat.reader), replace(LIMITS, seconds=64.0)
    monkeypatch.setattr(recognition, "_INLINED_PER_SECOND", states / 64)
    assert isinstance(replace(flat, limits=limits).machine, Dfa)
    monkeypatch.setattr(recognition, "_INLINED_PER_SECOND", (states - 1) / 64)
    few = replace(flat, limits=limits)
    assert few.machine is few.reader
    assert not few.is_regular
