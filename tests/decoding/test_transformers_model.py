"""TransformersModel: the numbers of a plain forward pass, safe loading, clear error messages."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from tests.decoding.tiny import PADDING
from tests.decoding.worlds import FiniteConstraint
from workbench.base.errors import ModelError, VocabularyError
from workbench.constraint.compile import compile
from workbench.decoding.generate import generate
from workbench.decoding.model import (
    ChatModel,
    LanguageModel,
    Logits,
    Message,
    ToyModel,
    context_of,
)
from workbench.decoding.sampling import Sampling
from workbench.decoding.trace import StopReason
from workbench.decoding.transformers_model import TransformersModel, load_model
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.toy_vocabularies import toy

TEXTS = [b'{"name": "Ann"}', b'{"name": "Bo", "age": 31}', "{n: ü€}".encode()]


def plain(model: TransformersModel, ids: list[int]) -> Logits:
    """The logits of one whole forward pass, without a cache."""
    with torch.no_grad():
        logits = model.module(torch.tensor([ids]), use_cache=False).logits[0, -1]
    found: Logits = logits.numpy()
    return found


def test_is_a_language_model(tiny_model: TransformersModel) -> None:
    assert isinstance(tiny_model, LanguageModel)
    assert len(tiny_model.vocabulary) == tiny_model.rows - PADDING
    assert tiny_model.vocabulary.end == 0
    assert tiny_model.context_length == 64


def test_encoded_texts_decode_to_themselves(tiny_model: TransformersModel) -> None:
    ids = tiny_model.encode('{"name": "Ann"')
    assert tiny_model.vocabulary.decode(ids) == b'{"name": "Ann"'
    assert tiny_model.encode("") == [0]
    assert tiny_model.vocabulary.decode(tiny_model.encode("a\ud800")) == b"a?"


def test_logits_with_cache_equal_a_plain_forward_pass(tiny_model: TransformersModel) -> None:
    session = tiny_model.session()
    ids = tiny_model.encode('{"name": "Ann", "age": 31}')
    for length in range(1, len(ids) + 1):
        logits = session.logits(ids[:length])
        assert logits.dtype == np.float32
        assert logits.shape == (tiny_model.rows,)
        np.testing.assert_allclose(logits, plain(tiny_model, ids[:length]), atol=1e-4)


def test_rewinding_and_forking_equal_a_fresh_session(tiny_model: TransformersModel) -> None:
    session = tiny_model.session()
    rng = np.random.default_rng(0)
    ids: list[int] = [5]
    for _ in range(40):
        kept = int(rng.integers(0, len(ids) + 1))
        ids = [*ids[:kept], *rng.integers(1, tiny_model.rows, rng.integers(1, 9)).tolist()][:60]
        fresh = tiny_model.session().logits(ids)
        np.testing.assert_allclose(session.logits(ids), fresh, atol=1e-4)
        np.testing.assert_array_equal(session.logits(ids), session.logits(ids))


@pytest.mark.slow
def test_scoring_many_positions_equals_single_passes(tiny_model: TransformersModel) -> None:
    session, alone = tiny_model.session(), tiny_model.session()
    rng = np.random.default_rng(1)
    ids: list[int] = [5, 6]
    for _ in range(25):
        kept = int(rng.integers(1, len(ids) + 1))
        ids = [*ids[:kept], *rng.integers(1, tiny_model.rows, rng.integers(1, 9)).tolist()][:60]
        last = int(rng.integers(1, len(ids) + 1))
        rows = session.score(ids, last)
        assert rows.shape == (last, tiny_model.rows)
        expected = [alone.logits(ids[: len(ids) - last + 1 + row]) for row in range(last)]
        np.testing.assert_allclose(rows, np.stack(expected), atol=1e-4)


def counted_lengths(model: TransformersModel, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The tokens of each forward pass from now on."""
    lengths: list[int] = []
    whole = model.module.forward

    def counted(*args: object, **named: object) -> object:
        lengths.append(named["input_ids"].shape[1])  # type: ignore[attr-defined]
        return whole(*args, **named)

    monkeypatch.setattr(model.module, "forward", counted)
    return lengths


def test_positions_are_scored_in_one_pass(
    tiny_model: TransformersModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, lengths = tiny_model.session(), counted_lengths(tiny_model, monkeypatch)
    session.score([1, 2, 3], 1)
    session.score([1, 2, 3, 4, 5], 3)
    session.score([1, 2, 3, 4, 5], 2)
    session.score([1, 2, 3, 7], 1)
    assert lengths == [3, 3, 1]


@pytest.mark.parametrize("last", [0, 4])
def test_error_scoring_positions_outside_the_text(tiny_model: TransformersModel, last: int) -> None:
    with pytest.raises(ModelError, match=f"expected 1 to 3 positions, not {last}"):
        tiny_model.session().score([1, 2, 3], last)


def test_earlier_results_are_not_changed(tiny_model: TransformersModel) -> None:
    session = tiny_model.session()
    first = session.logits([1, 2, 3])
    copy = first.copy()
    session.logits([1, 2, 3, 4])
    session.logits([1, 9])
    np.testing.assert_array_equal(first, copy)


def test_only_new_tokens_are_computed(
    tiny_model: TransformersModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, lengths = tiny_model.session(), counted_lengths(tiny_model, monkeypatch)
    for ids in (
        [292, 2, 3, 4],
        [292, 2, 3, 4, 5],
        [292, 2, 3, 4, 5],
        [292, 2],
        [292, 2, 8, 9],
        [7],
    ):
        session.logits(ids)
    assert lengths == [4, 1, 1, 2, 1]


def test_sessions_in_threads_do_not_disturb_each_other(tiny_model: TransformersModel) -> None:
    sequences = [[n + 1, n + 2, n + 3, 2 * n + 1] for n in range(6)]
    expected = [tiny_model.session().logits(ids) for ids in sequences]
    found: dict[int, Logits] = {}

    def work(n: int) -> None:
        session = tiny_model.session()
        for length in range(1, 5):
            found[n] = session.logits(sequences[n][:length])

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n, logits in enumerate(expected):
        np.testing.assert_allclose(found[n], logits, atol=1e-4)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_generation_probabilities_equal_a_plain_forward_pass(
    tiny_model: TransformersModel, temperature: float
) -> None:
    constraint = FiniteConstraint(tiny_model.vocabulary, TEXTS)
    generation = generate(tiny_model, constraint, "one ", Sampling(temperature, seed=2))
    steps = list(generation)
    assert generation.stop is StopReason.FORCED_END
    assert generation.trace.text in TEXTS
    context = tiny_model.encode("one ")
    for step in steps:
        raw = torch.tensor(plain(tiny_model, context), dtype=torch.float64)
        logprobs = torch.log_softmax(raw, -1)
        assert step.logprob == pytest.approx(logprobs[step.token_id].item(), abs=1e-4)
        within = torch.logsumexp(logprobs[step.mask.ids.tolist()], -1).item()
        assert step.masked_logprob == pytest.approx(step.logprob - within, abs=1e-4)
        assert step.kept == pytest.approx(np.exp(within), rel=1e-3)
        context.append(step.token_id)
    mean = np.mean([s.logprob for s in steps if not s.is_end])
    assert generation.trace.perplexity == pytest.approx(np.exp(-mean))


def test_a_fork_continues_in_the_same_session(tiny_model: TransformersModel) -> None:
    constraint = FiniteConstraint(tiny_model.vocabulary, TEXTS)
    session = tiny_model.session()
    whole = list(generate(tiny_model, constraint, "x", Sampling(1.0, seed=1), session=session))
    cut = [s.token_id for s in whole[:2]]
    rest = generate(tiny_model, constraint, "x", Sampling(1.0, seed=1), session=session, prefix=cut)
    assert cut + [s.token_id for s in rest] == [s.token_id for s in whole]


def test_error_context_length(tiny_model: TransformersModel) -> None:
    with pytest.raises(ModelError) as caught:
        tiny_model.session().logits([1] * 65)
    assert str(caught.value) == (
        "65 tokens are 1 too many: this model reads at most 64\n"
        "hint: shorten the prompt, or ask for fewer tokens"
    )


@pytest.mark.parametrize("prompt", ["a" * 65, [1] * 65])
def test_error_a_prompt_that_is_longer_than_the_context(
    tiny_model: TransformersModel, prompt: str | list[int]
) -> None:
    constraint = compile(Grammar.from_regex("a*"), tiny_model.vocabulary)
    with pytest.raises(ModelError) as caught:
        generate(tiny_model, constraint, prompt)
    assert str(caught.value) == (
        f"the prompt has {len(tiny_model.encode(prompt)) if isinstance(prompt, str) else 65} tokens; "
        "the model reads at most 64\nhint: shorten the prompt, or choose a model with a longer context"
    )


@pytest.mark.parametrize("ids", [[100_000], [-1], []])
def test_error_token_ids(tiny_model: TransformersModel, ids: list[int]) -> None:
    with pytest.raises(ModelError, match="expected"):
        tiny_model.session().logits(ids)


def test_a_failed_pass_leaves_the_session_usable(
    tiny_model: TransformersModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = tiny_model.session()
    expected = session.logits([1, 2, 3]).copy()
    with monkeypatch.context() as patched:

        def fails(**_: object) -> None:
            raise RuntimeError("out of memory")

        patched.setattr(tiny_model.module, "forward", fails)
        with pytest.raises(ModelError, match="the model failed: out of memory"):
            session.logits([1, 2, 3, 4])
    np.testing.assert_allclose(session.logits([1, 2, 3]), expected, atol=1e-4)


def copied(folder: Path, target: Path) -> Path:
    return Path(shutil.copytree(folder, target))


def test_error_pickled_weights(tiny_folder: Path, tmp_path: Path) -> None:
    folder = copied(tiny_folder, tmp_path / "model")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match=r"found pytorch_model\.bin: pickled weights can run code"):
        TransformersModel(str(folder))


def test_error_no_weights(tiny_folder: Path, tmp_path: Path) -> None:
    folder = copied(tiny_folder, tmp_path / "model")
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="expected weights as safetensors"):
        TransformersModel(str(folder))


def test_error_broken_weights(tiny_folder: Path, tmp_path: Path) -> None:
    folder = copied(tiny_folder, tmp_path / "model")
    (folder / "model.safetensors").write_bytes(b"nothing of the kind")
    with pytest.raises(ModelError, match="cannot load"):
        TransformersModel(str(folder))


def test_error_code_in_a_checkpoint_is_never_run(tiny_folder: Path, tmp_path: Path) -> None:
    folder = copied(tiny_folder, tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    config["model_type"] = "something_else"
    config["auto_map"] = {"AutoConfig": "own.Config", "AutoModelForCausalLM": "own.Model"}
    (folder / "config.json").write_text(json.dumps(config))
    proof = tmp_path / "proof"
    (folder / "own.py").write_text(f"open({str(proof)!r}, 'w')\n")
    with pytest.raises(ModelError, match="needs code from its repository, which is never run"):
        TransformersModel(str(folder))
    assert not proof.exists()


def test_error_no_such_directory() -> None:
    for name in ("/no/such/model", "./nothing", "../up", "a b"):
        with pytest.raises(ModelError, match="expected"):
            TransformersModel(name)


def test_error_hub_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.vocabulary.load._is_hub_reachable", lambda: False)
    with pytest.raises(ModelError) as caught:
        TransformersModel("nobody/no-model")
    assert str(caught.value) == (
        "'nobody/no-model' is not on this machine and the hub does not answer or does not know"
        " it\nhint: name builtin, smollm2, a directory, a GGUF file, or a hub id once with network"
    )


def test_error_embedded_model_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("workbench.decoding.checkpoint.BUILTIN_MODEL", tmp_path)
    with pytest.raises(ModelError, match=r"expected config\.json"):
        TransformersModel("builtin")


def test_error_no_tokenizer(tiny_folder: Path, tmp_path: Path) -> None:
    folder = copied(tiny_folder, tmp_path / "model")
    (folder / "tokenizer.json").unlink()
    with pytest.raises(VocabularyError, match="tokenizer"):
        TransformersModel(str(folder))


def test_error_device(tiny_folder: Path) -> None:
    with pytest.raises(ModelError, match="there is no device 'nowhere'"):
        TransformersModel(str(tiny_folder), "nowhere")


def test_load_model_is_loaded_once(tiny_folder: Path) -> None:
    assert load_model(str(tiny_folder)) is load_model(str(tiny_folder))


def test_the_module_is_the_one_transformers_loads(
    tiny_model: TransformersModel, tiny_folder: Path
) -> None:
    other = AutoModelForCausalLM.from_pretrained(tiny_folder)
    for name, weights in other.state_dict().items():
        assert torch.equal(weights, tiny_model.module.state_dict()[name])


# -- chats -----------------------------------------------------------------------------------------

TEMPLATE = (
    "{% for m in messages %}{% if m.role == 'tool' %}{{ raise_exception('no tools') }}{% endif %}"
    "<{{ m.role }}>{{ m.content }}<end>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
CHAT: list[Message] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "ü?"},
]


@pytest.fixture(scope="module")
def chat_model(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> TransformersModel:
    folder = copied(tiny_folder, tmp_path_factory.mktemp("chat") / "model")
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    return TransformersModel(str(folder), "cpu")


def test_a_chat_is_rendered_with_its_special_tokens(chat_model: TransformersModel) -> None:
    assert isinstance(chat_model, ChatModel)
    text = "<system>Be brief.<end><user>ü?<end><assistant>"
    assert chat_model.render(CHAT) == text
    ids = chat_model.encode(CHAT)
    assert chat_model.vocabulary.decode(ids).decode() == text.replace("<end>", "")
    assert ids.count(0) == 2, "the special token, not its letters"
    assert context_of(chat_model, CHAT) == ids


def test_a_run_continues_a_chat(chat_model: TransformersModel) -> None:
    constraint = FiniteConstraint(chat_model.vocabulary, TEXTS)
    run = generate(chat_model, constraint, CHAT, max_tokens=20)
    text = b"".join(step.token for step in run)
    assert text in TEXTS
    same = generate(chat_model, constraint, chat_model.encode(CHAT), max_tokens=20)
    assert b"".join(step.token for step in same) == text


def test_errors_of_chats(chat_model: TransformersModel, tiny_model: TransformersModel) -> None:
    with pytest.raises(ModelError, match="has no chat template"):
        tiny_model.encode(CHAT)
    with pytest.raises(ModelError, match="toy has no chat template"):
        context_of(ToyModel(toy("ab")), CHAT)
    with pytest.raises(ModelError, match="refuses these messages: no tools"):
        chat_model.render([{"role": "tool", "content": "x"}])
    with pytest.raises(ModelError, match="expected a message with a role and a content"):
        chat_model.render([{"role": "user"}])  # type: ignore[typeddict-item]
