"""Tool calls as chat models write them, from Python functions and JSON Schemas.

The calls become a structural tag, so they can be exported to xgrammar, vLLM and SGLang. The styles
are those of the chat templates:

==========  ==================================================================================
hermes      ``<tool_call>\\n{"name": "f", "arguments": {…}}\\n</tool_call>`` (Hermes, Qwen 2.5, 3)
llama       ``{"name": "f", "parameters": {…}}`` (Llama 3.1 to 3.3)
mistral     ``[TOOL_CALLS][{"name": "f", "arguments": {…}}, …]`` (Ministral 8B of 2024)
harmony     ``<|channel|>commentary to=functions.f <|constrain|>json<|message|>{…}<|call|>``,
            after an optional ``<|channel|>analysis<|message|>…<|end|><|start|>assistant`` (gpt-oss)
==========  ==================================================================================

Markers such as ``<|channel|>`` are texts here. A vocabulary in which they are special tokens spells
them in ordinary tokens, or not at all. The ``id`` that Mistral's templates add to a call is left
out; the template of Mistral 7B v0.3 also has a space before the list.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from workbench.base.arguments import checked
from workbench.base.diagnostics import suggestion
from workbench.base.errors import ArgumentValueError, SourceError, WorkbenchError
from workbench.base.limits import LIMITS, Limits
from workbench.grammar.grammar import Grammar

#: A format of a structural tag.
Format = dict[str, Any]
#: A function, or the description of one: OpenAI's, Anthropic's or MCP's.
Described = Callable[..., object] | Mapping[str, Any]

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_NAME_HINT = "a name has up to 64 letters, digits and the signs _ . -"
#: The members that hold the schema of the parameters.
_SCHEMA_MEMBERS = ("parameters", "input_schema", "inputSchema")
#: Keywords that may declare further properties; then ``additionalProperties`` would forbid those.
_COMPOSED = frozenset(
    {"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"}
    | {"dependencies", "unevaluatedProperties"}
)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call in a text."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that a model may call."""

    name: str
    #: The JSON Schema of its arguments, an object.
    parameters: dict[str, Any]

    @staticmethod
    def of(described: Described) -> Tool:
        """The tool of a function, or of a description with a JSON Schema.

        The object of a schema without ``additionalProperties`` is closed, as strict tool calls
        require; not where keywords such as ``allOf`` or ``$ref`` may declare further properties.

        Raises: WorkbenchError for a parameter without a type, or a description without a name.
        """
        if isinstance(described, Mapping):
            return _of_description(described)
        if callable(described) and hasattr(described, "__name__"):
            return Tool(_checked_name(described.__name__), _signature_schema(described))
        raise WorkbenchError(
            f"expected a function or a description of one, not {type(described).__name__}",
            'write {"name": "f", "parameters": {"type": "object", "properties": {…}}}',
        )


def _checked_name(name: object) -> str:
    if isinstance(name, str) and _NAME.fullmatch(name):
        return name
    raise WorkbenchError(f"expected the name of a tool, not {name!r}", _NAME_HINT)


def _of_description(described: Mapping[str, Any]) -> Tool:
    inner = described.get("function", described)
    if not isinstance(inner, Mapping):
        raise WorkbenchError("expected an object as 'function'", 'write {"name": …}')
    name = _checked_name(inner.get("name"))
    member = next((key for key in _SCHEMA_MEMBERS if key in inner), None)
    schema = {"type": "object", "properties": {}} if member is None else inner[member]
    if not isinstance(schema, Mapping):
        raise WorkbenchError(f"{name}: expected a JSON Schema as {member!r}", "write an object")
    closed: dict[str, Any] = {"type": "object", **schema}
    if closed["type"] != "object":
        message = f"{name}: expected a JSON Schema of an object, not of {closed['type']!r}"
        raise WorkbenchError(message, "its properties are the arguments")
    if not _COMPOSED & schema.keys():
        closed.setdefault("additionalProperties", False)
    return Tool(name, closed)


def _signature_schema(function: Callable[..., object]) -> dict[str, Any]:
    """The schema of a function's parameters, from its annotations.

    Source: ``schema.typed.type_printer``, through a dataclass with the same fields.
    """
    from workbench.schema.typed.reflect import reflect
    from workbench.schema.typed.type_printer import schema_of

    name = function.__name__
    try:
        hints = typing.get_type_hints(function)
        parameters = inspect.signature(function).parameters.values()
    except (NameError, TypeError, ValueError) as error:
        raise WorkbenchError(f"{name}: its annotations cannot be read: {error}") from None
    fields: list[tuple[str, Any]] = []
    required: list[str] = []
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            message = f"{name}: {parameter} takes any number of arguments"
            raise WorkbenchError(message, "give each parameter a name, or pass a JSON Schema")
        if parameter.name not in hints:
            message = f"{name}: the parameter {parameter.name!r} has no type"
            raise WorkbenchError(message, f"write for example {parameter.name}: str")
        fields.append((parameter.name, hints[parameter.name]))
        if parameter.default is parameter.empty:
            required.append(parameter.name)
    if not fields:
        return {"type": "object", "properties": {}, "additionalProperties": False}
    try:
        types, _ = reflect(dataclasses.make_dataclass(name, fields))
        schema: dict[str, Any] = json.loads(schema_of(types).source.text)
    except SourceError as error:
        raise WorkbenchError(f"{name}: {error.message}", error.hint) from None
    schema["$defs"][types.root]["required"] = required
    return schema


def _tag(begin: str, schema: Mapping[str, Any], end: str) -> Format:
    content = {"type": "json_schema", "json_schema": schema}
    return {"type": "tag", "begin": begin, "content": content, "end": end}


def _list(tags: Sequence[Format], separator: str, *, parallel: bool) -> Format:
    return {
        "type": "tags_with_separator",
        "tags": list(tags),
        "separator": separator,
        "at_least_one": True,
        "stop_after_first": not parallel,
    }


def _in_free_text(trigger: str, tags: Sequence[Format], *, once: bool) -> Format:
    return {
        "type": "triggered_tags",
        "triggers": [trigger],
        "tags": list(tags),
        "stop_after_first": once,
    }


@dataclass(frozen=True, slots=True)
class Style:
    """How the calls of a family of models are written."""

    #: The text before a tool's name, between the name and the arguments, and after them.
    before: str
    between: str
    after: str
    #: The format of the tags: (tags, at least one call, several calls).
    whole: Callable[[Sequence[Format], bool, bool], Format]
    #: Where calls begin; ``before`` unless there is a text around all of them.
    opening: str = ""

    def tag(self, tool: Tool) -> Format:
        """The tag of a tool."""
        return _tag(f"{self.before}{tool.name}{self.between}", tool.parameters, self.after)

    def calls(self, text: str) -> tuple[ToolCall, ...]:
        """The calls in an accepted text."""
        calls: list[ToolCall] = []
        position = text.find(self.opening) if self.opening else 0
        while position >= 0 and (begin := text.find(self.before, position)) >= 0:
            name_end = text.index(self.between, begin + len(self.before))
            name = text[begin + len(self.before) : name_end]
            decoder = json.JSONDecoder()
            arguments, position = decoder.raw_decode(text, name_end + len(self.between))
            calls.append(ToolCall(name, arguments))
        return tuple(calls)


def _one_by_one(
    trigger: str, separator: str, tags: Sequence[Format], at_least_one: bool, parallel: bool
) -> Format:
    """A tag for each call: a list of them, or free text with calls."""
    if at_least_one:
        return _list(tags, separator, parallel=parallel)
    return _in_free_text(trigger, tags, once=not parallel)


def _mistral(tags: Sequence[Format], at_least_one: bool, parallel: bool) -> Format:
    content = _list(tags, ", ", parallel=parallel)
    whole = {"type": "tag", "begin": "[TOOL_CALLS][", "content": content, "end": "]"}
    return whole if at_least_one else _in_free_text("[TOOL_CALLS]", [whole], once=True)


def _harmony(tags: Sequence[Format], at_least_one: bool, parallel: bool) -> Format:
    text = {"type": "any_text", "excludes": ["<|channel|>"]}
    thoughts = {
        "type": "tag",
        "begin": "<|channel|>analysis<|message|>",
        "content": text,
        "end": "<|end|><|start|>assistant",
    }
    calls = _list(tags, "<|start|>assistant", parallel=parallel)
    final = {
        "type": "tag",
        "begin": "<|channel|>final<|message|>",
        "content": text,
        "end": "<|return|>",
    }
    answer = calls if at_least_one else {"type": "or", "elements": [calls, final]}
    return {"type": "sequence", "elements": [{"type": "optional", "content": thoughts}, answer]}


#: The styles by name.
STYLES: dict[str, Style] = {
    "hermes": Style(
        '<tool_call>\n{"name": "',
        '", "arguments": ',
        "}\n</tool_call>",
        partial(_one_by_one, "<tool_call>", "\n"),
    ),
    "llama": Style('{"name": "', '", "parameters": ', "}", partial(_one_by_one, '{"name": ', "; ")),
    "mistral": Style('{"name": "', '", "arguments": ', "}", _mistral, "[TOOL_CALLS]["),
    "harmony": Style(
        "<|channel|>commentary to=functions.",
        " <|constrain|>json<|message|>",
        "<|call|>",
        _harmony,
    ),
}


@checked
def tool_calls(
    tools: Iterable[Described],
    *,
    style: str = "hermes",
    at_least_one: bool = False,
    parallel: bool = True,
    limits: Limits = LIMITS,
) -> Grammar:
    """The answers in which a model may call tools; ``parse`` returns the calls.

    ``tools``         functions with annotated parameters, or descriptions with a JSON Schema:
                      ``{"name": "f", "parameters": {…}}``, the same inside ``"function"``, or with
                      ``input_schema``.
    ``style``         ``hermes``, ``llama``, ``mistral`` or ``harmony``.
    ``at_least_one``  the answer is a call, or several; without it free text may come before,
                      between and after the calls, or instead of them.
    ``parallel``      several calls are allowed.

    A reasoning model's thoughts before the calls are not part of the grammar: give the compiled
    constraint to ``Reasoning``. Only ``harmony`` contains its own.

    Raises: WorkbenchError for an unknown style, no tool, two tools of one name, or a tool without
            types; ParseError, BuildError of a schema; LimitError.
    """
    if style not in STYLES:
        hint, _ = suggestion(style, STYLES, f"the styles are {', '.join(STYLES)}")
        raise ArgumentValueError(f"there is no style {style!r} of tool calls", hint)
    offered = [Tool.of(tool) for tool in tools]
    if not offered:
        raise ArgumentValueError("expected at least one tool", "give functions or JSON Schemas")
    names = [tool.name for tool in offered]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise WorkbenchError(f"two tools have the name {twice!r}", "rename one of them")
    chosen = STYLES[style]
    form = chosen.whole([chosen.tag(tool) for tool in offered], at_least_one, parallel)
    tag = {"type": "structural_tag", "format": form}
    grammar = Grammar.from_structural_tag(tag, limits=limits, name="tool calls")
    return dataclasses.replace(grammar, value=chosen.calls)
