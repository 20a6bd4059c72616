"""Results files in Compare: opened, filtered, sorted, a row opened, damaged files, a server that has dropped the file."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import served
from tests.browser.test_accessible import clean
from tests.tasks.test_row_store import results
from workbench.tasks.results import measured_path

pytestmark = [pytest.mark.browser, pytest.mark.exhaustive]

CARD = "#wb-compare .stored"
ROWS = f"{CARD} .rows tbody tr[data-n]"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return results(tmp_path_factory.mktemp("browser") / "runs.parquet", 130)


def opened(v: Any, *files: Path) -> None:
    v.page.wait_for_selector("#wb-compare .way[aria-checked]")
    v.page.set_input_files(f"{CARD} input[type=file]", [str(each) for each in files])
    v.page.wait_for_selector(ROWS)


def total(v: Any, text: str) -> None:
    v.page.wait_for_selector(f"{CARD} .total:has-text('{text}')")


def column(v: Any, name: str) -> list[str]:
    heads: list[str] = v.page.eval_on_selector_all(
        f"{CARD} .rows th", "all => all.map(one => one.dataset.of)"
    )
    cell = f"{ROWS} td:nth-child({heads.index(name) + 1}):not(.failed)"
    return list(v.page.locator(cell).all_inner_texts())


def test_a_file_is_opened_sorted_filtered_and_paged(visit: Any, file: Path) -> None:
    with visit("?compare") as v:
        opened(v, file, measured_path(file))
        total(v, "1–50 of 130")
        assert "130 rows: runs of methods, 18 failed" in v.page.inner_text(
            f"{CARD} .content > .about"
        )
        heads = v.page.locator(f"{CARD} .summary th").all_inner_texts()
        assert heads[:4] == ["model", "contender", "results", "valid"]
        v.page.wait_for_selector(f"{CARD} .plot svg .box")
        v.shot("results")
        clean(v.page, "a results file")
        v.page.click(f"{CARD} th[data-of=tokens] button")
        v.page.wait_for_selector(f"{CARD} th[data-of=tokens][aria-sort=ascending]")
        numbers = [int(one) for one in column(v, "tokens")]
        assert numbers == sorted(numbers)
        v.page.keyboard.press("Enter")  # the button still has the focus
        v.page.wait_for_selector(f"{CARD} th[data-of=tokens][aria-sort=descending]")
        assert column(v, "tokens")[0] == "9"
        v.page.click(f"{CARD} [title='Next page']")
        total(v, "51–100 of 130")
        v.page.fill(f"{CARD} input[type=search]", "tokens > 8 and contender = a")
        v.page.wait_for_function(
            f"!document.querySelector('{CARD} .total').textContent.includes('of 130')"
        )
        assert set(column(v, "tokens")) == {"9"}
        v.page.fill(f"{CARD} input[type=search]", "tokens > many")
        v.page.wait_for_selector(f"{CARD} .wrong:has-text('expected a number')")
        assert column(v, "tokens"), "the rows of the last filter stay"
        v.page.click(f"{CARD} .reasons summary")
        v.page.click(f"{CARD} .reasons button")
        total(v, "1–18 of 18")
        assert "refused" in v.page.inner_text(f"{ROWS}:first-child td.failed")


def test_a_row_opens_its_grammar_in_the_editor(visit: Any, file: Path) -> None:
    with visit("?compare", dark=True, width=390, height=844) as v:
        opened(v, file)
        v.page.locator(f"{ROWS} .way button").nth(2).focus()
        v.page.keyboard.press("Enter")
        v.page.wait_for_selector(f"{CARD} tr.opened dl")
        clean(v.page, "an open row")
        v.shot("results_row")
        wide = v.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 390, "only the tables scroll"
        v.page.click(f"{CARD} tr.opened button:has-text('grammar')")
        v.page.wait_for_function("wb.state.compiled?.ok && wb.state.text.includes('enum')")
        assert v.page.evaluate(
            "[document.body.dataset.view, wb.state.prompt, wb.state.notation]"
        ) == [
            "workbench",
            "number 2: ",
            "json_schema",
        ]


def test_rows_leave_as_csv(visit: Any, file: Path, tmp_path: Path) -> None:
    with visit("?compare") as v:
        opened(v, file)
        v.page.fill(f"{CARD} input[type=search]", "contender = b")
        v.page.keyboard.press("Enter")
        total(v, "of 56")
        with v.page.expect_download() as got:
            v.page.click(f"{CARD} button:has-text('CSV')")
        got.value.save_as(tmp_path / "rows.csv")
        with (tmp_path / "rows.csv").open(encoding="utf-8", newline="") as table:
            rows = list(csv.DictReader(table))
        assert len(rows) == 56
        assert {row["contender"] for row in rows} == {"b"}


DROP = """([bytes, name]) => {
  const data = new DataTransfer();
  data.items.add(new File([new Uint8Array(bytes)], name));
  for (const kind of ['dragover', 'drop'])
    document.querySelector('#wb-compare .results').dispatchEvent(
      new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer: data }));
}"""


def test_a_damaged_file_that_is_dropped_changes_nothing(visit: Any, file: Path) -> None:
    with visit("?compare") as v:
        opened(v, file)
        for data in (b"PAR1" + b"x" * 500, b"<script>alert(1)</script>", b""):
            v.page.evaluate(DROP, [list(data), "bad.parquet"])
            v.page.wait_for_selector(f"{CARD} [role=status].no:has-text('Not opened')")
            assert "runs.parquet" in v.page.inner_text(f"{CARD} .filename")
            v.page.click(f"{CARD} [title='Next page']")
            total(v, "51–100 of 130")
            v.page.click(f"{CARD} [title='First page']")
            total(v, "1–50 of 130")
        hostile = json.dumps({"<img src=x>": "<script>alert(1)</script>", "text": "${1+1}{{2}}"})
        v.page.evaluate(DROP, [list(hostile.encode()), "own.jsonl"])
        total(v, "1–1 of 1")
        assert "<script>alert(1)</script>" in v.page.inner_text(ROWS)
        assert "${1+1}{{2}}" in v.page.inner_text(ROWS)


LOSE = """() => {
  // the first answer about rows is that of a server without the file
  const ask = window.fetch;
  let lost = 0;
  window.fetch = async (where, sent) => {
    const asks = typeof sent?.body === 'string' && sent.body.includes('"results_rows"');
    if (!asks || lost++) return ask(where, sent);
    const body = JSON.parse(sent.body);
    body.data.file = '0'.repeat(64);
    return ask(where, { ...sent, body: JSON.stringify(body) });
  };
}"""


def test_a_file_that_the_server_has_dropped_is_sent_again(visit: Any, file: Path) -> None:
    with visit("?compare") as v:
        opened(v, file)
        v.page.evaluate(LOSE)
        v.page.click(f"{CARD} [title='Next page']")
        total(v, "51–100 of 130")


@pytest.fixture(scope="module")
def results_page(file: Path) -> Iterator[str]:
    """The page, served with a results file."""
    with served("--results", str(file)) as url:
        yield url


@pytest.mark.parametrize(
    ("where", "view"),
    [
        ("", "compare"),
        ("?learn=auditing", "learn"),
        ("?example=person", "workbench"),
        ("?example=person&compare", "compare"),
    ],
)
def test_what_the_address_names_is_shown_before_the_served_file(
    profiles: Any, results_page: str, where: str, view: str
) -> None:
    with profiles.tab(results_page) as page:
        page.goto(results_page + where)
        page.wait_for_function("window.wb?.state.compiled")
        page.wait_for_function("view => document.body.dataset.view === view", arg=view)
        if view != "compare":
            assert not page.inner_text(f"{CARD} .filename"), "it is read when it is shown"
            page.evaluate("wb.emit('look', 'compare')")
        page.wait_for_selector(ROWS)
        assert "runs.parquet" in page.inner_text(f"{CARD} .filename")


def test_a_plot_is_computed_again_for_another_filter_alone(visit: Any, file: Path) -> None:
    with visit("?compare") as v:
        asked: list[str] = []
        v.page.on("request", lambda request: asked.append(request.url))
        opened(v, file)
        v.page.wait_for_selector(f"{CARD} .plot svg .box")
        v.page.click(f"{CARD} [title='Next page']")
        total(v, "51–100 of 130")
        assert sum(url.endswith("results_plot") for url in asked) == 1
        v.page.fill(f"{CARD} input[type=search]", "contender = b")
        total(v, "of 56")
        v.page.wait_for_function(f"document.querySelectorAll('{CARD} .plot svg .box').length === 1")
        assert sum(url.endswith("results_plot") for url in asked) == 2
