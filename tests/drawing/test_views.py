"""The view chosen for a box is legible, and opens at whole rows."""

from __future__ import annotations

from contextlib import suppress
from functools import cache

import pytest

from tests.drawing.graphs import graph
from workbench.app.ui.pictures import View, picture
from workbench.base.errors import WorkbenchError
from workbench.base.limits import LIMITS
from workbench.drawing.drawable import Drawn, Machine, draw, draw_tokens, missing
from workbench.drawing.lanes import lay_out
from workbench.drawing.parts import Whole
from workbench.drawing.render import renderer
from workbench.drawing.views import (
    Box,
    Drawing,
    Level,
    draw_machine,
    draw_rules,
    opened,
    rules_graph,
)
from workbench.grammar.gallery import load_gallery
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.vocabulary import Vocabulary

GALLERY = load_gallery()
BUILTIN = Vocabulary.load("builtin")
BOXES = (Box(520, 300), Box(590, 470), Box(350, 500))

#: Pixels of a state number at scale 1, pixels kept free around a picture, and rounding.
_NUMBER, _EDGE, _ROUNDING = 10.0, 8.0, 0.5

#: Pixels the text of a picture must have.
_SMALLEST = 9.0


#: States of a machine up to which the one over tokens is looked at: composing others takes seconds.
_COMPOSED = 300


@cache
def machines(name: str) -> dict[Machine, Drawn]:
    """The machines of a gallery grammar, those over tokens with the embedded vocabulary."""
    example = GALLERY[name]
    grammar = Grammar.from_text(example.text, example.notation, example.start)
    found = {
        machine: draw(grammar, machine)
        for machine in (Machine.CHARACTERS, Machine.RULES, Machine.STACK)
        if not missing(grammar, machine)
    }
    under = found.get(Machine.CHARACTERS) or found[Machine.STACK]
    if under.parts.states > _COMPOSED:
        return found
    return {**found, Machine.TOKENS: draw_tokens(grammar, under, BUILTIN, LIMITS)}


def drawing(drawn: Drawn, machine: Machine, box: Box) -> Drawing:
    if machine is Machine.CHARACTERS:
        return draw_machine(drawn.parts, box, renderer())
    return draw_rules(drawn.graph, box, renderer())


@cache
def pictures(name: str) -> dict[str, bool]:
    """Whether the picture of each machine is legible in each box."""
    found = {}
    for machine, one in machines(name).items():
        for box in BOXES:
            if machine is Machine.TOKENS:
                with suppress(WorkbenchError):  # too large to be drawn
                    shown = picture(one, machine, View(so_far=b"", box=box), is_own=False)
                    found[f"{name} {machine} {box}"] = shown["legible"]
                continue
            made = drawing(one, machine, box)
            found[f"{name} {machine} {box}"] = made.legible
            if made.legible and made.opening.scale:  # else the page chooses a scale that is legible
                assert made.opening.scale * _NUMBER >= _SMALLEST
            if made.whole:
                assert made.opening.height * made.opening.scale <= box.height + _ROUNDING
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", list(GALLERY))
def test_a_picture_of_the_gallery_can_be_read(name: str) -> None:
    legible = list(pictures(name).values())
    assert legible
    assert sum(legible) >= 0.5 * len(legible)


def test_nearly_all_pictures_of_the_gallery_can_be_read() -> None:
    all_of_them = {what: good for name in GALLERY for what, good in pictures(name).items()}
    bad = [what for what, good in all_of_them.items() if not good]
    assert len(bad) <= 0.05 * len(all_of_them), bad


@pytest.mark.parametrize("name", ["json", "date", "domino_c", "sql", "weather", "chess"])
@pytest.mark.parametrize("box", BOXES, ids=str)
def test_a_picture_opens_at_whole_rows_with_the_current_state(name: str, box: Box) -> None:
    small = rules_graph(machines(name)[Machine.RULES].graph)
    layout = lay_out(small, box.width - 2 * _EDGE, margin=26.0)
    rows = [(lane, top, bottom) for lane in layout.lanes for top, bottom in lane.rows]
    for lane, top, bottom in rows[:: max(1, len(rows) // 12)]:
        inside = [state.node.id for state in lane.states if top <= state.y <= bottom]
        made = opened(layout, box, inside[0])
        low, high = made.opening.y, made.opening.y + made.opening.height
        if made.whole:
            assert layout.height * made.opening.scale <= box.height
            continue
        assert low <= top
        assert bottom <= high, "the row of the current state is in view"
        assert (high - low) * made.opening.scale <= box.height + 2 * _EDGE or not made.legible
        for _, begin, end in rows:
            seen = low <= begin and end <= high
            assert seen or end <= low + _EDGE or begin >= high - _EDGE, "no row is cut"


def test_a_small_machine_is_whole() -> None:
    chain = graph(4, [(0, 1, "a"), (1, 2, "b"), (2, 3, "c")], {3})
    made = draw_machine(Whole(chain), Box(600, 400), renderer())
    assert made.whole
    assert made.legible
    assert len(made.graph.nodes) == 4


def test_graphviz_draws_only_what_can_be_read() -> None:
    """Eight states that are all joined: their labels would overlap."""
    few = graph(3, [(0, 1, "a"), (1, 2, "b")], {2})
    many = graph(8, [(i, j, f"{i} to {j}") for i in range(8) for j in range(8)], {7})
    calm, full = (draw_machine(Whole(one), Box(500, 400), renderer()) for one in (few, many))
    assert 'class="machine lanes' not in calm.svg
    assert 'class="machine lanes' in full.svg
    assert calm.opening.scale * _NUMBER >= _SMALLEST


def test_chains_are_folded_only_on_request() -> None:
    chain = graph(30, [(i, i + 1, "abcdef") for i in range(29)], {29})
    apart = draw_machine(Whole(chain), Box(400, 300), renderer(), folded=False, size=30)
    folded = draw_machine(Whole(chain), Box(400, 300), renderer(), folded=True)
    assert len(apart.graph.nodes) == 30
    assert len(folded.graph.nodes) == 2


def test_levels_of_the_rules() -> None:
    drawn = machines("json")[Machine.RULES].graph
    box = Box(900, 700)
    calls = draw_rules(drawn, box, renderer(), level=Level.CALLS)
    assert {node.label for node in calls.graph.nodes} <= set(drawn.clusters)
    assert set(calls.where) >= {s.id for s in drawn.states if s.cluster == drawn.clusters[0]}
    here = drawn.clusters[1]
    centre = next(node.id for node in drawn.states if node.cluster == here)
    around = draw_rules(drawn, box, renderer(), centre, level=Level.AROUND).graph
    called = {node.calls for node in drawn.nodes if node.cluster == here and node.calls}
    assert {here, *called} <= set(around.clusters)
    assert len(around.clusters) < len(drawn.clusters)


@pytest.mark.parametrize("level", [Level.STATES, Level.AROUND])
@pytest.mark.parametrize("fields", [100, 150])
def test_a_rule_higher_than_the_box_is_drawn_in_part(level: Level, fields: int) -> None:
    properties = {f"field {i}": {"type": "array"} for i in range(fields)}
    grammar = Grammar.from_json_schema({"properties": properties})
    drawn = draw(grammar, Machine.STACK).graph
    box = Box(708, 282)
    found = draw_rules(drawn, box, renderer(), level=level)
    assert found.legible
    assert len(found.graph.states) >= 30, "more than the start rule and its call"
    assert found.note.startswith("not drawn: ")
    # of a grammar this large, only the rules near the state are laid out
    assert len(found.graph.nodes) <= 60
