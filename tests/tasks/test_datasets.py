"""Datasets: formats, columns, rows that are bad."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from workbench.base.errors import WorkbenchError
from workbench.decoding.grid import GridSettings, grid_tasks
from workbench.tasks.datasets import BadRow, Row, columns_named, mapped, rows_of

ROWS = [{"question": "a?", "n": 1}, {"question": "b?", "n": 2}]


def test_all_formats_have_the_same_rows(tmp_path: Path) -> None:
    lines, whole, table = (tmp_path / f"rows.{ending}" for ending in ("jsonl", "json", "parquet"))
    lines.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    whole.write_text(json.dumps(ROWS))
    pq.write_table(pa.Table.from_pylist(ROWS), table)
    expected = [Row(1, ROWS[0]), Row(2, ROWS[1])]
    assert [list(rows_of(str(path))) for path in (lines, whole, table)] == [expected] * 3
    text = tmp_path / "rows.csv"
    text.write_text("question,n\na?,1\nb?,2\n")
    assert [row.values["question"] for row in rows_of(str(text)) if isinstance(row, Row)] == [
        "a?",
        "b?",
    ]


def test_a_row_that_is_no_object_does_not_end_the_others(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"prompt": "a"}\n\nnot json\n[1]\n{"prompt": "b"}\n')
    found = list(rows_of(str(path)))
    assert [row.number for row in found] == [1, 3, 4, 5]
    assert [type(row) for row in found] == [Row, BadRow, BadRow, Row]
    assert isinstance(found[2], BadRow)
    assert found[2].reason == "expected an object, found list"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("rows.txt", "", "cannot tell the format"),
        ("missing.jsonl", None, "No such file"),
        ("rows.parquet", "no table", "cannot read"),
        ("rows.json", "{}", "expected a list of objects"),
        ("rows.json", "{", "is not JSON"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(
    tmp_path: Path, name: str, content: str | None, message: str
) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(WorkbenchError, match=message):
        list(rows_of(str(tmp_path / name)))


def test_columns_are_mapped_to_fields() -> None:
    assert columns_named(["prompt=question"]) == {"prompt": "question"}
    assert mapped(ROWS[0], {"prompt": "question"})["prompt"] == "a?"
    with pytest.raises(WorkbenchError, match="no column 'text'") as missing:
        mapped(ROWS[0], {"prompt": "text"})
    assert missing.value.hint == "it has 'question', 'n'"
    with pytest.raises(WorkbenchError, match="expected FIELD=COLUMN"):
        columns_named(["question"])


def test_a_grid_has_a_task_for_each_row_method_and_seed_and_the_bad_rows() -> None:
    rows: list[Row | BadRow] = [
        Row(1, {"prompt": "a", "schema": {"enum": ["yes"]}}),
        BadRow(2, "not JSON"),
        Row(3, {"prompt": "b", "grammar": "start ::= 'b';", "model": "toy"}),
        Row(4, {"prompt": "c", "grammar": "c", "notation": "latin"}),
        Row(5, {"prompt": "d"}),
        Row(6, {"prompt": 7, "grammar": "x"}),
    ]
    settings = GridSettings(contenders=("automaton", "unconstrained"), seeds=(0, 1, 2))
    tasks, bad = grid_tasks(rows, {}, settings)
    assert len(tasks) == 2 * 2 * 3
    assert len({task.key for task in tasks}) == len(tasks)
    assert {json.loads(task.shard)["model"] for task in tasks} == {"builtin", "toy"}
    assert [one.key for one in bad] == ["row 2", "row 4", "row 5", "row 6"]
    assert bad[1].error == "there is no notation 'latin'"
    changed, _ = grid_tasks([Row(1, {"prompt": "A", "schema": {"enum": ["yes"]}})], {}, settings)
    assert not {task.key for task in changed} & {task.key for task in tasks}
