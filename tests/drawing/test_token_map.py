"""Tokens of the current state: all of the mask, on flags that overlap nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache

import pytest

from tests.drawing.boxes import Box, boxes_of, outside, overlaps
from workbench.base.limits import LIMITS
from workbench.constraint.compile import compile
from workbench.drawing import token_map
from workbench.drawing.connectors import BOX, TOKEN
from workbench.drawing.drawable import Drawn, Leaving, Machine, RuleTokens, draw, draw_tokens
from workbench.drawing.graph import Edge, Graph
from workbench.drawing.lane_svg import svg_of
from workbench.drawing.lanes import LaneLayout, Line
from workbench.drawing.token_map import TokenPicture, fan, over_lanes
from workbench.drawing.views import lanes_of
from workbench.grammar.gallery import load_gallery
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.vocabulary.vocabulary import Vocabulary, toy

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

BOXES = [(360, 260), (560, 380), (900, 700)]


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
            after = leaving(rules, "[[1" + text.decode())
            assert edge.target == after.state
            kept = len(before.stack) - len(edge.pops)
            assert after.stack[:kept] == before.stack[:kept]
            assert len(after.stack) == kept + len(edge.pushes)


def test_a_text_outside_the_language_has_no_edges() -> None:
    _, _, rules = tokens_of(LIST, SMALL)
    assert rules.after(b"[x") is None
    assert leaving(rules, "[]").edges == ()


# -- the pictures ---------------------------------------------------------------------------------


def named(found: Leaving, names: Mapping[str, str]) -> Leaving:
    """The edges between the states that are drawn, as on the page."""
    edges = tuple(replace(e, target=names.get(e.target, e.target)) for e in found.edges)
    return replace(found, state=names.get(found.state, found.state), edges=edges)


class Recorder:
    """The layout and the boxes of the flags of the pictures that are drawn."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.layout: LaneLayout | None = None
        self.flags: list[Box] = []
        draw_flag = token_map._draw_flag

        def flag_drawn(parent: object, flag: object, x: float, y: float, graph: Graph) -> float:
            right = draw_flag(parent, flag, x, y, graph)  # type: ignore[arg-type]
            self.flags.append(Box(x, y, right, y + BOX, "flag"))
            return right

        def lanes_drawn(layout: LaneLayout, kind: str, *, over: Sequence[Line]) -> object:
            self.layout = layout
            return svg_of(layout, kind, over=over)

        monkeypatch.setattr(token_map, "_draw_flag", flag_drawn)
        monkeypatch.setattr(token_map, "svg_of", lanes_drawn)

    def boxes(self) -> list[Box]:
        return [*self.flags, *(boxes_of(self.layout) if self.layout else [])]


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    return Recorder(monkeypatch)


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


@pytest.mark.parametrize("size", BOXES, ids=str)
@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
@pytest.mark.parametrize("vocabulary", [SMALL, BUILTIN], ids=["small", "builtin"])
def test_flags_overlap_nothing(
    case: tuple[str, str, Notation, list[str]],
    vocabulary: Vocabulary,
    size: tuple[int, int],
    recorder: Recorder,
) -> None:
    _, text, notation, begun = case
    _, under, rules = tokens_of(text, vocabulary, notation)
    for so_far in begun:
        found = named(leaving(rules, so_far), under.names)
        base = lanes_of(under.graph, found.state)
        recorder.flags, recorder.layout = [], None
        made = over_lanes(base, found.edges, found.state, *size)
        if made is None:
            assert not recorder.flags
            made = fan(base, found.edges, found.state, *size)
            assert recorder.layout is None
        assert list(overlaps(recorder.boxes())) == []
        assert outside(recorder.boxes(), made.width, made.height) == []
        assert made.width <= size[0] + 1
        assert made.height <= size[1]
        check_tokens(made, found.edges)


def check_tokens(made: TokenPicture, leaving: tuple[Edge, ...]) -> None:
    """Every token edge of the picture has the tokens of the edges it was made of."""
    drawn = {number for number, edge in enumerate(made.graph.edges) if TOKEN in edge.kinds}
    assert set(made.parts) <= drawn
    numbers = [number for parts in made.parts.values() for number in parts]
    assert len(numbers) == len(set(numbers)), "no edge is drawn twice"
    for edge, parts in made.parts.items():
        assert made.graph.edges[edge].count == sum(leaving[number].count for number in parts)
    if not made.note:
        whole = {i for i, edge in enumerate(leaving) if "bytes" not in edge.kinds}
        assert set(numbers) == whole


def test_lanes_that_do_not_fit_are_no_picture() -> None:
    _, under, rules = tokens_of(LIST, SMALL)
    found = leaving(rules, "[")
    base = lanes_of(under.graph, found.state)
    assert over_lanes(base, found.edges, found.state, 600, 600) is not None
    assert over_lanes(base, found.edges, found.state, 600, 40) is None
    assert over_lanes(base, found.edges, found.state, 60, 600) is None


def test_a_state_inside_a_counted_repetition_is_drawn_as_its_first_state() -> None:
    text = "start ::= '[' item ']'; item ::= '<' #'[0-9]{1,9}' '>' | start;"
    _, under, rules = tokens_of(text, SMALL)
    first, inside = leaving(rules, "[<1"), leaving(rules, "[<123")
    base = lanes_of(under.graph, inside.state)
    assert base.where[inside.state].startswith("edge-")
    for made in (
        over_lanes(base, inside.edges, inside.state, 600, 500),
        fan(base, inside.edges, inside.state, 600, 500),
    ):
        assert made is not None
        drawn = [edge for edge in made.graph.edges if TOKEN in edge.kinds]
        assert {edge.source for edge in drawn} == {first.state}
        assert sum(edge.count for edge in drawn) == sum(edge.count for edge in inside.edges)


def test_a_fan_reports_how_much_it_leaves_out() -> None:
    _, under, rules = tokens_of(GALLERY["json"].text, BUILTIN)
    found = leaving(rules, '{"a": ')
    base = lanes_of(under.graph, found.state)
    high = fan(base, found.edges, found.state, 600, 2000)
    assert high.note == ""
    low = fan(base, found.edges, found.state, 600, 70)
    assert low.height <= 70
    assert low.note.startswith("not drawn: ")
    counts = [sum(edge.count for edge in made.graph.edges) for made in (low, high)]
    missing = int(low.note.split()[-2].replace(",", ""))
    assert counts[1] - counts[0] == missing


def test_flags_of_many_stack_effects_are_one() -> None:
    """A closing bracket after a digit pops one rule or more."""
    _, under, rules = tokens_of(SUMS, toy(["a", "+", "(", *(")" * n for n in range(1, 9))]))
    found = leaving(rules, "((((((((a")
    assert len({edge.mark for edge in found.edges if edge.pops}) > 4
    made = over_lanes(lanes_of(under.graph, found.state), found.edges, found.state, 900, 700)
    assert made is not None
    ranges = [edge.mark for edge in made.graph.edges if "–" in edge.mark]
    assert ranges
    assert all(mark.startswith("▼") for mark in ranges)
