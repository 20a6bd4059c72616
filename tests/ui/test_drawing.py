"""The drawing of machines: its requests, and its scripts in node against the reader in Python."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from typing import Any

import pytest

from tests.automata.test_drawn_machine import random_machine
from tests.syntax.test_machine_text import ERRORS, EVEN, JFF, LABELS
from workbench.app.ui.drawn_machine_view import arrange_machine, machine_from_file, machine_path
from workbench.app.ui.handlers import Handlers
from workbench.base.resources import STATIC
from workbench.base.source import Source
from workbench.syntax.machine_text import parse_machine

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
needs_graphviz = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")


# -- requests --------------------------------------------------------------------------------------


@needs_graphviz
def test_states_are_arranged(handlers: Handlers) -> None:
    answer = arrange_machine(handlers, {"text": "q -> r : a\ninitial p\np -> q : b"})
    assert answer["ok"]
    places = {one["name"]: (one["x"], one["y"]) for one in answer["places"]}
    assert list(places) == ["q", "r", "p"]
    assert places["p"][0] < places["q"][0] < places["r"][0]
    assert arrange_machine(handlers, {"text": ""}) == {"ok": True, "places": []}


def test_error_for_what_is_not_arranged(handlers: Handlers) -> None:
    unread = arrange_machine(handlers, {"text": "p => q"})
    assert not unread["ok"]
    assert "expected an edge" in unread["why"]
    many = "\n".join(f"q{n} -> q{n + 1} : a" for n in range(200))
    assert "more than 200 states" in arrange_machine(handlers, {"text": many})["why"]


def test_a_file_of_jflap(handlers: Handlers) -> None:
    answer = machine_from_file(handlers, {"text": JFF})
    assert answer["ok"]
    assert answer["text"].startswith("initial q0\nfinal even_a\n")
    refused = machine_from_file(handlers, {"text": JFF.replace(">fa<", ">turing<")})
    assert "'turing'" in refused["why"]


def test_a_path(handlers: Handlers) -> None:
    sent = {"text": "initial p\nfinal q\np -> q : ab\np -> p : a", "read": "ab"}
    assert machine_path(handlers, sent) == {
        "ok": True,
        "sets": [
            {"states": ["p"], "edges": [], "inside": [], "final": False},
            {"states": ["p"], "edges": [1], "inside": [0], "final": False},
            {"states": ["q"], "edges": [0], "inside": [], "final": True},
        ],
    }
    assert not machine_path(handlers, {"text": "p -> q : (", "read": "a"})["ok"]


# -- the scripts, in node --------------------------------------------------------------------------


def in_node(body: str, sent: object) -> Any:  # a value of JSON
    """The value that a script returns for what is sent to it."""
    modules = [(STATIC / f"{name}.js").as_uri() for name in ("machine-text", "machine-shapes")]
    script = (
        f"import * as T from {modules[0]!r};\nimport * as G from {modules[1]!r};\n"
        "import { readFileSync } from 'node:fs';\n"
        "const sent = JSON.parse(readFileSync(0, 'utf8'));\n"
        f"const run = (sent) => {{ {body} }};\n"
        "process.stdout.write(JSON.stringify(run(sent)));"
    )
    result = subprocess.run(
        ["node", "--input-type=module", "-e", script],
        input=json.dumps(sent), capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(result.stdout)


def texts() -> list[str]:
    """Texts that Python's reader can read, and lines that it cannot."""
    labels = [f"p -> q : {label}" for label, _, _ in LABELS]
    return [EVEN, *labels, *map(random_machine, range(80)), "initial: q₀, q'\ninitial -> final : a"]


_MODEL = """return sent.map((text) => {
  const { states, edges } = T.readMachine(text);
  return { states: [...states.values()], edges: edges.map(({ source, target, label }) => [source, label, target]) };
});"""


@needs_node
def test_the_script_reads_as_the_server_does() -> None:
    for text, read in zip(texts(), in_node(_MODEL, texts()), strict=True):
        machine = parse_machine(Source(text, "machine"))
        assert [(s["name"], s["initial"], s["final"]) for s in read["states"]] == [
            (s.name, s.is_initial, s.is_final) for s in machine.states
        ], text
        places = [s["place"] and (s["place"]["x"], s["place"]["y"]) for s in read["states"]]
        assert places == [s.place for s in machine.states]
        assert [tuple(edge) for edge in read["edges"]] == [
            (e.source, text[e.label_span.start : e.label_span.end], e.target) for e in machine.edges
        ], text


@needs_node
def test_what_cannot_be_read_is_kept() -> None:
    """An edit changes its own lines only, also in a text with mistakes."""
    sent = [row[0] for row in ERRORS]
    body = "return sent.map((text) => T.withEdge(`${text}\\n# end`, 'x', 'y', 'a'));"
    for text, edited in zip(sent, in_node(body, sent), strict=True):
        assert edited.replace("\nx -> y : a", "") == f"{text}\n# end"


EDITS = {
    "a label": ("T.labelled(text, 0, 'x, #')", EVEN.replace("odd : a", "odd : x, \\#", 1)),
    "an empty label": ("T.labelled(text, 1, ' ')", EVEN.replace("even:a ", "even: ε ", 1)),
    "final": ("T.marked(text, 'odd', 'final', true)", EVEN.replace("final even", "final even odd")),
    "not final": ("T.marked(text, 'even', 'final', false)", EVEN.replace("final even\n", "")),
    "a place": (
        "T.placed(text, new Map([['odd', { x: 7, y: 8.25 }]]))",
        EVEN.replace("odd -3 0", "odd 7 8.3"),
    ),
    "a name": (
        "T.renamed(text, 'odd', 'o')",
        EVEN.replace("> odd", "> o").replace("\nodd", "\no").replace("place odd", "place o"),
    ),
    "an edge": (
        "T.withEdge(text, 'odd', 'new', 'a b')",
        EVEN.replace("place even", "odd -> new : a b\nplace even"),
    ),
}


@needs_node
@pytest.mark.parametrize("name", EDITS)
def test_an_edit_of_the_drawing_is_an_edit_of_the_text(name: str) -> None:
    call, expected = EDITS[name]
    assert in_node(f"const text = sent; return {call};", EVEN) == expected


@needs_node
def test_a_removed_state_leaves_no_trace() -> None:
    body = "return sent.map((text) => T.withoutState(text, 'q0'));"
    sent = [random_machine(seed) for seed in range(60)]
    for text, left in zip(sent, in_node(body, sent), strict=True):
        before, after = (parse_machine(Source(one, "machine")) for one in (text, left))
        assert "q0" not in {state.name for state in after.states}
        others = [e for e in before.edges if "q0" not in (e.source, e.target)]
        assert [(e.source, e.target) for e in after.edges] == [(e.source, e.target) for e in others]


def scattered(seed: int) -> str:
    """A random machine with positions at least 100 apart."""
    chosen = random.Random(seed)
    text = random_machine(seed)
    names = [state.name for state in parse_machine(Source(text, "machine")).states]
    cells = chosen.sample([(x, y) for x in range(4) for y in range(3)], len(names))
    return text + "".join(
        f"\nplace {name} {130 * x} {120 * y}" for name, (x, y) in zip(names, cells, strict=True)
    )


_SHAPES = """return sent.map((text) => {
  const model = T.readMachine(text);
  const { discs, ways, bounds } = G.shapesOf(model, G.filled(model, new Map()));
  return { circles: [...discs.values()], boxes: ways.map((way) => way.box), bounds };
});"""


@needs_node
def test_no_label_covers_a_state_or_another_label() -> None:
    sent = [scattered(seed) for seed in range(150)]
    for text, shapes in zip(sent, in_node(_SHAPES, sent), strict=True):
        boxes = shapes["boxes"]
        for number, box in enumerate(boxes):
            for circle in shapes["circles"]:
                dx = max(box["x"] - circle["x"], 0, circle["x"] - box["x"] - box["w"])
                dy = max(box["y"] - circle["y"], 0, circle["y"] - box["y"] - box["h"])
                assert dx * dx + dy * dy >= circle["r"] ** 2, text
            for other in boxes[:number]:
                apart = (
                    box["x"] >= other["x"] + other["w"]
                    or other["x"] >= box["x"] + box["w"]
                    or box["y"] >= other["y"] + other["h"]
                    or other["y"] >= box["y"] + box["h"]
                )
                assert apart, text


@needs_node
def test_states_without_a_place_get_different_ones() -> None:
    body = "const model = T.readMachine(sent); return [...G.filled(model, new Map())];"
    text = "initial p\np -> q : a\np -> r : b\nplace s 0 0\nlost -> p : c"
    places = in_node(body, text)
    assert len(places) == 5
    assert len({(at["x"], at["y"]) for _, at in places}) == 5
