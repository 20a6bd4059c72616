"""The method ``proper`` against the case files and against the tokenizers themselves."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as wb
from tests.constraint.proper.oracles import cases, toy
from workbench.constraint.proper.constraint import ProperConstraint
from workbench.grammar import Grammar
from workbench.vocabulary.vocabulary import Vocabulary


def proper(regex: str, vocabulary: Vocabulary, **options: Any) -> ProperConstraint:
    found = wb.compile(Grammar.from_regex(regex), vocabulary, "proper", **options)
    assert isinstance(found, ProperConstraint)
    return found


def of_case(case: dict[str, Any]) -> Vocabulary:
    return toy(
        case["alphabet"],
        case["merges"],
        extra=case.get("extra_tokens", ()),
        pattern=case.get("pattern"),
        ignore_merges=case.get("ignore_merges", False),
    )


def sequences(constraint: ProperConstraint, longest: int) -> list[tuple[str, ...]]:
    """Every sequence the masks lead to, up to a length in characters; none leads nowhere."""
    vocabulary, found = constraint.vocabulary, []
    waiting: list[tuple[Any, tuple[int, ...]]] = [(constraint.initial, ())]
    while waiting:
        state, taken = waiting.pop()
        mask = constraint.mask(state)
        assert len(mask), f"a dead end after {taken}"
        assert vocabulary.end is not None
        assert (vocabulary.end in mask) == constraint.is_final(state)
        if constraint.is_final(state):
            found.append(tuple((vocabulary.tokens[t] or b"").decode() for t in taken))
        for token in mask:
            longer = (*taken, token)
            text = vocabulary.decode(longer).decode()
            if token != vocabulary.end and len(text) <= longest:
                waiting.append((constraint.advance(state, token), longer))
    return sorted(found)


@pytest.mark.parametrize("case", cases("proper.json"), ids=lambda case: case["id"])
def test_case_files(case: dict[str, Any]) -> None:
    found = sequences(proper(case["regex"], of_case(case)), case["max_len"])
    assert found == sorted(tuple(tokens) for tokens in case["proper_sequences"])


@pytest.mark.parametrize("case", cases("proper_pretokenized.json"), ids=lambda case: case["id"])
def test_case_files_with_a_pre_tokenizer(case: dict[str, Any]) -> None:
    found = sequences(proper(case["regex"], of_case(case)), case["max_len"])
    assert found == sorted(tuple(tokens) for tokens in case["proper_sequences"])
