"""Batches the lines of a run, which a thread computes ahead of the consumer.

Gradio sends the page a component's latest value and may skip earlier ones. A text therefore
contains two batches and the number of its first line. A page that misses more lines requests them;
the lines of the latest runs are stored here. (Tried before: a text of the last 64,000 characters
that grows to twice that. Gradio compares the values of a component as JSON on both sides, which
took most of the page's time.)
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

#: The most runs of all visitors at a time: their tokens are computed in shared forward passes.
RUNS_AT_ONCE = 16


def ahead(items: Iterator[Item]) -> Generator[Item, None, None]:
    """The same items in the same order, computed in a separate thread.

    The run continues while earlier records are sent: Gradio requests the next text only after it
    has compared, packed and sent the last one (2 % of the time at 100 tokens a second). If the
    consumer stops, the work ends at its next item; an exception of the work is raised in the
    consumer.
    """
    computed: queue.SimpleQueue[tuple[Item] | BaseException | None] = queue.SimpleQueue()
    left = threading.Event()

    def work() -> None:
        try:
            for item in items:
                computed.put((item,))
                if left.is_set():
                    break
            computed.put(None)
        except BaseException as error:  # raised again in the consumer
            computed.put(error)
        finally:
            close = getattr(items, "close", None)
            if close is not None:
                close()  # in the thread that ran it: its resources are released immediately

    threading.Thread(target=work, name="run", daemon=True).start()
    try:
        while (found := computed.get()) is not None:
            if isinstance(found, BaseException):
                raise found
            yield found[0]
    finally:
        left.set()


#: Seconds between two texts of steps.
BATCH_SECONDS = 0.08

#: Runs whose lines are stored: the current one and those before it.
MAX_KEPT_RUNS = 8


def batches(records: Iterator[Record], seconds: float = BATCH_SECONDS) -> Iterator[list[Record]]:
    """The records in lists: the steps since the last list, or all up to a record of another kind.

    Seconds are counted from when the consumer asks for the next list: one that is slow gets longer
    lists.
    """
    batch, last = list[Record](), -math.inf
    for record in records:
        batch.append(record)
        if record["k"] != "step" or time.monotonic() - last >= seconds:
            yield batch
            batch, last = [], time.monotonic()
    if batch:
        yield batch


class Streams:
    """The lines of the latest runs; safe to share between threads."""

    def __init__(self, seconds: float = BATCH_SECONDS) -> None:
        self._seconds = seconds
        self._lines: OrderedDict[str, list[str]] = OrderedDict()
        self._lock = threading.Lock()

    def texts(self, records: Iterator[Record]) -> Iterator[str]:
        """A text for each batch of records; the first record is the head.

        A text consists of the head, ``{"k":"from","n":…}`` with the number of lines before it, the
        last batch and the new batch. Records that are not steps are sent without delay.
        """
        first = next(records)
        head, lines = line(first), self._stored(first["run"])
        start = 0
        for batch in batches(records, self._seconds):
            sent = len(lines)
            lines += map(line, batch)
            yield _text(head, start, lines)
            start = sent

    def since(self, run: str, count: int) -> str | None:
        """The lines of a run after the first ``count``; None if the run is not stored."""
        lines = self._lines.get(run)
        return None if lines is None else "".join(lines[count:])

    def _stored(self, run: str) -> list[str]:
        """A new list of lines for a run; without a name it is not stored."""
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
