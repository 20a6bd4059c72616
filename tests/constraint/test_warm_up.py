"""Compiling the kernels does not count against the time limit of a grammar."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import workbench as wb
v = wb.Vocabulary(tuple(bytes([i]) for i in range(256)))
limits = wb.Limits(seconds=0.8)
for g in (
    wb.Grammar.from_kbnf("start ::= '(' start ')' | #'[a-z]+' | w 'x'; w ::= w 'y' | 'z';", limits=limits),
    wb.Grammar.from_regex("(a|b)*a(a|b){9}|\\\\w{3}", limits=limits),
):
    c = wb.compile(g, v, limits=limits)
    s = c.initial
    for byte in b"ab":
        print(len(c.mask(s)))
        if byte in c.mask(s):
            s = c.advance(s, byte)
"""


@pytest.mark.exhaustive
def test_a_new_installation_stays_within_its_limits(tmp_path: Path) -> None:
    """A fresh kernel cache takes seconds to fill; the grammars are allowed less than one."""
    environment = {**os.environ, "WORKBENCH_KERNEL_FOLDER": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-c", CODE],
        env=environment,
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert len(ran.stdout.split()) == 4
