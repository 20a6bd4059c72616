"""The endpoints for programs as a deployment of Ray Serve, which adds and removes replicas.

``serve run workbench.app.ray_serve:app model=smollm2 max_replicas=8`` on a machine of a Ray
cluster. Then ``POST /compile``, ``/mask``, ``/generate`` and the other endpoints of the page's API
take their arguments as a JSON object; ``/generate`` and ``/compare`` answer with lines of JSON, one
for each event, as they happen. Each replica loads the model once. Requests do not
depend on earlier ones, so any replica can answer.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ray import serve
from starlette.concurrency import iterate_in_threadpool, run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from workbench.base.errors import WorkbenchError

if TYPE_CHECKING:
    from ray.serve import Application

#: The endpoints whose answer is a stream.
STREAMS = ("generate", "compare")
ENDPOINTS = ("compile", "check", "explain", "samples", "mask", "draw", *STREAMS)


class Replica:
    """A process that answers requests; it loads its model before the first one."""

    def __init__(self, model: str = "builtin", device: str = "auto", dtype: str = "auto") -> None:
        from workbench.app.pipeline import Pipeline
        from workbench.app.ui.api import Endpoints
        from workbench.app.ui.handlers import Handlers
        from workbench.app.ui.model_registry import ModelRoom, ModelRooms

        room = ModelRoom(model, device=device, dtype=dtype)
        self._handlers = Handlers(ModelRooms([room]), Pipeline())
        self._endpoints = Endpoints(self._handlers)
        room.model()

    async def __call__(self, request: Request) -> Response:
        """The answer to ``POST /NAME``; an error of the caller is an object with ``why``."""
        name = request.url.path.strip("/")
        if name not in ENDPOINTS:
            return _refusal(404, f"expected one of {', '.join(ENDPOINTS)}, not {name!r}")
        if request.method != "POST":
            return _refusal(405, "expected a POST with a JSON object")
        endpoint = getattr(self._endpoints, name)
        try:
            given = await request.json()
            inspect.signature(endpoint).bind(**given)
        except (ValueError, TypeError) as error:
            return _refusal(400, str(error))
        if name in STREAMS:
            lines = iterate_in_threadpool(_lines(endpoint(**given)))
            return StreamingResponse(lines, media_type="application/x-ndjson")
        answer = self._handlers.within_budget(endpoint)
        try:
            return JSONResponse(await run_in_threadpool(answer, **given))
        except WorkbenchError as error:
            return _refusal(200, str(error))


def _lines(events: Iterator[Any]) -> Iterator[str]:
    """The events of a stream as lines; those that are lines already are not changed."""
    for event in events:
        yield event if isinstance(event, str) else json.dumps(event) + "\n"


def _refusal(status: int, why: str) -> JSONResponse:
    return JSONResponse({"ok": False, "why": why}, status)


def app(options: dict[str, str]) -> Application:
    """The application that ``serve run`` deploys.

    ``options``  ``model``, ``device``, ``dtype``; ``min_replicas`` and ``max_replicas`` (1 and 4);
                 ``requests`` that a replica has at a time before another one is added (8); ``gpus``
                 of each replica (0).

    Raises: ValueError for an unknown option.
    """
    chosen = {
        "model": "builtin", "device": "auto", "dtype": "auto",
        "min_replicas": "1", "max_replicas": "4", "requests": "8", "gpus": "0",
    }  # fmt: skip
    if unknown := options.keys() - chosen:
        raise ValueError(f"expected some of {', '.join(chosen)}, not {', '.join(sorted(unknown))}")
    chosen |= options
    replicas = serve.deployment(
        name="workbench",
        max_ongoing_requests=4 * int(chosen["requests"]),
        autoscaling_config={
            "min_replicas": int(chosen["min_replicas"]),
            "max_replicas": int(chosen["max_replicas"]),
            "target_ongoing_requests": int(chosen["requests"]),
        },
        ray_actor_options={"num_cpus": 1, "num_gpus": float(chosen["gpus"])},
    )(Replica)
    return replicas.bind(chosen["model"], chosen["device"], chosen["dtype"])
