"""Conflicts of a stack machine, explained with the rules' names.

In come the ``Network`` the engine runs, and the rules as they were written; out come
``Conflict`` values, each with a shortest text after which one character can be read in two ways.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest

from workbench.automata.code_points import character_edges
from workbench.automata.describe import describe
from workbench.base.dfa import DEAD, State
from workbench.base.errors import LimitError
from workbench.base.limits import LIMITS, Limits
from workbench.base.source import Span
from workbench.pushdown.network import Move, Network
from workbench.pushdown.runner import Runner
from workbench.pushdown.shortest_texts import Shortest, rank
from workbench.syntax.grammar_tree import GrammarTree
from workbench.syntax.ranges import Ranges, intersection, normalized

#: The most characters of an example shown in a sentence.
_SHOWN = 60

#: Ways to read a byte that are compared with each other.
_MOST_WAYS = 100

#: The two ways in words, and the rules between which it cannot decide.
_Choice = tuple[str, tuple[str, ...]]

#: First bytes of characters that have more of them, and how many bits the others add.
_LEADS = ((0xC2, 0xDF, 6), (0xE0, 0xEF, 12), (0xF0, 0xF4, 18))


@dataclass(frozen=True, slots=True)
class Words:
    """What is said of a conflict."""

    message: str
    #: The two ways, without the example: places that read alike are told once.
    choice: str
    next: Ranges
    #: The bytes that can be read in these two ways.
    bytes: tuple[int, ...]
    rules: tuple[str, ...]
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True, order=True)
class _Way:
    """One way to read a byte: the states of all rules being read, before and after."""

    before: tuple[State, ...]
    after: tuple[State, ...]

    def depth(self) -> tuple[int, _Way]:
        return len(self.before), self


class Teller:
    """Puts conflicts into words, by the rules of the first network that sees two ways.

    The rules as they were written come first, the machine's own after them: names are
    lost where rules are written into others, and ways where a stack says less.
    """

    def __init__(
        self, networks: Sequence[Network], tree: GrammarTree | None, limits: Limits
    ) -> None:
        self._runners = [Runner(network, limits) for network in networks]
        rules = tree.rules if tree else ()
        self._spans = {rule.name: rule.name_span for rule in reversed(rules)}

    def words(self, text: bytes, columns: Sequence[Sequence[int]]) -> list[Words]:
        """What can be done with some bytes after a text; bytes with the same words together."""
        found: dict[_Choice, list[int]] = {}
        for members in columns:
            found.setdefault(self._choice(text, members[0]), []).extend(members)
        return [self._words(text, choice, members) for choice, members in found.items()]

    def _words(self, text: bytes, choice: _Choice, members: Sequence[int]) -> Words:
        said, rules = choice
        following = self._following(text, members)
        place = f"after {shown(text)}" if text else "at the beginning"
        return Words(
            message=f"{place}, {_spoken(following, members)} can {said}",
            choice=said,
            next=following or normalized([(byte, byte) for byte in members]),
            bytes=tuple(sorted(members)),
            rules=rules,
            spans=tuple(self._spans[name] for name in rules if name in self._spans),
        )

    def _following(self, text: bytes, members: Sequence[int]) -> Ranges:
        """The characters that begin with some bytes and can be read after a text."""
        following = characters(members)
        if not following or max(members) < 0x80:
            return following
        runner = self._runners[-1]
        edges = character_edges(runner.step, runner.run(text), runner.classes)
        return intersection(following, normalized([one for pieces, _ in edges for one in pieces]))

    def _choice(self, text: bytes, byte: int) -> _Choice:
        for runner in self._runners:
            # compared in pairs, and an ambiguous grammar has thousands: the shallowest tell
            ways = sorted(nsmallest(_MOST_WAYS, set(_ways(runner, text, byte)), _Way.depth))
            names = _Names(runner.network, self._spans, frozenset(self._runners[-1].network.names))
            if (choice := names.choice(ways)) is not None:
                return choice
        return "be read in two ways", ()


def _ways(runner: Runner, text: bytes, byte: int) -> Iterator[_Way]:
    """All ways a byte can be read after a text; none where they are too many to tell apart."""
    try:
        here = runner.run(text)
    except LimitError:
        return
    if here == DEAD:
        return
    byte_class = int(runner.classes[byte])
    for state, node in runner.configurations(here):
        stack = runner.stack(node)
        for target, pushed in runner.network.moves(state, byte_class):
            yield _Way((*stack, state), (*stack, *pushed, target))


@dataclass(frozen=True, slots=True)
class _Names:
    """The clearest two of several ways, in words."""

    network: Network
    spans: Mapping[str, Span]
    #: The rules the machine calls; it does not mind how the others begin.
    called: frozenset[str]

    def choice(self, ways: Sequence[_Way]) -> _Choice | None:
        """The two ways and their rules; None where there are not two."""
        calls = {way: self._calls(way) for way in ways}
        pairs = [(one, other) for one in ways for other in ways if one.after != other.after]
        apart = [(one, other) for one, other in pairs if calls[one] != calls[other]]
        pairs = apart or pairs
        for one, other in pairs:
            if one.before[: len(other.before)] == other.before != one.before:
                return self._after_a_rule(one, other)
        for one, other in pairs:
            if one.before == other.before:
                return self._from_one_place(one, other)
        return self._elsewhere(*pairs[0]) if pairs else None

    def _calls(self, way: _Way) -> list[str]:
        """The rules of a way that the machine calls as well."""
        return [name for name in map(self._rule, way.after) if name in self.called]

    def _after_a_rule(self, inner: _Way, outer: _Way) -> _Choice:
        ended = self._rule(inner.before[len(outer.before)])
        around = self._rule(outer.before[-1])
        if ended == around:
            return f"belong to {ended!r} or to the {around!r} around it", (ended,)
        return f"belong to {ended!r} or come after it in {around!r}", (ended, around)

    def _from_one_place(self, one: _Way, other: _Way) -> _Choice:
        at = _parting(one.after, other.after)
        here = [self._rule(way.after[at]) for way in (one, other)]
        if here[0] != here[1]:
            first, second = sorted(here, key=self._order)
            return f"begin {first!r} or {second!r}", (first, second)
        around = here[0]
        begun = [self._rule(way.after[at + 1]) for way in (one, other) if len(way.after) > at + 1]
        if len(begun) == 2 and begun[0] == begun[1]:
            return f"begin {begun[0]!r} in two places of {around!r}", (begun[0], around)
        if len(begun) == 2:
            first, second = sorted(begun, key=self._order)
            return f"begin {first!r} or {second!r}", (first, second)
        inner = begun[0] if begun else around
        if inner == around:
            return f"begin an inner {inner!r} or be read by the {around!r} around it", (inner,)
        return f"begin {inner!r} or be read by {around!r} itself", (inner, around)

    def _elsewhere(self, one: _Way, other: _Way) -> _Choice:
        at = _parting(one.after, other.after)
        names = [self._rule(way.after[at]) for way in (one, other)]
        if names[0] == names[1]:
            names = [self._rule(way.after[min(at + 1, len(way.after) - 1)]) for way in (one, other)]
        first, second = sorted(names, key=self._order)
        if first == second:
            return f"be read in two places of {first!r}", (first,)
        return f"be read by {first!r} or {second!r}", (first, second)

    def _rule(self, state: State) -> str:
        return self.network.names[int(self.network.owner[state])]

    def _order(self, name: str) -> tuple[int, str]:
        """Rules in the order they are written."""
        return (self.spans[name].start if name in self.spans else 0), name


def _parting(one: Sequence[State], other: Sequence[State]) -> int:
    """The first place at which two lists of states differ."""
    return next(
        (i for i, (left, right) in enumerate(zip(one, other, strict=False)) if left != right),
        min(len(one), len(other)) - 1,
    )


def characters(members: Sequence[int]) -> Ranges:
    """The characters that begin with one of some bytes; none where one of them begins none."""
    found: list[tuple[int, int]] = []
    for byte in members:
        if byte < 0x80:
            found.append((byte, byte))
            continue
        bits = next((bits for low, high, bits in _LEADS if low <= byte <= high), None)
        if bits is None:
            return ()
        base = (byte & (0x1F if bits == 6 else 0x0F if bits == 12 else 0x07)) << bits
        least = 0x800 if byte == 0xE0 else 0x10000 if byte == 0xF0 else base
        found.append((max(base, least), min(base + (1 << bits) - 1, 0x10FFFF)))
    return normalized(found)


def shown(text: bytes) -> str:
    """A text in quotes, cut on the left where it is long: its end is the place spoken of."""
    told = text.decode("utf-8", "backslashreplace")
    return repr(told if len(told) <= _SHOWN else "…" + told[-_SHOWN:])


def _spoken(following: Ranges, members: Sequence[int]) -> str:
    if not following:
        return "a byte " + (f"{members[0]:#04x}" if len(members) == 1 else "inside a character")
    if following[0][0] == following[-1][1]:
        return repr(chr(following[0][0]))
    return describe(following)


#: So many conflicts are told; an author mends one at a time.
_TOLD = 10

#: So many places are put into words; several may come to the same words.
_PUT_INTO_WORDS = 60

HINT = (
    "the engine follows both; a deterministic grammar would let them begin with different "
    "characters, or mark where the first one ends"
)


@dataclass(frozen=True, slots=True)
class Conflict:
    """A place where one character can be read in two ways.

    ``message`` is a whole sentence: after ``example``, ``next`` can do one thing or another.
    """

    message: str
    #: A shortest text after which the machine cannot know.
    example: str
    #: The same as bytes: it may end inside a character.
    text: bytes
    #: The characters that can be read in two ways; bytes where the text ends inside a character.
    next: Ranges
    #: The bytes of these characters that are read first.
    bytes: tuple[int, ...]
    #: The rules between which it cannot decide, and where they are written.
    rules: tuple[str, ...]
    spans: tuple[Span, ...]
    hint: str = HINT


@dataclass(frozen=True, slots=True)
class Clash:
    """A text and the bytes that can be read in two ways after it."""

    text: bytes
    #: Bytes that are read alike everywhere stand together, the most readable first.
    columns: tuple[tuple[int, ...], ...]


def conflicts(
    network: Network,
    written: Callable[[], Network] | None = None,
    tree: GrammarTree | None = None,
    limits: Limits = LIMITS,
) -> tuple[Conflict, ...]:
    """The conflicts of a machine, the nearest first, at most ten.

    ``written`` makes the rules apart (``rule_network``), by whose names the conflicts are
    told; it is asked only where there is one. Places that read alike are told once. What
    is found before the time is over is told.

    Source: Koo et al. 2024, §3.1 ("detects non-deterministic grammars and signals an
            error"); here the engine goes both ways, so it is advice.
    """
    told: dict[str, Conflict] = {}
    try:
        if not (found := clashes(network, limits)):
            return ()
        teller = Teller([written() if written else network, network], tree, limits)
        for clash in found[:_PUT_INTO_WORDS]:
            for words in teller.words(clash.text, clash.columns):
                told.setdefault(words.choice, _conflict(clash.text, words))
            if len(told) >= _TOLD:
                break
    except LimitError:
        pass  # advice is worth no more than the time it has
    return tuple(told.values())[:_TOLD]


def _conflict(text: bytes, words: Words) -> Conflict:
    return Conflict(
        message=words.message,
        example=text.decode("utf-8", "backslashreplace"),
        text=text,
        next=words.next,
        bytes=words.bytes,
        rules=words.rules,
        spans=words.spans,
    )


def clashes(network: Network, limits: Limits = LIMITS) -> list[Clash]:
    """All places at which a byte leads two ways, with a shortest text to each, nearest first.

    A place is a state, with the return states below it that are reached by ending rules.
    It clashes where two calls begin with the same byte, a call and the state itself, or
    the state and what comes after its rule. None: every text is read in one way.

    Raises: LimitError past ``limits.seconds``.
    Cost: about the edges of the network, once for every way its rules can end.
    """
    if len(network.names) == 1 and not any(network.calling):
        return []
    shortest = Shortest(network, limits)
    found = dict.fromkeys(_clashes_at(network, shortest))
    return sorted(found, key=lambda clash: (rank(clash.text), clash.columns))


def _clashes_at(network: Network, shortest: Shortest) -> Iterator[Clash]:
    moves: dict[State, dict[int, list[Move]]] = {}
    for state in _places(network, shortest):
        shortest.clock.check()
        moves[state] = _moves(network, shortest, state)
    for state, own in moves.items():
        shortest.clock.check()
        before = shortest.to(state)
        if before is None:
            continue
        columns = [c for c, found in own.items() if len(_settled(network, found, ())) > 1]
        if columns:
            yield _clash(shortest, before, columns)
        if not network.finals[state] or not own or state not in shortest.arrived:
            continue
        for way in shortest.ways_back(int(network.owner[state])):
            place = way.chain[-1]
            if way.chain[0] == state and network.stars[state]:
                continue  # the runner keeps no such state above itself
            theirs = moves.get(place) or {}
            columns = [
                column
                for column, found in own.items()
                if column in theirs
                and len(
                    _settled(network, found, way.chain[::-1])
                    | _settled(network, theirs[column], ())
                )
                > 1
            ]
            if columns:
                outer = shortest.before[int(network.owner[place])]
                yield _clash(shortest, outer + way.text + shortest.arrived[state], columns)


def _places(network: Network, shortest: Shortest) -> list[State]:
    """The states a machine can stand in between two bytes."""
    return sorted({network.initial, *shortest.arrived})


def _moves(network: Network, shortest: Shortest, state: State) -> dict[int, list[Move]]:
    """Where bytes lead from a state, by column."""
    found: dict[int, list[Move]] = {}
    for inner, pushed in network.openings(state):
        for column, target in shortest.edges(inner):
            found.setdefault(column, []).append((target, pushed))
    return found


def _settled(network: Network, moves: Sequence[Move], below: tuple[State, ...]) -> set[Move]:
    """Moves as the runner keeps them, above the same stack: finished rules gone at once."""
    return {_settle(network, target, (*below, *pushed)) for target, pushed in moves}


def _settle(network: Network, target: State, stack: tuple[State, ...]) -> Move:
    kept: list[State] = []
    for symbol in stack:
        if not (kept and kept[-1] == symbol and network.stars[symbol]):
            kept.append(symbol)
    while kept and (
        (network.finals[target] and not network.goes_on[target])
        or (network.stars[target] and target == kept[-1])
    ):
        target = kept.pop()
    return target, tuple(kept)


def _clash(shortest: Shortest, text: bytes, columns: Sequence[int]) -> Clash:
    return Clash(text, tuple(members for c, members in shortest.columns.items() if c in columns))
