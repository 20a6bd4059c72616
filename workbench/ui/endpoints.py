"""Registers the page's handlers as typed endpoints for programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import gradio as gr
from gradio.events import api
from gradio.utils import get_function_description

from workbench.ui.api import Endpoints
from workbench.ui.handlers import Handlers


def add_endpoints(handlers: Handlers, page: gr.Blocks) -> None:
    """Add the endpoints to the page being built."""
    ours = Endpoints(handlers)
    quick = (ours.compile, ours.check, ours.explain, ours.samples, ours.mask, ours.draw)
    for endpoint in quick:
        api(endpoint, api_name=endpoint.__name__, concurrency_id="compile", concurrency_limit=2)
    slow = (ours.generate, ours.compare)
    for generating in slow:
        api(generating, api_name=generating.__name__, concurrency_id="model", concurrency_limit=1)
    for documented in (*quick, *slow):
        _label(page, documented)


def _label(page: gr.Blocks, endpoint: Callable[..., Any]) -> None:
    """Put the docstring's words where the API page looks: at the parameters and the answer."""
    _, parameters, answers = get_function_description(endpoint)
    (function,) = (f for f in page.fns.values() if f.api_name == endpoint.__name__)
    inputs, outputs = cast("list[Any]", function.inputs), cast("list[Any]", function.outputs)
    for component, told in zip(inputs, parameters.values(), strict=True):
        component.label = told
    for component in outputs:
        component.label = " ".join(answers)
