"""What is shown while an answer is awaited, and where there is none: nothing of another grammar."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.test_accessible import clean

pytestmark = [pytest.mark.browser, pytest.mark.exhaustive]

#: What the card of pictures says: the picture, the count over it, the sentence in its place, the line under it.
CARD = """() => {
  const card = document.querySelector("#wb-picture"), shown = (one) => one.checkVisibility() ? one.textContent : "";
  return { picture: card.querySelectorAll(".pic.main svg .node").length, count: shown(card.querySelector(".count")),
    says: shown(card.querySelector(".pic.main .say")), foot: shown(card.querySelector(".foot")),
    stack: shown(card.querySelector(".stackbox")), facts: shown(document.querySelector("#wb-grammar .facts")) };
}"""


def read(v: Any) -> None:
    v.page.wait_for_function("!wb.state.pending && wb.state.compiled.text === wb.state.text")


def nothing_but(says: str) -> dict[str, Any]:
    return {"picture": 0, "count": "", "says": says, "foot": "", "stack": "", "facts": ""}


def test_an_exercise_opens_without_the_picture_of_another_grammar(visit: Any) -> None:
    with visit("?example=json") as v:
        v.wait_run()
        v.wait_drawn()
        v.page.evaluate(
            "location.hash = 'x=yes_no'; history.replaceState(null, '', '?exercise=yes_no')"
        )
        v.page.click("#wb-header [data-view=learn]")
        v.page.click("#wb-exercise [data-tab=exercises]")
        v.page.click("#wb-exercise .exlist li button:has-text('Yes or no')")
        v.page.wait_for_function("wb.state.example?.exercise && wb.state.text === ''")
        read(v)
        says = "Write your answer on the left: its picture appears here."
        assert v.page.evaluate(CARD) == nothing_but(says)
        v.shot("exercise-empty")
        v.type_grammar("yes|no")
        v.wait_drawn()
        assert v.page.evaluate(CARD)["says"] == ""


@pytest.mark.parametrize("tab", ["together", "table", "tree"])
def test_an_empty_editor_has_no_picture(visit: Any, tab: str) -> None:
    with visit("?example=json") as v:
        v.wait_run()
        v.wait_drawn()
        if tab != "together":
            v.page.click("#wb-picture .moretabs > button")
            v.page.click(f"#wb-picture [data-tab={tab}]")
            v.page.wait_for_function(
                "tab => wb.state.drawn?.tab === tab || tab === 'table'", arg=tab
            )
        v.type_grammar("")
        read(v)
        says = "Write a grammar on the left, or choose an example above."
        assert v.page.evaluate(CARD) == nothing_but(says)
        assert v.page.locator("#wb-picture .tablebox").is_hidden()
        clean(v.page, "no picture")


def test_a_grammar_that_cannot_be_read_keeps_its_last_picture_dimmed(visit: Any) -> None:
    with visit("?example=date") as v:
        v.wait_drawn()
        v.page.press("#wb-grammar textarea.text", "Control+End")
        v.page.keyboard.type(" (")
        read(v)
        card = v.page.evaluate(CARD)
        assert card["picture"] > 0
        assert card["count"] == ""
        assert (
            card["foot"] == "The picture shows the last version of the grammar that could be read."
        )
        assert v.page.locator("#wb-picture .pic.main.stale").count() == 1
        v.page.evaluate("wb.emit('open', { text: '(', notation: 'regex' })")
        read(v)
        card = v.page.evaluate(CARD)
        assert (card["picture"], card["foot"]) == (0, "")
        assert card["says"].startswith("No picture yet: the grammar cannot be read.")


def test_a_hole_that_cannot_be_filled_is_no_fault_of_the_grammar(visit: Any) -> None:
    with visit("?example=time") as v:
        v.wait_run()
        v.wait_drawn()
        v.page.evaluate("wb.run.apply({ hole: { prefix: '}{', suffix: '' } })")
        v.page.wait_for_function("wb.state.compiled.hole?.prefix === '}{' && !wb.state.pending")
        card = v.page.evaluate(CARD)
        assert (card["picture"], card["count"], card["foot"]) == (0, "", "")
        assert card["says"].startswith(
            "No picture: the grammar can be read, but its hole cannot be filled."
        )
        v.shot("hole-unfilled")


def test_a_lesson_that_is_requested_is_marked_and_its_predecessor_ends(visit: Any) -> None:
    with visit("?learn=machines") as v:
        v.page.wait_for_selector("#wb-learn .leaf")
        ended: list[str] = []
        waiting: list[Any] = []

        def end(request: Any) -> None:
            if request.url.endswith("/lesson"):  # and no run
                ended.append(request.post_data)

        v.page.on("requestfailed", end)
        v.page.route("**/wb/ask/lesson", lambda route: waiting.append(route))
        busy = "#wb-learn .shelves [aria-busy=true]"
        for count, name in enumerate(("stacks", "wide"), start=1):
            v.page.click(f"#wb-learn [data-lesson={name}]")
            v.page.wait_for_selector(f"{busy}[data-lesson={name}]")
            assert v.page.locator(busy).count() == 1
            assert v.page.get_attribute("#wb-learn .lesson", "aria-busy") == "true"
            assert v.page.locator(f"#wb-learn [data-lesson={name}]:focus").count() == 1
            while len(waiting) < count:
                v.page.wait_for_timeout(20)
        v.page.wait_for_timeout(400)  # the sign appears slowly
        v.shot("lesson-loading")
        assert len(ended) == 1
        assert "stacks" in ended[0]
        waiting[1].continue_()
        v.page.wait_for_function("location.search.includes('wide')")
        assert v.page.locator("#wb-learn [aria-busy=true]").count() == 0


def test_a_run_of_an_earlier_grammar_says_so(visit: Any) -> None:
    outdated = "#wb-run .outdated"
    with visit("?example=time") as v:
        v.wait_run()
        assert v.page.locator(outdated).is_hidden()
        v.type_grammar("x+")
        v.page.wait_for_selector(outdated)
        read(v)
        assert (
            v.page.locator(outdated).inner_text()
            == "Written under an earlier version of the grammar. Run again"
        )
        assert v.page.evaluate(
            "[...document.querySelectorAll('#wb-run .body > .result, #wb-run .insp')]"
            ".map((part) => getComputedStyle(part).filter)"
        ) == ["grayscale(1)", "grayscale(1)"]
        v.shot("outdated")
        v.page.click(f"{outdated} button")
        v.page.wait_for_function("wb.state.ran?.endsWith('x+') && wb.state.steps.length")
        v.page.wait_for_selector(outdated, state="hidden")
