"""The first minute: what is in view before anything is scrolled, on a laptop and on a phone."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.browser

LAPTOPS = pytest.mark.parametrize(("width", "height"), [(1280, 720), (1400, 900)])
PHONE = {"width": 390, "height": 844}

#: Whether all of an element is inside the window.
IN_VIEW = """(selector) => {
  const box = document.querySelector(selector).getBoundingClientRect();
  return box.height > 0 && box.top >= 0 && box.left >= 0 && box.bottom <= innerHeight && box.right <= innerWidth;
}"""
#: The focused element: whether it was focused before, and whether it is in the first screen.
FOCUSED = """() => {
  const element = document.activeElement, box = element.getBoundingClientRect();
  const again = element === document.body || element.dataset.visited === "yes";
  element.dataset.visited = "yes";
  const top = box.top + scrollY, shown = box.height > 0 && top < innerHeight && top + box.height > 0;
  return [again, shown, `${element.className} ${element.textContent.slice(0, 20)}`];
}"""
STAGE = "document.querySelector('#wb-picture .stage').clientHeight"


def in_view(v: Any, selector: str) -> bool:
    assert v.page.evaluate("scrollY") == 0
    return bool(v.page.evaluate(IN_VIEW, selector))


@LAPTOPS
def test_the_run_is_in_view_beside_grammar_and_picture(visit: Any, width: int, height: int) -> None:
    with visit("?example=person", width=width, height=height, folded=True) as v:
        v.wait_run()
        v.wait_drawn()
        v.page.wait_for_selector("#wb-run .callout button:visible")
        for part in (".strip", ".tok.cut", ".stats", ".callout .bubble", ".callout button", ".go"):
            assert in_view(v, f"#wb-run {part}"), part
        assert in_view(v, "#wb-grammar .editor")
        assert in_view(v, "#wb-grammar .sections")
        assert in_view(v, "#wb-picture .card")
        assert v.page.evaluate(STAGE) > 0.4 * height
        best = v.page.evaluate("wb.glyphs(wb.state.steps[wb.state.selected].wanted[0])")
        says = v.page.inner_text("#wb-run .callout .says")
        assert says.startswith(f"the model preferred {best}; the grammar ")
        v.shot(f"first_look_{width}")
        assert v.page.locator("#wb-run .runbar").is_hidden(), "for phones"
        bar_follows_the_grammar(v)


def test_the_rule_that_reads_the_token_is_in_view(visit: Any) -> None:
    """Also where the editor shows three lines, five tests below it."""
    inside = """(rule) => {
      const lines = [...document.querySelectorAll("#wb-grammar .paint .l.live")];
      const line = lines.find((each) => each.textContent.startsWith(rule)).getBoundingClientRect();
      const box = document.querySelector("#wb-grammar .editor").getBoundingClientRect();
      return box.top <= line.top && line.bottom <= box.bottom;
    }"""
    with visit("?example=date", width=1280, height=720, folded=True) as v:
        v.wait_run()
        rules = v.page.evaluate("wb.state.steps.map((step) => step.rules.at(-1))")
        assert len(set(rules)) > 2
        for index, rule in enumerate(rules):
            v.page.locator("#wb-run .tok").nth(index).click()
            assert v.page.evaluate(inside, rule), rule
        area = v.page.locator("#wb-grammar textarea.text")
        area.focus()
        v.page.evaluate("document.querySelector('#wb-grammar .editor').scrollTop = 0")
        v.page.evaluate("wb.emit('live rules', ['start', 'd30'])")
        assert not v.page.evaluate(inside, "d30"), "not under somebody's hands"


def test_the_callout_says_why_the_preferred_token_is_forbidden(visit: Any) -> None:
    with visit("?example=person", width=1280, height=720, folded=True) as v:
        v.wait_run()
        v.page.wait_for_selector("#wb-header button.model.ready")
        title = v.page.locator("#wb-header .top > .pickwrap").bounding_box()
        assert title["width"] >= 230, "whole on a projector"
        callout = v.page.locator("#wb-run .callout")
        why = callout.locator("p > button")
        kinds = {
            "the model's first choice": "!s.cut && !s.forced && s.rank === 1",
            "only": "!s.cut && s.forced",
        }
        for words, kind in kinds.items():
            index = v.page.evaluate(f"wb.state.steps.findIndex((s) => {kind})")
            v.page.locator("#wb-run .tok").nth(index).click()
            assert words in callout.locator(".says").inner_text()
            assert why.is_hidden(), "nothing is forbidden"
        index = v.page.evaluate("wb.state.steps.findIndex((s) => s.cut && s.allowed < 9)")
        v.page.locator("#wb-run .tok").nth(index).click()
        why.wait_for()
        because = callout.locator(".because").inner_text()
        assert because.startswith("Expected "), because
        assert ", line " in because
        below = v.page.evaluate("document.documentElement.scrollHeight")
        why.click()
        assert callout.locator(".why .places").is_visible()
        assert why.inner_text() == "Hide"
        assert v.page.evaluate("scrollY") < 300, "the reader stays at the token"
        assert v.page.evaluate("document.documentElement.scrollHeight") > below
        why.click()
        assert callout.locator(".whole").is_hidden()


@pytest.mark.parametrize("width", [390, 760])
def test_the_callout_is_under_the_line_of_its_token(visit: Any, width: int) -> None:
    """Also where the text has several lines: the next line begins below the callout."""
    places = """() => {
      const box = (selector) => document.querySelector(selector).getBoundingClientRect();
      const tokens = [...document.querySelectorAll("#wb-run .tokens .tok")];
      const chosen = document.querySelector(".tok[aria-selected=true]").getClientRects();
      const token = chosen[chosen.length - 1], callout = box("#wb-run .bubble");
      const later = tokens.map((each) => each.getClientRects()[0].top).filter((top) => top > token.bottom);
      const arrow = callout.left + Number.parseFloat(
        getComputedStyle(document.querySelector("#wb-run .bubble")).getPropertyValue("--arrow"));
      return { gap: callout.top - token.bottom, next: later.length ? Math.min(...later) - callout.bottom : null,
        off: Math.abs(arrow - (token.left + token.width / 2)), lines: new Set(tokens.map((t) => t.getClientRects()[0].top)).size };
    }"""
    with visit("?example=json", width=width, height=900, folded=True) as v:
        v.wait_run()
        count = v.page.locator("#wb-run .tokens .tok").count()
        lines = 0
        for index in range(0, count, max(1, count // 12)):
            v.page.evaluate(f"document.querySelectorAll('#wb-run .tokens .tok')[{index}].click()")
            found = v.page.evaluate(places)
            assert 0 <= found["gap"] < 14, (index, found)
            assert found["next"] is None or found["next"] >= 0, (index, found)
            assert found["off"] < 14, (index, found)
            lines = max(lines, found["lines"])
        assert lines >= 2


def test_the_first_screen_has_at_most_25_tab_stops(visit: Any) -> None:
    with visit(width=1280, height=720, folded=True) as v:
        v.wait_run()
        v.wait_drawn()
        v.page.wait_for_selector("#wb-header button.model.ready")
        stops = []
        for _ in range(80):
            v.page.keyboard.press("Tab")
            again, shown, name = v.page.evaluate(FOCUSED)
            if again:
                break
            stops += [name] if shown else []
        assert "primary go RunCtrl ⏎" in stops
        assert 15 <= len(stops) <= 25, stops


@LAPTOPS
def test_an_author_sees_rows_of_the_grammar_and_of_its_tests(
    visit: Any, width: int, height: int
) -> None:
    whole = """([box, rows]) => {
      const outer = document.querySelector(box).getBoundingClientRect();
      return [...document.querySelectorAll(rows)].filter((row) => {
        const inner = row.getBoundingClientRect();
        return inner.top >= outer.top - 1 && inner.bottom <= outer.bottom + 1;
      }).length;
    }"""
    cut = "row => row.scrollWidth - row.clientWidth"
    with visit("?example=date", width=width, height=height, folded=True) as v:
        v.wait_run()
        v.page.wait_for_selector("#wb-grammar .sections .good")
        assert v.page.inner_text("#wb-grammar .sections .good").strip() == "10 pass"
        assert v.page.evaluate(whole, ["#wb-grammar .panel", "#wb-grammar .tests > li"]) >= 5
        row = "Number.parseFloat(getComputedStyle(document.querySelector('#wb-grammar .paint')).lineHeight)"
        room = v.page.evaluate("document.querySelector('#wb-grammar .editor').clientHeight")
        assert room >= 4 * v.page.evaluate(row)
        v.page.click(".intro .break")
        v.page.wait_for_selector("#wb-grammar .sections [data-section=problems] span:not(:empty)")
        assert v.page.eval_on_selector("#wb-grammar .sections", cut) <= 0, "a name is cut"


def test_another_example_opens_at_its_first_row(visit: Any) -> None:
    top = "document.querySelector('#wb-grammar .editor').scrollTop"
    with visit("?example=date", width=1280, height=720) as v:
        v.wait_run()
        v.page.wait_for_function(f"{top} > 0")
        v.page.select_option("#wb-header select", label="JSON")
        v.page.wait_for_function("wb.state.compiled?.text.includes('member')")
        assert v.page.evaluate(top) == 0


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (390, 844)])
def test_a_notice_covers_no_part_of_a_run(visit: Any, width: int, height: int) -> None:
    boxes = """() => [".wb.notice.on", "#wb-run .callout", ".wb.header .parts", "#wb-run .runbar"].map((name) => {
      const { left, right, top, bottom } = document.querySelector(name).getBoundingClientRect();
      return { left, right, top, bottom };
    })"""
    with visit("?example=date", width=width, height=height, folded=True) as v:
        v.wait_run()
        v.page.evaluate("document.querySelector('#wb-header .share').click()")
        v.page.wait_for_selector(".wb.notice.on")
        v.page.wait_for_function("getComputedStyle(document.querySelector('.notice')).opacity == 1")
        notice, *others = v.page.evaluate(boxes)
        assert notice["left"] >= 0
        assert notice["right"] <= width
        assert notice["bottom"] <= height
        for box in others:
            assert (
                box["bottom"] <= notice["top"]
                or notice["bottom"] <= box["top"]
                or box["right"] <= notice["left"]
                or notice["right"] <= box["left"]
            ), box


def test_arrows_go_through_a_row_of_buttons(visit: Any) -> None:
    with visit("?example=date", folded=True) as v:
        v.wait_run()
        focused = "document.activeElement.className"
        v.page.focus(".intro .break")
        for key, name in (("ArrowRight", "own"), ("End", "bare away"), ("ArrowRight", "break")):
            v.page.keyboard.press(key)
            assert v.page.evaluate(focused) == name
        v.page.focus("#wb-run .step")
        v.page.keyboard.press("ArrowRight")  # over the disabled Continue and Stop
        assert "optionsfold" in v.page.evaluate(focused)
        stops = "[...document.querySelectorAll('#wb-run .bar > button')].filter((b) => b.tabIndex === 0)"
        assert v.page.evaluate(f"{stops}.length") == 1


def test_what_is_folded_is_a_click_away_and_stays_open(visit: Any) -> None:
    parts = {
        "#wb-run .optionsfold": "#wb-run .knobs",
        "#wb-run .chartfold": "#wb-run .chart canvas",
        "#wb-takeaway .fold": "#wb-takeaway .files",
    }
    with visit("?example=time", width=1280, height=720, folded=True) as v:
        v.wait_run()
        for button, part in parts.items():
            assert v.page.locator(part).is_hidden(), part
            assert v.page.get_attribute(button, "aria-expanded") == "false"
            v.page.click(button)
            assert v.page.locator(part).is_visible(), part
        v.page.check("#wb-run .smalltokens")
        v.page.click("#wb-run .optionsfold")
        chosen = v.page.locator("#wb-run .optionsfold .chosen")
        assert chosen.inner_text() == "small tokens"
        inside = "(e) => e.getBoundingClientRect().left > e.parentNode.getBoundingClientRect().left"
        assert chosen.evaluate(inside), "on its button"
        v.page.reload()
        v.wait_run()
        shown = [v.page.locator(part).is_visible() for part in parts.values()]
        assert shown == [False, True, True], "as they were left"


def test_breaking_the_example_changes_what_is_in_view(visit: Any) -> None:
    with visit("?example=person", width=1280, height=720, folded=True) as v:
        v.wait_run()
        perplexity = v.page.inner_text("#wb-run .stats")
        rings = v.page.locator("#wb-run .tokens .tok.cut").count()
        v.page.click(".intro .break")
        v.page.wait_for_function("wb.state.text.includes('[0-9]{1,6}')")
        v.page.wait_for_function("wb.state.ran === wb.key(wb.state) && wb.state.steps.length > 3")
        v.wait_run()
        assert v.page.inner_text("#wb-run .stats") != perplexity
        assert v.page.locator("#wb-run .tokens .tok.cut").count() > rings
        changed = "wb.state.steps[wb.state.selected].token.text"
        assert set(v.page.evaluate(changed)) <= {*'0123456789"'}, "the break changed this token"
        for part in ("#wb-run .tok[aria-selected=true]", "#wb-run .stats", "#wb-run .bubble"):
            assert in_view(v, part), part
        assert in_view(v, "#wb-grammar .paint .l:last-child"), "the edited rule"


def test_the_intro_claims_only_what_is_on_the_page(visit: Any) -> None:
    with visit("?example=person") as v:
        v.wait_run()
        intro = v.page.locator(".intro p")
        assert "Click a token" in intro.inner_text()
        v.page.click(".intro .own")
        v.page.wait_for_function("wb.state.compiled?.text === wb.state.text && !wb.state.pending")
        assert intro.inner_text().startswith("Edit this grammar")
        assert "Press Run" in intro.inner_text()
        assert v.page.locator(".intro .own").is_hidden()
        fragment = v.page.evaluate("wb.fragment()")
    with visit(f"#{fragment}") as v:
        v.page.wait_for_selector("#wb-grammar .verdict.good")
        intro = v.page.locator(".intro p")
        assert intro.inner_text().startswith("This grammar was shared with you")
        assert "Press Run" in intro.inner_text()
        v.run()
        assert "Click a token" in intro.inner_text()


def test_the_view_buttons_do_not_move(visit: Any) -> None:
    places = "[...document.querySelectorAll('.views button, .theme, .helpbutton')].map((b) => b.getBoundingClientRect()).map((r) => [r.left, r.top, r.width].join())"
    with visit("?example=time", width=1280, height=720) as v:
        v.wait_run()
        v.page.wait_for_selector("#wb-header button.model.ready")
        home = v.page.evaluate(places)
        for view in ("compare", "learn", "workbench"):
            v.page.click(f".views [data-view={view}]")
            assert v.page.evaluate(places) == home, view


def test_a_grammar_that_cannot_be_read_says_why_run_is_disabled(visit: Any) -> None:
    with visit("?example=time") as v:
        v.wait_run()
        v.page.click(".intro .own")
        v.page.wait_for_function("wb.state.compiled?.text === wb.state.text && !wb.state.pending")
        blank = v.page.locator("#wb-run .blank p").first
        assert blank.inner_text().startswith("Press Run")
        v.type_grammar("[0-9")
        v.page.wait_for_selector("#wb-grammar .verdict.no")
        run = v.page.locator("#wb-run .go")
        assert run.is_disabled()
        assert "see Problems" in str(run.get_attribute("title"))
        assert "see Problems" in blank.inner_text()
        v.type_grammar("[0-9]")
        v.page.wait_for_selector("#wb-run .go:enabled")
        assert run.get_attribute("title") == ""
        assert blank.inner_text().startswith("Press Run")
        v.page.fill("#wb-grammar textarea.text", "")
        v.page.wait_for_selector("#wb-run .go:disabled")
        v.page.wait_for_function(
            "document.querySelector('#wb-run .blank p').textContent.includes('write one')"
        )
        assert "see Problems" not in blank.inner_text(), "an empty text has none"


def test_ones_own_text_is_not_offered_to_be_replaced(visit: Any) -> None:
    with visit("?example=time") as v:
        v.page.click(".intro .own")
        v.page.click("#wb-grammar [data-notation=json_schema]")
        v.page.wait_for_function("wb.state.compiled?.notation === 'json_schema'")
        assert not v.page.is_visible(".intro .own")
    with visit("?example=person") as v:
        text = v.page.input_value("#wb-grammar textarea.text")
        for changed in (text + " (* mine *)", "start ::= 'a';"):
            v.type_grammar(changed)
            assert not v.page.is_visible(".intro .own")
            assert not v.page.is_visible(".intro .break")
        v.type_grammar(text)
        v.page.wait_for_selector(".intro .break")
        assert v.page.is_visible(".intro .own")


def test_numbers_of_a_thousand_lines_stay_in_their_margin(visit: Any) -> None:
    with visit("?example=person") as v:
        v.wait_run()
        v.page.evaluate(
            "() => { const area = document.querySelector('#wb-grammar textarea.text');"
            " area.value += '\\n'.repeat(1200); area.dispatchEvent(new Event('input')); }"
        )
        heights = v.page.evaluate(
            "[...document.querySelectorAll('#wb-grammar .paint .l')].slice(-2)"
            ".map((line) => Number.parseFloat(getComputedStyle(line, '::before').height))"
        )
        one = v.page.evaluate(
            "Number.parseFloat(getComputedStyle(document.querySelector('#wb-grammar .paint .l'),"
            " '::before').height)"
        )
        assert heights == [one, one], "a number is one line high"


def test_the_edges_under_the_tokens_are_visible(visit: Any) -> None:
    contrast = """() => {
      const pixel = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
      const light = (colour) => {
        pixel.fillStyle = colour;
        pixel.fillRect(0, 0, 1, 1);
        const [r, g, b] = [...pixel.getImageData(0, 0, 1, 1).data].map((c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const edge = document.querySelector("#wb-picture svg .edge:not(.gone):not(.ahead) path:not(.hit)");
      const paper = getComputedStyle(document.documentElement).getPropertyValue("--wash").trim();
      const [low, high] = [light(getComputedStyle(edge).stroke), light(paper)].sort((a, b) => a - b);
      return (high + 0.05) / (low + 0.05);
    }"""
    papers = set()
    with visit("?example=person") as v:
        v.wait_run()
        v.wait_drawn()
        v.page.wait_for_selector("#wb-picture svg .flag", state="attached")
        for look in ("light", "dark"):
            v.page.evaluate("(look) => { document.documentElement.dataset.theme = look; }", look)
            papers.add(v.page.evaluate("getComputedStyle(document.body).backgroundColor"))
            assert v.page.evaluate(contrast) >= 3, f"WCAG 1.4.11: contrast of graphics, {look}"
    assert len(papers) == 2


def test_help_opens_at_its_top_and_the_footer_has_the_version(visit: Any) -> None:
    with visit("?example=time") as v:
        v.wait_run()
        version, source = v.page.evaluate(
            "async () => { const text = document.querySelector('.wb.footer').innerText;"
            " return [text, [...document.querySelectorAll('.wb.footer a')].map((a) => a.href)]; }"
        )
        assert "Version" in version
        assert all(address.startswith("http") for address in source)
        buttons = (".helpbutton", "#wb-footer .about")
        for height, button in [(height, button) for height in (400, 900) for button in buttons]:
            v.page.set_viewport_size({"width": 1400, "height": height})
            v.page.click(button)
            assert v.page.evaluate("document.querySelector('dialog[open]').scrollTop") == 0
            assert v.page.evaluate("document.activeElement.matches('dialog[open] h2')")
            v.page.click("dialog[open] > .close")
            assert v.page.locator("dialog[open]").count() == 0


def test_sections_fold_and_problems_still_show(visit: Any) -> None:
    with visit("?example=time") as v:
        v.wait_run()
        high = "document.querySelector('#wb-grammar .editor').clientHeight"
        before = v.page.evaluate(high)
        v.page.click("#wb-grammar .fold")
        assert v.page.locator("#wb-grammar .panel").is_hidden()
        assert v.page.evaluate(high) > before
        v.type_grammar("[0-9")
        v.page.wait_for_selector("#wb-grammar .problems li")
        assert v.page.locator("#wb-grammar .panel").is_visible()
        v.type_grammar("[0-9]")
        v.page.wait_for_selector("#wb-grammar .panel", state="hidden")
        v.page.click("#wb-grammar [data-section=tests]")
        assert v.page.locator("#wb-grammar .panel").is_visible()


# -- a phone ----------------------------------------------------------------------------------------


def test_a_phone_has_a_header_of_one_line_with_a_menu(visit: Any) -> None:
    with visit("?example=person", **PHONE) as v:
        v.wait_run()
        top = "document.querySelector('.wb.header .top').offsetHeight"
        assert v.page.evaluate(top) <= 48
        inside = (".views", ".drafts", ".share", ".models > button", ".theme", ".helpbutton")
        for part in inside:
            assert v.page.locator(f"#wb-header {part}").is_hidden(), part
        v.page.click(".morebutton")
        for part in inside:
            assert v.page.locator(f"#wb-header {part}").is_visible(), part
        v.shot("phone_menu")
        v.page.click("#wb-header [data-view=learn]")
        assert v.page.locator("#wb-header .theme").is_hidden(), "the menu closes"
        v.page.click(".morebutton")
        v.page.keyboard.press("Escape")
        assert v.page.locator("#wb-header .theme").is_hidden()
        assert v.page.evaluate("document.activeElement.matches('.morebutton')")


def test_a_phone_has_a_bar_that_leads_to_the_parts(visit: Any) -> None:
    with visit("?example=person", **PHONE) as v:
        v.wait_run()
        v.wait_drawn()
        assert v.page.locator(".parts button").all_inner_texts() == ["Write", "Run", "See"]
        tops = v.page.evaluate(
            "['#wb-grammar .editor', '#wb-run .card', '#wb-grammar .tests', '#wb-picture .card']"
            ".map((s) => document.querySelector(s).getBoundingClientRect().top)"
        )
        assert tops == sorted(tops), "the run comes before the tests"
        shares = "['.pic.main', '.card'].map((part) => document.querySelector('#wb-picture ' + part).offsetHeight / innerHeight)"
        picture, card = v.page.evaluate(shares)
        assert 0.5 < picture < card < 0.9
        here = ".parts button[aria-current=true]"
        assert v.page.inner_text(here) == "Write"
        for name, part in (("See", "#wb-picture .card"), ("Run", "#wb-run .card")):
            v.page.click(f".parts >> text={name}")
            v.page.wait_for_function(
                "s => Math.abs(document.querySelector(s).getBoundingClientRect().top - 8) < 2",
                arg=part,
            )
            v.page.wait_for_function(
                "([s, n]) => document.querySelector(s).textContent === n", arg=[here, name]
            )


def test_a_phone_starts_a_run_on_its_first_screen(visit: Any) -> None:
    with visit("?example=person", **PHONE) as v:
        v.wait_run()
        bar, card = v.page.locator("#wb-run .runbar"), v.page.locator("#wb-run .card")
        assert bar.is_visible()
        assert bar.locator(".wrote").inner_text()[:40] in v.page.inner_text("#wb-run .tokens")
        assert "the model preferred" in bar.inner_text()
        over = "document.querySelector('#wb-run .runbar').getBoundingClientRect().bottom"
        assert v.page.evaluate(f"{over} <= innerHeight - 44"), "above the links to the parts"
        v.shot("phone_first")
        bar.locator(".peek").click()
        bar.wait_for(state="hidden")
        assert card.bounding_box()["y"] < 20
        v.page.evaluate("scrollTo(0, 0)")
        bar.wait_for(state="visible")
        before = v.page.locator("#wb-run .branches .branch").count()
        bar.locator(".primary").click()
        bar.wait_for(state="hidden")
        v.page.wait_for_function(
            "n => document.querySelectorAll('#wb-run .branches .branch').length > n && !wb.state.running",
            arg=before,
        )
        assert card.bounding_box()["y"] < 20
        v.page.click(".parts >> text=See")
        v.page.wait_for_function("scrollY > 1500")
        assert bar.is_hidden(), "the run is above"


def bar_follows_the_grammar(v: Any) -> None:
    """A grammar that cannot be read does not run; a laptop, and a short grammar, need no bar."""
    v.page.fill("#wb-grammar textarea.text", "(")
    v.page.wait_for_function("wb.state.compiled?.text === '(' && !wb.state.compiled.ok")
    assert v.page.locator("#wb-run .runbar .primary").is_disabled()
    v.page.wait_for_function("!document.querySelector('#wb-run .runbar').checkVisibility()")


def test_a_phone_has_targets_for_a_finger_and_a_bar_that_follows_the_grammar(visit: Any) -> None:
    small = """() => [...document.querySelectorAll('.wb :is(button, a[href], select, input, textarea, summary)')]
      .filter((each) => each.checkVisibility({ visibilityProperty: true }))
      .map((each) => [each, (each.closest('label') ?? each).getBoundingClientRect()])
      .filter(([, box]) => box.height > 0 && (box.height < 32 || box.width < 32))
      .map(([each, box]) => `${each.outerHTML.slice(0, 90)} ${box.width}×${box.height}`)"""
    with visit("?example=person", **PHONE) as v:
        v.wait_run()
        v.wait_drawn()
        assert v.page.evaluate(small) == [], "as it opens"
        v.page.click(".morebutton")
        v.page.click("#wb-header .drafts > button")
        assert v.page.evaluate(small) == [], "the menu"
        v.page.click(".morebutton")
        for section in ("problems", "rules", "samples", "change"):
            v.page.click(f"#wb-grammar [data-section={section}]")
            assert v.page.evaluate(small) == [], section
        tokens = "[...document.querySelectorAll('#wb-run .tokens .tok')].every((t) => t.getClientRects()[0].height >= 32)"
        assert v.page.evaluate(tokens), "tokens are as wide as their text"
        v.page.evaluate("scrollTo(0, 0)")
        v.page.wait_for_selector("#wb-run .runbar")
        bar_follows_the_grammar(v)
