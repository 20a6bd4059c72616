from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from lab.training import loop
from lab.training.loop import LOG, Progress, Shape, TrainSettings, rate_at, smoke
from lab.training.whole_training import MODEL, train

pytestmark = pytest.mark.slow

Whole = tuple[TrainSettings, list[Progress]]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    torch.set_num_threads(1)
    settings = smoke(TrainSettings(out=tmp_path_factory.mktemp("whole")))
    return settings, list(train(settings))


def test_a_small_run_yields_every_step_and_logs_it(whole: Whole) -> None:
    settings, records = whole
    assert [r.step for r in records] == list(range(1, settings.steps + 1))
    assert all(math.isfinite(r.loss) for r in records)
    logged = [json.loads(line) for line in (settings.out / LOG).read_text().splitlines()]
    assert [row["loss"] for row in logged] == [r.loss for r in records]


def test_a_run_cut_in_two_gives_the_same_losses(whole: Whole, tmp_path: Path) -> None:
    _, unbroken = whole
    settings = replace(smoke(TrainSettings(out=tmp_path)), checkpoint_minutes=0.0)
    first = []
    for record in train(settings):
        first.append(record)
        if record.step == 3:
            break
    assert loop.read(tmp_path).step == 3
    rest = list(train(replace(settings, resume=True)))
    assert [r.step for r in rest] == [4, 5, 6]
    assert [r.loss for r in (*first, *rest)] == [r.loss for r in unbroken]


def test_what_is_exported_loads_with_transformers(whole: Whole) -> None:
    settings, _ = whole
    folder = settings.out / MODEL
    model = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True)
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    text = '{"name": "Zoë"}\n  x  '
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == text
    assert tokenizer.eos_token_id == model.config.eos_token_id == 0
    assert model.dtype == torch.bfloat16
    assert not (settings.out / "model.part").exists()


def test_card_has_the_measured_figures(whole: Whole) -> None:
    settings, _ = whole
    card = (settings.out / MODEL / "README.md").read_text()
    numbers = json.loads((settings.out / MODEL / "figures.json").read_text())
    for figure in numbers["figures"]:
        assert f"| {figure['format']} | " in card
        assert f"{figure['text']:.2f}" in card


def test_the_rate_warms_up_holds_and_falls(tmp_path: Path) -> None:
    settings = TrainSettings(out=tmp_path, steps=100, warmup=10, decay=0.2)
    rates = [rate_at(step, settings) for step in range(100)]
    assert rates[0] == pytest.approx(0.1)
    assert rates[10:80] == [1.0] * 70
    assert rates[90] == pytest.approx(0.5)
    assert 0 < rates[99] < 0.06


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"steps": 0}, "at least 1"),
        ({"decay": 1.5}, "from 0 to 1"),
        ({"shape": Shape(width=30, heads=4)}, "heads must divide"),
    ],
)
def test_error_when_settings_cannot_be(tmp_path: Path, wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TrainSettings(out=tmp_path, **wrong)


def test_error_when_there_is_nothing_to_resume(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no checkpoint"):
        next(train(smoke(TrainSettings(out=tmp_path, resume=True))))


def test_error_when_the_checkpoint_has_another_shape(whole: Whole) -> None:
    settings, _ = whole
    other = replace(settings, resume=True, shape=replace(settings.shape, layers=2))
    with pytest.raises(ValueError, match="another shape"):
        next(train(other))
