"""The models of a page by the name a visitor chooses."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import asdict

from workbench.errors import ModelError
from workbench.ui.models import BUILTIN, ModelRoom

#: Models opened from the page that are kept; the one unused for longest is let go.
_MOST_OPENED = 2


class ModelRooms:
    """One room a model: those the page was started with, and those its visitors open.

    Safe to share between threads. Only a page that serves its own machine may open more
    models than it was started with (``may_open``): a stranger must not make it read a
    directory or download anything.
    """

    def __init__(
        self,
        offered: Sequence[str | ModelRoom] = (BUILTIN,),
        *,
        may_open: bool = False,
        make: Callable[[str], ModelRoom] = ModelRoom,
    ) -> None:
        rooms = [one if isinstance(one, ModelRoom) else make(one) for one in offered]
        self.may_open = may_open
        self.first = rooms[0]
        self._offered = {_key(room, rooms[:i]): room for i, room in enumerate(rooms)}
        self._opened: OrderedDict[str, ModelRoom] = OrderedDict()
        self._make = make
        self._lock = threading.Lock()

    def get(self, name: str = "") -> ModelRoom:
        """The room of a model by the name the page knows it by; the first for no name.

        Raises: ModelError for one that is not offered here.
        """
        if not name:
            return self.first
        if name in self._offered:
            return self._offered[name]
        if not self.may_open:
            raise ModelError(
                "this page does not open other models",
                "serve it on your own machine: workbench serve --model DIRECTORY-OR-HUB-ID",
            )
        with self._lock:
            if name not in self._opened:
                self._opened[name] = self._make(name)
                while len(self._opened) > _MOST_OPENED:
                    self._opened.popitem(last=False)
            self._opened.move_to_end(name)
            return self._opened[name]

    def known(self) -> list[dict[str, str]]:
        """Name, state and title of every model offered or opened."""
        with self._lock:
            rooms = {**self._offered, **self._opened}
        return [{"name": name, **asdict(room.state())} for name, room in rooms.items()]


def _key(room: ModelRoom, before: Sequence[ModelRoom]) -> str:
    """What the page calls a model: never a path of this machine."""
    short = room.name.rstrip("/").split("/")[-1]
    same = sum(other.name.rstrip("/").split("/")[-1] == short for other in before)
    return f"{short}-{same + 1}" if same else short
