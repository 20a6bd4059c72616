"""The model in the package: its files, its card's numbers, what it makes of prompts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer
from transformers import AutoTokenizer, LlamaForCausalLM

import workbench.decoding
from lab.training.card import FILES, complete, load, measure, size
from lab.training.corpus.document import stream
from lab.training.corpus.mixture import FORMATS, HELD_OUT

BUILTIN = Path(workbench.decoding.__file__).parent / "builtin"
Shipped = tuple[LlamaForCausalLM, Tokenizer]
Figures = dict[str, Any]
BY_NAME = {form.name: form for form in FORMATS}

pytestmark = pytest.mark.skipif(
    not (BUILTIN / "model.safetensors").is_file(),
    reason="the embedded model is missing: python -m lab train makes it",
)


@pytest.fixture(scope="module")
def shipped() -> Iterator[Shipped]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield load(BUILTIN)
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def figures() -> Figures:
    numbers = json.loads((BUILTIN / "figures.json").read_text())
    return {figure["format"]: figure for figure in numbers["figures"]}


def test_all_files_are_there_and_small_enough() -> None:
    assert all((BUILTIN / name).is_file() for name in (*FILES, "README.md", "figures.json"))
    assert size(BUILTIN) <= 25_000_000


def test_transformers_reads_texts_as_the_tokenizer_does(shipped: Shipped) -> None:
    _, tokenizer = shipped
    theirs = AutoTokenizer.from_pretrained(BUILTIN, local_files_only=True)
    for form in FORMATS:
        document = next(stream(form, "tokens"))
        text = document.prompt + document.text
        assert theirs(text)["input_ids"] == tokenizer.encode(text).ids
        assert theirs.decode(tokenizer.encode(text).ids) == text


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sum", "date", "colour", "e-mail"])
def test_the_cards_figures_are_true(shipped: Shipped, figures: Figures, name: str) -> None:
    model, tokenizer = shipped
    documents = tuple(islice(stream(BY_NAME[name], HELD_OUT), figures[name]["documents"]))
    found = measure(model, tokenizer, documents)
    assert found.text == pytest.approx(figures[name]["text"], rel=0.02)
    assert found.whole == pytest.approx(figures[name]["whole"], rel=0.02)


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("Today is the 3rd of May 2024. In ISO format: ", "2024-05-03"),
        ("The colour of a ripe banana: ", "Yellow"),
        ("Is the sky blue? Answer Yes or No: ", "Yes"),
        ("12 + 7 = ", "19"),
        ("Version 1.4.2 is followed by ", "1.4.3"),
        ("Contact Ada Lovelace at ", "ada.lovelace@example.com"),
        (
            "A SQL query that lists the names of all users older than 30:\n",
            "SELECT name FROM users WHERE age > 30;",
        ),
    ],
)
def test_completions_without_any_constraint(shipped: Shipped, prompt: str, text: str) -> None:
    assert complete(*shipped, prompt, 40) == (text, True)
