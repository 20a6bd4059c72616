"""What is kept with an object that was computed from it."""

from __future__ import annotations

import gc
import weakref

import pytest

from workbench.base.derived import Derives


class Table:
    """Refers to what it was computed from, as tables of tokenizers do."""

    def __init__(self, owner: Derives) -> None:
        self.owner = owner


def test_it_is_computed_once_for_each_object() -> None:
    first, second = Derives(), Derives()
    assert first.derived(Table) is first.derived(Table)
    assert first.derived(Table) is not second.derived(Table)


def test_it_goes_with_its_object() -> None:
    owner = Derives()
    table = weakref.ref(owner.derived(Table))
    del owner
    gc.collect()
    assert table() is None


def test_an_error_is_not_kept() -> None:
    calls: list[int] = []

    def compute(_: Derives) -> int:
        calls.append(1)
        if len(calls) == 1:
            raise ValueError("not yet")
        return 5

    owner = Derives()
    with pytest.raises(ValueError, match="not yet"):
        owner.derived(compute)
    assert owner.derived(compute) == owner.derived(compute) == 5
    assert len(calls) == 2
