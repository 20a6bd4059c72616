"""The picture and a lesson on the whole screen, and the overview of a picture that is larger than its box."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.browser

CARD = "#wb-picture .picturecard"
FILLS = """selector => { const r = document.querySelector(selector).getBoundingClientRect();
  return r.left <= 0 && r.top <= 0 && r.right >= innerWidth && r.bottom >= innerHeight; }"""
#: The smallest size of a text on the presented page, in pixels, outside of figures.
SMALLEST = """() => Math.min(...[...document.querySelectorAll(".lesson.fullscreen *")]
  .filter((one) => !one.closest("svg, .sr") && one.checkVisibility()
    && [...one.childNodes].some((part) => part.nodeType === 3 && part.textContent.trim()))
  .map((one) => parseFloat(getComputedStyle(one).fontSize)))"""


def test_the_arrow_keys_walk_through_the_run_on_the_whole_screen(visit: Any) -> None:
    with visit("?example=date") as v:
        v.wait_run()
        v.wait_drawn()
        assert not v.page.evaluate(FILLS, CARD)
        v.page.click("#wb-picture .zoom .large")
        v.page.wait_for_selector(f"{CARD}.fullscreen .walkthrough")
        assert v.page.evaluate(FILLS, CARD)
        for _ in range(v.page.evaluate("wb.state.steps.length")):
            v.page.keyboard.press("ArrowLeft")
        v.page.wait_for_function("wb.state.selected === 0")
        v.page.keyboard.press("ArrowRight")
        v.page.click(f"{CARD} .walkthrough [data-by='1']")
        v.page.wait_for_function("wb.state.selected === 2")
        token = v.page.evaluate("wb.state.steps[2].token.text")
        assert v.page.locator(f"{CARD} .walkthrough mark").inner_text() == token
        v.shot("full-screen")
        v.page.keyboard.press("Escape")
        v.page.wait_for_selector(f"{CARD}:not(.fullscreen)")
        assert not v.page.evaluate(FILLS, CARD)


def test_the_picture_fills_the_whole_screen_of_a_phone(visit: Any) -> None:
    with visit("?example=date", width=390, height=844) as v:
        v.wait_run()
        v.wait_drawn()
        v.page.click("#wb-picture .zoom .large")
        v.page.wait_for_selector(f"{CARD}.fullscreen .walkthrough")
        stage, pic = (v.page.locator(f"{CARD} {part}") for part in (".stage", ".pic.main"))
        assert pic.bounding_box()["height"] == stage.bounding_box()["height"]
        assert v.page.locator(f"{CARD} .walkthrough .end").inner_text() == "end"


def test_a_lesson_is_presented_a_step_a_screen(visit: Any) -> None:
    with visit("?learn=stacks&step=1", width=1280, height=720) as v:
        v.page.wait_for_selector("#wb-learn .film .pic svg .node")
        v.page.click("#wb-learn .present")
        v.page.wait_for_selector(".lesson.fullscreen .film .pic svg .node")
        assert v.page.evaluate(FILLS, ".lesson")
        assert v.page.evaluate(SMALLEST) >= 20
        heading = v.page.locator(".lesson h3").inner_text()
        v.page.keyboard.press("PageDown")
        v.page.keyboard.press("ArrowRight")
        v.page.wait_for_function(
            "old => document.querySelector('.lesson h3').textContent !== old", arg=heading
        )
        v.shot("presented")
        v.page.keyboard.press("Escape")
        v.page.wait_for_selector(".lesson:not(.fullscreen)")


def test_the_overview_covers_no_name_of_a_lane(visit: Any) -> None:
    covered = """() => {
      const map = document.querySelector("#wb-picture .overview").getBoundingClientRect();
      return [...document.querySelectorAll("#wb-picture svg.lanes text.name")].filter((name) => {
        const box = name.getBoundingClientRect();
        return box.left < map.right && map.left < box.right && box.top < map.bottom && map.top < box.bottom;
      }).map((name) => name.textContent);
    }"""
    with visit("?example=arithmetic", width=1280, height=720, folded=True) as v:
        v.wait_run()
        v.wait_drawn()
        v.page.wait_for_selector("#wb-picture .overview", state="visible")
        assert v.page.evaluate(covered) == []
        v.shot("overview_of_lanes")


def test_the_overview_shows_the_part_in_view_and_goes_to_another(visit: Any) -> None:
    overview = "#wb-picture .overview"
    view = "document.querySelector('#wb-picture .canvas svg').getAttribute('viewBox').split(' ').map(Number)"
    with visit("?example=date") as v:
        v.wait_run()
        v.wait_drawn()
        v.page.focus("#wb-picture .pic.main")
        v.page.keyboard.press("0")
        assert v.page.locator(overview).is_hidden(), "the whole picture is in view"
        for _ in range(5):
            v.page.keyboard.press("+")
        v.page.wait_for_selector(overview)
        box = v.page.locator(overview).bounding_box()
        v.page.mouse.click(box["x"] + 0.9 * box["width"], box["y"] + box["height"] / 2)
        right = v.page.evaluate(view)
        v.page.mouse.click(box["x"] + 0.1 * box["width"], box["y"] + box["height"] / 2)
        left = v.page.evaluate(view)
        assert right[0] - left[0] > right[2], "the two parts have nothing in common"
        # the current state is marked where it is in the picture
        assert v.page.locator(f"{overview} .current").is_visible()
        v.shot("overview")
