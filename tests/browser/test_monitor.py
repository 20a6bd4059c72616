"""The choice of a monitor: it is sent with the run, and what it forbids has its reason."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.test_accessible import clean
from tests.browser.test_run import opened
from workbench.grammar.gallery import load_gallery

pytestmark = pytest.mark.browser


C_PROGRAM = load_gallery()["domino_c"].text.strip()


def take(v: Any, token: str) -> None:
    """Take a token that the search finds."""
    steps = v.page.evaluate("wb.state.steps.length")
    v.page.fill("#wb-run .lookup input", token)
    found = "[...document.querySelectorAll('#wb-run .hits button.cand:not(.x)')]"
    row = f"t => {found}.find((row) => row.querySelector('code').textContent === t)"
    v.page.wait_for_function(row, arg=token.replace(" ", "·"))
    v.page.evaluate(f"t => ({row})(t).click()", token.replace(" ", "·"))
    v.page.wait_for_function("n => wb.state.steps.length === n", arg=steps + 1)
    v.page.wait_for_selector("#wb-run .insp:not(.waiting)")


def test_a_monitor_forbids_a_name_that_is_not_declared(visit: Any) -> None:
    with visit("?example=time") as v:
        v.wait_run()
        assert v.page.locator("#wb-run .monitors").is_hidden(), "no monitor fits"
        opened(v, C_PROGRAM, most=9)
        menu = v.page.get_by_label("monitor")
        menu.wait_for()
        assert menu.locator("option").all_inner_texts() == ["none", "scope"]
        menu.select_option("scope")
        assert "only declared names" in v.page.inner_text("#wb-run .note.monitored")
        v.page.click("#wb-run .byhand")
        v.page.wait_for_selector("#wb-run .insp:not([hidden]):not(.waiting)")
        for token in ("in", "t", " a", "(", ")", "{"):
            take(v, token)
        v.page.fill("#wb-run .lookup input", "b")
        v.page.get_by_text("no declared name begins with b; in scope: a").first.wait_for()
        v.shot("monitor")
        clean(v.page, "a monitor", "#wb-run")
        sent: list[str] = []
        v.page.on("request", lambda request: sent.append(request.post_data or ""))
        v.run()
        runs = [data for data in sent if '"max_tokens":9' in data.replace(" ", "")]
        assert runs, "a run was sent"
        assert all('"monitor":"scope"' in data.replace(" ", "") for data in runs)
        assert v.page.locator("#wb-run .runerr").is_hidden()
