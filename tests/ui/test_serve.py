from __future__ import annotations

import gc
import socket
import subprocess
import sys
import weakref
from pathlib import Path

import pytest

from tests.tiny_checkpoint import write_checkpoint
from tests.ui.toy import toy_room
from workbench.app.ui import serve
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.model_registry import ModelRoom
from workbench.app.ui.serve import ServeSettings, _port, start
from workbench.base.errors import ModelError, WorkbenchError
from workbench.decoding.transformers_model import TransformersModel

ROOT = Path(__file__).resolve().parents[2]


def test_port_0_is_any_free_one() -> None:
    port = _port(ServeSettings(port=0))
    assert 1024 <= port < 65536


def test_error_a_port_that_is_taken() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(WorkbenchError, match="port 0 takes any free one"):
            _port(ServeSettings(port=taken.getsockname()[1]))


#: With a version of mcp that Gradio cannot import.
WITHOUT_TOOLS = """
import sys
from tests.ui.toy import toy_room
from workbench.app.ui import serve
from workbench.base.errors import WorkbenchError

sys.modules["mcp"] = None
serve.find_spec = lambda _: object()
try:
    serve.start(serve.ServeSettings(port=0, mcp=True, quiet=True), toy_room())
except WorkbenchError as error:
    print(error)
"""


@pytest.mark.slow
def test_error_tools_that_gradio_cannot_serve() -> None:
    # in a separate process: Gradio's warnings must not fail the tests
    shown = subprocess.check_output([sys.executable, "-c", WITHOUT_TOOLS], text=True, cwd=ROOT)
    assert "cannot serve tools for assistants: " in shown
    assert "'grammar-workbench[mcp]'" in shown


@pytest.mark.parametrize(
    "settings",
    [
        ServeSettings(host="203.0.113.7"),
        ServeSettings(host="a" * 300),
        ServeSettings(port=99_999_999),
        ServeSettings(port=-1),
    ],
    ids=["not ours", "no name", "a large port", "a negative port"],
)
def test_error_an_address_that_is_not_ours(settings: ServeSettings) -> None:
    with pytest.raises(WorkbenchError, match="cannot serve at"):
        _port(settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (ServeSettings(device="abacus"), "there is no device 'abacus'"),
        (ServeSettings(dtype="int1"), "there is no dtype 'int1'"),
        (ServeSettings(revision="main"), "expected one --model with --revision, not 0"),
        (ServeSettings(models=("a/b", "c/d"), revision="main"), "--revision, not 2"),
    ],
)
def test_error_settings_no_model_can_be_loaded_with(settings: ServeSettings, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        start(settings)


def test_a_model_is_loaded_on_its_device_in_its_format(tmp_path: Path) -> None:
    folder = str(write_checkpoint(tmp_path / "tiny"))
    model = ModelRoom(folder, device="cpu", dtype="bfloat16").model()
    assert isinstance(model, TransformersModel)
    assert {str(each.dtype) for each in model.module.parameters()} == {"torch.bfloat16"}
    refused = ModelRoom(folder, revision="v1")
    with pytest.raises(ModelError, match="has no revisions"):
        refused.model()


class Cycle:
    """An object that only the garbage collector frees."""

    def __init__(self) -> None:
        self.itself = self


def test_what_visitors_leave_during_the_start_is_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[weakref.ref[Cycle]] = []

    def visited() -> None:
        left.append(weakref.ref(Cycle()))

    class Visited(ModelRoom):
        def start(self) -> None:
            visited()
            super().start()

    monkeypatch.setattr(serve, "wait_until_compiled", visited)
    room = toy_room()
    room.__class__ = Visited
    gc.disable()
    try:
        serve._warm(Handlers(room))
        gc.collect()
    finally:
        gc.enable()
        gc.unfreeze()
    assert len(left) >= 2
    assert not any(each() for each in left)
