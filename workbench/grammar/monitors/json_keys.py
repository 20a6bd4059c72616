"""The monitor ``keys``: no object of a JSON text has a key twice.

JSON readers keep the last of two members with one key, so a text can say less than its grammar
demands: ``minProperties`` counts members, and a value that the reader drops may be the one that
satisfies a negated condition. An automaton cannot know which keys were written, as they are
arbitrary texts; the monitor remembers them, for each open object.

Keys are compared as they are read: ``"a"`` and ``"\\u0061"`` are one key.

Source: RFC 8259, §4: the names within an object should be unique.
"""

from __future__ import annotations

import json
from enum import Enum, auto
from typing import NamedTuple


class Place(Enum):
    """What the next byte belongs to."""

    #: A value, or what is between values and members.
    OUTSIDE = auto()
    #: The same, where a string is a key: after ``{``, and after ``,`` in an object.
    BEFORE_KEY = auto()
    IN_KEY = auto()
    #: A string that is no key.
    IN_STRING = auto()


class Keys(NamedTuple):
    """The keys of each open object, the innermost last, and what is being read."""

    #: None for an array.
    levels: tuple[frozenset[str] | None, ...] = ()
    place: Place = Place.OUTSIDE
    #: The bytes of a key read until now; of other strings only a backslash before the next byte.
    begun: bytes = b""


class KeyMonitor:
    """JSON texts without a repeated key; other texts are read as far as their strings allow.

    Cost: a set of keys for each open object.
    """

    initial = Keys()

    def step(self, state: Keys, byte: int) -> Keys | None:
        """The state after a byte; None after the quote that ends a repeated key."""
        match state.place:
            case Place.IN_STRING:
                return _in_string(state, byte)
            case Place.IN_KEY if byte == ord('"') and not _is_open(state.begun):
                return _after_key(state)
            case Place.IN_KEY:
                return state._replace(begun=state.begun + bytes((byte,)))
        return _outside(state, byte)

    def is_final(self, state: Keys) -> bool:
        """Whether nothing is open."""
        return not state.levels and state.place is Place.OUTSIDE

    def finish(self, state: Keys) -> bytes:
        """The end of a string, of a key so that it is new with the value 0, and all brackets."""
        brackets = b"".join(b"]" if keys is None else b"}" for keys in reversed(state.levels))
        if state.place is Place.IN_KEY:
            return self._new(state) + b'":0' + brackets
        return b'"' * (state.place is Place.IN_STRING) + brackets

    def _new(self, state: Keys) -> bytes:
        """A number after which the key is not one of those before; empty if it is new already."""
        known = state.levels[-1] or frozenset()
        if _name(state.begun) not in known:
            return b""
        numbers = (str(number).encode() for number in range(len(known) + 1))
        return next(one for one in numbers if _name(state.begun + one) not in known)

    def why(self, text: bytes, token: bytes | None) -> str:
        """Why no text continues ``text`` with a token (None: the end); empty if one does."""
        state = self.initial
        for byte in text + (token or b""):
            after = self.step(state, byte)
            if after is None:
                name = _name(state.begun) if state.place is Place.IN_KEY else None
                return "a bracket is closed twice" if name is None else _repeated(name)
            state = after
        return "" if token is not None or self.is_final(state) else "the text is not complete"


def _repeated(name: str) -> str:
    return f"this object has the key {json.dumps(name, ensure_ascii=False)} already"


def _in_string(state: Keys, byte: int) -> Keys:
    if state.begun:
        return state._replace(begun=b"")
    if byte == ord("\\"):
        return state._replace(begun=b"\\")
    return state._replace(place=Place.OUTSIDE) if byte == ord('"') else state


def _after_key(state: Keys) -> Keys | None:
    known, name = state.levels[-1] or frozenset(), _name(state.begun)
    if name in known:
        return None
    return Keys((*state.levels[:-1], known | {name}))


def _outside(state: Keys, byte: int) -> Keys | None:
    levels = state.levels
    match chr(byte):
        case "{":
            return Keys((*levels, frozenset()), Place.BEFORE_KEY)
        case "[":
            return Keys((*levels, None))
        case "}" | "]":
            return Keys(levels[:-1]) if levels else None
        case ",":
            in_object = bool(levels) and levels[-1] is not None
            return Keys(levels, Place.BEFORE_KEY if in_object else Place.OUTSIDE)
        case '"':
            is_key = state.place is Place.BEFORE_KEY
            return Keys(levels, Place.IN_KEY if is_key else Place.IN_STRING)
    return state


def _is_open(begun: bytes) -> bool:
    """Whether the next byte belongs to an escape: an odd number of backslashes is before it."""
    return (len(begun) - len(begun.rstrip(b"\\"))) % 2 == 1


def _name(begun: bytes) -> str:
    """The key that a reader of JSON makes of the bytes between its quotes."""
    text = begun.decode("utf-8", "surrogateescape")
    if "\\" not in text:
        return text
    try:
        name: str = json.loads(f'"{text}"', strict=False)
    except ValueError:  # no grammar of JSON accepts it
        return text
    return name
