"""A student's journey through the lessons, in headless Chromium."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.exhaustive]

LEARN = "#wb-learn"


def _shown(v: Any) -> None:
    """Wait until a step is shown with its figure, if it has one."""
    v.page.wait_for_selector(f"{LEARN} .leaf")
    v.page.wait_for_function(
        "!document.querySelector('#wb-learn .film') ||"
        " document.querySelector('#wb-learn .film .count').textContent !== ''"
    )


def _say(v: Any) -> str:
    said: str = v.page.locator(f"{LEARN} .film .say").inner_text()
    return said


def _from_start(v: Any) -> None:
    """Stop the film, which plays when it is first shown, and return to its first frame."""
    v.page.click(f"{LEARN} [aria-label='First frame']")


def test_a_student_steps_answers_and_opens_the_workbench(visit: Any) -> None:
    with visit("?learn=tokens&step=3", motion=True) as v:
        _shown(v)
        assert v.page.locator(f"{LEARN} .lesson h3").inner_text() == "The same language over tokens"
        v.shot("learn_tokens")
        # the film continues frame by frame, by button and by key
        _from_start(v)
        v.page.click(f"{LEARN} [aria-label='Next frame']")
        assert _say(v) == "f leads from state 0 to state 1."
        assert v.page.locator(f"{LEARN} .node.now").count() == 1
        v.page.locator(f"{LEARN} .lesson h3").focus()
        v.page.keyboard.press("ArrowRight")
        assert _say(v) == "oo leads from state 1 to state 3."
        # a forbidden token says why
        v.page.click(f"{LEARN} .hand .token.no:has-text('for')")
        assert "for: reads fo, then needs 'o'" in _say(v)
        v.page.wait_for_selector(f"{LEARN} .because .cell.fails")
        assert v.page.locator(f"{LEARN} pre.paint .place").all_inner_texts() == ["o"]
        v.shot("learn_why")
        # wrong, then right
        options = v.page.locator(f"{LEARN} .quiz .options button")
        for number in (0, 2, 3, 4):
            options.nth(number).click()
        v.page.click(f"{LEARN} .quiz button.primary")
        v.page.wait_for_selector(f"{LEARN} .reply .no")
        assert "for" in v.page.locator(f"{LEARN} .reply li").inner_text()
        v.shot("learn_wrong")
        options.nth(3).click()
        v.page.click(f"{LEARN} .quiz button.primary")
        v.page.wait_for_selector(f"{LEARN} .reply .good")
        assert v.page.locator(f"{LEARN} .steps .done").count() == 1
        assert "1/5" in v.page.locator(f"{LEARN} .shelf [aria-current]").inner_text()
        # and on to the workbench, with the lesson's grammar
        v.page.click(f"{LEARN} button.bench")
        v.page.wait_for_function("wb.state.compiled?.text === '(foo)+d'")
        assert v.page.evaluate("document.body.dataset.view") == "workbench"
        assert "learn" not in v.page.evaluate("location.search")


def test_a_typed_text_moves_the_machine(visit: Any) -> None:
    with visit("?learn=stacks&step=2", dark=True, motion=True) as v:
        _shown(v)
        v.page.fill(f"{LEARN} .hand input", "aab")
        v.page.wait_for_function(
            "document.querySelector('#wb-learn .say').textContent.includes('may not end here')"
        )
        chips = v.page.locator(f"{LEARN} .rows .line").nth(1).locator(".chip")
        assert chips.count() == 1  # the dot alone: what was pushed has been popped
        v.page.fill(f"{LEARN} .hand input", "aabb")
        v.page.wait_for_selector(f"{LEARN} .say .good")
        v.shot("learn_stack_dark")


def test_steps_turn_by_key_and_keep_their_place_in_the_address(visit: Any) -> None:
    with visit("?learn=machines", motion=True) as v:
        _shown(v)
        v.page.keyboard.press("n")
        v.page.wait_for_function("new URLSearchParams(location.search).get('step') === '2'")
        v.page.keyboard.press("n")
        v.page.wait_for_function("new URLSearchParams(location.search).get('step') === '3'")
        v.page.keyboard.press("p")
        v.page.wait_for_function("new URLSearchParams(location.search).get('step') === '2'")
        assert v.page.evaluate("document.activeElement.tagName") == "H3"
        v.page.click(f"{LEARN} .shelf button:has-text('Stacks')")
        v.page.wait_for_function("location.search.includes('learn=stacks')")
        where = v.page.evaluate("location.search")
    # another visitor of the address sees the same
    with visit(where, motion=True) as v:
        _shown(v)
        assert v.page.locator(f"{LEARN} .lesson h2").inner_text() == "Stacks"


def test_a_construction_grows_and_plays(visit: Any) -> None:
    with visit("?learn=machines&step=5", motion=True) as v:
        _shown(v)
        hidden = v.page.locator(f"{LEARN} .screen >> nth=1 >> .node.later")
        _from_start(v)
        assert hidden.count() == 3
        v.page.click(f"{LEARN} [aria-label='Play']")
        v.page.wait_for_function(
            "document.querySelector('#wb-learn .count').textContent.startsWith('6')"
        )
        assert hidden.count() == 0
        v.shot("learn_subsets")


AT = "document.querySelector('#wb-learn .count').textContent"


def test_a_film_plays_once_when_it_is_seen(visit: Any) -> None:
    with visit("?learn=machines&step=1", motion=True) as v:
        _shown(v)
        v.page.wait_for_function(f"{AT}.startsWith('2')")
        # it reads a: the chip of a is lit, the next one outlined
        chips = v.page.locator(f"{LEARN} .rows .chip")
        assert "state 0 to state 1" in _say(v)
        assert [chips.nth(i).get_attribute("title") for i in (0, 1)] == ["just read", "read next"]
        v.page.wait_for_function(f"{AT}.startsWith('4')")
        v.page.wait_for_selector(f"{LEARN} [aria-label='Play']")
        assert v.page.locator(f"{LEARN} .say[role=status]").count() == 1
        # whatever a reader does stops it
        v.page.click(f"{LEARN} .steps button >> nth=1")
        v.page.wait_for_selector(f"{LEARN} [aria-label='Pause']")
        v.page.click(f"{LEARN} .hand input")
        v.page.wait_for_selector(f"{LEARN} [aria-label='Play']")


def test_a_film_opens_at_its_end_for_readers_who_want_no_motion(visit: Any) -> None:
    with visit(motion=True) as v:
        v.wait_run()  # leaving the page would break its connection, which the browser reports
        v.page.emulate_media(reduced_motion="reduce")
        v.page.goto(v.page.url.split("?")[0] + "?learn=machines&step=1")
        _shown(v)
        assert v.page.inner_text(f"{LEARN} .count").startswith("4 /")
        assert "accepted" in _say(v)


def test_a_column_with_the_answer_is_hidden_until_the_question_is_checked(visit: Any) -> None:
    with visit("?learn=subterminals&step=2", motion=True) as v:
        _shown(v)
        covered = v.page.locator(f"{LEARN} .worked td.later")
        assert covered.count() == 13
        assert v.page.locator(f"{LEARN} .worked :is(td.good, td.no)").count() == 0
        v.page.click(f"{LEARN} .quiz .options button >> nth=0")
        v.page.click(f"{LEARN} .quiz button.primary")
        v.page.wait_for_selector(f"{LEARN} .reply .no")
        assert covered.count() == 0
        assert v.page.locator(f"{LEARN} .worked :is(td.good, td.no)").count() == 13
        v.shot("learn_uncovered")


def test_lessons_fit_a_phone(visit: Any) -> None:
    with visit("?learn=composition&step=6", width=390, height=844, motion=True) as v:
        _shown(v)
        wide = v.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 390
        v.shot("learn_phone")


def test_a_phone_chooses_lessons_from_a_list(visit: Any) -> None:
    with visit("?learn=tokens", width=390, height=844, motion=True) as v:
        _shown(v)
        assert not v.page.locator(f"{LEARN} .shelves").is_visible()
        shelves = v.page.locator(f"{LEARN} .pick optgroup")
        assert "DOMINO" in [shelves.nth(i).get_attribute("label") for i in range(shelves.count())]
        v.page.select_option(f"{LEARN} .pick", "bridge")
        v.page.wait_for_function("location.search.includes('learn=bridge')")
        assert v.page.locator(f"{LEARN} .lesson h2").inner_text() == "Bridge tokens"


def test_two_methods_part_and_a_method_says_why_it_forbids(visit: Any) -> None:
    with visit("?learn=bridge&step=2", motion=True) as v:
        _shown(v)
        _from_start(v)
        for _ in range(4):
            v.page.click(f"{LEARN} [aria-label='Next frame']")
        # a tab instead of a space and a quote: three bits, shown by its shade and in words
        tab = v.page.locator(f"{LEARN} .rows .line").nth(1).locator(".chip").nth(2)
        assert tab.get_attribute("title") == "surprisal 3.0 bits"
        assert "b3" in (tab.get_attribute("class") or "").split()
        v.shot("learn_bridge")
        v.page.goto(v.page.url.replace("learn=bridge&step=2", "learn=terminals&step=1"))
        _shown(v)
        v.page.click(f"{LEARN} .hand button:has-text('fo') >> nth=0")
        v.page.wait_for_function(
            "document.querySelector('#wb-learn .say').textContent === 'fo is taken.'"
        )
        v.page.locator(f"{LEARN} .hand .token.no", has_text="o(1").click()
        assert "going by terminals forbids it" in _say(v)


def test_unknown_lesson_opens_the_first(visit: Any) -> None:
    with visit("?learn=nothing&step=99", motion=True) as v:
        _shown(v)
        assert v.page.locator(f"{LEARN} .shelf [aria-current]").count() == 1


def test_a_table_of_a_lesson_is_no_wider_than_its_column(visit: Any) -> None:
    with visit("?learn=meaning&step=1", width=1280, height=720) as v:
        table = v.page.wait_for_selector("#wb-learn .worked")
        assert table.evaluate("(box) => box.scrollWidth <= box.clientWidth"), "its last column"


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (390, 844)])
def test_a_figure_that_fits_is_not_covered_by_its_player(
    visit: Any, width: int, height: int
) -> None:
    with visit("?learn=dataclasses&step=3", width=width, height=height) as v:
        v.page.wait_for_selector("#wb-learn .film svg .node")
        cover = """() => {
          const deck = document.querySelector('#wb-learn .film .deck').getBoundingClientRect();
          const pictures = document.querySelector('#wb-learn .film .screens').getBoundingClientRect();
          return [pictures.bottom - deck.top, pictures.height + deck.height];
        }"""
        over, both = v.page.evaluate(cover)
        assert over <= 1 or both > height - 40
        v.page.locator("#wb-learn .film .deck").scroll_into_view_if_needed()
        assert v.page.evaluate(cover)[0] <= 1


#: The figures and tables of the shown step with parts outside their boxes, and whether a button shows them.
_CUT = """() => {
  const shown = [...document.querySelectorAll('#wb-learn .film .screen:not([hidden]) .pic')];
  const figures = shown.filter((box) => {
    const frame = box.getBoundingClientRect(), drawn = box.querySelector('.canvas svg:not(.leaving)');
    return [...drawn.querySelectorAll('.node:not(.later)')].some((node) => {
      const r = node.getBoundingClientRect();
      return r.left < frame.left - 2 || r.right > frame.right + 2
        || r.top < frame.top - 2 || r.bottom > frame.bottom + 2;
    });
  });
  for (const box of figures) box.querySelector('.fit:not([hidden])')?.dispatchEvent(new Event('click'));
  const tables = [...document.querySelectorAll('#wb-learn .worked')];
  return [figures.length, tables.filter((box) => box.scrollWidth > box.clientWidth + 1).length];
}"""


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("width", "height"), [(1280, 720), (1400, 900)])
def test_all_of_every_figure_and_table_can_be_seen(visit: Any, width: int, height: int) -> None:
    with visit("?learn=machines", width=width, height=height) as v:
        _shown(v)
        lessons = v.page.eval_on_selector_all(
            f"{LEARN} .shelves [data-lesson]", "all => all.map((each) => each.dataset.lesson)"
        )
        figures = 0
        for lesson in lessons:
            v.page.evaluate("name => wb.emit('open lesson', name)", lesson)
            v.page.wait_for_function(
                "name => location.search.includes(`learn=${name}&`)", arg=lesson
            )
            for step in range(v.page.locator(f"{LEARN} .steps button").count()):
                turn = f"document.querySelector('#wb-learn .steps [data-step=\"{step}\"]').click()"
                v.page.evaluate(turn)
                _shown(v)
                cut, wide_tables = v.page.evaluate(_CUT)
                figures += cut
                assert not wide_tables, (lesson, step)
                # after the button nothing is outside
                assert not cut or v.page.evaluate(_CUT)[0] == 0, (lesson, step)
        assert figures, "no figure is larger than its box: this tests nothing"


@pytest.mark.parametrize(
    "lesson", ["stacks", "json_schema&step=1", "dataclasses&step=1", "holes&step=3"]
)
def test_all_of_a_low_figure_is_in_view_on_a_laptop(visit: Any, lesson: str) -> None:
    bottom = "document.querySelector('#wb-learn .screens').getBoundingClientRect().bottom"
    with visit(f"?learn={lesson}", width=1280, height=720) as v:
        _shown(v)
        assert v.page.evaluate("scrollY") == 0
        assert v.page.evaluate(bottom) <= 720


@pytest.mark.parametrize("lesson", ["composition&step=6", "holes&step=3", "improper&step=2"])
def test_the_figure_of_a_wide_step_is_in_view_on_a_laptop(visit: Any, lesson: str) -> None:
    """Also where the sentence about it is kept in view over its lower part."""
    shown = """() => {
      const top = document.querySelector("#wb-learn .screen").getBoundingClientRect().top;
      const deck = document.querySelector("#wb-learn .deck").getBoundingClientRect().top;
      return Math.min(innerHeight, deck) - top;
    }"""
    with visit(f"?learn={lesson}", width=1280, height=720) as v:
        _shown(v)
        assert v.page.evaluate("scrollY") == 0
        assert v.page.evaluate(shown) > 100


@pytest.mark.parametrize("lesson", ["finishing&step=4", "conditional&step=2", "holes&step=4"])
def test_a_table_is_as_wide_as_a_phone(visit: Any, lesson: str) -> None:
    with visit(f"?learn={lesson}", width=390, height=844) as v:
        _shown(v)
        table = v.page.locator(f"{LEARN} .worked")
        assert table.evaluate("table => table.scrollWidth - table.clientWidth") <= 0
        cell = table.locator("td").first
        name = cell.get_attribute("data-head")
        assert name
        assert name in cell.evaluate("cell => getComputedStyle(cell, '::before').content")


def test_the_button_that_fits_a_figure_hides_no_part_of_it(visit: Any) -> None:
    """It is in the strip over the drawing, whichever part of the machine is shown."""
    hidden = """() => [...document.querySelectorAll("#wb-learn .fit:not([hidden])")].flatMap((button) => {
      const box = button.getBoundingClientRect();
      return [...button.parentElement.querySelectorAll(".node, text")].filter((part) => {
        const r = part.getBoundingClientRect();
        return r.left < box.right && box.left < r.right && r.top < box.bottom && box.top < r.bottom;
      });
    }).length"""
    for step in ("kbnf&step=2", "json_schema&step=1"):
        with visit(f"?learn={step}", width=1280, height=720) as v:
            _shown(v)
            assert v.page.evaluate(hidden) == 0
            v.page.click(f"{LEARN} .fit >> visible=true")
            assert v.page.inner_text(f"{LEARN} .fit >> visible=true") == "Enlarge"
            assert v.page.evaluate(hidden) == 0
