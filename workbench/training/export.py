"""A trained model and its tokenizer → a directory that ``transformers`` loads."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from tokenizers import Tokenizer
from transformers import GenerationConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from transformers.utils import logging

from workbench.training.bpe import END, end_of

FILES = (
    "config.json",
    "generation_config.json",
    "model.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
)


@contextmanager
def whole(folder: Path) -> Iterator[Path]:
    """A folder beside ``folder`` whose files move there one by one once all are written."""
    fresh = folder.with_name(folder.name + ".part")
    fresh.mkdir(parents=True, exist_ok=True)
    yield fresh
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(fresh.iterdir()):
        path.chmod(0o644)
        os.replace(path, folder / path.name)
    fresh.rmdir()


def export(model: LlamaForCausalLM, tokenizer: Tokenizer, folder: Path) -> None:
    """Configuration, weights in bf16 and tokenizer, written into ``folder``."""
    end = end_of(tokenizer)
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    half = copy.deepcopy(model)
    torch.nn.Module.to(half, device="cpu", dtype=torch.bfloat16)
    half.generation_config = GenerationConfig(  # type: ignore[no-untyped-call]
        eos_token_id=end, pad_token_id=end, do_sample=False, max_new_tokens=256
    )
    words = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        eos_token=END,
        pad_token=END,
        clean_up_tokenization_spaces=False,
        model_max_length=model.config.max_position_embeddings,
    )
    with whole(folder) as fresh:
        half.save_pretrained(fresh)
        words.save_pretrained(fresh)
        # The tokenizer's file as it was trained, not as a wrapper writes it again.
        tokenizer.save(str(fresh / "tokenizer.json"))


def load(folder: Path) -> tuple[LlamaForCausalLM, Tokenizer]:
    """An exported model in fp32, and its tokenizer."""
    model = LlamaForCausalLM.from_pretrained(
        folder, dtype=torch.float32, local_files_only=True, use_safetensors=True
    )
    model.train(False)
    return model, Tokenizer.from_file(str(folder / "tokenizer.json"))


def size(folder: Path) -> int:
    """Bytes of the weights."""
    return (folder / "model.safetensors").stat().st_size
