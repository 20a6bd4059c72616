"""Tables in plain text: aligned columns, and numbers with three significant figures."""

from __future__ import annotations

from collections.abc import Sequence


def figure(value: float | None) -> str:
    """A number with three significant digits; – for None."""
    if value is None:
        return "–"
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows as text with aligned columns: the first to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
