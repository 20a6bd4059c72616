"""Runs an iterator ahead of its consumer in a separate thread."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterator
from typing import TypeVar

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
