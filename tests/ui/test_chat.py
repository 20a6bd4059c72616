"""Prompts as messages of a chat: what the page and the endpoints send, and what the model reads."""

from typing import Any

import pytest

from tests.tiny_checkpoint import write_checkpoint
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.model_registry import ModelRoom
from workbench.app.ui.opening_view import model_state
from workbench.app.ui.requests import RunRequest
from workbench.app.ui.runs import read_prompt, run_records
from workbench.app.ui.takeaway import take_code
from workbench.base.errors import ModelError, WorkbenchError
from workbench.decoding.model import ChatPrompts, ToyModel
from workbench.decoding.retokenize import first_improper
from workbench.decoding.transformers_model import TransformersModel
from workbench.vocabulary.vocabulary import Vocabulary

SYSTEM = [{"role": "system", "content": "short"}]
ASKED = {"text": "[a-z]{3}", "notation": "regex", "prompt": "Hi", "max_tokens": 5}


@pytest.fixture(scope="module")
def handlers(tmp_path_factory: pytest.TempPathFactory) -> Handlers:
    folder = write_checkpoint(tmp_path_factory.mktemp("chat") / "model")
    return Handlers(ModelRoom(str(folder)))


def model_of(handlers: Handlers) -> TransformersModel:
    model = handlers.room.model()
    assert isinstance(model, TransformersModel)
    return model


def test_the_header_says_whether_a_model_chats(handlers: Handlers) -> None:
    model_of(handlers)
    assert model_state(handlers, {})["chat"] is True
    toy = Handlers(ModelRoom("toy"))
    toy.room.model()
    assert model_state(toy, {})["chat"] is False


@pytest.mark.parametrize("chat", [[], SYSTEM])
def test_the_tokens_of_a_chat_are_shown_with_their_special_ones(
    handlers: Handlers, chat: list[Any]
) -> None:
    model = model_of(handlers)
    shown = read_prompt(handlers, {**ASKED, "chat": chat})
    ids = model.encode([*chat, {"role": "user", "content": "Hi"}])
    assert [token["id"] for token in shown["tokens"]] == ids
    special = {token["text"] for token in shown["tokens"] if token["special"]}
    assert special == {"<turn>"}
    assert shown["count"] == len(ids)
    assert shown["most"] == model.context_length
    plain = read_prompt(handlers, {**ASKED, "prompt": "cab"})
    assert "".join(token["text"] for token in plain["tokens"]).endswith("cab")


def test_a_run_continues_a_chat(handlers: Handlers) -> None:
    model = model_of(handlers)
    sent = {**ASKED, "temperature": 0, "chat": SYSTEM}
    steps = [each for each in run_records(handlers, sent) if each["k"] == "step"]
    session = model.session()
    logits = session.logits(model.encode([*SYSTEM, {"role": "user", "content": "Hi"}]))  # type: ignore[list-item]
    shown = {each["id"]: each["before"] for each in steps[0]["wanted"]}
    assert int(logits[: len(model.vocabulary)].argmax()) in shown


def test_the_reply_is_tokenized_after_the_chat(handlers: Handlers) -> None:
    model = model_of(handlers)
    chatting = ChatPrompts(model)
    whole = chatting.encode("Hi", "abc")
    begun = chatting.encode("Hi")
    assert whole[: len(begun)] == begun
    assert first_improper(chatting, "Hi", whole[len(begun) :]) is None


def test_programs_hold_the_messages(handlers: Handlers) -> None:
    written = take_code(handlers, {**ASKED, "chat": SYSTEM, "code": "vllm"})
    assert '{"role": "system", "content": "short"}' in written["python"]
    assert "apply_chat_template" in written["transformers"]
    assert "--system short" in written["shell"]
    assert "chat=[" in written["client"]
    assert "short" in written["vllm"]
    assert "--chat" in take_code(handlers, {**ASKED, "chat": []})["shell"]
    for name in ("python", "transformers", "client"):
        compile(written[name], name, "exec")


@pytest.mark.parametrize(
    ("chat", "reported"),
    [
        ("text", "list of at most"),
        ([{"role": "user"}] * 65, "list of at most"),
        (["text"], "a role and a content"),
        ([{"role": 1, "content": ""}], "expected a text as role"),
        ([{"role": "user", "content": "x" * 30_000}] * 2, "characters"),
    ],
)
def test_error_malformed_messages(chat: Any, reported: str) -> None:
    with pytest.raises(WorkbenchError, match=reported):
        RunRequest.of({"text": "a", "chat": chat})


def test_error_a_model_without_a_template() -> None:
    chatting = ChatPrompts(ToyModel(Vocabulary.load("builtin")))
    with pytest.raises(ModelError, match="no chat template"):
        chatting.encode("Hi")
    assert RunRequest.of(ASKED).chat is None
