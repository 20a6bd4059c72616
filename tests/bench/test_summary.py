"""The short Markdown table, character by character."""

from __future__ import annotations

from lab.bench.measurements import CaseRecord, CheckRecord, EngineRecord, Record
from lab.bench.tables import summary


def _case(engine: str, first: float, warm: float) -> CaseRecord:
    return CaseRecord(
        engine=engine, version="1", vocabulary="v", case="ip", first_mask_ms=first, warm_us=warm
    )


def test_fastest_peer_is_next_to_ours_and_marked_where_wrong() -> None:
    records: list[Record] = [
        EngineRecord(engine="workbench", version="1", vocabulary="v"),
        _case("workbench", 1.0, 0.2),
        _case("quick", 0.5, 0.6),
        _case("slow", 5.0, 0.4),
        CaseRecord(engine="lost", version="1", vocabulary="v", case="ip", status="crashed"),
        CheckRecord(
            engine="quick", version="1", vocabulary="v", case="ip", masks=3, expected=3, dropped=1,
            added=0,
        ),
    ]  # fmt: skip
    first, empty, *_, row = summary(records).splitlines()
    assert (first, empty) == ("v: workbench 1", "")
    assert row == "| ip | 1 | 0.5 (0.5×) quick\\* | – | – | 0.2 | 0.4 (2×) slow | – | – |"


def test_unmeasured_case_has_no_row() -> None:
    lost = CaseRecord(engine="workbench", version="1", vocabulary="v", case="ip", status="not read")
    assert "| ip" not in summary([lost])
