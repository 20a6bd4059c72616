"""The page as one HTML document: the skeletons of its parts and what its scripts begin with."""

from __future__ import annotations

from workbench.app.ui.handlers import Handlers, encoded
from workbench.app.ui.opening_view import page_record
from workbench.app.ui.page_files import head, release, skeleton

_DOCUMENT = """\
<!doctype html>
<html lang="en">
<head>
{head}
<title>Grammar workbench</title>
</head>
<body>
{header}
{exercise}
<div id="wb-main">{grammar}{picture}</div>
<div id="wb-below">{run}{takeaway}</div>
{learn}
{compare}
{footer}
<script type="application/json" id="wb-opening">{opening}</script>
</body>
</html>
"""

#: The parts of the page; each is filled by its script.
PARTS = (
    "header", "exercise", "grammar", "picture", "run", "takeaway", "learn", "compare", "footer",
)  # fmt: skip


def document(handlers: Handlers) -> str:
    """The page; it has the examples and the methods, and no text of a visitor."""
    parts = {name: f'<div id="wb-{name}">{skeleton(name)}</div>' for name in PARTS}
    opening = encoded({**page_record(handlers), **release()}).replace("<", "\\u003c")
    return _DOCUMENT.format(head=head(), opening=opening, **parts)
