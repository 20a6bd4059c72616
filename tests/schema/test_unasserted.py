"""Keywords that are left out of a schema, by ``unasserted``."""

from __future__ import annotations

import json

import pytest

import workbench as wb
from workbench.base.errors import BuildError, WorkbenchError

_REFUSED = {
    "type": "array",
    "items": {"type": "array", "items": {"type": "integer"}},
    "uniqueItems": True,
}


def test_a_refused_keyword_is_left_out_with_a_note() -> None:
    with pytest.raises(BuildError) as caught:
        wb.Grammar.from_json_schema(_REFUSED)
    assert "unasserted=['uniqueItems']" in caught.value.hint
    grammar = wb.Grammar.from_json_schema(_REFUSED, unasserted=["uniqueItems"])
    assert grammar.accepts("[[1], [1]]")
    assert not grammar.accepts('[["a"]]')
    (note,) = [advice for advice in grammar.notes if advice.kind == "keyword_unasserted"]
    assert "'uniqueItems' is not asserted" in note.message
    assert grammar.source.text[note.span.start : note.span.end] == '"uniqueItems"'


#: A schema, the keywords left out, a text that is accepted then, and one that is refused still.
_CASES = (
    ({"type": "string", "pattern": "^a$", "maxLength": 3}, ["pattern"], '"b"', '"abcd"'),
    ({"type": "integer", "multipleOf": 3, "minimum": 1}, ["multipleOf"], "4", "0"),
    ({"type": "string", "format": "date"}, ["format"], '"a"', "1"),
    ({"type": "integer", "not": {"const": 3}}, ["not"], "3", '"3"'),
    (
        {"type": "object", "properties": {"a": {"minLength": 2}}, "minProperties": 2},
        ["minProperties", "minLength"],
        '{"a": "b"}',
        "[]",
    ),
    (
        {"$ref": "#/$defs/a", "$defs": {"a": {"type": "integer", "maximum": 3}}},
        ["maximum"],
        "4",
        "{}",
    ),
)


@pytest.mark.parametrize(("schema", "words", "accepted", "refused"), _CASES)
def test_other_keywords_hold(
    schema: dict[str, object], words: list[str], accepted: str, refused: str
) -> None:
    assert not wb.Grammar.from_json_schema(schema).accepts(accepted)
    grammar = wb.Grammar.from_json_schema(schema, unasserted=words)
    assert grammar.accepts(accepted)
    assert not grammar.accepts(refused)


def test_only_present_keywords_have_notes() -> None:
    grammar = wb.Grammar.from_json_schema({"type": "string"}, unasserted=["pattern", "format"])
    assert not [advice for advice in grammar.notes if advice.kind == "keyword_unasserted"]


def test_options_are_written_in_one_way() -> None:
    text = json.dumps({"type": "string", "pattern": "^a$", "maxLength": 3})
    for given in (["pattern", "maxLength"], ("maxLength", "pattern"), "pattern, maxLength"):
        grammar = wb.Grammar.from_text(text, "json_schema", unasserted=given)
        assert grammar.options == {"unasserted": "maxLength,pattern"}
        again = wb.Grammar.from_text(text, "json_schema", **grammar.options)
        assert again.accepts('"bcdef"')


@pytest.mark.parametrize("word", ["type", "$ref", "uniqueitems"])
def test_error_for_other_words(word: str) -> None:
    with pytest.raises(WorkbenchError, match="cannot be left unasserted") as caught:
        wb.Grammar.from_json_schema({}, unasserted=[word])
    assert "uniqueItems" in caught.value.hint
