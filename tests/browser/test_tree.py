"""Parse trees on the page, and the grammar in words: both are linked to the text and the grammar."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.exhaustive]

SVG = "#wb-picture .pic svg.parsetree:not(.leaving)"
SUMS = "start ::= 'x' sum; sum ::= sum '+' sum | digit; digit ::= #'[0-9]';"


def settled(v: Any) -> None:
    v.page.wait_for_selector(SVG)
    v.page.wait_for_function("!document.querySelector('#wb-picture svg.leaving')")


def drawn_text(v: Any) -> str:
    return str(v.page.evaluate("wb.state.drawn.so_far"))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_tree_grows_with_the_run(visit: Any, dark: bool) -> None:
    with visit("?example=person&tab=tree", dark=dark) as v:
        v.wait_run()
        settled(v)
        texts = []
        for index in (1, 3, 5):
            v.page.locator("#wb-run .tok").nth(index).click()
            v.page.wait_for_function(
                "n => wb.state.drawn.tab === 'tree' && wb.state.drawn.tokens.length === n",
                arg=index + 1,
            )
            settled(v)
            texts.append(drawn_text(v))
            assert v.page.locator(f"{SVG} .border").count() == index + 1
            assert v.page.locator(f"{SVG} .border.now").count() == 1
            assert v.page.locator(f"{SVG} .node.read").count() >= 1
        assert all(longer.startswith(shorter) for shorter, longer in pairwise(texts))
        v.shot(f"tree-run-{'dark' if dark else 'light'}")


def test_node_its_text_and_its_rule(visit: Any) -> None:
    with visit("?example=person&tab=tree") as v:
        v.wait_run()
        v.page.locator("#wb-run .tok").nth(9).click()
        v.page.wait_for_function("wb.state.drawn.tokens?.length === 10")
        settled(v)
        v.page.locator(f"{SVG} .node.rule:has-text('string')").first.click()
        v.page.wait_for_selector("#wb-grammar .paint .part")
        displays = "[...document.querySelectorAll('#wb-grammar .paint .part')].map((e) => getComputedStyle(e).display)"
        assert set(v.page.evaluate(displays)) == {"inline"}, "the text stays where the caret is"
        marked = "".join(v.page.locator("#wb-grammar .paint .part").all_inner_texts())
        assert marked.startswith("string")
        read = v.page.inner_text("#wb-picture .foot code").replace("·", " ")
        tokens = "".join(v.page.locator("#wb-run .tok.innode").all_inner_texts())
        assert read.strip('"') in tokens
        assert v.page.locator(f"{SVG} .node.above").count() >= 2
        v.page.locator("#wb-picture .foot button", has_text="Go to the grammar").click()
        area = "#wb-grammar textarea.text"
        chosen = v.page.eval_on_selector(
            area, "a => a.value.slice(a.selectionStart, a.selectionEnd)"
        )
        assert chosen.startswith("string")


def test_two_trees_of_an_ambiguous_test(visit: Any) -> None:
    with visit("?tab=tree") as v:
        v.type_grammar(SUMS)
        v.page.wait_for_function("t => wb.state.compiled?.text === t", arg=SUMS)
        v.page.fill("#wb-grammar .addtest textarea", "x1+2+3")
        v.page.keyboard.press("Enter")
        v.page.locator("#wb-grammar .tests li", has_text="x1+2+3").locator("button.tree").click()
        v.page.wait_for_selector("#wb-picture .trees:not([hidden])")
        settled(v)
        first = v.page.text_content(f"{SVG} .graph")
        assert v.page.locator(f"{SVG} .node.differs").count() == 1
        v.page.click("#wb-picture [data-tree='2']")
        v.page.wait_for_function("wb.state.drawn.which === 2")
        settled(v)
        assert v.page.text_content(f"{SVG} .graph") != first
        v.page.locator(f"{SVG} .node.differs").click()
        v.page.wait_for_selector("#wb-grammar .tests mark.innode")
        assert v.page.inner_text("#wb-grammar .tests mark.innode") == "1+2+3"
        assert "characters 1–6" in v.page.inner_text("#wb-picture .foot")
        v.shot("tree-ambiguous")


def test_rejected_test_shows_what_was_read(visit: Any) -> None:
    with visit("?example=person&tab=tree") as v:
        row = v.page.locator("#wb-grammar .tests li", has_text="[,]").first
        row.locator("button.tree").click()
        v.page.wait_for_function(
            "document.querySelector('#wb-picture .foot').textContent.includes('cannot read')"
        )
        settled(v)
        assert v.page.locator(f"{SVG} .node.pending").count() >= 1
        assert "cannot read" in v.page.inner_text("#wb-picture .foot")


def test_keyboard_and_every_node(visit: Any) -> None:
    with visit("?example=person&tab=tree") as v:
        v.wait_run()
        v.page.locator("#wb-run .tok").nth(3).click()
        v.page.wait_for_function("wb.state.drawn.tokens?.length === 4")
        settled(v)
        few = v.page.locator(f"{SVG} .node").count()
        v.page.click("#wb-picture [data-look=every]")
        v.page.wait_for_function("wb.state.drawn.every === true")
        settled(v)
        assert v.page.locator(f"{SVG} .node").count() >= few
        v.page.focus("#wb-picture .pic.main")
        v.page.keyboard.press(".")
        assert v.page.locator(f"{SVG} .node.picked").count() == 1


def test_labels_are_legible(visit: Any) -> None:
    with visit("?example=json&tab=tree", width=1280, height=720) as v:
        v.wait_run()
        settled(v)
        heights = v.page.evaluate(
            "s => [...document.querySelectorAll(s + ' text')].map(t =>"
            " t.getScreenCTM().a * parseFloat(t.getAttribute('font-size')))",
            SVG,
        )
        assert min(heights) >= 9


def test_grammar_in_words(visit: Any) -> None:
    with visit("?example=person") as v:
        v.page.wait_for_function("wb.state.compiled?.ok")
        v.page.click("#wb-grammar [data-section=words]")
        line = v.page.locator("#wb-grammar .words .line", has_text="1 to 9 times: a digit")
        line.hover()
        v.page.wait_for_selector("#wb-grammar .paint .part")
        marked = "".join(v.page.locator("#wb-grammar .paint .part").all_inner_texts())
        assert marked == "#'[0-9]{1,9}'"
        line.click()
        area = "#wb-grammar textarea.text"
        chosen = v.page.eval_on_selector(
            area, "a => a.value.slice(a.selectionStart, a.selectionEnd)"
        )
        assert chosen == marked
        v.page.eval_on_selector(
            area,
            "a => { const at = a.value.indexOf('A-Z') + 1; a.focus(); a.setSelectionRange(at, at); }",
        )
        v.page.wait_for_selector("#wb-grammar .words li.here")
        assert "a space or a letter" in v.page.inner_text("#wb-grammar .words li.here")
        v.type_grammar("start ::= 'ab'+;")
        v.page.wait_for_selector("#wb-grammar .words .line:has-text('one or more times')")
