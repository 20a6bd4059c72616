"""Exercises in headless Chromium: solved with counterexamples, made, shared by link, a course."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.browser.test_accessible import BOTH, clean
from workbench.app.exercises.course import course_of, encode_course

pytestmark = [pytest.mark.browser, pytest.mark.exhaustive]

BAR = "#wb-exercise .exbar"
LIST = "#wb-exercise .exlist"
#: Accepts an odd number of a.
WRONG = "initial e\nfinal e o\ne -> o : a\no -> e : a\ne -> e : b\no -> o : b\n"


def opened(v: Any, title: str) -> None:
    v.page.wait_for_function(
        "title => document.querySelector('#wb-exercise .exbar h2').textContent === title"
        " && wb.state.example?.exercise",
        arg=title,
    )


def answer(v: Any, text: str) -> str:
    """Write an answer, check it, and return the verdict."""
    v.page.evaluate("text => wb.emit('rewrite', { text })", text)
    v.page.wait_for_function("text => wb.state.compiled?.text.trim() === text.trim()", arg=text)
    v.page.click(f"{BAR} .check")
    v.page.wait_for_selector(f"{BAR} .result:not(.stale) b")
    said: str = v.page.locator(f"{BAR} .result b").inner_text()
    return said


def test_an_exercise_is_solved_with_its_counterexample(visit: Any) -> None:
    with visit("?exercise=even_a") as v:
        opened(v, "An even number of a")
        assert v.page.locator(f"{BAR} .where").inner_text() == "Exercise 6 of 20"
        assert v.page.locator(f"{BAR} .rules li").all_inner_texts()[:2] == [
            "as Machine",
            "deterministic",
        ]
        v.page.click(f"{BAR} .hint")
        assert "A state remembers" in v.page.locator(f"{BAR} .hinttext").inner_text()
        said = answer(v, WRONG)
        assert said == "✗ Your answer accepts 'a', which the language does not contain"
        credit = v.page.locator(f"{BAR} .result span.quiet").first
        assert re.fullmatch(r"partial credit \d+ %", credit.inner_text())
        assert "both accept" in str(credit.get_attribute("title"))
        assert v.page.locator(f"{BAR} .path button").all_inner_texts() == ["e", "o"]
        # the states of the text are lit in the student's own drawing
        v.page.wait_for_selector("#wb-grammar .drawing .lit, #wb-grammar .drawing .now")
        v.shot("exercise_wrong")
        v.page.evaluate("wb.state.tests.splice(0)")  # one of the exercise's texts is this one
        v.page.click(f"{BAR} .counter")
        assert v.page.evaluate("wb.state.tests.at(-1)") == {"text": "a", "expect": "reject"}
        assert answer(v, WRONG.replace("final e o", "final e")).startswith("✓ Right")
        assert "A state represents" in v.page.locator(f"{BAR} .teaches").inner_text()
        assert v.page.locator(f"{BAR} .solved").is_visible()
        # progress, and the answer, are kept
        v.page.wait_for_load_state("networkidle")
        v.page.reload()
        v.page.wait_for_function("window.wb?.ready")
        opened(v, "An even number of a")
        assert v.page.locator(f"{BAR} .solved").is_visible()
        assert "o -> o : b" in v.page.evaluate("wb.state.text")
        v.page.click(f"{BAR} .list")
        v.page.wait_for_selector(f"{LIST} li")
        assert v.page.locator(f"{LIST} header").inner_text().split("\n")[1] == "1 of 20 solved"
        v.page.wait_for_load_state("networkidle")
        v.page.reload()  # the list has an address
        v.page.wait_for_function("window.wb?.ready")
        v.page.wait_for_selector(f"{LIST} li")
        assert v.page.url.endswith("?learn=exercises")
        v.page.click(f"{LIST} li button:has-text('Yes or no')")
        opened(v, "Yes or no")
        assert v.page.evaluate("wb.state.notation") == "regex"


def test_an_exercise_has_the_window_to_itself(visit: Any) -> None:
    """The run, which an exercise does not need, begins under it."""
    with visit("?exercise=even_a", width=1280, height=720) as v:
        opened(v, "An even number of a")
        box = v.page.locator("#wb-main").bounding_box()
        assert 700 <= box["y"] + box["height"] <= 720
        assert v.page.locator("#wb-grammar .drawing").bounding_box()["height"] > 200


def test_an_answer_in_another_notation_keeps_the_exercise(visit: Any) -> None:
    with visit("?exercise=a_n_b_n") as v:
        opened(v, "As many b as a")
        v.page.click("#wb-grammar [data-notation=gbnf]")
        v.page.wait_for_function("wb.state.notation === 'gbnf'")
        assert answer(v, 'root ::= "a" root "b" | ""').startswith("✓")
        v.page.locator("#wb-grammar textarea.text").press_sequentially(" ")
        chosen = "#wb-header .pickwrap select option:checked"
        assert v.page.locator(chosen).inner_text() == "Exercise: As many b as a"
        v.page.select_option("#wb-header .pickwrap select", index=2)
        v.page.wait_for_selector(BAR, state="hidden")
        assert "exercise" not in v.page.url


def test_the_model_answer_is_on_the_page_only_when_it_is_asked_for(visit: Any) -> None:
    with visit("?exercise=quoted") as v:
        opened(v, "A quoted string")
        assert "]|\\\\[^" not in v.page.content()
        v.page.click(f"{BAR} .answer")
        v.page.wait_for_selector(f"{BAR} pre")
        assert '"([^' in v.page.locator(f"{BAR} pre").inner_text()


def test_a_teacher_makes_an_exercise_and_a_student_solves_it(visit: Any) -> None:
    with visit("?example=yes_or_no") as v:
        v.wait_run()
        v.type_grammar("(ab)+")
        v.page.wait_for_function("wb.state.compiled?.text === '(ab)+'")
        v.page.click("#wb-header [data-view=learn]")
        v.page.click("#wb-exercise [data-tab=exercises]")
        v.page.click(f"{LIST} button:has-text('Make an exercise')")
        dialog = "dialog.maker"
        v.page.wait_for_selector(f"{dialog} .conditions input")
        v.page.fill(f"{dialog} [name=title]", "Repeated")
        v.page.fill(f"{dialog} [name=task]", "One or more copies of ab.")
        v.page.check(f"{dialog} [value=regex]")
        v.page.check(f"{dialog} [value=no_alternation]")
        v.page.fill(f"{dialog} [name=accepts]", "ab\na")
        v.page.click(f"{dialog} .primary")
        v.page.wait_for_selector(f"{dialog} .made .no")
        assert "rejects the example a" in v.page.locator(f"{dialog} .made").inner_text()
        v.page.click(f"{dialog} .suggest")
        v.page.wait_for_function("document.querySelector('dialog.maker [name=rejects]').value")
        v.page.click(f"{dialog} .primary")
        v.page.wait_for_selector(f"{dialog} .made .copy")
        clean(v.page, "the maker", dialog)
        v.shot("exercise_maker")
        link = v.page.locator(f"{dialog} .made input").input_value()
    assert "(ab)+" not in link
    with visit(link[link.index("#") :]) as v:
        opened(v, "Repeated")
        assert "(ab)+" not in v.page.content()
        assert answer(v, "ab") == "✗ Your answer rejects 'abab', which the language contains"
        assert answer(v, "ab|ab(ab)+").startswith("✗ The language is right, but a condition")
        assert answer(v, "ab(ab)*").startswith("✓")
        v.page.reload()
        v.page.wait_for_function("window.wb?.ready")
        opened(v, "Repeated")
        assert v.page.locator(f"{BAR} .solved").is_visible()


def test_a_damaged_link_says_so(visit: Any) -> None:
    with visit("#x=1.00000000.AAAA") as v:
        v.page.wait_for_selector(".notice.on")
        assert "the link to an exercise cannot be read" in v.page.locator(".notice").inner_text()
        assert v.page.locator(BAR).is_hidden()


def test_a_course_opens_as_a_list_with_progress(visit: Any) -> None:
    link = encode_course(course_of("Week 1", ["machines", "yes_no", "few_digits"]))
    with visit(f"#{link}") as v:
        v.page.wait_for_selector(f"{LIST} h2:has-text('Week 1')")
        assert v.page.locator(f"{LIST} li").count() == 3
        v.page.click(f"{LIST} li button:has-text('Yes or no')")
        opened(v, "Yes or no")
        assert v.page.locator(f"{BAR} .where").inner_text() == "Exercise of the course 1 of 2"
        assert answer(v, "yes|no").startswith("✓")
        v.page.click(f"{BAR} .list")
        v.page.wait_for_selector(f"{LIST} .m.good")
        assert v.page.locator(f"{LIST} header span").first.inner_text() == "1 of 3 done"
        clean(v.page, "a course", "#wb-exercise")
        v.page.click(f"{LIST} li button:has-text('Lesson')")
        v.page.wait_for_selector("#wb-learn .leaf")
        assert v.page.locator(LIST).is_hidden()


def test_a_course_is_made(visit: Any) -> None:
    with visit("?learn=machines") as v:
        v.page.wait_for_selector("#wb-learn .leaf")
        v.page.click("#wb-exercise [data-tab=exercises]")
        v.page.click(f"{LIST} button:has-text('Make a course')")
        dialog = "dialog.coursemaker"
        v.page.wait_for_selector(f"{dialog} option[value=even_a]", state="attached")
        v.page.select_option(f"{dialog} [name=add]", "machines")
        v.page.select_option(f"{dialog} [name=add]", "even_a")
        assert v.page.locator(f"{dialog} [name=items]").input_value() == "machines\neven_a\n"
        v.page.click(f"{dialog} .primary")
        v.page.wait_for_selector(f"{dialog} .made .copy")
        clean(v.page, "the course maker", dialog)
        assert "#c=1." in v.page.locator(f"{dialog} .made input").input_value()


def test_sheets_and_slides_are_printed(visit: Any) -> None:
    keep = "window.print = () => { window.printed = document.body.cloneNode(true).innerHTML; }"
    with visit("?learn=machines", before=keep) as v:
        v.page.wait_for_selector("#wb-learn .leaf")
        v.page.click("#wb-learn button:has-text('Print slides')")
        v.page.wait_for_function("window.printed")
        assert v.page.evaluate("printed").count('class="leaf') == 6
        v.page.evaluate("window.printed = ''")
        v.page.click("#wb-exercise [data-tab=exercises]")
        v.page.click(f"{LIST} button:has-text('Print the sheet')")
        sheet = v.page.evaluate("printed")
        assert sheet.count('class="room') == 20
        assert "[A-Za-z_][A-Za-z0-9_]*" not in sheet
        v.page.click(f"{LIST} button:has-text('Make a course')")
        v.page.fill("dialog.coursemaker [name=items]", "identifier\nmachines\n")
        v.page.evaluate("window.printed = ''")
        v.page.click("dialog.coursemaker .solutions")
        v.page.wait_for_function("window.printed")
        assert "[A-Za-z_][A-Za-z0-9_]*" in v.page.evaluate("printed")
        # on paper only the sheet is seen
        v.page.evaluate(
            "() => { const sheet = document.createElement('div'); sheet.className = 'wb sheets tasks';"
            " sheet.textContent = 'task'; document.body.append(sheet);"
            " document.body.toggleAttribute('data-printing', true); }"
        )
        assert v.page.locator(".sheets.tasks").is_hidden()
        v.page.emulate_media(media="print")
        assert v.page.locator(".sheets.tasks").is_visible()
        assert v.page.locator("#wb-main").is_hidden()


@BOTH
def test_exercises_are_accessible(visit: Any, dark: bool, width: int) -> None:
    with visit("?exercise=even_a", dark=dark, width=width) as v:
        opened(v, "An even number of a")
        answer(v, WRONG)
        clean(v.page, "a wrong answer", "#wb-exercise")
        v.page.click(f"{BAR} .list")
        v.page.wait_for_selector(f"{LIST} li")
        clean(v.page, "the list", "#wb-exercise")
        wide = v.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0
        v.shot(f"exercise_list_{width}")
