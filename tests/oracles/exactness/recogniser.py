"""An Earley recogniser that reads one byte at a time and shares only the tree with the engine.

``Terms`` interprets expressions and regexes by derivatives: a node says what is left to read of
one expression, a list is a sequence of nodes. ``_Reader`` builds the nodes of a tree and leaves out
alternatives that derive no text, so every text the recogniser can still read is a prefix of an
accepted text. ``Recogniser`` runs Earley's algorithm over them. A column is the set of items at the
end of a text, each with the column in which it began. Texts with equal item sets share a column,
so each column is built once and its successors are cached. Speed is no aim.

Extensions of regexes (``regex_dfa``) and terminals that are automata use the engine's DFAs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product

from workbench.automata.build import regex_dfa
from workbench.base.dfa import DEAD, Dfa
from workbench.syntax import grammar_tree as g
from workbench.syntax.grammar_tree import Expression, GrammarTree, Stop
from workbench.syntax.ranges import Ranges
from workbench.syntax.regex import tree as r
from workbench.syntax.regex.tree import Regex

#: A node or a list by its number; equal nodes share one number.
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
#: - ``pieces``: bytes, and the possible positions of the next byte in them;
#: - ``first``: the lists a regex may be at; it ends where one of them is empty;
#: - ``without``: the lists a regex begins with, those it may be at, and whether a byte was read;
#:   it is dead where one of them is empty;
#: - ``machine``: a terminal given as a DFA, and its state;
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
        """The lists one list expands to in one step, and whether its first node reads or calls."""
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
        """A character of the ranges after its first bytes ``data``."""
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

    Surrogates between them do not matter: no range of a tree contains one.
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


#: A rule's name → its body as a list; rules that derive no text are not there.
Bodies = Mapping[str, List]


def bodies_of_grammar(tree: GrammarTree, terms: Terms) -> Bodies:
    """The rules of a grammar that derive some text."""
    rules: dict[str, list[Expression]] = {}
    for rule in tree.rules:
        rules.setdefault(rule.name, []).append(rule.body)
    reader = _Reader(terms, rules)
    grows = True
    while grows:  # the rules that derive a text by derivations of growing height
        found = {
            name: terms.node("any", *nodes)
            for name, options in rules.items()
            if (nodes := [n for n in map(reader.expression, options) if n is not None])
        }
        grows = found.keys() != reader.known
        reader.known = frozenset(found)
    return {name: terms.before(node) for name, node in found.items()}


def body_of_regex(regex: Regex, terms: Terms) -> Bodies:
    """The one rule of a regex."""
    node = _Reader(terms, {}).regex(regex)
    return {} if node is None else {"start": terms.before(node)}


class _Reader:
    """Nodes of trees; None where a tree derives no text."""

    def __init__(self, terms: Terms, rules: Mapping[str, list[Expression]]) -> None:
        self.terms = terms
        self.rules = rules
        #: The rules known to derive some text.
        self.known: frozenset[str] = frozenset()

    def expression(self, tree: Expression) -> Node | None:
        match tree:
            case g.Literal(value=value):
                return self.terms.node("text", value)
            case g.Nonterminal(name=name):
                return self.terms.node("call", name) if name in self.known else None
            case g.Sequence(items=items):
                return self._all(map(self.expression, items))
            case g.Choice(options=options):
                return self._any(map(self.expression, options))
            case g.Repetition(item=item, low=low, high=high):
                return self._repeat(self.expression(item), low, high)
            case g.Pattern(regex=regex, stop=stop):
                return self._pattern(regex, stop)
            case g.Substrings(value=value):
                return self.terms.node("pieces", value, frozenset(range(len(value))))
            case g.Except(excepted=excepted, limit=limit):
                strings = tuple(sorted(self._strings(excepted)))
                node = self.terms.node("except", strings, b"", limit, False)
                return node if self._reads_something(node) else None
            case g.Automaton(machine=machine):
                return (
                    None
                    if machine.is_empty
                    else self.terms.node("machine", machine, machine.initial)
                )

    def regex(self, tree: Regex) -> Node | None:
        match tree:
            case r.Characters(ranges=ranges):
                return self.terms.node("character", ranges, b"") if ranges else None
            case r.Bytes(ranges=ranges):
                return self.terms.node("byte", ranges) if ranges else None
            case r.Concat(parts=parts):
                return self._all(map(self.regex, parts))
            case r.Alternate(options=options):
                return self._any(map(self.regex, options))
            case r.Repeat(part=part, low=low, high=high):
                return self._repeat(self.regex(part), low, high)
            case r.Group(part=part):
                return self.regex(part)
            case r.Extension():
                machine = regex_dfa(tree)
                return None if machine.is_empty else self.terms.node("machine", machine, 0)
            case r.Look():
                raise TypeError("an assertion is inside an extension")

    def _all(self, nodes: Iterable[Node | None]) -> Node | None:
        found = list(nodes)
        return None if None in found else self.terms.node("all", *found)

    def _any(self, nodes: Iterable[Node | None]) -> Node | None:
        found = [node for node in nodes if node is not None]
        return self.terms.node("any", *found) if found else None

    def _repeat(self, node: Node | None, low: int, high: int | None) -> Node | None:
        if node is None:
            return self.terms.node("all") if low == 0 else None
        return self.terms.node("repeat", node, low, high)

    def _pattern(self, regex: Regex, stop: Stop) -> Node | None:
        node = self.regex(regex)
        lists = frozenset(() if node is None else self.terms.unfolded(self.terms.before(node)))
        if stop is Stop.ANYWHERE:
            return node
        if stop is Stop.FIRST_MATCH:  # the empty match is none
            node = self.terms.node("first", lists - {NOTHING})
            return node if self._reads_something(node) else None
        if NOTHING in lists:
            return None  # the empty piece of every text is matched
        node = self.terms.node("without", lists, lists, False)
        return node if self._reads_something(node) else None

    def _reads_something(self, node: Node) -> bool:
        return any(self.terms.read(node, byte) is not None for byte in range(256))

    def _strings(self, tree: Expression) -> set[bytes]:
        """The strings of an alternation of strings."""
        match tree:
            case g.Literal(value=value):
                return {value}
            case g.Nonterminal(name=name):
                return set().union(*map(self._strings, self.rules[name]))
            case g.Choice(options=options):
                return set().union(*map(self._strings, options))
            case g.Sequence(items=items):
                return {b"".join(parts) for parts in product(*map(self._strings, items))}
        raise TypeError(f"except! takes strings, not {type(tree).__name__}")


#: The number of a column.
Column = int

#: No accepted text begins with the text read.
DEAD_COLUMN: Column = -1
#: The origin of an item that began in the column itself.
_HERE: Column = -2

#: A nonterminal being read, what is left of it, and the column in which it began.
_Item = tuple[str, List, Column]

#: The nonterminal of the whole text.
_WHOLE = ""


@dataclass(frozen=True, slots=True, eq=False)
class _Content:
    """The items of a column, by what they do next."""

    accepts: bool
    #: The items that read a byte.
    reading: list[_Item]
    #: Nonterminal begun in this column → the items that continue after it.
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
    def n_columns(self) -> int:
        """The number of columns built so far."""
        return len(self._contents)

    def accepts(self, column: Column) -> bool:
        """Whether the text is in the language."""
        return column != DEAD_COLUMN and self._contents[column].accepts

    def step(self, column: Column, byte: int) -> Column:
        """The column after one more byte, or ``DEAD``."""
        terms, after = self.terms, set()
        if column == DEAD_COLUMN:
            return DEAD_COLUMN
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
            if here == DEAD_COLUMN:
                break
            here = self.step(here, byte)
        return here

    def _column(self, items: frozenset[_Item]) -> Column:
        if not items:
            return DEAD_COLUMN
        known = self._numbers.get(items)
        if known is None:
            content = self._closed(items)
            known = self._numbers[items] = len(self._contents)
            self._contents.append(content)
        return known

    def _closed(self, kernel: frozenset[_Item]) -> _Content:
        """Predict and complete from the items that have just read a byte."""
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

        for name, todo, origin in items:  # a worklist: ``add`` appends to it
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
        """The items that continue after a nonterminal that began in column ``origin``."""
        if origin == _HERE:
            return list(here.get(name, ()))
        if name == _WHOLE:
            return []
        return [
            (caller, rest, origin if began == _HERE else began)
            for caller, rest, began in self._contents[origin].waiting.get(name, ())
        ]
