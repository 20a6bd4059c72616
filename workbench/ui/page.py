"""The page as Gradio components: our own skeletons, style and scripts around Gradio's transport."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import gradio as gr

from workbench.resources import STATIC
from workbench.ui.api import add_endpoints
from workbench.ui.handlers import Handlers, encoded
from workbench.ui.runs import run_lines

#: Where the page's own files are served, relative to its address.
FILES = "wb"

SHEET = "wb.css"

#: In the order they need each other.
SCRIPTS = (
    "core.js", "colour.js", "editor.js", "graph.js", "strip.js", "inspector.js", "share.js",
    "header.js", "grammar.js", "picture.js", "run.js", "footer.js",
)  # fmt: skip

#: A component's script: hands itself to the page's own, names the events Gradio must know.
_ON_LOAD = """
wb.mount("%s", { element, trigger, props, watch, server: %s }); /* event: "run" */
"""


@cache
def head() -> str:
    """What goes into the page's head: the style sheet, then the scripts in order."""
    # named by their content, so that a browser never keeps a file of another version
    digest = hashlib.sha256()
    for name in (SHEET, *SCRIPTS):
        digest.update((STATIC / name).read_bytes())
    version = digest.hexdigest()[:12]
    sheet = f'<link rel="stylesheet" href="{FILES}/{SHEET}?{version}">'
    return sheet + "".join(f'<script src="{FILES}/{name}?{version}"></script>' for name in SCRIPTS)


def part(name: str, value: str = "", ask: Sequence[Callable[..., Any]] = ()) -> gr.HTML:
    """One of the page's parts: a static skeleton that a script of ours brings to life.

    Nothing a person or a model wrote is ever put into the template: Gradio would evaluate
    ``${…}`` and ``{{…}}`` in it. It travels as ``value`` and enters through textContent.
    """
    return gr.HTML(
        value,
        html_template=(Path(STATIC) / f"{name}.html").read_text("utf-8"),
        js_on_load=_ON_LOAD % (name, "server" if ask else "null"),
        apply_default_css=False,
        elem_id=f"wb-{name}",
        head=head(),
        server_functions=list(ask),
    )


def build(handlers: Handlers) -> gr.Blocks:
    """The whole page."""

    def compile_grammar(sent: dict[str, Any]) -> dict[str, Any]:
        return handlers.compile(sent)

    def check_texts(sent: dict[str, Any]) -> dict[str, Any]:
        return handlers.check(sent)

    def draw_machine(sent: dict[str, Any]) -> dict[str, Any]:
        return handlers.draw(sent)

    def recorded_run(sent: dict[str, Any]) -> str:
        return handlers.recorded(sent)

    def stop_run(sent: dict[str, Any]) -> dict[str, Any]:
        return handlers.stop(sent)

    def explain_tokens(sent: dict[str, Any]) -> dict[str, Any]:
        return handlers.explain(sent)

    def model_state(sent: dict[str, Any]) -> dict[str, Any]:
        return handlers.model_state()

    def stream(event: gr.EventData) -> Iterator[str]:
        sent = event._data
        yield from run_lines(handlers, sent if isinstance(sent, dict) else {})

    with gr.Blocks(title="Grammar workbench", fill_width=True, analytics_enabled=False) as page:
        part("header", encoded(handlers.page()), [model_state])
        with gr.Row(elem_id="wb-main"):
            part("grammar", "", [compile_grammar, check_texts])
            part("picture", "", [draw_machine])
        with gr.Column(elem_id="wb-below"):
            run = part("run", "", [recorded_run, explain_tokens, stop_run])
        part("footer")
        running = run.run(
            stream,
            None,
            run,
            concurrency_id="model",
            concurrency_limit=1,
            # Gradio's own cancelling was tried: it is slow to let go, and a run asked for meanwhile
            # was dropped or ended with the old one; a run is stopped by its name instead
            trigger_mode="multiple",
            show_progress="hidden",
            api_visibility="private",
        )
        running.then(None, None, None, js="() => { window.wb.emit('run over'); }")
        add_endpoints(handlers)
    page.queue(default_concurrency_limit=4, max_size=32)
    return page  # type: ignore[no-any-return]  # Gradio types its context managers loosely
