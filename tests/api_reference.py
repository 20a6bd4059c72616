"""The API reference: one HTML page with all names of ``workbench.__all__``, written by pdoc.

::

    python -W error -m tests.api_reference reference.html

pdoc reads Markdown. The docstrings of this project are plain text with paragraphs such as
``Raises: …`` and ``name  description``, and comments ``#:`` describe the fields of a class;
``to_markdown`` and ``field_comments`` translate both.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pdoc.doc
import pdoc.render

import workbench

#: A paragraph of a docstring that becomes an item of a list: its name, and its lines.
_ITEM = re.compile(
    r"^(?:(?P<label>Shape|Unit|Cost|Raises|Source):|(?P<names>``\w+``(?:, ``\w+``)*) ) +"
    r"(?P<text>\S.*(?:\n +\S.*)*)",
    re.MULTILINE,
)
_CODE = re.compile(r"(?:(?<=\S)(?P<colon>:):|::)\n\n(?P<code>(?:    .*\n?|\n)+)")
_ERROR = re.compile(r"\b(?:\w+Error|TokenNotAllowed)\b")
_COMMENT = re.compile(
    r"(?P<comment>(?:^ *#: .*\n)+) +(?:self\.)?(?P<name>\w+)(?=:| =)", re.MULTILINE
)


def page() -> str:
    """The reference as an HTML page."""
    for name in workbench.__all__:
        getattr(workbench, name)  # imports it: pdoc reads the module's dictionary
    module = pdoc.doc.Module(workbench)
    for doc in documented(module):
        doc.docstring = to_markdown(doc.docstring)
    pdoc.render.configure(
        docformat="markdown",
        search=False,
        show_source=False,
        footer_text=f"grammar-workbench {workbench.__version__}",
    )
    return pdoc.render.html_module(module, {"workbench": module})


def documented(module: pdoc.doc.Module) -> Iterator[pdoc.doc.Doc[Any]]:
    """The module, its public names, and the members of its classes."""
    yield module
    for doc in module.members.values():
        yield doc
        if isinstance(doc, pdoc.doc.Class):
            comments = field_comments(doc.obj)
            # pdoc leaves out what a class inherits from one that is not public
            doc.own_members = [
                member
                for member in doc.members.values()
                if member.taken_from[0].startswith("workbench.")
            ]
            for member in doc.own_members:
                member.docstring = comments.get(member.name, member.docstring)
                yield member


def field_comments(cls: type) -> dict[str, str]:
    """The comments ``#:`` above the fields of a class."""
    return {
        found["name"]: re.sub(r"\s*#: ", " ", found["comment"]).strip()
        for found in _COMMENT.finditer(inspect.getsource(cls))
    }


def to_markdown(docstring: str) -> str:
    """A docstring of this project as Markdown."""
    text = _ITEM.sub(_item, docstring)
    return _CODE.sub(
        lambda found: (
            f"{found['colon'] or ''}\n\n```python\n{dedent(found['code']).strip()}\n```\n"
        ),
        text,
    )


def _item(found: re.Match[str]) -> str:
    text = re.sub(r"\n +", " ", found["text"])
    if found["label"] == "Raises":
        text = _ERROR.sub(r"`\g<0>`", text)
    name = found["names"] or f"**{found['label']}**"
    return f"\n- {name}: {text}"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), "utf-8")
