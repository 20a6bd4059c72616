"""The methods by their names, as the front door offers them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import workbench as wb
from tests.constraint.proper.oracles import toy
from workbench.base.errors import VocabularyError, WorkbenchError
from workbench.constraint.compile import METHODS
from workbench.constraint.protocol import Constraint
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.toy import named_toy

RULES = [("a", "a"), ("a", "b")]


@pytest.mark.parametrize("method", ["proper", "vegas", "direct_merge"])
def test_all_three_methods_follow_the_tokenizer(method: str) -> None:
    vocabulary = toy("ab", RULES)
    found = wb.compile(Grammar.from_regex("aaab"), vocabulary, method)
    assert isinstance(found, Constraint)
    taken: list[bytes | None] = []
    state = found.initial
    while not found.is_final(state):
        (token,) = found.mask(state)
        taken.append(vocabulary.tokens[token])
        state = found.advance(state, token)
    assert taken == [b"aa", b"ab"]


def test_options_are_listed() -> None:
    assert set(METHODS["proper"].options) == set(METHODS["vegas"].options) == {"joined"}
    assert not METHODS["direct_merge"].options


@pytest.mark.parametrize("method", ["proper", "vegas", "direct_merge"])
def test_error_of_a_vocabulary_without_merges(method: str) -> None:
    with pytest.raises(VocabularyError, match="no merge rules"):
        wb.compile(Grammar.from_regex("a"), named_toy("all-bytes"), method)


def test_error_of_an_unknown_option() -> None:
    with pytest.raises(WorkbenchError, match="has no option 'prompt'"):
        wb.compile(Grammar.from_regex("a"), toy("a", []), "proper", prompt=[0])


NEW = """
import workbench as wb
from tests.own_time import count_own_work
count_own_work()
limits = wb.Limits(seconds=1.0)
v = wb.Vocabulary.load("builtin")
for g in (wb.Grammar.from_regex('"[^"]{1,5}"'), wb.Grammar.from_kbnf("start ::= '(' start ')' | 'x';")):
    c = wb.compile(g, v, "proper", limits=limits)
    s = c.advance(c.initial, int(c.mask(c.initial).ids[0]))
    print(len(c.mask(s)) > 0)
"""


@pytest.mark.exhaustive
def test_a_new_installation_stays_within_its_limits(tmp_path: Path) -> None:
    """Kernels are compiled for many seconds, and no clock counts it in."""
    ran = subprocess.run(
        [sys.executable, "-c", NEW],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        cwd=Path(__file__).resolve().parents[3],
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert ran.stdout.split() == ["True", "True"], ran.stderr
