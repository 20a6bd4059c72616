"""Engines in use, where they are installed: each one's masks on a constraint it gets right."""

from __future__ import annotations

import numpy as np
import pytest

from lab.bench.cases import CASES
from lab.bench.measurements import compared, masks_of
from lab.bench.peers.ours import Ours
from lab.bench.peers.registry import ENGINES, OURS, Entry, chosen_engines
from workbench.base.errors import WorkbenchError
from workbench.engines.peer import greedy_tokens
from workbench.vocabulary.toy_vocabularies import all_bytes

BYTES = all_bytes()


@pytest.mark.peers
@pytest.mark.parametrize("name", [name for name in ENGINES if name != OURS])
def test_masks_of_a_peer_are_ours(name: str) -> None:
    entry = ENGINES[name]
    if not entry.version:
        pytest.skip(f"{entry.distribution} is not installed")
    case = CASES["datetime"]
    walk = greedy_tokens(case.walk, BYTES)
    theirs = masks_of(entry.load()(BYTES), case, walk)
    ours = masks_of(Ours(BYTES), case, walk)
    record = compared((name, entry.version), case.name, BYTES, walk, ours, theirs)
    assert (record.dropped, record.added) == (0, 0)
    assert record.masks >= len(walk)
    assert np.all(ours.any(axis=1))


def test_peers_are_chosen_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen_engines("none") == [OURS]
    monkeypatch.setitem(ENGINES, "kbnf", Entry("pytest", "kbnf", "Kbnf"))  # installed for certain
    assert chosen_engines("kbnf") == [OURS, "kbnf"]
    assert "kbnf" in chosen_engines("all")
    monkeypatch.setitem(ENGINES, "kbnf", Entry("no-such-distribution", "kbnf", "Kbnf"))
    assert "kbnf" not in chosen_engines("all")
    with pytest.raises(WorkbenchError, match="kbnf is not installed"):
        chosen_engines("kbnf")
