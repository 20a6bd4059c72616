"""Renders DOT as SVG or PNG within a time limit.

A layout that takes too long is tried again with straight lines and little patience, then as a
cloud (sfdp), then given up with a word about the table.
"""

from __future__ import annotations

import atexit
import queue
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache

from workbench.drawing.dot import Direction, dot
from workbench.drawing.graph import Graph
from workbench.drawing.layout import Job, LayoutTimeoutError, Worker, layout_by_program
from workbench.drawing.svg import sanitised
from workbench.errors import LimitError


@dataclass(frozen=True, slots=True)
class Attempt:
    """One way to lay a graph out."""

    prog: str = "dot"
    attributes: Mapping[str, str] = field(default_factory=dict)


#: Measured on a random graph of 200 nodes and 589 edges: over 60 s, 1.9 s, 0.24 s.
ATTEMPTS = (
    Attempt(),
    Attempt(attributes={"splines": "line", "nslimit": "2", "nslimit1": "2"}),
    Attempt("sfdp", {"splines": "line", "overlap": "scale"}),
)

#: DOT text longer than this is not even sent: no reader could use the picture.
_LONGEST = 2_000_000

#: Larger pictures, in bytes, are laid out anew; 256 of the others stay below 256 MB.
_LARGEST_REMEMBERED = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawingLimits:
    """What one picture may cost; the seconds are those of each attempt."""

    seconds: float = 3.0
    characters: int = _LONGEST


class Renderer:
    """Lays graphs out in processes that are kept warm; safe to share between threads.

    Two processes, so that one visitor's tangled graph does not keep the others waiting;
    the second starts only when both are needed. Finished pictures are remembered.

    Cost: 5 to 15 ms for a graph of 20 states, once warm; a first picture 0.2 s more.
    """

    def __init__(
        self, workers: int = 2, remembered: int = 256, attempts: tuple[Attempt, ...] = ATTEMPTS
    ) -> None:
        # last in, first out: the warm one is taken before the one not started yet
        self._idle: queue.LifoQueue[Worker] = queue.LifoQueue()
        self._workers = [Worker() for _ in range(workers)]
        for worker in reversed(self._workers):
            self._idle.put(worker)
        self._attempts = attempts
        self._pictures: OrderedDict[tuple[str, str], bytes] = OrderedDict()
        self._remembered = remembered
        self._lock = threading.Lock()
        self._layout: Callable[[Job], bytes] = self._by_worker

    def render(
        self,
        text: str,
        limits: DrawingLimits | None = None,
        *,
        name: str = "",
        description: str = "",
    ) -> str:
        """DOT as SVG that is safe in a page.

        Raises: LimitError where no layout ends in time; LayoutError where there is no
                Graphviz, or it cannot read the text.
        """
        return sanitised(self._picture(text, "svg", limits), name, description)

    def draw(
        self, graph: Graph, direction: Direction = "LR", limits: DrawingLimits | None = None
    ) -> str:
        """A graph as SVG, named and described by itself."""
        text = dot(graph, direction)
        return self.render(text, limits, name=graph.name, description=_described(graph))

    def png(self, text: str, limits: DrawingLimits | None = None) -> bytes:
        """DOT as a PNG image, black on white, 144 dots an inch."""
        return self._picture(text, "png", limits)

    def close(self) -> None:
        """End the processes; the next picture starts them again."""
        for worker in self._workers:
            worker.close()

    def _picture(self, text: str, kind: str, limits: DrawingLimits | None) -> bytes:
        limits = limits or DrawingLimits()
        key = (kind, text)
        with self._lock:
            if key in self._pictures:
                self._pictures.move_to_end(key)
                return self._pictures[key]
        picture = self._laid_out(text, kind, limits)
        if len(picture) > _LARGEST_REMEMBERED:
            return picture
        with self._lock:
            self._pictures[key] = picture
            while len(self._pictures) > self._remembered:
                self._pictures.popitem(last=False)
        return picture

    def _laid_out(self, text: str, kind: str, limits: DrawingLimits) -> bytes:
        if len(text) > limits.characters:
            raise _too_much(f"the picture's text is over {limits.characters:,} characters")
        paper = {"bgcolor": "white", "dpi": "144"} if kind == "png" else {}
        for attempt in self._attempts:
            attributes = {**attempt.attributes, **paper}
            job = Job(text, limits.seconds, attempt.prog, kind, attributes)
            try:
                return self._layout(job)
            except LayoutTimeoutError:
                continue
        raise _too_much("the graph is too tangled to be laid out in time")

    def _by_worker(self, job: Job) -> bytes:
        worker = self._idle.get()
        try:
            return worker.layout(job)
        except ImportError:
            # no wheel for this system: from now on the program, should there be one
            self._layout = layout_by_program
            return layout_by_program(job)
        finally:
            self._idle.put(worker)


def _too_much(what: str) -> LimitError:
    return LimitError(what, "seconds", "look at the table of states, or at fewer states at once")


def _described(graph: Graph) -> str:
    counted = f"{len(graph.states)} states, {len(graph.edges)} edges"
    return f"{counted}. {graph.note}" if graph.note else counted


@cache
def renderer() -> Renderer:
    """The one renderer of this process; its layout processes end with it."""
    shared = Renderer()
    atexit.register(shared.close)
    return shared
