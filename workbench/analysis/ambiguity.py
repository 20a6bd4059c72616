"""Searches a grammar for an ambiguous text, and counts and prints its derivations.

``Derivations`` counts the derivations of one text (none, one, two or more) for every rule and every
piece of the text that is needed. ``ambiguity`` tries texts: whether a grammar is ambiguous is
undecidable (Cantor 1962; Chomsky & Schützenberger 1963), so texts of few pieces are tried first,
as long as the limits allow.
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

#: Counts of derivations stop here: two already prove an ambiguity.
_MAX_COUNT = 2

#: The end positions of the pieces that begin at a position, with the count of their derivations.
_Ends = dict[int, int]

#: A rule, and the position in the text where it begins.
_Key = tuple[str, int]


class Derivations:
    """The derivations of one text from one rule.

    Counts are the least fixed point, so a rule that calls itself without reading has either no
    derivation or the maximal count. Copies of a repetition that read nothing are not
    distinguished.

    Source: the parse forest of general context-free parsing (Lang 1974), counted.
    """

    def __init__(self, cfg: Cfg, rule: str, text: bytes, limits: Limits = LIMITS) -> None:
        self.cfg = cfg
        self.rule = rule
        self.text = text
        self._clock = limits.clock()
        self._counts: dict[_Key, _Ends] = {}
        self._dependents: dict[_Key, set[_Key]] = {}
        self._new: list[_Key] = []
        #: How often a rule may be nested in itself at one position, in printed derivations.
        self._depth = 1
        self._count()

    def of_text(self) -> int:
        """The number of derivations of the whole text: 0, 1, or 2 for more."""
        return self._counts[self.rule, 0].get(len(self.text), 0)

    def _count(self) -> None:
        """Increase all counts the rule depends on until nothing changes."""
        first = (self.rule, 0)
        self._counts[first] = {}
        waiting = [first]
        while waiting:
            self._clock.check()
            key = waiting.pop()
            self._current, self._new = key, []
            name, start = key
            ends = self._ends(self.cfg.rules[name], start)
            waiting.extend(self._new)
            if ends != self._counts[key]:
                self._counts[key] = ends
                waiting.extend(self._dependents.get(key, ()))

    def _ends(self, expression: Expression, start: int) -> _Ends:
        match expression:
            case Literal(value=value):
                return {start + len(value): 1} if self.text.startswith(value, start) else {}
            case Nonterminal(name=name):
                return self._needed((name, start))
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

    def _needed(self, key: _Key) -> _Ends:
        if key not in self._counts:
            self._counts[key] = {}
            self._new.append(key)
        self._dependents.setdefault(key, set()).add(self._current)
        return self._counts[key]

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

    # -- printed derivations -------------------------------------------------------------------

    def readings(self) -> tuple[str, ...]:
        """Two derivations of the text, in brackets by rule; fewer if they look alike."""
        found: dict[str, None] = {}
        whole = len(self.text)
        try:
            # left recursion is no deeper than the text is long, except in cycles that read nothing
            for self._depth in range(1, whole + _MAX_COUNT + 1):
                for reading, stop in self._read_rule(self.rule, 0, whole, ()):
                    if stop == whole:
                        found.setdefault(reading)
                    if len(found) == _MAX_COUNT:
                        return tuple(found)
        except LimitError:
            pass  # that there are two derivations is proven already
        return tuple(found)

    def _read_rule(
        self, name: str, start: int, end: int, open_rules: tuple[tuple[str, int], ...]
    ) -> Iterator[tuple[str, int]]:
        if open_rules.count((name, start)) >= self._depth or not self._counts.get((name, start)):
            return
        self._clock.check()
        inner = (*open_rules, (name, start))
        for reading, stop in self._read(self.cfg.rules[name], start, end, inner):
            yield f"{name}({reading})", stop

    def _read(
        self, expression: Expression, start: int, end: int, open_rules: tuple[tuple[str, int], ...]
    ) -> Iterator[tuple[str, int]]:
        """The derivations of an expression from a position, each with its end."""
        match expression:
            case Nonterminal(name=name):
                yield from self._read_rule(name, start, end, open_rules)
            case Choice(options=options):
                for option in options:
                    yield from self._read(option, start, end, open_rules)
            case Sequence(items=items):
                yield from self._read_all(items, start, end, open_rules)
            case Repetition(item=item, low=low, high=high):
                if low == 0 or self.cfg.is_nullable(item):
                    yield "", start
                if high != 0:
                    left = None if high is None else high - 1
                    rest = Repetition(item, max(low - 1, 0), left, expression.span)
                    for one, place in self._read(item, start, end, open_rules):
                        if place > start:
                            for more, stop in self._read(rest, place, end, open_rules):
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
        open_rules: tuple[tuple[str, int], ...],
    ) -> Iterator[tuple[str, int]]:
        if not items:
            yield "", start
            return
        for one, place in self._read(items[0], start, end, open_rules):
            for more, stop in self._read_all(items[1:], place, end, open_rules):
                yield _joined(one, more), stop


def _add(found: _Ends, ends: _Ends, times: int) -> None:
    """Add counts, each at most ``_MAX_COUNT``."""
    for end, count in ends.items():
        found[end] = min(_MAX_COUNT, found.get(end, 0) + count * times)


def _joined(left: str, right: str) -> str:
    return f"{left} {right}" if left and right else left or right


def _shown(piece: bytes) -> str:
    return repr(piece.decode("utf-8", "backslashreplace"))[1:-1]


def literals(expression: Expression) -> Iterator[bytes]:
    """Every literal in an expression, from left to right."""
    return (node.value for node in walk(expression) if isinstance(node, Literal))


#: The most examples of one regex among the pieces of texts, and the most bytes of each.
_MAX_EXAMPLES, _MAX_EXAMPLE_BYTES = 12, 8

#: The most bytes of a text, and the most texts queued.
_MAX_TEXT_BYTES, _MAX_QUEUED = 64, 200_000


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """A text that a rule derives in two ways; every text that contains it there is ambiguous."""

    rule: str
    text: bytes
    #: The two derivations, in brackets by rule: ``start(start(a) + start(a + a))``; fewer if they
    #: look alike or take too long to find.
    readings: tuple[str, ...]

    @property
    def example(self) -> str:
        return self.text.decode("utf-8", "backslashreplace")

    @property
    def message(self) -> str:
        """The message for the author of the grammar."""
        what = repr(self.example) if self.text else "the empty text"
        return f"the rule {self.rule!r} can read {what} in two ways"

    @property
    def hint(self) -> str:
        """The two derivations, or how to fix the ambiguity."""
        if len(self.readings) == 2:
            return f"either {self.readings[0]} or {self.readings[1]}"
        return "two of its alternatives match it; delete one of them"


@dataclass(frozen=True, slots=True)
class AmbiguitySearch:
    """The result of a search for an ambiguous text."""

    found: Ambiguity | None
    #: The number of texts with exactly one derivation.
    tried: int
    #: All texts of up to this many pieces were tried; None: there are no longer ones.
    pieces: int | None


def ambiguity(cfg: Cfg, rules: Network, limits: Limits = LIMITS) -> AmbiguitySearch:
    """Searches for a text with two derivations, of as few pieces as possible, within the limits.

    ``rules`` is the network of separate rules (``rule_network``). Every rule is tried on its
    texts alone, so that no context has to be found first. Texts consist of the grammar's
    literals and of examples of its regexes: one member of each class of characters that
    all terminals treat alike, and short texts of loops. A terminal counts as one
    derivation however it matches; copies of a repetition that read nothing are not counted.

    Source: breadth-first, as in bounded ambiguity checking (Axelsson, Heljanko & Lange
            2008), by counting instead of SAT.
    """
    work = limits.begun() if limits.began is None else limits
    clock, pieces = work.clock(), _pieces(cfg)
    tried = 0
    runners = [Runner(replace(rules, start=rule), work) for rule in range(len(rules.names))]
    count = 0
    queue = _Queue()
    for rule, runner in enumerate(runners):
        queue.push(0, rule, b"", runner.initial)
    try:
        while queue and len(queue.pushed) <= _MAX_QUEUED:
            clock.check()
            count, rule, text, here = queue.pop()
            if runners[rule].is_final(here):
                counted = Derivations(cfg, rules.names[rule], text, work)
                if counted.of_text() > 1:
                    found = Ambiguity(rules.names[rule], text, counted.readings())
                    return AmbiguitySearch(found, tried, count)
                tried += 1
            for piece in pieces:
                queue.push(count + 1, rule, text + piece, runners[rule].run(piece, here))
    except LimitError:
        pass  # the search was cut short; what was tried until then is reported
    return AmbiguitySearch(None, tried, max(count - 1, 0) if queue else None)


class _Queue:
    """The queue of texts of each rule: few pieces first, callees before callers."""

    def __init__(self) -> None:
        self.pushed: set[tuple[int, bytes]] = set()
        self._heap: list[tuple[int, tuple[int, bytes], int, Situation]] = []

    def __bool__(self) -> bool:
        return bool(self._heap)

    def push(self, pieces: int, rule: int, text: bytes, here: Situation) -> None:
        if here != DEAD and len(text) <= _MAX_TEXT_BYTES and (rule, text) not in self.pushed:
            self.pushed.add((rule, text))
            heappush(self._heap, (pieces, rank(text), -rule, here))

    def pop(self) -> tuple[int, int, bytes, Situation]:
        pieces, order, before, here = heappop(self._heap)
        return pieces, -before, unranked(order), here


def _pieces(cfg: Cfg) -> list[bytes]:
    """The literals of a grammar and examples of its other terminals, shortest first."""
    machines = [cfg.machine(one) for body in cfg.rules.values() for one in terminals(body)]
    found = {value for body in cfg.rules.values() for value in literals(body) if value}
    if machines:
        byte_classes = np.stack([machine.classes[:256] for machine in machines])
        for value in found:
            alone = np.zeros((1, 256), byte_classes.dtype)
            alone[0, value[0]] = 1
            byte_classes = np.concatenate([byte_classes, alone])
        _, kinds = np.unique(byte_classes, axis=1, return_inverse=True)
        members: dict[int, int] = {}
        for byte in sorted(range(256), key=lambda one: rank(bytes([one]))):
            members.setdefault(int(kinds.reshape(-1)[byte]), byte)
        for machine in machines:
            found.update(_examples(machine, list(members.values())))
    return sorted(found, key=rank)


def _examples(machine: Dfa, members: list[int]) -> Iterator[bytes]:
    """The shortest nonempty texts of a machine."""
    reached = [(b"", machine.initial)]
    count = 0
    for text, state in reached:  # extended in the loop
        if text and machine.finals[state]:
            yield text
            count += 1
        if count >= _MAX_EXAMPLES or len(reached) > 50 * _MAX_EXAMPLES:
            return
        if len(text) < _MAX_EXAMPLE_BYTES:
            for byte in members:
                target = machine.step(state, byte)
                if target != DEAD:
                    reached.append((text + bytes([byte]), target))
