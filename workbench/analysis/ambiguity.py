"""Ambiguity: a text that a rule derives in two ways, and its derivations.

In come a ``Cfg`` and a text; out come counts (none, one, two or more) of every rule for every
piece of the text that was asked for.

Whether a grammar is ambiguous cannot be decided (Cantor 1962; Chomsky & Schützenberger 1963), so
texts are tried, those of few pieces first, as long as the limits allow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from heapq import heappop, heappush

import numpy as np

from workbench.base.dfa import DEAD, Dfa
from workbench.base.errors import LimitError
from workbench.base.limits import LIMITS, Limits
from workbench.pushdown.cfg import Cfg, terminals
from workbench.pushdown.network import Network
from workbench.pushdown.runner import Runner, Situation
from workbench.pushdown.shortest_texts import rank, unranked
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    Literal,
    Nonterminal,
    Repetition,
    Sequence,
)
from workbench.syntax.regex.tree import walk

#: More ways than one are all the same.
_MANY = 2

#: Where pieces that begin at a place can end, and in how many ways.
_Ends = dict[int, int]

_Fact = tuple[str, int]


class Derivations:
    """The derivations of one text from one rule.

    Counts are the least ones that fit the rules, so a rule that calls itself without reading
    has one derivation more each time round: many, if it has any. Copies of a repetition
    that read nothing are not told apart.

    Source: the parse forest of general context-free parsing (Lang 1974), counted.
    """

    def __init__(self, cfg: Cfg, rule: str, text: bytes, limits: Limits = LIMITS) -> None:
        self.cfg = cfg
        self.rule = rule
        self.text = text
        self._clock = limits.clock()
        self._facts: dict[_Fact, _Ends] = {}
        self._readers: dict[_Fact, set[_Fact]] = {}
        self._new: list[_Fact] = []
        #: How often a rule may stand inside itself at one place, in readings.
        self._depth = 1
        self._count()

    def of_text(self) -> int:
        """In how many ways the rule derives the whole text: 0, 1 or 2 for more."""
        return self._facts[self.rule, 0].get(len(self.text), 0)

    def _count(self) -> None:
        """Grow all facts the rule asks for until nothing changes."""
        first = (self.rule, 0)
        self._facts[first] = {}
        waiting = [first]
        while waiting:
            self._clock.check()
            fact = waiting.pop()
            self._asking, self._new = fact, []
            name, start = fact
            ends = self._ends(self.cfg.rules[name], start)
            waiting.extend(self._new)
            if ends != self._facts[fact]:
                self._facts[fact] = ends
                waiting.extend(self._readers.get(fact, ()))

    def _ends(self, expression: Expression, start: int) -> _Ends:
        match expression:
            case Literal(value=value):
                return {start + len(value): 1} if self.text.startswith(value, start) else {}
            case Nonterminal(name=name):
                return self._asked((name, start))
            case Choice(options=options):
                found: _Ends = {}
                for option in options:
                    _add(found, self._ends(option, start), 1)
                return found
            case Sequence(items=items):
                here = {start: 1}
                for item in items:
                    here = self._after(here, item)
                return here
            case Repetition(item=item, low=low, high=high):
                return self._repeated(item, low, high, start)
            case _:
                return dict.fromkeys(self._matched(expression, start), 1)

    def _asked(self, fact: _Fact) -> _Ends:
        if fact not in self._facts:
            self._facts[fact] = {}
            self._new.append(fact)
        self._readers.setdefault(fact, set()).add(self._asking)
        return self._facts[fact]

    def _after(self, here: _Ends, item: Expression) -> _Ends:
        found: _Ends = {}
        for place, count in here.items():
            _add(found, self._ends(item, place), count)
        return found

    def _repeated(self, item: Expression, low: int, high: int | None, start: int) -> _Ends:
        """Ends after enough copies that read something; the others may read nothing."""
        enough = 0 if self.cfg.is_nullable(item) else low
        found: _Ends = {}
        here, copies = {start: 1}, 0
        while here and (high is None or copies <= high):
            if copies >= enough:
                _add(found, here, 1)
            longer: _Ends = {}
            for place, count in here.items():
                ends = self._ends(item, place)
                _add(longer, {end: n for end, n in ends.items() if end > place}, count)
            here, copies = longer, copies + 1
        return found

    def _matched(self, terminal: Expression, start: int) -> Iterator[int]:
        assert not isinstance(terminal, Literal | Nonterminal | Choice | Sequence | Repetition)
        machine = self.cfg.machine(terminal)
        state = machine.initial
        for place in range(start, len(self.text) + 1):
            if machine.finals[state]:
                yield place
            if place < len(self.text):
                state = machine.step(state, self.text[place])
                if state == DEAD:
                    return

    # -- readings ------------------------------------------------------------------------------

    def readings(self) -> tuple[str, ...]:
        """Two readings of the text, in brackets by rule; fewer where they look alike."""
        found: dict[str, None] = {}
        whole = len(self.text)
        try:
            # left recursion goes no deeper than the text is long, but for going round in circles
            for self._depth in range(1, whole + _MANY + 1):
                for reading, stop in self._read_rule(self.rule, 0, whole, ()):
                    if stop == whole:
                        found.setdefault(reading)
                    if len(found) == _MANY:
                        return tuple(found)
        except LimitError:
            pass  # that there are two is known already
        return tuple(found)

    def _read_rule(
        self, name: str, start: int, end: int, open_: tuple[tuple[str, int], ...]
    ) -> Iterator[tuple[str, int]]:
        if open_.count((name, start)) >= self._depth or not self._facts.get((name, start)):
            return
        self._clock.check()
        inner = (*open_, (name, start))
        for reading, stop in self._read(self.cfg.rules[name], start, end, inner):
            yield f"{name}({reading})", stop

    def _read(
        self, expression: Expression, start: int, end: int, open_: tuple[tuple[str, int], ...]
    ) -> Iterator[tuple[str, int]]:
        """Readings of an expression from a place, with where they stop."""
        match expression:
            case Nonterminal(name=name):
                yield from self._read_rule(name, start, end, open_)
            case Choice(options=options):
                for option in options:
                    yield from self._read(option, start, end, open_)
            case Sequence(items=items):
                yield from self._read_all(items, start, end, open_)
            case Repetition(item=item, low=low, high=high):
                if low == 0 or self.cfg.is_nullable(item):
                    yield "", start
                if high != 0:
                    left = None if high is None else high - 1
                    rest = Repetition(item, max(low - 1, 0), left, expression.span)
                    for one, place in self._read(item, start, end, open_):
                        if place > start:
                            for more, stop in self._read(rest, place, end, open_):
                                yield _joined(one, more), stop
            case _:
                for stop in self._ends(expression, start):
                    if stop <= end:
                        yield _shown(self.text[start:stop]), stop

    def _read_all(
        self,
        items: tuple[Expression, ...],
        start: int,
        end: int,
        open_: tuple[tuple[str, int], ...],
    ) -> Iterator[tuple[str, int]]:
        if not items:
            yield "", start
            return
        for one, place in self._read(items[0], start, end, open_):
            for more, stop in self._read_all(items[1:], place, end, open_):
                yield _joined(one, more), stop


def _add(found: _Ends, ends: _Ends, times: int) -> None:
    """Count more ways, none of them past many."""
    for end, count in ends.items():
        found[end] = min(_MANY, found.get(end, 0) + count * times)


def _joined(left: str, right: str) -> str:
    return f"{left} {right}" if left and right else left or right


def _shown(piece: bytes) -> str:
    return repr(piece.decode("utf-8", "backslashreplace"))[1:-1]


def literals(expression: Expression) -> Iterator[bytes]:
    """Every literal in an expression, from left to right."""
    return (node.value for node in walk(expression) if isinstance(node, Literal))


#: Examples of a regex among the pieces texts are made of, and how long each may be.
_EXAMPLES, _EXAMPLE_BYTES = 12, 8

#: The longest text tried, in bytes, and the most texts begun.
_LONGEST, _BEGUN = 64, 200_000


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """A text that a rule derives in two ways; so does the grammar every text it stands in."""

    rule: str
    text: bytes
    #: The two ways, in brackets by rule: ``start(start(a) + start(a + a))``; fewer where they
    #: look alike or are too long to follow.
    readings: tuple[str, ...]

    @property
    def example(self) -> str:
        return self.text.decode("utf-8", "backslashreplace")

    @property
    def message(self) -> str:
        """What is said to the author."""
        what = repr(self.example) if self.text else "the empty text"
        return f"the rule {self.rule!r} can read {what} in two ways"

    @property
    def hint(self) -> str:
        """The two ways, and what to do about them."""
        if len(self.readings) == 2:
            return f"either {self.readings[0]} or {self.readings[1]}"
        return "two of its alternatives match it; delete one of them"


@dataclass(frozen=True, slots=True)
class Search:
    """What came of looking for an ambiguous text."""

    found: Ambiguity | None
    #: How many texts had one derivation alone.
    tried: int
    #: All texts of so many pieces were tried; None: there are no others.
    pieces: int | None


def ambiguity(cfg: Cfg, rules: Network, limits: Limits = LIMITS) -> Search:
    """A text with two derivations, of as few pieces as there is one, if one is met in time.

    ``rules`` are the rules apart (``rule_network``). Every rule is tried for itself, so
    that what leads to it need not be found first. Texts are made of the grammar's
    literals and of examples of its regexes: one of each set of characters that all
    terminals treat alike, and short texts of loops. A terminal has one derivation however
    it matches inside; copies in a repetition that read nothing are none.

    Source: breadth-first, as in bounded ambiguity checking (Axelsson, Heljanko & Lange
            2008), by counting instead of SAT.
    """
    work = limits.begun() if limits.began is None else limits
    clock, pieces = work.clock(), _pieces(cfg)
    tried = 0
    runners = [Runner(replace(rules, start=rule), work) for rule in range(len(rules.names))]
    count = 0
    open_ = _Open()
    for rule, runner in enumerate(runners):
        open_.begin(0, rule, b"", runner.initial)
    try:
        while open_ and len(open_.begun) <= _BEGUN:
            clock.check()
            count, rule, text, here = open_.next()
            if runners[rule].is_final(here):
                counted = Derivations(cfg, rules.names[rule], text, work)
                if counted.of_text() > 1:
                    found = Ambiguity(rules.names[rule], text, counted.readings())
                    return Search(found, tried, count)
                tried += 1
            for piece in pieces:
                open_.begin(count + 1, rule, text + piece, runners[rule].run(piece, here))
    except LimitError:
        pass  # what was found until then is the answer
    return Search(None, tried, max(count - 1, 0) if open_ else None)


class _Open:
    """The texts of each rule that wait to be tried: few pieces first, callees before callers."""

    def __init__(self) -> None:
        self.begun: set[tuple[int, bytes]] = set()
        self._heap: list[tuple[int, tuple[int, bytes], int, Situation]] = []

    def __bool__(self) -> bool:
        return bool(self._heap)

    def begin(self, pieces: int, rule: int, text: bytes, here: Situation) -> None:
        if here != DEAD and len(text) <= _LONGEST and (rule, text) not in self.begun:
            self.begun.add((rule, text))
            heappush(self._heap, (pieces, rank(text), -rule, here))

    def next(self) -> tuple[int, int, bytes, Situation]:
        pieces, order, before, here = heappop(self._heap)
        return pieces, -before, unranked(order), here


def _pieces(cfg: Cfg) -> list[bytes]:
    """The literals of a grammar and examples of its other terminals, the shortest first."""
    machines = [cfg.machine(one) for body in cfg.rules.values() for one in terminals(body)]
    found = {value for body in cfg.rules.values() for value in literals(body) if value}
    if machines:
        told_apart = np.stack([machine.classes[:256] for machine in machines])
        for value in found:
            alone = np.zeros((1, 256), told_apart.dtype)
            alone[0, value[0]] = 1
            told_apart = np.concatenate([told_apart, alone])
        _, kinds = np.unique(told_apart, axis=1, return_inverse=True)
        members: dict[int, int] = {}
        for byte in sorted(range(256), key=lambda one: rank(bytes([one]))):
            members.setdefault(int(kinds.reshape(-1)[byte]), byte)
        for machine in machines:
            found.update(_examples(machine, list(members.values())))
    return sorted(found, key=rank)


def _examples(machine: Dfa, members: list[int]) -> Iterator[bytes]:
    """The shortest texts of a machine, but the empty one."""
    reached = [(b"", machine.initial)]
    count = 0
    for text, state in reached:  # grows while it is read
        if text and machine.finals[state]:
            yield text
            count += 1
        if count >= _EXAMPLES or len(reached) > 50 * _EXAMPLES:
            return
        if len(text) < _EXAMPLE_BYTES:
            for byte in members:
                target = machine.step(state, byte)
                if target != DEAD:
                    reached.append((text + bytes([byte]), target))
