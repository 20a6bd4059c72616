"""Records → a short table in Markdown: for every case ours and the fastest of the peers."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.bench.peers.registry import OURS
from workbench.bench.records import CaseRecord, CheckRecord, EngineRecord, Record
from workbench.bench.table import compared, figure

#: The measures shown, by their fields.
_MEASURES = {
    "first_mask_ms": "text to first mask, ms",
    "cold_us": "cold mask, µs",
    "warm_us": "warm mask, µs",
    "advance_us": "advance, µs",
}


def summary(records: Sequence[Record]) -> str:
    """One line a case, under a line that names who was measured."""
    cases = [r for r in records if isinstance(r, CaseRecord)]
    wrong = {
        (r.engine, r.case)
        for r in records
        if isinstance(r, CheckRecord) and (r.dropped or r.added or r.masks < r.expected)
    }
    engines = [r for r in records if isinstance(r, EngineRecord)]
    who = ", ".join(f"{r.engine} {r.version}" for r in engines)
    heads = [cell for title in _MEASURES.values() for cell in (title, "fastest peer")]
    lines = [
        f"{engines[0].vocabulary}: {who}" if engines else "",
        "",
        _row(["constraint", *heads]),
        _row(["---"] * (len(heads) + 1)),
    ]
    for name in dict.fromkeys(r.case for r in cases):
        theirs = [r for r in cases if r.case == name and r.status == "ok"]
        cells = [cell for field in _MEASURES for cell in _pair(theirs, field, wrong)]
        if theirs:
            lines.append(_row([name, *cells]))
    return "\n".join(lines) + "\n"


def _pair(records: Sequence[CaseRecord], field: str, wrong: set[tuple[str, str]]) -> list[str]:
    """Our figure, and the fastest peer's with its name; * where its masks are not ours."""
    ours = next((getattr(r, field) for r in records if r.engine == OURS), None)
    measured = [
        (getattr(r, field), r)
        for r in records
        if r.engine != OURS and getattr(r, field) is not None
    ]
    if not measured:
        return [figure(ours), "–"]
    value, best = min(measured, key=lambda pair: float(pair[0]))
    mark = "\\*" if (best.engine, best.case) in wrong else ""
    return [figure(ours), f"{compared(value, ours)} {best.engine}{mark}"]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
