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
import re
from collections.abc import Collection
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


#: The bytes outside of strings that change the state.
_STRUCTURE = frozenset(b'{}[],"')
#: The bytes that continue a key and begin no escape.
_LETTERS = frozenset(range(256)) - frozenset(b'"\\')
#: The rest of a key, and its quote.
_END_OF_KEY = re.compile(rb'((?:[^"\\]|\\.)*)"', re.DOTALL)
#: Escapes in a row: two surrogates are one character.
_ESCAPES = re.compile(rb"(?:\\(?:u[0-9a-fA-F]{4}|.))+", re.DOTALL)
#: The beginning of an escape, without its backslash.
_HEXADECIMAL = re.compile(rb"u[0-9a-fA-F]{0,3}\Z")


class Keys(NamedTuple):
    """The keys of each open object, the innermost last, and what is being read.

    Keys are in UTF-8, with surrogates that an escape alone may write.
    """

    #: None for an array.
    levels: tuple[frozenset[bytes] | None, ...] = ()
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
        levels, reading, begun = state
        if reading is Place.IN_STRING:
            return _in_string(state, byte)
        if reading is not Place.IN_KEY:
            return _outside(state, byte) if byte in _STRUCTURE else state
        if byte == ord('"') and not _is_open(begun):
            return _after_key(state)
        return Keys(levels, reading, begun + bytes((byte,)))

    def is_final(self, state: Keys) -> bool:
        """Whether nothing is open."""
        return not state.levels and state.place is Place.OUTSIDE

    def finish(self, state: Keys) -> bytes:
        """The end of a string, of a key so that it is new with the value 0, and all brackets."""
        brackets = b"".join(b"]" if keys is None else b"}" for keys in reversed(state.levels))
        if state.place is Place.IN_KEY:
            return self._new(state) + b'":0' + brackets
        return (b'"' if state.place is Place.IN_STRING else b"") + brackets

    def letters(self, state: Keys) -> frozenset[int]:
        """Implements ``ReadsNames``: in a key all bytes but those of escapes, and the quote."""
        in_key = state.place is Place.IN_KEY and not _in_escape(state.begun)
        return _LETTERS if in_key else frozenset()

    def clashes(self, state: Keys, end: bytes) -> Collection[bytes] | None:
        """Implements ``ReadsNames``: what makes a key known before or written in ``end``."""
        match = _END_OF_KEY.match(end)
        if match is None or (b"\\" in state.begun and match[1].startswith(b"\\")):
            return None
        names, current, level = set(state.levels[-1] or ()), Keys(state.levels), len(state.levels)
        for byte in end[match.end() :]:
            after = self.step(current, byte)
            if after is None:
                return None
            if current.place is Place.IN_KEY and after.place is Place.OUTSIDE:
                names.update({_name(current.begun)} if len(after.levels) == level else ())
            if len(after.levels) < level:  # the end of the object
                level = 0
            current = after
        if not self.is_final(current):
            return None
        begin, rest = _name(state.begun), _name(match[1])
        size = len(begin) + len(rest)
        alike = (n for n in names if len(n) >= size and n.startswith(begin) and n.endswith(rest))
        return {name[len(begin) : len(name) - len(rest)] for name in alike}

    def _new(self, state: Keys) -> bytes:
        """A number after which the key is not one of those before; empty if it is new already."""
        keys = state.levels[-1] or frozenset()
        if _name(state.begun) not in keys:
            return b""
        numbers = (str(number).encode() for number in range(len(keys) + 1))
        return next(suffix for suffix in numbers if _name(state.begun + suffix) not in keys)

    def why(self, text: bytes, token: bytes | None) -> str:
        """Why no text continues ``text`` with a token (None: the end); empty if one does."""
        state = self.initial
        for byte in text + (token or b""):
            after = self.step(state, byte)
            if after is None:
                name = _name(state.begun) if state.place is Place.IN_KEY else None
                return "a bracket is closed twice" if name is None else _repetition_text(name)
            state = after
        return "" if token is not None or self.is_final(state) else "the text is not complete"


def _repetition_text(name: bytes) -> str:
    written = json.dumps(name.decode("utf-8", "replace"), ensure_ascii=False)
    return f"this object has the key {written} already"


def _in_string(state: Keys, byte: int) -> Keys:
    if state.begun:
        return Keys(state.levels, state.place)
    if byte == ord("\\"):
        return Keys(state.levels, state.place, b"\\")
    return Keys(state.levels) if byte == ord('"') else state


def _after_key(state: Keys) -> Keys | None:
    keys, name = state.levels[-1] or frozenset(), _name(state.begun)
    if name in keys:
        return None
    return Keys((*state.levels[:-1], keys | {name}))


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


def _in_escape(begun: bytes) -> bool:
    """Whether the next byte may belong to an escape, a hexadecimal one included."""
    return _is_open(begun) or _is_open(_HEXADECIMAL.sub(b"", begun))


def _name(begun: bytes) -> bytes:
    """The key that a reader of JSON makes of the bytes between its quotes."""
    return _ESCAPES.sub(_unescape, begun) if b"\\" in begun else begun


def _unescape(escapes: re.Match[bytes]) -> bytes:
    try:
        text: str = json.loads(b'"' + escapes[0] + b'"')
    except ValueError:  # no grammar of JSON accepts it
        return escapes[0]
    return text.encode("utf-8", "surrogatepass")
