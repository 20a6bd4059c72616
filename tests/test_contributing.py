"""The paths in CONTRIBUTING.md and its pages exist, and the tests SECURITY.md names for an attack."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs" / "contributing").glob("*.md")))
TEXT = "\n".join(page.read_text("utf-8") for page in PAGES)

#: ``file`` → ``name``; a line break may follow the arrow.
STEPS = re.findall(r"`([\w/]+\.py)`\s+→\s+`(\w+)`", TEXT)
FILES = sorted(set(re.findall(r"`((?:[\w-]+/)+[\w-]+\.(?:py|html|js|toml|css))`", TEXT)))
TESTS = sorted(set(re.findall(r"`(tests/[\w/]+(?:\.py)?)`", TEXT)))


def found(name: str) -> Path | None:
    """A file or folder, from the root or from the package."""
    return next((p for p in (ROOT / name, ROOT / "workbench" / name) if p.exists()), None)


@pytest.mark.parametrize(("file", "name"), STEPS)
def test_name_is_defined_in_its_file(file: str, name: str) -> None:
    path = found(file)
    assert path is not None, file
    defined = rf"^\s*(?:def|class) {name}\b|^{name}\b.*="
    assert re.search(defined, path.read_text("utf-8"), re.MULTILINE), name


@pytest.mark.parametrize("name", [n for n in FILES + TESTS if "NAME" not in n])
def test_path_exists(name: str) -> None:
    assert found(name) is not None


ATTACKS = re.findall(
    r"`(tests/[\w/]+\.py)(?:::(test_\w+))?`", (ROOT / "SECURITY.md").read_text("utf-8")
)


@pytest.mark.parametrize(("file", "name"), ATTACKS)
def test_an_attack_has_its_test(file: str, name: str) -> None:
    text = (ROOT / file).read_text("utf-8")
    assert f"\ndef {name}(" in text if name else "\ndef test_" in text


def test_there_are_many_paths() -> None:
    assert len(STEPS) > 30
    assert len(TESTS) > 40
    assert len(ATTACKS) > 20
