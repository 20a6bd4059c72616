"""Unique items with many values: no array with equal items, and the usual ones without."""

from __future__ import annotations

import json
from itertools import product
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.oracles.schema_oracle import validates
from workbench.base.errors import BuildError
from workbench.grammar.grammar import Grammar
from workbench.schema.algebra.subschemas import Algebra
from workbench.schema.normal_form import all_distinct
from workbench.schema.schema_reader import Document, schema_source
from workbench.schema.write_arrays import (
    _CLASSES,
    _FEATURES,
    _OF_PROPERTIES,
    MAX_ITEMS,
    Feature,
    class_of_values,
)


def unique(items: Any, **keywords: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, "uniqueItems": True, **keywords}


STRING = {"type": "string"}
NAMED: dict[str, Any] = {
    "type": "object",
    "properties": {"name": STRING, "size": {"type": "number"}},
    "required": ["name"],
}
STRINGS = Grammar.from_json_schema(unique(STRING), whitespace="compact")
OBJECTS = Grammar.from_json_schema(unique(NAMED), whitespace="compact")
WORDS = [
    [],
    ["a"],
    ["Java", "Python", "Cloud Computing", "Machine Learning"],
    ["Note 1", "Note 2"],
    [".min.js", ".min.css"],
    ["index.html", "index.js", "index.css"],
    ["CS0168", "CS0219"],
    ["node", "npm"],
    ["", "é"],
]


@pytest.mark.parametrize("words", WORDS, ids=repr)
def test_usual_arrays_are_accepted(words: list[str]) -> None:
    assert STRINGS.accepts(json.dumps(words, separators=(",", ":")))
    objects = [{"name": word} for word in words]
    if words != WORDS[5]:  # of objects only the first and the last character are compared
        assert OBJECTS.accepts(json.dumps(objects, separators=(",", ":")))


def test_equal_strings_are_not_accepted_however_they_are_written() -> None:
    for one, other in product(['"a"', r'"\u0061"'], repeat=2):
        assert not STRINGS.accepts(f"[{one},{other}]")
    assert not STRINGS.accepts('["x","a","y","a"]')


@settings(deadline=None)
@given(st.lists(st.text(st.sampled_from("abé1 "), max_size=4), max_size=5))
def test_no_array_with_equal_strings(words: list[str]) -> None:
    if STRINGS.accepts(json.dumps(words, separators=(",", ":"))):
        assert all_distinct([*words])


sizes = st.sampled_from((0, 1, 7, 1.5, 2.5))


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(
        st.fixed_dictionaries(
            {"name": st.sampled_from(("a", "b", "ab"))}, optional={"size": sizes}
        ),
        max_size=4,
    )
)
def test_no_array_with_equal_objects(items: list[Any]) -> None:
    if OBJECTS.accepts(json.dumps(items, separators=(",", ":"))):
        assert validates({"uniqueItems": True}, items)


#: Members before and after the name ``e``.
_MANY: dict[str, Any] = {name: {"type": "integer"} for name in "abcdefghi"} | {"e": STRING}


@pytest.mark.parametrize("others", [False, STRING])
@pytest.mark.parametrize("name", ["e", "other"])
def test_members_around_the_name(name: str, others: Any) -> None:
    """Items that differ under a required name are accepted, whichever members they have besides."""
    if name not in _MANY and others is False:
        pytest.skip("no item has the name")
    items = {"type": "object", "properties": _MANY, "required": [name]}
    grammar = Grammar.from_json_schema(
        unique({**items, "additionalProperties": others}), whitespace="compact"
    )

    def written(*pairs: tuple[str, str]) -> str:
        objects = [
            {one: value if one == name else 1 for one in (*_MANY, "other") if one in (*rest, name)}
            for rest, value in pairs
        ]
        return json.dumps(objects, separators=(",", ":"))

    for one, other in product(["", "a", "i", "bh", "abcdfghi"], repeat=2):
        assert grammar.accepts(written((one, "x"), (other, "y")))
        assert not grammar.accepts(written((one, "x"), (other, "x")))


INTEGERS = Grammar.from_json_schema(unique({"type": "integer"}), whitespace="compact")


def test_nearly_all_arrays_of_small_integers_are_accepted() -> None:
    for items in ([0, 7], [7, 70], [1, 8], [-1, 1], [1, 2, 3, 4, 5], [7, 70, 700]):
        assert INTEGERS.accepts(json.dumps(items, separators=(",", ":")))
    pairs = [f"[{one},{other}]" for one in range(130) for other in range(130) if one != other]
    assert sum(map(INTEGERS.accepts, pairs)) > 0.999 * len(pairs)
    assert not any(INTEGERS.accepts(f"[{one},{one}]") for one in range(130))


@settings(deadline=None)
@given(st.lists(st.integers(-30, 30) | st.integers(-(10**9), 10**9), max_size=6))
def test_no_array_with_equal_integers(items: list[int]) -> None:
    accepted = INTEGERS.accepts(json.dumps(items, separators=(",", ":")))
    assert not accepted or len({*items}) == len(items) <= MAX_ITEMS


def test_numbers_of_one_value_are_equal() -> None:
    grammar = Grammar.from_json_schema(unique({"type": "number"}), whitespace="compact")
    assert grammar.accepts("[10,20,30,1.5]")
    for text in ("[1,1.0]", "[0,-0]", "[1.5,1.50]", "[3,10,3]"):
        assert not grammar.accepts(text)


def test_counts_hold() -> None:
    grammar = Grammar.from_json_schema(unique(STRING, minItems=2, maxItems=3), whitespace="compact")
    texts = ["[" + ",".join(f'"{c}"' for c in "abcd"[:count]) + "]" for count in range(5)]
    assert [grammar.accepts(text) for text in texts] == [False, False, True, True, False]


def test_a_note_says_which_arrays_are_accepted() -> None:
    (note,) = STRINGS.notes
    assert note.message == (
        "uniqueItems is narrower here: arrays have at most 5 items, and one feature must put all "
        "items into different groups (6 groups for each feature): the first, third or last character "
        "or the length of a text, or the remainder of an integer divided by one of 7, 11, 13, 29; other "
        "arrays are refused, even if their items differ"
    )
    assert "enum" in note.hint
    (note,) = Grammar.from_json_schema(unique(STRING, maxItems=6)).notes
    assert "at most 5 items (maxItems is 6)" in note.message
    (note,) = Grammar.from_json_schema(unique(STRING, maxItems=3)).notes
    assert note.message.startswith("uniqueItems is narrower here: one feature must put all items")
    keyed = {"type": "object", "properties": {"id": STRING}, "required": ["id"]}
    (note,) = Grammar.from_json_schema(unique(keyed)).notes
    assert "or the length of the property 'id'; other arrays are refused" in note.message
    assert not Grammar.from_json_schema(unique({"enum": [1, 2]})).notes


@pytest.mark.parametrize("property_", [None, "a"])
@pytest.mark.parametrize("name", _FEATURES)
def test_the_classes_of_a_feature_are_disjoint(name: str, property_: str | None) -> None:
    algebra = Algebra(Document(schema_source({})))
    texts = ["".join(word) for n in range(4) for word in product("aé1", repeat=n)]
    values: list[Any] = [None, True, False, [], [1], *range(-9, 9), 0.5, -0.25, *texts]
    values += [{"a": value} for value in values] + [{}, {"b": 1}]
    classes = [
        class_of_values(algebra, Feature(name, property_), number) for number in range(_CLASSES)
    ]
    for value in values:
        assert sum(one.contains(value) for one in classes) <= 1, value


#   schema, words of the message
REFUSED = [
    (unique({}), "objects that declare strings or numbers"),
    (unique({"type": "array"}), "objects that declare"),
    (unique({"type": "object"}), "objects that declare"),
    (unique(STRING, minItems=6), "up to five"),
    (unique(STRING, contains={"const": "a"}), "up to five"),
    ({"not": unique(STRING)}, "cannot be distinguished"),
    ({"oneOf": [unique(STRING), unique({"type": ["string", "null"]})]}, "cannot be distinguished"),
]


@pytest.mark.parametrize(("schema", "words"), REFUSED)
def test_others_are_refused_by_name(schema: Any, words: str) -> None:
    with pytest.raises(BuildError, match=words) as caught:
        Grammar.from_json_schema(schema)
    assert caught.value.kind == "unsupported_schema"
    assert "uniqueItems" in caught.value.message


@pytest.mark.parametrize(
    ("items", "features"), [(STRING, len(_FEATURES)), ({"$ref": "#/$defs/x"}, len(_OF_PROPERTIES))]
)
def test_arrays_of_equal_items_share_their_rules(items: Any, features: int) -> None:
    once = Grammar.from_json_schema({**unique(items), "$defs": {"x": NAMED}}).tree
    twice = {"properties": {name: unique(items) for name in "ab"}, "$defs": {"x": NAMED}}
    tree = Grammar.from_json_schema(twice).tree
    assert once is not None
    assert tree is not None
    by_features = [rule.name for rule in tree.rules if "_by_" in rule.name]
    assert len(by_features) == features
    assert len(tree.rules) < 1.1 * len(once.rules)


@pytest.mark.parametrize(("high", "most"), [(1, 999), (2, 46), (3, 18), (None, 10)])
def test_sets_of_values_are_counted_before_the_values_are_listed(
    high: int | None, most: int
) -> None:
    bound = {} if high is None else {"maxItems": high}
    for count in (most, most + 1):
        items = {"type": "integer", "minimum": 1, "maximum": count}
        grammar = Grammar.from_json_schema(unique(items, **bound))
        assert not grammar.notes
        assert grammar.has_phrases == (count > most and high != 1)  # a single item differs anyway


VALUES = [*(f"value {number}" for number in range(30)), 1, 2.5, 100, True, None, "é", 'q"']


@pytest.mark.parametrize("bounds", [{}, {"minItems": 2}, {"minItems": 1, "maxItems": 12}])
def test_items_of_many_values_are_exact(bounds: dict[str, int]) -> None:
    schema = unique({"enum": VALUES}, **bounds)
    grammar, random = Grammar.from_json_schema(schema), Random(4)
    assert grammar.has_phrases
    assert not grammar.notes
    accepted = 0
    for _ in range(1_500):
        count = random.choice([0, 1, 2, 3, 5, 12, 13, len(VALUES)])
        items = random.sample(VALUES, count) if random.random() < 0.6 else None
        items = random.choices([*VALUES, "another"], k=count) if items is None else items
        valid = validates(schema, items)
        assert grammar.accepts(json.dumps(items)) == valid, items
        accepted += valid
    assert accepted > 300
    assert not grammar.accepts("[1, 1.0]")
    assert not grammar.accepts('["\\u00e9", "é"]')
