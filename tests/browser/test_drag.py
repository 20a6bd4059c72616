"""States can be dragged, keep their positions while the grammar is edited, and move smoothly."""

from __future__ import annotations

import math
from typing import Any

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.exhaustive]

PIC = "#wb-picture .pic.main"
SVG = f"{PIC} .canvas svg.movable:not(.leaving)"
TIME = "?example=time&tab=characters"

#: A machine with edges in both directions between two states.
PARITY = "(0(0(00)*1|1)|1)*"

#: Where each part of an edge is on the screen, and the boxes of its two states.
EDGE = """([svg, edge]) => {
  const root = document.querySelector(svg), group = root.querySelector(`[data-id="${edge}"]`);
  const box = (one) => { const r = one.getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom]; };
  const line = group.querySelector("path"), on = line.getScreenCTM(), length = line.getTotalLength();
  const at = (share) => { const p = line.getPointAtLength(length * share).matrixTransform(on); return [p.x, p.y]; };
  const state = (id) => box(root.querySelector(`[data-id="state-${id}"] ellipse`));
  const tip = group.querySelector("polygon"), point = tip.points[0].matrixTransform(tip.getScreenCTM());
  return { source: state(group.dataset.source), target: state(group.dataset.target), start: at(0),
    middle: at(0.5), tip: [point.x, point.y], label: box(group.querySelector("text")), d: line.getAttribute("d") };
}"""

Box = list[float]


def _centre(box: Box) -> tuple[float, float]:
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


def _from_rim(point: list[float], circle: Box) -> float:
    """How far a point is from the outline of a circle."""
    return abs(math.dist(point, _centre(circle)) - (circle[2] - circle[0]) / 2)


def _apart(one: Box, other: Box) -> bool:
    return one[0] >= other[2] or other[0] >= one[2] or one[1] >= other[3] or other[1] >= one[3]


def _place(v: Any, state: str) -> tuple[float, float]:
    box = v.page.locator(f'{SVG} [data-id="state-{state}"] ellipse').first.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def _edge(v: Any, edge: str) -> Any:
    return v.page.evaluate(EDGE, [SVG, edge])


def _drag(v: Any, state: str, dx: float, dy: float, *, drop: bool = True) -> None:
    x, y = _place(v, state)
    v.page.mouse.move(x, y)
    v.page.mouse.down()
    v.page.mouse.move(x + dx / 2, y + dy / 2)
    v.page.mouse.move(x + dx, y + dy)
    if drop:
        v.page.mouse.up()


def _still(v: Any) -> None:
    """Wait until nothing moves."""
    v.page.wait_for_function(
        f"!document.querySelector('{PIC} svg.leaving')"
        f" && !document.querySelector('{PIC} .canvas').getAnimations({{ subtree: true }}).length"
    )


def _drawn(v: Any) -> None:
    v.wait_run()
    v.wait_drawn()
    v.page.wait_for_selector(SVG)
    _still(v)


@pytest.mark.parametrize("dark", [False, True])
def test_edges_follow_a_dragged_state(visit: Any, dark: bool) -> None:
    with visit(TIME, dark=dark) as v:
        _drawn(v)
        x, y = _place(v, "2")
        into, out, other = (_edge(v, name) for name in ("edge-1", "edge-3", "edge-4"))
        _drag(v, "2", 40, 120)
        assert _place(v, "2") == pytest.approx((x + 40, y + 120), abs=1)
        for name, before in (("edge-1", into), ("edge-3", out)):
            edge = _edge(v, name)
            assert edge["d"] != before["d"]
            assert _from_rim(edge["start"], edge["source"]) < 2
            assert _from_rim(edge["tip"], edge["target"]) < 2
            assert _apart(edge["label"], edge["source"]), name
            assert _apart(edge["label"], edge["target"]), name
        assert _edge(v, "edge-4") == other
        v.shot(f"drag_{'dark' if dark else 'light'}")


def test_label_stays_clear_of_states_that_are_close(visit: Any) -> None:
    with visit(TIME) as v:
        _drawn(v)
        (ax, ay), (bx, by) = _place(v, "2"), _place(v, "3")
        _drag(v, "2", bx - 52 - ax, by - ay)
        edge = _edge(v, "edge-3")
        assert _apart(edge["label"], edge["source"])
        assert _apart(edge["label"], edge["target"])


def test_labels_of_other_edges_leave_a_dragged_state(visit: Any) -> None:
    with visit(TIME) as v:
        _drawn(v)
        (x, y), label = _place(v, "2"), _centre(_edge(v, "edge-0")["label"])
        shape = _edge(v, "edge-0")["d"]
        _drag(v, "2", label[0] - x, label[1] - y)
        assert v.page.locator(f'{SVG} [data-id="edge-0"] .paper').count() == 1
        assert _apart(_edge(v, "edge-0")["label"], _edge(v, "edge-1")["target"])
        assert _edge(v, "edge-0")["d"] == shape


def test_edges_between_two_states_stay_apart(visit: Any) -> None:
    with visit(TIME) as v:
        _drawn(v)
        v.type_grammar(PARITY)
        v.wait_drawn()
        v.page.wait_for_selector(SVG)
        _still(v)
        pairs = v.page.evaluate(
            """svg => { const all = [...document.querySelectorAll(svg + " .edge")];
              return all.flatMap(a => all.filter(b => a.dataset.source < a.dataset.target
                && b.dataset.source === a.dataset.target && b.dataset.target === a.dataset.source)
                .map(b => [a.dataset.id, b.dataset.id, a.dataset.source])); }""",
            SVG,
        )
        assert pairs
        for one, other, state in pairs:
            _drag(v, state, 30, 90)
            there, back = _edge(v, one), _edge(v, other)
            assert math.dist(there["middle"], back["middle"]) > 12
            assert _apart(there["label"], back["label"])


def test_offset_survives_an_edit_and_ends_with_the_state(visit: Any) -> None:
    with visit(TIME) as v:
        _drawn(v)
        x, y = _place(v, "2")
        text = v.page.evaluate("wb.state.text")
        _drag(v, "2", 0, 90)
        moved = v.page.get_attribute(f'{SVG} [data-id="state-2"]', "transform")
        v.type_grammar(text + "(x)")
        v.wait_drawn()
        _still(v)
        assert v.page.get_attribute(f'{SVG} [data-id="state-2"]', "transform") == moved
        assert _from_rim(_edge(v, "edge-1")["tip"], _edge(v, "edge-1")["target"]) < 2
        # a grammar without this state, and then the first one again
        v.type_grammar("x")
        v.wait_drawn()
        v.type_grammar(text)
        v.wait_drawn()
        _still(v)
        assert _place(v, "2") == pytest.approx((x, y), abs=1)


def test_another_example_starts_fresh(visit: Any) -> None:
    with visit(TIME) as v:
        _drawn(v)
        _drag(v, "2", 0, 90)
        v.page.evaluate("wb.emit('example', wb.state.example)")
        v.page.click("#wb-picture [data-tab=tokens]")
        v.page.wait_for_function("wb.state.drawn?.tab === 'tokens'")
        v.page.click("#wb-picture [data-tab=characters]")
        v.page.wait_for_function("wb.state.drawn?.tab === 'characters'")
        assert v.page.locator(f"{SVG} .node[transform]").count() == 0


def test_dragged_states_are_put_back(visit: Any) -> None:
    with visit(TIME) as v:
        _drawn(v)
        shapes = [_edge(v, name)["d"] for name in ("edge-1", "edge-3")]

        def same() -> bool:
            touched = v.page.locator(f"{SVG} .node[transform], {SVG} .paper").count()
            return not touched and shapes == [_edge(v, name)["d"] for name in ("edge-1", "edge-3")]

        _drag(v, "2", 0, 90)
        assert not same()
        v.page.mouse.dblclick(*_place(v, "2"))
        assert same()
        _drag(v, "2", 0, 90)
        v.page.click(f"{PIC} [data-act=fit]")
        assert same()
        _drag(v, "2", 0, 90, drop=False)
        assert not same()
        v.page.keyboard.press("Escape")
        v.page.mouse.up()
        assert same()


def test_a_click_picks_and_keys_move_the_picked_state(visit: Any) -> None:
    with visit(TIME) as v:
        _drawn(v)
        x, y = _place(v, "2")
        v.page.mouse.click(x, y)
        assert v.page.locator(f"{SVG} .picked").get_attribute("data-id") == "state-2"
        assert v.page.locator(f"{SVG} .node[transform]").count() == 0
        v.page.keyboard.press("Shift+ArrowDown")
        v.page.keyboard.press("Shift+ArrowRight")
        assert _place(v, "2") == pytest.approx((x + 10, y + 10), abs=0.5)


def test_lanes_are_panned_and_not_pulled_apart(visit: Any) -> None:
    with visit("?example=date&tab=rules") as v:
        v.wait_run()
        v.wait_drawn()
        view = f"{PIC} svg.lanes"
        box = v.page.locator(f"{view} .node.initial ellipse").first.bounding_box()
        before = v.page.get_attribute(view, "viewBox")
        v.page.mouse.move(box["x"] + 8, box["y"] + 8)
        v.page.mouse.down()
        v.page.mouse.move(box["x"] + 48, box["y"] + 40)
        v.page.mouse.up()
        assert v.page.get_attribute(view, "viewBox") != before
        assert v.page.locator(f"{view} .node[transform]").count() == 0


@pytest.mark.parametrize("calm", [False, True])
def test_states_that_stay_move_smoothly_unless_motion_is_reduced(visit: Any, calm: bool) -> None:
    with visit(TIME) as v:
        v.page.emulate_media(reduced_motion="reduce" if calm else "no-preference")
        _drawn(v)
        v.page.evaluate(
            """() => { window.moves = []; const animate = Element.prototype.animate;
              Element.prototype.animate = function (...of) {
                window.moves.push([this.dataset.id, wb.state.text]); return animate.apply(this, of); }; }"""
        )
        longer = v.page.evaluate("wb.state.text") + "(a|bc)"
        v.type_grammar(longer)
        v.wait_drawn()
        v.page.wait_for_function(f"!document.querySelector('{PIC} svg.leaving')")
        moves = [state for state, text in v.page.evaluate("moves") if text == longer]
        assert ("state-0" in moves) is not calm
        assert all(state in {f"state-{each}" for each in range(7)} for state in moves)


def test_saved_picture_has_the_dragged_places(visit: Any) -> None:
    with visit(TIME) as v:
        _drawn(v)
        _drag(v, "2", 0, 90)
        moved = v.page.get_attribute(f'{SVG} [data-id="state-2"]', "transform")
        saved = v.page.evaluate("wb.take.picture().text")
        assert f'transform="{moved}"' in saved
        assert _edge(v, "edge-1")["d"] in saved


def test_a_finger_drags_a_state(visit: Any) -> None:
    with visit(TIME, height=700) as v:
        _drawn(v)
        v.page.locator(PIC).scroll_into_view_if_needed()
        x, y = _place(v, "2")
        session = v.page.context.new_cdp_session(v.page)
        top = v.page.evaluate("scrollY")

        def touch(kind: str, *points: tuple[float, float]) -> None:
            at = [{"x": px, "y": py} for px, py in points]
            session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": at})

        touch("touchStart", (x, y))
        for step in range(1, 7):
            touch("touchMove", (x, y + 10 * step))
        touch("touchEnd")
        assert v.page.evaluate("scrollY") == top
        assert _place(v, "2") == pytest.approx((x, y + 60), abs=20)
        assert v.page.locator(f'{SVG} [data-id="state-2"][transform]').count() == 1
