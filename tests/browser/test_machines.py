"""The picture card: it goes with the run, states are searched, tables say the same."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.grammar.gallery import load_gallery

pytestmark = pytest.mark.browser

MAIN = "#wb-picture .pic.main .canvas svg:not(.leaving)"

#: Whether the flags are those of the selected step: of its text where the grammar has a stack, else
#: of its state.
ARRIVED = """() => {
  const { steps, selected, flagged, compiled } = wb.state;
  if (document.querySelector("#wb-picture .pic.main.stale") || !flagged) return false;
  if (!compiled.tabs.characters) return flagged.centre === steps[selected].path.characters[0][0];
  const hex = steps.slice(0, selected).map((step) => wb.hexOf(step.token) ?? "").join("");
  return flagged.so_far === hex;
}"""

#: The number of the current state in the picture, on top of the stack, and in the inspector.
NUMBERS = """() => {
  const picture = document.querySelector("#wb-picture .pic.main svg:not(.leaving)"), top = document.querySelector("#wb-picture .frame.top .at");
  const now = picture.querySelector(".badge") ?? picture.querySelector(".node.now text");
  const told = document.querySelector("#wb-run .tokenfacts").innerText.match(/state\\s+(?:\\S+ · )?(\\d+)/);
  return [now?.textContent, ...(top ? [top.textContent.replace("in ", "")] : []), told?.[1]];
}"""

#: The places of all states of the picture, in its own points.
PLACES = """() => Object.fromEntries([...document.querySelectorAll("#wb-picture .pic.main svg:not(.leaving) .node[data-id]")].map((node) => {
  const { x, y } = node.querySelector("ellipse, rect, polygon, path").getBBox();
  return [node.dataset.id, [x, y]];
}))"""


#: Of each edge that joins another one: whether its heads have the colour of its line, and not the picture's.
JOINTS = """() => [...document.querySelectorAll("#wb-picture .pic.main svg.lanes .edge:has(.joint)")].map((edge) => {
  const [line, head] = ["path", ".joint"].map((each) => getComputedStyle(edge.querySelector(each)));
  return [head.fill === line.stroke, head.fill !== getComputedStyle(document.querySelector("#wb-picture .pic")).backgroundColor];
})"""


@pytest.mark.parametrize("dark", [False, True])
def test_an_edge_has_a_head_where_it_joins_another_one(visit: Any, dark: bool) -> None:
    with visit("?example=json&tab=rules", dark=dark) as v:
        v.wait_drawn()
        v.page.wait_for_selector("#wb-picture .pic.main svg.lanes .joint")
        joints = v.page.evaluate(JOINTS)
        assert len(joints) > 4
        assert all(same and seen for same, seen in joints)


def select(v: Any, index: int) -> None:
    v.page.locator("#wb-run .tok").nth(index).click()
    v.page.wait_for_function("i => wb.state.selected === i", arg=index)


def press(v: Any, key: str, index: int) -> None:
    """Step with an arrow key to a token, and wait for its picture."""
    v.page.keyboard.press(key)
    v.page.wait_for_function("i => wb.state.selected === i", arg=index)
    v.page.wait_for_function(ARRIVED)


@pytest.mark.parametrize(
    ("example", "dark"), [("answer", False), ("expression", True), ("date", False)]
)
def test_the_arrow_keys_move_the_picture(visit: Any, example: str, dark: bool) -> None:
    with visit(f"?example={example}&tab=together", dark=dark) as v:
        v.wait_run()
        v.wait_drawn()
        select(v, 0)
        v.page.wait_for_function(ARRIVED)
        count = v.page.evaluate("wb.state.steps.filter((step) => !step.token.end).length")
        seen = [v.page.evaluate(NUMBERS)]
        for index in range(1, min(count, 6)):
            press(v, "ArrowRight", index)
            seen.append(v.page.evaluate(NUMBERS))
        for numbers in seen:
            assert len(set(numbers)) == 1, f"picture, stack and inspector agree: {numbers}"
        assert len({numbers[0] for numbers in seen}) > 1
        v.shot(f"together_{example}")
        press(v, "ArrowLeft", min(count, 6) - 2)
        assert v.page.evaluate(NUMBERS) == seen[-2]


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", list(load_gallery()))
def test_stepping_through_a_run_moves_no_state(visit: Any, name: str) -> None:
    with visit(f"?example={name}&tab=together") as v:
        v.page.emulate_media(reduced_motion="reduce")
        v.page.wait_for_selector("#wb-run .go:enabled")
        v.wait_drawn()
        if not v.page.evaluate("wb.state.steps.length"):
            v.page.click("#wb-run .go")
        v.page.wait_for_function("wb.state.steps.length && !wb.state.running", timeout=60_000)
        places = v.page.evaluate(PLACES)
        assert places
        for index in range(min(v.page.evaluate("wb.state.steps.length"), 24)):
            select(v, index)
            v.page.wait_for_function(ARRIVED)
            assert v.page.evaluate(PLACES) == places, f"token {index}"


def test_flags_that_arrive_behind_another_view_are_beside_their_edge(visit: Any) -> None:
    off = """() => {
      const box = (part) => document.querySelector(`#wb-picture .pic.main svg:not(.leaving) ${part}`)?.getBoundingClientRect();
      const flag = box(".flag"), label = box(":is(.edge, .label) text");
      return flag && label && Math.hypot(flag.x + flag.width / 2 - label.x - label.width / 2, flag.y - label.y);
    }"""
    with visit("?example=answer&tab=together") as v:
        v.wait_run()
        v.page.click(".views [data-view=learn]")
        v.page.evaluate("wb.emit('rewrite', { text: 'c' })")
        v.page.wait_for_function("wb.state.compiled?.text === 'c'")
        v.page.wait_for_timeout(500)  # the answers arrive behind the lessons
        v.page.click(".views [data-view=workbench]")
        v.wait_drawn()
        v.page.wait_for_selector(f"{MAIN} .flag")
        assert v.page.evaluate(off) < 80


#: For every flag, the edge of the nearest line.
NEAREST = """() => {
  const svg = document.querySelector("#wb-picture .pic.main svg:not(.leaving)"), at = svg.getScreenCTM();
  const edges = [...svg.querySelectorAll(".edge")].map((edge) => {
    const line = edge.querySelector("path"), ctm = line.getScreenCTM();
    return { edge, points: Array.from({ length: line.getTotalLength() / 3 }, (_, i) =>
      line.getPointAtLength(3 * i).matrixTransform(ctm)) };
  });
  return [...svg.querySelectorAll(".flag")].map((flag) => {
    const r = flag.getBoundingClientRect(), x = (r.left + r.right) / 2, y = (r.top + r.bottom) / 2;
    const far = ({ points }) => Math.min(...points.map((point) => Math.hypot(point.x - x, point.y - y)));
    const { edge } = edges.reduce((one, other) => (far(other) < far(one) ? other : one));
    return edge.id;
  });
}"""


def test_a_flag_is_at_the_line_of_its_edge(visit: Any) -> None:
    with visit("?example=date", width=1280, height=720) as v:
        v.wait_run()
        v.wait_drawn()
        most = 0
        for index in range(v.page.evaluate("wb.state.steps.length")):
            select(v, index)
            v.page.wait_for_function(ARRIVED)
            ahead = v.page.locator(f"{MAIN} .edge.ahead").evaluate_all(
                "all => all.map((one) => one.id)"
            )
            if len(ahead) > 1:  # else a flag may be within an edge of folded states
                assert sorted(set(v.page.evaluate(NEAREST))) == sorted(ahead), index
            most = max(most, len(ahead))
        assert most > 2


@pytest.mark.parametrize("example", ["time", "person", "expression"])
def test_the_flag_of_the_token_that_was_taken_is_lit(visit: Any, example: str) -> None:
    with visit(f"?example={example}&tab=together") as v:
        v.wait_run()
        v.wait_drawn()
        v.page.locator("#wb-run .tok").last.click()
        select(v, 0)
        count = v.page.evaluate("wb.state.steps.filter((step) => !step.token.end).length")
        for index in range(min(count, 6)):
            if index:
                press(v, "ArrowRight", index)
            v.page.wait_for_function(ARRIVED)
            lit = v.page.locator(f"{MAIN} .segment.taken")
            assert lit.count() == 1, f"token {index}"
            flag, part = (lit.get_attribute("data-flag") or "").split()
            ends = v.page.evaluate(
                f"(p => (p.rules ?? p.characters).at(-1))(wb.state.steps[{index}].path)"
            )
            leads = v.page.evaluate(f"wb.state.flags.flags[{flag}].segments[{part}].ends")
            assert set(leads) & set(ends)
        v.shot(f"flag_{example}")
        lit.click()  # and lists its tokens
        v.page.wait_for_selector("#wb-picture .edgebox:not([hidden]) li")
        token = v.page.evaluate(f"wb.state.steps[{index}].token.text")
        v.page.wait_for_function(
            "t => [...document.querySelectorAll('#wb-picture .edgebox li')].some(l => l.textContent === t)",
            arg=token,
        )


def test_the_stack_grows_and_shrinks_with_the_run(visit: Any) -> None:
    with visit("?example=person&tab=together") as v:
        v.wait_run()
        v.wait_drawn()
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


def test_a_regular_grammar_has_no_stack(visit: Any) -> None:
    with visit("?example=time&tab=together") as v:
        v.wait_run()
        v.wait_drawn()
        for tab in ("stack", "rules"):
            button = v.page.locator(f"#wb-picture [data-tab={tab}]")
            assert button.is_disabled()
            assert button.get_attribute("title") != ""
        assert v.page.locator("#wb-picture .stackbox").is_hidden()
        v.page.evaluate(
            "wb.emit('open', { text: \"start ::= 'a' start | 'b';\", notation: 'kbnf' })"
        )
        v.page.wait_for_function("wb.state.compiled?.notation === 'kbnf' && wb.state.compiled.ok")
        v.wait_drawn()
        assert v.page.locator("#wb-picture [data-tab=stack]").is_disabled()
        assert v.page.locator("#wb-picture [data-tab=rules]").is_enabled()


def test_the_more_menu_opens_by_keyboard(visit: Any) -> None:
    with visit("?example=expression&tab=together") as v:
        v.wait_run()
        v.wait_drawn()
        more = v.page.locator("#wb-picture .moretabs > button")
        entries = v.page.locator("#wb-picture .moretabs ul")
        more.focus()
        v.page.keyboard.press("Enter")
        assert entries.is_visible()
        assert more.get_attribute("aria-expanded") == "true"
        v.page.keyboard.press("Escape")
        assert entries.is_hidden()
        assert v.page.evaluate("document.activeElement.matches('.moretabs > button')")
        for tab, name in (("detokenizer", "Detokenizer"), ("table", "Table")):
            v.page.keyboard.press("Enter")
            while v.page.evaluate("document.activeElement.dataset.tab") != tab:
                v.page.keyboard.press("ArrowDown")
            v.page.keyboard.press("Enter")
            v.page.wait_for_function("tab => wb.state.drawn?.tab === tab", arg=tab)
            assert entries.is_hidden()
            assert more.locator(".name").inner_text() == name
            more.focus()
        assert v.page.locator("#wb-picture .tablebox tbody tr").count() > 3
        v.open_tab("together")
        assert more.locator(".name").inner_text() == "More"


def test_a_rule_among_the_calls_opens_among_the_states(visit: Any) -> None:
    with visit("?example=person&tab=stack") as v:
        v.wait_run()
        v.wait_drawn()
        v.page.click("#wb-picture [data-level=calls]")
        v.page.wait_for_function("wb.state.drawn.level === 'calls'")
        v.shot("calls")
        rule = v.page.locator(f"{MAIN} .node.calls", has_text="string").first
        rule.click()
        v.page.wait_for_function("wb.state.drawn.level === 'states'")
        v.page.wait_for_selector(f"{MAIN}.lanes .cluster[data-rule=string]")
        chosen = v.page.locator("#wb-picture .levels [aria-checked=true]")
        assert chosen.inner_text() == "States"
        v.page.wait_for_selector("#wb-picture .foot:has-text('of rule string')")
        v.page.click("#wb-picture [data-level=around]")
        v.page.wait_for_function("wb.state.drawn.level === 'around'")
        v.page.reload()
        v.wait_run()
        v.wait_drawn()
        assert chosen.inner_text() == "Around", "kept in the browser"


def test_zoom_changes_the_level(visit: Any) -> None:
    """One turn of the wheel passes one level at most: calls, states, the rule under the pointer."""
    with visit("?example=arithmetic&tab=stack") as v:
        v.wait_run()
        v.wait_drawn()
        box = v.page.locator("#wb-picture .pic.main").bounding_box()
        # the events of a turn are sent together: on a busy machine single ones are turns themselves
        turn = """([x, y, deltaY]) => {
          for (let i = 0; i < 14; i++)
            document.elementFromPoint(x, y).dispatchEvent(new WheelEvent("wheel", {
              deltaY, clientX: x, clientY: y, ctrlKey: true, bubbles: true, cancelable: true,
            }));
        }"""
        at = [box["x"] + box["width"] / 2, box["y"] + box["height"] / 2]
        for delta, level in ((60, "calls"), (-60, "states"), (-60, "around"), (60, "states")):
            v.page.evaluate(turn, [*at, delta])
            v.page.wait_for_function("level => wb.state.drawn.level === level", arg=level)
            v.page.wait_for_timeout(400)


def test_returns_are_drawn_while_a_run_takes_them_and_under_the_pointer(visit: Any) -> None:
    pops = """wb.state.steps.findIndex(({ path }) => {
      const [before, after] = path?.stacks ?? [];
      return after?.kept < before?.depth;
    })"""
    lines = f"{MAIN} .returning"
    with visit("?example=arithmetic&tab=stack") as v:
        v.wait_run()
        v.wait_drawn()
        v.page.locator("#wb-run .tok").nth(v.page.evaluate(pops)).click()
        v.page.wait_for_function("lines => document.querySelector(lines)", arg=lines)
        v.page.locator("#wb-run .tok").nth(0).click()
        v.page.wait_for_function("lines => !document.querySelector(lines)", arg=lines)
        ends = v.page.locator(f"{MAIN} .node:has(ellipse + ellipse)")
        ends.nth(0).hover()
        v.page.wait_for_timeout(200)
        assert not v.page.locator(lines).count(), "nothing calls the first rule"
        ends.nth(1).hover()
        v.page.wait_for_function("lines => document.querySelector(lines)", arg=lines)


def test_the_tokens_over_the_machine_can_be_switched_off(visit: Any) -> None:
    with visit("?example=expression&tab=together") as v:
        v.wait_run()
        v.wait_drawn()
        assert v.page.locator(f"{MAIN} .flag").count() > 0
        v.page.click("#wb-picture [data-look=tokens]")
        assert v.page.locator(f"{MAIN} .flag").count() == 0
        assert v.page.locator(f"{MAIN} .node").count() > 0
        v.page.click("#wb-picture [data-look=tokens]")
        v.page.wait_for_selector(f"{MAIN} .flag")


def test_picture_follows_the_run_until_switched_off(visit: Any) -> None:
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
    with visit("?example=person&tab=together") as v:
        v.wait_run()
        v.wait_drawn()
        # after the first quotation mark any letter of a name may follow
        index = v.page.evaluate("wb.state.steps.findIndex((step) => step.allowed > 20)")
        select(v, index)
        v.page.wait_for_function(ARRIVED)
        v.page.evaluate("""() => {
          const count = (flag) => Number((flag.textContent.match(/([0-9,]+) tokens/) || ["", "0"])[1].replace(",", ""));
          const flags = [...document.querySelectorAll("#wb-picture .pic.main .segment")];
          flags.sort((a, b) => count(b) - count(a))[0].id = "many";
        }""")
        v.page.click("#many")
        v.page.wait_for_function("document.querySelectorAll('#wb-picture .edgebox li').length > 12")
        v.page.fill("#wb-picture .edgebox input", "a")
        v.page.wait_for_function(
            "[...document.querySelectorAll('#wb-picture .edgebox li')].every(l => /a/i.test(l.textContent))"
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
    with visit("?example=email&tab=characters") as v:
        v.wait_run()
        v.wait_drawn()
        assert v.page.locator("#wb-picture .levels").is_hidden()
        before = v.page.evaluate("wb.state.drawn.size")
        v.page.click("#wb-picture [data-size='-1']")
        v.page.wait_for_function("before => wb.state.drawn.size !== before", arg=before)
        chains = v.page.locator("#wb-picture [data-look=chains]")
        assert chains.get_attribute("aria-pressed") == "true"
        chains.click()
        v.page.wait_for_function("wb.state.drawn.chains === false")
        v.page.reload()
        v.wait_run()
        v.wait_drawn()
        assert chains.get_attribute("aria-pressed") == "false"
        assert v.page.evaluate("wb.state.drawn.size") > 0


def test_a_regex_that_explodes_has_a_picture_of_a_part(visit: Any) -> None:
    with visit("?example=time&tab=characters") as v:
        v.wait_run()
        v.type_grammar("(a|b)*a(a|b){20}")
        v.page.wait_for_selector("#wb-grammar .verdict.good")
        v.wait_drawn()
        assert "too many" in v.page.locator("#wb-picture .count").inner_text()
        assert v.page.locator("#wb-picture .pic.main .node").count() > 5
        v.shot("exploding")


def test_a_phone_shows_the_stack_under_the_picture(visit: Any) -> None:
    with visit("?example=person&tab=together", width=390, height=844) as v:
        v.wait_run()
        v.wait_drawn()
        picture, stack = v.page.evaluate(
            "['.pic.main', '.stackbox'].map((part) => document.querySelector('#wb-picture ' + part).getBoundingClientRect()).map((r) => [r.top, r.bottom])"
        )
        assert picture[1] <= stack[0] + 1
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


def test_the_flags_are_those_of_the_runs_own_method(visit: Any) -> None:
    """In the same state, after the same text: the exact mask's tokens, then those of small tokens."""
    with visit("?example=person&tab=together") as v:
        v.wait_run()
        v.wait_drawn()
        select(v, 0)
        v.page.wait_for_function(ARRIVED)
        count = v.page.locator("#wb-picture .count")
        before = count.inner_text()
        assert "may follow" in before
        v.page.get_by_label("small tokens").check()
        v.page.locator("#wb-run button.go").click()
        v.wait_run()
        select(v, 0)
        v.page.wait_for_function(ARRIVED)
        v.page.wait_for_function(
            "document.querySelector('#wb-picture .count').innerText.startsWith('this run')"
        )
        allowed = v.page.evaluate("wb.state.steps[0].allowed")
        assert count.inner_text().startswith(f"this run allows {allowed} of ")


def test_a_folded_chain_opens_in_its_place(visit: Any) -> None:
    nodes = "#wb-picture .pic.main .canvas svg:not(.leaving) .node"
    with visit("?example=date&tab=characters") as v:
        v.wait_drawn()
        folded = v.page.locator(nodes).count()
        switch = v.page.locator("#wb-picture [data-look=chains]")
        chain = "[...document.querySelectorAll('#wb-picture .pic.main .edge')].find((edge) => edge.textContent.includes('30'))"
        v.page.evaluate(f"{chain}.dispatchEvent(new MouseEvent('dblclick', {{ bubbles: true }}))")
        v.page.wait_for_function(
            "([nodes, count]) => document.querySelectorAll(nodes).length > count",
            arg=[nodes, folded],
        )
        opened = v.page.locator(nodes).count()
        assert switch.get_attribute("aria-pressed") == "mixed"
        assert opened == folded + 1, "the other chains stay folded"
        switch.click()
        v.page.wait_for_function(
            "([nodes, count]) => document.querySelectorAll(nodes).length < count",
            arg=[nodes, opened],
        )
        assert v.page.locator(nodes).count() == folded
        assert switch.get_attribute("aria-pressed") == "true"
