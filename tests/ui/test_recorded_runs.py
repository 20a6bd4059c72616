from __future__ import annotations

import json

import pytest

from workbench.app.ui import opening_view
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.model_registry import ModelRoom
from workbench.app.ui.replay import GROUPS, recorded_lines
from workbench.base.errors import WorkbenchError
from workbench.grammar.gallery import load_gallery, recorded_run


def test_a_recorded_run_is_what_the_page_reads(handlers: Handlers) -> None:
    kinds = [json.loads(line)["k"] for line in recorded_lines(handlers, "person")]
    assert kinds[0] == "head"
    assert kinds[-1] == "stop"
    assert set(kinds) == {"head", "start", "step", "stop"}


def test_error_a_name_that_is_none(handlers: Handlers) -> None:
    with pytest.raises(WorkbenchError, match="no example"):
        list(recorded_lines(handlers, "nobody"))


def test_another_model_shows_no_recorded_runs(handlers: Handlers) -> None:
    assert handlers.room.name != "builtin"
    assert (
        opening_view.recorded_run.function(handlers, opening_view.RecordedRequest(example="person"))
        == ""
    )


RECORDED = [one.name for one in load_gallery().values() if one.group in GROUPS]


@pytest.fixture(scope="module")
def embedded() -> Handlers:
    return Handlers(ModelRoom())


def texts(lines: list[str]) -> tuple[list[object], object]:
    """The tokens of a recorded run, and those that the model writes alone; no probabilities."""
    records = [json.loads(line) for line in lines]
    return [record["id"] for record in records if record["k"] == "step"], records[0]["alone"]


@pytest.mark.slow
@pytest.mark.parametrize("name", RECORDED)
def test_the_recorded_texts_are_those_of_the_embedded_model(embedded: Handlers, name: str) -> None:
    """With the mask and without it: what the page shows as recorded is computed again."""
    again = list(recorded_lines(embedded, name))
    assert texts(recorded_run(name).splitlines()) == texts(again), (
        "python -m workbench.app.ui.replay"
    )


def test_the_opening_example_shows_a_text_that_the_grammar_corrects() -> None:
    """The first example: the model alone writes a text that the grammar rejects."""
    first = next(iter(load_gallery().values()))
    head, *_ = map(json.loads, recorded_run(first.name).splitlines())
    assert not head["alone"]["accepted"]
    assert first.breaks
