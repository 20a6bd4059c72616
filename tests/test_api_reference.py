"""The API reference: every public name is in it, with its docstring."""

from __future__ import annotations

import inspect
import re

import pdoc.doc
import pytest

import workbench as wb
from tests.api_reference import documented, field_comments, page, to_markdown


@pytest.fixture(scope="module")
def reference() -> str:
    return page()


@pytest.mark.parametrize("name", wb.__all__)
def test_a_public_name_is_in_the_reference(reference: str, name: str) -> None:
    section = re.search(rf'<section id="{name}">(.*?)</section>', reference, re.DOTALL)
    assert section is not None
    assert 'class="docstring"' in section[1]
    if inspect.isfunction(getattr(wb, name)):
        assert 'class="return-annotation"' in section[1], "its signature"


def test_public_methods_have_docstrings() -> None:
    members = list(documented(pdoc.doc.Module(wb)))
    methods = [m for m in members if m.kind == "function" and not m.name.startswith("_")]
    assert [m.fullname for m in methods if not m.docstring] == []
    assert "workbench.Grammar.accepts" in [m.fullname for m in methods], "inherited ones too"


def test_paragraphs_become_lists_and_code() -> None:
    docstring = """Summary.

``count``     how
              many
``x`` is a word.
Raises: ParseError.

Example::

    a()
"""
    assert to_markdown(docstring) == (
        "Summary.\n\n\n- ``count``: how many\n``x`` is a word.\n\n- **Raises**: `ParseError`.\n\n"
        "Example:\n\n```python\na()\n```\n"
    )


def test_comments_describe_fields() -> None:
    comments = field_comments(wb.Trace)
    assert comments == {
        "steps": "In the order of the text.",
        "stop": "Why it ended; None while it continues.",
        "discarded_passes": "Forward passes for tokens that are not part of the text, such as"
        " those of rejected texts.",
    }
