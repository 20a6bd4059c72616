"""``workbench fill``: the text of a hole, and where none fits."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner, Result

import workbench as wb
from workbench.app.cli.main import app
from workbench.base.resources import BUILTIN_MODEL
from workbench.decoding.model import ToyModel
from workbench.vocabulary.toy_vocabularies import toy

needs_model = pytest.mark.skipif(
    not (BUILTIN_MODEL / "model.safetensors").exists(), reason="the embedded model is not here"
)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["fill", *arguments])


@needs_model
def test_fill_prints_the_whole_text() -> None:
    result = run("--example", "person", "--prefix", '{"name": "Ad', "--suffix", 'd", "tags": []}')
    assert result.exit_code == 0
    assert result.stdout.startswith('{"name": "Ad')
    assert result.stdout.endswith('d", "tags": []}\n')
    assert "accepted" in result.stderr


@needs_model
@pytest.mark.parametrize("heal", [(), ("--heal",)])
def test_fill_as_json(heal: tuple[str, ...]) -> None:
    result = run(
        "--example", "arithmetic", "--prefix", "(1+", "--suffix", ")*3", "--max-tokens", "6",
        "--temperature", "1", "--seed", "3", "--json", *heal,
    )  # fmt: skip
    last = json.loads(result.stdout.splitlines()[-1])
    grammar = wb.Grammar.from_kbnf((wb.base.resources.GRAMMARS / "arithmetic.kbnf").read_text())
    assert last["accepted"]
    assert grammar.accepts(last["prefix"] + last["filled"] + last["suffix"])
    assert result.exit_code == 0


def test_error_where_nothing_fits() -> None:
    result = run("--example", "person", "--prefix", '{"name": "A', "--suffix", '"city": 1}')
    assert result.exit_code == 2
    assert "error: suffix, line 1, column" in result.stderr


@needs_model
def test_error_without_tokens_for_filling() -> None:
    result = run("--regex", "(foo)+d", "--prefix", "fo", "--suffix", "d", "--infilling")
    assert result.exit_code == 2
    assert "has no tokens for filling a hole" in result.stderr


@pytest.mark.parametrize(
    "names",
    [
        ("<fim_prefix>", "<fim_suffix>", "<fim_middle>"),
        ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"),
    ],
)
def test_infilling_prompt_has_the_tokens_of_the_model(names: tuple[str, str, str]) -> None:
    """As special tokens, or as tokens with bytes."""
    special = wb.Vocabulary(
        [b"a", None, None, None, None], end=1, special=(2, 3, 4), names=dict(enumerate(names, 2))
    )
    for vocabulary in (special, toy(["a", *names])):
        prompt = wb.infilling_prompt(ToyModel(vocabulary), "f(", ")")
        assert prompt == f"{names[0]}f({names[1]}){names[2]}"


def test_a_text_without_tokens_has_no_perplexity() -> None:
    from workbench.app.cli.generate import summary

    assert summary(wb.Trace((), wb.StopReason.ACCEPTED), accepted=True) == (
        "[accepted · accepted · 0 tokens · 0 interventions · 0.0 bits removed by the mask]"
    )
