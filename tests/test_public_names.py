"""The public API: its names, and what its objects print."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import workbench as wb
from workbench.decoding.model import ToyModel
from workbench.vocabulary.toy_vocabularies import toy


@pytest.mark.parametrize("name", wb.__all__)
def test_a_public_name_has_a_docstring(name: str) -> None:
    value = getattr(wb, name)
    assert value.__name__ == name
    assert value.__doc__
    assert name in dir(wb)


def test_error_for_an_unknown_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Gramar'"):
        wb.Gramar  # noqa: B018


@pytest.mark.slow
def test_importing_the_package_loads_no_heavy_library() -> None:
    """Importing the package imports neither torch nor Gradio nor lark."""
    code = "import sys, workbench as wb; wb.Grammar.from_regex('a'); print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert {"torch", "transformers", "gradio", "lark", "pygraphviz"} & set(loaded) == set()


def test_objects_are_written_in_one_short_line() -> None:
    rules = wb.Grammar.from_kbnf("start ::= 'a' start 'b' | #'[0-9]{1,200}';")
    regex = wb.Grammar.from_regex("(yes|no){1,300}")
    vocabulary = toy(["yes", "no", "n", "y", "a", "b", "1"])
    run = wb.generate(
        ToyModel(vocabulary), wb.compile(regex, vocabulary), "", wb.Sampling(1.0), max_tokens=200
    )
    trace = (list(run), run.trace)[1]
    explanation = wb.explain(regex, b"yes" * 99, b"maybe" * 99)
    found = {
        repr(one).partition("(")[0]: repr(one)
        for one in (
            rules,
            regex,
            regex.machine,
            rules.network,
            vocabulary,
            trace,
            trace.steps[0],
            explanation,
            wb.draw(regex, "characters"),
        )
    }
    assert all(len(line) <= 140 and "\n" not in line for line in found.values()), found
    assert found["Grammar"] == "Grammar(regex, '(yes|no){1,300}')"
    assert re.fullmatch(r"Trace\(b'(yes|no).*', \d+ tokens, [a-z ]+\)", found["Trace"])
    assert found["Explanation"].endswith(": forbidden at 'm')")
