"""``requirements.txt``: the exact versions of a Space, for every package that is needed."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]


def pinned() -> dict[str, list[Requirement]]:
    lines = (ROOT / "requirements.txt").read_text("utf-8").splitlines()
    found: dict[str, list[Requirement]] = {}
    for line in lines:
        if not line.startswith("#"):
            found.setdefault(Requirement(line).name, []).append(Requirement(line))
    return found


def test_every_line_has_one_exact_version() -> None:
    for lines in pinned().values():
        for line in lines:
            assert re.fullmatch(r"==[0-9][^*,]*", str(line.specifier)), line


def test_the_versions_are_those_that_are_allowed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    found = pinned()
    for needed in map(Requirement, project["dependencies"]):
        for line in found[needed.name]:
            (exact,) = line.specifier
            assert needed.specifier.contains(exact.version), line


def test_what_the_installed_versions_need_is_there_too() -> None:
    found = {canonicalize_name(name) for name in pinned()}
    for name, lines in pinned().items():
        try:
            installed = version(name)
        except PackageNotFoundError:  # not for this machine
            continue
        if not any(line.specifier.contains(installed) for line in lines):
            continue  # other versions may need something else
        for needed in map(Requirement, requires(name) or ()):
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                own = canonicalize_name(needed.name)
                # torch itself names the exact versions of these
                assert own in found or own.startswith(("cuda", "nvidia", "triton")), (name, own)


def test_a_space_installs_the_gradio_it_is_set_to() -> None:
    (named,) = re.findall(r"^sdk_version: (\S+)$", (ROOT / "README.md").read_text("utf-8"), re.M)
    assert [str(line.specifier) for line in pinned()["gradio"]] == [f"=={named}"]
