"""The commands that four newcomers tried with the README alone, and what each must do.

What a command does in detail is tested in the file of the command; a row here is the command as it
was written, with its exit status and a part of its output.
"""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.test_cli import needs_model, run
from workbench.base.resources import BUILTIN_MODEL

SCHEMA = {
    "type": "object",
    "properties": {
        "sku": {"type": "string", "maxLength": 8},
        "when": {"type": "string", "format": "date-time"},
        "count": {"type": "integer", "minimum": 1},
    },
    "required": ["sku", "when"],
    "additionalProperties": False,
}
FILES = {
    "order.schema.json": json.dumps(SCHEMA),
    "tool.schema.json": json.dumps({"name": "order", "parameters": SCHEMA}),
    "function.schema.json": json.dumps(
        {"type": "function", "function": {"name": "f", "parameters": SCHEMA}}
    ),
    "p.kbnf": "start ::= 'a' | 'b';\n",
    "todo.gbnf": 'root ::= "- [" [ x] "] " [a-z]+\n',
    "big.gbnf": 'root ::= "a"{1,5000}\n',
    "under.gbnf": 'root ::= my_item\nmy_item ::= "a"\n',
    "w3c.gbnf": '/* comment */\nroot ::= "a"\n',
    "r.jsonl": '{"question": "Ada, as JSON: "}\n',
    "answers/s1.regex": "(b*ab*a)*b*",
    "answers/s2.fsa": "initial even\nfinal even\neven -> odd : a\nodd -> even : a\neven -> even : b\nodd -> odd : b\n",
    "answers/s3.fsa": "initial even\n",
}


class Row(NamedTuple):
    """A command, its exit status, and a part of stdout and of stderr."""

    command: str
    status: int
    stdout: str = ""
    stderr: str = ""


#: The engineer with a service of vLLM or transformers.
ENGINEER = [
    Row("convert order.schema.json --whitespace compact --to transformers", 0, 'from_json_schema(GRAMMAR, whitespace="compact")'),
    Row("convert order.schema.json --order any --formats annotation --to transformers", 0, 'order="any", format="annotation"'),
    Row("convert order.schema.json --whitespace compact --to vllm", 0, '"disable_any_whitespace": True'),
    Row("convert order.schema.json --whitespace compact --to xgrammar", 0, 'separators=(",", ":")'),
    Row("convert order.schema.json --whitespace compact --to llguidance", 0, '"whitespace_flexible": False'),
    Row("convert order.schema.json --whitespace compact --to outlines", 0, 'whitespace_pattern=""'),
    Row("convert order.schema.json --whitespace compact --to guidance", 0, 'separators=(",", ":")'),
    Row("convert order.schema.json --whitespace 'one space' --to outlines", 0, "# the engine", "note: the engine chooses the white space"),
    Row("convert order.schema.json --whitespace compact --to gbnf", 0, "root ::="),
    Row("convert order.schema.json --to request", 0, '"response_format"'),
    Row("convert order.schema.json --to openai", 2, "", "choose one of kbnf, gbnf"),
    Row("check --json-schema order.schema.json --whitespace one_space '{}'", 2, "", "choose 'auto' or 'any' or 'one space' or 'compact'"),
    Row("check --json-schema order.schema.json --style compact '{}'", 2, "", "use --whitespace"),
    Row("""check --json-schema order.schema.json '{"sku": "a", "when": "2024-01-01T23:59:60Z"}'""", 1, "rejected"),
    Row("""check --json-schema order.schema.json '{"sku": "a", "when": "2024-02-29T23:59:59Z"}'""", 0, "accepted"),
    Row("lint --json-schema order.schema.json", 0),
    *(
        Row(command, status, "", "its schema is at /parameters\nhint: read that part with at='/parameters' or --at /parameters")
        for command, status in (
            ("check --json-schema tool.schema.json 3", 0),
            ("convert tool.schema.json --to gbnf", 0),
            ("mask --vocab tokenizer --json-schema tool.schema.json", 0),
            ("generate --json-schema tool.schema.json --max-tokens 8 --seed 1", 0),
            ("draw --json-schema tool.schema.json --machine stack --format dot", 0),
        )
    ),
    Row("lint --json-schema tool.schema.json", 1, "(wrapped_schema)"),
    Row("check --json-schema tool.schema.json --at /parameters 3", 1, "rejected"),
    Row("convert tool.schema.json --at /parameters --to gbnf", 0, "sku"),
    Row("check --json-schema function.schema.json 3", 2, "", "this is a tool definition; its schema is at /function/parameters: read that part"),
    Row("check --json-schema function.schema.json --at /function/parameters 3", 1, "rejected"),
    Row("check --gbnf tool.schema.json 3", 2, "", "this looks like a tool definition: read it with from_json_schema or --json-schema"),
    Row("check --kbnf todo.gbnf 3", 2, "", "this looks like a GBNF grammar: read it with from_gbnf or --gbnf"),
    Row("check --lark p.kbnf 3", 2, "", "this looks like a KBNF grammar: read it with from_kbnf or --kbnf"),
    Row("check --regex-file p.kbnf 3", 1, "rejected", "note: this regex matches the text of a KBNF grammar, not what it describes"),
    Row("check --kbnf p.kbnf --at /x a", 2, "", "--at: options of a JSON Schema"),
    Row("mask --vocab tokenizer --json-schema order.schema.json --after '{'", 0, "tokens may come next"),
    Row("mask --vocab tokenizer/tokenizer.json --regex a", 2, "", "expected the directory of a model"),
    Row("draw --vocab tokenizer --regex ab --machine tokens --format dot", 0, "digraph"),
    Row("audit order.schema.json --engines nobody", 2, "", "there is no engine 'nobody' to audit"),
    Row("generate --regex a --model tokenizer", 2, "", "expected config.json in tokenizer"),
    Row("serve --no-open --model tokenizer", 2, "", "expected config.json in tokenizer"),
    Row("serve --no-open --model /nonexistent", 2, "", "expected the directory of a model, not '/nonexistent'"),
]  # fmt: skip
#: The lecturer.
LECTURER = [
    Row("grade even_a answers", 1, "s1.regex,regex,refused,0.000,1.000,", "3 answers: 1 right, 1 refused, 1 unreadable"),
    Row("grade nope answers", 2, "", "there is no exercise 'nope'"),
    Row("draw --regex '(a|b)*abb' --format tikz", 0, "tikz"),
    Row("draw --example anbn --machine stack --format tikz", 0, "tikz"),
    Row("draw --regex '(a|b)*abb' --machine nfa", 2, "", "characters"),
]  # fmt: skip
#: The author of grammars.
AUTHOR = [
    Row("check --gbnf todo.gbnf '- [ ] a'", 2, "", "write -- before a text that begins with -, as in: -- '- [ ] a'"),
    Row("check --gbnf todo.gbnf -- '- [ ] a'", 0, "accepted"),
    Row("check --gbnf todo.gbnf --json -- '- [ ] a' 'x'", 1, '"accepted": true'),
    Row("lint --gbnf big.gbnf --seconds 0.1", 1, "'\"a\"{1,5000}'"),
    Row("lint --gbnf big.gbnf --seconds 0.1", 1, "llama.cpp refuses a repetition of 2,000 times or more"),
    Row("check --gbnf under.gbnf a", 0, "accepted"),
    Row("check --gbnf w3c.gbnf a", 2, "", "error: "),
]  # fmt: skip
#: The researcher.
RESEARCHER = [
    Row("compare --dataset r.jsonl --column prompt=question --kbnf p.kbnf --methods automaton --seeds 1 --out a.parquet", 0, "automaton"),
    Row("compare --dataset r.jsonl --column prompt=question --json-schema order.schema.json --whitespace compact --methods automaton --seeds 1 --max-tokens 4 --out b.parquet", 0, "automaton"),
    Row("compare --dataset r.jsonl --column prompt=question --methods automaton --whitespace compact --out c.parquet", 2, "", "--whitespace has no effect without a grammar"),
    Row("evaluate", 2, "", "in a checkout, python -m lab evaluate"),
]  # fmt: skip
JOURNEYS = [*ENGINEER, *LECTURER, *AUTHOR, *RESEARCHER]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the newcomers, and a folder that has a tokenizer alone."""
    folder = tmp_path_factory.mktemp("newcomer")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    (folder / "tokenizer").mkdir()
    for path in BUILTIN_MODEL.glob("tokenizer*.json"):
        shutil.copy(path, folder / "tokenizer")
    return folder


@pytest.mark.slow
@needs_model
@pytest.mark.parametrize("row", JOURNEYS, ids=[row.command for row in JOURNEYS])
def test_a_newcomers_command(row: Row, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "200")
    result = run(*shlex.split(row.command))
    assert result.exit_code == row.status, result.output
    assert row.stdout in result.stdout
    assert row.stderr in result.stderr
    if row.status == 2:
        assert result.stdout == ""
    for internal in ("copies_", "Traceback"):
        assert internal not in result.output
