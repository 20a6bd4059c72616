"""axe-core finds nothing serious in any part of the page, in both themes, wide and narrow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.exhaustive]

#: Findings that prevent use of the page; axe's other findings are advice.
GRAVE = {"serious", "critical"}

THEMES = pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
BOTH = pytest.mark.parametrize(
    ("width", "dark"), [(1400, False), (390, True)], ids=["wide", "phone"]
)


def findings(page: Any, part: str | None) -> Iterator[str]:
    """The serious findings of axe in the whole page, or in a part of it."""
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="pip install '.[test]'"
    )
    for found in axe.Axe().run(page, part).response["violations"]:
        if found["impact"] in GRAVE:
            for node in found["nodes"]:
                yield f"{found['id']}: {node['html'][:160]}"


def clean(page: Any, where: str, part: str | None = None) -> None:
    """Fail for a serious finding; ``part`` is what has changed since the last call."""
    # text has less contrast while it fades in or out, and while its picture is replaced
    page.wait_for_function("document.getAnimations().every((a) => a.playState !== 'running')")
    page.wait_for_function(
        "!wb.state.compiled?.ok || !document.querySelector('#wb-picture .pic.main.stale')"
    )
    assert list(findings(page, part)) == [], where


@BOTH
def test_the_workbench(visit: Any, dark: bool, width: int) -> None:
    with visit("?example=expression", dark=dark, width=width) as v:
        v.wait_run()
        v.wait_drawn()
        clean(v.page, "as it opens")
        for section in ("problems", "rules", "words", "samples", "tests"):
            v.page.click(f"#wb-grammar [data-section={section}]")
            clean(v.page, section, "#wb-grammar")
        for tab in (
            "together",
            "tokens",
            "stack",
            "rules",
            "railroad",
            "tree",
            "detokenizer",
            "table",
        ):
            v.open_tab(tab)
            clean(v.page, tab, "#wb-picture")
        v.page.click("#wb-picture .moretabs > button")
        clean(v.page, "the More menu", "#wb-picture")
        v.page.keyboard.press("Escape")
        v.open_tab("stack")
        v.page.click("#wb-picture [data-level=calls]")
        v.page.wait_for_selector("#wb-picture .pic.main .node.calls")
        clean(v.page, "rules that call each other", "#wb-picture")
        v.open_tab("together")
        v.page.locator("#wb-picture .pic.main .flag").first.click()
        v.page.wait_for_selector("#wb-picture .edgebox:not([hidden]) li")
        clean(v.page, "the tokens of an edge", "#wb-picture")


@THEMES
def test_errors_and_sheets(visit: Any, dark: bool) -> None:
    with visit("?example=time", dark=dark) as v:
        v.wait_run()
        v.type_grammar("([0-9]+")
        v.page.wait_for_selector("#wb-grammar .verdict.no")
        clean(v.page, "a grammar that cannot be read")
        v.page.click("#wb-header .helpbutton")
        clean(v.page, "the sheet of keys")
        v.page.keyboard.press("Escape")
        v.page.click("#wb-footer .about")
        v.page.wait_for_selector("dialog[open] .versions dd")
        clean(v.page, "about")
        v.page.keyboard.press("Escape")
        v.page.click("#wb-header button.model")
        clean(v.page, "models")
        v.page.keyboard.press("Escape")
        v.page.click("#wb-header .drafts > button")
        clean(v.page, "drafts")


@BOTH
def test_a_schema_and_its_run(visit: Any, dark: bool, width: int) -> None:
    with visit("?example=time", dark=dark, width=width) as v:
        v.wait_run()
        v.page.click("#wb-grammar [data-notation=json_schema]")
        v.page.wait_for_function("wb.state.compiled?.notation === 'json_schema'")
        v.type_grammar('{"enum": ["yes", "no"]}')
        v.page.wait_for_selector("#wb-grammar .verdict.good")
        v.page.click("#wb-run .go")
        v.page.wait_for_selector("#wb-run .meaning")
        v.page.locator("#wb-run .tok").first.click()
        v.page.wait_for_selector("#wb-grammar .paint .read-in")
        clean(v.page, "a run in a schema")
        v.page.click("#wb-grammar [data-section=change]")
        v.page.wait_for_selector("#wb-grammar .changes")
        clean(v.page, "what changed")
        v.page.click("#wb-grammar .convert > button")
        clean(v.page, "the menu of notations")
        v.page.keyboard.press("Escape")
        v.type_grammar('{"name": "f", "parameters": {"type": "object"}}')
        v.page.get_by_role("button", name="use that schema").wait_for()
        clean(v.page, "a tool around a schema")


@THEMES
def test_why_a_text_fails(visit: Any, dark: bool) -> None:
    with visit("?example=json", dark=dark) as v:
        v.wait_run()
        v.page.fill("#wb-grammar .addtest textarea", '{"a":}')
        v.page.keyboard.press("Enter")
        v.page.locator("#wb-grammar .tests li").last.get_by_text("why?").click()
        v.page.wait_for_selector("#wb-grammar .why .places .link")
        clean(v.page, "why")


@BOTH
def test_the_lessons(visit: Any, dark: bool, width: int) -> None:
    with visit("?learn=stacks&step=2", dark=dark, width=width) as v:
        v.page.wait_for_selector("#wb-learn svg .node")
        clean(v.page, "a lesson")
    # chips shaded by surprisal, a broad figure with a wide table
    for where in ("?learn=bridge&step=2", "?learn=subterminals&step=4"):
        with visit(where, dark=dark, width=width) as v:
            v.page.wait_for_selector("#wb-learn .worked")
            v.page.wait_for_selector("#wb-learn .lesson:not(.loading)")
            v.page.locator("#wb-learn .film input[type=range]").press("End")
            clean(v.page, where)
