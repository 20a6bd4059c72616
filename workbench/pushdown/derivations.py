"""Derivations: how many ways a grammar derives a text, up to two, and what they look like.

In come a ``Cfg`` and a text; out come counts (none, one, two or more) of every rule for every
piece of the text that was asked for.
"""

from __future__ import annotations

from collections.abc import Iterator

from workbench.automata.dfa import DEAD
from workbench.errors import LimitError
from workbench.limits import LIMITS, Limits
from workbench.pushdown.cfg import Cfg
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    Literal,
    Nonterminal,
    Repetition,
    Sequence,
)

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
    match expression:
        case Literal(value=value):
            yield value
        case Sequence(items=parts) | Choice(options=parts):
            for part in parts:
                yield from literals(part)
        case Repetition(item=item):
            yield from literals(item)
