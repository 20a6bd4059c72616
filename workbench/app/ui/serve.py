"""Serves the page: starts the web server, warms up kernels and the model."""

from __future__ import annotations

import gc
import logging
import os
import secrets
import signal
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.app.ui.model_registry import ModelRoom, ModelRooms, check_model, default_models
from workbench.base.errors import ModelError, WorkbenchError
from workbench.base.extras import imported
from workbench.base.kernels import wait_until_compiled
from workbench.constraint.compile import compile as compile_constraint
from workbench.decoding.checkpoint import check_device, check_dtype
from workbench.grammar.grammar import Grammar
from workbench.tasks.results import files_of

if TYPE_CHECKING:
    import gradio as gr

    from workbench.app.ui.handlers import Handlers
    from workbench.app.ui.request_log import RequestFacts

#: Addresses that only this machine can reach.
_LOCAL_ADDRESSES = ("127.0.0.1", "localhost", "::1")

LOG_LEVELS = ("debug", "info", "warning", "error")

#: Seconds for which a page that closes waits until its runs have ended.
_MAX_CLOSING = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeSettings:
    """How the page is served."""

    host: str = "127.0.0.1"
    #: 0 for any free port.
    port: int = 7860
    #: The models offered, the first one chosen: ``toy``, or names of ``wb.load_model``; empty for
    #: the embedded model and those of installed packages.
    models: tuple[str, ...] = ()
    #: Of all models, those opened from the page too; as of ``wb.load_model``.
    device: str = "auto"
    dtype: str = "auto"
    #: A branch, tag or commit of the only model.
    revision: str | None = None
    open_browser: bool = False
    #: Whether the endpoints are tools for assistants too (MCP).
    mcp: bool = False
    #: Visitors who send it may open further models from the page; None: no visitor may.
    token: str | None = None
    #: Further names under which the page may be requested: those of a proxy.
    allowed_hosts: tuple[str, ...] = ()
    #: Addresses of sites that may show the page in a frame.
    embed: tuple[str, ...] = ()
    #: Whether numbers for Prometheus are served at ``/metrics``.
    metrics: bool = False
    #: Of the messages on stderr; ``info`` has a line for each request.
    log_level: str = "warning"
    #: Megabytes of remembered grammars with everything made from them; None: a quarter of memory.
    memory: int | None = None
    #: Whether requests come through a proxy, which reports the addresses of its clients.
    behind_proxy: bool = False
    #: A file of results that the page opens in Compare.
    results: Path | None = None
    quiet: bool = False


def serve(settings: ServeSettings) -> None:
    """Serve the page until Ctrl+C or SIGTERM, after which runs end with a reason; main thread only.

    Raises: WorkbenchError, as ``start``, and for an unknown log level.
    """
    _log_to_stderr(settings.log_level)
    # beside work in other threads, a file was answered in 50 ms instead of 200 (``bench.visitors``)
    sys.setswitchinterval(0.0005)
    open_requests: set[RequestFacts] = set()
    page, handlers = _start(settings, None, open_requests)
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    with suppress(KeyboardInterrupt):
        while not ended.wait(0.5):  # on Windows, Ctrl+C is noticed between two waits
            pass
    from workbench.app.ui.questions import STREAMS  # imported by the page already

    handlers.closing.set()
    streams = ("events", *STREAMS)
    latest = time.monotonic() + _MAX_CLOSING
    while time.monotonic() < latest and any(
        request.kind in streams for request in [*open_requests]
    ):
        time.sleep(0.02)
    page.close(verbose=False)


def start(settings: ServeSettings, room: ModelRoom | None = None) -> gr.Blocks:
    """Start serving; returns Gradio's page (``local_url``, ``close()``).

    The first model is loaded in the background after the page answers, and torch with it.
    ``room`` replaces the models of the settings.

    Raises: WorkbenchError where the address or the port is not available, or tools for assistants
            cannot be served; ModelError for an unknown device or dtype, or a revision of several
            models.
    """
    return _start(settings, room, set())[0]


#: How the package for ``ServeSettings.mcp`` is installed, in the version that Gradio needs.
_NEEDS_MCP = "pip install 'grammar-workbench[mcp]', or '.[mcp]' in a checkout"


def _start(
    settings: ServeSettings, room: ModelRoom | None, open_requests: set[RequestFacts]
) -> tuple[gr.Blocks, Handlers]:
    _check_options(settings)
    if settings.results is not None and not files_of(settings.results):
        raise WorkbenchError(
            f"there is no file {str(settings.results)!r}", "name a file written with --out"
        )
    # read by Gradio when it is imported: it sends nothing about this machine
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    tools = _tools(settings)
    with _quick_start():
        imported("gradio")  # named where it is missing, before a package that comes with it
        page, handlers = _launch(settings, room, open_requests, mcp=tools)
    if tools and page.mcp_error:  # Gradio serves the page without them
        page.close()
        raise WorkbenchError(f"cannot serve tools for assistants: {page.mcp_error}", _NEEDS_MCP)
    address = str(page.local_url) + (f"?token={settings.token}" if settings.token else "")
    if not settings.quiet:
        print(f"The grammar workbench is open at {address} — Ctrl+C closes it", flush=True)
    if settings.open_browser:
        webbrowser.open(address)
    threading.Thread(target=_warm, args=(handlers,), name="warm", daemon=True).start()
    return page, handlers


def new_token() -> str:
    """A token that cannot be guessed, for ``ServeSettings.token``."""
    return secrets.token_urlsafe(24)


def _log_to_stderr(level: str) -> None:
    """Write the package's log messages of at least this level to stderr.

    Raises: WorkbenchError for an unknown level.
    """
    if level not in LOG_LEVELS:
        raise WorkbenchError(f"expected one of {', '.join(LOG_LEVELS)} as log level, not {level!r}")
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("workbench").setLevel(level.upper())


@contextmanager
def _quick_start() -> Iterator[None]:
    """Import without garbage collection, and without IPython.

    Collecting takes a tenth of the start and finds nearly nothing; the imported objects are then
    frozen, so that later collections skip them. Gradio imports IPython for a notebook command,
    which takes as long; in a notebook it is imported already.
    """
    collects = gc.isenabled()
    gc.disable()
    hidden = "IPython" not in sys.modules
    if hidden:
        sys.modules["IPython"] = None  # type: ignore[assignment]  # marks it as not installed
    try:
        yield
    finally:
        if hidden:
            del sys.modules["IPython"]
        gc.freeze()
        if collects:
            gc.enable()


def _launch(
    settings: ServeSettings,
    room: ModelRoom | None,
    open_requests: set[RequestFacts],
    *,
    mcp: bool,
) -> tuple[gr.Blocks, Handlers]:
    """Gradio's part of the launched server, and the handlers of the page's requests."""
    from workbench.app.ui.admission import Admission, Events
    from workbench.app.ui.api import add_endpoints, label_endpoints
    from workbench.app.ui.web_server import page_routes
    from workbench.base.resources import STATIC

    handlers = _handlers(settings, room)
    admission = Admission(behind_proxy=settings.behind_proxy)
    events = Events(admission)
    server = _guarded_server(settings, open_requests, mcp=mcp)
    server.router.routes += page_routes(handlers, admission)
    add_endpoints(handlers, server, events)
    server.launch(
        server_name=settings.host,
        server_port=_port(settings),
        quiet=True,  # Gradio would offer a public link
        prevent_thread_lock=True,
        favicon_path=STATIC / "favicon.svg",
        run_history=False,
        enable_monitoring=False,
        mcp_server=mcp,
        ssr_mode=False,
        # an error that is not the page's own is in the log only
        show_error=False,
    )
    page = server.get_blocks()
    events.limit(page._queue)
    label_endpoints(page)
    return page, handlers


def _handlers(settings: ServeSettings, room: ModelRoom | None) -> Handlers:
    """The handlers of the page's requests, with its models."""
    from workbench.app.pipeline import Pipeline
    from workbench.app.ui.handlers import Handlers

    make = partial(ModelRoom, device=settings.device, dtype=settings.dtype)
    names = settings.models or default_models()
    rooms = [room] if room else [make(name, revision=settings.revision) for name in names]
    pipeline = Pipeline(megabytes=settings.memory)
    handlers = Handlers(ModelRooms(rooms, token=settings.token, make=make), pipeline)
    handlers.served_results = settings.results
    return handlers


def _guarded_server(
    settings: ServeSettings, open_requests: set[RequestFacts], *, mcp: bool
) -> gr.Server:
    """A server with its checks, its log, ``/healthz`` and ``/metrics``."""
    import gradio as gr

    from workbench.app.ui.guards import guards, host_names
    from workbench.app.ui.request_log import Metrics, health

    metrics = Metrics(open_requests) if settings.metrics else None
    local = settings.host in _LOCAL_ADDRESSES
    server = gr.Server(title="Grammar workbench", openapi_url=None, docs_url=None, redoc_url=None)
    server.user_middleware += guards(
        server,
        open_requests,
        hosts=host_names(local, settings.allowed_hosts),
        local=local,
        embed=settings.embed,
        tools=mcp,
        metrics=metrics,
    )
    server.router.routes += [health(), *([metrics.route()] if metrics else ())]
    return server


def check_models(settings: ServeSettings) -> None:
    """Check that each model can be loaded, without reading its weights.

    A Space does without: it opens also where the hub does not answer.

    Raises: ModelError.
    """
    _check_options(settings)
    for name in settings.models:
        check_model(name, settings.revision)


def _check_options(settings: ServeSettings) -> None:
    """Raise ModelError for settings with which no model can be loaded; torch is not needed."""
    check_device(settings.device)
    check_dtype(settings.dtype)
    if settings.revision is not None and len(settings.models) != 1:
        raise ModelError(
            f"expected one --model with --revision, not {len(settings.models)}",
            "a revision is of one hub id; serve other models without it",
        )


def _tools(settings: ServeSettings) -> bool:
    """Whether the endpoints are also tools for assistants.

    Raises: WorkbenchError where the package for it is not installed.
    """
    if settings.mcp and find_spec("mcp") is None:
        raise WorkbenchError("serving tools for assistants needs the package mcp", _NEEDS_MCP)
    return settings.mcp


def _port(settings: ServeSettings) -> int:
    """The requested port, or any free one for 0.

    Raises: WorkbenchError where it is not available.
    """
    with socket.socket() as probe:
        # a port whose server has just ended counts as free, as for the server itself
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except (OSError, OverflowError, ValueError) as error:  # a port or a name of another form
            why = getattr(error, "strerror", None) or error
            raise WorkbenchError(
                f"cannot serve at {settings.host}, port {settings.port}: {why}",
                "another page may be open there; port 0 takes any free one",
            ) from error
        port: int = probe.getsockname()[1]
        return port


def _warm(handlers: Handlers) -> None:
    """Compute in advance what the first visitor needs: pictures, kernels, the model."""
    from workbench.app.ui.grammar_view import compile_grammar
    from workbench.app.ui.opening_view import page_record
    from workbench.app.ui.picture_view import draw_flags, draw_machine

    if (first := page_record(handlers)["first"]) is not None:
        compile_grammar(handlers, first)
        for tab in ("together", "stack"):
            draw_machine(handlers, {**first, "tab": tab})
        draw_flags(handlers, {**first, "tab": "together"})
    with suppress(WorkbenchError):  # the page says why a model cannot be loaded
        handlers.room.model()
    gc.collect()  # frozen objects are never collected
    gc.freeze()  # torch has been imported: later collections skip its objects
    wait_until_compiled()
    simple = Grammar.from_regex("a")
    for method in ("domino", "proper"):
        with suppress(WorkbenchError):  # not every vocabulary has its tokenizer's merges
            compile_constraint(simple, handlers.room.vocabulary(), method)
