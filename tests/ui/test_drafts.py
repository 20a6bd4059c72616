"""A draft model on the page: which ones are offered, and that a run's text does not depend on it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.tiny_checkpoint import write_checkpoint
from tests.ui.toy import toy_room, toy_vocabulary
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.model_registry import ModelRoom, ModelRooms
from workbench.app.ui.runs import draft_models, run_records
from workbench.base.errors import VocabularyError
from workbench.decoding.model import ToyModel
from workbench.vocabulary.toy_vocabularies import toy

TIME = {"text": "[0-9]{2}:[0-9]{2}( [a-z]{1,9})?", "notation": "regex"}
OTHERS = toy(["a", "b"])


def unreadable(_: str) -> Any:
    raise VocabularyError("no tokenizer")


@pytest.fixture(scope="module")
def handlers(tmp_path_factory: pytest.TempPathFactory) -> Handlers:
    """The toy, another model with its tokens, one with others, one without; and two checkpoints."""
    folder = tmp_path_factory.mktemp("models")
    checkpoints = [write_checkpoint(folder / f"tiny{seed}", seed) for seed in (0, 1)]
    small = folder / "small"
    small.mkdir()
    rooms = (
        toy_room(),
        ModelRoom(str(small), lambda _: ToyModel(toy_vocabulary(), "12:30"), toy_vocabulary),
        ModelRoom("hub/remote", lambda _: ToyModel(toy_vocabulary()), toy_vocabulary),
        ModelRoom("other", lambda _: ToyModel(OTHERS), lambda _: OTHERS),
        ModelRoom("broken", unreadable, unreadable),
        *(ModelRoom(str(checkpoint), device="cpu") for checkpoint in checkpoints),
    )
    return Handlers(ModelRooms(rooms))


def run(handlers: Handlers, **sent: object) -> list[dict[str, Any]]:
    return [record for record in run_records(handlers, {**TIME, **sent}) if record["k"] != "status"]


#: What a step or the end has of the text; sums of floats may differ in the last bits.
EXACT = ("k", "i", "id", "token", "allowed", "state", "stack", "reason", "words", "good", "proper")


def exact(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: record.get(name) for name in EXACT} for record in records]


def chances(records: list[dict[str, Any]]) -> list[float]:
    return [record["p"] for record in records if record.get("p") is not None]


def offered(handlers: Handlers, model: str) -> list[str]:
    found = draft_models(handlers.with_model(model), {})
    return [each["name"] for each in found["drafts"]]


def test_models_with_the_same_tokens_are_offered(handlers: Handlers) -> None:
    assert offered(handlers, "toy") == ["small"]
    assert offered(handlers, "small") == ["toy"]
    assert offered(handlers, "other") == []
    assert offered(handlers, "tiny0") == ["tiny1"]
    refused = draft_models(handlers.with_model("broken"), {})
    assert refused == {"ok": False, "why": "no tokenizer"}


def test_a_model_of_the_hub_is_offered_once_it_is_loaded() -> None:
    remote = ModelRoom("hub/remote", lambda _: ToyModel(toy_vocabulary()), toy_vocabulary)
    handlers = Handlers(ModelRooms((toy_room(), remote)))
    assert offered(handlers, "toy") == []
    remote.model()
    assert offered(handlers, "toy") == ["remote"]


@pytest.mark.slow
@pytest.mark.parametrize(("model", "draft"), [("toy", "small"), ("tiny0", "tiny1")])
@pytest.mark.parametrize(("temperature", "max_tokens"), [(0, 30), (0.7, 3), (1.5, 30)])
def test_the_steps_are_those_of_the_run_without_a_draft(
    handlers: Handlers, model: str, draft: str, temperature: float, max_tokens: int
) -> None:
    compared = taken = 0
    for seed in range(2):
        sent = {"seed": seed, "temperature": temperature, "max_tokens": max_tokens, "model": model}
        plain, drafted = run(handlers, **sent), run(handlers, **sent, draft=draft)
        assert exact(drafted) == exact(plain)
        assert chances(drafted) == pytest.approx(chances(plain), rel=1e-3)
        assert not any("draft" in record for record in plain)
        proposals = [(step["draft"]["id"], step["id"]) for step in drafted if "draft" in step]
        compared += len(proposals)
        taken += sum(proposed == own for proposed, own in proposals)
    assert compared >= taken
    assert compared


def test_a_model_agrees_with_itself(handlers: Handlers) -> None:
    steps = [step for step in run(handlers, model="tiny0", draft="tiny0") if step["k"] == "step"]
    assert {step["draft"]["id"] == step["id"] for step in steps if "draft" in step} == {True}


def test_a_run_goes_on_with_a_draft(handlers: Handlers) -> None:
    whole = [step for step in run(handlers, seed=5) if step["k"] == "step"]
    ids = [step["id"] for step in whole]
    rest = run(handlers, seed=5, prefix=ids[:2], draft="small")
    assert [step["id"] for step in rest if step["k"] == "step"] == ids[2:]


@pytest.mark.parametrize(
    ("draft", "message"),
    [
        ("other", "toy cannot draft for toy: their tokens differ"),
        ("nobody", "this page does not offer the model 'nobody'"),
        ("broken", "no tokenizer"),
    ],
)
def test_error_a_draft_that_cannot_propose(handlers: Handlers, draft: str, message: str) -> None:
    last = run(handlers, draft=draft)[-1]
    assert last["k"] == "error"
    assert last["message"].startswith(message)
