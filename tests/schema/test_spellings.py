"""Other spellings of names, constants, formats and integers, as an option."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.oracles import literal_oracle
from tests.oracles.brute_force import check_masks
from workbench.base.errors import WorkbenchError
from workbench.grammar.grammar import Grammar
from workbench.schema.json_literals import all_but_words_machine, words_machine
from workbench.schema.string_sets import StringSet

CHARACTERS = 'ab/"\\\n\x7fü€🍸'
words = st.lists(st.text(CHARACTERS, max_size=3), min_size=1, max_size=4)


@settings(max_examples=60, deadline=None)
@given(words, st.text(CHARACTERS, max_size=3))
def test_every_spelling_of_a_word_and_of_no_other(listed: list[str], text: str) -> None:
    exactly = words_machine(listed, any_spelling=True)
    others = all_but_words_machine(listed, any_spelling=True)
    for spelling in literal_oracle.spellings(text):
        assert exactly.accepts(spelling) == (text in listed)
        assert others.accepts(spelling) == (text not in listed)


def test_spellings_of_a_format() -> None:
    dates = StringSet.format("date")
    assert dates is not None
    written = b'"2024-02-2\\u0039"'
    assert not dates.machine().accepts(written)
    assert dates.in_any_spelling.machine().accepts(written)


def respelled(value: Any, random: Random) -> str:
    """A JSON text of a value, each string in some spelling, integers with some zeros."""
    if isinstance(value, str):
        return random.choice([*literal_oracle.spellings(value)]).decode()
    if isinstance(value, dict):
        pairs = (f"{respelled(k, random)}: {respelled(v, random)}" for k, v in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{', '.join(respelled(each, random) for each in value)}]"
    if type(value) is int:
        return f"{value}{random.choice(['', '.0', '.00'])}"
    return json.dumps(value)


NAMES = ("a", 'q"', "a/b")
leaves = st.sampled_from([None, 0, 1, 12, "a", "a/b", 'q"', "2024-02-29"])
held = st.one_of(
    st.sampled_from(
        [{"type": "integer"}, {"type": "string"}, {"type": "string", "format": "date"}]
    ),
    st.builds(lambda value: {"const": value}, leaves),
    st.builds(lambda values: {"enum": values}, st.lists(leaves, min_size=1, max_size=3)),
    st.just({"type": "integer", "minimum": 1}),
    st.just({"type": "array", "items": {"enum": ["a", "a/b", 1]}, "uniqueItems": True}),
)
schemas = st.builds(
    lambda properties, required, more: {
        "type": "object",
        "properties": properties,
        "required": sorted(required & properties.keys()),
        "additionalProperties": more,
    },
    st.dictionaries(st.sampled_from(NAMES), held, min_size=1),
    st.sets(st.sampled_from(NAMES)),
    st.sampled_from([True, False, {"const": 'q"'}]),
)
instances = st.dictionaries(
    st.sampled_from([*NAMES, "b"]), leaves | st.lists(st.sampled_from(["a", "a/b", 1]), max_size=3)
)


@pytest.mark.slow
@pytest.mark.parametrize("order", ["declared", "any"])
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(schemas, instances, st.integers(0, 9))
def test_a_respelled_instance_has_the_verdict_of_the_validator(
    order: str, schema: dict[str, Any], instance: dict[str, Any], seed: int
) -> None:
    checker = jsonschema.Draft202012Validator(
        schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
    )
    declared = [*schema["properties"], *instance]
    instance = dict(sorted(instance.items(), key=lambda pair: declared.index(pair[0])))
    grammar = Grammar.from_json_schema(schema, spellings="any", order=order)
    text = respelled(instance, Random(seed))
    assert json.loads(text) == instance
    assert grammar.accepts(text) == checker.is_valid(instance), text


CONST = {"const": '🍸 "x"\\/'}
#   schema, text, usual, any, why
CASES = [
    (CONST, '"🍸 \\"x\\"\\\\/"', True, True, "as programs write it"),
    (CONST, '"\\ud83c\\udf78 \\u0022x\\"\\\\\\/"', False, True, "a pair, a quote, a slash"),
    (CONST, '"🍸"', False, False, "another text"),
    ({"properties": {"a": {"const": 1}}}, '{"\\u0061": 2}', False, False, "a declared name"),
    ({"properties": {"a": {"const": 1}}}, '{"\\u0061": 1}', False, True, "a declared name"),
    ({"not": {"const": "a"}}, '"\\u0061"', False, False, "the excluded text"),
    ({"type": "integer", "minimum": 2}, "67.0", False, True, "an integer with a fraction of zeros"),
    ({"type": "integer", "minimum": 2}, "67.5", False, False, "no integer"),
    ({"type": "integer", "minimum": 2}, "20e-1", False, False, "the exponents are not regular"),
    ({"enum": [1, 2]}, "2.00", True, True, "a listed number has them always"),
    ({"format": "date"}, '"2024-02-2\\u0039"', False, True, "a format"),
    ({"type": "string", "format": "date"}, '"2024-02-3\\u0030"', False, False, "no date"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "text", "usual", "chosen", "why"), CASES)
def test_the_option_decides(schema: Any, text: str, usual: bool, chosen: bool, why: str) -> None:
    assert Grammar.from_json_schema(schema).accepts(text) == usual, why
    grammar = Grammar.from_json_schema(schema, spellings="any")
    assert grammar.accepts(text) == chosen, why
    assert grammar.options == {"spellings": "any"}
    assert grammar.for_generation.options["spellings"] == "any"


def _texts(value: Any) -> Iterator[bytes]:
    for name in literal_oracle.spellings("a"):
        for word in literal_oracle.spellings(value):
            yield b"{%b:%b}" % (name, word)


def test_masks_by_every_text() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"enum": ["/", "b"]}},
        "required": ["a"],
        "additionalProperties": False,
    }
    texts = [*_texts("/"), *_texts("b")]
    grammar = Grammar.from_json_schema(schema, spellings="any", whitespace="compact")
    check_masks(grammar, texts, [b"\\u", b"0061", b'":"', b'"}', b"\\/", b"00", b'{"'])


def test_error_for_an_unknown_choice() -> None:
    with pytest.raises(WorkbenchError, match="has no spellings 'all'"):
        Grammar.from_json_schema(True, spellings="all")
