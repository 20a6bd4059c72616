from __future__ import annotations

import pytest

from tests.decoding.tiny import write_model
from tests.ui.toy import toy_room
from workbench.app.ui.handlers import Handlers
from workbench.decoding.transformers_model import TransformersModel


@pytest.fixture(scope="module")
def handlers() -> Handlers:
    return Handlers(toy_room())


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> TransformersModel:
    return TransformersModel(str(write_model(tmp_path_factory.mktemp("tiny"))), "cpu")
