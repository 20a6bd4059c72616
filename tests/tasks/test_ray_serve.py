"""The endpoints as a deployment of Ray Serve, and without Ray as what a replica answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import httpx
import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # Ray uses deprecated parts of its own libraries
    pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed"),
]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The address of a deployment with one replica and the toy model."""
    import ray
    from ray import serve

    from workbench.app.ray_serve import app

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    serve.start(http_options={"port": 8043})
    serve.run(app({"model": "toy", "max_replicas": "1"}), route_prefix="/")
    yield "http://127.0.0.1:8043"
    for shutdown in (serve.shutdown, ray.shutdown):
        ended: Any = shutdown  # Ray has no types there
        ended()


def test_masks_and_compilations_are_answered(address: str) -> None:
    found = httpx.post(f"{address}/compile", json={"text": "(ab)+"}, timeout=60).json()
    assert found["ok"]
    mask = httpx.post(f"{address}/mask", json={"text": "yes|no"}, timeout=60).json()
    assert mask["allowed"] > 0


def test_a_run_is_a_stream_of_lines(address: str) -> None:
    sent = {"text": "(yes|no){2}", "max_tokens": 20}
    with httpx.stream("POST", f"{address}/generate", json=sent, timeout=120) as answer:
        records = [json.loads(line) for line in answer.iter_lines() if line]
    assert records[-1]["k"] == "stop"
    assert records[-1]["text"] in {a + b for a in ("yes", "no") for b in ("yes", "no")}


def test_wrong_requests_are_refused_with_a_reason(address: str) -> None:
    assert httpx.post(f"{address}/drop", json={}, timeout=60).status_code == 404
    assert httpx.get(f"{address}/mask", timeout=60).status_code == 405
    answer = httpx.post(f"{address}/mask", json={"grammar": "a"}, timeout=60)
    assert answer.status_code == 400
    assert "text" in answer.json()["why"]


def test_options_are_checked() -> None:
    from workbench.app.ray_serve import app

    with pytest.raises(ValueError, match="expected some of model"):
        app({"replicas": "2"})
