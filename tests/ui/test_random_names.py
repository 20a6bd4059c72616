"""The names of tabs and uploads, with which the page asks for what is its visitor's alone."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest

from workbench.base.resources import STATIC

#: Makes names as the page does, beside a generator of numbers that can be predicted.
NAMES = """
Math.random = () => 0.5;
const { randomName } = await import(%r);
console.log(JSON.stringify(Array.from({ length: 100 }, randomName)));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_a_name_is_128_random_bits() -> None:
    script = NAMES % (STATIC / "state.js").as_uri()
    result = subprocess.run(
        ["node", "--input-type=module", "-e", script], capture_output=True, text=True, check=True
    )
    names = json.loads(result.stdout)
    assert len(set(names)) == 100
    assert all(re.fullmatch("[0-9a-f]{32}", name) for name in names)


def test_nothing_that_identifies_is_made_by_math_random() -> None:
    lines = [
        f"{path.name}: {line.strip()}"
        for path in sorted(STATIC.glob("*.js"))
        for line in path.read_text("utf-8").splitlines()
        if "Math.random" in line or "randomUUID(" in line
    ]
    (delay,) = lines
    assert delay.startswith("ask.js: await sleep(")
