"""One tiny model on disk for all tests of this package."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.decoding.tiny import write_model
from workbench.decoding.transformers_model import TransformersModel


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="session")
def tiny_model(tiny_folder: Path) -> TransformersModel:
    return TransformersModel(str(tiny_folder), "cpu")
