"""Merge tables: cached on disk, and built again if the file is damaged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.vocabulary.tokenization.slow_bpe import table
from workbench.base.errors import EndedError, LimitError, VocabularyError
from workbench.base.limits import Limits, time_budget
from workbench.vocabulary import disk_cache
from workbench.vocabulary.tokenization import bpe as merge_tables
from workbench.vocabulary.tokenization import pair_test
from workbench.vocabulary.tokenization.bpe import Bpe, tables_of
from workbench.vocabulary.tokenization.merge_kernels import Ints, Tables
from workbench.vocabulary.vocabulary import AddedToken, Tokenizer, Vocabulary


def same(one: Tables, other: Tables) -> None:
    for name in Tables._fields:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(merge_tables, "_MIN_CACHED_TOKENS", 2)
    return tmp_path / "grammar-workbench"


def small(*, late: bool = False) -> Vocabulary:
    merges = [("a", "b"), ("ab", "a")]
    return table(merges[::-1] if late else merges, "ab")


@pytest.mark.parametrize("late", [False, True])
def test_cached_tables_are_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    made = tables_of(small(late=late))
    assert len(list(folder.glob("merges-*"))) == 1
    with monkeypatch.context() as patched:
        patched.setattr(merge_tables, "rules_of", lambda _: pytest.fail("not cached"))
        same(made, tables_of(small(late=late)))
    for array in (made.left, made.rules.keys):
        assert not array.flags.writeable  # kernels would be compiled again


def test_texts_of_special_tokens_leave_out_rules(folder: Path) -> None:
    rules = [(b"a", b"b"), (b"ab", b"a")]
    for text in (b"x", b"ab"):
        tokenizer = Tokenizer(rules, added=[AddedToken(text, 4)])
        tables = tables_of(Vocabulary(small().tokens, tokenizer=tokenizer))
        assert (tables.left >= 0).sum() == (2 if text == b"x" else 0)


def test_other_rules_are_other_tables(folder: Path) -> None:
    for vocabulary in (small(), small(late=True), Vocabulary(small().tokens, merges=())):
        tables_of(vocabulary)
    ranked = Vocabulary(
        small().tokens, tokenizer=Tokenizer(ranks=np.array([-1, -1, 0, 1, -1], np.int32))
    )
    tables_of(ranked)
    tables_of(
        Vocabulary(
            small().tokens, tokenizer=Tokenizer(ranks=np.array([-1, -1, 1, 0, -1], np.int32))
        )
    )
    assert len(list(folder.iterdir())) == 5


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("rules_keys", lambda keys: np.abs(keys)),  # no empty slot: a search would not end
        ("rules_keys", lambda keys: keys[:-1].copy()),
        ("children", lambda children: children + np.int32(9)),
        ("before", lambda before: before + np.int32(9)),
        ("left", lambda left: left[:-1].copy()),
    ],
)
def test_damaged_tables_are_built_again(
    folder: Path, field: str, change: Callable[..., Ints]
) -> None:
    made = tables_of(small())
    (file,) = folder.iterdir()
    read = disk_cache._read(file)
    assert read is not None
    damaged = {name: np.array(array) for name, array in read.items()}
    damaged[field] = change(damaged[field])
    del read
    file.unlink()  # the old file is mapped into memory
    with file.open("wb") as opened:
        disk_cache._put(opened, damaged, file.name)
    same(made, tables_of(small()))


def test_error_too_many_offending_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_test, "MAX_ENCODED_PAIRS", 3)
    with pytest.raises(
        VocabularyError, match="tokens are produced by earlier rules than their sides"
    ):
        tables_of(small(late=True))


def late_rules() -> Vocabulary:
    """A tokenizer with many exceptions to the pair test: its longest rules come first."""
    merges = [("a", "a"), ("a", "b"), ("aa", "ab"), ("b", "b"), ("ab", "bb"), ("bb", "a")]
    return table(merges[::-1], "ab")


def test_tables_in_slices_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = tables_of(late_rules())
    assert len(whole.exceptions) > 1
    monkeypatch.setattr(pair_test, "_CHUNK", 2)
    monkeypatch.setattr(pair_test, "_SLICE", 0)
    same(whole, tables_of(late_rules()))


@pytest.mark.parametrize("limits", [Limits(seconds=1e-9), None])
def test_error_of_tables_after_the_time(limits: Limits | None) -> None:
    """The search ends with the limit or the time budget; the next call begins again."""
    vocabulary = late_rules()
    with time_budget(1e-9 if limits is None else 60.0), pytest.raises(LimitError):
        Bpe.of(vocabulary, limits)
    same(Bpe.of(vocabulary).tables, tables_of(late_rules()))


def test_the_deadline_is_checked_between_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each slice is short: a request that ends meanwhile ends the work after one of them."""
    monkeypatch.setattr(pair_test, "_SLICE", 0)
    slices = []
    compare = pair_test._compare

    def slice_of(*arguments: Any) -> tuple[int, int]:
        slices.append(arguments)
        if len(slices) == 2:
            deadline.end()
        return compare(*arguments)

    monkeypatch.setattr(pair_test, "_compare", slice_of)
    with time_budget(60.0) as deadline, pytest.raises(EndedError):
        Bpe.of(late_rules(), Limits(seconds=60.0))
    assert len(slices) == 2


def test_error_no_strict_order() -> None:
    """Greedily bbbbb is [bbb, bb], by passes over (b, b) and then (bb, b) it is [bb, bbb]."""
    bpe = Bpe.of(table([("bb", "b"), ("b", "b")], "b"))
    assert not bpe.monotone
    assert [bpe.vocabulary.tokens[t] for t in bpe.encode("bbbbb")] == [b"bbb", b"bb"]
    with pytest.raises(VocabularyError, match="have no order that gives the same encodings"):
        _ = bpe.merges


def test_rules_that_come_too_early_are_moved() -> None:
    bpe = Bpe.of(table([("b", "aa"), ("a", "a")], "ab"))
    assert not bpe.monotone
    assert bpe.merges == [(b"a", b"a"), (b"b", b"aa")]


def test_exceptions_to_the_pair_test() -> None:
    """Encoding abab produces ab, then aba, before the second ab."""
    bpe = Bpe.of(table([("ab", "a"), ("a", "b")], "ab"))
    ab, aba, b = bpe.vocabulary.ids("ab", "aba", "b")
    assert bpe.encode("abab") == [aba, b]
    assert len(bpe.tables.exceptions)
    assert not bpe.pair_ok(ab, ab)
    with pytest.raises(VocabularyError, match="its rows are not intervals"):
        bpe.row(ab)
