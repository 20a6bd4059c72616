"""Engine: the recorded behaviour of the released KBNF engine, and the API on top of it."""

from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from workbench.base.errors import BuildError, WorkbenchError
from workbench.decoding.kbnf_engine import Advance, Engine
from workbench.vocabulary.toy_vocabularies import all_bytes, toy
from workbench.vocabulary.vocabulary import Vocabulary

DATA = Path(__file__).parent.parent / "data" / "kbnf_cases.json.gz"
CASES: list[dict[str, Any]] = json.loads(gzip.decompress(DATA.read_bytes()))


def vocabulary_of(case: dict[str, Any]) -> Vocabulary:
    return Vocabulary(
        [t.encode() if isinstance(t, str) else bytes(t["bytes"]) for t in case["vocab"]]
    )


def kind(engine: Engine, text: str) -> str:
    """What becomes of a text fed byte by byte, in the words of the recorded cases."""
    engine.reset()
    for byte in text.encode():
        if engine.is_finished:
            return "overrun"
        if engine.advance_bytes(bytes((byte,))) is Advance.INVALID:
            return "dead"
    return "finished" if engine.is_finished else "incomplete"


GOOD = [c for c in CASES if c["error"] is None]


@pytest.mark.parametrize("case", GOOD, ids=[c["name"] for c in GOOD])
def test_recorded_behaviour(case: dict[str, Any]) -> None:
    engine = Engine(case["grammar"], vocabulary_of(case), start=case["start"])
    assert {text: kind(engine, text) for text in case["accepts"]} == dict.fromkeys(
        case["accepts"], "finished"
    )
    assert {text: kind(engine, text) for text in case["rejects"]} == case["reject_kinds"]
    for step in case["steps"]:
        engine.reset()
        flags = [engine.advance(token_id) for token_id in step["tokens_so_far"]]
        assert Advance.INVALID not in flags
        assert engine.current_possible_tokens() == step["allowed"], step["tokens_so_far"]
        assert engine.is_finished is step["finished"], step["tokens_so_far"]
        assert not flags or (flags[-1] is Advance.EXHAUSTED) is step["finished"]


#: The engine refuses assertions; they are compiled here.
ASSERTIONS = {"err_regex_unicode_non_boundary", "err_regex_lookahead"}
BAD = [c for c in CASES if c["error"] is not None and c["name"] not in ASSERTIONS]


@pytest.mark.parametrize("case", BAD, ids=[c["name"] for c in BAD])
def test_error_recorded(case: dict[str, Any]) -> None:
    with pytest.raises(WorkbenchError) as caught:
        Engine(case["grammar"], vocabulary_of(case), start=case["start"])
    accepted = case.get("error_accept") or [case["error"]]
    assert getattr(caught.value, "kind", None) in accepted


LETTERS = toy(["a", "b", "c", "ab", "abc", "bc", "ca", "é"])  # 0 … 7, the end token is 8


def words(engine: Engine) -> set[str]:
    tokens = [engine.vocabulary.tokens[i] for i in engine.current_possible_tokens()]
    return {t.decode() for t in tokens if t is not None}


def test_finishes_at_the_first_sentence() -> None:
    engine = Engine("start ::= 'a'+;", LETTERS)
    assert words(engine) == {"a"}
    assert engine.advance(0) is Advance.EXHAUSTED
    assert engine.is_finished
    assert engine.current_possible_tokens() == []
    assert engine.advance(0) is Advance.INVALID
    assert engine.advance_bytes(b"") is Advance.INVALID
    engine.reset()
    assert not engine.is_finished
    assert words(engine) == {"a"}


def test_a_sentence_inside_a_token_finishes() -> None:
    """reference, §5: 'a'|'abc', token ab is taken and finished although ab is no sentence."""
    engine = Engine("start ::= 'a' | 'abc';", LETTERS)
    assert words(engine) == {"a", "ab", "abc"}
    assert engine.advance(3) is Advance.EXHAUSTED


def test_strict_stops_at_the_byte_that_finishes() -> None:
    engine = Engine("start ::= 'a' | 'abc';", LETTERS, strict=True)
    assert words(engine) == {"a"}
    assert engine.advance(3) is Advance.INVALID
    assert engine.advance(0) is Advance.EXHAUSTED
    longer = Engine("start ::= 'ab' | 'abca';", LETTERS, strict=True)
    assert words(longer) == {"a", "ab"}
    assert longer.advance(0) is Advance.CONTINUE
    assert words(longer) == {"b"}


def test_the_empty_text_is_never_a_sentence() -> None:
    engine = Engine("start ::= 'ab'?;", LETTERS)
    assert not engine.is_finished
    assert engine.advance_bytes(b"") is Advance.CONTINUE
    assert not engine.is_finished
    assert engine.advance(3) is Advance.EXHAUSTED


def test_possible_are_tokens_that_can_be_read_also_into_a_dead_end_of_the_vocabulary() -> None:
    engine = Engine("start ::= 'aX' | 'b';", LETTERS)
    assert words(engine) == {"a", "b"}
    assert engine.advance(0) is Advance.CONTINUE
    assert engine.current_possible_tokens() == []
    assert not engine.is_finished


@pytest.mark.parametrize("token_id", [-1, 8, 9, 10_000, 1])
def test_a_refused_token_changes_nothing(token_id: int) -> None:
    engine = Engine("start ::= 'ab' 'ab' 'c';", LETTERS)
    engine.advance(0)
    engine.advance(1)
    logits = np.zeros(9, np.float32)
    assert engine.modify_possible_logits(token_id, logits) is Advance.INVALID
    assert engine.advance_bytes(b"abX") is Advance.INVALID
    assert not logits.any()
    assert words(engine) == {"a", "ab", "abc"}


def test_incomplete_characters() -> None:
    vocabulary = Vocabulary((b"\xc3", b"\xa9", b"x\xc3", b"\xa9y"))
    engine = Engine("start ::= 'xéy';", vocabulary)
    assert [engine.advance(i) for i in (2, 3)] == [Advance.CONTINUE, Advance.EXHAUSTED]


@pytest.mark.parametrize("cloned", [Engine.clone, copy.copy, copy.deepcopy])
def test_clones_are_independent(cloned: Any) -> None:
    engine = Engine("start ::= 'ab' 'c';", LETTERS)
    engine.advance(0)
    other = cloned(engine)
    assert other.vocabulary is engine.vocabulary
    assert other.advance(1) is Advance.CONTINUE
    assert words(other) == {"c"}
    assert words(engine) == {"b", "bc"}
    assert engine.advance(5) is Advance.EXHAUSTED
    assert not other.is_finished


def arrays(size: int) -> list[Any]:
    return [
        np.zeros(size, np.float32),
        np.zeros((1, size), np.float64),
        torch.zeros(size),
        torch.zeros(1, size, dtype=torch.bfloat16),
    ]


@pytest.mark.parametrize("logits", arrays(9) + arrays(12))
def test_logits_are_changed_in_place(logits: Any) -> None:
    engine = Engine("start ::= 'abca';", LETTERS)
    assert engine.update_logits_from_tokens(logits) is Advance.CONTINUE
    assert np.flatnonzero(np.asarray(logits.tolist()) == 0).tolist() == [0, 3, 4]
    logits[...] = 1
    assert engine.modify_possible_logits(3, logits) is Advance.CONTINUE
    assert np.flatnonzero(np.asarray(logits.tolist()) == 1).tolist() == [2, 6]
    logits[...] = 1
    assert engine.modify_possible_logits(6, logits) is Advance.EXHAUSTED
    assert (np.asarray(logits.tolist()) == 1).all()
    assert engine.update_logits_from_tokens(logits) is Advance.EXHAUSTED
    assert np.isneginf(np.asarray(logits.tolist())).all()


def test_a_view_into_a_larger_array_is_changed() -> None:
    logits = np.zeros((3, 18), np.float32)
    Engine("start ::= 'ab';", LETTERS).update_logits_from_tokens(logits[1, ::2])
    assert np.isneginf(logits[1, ::2]).sum() == 7
    assert not logits[[0, 2]].any()
    assert not logits[1, 1::2].any()


WRONG: list[tuple[Any, str]] = [
    ([0.0] * 9, "not list"),
    (np.zeros((2, 9), np.float32), r"of shape \(2, 9\)"),
    (np.zeros((), np.float32), r"of shape \(\)"),
    (np.zeros(8, np.float32), "expected logits for 9 tokens, not for 8"),
    (np.zeros(9, np.int64), "floating-point numbers, not int64"),
    (torch.zeros(8), "for 9 tokens, not for 8"),
    (torch.zeros(9, dtype=torch.int64), "floating-point numbers, not torch.int64"),
]


@pytest.mark.parametrize(("logits", "message"), WRONG)
def test_error_logits(logits: Any, message: str) -> None:
    engine = Engine("start ::= 'ab' 'c';", LETTERS)
    with pytest.raises(WorkbenchError, match=message):
        engine.update_logits_from_tokens(logits)
    with pytest.raises(WorkbenchError, match=message):
        engine.modify_possible_logits(0, logits)
    assert words(engine) == {"a", "ab", "abc"}, "the token was not taken"


PIECES = st.sampled_from(["'a'", "'ab'", "#'[ab]+'", "'b'?", "#'a|bc'", "('a'|'c')*"])


@pytest.mark.exhaustive
@given(st.lists(PIECES, min_size=1, max_size=4).map(" ".join), st.booleans(), st.data())
def test_possible_tokens_are_those_advance_takes(
    body: str, strict: bool, data: st.DataObject
) -> None:
    try:
        engine = Engine(f"start ::= {body};", LETTERS, strict=strict)
    except BuildError:
        return  # nothing but the empty text
    for _ in range(4):
        taken = [i for i in range(9) if engine.clone().advance(i) is not Advance.INVALID]
        assert engine.current_possible_tokens() == taken
        if not taken:
            break
        engine.advance(data.draw(st.sampled_from(taken)))


def test_a_full_vocabulary_is_shared_with_other_engines() -> None:
    vocabulary = all_bytes()
    engine = Engine("start ::= 'ab';", vocabulary)
    assert engine.current_possible_tokens() == [97]
    assert "trie" in vocabulary.__dict__, "its own trie was used, not that of an enlarged copy"
