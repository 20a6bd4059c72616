"""Renderer: pictures in time or a clear error, from a process that may be killed at any moment."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.drawing.graphs import graph
from workbench.base.errors import LimitError
from workbench.drawing.dot import dot
from workbench.drawing.graph import Graph
from workbench.drawing.render import (
    ATTEMPTS,
    DrawingLimits,
    Job,
    LayoutError,
    LayoutTimeoutError,
    Renderer,
    Worker,
    layout_by_program,
)


@pytest.fixture(scope="module")
def shared() -> Iterator[Renderer]:
    made = Renderer()
    yield made
    made.close()


@pytest.fixture
def fresh() -> Iterator[Renderer]:
    made = Renderer()
    yield made
    made.close()


def line(count: int, name: str = "line") -> Graph:
    return graph(count, [(s, s + 1, "a") for s in range(count - 1)], [count - 1], name)


def tangle(seed: int) -> str:
    """200 states and 600 edges at random: Graphviz's dot does not finish this in a minute."""
    chance = random.Random(seed)
    arcs = [(chance.randrange(200), chance.randrange(200), "[a-z]") for _ in range(600)]
    return dot(graph(200, arcs, [199], f"tangle {seed}"))


def test_a_picture_has_every_state_and_edge(shared: Renderer) -> None:
    svg = shared.draw(line(5))
    assert all(f'id="state-{s}"' in svg for s in range(5))
    assert all(f'id="edge-{e}"' in svg for e in range(4))
    assert "5 states, 4 edges" in svg


def test_a_picture_is_rendered_as_png(shared: Renderer) -> None:
    assert shared.png(dot(line(2))).startswith(b"\x89PNG\r\n")


def test_a_warm_picture_of_20_states_is_quick(shared: Renderer) -> None:
    def seconds(name: str) -> float:
        started = time.perf_counter()
        shared.draw(line(20, name))
        return time.perf_counter() - started

    # 5 ms measured; a busy machine has a quiet moment in some of many
    assert min(seconds(f"number {n}") for n in range(20)) < 0.5


def test_pictures_are_cached(fresh: Renderer) -> None:
    first = fresh.draw(line(3))
    fresh.close()
    fresh._layout = lambda job: pytest.fail("laid out again")
    assert fresh.draw(line(3)) == first


def test_the_oldest_picture_is_evicted() -> None:
    small = Renderer(remembered=2)
    laid_out: list[str] = []

    def layout(job: Job) -> bytes:
        laid_out.append(job.dot)
        return b"<svg xmlns='http://www.w3.org/2000/svg'/>"

    small._layout = layout
    for text in ("a", "b", "a", "c", "a", "b"):
        small.render(text)
    assert laid_out == ["a", "b", "c", "b"]


@pytest.mark.exhaustive
def test_a_tangled_graph_ends_and_leaves_the_renderer_usable(fresh: Renderer) -> None:
    fresh.draw(line(2))
    svg = fresh.render(tangle(1))  # the first attempt alone would take minutes
    assert 'id="state-199"' in svg
    assert "edge-1" in fresh.draw(line(3))


@pytest.mark.slow
def test_error_when_every_attempt_takes_too_long(fresh: Renderer) -> None:
    with pytest.raises(LimitError) as caught:
        fresh.render(tangle(2), DrawingLimits(seconds=0.02))
    assert caught.value.message == "the graph is too tangled to be laid out in time"
    assert "table of states" in caught.value.hint
    assert "state-1" in fresh.draw(line(2))


def test_attempts_follow_one_another(fresh: Renderer) -> None:
    tried: list[tuple[str, str | None]] = []

    def layout(job: Job) -> bytes:
        tried.append((job.prog, job.attributes.get("nslimit")))
        if len(tried) < len(ATTEMPTS):
            raise LayoutTimeoutError
        return b"<svg xmlns='http://www.w3.org/2000/svg'/>"

    fresh._layout = layout
    fresh.render("digraph {}")
    assert tried == [("dot", None), ("dot", "2"), ("sfdp", None)]


def test_error_when_the_text_is_far_too_long(fresh: Renderer) -> None:
    with pytest.raises(LimitError, match="over 10 characters"):
        fresh.render("digraph { a -> b }", DrawingLimits(characters=10))


def test_error_when_the_text_is_no_dot(shared: Renderer) -> None:
    with pytest.raises(LayoutError, match="graphviz could not lay the picture out"):
        shared.render("this is no graph {")
    assert "state-1" in shared.draw(line(2, "after"))


def test_threads_may_share_it(shared: Renderer) -> None:
    with ThreadPoolExecutor(6) as pool:
        pictures = list(pool.map(shared.draw, [line(n, f"of {n}") for n in range(2, 14)]))
    assert [f'id="state-{n - 1}"' in svg for n, svg in zip(range(2, 14), pictures, strict=True)]
    assert all(f'aria-label="of {n}"' in s for n, s in zip(range(2, 14), pictures, strict=True))


def test_a_killed_process_is_replaced(fresh: Renderer) -> None:
    fresh.draw(line(2))
    for worker in fresh._workers:
        if worker._process is not None:
            worker._process.kill()
            worker._process.wait()
    assert "state-2" in fresh.draw(line(3))


def test_a_process_killed_at_work_is_an_attempt_that_failed() -> None:
    worker = Worker()
    with pytest.raises(LayoutTimeoutError):
        worker.layout(Job(tangle(3), seconds=0.05))
    assert worker._process is None
    assert worker.layout(Job("digraph {a}", seconds=60)).count(b"<svg") == 1
    worker.close()


def test_a_process_that_does_not_start_is_replaced_by_the_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "executable", shutil.which("true") or sys.executable)
    with pytest.raises(ImportError, match="the layout process does not start"):
        Worker().layout(Job("digraph {a}", seconds=1))


needs_dot = pytest.mark.skipif(
    shutil.which("dot") is None, reason="needs the system's graphviz package"
)


@needs_dot
@pytest.mark.parametrize("label", ['\\N "q" \\', "&lt; &amp;amp; &#65;", "<b>x</b>"])
def test_the_systems_program_draws_the_same(label: str, fresh: Renderer) -> None:
    drawn = graph(2, [(0, 1, label)], [1])
    expected = fresh.draw(drawn)
    fresh._layout = layout_by_program
    fresh._pictures.clear()
    by_program = fresh.draw(drawn)
    escaped = label.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for picture in (expected, by_program):
        assert f"> {escaped} </text>" in picture


@needs_dot
def test_the_systems_program_stops_in_time() -> None:
    with pytest.raises(LayoutTimeoutError):
        layout_by_program(Job(tangle(4), seconds=0.1))


@needs_dot
def test_without_a_wheel_the_program_is_used(
    fresh: Renderer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_wheel(worker: Worker, job: Job) -> bytes:
        raise ImportError("No module named 'pygraphviz'")

    monkeypatch.setattr(Worker, "layout", no_wheel)
    assert "state-1" in fresh.draw(line(2))
    assert fresh._layout is layout_by_program


def test_error_without_any_graphviz(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(LayoutError, match="no Graphviz was found") as caught:
        layout_by_program(Job("digraph {}", seconds=1))
    assert "pip install pygraphviz" in caught.value.hint


def test_importing_is_light() -> None:
    listed = subprocess.run(
        [sys.executable, "-c", "import workbench.drawing.render, sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert not {"pygraphviz", "torch", "gradio", "transformers", "numba"} & set(listed)
