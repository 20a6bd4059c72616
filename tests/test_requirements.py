"""``requirements.txt``: the exact versions of a Space, for every package that is needed."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, requires, version
from itertools import pairwise
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]


def pinned(file: str = "requirements.txt") -> dict[str, list[Requirement]]:
    lines = (ROOT / file).read_text("utf-8").splitlines()
    found: dict[str, list[Requirement]] = {}
    for line in lines:
        if not line.startswith(("#", " ")):
            requirement = Requirement(line.removesuffix("\\"))
            found.setdefault(requirement.name, []).append(requirement)
    return found


#: What the container installs in another way, and what builds the package there.
TORCH, BUILT_WITH = "torch", {"hatchling", "pathspec", "pluggy", "trove-classifiers"}


def test_a_container_installs_the_versions_of_a_space_by_their_hashes() -> None:
    space, container = pinned(), pinned("deploy/requirements.txt")
    assert set(container) - set(space) == BUILT_WITH
    assert set(space) - set(container) == {TORCH}
    for name in set(space) & set(container):
        assert list(map(str, container[name])) == list(map(str, space[name]))


def test_every_locked_package_has_hashes_and_no_index_is_named() -> None:
    text = (ROOT / "deploy" / "requirements.txt").read_text("utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert not [line for line in lines if "://" in line or line.startswith("-")]
    for line, following in pairwise([*lines, ""]):
        if line.startswith(" "):
            assert re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}( \\)?", line), line
        else:
            assert following.startswith("    --hash="), line
        assert line.endswith("\\") == following.startswith(" "), line


def test_a_container_installs_only_what_is_locked() -> None:
    text = (ROOT / "deploy" / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
    commands = re.findall(r"pip install [^&\n]*", text)
    assert len(commands) == 3
    for command in commands:
        assert "--require-hashes" in command or "--no-deps" in command, command
    assert "--no-build-isolation" in commands[-1], "it would install what builds the package"


def test_every_line_has_one_exact_version() -> None:
    for lines in pinned().values():
        for line in lines:
            assert re.fullmatch(r"==[0-9][^*,]*", str(line.specifier)), line


def test_the_versions_are_those_that_are_allowed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    of_page = [each for extra in ("app", "models", "data") for each in extras[extra]]
    found = pinned()
    for needed in map(Requirement, (*project["dependencies"], *of_page)):
        if needed.name == project["name"]:
            continue
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
