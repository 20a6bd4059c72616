"""The program of the layout process: reads framed requests, writes framed pictures.

It is started by its path, not as a module, so that it neither imports this project nor runs
the caller's ``__main__`` a second time; it imports only pygraphviz. A request is one JSON object
with ``dot``, ``prog``, ``format``, ``attributes`` and ``seconds``; an answer is a byte (``+`` or
``-``) and the picture or a message. Every frame begins with its length in four bytes.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import sys
from typing import BinaryIO

#: The most bytes of memory for one layout, far above any that ends in time.
_MAX_MEMORY = 2 << 30


def main() -> int:
    """Answer requests until the other side closes."""
    requests, answers = _channels()
    _cap_memory()
    try:
        import pygraphviz
    except ImportError as error:
        _send(answers, b"!" + str(error).encode())
        return 1
    _send(answers, b"+ready")
    while (head := requests.read(4)) and len(head) == 4:
        request = json.loads(requests.read(struct.unpack(">I", head)[0]))
        _send(answers, _answer(pygraphviz, request))
    return 0


def _answer(pygraphviz: object, request: dict[str, object]) -> bytes:
    # the parent kills a layout that takes too long; if the parent has ended, this alarm does
    alarm = getattr(signal, "alarm", None)
    if alarm is not None:
        alarm(int(float(str(request["seconds"]))) + 2)
    try:
        graph = pygraphviz.AGraph(string=request["dot"])  # type: ignore[attr-defined]
        attributes = request["attributes"]
        if isinstance(attributes, dict):
            graph.graph_attr.update(**attributes)
        picture = graph.draw(prog=request["prog"], format=request["format"])
        graph.close()
        return b"+" + bytes(picture)
    except Exception as error:  # any error of Graphviz is returned as a message
        return b"-" + f"{type(error).__name__}: {error}".encode()
    finally:
        if alarm is not None:
            alarm(0)


def _channels() -> tuple[BinaryIO, BinaryIO]:
    """The two pipes; output of Graphviz itself must not go into them."""
    answers = os.fdopen(os.dup(1), "wb")
    requests = os.fdopen(os.dup(0), "rb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    return requests, answers


def _cap_memory() -> None:
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY, _MAX_MEMORY))
    except (ImportError, ValueError, OSError):
        return  # Windows has no such limit, macOS ignores it; the time limit still applies


def _send(stream: BinaryIO, message: bytes) -> None:
    stream.write(struct.pack(">I", len(message)) + message)
    stream.flush()


if __name__ == "__main__":
    sys.exit(main())
