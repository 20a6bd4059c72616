"""Results files on the page: parts of a file, the answers' format, limits, and files the server has dropped."""

from __future__ import annotations

import base64
import csv
import io
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.tasks.test_row_store import LONG, results
from tests.ui.test_wire import check
from tests.ui.toy import toy_room
from workbench.app.pipeline import Pipeline
from workbench.app.ui import results_view
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.opening_view import page_record
from workbench.app.ui.questions import QUESTIONS
from workbench.app.ui.results_view import ResultsStore
from workbench.app.ui.shares import READING
from workbench.base.errors import WorkbenchError
from workbench.base.limits import LIMITS
from workbench.tasks.results import measured_path

UPLOAD = "0123456789abcdef"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return results(tmp_path_factory.mktemp("page") / "runs.parquet")


def ask(handlers: Handlers, name: str, **sent: Any) -> Any:
    """The answer to a question of the part *compare*, as JSON, in its format."""
    answer = json.loads(json.dumps(QUESTIONS[name](handlers, sent), allow_nan=False))
    check(answer, QUESTIONS[name].answer)
    return answer


def send(handlers: Handlers, *files: bytes, part: int = 10_000) -> Any:
    """Send files in parts, and open them."""
    for number, data in enumerate(files):
        for offset in range(0, len(data), part):
            text = base64.b64encode(data[offset : offset + part]).decode()
            answer = ask(
                handlers, "send_results", upload=UPLOAD, file=number, offset=offset, base64=text
            )
            assert answer == {"ok": True, "received": min(len(data), offset + part)}
    return ask(handlers, "open_results", upload=UPLOAD)


@pytest.fixture(scope="module")
def about(handlers: Handlers, file: Path) -> Any:
    return send(handlers, file.read_bytes(), measured_path(file).read_bytes())


def test_a_file_is_described(about: Any) -> None:
    assert about["kind"] == "runs of methods"
    assert (about["rows"], about["failed"], about["bad_rows"]) == (60, 8, 0)
    assert about["settings"] == [["temperature", "0.5"]]
    assert about["summary"][0][:4] == ["model", "contender", "results", "valid"]
    assert {"name": "perplexity", "kind": "number"} in about["columns"]
    assert {"name": "hint", "kind": ""} in about["columns"]
    assert "seconds" in about["summary"][0], "from the file of measures"


def test_rows_are_sent_in_pages(handlers: Handlers, about: Any) -> None:
    first = ask(handlers, "results_rows", file=about["file"])
    assert (first["total"], len(first["rows"])) == (60, 50)
    rest = ask(handlers, "results_rows", file=about["file"], offset=50)
    assert [row["n"] for row in first["rows"] + rest["rows"]] == [*range(1, 61)]
    place = [one["name"] for one in about["columns"]].index("grammar")
    assert first["rows"][0]["cells"][place] == LONG[:160] + "…"
    sent = {"wanted": "contender = a", "sort": "tokens", "down": True}
    few = ask(handlers, "results_rows", file=about["file"], **sent)
    place = [one["name"] for one in about["columns"]].index("tokens")
    tokens = [row["cells"][place] for row in few["rows"]]
    assert tokens == sorted(tokens, reverse=True)
    wrong = ask(handlers, "results_rows", file=about["file"], wanted="tokens > many")
    assert "expected a number" in wrong["why"]


def test_a_row_has_its_grammar_and_its_tokens(handlers: Handlers, about: Any) -> None:
    row = ask(handlers, "results_row", file=about["file"], n=4)
    grammar = {"text": LONG, "notation": "json_schema", "start": "start", "options": {}}
    assert row["grammar"] == {**grammar, "prompt": "number 3: "}
    assert row["tokens"] == [3]
    assert {"name": "grammar", "value": LONG} in row["values"]
    failed = ask(handlers, "results_row", file=about["file"], n=7)
    assert failed["grammar"]["text"] == LONG, "what failed can be opened too"
    assert failed["tokens"] == []


def test_a_box_has_the_quartiles(handlers: Handlers, about: Any) -> None:
    plot = ask(handlers, "results_plot", file=about["file"], column="perplexity")
    own = [1 / (1 + i) for i in range(0, 60, 2) if i % 7 != 6]
    box = plot["groups"][0]
    assert box["name"] == "m a"
    assert [box[name] for name in ("first", "median", "third")] == list(
        np.percentile(own, (25, 50, 75))
    )
    assert box["outside"] == sum(not box["low"] <= value <= box["high"] for value in own) > 0
    assert box["high"] <= box["third"] + 1.5 * (box["third"] - box["first"])


def test_csv_is_sent_in_pieces(
    handlers: Handlers, about: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results_view, "_CSV", 1)
    monkeypatch.setattr(results_view, "_CSV_ROWS", 7)
    text, offset, pieces = "", 0, 0
    while offset < 60:
        answer = ask(handlers, "results_csv", file=about["file"], offset=offset, sort="row")
        assert answer["next"] > offset
        text, offset, pieces = text + answer["text"], answer["next"], pieces + 1
    rows = list(csv.DictReader(io.StringIO(text)))
    assert pieces == 9
    assert len(rows) == 60
    assert all(row["grammar"] == LONG for row in rows)


def test_a_dropped_file_is_lost_and_can_be_sent_again(handlers: Handlers, file: Path) -> None:
    for name in ("results_rows", "results_row", "results_plot", "results_csv"):
        assert ask(handlers, name, file="0" * 64, column="tokens", n=1)["lost"]
    one, two = (send(handlers, file.read_bytes())["file"] for _ in range(2))
    assert one == two, "its name is that of its bytes"


def test_a_file_that_the_system_removed_is_lost_too(tmp_path: Path) -> None:
    store = ResultsStore()
    name, rows = store.open([results(tmp_path / "runs.parquet", 5)], LIMITS)
    shutil.rmtree(store._folder)
    with pytest.raises(WorkbenchError, match="the results were closed"):
        rows.numbers("", "", down=False)
    assert store.rows(name) is None
    assert store.add(UPLOAD, 0, 0, b"again", LIMITS) == 5
    assert store.open([tmp_path / "runs.parquet"], LIMITS)[0] == name
    assert store.rows(name) is not None


def test_parts_that_do_not_follow_are_not_written(tmp_path: Path) -> None:
    store = ResultsStore()
    assert store.add(UPLOAD, 0, 5, b"later", LIMITS) == 0
    assert store.add(UPLOAD, 0, 0, b"first", LIMITS) == 5
    assert store.add(UPLOAD, 0, 0, b"first", LIMITS) == 5, "a request that was repeated"
    assert store.add(UPLOAD, 0, 5, b"later", LIMITS) == 10
    assert [path.read_bytes() for path in store.uploaded(UPLOAD)] == [b"firstlater"]
    for i in range(20):
        store.add(f"{i:08}", 0, 0, b"x", LIMITS)
    assert not store.uploaded(UPLOAD), "the oldest is dropped"
    assert len(list(store._folder.iterdir())) <= results_view._MAX_UPLOADS


def test_only_the_last_files_stay_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results_view, "_MAX_OPEN", 2)
    store = ResultsStore()
    names = []
    for count in (5, 6, 7):
        names.append(store.open([results(tmp_path / f"{count}.parquet", count)], LIMITS)[0])
    assert [store.rows(name) is not None for name in names] == [False, True, True]
    assert len(list(store._folder.glob("*.db"))) == 2


def test_error_for_a_file_over_the_limit() -> None:
    handlers = Handlers(toy_room(), Pipeline(replace(LIMITS, megabytes=8)))
    data = base64.b64encode(b"x" * 700_000).decode()
    sent = {"upload": UPLOAD, "base64": data}
    assert ask(handlers, "send_results", **sent)["ok"]
    over = ask(handlers, "send_results", **sent, offset=700_000)
    assert "more than 1 MB" in over["why"]
    assert ask(handlers, "send_results", **sent, offset=700_000) == {"ok": True, "received": 0}


@pytest.mark.parametrize(
    ("name", "sent", "says"),
    [
        ("send_results", {"upload": "../../etc", "base64": ""}, "a name of the upload"),
        ("send_results", {"upload": UPLOAD, "base64": "%%"}, "base64"),
        ("open_results", {"upload": "never-sent"}, "did not arrive"),
        ("open_results", {"served": True}, "served without results"),
    ],
)
def test_error_for_wrong_questions(
    handlers: Handlers, name: str, sent: dict[str, Any], says: str
) -> None:
    assert says in ask(handlers, name, **sent)["why"]


def test_error_for_a_damaged_file_names_the_reason(handlers: Handlers, file: Path) -> None:
    answer = send(handlers, file.read_bytes()[:900])
    assert "cannot read the file" in answer["why"]
    assert "evaluate" in answer["why"], "the hint"


def test_error_for_a_process_that_ends(handlers: Handlers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results_view, "_SECONDS", 0.5)  # one second of processor time
    answer = send(handlers, b'{"a": 1}\n' * 300_000, part=1_000_000)
    assert "damaged, or needs more than" in answer["why"]


def test_the_served_file_is_opened_without_an_upload(file: Path) -> None:
    handlers = Handlers(toy_room())
    handlers.served_results = file
    assert page_record(handlers)["results"] == "runs.parquet"
    assert ask(handlers, "open_results", served=True)["rows"] == 60


def test_error_for_a_served_file_that_is_no_longer_there(tmp_path: Path) -> None:
    handlers = Handlers(toy_room())
    handlers.served_results = tmp_path / "runs.parquet"
    assert "cannot be read: No such file" in ask(handlers, "open_results", served=True)["why"]


def test_reading_a_file_takes_no_turn_of_other_questions() -> None:
    assert QUESTIONS["open_results"].share is READING
