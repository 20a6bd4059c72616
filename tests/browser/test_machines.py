"""The picture card: three machines go with one run, states are searched, tables say the same."""

from __future__ import annotations

from typing import Any

import pytest

TRIO = "#wb-picture .trio"


def open_tab(v: Any, tab: str) -> None:
    v.page.click(f"#wb-picture [data-tab={tab}]")
    v.page.wait_for_function("tab => wb.state.drawn?.tab === tab", arg=tab)


def standing(v: Any) -> list[str]:
    """What each of the three says of where the run stands."""
    told = v.page.locator(f"{TRIO} .pane .at b").all_inner_texts()
    return [str(each) for each in told]


def select(v: Any, index: int) -> None:
    v.page.locator("#wb-run .tok").nth(index).click()
    v.page.wait_for_function("i => wb.state.selected === i", arg=index)


@pytest.mark.parametrize(("example", "dark"), [("time", False), ("person", True)])
def test_a_step_moves_three_machines_at_once(visit: Any, example: str, dark: bool) -> None:
    with visit(f"?example={example}&tab=together", dark=dark) as v:
        v.wait_run()
        v.page.wait_for_function("wb.state.drawn?.tab === 'together'")
        select(v, 0)
        v.page.wait_for_function(
            f"document.querySelectorAll('{TRIO} .pane .now, {TRIO} .pane .bead').length >= 3"
        )
        first = standing(v)
        assert len(first) == 3
        v.shot(f"together_{example}")
        v.page.keyboard.press("ArrowRight")
        second = standing(v)
        assert all(a != b for a, b in zip(first, second, strict=True)), (first, second)
        # the amber state is the one the step says, in each of the pictures or in an edge of it
        path = v.page.evaluate("wb.state.steps[1].path")
        follows = "stack" if example == "person" else "characters"
        assert second[1] == path[follows][0][0]
        v.page.keyboard.press("ArrowLeft")
        assert standing(v) == first


def test_the_stack_grows_and_shrinks_with_the_run(visit: Any) -> None:
    with visit("?example=person&tab=together") as v:
        v.wait_run()
        v.page.wait_for_function("wb.state.drawn?.tab === 'together'")
        depths = v.page.evaluate("wb.state.steps.map(s => s.path.stacks?.[0].depth ?? 0)")
        deepest = max(range(len(depths)), key=depths.__getitem__)
        assert depths[deepest] > 0
        select(v, 0)
        box = v.page.locator("#wb-picture .stackbox")
        assert box.locator("h3 b").inner_text() == "0"
        select(v, deepest)
        assert box.locator("h3 b").inner_text() == str(depths[deepest])
        assert box.locator(".frame.top .rule").inner_text() == v.page.evaluate(
            f"wb.state.steps[{deepest}].path.stacks[0].boxes.at(-1).rule"
        )
        pushing = next(i for i in range(len(depths) - 1) if depths[i + 1] > depths[i])
        select(v, pushing)
        assert box.locator(".frame.on").count() >= 1
        v.shot("stack_column")


def test_a_machine_of_the_three_opens_alone(visit: Any) -> None:
    with visit("?example=time&tab=together") as v:
        v.wait_run()
        v.page.locator(f"{TRIO} .pane header button").nth(1).click()
        v.page.wait_for_function("wb.state.drawn?.tab === 'tokens'")
        chosen = v.page.locator("#wb-picture .tabs [aria-selected=true]")
        assert chosen.get_attribute("data-tab") == "tokens"


def test_the_picture_follows_the_run_until_it_is_told_not_to(visit: Any) -> None:
    with visit("?example=email&tab=characters") as v:
        v.wait_run()
        v.wait_drawn()
        last = v.page.evaluate("wb.state.steps.length") - 2
        select(v, last)
        v.page.wait_for_selector("#wb-picture .pic.main .now, #wb-picture .pic.main .bead")
        shown = v.page.evaluate("wb.state.steps[wb.state.selected].path.characters[0][0]")
        seen = """() => { const lit = document.querySelector("#wb-picture .pic.main .now, #wb-picture .pic.main .bead"),
          at = lit?.getBoundingClientRect(), box = document.querySelector("#wb-picture .pic.main").getBoundingClientRect();
          return Boolean(at) && at.left >= box.left && at.right <= box.right && at.top >= box.top && at.bottom <= box.bottom; }"""
        v.page.wait_for_function(seen)
        assert shown
        toggle = v.page.locator("#wb-picture .follow")
        assert toggle.get_attribute("aria-pressed") == "true"
        toggle.click()
        assert toggle.get_attribute("aria-pressed") == "false"
        before = v.page.evaluate("wb.state.drawn.centre")
        select(v, 0)
        assert v.page.evaluate("wb.state.drawn.centre") == before
        v.page.reload()
        v.page.wait_for_selector("#wb-grammar .paint .l")
        v.wait_run()
        assert toggle.get_attribute("aria-pressed") == "false", "kept in the browser"


def test_a_state_is_searched_by_keyboard(visit: Any) -> None:
    with visit("?example=person&tab=rules") as v:
        v.wait_run()
        v.wait_drawn()
        v.page.focus("#wb-picture .pic.main")
        v.page.keyboard.press("/")
        assert v.page.evaluate("document.activeElement.getAttribute('role')") == "combobox"
        v.page.keyboard.type("string")
        v.page.wait_for_selector("#wb-picture .findbox [role=option] b")
        wanted = v.page.locator("#wb-picture .findbox [role=option] b").first.inner_text()
        v.shot("search")
        v.page.keyboard.press("Enter")
        v.page.wait_for_selector("#wb-picture .pic.main .node.picked")
        picked = v.page.locator("#wb-picture .pic.main .node.picked")
        assert picked.get_attribute("data-id") == f"state-{wanted}"
        v.page.wait_for_selector("#wb-picture .foot .link code")
        v.page.locator("#wb-picture .foot .link").first.click()
        start, end = v.page.evaluate(
            "(a => [a.selectionStart, a.selectionEnd])(document.querySelector('#wb-grammar textarea.text'))"
        )
        assert start < end, "the place in the grammar is gone to"
        v.page.keyboard.press("Escape")


def test_nothing_found_is_said(visit: Any) -> None:
    with visit("?example=time&tab=characters") as v:
        v.wait_run()
        v.wait_drawn()
        v.page.fill("#wb-picture .findbox input", "zebra")
        v.page.wait_for_selector("#wb-picture .findbox li.none")
        v.page.keyboard.press("Escape")
        assert v.page.locator("#wb-picture .findbox ul").is_hidden()


def test_an_edge_tells_all_its_tokens(visit: Any) -> None:
    with visit("?example=person&tab=tokens") as v:
        v.wait_run()
        v.wait_drawn()
        # the part where the run stands is drawn, and the camera has come to rest there
        v.page.wait_for_selector("#wb-picture .pic.main:not(.stale) .now")
        v.page.wait_for_function("""() => {
          const edges = [...document.querySelectorAll("#wb-picture .pic.main .edge")];
          const count = (edge) => Number((edge.textContent.match(/([0-9,]+) tokens/) || ["", "0"])[1].replace(",", ""));
          const many = edges.sort((a, b) => count(b) - count(a))[0];
          const place = JSON.stringify(many?.querySelector("text")?.getBoundingClientRect());
          window.still = many && many === window.many && place === window.place ? window.still + 1 : 0;
          Object.assign(window, { many, place });
          return window.still > 10;
        }""")
        at = v.page.evaluate(
            "(b => [b.x + b.width / 2, b.y + b.height / 2])(many.querySelector('text').getBoundingClientRect())"
        )
        inside = v.page.evaluate(
            "([x, y]) => many.contains(document.elementFromPoint(x, y))", arg=at
        )
        if not inside:  # it may stand outside the part that is seen
            v.page.keyboard.press("0")
            v.page.click("#wb-picture [data-act=fit]")
            at = v.page.evaluate(
                "(b => [b.x + b.width / 2, b.y + b.height / 2])(many.querySelector('text').getBoundingClientRect())"
            )
        v.page.mouse.click(*at)
        v.page.wait_for_selector("#wb-picture .edgebox:not([hidden]) li")
        v.page.wait_for_function("document.querySelectorAll('#wb-picture .edgebox li').length > 12")
        v.page.fill("#wb-picture .edgebox input", "mat")
        v.page.wait_for_function(
            "[...document.querySelectorAll('#wb-picture .edgebox li')].every(l => /mat/i.test(l.textContent))"
        )
        v.shot("edge_tokens")
        v.page.keyboard.press("Escape")
        assert v.page.locator("#wb-picture .edgebox").is_hidden()


def test_the_table_follows_and_is_filtered(visit: Any) -> None:
    with visit("?example=person&tab=table") as v:
        v.wait_run()
        v.page.wait_for_selector("#wb-picture .tablebox tbody tr")
        select(v, 3)
        v.page.wait_for_selector("#wb-picture .tablebox tr.now")
        state = v.page.evaluate("wb.state.steps[3].path.rules[0]")
        now = v.page.locator("#wb-picture .tablebox tr.now").first.get_attribute("data-state")
        assert now in state
        rows = v.page.locator("#wb-picture .tablebox tbody tr")
        total = rows.count()
        v.page.fill("#wb-picture .tablebox .filter", "calls")
        assert 0 < rows.count() < total
        v.page.fill("#wb-picture .tablebox .filter", "")
        v.page.click("#wb-picture .tablebox [data-of=stack]")
        v.page.wait_for_function(
            "document.querySelector('#wb-picture .tablebox [data-of=stack]').ariaChecked === 'true'"
        )
        v.page.wait_for_selector("#wb-picture .tablebox tr.now")
        v.shot("table")


def test_switches_change_the_picture_and_are_kept(visit: Any) -> None:
    with visit("?example=person&tab=rules") as v:
        v.wait_run()
        v.wait_drawn()
        nodes = v.page.locator("#wb-picture .pic.main .node")
        folded = nodes.count()
        v.page.click("#wb-picture [data-look=chains]")
        v.page.wait_for_function(
            f"document.querySelectorAll('#wb-picture .pic.main .node').length > {folded}"
        )
        v.page.click("#wb-picture [data-size='-1']")
        v.page.wait_for_function("wb.state.drawn.size > 0")
        v.page.reload()
        v.page.wait_for_selector("#wb-grammar .paint .l")
        v.wait_drawn()
        pressed = v.page.locator("#wb-picture [data-look=chains]").get_attribute("aria-pressed")
        assert pressed == "false"


def test_a_regex_that_explodes_has_a_picture_of_a_part(visit: Any) -> None:
    with visit("?example=time&tab=characters") as v:
        v.wait_run()
        v.type_grammar("(a|b)*a(a|b){20}")
        v.page.wait_for_selector("#wb-grammar .verdict.good")
        v.wait_drawn()
        assert "too many" in v.page.locator("#wb-picture .pic.main .howmuch").inner_text()
        assert v.page.locator("#wb-picture .pic.main .node").count() > 5
        v.shot("exploding")


def test_a_phone_shows_three_machines_under_one_another(visit: Any) -> None:
    with visit("?example=person&tab=together", width=390, height=844) as v:
        v.wait_run()
        v.page.wait_for_function("wb.state.drawn?.tab === 'together'")
        tops = v.page.evaluate(
            f"[...document.querySelectorAll('{TRIO} .pane')].map(p => p.getBoundingClientRect().top)"
        )
        assert tops == sorted(tops)
        assert len(set(tops)) == 3
        assert v.page.evaluate("document.documentElement.scrollWidth") <= 390
        v.shot("together_phone")


def test_the_edges_a_token_takes_are_lit(visit: Any) -> None:
    with visit("?example=time&tab=tokens") as v:
        v.wait_run()
        v.type_grammar("[a-c]*d")
        v.page.wait_for_function("wb.state.compiled?.text === '[a-c]*d' && wb.state.compiled.ok")
        v.wait_drawn()
        v.page.click("#wb-run .go")
        v.page.wait_for_function("wb.state.ran === wb.key(wb.state) && !wb.state.running")
        for index in v.page.evaluate("wb.state.steps.flatMap((s, i) => s.token.end ? [] : [i])")[
            :4
        ]:
            select(v, index)
            before, after = v.page.evaluate(
                f"(p => [p[0][0], p.at(-1)[0]])(wb.state.steps[{index}].path.characters)"
            )
            lit = v.page.locator("#wb-picture .pic.main .edge.gone").evaluate_all(
                "edges => edges.map(e => [e.dataset.source, e.dataset.target])"
            )
            assert lit == [[before, after]], "a loop too"
