"""How tokens are drawn: the stages of sampling, their table, and fields that refuse a value out of bounds."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.browser

FAULT = "#wb-run .fieldfault"
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
        for name, value in (("penalty", "1.3"), ("topk", "4"), ("topp", "0.9"), ("minp", "0.02")):
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
        assert v.page.input_value("#wb-run input.topp") == "0.9"
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
    ("topp",        "0",   "top-p: expected a number from 0.001 to 1, not 0"),
    ("topk",        "2.5", "top-k: expected a whole number from 1 to 1,000,000, not 2.5"),
]  # fmt: skip


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
        v.page.fill("#wb-run input.topp", "7")
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
