"""The command line: what it prints and how it exits."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import workbench as wb
from lab.commands import app as lab
from tests.decoding.tiny import write_model
from tests.tiny_checkpoint import write_checkpoint
from workbench.__main__ import main as started
from workbench.app.cli.main import app
from workbench.app.cli.options import STRATEGIES
from workbench.base.resources import BUILTIN_MODEL, GRAMMARS

#: The checkout.
ROOT = Path(__file__).resolve().parents[2]

needs_model = pytest.mark.skipif(
    not (BUILTIN_MODEL / "model.safetensors").exists(), reason="the embedded model is not here"
)


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, list(arguments), input=stdin)


def run_lab(*arguments: str) -> Result:
    """A command of the laboratory."""
    return CliRunner().invoke(lab, list(arguments))


def records(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_check_names_the_place_and_what_was_expected() -> None:
    result = run("check", "--kbnf", str(GRAMMARS / "json.kbnf"), '{"a":[1,2]}', '{"a":}')
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0] == 'accepted  {"a":[1,2]}'
    assert lines[1] == 'rejected  {"a":}'
    assert lines[2].startswith("  fails at column 6: expected ")
    assert lines[3:5] == ['  1 | {"a":}', "           ^"]
    assert lines[5] == "  while reading start ▸ value ▸ object ▸ member"


def test_check_as_json_reads_stdin() -> None:
    result = run("check", "--regex", "(foo)+d", "--json", stdin="food\nfox\nfo\n")
    assert result.exit_code == 1
    accepted, failing, short = records(result)
    assert accepted["accepted"]
    assert (failing["offset"], failing["expected"], failing["incomplete"]) == (2, "o", False)
    assert (short["offset"], short["incomplete"]) == (None, True)


def test_check_exits_with_0_when_all_are_accepted() -> None:
    assert run("check", "--regex", "a+", "a", "aa").exit_code == 0


#   arguments                                              the text in the hint; None: click's own message
DASHED = [
    (("check", "--regex", "a", "- [ ] a"),                 "-- '- [ ] a'"),
    (("parse", "--regex", "a", "x", "-5"),                 "-- -5"),
    (("check", "--regex", "a", "--reegex", "a"),           None),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "hint"), DASHED)
def test_error_a_text_that_begins_with_a_dash(arguments: tuple[str, ...], hint: str | None) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    if hint is None:
        assert "--regex" in result.stderr, "what is close"
        return
    assert f"hint: write -- before a text that begins with -, as in: {hint}\n" in result.stderr
    assert run("check", "--regex", r"- \[ \] a", "--", "- [ ] a").exit_code == 0


#   arguments                                              reported on stderr
WRONG = [
    (("check", "x"),                                       "expected one grammar, not 0"),
    (("check", "--regex", "a", "--example", "json", "x"),  "expected one grammar, not 2"),
    (("check", "--regex", "(a", "a"),                      "regex, line 1, column"),
    (("check", "--kbnf", "/no/such/file", "a"),            "cannot read /no/such/file"),
    (("check", "--example", "nothing", "a"),               "there is no example 'nothing'"),
    (("mask", "--regex", "a", "--vocab", "/no/such/dir"),  "error: "),
    (("draw", "--kbnf", str(GRAMMARS / "json.kbnf"), "--format", "openfst"), "read with a stack"),
    (("draw", "--kbnf", str(GRAMMARS / "json.kbnf"), "--machine", "characters"), "need a stack"),
    (("draw", "--regex", "ab", "--machine", "scanner", "--format", "json"), "is a picture"),
    (("draw", "--regex", "ab", "--machine", "subterminals", "--after", "b"), "no accepted text begins with 'b'"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "reported"), WRONG, ids=[" ".join(w[0][:4]) for w in WRONG])
def test_error_exits_with_2(arguments: tuple[str, ...], reported: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert reported in result.stderr
    assert result.stdout == ""


def test_draw_writes_every_format(tmp_path: Path) -> None:
    for form, start in (
        ("dot", b"digraph"), ("svg", b"<svg"), ("png", b"\x89PNG"), ("json", b"{"),
        ("tikz", b"% \\usepackage"),
    ):  # fmt: skip
        out = tmp_path / form
        result = run("draw", "--regex", "(foo)+d", "--format", form, "-o", str(out))
        assert result.exit_code == 0, result.stderr
        assert out.read_bytes().startswith(start)


#   machine       format      what is written, or reported
NESTED_FILES = [
    ("characters",  "json",     "hint: write its machine stack, rules or tokens, with the format json"),
    ("stack",       "json",     '"machine": "stack"'),
    ("rules",       "json",     '"machine": "rules"'),
    ("tokens",      "json",     '"machine": "tokens"'),
    ("stack",       "openfst",  "expected a finite machine for this format, not stack"),
    ("tokens",      "openfst",  "expected a regular grammar for this file of the machine tokens"),
]  # fmt: skip


@pytest.mark.parametrize(("machine", "form", "expected"), NESTED_FILES)
def test_files_of_the_machines_of_a_grammar_with_a_stack(
    machine: str, form: str, expected: str
) -> None:
    result = run("draw", "--example", "json", "--machine", machine, "--format", form)
    assert expected in (result.stderr if result.exit_code else result.stdout)


def test_draw_shows_what_a_lookahead_leaves() -> None:
    arguments = (
        "draw",
        "--regex",
        "(foo)+d",
        "--vocab",
        "figure-4",
        "--format",
        "dot",
        "--machine",
    )
    assert "qₐ" in run(*arguments, "scanner").stdout
    after = run(*arguments, "subterminals", "--after", "f").stdout
    assert "oo" in after
    assert "food" not in after, "f is read already"


def test_draw_openfst_text_spells_the_machine() -> None:
    lines = run("draw", "--regex", "ab?", "--format", "fst").stdout.splitlines()
    assert lines == ["0\t1\t97\t97\t0", "1\t2\t98\t98\t0", "1\t0", "2\t0"]


def test_draw_writes_openfst_tables_into_a_zip(tmp_path: Path) -> None:
    out = tmp_path / "ab.zip"
    assert run("draw", "--regex", "ab?", "--format", "fst", "-o", str(out)).exit_code == 0
    with zipfile.ZipFile(out) as archive:
        assert archive.read("characters.fst.txt").splitlines()[0] == b"0\t1\ta\ta\t0"
        assert b"a\t97\n" in archive.read("characters.isyms.txt")


@needs_model
def test_mask_after_a_text() -> None:
    result = run("mask", "--regex", "(foo)+d", "--after", "fo", "--json")
    assert result.exit_code == 0
    (reported,) = records(result)
    assert reported["forced"] == "o"
    assert not reported["may_end"]
    assert all(token.startswith("o") for token in reported["tokens"])
    assert run("mask", "--regex", "(foo)+d", "--after", "x").exit_code == 1


@needs_model
def test_a_mask_is_printed_by_the_state_that_tokens_lead_to() -> None:
    pattern = "[ ]*[a-z]*9"
    (record,) = records(run("mask", "--regex", pattern, "--json"))
    assert len(record["ids"]) == record["allowed"] > 40, "all of them"
    assert record["ids"] == sorted(record["ids"])
    (few,) = records(run("mask", "--regex", pattern, "--json", "--limit", "3"))
    assert few["ids"] == record["ids"][:3]
    head, *lines = run("mask", "--regex", pattern).stdout.splitlines()
    assert head == f"{record['allowed']:,} of 6,000 tokens may come next"
    # letters, then the nine, then white space, although its numbers are smaller
    assert re.search(r"'[ a-z]+'$", lines[0])
    assert re.fullmatch(r" +… [\d,]+ more to the same state \(--limit 0 prints all\)", lines[8])
    assert lines[9].endswith("'9'")
    assert re.search(r"' +'$", lines[10])
    assert [len(line) for line in lines if "… " in line and "other states" in line] == []
    whole = run("mask", "--regex", pattern, "--limit", "0").stdout.splitlines()
    assert sorted(int(line.split()[0]) for line in whole[1:]) == record["ids"]
    cut = run("mask", "--regex", pattern, "--limit", "8").stdout.splitlines()
    assert re.fullmatch(r" +… [\d,]+ more, to 2 other states \(--limit 0\)", cut[-1])


@needs_model
def test_generate_prints_a_line_for_each_step_and_a_summary() -> None:
    result = run("generate", "--example", "koo_choice", "--json")
    assert result.exit_code == 0, result.stderr
    *steps, whole = records(result)
    assert whole["accepted"]
    assert whole["stop"] in ("accepted", "forced end")
    assert "".join(step["token"] for step in steps) == whole["text"]
    assert len(steps) == whole["tokens"]
    assert whole["text"] in ("Red", "Orange", "Yellow", "Green", "Blue", "Indigo", "Violet")


@needs_model
def test_generate_that_runs_out_of_tokens_exits_with_1() -> None:
    result = run("generate", "--regex", "[a-z]{50}", "--max-tokens", "2", "--json")
    assert result.exit_code == 1
    assert records(result)[-1]["stop"] == "token budget"


@pytest.mark.slow
def test_a_prompt_as_a_message_of_a_chat(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model")
    template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    (folder / "chat_template.jinja").write_text(template)
    asked = ("generate", "--regex", "[a-c]{9}", "--model", str(folder), "--prompt", "Hi", "--json")
    plain = records(run(*asked, "--prompt", "<system>Be brief.<user>Hi"))
    (step, *_) = records(run(*asked, "--system", "Be brief."))
    assert step["logprob"] == pytest.approx(plain[0]["logprob"], abs=1e-4)
    plain = records(run(*asked, "--prompt", "<user>Hi"))
    assert records(run(*asked, "--chat"))[0]["logprob"] == pytest.approx(
        plain[0]["logprob"], abs=1e-4
    )


def test_a_draft_model_proposes(tmp_path: Path) -> None:
    folder, other = write_checkpoint(tmp_path / "a"), write_checkpoint(tmp_path / "b", seed=1)
    asked = ("generate", "--regex", "[a-c]{9}", "--model", str(folder), "--device", "cpu", "--json")
    for more in ((), ("--temperature", "1", "--seed", "4")):
        drafted, plain = (
            records(run(*asked, *more, "--draft", str(other))),
            records(run(*asked, *more)),
        )
        assert [each.get("token_id") for each in drafted] == [e.get("token_id") for e in plain]
        whole = drafted[-1]
        assert whole["accepted"]
        assert 0 < whole["drafted"] >= whole["drafts_taken"]
        assert plain[-1]["drafted"] == 0
    summed = run(*asked[:-1], "--draft", str(folder)).stderr
    ((taken, among),) = re.findall(r"(\d+) of (\d+) drafted tokens taken", summed)
    assert taken == among != "0", "a model agrees with itself"
    refused = run(*asked, "--draft", str(write_model(tmp_path / "c")))
    assert (refused.exit_code, "their tokens differ" in refused.stderr) == (2, True)
    refused = run(*asked, "--draft", str(other), "--strategy", "skipping")
    assert (refused.exit_code, "exclude each other" in refused.stderr) == (2, True)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (("--device", "abacus"), "there is no device 'abacus'"),
        (("--dtype", "float7"), "there is no dtype 'float7'"),
        (("--revision", "v2"), "has no revisions"),
        (("--model", "missing.gguf"), "there is no GGUF file"),
    ],
)
def test_error_options_of_models(option: tuple[str, str], message: str) -> None:
    for command in ("generate", "compare"):
        refused = run(command, "--regex", "a", *option)
        assert (refused.exit_code, message in refused.stderr) == (2, True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--device", "abacus"), "there is no device 'abacus'"),
        (("--dtype", "float7"), "there is no dtype 'float7'"),
        (("--model", "a/b", "--model", "c/d", "--revision", "v2"), "one --model with --revision"),
    ],
)
def test_error_options_of_served_models(options: tuple[str, ...], message: str) -> None:
    refused = run("serve", "--no-open", *options)
    assert (refused.exit_code, message in refused.stderr) == (2, True)


@needs_model
def test_free_text_before_the_answer() -> None:
    asked = ("generate", "--regex", '"sum": [0-9]{2}', "--prompt", "3 + 4. ", "--json")
    whole = records(run(*asked, "--reasoning", "5"))[-1]
    thoughts, _, answer = whole["text"].partition("</think>")
    assert whole["accepted"]
    assert (thoughts[:7], answer[:7]) == ("<think>", '"sum": ')
    whole = records(run(*asked, "--reasoning", "0", "--markers", "(", "). "))[-1]
    assert whole["text"].startswith('(). "sum": ')


@needs_model
def test_error_a_chat_without_a_template() -> None:
    result = run("generate", "--regex", "a", "--prompt", "Hi", "--chat")
    assert (result.exit_code, "has no chat template" in result.stderr) == (2, True)


@needs_model
def test_a_method_takes_its_options() -> None:
    asked = ("generate", "--regex", "[0-9]{4}-[0-9]{2}", "--method", "domino", "--json")
    texts = [records(run(*asked, *more))[-1] for more in ((), ("--option", "k=0"))]
    assert all(whole["accepted"] for whole in texts)
    refused = run(*asked, "--option", "k=-1")
    assert (refused.exit_code, "as 'k', not str: '-1'" in refused.stderr) == (2, True)


@pytest.mark.parametrize("written", ["k", "=1", "k="])
def test_generate_error_option(written: str) -> None:
    result = run("generate", "--regex", "a", "--method", "domino", "--option", written)
    assert result.exit_code == 2
    assert "expected NAME=VALUE" in result.stderr


@needs_model
def test_an_example_brings_its_small_tokens() -> None:
    asked = ("generate", "--example", "brackets", "--json")
    *steps, whole = records(run(*asked))
    assert whole["accepted"]
    assert len(whole["text"]) == len(steps) - 1, "a character a token, then the end"
    *steps, whole = records(run(*asked, "--no-small-tokens"))
    assert len(whole["text"]) > len(steps)


@needs_model
@pytest.mark.parametrize("name", ["anbn", "brackets", "palindrome"])
def test_an_example_is_generated_as_on_the_page(name: str) -> None:
    whole = records(run("generate", "--example", name, "--json"))[-1]
    lines = map(json.loads, (GRAMMARS / f"{name}.trace.ndjson").read_text("utf-8").splitlines())
    tokens = [line["token"] for line in lines if line["k"] == "step"]
    assert whole["text"] == "".join(token.get("text", "") for token in tokens)
    assert whole["accepted"]


#: Schemas as Pydantic 2 writes them, with nested models, formats, bounds, dictionaries, recursion.
PYDANTIC = (Path(__file__).parent.parent / "data" / "pydantic_schemas.jsonl").read_text("utf-8")


@needs_model
@pytest.mark.slow
@pytest.mark.parametrize("written", PYDANTIC.splitlines(), ids=lambda row: json.loads(row)["name"])
def test_generate_ends_every_schema_of_pydantic(written: str, tmp_path: Path) -> None:
    (tmp_path / "model.schema.json").write_text(json.dumps(json.loads(written)["schema"]))
    result = run("generate", "--json-schema", str(tmp_path / "model.schema.json"), "--json")
    assert result.exit_code == 0, result.output
    text = records(result)[-1]["text"]
    assert json.dumps(json.loads(text, parse_int=str, parse_float=str), ensure_ascii=False)
    assert "  " not in re.sub(r'"(?:[^"\\]|\\.)*"', "", text), "white space has one space"


@needs_model
def test_a_schema_that_cannot_end_in_its_budget_has_a_note(tmp_path: Path) -> None:
    (tmp_path / "long.schema.json").write_text('{"type": "string", "minLength": 50}')
    asked = ("generate", "--json-schema", str(tmp_path / "long.schema.json"), "--max-tokens", "2")
    result = run(*asked)
    assert result.exit_code == 1
    assert "note: the text may be cut: the shortest text needs" in result.stderr
    assert run(*asked, "--finish").exit_code == 2, "requested, so an error"
    assert "note" not in run(*asked, "--no-finish").stderr


@needs_model
def test_a_run_that_repeats_itself_has_a_note(tmp_path: Path) -> None:
    result = run("generate", "--regex", "[ ]{0,90}x", "--max-tokens", "30")
    assert "note: tokens 1 to" in result.stderr
    assert "are white space" in result.stderr or "repeat one token" in result.stderr
    assert "note" not in run("generate", "--example", "date").stderr


@needs_model
def test_generate_records_every_stage_of_sampling() -> None:
    asked = ("generate", "--example", "koo_choice", "--json", "--temperature", "0.5", "--seed", "3")
    stages = ("--top-k", "2", "--top-p", "0.9", "--min-p", "0.1", "--repetition-penalty", "1.3")
    *steps, _ = records(run(*asked, *stages))
    names = ["model", "repetition penalty", "mask", "temperature", "top-k", "top-p", "min-p"]
    assert all(list(step["stages"]) == names for step in steps)
    assert all("stages" not in step for step in records(run(*asked, "--temperature", "1")))
    assert run(*asked, "--min-p", "2").exit_code == 2


@needs_model
def test_every_strategy_writes_the_same_text() -> None:
    asked = ("generate", "--example", "koo_choice", "--json", "--temperature", "1", "--seed", "3")
    wholes = {
        name: records(run(*asked, "--strategy", name, "--warm-up", "2"))[-1] for name in STRATEGIES
    }
    assert len({whole["text"] for whole in wholes.values()}) == 1
    passes = {name: whole["forward_passes"] for name, whole in wholes.items()}
    assert passes["opportunistic"] == passes["plain"] > passes["skipping"]


def test_generate_error_strategy() -> None:
    result = run("generate", "--regex", "a", "--strategy", "magic")
    assert result.exit_code == 2
    assert "there is no strategy 'magic'" in result.stderr


@needs_model
def test_healed_prompt_is_tokenized_again() -> None:
    result = run("generate", "--regex", "ain!?", "--prompt", "We took the tr", "--heal", "--json")
    assert result.exit_code == 0, result.stderr
    whole = records(result)[-1]
    assert whole["healed"] in ("tr", " tr", "r")
    assert whole["text"].startswith(whole["healed"] + "ain")
    plain = run("generate", "--regex", "ain!?", "--prompt", "We took the tr", "--heal")
    assert plain.stdout.startswith("ain")


@pytest.mark.slow
def test_train_smoke(tmp_path: Path) -> None:
    result = run_lab("train", "--out", str(tmp_path / "run"), "--smoke", "--json")
    assert result.exit_code == 0, result.stderr
    assert [record["step"] for record in records(result)] == [1, 2, 3, 4, 5, 6]
    assert (tmp_path / "run" / "model" / "model.safetensors").exists()


def test_train_error_when_there_is_nothing_to_resume(tmp_path: Path) -> None:
    result = run_lab("train", "--out", str(tmp_path / "none"), "--resume", "--smoke")
    assert result.exit_code == 2
    assert "checkpoint" in result.stderr


def test_the_version_is_printed() -> None:
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, f"workbench {wb.__version__}\n")


@pytest.mark.slow
def test_a_shell_completes_commands() -> None:
    asked = {
        "_WORKBENCH_COMPLETE": "complete_bash",
        "COMP_WORDS": "workbench ge",
        "COMP_CWORD": "1",
    }
    code = "import sys; sys.argv = ['workbench']; from workbench.__main__ import main; main()"
    completed = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **asked},
        capture_output=True,
        text=True,
        check=False,
    )
    assert completed.stdout.split() == ["generate"]


def test_the_laboratory_is_not_installed() -> None:
    result = run("evaluate", "--list")
    assert result.exit_code == 2
    assert "hint: in a checkout, python -m lab evaluate" in result.stderr


def test_the_console_script_starts() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    script = EntryPoint("workbench", project["scripts"]["workbench"], "console_scripts")
    result = CliRunner().invoke(app, ["--help"])
    assert script.load() is started, "Ctrl+C while modules are loaded must end without a traceback"
    assert result.exit_code == 0
    assert "generate" in result.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no disk that is always full")
@pytest.mark.parametrize(
    "command", ["check --regex a a", "convert --regex a --to kbnf", "--help", "check --help"]
)
def test_error_a_full_disk(command: str) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "workbench", *command.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ended.returncode == 2
    assert ended.stderr.splitlines() == [
        "error: cannot write the output: No space left on device",
        "hint: free space, or write elsewhere",
    ]


def test_control_c_while_modules_are_loaded_ends_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stopped() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("workbench.app.cli.main.main", stopped)
    with pytest.raises(SystemExit) as ended:
        started()
    assert ended.value.code == 130


def test_a_monitor_keeps_the_meaning() -> None:
    before = 'let s: string = "a";\nlet n: number = s'
    wide = run("mask", "--example", "typed", "--after", before, "--json")
    kept = run("mask", "--example", "typed", "--after", before, "--monitor", "types", "--json")
    assert (wide.exit_code, kept.exit_code) == (0, 0)
    assert ";" in json.loads(wide.stdout)["tokens"]
    assert json.loads(kept.stdout)["tokens"] == ["."]
    refused = run("mask", "--example", "typed", "--after", before + ";", "--monitor", "types")
    assert refused.exit_code == 1
    assert "error: this is string, and number is expected" in refused.stderr
    other = run("mask", "--regex", "a+", "--monitor", "types")
    assert other.exit_code == 2
    assert "does not fit this grammar" in other.stderr


@pytest.mark.slow
def test_serve_checks_its_models_before_it_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[object] = []
    monkeypatch.setattr("workbench.app.ui.serve.serve", served.append)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / "empty").mkdir()
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.json").write_text("{}")
    whole = write_checkpoint(tmp_path / "whole")
    for name, reported in (
        ("nonsense", "'nonsense' is not on this machine"),
        ("/nonexistent", "expected the directory of a model, not '/nonexistent'"),
        (str(tmp_path / "empty"), f"expected config.json in {tmp_path / 'empty'}"),
        (str(tmp_path / "config"), "expected weights as safetensors in"),
    ):
        result = run("serve", "--no-open", "--model", "builtin", "--model", name)
        assert result.exit_code == 2
        assert reported in result.stderr
        generated = run("generate", "--regex", "a", "--model", name)
        assert generated.stderr == result.stderr, "the same words"
    assert not served
    for name in ("builtin", str(whole)):
        assert run("serve", "--no-open", "--model", name).exit_code == 0
    assert len(served) == 2
