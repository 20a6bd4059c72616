"""The methods by their names, as ``compile`` offers them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tokenizers import normalizers

import workbench as wb
from tests.constraint.proper.oracles import toy
from tests.vocabulary.tokenization.slow_bpe import table
from tests.vocabulary.tokenization.test_added_tokens import bpe_of, byte_level, raw, sentencepiece
from workbench.base.errors import VocabularyError, WorkbenchError
from workbench.constraint.compile import METHODS
from workbench.constraint.protocol import Constraint
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.toy_vocabularies import named_toy
from workbench.vocabulary.vocabulary import Vocabulary

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
        wb.compile(Grammar.from_regex("a"), toy("a", []), "proper", prompt=[0])  # type: ignore[call-arg]


NEW = """
import workbench as wb
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
        env={**os.environ, "WORKBENCH_KERNEL_FOLDER": str(tmp_path)},
        cwd=Path(__file__).resolve().parents[3],
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert ran.stdout.split() == ["True", "True"], ran.stderr


WHOLE = table([("a", "b")], "ab", ["aba"], ignore_merges=True)
NFC = byte_level([], normaliser=normalizers.NFC())
#   vocabulary                                              besides merging, it                       supported by
REFUSED = [
    (lambda: table([("a", "b")], "ab", pattern=".\\b"),   "cuts text before merging",               ""),
    (lambda: WHOLE,                                         "takes some words whole",                 ""),
    (lambda: bpe_of(byte_level([raw("ab")])).vocabulary,    "cuts added tokens out of a text",        ""),
    (lambda: bpe_of(NFC).vocabulary,                        "normalises text",                        ""),
    (lambda: bpe_of(byte_level([], [raw("</s>")])).vocabulary,
                                                            "never writes the text of a special token", "vegas"),
    (lambda: bpe_of(sentencepiece([], metaspace="never")).vocabulary,
                                                            "encodes unknown characters byte by byte", "vegas"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("vocabulary", "does", "supports"), REFUSED, ids=[row[1] for row in REFUSED]
)
@pytest.mark.parametrize("method", ["vegas", "direct_merge"])
def test_error_names_what_is_not_supported(
    vocabulary: Callable[[], Vocabulary], does: str, supports: str, method: str
) -> None:
    made = vocabulary()
    if method == supports:
        assert wb.compile(Grammar.from_regex("a"), made, method)
        return
    with pytest.raises(VocabularyError) as caught:
        wb.compile(Grammar.from_regex("a"), made, method)
    assert (
        caught.value.message
        == {
            "vegas": f"{made.name} {does}, which Vegas configurations do not support",
            "direct_merge": f"DirectMerge supports only merges, and {made.name} {does}",
        }[method]
    )
