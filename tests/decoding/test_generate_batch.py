"""Generations that share forward passes: equal to single runs, and independent of each other."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

from tests.decoding.test_architectures import CONFIGS, HEADS
from tests.decoding.tiny import PADDING, write_tokenizer
from tests.decoding.worlds import FiniteConstraint
from workbench.base.errors import ModelError, WorkbenchError
from workbench.decoding import transformers_session
from workbench.decoding.generate import Generation, generate, generate_batch
from workbench.decoding.model import ForwardPass, LanguageModel, ToyModel
from workbench.decoding.sampling import Sampling
from workbench.decoding.shared_passes import run_together
from workbench.decoding.speculative import ForcedProposer
from workbench.decoding.strategy import PLAIN, JumpForward, Speculation
from workbench.decoding.trace import StopReason
from workbench.decoding.transformers_model import TransformersModel
from workbench.decoding.transformers_session import KeyValueCache, TransformersPasses

TEXTS = [b'{"name": "Ann"}', b'{"name": "Bo", "age": 31}', "{n: ü€}".encode()]


def runs(model: TransformersModel, count: int = 16) -> list[Generation]:
    """Runs that differ in constraint, prompt, sampling, seed and strategy."""
    strategies = (PLAIN, JumpForward(), Speculation(ForcedProposer()))
    return [
        generate(
            model,
            FiniteConstraint(model.vocabulary, TEXTS[number % 2 :]),
            "one " * (1 + number % 5),
            Sampling((0.0, 0.7, 1.0)[number % 3], seed=number),
            strategy=strategies[number % len(strategies)],
        )
        for number in range(count)
    ]


def pass_shapes(model: TransformersModel, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The rows and new tokens of the passes from now on."""
    found: list[tuple[int, int]] = []
    whole = model.module.forward

    def counted(*args: object, **named: object) -> object:
        found.append(tuple(named["input_ids"].shape))  # type: ignore[attr-defined]
        return whole(*args, **named)

    monkeypatch.setattr(model.module, "forward", counted)
    return found


def test_runs_equal_single_runs(
    tiny_model: TransformersModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = runs(tiny_model)
    for generation in alone:
        list(generation)
    rows = pass_shapes(tiny_model, monkeypatch)
    together = runs(tiny_model)
    for _, step in generate_batch(together):
        assert not isinstance(step, WorkbenchError)
    assert max(rows)[0] > 1
    for one, other in zip(alone, together, strict=True):
        assert one.stop is other.stop
        assert one.trace.token_ids == other.trace.token_ids
        surprisals = [[step.logprob for step in run.steps] for run in (one, other)]
        np.testing.assert_allclose(surprisals[0], surprisals[1], atol=1e-4)


def test_runs_that_wait_for_others_are_complete(tiny_model: TransformersModel) -> None:
    together = runs(tiny_model)
    list(generate_batch(iter(together), at_once=3))
    assert all(generation.stop is not None for generation in together)


def test_stopping_one_run_leaves_the_others(tiny_model: TransformersModel) -> None:
    constraint, stopped = FiniteConstraint(tiny_model.vocabulary, TEXTS), threading.Event()
    first = generate(tiny_model, constraint, "one ", stop=stopped.is_set)
    others = runs(tiny_model, 4)
    for generation, _ in generate_batch([first, *others]):
        if generation is first:
            stopped.set()
    assert first.stop is StopReason.STOPPED
    assert all(other.stop not in (None, StopReason.STOPPED) for other in others)


def test_error_of_one_run_leaves_the_others(tiny_model: TransformersModel) -> None:
    constraint = FiniteConstraint(tiny_model.vocabulary, TEXTS)
    long = generate(tiny_model, constraint, [1] * 62)
    others = runs(tiny_model, 4)
    errors = [
        (generation, step)
        for generation, step in generate_batch([*others, long])
        if isinstance(step, WorkbenchError)
    ]
    assert [generation for generation, _ in errors] == [long]
    assert "too many" in str(errors[0][1])
    assert all(other.stop is not None for other in others)


def test_error_of_a_shared_pass_is_that_of_one_row(
    tiny_model: TransformersModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = tiny_model.module.forward

    def fails(*args: object, **named: Any) -> object:
        if (named["input_ids"] == 9).any():
            raise RuntimeError("out of memory")
        return whole(*args, **named)

    monkeypatch.setattr(tiny_model.module, "forward", fails)
    found = scored(tiny_model, [[1, 2, 3], [4, 5, 9], [6, 7, 8]])
    assert isinstance(found[1], ModelError)
    for number, ids in ((0, [1, 2, 3]), (2, [6, 7, 8])):
        np.testing.assert_allclose(found[number], tiny_model.session().logits(ids), atol=1e-4)


def scored(model: TransformersModel, sequences: list[list[int]]) -> list[Any]:
    """The logits after each sequence, or its error; read token by token, in shared passes."""
    sessions = [model.session() for _ in sequences]
    found: list[Any] = [None] * len(sequences)
    for length in range(1, max(map(len, sequences)) + 1):
        unread = [i for i, ids in enumerate(sequences) if length <= len(ids)]
        passes = [ForwardPass(sessions[i], sequences[i][:length], 1) for i in unread]
        for index, result in zip(unread, run_together(passes), strict=True):
            if not isinstance(found[index], WorkbenchError):
                found[index] = result if isinstance(result, WorkbenchError) else result[0][0]
    return found


def test_more_sessions_than_rows_fit_take_turns(
    tiny_model: TransformersModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transformers_session, "MAX_ROWS", 2)
    monkeypatch.setattr(transformers_session, "_IDLE_SECONDS", 0.05)
    sessions = [tiny_model.session() for _ in range(5)]
    for length in range(1, 4):
        for number, session in enumerate(sessions):
            ids = [number + 1, 7, 9][:length]
            expected = tiny_model.session().logits(ids)
            np.testing.assert_allclose(session.logits(ids), expected, atol=1e-4)


def test_two_passes_of_one_session_follow_each_other(tiny_model: TransformersModel) -> None:
    session = tiny_model.session()
    contexts = [[1, 2, 3], [1, 2, 4, 5], [9]]
    found = run_together([ForwardPass(session, ids, 1) for ids in contexts])
    for ids, result in zip(contexts, found, strict=True):
        assert isinstance(result, tuple)
        np.testing.assert_allclose(result[0][0], tiny_model.session().logits(ids), atol=1e-4)


def test_sessions_of_several_models_in_one_batch(tiny_model: TransformersModel) -> None:
    toy = ToyModel(tiny_model.vocabulary)
    contexts = [[1, 2], [3], [1, 2, 3]]
    models: list[LanguageModel] = [tiny_model, toy, tiny_model]
    found = run_together(
        [ForwardPass(m.session(), ids, 1) for m, ids in zip(models, contexts, strict=True)]
    )
    for model, ids, result in zip(models, contexts, found, strict=True):
        assert isinstance(result, tuple)
        np.testing.assert_allclose(result[0][0], model.session().logits(ids), atol=1e-4)


@pytest.mark.timeout(60)
def test_sessions_that_outgrow_a_full_cache_all_continue(
    tiny_model: TransformersModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has a row, and no two rows of the length they need have space."""
    tiny_model.session().logits([1])
    cache = tiny_model.session().shared_passes._cache
    token = sum(buffer[0, 0].nbytes for buffer in cache.buffers())
    monkeypatch.setattr(transformers_session, "_MAX_CACHE_BYTES", 2 * 64 * token + 1_000)
    assert (cache.most_rows(64), cache.most_rows(128)) == (2, 1)
    sessions = [tiny_model.session() for _ in range(2)]
    for length in range(25, 45):
        contexts = [[1 + (number + i) % 300 for i in range(length)] for number in range(2)]
        passes = [ForwardPass(s, ids, 1) for s, ids in zip(sessions, contexts, strict=True)]
        for ids, result in zip(contexts, run_together(passes), strict=True):
            assert isinstance(result, tuple)
            np.testing.assert_allclose(result[0][0], tiny_model.session().logits(ids), atol=1e-4)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("method", ["_resize_buffer", "_bring_together", "buffer"])
def test_an_interrupted_change_of_the_cache_is_forgotten(
    tiny_model: TransformersModel,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    error: type[BaseException],
) -> None:
    sessions = [tiny_model.session() for _ in range(4)]
    contexts = [[1 + number, 2, 3] for number in range(4)]
    if method != "buffer":
        run_together([ForwardPass(s, c, 1) for s, c in zip(sessions, contexts, strict=True)])
    whole, calls = getattr(KeyValueCache, method), itertools.count()

    def fails(*given: Any) -> Any:
        result = whole(*given)
        if next(calls) == 1 - (method == "_bring_together"):  # in the middle of the change
            raise error("out of memory")
        return result

    with monkeypatch.context() as broken:
        broken.setattr(KeyValueCache, method, fails)
        longer = [c + [9] * (70 if method == "_resize_buffer" else 1) for c in contexts][::2]
        if method == "_resize_buffer":
            longer = [ids[:60] for ids in longer]
        with suppress(KeyboardInterrupt):
            run_together([ForwardPass(s, c, 1) for s, c in zip(sessions[::2], longer, strict=True)])
    for session, ids in zip(sessions, contexts, strict=True):
        expected = tiny_model.session().logits([*ids, 7])
        np.testing.assert_allclose(session.logits([*ids, 7]), expected, atol=1e-4)


def test_a_context_with_nan_leaves_the_others(
    tiny_model: TransformersModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    weight: Any = tiny_model.module.get_input_embeddings().weight  # type: ignore[operator]
    before = weight[5].clone()
    with torch.no_grad():
        weight[5] = float("nan")
    try:
        poisoned, other = tiny_model.session(), tiny_model.session()
        run_together([ForwardPass(poisoned, [1, 2, 5], 1), ForwardPass(other, [3] * 20, 1)])
        found = run_together([ForwardPass(poisoned, [1, 2, 9], 1), ForwardPass(other, [3] * 21, 1)])
    finally:
        with torch.no_grad():
            weight[5] = before
    assert all(isinstance(r, tuple) and np.isfinite(r[0]).all() for r in found)


def test_error_batches_that_cannot_run(tiny_model: TransformersModel) -> None:
    with pytest.raises(WorkbenchError, match="of at least 1 as 'at_once', not 0"):
        next(generate_batch(runs(tiny_model, 2), at_once=0))
    with pytest.raises(WorkbenchError, match="each generation of a batch once"):
        list(generate_batch(runs(tiny_model, 1) * 2))


def test_a_run_interrupted_in_its_stop_resumes(tiny_model: TransformersModel) -> None:
    calls = itertools.count()

    def stop() -> bool:
        if next(calls) == 2:
            raise KeyboardInterrupt
        return False

    constraint = FiniteConstraint(tiny_model.vocabulary, TEXTS)
    whole = list(generate(tiny_model, constraint, "one "))
    interrupted = generate(tiny_model, constraint, "one ", stop=stop)
    with pytest.raises(KeyboardInterrupt):
        list(interrupted)
    list(interrupted)
    assert interrupted.trace.token_ids == [step.token_id for step in whole]


def test_a_batch_that_was_left_continues_alone(tiny_model: TransformersModel) -> None:
    alone, left = runs(tiny_model, 4), runs(tiny_model, 4)
    for generation in alone:
        list(generation)
    for _ in itertools.islice(generate_batch(left), 7):
        pass
    for generation in left:
        list(generation)
    for one, other in zip(alone, left, strict=True):
        assert one.trace.token_ids == other.trace.token_ids


def test_a_full_cache_lets_fewer_runs_begin(
    tiny_model: TransformersModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_model.session().logits([1])  # so that the bytes of a token are known
    passes = tiny_model.session().shared_passes
    monkeypatch.setattr(transformers_session, "_MAX_CACHE_BYTES", 1 << 16)
    most = passes.most_rows(20)
    rows = pass_shapes(tiny_model, monkeypatch)
    together = runs(tiny_model)
    list(generate_batch(together))
    assert 1 <= max(rows)[0] <= most < 16
    assert all(generation.stop is not None for generation in together)


def test_the_cache_shrinks_when_sessions_end(tiny_model: TransformersModel) -> None:
    sessions = [tiny_model.session() for _ in range(16)]
    run_together([ForwardPass(session, [1, 2], 1) for session in sessions])
    cache = sessions[0].shared_passes._cache
    full = sum(buffer.nbytes for buffer in cache.buffers())
    kept = sessions[3]
    del sessions
    expected = tiny_model.session().logits([1, 2, 3])
    np.testing.assert_allclose(kept.logits([1, 2, 3]), expected, atol=1e-4)
    assert sum(buffer.nbytes for buffer in cache.buffers()) <= full / 4


def plain_logits(model: TransformersModel, ids: list[int]) -> Any:
    with torch.no_grad():
        return model.module(input_ids=torch.tensor([ids]), use_cache=False).logits[0, -1].numpy()


def test_the_beginning_of_a_context_is_copied_from_another_row(
    tiny_model: TransformersModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared, last = [290, *range(1, 60)], tiny_model.session()
    contexts = [[*shared, *rest] for rest in ([61, 62], [63], [64, 65, 66], [], [67])]
    expected = [plain_logits(tiny_model, ids) for ids in contexts]
    shapes = pass_shapes(tiny_model, monkeypatch)
    sessions = [tiny_model.session() for _ in contexts]
    for session, ids, logits in zip(sessions, contexts, expected, strict=True):
        np.testing.assert_allclose(session.logits(ids), logits, atol=1e-4)
    assert shapes == [(1, 62), (1, 1), (1, 3), (1, 1), (1, 1)]
    del sessions, session, shapes[:]
    np.testing.assert_allclose(last.logits(contexts[2]), expected[2], atol=1e-4)
    assert shapes == [(1, 1)], "the row of an ended session"


def test_contexts_that_begin_alike_wait_for_the_first(
    tiny_model: TransformersModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    contexts = [[291, *range(1, 50), 100 + number, number] for number in range(6)]
    expected = [plain_logits(tiny_model, ids) for ids in contexts]
    shapes = pass_shapes(tiny_model, monkeypatch)
    found = run_together([ForwardPass(tiny_model.session(), ids, 1) for ids in contexts])
    assert shapes == [(1, 52), (5, 2)]
    for result, logits in zip(found, expected, strict=True):
        assert isinstance(result, tuple)
        np.testing.assert_allclose(result[0][0], logits, atol=1e-4)


def test_a_new_run_takes_its_whole_prompt_from_another_one_and_shares_its_pass(
    tiny_model: TransformersModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt, other = [289, 3, 4, 5, 6], [288, 3, 4, 5, 6]
    contexts = [[*prompt, 7, 8], prompt, other]
    expected = [plain_logits(tiny_model, ids) for ids in contexts]
    running = tiny_model.session()
    running.logits([*prompt, 7])
    shapes = pass_shapes(tiny_model, monkeypatch)
    sessions = [running, tiny_model.session(), tiny_model.session()]
    for passes, shape in ((contexts[:2], (2, 1)), (contexts[2:], (1, 5))):
        these, sessions = sessions[: len(passes)], sessions[len(passes) :]
        found = run_together(
            [ForwardPass(one, ids, 1) for one, ids in zip(these, passes, strict=True)]
        )
        assert shapes.pop() == shape
        assert not shapes
        for result in found:
            assert isinstance(result, tuple)
            np.testing.assert_allclose(result[0][0], expected.pop(0), atol=1e-4)


@pytest.mark.parametrize("ranges", [True, False])
def test_new_contexts_share_the_pass_of_running_ones(
    tiny_model: TransformersModel, monkeypatch: pytest.MonkeyPatch, ranges: bool
) -> None:
    """Without padding; a model whose attention ignores the ranges is padded from then on."""
    if not ranges:
        monkeypatch.setattr(transformers_session, "attention_in", nullcontext)
    passes = TransformersPasses(tiny_model.module, 320 + PADDING, 64)
    sessions = [passes.session() for _ in range(5)]
    contexts = [[200 + number, *range(1, 4 + number)] for number in range(3)]
    passes.score([ForwardPass(*one, 1) for one in zip(sessions, contexts, strict=False)])
    contexts = [[*ids, 7] for ids in contexts] + [[210, *range(50, 90)], [211, 1, 2]]
    lasts, shapes = [1, 1, 2, 3, 2], pass_shapes(tiny_model, monkeypatch)
    for _ in range(2):
        found = passes.score([ForwardPass(*x) for x in zip(sessions, contexts, lasts, strict=True)])
        tried, shapes[:] = list(shapes), []
        for ids, last, result in zip(contexts, lasts, found, strict=True):
            assert isinstance(result, np.ndarray)
            with torch.no_grad():
                given = {"input_ids": torch.tensor([ids]), "use_cache": False}
                plain = tiny_model.module(**given).logits[0, -last:]
            np.testing.assert_allclose(result, plain.numpy(), atol=1e-4)
        shapes.clear()
        sessions, contexts = (
            [*sessions[:3], passes.session(), passes.session()],
            [
                [*ids, 9] if number < 3 else [220 + number, *ids]
                for number, ids in enumerate(contexts)
            ],
        )
    # in the second pass the third row reads two positions again
    assert tried == ([(1, 50)] if ranges else [(4, 4), (1, 42)])


class LongModel:
    """A model whose context is 1,024 tokens, with nine contexts of 890 that share nothing."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.module = LlamaForCausalLM(LlamaConfig(**HEADS, max_position_embeddings=1_024)).eval()
        self.passes = TransformersPasses(self.module, 320, 1_024)
        rng = np.random.default_rng(0)
        self.texts = [[i + 1, *rng.integers(1, 300, 889).tolist()] for i in range(9)]
        #: The rows and new tokens of each pass.
        self.shapes: list[tuple[int, ...]] = []

    def read(self, sessions: Sequence[Any], contexts: Sequence[list[int]]) -> None:
        """Compare the logits with those of plain forward passes."""
        given = [ForwardPass(one, ids, 1) for one, ids in zip(sessions, contexts, strict=True)]
        hook = self.module.register_forward_pre_hook(self._record, with_kwargs=True)
        found = self.passes.score(given)
        hook.remove()
        for ids, result in zip(contexts, found, strict=True):
            assert isinstance(result, np.ndarray)
            with torch.no_grad():
                expected = self.module(torch.tensor([ids]), use_cache=False).logits[0, -1]
            np.testing.assert_allclose(result[0], expected.numpy(), atol=1e-4)

    def _record(self, _: object, __: object, named: dict[str, Any]) -> None:
        self.shapes.append(tuple(named["input_ids"].shape))


@pytest.mark.parametrize("ranges", [True, False])
def test_a_source_that_another_row_of_the_pass_overwrites(
    monkeypatch: pytest.MonkeyPatch, ranges: bool
) -> None:
    """In a full cache, one of two new sessions gets the row that the other one copies."""
    monkeypatch.setattr(transformers_session, "MAX_ROWS", 4)
    model = LongModel()
    model.passes._takes_ranges = ranges
    sessions = [model.passes.session() for _ in range(4)]
    for session, ids in zip(sessions, model.texts, strict=False):
        model.read([session], [ids])
    continued = sessions[1]
    del sessions[2], sessions[0], session, model.shapes[:]
    contexts = [[*model.texts[number], *range(1, 6)] for number in (1, 0)]
    model.read([model.passes.session() for _ in contexts], contexts)
    assert model.shapes == ([(1, 900)] if ranges else [(1, 5), (1, 895)])
    model.read([continued], [[*model.texts[1], 7]])


@pytest.mark.parametrize("ranges", [True, False])
def test_a_source_that_is_dropped_when_the_cache_shrinks(ranges: bool) -> None:
    """One session continues, another one takes the text of an ended session."""
    model = LongModel()
    model.passes._takes_ranges = ranges
    sessions = [model.passes.session() for _ in model.texts]
    model.read(sessions, [ids[:200] for ids in model.texts])
    model.read(sessions[2:3], model.texts[2:3])
    del sessions[2:], model.shapes[:]
    model.read(sessions, [[*model.texts[0][:200], *range(5)], [*model.texts[2], *range(5)]])
    assert model.shapes == ([(1, 900)] if ranges else [(1, 5), (1, 895)])


@pytest.mark.slow
@pytest.mark.parametrize(("least", "tokens"), [(32, 300), (2, 3)])
def test_threads_take_turns_and_share_rows(
    tiny_model: TransformersModel, monkeypatch: pytest.MonkeyPatch, least: int, tokens: int
) -> None:
    """Threads continue, rewind, abandon and replace contexts, with fewer rows than threads."""
    monkeypatch.setattr(transformers_session, "MAX_ROWS", 5)
    monkeypatch.setattr(transformers_session, "_MIN_COPIED", least)
    monkeypatch.setattr(transformers_session, "_IDLE_SECONDS", 0.01)
    wrong: list[tuple[list[int], float]] = []
    lock = threading.Lock()
    asked: list[tuple[list[int], Any]] = []

    def work(number: int) -> None:
        rng = np.random.default_rng(number)
        session, ids = tiny_model.session(), [number % tokens + 1]
        for _ in range(60):
            choice = rng.random()
            if choice < 0.1:
                session, ids = tiny_model.session(), [number % tokens + 1]
            elif choice < 0.2:
                ids = ids[: int(rng.integers(1, len(ids) + 1))]
            elif choice < 0.25:
                time.sleep(0.02)
            if len(ids) > 40:
                ids = ids[:3]
            ids = [*ids, *rng.integers(1, tokens, int(rng.integers(1, 4))).tolist()]
            last = int(rng.integers(1, min(3, len(ids)) + 1))
            found = session.score(ids, last)
            with lock:
                asked.append((ids, found))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert len(asked) == 12 * 60
    for ids, found in asked:
        with torch.no_grad():
            expected = tiny_model.module(input_ids=torch.tensor([ids]), use_cache=False).logits[0]
        error = float(np.abs(found - expected.numpy()[-len(found) :]).max())
        if error > 1e-4:
            wrong.append((ids, error))
    assert not wrong


@pytest.mark.exhaustive
@pytest.mark.parametrize(("config", "because"), CONFIGS, ids=[c.model_type for c, _ in CONFIGS])
def test_rows_of_a_batch_equal_plain_passes(config: Any, because: str, tmp_path: Path) -> None:
    write_tokenizer(tmp_path)
    torch.manual_seed(0)
    auto: Any = AutoModelForCausalLM  # not typed
    auto.from_config(config).save_pretrained(tmp_path)
    model = TransformersModel(str(tmp_path), "cpu")
    rng = np.random.default_rng(0)
    sequences = [rng.integers(1, 300, length).tolist() for length in (3, 9, 5, 12, 4)]
    found = scored(model, sequences)
    for number, ids in enumerate(sequences):
        with torch.no_grad():
            plain = model.module(torch.tensor([ids]), use_cache=False).logits[0, -1]
        np.testing.assert_allclose(found[number], plain.numpy(), atol=2e-4, err_msg=because)
