"""Tool calls from functions and JSON Schemas, in the styles of four families of models."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest

import workbench as wb
from workbench.grammar.tool_calls import STYLES, Tool, ToolCall


def weather(city: str, unit: Literal["celsius", "fahrenheit"] = "celsius") -> str:
    """The weather of a city."""
    return f"{city} {unit}"


def now() -> str:
    return ""


ADD = {
    "type": "function",
    "function": {
        "name": "math.add",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
        },
    },
}
TOOLS: list[Any] = [weather, now, ADD]
PARIS = ToolCall("weather", {"city": "Paris", "unit": "celsius"})
SUM = ToolCall("math.add", {"a": 1, "b": 2})


def written(style: str, *calls: ToolCall) -> str:
    """The calls as the chat template of a model writes them."""
    name = "parameters" if style == "llama" else "arguments"
    objects = [f'{{"name": "{one.name}", "{name}": {json.dumps(one.arguments)}}}' for one in calls]
    match style:
        case "hermes":
            return "\n".join(f"<tool_call>\n{one}\n</tool_call>" for one in objects)
        case "llama":
            return "; ".join(objects)
        case "mistral":
            return f"[TOOL_CALLS][{', '.join(objects)}]"
    return "<|start|>assistant".join(
        f"<|channel|>commentary to=functions.{one.name} <|constrain|>json<|message|>"
        f"{json.dumps(one.arguments)}<|call|>"
        for one in calls
    )


def free(style: str, text: str) -> str:
    """A text without a call."""
    return f"<|channel|>final<|message|>{text}<|return|>" if style == "harmony" else text


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("at_least_one", [False, True])
def test_calls_are_accepted_and_parsed(style: str, parallel: bool, at_least_one: bool) -> None:
    grammar = wb.tool_calls(TOOLS, style=style, at_least_one=at_least_one, parallel=parallel)
    for calls in [(PARIS,), (SUM,), (ToolCall("now", {}),)]:
        assert grammar.parse(written(style, *calls)) == calls
    several = written(style, PARIS, SUM)
    assert grammar.accepts(several) == parallel
    if parallel:
        assert grammar.parse(several) == (PARIS, SUM)
    text = free(style, "It is sunny.")
    assert grammar.accepts(text) == (not at_least_one)
    if not at_least_one:
        assert grammar.parse(text) == ()


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    "wrong",
    [
        ToolCall("wether", {"city": "Paris"}),
        ToolCall("weather", {}),
        ToolCall("weather", {"city": 3}),
        ToolCall("weather", {"city": "Paris", "unit": "kelvin"}),
        ToolCall("math.add", {"a": 1, "b": 2, "c": 3}),
        ToolCall("math.add", {"a": 1.5, "b": 2}),
    ],
)
def test_wrong_calls_are_rejected(style: str, wrong: ToolCall) -> None:
    for at_least_one in (False, True):
        grammar = wb.tool_calls(TOOLS, style=style, at_least_one=at_least_one)
        assert not grammar.accepts(written(style, wrong))


def test_free_text_around_a_call() -> None:
    grammar = wb.tool_calls(TOOLS)
    text = f"I look it up. {written('hermes', SUM)} And now?"
    assert grammar.parse(text) == (SUM,)
    assert not grammar.accepts("I call <tool_call>")
    once = wb.tool_calls(TOOLS, parallel=False)
    assert not once.accepts(text)
    assert once.accepts(text.removesuffix(" And now?"))


def test_harmony_may_think_before_the_call() -> None:
    grammar = wb.tool_calls(TOOLS, style="harmony", at_least_one=True)
    thought = "<|channel|>analysis<|message|>Add them.<|end|><|start|>assistant"
    assert grammar.parse(thought + written("harmony", SUM)) == (SUM,)
    assert not grammar.accepts(thought)


def test_thoughts_of_other_styles_come_before_the_grammar() -> None:
    tokens = [b"<think>", b"hm", b"</think>", written("hermes", ToolCall("now", {})).encode()]
    vocabulary = wb.Vocabulary((*tokens, b""), end=4)
    constraint = wb.compile(wb.tool_calls([now], at_least_one=True), vocabulary)
    thinking = wb.Reasoning(constraint)
    state = thinking.initial
    for token in range(4):
        assert token in thinking.mask(state)
        state = thinking.advance(state, token)
    assert thinking.is_final(state)


@pytest.mark.parametrize(
    "described",
    [
        {"name": "f", "input_schema": {"properties": {"x": {"type": "string"}}}},
        {"name": "f", "inputSchema": {"properties": {"x": {"type": "string"}}}},
        {"name": "f", "parameters": {"properties": {"x": {"type": "string"}}}},
    ],
)
def test_descriptions_of_several_makers(described: dict[str, Any]) -> None:
    tool = Tool.of(described)
    assert tool.name == "f"
    assert tool.parameters["properties"] == {"x": {"type": "string"}}
    assert tool.parameters["additionalProperties"] is False


def _untyped(x):  # type: ignore[no-untyped-def]
    return x


def _many(*xs: int) -> int:
    return sum(xs)


def _odd(x: complex) -> complex:
    return x


@pytest.mark.parametrize(
    ("tools", "options", "message"),
    [
        ([], {}, "at least one tool"),
        ([weather, weather], {}, "two tools have the name 'weather'"),
        ([weather], {"style": "hermse"}, "no style 'hermse'"),
        ([_untyped], {}, "the parameter 'x' has no type"),
        ([_many], {}, "any number of arguments"),
        ([_odd], {}, "_odd: "),
        ([{"parameters": {}}], {}, "expected the name of a tool, not None"),
        ([{"name": 'a"b'}], {}, "expected the name of a tool"),
        ([{"name": "a", "parameters": []}], {}, "expected a JSON Schema as 'parameters'"),
        ([3], {}, "expected an iterable of a function or a mapping as 'tools', not list"),
        ([{"name": "a", "parameters": {"type": "array"}}], {}, "of an object, not of 'array'"),
        ([int], {}, "int: its annotations cannot be read"),
        ([weather], {"style": None}, "expected a text as 'style', not None"),
        (weather, {}, "as 'tools', not function"),
        (ADD, {}, "as 'tools', not dict"),
        ("weather", {}, "as 'tools', not str"),
    ],
)
def test_error_for(tools: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(wb.WorkbenchError, match=message):
        wb.tool_calls(tools, **options)


def test_a_schema_of_several_parts_is_not_closed() -> None:
    parts = [{"properties": {"a": {"type": "integer"}}, "required": ["a"]}, {"required": ["b"]}]
    calls = wb.tool_calls([{"name": "f", "parameters": {"allOf": parts}}], style="llama")
    assert calls.accepts('{"name": "f", "parameters": {"a": 1, "b": 2}}')


@pytest.mark.parametrize(
    ("value", "message"),
    [("1" * 5000, "too many digits"), ("[" * 12_000 + "]" * 12_000, "too deeply")],
)
def test_error_of_a_value_that_python_cannot_hold(value: str, message: str) -> None:
    tree = {"$defs": {"t": {"type": ["integer", "array"], "items": {"$ref": "#/$defs/t"}}}}
    schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/t"}}, **tree}
    calls = wb.tool_calls([{"name": "f", "parameters": schema}])
    text = f'<tool_call>\n{{"name": "f", "arguments": {{"a": {value}}}}}\n</tool_call>'
    assert calls.accepts(text)
    with pytest.raises(wb.WorkbenchError, match=message):
        calls.parse(text)


def test_calls_in_bytes() -> None:
    calls = wb.tool_calls([now], style="llama")
    assert calls.parse('é {"name": "now", "parameters": {}}'.encode()) == (ToolCall("now", {}),)
