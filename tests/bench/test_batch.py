"""The benchmark of runs at the same time prints a row for each number of runs."""

from __future__ import annotations

import asyncio

import httpx
import pytest
import torch
import typer
from typer.testing import CliRunner

from lab.bench import batch_bench
from lab.bench.visitors import served
from workbench.constraint.compile import compile
from workbench.decoding.generate import generate
from workbench.decoding.sampling import Sampling
from workbench.decoding.transformers_model import load_model
from workbench.grammar.gallery import load_gallery
from workbench.grammar.grammar import Grammar


@pytest.mark.slow
@pytest.mark.parametrize("threads", [(), ("--threads",), ("--different",)])
def test_every_number_of_runs_has_a_row(threads: tuple[str, ...]) -> None:
    app, before = typer.Typer(), torch.get_num_threads()
    app.command()(batch_bench.main)
    try:
        asked = ["--rows", "1,3", "--tokens", "2", "--repeat", "1", *threads]
        result = CliRunner().invoke(app, asked, catch_exceptions=False)
    finally:
        torch.set_num_threads(before)
    head, _, *rows = result.stdout.strip().splitlines()
    assert "tokens/s" in head
    assert [row.split("|")[1].strip() for row in rows] == ["1", "3"]


def _steps(tokens: int) -> int:
    """The steps of a client's first runs, one with each grammar, without a page."""
    model, count = load_model("builtin", "cpu"), 0
    for seed, name in enumerate(batch_bench.GRAMMARS):
        one = load_gallery()[name]
        constraint = compile(Grammar.from_text(one.text, one.notation, one.start), model.vocabulary)
        sampling = Sampling(temperature=1.0, seed=seed)
        count += len([*generate(model, constraint, "An example: ", sampling, max_tokens=tokens)])
    return count


@pytest.mark.slow
def test_page_counts_every_step_once() -> None:
    async def counted(url: str) -> int:
        async with httpx.AsyncClient(base_url=url, timeout=60) as client:
            return await batch_bench.streamed(client, 0, len(batch_bench.GRAMMARS), 3)

    with served() as (url, process):
        assert asyncio.run(counted(url)) == _steps(3)
        speed, ms = asyncio.run(batch_bench.page_speed(url, process, 2, 3))
    assert speed > 0
    assert ms >= 0


def test_page_refuses_what_has_no_effect() -> None:
    app = typer.Typer()
    app.command()(batch_bench.main)
    result = CliRunner().invoke(app, ["--page", "--threads"])
    assert result.exit_code == 2
    assert "--page takes only" in result.output
