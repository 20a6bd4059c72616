from __future__ import annotations

import json
from typing import Any

import pytest

from tests.ui.toy import toy_vocabulary
from workbench.app.ui.compare_view import compare_lines, compare_records
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.model_registry import ModelRoom
from workbench.app.ui.run_records import Record, line
from workbench.app.ui.runs import missed_lines, run_lines, run_records
from workbench.app.ui.streams import MAX_KEPT_RUNS, Streams
from workbench.decoding.model import ToyModel

PERSON = {"text": '\\{"name": "[A-Za-z ]{1,9}"\\}', "notation": "regex", "run": "r1", "seed": 3}

RUN: list[Record] = [
    {"k": "head", "run": "r"},
    {"k": "start"},
    *({"k": "step", "i": i} for i in range(100)),
    {"k": "stop"},
]


@pytest.fixture
def handlers() -> Handlers:
    vocabulary = toy_vocabulary()
    sample = '{"name": "Ada"}'
    room = ModelRoom("toy", lambda _: ToyModel(vocabulary, sample), lambda _: vocabulary)
    room.model()  # else the first run begins with a status
    return Handlers(room)


def heard(texts: list[str], streams: Streams, run: str = "r") -> tuple[list[Any], int]:
    """The records that a page takes from texts as its script does, and how often it had to ask."""
    found: list[Any] = []
    asked = 0
    for text in texts:
        _, start, *lines = map(json.loads, text.splitlines())
        if start["n"] > len(found):
            asked += 1
            kept = streams.since(run, len(found))
            assert kept is not None
            lines, start = [json.loads(each) for each in kept.splitlines()], {"n": len(found)}
        found += lines[len(found) - start["n"] :]
    return found, asked


def test_a_text_has_the_records_of_its_batch() -> None:
    texts = list(Streams().texts(iter([RUN[:1], RUN[1:2], RUN[2:]])))
    assert len(texts) == 2
    assert heard(texts, Streams()) == (RUN[1:], 0)


def test_a_text_has_two_batches_at_most() -> None:
    streams = Streams()
    texts = list(streams.texts([each] for each in RUN))
    assert [text.splitlines()[0] for text in texts] == [line(RUN[0]).strip()] * len(texts)
    assert {len(text.splitlines()) for text in texts[1:]} == {4}
    assert heard(texts, streams) == (RUN[1:], 0)


def test_a_page_that_misses_one_text_lacks_nothing() -> None:
    streams = Streams()
    texts = list(streams.texts([each] for each in RUN))
    assert heard([*texts[::2], texts[-1]], streams) == (RUN[1:], 0)


def test_a_page_that_misses_many_texts_asks_for_their_lines() -> None:
    streams = Streams()
    texts = list(streams.texts([each] for each in RUN))
    found, asked = heard([*texts[::10], texts[-1]], streams)
    assert found == RUN[1:]
    assert asked == 1, "the answer holds everything up to the end"


def test_lines_of_the_latest_runs_are_kept() -> None:
    streams = Streams()
    for number in range(MAX_KEPT_RUNS + 1):
        list(streams.texts(iter([[{"k": "head", "run": f"r{number}"}], [{"k": "stop"}]])))
    assert streams.since("r0", 0) is None
    assert streams.since("r1", 0) == line({"k": "stop"})
    assert streams.since("r1", 1) == ""


def test_a_run_without_a_name_is_not_kept() -> None:
    streams = Streams()
    list(streams.texts(iter([[{"k": "head", "run": ""}], [{"k": "stop"}]])))
    assert streams.since("", 0) is None


def without_times(records: list[Any]) -> list[Any]:
    return [{k: v for k, v in each.items() if k not in ("ms", "rate")} for each in records]


def test_a_run_beside_its_reader_has_the_same_records(handlers: Handlers) -> None:
    texts = list(run_lines(handlers, PERSON))
    found, _ = heard(texts, handlers.streams, "r1")
    assert without_times(found) == without_times(list(run_records(handlers, PERSON))[1:])
    assert found[-1]["k"] == "stop"


def test_a_comparison_has_the_same_records(handlers: Handlers) -> None:
    sent = {"text": "a|b", "notation": "regex", "methods": ["unconstrained", "automaton"]}
    texts = list(compare_lines(handlers, {**sent, "run": "c", "seeds": 1}))
    found, _ = heard(texts, handlers.streams, "c")
    kinds = [record["k"] for record in compare_records(handlers, {**sent, "seeds": 1})]
    assert ["head", *(record["k"] for record in found)] == kinds


def test_missed_lines_are_requested_by_run_and_count(handlers: Handlers) -> None:
    texts = list(run_lines(handlers, PERSON))
    lines = missed_lines(handlers, {"run": "r1", "from": 3})
    assert lines["from"] == 3
    assert texts[-1].endswith(lines["lines"].splitlines()[-1] + "\n")
    assert "fault" in missed_lines(handlers, {"run": "another", "from": 0})
