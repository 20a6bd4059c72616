"""Names of rules that nobody wrote: a name that says what for in, one that is free out."""

from __future__ import annotations

from collections.abc import Iterable


class Names:
    """The names that are taken."""

    def __init__(self, taken: Iterable[str]) -> None:
        self.taken = set(taken)

    def fresh(self, base: str) -> str:
        """The name, or with a number after it, such as no rule has; it is taken from now on."""
        name, number = base, 1
        while name in self.taken:
            number += 1
            name = f"{base}_{number}"
        self.taken.add(name)
        return name
