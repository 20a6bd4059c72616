"""The models of the page: loaded once, offered by name, opened by the owner."""

from __future__ import annotations

import threading

import pytest

from tests.ui.toy import toy_room, toy_vocabulary
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.model_registry import ModelRoom, ModelRooms, default_models
from workbench.app.ui.opening_view import model_state
from workbench.base.errors import ModelError
from workbench.decoding.checkpoint import Progress
from workbench.decoding.model import LanguageModel, ToyModel


def named(name: str) -> ModelRoom:
    return ModelRoom(name, lambda _: ToyModel(toy_vocabulary()), toy_vocabulary)


def test_no_name_is_the_first_model() -> None:
    rooms = ModelRooms(("a", "b"), make=named)
    assert rooms.get() is rooms.first
    assert rooms.get("b").name == "b"
    assert rooms.get("b") is rooms.get("b")


def test_path_of_this_machine_is_never_sent() -> None:
    rooms = ModelRooms(("/secret/one/model", "/secret/two/model/"), make=named)
    assert [known["name"] for known in rooms.known()] == ["model", "model-2"]
    assert rooms.get("model-2").name == "/secret/two/model/"
    assert "secret" not in str(rooms.known())


def test_error_strangers_open_nothing() -> None:
    rooms = ModelRooms(("a",), make=named)
    with pytest.raises(ModelError, match="does not offer the model '/etc'"):
        rooms.get("/etc")
    for token in ("", "None", "guessed"):
        with pytest.raises(ModelError, match="does not open other models"):
            rooms.open("/etc", token)


@pytest.mark.parametrize("token", ["", "secre", "secret2", "SECRET", "sécret"])
def test_error_a_wrong_token_opens_nothing(token: str) -> None:
    rooms = ModelRooms(("a",), token="secret", make=named)
    with pytest.raises(ModelError, match="only the owner"):
        rooms.open("/etc", token)
    with pytest.raises(ModelError, match="does not offer the model"):
        rooms.get("/etc")
    assert [known["name"] for known in rooms.known()] == ["a"]


def test_owner_opens_models_and_the_oldest_is_dropped() -> None:
    rooms = ModelRooms(("a",), token="secret", make=named)
    assert rooms.open("/home/me/x", "secret") == "x"
    first = rooms.get("x")
    assert first.name == "/home/me/x"
    assert rooms.open("y", "secret") == "y"
    assert rooms.open("/home/me/x", "secret") == "x"
    assert rooms.get("x") is first
    rooms.open("z", "secret")
    assert [known["name"] for known in rooms.known()] == ["a", "x", "z"]
    assert rooms.open("a", "secret") == "a"
    with pytest.raises(ModelError, match="does not offer the model 'y'"):
        rooms.get("y")


def test_models_of_installed_packages_are_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.app.ui.model_registry.is_installed", lambda name: False)
    assert default_models() == ("builtin",)
    monkeypatch.setattr("workbench.app.ui.model_registry.is_installed", lambda name: True)
    assert default_models() == ("builtin", "smollm2")
    known = ModelRooms(default_models()).known()
    assert [one["text"] for one in known] == [
        "Embedded model · not loaded yet",
        "SmolLM2 · not loaded yet",
    ]
    assert all("million parameters" in one["about"] for one in known)


def test_stage_of_loading_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def load(name: str, progress: Progress, *settings: str | None) -> ToyModel:
        progress("converting", 0.4)
        seen.append(room.state().text)
        return ToyModel(toy_vocabulary())

    monkeypatch.setattr("workbench.app.ui.model_registry.load_model", load)
    room = ModelRoom("smollm2", load_vocabulary=toy_vocabulary)
    room.model()
    assert seen == ["SmolLM2 · converting 40%…"]
    assert room.state().state == "ready"


def test_visitor_s_model_is_not_shared() -> None:
    rooms = ModelRooms((toy_room(), "b"), make=named)
    handlers = Handlers(rooms)
    chosen = handlers.with_model("b")
    assert chosen.room.name == "b"
    assert handlers.room is rooms.first
    assert handlers.with_model("") is handlers
    assert chosen.pipeline is handlers.pipeline
    reported = model_state(chosen, {})
    assert reported["may_open"] is False
    assert reported["compiling"] is False
    assert [each["name"] for each in reported["models"]] == ["toy", "b"]


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
