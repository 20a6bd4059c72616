from __future__ import annotations

import socket

import pytest

from workbench.app.ui.serve import ServeSettings, _port
from workbench.base.errors import WorkbenchError


def test_port_0_is_any_free_one() -> None:
    port = _port(ServeSettings(port=0))
    assert 1024 <= port < 65536


def test_error_a_port_that_is_taken() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(WorkbenchError, match="port 0 takes any free one"):
            _port(ServeSettings(port=taken.getsockname()[1]))


def test_error_an_address_that_is_not_ours() -> None:
    with pytest.raises(WorkbenchError, match="cannot serve at"):
        _port(ServeSettings(host="203.0.113.7"))
