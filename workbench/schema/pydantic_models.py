"""Models and type adapters of Pydantic as JSON Schemas, and their texts as source.

Pydantic is not imported: a model is recognized by its methods, and a source text is never run.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Any, Protocol

from workbench.base.errors import ParseError
from workbench.base.source import Source, Span

#: A class of Pydantic, or its import, in Python text.
_SOURCE = re.compile(
    r"^[ \t]*(?:(?:from|import)[ \t]+pydantic\b|class[ \t]+\w+\([^)\n]*\bBaseModel\b)", re.MULTILINE
)
_CLASS = re.compile(r"^class[ \t]+(\w+)", re.MULTILINE)

#: Types of the standard library that Pydantic writes as strings with a format or a pattern.
STRING_TYPES = ("bytes", "date", "datetime", "time", "timedelta", "Decimal", "Path", "UUID")
#: The modules of these types.
STRING_MODULES = ("datetime", "decimal", "pathlib", "uuid")


class JsonAdapter(Protocol):
    """Converts JSON to values of a type: ``TypeAdapter`` of Pydantic."""

    def json_schema(self) -> dict[str, Any]: ...
    def validate_json(self, data: str, /) -> Any: ...  # noqa: ANN401


def is_pydantic_source(text: str) -> bool:
    """Whether a text is Python with classes of Pydantic."""
    return _SOURCE.search(text) is not None


def source_hint(text: str) -> str:
    """How a text with classes of Pydantic becomes a JSON Schema; its last class is taken."""
    names = _CLASS.findall(text) or ["Model"]
    return (
        f"paste what print(json.dumps({names[-1]}.model_json_schema())) prints as a JSON Schema,"
        " or write a dataclass"
    )


def adapter_hint(name: str) -> str:
    """How a dataclass with a type of ``STRING_TYPES`` becomes a JSON Schema with its format."""
    return f"use str, or the JSON Schema pydantic.TypeAdapter({name}).json_schema()"


def is_pydantic(value: object) -> bool:
    """Whether a value is a model's class or a type adapter."""
    return hasattr(value, "model_json_schema" if isinstance(value, type) else "validate_json")


def schema_and_parser(value: Any, name: str) -> tuple[Any, Callable[[str], object] | None]:  # noqa: ANN401
    """The JSON Schema of a model's class or a type adapter, and the function that reads its texts.

    Other values are returned unchanged, without a function.

    Raises: ParseError for other classes, and where Pydantic has no JSON Schema for a model.
    """
    if is_pydantic(value):
        model = isinstance(value, type)
        schema = value.model_json_schema if model else value.json_schema
        parser = value.model_validate_json if model else value.validate_json
        try:
            return schema(), parser
        except (RuntimeError, NameError) as error:  # those of Pydantic derive from them
            reason = str(error).splitlines()[0]
            raise _refusal(f"this model has no JSON Schema: {reason}", name) from error
    if isinstance(value, type):
        hint = f"give pydantic.TypeAdapter({value.__name__})"
        if dataclasses.is_dataclass(value):
            hint = f"use Grammar.from_dataclass({value.__name__}), or {hint}"
        raise _refusal(f"expected a schema, not the class {value.__name__}", name, hint)
    return value, None


def _refusal(message: str, name: str, hint: str = "") -> ParseError:
    return ParseError(message, Source("", name), Span(0, 0), hint)
