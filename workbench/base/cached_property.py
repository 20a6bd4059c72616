"""``cached_property`` without the lock of Python 3.11.

There one lock serves all instances of a class while a value is computed: work that gives way inside
of it would stop the work of all others on the same property. Since Python 3.12 there is no lock;
two threads may compute the same value, and the later one is kept.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

__all__ = ["cached_property"]

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:
    from collections.abc import Callable
    from typing import Any

    class cached_property:  # noqa: N801 - the name in functools
        """A property whose value is computed once for each instance, in its ``__dict__``."""

        def __init__(self, func: Callable[[Any], Any]) -> None:
            self.func = func
            self.__doc__ = func.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self.name = name

        def __get__(self, instance: object | None, owner: type | None = None) -> object:
            if instance is None:
                return self
            # what has a value is not asked again: the instance's own attribute comes first
            value = instance.__dict__[self.name] = self.func(instance)
            return value
