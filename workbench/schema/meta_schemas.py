"""The meta-schemas of JSON Schema, which a schema may refer to though nothing is fetched.

Source: json-schema.org, drafts 4 to 2020-12, whose files may be used under the BSD licence
        (``meta_schemas.json``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

_FILE = Path(__file__).with_suffix(".json")

#: A reference to a meta-schema, and its draft.
_REFERENCE = re.compile(r'"\$ref"\s*:\s*"(https?://json-schema\.org/draft[-/][\d-]+/)')


def meta_schemas_in(text: str) -> dict[str, Any]:
    """The meta-schemas of the drafts to which a schema's text refers, by their addresses."""
    drafts = {match[1] for match in _REFERENCE.finditer(text)}
    if not drafts:
        return {}
    return {
        address: schema for address, schema in _all().items() if address.startswith(tuple(drafts))
    }


@cache
def _all() -> Mapping[str, Any]:
    schemas: Mapping[str, Any] = json.loads(_FILE.read_text("utf-8"))
    return schemas
