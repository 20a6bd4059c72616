"""Checks of every HTTP request before the page or Gradio sees it, and headers of answers.

Gradio serves more than is used here: uploads, files, links that are stored, calls that bypass its
queue. ``RequestGuard`` lets through only the requests that the page, Gradio's clients and
assistants send, those to Gradio with JSON bodies in the shape that it expects, because it answers
other shapes with an internal error. Starlette's middleware checks the name of the host and the size
of the body.

A request passes the middleware in the order of ``guards``::

    RequestLog → GZip → SecurityHeaders → TrustedHost → RequestBodyLimit → RequestGuard → Gradio

An origin is checked where the host is: at an address that only this machine can reach, where any
page that the owner visits could send requests (cross-site requests, DNS rebinding).
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import anyio
from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from workbench.app.ui.page_files import FILES
from workbench.app.ui.request_log import Metrics, RequestFacts, RequestLog
from workbench.base.cached_property import cached_property
from workbench.base.errors import WorkbenchError

if TYPE_CHECKING:
    import gradio as gr


#: Bytes of a request's body at most.
MAX_BODY = 2_000_000

#: Seconds in which a body must arrive.
BODY_SECONDS = 60.0

#: Characters of the name of a session at most: Gradio stores 10,000 of them.
_MAX_SESSION = 100

#: Names of this machine in requests to an address that only it can reach.
_LOCAL_HOSTS = ("127.0.0.1", "localhost", "[::1]")

#: The name or the address of a host, or of all below one.
_HOST = re.compile(r"(?:\*\.)?[\w-]+(?:\.[\w-]+)*|\[[0-9a-fA-F:]+\]")

_HOST_AND_PORT = r"(?P<host>[\w.-]+|\[[0-9a-fA-F:.]+\])(:\d{1,5})?"

#: The headers of a proxy from which Gradio makes the address of the page; of several values it
#: takes the first.
_ADDRESS_HEADERS = {
    "x-forwarded-host": re.compile(_HOST_AND_PORT, re.ASCII),
    "x-gradio-server": re.compile(rf"https?://{_HOST_AND_PORT}(/[\w./~-]*)?", re.ASCII),
}

#: A site in a content security policy.
_SITE = re.compile(r"https?://(?:\*\.)?[\w-]+(?:\.[\w-]+)*(?::\d+)?")

_API = "/gradio_api"

_READ = ("GET", "HEAD", "OPTIONS")

#: What may be read: the page with its files, and what Gradio's clients ask for.
_READABLE = re.compile(
    rf"/|/(?:api|config|favicon\.ico|robots\.txt|healthz|metrics)|/{FILES}/[\w.-]+"
    rf"|{_API}/(?:info|openapi\.json|app_id|user|token|login_check|startup-events)"
    rf"|{_API}/(?:heartbeat/[^/]{{1,{_MAX_SESSION}}}|queue/data|queue/status)"
    rf"|{_API}/call(?:/v2)?/[^/]+/[^/]+"
)

#: What the page sends.
_ASKED = re.compile(rf"/{FILES}/(?:ask/)?[a-z_]+")

#: What Gradio's clients send; ``/run`` and ``/api`` would bypass its queue.
_WRITABLE = re.compile(rf"{_API}/(queue/join|cancel|reset|call/v2|call)(?:/([^/]+))?")

_TOOLS = re.compile(rf"{_API}/mcp(?:/.*)?")


def guards(
    server: gr.Server,
    open_requests: set[RequestFacts],
    *,
    hosts: Sequence[str] | None,
    local: bool = False,
    embed: Sequence[str] = (),
    tools: bool = False,
    metrics: Metrics | None = None,
) -> list[Middleware]:
    """The middleware of a server, the outermost first; it keeps ``open_requests``.

    ``hosts``: the names under which the page may be requested, None for any; ``local``: whether
    only this machine can reach it; ``embed``: the addresses of sites that may show it in a frame;
    ``tools``: whether it serves assistants (MCP).

    Raises: WorkbenchError where ``embed`` has something else.
    """
    if wrong := [site for site in embed if not _SITE.fullmatch(site)]:
        raise WorkbenchError(
            f"expected the address of a site that shows the page, not {wrong[0]!r}",
            "for example https://site.example",
        )
    checked = [] if hosts is None else [Middleware(TrustedHostMiddleware, allowed_hosts=[*hosts])]
    return [
        Middleware(RequestLog, open_requests=open_requests, metrics=metrics),
        Middleware(GZipMiddleware, minimum_size=2_000),
        Middleware(SecurityHeaders, embed=embed, local=local),
        *checked,
        Middleware(RequestBodyLimitMiddleware, max_body_size=MAX_BODY),
        Middleware(RequestGuard, server=server, hosts=hosts, tools=tools),
    ]


def host_names(local: bool, allowed: Sequence[str]) -> tuple[str, ...] | None:
    """The names under which a page may be requested; None for any.

    At an address that only this machine can reach, those of this machine and ``allowed``.

    Raises: WorkbenchError where ``allowed`` has something else than names.
    """
    if wrong := [name for name in allowed if not _HOST.fullmatch(name)]:
        raise WorkbenchError(
            f"expected the name of a host, not {wrong[0]!r}",
            "without scheme, port and path, for example demo.example or *.example",
        )
    if local:
        return (*_LOCAL_HOSTS, *allowed)
    return tuple(allowed) or None


class RequestGuard:
    """Refuses requests that the page does not serve, with 4xx and a sentence."""

    def __init__(
        self, app: ASGIApp, server: gr.Server, hosts: Sequence[str] | None, *, tools: bool
    ) -> None:
        self.app = app
        self._server, self._hosts, self._tools = server, hosts, tools

    @property
    def _page(self) -> gr.Blocks:
        """What Gradio serves, once the server is launched."""
        return self._server.get_blocks()

    @cached_property
    def _endpoints(self) -> dict[str, list[dict[str, Any]]]:
        """The endpoints for programs with their parameters, by name."""
        return {
            name.removeprefix("/"): endpoint["parameters"]
            for name, endpoint in self._page.get_api_info()["named_endpoints"].items()
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            with anyio.fail_after(BODY_SECONDS):
                receive = await self._read_and_check(scope, receive)
        except HTTPException as refused:
            answer = JSONResponse({"detail": refused.detail}, refused.status_code)
            await answer(scope, receive, send)
        except TimeoutError:
            message = f"the request did not arrive within {BODY_SECONDS:g} seconds"
            await JSONResponse({"detail": message}, 408)(scope, receive, send)
        except ClientDisconnect:
            pass
        else:
            if RequestFacts.of(scope).kind == "events":
                await self._stream(scope, receive, send)
            else:
                await self.app(scope, receive, send)

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A stream of events, whose work ends when its client leaves.

        Gradio looks whether a client has left only when there is something to send.
        """
        session, disconnect = self._session_of(scope), asyncio.Event()

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            disconnect.set()
            if not RequestFacts.of(scope).whole:
                await self._page._queue.clean_events(session_hash=session)

        async def received() -> Message:
            await disconnect.wait()
            return {"type": "http.disconnect"}

        watching = asyncio.create_task(watch())
        try:
            await self.app(scope, received, send)
        finally:
            watching.cancel()

    async def _read_and_check(self, scope: Scope, receive: Receive) -> Receive:
        """The request's messages, its body read and checked.

        Raises: HTTPException to refuse it; ClientDisconnect.
        """
        headers = Headers(scope=scope)
        _check_page_address(headers)
        method, path = scope["method"], scope["path"].rstrip("/") or "/"
        facts, tools = RequestFacts.of(scope), self._tools and _TOOLS.fullmatch(path)
        if tools:
            facts.kind = "tools"
        if method in _READ:
            if not tools and not _READABLE.fullmatch(path):
                raise HTTPException(404, "there is nothing at this address")
            facts.kind = facts.kind or _kind(path)
            if facts.kind == "events":
                self._session_of(scope)
            return receive
        written, asked = _WRITABLE.fullmatch(path), _ASKED.fullmatch(path)
        if not tools and (method != "POST" or not (written or asked)):
            raise HTTPException(404, "nothing can be sent to this address")
        self._check_origin(headers)
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json" and method != "DELETE":
            raise HTTPException(415, "expected a body of the type application/json")
        body = await Request(scope, receive).body()
        if written is not None:
            facts.kind = written[1]
            facts.kind = self._checked_call(written[1], written[2] or "", _object_of(body))
        return _again(body, receive)

    def _session_of(self, scope: Scope) -> str:
        """The session whose events a stream reads, named in its address or by one of its events.

        Raises: HTTPException where there is none: Gradio would begin a stream and then fail.
        """
        path, queue = scope["path"].rstrip("/"), self._page._queue
        query = QueryParams(scope["query_string"])
        name = path.rpartition("/")[2] if "/call/" in path else query.get("session_hash", "")
        if name in queue.pending_messages_per_session:
            return name
        if (event := queue.event_ids_to_events.get(name)) is not None:
            return event.session_hash
        for session, events in list(queue.pending_event_ids_session.items()):
            if name in events:
                return session
        raise HTTPException(404, "there is no call with these events")

    def _check_origin(self, headers: Headers) -> None:
        """Refuse what a page of another site sends; programs send no origin.

        Raises: HTTPException
        """
        origin = headers.get("origin")
        if origin is None or self._hosts is None:
            return
        # a proxy may change the host, so an allowed name counts as well
        others = set(self._hosts) - set(_LOCAL_HOSTS)
        try:
            address = urlsplit(origin)
            allowed = address.netloc == headers.get("host") or address.hostname in others
        except ValueError:  # no address, for example half an IPv6 address
            allowed = False
        if not allowed:
            raise HTTPException(403, "this request came from a page of another site")

    def _checked_call(self, door: str, name: str, body: Mapping[str, Any]) -> str:
        """What a request calls, by its name.

        Raises: HTTPException where Gradio would fail.
        """
        session = body.get("session_hash")
        if session is not None and not _is_name(session):
            raise HTTPException(
                400, f"expected a session_hash of at most {_MAX_SESSION} characters"
            )
        if door == "queue/join":
            return self._event_name(body)
        if door in ("call", "call/v2"):
            if name not in self._endpoints:
                names = ", ".join(self._endpoints)
                raise HTTPException(404, f"there is no endpoint of this name, only {names}")
            self._check_inputs(name, body, named=door == "call/v2")
            return name
        for field in ("event_id", "fn_index", "session_hash"):
            if not isinstance(body.get(field), str | int):
                raise HTTPException(400, f"expected the field {field}")
        return door

    def _event_name(self, body: Mapping[str, Any]) -> str:
        """The name of an endpoint that Gradio's clients call by its number."""
        index = body.get("fn_index")
        function = self._page.fns.get(index) if type(index) is int else None
        if function is None or function.fn is None:
            raise HTTPException(404, "there is no function of this number")
        name = str(function.api_name)
        self._check_inputs(name, body, named=False)
        return name

    def _check_inputs(self, name: str, body: Mapping[str, Any], *, named: bool) -> None:
        """Compare the inputs of an endpoint with its parameters: how many, and which names.

        Raises: HTTPException
        """
        if _describes_file(body):
            raise HTTPException(422, "expected texts, numbers and records of them, not files")
        parameters = self._endpoints[name]
        names = [parameter["parameter_name"] for parameter in parameters]
        if not named:
            given = body.get("data")
            if not isinstance(given, list) or len(given) != len(names):
                names_text = ", ".join(names)
                raise HTTPException(
                    422, f"expected as data a list of {len(names)} values: {names_text}"
                )
            return
        if unknown := [field for field in body if field not in names]:
            raise HTTPException(422, f"{len(unknown)} unknown inputs; expected {', '.join(names)}")
        needed = [
            parameter["parameter_name"]
            for parameter in parameters
            if not parameter["parameter_has_default"]
        ]
        if missing := [field for field in needed if field not in body]:
            raise HTTPException(422, f"expected the inputs {', '.join(missing)} too")


def _check_page_address(headers: Headers) -> None:
    """Refuse a request from whose headers Gradio cannot make the page's own address.

    Raises: HTTPException
    """
    for name, pattern in _ADDRESS_HEADERS.items():
        value = headers.get(name, "").partition(",")[0].strip()
        address = pattern.fullmatch(value)
        if value and (address is None or not _is_host(address["host"])):
            raise HTTPException(400, f"the header {name} has no address of a server")


def _is_host(text: str) -> bool:
    """Whether a text that looks like a host is one: an IPv6 address may still be wrong."""
    try:
        return not text.startswith("[") or bool(ipaddress.IPv6Address(text[1:-1]))
    except ValueError:
        return False


def _is_name(value: object) -> bool:
    return isinstance(value, str) and len(value) <= _MAX_SESSION


def _describes_file(value: object) -> bool:
    """Whether a JSON value contains a description of a file.

    Gradio would copy the file into its cache, from its address if that is another server's.
    """
    waiting = [value]
    while waiting:
        match waiting.pop():
            case {"path": _, "meta": _}:
                return True
            case dict() as held:
                waiting += held.values()
            case list() as items:
                waiting += items
    return False


def _object_of(body: bytes) -> dict[str, Any]:
    """The JSON object of a body.

    Raises: HTTPException
    """
    try:
        read = json.loads(body)
    except (ValueError, RecursionError):
        raise HTTPException(400, "the body cannot be read as JSON") from None
    if not isinstance(read, dict):
        raise HTTPException(400, "expected a JSON object as the body")
    return read


def _kind(path: str) -> str:
    """What a request reads, from a few names: addresses may contain names of sessions."""
    if path in ("/", "/api"):
        return "page"
    if path.startswith((f"{_API}/queue/data", f"{_API}/call/")):
        return "events"
    if path.startswith(f"{_API}/heartbeat"):
        return "heartbeat"
    return {"/healthz": "health", "/metrics": "metrics"}.get(path, "file")


def _again(body: bytes, receive: Receive) -> Receive:
    """The messages of a request whose body was read."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return messages.pop() if messages else await receive()

    return again


#: Pictures and parts of the page set styles inline.
_POLICY = (
    "default-src 'none'; script-src 'self'{evaluation}; style-src 'self' 'unsafe-inline'"
    "; img-src 'self' data: blob:; font-src data:; connect-src 'self'"
    "; base-uri 'none'; form-action 'none'; frame-ancestors {ancestors}"
)


class SecurityHeaders:
    """Adds the headers with which a browser restricts the page."""

    def __init__(self, app: ASGIApp, embed: Sequence[str] = (), *, local: bool) -> None:
        self.app = app
        # drivers of browsers wait for an expression by evaluating it: on this machine they may
        evaluation = " 'unsafe-eval'" if local else ""
        self._policy = _POLICY.format(evaluation=evaluation, ancestors=" ".join(embed) or "'none'")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["X-Content-Type-Options"] = "nosniff"
                headers["Referrer-Policy"] = "same-origin"
                if headers.get("content-type", "").startswith("text/html"):
                    headers["Content-Security-Policy"] = self._policy
            await send(message)

        await self.app(scope, receive, headed if scope["type"] == "http" else send)
