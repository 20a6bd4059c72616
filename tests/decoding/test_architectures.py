"""TransformersModel over architectures whose caches differ: windows, states, learnt positions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, GemmaConfig, GPT2Config, MambaConfig, MistralConfig

from transformers import Gemma2Config, Phi3Config, PretrainedConfig, Qwen2Config  # isort: skip

from tests.decoding.tiny import write_tokenizer
from workbench.decoding import transformers_session
from workbench.decoding.transformers_model import TransformersModel

SMALL: dict[str, Any] = {
    "vocab_size": 320,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "bos_token_id": 0,
    "eos_token_id": 0,
    "pad_token_id": 0,
}
HEADS: dict[str, Any] = SMALL | {
    "intermediate_size": 48,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "initializer_range": 0.3,
}

CONFIGS: list[tuple[PretrainedConfig, str]] = [
    (
        GPT2Config(vocab_size=320, n_embd=32, n_layer=2, n_head=4, eos_token_id=0),
        "learnt positions",
    ),
    (MistralConfig(**HEADS, sliding_window=4), "every layer looks at a window"),
    (
        Phi3Config(
            **HEADS,
            max_position_embeddings=64,
            original_max_position_embeddings=8,
            rope_parameters={
                "rope_type": "longrope",
                "rope_theta": 10_000.0,
                "short_factor": [1.0] * 4,
                "long_factor": [4.0] * 4,
                "original_max_position_embeddings": 8,
            },
        ),
        "past eight tokens all keys are rotated in another way",
    ),
    (Gemma2Config(**HEADS, sliding_window=4, query_pre_attn_scalar=8), "every other layer does"),
    (GemmaConfig(**HEADS), "tied, scaled embeddings"),
    (Qwen2Config(**HEADS), "biases"),
    (MambaConfig(**SMALL, state_size=4), "a state that cannot be cropped"),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("config", "because"), CONFIGS, ids=[c.model_type for c, _ in CONFIGS])
def test_cache_equals_a_plain_forward_pass(
    config: PretrainedConfig, because: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one session whose text changes, and of new ones that begin with what was read."""
    monkeypatch.setattr(transformers_session, "_MIN_COPIED", 1)
    write_tokenizer(tmp_path)
    torch.manual_seed(0)
    auto: Any = AutoModelForCausalLM  # not typed
    auto.from_config(config).save_pretrained(tmp_path)
    model = TransformersModel(str(tmp_path), "cpu")
    session = model.session()
    rng = np.random.default_rng(0)
    ids: list[int] = [5]
    for _ in range(12):
        ids = [*ids[: int(rng.integers(0, len(ids) + 1))], *rng.integers(1, 300, 5).tolist()]
        with torch.no_grad():
            plain = model.module(torch.tensor([ids]), use_cache=False).logits[0, -1]
        for one in (session, model.session()):
            np.testing.assert_allclose(one.logits(ids), plain.numpy(), atol=2e-4, err_msg=because)
