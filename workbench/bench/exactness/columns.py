"""Recogniser: a tree in, and for every text a column: what may have been read, what may follow.

Earley's algorithm, byte by byte. A column holds the items at the end of a text, each with the
column it began in. Two texts whose items agree, origins and all, have the same column, so a
column is made once, and what it becomes after a byte is remembered.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from workbench.bench.exactness.reading import Bodies
from workbench.bench.exactness.terms import NOTHING, List, Terms

#: The number of a column.
Column = int

#: No text begins so.
DEAD: Column = -1
#: The column an item began in, if that is its own.
_HERE: Column = -2

#: A nonterminal being read, what is left of it, and the column it began in.
_Item = tuple[str, List, Column]

#: The nonterminal of the whole text.
_WHOLE = ""


@dataclass(frozen=True, slots=True, eq=False)
class _Content:
    """What a column says."""

    accepts: bool
    #: The items that read a byte.
    reading: list[_Item]
    #: The items that wait for a nonterminal begun here, after it.
    waiting: dict[str, list[_Item]]


class Recogniser:
    """The columns of one grammar.

    Source: Earley 1970, "An efficient context-free parsing algorithm"; nullable rules as in
            Aycock & Horspool 2002, by remembering what was found to be empty.
    """

    def __init__(self, bodies: Bodies, start: str, terms: Terms) -> None:
        self.terms = terms
        self._bodies = bodies
        self._numbers: dict[frozenset[_Item], Column] = {}
        self._contents: list[_Content] = []
        whole = [(_WHOLE, bodies[start], _HERE)] if start in bodies else []
        #: The column of the empty text.
        self.initial = self._column(frozenset(whole))

    @property
    def met(self) -> int:
        """How many columns there are so far."""
        return len(self._contents)

    def accepts(self, column: Column) -> bool:
        """Whether the text is in the language."""
        return column != DEAD and self._contents[column].accepts

    def step(self, column: Column, byte: int) -> Column:
        """The column after one more byte, or ``DEAD``."""
        terms, after = self.terms, set()
        if column == DEAD:
            return DEAD
        for name, todo, origin in self._contents[column].reading:
            node, rest = terms.pairs[todo]
            there = terms.read(node, byte)
            if there is not None:
                left = rest if there < 0 else terms.before(there, rest)
                after.add((name, left, column if origin == _HERE else origin))
        return self._column(frozenset(after))

    def run(self, text: Iterable[int]) -> Column:
        """The column of a text, or ``DEAD``."""
        here = self.initial
        for byte in text:
            if here == DEAD:
                break
            here = self.step(here, byte)
        return here

    def _column(self, items: frozenset[_Item]) -> Column:
        if not items:
            return DEAD
        known = self._numbers.get(items)
        if known is None:
            content = self._closed(items)
            known = self._numbers[items] = len(self._contents)
            self._contents.append(content)
        return known

    def _closed(self, kernel: frozenset[_Item]) -> _Content:
        """Everything that follows from the items that have just read a byte."""
        items = sorted(kernel)
        seen = set(items)
        empty: set[str] = set()
        content_waiting: dict[str, list[_Item]] = {}
        reading: list[_Item] = []
        accepts = False

        def add(item: _Item) -> None:
            if item not in seen:
                seen.add(item)
                items.append(item)

        for name, todo, origin in items:  # grows while it is read
            for unfolded in self.terms.unfolded(todo):
                if unfolded == NOTHING:
                    if name == _WHOLE:
                        accepts = True
                    elif origin == _HERE:
                        empty.add(name)
                    for item in self._waiting(name, origin, content_waiting):
                        add(item)
                    continue
                node, rest = self.terms.pairs[unfolded]
                shape = self.terms.shapes[node]
                if shape[0] != "call":
                    reading.append((name, unfolded, origin))
                    continue
                called = str(shape[1])
                content_waiting.setdefault(called, []).append((name, rest, origin))
                add((called, self._bodies[called], _HERE))
                if called in empty:
                    add((name, rest, origin))
        return _Content(accepts, list(dict.fromkeys(reading)), content_waiting)

    def _waiting(self, name: str, origin: Column, here: dict[str, list[_Item]]) -> list[_Item]:
        """The items that go on once a nonterminal that began in a column is read."""
        if origin == _HERE:
            return list(here.get(name, ()))
        if name == _WHOLE:
            return []
        return [
            (caller, rest, origin if began == _HERE else began)
            for caller, rest, began in self._contents[origin].waiting.get(name, ())
        ]
