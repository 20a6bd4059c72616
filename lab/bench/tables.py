"""Tables of benchmark records, as text and Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from lab.bench.measurements import CaseRecord, CheckRecord, EngineRecord, Record
from lab.bench.peers.registry import OURS
from workbench.base.text_tables import figure, format_table

_CASE_HEAD = (
    "compile ms", "first mask ms", "cold µs", "p50", "p99", "warm µs", "p99", "advance µs",
    "closed ms", "tree ms", "kB",
)  # fmt: skip
_ENGINE_HEAD = (
    "vocabulary", "prepare ms", "from disk ms", "first mask, no kernels s",
    "first mask, cached kernels s",
)  # fmt: skip

#: Characters shown of the text before a token.
_MAX_CONTEXT = 32

_LEGEND = (
    "A figure in brackets is the peer's time divided by ours: above 1 ours is faster. Means are "
    "over the walk, p99 over all samples."
)


def table(records: Iterable[Record]) -> str:
    """The report, ready to print."""
    all_records = list(records)
    engines = [r for r in all_records if isinstance(r, EngineRecord)]
    cases = [r for r in all_records if isinstance(r, CaseRecord)]
    checks = [r for r in all_records if isinstance(r, CheckRecord)]
    parts = [_engines(engines)] if engines else []
    parts.extend(
        _case(name, [r for r in cases if r.case == name])
        for name in dict.fromkeys(r.case for r in cases)
    )
    if cases:
        parts.append(_LEGEND)
    if checks:
        parts.append(_table_of_checks(checks))
    return "\n\n".join(parts) + "\n"


def _engines(records: Sequence[EngineRecord]) -> str:
    rows: list[tuple[str, ...]] = [_ENGINE_HEAD]
    notes = []
    for record in records:
        name = _title(record)
        if record.status != "ok":
            rows.append((name, f"{record.status}: {record.reason}", "", "", ""))
            continue
        figures = (
            record.prepare_ms, record.cached_ms, record.first_mask_no_kernels_s,
            record.first_mask_cached_kernels_s,
        )  # fmt: skip
        rows.append((name, *(figure(x) for x in figures)))
        if record.reason:
            notes.append(f"  {name}: {record.reason}")
    return "\n".join([records[0].vocabulary, format_table(rows), *notes])


def _case(name: str, records: Sequence[CaseRecord]) -> str:
    """One case: a line for each engine."""
    ours = next((r for r in records if r.engine == OURS), None)
    tokens = next((r.tokens for r in records if r.tokens is not None), None)
    rows: list[tuple[str, ...]] = [
        (name if tokens is None else f"{name} · {tokens} tokens", *_CASE_HEAD)
    ]
    notes: dict[str, list[str]] = {}
    for record in records:
        if record.status == "ok":
            rows.append((_title(record), *_figures(record, ours)))
        note = _closed(record) if record.status == "ok" else f"{record.status}: {record.reason}"
        if note:
            notes.setdefault(note, []).append(_title(record))
    body = format_table(rows) if len(rows) > 1 else name
    return "\n".join([body, *(f"  {note} ({', '.join(who)})" for note, who in notes.items())])


def _closed(record: CaseRecord) -> str:
    """The figures of the closed form that have no column."""
    if record.closed_first_ms is None or record.closed_bytes is None:
        return record.closed_note
    return (
        f"closed form: {figure(record.closed_first_ms)} ms with empty caches, "
        f"{figure(record.closed_bytes / 1e3)} kB; {figure(record.closed_told_ms)} ms more to write "
        f"out all {record.closed_edges:,} edges"
    )


def _title(record: Record) -> str:
    return f"{record.engine} {record.version}"


#: The columns that are compared.
_COMPARED = (
    "compile_ms", "first_mask_ms", "cold_us", "cold_p50_us", "cold_p99_us", "warm_us",
    "warm_p99_us", "advance_us", "closed_ms",
)  # fmt: skip


def _figures(record: CaseRecord, ours: CaseRecord | None) -> list[str]:
    base = None if record.engine == OURS else ours
    cells = [
        ratio_text(getattr(record, name), None if base is None else getattr(base, name))
        for name in _COMPARED
    ]
    memory = None if record.memory_bytes is None else record.memory_bytes / 1e3
    return [*cells, figure(record.tree_mask_ms), figure(memory)]


def ratio_text(value: float | None, ours: float | None) -> str:
    """A figure, with its ratio to ours where both are known."""
    if value is None or not ours:
        return figure(value)
    return f"{figure(value)} ({_ratio(value / ours)}×)"


def _ratio(value: float) -> str:
    """Two significant figures."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _table_of_checks(records: Sequence[CheckRecord]) -> str:
    """Engines whose masks equal ours, and examples of differences."""
    lines = ["masks compared with ours, bit by bit (without special tokens)"]
    for engine in dict.fromkeys(record.engine for record in records):
        theirs = [record for record in records if record.engine == engine]
        whole = [r for r in theirs if not r.dropped and not r.added and r.masks == r.expected]
        lines.append(f"  {engine} {theirs[0].version}: {len(whole)} of {len(theirs)} cases equal")
        for record in theirs:
            if record not in whole:
                lines.extend(_differences(record))
    return "\n".join(lines)


def _differences(record: CheckRecord) -> Iterator[str]:
    of_expected = "" if record.masks == record.expected else f" of {record.expected}"
    yield (
        f"    {record.case}: drops {record.dropped:,} tokens and adds {record.added:,}"
        f" in {record.masks}{of_expected} masks"
    )
    for verb, examples in (("drops", record.dropped_examples), ("adds", record.added_examples)):
        for text, token in examples:
            shown = text if len(text) <= _MAX_CONTEXT else f"…{text[-_MAX_CONTEXT:]}"
            yield f"      {verb} {token!r} after {shown!r}"


#: The measures shown of constraints and of real grammars, by their fields.
_FIRST_MASK = {"first_mask_ms": "text to first mask, ms"}
_MEASURES = _FIRST_MASK | {
    "cold_us": "cold mask, µs",
    "warm_us": "warm mask, µs",
    "advance_us": "advance, µs",
}
_REAL_MEASURES = _FIRST_MASK | {
    "cold_p50_us": "cold mask p50, µs",
    "cold_p99_us": "cold mask p99, µs",
    "warm_us": "warm mask, µs",
}


def summary(records: Sequence[Record], *, real: bool = False) -> str:
    """A Markdown table with one row for each case, under a line that names the engines."""
    measures = _REAL_MEASURES if real else _MEASURES
    cases = [r for r in records if isinstance(r, CaseRecord)]
    wrong = {
        (r.engine, r.case)
        for r in records
        if isinstance(r, CheckRecord) and (r.dropped or r.added or r.masks < r.expected)
    }
    engines = [r for r in records if isinstance(r, EngineRecord)]
    who = ", ".join(f"{r.engine} {r.version}" for r in engines)
    heads = [cell for title in measures.values() for cell in (title, "fastest peer")]
    rows = [["constraint", *heads]]
    for name in dict.fromkeys(r.case for r in cases):
        theirs = [r for r in cases if r.case == name and r.status == "ok"]
        cells = [cell for field in measures for cell in _pair(theirs, field, wrong)]
        if theirs:
            rows.append([name, *cells])
    title = f"{engines[0].vocabulary}: {who}" if engines else ""
    return f"{title}\n\n{format_table(rows, 'markdown')}\n"


def _pair(records: Sequence[CaseRecord], field: str, wrong: set[tuple[str, str]]) -> list[str]:
    """Our figure, and the fastest peer's with its name; * if its masks differ from ours."""
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
    return [figure(ours), f"{ratio_text(value, ours)} {best.engine}{mark}"]
