"""The run card: steps, chosen tokens, branches, search, both probabilities, charts, colours, alarm."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.browser

#: The text of the branch that is shown.
TEXT = "wb.state.steps.map(s => s.token.text ?? '').join('')"


def settled(v: Any) -> None:
    """Wait until the next token's probabilities, or a token's facts, are shown and no request is open."""
    v.page.wait_for_selector("#wb-run .insp:not(.empty):not(.waiting):not([hidden])")
    v.page.wait_for_selector("#wb-run .halt:disabled")
    v.page.wait_for_selector("#wb-run .go:enabled")


def opened(v: Any, grammar: str, most: int = 40) -> None:
    """A grammar without any run."""
    v.wait_run()
    v.page.evaluate(
        "text => wb.emit('open', {text, notation: text.includes('::=') ? 'kbnf' : 'regex'})",
        grammar,
    )
    v.page.wait_for_function(
        "t => wb.state.compiled?.text === t && wb.state.compiled.ok", arg=grammar
    )
    v.page.fill("#wb-run .max", str(most))


def chips(v: Any) -> list[str]:
    found: list[str] = v.page.locator("#wb-run .branch").all_inner_texts()
    return found


def test_tokens_are_taken_by_hand_from_the_very_first(visit: Any) -> None:
    with visit("?example=time") as v:
        opened(v, "(Ada|name)!?")
        v.page.click("#wb-run .byhand")
        settled(v)
        assert "not taken yet" in v.page.locator("#wb-run .tokenfacts").inner_text()
        assert v.page.locator("#wb-run .tok.next[aria-selected=true]").count() == 1
        v.shot("by_hand_at_the_prompt")
        v.page.locator("#wb-run .may button.cand", has_text="Ada").click()
        v.page.wait_for_function(f"{TEXT} === 'Ada'")
        settled(v)
        # the end is allowed now, and is a token like any other
        v.page.locator("#wb-run .may button.cand", has_text="end").click()
        v.page.wait_for_selector("#wb-run .outcome.good")
        assert v.page.locator("#wb-run .tok.hand").count() == 2
        assert v.page.locator("#wb-run .tok.next").count() == 0


def test_a_step_is_one_token_and_a_run_of_steps_is_a_run(visit: Any) -> None:
    with visit("?example=time") as v:
        v.wait_run()
        whole = v.page.evaluate(TEXT)
        v.page.click("#wb-run .branches .bare")
        settled(v)
        for count in (1, 2):
            v.page.keyboard.press("s")
            v.page.wait_for_function("n => wb.state.steps.length === n", arg=count)
            settled(v)
        assert whole.startswith(v.page.evaluate(TEXT))
        v.page.click("#wb-run .goon")
        v.page.wait_for_selector("#wb-run .outcome.good")
        assert v.page.evaluate(TEXT) == whole, "the same seed says the same"
        assert chips(v) == ["1", "2 by hand"]


def test_forks_are_kept_as_branches(visit: Any) -> None:
    with visit("?example=time") as v:
        v.wait_run()
        first = v.page.evaluate(TEXT)
        v.page.locator("#wb-run .tok").nth(0).click()
        other = v.page.locator("#wb-run .may button.cand:not(.taken)").first
        taken = other.locator("code").inner_text()
        other.click()
        v.page.wait_for_selector("#wb-run .branch:nth-child(2)[aria-pressed=true]")
        v.page.wait_for_selector("#wb-run .outcome.good")
        forked = v.page.evaluate(TEXT)
        assert forked.startswith(taken)
        assert chips(v) == ["1", "2 fork at 1"]
        v.page.locator("#wb-run .tok").nth(2).click()
        v.page.get_by_role("button", name="Rewind to here").click()
        settled(v)
        assert v.page.evaluate("wb.state.steps.length") == 2
        v.shot("rewound")
        v.page.locator("#wb-run .branch").first.click()
        assert v.page.evaluate(TEXT) == first, "nothing is lost"
        v.page.locator("#wb-run .branch").nth(1).click()
        assert v.page.evaluate(TEXT) == forked
        records = v.page.evaluate("wb.run.records().map(r => r.k)")
        assert records[:2] == ["head", "start"]
        assert records[-1] == "stop"


def test_going_on_with_another_seed_may_say_something_else(visit: Any) -> None:
    with visit("?example=time") as v:
        v.wait_run()
        seed = v.page.input_value("#wb-run .seed")
        v.page.locator("#wb-run .tok").nth(1).click()
        v.page.get_by_role("button", name="and go on").click()
        v.page.wait_for_selector("#wb-run .outcome.good")
        assert v.page.input_value("#wb-run .seed") != seed
        assert len(chips(v)) == 2


def test_any_token_can_be_searched_and_taken(visit: Any) -> None:
    with visit("?example=time") as v:
        opened(v, "(Ada|name| a)+!")
        v.page.click("#wb-run .byhand")
        settled(v)
        v.page.keyboard.press("Escape")
        v.page.fill("#wb-run .lookup input", "a")
        v.page.wait_for_selector("#wb-run .hits .cand")
        rows = v.page.locator("#wb-run .hits .cand")
        told = rows.all_inner_texts()
        assert any("%" in row for row in told)
        assert any("✕" in row for row in told), "forbidden ones are found too"
        reason = "document.querySelector('#wb-run .hits .cand.x .w').textContent"
        v.page.wait_for_function(f"{reason} !== 'forbidden'")
        v.shot("search")
        v.page.locator("#wb-run .hits .cand:not(.x)", has_text="name").click()
        v.page.wait_for_function("wb.state.steps.length === 1")
        assert v.page.evaluate(TEXT) == "name"


def test_both_columns_add_up(visit: Any) -> None:
    with visit("?example=email") as v:
        v.wait_run()
        v.page.locator("#wb-run .tok").nth(1).click()
        for part in ("wanted", "may"):
            sums = v.page.evaluate(
                """part => [2, 3].map((column) => [...document.querySelectorAll(`#wb-run .${part} .cands:not(.hits) .cand`)]
                  .map((row) => parseFloat(row.children[column].textContent.replace("<", "")) || 0).reduce((a, b) => a + b, 0))""",
                part,
            )
            for column in sums:
                assert column == pytest.approx(100, abs=1.5), part


def test_colours_and_charts_go_together_and_are_kept(visit: Any) -> None:
    with visit("?example=person") as v:
        v.wait_run()
        painted = (
            "[...document.querySelectorAll('#wb-run .tokens .tok')].map(t => t.className).join()"
        )
        seen = set()
        for shade in ("surprisal", "kept", "rank", "latency", "rule"):
            v.page.click(f"#wb-run .shades [data-key={shade}]")
            seen.add(v.page.evaluate(painted))
            assert v.page.locator("#wb-run .legend .scale").inner_text() != ""
        assert len(seen) >= 4
        assert v.page.locator("#wb-run .tok[data-n='1']").count() >= 1, "never colour alone"
        v.page.click("#wb-run .charts [data-key=allowed]")
        v.page.hover("#wb-run .chart", position={"x": 20, "y": 40})
        assert "tokens allowed" in v.page.locator("#wb-run .tip").inner_text()
        scales = {}
        for chart in ("bits", "kept", "needed"):
            v.page.click(f"#wb-run .charts [data-key={chart}]")
            v.page.wait_for_function(
                "what => document.querySelector('#wb-run .axis').textContent.includes(what)",
                arg={"bits": "mask", "kept": "kept", "needed": "left"}[chart],
            )
            scales[chart] = v.page.locator("#wb-run .axis .tick").all_inner_texts()
        assert scales["bits"] == ["8 bits", "4", "0", "4"]
        assert scales["kept"] == ["100 %", "50", "0"]
        assert "must finish" in v.page.locator("#wb-run .chartbox .missing").inner_text()
        v.page.click("#wb-run .charts [data-key=allowed]")
        v.page.focus("#wb-run .chart")
        v.page.keyboard.press("Home")
        v.page.keyboard.press("ArrowRight")
        assert v.page.evaluate("wb.state.selected") == 1
        assert "token 2" in v.page.get_attribute("#wb-run .chart", "aria-valuetext")
        v.shot("rules_and_allowed")
        v.page.reload()
        v.wait_run()
        assert v.page.get_attribute("#wb-run .shades [data-key=rule]", "aria-checked") == "true"
        assert v.page.get_attribute("#wb-run .charts [data-key=allowed]", "aria-checked") == "true"


def test_the_run_is_walked_and_played(visit: Any) -> None:
    with visit("?example=time") as v:
        v.wait_run()
        at = "wb.state.selected"
        for name, index in (("First token", 0), ("Next token", 1), ("Previous token", 0)):
            v.page.get_by_role("button", name=name, exact=True).click()
            assert v.page.evaluate(at) == index
        v.page.get_by_role("button", name="Play the run (P)").click()
        v.page.wait_for_function("wb.state.selected >= 2")
        v.page.keyboard.press("p")
        stopped = v.page.evaluate(at)
        assert v.page.get_by_role("button", name="Play the run (P)").count() == 1
        v.page.get_by_role("button", name="Last token").click()
        assert v.page.evaluate(at) == v.page.evaluate("wb.state.steps.length") - 1 >= stopped


def test_the_keyboard_goes_from_tokens_to_candidates_and_back(visit: Any) -> None:
    with visit("?example=email") as v:
        v.wait_run()
        v.page.locator("#wb-run .tok").nth(1).click()
        v.page.keyboard.press("ArrowDown")
        inside = "document.activeElement.closest('.may') !== null"
        assert v.page.evaluate(inside)
        v.page.keyboard.press("ArrowDown")
        assert v.page.locator("#wb-run .may button.cand[tabindex='0']").count() == 1
        v.page.keyboard.press("Escape")
        assert v.page.evaluate("document.activeElement.dataset.i") == "1"
        v.page.keyboard.press("r")
        settled(v)
        assert v.page.evaluate("wb.state.steps.length") == 1
        v.page.keyboard.press("t")
        v.page.keyboard.press("ArrowDown")
        v.page.keyboard.press("Enter")
        v.page.wait_for_function("wb.state.steps.length === 2")


def test_click_explains_a_forbidden_token(visit: Any) -> None:
    with visit("?example=person") as v:
        v.wait_run()
        v.page.evaluate("wb.on('why', (told) => { window.told = told; })")
        index = v.page.evaluate("wb.state.steps.findIndex(s => !s.wanted[0].ok)")
        v.page.locator("#wb-run .tok").nth(index).click()
        v.page.locator("#wb-run .wanted button.cand.x").first.click()
        v.page.wait_for_selector("#wb-run .whybox:not([hidden])")
        assert "Why not" in v.page.locator("#wb-run .whybox").inner_text()
        assert v.page.evaluate("window.told.spans.length") >= 1
        v.shot("why_forbidden")
        v.page.locator("#wb-run .tok").first.click()
        assert v.page.locator("#wb-run .whybox").is_hidden()
        assert v.page.evaluate("window.told") is None


def test_an_endless_loop_is_marked_and_bounded_at_a_click(visit: Any) -> None:
    with visit("?example=time") as v:
        opened(v, "a[0-9]+b", most=30)
        v.page.click("#wb-run .go")
        v.page.wait_for_function("!wb.state.running && wb.state.steps.length > 20")
        v.page.wait_for_selector("#wb-run .trapline")
        line = v.page.locator("#wb-run .trapline", has_text="repeat")
        assert "tokens" in line.inner_text()
        assert v.page.locator("#wb-run .tok.trap.first").count() == 1
        v.shot("trap")
        line.locator(".mend").click()
        v.page.wait_for_function("wb.state.text !== 'a[0-9]+b'")
        assert "{" in v.page.evaluate("wb.state.text")


def test_a_long_run_neither_hangs_nor_jumps(visit: Any) -> None:
    watch = "new PerformanceObserver((list) => { for (const each of list.getEntries()) if (!each.hadRecentInput && each.sources.some((s) => s.node?.closest?.('#wb-run'))) window.slid = (window.slid ?? 0) + each.value; }).observe({ type: 'layout-shift' })"
    with visit("?example=time") as v:
        opened(v, "[a-z ]{400,500}", most=300)
        v.page.click("#wb-run .go")
        v.page.wait_for_function("wb.state.steps.length > 5")
        v.page.evaluate(watch)
        v.page.wait_for_function("wb.state.steps.length > 120")
        assert (v.page.evaluate("window.slid") or 0) < 0.02
        v.page.click("#wb-run .halt")
        v.page.wait_for_selector("#wb-run .outcome:has-text('stopped')")
        steps = v.page.evaluate("wb.state.steps.map(s => s.i)")
        assert steps == list(range(len(steps))), "none lost, none twice"
        v.page.click("#wb-run .goon")
        v.page.wait_for_function("n => wb.state.steps.length > n + 3", arg=len(steps))
        v.page.keyboard.press("Escape")
        steps = v.page.evaluate("wb.state.steps.map(s => s.i)")
        assert steps == list(range(len(steps)))


#: Ends the first run in order after three pieces, as a proxy does whose worker has ended.
CUT = """
const whole = window.fetch;
window.cuts = 0;
window.fetch = async (...asked) => {
  const answer = await whole(...asked);
  if (!answer.url.endsWith("/wb/run") || window.cuts) return answer;
  const reader = answer.body.getReader();
  let pieces = 0;
  const body = new ReadableStream({
    async pull(out) {
      const { value } = await reader.read();
      out.enqueue(value);
      if (++pieces < 4) return;
      window.cuts = 1;
      reader.cancel();
      out.close();
    },
  });
  return new Response(body, answer);
};
"""


def test_a_run_goes_on_after_its_worker_ended(visit: Any) -> None:
    texts = []
    for before in ("", CUT):
        with visit("?example=time", before=before) as v:
            opened(v, "[a-z ]{60,700}", most=30)
            v.page.click("#wb-run .go")
            v.page.wait_for_function("!wb.state.running && wb.state.steps.length > 5")
            assert v.page.evaluate("window.cuts ?? 0") == (before == CUT)
            texts.append(v.page.evaluate("wb.state.steps.map(s => s.id)"))
            v.page.click("#wb-run .go")  # the next run is not cut
            v.page.wait_for_function("wb.state.running")
            v.page.wait_for_function("!wb.state.running && wb.state.steps.length > 5")
    assert texts[0]
    assert texts[0] == texts[1]


def test_a_method_that_does_not_apply_says_so_and_another_may_be_tried(visit: Any) -> None:
    with visit("?example=person") as v:
        v.wait_run()
        v.page.select_option("#wb-run select.mask", "outlines")
        v.page.click("#wb-run .go")
        v.page.wait_for_selector("#wb-run .runerr:has-text('calls itself')")
        assert v.page.inner_text("#wb-run .runerr").startswith("Nothing was written: ")
        assert v.page.locator("#wb-run .tok.next").count() == 0, "nothing can follow"
        assert v.page.locator("#wb-run .goon").is_disabled()
        v.page.select_option("#wb-run select.mask", "domino")
        v.page.fill("#wb-run input.k", "deep")
        v.page.keyboard.press("Tab")
        assert v.page.input_value("#wb-run input.k") == "", "no bound looks like none"
        v.page.click("#wb-run .step")
        v.page.wait_for_function("wb.state.steps.length === 1")


@pytest.mark.parametrize(("width", "height"), [(390, 844), (2000, 1000)])
def test_it_fits(visit: Any, width: int, height: int) -> None:
    wide = "document.documentElement.scrollWidth"
    with visit("?example=person", width=width, height=height) as v:
        v.wait_run()
        assert v.page.evaluate(wide) <= width
        v.page.locator("#wb-run .tok").nth(2).click()
        for look in ("light", "dark"):
            v.page.evaluate("(look) => { document.documentElement.dataset.theme = look; }", look)
            v.shot(f"run_{width}_{look}")
            assert v.page.evaluate(wide) <= width


def test_numbers_and_waiting_are_said_in_words(visit: Any) -> None:
    step = "{ token: { text: 'a' }, s: 30, m: 0, forced: false }"
    with visit("?example=time") as v:
        v.wait_run()
        shown = v.page.evaluate(f"wb.totals([{step}]).map(([value, name]) => value + ' ' + name)")
        assert shown[1:3] == ["> 10⁶ perplexity", "0.0 bits removed by the mask"]
        assert "−log₂" in v.page.inner_text("#wb-run .means")
        v.page.evaluate("wb.state.steps = []; wb.compiling(true)")
        assert "once per installation" in v.page.inner_text("#wb-run .wait")
        v.page.evaluate("wb.compiling(false)")
        assert v.page.inner_text("#wb-run .wait") == ""


#: Types a blank into the grammar; what the picture says when it begins to wait for the answer.
AWAITED = """() => new Promise((done) => {
  const pic = document.querySelector("#wb-picture .pic.main"), area = document.querySelector("#wb-grammar textarea.text");
  const look = () => pic.classList.contains("stale") &&
    done([pic.querySelector(".howmuch").textContent, getComputedStyle(pic.querySelector(".canvas")).opacity]);
  new MutationObserver(look).observe(pic, { attributes: true, attributeFilter: ["class"] });
  area.value += " ";
  area.dispatchEvent(new Event("input"));
})"""


def test_a_picture_stays_usable_while_the_engine_is_compiled(visit: Any) -> None:
    with visit("?example=time") as v:
        v.wait_run()
        v.wait_drawn()
        assert v.page.evaluate(AWAITED) == ["", "0.35"], "it is dimmed"
        v.wait_drawn()
        v.page.evaluate("wb.compiling(true)")
        said, dimmed = v.page.evaluate(AWAITED)
        assert said.startswith("First start: the engine is being compiled")
        assert dimmed == "1"
        v.wait_drawn()
        v.page.wait_for_function("!document.querySelector('#wb-picture .howmuch').textContent")
