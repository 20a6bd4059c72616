"""Displays in notebooks; the example notebook is executed and its outputs are compared."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.app import notebook
from workbench.drawing import render
from workbench.vocabulary.toy_vocabularies import toy

ROOT = Path(__file__).parents[1]
NOTEBOOK = ROOT / "docs" / "notebook.ipynb"

#: Elements that may not be in a display: scripts, and what loads something.
FORBIDDEN = {"script", "style", "link", "object", "embed", "img", "form", "base", "meta"}


class _Checked(HTMLParser):
    """The texts of HTML; fails for what is not closed or not allowed."""

    VOID = frozenset({"br", "hr", "ellipse", "path", "polygon", "polyline", "rect", "circle"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.titles: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in FORBIDDEN
        assert not any(name.startswith("on") for name, _ in attrs)
        self.titles += [value or "" for name, value in attrs if name == "title"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in FORBIDDEN

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def checked(markup: str) -> _Checked:
    parser = _Checked()
    parser.feed(markup)
    parser.close()
    assert parser.open == []
    return parser


#: Tokens that would end an attribute or an element if they were not escaped.
HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</span>", "&lt;", "a"]


@pytest.fixture(scope="module")
def run() -> tuple[wb.Trace, wb.Grammar, wb.Constraint]:
    from tests.decoding.worlds import TableModel

    grammar = wb.Grammar.from_regex("|".join(map(re.escape, HOSTILE)))
    vocabulary = toy(HOSTILE)
    constraint = wb.compile(grammar, vocabulary)
    model = TableModel(vocabulary, [0.5, 2.0, 1.0, 0.0, 3.0, 9.0])
    generation = wb.generate(model, constraint, "", max_tokens=5)
    list(generation)
    return generation.trace, grammar, constraint


def test_every_display_escapes_what_strangers_write(
    run: tuple[wb.Trace, wb.Grammar, wb.Constraint],
) -> None:
    trace, grammar, constraint = run
    for made in (
        notebook.trace_html(trace),
        notebook.step_html(trace.steps[0]),
        notebook.grammar_html(grammar),
        notebook.constraint_html(constraint),
        wb.show(constraint)._repr_html_(),
    ):
        checked(made)
    texts = checked(notebook.constraint_html(constraint)).texts
    assert {one.replace(" ", "·") for one in HOSTILE} <= set(texts)


def test_a_grammar_is_a_picture_of_its_machine() -> None:
    regular = notebook.grammar_html(wb.Grammar.from_regex("(foo)+d"))
    assert regular.count('class="node state') == 5
    assert "regular · characters · 5 states" in checked(regular).texts
    nested = notebook.grammar_html(wb.Grammar.from_kbnf("start ::= '(' start ')' | 'x';"))
    assert "needs a stack · rules · " in "".join(checked(nested).texts)
    assert 'class="node state call"' in nested


def test_a_large_machine_is_shown_in_part() -> None:
    made = notebook.grammar_html(wb.Grammar.from_regex("(a|b)*a(a|b){9}"))
    assert any("of 1,024" in text for text in checked(made).texts)


def test_without_graphviz_a_table_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> str:
        raise render.LayoutError("no Graphviz was found, so there are no pictures")

    monkeypatch.setattr(render.Renderer, "draw", missing)
    texts = checked(notebook.grammar_html(wb.Grammar.from_regex("a<"))).texts
    assert texts[-6:] == ["0", "a", "1", "1", "<", "2 (final)"]
    assert any("no Graphviz" in text for text in texts)


def test_a_run_shows_every_token_with_its_numbers(
    run: tuple[wb.Trace, wb.Grammar, wb.Constraint],
) -> None:
    trace = run[0]
    made = checked(notebook.trace_html(trace))
    assert len([title for title in made.titles if title.startswith("token ")]) == len(trace.steps)
    for step in trace.steps:
        title = made.titles[step.index]
        assert f"{len(step.mask):,} token" in title
        assert f"{-step.logprob / 0.6931471805599453:.2f} bits" in title


def test_an_empty_run_has_a_display() -> None:
    checked(notebook.trace_html(wb.Trace(())))


def test_a_state_shows_its_mask() -> None:
    vocabulary = wb.Vocabulary((b"f", b"oo", b"foo", b"for", b"food", b"<end>"), end=5)
    constraint = wb.compile(wb.Grammar.from_regex("(foo)+d"), vocabulary)
    state = constraint.advance(constraint.initial, 0)
    shown = wb.show(constraint, state)
    texts = checked(shown._repr_html_()).texts
    assert "oo" in texts
    assert not {"f", "foo", "for", "food"} & set(texts)
    assert any("1 of 6 tokens may follow" in text for text in texts)


def test_a_replay_is_a_page_in_a_frame(
    run: tuple[wb.Trace, wb.Grammar, wb.Constraint], tmp_path: Path
) -> None:
    trace, grammar, constraint = run
    shown = wb.replay(trace, grammar, constraint, prompt="<b>", title="<i>a</i>")
    body = shown._repr_html_()
    checked(body)
    assert 'sandbox="allow-scripts"' in body
    (page,) = re.findall(r'srcdoc="([^"]*)"', body)
    assert html.unescape(page) == shown.page
    assert shown.save(tmp_path / "run.html").read_text("utf-8") == shown.page
    assert "\n" not in repr(shown)
    with pytest.raises(wb.WorkbenchError, match="cannot be written"):
        shown.save(tmp_path / "no" / "such" / "folder.html")
    with pytest.raises(wb.WorkbenchError, match="no tokens"):
        wb.replay(wb.Trace(()), grammar, constraint)


# -- registration -----------------------------------------------------------------------------


class _Formatter:
    """The part of IPython's formatter that is used."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, str], Any] = {}

    def for_type_by_name(self, module: str, name: str, made: Any) -> None:
        self.known[module, name] = made


def test_displays_are_registered_for_types_that_exist() -> None:
    import importlib
    from types import SimpleNamespace

    formatter = _Formatter()
    notebook.load_ipython_extension(
        SimpleNamespace(display_formatter=SimpleNamespace(formatters={"text/html": formatter}))
    )
    assert set(formatter.known) == set(notebook.DISPLAYS)
    for module, name in formatter.known:
        assert isinstance(getattr(importlib.import_module(module), name), type)


def test_every_method_has_a_display() -> None:
    from workbench.constraint.compile import METHODS

    known = set(notebook.DISPLAYS)
    vocabulary = wb.Vocabulary((b"a", b"b", None), 2, [], name="ab")
    for method in METHODS:
        try:
            made = wb.compile(wb.Grammar.from_regex("[ab]+"), vocabulary, method)
        except wb.WorkbenchError:
            continue  # the method needs a tokenizer
        assert {(c.__module__, c.__qualname__) for c in type(made).__mro__} & known, method


def test_error_in_a_display_is_not_raised() -> None:
    def fails(_: object) -> str:
        raise ZeroDivisionError

    assert notebook._safely(fails)(1) is None


def test_the_library_imports_no_notebook() -> None:
    code = "import sys, workbench; print('IPython' in sys.modules, 'workbench.app' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


# -- the example ------------------------------------------------------------------------------


def _normalised(outputs: list[Any]) -> Iterator[str]:
    """What a cell shows, without what differs from run to run: times and layouts."""
    for one in outputs:
        if one["output_type"] == "stream":
            if one["name"] == "stdout":  # the others are warnings of libraries
                yield one["text"].strip()
            continue
        assert one["output_type"] in ("execute_result", "display_data"), one
        data = one["data"]
        yield data["text/plain"]
        if "text/html" in data:
            yield " ".join(" ".join(checked(data["text/html"]).texts).split())


#: Characters of HTML that are kept in the file; a replay has more.
MOST_KEPT = 50_000


def _executed() -> Any:
    nbformat = pytest.importorskip("nbformat", reason="pip install '.[test]'")
    nbclient = pytest.importorskip("nbclient", reason="pip install '.[test]'")
    made = nbformat.read(NOTEBOOK, 4)
    nbclient.NotebookClient(made, timeout=300, resources={"metadata": {"path": ROOT}}).execute()
    for output in (one for cell in made.cells for one in cell.get("outputs", ())):
        if len(output.get("data", {}).get("text/html", "")) > MOST_KEPT:
            del output["data"]["text/html"]
    return made


@pytest.mark.slow
def test_the_example_notebook_runs() -> None:
    made = _executed()
    for before, after in zip(json.loads(NOTEBOOK.read_text())["cells"], made.cells, strict=True):
        if before["cell_type"] == "code":
            wanted = [_joined(one) for one in before["outputs"]]
            assert list(_normalised(after.outputs)) == list(_normalised(wanted))


def _joined(output: Any) -> Any:
    """An output whose texts are lists of lines in the file."""
    if "text" in output:
        return {**output, "text": "".join(output["text"])}
    data = {kind: "".join(text) for kind, text in output["data"].items()}
    return {**output, "data": data}


def record() -> None:
    """Execute the example and save its outputs: ``python -m tests.test_notebook``."""
    made = _executed()
    for cell in made.cells:
        cell.metadata.clear()  # times
        if cell.cell_type == "code":
            cell.outputs = [one for one in cell.outputs if one.get("name") != "stderr"]
    made.metadata["language_info"] = {"name": "python"}
    NOTEBOOK.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    record()
