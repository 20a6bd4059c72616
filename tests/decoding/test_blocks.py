"""The likeliest allowed block, compared with all blocks; blocks of a model that knows few texts."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench.constraint.protocol import State
from workbench.decoding.sampling import log_softmax
from workbench.vocabulary.toy_vocabularies import toy
from workbench.vocabulary.vocabulary import TokenId

TOKENS = toy(["a", "b", "(", ")", "ab", "()"])
END = TOKENS.end or 0

GRAMMARS = {
    "regex": wb.Grammar.from_regex("(a|ab)*b|aa"),
    "finite": wb.Grammar.from_regex("ab|ba(a|b)?"),
    "counts": wb.Grammar.from_regex("(ab){2,3}"),
    "stack": wb.Grammar.from_kbnf("start ::= '(' start ')' start | 'a' | '';"),
}


def after(constraint: wb.Constraint, block: tuple[TokenId, ...]) -> State | None:
    """The state after a block, None if it is not allowed; end tokens only at its end."""
    state, ended = constraint.initial, False
    for token in block:
        if (ended and token != END) or token not in constraint.mask(state):
            return None
        ended = token == END
        state = constraint.advance(state, token)
    return state


def likeliest(
    constraint: wb.Constraint, logits: np.ndarray, *, finish: bool, fixed: dict[int, TokenId]
) -> float:
    """The log-probability of the likeliest allowed block by trying all of them; −inf for none."""
    rows = [log_softmax(row) for row in logits]
    best = -math.inf
    for block in itertools.product(range(len(TOKENS)), repeat=len(rows)):
        if any(block[position] != token for position, token in fixed.items()):
            continue
        state = after(constraint, block)
        if state is not None and (not finish or constraint.is_final(state)):
            score = sum(float(row[t]) for row, t in zip(rows, block, strict=True))
            best = max(best, score)
    return best


@given(
    st.sampled_from(sorted(GRAMMARS)),
    st.integers(0, 4),
    st.booleans(),
    st.booleans(),
    st.integers(0, 10_000),
)
def test_best_block_is_the_likeliest_of_all(
    name: str, length: int, finish: bool, sparse: bool, seed: int
) -> None:
    constraint = wb.compile(GRAMMARS[name], TOKENS)
    numbers = np.random.default_rng(seed)
    logits = numbers.normal(0, 3, (length, len(TOKENS)))
    if sparse:  # tokens of probability 0
        logits[numbers.random(logits.shape) < 0.5] = -math.inf
        logits[np.arange(length), numbers.integers(0, len(TOKENS), length)] = 0.0
    fixed = {0: seed % len(TOKENS)} if length and seed % 3 == 0 else {}
    best = likeliest(constraint, logits, finish=finish, fixed=fixed)
    try:
        found = wb.best_block(constraint, logits, finish=finish, fixed=fixed)
    except wb.WorkbenchError:
        assert best == -math.inf
        return
    assert found.logprob == pytest.approx(best)
    state = after(constraint, found.token_ids)
    assert state == found.state
    assert constraint.is_final(state) or not finish
    rows = [log_softmax(row) for row in logits]
    score = sum(float(row[t]) for row, t in zip(rows, found.token_ids, strict=True))
    assert score == pytest.approx(found.logprob)


def test_best_block_continues_from_a_state() -> None:
    constraint = wb.compile(GRAMMARS["counts"], TOKENS)
    state = constraint.advance(constraint.initial, 4)  # ab
    block = wb.best_block(constraint, np.zeros((2, len(TOKENS))), state=state, finish=True)
    assert TOKENS.decode(block.token_ids) in (b"ab", b"abab")


def test_error_where_no_block_is_allowed() -> None:
    constraint = wb.compile(GRAMMARS["counts"], TOKENS)
    with pytest.raises(wb.WorkbenchError, match="no accepted text has 1 token"):
        wb.best_block(constraint, np.zeros((1, len(TOKENS))), finish=True)
    with pytest.raises(wb.WorkbenchError, match="fits at position 1"):
        wb.best_block(constraint, np.zeros((3, len(TOKENS))), fixed={0: 0, 1: 0})


def test_error_of_wrong_arguments() -> None:
    constraint = wb.compile(GRAMMARS["counts"], TOKENS)
    with pytest.raises(wb.WorkbenchError, match=r"expected logits of shape \(positions, 7\)"):
        wb.best_block(constraint, np.zeros(7))
    with pytest.raises(wb.WorkbenchError, match="expected a distribution at position 0"):
        wb.best_block(constraint, np.full((1, 7), -math.inf))
    with pytest.raises(wb.WorkbenchError, match="expected positions of the block, not 4"):
        wb.best_block(constraint, np.zeros((1, 7)), fixed={4: 0})
    with pytest.raises(wb.WorkbenchError, match="of at least 1 as 'length'"):
        list(wb.generate_blocks(MODEL, constraint, length=0))


def test_error_above_limits() -> None:
    constraint = wb.compile(GRAMMARS["stack"], TOKENS)
    with pytest.raises(wb.LimitError):
        wb.best_block(constraint, np.zeros((60, 7)), limits=wb.Limits(states=100))


#: a (b or nothing) and b (a or nothing), so that the likeliest tokens alone are "a a".
MODEL = wb.MixtureModel(TOKENS, {(0, 1, END): 0.4, (1, 0, END): 0.35, (0, 0, 0): 0.25})


def test_positions_alone_give_a_text_that_the_model_does_not_know() -> None:
    logits = MODEL.block_logits([], [None, None, None])
    assert np.argmax(logits, axis=1).tolist() == [0, 0, END]


def test_a_known_token_changes_the_other_positions() -> None:
    logits = MODEL.block_logits([], [1, None, None])
    assert np.argmax(logits, axis=1).tolist() == [1, 0, END]
    assert np.argmax(MODEL.block_logits([0], [None, 0]), axis=1).tolist() == [0, 0]


@pytest.mark.parametrize("passes", [1, 2, 3])
def test_blocks_are_always_accepted(passes: int) -> None:
    chooser = random.Random(passes)
    for name, grammar in GRAMMARS.items():
        constraint = wb.compile(grammar, TOKENS)
        for blocks in (1, 2, 3):
            texts = {
                tuple(chooser.choices(range(len(TOKENS) - 1), k=chooser.randint(1, 6))): 1.0
                for _ in range(4)
            }
            steps = list(
                wb.generate_blocks(
                    wb.MixtureModel(TOKENS, texts), constraint,
                    length=4, passes=passes, blocks=blocks,
                )
            )  # fmt: skip
            done = [step for step in steps if None not in step.token_ids]
            ids = [token for step in done for token in step.token_ids if token is not None]
            assert grammar.accepts(TOKENS.decode([t for t in ids if t != END])), (name, texts)
            assert len(done) <= blocks
            assert len(steps) <= passes * blocks


def test_several_passes_follow_the_model_where_one_does_not() -> None:
    """With all tokens at once the block is allowed and unlikely; token by token it is a text."""
    constraint = wb.compile(wb.Grammar.from_regex("(a|b)*"), TOKENS)
    once = [*wb.generate_blocks(MODEL, constraint, length=3, passes=1)][-1]
    several = [*wb.generate_blocks(MODEL, constraint, length=3, passes=3)][-1]
    assert once.token_ids == (0, 0, END)
    assert several.token_ids == (0, 1, END)
