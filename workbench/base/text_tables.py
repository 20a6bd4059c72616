"""Tables for people, as plain text or Markdown, and numbers with three significant figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

Style = Literal["text", "markdown"]


def figure(value: float | None) -> str:
    """A number with three significant figures; – for None."""
    if value is None:
        return "–"
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def format_table(rows: Sequence[Sequence[object]], style: Style = "text") -> str:
    """Rows of equal length, of which the first is the head; without a final line break.

    The first column is left-aligned, the others are right-aligned.
    """
    cells = [[str(cell) for cell in row] for row in rows]
    if style == "markdown":
        rule = ["---", *["---:"] * (len(cells[0]) - 1)]
        return "\n".join(f"| {' | '.join(row)} |" for row in (cells[0], rule, *cells[1:]))
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    )
