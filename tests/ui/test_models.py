from __future__ import annotations

import threading

import pytest

from tests.ui.toy import toy_room, toy_vocabulary
from workbench.app.ui.model_registry import ModelRoom
from workbench.base.errors import ModelError
from workbench.decoding.model import LanguageModel, ToyModel


def test_a_model_is_loaded_once_whoever_asks() -> None:
    loads = []

    def load(name: str) -> LanguageModel:
        loads.append(name)
        return ToyModel(toy_vocabulary())

    room = ModelRoom("m", load, toy_vocabulary)
    threads = [threading.Thread(target=room.model) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert loads == ["m"]
    assert room.state().state == "ready"


def test_the_vocabulary_is_there_before_the_model() -> None:
    started = threading.Event()

    def never(_: str) -> LanguageModel:
        started.wait()
        return ToyModel(toy_vocabulary())

    room = ModelRoom("m", never, toy_vocabulary)
    room.start()
    assert room.vocabulary() is toy_vocabulary()
    assert room.state().state == "loading"
    started.set()
    assert room.model().vocabulary is toy_vocabulary()


def test_error_of_loading_is_raised_each_time() -> None:
    def broken(_: str) -> LanguageModel:
        raise ModelError("gone", "bring it back")

    room = ModelRoom("dir/m", broken, toy_vocabulary)
    for _ in range(2):
        with pytest.raises(ModelError, match="gone"):
            room.model()
    assert room.state().state == "failed"
    assert "bring it back" in room.state().title


def test_the_header_names_model_and_vocabulary() -> None:
    room = toy_room()
    room.model()
    assert room.state().text == f"toy · {len(toy_vocabulary())} tokens"
