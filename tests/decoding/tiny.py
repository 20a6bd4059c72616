"""A tiny Llama with random weights and a byte-level tokenizer, written to a folder."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM

TEXT = ['{"name": "Ann", "age": 31}', "one two three four", "<a><b>text</b></a>"] * 4

#: Rows of the model's output that are no tokens.
PADDING = 11


def write_tokenizer(folder: Path, size: int = 320) -> Tokenizer:
    """A byte-level BPE tokenizer with one special token, ``<end>``."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=[AddedToken("<end>", special=True)],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXT, trainer)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    written = {"eos_token": "<end>", "tokenizer_class": "PreTrainedTokenizerFast"}
    (folder / "tokenizer_config.json").write_text(json.dumps(written))
    return tokenizer


def write_model(folder: Path, seed: int = 0) -> Path:
    """The whole model: config.json, model.safetensors, tokenizer.json."""
    tokenizer = write_tokenizer(folder)
    end = tokenizer.token_to_id("<end>")
    config = LlamaConfig(
        vocab_size=tokenizer.get_vocab_size() + PADDING,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
        bos_token_id=end,
        eos_token_id=end,
        pad_token_id=end,
        initializer_range=0.5,  # so that the logits differ visibly
    )
    torch.manual_seed(seed)
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder
