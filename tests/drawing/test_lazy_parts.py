from __future__ import annotations

import pytest

from workbench.automata.lazy_dfa import LazyDfa
from workbench.base.errors import LimitError
from workbench.base.limits import LIMITS, Limits
from workbench.drawing.drawable import Machine, draw, draw_tokens, missing
from workbench.drawing.parts import LazyParts, LazyTokenParts
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.toy_vocabularies import toy

EXPLODES = "(a|b)*a(a|b){20}"


def machine(pattern: str = EXPLODES) -> LazyDfa:
    reader = Grammar.from_regex(pattern).reader
    assert isinstance(reader, LazyDfa)
    return reader


def test_a_part_reads_what_the_machine_reads() -> None:
    lazy = machine()
    part = LazyParts(lazy).around("", 20)
    assert len(part.nodes) == 20
    for edge in part.edges:
        for letter in "ab":
            if letter in edge.labels[0]:
                assert lazy.step(int(edge.source), ord(letter)) == int(edge.target)


def test_the_part_around_a_state_has_the_path_that_led_there() -> None:
    lazy = machine()
    parts = LazyParts(lazy)
    here = lazy.run(b"aab")
    parts.around("", 20)
    part = parts.around(str(here), 9)
    known = {node.id for node in part.nodes}
    assert str(here) in known
    assert str(lazy.run(b"aa")) in known
    assert any("more" in node.kinds for node in part.nodes)


@pytest.mark.parametrize("centre", ["nowhere", "99999999"])
def test_an_unknown_state_is_replaced_by_the_first(centre: str) -> None:
    part = LazyParts(machine()).around(centre, 5)
    assert "0" in {node.id for node in part.nodes}


def test_error_the_whole_machine_is_too_large() -> None:
    with pytest.raises(LimitError, match="too many states"):
        LazyParts(machine()).whole()


def test_the_tokens_of_a_state_lead_where_their_bytes_do() -> None:
    lazy = machine("[abc]*a[abc]{20}")
    words = toy(["a", "b", "ab", "bba", "c", "x", "ax"])
    parts = LazyTokenParts(LazyParts(lazy), words)
    spelt = {words.tokens[i] for i in parts.tokens("0")}
    assert spelt == {b"a", b"b", b"ab", b"bba", b"c"}
    for edge in parts.around("", 12).edges:
        for token_id in parts.tokens(edge.source, edge.target):
            token = words.tokens[token_id]
            assert token is not None
            assert lazy.run(token, int(edge.source)) == int(edge.target)


def test_tokens_over_other_states_are_separate() -> None:
    parts = LazyTokenParts(LazyParts(machine()), toy(["a", "b", "ab"]))
    skips = [edge for edge in parts.around("", 8).edges if "skip" in edge.kinds]
    assert skips
    assert all(edge.labels == ("ab",) for edge in skips)


@pytest.mark.slow
def test_limits_are_checked_while_a_part_is_computed() -> None:
    reader = Grammar.from_regex(EXPLODES).reader
    assert isinstance(reader, LazyDfa)
    tight = LazyDfa(reader.nfa, Limits(megabytes=1))
    assert LazyParts(tight).around("", 30).nodes
    with pytest.raises(LimitError, match="1 megabytes"):
        LazyParts(tight).around("", 30_000)


def test_of_a_machine_with_very_many_states_a_part_is_drawn() -> None:
    text = " ".join(map(str, range(2_500)))
    grammar = Grammar.from_regex(f"(?P<SUBSTRING_OF>{text})")
    assert grammar.dfa is not None
    assert missing(grammar, Machine.RULES) == "a regex has no rules: see Characters"
    drawn = draw(grammar, Machine.CHARACTERS)
    part = drawn.parts.around("0", 20)
    assert drawn.parts.states == len(grammar.dfa) > 10_000
    assert 0 < len(part.nodes) <= 20
    assert part.note == "too many states to draw them all: this is the part around one of them"
    with pytest.raises(LimitError, match="too many states to draw them all"):
        drawn.parts.whole()
    over_tokens = draw_tokens(grammar, drawn, toy(["1", "12", "2 ", " "]), LIMITS)
    labels = {label for edge in over_tokens.parts.around("0", 8).edges for label in edge.labels}
    assert labels <= {"1", "12", "2·", "·"}
    assert labels
