"""Pictures as TikZ: the text is read again by a small parser, and compared with the picture."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench.drawing.graph import Edge, Graph, Node
from workbench.drawing.render import renderer
from workbench.drawing.tikz import Marks, tex, tikz
from workbench.drawing.views import Box, draw_rules

_POINT = r"\((-?[\d.]+),(-?[\d.]+)\)"
_NODE = re.compile(rf"\\node\[([^\]]*)\] (?:\(([A-Za-z0-9_-]+)\) )?at {_POINT} \{{(.*)\}};")
_HEAD = re.compile(rf"\\fill\[[^\]]*\] {_POINT} -- {_POINT} -- {_POINT} -- cycle;")
_END = re.compile(rf"{_POINT}|\(([A-Za-z0-9_-]+)\)")
_STEP = re.compile(
    rf"(?:--|\.\. controls {_POINT}(?: and {_POINT})? \.\.|rectangle) (?:{_END.pattern})"
)


@dataclass
class Read:
    """What a ``tikzpicture`` says."""

    nodes: dict[str, tuple[str, float, float, str]]
    labels: list[str]
    #: The ends of each line: names, or None for points.
    lines: list[tuple[str | None, str | None]]
    #: The heads where edges join others.
    heads: int = 0


def read(text: str) -> Read:
    """Read a picture; every statement must have the form the module writes."""
    head, _, rest = text.partition("\\begin{tikzpicture}[")
    assert all(line.startswith("%") for line in head.splitlines())
    options, _, body = rest.partition("]\n  \\")
    assert options.count("[") == options.count("]")
    assert options.count("{") == options.count("}")
    body, end = ("  \\" + body).split("\\end{tikzpicture}\n")
    assert end == ""
    found = Read({}, [], [])
    for line in body.splitlines():
        statement = line.strip()
        assert balanced(statement), statement
        if statement.startswith("\\node"):
            node = _NODE.fullmatch(statement)
            assert node is not None, statement
            if node[2]:
                assert node[2] not in found.nodes
                found.nodes[node[2]] = (node[1], float(node[3]), float(node[4]), node[5])
            else:
                found.labels.append(node[5])
            continue
        if statement.startswith("\\fill"):
            assert _HEAD.fullmatch(statement), statement
            found.heads += 1
            continue
        _line(statement, found)
    return found


def _line(statement: str, found: Read) -> None:
    drawn = re.fullmatch(r"\\draw\[[^\]]*\] (.*);", statement)
    assert drawn is not None, statement
    first = _END.match(drawn[1])
    assert first is not None, statement
    at, last = first.end(), None
    while at < len(drawn[1]):
        step = _STEP.match(drawn[1], at + 1)
        assert step is not None, drawn[1][at:]
        at, last = step.end(), step[7]
    for name in (first[3], last):
        assert name is None or name in found.nodes  # TikZ needs the node before its name
    found.lines.append((first[3], last))


def balanced(text: str) -> bool:
    """Whether the braces that TeX sees are paired."""
    depth = 0
    for brace in re.findall(r"\\.|[{}]", text):
        depth += (brace == "{") - (brace == "}")
        if depth < 0:
            return False
    return depth == 0


REGEXES = ["(foo)+d", "a|b", "x*", '[^"\\\\{}$%&#_^~]', "é|ε|<>", "(a|b)*a(a|b){2}", r"\d{2}-\d"]


@pytest.mark.parametrize("regex", REGEXES)
def test_a_picture_has_the_states_and_edges_of_its_graph(regex: str) -> None:
    drawn = wb.draw(wb.Grammar.from_regex(regex))
    graph = drawn.shown().graph
    made = read(drawn.tikz())
    assert set(made.nodes) == {node.element for node in graph.nodes}
    for node in graph.nodes:
        options = made.nodes[node.element][0].split(", ")
        assert options[0] == "state"
        assert ("initial" in options, "accepting" in options) == (
            "initial" in node.kinds, "final" in node.kinds)  # fmt: skip
        assert made.nodes[node.element][3] == tex(node.label)
    ends = [(f"state-{edge.source}", f"state-{edge.target}") for edge in graph.edges]
    assert sorted(made.lines, key=str) == sorted(ends, key=str)


def test_positions_are_those_of_the_svg() -> None:
    drawn = wb.draw(wb.Grammar.from_regex("ab"))
    svg = drawn.svg()
    moved = re.search(r"translate\(([\d.]+) ([\d.]+)\)", svg)
    assert moved is not None
    circles = re.findall(r'id="(state-\d+)".*?<ellipse[^>]*cx="([^"]*)" cy="([^"]*)"', svg)
    made = read(drawn.tikz())
    for name, x, y in circles:
        _, at_x, at_y, _ = made.nodes[name]
        assert at_x == pytest.approx(float(x) + float(moved[1]), abs=0.01)
        assert at_y == pytest.approx(float(y) + float(moved[2]), abs=0.01)


def test_lanes_are_pictures_too() -> None:
    grammar = wb.Grammar.from_kbnf("S ::= 'ab' | 'a' S 'b' | '(' T ')'; T ::= S | T ',' S;", "S")
    graph = wb.draw(grammar, "stack").graph
    svg = draw_rules(graph, Box(700, 400), renderer()).svg
    made = read(tikz(svg))
    assert made.heads == svg.count('class="joint"') > 0, "where an edge joins another one"
    assert {node.element for node in graph.nodes if "call" not in node.kinds} <= set(made.nodes)
    assert sum(options.startswith("call") for options, *_ in made.nodes.values()) >= 2
    assert {"S", "T", ","} <= set(made.labels)


@pytest.mark.parametrize("machine", ["tokens", "detokenizer"])
def test_machines_over_tokens(machine: str) -> None:
    vocabulary = wb.Vocabulary((b"f", b"oo", b"foo", b"<end>"), end=3)
    made = read(wb.draw(wb.Grammar.from_regex("(foo)+"), machine, vocabulary).tikz())
    assert len(made.nodes) >= 2
    assert made.labels


def test_marks_hide_and_light_elements() -> None:
    graph = Graph("g", (Node("a"), Node("b"), Node("c")), (Edge("a", "b", ("x",)), Edge("b", "c")))
    marks = Marks(
        frozenset({"state-a", "state-b", "edge-0"}),
        lit=frozenset({"state-a"}),
        taken=frozenset({"edge-0"}),
        dead=frozenset({"state-b"}),
    )
    text = tikz(renderer().draw(graph), marks)
    made = read(text)
    assert list(made.nodes) == ["state-a", "state-b"]
    assert made.nodes["state-a"][0].endswith("now")
    assert made.nodes["state-b"][0].endswith("dead")
    assert made.lines == [("state-a", "state-b")]
    assert r"\draw[->, taken] (state-a)" in text


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=12))
def test_no_label_ends_its_braces(label: str) -> None:
    escaped = tex(label)
    assert balanced(escaped)
    assert "\n" not in escaped
    assert not re.search(r"(?<!\\)[%$&#_^~]", re.sub(r"\$\\[a-z]+\$", "", escaped))


def test_symbols_of_pictures_are_commands() -> None:
    assert tex("a b") == r"a\ b"
    assert tex("▲9 ε") == r"$\blacktriangle$9\ $\varepsilon$"
    assert tex(r"\input{x}") == r"\textbackslash{}input\{x\}"


def test_error_for_a_picture_that_is_no_machine() -> None:
    with pytest.raises(wb.WorkbenchError, match="expected a picture of a machine"):
        tikz('<svg xmlns="http://www.w3.org/2000/svg" class="railroad"/>')
