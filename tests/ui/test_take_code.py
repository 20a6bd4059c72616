"""The programs for download: they have the page's settings, and run as printed."""

from __future__ import annotations

import ast
import os
import re
import shlex
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.app.ui.model_registry import TOY
from workbench.app.ui.takeaway import (
    WRITERS,
    CodeRequest,
    Wanted,
    _left_out,
    client,
    python,
    shell,
    transformers,
)
from workbench.base.errors import WorkbenchError
from workbench.base.resources import BUILTIN_MODEL
from workbench.grammar.export.registry import quoted
from workbench.grammar.gallery import load_gallery

needs_model = pytest.mark.skipif(
    not (BUILTIN_MODEL / "model.safetensors").exists(), reason="the embedded model is not here"
)

GALLERY = load_gallery()

#: A grammar with all that quoting can go wrong on, one text of which fits into few tokens.
NASTY = 'start ::= #"[0-9]{2}\\\\\\"\'" | "\'\'\'" | \'"""\' | "λ\\n" | `$HOME`;'


def wanted(**sent: Any) -> Wanted:
    return Wanted.of(
        CodeRequest.of({"text": "[0-9]{2}:[0-9]{2}", "max_tokens": 12, **sent}), GALLERY
    )


#   text             written              why
QUOTED = [
    ("abc",          '"abc"',             "the house writes double quotes"),
    ("\\d+",         'r"\\d+"',           "raw where there is a backslash"),
    ('\\d"x',       "r'\\d\"x'",        "the other mark where one is in the text"),
    ("a\\",          "'a\\\\'",           "no raw text ends in a backslash"),
    ('say "x"',      "'say \"x\"'",       "nothing to escape"),
    ("a\nb",         '"""a\nb"""',        "lines stay lines"),
    ("\\\r\n",       "'\\\\\\r\\n'",      "a carriage return would not survive a file"),
    ("a\u200bb",     '"a\\u200bb"',       "invisible characters are escaped"),
    ("\ud800",       '"\\ud800"',         "half a pair cannot be written to a file"),
    ("é λ 漢",       '"é λ 漢"',          "letters are letters"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "written", "why"), QUOTED, ids=[row[2] for row in QUOTED])
def test_a_text_as_a_literal(text: str, written: str, why: str) -> None:
    assert ast.literal_eval(quoted(text)) == text
    assert quoted(text) in (written, f'"{written[1:-1]}"')


@settings(max_examples=300)
@given(st.text(st.characters() | st.sampled_from("\\\"'\n\r\t{}$"), max_size=30))
def test_every_text_comes_back_from_its_literal(text: str) -> None:
    assert ast.literal_eval(quoted(text)) == text


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("notation", ["regex", "kbnf"])
def test_every_program_holds_the_grammar_as_it_is(name: str, notation: str) -> None:
    written = WRITERS[name](wanted(text=NASTY, notation=notation, prompt="'\\\"\n$(x)"))
    if name == "shell":
        words = shlex.split(written.partition(" <<")[0])
        if notation == "kbnf":
            assert written.endswith(f" <<'GRAMMAR'\n{NASTY}\nGRAMMAR\n")
        else:
            assert NASTY in words
    else:
        literals = {n.value for n in ast.walk(ast.parse(written)) if isinstance(n, ast.Constant)}
        assert {NASTY, "'\\\"\n$(x)"} <= literals


def test_settings_are_those_of_the_page() -> None:
    asked = wanted(temperature=0, seed=7, constraint="unconstrained", model="org/model")
    assert "temperature=0.0" in python(asked) or "temperature=0" in python(asked)
    assert "seed=7" in python(asked)
    assert 'method="unconstrained"' in python(asked)
    assert "do_sample=False" in transformers(asked)
    assert 'MODEL = "org/model"' in transformers(asked)
    assert shell(asked).endswith("--seed 7 --method unconstrained --model org/model\n")


def test_stages_of_sampling_are_in_every_program() -> None:
    asked = wanted(temperature=0.5, top_k=9, top_p=0.8, min_p=0.1, repetition_penalty=1.2, seed=7)
    settings = "temperature=0.5, top_k=9, top_p=0.8, min_p=0.1, repetition_penalty=1.2"
    assert f"wb.Sampling({settings}, seed=7)" in python(asked)
    assert f"do_sample=True, {settings}," in transformers(asked)
    assert f"    {settings},\n    seed=7," in client(asked)
    flags = "--temperature 0.5 --top-k 9 --top-p 0.8 --min-p 0.1 --repetition-penalty 1.2 --seed 7"
    assert flags in shell(asked)
    # transformers keeps 50 tokens if it is not told otherwise
    assert "do_sample=True, temperature=0.7, top_k=0," in transformers(wanted())
    greedy = transformers(wanted(temperature=0, repetition_penalty=1.2, top_k=3))
    assert "do_sample=False, repetition_penalty=1.2," in greedy


def test_method_has_its_options() -> None:
    asked = wanted(constraint="domino", lookahead=1)
    assert 'method="domino", k=1)' in python(asked)
    assert 'method="domino", k=1)' in transformers(asked)
    assert "--method domino --option k=1" in shell(asked)
    assert 'constraint="domino",\n    lookahead=1,' in client(asked)
    assert "k=" not in python(wanted(constraint="automaton", lookahead=1)), "it has no such option"


def test_small_tokens_are_in_every_program() -> None:
    asked = wanted(small_tokens=True, constraint="domino", lookahead=1)
    assert 'method="domino", k=1, small_tokens=True)' in python(asked)
    assert "small_tokens=True)" in transformers(wanted(small_tokens=True))
    assert "--small-tokens" in shell(asked)
    assert "    small_tokens=True,\n" in client(asked)
    assert "small" not in python(wanted()) + shell(wanted()) + client(wanted())


def test_a_draft_model_is_in_every_program_of_this_project() -> None:
    asked = wanted(model="org/large", draft="org/small")
    assert 'draft = wb.TransformersModel("org/small")' in python(asked)
    assert "max_tokens=12, strategy=wb.CoupledSpeculation(draft))" in python(asked)
    assert shell(asked).endswith("--model org/large --draft org/small\n")
    assert '    draft="org/small",\n' in client(asked)
    assert 'draft = AutoModelForCausalLM.from_pretrained("org/small")' in transformers(asked)
    assert "    assistant_model=draft,\n)" in transformers(asked)
    assert not any("draft" in write(wanted()) for write in WRITERS.values())


def test_programs_for_other_engines_name_what_they_leave_out() -> None:
    asked = wanted(model="org/large", draft="org/small", finish=True)
    assert _left_out(asked).splitlines() == [
        "# Without the draft model, which changes the number of forward passes alone.",
        "# Without the budget of tokens in which every text ends: a text may be cut.",
    ]
    assert not _left_out(wanted())


def test_an_example_in_small_tokens_is_named_where_the_run_uses_them() -> None:
    sent = {"text": GALLERY["anbn"].text, "notation": "kbnf", "example": "anbn"}
    assert "--example anbn" in shell(wanted(**sent, small_tokens=True))
    assert "--kbnf -" in shell(wanted(**sent))


def test_unchanged_example_is_named() -> None:
    person = GALLERY["person"]
    sent = {
        "text": person.text.rstrip(),
        "notation": "kbnf",
        "start": person.start,
        "example": "person",
    }
    assert shell(wanted(**sent)).startswith("workbench generate --example person --prompt")
    assert "--kbnf -" in shell(wanted(**{**sent, "text": person.text + " "}))


def test_a_here_document_ends_where_the_grammar_does() -> None:
    text = 'start ::= "a";\nGRAMMAR\nGRAMMAR_'
    assert shell(wanted(text=text, notation="kbnf")).endswith(f"<<'GRAMMAR__'\n{text}\nGRAMMAR__\n")


def test_tests_with_what_is_expected_become_assertions() -> None:
    tests = [
        {"text": "12:30", "expect": "accept"},
        {"text": "x", "expect": "reject"},
        {"text": "y", "expect": None},
    ]
    written = python(wanted(tests=tests))
    assert 'assert grammar.accepts("12:30")\nassert not grammar.accepts("x")\n' in written
    assert '"y"' not in written


def test_error_for_tests_that_are_none() -> None:
    with pytest.raises(WorkbenchError, match="expected a list of tests"):
        wanted(tests="x")


def ran(command: list[str], given: str = "") -> str:
    done = subprocess.run(
        command, input=given, capture_output=True, text=True, check=False, timeout=200,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONWARNINGS": "ignore"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@needs_model
@pytest.mark.exhaustive
@pytest.mark.parametrize("write", [python, transformers], ids=["python", "transformers"])
def test_the_printed_program_runs_and_obeys_the_grammar(write: Any) -> None:
    tests = [{"text": "12:30", "expect": "accept"}, {"text": "\\", "expect": "reject"}]
    written = write(wanted(prompt='It is \\"\n', tests=tests))
    reported = ran([sys.executable, "-"], written).strip().splitlines()
    text = reported[-2] if write is python else reported[-1]  # perplexity comes after it
    assert len(text) == 5
    assert text[2] == ":"


@needs_model
@pytest.mark.exhaustive
@pytest.mark.parametrize("temperature", [0, 1.0], ids=["greedy", "drawn"])
def test_the_program_with_a_draft_model_runs_and_obeys_the_grammar(temperature: float) -> None:
    sent = {"prompt": "The time is ", "temperature": temperature}
    text = ran([sys.executable, "-"], transformers(wanted(**sent, draft=TOY))).splitlines()[-1]
    assert re.fullmatch("[0-9]{2}:[0-9]{2}", text)
    if not temperature:
        assert text == ran([sys.executable, "-"], transformers(wanted(**sent))).splitlines()[-1]


@needs_model
@pytest.mark.exhaustive
@pytest.mark.parametrize("notation", ["regex", "kbnf"])
def test_the_printed_command_runs_in_a_shell(notation: str) -> None:
    text = "[0-9]{2}'\\\\$" if notation == "regex" else 'start ::= #"[0-9]{2}" "\'$";\n'
    written = shell(wanted(text=text.replace("$", "\\$"), notation=notation, prompt="$HOME '"))
    if notation == "kbnf":
        written = shell(wanted(text=text, notation=notation, prompt="$HOME '"))
    folder = os.path.dirname(sys.executable)
    out = ran(["bash", "-c", f'PATH="{folder}:$PATH"\n{written}'])
    assert out.rstrip("\n").endswith("'\\$" if notation == "regex" else "'$")


def test_the_client_asks_the_address_the_page_is_at() -> None:
    written = client(wanted(address="http://127.0.0.1:9/x"))
    assert 'Client("http://127.0.0.1:9/x", verbose=False)' in written
    assert 'api_name="/generate"' in written
    other = client(wanted(notation="kbnf", start="top", constraint="unconstrained", model="org/it"))
    assert '    start="top",\n    constraint="unconstrained",\n    model="org/it",\n' in other
    assert "constraint=" not in written


@pytest.mark.parametrize(
    ("sent", "call", "option"),
    [
        ({"notation": "json_schema", "text": "true", "options": {"whitespace": "one space"}}, 'from_json_schema(GRAMMAR, whitespace="one space")', "--whitespace 'one space'"),
        ({"notation": "json_schema", "text": "true", "options": {"whitespace": 4}}, "from_json_schema(GRAMMAR, whitespace=4)", "--whitespace 4"),
        ({"notation": "json_schema", "text": "true", "options": {"closed": True, "format": "annotation"}}, 'from_json_schema(GRAMMAR, closed=True, format="annotation")', "--closed --formats annotation"),
        ({"notation": "dataclass", "text": "class P:\n    x: int", "options": {"style": "json"}}, 'from_dataclass(GRAMMAR, style="json")', "--style json"),
        ({"notation": "gbnf", "text": 'top ::= "a"', "start": "top"}, 'from_gbnf(GRAMMAR, root="top")', "--start top"),
    ],
)  # fmt: skip
def test_settings_of_a_grammar_are_in_each_program(
    sent: dict[str, Any], call: str, option: str
) -> None:
    asked = wanted(**sent)
    assert call in python(asked)
    assert option in shell(asked)
    options = sent.get("options")
    assert (f"options={options!r}," if options else f'start="{sent["start"]}",') in client(asked)
