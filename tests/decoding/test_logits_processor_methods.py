"""Every method under transformers' own generate: greedy, sampled, beams, batches of all lengths."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.decoding.tiny import write_model
from workbench.constraint.compile import METHODS, compile
from workbench.decoding.generate import generate
from workbench.decoding.logits_processor import LogitsProcessor
from workbench.decoding.transformers_model import TransformersModel
from workbench.grammar.grammar import Grammar

GRAMMAR = Grammar.from_kbnf(
    """
    start ::= '{"name": ' name (', "age": ' age)? '}' | 'one' ' two'?;
    name ::= '"' #'[a-zé]+' '"';
    age ::= #'[1-9][0-9]?';
    """
)
PROMPTS = ["x", "one two three", "name"]

#: Each method with the options it is asked with here.
ASKED: list[tuple[str, dict[str, Any]]] = [
    # DirectMerge refuses a tokenizer that reads the texts of special tokens as such; SynCode allows
    # tokens after which no text of the grammar follows
    *((method, {}) for method in METHODS if method not in ("direct_merge", "syncode")),
    ("domino", {"k": 0}),
    ("online", {"how": "trie", "checker": "llama.cpp"}),
    ("online", {"how": "trie", "checker": "synchromesh"}),
]

#   how transformers chooses                                                        rows a prompt
WAYS: list[tuple[str, dict[str, Any], int]] = [
    ("greedy",           {"do_sample": False},                                           1),
    ("samples",          {"do_sample": True, "temperature": 2.0, "num_return_sequences": 3}, 3),
    ("beams",            {"do_sample": False, "num_beams": 4, "num_return_sequences": 2}, 2),
    ("sampled beams",    {"do_sample": True, "num_beams": 3, "num_return_sequences": 3},  3),
]  # fmt: skip


def run(
    model: TransformersModel, processor: LogitsProcessor, device: str = "cpu", **options: Any
) -> list[list[int]]:
    """What transformers generates for the prompts together, the shorter ones padded on the left."""
    ids = [model.encode(prompt) for prompt in PROMPTS]
    width = max(map(len, ids))
    end = model.vocabulary.end
    padded = torch.tensor([[end] * (width - len(row)) + row for row in ids], device=device)
    attention = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in ids])
    module: Any = model.module
    rows = module.generate(
        padded,
        attention_mask=attention.to(device),
        max_new_tokens=16,
        logits_processor=[processor],
        **options,
    )
    return [row[width:] for row in rows.tolist()]


def checked(model: TransformersModel, rows: list[list[int]], method: str) -> None:
    """Every row is a text of the grammar, or the beginning of one that ran out of tokens."""
    vocabulary = model.vocabulary
    for row in rows:
        text = vocabulary.decode(i for i in row if i < len(vocabulary))
        if method == "unconstrained":
            assert all(i < len(vocabulary) for i in row), "scores beyond the tokens are forbidden"
        elif vocabulary.end in row:
            assert GRAMMAR.accepts(text), text
        else:
            assert GRAMMAR.is_prefix(text), text


#: Methods that need a tokenizer which merges all of a text, without cutting it first.
UNCUT = ("vegas",)


@pytest.fixture(scope="module")
def uncut_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model whose tokenizer does not cut text before it merges."""
    folder = write_model(tmp_path_factory.mktemp("uncut"))
    written = json.loads((folder / "tokenizer.json").read_text())
    written["pre_tokenizer"]["use_regex"] = False
    (folder / "tokenizer.json").write_text(json.dumps(written))
    return folder


@pytest.fixture(scope="module")
def uncut_model(uncut_folder: Path) -> TransformersModel:
    return TransformersModel(str(uncut_folder), "cpu")


def compiled(model: TransformersModel, method: str, options: dict[str, Any]) -> LogitsProcessor:
    return LogitsProcessor(compile(GRAMMAR, model.vocabulary, method, **options))


@pytest.mark.slow
@pytest.mark.parametrize(("method", "options"), ASKED, ids=[f"{m} {o}" for m, o in ASKED])
def test_every_method_in_every_generation_mode(
    tiny_model: TransformersModel,
    uncut_model: TransformersModel,
    method: str,
    options: dict[str, Any],
) -> None:
    model = uncut_model if method in UNCUT else tiny_model
    processor = compiled(model, method, options)
    for name, chosen, rows in WAYS:
        torch.manual_seed(0)
        found = run(model, processor, **chosen)
        assert len(found) == rows * len(PROMPTS), name
        checked(model, found, method)


@pytest.mark.parametrize(("method", "options"), ASKED, ids=[f"{m} {o}" for m, o in ASKED])
def test_greedy_is_our_own_loop(
    tiny_model: TransformersModel,
    uncut_model: TransformersModel,
    method: str,
    options: dict[str, Any],
) -> None:
    model = uncut_model if method in UNCUT else tiny_model
    processor = compiled(model, method, options)
    own = generate(model, processor.constraint, PROMPTS[1], max_tokens=16)
    expected = [step.token_id for step in own]
    assert run(model, processor, do_sample=False)[1][: len(expected)] == expected


def test_assisted_generation_rewinds_and_continues(tiny_model: TransformersModel) -> None:
    """Prompt lookup decoding: the processor sees the proposals, and the remainder after a rejected one."""
    constraint = compile(Grammar.from_regex('("a": 31, ){3,6}end'), tiny_model.vocabulary)
    ids = torch.tensor([tiny_model.encode('"a": 31, "a": 31, "b": 12, "a"')])
    module: Any = tiny_model.module
    asked = {"max_new_tokens": 20, "do_sample": False, "attention_mask": torch.ones_like(ids)}
    plain = module.generate(ids, logits_processor=[LogitsProcessor(constraint)], **asked)
    assisted = module.generate(
        ids, logits_processor=[LogitsProcessor(constraint)], prompt_lookup_num_tokens=4, **asked
    )
    assert assisted.tolist() == plain.tolist()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize(("method", "options"), ASKED, ids=[f"{m} {o}" for m, o in ASKED])
def test_every_method_on_a_gpu(
    tiny_folder: Path, uncut_folder: Path, method: str, options: dict[str, Any]
) -> None:
    model = TransformersModel(str(uncut_folder if method in UNCUT else tiny_folder), "cuda")
    processor = compiled(model, method, options)
    for _, chosen, rows in WAYS:
        torch.manual_seed(0)
        found = run(model, processor, "cuda", **chosen)
        assert len(found) == rows * len(PROMPTS)
        checked(model, found, method)
