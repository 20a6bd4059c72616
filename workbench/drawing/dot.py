"""Writes graphs as DOT and keeps one Graphviz process for their layout.

Every text in a graph may be untrusted. The package graphviz quotes and escapes; entities and
characters that a picture cannot hold are handled here.

Graphviz cannot be interrupted, so it runs in a separate process that is killed at its time limit.
Without pygraphviz the system's ``dot`` program is used, one process per picture.
"""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import graphviz

from workbench.base.errors import WorkbenchError
from workbench.drawing.graph import Edge, Graph, Node
from workbench.drawing.visible_text import printable, shorten

Direction = Literal["LR", "TB"]

#: The most lines of an edge label and letters of a line; the hover text has the rest.
_MAX_LINES = 6
_MAX_WIDTH = 28

#: The most letters of a round state; longer labels get a box.
_MAX_IN_CIRCLE = 3

#: Courier has the width of every monospaced font (0.6 em), so the layout fits the browser's font.
_FONT = {"fontname": "Courier", "fontsize": "11"}

#: The side of a second loop at the same state, so that its label does not overlap the first one's.
_OTHER_SIDE: dict[Direction, str] = {"LR": "s", "TB": "w"}

#: Text that Graphviz reads as an entity even if its ampersand is escaped (2.43 does).
_ENTITY = re.compile(r"&(?=#?\w+;)")

#: Separates an ampersand from the name after it; the renderer removes it.
WORD_JOINER = "\u2060"


def dot(graph: Graph, direction: Direction = "LR") -> str:
    """The graph as DOT text."""
    drawn = graphviz.Digraph(
        # not the graph's name: Graphviz writes this one into a comment of the SVG
        name="machine",
        graph_attr={
            "rankdir": direction,
            "bgcolor": "transparent",
            "nodesep": "0.28",
            "ranksep": "0.42",
            "pad": "0.12",
            **_FONT,
        },
        node_attr={"shape": "circle", **_FONT},
        edge_attr={"arrowsize": "0.6", "arrowhead": "normal", **_FONT},
    )
    for node in graph.nodes:
        if not node.cluster:
            _draw_node(drawn, node)
    frames = list(enumerate(graph.clusters))
    # from left to right Graphviz stacks frames upwards; the first rule belongs on top
    for number, cluster in reversed(frames) if direction == "LR" else frames:
        with drawn.subgraph(name=f"cluster_{number}") as frame:
            frame.attr(
                label=_text(cluster),
                id=f"rule-{number}",
                **{"class": "rule", "labeljust": "l", "style": "rounded", "margin": "10"},
            )
            for node in graph.nodes:
                if node.cluster == cluster:
                    _draw_node(frame, node)
    loops: Counter[str] = Counter()
    for number, edge in enumerate(graph.edges):
        is_loop = edge.source == edge.target
        _draw_edge(drawn, number, edge, _OTHER_SIDE[direction] if loops[edge.source] % 2 else "")
        loops[edge.source] += is_loop
    return str(drawn.source)


def _draw_node(drawn: graphviz.Digraph, node: Node) -> None:
    label = shorten(printable(node.label), _MAX_WIDTH)
    attributes = {
        "id": node.element,
        "class": " ".join(("state", *node.kinds)),
        "tooltip": _text(node.title or f"state {node.id}"),
        **_shape(node, label),
    }
    if "final" in node.kinds:
        attributes["peripheries"] = "2"
    if "initial" in node.kinds:
        attributes["penwidth"] = "1.6" if "final" in node.kinds else "2.2"
    drawn.node(node.id, _text(label), **attributes)


def _shape(node: Node, label: str) -> dict[str, str]:
    if "call" in node.kinds:
        return {"shape": "box", "margin": "0.1,0.05", "height": "0.3"}
    if len(label) <= _MAX_IN_CIRCLE:
        return {"width": "0.42", "fixedsize": "true"}
    return {"shape": "box", "style": "rounded", "margin": "0.1,0.05", "height": "0.36"}


def _draw_edge(drawn: graphviz.Digraph, number: int, edge: Edge, side: str) -> None:
    title = edge.title or " · ".join(edge.labels)
    attributes = {
        "id": f"edge-{number}",
        "class": " ".join(("arc", *edge.kinds)),
        "tooltip": _text(shorten(title, 400)),
        "label": _text(_edge_label(edge)),
    }
    if side and edge.source == edge.target:
        attributes["headport"] = attributes["tailport"] = side
    if "skip" in edge.kinds:
        attributes["style"] = "dashed"
    elif "back" not in edge.kinds:
        attributes["weight"] = "4"  # plain edges run straight, the others around them
    if "bytes" in edge.kinds:
        attributes["style"] = "dotted"
    drawn.edge(edge.source, edge.target, **attributes)


def _edge_label(edge: Edge) -> str:
    """The labels one below the other, at most ``_MAX_LINES``."""
    # a chain and a token may read the same: it is shown once
    labels = dict.fromkeys(edge.labels)
    lines = [line for label in labels for line in printable(label).split("\n")]
    if len(lines) > _MAX_LINES:
        lines = [*lines[: _MAX_LINES - 1], f"and {len(lines) - _MAX_LINES + 1:,} more"]
    if edge.mark:
        lines.append(edge.mark)
    # a margin on both sides, so that the letters do not touch the line
    return "\n".join(f" {shorten(line, _MAX_WIDTH)} " for line in lines)


def _text(text: str) -> str:
    """The text, escaped so that Graphviz shows it unchanged: no escapes, no HTML, no entities."""
    apart = _ENTITY.sub("&" + WORD_JOINER, printable(text))
    escaped: str = graphviz.escape(apart.replace("&", "&amp;"))
    return escaped


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
