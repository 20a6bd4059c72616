"""Tokens of the current state: all of the mask, each on one flag."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache

import pytest

from workbench.base.limits import LIMITS
from workbench.constraint.compile import compile
from workbench.drawing.drawable import Drawn, Machine, draw, draw_tokens
from workbench.drawing.graph import Edge
from workbench.drawing.next_tokens import Leaving, RuleTokens
from workbench.drawing.reductions import only_rules
from workbench.drawing.token_map import flags_of
from workbench.drawing.views import rules_graph
from workbench.grammar.gallery import load_gallery
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.vocabulary.toy_vocabularies import toy
from workbench.vocabulary.vocabulary import Vocabulary

GALLERY = load_gallery()
BUILTIN = Vocabulary.load("builtin")
SMALL = toy([*map(chr, range(32, 127)), "\n", "é", '{"', '":', '", "', "ab", "((", "))", "+1", "€"])

LIST = "start ::= '[' (item (',' item)*)? ']'; item ::= #'[0-9]{1,3}' | start;"
SUMS = "start ::= term ('+' term)*; term ::= '(' start ')' | #'[a-z]+';"

#: A grammar and texts that begin texts of its language.
TEXTS = [
    ("LIST", LIST, ["", "[", "[1", "[12,", "[[[", "[[1]", "[[1],[", "[]"]),
    ("SUMS", SUMS, ["", "a", "(", "((ab", "(a)", "(a+b)+"]),
    ("signs", "start ::= '€' | '(' start ')' | 'é' start;", ["", "(", "é(", "(€"]),
    ("ambiguous", "start ::= a | b; a ::= 'x' a? 'y'; b ::= 'x' b? 'z';", ["", "x", "xx", "xxy"]),
]

#: Gallery grammars with rules that nest.
NESTED = ["json", "arithmetic", "brackets", "anbn", "domino_json", "calculation", "sql"]


@cache
def tokens_of(
    text: str, vocabulary: Vocabulary, notation: Notation = Notation.KBNF
) -> tuple[Grammar, Drawn, RuleTokens]:
    """A grammar with its stack machine and its tokens."""
    grammar = Grammar.from_text(text, notation)
    under = draw(grammar, Machine.STACK)
    rules = draw_tokens(grammar, under, vocabulary, LIMITS).parts
    assert isinstance(rules, RuleTokens)
    return grammar, under, rules


def leaving(rules: RuleTokens, text: str) -> Leaving:
    found = rules.after(text.encode())
    assert found is not None
    return found


@pytest.mark.parametrize("vocabulary", [SMALL, BUILTIN], ids=["small", "builtin"])
@pytest.mark.parametrize(("text", "begun"), [row[1:] for row in TEXTS], ids=[r[0] for r in TEXTS])
def test_the_edges_have_the_tokens_of_the_mask(
    text: str, begun: list[str], vocabulary: Vocabulary
) -> None:
    grammar, _, rules = tokens_of(text, vocabulary)
    constraint = compile(grammar, vocabulary)
    for so_far in begun:
        state = constraint.initial
        for character in so_far:
            state = constraint.advance(state, vocabulary.ids(character)[0])
        found = leaving(rules, so_far)
        ids = [token for tokens in found.tokens for token in tokens]
        assert sorted(ids) == sorted(set(constraint.mask(state)) - {vocabulary.end}), so_far
        for edge, tokens in zip(found.edges, found.tokens, strict=True):
            assert edge.count == len(tokens)
            assert edge.source == found.state


def test_every_edge_pops_and_pushes_the_difference_of_the_stacks() -> None:
    _, _, rules = tokens_of(LIST, SMALL)
    before = leaving(rules, "[[1")
    for edge, tokens in zip(before.edges, before.tokens, strict=True):
        for token in tokens:
            text = SMALL.tokens[token]
            assert text is not None
            after = rules.after(b"[[1" + text, edge.target)
            assert after is not None
            assert edge.target == after.state
            kept = len(before.stack) - len(edge.pops)
            assert after.stack[:kept] == before.stack[:kept]
            assert len(after.stack) == kept + len(edge.pushes)


def test_a_text_outside_the_language_has_no_edges() -> None:
    _, _, rules = tokens_of(LIST, SMALL)
    assert rules.after(b"[x") is None
    assert leaving(rules, "[]").edges == ()


# -- flags ----------------------------------------------------------------------------------------


def named(found: Leaving, names: Mapping[str, str]) -> tuple[Edge, ...]:
    """The edges between the states that are drawn, as on the page."""
    return tuple(replace(e, target=names.get(e.target, e.target)) for e in found.edges)


def cases() -> Iterator[tuple[str, str, Notation, list[str]]]:
    """Name, grammar, notation and texts."""
    for name, text, begun in TEXTS:
        yield name, text, Notation.KBNF, begun
    for name in NESTED:
        example = GALLERY[name]
        assert example.start == "start"
        text = max(example.accepts, key=len)
        yield name, example.text, example.notation, [text[: len(text) * i // 4] for i in range(4)]


CASES = list(cases())


@pytest.mark.parametrize("folded", [None, False], ids=["folded", "whole"])
@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
@pytest.mark.parametrize("vocabulary", [SMALL, BUILTIN], ids=["small", "builtin"])
def test_every_token_is_on_one_flag(
    case: tuple[str, str, Notation, list[str]], vocabulary: Vocabulary, folded: bool | None
) -> None:
    _, text, notation, begun = case
    _, under, rules = tokens_of(text, vocabulary, notation)
    base = rules_graph(under.graph, folded=folded)
    drawn = {node.id for node in base.nodes}
    for so_far in begun:
        edges = named(leaving(rules, so_far), under.names)
        flags = flags_of(base, edges)
        numbers = [number for flag in flags for each in flag.segments for number in each.parts]
        whole = [i for i, edge in enumerate(edges) if "bytes" not in edge.kinds]
        assert sorted(numbers) == whole
        for flag in flags:
            assert flag.anchor in drawn
            parts = [edges[number] for each in flag.segments for number in each.parts]
            assert flag.tokens == sum(edge.count for edge in parts)
            ends = {edge.target for edge in parts}
            if flag.place.startswith("state-") and not ends <= {flag.anchor}:
                rungs = {base.where[end] for end in ends - {flag.anchor}}
                loops = [base.edges[int(rung.removeprefix("edge-"))] for rung in rungs]
                assert all(loop.source == loop.target == flag.anchor for loop in loops)
            if flag.place.startswith("edge-"):
                assert {base.where[end] for end in ends} == {flag.place}
                edge = base.edges[int(flag.place.removeprefix("edge-"))]
                assert edge.source == flag.anchor
                assert flag.inside in edge.labels


def test_of_a_rule_that_may_have_ended_the_flag_shows_the_rule_that_read_the_token() -> None:
    """After a digit the text may be inside the number, or in each rule that called it."""
    text = "start ::= term ('+' term)*; term ::= number | '(' start ')'; number ::= #'[0-9]+';"
    _, under, rules = tokens_of(text, SMALL)
    flags = flags_of(rules_graph(under.graph, folded=False), leaving(rules, "(").edges)
    rule = {node.id: node.cluster for node in under.graph.nodes}
    digits = [flag for flag in flags if any("0" in each.text for each in flag.segments)]
    assert [rule[flag.anchor] for flag in digits] == ["number"]


def test_tokens_of_many_stack_effects_are_one_segment() -> None:
    """A closing bracket after a digit pops one rule or more."""
    _, under, rules = tokens_of(SUMS, toy(["a", "+", "(", *(")" * n for n in range(1, 9))]))
    found = leaving(rules, "((((((((a")
    assert len({edge.mark for edge in found.edges if edge.pops}) > 4
    flags = flags_of(rules_graph(under.graph), named(found, under.names))
    marks = [each.edge.mark for flag in flags for each in flag.segments]
    ranges = [mark for mark in marks if "–" in mark]
    assert ranges
    assert all(mark.startswith("▼") for mark in ranges)


def test_edges_to_states_that_are_not_drawn_have_no_flag() -> None:
    _, under, rules = tokens_of(LIST, SMALL)
    base = rules_graph(under.graph)
    edges = named(leaving(rules, "["), under.names)
    part = only_rules(base, {"start"})
    shown = {flag.anchor for flag in flags_of(part, edges)}
    assert shown < {flag.anchor for flag in flags_of(base, edges)}
