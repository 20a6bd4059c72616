"""The options of JSON Schema on the command line: other documents, order, formats."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from workbench.app.cli.main import app

SCHEMA = {"$ref": "https://example.test/pair"}
PAIR = {
    "$id": "https://example.test/pair",
    "properties": {"a": {"type": "null"}, "b": {"format": "date"}},
    "required": ["a", "b"],
    "additionalProperties": False,
    "type": "object",
}


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, ...]:
    named = {"schema.json": SCHEMA, "pair.json": PAIR}
    for name, schema in named.items():
        (tmp_path / name).write_text(json.dumps(schema))
    return "--json-schema", f"{tmp_path}/schema.json", "--document", f"{tmp_path}/pair.json"


def check(*arguments: str, text: str) -> Result:
    return CliRunner().invoke(app, ["check", *arguments], input=text)


DECLARED, TURNED = '{"a":null,"b":"2020-01-31"}', '{"b":"2020-01-31","a":null}'
#   options, text, exit status, why
CHECKED = [
    ((), DECLARED, 0, "the document says what is valid"),
    ((), TURNED, 1, "in declared order"),
    (("--order", "any"), TURNED, 0, "in any order"),
    ((), '{"a":null,"b":"soon"}', 1, "a format is asserted"),
    (("--formats", "annotation"), '{"a":null,"b":"soon"}', 0, "a format is an annotation"),
    (("--whitespace", "one space"), DECLARED, 1, "the layout holds too"),
    (("--whitespace", "1"), '{ "a" : null , "b" : "2020-01-31" }', 0, "runs of one character"),
    (("--whitespace", "1"), '{"a":null,  "b":"2020-01-31"}', 1, "a run of two characters"),
    (("--whitespace", "0"), DECLARED, 2, "a number is positive"),
    (("--spellings", "any"), DECLARED.replace("a", "\\u0061"), 0, "an escape of a letter"),
    ((), DECLARED.replace("a", "\\u0061"), 1, "names are written as programs write them"),
    (("--whitespace", "indent 2"), DECLARED, 1, "a line for each member"),
    (("--closed",), DECLARED, 0, "the object is closed already"),
]


@pytest.mark.parametrize(("options", "text", "status", "why"), CHECKED)
def test_options_decide_which_texts_are_accepted(
    files: tuple[str, ...], options: tuple[str, ...], text: str, status: int, why: str
) -> None:
    assert check(*files, *options, text=text).exit_code == status, why


def test_without_the_document_the_reference_is_an_error(files: tuple[str, ...]) -> None:
    result = check(*files[:2], text=DECLARED)
    assert result.exit_code == 2
    assert "nothing is fetched" in result.stderr
    assert "--document" in result.stderr


def test_a_reference_is_relative_to_the_file_of_the_schema(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    main, other = tmp_path / "folder" / "schema.json", tmp_path / "pair.json"
    main.write_text(json.dumps({"$ref": "../pair.json"}))
    other.write_text(json.dumps({"const": 1}))
    files = "--json-schema", str(main), "--document", str(other)
    assert check(*files, text="1").exit_code == 0
    assert check(*files, text="2").exit_code == 1


def test_an_unknown_choice_names_the_known_ones(files: tuple[str, ...]) -> None:
    result = check(*files, "--order", "random", text=DECLARED)
    assert result.exit_code == 2
    assert "'declared' or 'any'" in result.stderr


def test_other_notations_have_no_such_options() -> None:
    result = check("--regex", "a*", "--order", "any", text="a")
    assert result.exit_code == 2
    assert "options of a JSON Schema" in result.stderr


def test_commands_print_what_changes_the_language(tmp_path: Path) -> None:
    file = tmp_path / "schema.json"
    file.write_text('{"type": "array", "uniqueItems": true, "items": {"type": "string"}}')
    result = check("--json-schema", str(file), text='["a", "b"]')
    assert result.exit_code == 0
    assert result.stderr.startswith("note: uniqueItems is narrower here")
    result = check("--json-schema", str(file), "--unasserted", "uniqueItems", text='["a", "a"]')
    assert result.stderr == "note: 'uniqueItems' is not asserted, as was chosen\n"
    linted = CliRunner().invoke(app, ["lint", "--json-schema", str(file)])
    assert "keyword_narrowed" in linted.stdout
    assert not linted.stderr
