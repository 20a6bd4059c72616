"""A visitor's journey through the page, in headless Chromium."""

from __future__ import annotations

import re
from typing import Any

import pytest

from workbench.grammar.gallery import load_gallery
from workbench.grammar.notations import Notation

pytestmark = pytest.mark.browser


def test_the_first_sight_is_a_finished_run_over_a_picture(visit: Any) -> None:
    with visit() as v:
        v.wait_drawn()
        v.wait_run()
        v.shot("first_sight")
        assert v.page.locator("#wb-run .tok").count() > 5
        assert v.page.locator("#wb-run .outcome").inner_text() != ""
        assert v.page.evaluate("wb.state.tab") == "together"
        v.page.wait_for_selector("#wb-picture .pic.main .flag")
        assert v.page.locator("#wb-picture .stackbox").is_hidden(), "dates need no stack"
        numbers_add_up(v)


def numbers_add_up(v: Any) -> None:
    steps = v.page.evaluate("wb.state.steps")
    for step in steps:
        assert 0 <= step["kept"] <= 1
        assert step["s"] >= 0
        assert step["allowed"] >= 1
    said = v.page.locator("#wb-run .stats").inner_text()
    spoken = [step for step in steps if not step["token"].get("end")]
    perplexity = 2 ** (sum(step["s"] for step in spoken) / len(spoken))
    assert f"{perplexity:.2f}" in said or str(round(perplexity)) in said.replace(",", "")


EXAMPLES = {example.notation: name for name, example in load_gallery().items()}


@pytest.mark.parametrize("notation", EXAMPLES)
def test_an_example_of_each_notation_opens(visit: Any, notation: Notation) -> None:
    with visit(f"?example={EXAMPLES[notation]}") as v:
        v.page.wait_for_selector("#wb-run .go:enabled")
        assert v.page.evaluate("wb.state.compiled.ok")


def test_a_state_tells_what_may_follow_and_a_typed_regex_becomes_three_pictures(visit: Any) -> None:
    with visit("?example=time") as v:
        v.wait_run()
        v.wait_drawn()
        v.page.locator("#wb-picture .pic.main .node").first.click()
        told = v.page.locator("#wb-picture .foot").inner_text()
        assert "state" in told
        assert "→" in told
        v.type_grammar("(Ada|name)+;")
        v.page.wait_for_function("wb.state.compiled?.text === '(Ada|name)+;'")
        seen = set()
        for tab in ("characters", "tokens", "together"):
            v.open_tab(tab)
            v.wait_drawn()
            v.shot(f"regex_{tab}")
            seen.add(v.page.locator("#wb-picture .pic.main .canvas").inner_text())
        assert len(seen) == 3


def test_a_half_typed_regex_says_where_it_is_wrong_and_an_empty_one_is_not(visit: Any) -> None:
    with visit("?example=time") as v:
        v.wait_run()
        v.type_grammar("ab[0-9")
        row = v.page.locator("#wb-grammar .problems li").first
        row.wait_for()
        assert re.fullmatch(r"1:\d+", row.locator(".at").inner_text())
        assert v.page.locator("#wb-grammar .paint .squig").count() >= 1
        v.shot("half_typed")
        assert v.page.locator("#wb-run .go").is_disabled()
        row.locator("button.said").click()
        assert v.page.evaluate("document.activeElement.classList.contains('text')")
        v.type_grammar("ab[0-9]")
        v.page.wait_for_selector("#wb-grammar .verdict.good")
        assert v.page.locator("#wb-grammar .problems").is_hidden()
        assert v.page.locator("#wb-grammar .paint .squig").count() == 0
        v.type_grammar("a$b")
        v.page.wait_for_selector("#wb-grammar .problems .row.error", state="attached")
        said = v.page.locator("#wb-grammar .problems .said").all_text_contents()
        messages = [text.partition(" ")[2] for text in said]
        assert len(set(messages)) == len(messages) > 0, "no error is repeated as a warning"
        v.type_grammar("")  # no mistake
        v.page.wait_for_function("wb.state.compiled?.empty === true")
        assert v.page.locator("#wb-grammar .problems").is_hidden()


@pytest.mark.parametrize(
    ("example", "text", "hint", "notation"),
    [
        ("json", "[0-9]{2}", "a regex", "regex"),
        ("time", "start ::= 'a';", "a KBNF grammar", "kbnf"),
    ],
)
def test_a_text_in_the_other_notation_is_one_click_away(
    visit: Any, example: str, text: str, hint: str, notation: str
) -> None:
    with visit(f"?example={example}") as v:
        v.wait_run()
        v.type_grammar(text)
        switch = v.page.locator("#wb-grammar .problems .switch")
        switch.wait_for()
        assert f"this looks like {hint}" in v.page.locator("#wb-grammar .problems").inner_text()
        switch.click()
        v.page.wait_for_function("n => wb.state.compiled.notation === n", arg=notation)
        assert v.page.evaluate("wb.state.compiled.ok")
        assert v.page.locator("#wb-grammar .problems").is_hidden()
        assert v.page.input_value("#wb-grammar textarea.text") == text


def test_rejected_texts_show_where_they_fail(visit: Any) -> None:
    with visit("?example=time") as v:
        v.wait_run()
        v.page.fill("#wb-grammar .addtest textarea", "12:7")
        v.page.keyboard.press("Enter")
        added = v.page.locator("#wb-grammar .tests li").last
        added.locator("b.no").wait_for()
        assert "column 4" in added.inner_text()
        assert added.locator(".squig").inner_text() == "7"
        added.locator("button.say").click()
        v.page.keyboard.type("12:34")
        v.page.keyboard.press("Control+A")
        v.page.keyboard.type("12:34")
        v.page.keyboard.press("Enter")
        v.page.locator("#wb-grammar .tests li").last.locator(".good").wait_for()
        before = v.page.locator("#wb-grammar .tests li").count()
        added.hover()
        v.page.locator("#wb-grammar .tests .drop").last.click()
        assert v.page.locator("#wb-grammar .tests li").count() == before - 1


def test_a_run_streams_and_a_token_tells_everything(visit: Any) -> None:
    with visit("?example=person") as v:
        v.wait_run()
        v.wait_drawn()
        v.page.fill("#wb-run .seed", "7")
        v.run()
        v.page.locator("#wb-run .tok").nth(1).click()
        facts = v.page.locator("#wb-run .insp").inner_text()
        for name in ("probability", "surprisal", "rank", "before mask", "allowed tokens", "state"):
            assert name in facts
        assert v.page.locator("#wb-run .wanted .cand").count() > 3
        assert v.page.locator("#wb-run .may .cand").count() >= 1
        assert v.page.locator("#wb-picture .now, #wb-picture .gone").count() >= 1
        struck = v.page.locator("#wb-run .wanted .cand.x").count()
        forbidden = v.page.evaluate("wb.state.steps[1].wanted.filter(c => !c.ok).length")
        assert struck == forbidden
        if struck:
            reason = "document.querySelector('#wb-run .wanted .cand.x .w').textContent"
            v.page.wait_for_function(f"{reason} !== 'forbidden'")
        v.shot("token_selected")


def test_stopping_keeps_the_text_so_far(visit: Any) -> None:
    with visit("?example=time") as v:
        v.wait_run()
        v.type_grammar("[a-z ]{400,500}")
        v.page.wait_for_selector("#wb-run .go:enabled")
        v.page.fill("#wb-run .max", "512")
        v.page.click("#wb-run .go")
        v.page.wait_for_function("wb.state.running && wb.state.steps.length > 3")
        v.page.keyboard.press("Escape")
        v.page.wait_for_selector("#wb-run .halt:disabled")
        assert "stopped" in v.page.locator("#wb-run .outcome").inner_text()
        assert v.page.locator("#wb-run .tok").count() > 3
        # the model is free again immediately, however quickly the next run is requested
        v.page.fill("#wb-run .max", "5")
        v.page.click("#wb-run .go")
        v.page.wait_for_function("wb.state.steps.length === 5 && !wb.state.running")
        assert "token limit" in v.page.locator("#wb-run .outcome").inner_text()


def test_another_token_can_be_chosen(visit: Any) -> None:
    with visit("?example=email") as v:
        v.wait_run()
        index = v.page.evaluate("wb.state.steps.findIndex(s => s.may.length > 2 && !s.token.end)")
        v.page.locator("#wb-run .tok").nth(index).click()
        other = v.page.locator("#wb-run .may button.cand:not(.taken)").first
        text = other.locator("code").inner_text()
        other.click()
        v.page.wait_for_function("index => wb.state.steps[index]?.hand", arg=index)
        v.wait_run()
        taken = v.page.locator("#wb-run .tok").nth(index)
        assert taken.inner_text().replace(" ", "·") == text
        assert v.page.evaluate("wb.state.steps.map(s => s.i ?? 0).length") > index


def test_the_keyboard_reaches_everything(visit: Any) -> None:
    with visit("?example=person") as v:
        v.wait_run()
        v.page.focus("#wb-grammar textarea.text")
        v.page.keyboard.press("Control+Enter")
        v.page.wait_for_function("wb.state.running || wb.state.steps.length")
        v.wait_run()
        v.page.keyboard.press("Escape")
        v.page.keyboard.press("t")
        v.page.keyboard.press("Home")
        assert v.page.evaluate("wb.state.selected") == 0
        v.page.keyboard.press("ArrowRight")
        assert v.page.evaluate("wb.state.selected") == 1
        assert v.page.evaluate("document.activeElement.dataset.i") == "1"
        # one tab stop for the whole strip
        assert v.page.locator("#wb-run .tok[tabindex='0']").count() == 1
        v.page.keyboard.press("g")
        v.page.keyboard.press(".")
        assert v.page.locator("#wb-picture .node.picked").count() == 1
        v.page.keyboard.press("?")
        assert v.page.locator("dialog[open]").count() == 1
        v.page.keyboard.press("Escape")
        assert v.page.locator("dialog[open]").count() == 0


def test_run_requested_while_typing_uses_the_typed_text_and_says_its_error(visit: Any) -> None:
    with visit("?example=time") as v:
        v.wait_run()
        v.page.focus("#wb-grammar textarea.text")
        v.page.keyboard.press("Control+A")
        v.page.keyboard.type("Ada!")
        v.page.keyboard.press("Control+Enter")
        v.page.wait_for_function(
            "wb.state.ran?.endsWith('Ada!') && !wb.state.running && wb.state.steps.length"
        )
        text = "wb.state.steps.map(s => s.token.text ?? '').join('')"
        assert v.page.evaluate(text) == "Ada!"
        error_of_the_run_is_shown_in_its_card(v)


def error_of_the_run_is_shown_in_its_card(v: Any) -> None:
    v.page.evaluate(
        "document.querySelector('#wb-run select.mask').options[0].value = 'no such method'"
    )
    v.page.click("#wb-run .go")
    v.page.wait_for_selector("#wb-run .runerr:not([hidden])")
    assert "no such method" in v.page.locator("#wb-run .runerr").inner_text()
    assert v.page.locator("#wb-run .go").is_enabled()


#: How the picture lies in its box: pixels a point, whether all of it is seen, how far off the middle.
LIES = """() => {
  const box = document.querySelector("#wb-picture .pic");
  const [x, y, w, h] = box.querySelector("svg").getAttribute("viewBox").split(" ").map(Number);
  const frame = box.getBoundingClientRect();
  const nodes = [...box.querySelectorAll(".node")].map((node) => node.getBoundingClientRect());
  const [left, right] = [Math.min(...nodes.map((n) => n.left)), Math.max(...nodes.map((n) => n.right))];
  return {
    scale: box.clientWidth / w,
    filled: Math.abs(w / h - box.clientWidth / box.clientHeight) < 0.01,
    whole: nodes.every((n) => n.left >= frame.left && n.right <= frame.right && n.top >= frame.top && n.bottom <= frame.bottom),
    off: Math.abs((left + right) - (frame.left + frame.right)) / 2,
    width: box.clientWidth,
    middle: x + w / 2,
  };
}"""


def test_a_picture_is_zoomed_and_found_again_and_the_wheel_scrolls_the_page(visit: Any) -> None:
    with visit("?example=time&tab=characters", height=700) as v:
        v.wait_run()
        v.wait_drawn()
        home = v.page.evaluate(LIES)
        assert home["whole"]
        v.page.click("#wb-picture [data-act=in]")
        assert v.page.evaluate(LIES)["scale"] > home["scale"] * 1.2
        v.page.click("#wb-picture [data-act=fit]")
        found = v.page.evaluate(LIES)
        assert found["whole"]
        assert found["scale"] == pytest.approx(home["scale"])
        v.page.hover("#wb-picture .pic.main .canvas")
        v.page.keyboard.down("Control")
        v.page.mouse.wheel(0, -200)
        v.page.wait_for_function(f"({LIES})().scale > {home['scale'] * 1.2}")
        v.page.keyboard.up("Control")
        assert v.page.evaluate("scrollY") == 0
        zoomed = v.page.evaluate(LIES)["scale"]
        v.page.mouse.wheel(0, 200)
        v.page.wait_for_function("scrollY > 100")
        assert v.page.evaluate(LIES)["scale"] == zoomed


def test_a_picture_is_fitted_to_its_box_and_keeps_what_was_zoomed(visit: Any) -> None:
    def resized(v: Any, width: int) -> Any:
        before = v.page.evaluate(LIES)["width"]
        v.page.set_viewport_size({"width": width, "height": 1000})
        v.page.wait_for_function(f"({LIES})().width !== {before} && ({LIES})().filled")
        return v.page.evaluate(LIES)

    with visit("?example=time&tab=characters") as v:
        v.wait_drawn()
        drawn = v.page.evaluate("wb.state.drawn")
        fitted = resized(v, 1100)
        assert v.page.evaluate("wb.state.drawn") == drawn, "the layout stays"
        assert fitted["whole"]
        assert fitted["off"] < 40
        v.page.click("#wb-picture [data-act=in]")
        v.page.focus("#wb-picture .pic")
        v.page.keyboard.press("ArrowRight")
        mine = v.page.evaluate(LIES)
        kept = resized(v, 1110)
        assert kept["scale"] == pytest.approx(mine["scale"], rel=1e-3)
        assert kept["middle"] == pytest.approx(mine["middle"], abs=0.1)
        v.page.keyboard.press("0")
        assert resized(v, 1100)["whole"]


def test_nothing_slides_into_place(visit: Any) -> None:
    watch = """
      window.places = [];
      const look = () => {
        const parts = [...document.querySelectorAll("#wb-header .wb, #wb-grammar .wb, #wb-picture .wb")];
        const seen = parts.length === 3 && parts.every((part) => getComputedStyle(part).visibility === "visible");
        if (seen) places.push(parts.map((part) => part.getBoundingClientRect()).map((r) => [r.left, r.top, r.width].join()).join(" "));
        requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    """
    with visit("?example=time", before=watch) as v:
        v.wait_drawn()
        v.wait_run()
        v.page.wait_for_function("places.length > 20")
        assert len(set(v.page.evaluate("places"))) == 1


def test_a_low_window_opens_at_the_top(visit: Any) -> None:
    with visit("?example=person", height=420) as v:
        v.wait_drawn()
        v.wait_run()
        assert v.page.evaluate("scrollY") == 0


def test_a_phone_opens_at_the_top(visit: Any) -> None:
    with visit("?example=json", width=390, height=844) as v:
        v.wait_drawn()
        assert v.page.evaluate("scrollY") == 0
        v.open_tab("railroad")
        shown = "b => b.left >= 0 && b.right <= 390"
        box = "document.querySelector('#wb-picture [data-tab=railroad]').getBoundingClientRect()"
        assert v.page.evaluate(f"({shown})({box})"), "its row is scrolled to it"
        v.open_tab("table")
        assert v.page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_theme_follows_the_system_and_can_be_turned(visit: Any) -> None:
    with visit(dark=True) as v:
        v.wait_run()
        v.shot("dark")
        colour = "getComputedStyle(document.body).backgroundColor"
        dark = v.page.evaluate(colour)
        v.page.click("#wb-header .theme")
        assert v.page.evaluate(colour) != dark
        v.page.reload()
        v.page.wait_for_selector("#wb-grammar .paint .l")
        assert v.page.evaluate("document.documentElement.dataset.theme") == "light"


def test_nothing_typed_becomes_markup(visit: Any) -> None:
    with visit("?example=time") as v:
        v.wait_run()
        v.type_grammar(
            "<img src=x onerror=window.hurt=1>\\$\\{1\\+1\\}|\\{\\{value\\}\\}|</script>"
        )
        v.page.wait_for_selector("#wb-grammar .verdict.good")
        v.wait_drawn()
        v.page.fill("#wb-grammar .addtest textarea", "<img src=x onerror=window.hurt=1>${1+1}")
        v.page.keyboard.press("Enter")
        v.page.wait_for_selector("#wb-grammar .tests li:last-child .good")
        v.run()
        assert v.page.evaluate("window.hurt") is None
        assert v.page.locator("#wb-grammar img, #wb-run img, #wb-picture img").count() == 0


def test_a_link_holds_the_grammar(visit: Any) -> None:
    with visit("?example=time") as v:
        v.wait_run()
        v.type_grammar("(λ|\\\\|<b>){2}")
        v.page.fill("#wb-grammar textarea.prompt", "say ${x}")
        v.page.wait_for_selector("#wb-grammar .verdict.good")
        v.page.click("#wb-header .share")
        v.page.wait_for_function("location.hash.startsWith('#g=')")
        link = v.page.url
        v.page.goto("about:blank")
        v.page.goto(link)
        v.page.wait_for_selector("#wb-grammar .verdict.good")
        assert v.page.input_value("#wb-grammar textarea.text") == "(λ|\\\\|<b>){2}"
        assert v.page.input_value("#wb-grammar textarea.prompt") == "say ${x}"
        v.wait_run()  # a reader of the link sees a run at once
        v.page.goto("about:blank")
        v.page.goto(link[:-9])  # cut off on the way: the page opens as ever
        v.wait_run()


def test_the_page_is_light_and_quick(visit: Any) -> None:
    with visit() as v:
        v.wait_run()
        weight = v.page.evaluate(
            "performance.getEntriesByType('resource').reduce((n, r) => n + r.encodedBodySize, 0)"
        )
        assert 150_000 < weight < 300_000, "of a cached file too"
