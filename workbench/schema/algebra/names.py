"""Sets of names and other strings: in come questions about them, out come remembered answers.

The same few sets of a schema are asked about again and again, and where patterns or formats made
them an answer takes an automaton.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from workbench.schema.strings.texts import Texts

if TYPE_CHECKING:
    from workbench.schema.values import Later, Named


@lru_cache(maxsize=2048)
def nobody(names: Texts) -> bool:
    """Whether there is no such name."""
    return names.is_empty


@lru_cache(maxsize=2048)
def others(names: Texts) -> Texts:
    """All other names."""
    return ~names


@lru_cache(maxsize=2048)
def either(texts: Texts, more: Texts) -> Texts:
    """The strings of both sets together."""
    return texts | more


def all_but(names: Iterable[str]) -> Texts:
    """All names but these."""
    return ~Texts.of(names)


def somebody(parts: Iterable[tuple[Texts, Later]]) -> Named:
    """The parts in which there is a name."""
    return tuple((names, later) for names, later in parts if not nobody(names))
