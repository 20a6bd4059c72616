"""The menu of draft models, on a page that serves two models with the same tokens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.conftest import served
from tests.browser.test_accessible import clean

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served("toy", "toy") as url:
        yield url


def texts(v: Any) -> list[str]:
    found: list[str] = v.page.evaluate("wb.state.steps.map((step) => step.token.text ?? '')")
    return found


def test_a_draft_model_is_chosen_counted_and_shared(visit: Any) -> None:
    with visit() as v:
        v.page.wait_for_selector("#wb-run .drafting:not([hidden])")
        v.page.fill("#wb-run input.max", "12")
        v.run()
        plain = texts(v)
        assert "drafted" not in v.page.inner_text("#wb-run .stats")

        v.page.select_option("#wb-run select.draft", "toy-2")
        v.run()
        assert texts(v) == plain
        right, among = v.page.inner_text("#wb-run .stats b >> nth=3").split(" of ")
        assert right == among != "0", "the same model"
        v.page.locator("#wb-run .tok").first.click()
        assert "draft model" in v.page.inner_text("#wb-run .insp")
        v.shot("draft_model")
        clean(v.page, "a draft model", "#wb-run")
        v.page.locator("#wb-takeaway pre").scroll_into_view_if_needed()  # written when it is seen
        code = "document.querySelector('#wb-takeaway pre').textContent"
        v.page.wait_for_function(f"{code}.includes('wb.CoupledSpeculation(draft)')")

        link = v.link()
    with visit(link, width=390, height=844) as v:
        v.page.wait_for_function("document.querySelector('select.draft').value === 'toy-2'")
        v.shot("draft_model_390")
