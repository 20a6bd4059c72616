"""The constructions of one's own grammar in a browser: opened, stepped to the end, saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.browser.test_accessible import findings
from tests.drawing.test_tikz import read

pytestmark = [pytest.mark.browser, pytest.mark.exhaustive]

DIALOG = "dialog.construction[open]"


def _open(v: Any, text: str, construction: str = "") -> None:
    v.type_grammar(text)
    v.wait_drawn()
    v.page.click("#wb-picture .bar > .built")
    v.page.wait_for_selector(f"{DIALOG} .player:not([hidden])")
    if construction:
        v.page.select_option(f"{DIALOG} [name=construction]", construction)
        v.page.wait_for_selector(f"{DIALOG} .acts:not([hidden])")


def _says(v: Any) -> str:
    return str(v.page.inner_text(f"{DIALOG} .say"))


def _saved(v: Any, act: str, folder: Path) -> Path:
    with v.page.expect_download() as got:
        v.page.click(f"{DIALOG} [data-act={act}]")
    path = folder / str(got.value.suggested_filename)
    got.value.save_as(path)
    return path


def test_a_grammar_of_ones_own_is_built_step_by_step(visit: Any, tmp_path: Path) -> None:
    with visit("?example=time") as v:
        _open(v, "(ab|ac)*d")
        assert v.page.input_value(f"{DIALOG} [name=construction]") == "subsets"
        # a reader who prefers reduced motion sees the result first
        assert _says(v).startswith("The worklist is empty")
        v.page.keyboard.press("Home")
        assert _says(v).startswith("The first set is the start state")
        hidden = v.page.locator(f"{DIALOG} .screen:nth-child(2) .node.later").count()
        assert hidden > 0
        for _ in range(40):
            if v.page.is_disabled(f"{DIALOG} [aria-label='Next frame']"):
                break
            v.page.click(f"{DIALOG} [aria-label='Next frame']")
        assert _says(v).startswith("The worklist is empty")
        assert v.page.locator(f"{DIALOG} .node.later").count() == 0
        v.page.keyboard.press("Home")
        v.page.focus(f"{DIALOG} h2")
        v.page.keyboard.press("ArrowRight")
        assert _says(v).startswith("From {")
        svg = ElementTree.fromstring(_saved(v, "svg", tmp_path).read_text("utf-8"))
        assert len(svg.findall("{http://www.w3.org/2000/svg}svg")) == 2  # both pictures
        tex = _saved(v, "tikz", tmp_path).read_text("utf-8")
        says, _, pictures = tex.partition("\n")
        assert says == f"% {_says(v)}"
        parts = [f"\\begin{{tikzpicture}}[{part}" for part in
                 pictures.split("\\begin{tikzpicture}[")[1:]]  # fmt: skip
        machine, sets = (read(part.partition("\n% ")[0].rstrip() + "\n") for part in parts)
        assert len(sets.nodes) == 2  # the sets of the first two frames
        assert len(machine.nodes) == 5
        assert any(options.endswith("now") for options, *_ in sets.nodes.values())
        v.shot("construction-subsets")


@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_nothing_serious_for_screen_readers(visit: Any, width: int, dark: bool) -> None:
    with visit("?example=time", width=width, height=844, dark=dark) as v:
        v.wait_drawn()
        if width < 560:
            v.page.click("#wb-picture .moretabs > button")
            v.page.click("#wb-picture .moretabs .built")
        else:
            v.page.click("#wb-picture .bar > .built")
        v.page.wait_for_selector(f"{DIALOG} .acts:not([hidden])")
        v.page.mouse.move(1, 1)  # a state under the pointer fades the others
        v.page.wait_for_function("document.getAnimations().every((a) => a.playState !== 'running')")
        assert list(findings(v.page, DIALOG)) == []
        wide = v.page.evaluate(
            "(d => d.scrollWidth - d.clientWidth)(document.querySelector('dialog.construction'))"
        )
        assert wide <= 0
        v.shot(f"construction-{width}-{'dark' if dark else 'light'}")


def test_elimination_shows_one_picture_at_a_time(visit: Any) -> None:
    with visit("?example=time") as v:
        _open(v, "(foo)+d", "regex")
        assert v.page.locator(f"{DIALOG} .screen:visible").count() == 1
        v.page.wait_for_selector(f"{DIALOG} .rows .chip.now")
        assert v.page.inner_text(f"{DIALOG} .rows .chip.now") == "(?:foo)+d"
        v.page.click(f"{DIALOG} [aria-label='First frame']")
        assert v.page.locator(f"{DIALOG} .screen:visible .node").count() == 7


def test_a_part_of_a_large_grammar_has_a_film(visit: Any) -> None:
    with visit("?example=time") as v:
        v.type_grammar("[a-z]{80}(foo)+")
        v.wait_drawn()
        v.page.click("#wb-picture .bar > .built")
        v.page.wait_for_selector(f"{DIALOG} .acts:not([hidden])")
        part = f"{DIALOG} [name=part]"
        assert v.page.locator(f"{part} option:checked").inner_text() == "(foo)+"
        assert "86 states; the film shows at most 60" in v.page.inner_text(f"{DIALOG} .says")
        v.page.select_option(part, label="the whole grammar")
        v.page.wait_for_selector(f"{DIALOG} .say .no")
        assert "choose a smaller part" in _says(v)
        assert not v.page.is_visible(f"{DIALOG} .acts")
        v.page.select_option(part, label="(foo)+")
        v.page.wait_for_selector(f"{DIALOG} .acts:not([hidden])")
        assert _says(v).startswith("The worklist is empty")


def test_a_regular_part_of_a_grammar_with_a_stack_has_its_constructions(visit: Any) -> None:
    with visit("?example=sql") as v:
        v.wait_drawn()
        v.page.click("#wb-picture .bar > .built")
        v.page.wait_for_selector(f"{DIALOG} .acts:not([hidden])")
        chosen = f"{DIALOG} [name=construction]"
        assert v.page.input_value(f"{DIALOG} [name=part]") == "rule:function"
        assert v.page.input_value(chosen) == "subsets"
        v.page.select_option(f"{DIALOG} [name=part]", "")
        v.page.wait_for_selector(f"{DIALOG} .say .no")
        assert v.page.input_value(chosen) == "stack"
        v.page.keyboard.press("Escape")
        v.page.wait_for_selector("dialog.construction", state="hidden")
        assert v.page.evaluate("document.activeElement.classList.contains('built')")


def test_a_grammar_with_a_stack_opens_its_own_construction(visit: Any) -> None:
    with visit("?example=expression") as v:
        v.wait_drawn()
        v.open_tab("stack")
        v.page.click("#wb-picture .bar > .built")
        v.page.wait_for_selector(f"{DIALOG} .acts:not([hidden])")
        assert v.page.input_value(f"{DIALOG} [name=construction]") == "stack"
        assert _says(v).startswith("The push-down automaton has")
        assert v.page.locator(f"{DIALOG} option[value=subsets]").is_disabled()


def test_the_picture_is_saved_as_tikz(visit: Any, tmp_path: Path) -> None:
    with visit("?example=time") as v:
        v.type_grammar("(foo)+d")
        v.open_tab("characters")
        v.wait_drawn()
        v.page.click("#wb-picture .exports > button")
        with v.page.expect_download() as got:
            v.page.click("#wb-picture .exports li button:text-is('Download TikZ')")
        path = tmp_path / got.value.suggested_filename
        got.value.save_as(path)
        assert len(read(path.read_text("utf-8")).nodes) == 5


def test_a_picture_larger_than_its_pane_has_a_button_that_fits_it(visit: Any) -> None:
    """One below the other at every width: the styles of another dialog put them side by side."""
    with visit("?example=time", width=1280, height=720) as v:
        _open(v, "abcdefghijklmnop(q|r)s", "subsets")
        panes = v.page.locator(f"{DIALOG} .pic")
        upper, lower = (panes.nth(i).bounding_box() for i in (0, 1))
        assert lower["y"] > upper["y"] + upper["height"] - 2
        outside = """() => [...document.querySelectorAll('dialog.construction .pic')].map((box) => {
          const frame = box.getBoundingClientRect();
          return [...box.querySelectorAll('.node')].filter((node) =>
            node.getBoundingClientRect().right > frame.right + 2
            || node.getBoundingClientRect().left < frame.left - 2).length;
        })"""
        assert sum(v.page.evaluate(outside)) > 0
        fit = v.page.locator(f"{DIALOG} .fit:visible")
        for number in range(fit.count()):
            fit.nth(number).click()
        assert v.page.evaluate(outside) == [0, 0]
        assert set(fit.all_inner_texts()) == {"Enlarge"}
        v.shot("construction-fit")
        fit.first.click()
        assert v.page.evaluate(outside)[0] > 0
