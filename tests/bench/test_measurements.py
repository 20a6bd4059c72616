"""Measuring one engine on one case: every field is there, and a refusal is one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from lab.bench.cases import CASES
from lab.bench.measurements import (
    RefusedError,
    compiles_again,
    masks_of,
    measure,
    median,
    percentile_99,
)
from lab.bench.peers.ours import Ours
from workbench.engines.case import Case
from workbench.engines.peer import Compiled, Peer, Walker, greedy_tokens
from workbench.vocabulary.toy_vocabularies import all_bytes

BYTES = all_bytes()
NAME = "workbench", "0"


class Contrary(Peer):
    """Allows everything and takes nothing."""

    def prepare(self) -> None:
        pass

    def compiler(self, case: Case) -> Callable[[], Compiled] | None:
        return (lambda: None) if case.regex else None

    def start(self, compiled: Compiled) -> Walker:
        return Walker(lambda: self.buffer.fill(-1), lambda _: False)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["choice", "anbn"])
def test_record_has_every_measure(name: str) -> None:
    case = CASES[name]
    record = measure(Ours(BYTES), NAME, case, greedy_tokens(case.walk, BYTES), 2, 10.0)
    assert (record.engine, record.case, record.status) == ("workbench", name, "ok")
    assert record.tokens == len(case.walk.encode())
    measured = (
        record.compile_ms, record.first_mask_ms, record.cold_us, record.cold_p99_us, record.warm_us,
        record.warm_p99_us, record.advance_us, record.advance_p99_us, record.closed_ms,
        record.closed_first_ms, record.closed_told_ms, record.closed_edges, record.closed_bytes,
        record.memory_bytes,
    )  # fmt: skip
    assert all(value is not None and value > 0 for value in measured)
    assert (record.tree_mask_ms is None) == (case.kbnf is None)
    assert record.closed_note == ""


@pytest.mark.slow
def test_grammar_without_a_closed_form_is_measured_all_the_same() -> None:
    case = Case("endless", "aacb", kbnf="start ::= 'a' start 'b'? | 'c';")
    record = measure(Ours(BYTES), NAME, case, greedy_tokens(case.walk, BYTES), 1, 1.0)
    assert (record.status, record.closed_ms) == ("ok", None)
    assert record.closed_note.startswith("no closed form: one token may end any number of rules")


def test_case_without_a_notation_of_the_engine_is_not_read() -> None:
    record = measure(Contrary(BYTES), NAME, CASES["anbn"], [], 1, 1.0)
    assert (record.status, record.compile_ms) == ("not read", None)
    nobodys = measure(Ours(BYTES), NAME, Case("nobody's", ""), [], 1, 1.0)
    assert (nobodys.status, nobodys.reason) == ("not read", "no text in a notation it reads")


@pytest.mark.slow
def test_engine_that_does_not_take_the_walk_is_refused() -> None:
    with pytest.raises(RefusedError, match="token 73 of the walk is refused at step 1"):
        measure(Contrary(BYTES), NAME, CASES["choice"], greedy_tokens("Indigo", BYTES), 1, 1.0)


def test_masks_are_those_of_the_walk_and_one_after_it() -> None:
    masks = masks_of(Ours(BYTES), replace(CASES["choice"]), greedy_tokens("Red", BYTES))
    assert masks.shape == (4, 9)  # 257 tokens
    allowed = [np.flatnonzero(np.unpackbits(m.view(np.uint8), bitorder="little")) for m in masks]
    assert [bytes(a.tolist()) for a in allowed[:3]] == [b"BGIORVY", b"e", b"d"]
    assert allowed[3].tolist() == [BYTES.end]
    assert len(masks_of(Contrary(BYTES), CASES["choice"], greedy_tokens("Red", BYTES))) == 1


def test_middle_and_rank_of_samples() -> None:
    assert median([3.0, 1.0, 2.0]) == 2.0
    assert median([4.0, 1.0, 2.0, 3.0]) == 2.0
    assert percentile_99([float(i) for i in range(1, 201)]) == 198.0
    assert percentile_99([5.0]) == 5.0


#   done  seconds spent   again        because
GOES_ON = [
    (0,   99.0,           True,        "once in any case"),
    (4,   3.0,            True,        "fewer than asked for"),
    (4,   11.0,           False,       "the time is over"),
    (5,   0.4,            True,        "cheap, so more often"),
    (5,   0.6,            False,       "as many as asked for, and not that cheap"),
    (50,  0.4,            False,       "ten times as many are enough"),
]  # fmt: skip


@pytest.mark.parametrize(("done", "spent", "more", "_"), GOES_ON, ids=[g[3] for g in GOES_ON])
def test_cheap_compilations_are_repeated_more_often(
    done: int, spent: float, more: bool, _: str
) -> None:
    assert compiles_again(done, spent, repeat=5, seconds=10.0) == more
