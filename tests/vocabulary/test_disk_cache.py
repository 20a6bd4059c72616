"""The disk cache: arrays are read as they were written, and damaged files are replaced."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from workbench.base import private_files
from workbench.base.resources import cache_folder
from workbench.vocabulary import disk_cache
from workbench.vocabulary.trie import Trie

TOKENS: list[bytes | None] = [None, *(n.to_bytes(3, "big") for n in range(9000)), b"\0", b"\0"]
#: Files with a wrong layout line, or with missing arrays.
DAMAGED = [
    b"",
    b"cut off",
    b"\n",
    b"[]\n",
    b'{"byte": 1}\n',
    b'{"file": 1}\n',
    b'{"file": NAME}\n',
    b'{"file": NAME, "arrays": []}\n',
    b'{"file": "trie-1-x.arrays", "arrays": {}}\n',
    b'{"file": NAME, "arrays": {}}\n',
    *(
        b'{"file": NAME, "arrays": {"byte": %s}}\n%s' % (array, data)
        for array, data in (
            (b'["|u1", [5], 0]', b"....."),
            (b'["|u1", [-1], 0, 0]', b""),
            (b'["|u1", [5], -9, 0]', b"....."),
            (b'["|u1", [99], 0, 0]', b"....."),
            (b'["|u1", [5], 0, 0]', b"....."),
            (b'["|u1", [5], 0, %d]' % zlib.crc32(b"....."), b"....."),
            (b'["|O", [1], 0, %d]' % zlib.crc32(b"........"), b"........"),
            (b'["nonsense", [1], 0, 0]', b"........"),
        )
    ),
    b"\xff\xfe\n",
]

FIELDS = ("byte", "depth", "skip", "first", "token_ids")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "grammar-workbench"


def same(left: Trie, right: Trie) -> bool:
    arrays = all(np.array_equal(getattr(left, f), getattr(right, f)) for f in FIELDS)
    return arrays and left.height == right.height


def test_built_once_and_then_read(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = disk_cache.trie_of(TOKENS)
    assert len(list(home.iterdir())) == 1
    monkeypatch.setattr(Trie, "of", staticmethod(lambda _: pytest.fail("built again")))
    assert same(disk_cache.trie_of(TOKENS), made)


def test_other_tokens_are_another_file(home: Path) -> None:
    first = disk_cache.trie_of(TOKENS)
    other = disk_cache.trie_of([*TOKENS[1:], None])
    assert len(list(home.iterdir())) == 2
    assert not same(first, other)


def test_small_vocabularies_are_not_written(home: Path) -> None:
    disk_cache.trie_of(TOKENS[:100])
    assert not home.exists()


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_file_is_replaced(home: Path, damage: bytes) -> None:
    made = disk_cache.trie_of(TOKENS)
    file = next(home.iterdir())
    whole = file.read_bytes()
    file.write_bytes(damage.replace(b"NAME", b'"%s"' % file.name.encode()))
    assert same(disk_cache.trie_of(TOKENS), made)
    assert len(file.read_bytes()) == len(whole)
    file.write_bytes(whole[: len(whole) // 2])
    assert same(disk_cache.trie_of(TOKENS), made)


def test_a_changed_byte_is_noticed_logged_and_the_file_replaced(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made = disk_cache.trie_of(TOKENS)
    file = next(home.iterdir())
    whole = file.read_bytes()
    head = whole.index(b"\n") + 1
    for part in range(8):
        place = head + 100 + part * (len(whole) - head - 1000) // 8
        changed = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
        file.write_bytes(changed)
        caplog.clear()
        assert same(disk_cache.trie_of(TOKENS), made), place
        assert file.read_bytes() == whole
        (line,) = caplog.messages
        assert line == f"{file.name} cannot be read and is made again: its checksum differs"


def test_the_file_of_another_vocabulary_is_not_used(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made = disk_cache.trie_of(TOKENS)
    file = next(home.iterdir())
    other = [*TOKENS[1:], None]
    disk_cache.trie_of(other)
    (copy,) = set(home.iterdir()) - {file}
    copy.write_bytes(file.read_bytes())
    found = disk_cache.trie_of(other)
    assert same(found, Trie.of(other))
    assert not same(found, made)
    assert [
        line.endswith(f"is made again: it is a copy of {file.name}") for line in caplog.messages
    ] == [True]


ROOT_ONLY = pytest.mark.skipif(
    not hasattr(os, "getuid") or os.getuid() != 0, reason="only root gives files to another user"
)


@pytest.mark.skipif(sys.platform == "win32", reason="folders have access lists there")
@pytest.mark.parametrize("opened", ["mode", "group", pytest.param("owner", marks=ROOT_ONLY)])
@pytest.mark.parametrize("whole", [False, True])
def test_a_file_that_others_may_write_is_not_read(
    home: Path, opened: str, whole: bool, caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(tempfile, "tempdir", str(home.parent / "temporary"))
    (home.parent / "temporary").mkdir()
    made = disk_cache.trie_of(TOKENS)
    file = next(home.iterdir())
    prepared = {name: getattr(made, name) for name in FIELDS} | {"height": np.array(made.height)}
    prepared["token_ids"] = np.zeros_like(made.token_ids)
    with file.open("wb") as opened_file:
        disk_cache._put(opened_file, prepared, file.name)
    assert not same(disk_cache.trie_of(TOKENS), made), "it is read where nobody else may write"
    changed = home if whole else file
    if opened == "owner":
        os.chown(changed, 65534, 65534)
    else:
        changed.chmod(0o777 if opened == "mode" else 0o770)
        monkeypatch.setattr(private_files, "_is_own_group", lambda _: False)
    for _ in range(2):
        assert same(disk_cache.trie_of(TOKENS), made)
    reason = "belongs to another user" if opened == "owner" else "can be written by other users"
    (line,) = [line for line in caplog.messages if str(changed) in line]
    assert reason in line


FULL_DISK = """
import resource, sys
from tests.vocabulary.test_disk_cache import TOKENS, same
from workbench.vocabulary.disk_cache import trie_of
from workbench.vocabulary.trie import Trie

resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
assert same(trie_of(TOKENS), Trie.of(TOKENS))
assert same(trie_of(TOKENS), Trie.of(TOKENS))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limit of the size of a file")
def test_a_full_disk_is_logged_once_and_work_goes_on(home: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).resolve().parents[2],
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("\n") == 1
    assert "nothing can be cached in" in done.stderr
    assert list(home.iterdir()) == []


def test_inconsistent_arrays_are_not_used(home: Path) -> None:
    made = disk_cache.trie_of(TOKENS)
    file = next(home.iterdir())
    arrays = {f: getattr(made, f) for f in FIELDS} | {"height": np.array(made.height)}
    for name, wrong in (
        ("skip", made.skip + 10**6),
        ("depth", made.depth + 7),
        ("first", made.first[:-1]),
        ("token_ids", made.token_ids[:-5]),
        ("height", np.array("x")),
    ):
        with file.open("wb") as opened:
            disk_cache._put(opened, arrays | {name: wrong}, file.name)
        assert same(disk_cache.trie_of(TOKENS), made), name


def test_a_folder_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with caplog.at_level(logging.WARNING):
        assert same(disk_cache.trie_of(TOKENS), Trie.of(TOKENS))
        assert same(disk_cache.trie_of(TOKENS), Trie.of(TOKENS))
    assert len(caplog.messages) == 1
    assert "Not a directory" in caplog.text or "File exists" in caplog.text


def test_no_partial_file_remains_if_writing_fails(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fails)
    assert same(disk_cache.trie_of(TOKENS), Trie.of(TOKENS))
    assert list(home.iterdir()) == []


def test_concurrent_writers(home: Path) -> None:
    found: list[Trie] = []
    threads = [
        threading.Thread(target=lambda: found.append(disk_cache.trie_of(TOKENS))) for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    assert all(same(trie, found[0]) for trie in found)
    assert [p.suffix for p in home.iterdir()] == [".arrays"]


@pytest.mark.parametrize(
    ("system", "variables", "expected"),
    [
        ("linux", {"HOME": "/h"}, "/h/.cache/grammar-workbench"),
        ("linux", {"HOME": "/h", "XDG_CACHE_HOME": "/x"}, "/x/grammar-workbench"),
        ("linux", {"HOME": "/h", "XDG_CACHE_HOME": "x"}, "/h/.cache/grammar-workbench"),
        ("darwin", {"HOME": "/h"}, "/h/Library/Caches/grammar-workbench"),
        ("win32", {"HOME": "/h", "LOCALAPPDATA": "/l"}, "/l/grammar-workbench"),
    ],
)
def test_the_folder_of_a_system_for_caches(
    system: str, variables: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr("sys.platform", system)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert cache_folder() == Path(expected)


def test_arrays_are_mapped_aligned_and_read_only(home: Path) -> None:
    made: dict[str, npt.NDArray[Any]] = {
        "a": np.arange(5, dtype=np.uint8), "b": np.eye(3), "c": np.zeros(0, np.int32),
    }  # fmt: skip
    disk_cache.cached_arrays("some", "key", lambda: made, dict)
    read = disk_cache.cached_arrays("some", "key", lambda: pytest.fail("built again"), dict)
    for name, array in made.items():
        found = read[name]
        assert np.array_equal(found, array)
        assert found.dtype == array.dtype
        assert found.flags.aligned
        assert not found.flags.writeable


def test_a_file_without_the_wanted_array_is_replaced(home: Path) -> None:
    disk_cache.cached_arrays("some", "key", lambda: {"other": np.eye(2)}, dict)
    for make in (lambda: {"wanted": np.eye(3)}, lambda: pytest.fail("built again")):
        found = disk_cache.cached_arrays("some", "key", make, lambda arrays: arrays["wanted"])
        assert len(found) == 3


# -- directories -----------------------------------------------------------------------------------


def test_directory_is_whole_or_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made: list[Path] = []

    def make(directory: Path) -> None:
        made.append(directory)
        (directory / "a").write_text("one")
        (directory / "b").write_text("two")

    def fail(directory: Path) -> None:
        make(directory)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        disk_cache.cached_directory("key", fail)
    assert list(cache_folder().iterdir()) == []
    whole = disk_cache.cached_directory("key", make)
    assert disk_cache.cached_directory("key", make) == whole
    assert len(made) == 2
    for change in (whole / "a").unlink, lambda: (whole / "b").write_text("tw0"):
        change()
        assert disk_cache.cached_directory("key", make) == whole
        assert [(whole / name).read_text() for name in "ab"] == ["one", "two"]
    assert len(made) == 4
    assert list(cache_folder().iterdir()) == [whole]


def test_directory_of_the_process_that_ends_first_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = tmp_path / "first"

    def make(directory: Path) -> None:
        (directory / "a").write_text("late")
        if first.exists():  # another process ends meanwhile
            first.rename(cache_folder() / "key")

    disk_cache.cached_directory("key", lambda directory: make(directory)).rename(first)
    (first / "a").write_text("late")
    assert (disk_cache.cached_directory("key", make) / "a").read_text() == "late"
    assert not first.exists()
    assert [path.name for path in cache_folder().iterdir()] == ["key"]


def test_a_damaged_directory_that_another_process_replaces_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    removed = shutil.rmtree
    again = cache_folder() / "key"

    def make(part: Path) -> None:
        (part / "a").write_text("made")

    def remove(path: Path, *, ignore_errors: bool = False) -> None:
        removed(path, ignore_errors=ignore_errors)
        if not again.exists():  # another process puts a damaged one there, once
            monkeypatch.setattr(shutil, "rmtree", removed)
            again.mkdir()
            (again / "a").write_text("damaged")

    again.mkdir(parents=True)
    (again / "a").write_text("damaged")
    monkeypatch.setattr(shutil, "rmtree", remove)
    found = disk_cache.cached_directory("key", make)
    assert (found / "a").read_text() == "made"
    assert [path.name for path in cache_folder().iterdir()] == ["key"]
