"""The private parts of other packages that this one uses: a new version is a decision.

Where a test fails, the new version of the package changed or removed what the named file uses.
Change that file, or bound the package in ``pyproject.toml`` below that version.
"""

from __future__ import annotations

import asyncio
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]


@cache
def gradio_page() -> Any:
    import gradio as gr
    from gradio.events import api

    def answer(sent: str) -> str:
        return sent

    async def page() -> Any:  # without a loop, Gradio makes some and leaves them open
        with gr.Blocks() as blocks:
            api(answer)
        return blocks.queue()

    return asyncio.run(page())


def gradio_server() -> Any:
    import gradio as gr

    return gr.Server


@cache
def numba_dispatcher() -> Any:
    import numba

    options: dict[str, Any] = {"no_cfunc_wrapper": True, "no_cpython_wrapper": False, "_nrt": False}
    compiled_answer: Any = numba.njit(**options)(lambda number: number + 1)
    assert compiled_answer(1) == 2
    return compiled_answer


def compiled() -> Any:
    (result,) = numba_dispatcher().overloads.values()
    return result


def numba_module(name: str) -> Any:
    from importlib import import_module

    return import_module(f"numba.core.{name}")


GUARDS, ADMISSION = "workbench/app/ui/guards.py", "workbench/app/ui/admission.py"
SERVE, KERNELS = "workbench/app/ui/serve.py", "workbench/base/kernels.py"

#: package, what has the attribute, the attribute, the file that uses it
PARTS = [
    ("gradio", gradio_server, "get_blocks", SERVE),
    ("gradio", gradio_page, "_queue", SERVE),
    ("gradio", gradio_page, "fns", GUARDS),
    ("gradio", gradio_page, "get_api_info", GUARDS),
    ("gradio", lambda: gradio_page()._queue, "push", ADMISSION),
    ("gradio", lambda: gradio_page()._queue, "clean_events", ADMISSION),
    ("gradio", lambda: gradio_page()._queue, "event_queue_per_concurrency_id", ADMISSION),
    ("gradio", lambda: gradio_page()._queue, "active_jobs", ADMISSION),
    ("gradio", lambda: gradio_page()._queue, "pending_messages_per_session", ADMISSION),
    ("gradio", lambda: gradio_page()._queue, "event_ids_to_events", GUARDS),
    ("gradio", lambda: gradio_page()._queue, "pending_event_ids_session", GUARDS),
    ("gradio", lambda: gradio_page()._queue, "max_size", ADMISSION),
    ("numba", numba_dispatcher, "_cache", KERNELS),
    ("numba", numba_dispatcher, "get_overload", KERNELS),
    ("numba", lambda: numba_dispatcher().targetctx, "refresh", KERNELS),
    ("numba", lambda: numba_dispatcher().targetctx.codegen(), "magic_tuple", KERNELS),
    ("numba", compiled, "_reduce", KERNELS),
    ("numba", compiled, "_rebuild", KERNELS),
    ("numba", compiled, "lifted", KERNELS),
    ("numba", compiled, "codegen", KERNELS),
    ("numba", lambda: compiled().library, "has_dynamic_globals", KERNELS),
    ("numba", lambda: numba_module("caching"), "NullCache", KERNELS),
    ("numba", lambda: numba_module("serialize"), "dumps", KERNELS),
    ("numba", lambda: numba_module("event"), "register", KERNELS),
    ("numba", lambda: numba_module("event"), "Listener", KERNELS),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("package", "owner", "name", "file"), PARTS)
def test_the_private_part_is_there(package: str, owner: Any, name: str, file: str) -> None:
    assert name in (ROOT / file).read_text("utf-8"), f"{file} no longer uses {name}: remove its row"
    sentence = f"{package} has no {name} any more, which {file} uses"
    try:
        present = hasattr(owner(), name)
    except AttributeError as error:
        pytest.fail(f"{sentence}: {error}")
    assert present, sentence


def test_packages_with_private_parts_are_bounded() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    lines = (*project["dependencies"], *extras["app"], *extras["models"], *extras["data"])
    needed = {each.name: each for each in map(Requirement, lines)}
    for name in {package for package, *_ in PARTS} | {"starlette", "tokenizers", "transformers"}:
        bounds = [Version(each.version) for each in needed[name].specifier if each.operator == "<"]
        assert bounds, f"{name} has no upper bound in pyproject.toml"
        minor = bounds[0].minor
        exact = name in ("gradio", "numba", "tokenizers")  # a minor version may change them
        assert (minor > 0) == exact, f"{name}: {bounds[0]}"
