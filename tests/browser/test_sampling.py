"""How tokens are drawn: the stages of sampling, their table, and fields that refuse a value out of bounds."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.browser

FAULT = "#wb-run .fieldfault"
COMPARE = "#wb-compare"
_STAGES = (("repetition_penalty", "1.3"), ("top_k", "4"), ("top_p", "0.9"), ("min_p", "0.02"))
NAMES = ["model", "repetition penalty", "mask", "temperature", "top-k", "top-p", "min-p"]


def run(v: Any) -> None:
    v.page.click("#wb-run .go")
    v.page.wait_for_selector("#wb-run .halt:disabled")
    v.page.wait_for_selector("#wb-run .outcome.good")


def test_the_stages_of_a_draw_are_set_and_shown_for_each_token(visit: Any) -> None:
    with visit("?example=time") as v:
        v.wait_run()
        plain = v.page.locator(".stagebox thead th").all_inner_texts()
        v.page.check("#wb-run input.samples")
        for name, value in _STAGES:
            v.page.fill(f"#wb-run input.{name}", value)
        run(v)
        v.page.locator("#wb-run .tok").nth(1).click()
        table = v.page.locator(".stagebox table")
        assert [*map(str.strip, table.locator("thead th").all_inner_texts())][1:] == NAMES
        assert plain == [] or [*map(str.strip, plain)][1:] == ["model", "mask", "temperature"]
        taken = table.locator("tr.taken")
        assert taken.count() == 1
        assert "✕" not in taken.inner_text(), "what was taken was removed by no stage"
        assert "✕" in table.inner_text()
        v.shot("stages")
        # a link has the settings, and a page that is opened with it shows them
        fragment = v.page.evaluate("wb.fragment()")
        assert v.page.evaluate("wb.run.records()[0].top_k") == 4
    with visit(f"#{fragment}") as v:
        assert v.page.is_checked("#wb-run input.samples")
        assert v.page.input_value("#wb-run input.top_p") == "0.9"
        assert v.page.evaluate("wb.work.now().settings.min_p") == 0.02
        # without the tick none of them counts
        v.page.uncheck("#wb-run input.samples")
        assert "top_k" not in v.page.evaluate("wb.work.now().settings")


#   field          value   message
WRONG = [
    ("temperature", "-1",  "temperature: expected a number from 0 to 5, not -1"),
    ("temperature", "50",  "temperature: expected a number from 0 to 5, not 50"),
    ("seed",        "1.5", "seed: expected a whole number from 0 to 2,147,483,647, not 1.5"),
    ("max",         "0",   "at most: expected a whole number from 1 to 1,024, not 0"),
    ("top_p",       "0",   "top-p: expected a number from 0.001 to 1, not 0"),
    ("top_k",       "2.5", "top-k: expected a whole number from 1 to 1,000,000, not 2.5"),
]  # fmt: skip


def compared(v: Any, *methods: str) -> None:
    """Open the view *Compare* and choose methods."""
    v.page.wait_for_selector(f"{COMPARE} .go:enabled")
    v.page.locator(f"{COMPARE} .sets button", has_text="none").click()
    for name in methods:
        v.page.click(f"{COMPARE} .way[data-name='{name}']")


def test_methods_are_compared_with_the_same_settings(visit: Any) -> None:
    requests: list[str] = []
    with visit("?example=time&compare") as v:
        v.page.on("request", lambda one: requests.append(one.post_data or ""))
        compared(v, "automaton")
        v.page.check(f"{COMPARE} input.samples")
        v.page.fill(f"{COMPARE} input.top_k", "1")
        v.page.fill(f"{COMPARE} .temperature", "5")
        assert v.page.inner_text(f"{COMPARE} .plan").endswith("tokens, drawn with top-k 1.")
        v.page.click(f"{COMPARE} .go")
        v.page.wait_for_selector(f"{COMPARE} .halt:disabled")
        sent = [one for one in requests if '"automaton"' in one and '"prompts"' in one]
        assert sent
        assert all('"top_k":1' in one.replace(" ", "") for one in sent)
        assert v.page.inner_text(f"{COMPARE} .shownof .drawn") == "drawn with top-k 1"
        texts = v.page.locator(f"{COMPARE} tbody[data-name=automaton] .strip").all_inner_texts()
        assert len(set(texts)) == 1, "the likeliest token is drawn for every seed, at temperature 5"
        v.shot("compare-stages")
        fragment = v.page.evaluate("wb.fragment()")
        assert v.page.evaluate("wb.work.now().compare.top_k") == 1
        # a run of the table is opened with the settings
        v.page.locator(f"{COMPARE} tbody[data-name=automaton] button.fold").click()
        v.page.locator(f"{COMPARE} tr.numbers.one button").first.click()
        v.page.wait_for_selector("#wb-run .tok")
        assert v.page.input_value("#wb-run input.top_k") == "1"
    with visit(f"#{fragment}") as v:
        v.page.wait_for_selector(f"{COMPARE} .go:enabled")
        assert v.page.is_checked(f"{COMPARE} input.samples")
        assert v.page.input_value(f"{COMPARE} input.top_k") == "1"
        # without the tick it does not count
        v.page.uncheck(f"{COMPARE} input.samples")
        assert "top-k" not in v.page.inner_text(f"{COMPARE} .plan")


def test_no_comparison_begins_with_a_value_out_of_bounds(visit: Any) -> None:
    with visit("?example=time&compare") as v:
        compared(v, "automaton")
        v.page.check(f"{COMPARE} input.samples")
        for field, value, message in (
            ("seeds", "999.5", "seeds: expected a whole number from 1 to 30, not 999.5"),
            ("max", "513", "at most: expected a whole number from 1 to 512, not 513"),
            ("top_p", "0", "top-p: expected a number from 0.001 to 1, not 0"),
            ("top_k", "2.5", "top-k: expected a whole number from 1 to 1,000,000, not 2.5"),
        ):
            input_ = v.page.locator(f"{COMPARE} input.{field}")
            before = input_.input_value()
            input_.fill(value)
            assert v.page.inner_text(f"{COMPARE} .fieldfault") == message
            assert v.page.locator(f"{COMPARE} .go").is_disabled()
            v.page.keyboard.press("Control+Enter")
            assert not v.page.evaluate("document.querySelector('#wb-compare .running')")
            input_.fill(before)
            assert v.page.locator(f"{COMPARE} .fieldfault").is_hidden()
            assert v.page.locator(f"{COMPARE} .go").is_enabled()


def test_a_value_out_of_bounds_is_said_at_its_field_and_nothing_runs(visit: Any) -> None:
    with visit("?example=time") as v:
        v.wait_run()
        v.page.check("#wb-run input.samples")
        for field, value, message in WRONG:
            input_ = v.page.locator(f"#wb-run input.{field}")
            before = input_.input_value()
            input_.fill(value)
            assert v.page.inner_text(FAULT) == message
            assert input_.get_attribute("aria-invalid") == "true"
            for button in ("go", "step"):
                assert v.page.locator(f"#wb-run .{button}").is_disabled()
            steps = v.page.evaluate("wb.state.steps.length")
            v.page.keyboard.press("Control+Enter")
            assert v.page.evaluate("[wb.state.running, wb.state.steps.length]") == [False, steps]
            input_.fill(before)
            assert v.page.locator(FAULT).is_hidden()
            assert v.page.locator("#wb-run .go").is_enabled()
        # a row that is closed says nothing
        v.page.fill("#wb-run input.top_p", "7")
        v.page.uncheck("#wb-run input.samples")
        assert v.page.locator(FAULT).is_hidden()


@pytest.mark.parametrize("width", [390, 1280, 1400, 1700])
def test_four_digits_are_not_cut(visit: Any, width: int) -> None:
    with visit("?example=time", width=width) as v:
        v.wait_run()
        v.page.fill("#wb-run .max", "1024")
        fits = "e => e.scrollWidth <= e.clientWidth"
        assert v.page.locator("#wb-run .max").evaluate(fits)


def test_at_most_so_many_tokens_also_after_continue(visit: Any) -> None:
    with visit("?example=time") as v:
        v.wait_run()
        v.page.evaluate("wb.emit('open', {text: '[a-z ]{60,90}', notation: 'regex'})")
        v.page.wait_for_function("wb.state.compiled?.text === '[a-z ]{60,90}'")
        v.page.fill("#wb-run .max", "5")
        v.page.click("#wb-run .go")
        v.page.wait_for_selector("#wb-run .outcome:has-text('token limit')")
        v.page.fill("#wb-run .max", "8")
        v.page.click("#wb-run .goon")
        v.page.wait_for_function("wb.state.steps.length === 8")
        v.page.wait_for_selector("#wb-run .goon:enabled")
        v.page.click("#wb-run .goon")
        v.page.wait_for_selector("#wb-run .runerr:has-text('the text already has 8 tokens')")
        assert v.page.evaluate("wb.state.steps.length") == 8
