"""The table of the benchmark, character by character where it is short."""

from __future__ import annotations

from dataclasses import replace

from lab.bench.measurements import CaseRecord, CheckRecord, EngineRecord
from lab.bench.tables import table

OURS = CaseRecord(
    engine="workbench", version="1", vocabulary="v", case="choice", tokens=2, compile_ms=0.5,
    first_mask_ms=1.0, warm_us=0.2, memory_bytes=12_300,
)  # fmt: skip
PEER = CaseRecord(
    engine="peer", version="2", vocabulary="v", case="choice", tokens=2, compile_ms=1234.5,
    first_mask_ms=0.25, warm_us=3.0,
)  # fmt: skip


def test_peer_has_ratios() -> None:
    head, ours, peer, *_ = table([PEER, OURS]).splitlines()
    assert head.split("  ")[0] == "choice · 2 tokens"
    assert ours.split() == [
        "peer",
        "2",
        "1,234",
        "(2,469×)",
        "0.25",
        "(0.25×)",
        "–",
        "–",
        "–",
        "3",
        "(15×)",
        "–",
        "–",
        "–",
        "–",
        "–",
    ]
    assert peer.split() == [
        "workbench",
        "1",
        "0.5",
        "1",
        "–",
        "–",
        "–",
        "0.2",
        "–",
        "–",
        "–",
        "–",
        "12.3",
    ]


def test_closed_form_figures_are_below_the_table() -> None:
    closed = replace(
        OURS, closed_ms=0.2, closed_first_ms=0.75, closed_told_ms=1.25, closed_edges=258_786,
        closed_bytes=35_542,
    )  # fmt: skip
    assert (
        "\n  closed form: 0.75 ms with empty caches, 35.5 kB; 1.25 ms more to"
        " write out all 258,786 edges (workbench 1)\n"
    ) in table([closed])


def test_failed_measurement_is_below_the_table() -> None:
    lost = CaseRecord(
        engine="peer", version="2", vocabulary="v", case="ip", status="crashed", reason="exit status -6",
    )  # fmt: skip
    assert "ip\n  crashed: exit status -6 (peer 2)\n" in table([lost])


def test_engines_come_first() -> None:
    fine = EngineRecord(engine="workbench", version="1", vocabulary="v", prepare_ms=20.0)
    lost = EngineRecord(
        engine="peer", version="2", vocabulary="v", status="timed out", reason="nothing for 9 s"
    )
    lines = table([fine, lost]).splitlines()
    assert lines[0] == "v"
    assert lines[2].split() == ["workbench", "1", "20", "–", "–", "–"]
    assert lines[3].startswith("peer 2")
    assert "timed out: nothing for 9 s" in lines[3]


def test_masks_that_differ_are_shown_by_example() -> None:
    about = {"engine": "peer", "version": "2", "vocabulary": "v"}
    same = CheckRecord(**about, case="ip", masks=3, expected=3, dropped=0, added=0)  # type: ignore[arg-type]
    less = CheckRecord(
        **about, case="choice", masks=2, expected=3, dropped=1_000, added=0,  # type: ignore[arg-type]
        dropped_examples=(("x" * 40, "ab"),),
    )  # fmt: skip
    assert table([same, less]).splitlines()[1:] == [
        "  peer 2: 1 of 2 cases equal",
        "    choice: drops 1,000 tokens and adds 0 in 2 of 3 masks",
        f"      drops 'ab' after '…{'x' * 32}'",
    ]
