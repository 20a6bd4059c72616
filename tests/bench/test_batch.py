"""The benchmark of runs at the same time prints a row for each number of runs."""

from __future__ import annotations

import pytest
import torch
import typer
from typer.testing import CliRunner

from workbench.lab.bench import batch_bench


@pytest.mark.slow
@pytest.mark.parametrize("threads", [(), ("--threads",)])
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
