"""Shape → an untrained Llama model, and the two optimizers its parameters are given to."""

from __future__ import annotations

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from workbench.training.settings import Shape, TrainSettings


def network(shape: Shape, *, end: int) -> LlamaForCausalLM:
    """A fresh model; its weights come from torch's random number generator."""
    config = LlamaConfig(
        vocab_size=shape.tokens,
        hidden_size=shape.width,
        intermediate_size=shape.inner,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.heads,
        max_position_embeddings=shape.context,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=end,
        pad_token_id=end,
        attention_dropout=0.0,
    )
    return LlamaForCausalLM(config)


def parameters(model: torch.nn.Module) -> int:
    """How many numbers the model holds, tied ones counted once."""
    return sum(p.numel() for p in model.parameters())


def optimizers(
    model: torch.nn.Module, settings: TrainSettings
) -> tuple[torch.optim.Optimizer, torch.optim.Optimizer]:
    """Muon for the layers' matrices (Jordan et al. 2024), AdamW for embeddings and norms."""
    if not hasattr(torch.optim, "Muon"):
        raise RuntimeError(f"training needs torch 2.9 or newer, this is {torch.__version__}")
    matrices = [p for n, p in model.named_parameters() if p.ndim == 2 and "embed" not in n]
    rest = [p for n, p in model.named_parameters() if p.ndim != 2 or "embed" in n]
    muon = torch.optim.Muon(
        matrices, lr=settings.matrix_rate, weight_decay=0.05, momentum=0.95, nesterov=True
    )
    adam = torch.optim.AdamW(
        rest, lr=settings.vector_rate, betas=(0.9, 0.95), weight_decay=0.0, foreach=True
    )
    return muon, adam
