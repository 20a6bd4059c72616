"""One log line for each request, and the same numbers for Prometheus.

A line has what was requested, by one of a few names, the milliseconds, the bytes of body and
answer, and the outcome; never a text, an address of a visitor or the name of a session::

    request kind=check_texts outcome=ok status=200 ms=12.3 received=312 sent=845

Outcomes: ``ok``; ``fault``, an answer that is an error of the page; ``refused``, 4xx; ``failed``,
5xx or an exception; ``left``, the client closed the connection before the end.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from importlib.util import find_spec

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from workbench.base.errors import WorkbenchError

_log = logging.getLogger(__name__)

_KEY = "workbench.request"

#: Upper bounds of the histogram of seconds.
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0)


@dataclass(slots=True, eq=False)
class RequestFacts:
    """What is known about a request while it is answered."""

    #: What it asks for; never taken from the request's own text.
    kind: str = ""
    #: 0 before the answer begins.
    status: int = 0
    received: int = 0
    sent: int = 0
    fault: bool = False
    #: Whether the answer was sent to its end.
    whole: bool = False

    @staticmethod
    def of(scope: Scope) -> RequestFacts:
        """The facts of a request; new ones where no log is kept."""
        facts = scope.setdefault(_KEY, RequestFacts())
        assert isinstance(facts, RequestFacts)
        return facts

    @property
    def outcome(self) -> str:
        """One of the outcomes in the docstring of this module."""
        if self.status >= 500:
            return "failed"
        if self.status >= 400:
            return "refused"
        if not self.whole:
            return "left"
        return "fault" if self.fault else "ok"


class Metrics:
    """Counts and times of requests in the text format of Prometheus.

    Raises: WorkbenchError where the package ``prometheus_client`` is not installed.
    """

    def __init__(self, open_requests: set[RequestFacts]) -> None:
        if find_spec("prometheus_client") is None:
            raise WorkbenchError(
                "metrics need the package prometheus-client",
                "pip install 'grammar-workbench[metrics]', or '.[metrics]' in a checkout",
            )
        import prometheus_client as prometheus

        # a separate registry: several pages may run in one process
        self._registry = registry = prometheus.CollectorRegistry()
        prometheus.ProcessCollector(registry=registry)
        self._seconds = prometheus.Histogram(
            "workbench_request_seconds",
            "Seconds until the end of the answer",
            ("kind", "outcome"),
            buckets=_SECONDS,
            registry=registry,
        )
        self._received, self._sent = (
            prometheus.Counter(f"workbench_{name}_bytes", text, ("kind",), registry=registry)
            for name, text in (("received", "Bytes of bodies"), ("sent", "Bytes of answers"))
        )
        answering = prometheus.Gauge(
            "workbench_open_requests", "Requests that are being answered", registry=registry
        )
        answering.set_function(lambda: len(open_requests))

    def add(self, facts: RequestFacts, seconds: float) -> None:
        """Count a request that is over."""
        self._seconds.labels(facts.kind, facts.outcome).observe(seconds)
        self._received.labels(facts.kind).inc(facts.received)
        self._sent.labels(facts.kind).inc(facts.sent)

    def route(self) -> Route:
        """``/metrics``."""
        from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

        async def answer(request: Request) -> Response:
            text = generate_latest(self._registry)
            return Response(text, headers={"Content-Type": CONTENT_TYPE_LATEST})

        return Route("/metrics", answer)


async def _healthy(request: Request) -> Response:
    return PlainTextResponse("ok\n")


def health() -> Route:
    """``/healthz``: 200 while the server answers at all, whatever else it is doing."""
    return Route("/healthz", _healthy)


class RequestLog:
    """Writes the line of each request when its answer has ended."""

    def __init__(
        self, app: ASGIApp, open_requests: set[RequestFacts], metrics: Metrics | None = None
    ) -> None:
        self.app = app
        self._open, self._metrics = open_requests, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        facts, began = RequestFacts.of(scope), time.perf_counter()

        async def received() -> Message:
            message = await receive()
            facts.received += len(message.get("body", b""))
            return message

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                facts.status = message["status"]
            else:
                facts.sent += len(message.get("body", b""))
                facts.whole = not message.get("more_body", False)
            await send(message)

        self._open.add(facts)
        try:
            await self.app(scope, received, sent)
        except Exception:
            facts.status = 500
            raise
        finally:
            self._open.discard(facts)
            self._end(facts, time.perf_counter() - began)

    def _end(self, facts: RequestFacts, seconds: float) -> None:
        facts.kind = facts.kind or "other"
        if self._metrics is not None:
            self._metrics.add(facts, seconds)
        _log.info(
            "request kind=%s outcome=%s status=%d ms=%.1f received=%d sent=%d",
            *(facts.kind, facts.outcome, facts.status),
            *(1000 * seconds, facts.received, facts.sent),
        )
