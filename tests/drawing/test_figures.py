"""The figures of Koo, Liu & He 2024 as states, edges and labels.

The drawings are known by their captions and by what the text says of them; each row names it.
"""

from __future__ import annotations

import pytest

from tests.drawing.graphs import arcs, states
from workbench.base.errors import WorkbenchError
from workbench.drawing.transducers import FIGURES, figure

Arcs = set[tuple[str, str, str]]

FIGURE_4: Arcs = {
    ("0", "0", "f:f"), ("0", "1", "ε:o"), ("1", "0", "oo:o"), ("0", "2", "ε:f"), ("2", "3", "ε:o"),
    ("3", "0", "foo:o"), ("3", "0", "for:r"), ("3", "4", "ε:o"), ("4", "0", "food:d"),
}  # fmt: skip

#   figure      initial finals        edges and labels, and what the paper says
TABLE: list[tuple[str, str, set[str], Arcs, str]] = [
    ("1-left",   "0", {"2"},          {("0", "1", "a"), ("1", "2", "b")},
     "accepts ab"),
    ("1-center", "0", {"1"},          {("0", "1", "a"), ("1", "0", "a")},
     "odd numbers of as"),
    ("1-right",  "0", {"1", "2"},     {("0", "1", "ε"), ("0", "2", "ε"), ("1", "1", "a"),
                                       ("2", "2", "b")},
     "runs of as or bs; labels are ε if there is no input symbol"),
    ("2-left",   "0", {"1"},          {("0", "3", "ε"), ("3", "4", "a"), ("4", "3", "ε"),
                                       ("4", "1", "ε"), ("0", "2", "a"), ("2", "1", "b")},
     "constructed from /a+|ab/, non-deterministic"),
    ("2-right",  "0", {"1", "2", "3"}, {("0", "1", "a"), ("1", "2", "a"), ("2", "2", "a"),
                                        ("1", "3", "b")},
     "determinized"),
    ("3-left",   "0", {"2"},          {("0", "1", "a:x"), ("1", "2", "b:ε")},
     "ab into x; labels are input:output"),
    ("3-center", "0", {"1"},          {("0", "1", "a:x"), ("1", "0", "a:o")},
     "odd numbers of as into xoxo…x"),
    ("3-right",  "0", {"3"},          {("0", "1", "ε:["), ("1", "1", "a:a"), ("1", "3", "ε:]"),
                                       ("0", "2", "ε:["), ("2", "2", "b:b"), ("2", "3", "ε:]")},
     "runs of as or bs into bracketed versions of themselves"),
    ("4-right",  "0", {"0"},          FIGURE_4,
     "a trie of all but the last characters, an edge back for each token"),
    ("5-left",   "0", {"4"},          {("0", "1", "f"), ("1", "2", "o"), ("2", "3", "o"),
                                       ("3", "1", "f"), ("3", "4", "d")},
     "the character-based FSA equivalent to /(foo)+d/"),
    ("5-right",  "0", {"4"},          {("0", "1", "f"), ("1", "3", "oo"), ("0", "3", "foo"),
                                       ("0", "4", "food"), ("3", "1", "f"), ("3", "3", "foo"),
                                       ("3", "4", "food")},
     "foo vs f oo; food crosses the end of (foo)+; for is never read; d is no token"),
    ("7-center", "0", {"0"},          {("0", "0", "a:a"), ("0", "0", "b:b"), ("0", "1", "ε:b"),
                                       ("1", "0", "bb:b"), ("0", "2", "ε:a"), ("2", "3", "ε:a"),
                                       ("3", "4", "ε:a"), ("4", "0", "aaab:b")},
     "the detokenizing FST of a, b, bb, aaab"),
    ("9-left",   "0", {"0"},          {("0", "0", "f:f"), ("0", "1", "ε:o"), ("1", "0", "oo:o"),
                                       ("0", "2", "ε:f"), ("2", "3", "ε:o"), ("3", "0", "foo:o"),
                                       ("0", "4", "ε:f"), ("4", "5", "ε:o"), ("5", "0", "for:r"),
                                       ("0", "6", "ε:f"), ("6", "7", "ε:o"), ("7", "8", "ε:o"),
                                       ("8", "0", "food:d")},
     "a cycle for each token, three ε:f edges"),
    ("9-right",  "0", {"0"},          FIGURE_4,
     "copied from Figure 4"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "initial", "finals", "edges", "because"), TABLE, ids=[row[0] for row in TABLE]
)
def test_a_figure_has_the_states_and_edges_of_the_paper(
    name: str, initial: str, finals: set[str], edges: Arcs, because: str
) -> None:
    drawn = figure(name)
    assert states(drawn, "initial") == {initial}
    assert states(drawn, "final") == finals
    assert arcs(drawn) == edges, because
    assert states(drawn) == {end for source, target, _ in edges for end in (source, target)}


def test_figure_5_right_dashes_what_passes_over_states() -> None:
    skips = {edge.labels for edge in figure("5-right").edges if "skip" in edge.kinds}
    assert skips == {("oo",), ("foo",), ("food",)}


def test_figure_9_left_has_three_silent_edges_for_f() -> None:
    assert sum(edge.labels.count("ε:f") for edge in figure("9-left").edges) == 3
    assert sum(edge.labels.count("ε:f") for edge in figure("9-right").edges) == 1


#: The stack symbol of ``S`` inside itself.
PLACE = "S → a S • b"

#: What an edge reads, pops and pushes.
Effect = tuple[str, tuple[str, ...], tuple[str, ...]]


def _effects(name: str) -> list[Effect]:
    """What the edges of a stack machine do, without their states."""
    return sorted(
        (label, edge.pops, edge.pushes) for edge in figure(name).edges for label in edge.labels
    )


def test_figure_6_right() -> None:
    # S → /ab/ | /a/ S /b/: reading a inside S pushes the state to return to, after b the machine
    # returns there, and the last edge pops the initial symbol
    drawn = figure("6-right")
    assert _effects("6-right") == sorted(
        [
            ("a", (), ()), ("a", (), (PLACE,)), ("b", (), ()), ("b", (), ()),
            ("ε", (PLACE,), ()), ("ε", ("S",), ()),
        ]
    )  # fmt: skip
    assert len(drawn.nodes) == 5
    (loop,) = [edge for edge in drawn.edges if edge.source == edge.target]
    assert loop.labels == ("a",)
    assert loop.pushes == (PLACE,)
    assert loop.kinds == ("push",)
    (back,) = [edge for edge in drawn.edges if edge.pops == (PLACE,)]
    assert loop.mark == f"▲{back.target}"
    assert back.mark == f"▼{back.target}"


def test_figure_7_right() -> None:
    # one token can push or pop several symbols; its mark counts them
    drawn = figure("7-right")
    assert _effects("7-right") == sorted(
        [
            ("a", (), ()), ("a", (), (PLACE,)),
            ("aaab", (), (PLACE,)), ("aaab", (), (PLACE, PLACE)),
            ("b", (PLACE,), ()), ("b", (PLACE,), ()), ("b", ("S",), ()), ("b", ("S",), ()),
            ("bb", (PLACE, PLACE), ()), ("bb", (PLACE, PLACE), ()),
            ("bb", (PLACE, "S"), ()), ("bb", (PLACE, "S"), ()),
        ]
    )  # fmt: skip
    assert len(drawn.nodes) == 4
    twice = [edge for edge in drawn.edges if edge.labels == ("bb",)]
    assert {edge.mark for edge in twice} == {"▼2"}
    assert all(edge.title.count("pops ") == 2 for edge in twice)


def test_every_figure_is_there() -> None:
    assert set(FIGURES) == {row[0] for row in TABLE} | {"6-right", "7-right"}
    assert {name.partition("-")[0] for name in FIGURES} == set("12345679")


def test_error_when_there_is_no_such_figure() -> None:
    with pytest.raises(WorkbenchError, match="expected a figure, not '8-left'"):
        figure("8-left")
