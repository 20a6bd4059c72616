"""Renders DOT as safe SVG or as PNG within a time limit.

Graphviz cannot be interrupted, so it runs in one separate process that is killed at its time limit
and started again; without pygraphviz, the system's ``dot`` program is called for each picture. A
layout that takes too long is tried again with straight lines, then as a force-directed layout
(sfdp); after that the picture is refused with a hint to the table.

Only listed elements and attributes of Graphviz's SVG are kept: no links, scripts, handlers, styles
or foreign content. Colours are removed as well, except that black becomes ``currentColor``; the
style sheet sets light and dark.

Graphviz also places the states of a machine that a user draws (``arranged``).
"""

from __future__ import annotations

import atexit
import json
import queue
import re
import shutil
import struct
import subprocess
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

from workbench.base.errors import LimitError, WorkbenchError
from workbench.base.visible_text import columns, printable
from workbench.drawing.dot import WORD_JOINER, Direction, dot
from workbench.drawing.graph import Graph
from workbench.syntax.machine_text import DrawnMachine

NAMESPACE = "http://www.w3.org/2000/svg"
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_TITLE_OF_LINK = "{http://www.w3.org/1999/xlink}title"

_SHAPES = frozenset({"path", "polygon", "polyline", "ellipse", "circle", "rect", "text", "title"})
_ATTRIBUTES = frozenset(
    {"id", "class", "transform", "d", "points", "cx", "cy", "rx", "ry", "r", "x", "y"}
    | {"width", "height", "text-anchor", "font-size", "stroke-width", "stroke-dasharray"}
)

#: The only allowed paints; any other value would be a fixed colour.
_PAINT = {"none": "none", "black": "currentColor"}

MONOSPACED = "ui-monospace,SF Mono,Cascadia Mono,Menlo,Consolas,DejaVu Sans Mono,monospace"

#: A stack effect in a label: the number of pushed or popped symbols, or the pushed state.
_MARK = re.compile(r"(?:(?<=\s)|^)([▲▼][\w·]+)(?=\s|$)")

_ARROW = re.compile(r"([A-Za-z0-9_-]+)->([A-Za-z0-9_-]+)")


def sanitised(picture: bytes, name: str, description: str = "") -> str:
    """The picture without active content, with a name for screen readers.

    Raises: ValueError if the text is no SVG.
    """
    text = picture.decode("utf-8")
    start = text.find("<svg")
    if start < 0 or "<!ENTITY" in text:
        raise ValueError("expected an SVG document without entities")
    # the prolog and the document type are dropped, so that no file can be referenced
    root = ElementTree.fromstring(text[start:])
    drawn = ElementTree.Element("svg", _frame(root, name))
    if description:
        ElementTree.SubElement(drawn, "desc").text = printable(description)
    for child in root:
        _copy(child, drawn)
    return ElementTree.tostring(drawn, encoding="unicode", short_empty_elements=True)


def _frame(root: ElementTree.Element, name: str) -> dict[str, str]:
    """The attributes of the root; a label, since a title here would pop up everywhere."""
    return {
        "xmlns": NAMESPACE,
        "class": "machine",
        "role": "group",
        "aria-label": printable(name),
        "width": root.get("width", ""),
        "height": root.get("height", ""),
        "viewBox": root.get("viewBox", ""),
        "font-family": MONOSPACED,
    }


def _copy(element: ElementTree.Element, into: ElementTree.Element) -> None:
    tag = _local(element.tag)
    if tag == "g":
        _copy_group(element, into)
    elif tag == "a":  # a hover text; a link in it is dropped
        for child in element:
            _copy(child, into)
    elif tag in _SHAPES and tag != "title":
        copied = ElementTree.SubElement(into, tag, _attributes(element))
        if tag == "text":
            _fill(copied, _undo_changes("".join(element.itertext())))


def _fill(text: ElementTree.Element, shown: str) -> None:
    """The text of an element; stack effects in it are spans with a class."""
    text.text, *marks = _MARK.split(shown)
    for mark, rest in zip(marks[::2], marks[1::2], strict=True):
        effect = "push" if mark.startswith("▲") else "pop"
        piece = ElementTree.SubElement(text, "tspan", {"class": effect})
        piece.text, piece.tail = mark, rest


def _copy_group(element: ElementTree.Element, into: ElementTree.Element) -> None:
    """A graph, frame, node or edge; the group around a link is removed."""
    link = next((child for child in element if _local(child.tag) == "a"), None)
    if element.get("class") is None and link is not None:
        _copy(link, into)
        return
    copied = ElementTree.SubElement(into, "g", _attributes(element))
    kinds = copied.get("class", "").split()
    title = element.findtext(f"{{{NAMESPACE}}}title", "")
    if "edge" in kinds and (ends := _ARROW.fullmatch(title)):
        copied.set("data-source", ends[1])
        copied.set("data-target", ends[2])
    hover = _hover(element)
    if hover and "graph" not in kinds:
        ElementTree.SubElement(copied, "title").text = hover
    for child in element:
        _copy(child, copied)


def _hover(group: ElementTree.Element) -> str:
    """The tooltip that Graphviz wrote, as a link's title in one of the group's elements."""
    for child in group:
        if _local(child.tag) == "a":
            return _undo_changes(child.get(_TITLE_OF_LINK, ""))
        if _local(child.tag) == "g" and child.get("class") is None:
            return _hover(child)
    return ""


def _attributes(element: ElementTree.Element) -> dict[str, str]:
    kept = {name: value for name, value in element.items() if name in _ATTRIBUTES}
    for name in ("fill", "stroke"):
        if name in element.attrib:
            kept[name] = _PAINT.get(element.attrib[name], "none")
    if _local(element.tag) == "text":
        kept["fill"] = "currentColor"
        kept[_SPACE] = "preserve"
    return kept


def _undo_changes(text: str) -> str:
    """Undo two changes: Graphviz's no-break spaces, and the word joiners of ``dot``."""
    return text.replace("\u00a0", " ").replace(WORD_JOINER, "")


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to lay a graph out."""

    prog: str = "dot"
    attributes: Mapping[str, str] = field(default_factory=dict)


#: Measured on a random graph of 200 nodes and 589 edges: over 60 s, 1.9 s, 0.24 s.
ATTEMPTS = (
    Attempt(),
    Attempt(attributes={"splines": "line", "nslimit": "2", "nslimit1": "2"}),
    Attempt("sfdp", {"splines": "line", "overlap": "scale"}),
)

#: Longer DOT text is not laid out: the picture would be illegible.
_MAX_DOT_CHARACTERS = 2_000_000

#: Larger pictures, in bytes, are not cached; so the 256 cached ones are below 256 MB.
_MAX_CACHED_BYTES = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawingLimits:
    """The limits of one picture; the seconds are those of each attempt."""

    seconds: float = 3.0
    characters: int = _MAX_DOT_CHARACTERS


class Renderer:
    """Lays graphs out in persistent processes; safe to share between threads.

    There are two processes, so that one user's large graph does not block the others; the
    second starts only when both are needed. Finished pictures are cached.

    Cost: 5 to 15 ms for a graph of 20 states, once warm; a first picture 0.2 s more.
    """

    def __init__(
        self, workers: int = 2, remembered: int = 256, attempts: tuple[Attempt, ...] = ATTEMPTS
    ) -> None:
        # last in, first out: a started process is taken first
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

        Raises: LimitError if no layout ends in time; LayoutError if Graphviz is missing or
                cannot read the text.
        """
        return sanitised(self._picture(text, "svg", limits), name, description)

    def draw(
        self, graph: Graph, direction: Direction = "LR", limits: DrawingLimits | None = None
    ) -> str:
        """A graph as SVG, with the graph's name and note."""
        text = dot(graph, direction)
        return self.render(text, limits, name=graph.name, description=_description(graph))

    def png(self, text: str, limits: DrawingLimits | None = None) -> bytes:
        """DOT as a PNG image, black on white, 144 dots an inch."""
        return self._picture(text, "png", limits)

    def plain(self, text: str, limits: DrawingLimits | None = None) -> str:
        """The positions of DOT's nodes and edges, in Graphviz's format ``plain``."""
        return self._picture(text, "plain", limits).decode()

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
        if len(picture) > _MAX_CACHED_BYTES:
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
            # pygraphviz is missing here: use the program from now on, if there is one
            self._layout = layout_by_program
            return layout_by_program(job)
        finally:
            self._idle.put(worker)


def _too_much(what: str) -> LimitError:
    return LimitError(what, "seconds", "look at the table of states, or at fewer states at once")


def _description(graph: Graph) -> str:
    counted = f"{len(graph.states)} states, {len(graph.edges)} edges"
    return f"{counted}. {graph.note}" if graph.note else counted


@cache
def renderer() -> Renderer:
    """The shared renderer of this process; its layout processes end with it."""
    shared = Renderer()
    atexit.register(shared.close)
    return shared


_PROGRAM = Path(__file__).with_name("layout_worker.py")


#: The seconds a new process may take to import Graphviz (0.2 measured; a busy machine needs more).
_START_SECONDS = 30.0


class LayoutError(WorkbenchError):
    """Graphviz could not be run, or refused a picture."""


class LayoutTimeoutError(TimeoutError):
    """The layout exceeded its time limit; the process was killed."""


@dataclass(frozen=True, slots=True)
class Job:
    """One layout: the DOT text, the layout program, and additional graph attributes."""

    dot: str
    seconds: float
    prog: str = "dot"
    format: str = "svg"
    attributes: Mapping[str, str] = field(default_factory=dict)


class Worker:
    """A process with pygraphviz, started when first needed and again after a kill.

    Not thread-safe: ``render.Renderer`` gives each of its workers to one thread at a time.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def layout(self, job: Job) -> bytes:
        """The picture.

        Raises: LayoutTimeoutError; LayoutError with Graphviz's message; ImportError if
                pygraphviz is missing or does not run.
        """
        process = self._running()
        message = {
            "dot": job.dot,
            "prog": job.prog,
            "format": job.format,
            "attributes": dict(job.attributes),
            "seconds": job.seconds,
        }
        answer = self._exchange(process, json.dumps(message).encode(), job.seconds)
        if answer[:1] == b"+":
            return answer[1:]
        raise LayoutError(
            f"graphviz could not lay the picture out: {answer[1:].decode(errors='replace')}",
            "look at the table of states instead",
        )

    def close(self) -> None:
        """End the process; the next layout starts another."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self.close()
        # -P keeps this folder off the path: its modules have names that other packages also use
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-X", "utf8", str(_PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        try:
            greeting = self._exchange(self._process, None, _START_SECONDS)
        except LayoutTimeoutError:
            raise ImportError("the layout process does not start") from None
        if greeting[:1] != b"+":
            self.close()
            raise ImportError(greeting[1:].decode(errors="replace"))
        return self._process

    def _exchange(
        self, process: subprocess.Popen[bytes], message: bytes | None, seconds: float
    ) -> bytes:
        """Send a message and read its answer, or kill the process when the time is over."""
        # killing makes the blocked read return; unlike select() this works on every system
        timer = threading.Timer(seconds, process.kill)
        timer.daemon = True
        timer.start()
        try:
            if message is not None:
                _write(process, message)
            return _read(process)
        except (OSError, EOFError):
            self.close()
            raise LayoutTimeoutError from None
        except BaseException:
            # interrupted (Ctrl-C): the pending answer would be taken for the next one
            self.close()
            raise
        finally:
            timer.cancel()


def _write(process: subprocess.Popen[bytes], message: bytes) -> None:
    if process.stdin is None:
        raise EOFError
    process.stdin.write(struct.pack(">I", len(message)) + message)
    process.stdin.flush()


def _read(process: subprocess.Popen[bytes]) -> bytes:
    if process.stdout is None:
        raise EOFError
    head = process.stdout.read(4)
    if len(head) < 4:
        raise EOFError
    (length,) = struct.unpack(">I", head)
    body = process.stdout.read(length)
    if len(body) < length:
        raise EOFError
    return body


def layout_by_program(job: Job) -> bytes:
    """The same picture from the system's Graphviz.

    Raises: LayoutTimeoutError; LayoutError if the program is missing or fails.
    """
    program = shutil.which("dot")
    if program is None:
        raise LayoutError(
            "no Graphviz was found, so there are no pictures",
            "pip install pygraphviz brings one; so does the system's graphviz package",
        )
    flags = [f"-G{name}={value}" for name, value in job.attributes.items()]
    try:
        done = subprocess.run(
            [program, f"-K{job.prog}", f"-T{job.format}", *flags],
            input=job.dot.encode(),
            capture_output=True,
            timeout=job.seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise LayoutTimeoutError from None
    if done.returncode or not done.stdout:
        words = done.stderr.decode(errors="replace").strip()
        raise LayoutError(f"graphviz could not lay the picture out: {words}")
    return done.stdout


#: Pixels of the drawing in an inch, and around the machine.
_PIXELS, _MARGIN = 72, 60
#: The largest machine that is laid out.
MAX_ARRANGED_STATES = 200
#: The most columns of a label for which edges become longer.
_MAX_LABEL = 16


def arranged(machine: DrawnMachine) -> dict[str, tuple[int, int]]:
    """The position of each state; initial states are on the left.

    Raises: LimitError for a machine that is too large; LayoutError without Graphviz.
    """
    if len(machine.states) > MAX_ARRANGED_STATES:
        raise LimitError(
            f"a drawing of more than {MAX_ARRANGED_STATES} states is not laid out",
            "states",
            "move its states, or edit its text",
        )
    if not machine.states:
        return {}
    numbers = {state.name: f"n{number}" for number, state in enumerate(machine.states)}
    import graphviz  # lazy: the commands about grammars do without it

    graph = graphviz.Digraph(
        graph_attr={"rankdir": "LR", "nodesep": "0.7", "ranksep": "0.55"},
        node_attr={"shape": "circle", "fixedsize": "true", "width": "0.7", "label": ""},
        edge_attr={"fontname": "Courier", "fontsize": "12"},
    )
    # Graphviz breaks cycles in the order of the nodes
    for state in sorted(machine.states, key=lambda state: not state.is_initial):
        graph.node(numbers[state.name])
    for edge in machine.edges:
        label = machine.source.text[edge.label_span.start : edge.label_span.end]
        width = min(_MAX_LABEL, columns(label))
        graph.edge(numbers[edge.source], numbers[edge.target], label="x" * max(1, width))
    return _positions(renderer().plain(graph.source), numbers)


def _positions(plain: str, numbers: dict[str, str]) -> dict[str, tuple[int, int]]:
    """The positions in Graphviz's format ``plain``, whose y axis points up."""
    rows = [line.split() for line in plain.splitlines()]
    height = next(float(row[3]) for row in rows if row and row[0] == "graph")
    positions = {row[1]: (float(row[2]), float(row[3])) for row in rows if row and row[0] == "node"}
    return {
        name: (
            round(_PIXELS * positions[number][0]) + _MARGIN,
            round(_PIXELS * (height - positions[number][1])) + _MARGIN,
        )
        for name, number in numbers.items()
    }
