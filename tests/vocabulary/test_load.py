"""load_vocabulary(): names, directories and hub ids; messages for unknown ones."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from tests.vocabulary import small_tokenizers as made
from workbench.base.errors import VocabularyError
from workbench.vocabulary import load as hub
from workbench.vocabulary.load import load_tokenizer, load_vocabulary
from workbench.vocabulary.vocabulary import Vocabulary


def folder_with(path: Path, **files: object) -> Path:
    made.with_added_tokens().save(str(path / "tokenizer.json"))
    for name, content in files.items():
        (path / f"{name}.json").write_text(json.dumps(content))
    return path


GENERATION, MODEL, TOKENIZER = "generation_config", "config", "tokenizer_config"

#   files                                                    ends                   because
ENDS = [
    ({TOKENIZER: {"eos_token": "<end>"}},                    ["<end>"],             "a plain string"),
    ({TOKENIZER: {"eos_token": {"content": "<tool>"}}},      ["<tool>"],            "an added token"),
    ({TOKENIZER: {"eos_token": "?!?"}, MODEL: {"eos_token_id": 0}}, ["<end>"],      "no token"),
    ({MODEL: {"eos_token_id": 0}},                           ["<end>"],             "the model's id"),
    ({GENERATION: {"eos_token_id": [300, 0]}},               ["<tool>", "<end>"],   "a list"),
    ({TOKENIZER: {"eos_token": "<end>"}, GENERATION: {"eos_token_id": [300, 0, 300]}},
                                                             ["<end>", "<tool>"],   "the tokenizer's own first"),
    ({GENERATION: {"eos_token_id": 300}, MODEL: {"eos_token_id": [0, 300]}},
                                                             ["<tool>", "<end>"],   "then the generation's"),
    ({GENERATION: {"eos_token_id": [0, 302]}},               ["<end>", "<think>"],  "an added token that was text"),
    ({TOKENIZER: {"eos_token": "<end>"}, MODEL: {"eos_token_id": 2}}, ["<end>"],    "a default id, of ordinary text"),
    ({MODEL: {"eos_token_id": 0, "text_config": {"eos_token_id": [0, 300]}}},
                                                             ["<end>", "<tool>"],   "of a model of images and texts"),
    ({MODEL: {"text_config": 7}},                            [],                    "no nested configuration"),
    ({MODEL: {"eos_token_id": 99_999}},                      [],                    "beyond the tokens"),
    ({MODEL: {"eos_token_id": [None, "0", [0], -1]}},        [],                    "no ids"),
    ({MODEL: {"eos_token_id": None}},                        [],                    "named as none"),
    ({MODEL: ["no object"]},                                 [],                    "not an object"),
    ({},                                                     [],                    "not given"),
]  # fmt: skip


@pytest.mark.parametrize(("files", "ends", "because"), ENDS, ids=[row[2] for row in ENDS])
def test_end_tokens(
    files: dict[str, object], ends: list[str], because: str, tmp_path: Path
) -> None:
    path = folder_with(tmp_path, **files)
    tokenizer = made.with_added_tokens()
    vocabulary = load_vocabulary(str(path))
    assert vocabulary.ends == tuple(map(tokenizer.token_to_id, ends)), because
    assert vocabulary.end == (vocabulary.ends[0] if ends else None)
    assert all(vocabulary.tokens[end] is None for end in vocabulary.ends)


@pytest.mark.parametrize("revision", [None, "other"])
def test_end_tokens_of_a_model_in_the_hubs_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, revision: str | None
) -> None:
    cached = tmp_path / "models--some--model"
    snapshot = cached / "snapshots" / ("0" * 40)
    snapshot.mkdir(parents=True)
    (cached / "refs").mkdir()
    (cached / "refs" / (revision or "main")).write_text("0" * 40)
    own = {"eos_token": "<tool>", "tokenizer_class": "PreTrainedTokenizerFast"}
    model = {"model_type": "llama", "eos_token_id": 2}
    folder_with(snapshot, **{TOKENIZER: own, GENERATION: {"eos_token_id": [300, 0]}, MODEL: model})
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(hub, "_is_hub_reachable", lambda: False)
    tool, end = map(made.with_added_tokens().token_to_id, ("<tool>", "<end>"))
    assert load_vocabulary("some/model", revision).ends == (tool, end)


def test_loaded_once_in_a_process(tmp_path: Path) -> None:
    path = str(folder_with(tmp_path))
    found: list[Vocabulary] = []
    threads = [
        threading.Thread(target=lambda: found.append(load_vocabulary(path))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(vocabulary is found[0] for vocabulary in found)
    assert Vocabulary.load(Path(path)) is found[0]


def test_the_tokenizer_of_the_same_name(tmp_path: Path) -> None:
    path = str(folder_with(tmp_path))
    ids = load_tokenizer(path).encode("the quick <think> café").ids
    assert load_vocabulary(path).decode(ids) == "the quick <think> café".encode()


def test_truncation_and_padding_of_a_file_are_ignored(tmp_path: Path) -> None:
    tokenizer = made.byte_level()
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding(length=9)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    loaded = load_tokenizer(str(tmp_path))
    for text in ("a", "a long text " * 9):
        ids = loaded.encode(text).ids
        assert load_vocabulary(str(tmp_path)).decode(ids) == text.encode()
        assert 0 not in ids


def test_toys_have_names() -> None:
    assert load_vocabulary("figure-4").tokens == (b"f", b"oo", b"foo", b"for", b"food", None)


def test_error_a_toy_has_no_tokenizer() -> None:
    with pytest.raises(VocabularyError, match="a vocabulary without a tokenizer"):
        load_tokenizer("figure-4")


def test_error_inexact_tokenizer(tmp_path: Path) -> None:
    made.word_piece().save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(VocabularyError, match="WordPiece"):
        load_vocabulary(str(tmp_path))


def test_error_broken_file(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(VocabularyError, match="cannot read"):
        load_vocabulary(str(tmp_path))


def test_error_directory_without_a_tokenizer(tmp_path: Path) -> None:
    with pytest.raises(VocabularyError) as caught:
        load_vocabulary(str(tmp_path))
    assert str(tmp_path) in caught.value.message


@pytest.mark.parametrize(
    "name",
    ["/no/such/place", "./here", "~/nothing", "a/b/c", "a b", "", "x" * 5000, "~nobody-at-all/x"],
)
def test_error_neither_directory_nor_hub_id(name: str) -> None:
    with pytest.raises(VocabularyError) as caught:
        load_vocabulary(name)
    assert "expected" in caught.value.message
    assert "builtin" in caught.value.hint


def test_error_hub_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "_is_hub_reachable", lambda: False)
    with pytest.raises(VocabularyError) as caught:
        load_vocabulary("nobody/nothing")
    assert caught.value.hint == ("download the model once with network, or pass a local directory")


def test_hub_is_calls_after_local_files_and_only_where_it_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[bool] = []

    def load(local: bool) -> str:
        calls.append(local)
        if local:
            raise OSError("not here")
        return "fetched"

    monkeypatch.setattr(hub, "_is_hub_reachable", lambda: True)
    assert hub.local_first(load) == "fetched"
    assert calls == [True, False]
    monkeypatch.setattr(hub, "_is_hub_reachable", lambda: False)
    with pytest.raises(OSError, match="not here"):
        hub.local_first(load)
    assert calls == [True, False, True]


def test_an_unreachable_hub_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://localhost:1")
    assert not hub._is_hub_reachable()
    monkeypatch.setenv("HTTPS_PROXY", "http://localhost:1")
    assert hub._is_hub_reachable()
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert not hub._is_hub_reachable()


def test_bytes_without_a_token_are_named_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made.byte_level(alphabet=False).save(str(tmp_path / "tokenizer.json"))
    for _ in range(2):
        load_vocabulary(str(tmp_path))
    (warning,) = caplog.messages
    assert warning.startswith(f"no token of {tmp_path} contains the bytes 00 01 02")
    assert warning.endswith("…: no text with them is generated")


def test_a_whole_alphabet_is_not_mentioned(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made.byte_level().save(str(tmp_path / "tokenizer.json"))
    load_vocabulary(str(tmp_path))
    assert not caplog.messages
