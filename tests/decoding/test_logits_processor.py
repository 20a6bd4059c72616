"""LogitsProcessor under transformers' own generate: greedy, batches, samples, beams."""

from __future__ import annotations

import functools
from typing import Any

import pytest
import torch

from tests.decoding.worlds import FiniteConstraint
from workbench.base.errors import ModelError
from workbench.decoding import logits_processor
from workbench.decoding.generate import generate
from workbench.decoding.logits_processor import LogitsProcessor
from workbench.decoding.transformers_model import TransformersModel
from workbench.vocabulary.toy_vocabularies import toy

TEXTS = [b'{"name": "Ann"}', b'{"name": "Bo", "age": 31}', b"one", b"one two", "{ü€}".encode()]


def run(model: TransformersModel, prompts: list[str], **options: Any) -> list[bytes]:
    """What transformers generates under the texts, one for each row."""
    ids = [model.encode(p) for p in prompts]
    width = max(map(len, ids))
    end = model.vocabulary.end
    padded = torch.tensor([[end] * (width - len(row)) + row for row in ids])
    attention = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in ids])
    processor = LogitsProcessor(FiniteConstraint(model.vocabulary, TEXTS))
    module: Any = model.module
    rows = module.generate(
        padded, attention_mask=attention, max_new_tokens=40, logits_processor=[processor], **options
    )
    return [model.vocabulary.decode(i for i in row[width:] if i < len(model.vocabulary))
            for row in rows.tolist()]  # fmt: skip


@pytest.mark.slow
def test_greedy_is_what_our_own_loop_generates(tiny_model: TransformersModel) -> None:
    constraint = FiniteConstraint(tiny_model.vocabulary, TEXTS)
    for prompt in ("x", "one two", '{"a": 1}'):
        own = generate(tiny_model, constraint, prompt)
        expected = b"".join(step.token for step in own)
        assert run(tiny_model, [prompt], do_sample=False) == [expected]
        assert expected in TEXTS


def test_batches_of_prompts_of_different_length(tiny_model: TransformersModel) -> None:
    prompts = ["x", "one two three", "name"]
    alone = [run(tiny_model, [p], do_sample=False)[0] for p in prompts]
    together = run(tiny_model, prompts, do_sample=False)
    assert set(together) <= set(TEXTS)
    assert together[1] == alone[1]  # the longest has no padding in front, so its numbers are alike


@pytest.mark.slow
def test_samples_are_texts_of_the_grammar(tiny_model: TransformersModel) -> None:
    torch.manual_seed(0)
    found = run(tiny_model, ["x"] * 40, do_sample=True, temperature=3.0)
    assert set(found) <= set(TEXTS)
    assert len(set(found)) > 1


@pytest.mark.slow
@pytest.mark.parametrize("beams", [2, 5])
def test_beams_are_texts_of_the_grammar(tiny_model: TransformersModel, beams: int) -> None:
    options = {"num_beams": beams, "num_return_sequences": 2, "do_sample": False}
    found = run(tiny_model, ["x", "one"], **options)
    assert len(found) == 4
    assert set(found) <= set(TEXTS)


def test_one_processor_serves_one_generation_after_the_other() -> None:
    vocabulary = toy("ab")
    processor = LogitsProcessor(FiniteConstraint(vocabulary, [b"ab", b"b"]))
    zeros = torch.zeros(1, 3)

    def allowed(*ids: int) -> list[int]:
        return torch.isfinite(processor(torch.tensor([ids]), zeros))[0].nonzero()[:, 0].tolist()

    assert allowed(0) == [0, 1]
    assert allowed(0, 0) == [1]
    assert allowed(0, 0, 1) == [2]
    assert allowed(1, 1, 1, 1) == [0, 1], "a longer prompt"
    assert allowed(1, 1, 1, 1, 1) == [2]
    assert allowed(1, 1, 1, 1) == [0, 1], "the same prompt again"
    assert allowed(1) == [0, 1], "a shorter one"


def test_beams_are_reordered_and_finished_rows_padded() -> None:
    processor = LogitsProcessor(FiniteConstraint(toy("ab"), [b"ab", b"b"]))

    def allowed(*rows: list[int]) -> list[list[bool]]:
        out = processor(torch.tensor(rows), torch.zeros(len(rows), 4))
        return torch.isfinite(out).tolist()

    allowed([9], [9])
    assert allowed([9, 0], [9, 1]) == [[False, True, False, False], [False, False, True, False]]
    only_end = [False, False, True, False]
    assert allowed([9, 1, 2], [9, 0, 1]) == [only_end, only_end]
    assert allowed([9, 0, 1, 2], [9, 1, 2, 2]) == [only_end, only_end]


def test_number_formats_and_the_given_scores_are_kept() -> None:
    processor = LogitsProcessor(FiniteConstraint(toy("ab"), [b"a"]))
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        scores = torch.tensor([[1.0, 2.0, 3.0]], dtype=dtype)
        out = processor(torch.tensor([[0]]), scores)
        assert out.dtype == dtype
        assert out.tolist() == [[1.0, -torch.inf, -torch.inf]]
        assert scores.tolist() == [[1.0, 2.0, 3.0]]


def test_scores_far_beyond_the_tokens_are_forbidden() -> None:
    processor = LogitsProcessor(FiniteConstraint(toy("ab"), [b"b"]))
    out = processor(torch.tensor([[0]]), torch.zeros(1, 100))
    assert torch.isfinite(out)[0].nonzero().flatten().tolist() == [1]


def test_infinite_scores_are_not_changed() -> None:
    processor = LogitsProcessor(FiniteConstraint(toy("abc"), [b"a", b"b"]))
    out = processor(torch.tensor([[0]]), torch.tensor([[torch.inf, -torch.inf, torch.inf, 0.0]]))
    assert out.tolist() == [[torch.inf, -torch.inf, -torch.inf, -torch.inf]]


def test_masks_are_cached_and_the_oldest_evicted(monkeypatch: pytest.MonkeyPatch) -> None:
    class Remembering(FiniteConstraint):
        """A constraint that caches its masks, as all but the online methods do."""

        mask = functools.cache(FiniteConstraint.mask)

    texts = [b"a" * 9 + b"b"]
    processor = LogitsProcessor(Remembering(toy("ab"), texts))
    for row in ([[5]], [[5, 0]], [[5, 0, 0]], [[5, 0]]):
        processor(torch.tensor(row), torch.zeros(1, 3))
    assert len(processor._ceilings._cached) == 3
    monkeypatch.setattr(logits_processor, "_MAX_CACHE_BYTES", 4 * 3)
    processor(torch.tensor([[5, 0, 0, 0]]), torch.zeros(1, 3))
    assert len(processor._ceilings._cached) == 2
    again = processor(torch.tensor([[5, 0]]), torch.zeros(1, 3))
    assert torch.isfinite(again).tolist() == [[True, False, False]]


def test_a_batch_of_other_prompts_begins_a_generation() -> None:
    processor = LogitsProcessor(FiniteConstraint(toy("ab"), [b"ab"]))

    def allowed(*rows: list[int]) -> list[list[int]]:
        out = processor(torch.tensor(rows), torch.zeros(len(rows), 3))
        return [torch.isfinite(row).nonzero().flatten().tolist() for row in out]

    assert allowed([7, 8], [8, 8]) == [[0], [0]]
    assert allowed([7, 8, 0], [8, 8, 0]) == [[1], [1]]
    assert allowed([7, 8, 0], [9, 8, 0]) == [[0], [0]], "the second prompt is another"
    assert allowed([7, 8, 0, 0]) == [[0]], "one row where there were two"


def test_error_too_few_scores() -> None:
    processor = LogitsProcessor(FiniteConstraint(toy("ab"), [b"a"]))
    with pytest.raises(ModelError, match="expected scores for 3 tokens, the model has 2"):
        processor(torch.tensor([[0]]), torch.zeros(1, 2))


def test_error_no_end_token() -> None:
    processor = LogitsProcessor(FiniteConstraint(toy("ab", end=False), [b"a"]))
    processor(torch.tensor([[0]]), torch.zeros(1, 2))
    with pytest.raises(ModelError, match="no end token"):
        processor(torch.tensor([[0, 0]]), torch.zeros(1, 2))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_scores_on_a_gpu() -> None:
    processor = LogitsProcessor(FiniteConstraint(toy("ab"), [b"a"]))
    out = processor(torch.tensor([[0]], device="cuda"), torch.zeros(1, 3, device="cuda"))
    assert out.device.type == "cuda"
    assert torch.isfinite(out).tolist() == [[True, False, False]]
