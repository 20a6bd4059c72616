"""Terminal labels in a browser: heavy edges with their names, and what the inspector says of them."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.exhaustive]


@pytest.mark.parametrize("dark", [False, True])
def test_labels_are_in_pictures_and_in_facts_of_tokens(visit: Any, dark: bool) -> None:
    with visit("?example=koo_bullets&tab=characters", dark=dark) as v:
        v.wait_run()
        v.wait_drawn()
        # the text of an edge that Graphviz or a lane layout places
        names = v.page.locator("#wb-picture :is(.edge.terminal > text, .label)")
        assert names.filter(has_text="PARAGRAPH_TOKEN").count() > 0
        # it looks like no other edge
        strokes = v.page.evaluate(
            """['.edge.terminal path', '.edge:not(.terminal):not(.gone) path'].map((which) =>
               getComputedStyle(document.querySelector('#wb-picture ' + which)).stroke)"""
        )
        assert strokes[0] != strokes[1]
        labelled = v.page.evaluate("wb.state.steps.findIndex((step) => step.label)")
        assert labelled > 0
        v.page.locator("#wb-run .tok").nth(labelled).click()
        v.page.wait_for_function("i => wb.state.selected === i", arg=labelled)
        told = v.page.locator("#wb-run .tokenfacts").inner_text()
        assert "PARAGRAPH_TOKEN" in told
        v.shot(f"labels_{'dark' if dark else 'light'}")
