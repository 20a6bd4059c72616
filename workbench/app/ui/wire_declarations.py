"""``static/wire.d.ts``: the wire format as TypeScript.

``python -m workbench.app.ui.wire_declarations`` writes it; with ``--check`` it only says whether
the file is current.
"""

from __future__ import annotations

import sys
import types
from collections import ChainMap
from typing import (
    Any,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from pydantic.fields import FieldInfo

from workbench.app.ui import wire, wire_cards, wire_compare, wire_exercises, wire_parts
from workbench.app.ui.questions import QUESTIONS
from workbench.app.ui.request_fields import Checked
from workbench.app.ui.requests import Fields
from workbench.base.resources import STATIC

_HEAD = """\
// Generated from wire*.py by `python -m workbench.app.ui.wire_declarations`.

/** An answer to a request. A refusal has only ``why``, a fault only ``fault``. */
export type Answer<T> = [T] extends [string]
  ? T
  : Omit<Exclude<T, Refusal>, keyof Failure> & Failure;

/** The fields that say whether there is an answer. */
export interface Failure {
  ok?: boolean;
  why?: string;
  fault?: string;
  busy?: number;
}

/** What a part of the page is mounted with. */
export interface Context {
  element: HTMLElement;
  server: Server;
}

/** What a part is mounted with that shows what the page is opened with. */
export interface OpeningContext extends Context {
  opening: PageRecord & Release;
}
"""

_PLAIN = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null"}

#: Where the types for scripts are written.
DECLARATIONS = STATIC / "wire.d.ts"


def declarations() -> str:
    """The types as TypeScript: an interface for each record, then the questions."""
    parts = [_HEAD]
    modules = wire, wire_parts, wire_exercises, wire_compare, wire_cards
    for name, value in ChainMap(*map(vars, reversed(modules))).items():
        if is_typeddict(value) and not name.startswith("_"):
            parts.append(_interface(name, value))
        elif isinstance(value, types.UnionType) or get_origin(value) is Union:
            parts.append(f"export type {name} = {_typescript(value)};\n")
    requests: dict[str, str] = {}
    for question in QUESTIONS.values():
        _add_requests(requests, question.request)
    parts += requests.values()
    questions = "".join(
        f"  {name}(request: {_request_name(question.request)}, signal?: AbortSignal | null):"
        f" Promise<{_typescript(question.answer)}>;\n"
        for name, question in QUESTIONS.items()
    )
    parts.append(f"/** The questions of the page. */\nexport interface Server {{\n{questions}}}\n")
    return "\n".join(parts)


def _request_name(request: type) -> str:
    return request.__name__ if issubclass(request, Fields) else "object"


def _add_requests(declared: dict[str, str], request: type) -> None:
    """Add the declaration of a request by its name, after those of the requests it extends."""
    name = _request_name(request)
    if name in declared or not issubclass(request, Fields):
        return
    bases = [base for base in request.__bases__ if base is not Fields]
    for base in bases:
        _add_requests(declared, base)
    own = {name: request.model_fields[name] for name in vars(request).get("__annotations__", ())}
    extended = f" extends {', '.join(map(_request_name, bases))}" if bases else ""
    lines = [
        f"  {kind.alias or field}{'' if kind.is_required() else '?'}: {_sent(kind)};\n"
        for field, kind in own.items()
    ]
    declared[name] = (
        f"{_comment(request)}export interface {name}{extended} {{\n{''.join(lines)}}}\n"
    )


def _sent(kind: FieldInfo) -> str:
    (checked,) = (each for each in kind.metadata if isinstance(each, Checked))
    return _typescript(checked.sent)


def fields(record: type) -> dict[str, tuple[Any, bool]]:
    """The fields of a record: the type of each, and whether it is always there."""
    types = {}
    for name, hint in get_type_hints(record, include_extras=True).items():
        optional = get_origin(hint) is NotRequired
        types[name] = (get_args(hint)[0] if optional else hint, not optional)
    return types


def _interface(name: str, record: type) -> str:
    lines = [
        f"  {field}{'' if always else '?'}: {_typescript(kind)};\n"
        for field, (kind, always) in fields(record).items()
    ]
    return f"{_comment(record)}export interface {name} {{\n{''.join(lines)}}}\n"


def _comment(record: type) -> str:
    text = record.__doc__ or ""
    if not text or text.startswith("dict("):
        return ""
    lines = [line.strip() for line in text.strip().splitlines()]
    return "/** " + "\n    ".join(lines).replace("\n    \n", "\n\n") + " */\n"


def _typescript(kind: Any) -> str:  # noqa: ANN401  # types as values
    """A type as TypeScript."""
    if kind is Any:
        return "any"
    if kind in _PLAIN:
        return _PLAIN[kind]
    if is_typeddict(kind) or (isinstance(kind, type) and issubclass(kind, Fields)):
        return str(kind.__name__)
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Literal:
        return " | ".join(_literal(value) for value in inner)
    if origin is list:
        element = _typescript(inner[0])
        return f"({element})[]" if " " in element else f"{element}[]"
    if origin is dict:
        return f"Record<{_typescript(inner[0])}, {_typescript(inner[1])}>"
    if origin is Union or isinstance(kind, types.UnionType):
        return " | ".join(_typescript(each) for each in inner)
    raise TypeError(f"no TypeScript for {kind}")


def _literal(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f'"{value}"'


def main(arguments: list[str]) -> int:
    """Write the types, or with ``--check`` compare them."""
    text = declarations()
    if "--check" in arguments:
        current = DECLARATIONS.is_file() and DECLARATIONS.read_text("utf-8") == text
        if not current:
            print("static/wire.d.ts is not current: python -m workbench.app.ui.wire_declarations")
        return 0 if current else 1
    DECLARATIONS.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
