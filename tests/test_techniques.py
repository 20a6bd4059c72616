"""``docs/techniques.md``: its paths exist, and every decoding method has a row."""

from __future__ import annotations

import re
from pathlib import Path

from workbench.constraint.compile import METHODS

ROOT = Path(__file__).parents[1]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "docs" / "techniques.md").read_text("utf-8").splitlines()
    if line.startswith("| ") and not line.startswith(("| ---", "| technique"))
]


def test_every_row_has_six_cells_and_a_source_with_its_year() -> None:
    for row in ROWS:
        assert len(row) == 6, row
        assert re.search(r"20\d\d|baseline", row[1]), row


def test_the_paths_exist() -> None:
    paths = {path for row in ROWS for path in re.findall(r"`(workbench/[^`]*)`", row[5])}
    assert len(paths) > 20
    assert [path for path in sorted(paths) if not (ROOT / path).is_file()] == []


def test_every_method_has_one_row() -> None:
    named = [name for row in ROWS for name in re.findall(r"`(\w+)`:", row[5])]
    assert sorted(named) == sorted(METHODS)


def test_a_row_without_a_place_says_so() -> None:
    for row in ROWS:
        assert "`" in row[5] or row[5] == "–", row
