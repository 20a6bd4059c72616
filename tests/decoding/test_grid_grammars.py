"""The grammar of a comparison over a dataset: recorded with its options, and read again."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from workbench.decoding.grid import GridSettings, given, grammar_record, grid_tasks
from workbench.decoding.sampling import Sampling
from workbench.grammar.grammar import Grammar
from workbench.tasks.datasets import Row

SCHEMA = '{"properties": {"a": {"$ref": "b"}, "c": {"format": "date"}}, "required": ["a", "c"]}'
TWO_CLASSES = """\
from dataclasses import dataclass
@dataclass
class A:
    x: int
@dataclass
class B:
    y: int
"""
MACHINE = "initial even\nfinal even\neven -> odd : a\nodd -> even : a"
TAG = '{"type": "structural_tag", "format": {"type": "const_string", "value": "a"}}'

#   grammar                                                        texts with different answers
GRAMMARS = [
    (Grammar.from_kbnf("start ::= 'a' | 'b';"),                    ["a", "c"]),
    (Grammar.from_kbnf("x ::= 'a'; y ::= 'b' x;", "y"),            ["ba", "a"]),
    (Grammar.from_gbnf('root ::= "a" | "b"'),                      ["a", "c"]),
    (Grammar.from_text('root ::= "a"\nb ::= "b"', "gbnf", "b"),    ["b", "a"]),
    (Grammar.from_lark('start: "a" | "b"'),                        ["a", "c"]),
    (Grammar.from_regex("a|b"),                                    ["a", "c"]),
    (Grammar.from_machine(MACHINE),                                ["aa", "a"]),
    (Grammar.from_structural_tag(TAG),                             ["a", "b"]),
    (Grammar.from_dataclass(TWO_CLASSES),                          ["B(y=1)", "A(x=1)"]),
    (Grammar.from_text(TWO_CLASSES, "dataclass", "A"),             ["A(x=1)", "B(y=1)"]),
    (Grammar.from_dataclass(TWO_CLASSES, style="json"),            ['{"y": 1}', "B(y=1)"]),
    (Grammar.from_json_schema('{"type": "array"}'),                ["[1,  2]", "1"]),
    (Grammar.from_json_schema('{"type": "array"}', whitespace="compact"), ["[1,2]", "[1, 2]"]),
    (
        Grammar.from_json_schema(
            SCHEMA, order="any", format="annotation", documents={"b": {"type": "null"}}
        ),
        ['{"c": "soon", "a": null}', '{"a": 1, "c": "soon"}'],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("grammar", "texts"), GRAMMARS, ids=[repr(row[0]) for row in GRAMMARS])
def test_a_record_reads_the_grammar_again(grammar: Grammar, texts: list[str]) -> None:
    assert [grammar.accepts(text) for text in texts] == [True, False]
    settings = GridSettings(contenders=("automaton",), grammar=grammar_record(grammar))
    (task,), bad = grid_tasks([Row(1, {"prompt": "x"})], {}, settings)
    assert not bad
    again = Grammar.from_text(**json.loads(json.dumps(task.arguments["grammar"])))
    assert again.options == grammar.options
    assert [again.accepts(text) for text in texts] == [True, False]
    # a column of the results has plain values
    assert {type(value) for value in given(task.arguments).values()} == {str}


def test_a_row_has_the_settings_that_change_something() -> None:
    rows = [Row(0, {"prompt": "x"})]
    grammar = {"text": "a", "notation": "regex", "start": "start"}

    def arguments(sampling: Sampling) -> dict[str, Any]:
        settings = GridSettings(contenders=("automaton",), grammar=grammar, sampling=sampling)
        (task,), bad = grid_tasks(rows, {}, settings)
        assert not bad
        assert settings.as_record().items() >= sampling.as_record().items()
        return dict(task.arguments)

    plain = arguments(Sampling(0.5))
    assert plain["temperature"] == 0.5
    assert "top_k" not in plain, "files of earlier versions are continued"
    sampling = Sampling(0.5, 3, 0.9, 0, 0.1, 1.2)
    assert Sampling.of(arguments(sampling), 7) == replace(sampling, seed=7)
    assert Sampling.of(plain, 7) == Sampling(0.5, seed=7)
