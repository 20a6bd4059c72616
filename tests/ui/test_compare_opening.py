"""The recorded comparison of the view *Compare*: what the embedded model computes now."""

from __future__ import annotations

import json
from typing import Any

import pytest

from workbench.app.ui.compare_opening import RECORDED, compare_opening, recorded_comparison
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.model_registry import ModelRoom


def content(lines: str) -> dict[str, Any]:
    """Requests, texts and the exact distribution of a recorded comparison; no times."""
    records = [json.loads(line) for line in lines.splitlines()]
    (distribution,) = [record for record in records if record["k"] == "distribution"]
    return {
        "about": records[0],
        "tokens": [(each["r"], each["id"]) for each in records if each["k"] == "step"],
        "texts": [(each["method"], each["text"]) for each in records if each["k"] == "ended"],
        "columns": [column["name"] for column in distribution["columns"]],
        "chances": {
            each["text"]: [pytest.approx(p, abs=1e-3) for p in each["p"]]
            for each in distribution["texts"]
        },
    }


@pytest.mark.slow
def test_the_recorded_comparison_is_that_of_the_embedded_model() -> None:
    again = recorded_comparison(Handlers(ModelRoom()))
    assert content(RECORDED.read_text("utf-8")) == content(again), "workbench.app.ui.replay"


def test_another_model_shows_no_recorded_comparison(handlers: Handlers) -> None:
    answer = compare_opening(handlers, {})
    assert answer["recorded"] == ""
    assert len(answer["samples"]) == 3
