"""The costs of proper tokenization, on the embedded vocabulary."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from lab.bench.proper_costs import REFERENCE, REGEXES, Cost, best, costs, table
from lab.commands import app
from workbench.vocabulary.vocabulary import Vocabulary


@pytest.mark.slow
def test_every_step_is_measured() -> None:
    found = list(costs(Vocabulary.load("builtin")))
    steps = [f"{step} {name}" for name in REGEXES for step in ("edges", "live", "mask")]
    assert [cost.step for cost in found] == ["normalise", "guide", "row", *steps]
    assert all(cost.ms > 0 and cost.of for cost in found)


@pytest.mark.slow
def test_steps_the_reference_measures_are_ours() -> None:
    steps = {cost.step for cost in costs(Vocabulary.load("builtin"))}
    assert {step for _, step in REFERENCE} <= steps


def test_table_has_the_reference_next_to_ours() -> None:
    text = table(
        iter([Cost("live json", 7.25, "2 edges", 12.0), Cost("mask", 0.5, "1 token", None)])
    )
    assert text.splitlines()[2:] == [
        "| live json | 7.25 | 12 | 2 edges |",
        "| mask | 0.5 |  | 1 token |",
    ]


def test_best_of_several_runs_with_the_result() -> None:
    ms, made = best(lambda: "made", runs=3)
    assert made == "made"
    assert 0 < ms < 100


@pytest.mark.slow
def test_command_writes_a_record_for_each_step() -> None:
    ran = CliRunner().invoke(app, ["bench", "--proper", "--vocab", "builtin", "--json"])
    assert ran.exit_code == 0, ran.output
    records = [json.loads(line) for line in ran.output.splitlines()]
    assert records[0]["step"] == "normalise"
