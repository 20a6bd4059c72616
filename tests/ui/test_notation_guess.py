"""What a text looks like: another notation, or a document with a schema inside."""

from __future__ import annotations

import pytest

from workbench.app.ui.author import lint_grammar
from workbench.app.ui.grammar_view import compile_grammar
from workbench.app.ui.handlers import Handlers
from workbench.grammar.gallery import Example, load_gallery
from workbench.grammar.notation_guess import other_notation
from workbench.grammar.notations import Notation

#   text                              chosen      looks like   because
TEXTS = [
    ("[0-9]+",                        "kbnf",     "regex",     "a class with a range"),
    (r"\d{4}-\d\d",                   "kbnf",     "regex",     "backslashes outside strings"),
    (r'\{"name": "[a-z]+"\}',         "kbnf",     "regex",     "the same next to strings"),
    ("(foo)+d",                       "kbnf",     "regex",     "no rule, and signs of both"),
    ("at: [0-9]+",                    "kbnf",     "regex",     "one colon is no rule"),
    ("sta",                           "kbnf",     None,        "the beginning of a rule's name"),
    ("start :",                       "kbnf",     None,        "the beginning of a rule's sign"),
    ("start = [0-9]",                 "kbnf",     None,        "a rule, with the other sign"),
    ("start ::= [0-9]+;",             "kbnf",     None,        "a rule with a mistake"),
    ("'a' | 'b'",                     "kbnf",     None,        "strings: the rule's name is forgotten"),
    ("(* a note",                     "kbnf",     None,        "a comment not ended yet"),
    ("[0-9",                          "kbnf",     None,        "no regex either"),
    ("start ::= 'a' | #'[b-d]+';",    "regex",    "kbnf",      "a rule is a regex of letters, which is never intended"),
    ("start ::= ('a'",                "regex",    "kbnf",      "a rule that is not even a regex"),
    ("(* note *)\nstart ::= 'a';",    "regex",    "kbnf",      "a rule below a comment"),
    ("x = [0-9]+",                    "regex",    None,        "a text with an equals sign"),
    ("std::vector",                   "regex",    None,        "a name with colons"),
    ("boolean: ((true)|(false))",     "regex",    None,        "one colon before brackets is no rule"),
    ('root ::= [a-z]+ | "b"',         "kbnf",     "gbnf",      "a class, and no end of the rule"),
    ('root ::= "a" b\nb ::= "c"',     "kbnf",     "gbnf",      "a rule after one that has no end"),
    ('start ::= "a"',                 "kbnf",     None,        "nothing tells: the end is to be written"),
    ('start ::= "a"',                 "gbnf",     None,        "nothing tells"),
    ('start ::= "a;" # b;\nc ::= "d"', "kbnf",   "gbnf",      "semicolons in strings and comments"),
    ("start ::= 'a';",                "gbnf",     "kbnf",      "the end of a rule"),
    ("start ::= #'[a-z]'",            "gbnf",     "kbnf",      "a regex in quotes"),
    ('start: "a" | b',                "gbnf",     "lark",      "a rule with one colon"),
    ("%import common.WS",             "kbnf",     "lark",      "a statement"),
    ('?value.2: /[a-z]+/',            "regex",    "lark",      "a regex between slashes"),
    ('list{x}: "[" x "]"',            "regex",    "lark",      "a template"),
    ('start ::= "a"',                 "lark",     "kbnf",      "the sign of two colons"),
    ("sta",                           "lark",     None,        "the beginning of a rule's name"),
    ('{"type": "string"}',            "lark",     "json_schema", "a key and its colon"),
    ('{"type": "structural_tag"}',    "json_schema", "structural_tag", "the type of a structural tag"),
    ('{"type": "string"}',            "structural_tag", "json_schema", "the type of a schema"),
    ('{"for',                         "structural_tag", None,  "the beginning of an object"),
    ('{"type"',                       "json_schema", None,     "the beginning of an object"),
    ("[0-9]+",                        "json_schema", "regex",  "a class with a range"),
    ("@dataclass\nclass A:\n    x: int", "kbnf",  "dataclass", "a decorator"),
    ("class A:\n    x: int",          "json_schema", "dataclass", "a class"),
    ("from dataclasses import",       "dataclass", None,       "the beginning of a definition"),
    (r"\d{4}-\d\d",                   "gbnf",     "regex",     "backslashes outside strings"),
    ("p -> q : a",                    "regex",    "machine",   "an edge"),
    ("# odd\ninitial p\nfinal p q",   "kbnf",     "machine",   "states"),
    ('<?xml version="1.0"?>\n<structure><type>fa</type></structure>', "kbnf", "machine", "a file of JFLAP"),
    ("a->b",                          "regex",    None,        "an arrow between words"),
    ("initial p",                     "machine",  None,        "the beginning of a machine"),
    ("p -",                           "machine",  None,        "the beginning of an edge"),
    ("[0-9]+",                        "machine",  "regex",     "a class with a range"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "chosen", "looks"), [t[:3] for t in TEXTS], ids=[t[3] for t in TEXTS]
)
def test_what_a_text_looks_like(text: str, chosen: str, looks: str | None) -> None:
    assert other_notation(text, Notation(chosen)) == looks


@pytest.mark.parametrize("example", load_gallery().values(), ids=lambda example: example.name)
def test_no_example_looks_like_another(example: Example) -> None:
    its = Notation(example.notation)
    assert other_notation(example.text, its) is None
    if its is not Notation.REGEX:
        assert {other_notation(example.text, one) for one in Notation} == {None, its}


def test_compile_record_has_the_guess(handlers: Handlers) -> None:
    assert compile_grammar(handlers, {"text": "[0-9]+", "notation": "kbnf"})["looks"] == "regex"
    assert compile_grammar(handlers, {"text": "a ::= 'b';", "notation": "regex"})["looks"] == "kbnf"
    assert compile_grammar(handlers, {"text": "[0-9]+", "notation": "regex"})["looks"] == ""


SCHEMA = '{"type": "object", "properties": {"city": {"type": "string"}}}'
TOOL = f'{{"name": "weather", "parameters": {SCHEMA}}}'
FUNCTION = f'{{"type": "function", "function": {TOOL}}}'


@pytest.mark.parametrize(
    ("text", "pointer"), [(TOOL, "/parameters"), (FUNCTION, "/function/parameters")]
)
def test_compile_record_has_the_schema(handlers: Handlers, text: str, pointer: str) -> None:
    """It has a row of its own, and no problem repeats it."""
    record = compile_grammar(handlers, {"text": text, "notation": "json_schema"})
    schemas = [{"pointer": pointer, "text": SCHEMA}]
    assert record["inside"] == {"kind": "a tool definition", "schemas": schemas, "more": 0}
    assert not [each for each in record["problems"] if pointer in each["message"] + each["hint"]]
    linted = lint_grammar(handlers, {"text": TOOL, "notation": "json_schema"})
    assert not [each for each in linted["problems"] if "/parameters" in each["message"]]
    assert compile_grammar(handlers, {"text": text, "notation": "kbnf"})["inside"] is None
    assert compile_grammar(handlers, {"text": SCHEMA, "notation": "json_schema"})["inside"] is None


def test_lines_of_the_schema_of_a_tool_move_to_the_margin(handlers: Handlers) -> None:
    text = (
        '{\n  "name": "f",\n  "parameters": {\n    "type": "object",\n    "properties": {}\n  }\n}'
    )
    inside = compile_grammar(handlers, {"text": text, "notation": "json_schema"})["inside"]
    assert inside["schemas"][0]["text"] == '{\n  "type": "object",\n  "properties": {}\n}'


def test_many_schemas_are_counted_in_the_record(handlers: Handlers) -> None:
    text = f"[{', '.join([TOOL] * 20)}]"
    inside = compile_grammar(handlers, {"text": text, "notation": "json_schema"})["inside"]
    assert [len(inside["schemas"]), inside["more"]] == [8, 12]
    long = SCHEMA.replace('"string"', f'"string", "description": "{"x" * 24_000}"')
    text = f"[{', '.join([TOOL.replace(SCHEMA, long)] * 2)}]"
    inside = compile_grammar(handlers, {"text": text, "notation": "json_schema"})["inside"]
    assert [len(inside["schemas"]), inside["more"]] == [1, 1]
