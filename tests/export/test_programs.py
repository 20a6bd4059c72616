"""Exported programs: valid Python with the whole grammar and the engine's calls."""

from __future__ import annotations

import ast
import json

import pytest

from workbench.grammar.export.registry import PROGRAMS, export
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
def test_programs(engine: str, of_regex: str, of_rules: str, of_schema: str) -> None:
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


#   grammar                                                  how it is read again
STARTS = [
    (Grammar.from_kbnf("a ::= 'x';", "a"),                   'from_kbnf(GRAMMAR, "a")'),
    (Grammar.from_gbnf('root ::= "x"'),                      "from_gbnf(GRAMMAR)"),
    (Grammar.from_gbnf('a ::= "x"', "a"),                    'from_gbnf(GRAMMAR, "a")'),
]  # fmt: skip


@pytest.mark.parametrize(("grammar", "call"), STARTS, ids=[row[1] for row in STARTS])
def test_start_symbols(grammar: Grammar, call: str) -> None:
    assert call in export(grammar, "transformers")
