"""What is computed once from a long-lived object, and kept as long as the object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, TypeVar

from workbench.base.cached_property import cached_property

Value = TypeVar("Value")


class Derives:
    """An object from which modules that it does not know compute tables, each once.

    A table may refer to the object: a dictionary of the module would then keep both for ever.
    """

    @cached_property
    def _derived(self) -> dict[Callable[[Any], Any], Any]:
        return {}

    def derived(self, compute: Callable[[Self], Value]) -> Value:
        """``compute(self)``, computed at the first call; what it raises is raised again next time.

        Two threads may compute it at the same time; the value of the first one is kept.
        """
        if compute not in self._derived:
            self._derived.setdefault(compute, compute(self))
        value: Value = self._derived[compute]
        return value
