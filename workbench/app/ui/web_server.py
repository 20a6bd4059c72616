"""The web server: the page and its files, the questions of its scripts, streams of runs, the API.

It is Gradio's server without Gradio's page: ``gr.Server`` is a FastAPI application that serves the
endpoints for programs through Gradio's queue, to assistants too (MCP). The page's own requests are
plain routes: a question is a POST of a JSON object, answered with a record; a run is a POST whose
answer has a record in each line, as it is computed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from gradio.routes import ORJSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from workbench.app.ui.admission import Admission, BusyError
from workbench.app.ui.api_page import api_document
from workbench.app.ui.page import document
from workbench.app.ui.page_files import FILES, LATE, digest, late_script, script, sheet
from workbench.app.ui.pictures import sentence
from workbench.app.ui.questions import QUESTIONS, STREAMS, answered
from workbench.app.ui.request_log import RequestFacts
from workbench.app.ui.run_records import Record, line

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from workbench.app.ui.handlers import Handlers

#: Nothing between the server and the page may hold or compress the lines of a stream.
_STREAM_HEADERS = {
    "Content-Type": "application/x-ndjson",
    "Content-Encoding": "identity",
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",
}


def page_routes(handlers: Handlers, admission: Admission) -> list[Route]:
    """The routes of the page: its documents, its files, its questions and its streams."""
    return [
        Route("/", lambda _: HTMLResponse(document(handlers))),
        Route("/api", lambda request: HTMLResponse(api_document(str(request.base_url)))),
        _file("page.css", "text/css", sheet),
        _file("page.js", "text/javascript", script),
        *(_file(name, "text/javascript", partial(late_script, name)) for name in LATE),
        Route(f"/{FILES}/ask/{{name}}", _questions(handlers, admission), methods=["POST"]),
        *(
            Route(f"/{FILES}/{name}", _Stream(handlers, admission, name), methods=["POST"])
            for name in STREAMS
        ),
    ]


def _file(name: str, kind: str, content: Callable[[], str]) -> Route:
    """A route for a file of the page.

    The file is read at every request, so that an edited script is served when the page is loaded
    again; a browser may cache it if the request has the hash of its content.
    """

    def answer(request: Request) -> Response:
        text = content()
        caching = "max-age=31536000, immutable" if request.url.query == digest(text) else "no-cache"
        return Response(text, media_type=kind, headers={"Cache-Control": caching})

    return Route(f"/{FILES}/{name}", answer)


def _questions(handlers: Handlers, admission: Admission) -> Callable[..., Any]:
    """The route of all questions."""
    seconds = handlers.pipeline.limits.seconds

    async def ask(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in QUESTIONS:
            raise HTTPException(404, "the page has no such question")
        facts = RequestFacts.of(request.scope)
        facts.kind = name
        fields = await _fields(request)

        def work() -> tuple[Response, bool]:
            record = answered(handlers, name, fields)
            return ORJSONResponse(record), "fault" in record

        try:
            answer = await admission.answer(QUESTIONS[name].share, request, seconds, work)
        except BusyError as busy:
            facts.fault = True
            return ORJSONResponse({"fault": sentence(busy), "busy": busy.waiting})
        if answer is None:
            return Response(status_code=499)  # the client has left
        response, facts.fault = answer
        return response

    return ask


class _Stream:
    """A route whose answer is the records of a run or a comparison."""

    def __init__(self, handlers: Handlers, admission: Admission, name: str) -> None:
        self._handlers, self._admission, self._name = handlers, admission, name
        self._share, self._batches = STREAMS[name]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send each batch of records as it is computed."""
        request = Request(scope, receive)
        RequestFacts.of(scope).kind = self._name
        fields = await _fields(request)
        headers = [(name.lower().encode(), v.encode()) for name, v in _STREAM_HEADERS.items()]
        await send({"type": "http.response.start", "status": 200, "headers": headers})

        async def send_records(batch: list[Record] | BusyError | None) -> None:
            text = "".join(map(line, _records(batch)))
            await send({"type": "http.response.body", "body": text.encode(), "more_body": True})

        begin = partial(self._batches, self._handlers, fields)
        await self._admission.stream(self._share, request, begin, send_records)
        await send({"type": "http.response.body", "body": b""})


def _records(batch: list[Record] | BusyError | None) -> Sequence[Record]:
    """What a stream sends for a batch; for none, that it waits, and for an error, the error."""
    if batch is None:
        return [{"k": "status", "text": "waiting for a turn: others are using the model…"}]
    if isinstance(batch, BusyError):
        return [{"k": "error", "message": batch.message, "hint": batch.hint}]
    return batch


async def _fields(request: Request) -> Record:
    """The JSON object of a request.

    Raises: HTTPException where there is none.
    """
    try:
        fields = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise HTTPException(400, "the body cannot be read as JSON") from None
    if not isinstance(fields, dict):
        raise HTTPException(400, "expected a JSON object as the body")
    return fields
