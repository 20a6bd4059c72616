"""Exported programs: valid Python with the whole grammar and the engine's calls."""

from __future__ import annotations

import ast
import json
from typing import Any

import pytest

import workbench as wb
from workbench.grammar.export.registry import PROGRAMS, export, export_notes
from workbench.grammar.grammar import Grammar
from workbench.grammar.tool_calls import tool_calls

NESTED = "start ::= '(' start? ')' | '\"' | \"'\" | '\\n\\\\';"
SCHEMA = '{"type": "object", "properties": {"a": {"type": "integer"}}}'

#   engine            of a regex           of nested rules      of a JSON Schema
CALLS = [
    ("transformers", "wb.Grammar.from_regex(GRAMMAR)", "wb.Grammar.from_kbnf(GRAMMAR)", "wb.Grammar.from_json_schema(GRAMMAR)"),
    ("vllm", "StructuredOutputsParams(grammar=GRAMMAR)", "StructuredOutputsParams(grammar=GRAMMAR)", "StructuredOutputsParams(json=json.loads(SCHEMA))"),
    ("llguidance", "grammar_from_regex(REGEX)", "grammar_from_lark(GRAMMAR)", "grammar_from_json_schema(SCHEMA)"),
    ("xgrammar", "compile_grammar(GRAMMAR)", "compile_grammar(GRAMMAR)", "compile_json_schema(SCHEMA)"),
    ("guidance", "guidance.regex(REGEX,", "guidance.lark(GRAMMAR,", "guidance.json(schema=SCHEMA,"),
    ("outlines", "Regex(REGEX)", "CFG(GRAMMAR)", "JsonSchema(SCHEMA)"),
]  # fmt: skip


def constants(program: str) -> dict[str, str]:
    """The constants at the head of a program."""
    return {
        node.targets[0].id: node.value.value
        for node in ast.parse(program).body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    }


def test_every_program_has_a_row() -> None:
    assert [row[0] for row in CALLS] == list(PROGRAMS)


@pytest.mark.parametrize(("engine", "of_regex", "of_rules", "of_schema"), CALLS, ids=list(PROGRAMS))
def test_a_program_has_the_grammar_and_the_call_of_its_engine(
    engine: str, of_regex: str, of_rules: str, of_schema: str
) -> None:
    grammars = (
        (Grammar.from_regex(r"[a-c]{2}\n\\"), of_regex),
        (Grammar.from_kbnf(NESTED), of_rules),
        (Grammar.from_json_schema(SCHEMA), of_schema),
    )
    for grammar, call in grammars:
        program = export(grammar, engine, model="my/model", prompt='a "prompt"\n')
        assert call in program
        found = constants(program)
        assert (found["MODEL"], found["PROMPT"]) == ("my/model", 'a "prompt"\n')
        assert len({"GRAMMAR", "REGEX", "SCHEMA"} & set(found)) == 1


def test_the_grammar_in_a_program_means_the_same() -> None:
    grammar = Grammar.from_kbnf(NESTED)
    for engine, read in (("xgrammar", Grammar.from_gbnf), ("outlines", Grammar.from_lark)):
        again = read(constants(export(grammar, engine))["GRAMMAR"])
        for text in ("()", '(")', "((\n\\))", "(", ")(", ""):
            assert again.accepts(text) == grammar.accepts(text)


TAG = '{"type": "structural_tag", "format": {"type": "const_string", "value": "a"}}'


def test_a_structural_tag_is_passed_unchanged() -> None:
    grammar = Grammar.from_structural_tag(TAG)
    for engine, call in (
        ("xgrammar", "compile_structural_tag(TAG)"),
        ("vllm", "StructuredOutputsParams(structural_tag=TAG)"),
    ):
        program = export(grammar, engine)
        assert call in program
        assert constants(program)["TAG"] == TAG
    assert "wb.Grammar.from_structural_tag(GRAMMAR)" in export(grammar, "transformers")
    assert export(grammar, "structural_tag") == TAG


def test_a_request_has_a_structural_tag() -> None:
    calls = tool_calls([{"name": "f", "parameters": {}}], at_least_one=True)
    for grammar in (calls, Grammar.from_kbnf(NESTED)):
        body = json.loads(export(grammar, "request", model="my/model", prompt="hi"))
        assert body["model"] == "my/model"
        assert body["messages"] == [{"role": "user", "content": "hi"}]
        again = Grammar.from_structural_tag(body["response_format"])
        for text in (
            "()",
            "((\n\\))",
            "(",
            '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
        ):
            assert again.accepts(text) == grammar.accepts(text)


TWO_CLASSES = """\
from dataclasses import dataclass
@dataclass
class A:
    x: int
@dataclass
class B:
    y: int
"""
#   grammar                                                  how it is read again
STARTS = [
    (Grammar.from_kbnf("a ::= 'x';", "a"),                   'from_kbnf(GRAMMAR, start="a")'),
    (Grammar.from_gbnf('root ::= "x"'),                      "from_gbnf(GRAMMAR)"),
    (Grammar.from_text('root ::= "x"', "gbnf"),              "from_gbnf(GRAMMAR)"),
    (Grammar.from_text('start ::= "x"', "gbnf"),             'from_gbnf(GRAMMAR, root="start")'),
    (Grammar.from_text(TWO_CLASSES, "dataclass", "A"),       'from_text(GRAMMAR, "dataclass", start="A")'),
    (Grammar.from_dataclass(TWO_CLASSES, style="json"),      'from_dataclass(GRAMMAR, style="json")'),
    (Grammar.from_gbnf('a ::= "x"', "a"),                    'from_gbnf(GRAMMAR, root="a")'),
]  # fmt: skip


@pytest.mark.parametrize(("grammar", "call"), STARTS, ids=[row[1] for row in STARTS])
def test_start_symbols(grammar: Grammar, call: str) -> None:
    assert call in export(grammar, "transformers")


PERSON = {
    "type": "object",
    "properties": {"a": {"type": "array", "items": {"type": "integer"}}, "b": {"$ref": "other"}},
    "required": ["a", "b"],
    "additionalProperties": False,
}
VALUE = {"a": [1, 2], "b": "2024-01-31"}
#   options of the schema                                       a text that only they accept
READ_WITH = [
    ({"whitespace": "one space"},                               json.dumps(VALUE)),
    ({"whitespace": "compact"},                                 json.dumps(VALUE, separators=(",", ":"))),
    ({"order": "any"},                                          '{"b": "2024-01-31", "a": []}'),
    ({"format": "annotation"},                                  '{"a": [], "b": "soon"}'),
    ({"whitespace": "compact", "order": "any", "format": "annotation"}, '{"b":"","a":[]}'),
]  # fmt: skip


@pytest.mark.parametrize(("options", "text"), READ_WITH, ids=[str(row[0]) for row in READ_WITH])
def test_our_program_reads_the_schema_with_its_options(options: dict[str, Any], text: str) -> None:
    documents = {"other": {"format": "date", "type": "string"}}
    grammar = Grammar.from_json_schema(PERSON, documents=documents, **options)
    program = export(grammar, "transformers")
    (call,) = (line for line in program.splitlines() if line.startswith("grammar = "))
    names = {"wb": wb, "GRAMMAR": constants(program)["GRAMMAR"]}
    exec(call, names)
    again = names["grammar"]
    assert isinstance(again, Grammar)
    texts = [text, json.dumps(VALUE), json.dumps(VALUE, indent=2), '{"b": "", "a": []}']
    assert [again.accepts(one) for one in texts] == [grammar.accepts(one) for one in texts]
    assert again.accepts(text)
    assert again.options == grammar.options


#   engine         compact                                       one space
LAYOUTS = [
    ("vllm",       '"backend": "guidance", "disable_any_whitespace": True', '"backend": "xgrammar", "disable_any_whitespace": True'),
    ("llguidance", '"item_separator": ",", "key_separator": ":"', '"item_separator": ", ", "key_separator": ": "'),
    ("xgrammar",   'separators=(",", ":")',                      'separators=(", ", ": ")'),
    ("guidance",   'separators=(",", ":")',                      'separators=(", ", ": ")'),
    ("outlines",   'whitespace_pattern=""',                      "# the engine chooses the white space: the layout 'one space' is left out"),
]  # fmt: skip


@pytest.mark.parametrize(("engine", "compact", "one_space"), LAYOUTS, ids=[r[0] for r in LAYOUTS])
def test_other_engines_get_the_layout_or_a_note(engine: str, compact: str, one_space: str) -> None:
    for style, code in (("compact", compact), ("one space", one_space)):
        grammar = Grammar.from_json_schema(SCHEMA, whitespace=style)
        program = export(grammar, engine)
        ast.parse(program)
        assert code in program
        assert bool(export_notes(grammar, engine)) == code.startswith("#")
    assert compact not in export(Grammar.from_json_schema(SCHEMA), engine)


def test_other_engines_get_the_indentation_or_a_note() -> None:
    grammar = Grammar.from_json_schema(SCHEMA, whitespace="indent 4")
    assert "indent=4" in export(grammar, "xgrammar")
    assert export_notes(grammar, "llguidance") == (
        "the engine chooses the white space: the layout 'indent 4' is left out",
    )
    tabs = Grammar.from_json_schema(SCHEMA, whitespace="indent tab", spellings="any")
    assert [note.partition(":")[0] for note in export_notes(tabs, "xgrammar")] == [
        "the engine chooses the white space",
        "the engine chooses the spellings",
    ]


def test_other_engines_note_what_they_do_not_have() -> None:
    documents = {"other": {"type": "string"}}
    grammar = Grammar.from_json_schema(
        PERSON, order="any", format="annotation", documents=documents
    )
    notes = export_notes(grammar, "xgrammar")
    assert [note.partition(":")[0] for note in notes] == [
        "the engine chooses the order of properties",
        "the engine decides what 'format' means",
        "the engine has only this schema",
    ]
    program = export(grammar, "xgrammar")
    assert program.startswith("".join(f"# {note}\n" for note in notes))
    for notation in ("transformers", "gbnf", "request"):  # these have all options
        assert export_notes(grammar, notation) == ()
