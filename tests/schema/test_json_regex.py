"""The regex of JSON with limited nesting (Koo's section 5.1), here and in Python."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.automata.build import regex_dfa
from workbench.automata.operations import equivalent
from workbench.base.errors import LimitError
from workbench.base.source import Source
from workbench.grammar.gallery import load_gallery
from workbench.schema.json_schema import json_regex
from workbench.schema.string_sets import StringSet
from workbench.syntax.regex.parser import parse_regex

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3).filter(lambda text: text.isprintable()),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("ab", max_size=2), inner),
    max_leaves=4,
)  # fmt: skip


def depths(value: Any) -> tuple[int, int]:
    """The nesting depths of objects and arrays in a value."""
    if not isinstance(value, dict | list):
        return 0, 0
    inside = [depths(item) for item in (value.values() if isinstance(value, dict) else value)]
    objects = max((depth for depth, _ in inside), default=0)
    arrays = max((depth for _, depth in inside), default=0)
    return objects + isinstance(value, dict), arrays + isinstance(value, list)


@pytest.mark.slow
@settings(max_examples=60)
@given(values, st.integers(0, 2), st.integers(0, 2), st.sampled_from([None, 1]))
def test_nesting_limits(value: Any, objects: int, arrays: int, indent: int | None) -> None:
    deep, wide = depths(value)
    found = re.fullmatch(
        json_regex(objects=objects, arrays=arrays), json.dumps(value, indent=indent)
    )
    assert (found is not None) is (deep <= objects and wide <= arrays)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "accepted", "because"),
    [
        ('{"a": [1, {"b": null}]}', True, "two objects, one array"),
        ('{"a": {"b": {}}}', False, "three objects"),
        ("[[]]", False, "two arrays"),
        ('{"a": 1,}', False, "a comma at the end"),
        ("[1 2]", False, "no comma"),
        ("01", False, "no numeral"),
        (r'"\ud83d"', False, "half a pair"),
        (' "a" ', True, "white space around it"),
    ],
)
def test_two_objects_and_an_array(text: str, accepted: bool, because: str) -> None:
    pattern = json_regex(objects=2, arrays=1)
    assert (re.fullmatch(pattern, text) is not None) is accepted, because
    assert regex_dfa(parse_regex(Source(pattern, "json"))).accepts(text.encode()) is accepted


def test_strings_as_in_schemas() -> None:
    pattern = json_regex(objects=0, arrays=0, space="")
    strings = regex_dfa(parse_regex(Source(pattern.split("|-?")[0].removeprefix("(?:"), "string")))
    assert equivalent(strings, StringSet.everything().machine())


def test_the_example_of_the_gallery() -> None:
    text = load_gallery()["json_truncated"].text
    pattern = json_regex(objects=1, arrays=1, space=r"\x20?")
    assert re.sub(r"\s", "", text) == f"(?x){pattern}"
    read = regex_dfa(parse_regex(Source(text, "example")))
    assert equivalent(read, regex_dfa(parse_regex(Source(pattern, "json"))))


def test_error_too_deep() -> None:
    with pytest.raises(LimitError, match="unrolled"):
        json_regex(objects=9, arrays=9)
    with pytest.raises(LimitError, match="unrolled"):
        json_regex(objects=10_000, arrays=0)
    with pytest.raises(ValueError, match="at least 0 as 'objects'"):
        json_regex(objects=-1, arrays=0)
