"""Hooks of the documentation site: the API reference is built with it.

The function names are those that MkDocs calls.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def on_post_build(config: Any, **_: object) -> None:  # MkDocs is installed only where it is built
    """Write ``reference/api.html``, unless ``WORKBENCH_DOCS_WITHOUT_API`` is set."""
    if "WORKBENCH_DOCS_WITHOUT_API" in os.environ:
        return
    from tests.api_reference import page

    target = Path(config["site_dir"]) / "reference" / "api.html"
    target.write_text(page(), "utf-8")
