"""Situations: rules and a text in; out come all ways to have read it, with the calls on each.

A recogniser for explanations: it keeps all ways to read a text, however ambiguous, and the places
where rules were called. Masks are made from machines that have forgotten these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from workbench.limits import Clock
from workbench.pushdown.pieces import Call, Piece
from workbench.pushdown.positions import END, Position, Positions

#: What is left to be read of a caller, the caller, and where it called.
_Return = tuple[Position, "Reading", Call]

_Item = tuple[Position, "Reading"]

#: Items between looks at the clock.
_ITEMS = 256


@dataclass(slots=True, eq=False)
class Reading:
    """A rule being read from one place of the text on, whoever called it there."""

    rule: str
    #: How many bytes stand before it.
    began: int
    #: Calls between the start rule and it, on the shortest way.
    depth: int
    #: Where it was called; in the order it was found out.
    callers: dict[_Return, None] = field(default_factory=dict)
    #: The same with callers that end with it left out for theirs; known after the place is passed.
    returns: tuple[_Return, ...] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Situation:
    """All that may be going on between two bytes."""

    #: What is left of a rule, and the reading of that rule; those alone that read on.
    items: tuple[_Item, ...]
    #: Whether the text may end here.
    ends: bool
    #: How many bytes have been read.
    bytes_read: int


class Situations:
    """Reads texts from one situation to the next; situations never change.

    Cost:   the items of each situation: a few dozen for grammars in use, up to the length of
            the text where a rule has been read from everywhere; right recursion adds none.
    Source: Earley 1970; the readings are the stack graph of Tomita 1985, rules that may be empty
            are skipped as in Aycock & Horspool 2002, and calls at the end of a rule return at
            once to where their chain began (Leo 1991).
    """

    def __init__(self, rules: Mapping[str, Piece], start: str, positions: Positions) -> None:
        self._positions = positions
        self._begins = {name: positions.before(piece) for name, piece in rules.items()}
        self.root = Reading(start, 0, 0)

    def initial(self, clock: Clock) -> Situation:
        """Before anything is read."""
        first = (self._begins[self.root.rule], self.root)
        return self._closed({first: None}, {self.root.rule: self.root}, 0, clock)

    def step(self, here: Situation, byte: int, clock: Clock) -> Situation | None:
        """After one more byte, or None where nothing can read it.

        Raises: LimitError when the time of the clock is over.
        """
        found = {
            (there, reading): None
            for position, reading in here.items
            for there in self._positions.step(position, byte)
        }
        return self._closed(found, {}, here.bytes_read + 1, clock) if found else None

    def _closed(
        self, items: dict[_Item, None], begun: dict[str, Reading], bytes_read: int, clock: Clock
    ) -> Situation:
        """The items with all that calls and returns lead to; ``begun`` are rules begun here."""
        ends = False
        waiting = list(items)
        for number, item in enumerate(waiting):  # grows while it is read
            if number % _ITEMS == 0:
                clock.check("the grammar is too ambiguous to list all places")
            position, reading = item
            opened = self._positions.open(position)
            added = [
                (self._begins[call.rule], self._called(call, rest, reading, begun, bytes_read))
                for call, rest in opened.calls
            ]
            if opened.ends:
                ends = ends or reading is self.root
                # what is empty has been skipped, so nothing returns where it began
                if begun.get(reading.rule) is not reading:
                    added += [(rest, caller) for rest, caller, _ in self._returns(reading)]
            for one in added:
                if one not in items:
                    items[one] = None
                    waiting.append(one)
        reading_on = [item for item in waiting if self._positions.open(item[0]).reads]
        return Situation(tuple(reading_on), ends, bytes_read)

    @staticmethod
    def _called(
        call: Call, rest: Position, caller: Reading, begun: dict[str, Reading], bytes_read: int
    ) -> Reading:
        """The reading of a rule that begins here, which has one caller more."""
        reading = begun.get(call.rule)
        if reading is None:
            reading = begun[call.rule] = Reading(call.rule, bytes_read, caller.depth + 1)
        reading.callers[rest, caller, call] = None
        return reading

    def _returns(self, reading: Reading) -> tuple[_Return, ...]:
        """Where a rule returns to; callers that have nothing left to read have returned too."""
        if reading.returns is None:
            found: dict[_Return, None] = {}
            seen = {reading}
            waiting = [reading]
            for one in waiting:  # grows while it is read
                if one.returns is not None:
                    found.update(dict.fromkeys(one.returns))
                    continue
                for back in one.callers:
                    rest, caller, _ = back
                    if rest is not END or caller is self.root:
                        found[back] = None
                    elif caller not in seen:
                        seen.add(caller)
                        waiting.append(caller)
            reading.returns = tuple(found)
        return reading.returns
