"""The closed form as tensors: masks and steps of batches, against the constraint row by row."""

from __future__ import annotations

from random import Random

import pytest
import torch

from tests.constraint.test_compose import BYTES, PIECES, vocabulary_of
from tests.constraint.test_compose_pda import SHAPES
from workbench import Grammar, compile
from workbench.base.errors import LimitError, TokenNotAllowed, WorkbenchError
from workbench.decoding.tensor_machine import tensor_machine

WHOLE = vocabulary_of(*BYTES, *PIECES, b"[[", b"]]", b"]]]", b"aaa", b"bbb", b"ab", b"ba")
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]

#   grammar                                             because
GRAMMARS = [
    *SHAPES,
    ("start ::= #'[a-z]+( [a-z]+)*';", "a finite automaton"),
    ("start ::= ('ab' | #'[0-9]{1,3}')?;", "the empty text"),
    ("start ::= ('a' start 'b')?;", "the empty text, with a stack"),
    ("start ::= 'a' start | 'b'?;", "right recursion that ends anywhere"),
]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("text", "because"), GRAMMARS, ids=[row[1] for row in GRAMMARS])
def test_masks_along_random_walks(text: str, because: str, device: str) -> None:
    constraint = compile(Grammar.from_kbnf(text), WHOLE, "composed")
    machine = tensor_machine(constraint, device, configurations=32)
    random, rows = Random(because), 12
    states = [constraint.initial] * rows
    batch = machine.start(rows)
    for _ in range(10):
        masks = [constraint.mask(state) for state in states]
        allowed = machine.mask(batch).cpu().numpy()
        for row, mask in zip(allowed, masks, strict=True):
            assert (row == mask.bools).all()
        final = machine.is_final(batch).tolist()
        assert final == [constraint.is_final(state) for state in states]
        tokens = [int(random.choice(mask.ids)) for mask in masks]
        states = [constraint.advance(s, t) for s, t in zip(states, tokens, strict=True)]
        batch = machine.step(batch, torch.tensor(tokens, device=device))


def token(text: bytes) -> int:
    return WHOLE.tokens.index(text)


def test_tokens_share_columns() -> None:
    machine = tensor_machine(compile(Grammar.from_regex("[a-z]*"), WHOLE, "composed"))
    assert machine.choices.shape == (2, 2), "tokens of small letters, and all others"
    assert repr(machine) == "TensorMachine(1 states, 2 columns, cpu)"


def test_error_where_one_row_takes_a_forbidden_token() -> None:
    constraint = compile(Grammar.from_kbnf("start ::= 'a' start 'b' | 'c';"), WHOLE, "composed")
    machine = tensor_machine(constraint)
    with pytest.raises(TokenNotAllowed, match=f"token {token(b'b')} is"):
        machine.step(machine.start(2), torch.tensor([token(b"a"), token(b"b")]))


def test_error_where_a_stack_has_no_room() -> None:
    constraint = compile(Grammar.from_kbnf("start ::= 'a' start 'b' | 'c';"), WHOLE, "composed")
    machine = tensor_machine(constraint, depth=2)
    tokens = torch.tensor([token(b"a")])
    state = machine.step(machine.step(machine.start(1), tokens), tokens)
    with pytest.raises(LimitError, match="more than 2 symbols"):
        machine.step(state, tokens)


def test_error_where_configurations_have_no_room() -> None:
    text = "start ::= 'a' start 'a' | 'b' start 'b' | 'a' | 'b';"
    constraint = compile(Grammar.from_kbnf(text), WHOLE, "composed")
    machine = tensor_machine(constraint, configurations=1)
    with pytest.raises(LimitError, match="more than 1 configurations"):
        machine.step(machine.start(1), torch.tensor([token(b"a")]))


def test_error_for_another_method() -> None:
    with pytest.raises(WorkbenchError, match="method 'composed'"):
        tensor_machine(compile(Grammar.from_regex("a*"), WHOLE))
