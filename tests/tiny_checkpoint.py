"""A whole tiny model on disk, as transformers stores one and as one GGUF file.

Its tokenizer is byte-level BPE whose alphabet is that of its training text, so that many bytes have
no token; it has a chat template and two end tokens, as instruction models do. The Llama has two
layers of 32 numbers with random weights.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM

#: Every character of it is a token, other ASCII letters are not.
TEXT = [
    '{"name": "Ann", "age": 31}',
    '[1, 2, 3] {"a": [true, null]} abc 0456789',
    "the end,\nand so on",
] * 4

#: The token that ends a text, and the one that ends a turn of a chat. Transformers adds the first one
#: to the tokenizer of any GGUF file.
END, TURN = "<|endoftext|>", "<turn>"

TEMPLATE = (
    "{% for m in messages %}<turn>{{ m.role }}: {{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}<turn>{% endif %}"
)

_HEADS, _KEY_HEADS, _LAYERS, _HIDDEN, _INNER, _LENGTH = 4, 2, 2, 32, 48, 256


def write_checkpoint(folder: Path, seed: int = 0) -> Path:
    """The model as a directory: config, generation_config, safetensors, tokenizer, chat template."""
    tokenizer = tiny_tokenizer()
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    written = {"eos_token": END, "tokenizer_class": "PreTrainedTokenizerFast"}
    (folder / "tokenizer_config.json").write_text(json.dumps(written))
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    ends = [tokenizer.token_to_id(END), tokenizer.token_to_id(TURN)]
    config = LlamaConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=_HIDDEN,
        intermediate_size=_INNER,
        num_hidden_layers=_LAYERS,
        num_attention_heads=_HEADS,
        num_key_value_heads=_KEY_HEADS,
        max_position_embeddings=_LENGTH,
        bos_token_id=ends[0],
        eos_token_id=ends[0],
        initializer_range=0.5,  # so that the logits differ visibly
    )
    torch.manual_seed(seed)
    model: Any = LlamaForCausalLM(config)
    model.generation_config.eos_token_id = ends
    model.save_pretrained(folder)
    return folder


def tiny_tokenizer() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=120,
        special_tokens=[AddedToken(END, special=True), AddedToken(TURN, special=True)],
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXT, trainer)
    return tokenizer


def write_gguf(folder: Path, file: Path, architecture: str = "llama") -> Path:
    """The model of a directory as a GGUF file in float32; needs the package gguf."""
    from gguf import GGUFWriter, TokenType

    spec = json.loads((folder / "tokenizer.json").read_text())
    config = json.loads((folder / "config.json").read_text())
    tokens = sorted(spec["model"]["vocab"], key=spec["model"]["vocab"].__getitem__)
    special = {added["content"] for added in spec["added_tokens"]}
    writer: Any = GGUFWriter(str(file), architecture)
    writer.add_context_length(_LENGTH)
    writer.add_embedding_length(_HIDDEN)
    writer.add_block_count(_LAYERS)
    writer.add_feed_forward_length(_INNER)
    writer.add_head_count(_HEADS)
    writer.add_head_count_kv(_KEY_HEADS)
    writer.add_rope_freq_base(10_000.0)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    kinds = [TokenType.CONTROL if token in special else TokenType.NORMAL for token in tokens]
    writer.add_token_types(kinds)
    writer.add_token_merges([" ".join(pair) for pair in spec["model"]["merges"]])
    writer.add_eos_token_id(tokens.index(END))
    writer.add_eot_token_id(tokens.index(TURN))
    writer.add_bos_token_id(tokens.index(END))
    writer.add_chat_template(TEMPLATE)
    model: Any = LlamaForCausalLM.from_pretrained(folder)
    for name, weights in model.state_dict().items():
        writer.add_tensor(
            _NAMES[name] if name in _NAMES else _in_block(name), _rotated(name, weights)
        )
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


_NAMES = {
    "model.embed_tokens.weight": "token_embd.weight",
    "model.norm.weight": "output_norm.weight",
    "lm_head.weight": "output.weight",
}
_PARTS = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}


def _in_block(name: str) -> str:
    _, _, layer, part = name.split(".", 3)
    return f"blk.{layer}.{_PARTS[part.removesuffix('.weight')]}.weight"


def _rotated(name: str, weights: torch.Tensor) -> npt.NDArray[np.float32]:
    """The weights with the rows of queries and keys in llama.cpp's order: pairs beside each other."""
    array: npt.NDArray[np.float32] = weights.numpy()
    heads = {"q_proj": _HEADS, "k_proj": _KEY_HEADS}.get(name.split(".")[-2])
    if heads is None:
        return array
    halves = array.reshape(heads, 2, -1, array.shape[1])
    return np.ascontiguousarray(halves.swapaxes(1, 2).reshape(array.shape))
