"""Batches the lines of a run, computed ahead of the consumer in a thread.

Gradio shows the page a component's latest value and may skip earlier ones. A text therefore holds
two batches and the number of its first line; a page that lacks more asks for the missing lines,
which are kept here for the latest runs. (Tried before: a text of the last 64,000 characters that
grows to twice that. Gradio compares the values of a component as JSON on both sides, and most of
the time of the page went into it.)
"""

from __future__ import annotations

import math
import queue
import threading
import time
from collections import OrderedDict
from collections.abc import Generator, Iterator
from typing import TypeVar

from workbench.app.ui.records import Record, line

Item = TypeVar("Item")


def ahead(items: Iterator[Item]) -> Generator[Item, None, None]:
    """The same items in the same order, made in a separate thread.

    A run continues while its earlier records are sent to the page: Gradio asks for
    the next text only when it has compared, packed and sent the last one (at 100 tokens a
    second that took 2 % of the time). Who stops reading ends the work at its next item; an
    exception of the work is raised where it is read.
    """
    made: queue.SimpleQueue[tuple[Item] | BaseException | None] = queue.SimpleQueue()
    left = threading.Event()

    def work() -> None:
        try:
            for item in items:
                made.put((item,))
                if left.is_set():
                    break
            made.put(None)
        except BaseException as error:  # raised again by the reader, whatever it is
            made.put(error)
        finally:
            close = getattr(items, "close", None)
            if close is not None:
                close()  # in the thread that ran it: its resources are released immediately

    threading.Thread(target=work, name="run", daemon=True).start()
    try:
        while (found := made.get()) is not None:
            if isinstance(found, BaseException):
                raise found
            yield found[0]
    finally:
        left.set()


#: Seconds between two texts of steps.
BATCH_SECONDS = 0.08

#: Runs whose lines are kept: at most one runs at a time, the others are those before it.
MAX_KEPT_RUNS = 8


class Streams:
    """The lines of the latest runs; safe to share between threads."""

    def __init__(self, seconds: float = BATCH_SECONDS) -> None:
        self._seconds = seconds
        self._lines: OrderedDict[str, list[str]] = OrderedDict()
        self._lock = threading.Lock()

    def texts(self, records: Iterator[Record]) -> Iterator[str]:
        """A text for each batch of records, of which the first is the head.

        A text is the head, ``{"k":"from","n":…}`` with the number of lines before it, the batch
        sent last and the new one. Records that are no steps are sent without delay.
        """
        first = next(records)
        head, lines = line(first), self._begun(first["run"])
        start, sent, last = 0, 0, -math.inf
        for record in records:
            lines.append(line(record))
            now = time.monotonic()
            if record["k"] != "step" or now - last >= self._seconds:
                yield _text(head, start, lines)
                start, sent, last = sent, len(lines), now
        if sent < len(lines):
            yield _text(head, start, lines)

    def since(self, run: str, count: int) -> str | None:
        """The lines of a run after the first ``count``; None where the run is not kept."""
        lines = self._lines.get(run)
        return None if lines is None else "".join(lines[count:])

    def _begun(self, run: str) -> list[str]:
        lines: list[str] = []
        if not run:
            return lines
        with self._lock:
            self._lines[run] = lines
            self._lines.move_to_end(run)
            while len(self._lines) > MAX_KEPT_RUNS:
                self._lines.popitem(last=False)
        return lines


def _text(head: str, start: int, lines: list[str]) -> str:
    return "".join((head, line({"k": "from", "n": start}), *lines[start:]))
