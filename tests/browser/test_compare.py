"""Comparing methods: choose, run, stop, sort, open, export; a method that does not apply has a reason."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.browser.test_accessible import clean
from workbench.app.ui.audit_view import audited_engines
from workbench.app.ui.compare_opening import RECORDED

pytestmark = [pytest.mark.browser, pytest.mark.exhaustive]

COMPARE = "#wb-compare"
TIME = "?example=time&compare"


def ready(v: Any) -> None:
    """Wait until the button *Compare* is enabled."""
    v.page.wait_for_selector(f"{COMPARE} .way[aria-checked]")
    v.page.wait_for_selector(f"{COMPARE} .go:enabled")


def choose(v: Any, *names: str) -> None:
    unfold(v)
    v.page.locator(f"{COMPARE} .sets button", has_text="none").click()
    for name in names:
        v.page.click(f"{COMPARE} .way[data-name='{name}']")


def unfold(v: Any) -> None:
    """Show all methods."""
    more = v.page.locator(f"{COMPARE} .moreways")
    if more.get_attribute("aria-expanded") == "false":
        more.click()


def compared(v: Any) -> None:
    v.page.click(f"{COMPARE} .go")
    over(v)


def over(v: Any) -> None:
    v.page.wait_for_selector(f"{COMPARE} .halt:disabled")


def order(v: Any) -> list[str]:
    found: list[str] = v.page.eval_on_selector_all(
        f"{COMPARE} .results tbody[data-name]", "rows => rows.map(row => row.dataset.name)"
    )
    return found


def cell(v: Any, name: str, column: str) -> str:
    found = v.page.text_content(  # a member of a group shows only what differs
        f"{COMPARE} tbody[data-name='{name}'] > tr:first-child [data-of={column}] .n"
    )
    return str(found)


def test_methods_are_chosen_run_sorted_and_unfolded(visit: Any) -> None:
    with visit("?example=time") as v:
        v.wait_run()
        v.page.click("#wb-header [data-view=compare]")
        ready(v)
        choose(v, "unconstrained", "automaton", "domino-0")
        assert "9 runs of at most" in v.page.inner_text(f"{COMPARE} .plan")
        compared(v)
        assert order(v) == ["unconstrained", "automaton", "domino-0"]
        assert cell(v, "automaton", "valid") == "✓ 3/3"
        heads = v.page.locator(f"{COMPARE} thead th").all_inner_texts()
        assert heads.index("Passes / token") < heads.index("Speed")
        assert cell(v, "automaton", "passes") == "1.00"
        v.shot("compare")
        bits = {name: float(cell(v, name, "bits")) for name in order(v)}
        v.page.click(f"{COMPARE} thead [data-of=bits] button")
        assert [bits[name] for name in order(v)] == sorted(bits.values())
        v.page.click(f"{COMPARE} thead [data-of=bits] button")
        assert v.page.get_attribute(f"{COMPARE} thead [data-of=bits]", "aria-sort") == "descending"
        assert bits[order(v)[0]] == max(bits.values())
        fold = v.page.locator(f"{COMPARE} tbody[data-name=automaton] button.fold")
        fold.click()
        assert v.page.locator(f"{COMPARE} tbody[data-name=automaton] tr.numbers.one").count() == 3
        fold.click()
        assert v.page.locator(f"{COMPARE} tr.numbers.one").count() == 0


def test_where_a_text_leaves_the_other_is_marked(visit: Any) -> None:
    with visit(TIME) as v:
        ready(v)
        choose(v, "automaton", "domino", "unconstrained")
        v.page.fill(f"{COMPARE} .seeds", "1")
        v.page.fill(f"{COMPARE} .temperature", "2")
        compared(v)
        alike = v.page.inner_text(f"{COMPARE} tbody.same")
        assert "2 methods" in alike, "without a bound domino has the exact mask"
        assert "wrote the same" in alike
        sign = v.page.locator(f"{COMPARE} tbody[data-name=unconstrained] .part")
        assert "differs from automaton" in sign.get_attribute("aria-label")
        v.page.click(f"{COMPARE} [data-aligned=false]")
        assert v.page.locator(f"{COMPARE} .strip.aligned:visible").count() == 0


SPEEDS = """rows => rows.map(row => {
  const cell = row.querySelector('tr [data-of=speed]');
  return [row.dataset.name, cell.querySelector('.n').textContent,
          cell.querySelector('.minor').textContent, cell.title];
})"""


def test_a_ratio_is_that_of_the_rates_shown_beside_it(visit: Any) -> None:
    with visit(TIME) as v:
        ready(v)
        choose(v, "unconstrained", "automaton", "skipping")
        compared(v)
        shown = v.page.eval_on_selector_all(f"{COMPARE} tbody[data-name]", SPEEDS)
        rates = {
            name: float(re.sub("[^0-9.]", "", minor)) for name, _, minor, why in shown if not why
        }
        if rates:
            for name, ratio, _, _ in shown:
                value = rates[name] / rates["unconstrained"]
                assert abs(float(ratio[1:]) - value) <= (0.0051 if value < 10 else 0.051)
        else:
            for _, rate, minor, why in shown:
                assert (rate[-2:], minor) == ("/s", "no ratio")
                assert "uneven" in why or "too few" in why
        v.page.fill(f"{COMPARE} .seeds", "1")
        compared(v)
        shown = v.page.eval_on_selector_all(f"{COMPARE} tbody[data-name]", SPEEDS)
        assert all("two seeds" in why for *_, why in shown), "one run has no spread"


def test_methods_that_wrote_the_same_are_grouped(visit: Any) -> None:
    with visit(TIME) as v:
        ready(v)
        same = ["automaton", "skipping", "opportunistic", "domino", "online", "online-trie"]
        choose(v, "unconstrained", *same)
        v.page.fill(f"{COMPARE} .temperature", "2")
        v.page.fill(f"{COMPARE} .seeds", "2")
        compared(v)
        group = v.page.locator(f"{COMPARE} tbody.same")
        assert group.count() == 1
        said = group.inner_text()
        assert f"{len(same)} methods" in said
        assert re.search(r"wrote the same \d+ tokens in 2 runs", said)
        assert group.locator(".strip .tok").count() > 1
        members = [v.page.locator(f"{COMPARE} tbody[data-name='{name}']") for name in same]
        assert not any(member.is_visible() for member in members), "many are folded away"
        lines = v.page.locator(f"{COMPARE} .verdict p").all_inner_texts()
        assert f"{same[0]} and {len(same) - 1} others wrote the same tokens" in lines[0]
        assert "passes of the model per token" in lines[1]
        group.locator("button.fold").click()
        assert all(member.is_visible() for member in members)
        for member in members:
            assert member.locator("tr:first-child [data-of=passes] .cost i").count() == 1
            assert not member.locator("tr.text").first.is_visible(), "the group has the text"
        v.shot("compare_group")
        v.page.click(f"{COMPARE} thead [data-of=passes] button")
        passes = [float(cell(v, name, "passes")) for name in order(v) if name in same]
        assert passes == sorted(passes)
        clean(v.page, "an open group")


def test_a_comparison_is_stopped_at_once_and_another_may_follow(visit: Any) -> None:
    with visit(TIME) as v:
        ready(v)
        v.page.evaluate("wb.emit('open', {text: '[a-z ]{300,400}', notation: 'regex'})")
        v.page.click("#wb-header [data-view=compare]")
        ready(v)
        choose(v, "automaton", "unconstrained")
        v.page.fill(f"{COMPARE} .max", "200")
        v.page.click(f"{COMPARE} .go")
        v.page.wait_for_function(f"document.querySelectorAll('{COMPARE} .strip .tok').length > 10")
        assert "run 1 of 6" in v.page.inner_text(f"{COMPARE} .wait")
        v.page.keyboard.press("Escape")
        over(v)
        assert "stopped" in v.page.inner_text(f"{COMPARE} .wait")
        v.page.fill(f"{COMPARE} .max", "3")
        compared(v)
        assert "6 of 6 runs" in v.page.inner_text(f"{COMPARE} .wait")
        assert "cut off" in v.page.inner_text(f"{COMPARE} tbody[data-name=automaton]")


def test_what_does_not_apply_says_why(visit: Any) -> None:
    with visit("?example=expression&compare=outlines,automaton") as v:
        ready(v)
        checked = v.page.locator(f"{COMPARE} .way[aria-checked=true]")
        assert [each.get_attribute("data-name") for each in checked.all()] == [
            "automaton",
            "outlines",
        ]
        compared(v)
        assert "calls itself" in v.page.inner_text(f"{COMPARE} tbody[data-name=outlines] .refused")
        assert cell(v, "automaton", "valid").startswith("✓")
        assert "finite" in v.page.inner_text(f"{COMPARE} .exact")
        v.page.click(f"{COMPARE} .exact button:has-text('six names')")  # compares immediately
        v.page.wait_for_function("wb.state.compiled?.ok && wb.state.text.includes('Theodore')")
        assert v.page.evaluate("document.body.dataset.view") == "compare"
        v.page.wait_for_selector(f"{COMPARE} .exact table")
        assert v.page.locator(f"{COMPARE} .exact tbody tr").count() == 6


def test_an_example_where_methods_differ_is_compared_at_once(visit: Any) -> None:
    with visit(TIME) as v:
        ready(v)
        samples = v.page.locator(f"{COMPARE} .samples button")
        assert samples.first.inner_text() == "Six names"
        for sample in samples.all():
            assert v.page.evaluate("document.body.dataset.view") == "compare"
            sample.click()
            v.page.wait_for_selector(f"{COMPARE} .exact table")
            assert v.page.inner_text(f"{COMPARE} .given .title") == sample.inner_text()
            over(v)
            v.page.click(f"{COMPARE} .setup > .bar .fold")


def test_a_finite_language_shows_what_each_method_makes_of_it(visit: Any) -> None:
    with visit("?example=sentiment&compare") as v:
        ready(v)
        choose(v, "automaton", "domino", "unconstrained")
        compared(v)
        v.page.wait_for_selector(f"{COMPARE} .exact table")
        rows = v.page.locator(f"{COMPARE} .exact tbody th").all_inner_texts()
        assert sorted(rows) == ["Negative", "Neutral", "Positive"]
        heads = v.page.locator(f"{COMPARE} .exact thead code").all_inner_texts()
        assert heads[0] == "the model's own"
        assert "automaton, domino" in heads, "one distribution, one column"
        v.shot("compare_exact")


def test_a_run_is_opened_in_the_workbench(visit: Any) -> None:
    with visit(TIME) as v:
        ready(v)
        choose(v, "domino-0")
        compared(v)
        row = v.page.locator(f"{COMPARE} tbody[data-name=domino-0]")
        taken = row.locator(".strip .tok").all_inner_texts()
        row.locator("button.open").click()
        v.page.wait_for_selector("#wb-run .branch[aria-pressed=true]:has-text('domino-0')")
        assert v.page.evaluate("document.body.dataset.view") == "workbench"
        shown = v.page.locator("#wb-run .tokens .tok").all_inner_texts()
        assert shown[-1] == taken[-1]
        assert v.page.input_value("#wb-run select.mask") == "domino"
        assert v.page.input_value("#wb-run input.k") == "0"
        assert "Beurer-Kellner" in v.page.inner_text("#wb-run .note.method")
        # the knobs run the same again
        before = v.page.evaluate("wb.state.steps.map(step => step.id)")
        chips = v.page.locator("#wb-run .branch").count()
        v.page.click("#wb-run .go")
        v.page.locator("#wb-run .branch").nth(chips).wait_for()
        v.wait_run()
        assert v.page.evaluate("wb.state.steps.map(step => step.id)") == before
        v.shot("compare_opened")


def test_it_leaves_as_files_and_as_a_link(visit: Any, tmp_path: Path) -> None:
    with visit(TIME) as v:
        ready(v)
        choose(v, "automaton", "unconstrained")
        v.page.fill(f"{COMPARE} .seeds", "2")
        v.page.click(f"{COMPARE} [data-whose=own]")
        v.page.fill(f"{COMPARE} .prompts", "at \nby\\n")
        assert "8 runs" in v.page.inner_text(f"{COMPARE} .plan")
        compared(v)
        kept = {}
        for label in ("CSV", "NDJSON"):
            with v.page.expect_download() as got:
                v.page.locator(f"{COMPARE} .takes button", has_text=label).last.click()
            kept[label] = tmp_path / got.value.suggested_filename
            got.value.save_as(kept[label])
        with kept["CSV"].open(encoding="utf-8", newline="") as table:
            rows = list(csv.DictReader(table))
        assert [json.loads(row["prompt"]) for row in rows] == ["at "] * 4 + ["by\n"] * 4
        assert {row["valid"] for row in rows if row["method"] == "automaton"} == {"true"}
        head, *runs = map(json.loads, kept["NDJSON"].read_text("utf-8").splitlines())
        assert head["methods"] == ["unconstrained", "automaton"]
        assert [len(run["steps"]) for run in runs] == [int(row["tokens"]) for row in rows]
        link = v.page.evaluate("wb.link()")
    with visit(link[link.index("#") :]) as v:
        ready(v)
        assert v.page.evaluate("document.body.dataset.view") == "compare"
        assert "8 runs" in v.page.inner_text(f"{COMPARE} .plan")
        assert v.page.input_value(f"{COMPARE} .prompts") == "at \nby\\n"


def test_impossible_comparison_is_reported_before_it_runs(visit: Any) -> None:
    with visit(TIME) as v:
        ready(v)
        choose(v)
        assert "Choose at least one method" in v.page.inner_text(f"{COMPARE} .plan")
        assert v.page.locator(f"{COMPARE} .go").is_disabled()
        choose(v, "automaton")
        v.page.fill(f"{COMPARE} .seeds", "30")
        v.page.fill(f"{COMPARE} .max", "512")
        v.page.click(f"{COMPARE} [data-whose=own]")
        v.page.fill(f"{COMPARE} .prompts", "a\nb\nc\nd\ne")
        assert "this page takes" in v.page.inner_text(f"{COMPARE} .plan")
        v.page.evaluate("wb.emit('open', {text: '([', notation: 'regex'})")
        v.page.wait_for_function("wb.state.compiled?.text === '([' && !wb.state.compiled.ok")
        v.page.click("#wb-header [data-view=compare]")
        choose(v, "automaton")
        assert v.page.locator(f"{COMPARE} .go").is_disabled()
        assert "cannot be read" in v.page.inner_text(f"{COMPARE} .wait")


def test_why_nothing_can_be_compared_is_said_beside_the_button(visit: Any) -> None:
    with visit(TIME) as v:
        ready(v)
        choose(v, "automaton")
        compared(v)
        result = v.page.inner_text(f"{COMPARE} .wait")
        v.page.click(f"{COMPARE} .setup > .bar .fold")
        choose(v)
        assert v.page.inner_text(f"{COMPARE} .wait") == "Choose at least one method."
        choose(v, "automaton")
        assert v.page.inner_text(f"{COMPARE} .wait") == result, "how it went is not forgotten"


def test_what_fails_before_the_first_run_is_said_and_all_is_as_before(visit: Any) -> None:
    with visit(TIME) as v:
        ready(v)
        choose(v, "automaton")
        v.page.click(f"{COMPARE} [data-whose=own]")
        v.page.fill(f"{COMPARE} .prompts", "word " * 3000)
        v.page.click(f"{COMPARE} .go")
        v.page.wait_for_selector(f"{COMPARE} .runerr:has-text('characters')")
        assert v.page.locator(f"{COMPARE} .blank").is_visible()
        v.page.fill(f"{COMPARE} .prompts", "word")
        compared(v)
        assert cell(v, "automaton", "valid") == "✓ 3/3"


def test_a_method_that_allows_no_token_is_stuck(visit: Any) -> None:
    with visit(TIME) as v:
        ready(v)
        v.page.evaluate("wb.emit('open', {text: '~{9}', notation: 'regex', prompt: 'x'})")
        v.page.wait_for_function("wb.state.compiled?.text === '~{9}' && wb.state.compiled.ok")
        v.page.click("#wb-header [data-view=compare]")
        choose(v, "picard")
        v.page.wait_for_selector(f"{COMPARE} .go:enabled")
        compared(v)
        assert cell(v, "picard", "valid") == "✗ 0/3"
        assert "3 stuck" in v.page.inner_text(f"{COMPARE} tbody[data-name=picard] [data-of=valid]")


@pytest.mark.parametrize("width", [390, 1400])
def test_a_small_group_is_open_where_its_numbers_are_in_view(visit: Any, width: int) -> None:
    with visit(TIME, width=width) as v:
        ready(v)
        choose(v, "automaton", "online")
        compared(v)
        fold = v.page.locator(f"{COMPARE} tbody.same button.fold")
        assert fold.get_attribute("aria-expanded") == str(width > 640).lower()


@pytest.mark.parametrize(
    ("width", "dark"), [(390, False), (1400, True), (2000, False)], ids=["phone", "dark", "wide"]
)
def test_it_fits_and_everybody_can_use_it(visit: Any, width: int, dark: bool) -> None:
    with visit(TIME, width=width, dark=dark) as v:
        ready(v)
        clean(v.page, "what is chosen")
        choose(v, "unconstrained", "automaton", "domino-0")
        # by keys alone
        v.page.locator(f"{COMPARE} .way[data-name=asap]").focus()
        v.page.keyboard.press("ArrowUp")
        assert v.page.evaluate("document.activeElement.dataset.name") == "automaton"
        v.page.keyboard.press("Space")
        v.page.keyboard.press("Space")
        v.page.keyboard.press("Control+Enter")
        v.page.wait_for_selector(f"{COMPARE} .strip .tok")
        over(v)
        v.page.wait_for_selector(f"{COMPARE} .exact:not([hidden])")
        clean(v.page, "side by side")
        v.shot(f"compare_{width}{'_dark' if dark else ''}")
        assert v.page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_distance_by_forward_passes_is_a_chart(visit: Any) -> None:
    with visit("?example=sentiment&compare") as v:
        ready(v)
        choose(v, "automaton", "asap", "cars", "particles")
        compared(v)
        v.page.wait_for_selector(f"{COMPARE} .exact .curves svg")
        names = v.page.locator(f"{COMPARE} .exact .curves .name").all_text_contents()
        assert set(names) == {"automaton", "asap", "cars", "particles"}
        assert v.page.locator(f"{COMPARE} .exact .curves .curve").count() == 4
        assert "forward passes" in v.page.inner_text(f"{COMPARE} .exact .curves")
        notes = v.page.inner_text(f"{COMPARE} .exact .notes")
        assert "asap has no column: its distribution depends on the number of" in notes
        v.shot("compare_curves")


def test_the_audit_of_other_engines_has_an_answer(visit: Any) -> None:
    with visit(TIME) as v:
        ready(v)
        card = f"{COMPARE} .audit"
        if audited_engines()["installed"]:
            v.page.click(f"{card} .start")
            v.page.wait_for_selector(f"{card} .engine", timeout=120_000)
            assert "valid text" in v.page.inner_text(card)
        else:
            v.page.wait_for_selector(f"{card} code:has-text('pip install')")
            assert "is installed" in v.page.inner_text(card)
            assert v.page.is_disabled(f"{card} .start")
        clean(v.page, "the audit", card)
        v.page.evaluate("wb.emit('open', { notation: 'regex', text: 'b', prompt: '' })")
        v.page.wait_for_selector(f"{card} .about:not([role=alert])", state="attached")
        assert v.page.text_content(f"{card} .start") == "Audit"


def test_the_view_opens_with_a_recorded_comparison(visit_builtin: Any) -> None:
    """Its headline is computed from the distribution; the methods of the page are four and more."""
    lines = [json.loads(line) for line in RECORDED.read_text("utf-8").splitlines()]
    about, distribution = lines[0], lines[-1]
    index = {column["name"]: i for i, column in enumerate(distribution["columns"])}
    best = {
        name: max((each["p"][i], each["text"].strip()) for each in distribution["texts"])
        for name, i in index.items()
    }
    assert best["own"][1] != best["automaton"][1], "the mask changes the answer"
    said = [
        f"{text} ({share * 100:.0f}\u00a0%)" for share, text in (best["own"], best["automaton"])
    ]
    with visit_builtin("?compare", width=1280, height=720) as v:
        headline = v.page.locator(f"{COMPARE} .headline")
        assert headline.inner_text() == (
            f"Among the accepted texts, the model's own answer is {said[0]}. The mask makes it {said[1]}."
        )
        box = headline.bounding_box()
        assert box["y"] + box["height"] < 400, "in the upper half of the first screen"
        assert v.page.locator(f"{COMPARE} .notes b").all_inner_texts() == ["TV", "KL"]
        assert order(v) == about["methods"]
        assert about["title"] in v.page.inner_text(f"{COMPARE} .old")
        ways = f"{COMPARE} button.way"
        assert v.page.locator(ways).first.is_hidden(), "nothing to choose yet"
        v.shot("compare_opens")
        v.page.click(f"{COMPARE} .setup button.fold")
        shown = v.page.locator(f"{ways}:visible")
        assert shown.count() == 4
        v.page.click(f"{COMPARE} .moreways")
        assert shown.count() == v.page.locator(ways).count() > 25
        v.page.locator(f"{COMPARE} tbody[data-name=automaton] button.open").click()
        v.page.wait_for_function("wb.state.view === 'workbench' && wb.state.steps.length")
        assert v.page.evaluate("wb.state.text") == about["text"], "a run opens in the workbench"
