"""What is left to be read, as lists of small nodes: how one unfolds, and what a byte makes of it.

In come the nodes ``reading`` makes of a tree; out come lists that begin with something that
reads a byte or with a call. Nothing here is quick, and nothing is shared with the engine.
"""

from __future__ import annotations

from collections.abc import Iterable

from workbench.automata.dfa import DEAD, Dfa
from workbench.syntax.regex.tree import Ranges

#: A node or a list by its number; two that are alike have one number.
Node = int
List = int

#: The empty list: nothing is left to be read.
NOTHING: List = 0

#: The kinds of node and what follows the kind in its tuple:
#:
#: - ``all``: nodes, one after the other; ``any``: nodes, one of them;
#: - ``repeat``: a node, how often at least, how often at most (None: no end);
#: - ``text``: bytes, all of them; ``byte``: ranges, one byte of them;
#: - ``character``: ranges, and the bytes of the character that have been read;
#: - ``call``: a nonterminal;
#: - ``pieces``: bytes, and where in them the next byte may stand;
#: - ``first``: the lists a regex may be at; it ends where one of them is empty;
#: - ``without``: the lists a regex begins with, those it may be at, and whether a byte was read;
#:   it is dead where one of them is empty;
#: - ``machine``: a machine that was brought as one, and its state;
#: - ``except``: byte strings, the last bytes read, how many may follow (None: no end), and
#:   whether a byte was read.
Shape = tuple[object, ...]


class Terms:
    """All nodes and lists of one grammar."""

    def __init__(self) -> None:
        self._numbers: dict[Shape, Node] = {}
        self.shapes: list[Shape] = []
        self._lists: dict[tuple[Node, List], List] = {}
        #: Every list but the empty one as its first node and the rest.
        self.pairs: list[tuple[Node, List]] = [(-1, -1)]
        self._unfolded: dict[List, tuple[List, ...]] = {}
        self._read: dict[tuple[Node, int], Node | None] = {}

    def node(self, *shape: object) -> Node:
        """The node of a shape."""
        known = self._numbers.get(shape)
        if known is None:
            known = self._numbers[shape] = len(self.shapes)
            self.shapes.append(shape)
        return known

    def before(self, node: Node, rest: List = NOTHING) -> List:
        """A list with one more node in front."""
        pair = node, rest
        known = self._lists.get(pair)
        if known is None:
            known = self._lists[pair] = len(self.pairs)
            self.pairs.append(pair)
        return known

    def unfolded(self, todo: List) -> tuple[List, ...]:
        """The lists one may turn into before a byte is read or a nonterminal called."""
        known = self._unfolded.get(todo)
        if known is None:
            known = self._unfolded[todo] = tuple(sorted(self._unfold(todo)))
        return known

    def _unfold(self, todo: List) -> set[List]:
        seen, waiting, found = {todo}, [todo], set()
        while waiting:
            here = waiting.pop()
            turns, stays = ((), True) if here == NOTHING else self._turns(*self.pairs[here])
            if stays:
                found.add(here)
            waiting.extend(there for there in turns if there not in seen)
            seen.update(turns)
        return found

    def _turns(self, node: Node, rest: List) -> tuple[Iterable[List], bool]:
        """The lists one turns into at once, and whether its first node reads or calls."""
        match self.shapes[node]:
            case ("all", *parts):
                for part in reversed(parts):
                    assert isinstance(part, int)
                    rest = self.before(part, rest)
                return (rest,), False
            case ("any", *parts):
                return [self.before(part, rest) for part in parts if isinstance(part, int)], False
            case ("repeat", int() as part, int() as low, high):
                turns = [rest] if low == 0 else []
                if not isinstance(high, int):
                    again = self.node("repeat", part, max(0, low - 1), None)
                    turns.append(self.before(part, self.before(again, rest)))
                elif high:
                    again = self.node("repeat", part, max(0, low - 1), high - 1)
                    turns.append(self.before(part, self.before(again, rest)))
                return turns, False
            case ("text", b""):
                return (rest,), False
            case ("pieces", *_) | ("without", _, _, True) | ("except", _, _, _, True):
                return (rest,), True
            case ("machine", Dfa() as machine, int() as state):
                return (rest,) if machine.is_final(state) else (), True
        return (), True

    def read(self, node: Node, byte: int) -> Node | None:
        """What a node that reads becomes after a byte: −1 once it is through, None if it cannot."""
        key = node, byte
        if key not in self._read:
            self._read[key] = self._reads(node, byte)
        return self._read[key]

    def _reads(self, node: Node, byte: int) -> Node | None:
        match self.shapes[node]:
            case ("text", bytes() as value):
                if value[0] != byte:
                    return None
                return self.node("text", value[1:]) if len(value) > 1 else -1
            case ("byte", tuple() as ranges):
                return -1 if any(low <= byte <= high for low, high in ranges) else None
            case ("character", tuple() as ranges, bytes() as begun):
                return self._character(ranges, begun + bytes((byte,)))
            case ("pieces", bytes() as value, frozenset() as places):
                after = frozenset(i + 1 for i in places if value[i : i + 1] == bytes((byte,)))
                return self.node("pieces", value, after) if after else None
            case ("machine", Dfa() as machine, int() as state):
                there = machine.step(state, byte)
                return None if there == DEAD else self.node("machine", machine, there)
            case ("first", frozenset() as lists):
                after = self.after(lists, byte)
                if NOTHING in after:
                    return -1
                return self.node("first", after) if after else None
            case ("without", frozenset() as whole, frozenset() as lists, _):
                after = self.after(lists, byte)
                if NOTHING in after:
                    return None
                return self.node("without", whole, after | whole, True)
            case ("except", tuple() as strings, bytes() as last, left, _):
                return self._excepting(strings, last + bytes((byte,)), left)
        raise TypeError(f"{self.shapes[node]} reads nothing")

    def after(self, lists: frozenset[List], byte: int) -> frozenset[List]:
        """The lists, unfolded, that some unfolded lists without calls become after a byte."""
        found: set[List] = set()
        for todo in lists - {NOTHING}:
            node, rest = self.pairs[todo]
            there = self.read(node, byte)
            if there is not None:
                found.update(self.unfolded(rest if there < 0 else self.before(there, rest)))
        return frozenset(found)

    def _character(self, ranges: Ranges, data: bytes) -> Node | None:
        """A character of the ranges of which some bytes have been read."""
        points = characters_from(data)
        if points is None or not any(
            low <= points[1] and points[0] <= high for low, high in ranges
        ):
            return None
        whole = points[0] == points[1] and chr(points[0]).encode() == data
        return -1 if whole else self.node("character", ranges, data)

    def _excepting(self, strings: tuple[bytes, ...], data: bytes, left: object) -> Node | None:
        if left == 0 or any(string in data for string in strings):
            return None
        kept = max(map(len, strings)) - 1
        last = data[max(0, len(data) - kept) :]
        return self.node("except", strings, last, left - 1 if isinstance(left, int) else None, True)


#: The number of bytes of a character by its first byte, and the first byte's own bits.
_FIRSTS = ((0x00, 0x80, 1, 0x7F), (0xC2, 0xE0, 2, 0x1F), (0xE0, 0xF0, 3, 0x0F), (0xF0, 0xF5, 4, 7))


def characters_from(data: bytes) -> tuple[int, int] | None:
    """The least and the greatest code point whose UTF-8 begins with some bytes, if there is one.

    Surrogates in between are of no account: no range of a tree holds one.
    Source: RFC 3629, §3.
    """
    found = [(length, bits) for first, end, length, bits in _FIRSTS if first <= data[0] < end]
    if not found:
        return None
    length, bits = found[0]
    if len(data) > length or any(byte & 0xC0 != 0x80 for byte in data[1:]):
        return None
    point = data[0] & bits
    for byte in data[1:]:
        point = point << 6 | byte & 0x3F
    left = 6 * (length - len(data))
    shortest = (0, 0, 0x80, 0x800, 0x10000)[length]
    least, most = max(point << left, shortest), min((point + 1 << left) - 1, 0x10FFFF)
    return (least, most) if least <= most else None
