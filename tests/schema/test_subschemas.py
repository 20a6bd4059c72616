"""Subschemas to sets: drafts, references, order of names, notes and errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.base.errors import BuildError, ParseError, SourceError
from workbench.schema.algebra import exclusive, simplify
from workbench.schema.algebra.subschemas import Algebra
from workbench.schema.schema_reader import Document, Json, schema_source


def algebra_of(schema: Any) -> Algebra:
    return Algebra(Document(schema_source(schema)))


def fits(schema: Any, value: Json) -> bool:
    return algebra_of(schema).root.values.contains(value)


def draft(number: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"$schema": f"http://json-schema.org/{number}/schema#", **schema}


OF_A_DRAFT = [
    (draft("draft-04", {"minimum": 1, "exclusiveMinimum": True}), 1, False, "a boolean sharpens"),
    (draft("draft-04", {"const": 1}), 2, True, "draft 4 has no const"),
    (draft("draft-06", {"exclusiveMinimum": 1}), 1, False, "a number is a bound"),
    (draft("draft-07", {"items": [True, False]}), [1, 2], False, "a list is for the first items"),
    (draft("draft-07", {"items": [True], "additionalItems": False}), [1, 2], False, "the others"),
    (draft("draft-07", {"additionalItems": False}), [1], True, "which are no others without items"),
    (draft("draft-07", {"dependencies": {"a": ["b"]}}), {"a": 1}, False, "names"),
    (
        draft("draft-07", {"dependencies": {"a": {"maxProperties": 1}}}),
        {"a": 1, "b": 1},
        False,
        "a",
    ),
    (draft("draft-07", {"prefixItems": [False]}), [1], True, "draft 7 has no prefixItems"),
    (draft("draft/2020-12", {"prefixItems": [False]}), [1], False, "2020-12 has"),
    (draft("draft/2020-12", {"dependencies": {"a": ["b"]}}), {"a": 1}, True, "and no dependencies"),
    ({"items": [False]}, [1], False, "without a draft both spellings are read"),
    ({"prefixItems": [False]}, [1], False, "without a draft both spellings are read"),
    ({"type": "string", "nullable": True}, None, True, "as OpenAPI has it"),
    (draft("draft-07", {"type": "string", "nullable": True}), None, False, "no draft has it"),
    (
        draft("draft-07", {"definitions": {"a": {}}, "$ref": "#/definitions/a", "type": "null"}),
        1,
        True,
        "draft 7 ignores everything next to a reference",
    ),
    (
        draft("draft/2019-09", {"$defs": {"a": {}}, "$ref": "#/$defs/a", "type": "null"}),
        1,
        False,
        "later drafts do not",
    ),
]


@pytest.mark.parametrize(("schema", "value", "expected", "why"), OF_A_DRAFT)
def test_keywords_of_each_draft(schema: Any, value: Json, expected: bool, why: str) -> None:
    assert fits(schema, value) == expected, why


REFERENCES = [
    ({"$ref": "#/$defs/a~1b/0", "$defs": {"a/b": [{"type": "null"}]}}, "an escaped pointer"),
    ({"$ref": "#/$defs/%C3%A9", "$defs": {"é": {"type": "null"}}}, "a fragment is percent-encoded"),
    ({"$ref": "#n", "$defs": {"a": {"$anchor": "n", "type": "null"}}}, "an anchor"),
    (
        {"$id": "http://x.y/s", "$ref": "n", "$defs": {"a": {"$id": "n", "type": "null"}}},
        "the name of a schema inside, relative to its own",
    ),
    (
        {"$id": "http://x.y/s", "$ref": "http://x.y/s#/$defs/a", "$defs": {"a": {"type": "null"}}},
        "its own name in full",
    ),
    (
        {
            "$ref": "#/$defs/in",
            "$defs": {
                "a": False,
                "in": {"$id": "in", "$ref": "#/$defs/a", "$defs": {"a": {"type": "null"}}},
            },
        },
        "a pointer is read in the schema that has a name, not in the document",
    ),
    (
        {"other": {"a": {"$id": "n"}}, "$ref": "n", "$defs": {"a": {"$id": "n", "type": "null"}}},
        "a value of an unknown keyword is not a schema if a schema has that name",
    ),
    ({"$ref": "n", "other": {"a": {"$id": "n", "type": "null"}}}, "and else it is one"),
    ({"$dynamicRef": "#n", "$defs": {"a": {"$dynamicAnchor": "n", "type": "null"}}}, "one meaning"),
    (
        {
            "$dynamicRef": "#/$defs/a",
            "$defs": {
                "a": {"$dynamicAnchor": "n", "type": "null"},
                "b": {"$id": "b", "$dynamicAnchor": "n"},
            },
        },
        "a pointer has one meaning, whatever anchors there are",
    ),
    (
        draft(
            "draft/2019-09",
            {"$recursiveRef": "#/$defs/a", "$defs": {"a": {"$id": "a", "type": "null"}}},
        ),
        "no schema has this anchor",
    ),
]


@pytest.mark.parametrize(("schema", "why"), REFERENCES)
def test_targets_of_references(schema: Any, why: str) -> None:
    assert fits(schema, None), why
    assert not fits(schema, 1), why


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sets(st.integers(0, 5)), min_size=1, max_size=9))
def test_exactly_one_of_many_options(options: list[set[int]]) -> None:
    schema = {"oneOf": [{"enum": [*held, *map(str, held)]} if held else False for held in options]}
    instances = algebra_of(schema).root.raw
    for number in range(6):
        expected = sum(number in held for held in options) == 1
        assert instances.numbers.contains(number) is expected
        assert instances.texts.contains(str(number)) is expected


def test_evaluated_items_of_one_option_next_to_an_option_that_allows_all() -> None:
    schema = {"anyOf": [{"items": {"type": "string"}}, True], "unevaluatedItems": False}
    assert fits(schema, ["a"])
    assert not fits(schema, [1])
    assert not fits({"not": schema}, ["a"])


def test_a_schema_may_refer_to_itself() -> None:
    tree = {"type": "object", "properties": {"next": {"$ref": "#"}}, "additionalProperties": False}
    assert fits(tree, {"next": {"next": {}}})
    assert not fits(tree, {"next": {"next": {"other": {}}}})


def test_a_reference_and_its_target_are_one_set() -> None:
    algebra = algebra_of(
        {"properties": {"a": {"$ref": "#/$defs/s"}, "b": {"$ref": "#/$defs/s"}}, "$defs": {"s": {}}}
    )
    (shape,) = algebra.root.values.objects
    assert shape.properties["a"] is shape.properties["b"]


ORDERS = [
    ({"properties": {"b": {}, "a": {}}}, "ba", "as they are declared"),
    ({"required": ["c", "a"], "properties": {"b": {}, "a": {}}}, "bac", "required ones at the end"),
    (
        {"properties": {"b": {}}, "allOf": [{"properties": {"a": {}, "b": {}}}, {"required": "c"}]},
        None,
        "required must be a list",
    ),
    (
        {"required": ["a"], "allOf": [{"properties": {"b": {}}}, {"properties": {"a": {}}}]},
        "ba",
        "a name that is only required stands where another declares it",
    ),
    (
        {"allOf": [{"properties": {"x": {}}}], "properties": {"b": {}}},
        "bx",
        "own properties come first",
    ),
]


@pytest.mark.parametrize(("schema", "order", "why"), ORDERS)
def test_names_keep_their_declared_order(schema: Any, order: str | None, why: str) -> None:
    if order is None:
        with pytest.raises(ParseError):
            assert algebra_of(schema).root.values
        return
    first = algebra_of(schema).root.values.objects[0]
    assert "".join(first.properties) == order, why


REFUSED = [
    ({"properties": {"a": {"$ref": "other.json"}}}, "/properties/a/$ref", "nothing is fetched"),
    ({"$ref": "#/$defs/none"}, "/$ref", "there is no schema"),
    ({"$ref": "#"}, "/$ref", "refers only to itself"),
    ({"anyOf": [{"type": "null"}, {"$ref": "#"}]}, "/anyOf", "refers to itself"),
    ({"propertyNames": {"$ref": "#"}}, "/propertyNames", "refers to itself"),
    ({"$id": "http://[", "$ref": "x"}, "/$ref", "nothing is fetched"),
    ({"$ref": "http://[#x"}, "/$ref", "nothing is fetched"),
    ({"items": {"not": {"uniqueItems": True}}}, "/items/not/uniqueItems", "two equal items"),
    ({"properties": {"a": {"pattern": r"(.)\1"}}}, "/properties/a/pattern", "no automaton"),
    ({"format": "idn-hostname"}, "/format", "idn-hostname"),
    (draft("draft-03", {}), "/$schema", "draft 3"),
    ({"type": 5}, "/type", "the name of a type"),
    ({"type": "any"}, "/type", "array, boolean"),
    ({"type": []}, "/type", "the name of a type"),
    ({"type": "string", "nullable": "yes"}, "/nullable", "true or false"),
    ({"if": 5}, "/if", "a schema"),
    ({"allOf": []}, "/allOf", "at least one"),
    ({"items": {"minLength": -1}}, "/items/minLength", "0 or above"),
    ({"multipleOf": 0}, "/multipleOf", "above 0"),
    ({"required": True}, "/required", "a list of names"),
    ({"properties": {"a": 1}}, "/properties/a", "a schema"),
    (draft("draft-07", {"exclusiveMinimum": True}), "/exclusiveMinimum", "a number"),
]


@pytest.mark.parametrize(("schema", "pointer", "words"), REFUSED)
def test_error_names_the_keyword_and_its_pointer(schema: Any, pointer: str, words: str) -> None:
    with pytest.raises(SourceError) as caught:
        visit(algebra_of(schema))
    assert caught.value.message.startswith(f"{pointer}: ")
    assert words in caught.value.message
    assert caught.value.kind in ("unsupported_schema", "schema")
    assert isinstance(caught.value, BuildError) == (caught.value.kind == "unsupported_schema")


def visit(algebra: Algebra) -> None:
    """Computes every set, as when rules are written."""
    waiting, seen = [algebra.root], set()
    while waiting:
        lazy = waiting.pop()
        if lazy.key not in seen:
            seen.add(lazy.key)
            for shape in lazy.values.objects:
                waiting += [*shape.properties.values(), *(held for _, held in shape.extras)]
            for row in lazy.values.arrays:
                waiting += [*row.prefix, row.rest]


NOTES = [
    ({"$schema": "https://example.com/my-own"}, ["/$schema"], "an unknown draft"),
    (
        {"x-note": 1, "title": "t", "type": "null"},
        [],
        "annotations, and words meant to be one's own",
    ),
    ({"additonalProperties": False}, ["/additonalProperties"], "an unknown keyword"),
    ({"format": "flag"}, ["/format"], "an unknown format is an annotation"),
    ({"type": "integer", "format": "int32"}, ["/format"], "no format is about numbers"),
    (draft("draft-04", {"const": 1}), ["/const"], "a later draft's keyword"),
    (
        draft("draft-07", {"$ref": "#/definitions/a", "type": "null", "definitions": {"a": {}}}),
        ["/type"],
        "ignored next to a reference",
    ),
]


@pytest.mark.parametrize(("schema", "pointers", "why"), NOTES)
def test_notes_about_keywords_without_effect(schema: Any, pointers: list[str], why: str) -> None:
    algebra = algebra_of(schema)
    assert algebra.root.values.contains("anything") or schema.get("type")
    assert [note.pointer for note in algebra.notes] == pointers, why


EMPTY = [
    ({"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}}, "ever deeper"),
    ({"type": "array", "minItems": 1, "items": {"$ref": "#"}}, "ever deeper"),
    ({"type": "object", "minProperties": 2, "maxProperties": 1}, "no count is both"),
    (
        {
            "type": "object",
            "minProperties": 3,
            "properties": {"a": {}},
            "propertyNames": {"const": 1},
        },
        "no name is a number",
    ),
    ({"type": "array", "contains": False}, "nothing to contain"),
    ({"type": "array", "contains": True, "maxContains": 0}, "one at least, and none"),
    (
        {"type": "array", "items": {"type": "null"}, "contains": {"type": "string"}},
        "not of the kind",
    ),
    ({"allOf": [{"type": "string"}, {"type": "number"}]}, "no value is both"),
    ({"type": "object", "oneOf": [True, True]}, "two are not one"),
]


@pytest.mark.parametrize(("schema", "why"), EMPTY)
def test_contradictions_are_empty(schema: Any, why: str) -> None:
    algebra = algebra_of(schema)
    assert algebra.is_empty(algebra.root), why
    values = algebra.root.values
    assert not values.objects
    assert not values.arrays


def test_sets_do_not_depend_on_the_emptiness_test_in_progress() -> None:
    # "options" is computed during the emptiness test of "deep": its option that requires a
    # "deep" must not be dropped because that test assumes that "deep" is empty
    options = [
        {"type": "object", "required": [name], "properties": {name: {"$ref": "#/$defs/deep"}}}
        for name in ("a", "b", "c", "d")
    ]
    algebra = algebra_of(
        {
            "$ref": "#/$defs/deep",
            "$defs": {
                "deep": {
                    "type": "object",
                    "required": ["x"],
                    "properties": {"x": {"$ref": "#/$defs/options"}},
                },
                "options": {"anyOf": [*options, {"type": "object", "required": ["e"]}]},
            },
        }
    )
    assert not algebra.is_empty(algebra.root)
    root = algebra.root.values
    assert root.contains({"x": {"e": 1}})
    assert root.contains({"x": {"d": {"x": {"b": {"x": {"e": 1}}}}}})
    assert not root.contains({"x": {"d": {"x": {}}}})


@pytest.mark.parametrize("keyword", ["oneOf", "anyOf"])
def test_options_are_compared_with_those_of_the_same_tag(
    keyword: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = Counter[str]()

    def counted(name: str, compare: Callable[..., bool]) -> Callable[..., bool]:
        def comparison(*pair: object) -> bool:
            compared[name] += 1
            return compare(*pair)

        return comparison

    for module, name in ((exclusive, "have_disjoint_tags"), (simplify, "is_within")):
        monkeypatch.setattr(module, name, counted(name, getattr(module, name)))
    options = [
        {"type": "object", "properties": {"kind": {"const": f"k{i}"}}, "required": ["kind"]}
        for i in range(400)
    ]
    values = algebra_of({keyword: options}).root.values
    assert len(values.objects) == 400
    assert values.contains({"kind": "k399"})
    assert not values.contains({"kind": "k400"})
    assert compared.total() < 400


def test_contains_without_possible_items_is_empty() -> None:
    schema = {"type": "array", "contains": True, "not": {"contains": True}}
    assert not algebra_of(schema).root.values.arrays


def test_unique_items_that_cannot_be_equal() -> None:
    algebra = algebra_of(
        {
            "type": "array",
            "prefixItems": [{"type": "string"}, {"type": "null"}],
            "items": False,
            "uniqueItems": True,
        }
    )
    (shape,) = algebra.root.values.arrays
    assert shape.unique is None
    assert shape.high == 2
