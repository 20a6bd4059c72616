from __future__ import annotations

import pytest

from tests.ui.toy import toy_room
from workbench.app.ui.handlers import Handlers


@pytest.fixture(scope="session")
def handlers() -> Handlers:
    return Handlers(toy_room())
