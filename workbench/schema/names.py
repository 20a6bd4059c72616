"""Sets of names: in come questions about them, out come answers that are remembered.

The same few sets of a schema's names are asked about again and again, and where patterns made
them an answer takes an automaton.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from workbench.schema.texts import Texts

if TYPE_CHECKING:
    from workbench.schema.values import Later


@lru_cache(maxsize=2048)
def nobody(names: Texts) -> bool:
    """Whether there is no such name."""
    return names.is_empty


@lru_cache(maxsize=2048)
def others(names: Texts) -> Texts:
    """All other names."""
    return ~names


def all_but(names: Iterable[str]) -> Texts:
    """All names but these."""
    return ~Texts.of(names)


def somebody(parts: Iterable[tuple[Texts, Later]]) -> tuple[tuple[Texts, Later], ...]:
    """The parts in which there is a name."""
    return tuple((names, later) for names, later in parts if not nobody(names))
