"""A machine is drawn: with the mouse, with the keyboard alone, with a finger; then used like any grammar."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.test_accessible import clean

pytestmark = [pytest.mark.browser, pytest.mark.exhaustive]


def empty(v: Any) -> Any:
    """An empty drawing, as a teacher begins; the page's element of it."""
    v.page.wait_for_function("window.wb?.state?.compiled")
    v.page.click("#wb-grammar [data-notation=machine]")
    v.page.wait_for_selector(".machine .st")
    v.page.evaluate("wb.emit('open', { text: '', notation: 'machine' })")
    v.page.wait_for_function("!document.querySelector('.machine .st')")
    return v.page.locator(".sketch")


def text(v: Any) -> str:
    return str(v.page.evaluate("wb.state.text")).strip()


def edges(v: Any) -> list[str]:
    return [line for line in text(v).split("\n") if "->" in line]


def read(v: Any) -> list[str]:
    """The facts of the present text, once it is read."""
    v.page.wait_for_function("!wb.state.pending && wb.state.compiled.text === wb.state.text")
    return list(v.page.evaluate("wb.state.compiled.facts"))


def circle(v: Any, name: str) -> tuple[float, float, float]:
    """The centre of a state on the page, and its radius."""
    x, y, r = v.page.evaluate(
        """name => { const seen = [...document.querySelectorAll('.machine .st')]
          .find((one) => one.dataset.part === `state ${name}`).querySelector('.body').getBoundingClientRect();
          return [seen.x + seen.width / 2, seen.y + seen.height / 2, seen.width / 2]; }""",
        name,
    )
    return x, y, r


def link(v: Any, source: str, target: str, label: str) -> None:
    """Drag from the rim of a state to another, and type the label."""
    (x, y, r), (to_x, to_y, _) = circle(v, source), circle(v, target)
    v.page.mouse.move(x, y - r + 2)
    v.page.mouse.down()
    v.page.mouse.move((x + to_x) / 2, (y + to_y) / 2 + 9, steps=3)
    v.page.mouse.move(to_x, to_y, steps=3)
    v.page.mouse.up()
    v.page.wait_for_selector(".labelfield:not([hidden])")
    v.page.keyboard.type(label)
    v.page.keyboard.press("Enter")


def test_a_machine_is_drawn_with_the_mouse_and_the_model_writes_under_it(visit: Any) -> None:
    with visit("?example=yes_or_no", width=1280, height=720) as v:
        loaded = "[...document.scripts].some((one) => one.src.includes('drawing.js'))"
        v.page.wait_for_function("window.wb?.state?.compiled")
        assert not v.page.evaluate(loaded), "the drawing is loaded when its tab is opened"
        row = v.page.locator("#wb-grammar .notation")
        assert row.evaluate("(one) => one.scrollWidth <= one.clientWidth"), "seven tabs fit"
        box = empty(v).bounding_box()
        assert v.page.evaluate(loaded)
        v.page.mouse.dblclick(box["x"] + 120, box["y"] + 90)
        v.page.wait_for_function("document.querySelectorAll('.machine .st').length === 1")
        v.page.mouse.dblclick(box["x"] + 330, box["y"] + 90)
        v.page.wait_for_function("document.querySelectorAll('.machine .st').length === 2")
        link(v, "q0", "q1", "a")
        link(v, "q1", "q0", "a")
        link(v, "q0", "q0", "b, c")
        assert edges(v) == ["q0 -> q1 : a", "q1 -> q0 : a", "q0 -> q0 : b, c"]
        x, y, _ = circle(v, "q0")
        v.page.mouse.dblclick(x, y)
        assert "final q0" in text(v)
        assert read(v)[:3] == ["2 states", "deterministic", "minimal"]
        # a state is moved, and its edges are kept
        x, y, _ = circle(v, "q1")
        v.page.mouse.move(x, y)
        v.page.mouse.down()
        v.page.mouse.move(x - 40, y + 50, steps=4)
        v.page.mouse.up()
        moved = text(v)
        assert len(edges(v)) == 3
        # one undo for drawing and text
        v.page.click("#wb-grammar .drawbar >> text=Text")
        v.page.locator("#wb-grammar textarea.text").press_sequentially("\n# typed")
        v.page.keyboard.press("Control+z")
        assert text(v) == moved
        v.page.keyboard.press("Control+z")
        assert text(v) != moved
        v.page.keyboard.press("Control+Shift+z")
        assert text(v) == moved
        # tests and a run, as of any grammar
        v.page.click("#wb-grammar [data-section=tests]")
        v.page.fill("#wb-grammar .addtest textarea", "abca")
        v.page.keyboard.press("Enter")
        v.page.locator("#wb-sec-tests .tests > li", has_text="abca").wait_for()
        read(v)
        v.run()
        v.page.click("#wb-grammar .convert > button")
        v.page.click("#wb-grammar .convert >> text=to Regex")
        v.page.wait_for_function("wb.state.notation === 'regex'")
        assert text(v) == "(?:[bc]|aa)*"


def test_a_machine_is_drawn_with_the_keyboard_alone(visit: Any) -> None:
    with visit("?example=yes_or_no", dark=True) as v:
        empty(v).focus()
        keys = v.page.keyboard

        def focused() -> str:
            return str(v.page.evaluate("document.activeElement.getAttribute('aria-label')"))

        keys.press("n")
        assert focused().startswith("state q0, initial")
        keys.press("n")
        keys.press("F2")
        keys.type("done")
        keys.press("Enter")
        keys.press("f")
        assert focused().startswith("state done, final")
        keys.press("ArrowLeft")
        keys.press("e")
        keys.press("ArrowRight")
        keys.press("Enter")
        keys.type("[a-c], #")
        keys.press("Enter")
        assert focused() == "edge from q0 to done that reads [a-c], \\#"
        keys.press("ArrowRight")
        keys.press("e")
        keys.type("q")  # the first letters of the target's name
        keys.press("Enter")
        keys.press("Enter")
        assert edges(v) == ["q0 -> done : [a-c], \\#", "done -> q0 : ε"]
        keys.press("Delete")
        keys.press("e")
        keys.press("Enter")
        keys.type("x")
        keys.press("Escape")
        keys.press("Enter")
        keys.type("z")
        keys.press("Enter")
        assert edges(v)[1:] == ["done -> done : z"]
        before = circle(v, "done")
        keys.press("ArrowRight")
        keys.press("Alt+ArrowDown")
        assert circle(v, "done")[1] > before[1]
        assert read(v)[:2] == ["2 states", "deterministic"]
        # Tab goes through states and labels, and out of the drawing
        v.page.focus(".sketch")
        seen = []
        for _ in range(6):
            keys.press("Tab")
            seen.append(focused().split(". ")[0])
        assert {"state q0, initial", "state done, final"} <= set(seen)
        assert "edge from done to done that reads z" in seen
        v.shot("drawing_keys_dark")
        listed = v.page.locator(".drawing ul.sr li").all_inner_texts()
        assert len(listed) == 4


def test_problems_are_marked_where_they_are(visit: Any) -> None:
    with visit("?example=ends_in_ab") as v:
        v.page.wait_for_selector(".machine .badge")
        label = v.page.locator(".machine .lb:has(.badge)")
        assert "state q0 reads a in two ways" in label.get_attribute("aria-label")
        v.page.evaluate("wb.emit('open', {text: 'p -> q : (', notation: 'machine'})")
        v.page.wait_for_selector(".machine .badge.error")
        assert v.page.locator(".machine .st").count() == 2, "a machine with a mistake is drawn"
        v.page.evaluate("wb.emit('open', {text: 'initial p\\np -> q : a', notation: 'machine'})")
        state = v.page.locator(".machine .st:has(.badge.error)")
        state.wait_for()
        state.focus()
        assert "no state is final" in v.page.locator(".chosen .problem").first.inner_text()
        clean(v.page, "a marked machine", "#wb-grammar")
        many = "initial q0\nfinal q0\n" + "".join(f"q{n} -> q{n + 1} : a\n" for n in range(120))
        v.page.evaluate("text => wb.emit('open', { text, notation: 'machine' })", many)
        v.page.get_by_text("This one is edited as text").wait_for()
        assert read(v)[0] == "121 states"


def test_a_text_is_read_step_by_step(visit: Any) -> None:
    with visit("?example=ends_in_ab", dark=True) as v:
        v.page.wait_for_selector(".machine .st")
        v.page.click(".drawbar >> text=Step")
        v.page.fill(".stepper input", "ab")
        told = v.page.locator(".stepper span")
        for said in ("at the beginning: q0", "after a: q0, q1", "after ab: q0, q2 — accepted"):
            v.page.keyboard.press("Enter")
            v.page.wait_for_function(
                "said => document.querySelector('.stepper span').textContent === said", arg=said
            )
        assert told.get_attribute("class") == "good"
        lit = v.page.locator(".machine .st.lit")
        assert [
            one.split(" ")[1] for one in lit.evaluate_all("all => all.map(o => o.dataset.part)")
        ] == ["q0", "q2"]
        clean(v.page, "a step", "#wb-grammar")
        v.page.click("button[aria-label='Use the whole window']")
        clean(v.page, "the whole window", ".drawing")
        for _ in range(20):
            v.page.keyboard.press("Tab")
            assert v.page.evaluate("document.activeElement.closest('.drawing') !== null")
        v.shot("drawing_step_dark")


def test_a_nondeterministic_machine_is_made_deterministic_and_back(visit: Any) -> None:
    with visit("?example=ends_in_ab") as v:
        v.page.wait_for_selector(".machine .st")
        before = text(v)
        v.page.click("#wb-grammar .convert > button")
        v.page.click("#wb-grammar .convert >> text=to Machine (deterministic, minimal)")
        v.page.wait_for_function("before => wb.state.text.trim() !== before", arg=before)
        assert read(v) == ["3 states", "deterministic", "minimal", "complete over {a, b}"]
        v.page.click(".drawbar [aria-label=Undo]")
        assert text(v) == before
        v.page.click("#wb-grammar .convert > button")
        v.page.click("#wb-grammar .convert >> text=to Machine (deterministic, sets of states)")
        v.page.wait_for_selector(".machine .st[data-part='state q0_q1']")
        assert edges(v)[0] == "q0 -> q0_q1 : a"
        v.page.click(".drawbar [aria-label=Undo]")
        assert text(v) == before


def test_a_file_of_jflap_is_pasted(visit: Any) -> None:
    jflap = (
        '<?xml version="1.0"?><structure><type>fa</type><automaton><state id="0" name="s">'
        "<x>50</x><y>60</y><initial/><final/></state><transition><from>0</from><to>0</to>"
        "<read>a</read></transition></automaton></structure>"
    )
    with visit("?example=yes_or_no") as v:
        v.page.wait_for_function("window.wb?.state?.compiled")
        v.type_grammar(jflap)
        v.page.click("#wb-grammar .switch")
        v.page.wait_for_function("wb.state.text.startsWith('initial s')")
        assert text(v) == "initial s\nfinal s\ns -> s : a\nplace s 75 90"


def test_a_machine_is_drawn_on_a_phone(visit: Any) -> None:
    with visit("?example=yes_or_no", width=390, height=844) as v:
        box = empty(v)
        box.scroll_into_view_if_needed()
        touch = v.page.context.new_cdp_session(v.page)

        def finger(*points: tuple[float, float]) -> None:
            def send(kind: str, at: tuple[float, float] | None) -> None:
                points = [] if at is None else [{"x": at[0], "y": at[1]}]
                touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

            send("touchStart", points[0])
            for at in points[1:]:
                send("touchMove", at)
            send("touchEnd", None)

        v.page.click(".drawbar >> text=+ State")
        v.page.click(".drawbar >> text=+ State")
        v.page.click(".drawbar >> text=→ Edge")
        (x, y, _), (to_x, to_y, _) = circle(v, "q0"), circle(v, "q1")
        finger((x, y), ((x + to_x) / 2, y), (to_x, to_y))
        v.page.wait_for_selector(".labelfield:not([hidden])")
        v.page.keyboard.type("a")
        v.page.keyboard.press("Enter")
        assert edges(v) == ["q0 -> q1 : a"]
        v.page.click(".drawbar >> text=→ Edge")
        finger(circle(v, "q1")[:2])
        v.page.click(".chosen >> text=Final")
        assert read(v)[:2] == ["2 states", "deterministic"]
        assert v.page.evaluate("document.documentElement.scrollWidth") <= 390
        clean(v.page, "the drawing on a phone", "#wb-grammar")
        v.shot("drawing_phone")


def test_a_run_lights_the_states_of_the_drawing(visit: Any) -> None:
    with visit("?example=even_a") as v:
        v.page.wait_for_selector(".machine .st")
        v.page.wait_for_function("wb.state.steps.length && !wb.state.running")
        v.page.wait_for_selector(".machine .st.lit")
        steps = v.page.evaluate(
            "wb.state.steps.slice(0, wb.state.selected + 1).map(({ token }) => token.text ?? '')"
        )
        expected = "odd" if "".join(steps).count("a") % 2 else "even"
        lit = v.page.locator(".machine .st.lit")
        assert lit.evaluate_all("all => all.map((one) => one.dataset.part)") == [
            f"state {expected}"
        ]
        # a change of the machine ends it
        v.page.locator(".machine .st").first.focus()
        v.page.keyboard.press("f")
        v.page.wait_for_function("!document.querySelector('.machine .st.lit')")


def test_a_problem_in_the_list_leads_to_its_place_in_the_drawing(visit: Any) -> None:
    with visit("?example=ends_in_ab") as v:
        v.page.wait_for_selector(".machine .badge")
        v.page.click("#wb-grammar [data-section=problems]")
        v.page.locator("#wb-sec-problems .said").first.click()
        focused = v.page.evaluate("document.activeElement.getAttribute('aria-label')")
        assert focused.startswith("edge from q0 to q1 that reads a")
