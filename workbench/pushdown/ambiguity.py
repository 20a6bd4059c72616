"""Ambiguity: a grammar in, out comes a text that one of its rules derives in two ways.

Whether a grammar is ambiguous cannot be decided (Cantor 1962; Chomsky & Schützenberger 1963), so
texts are tried, those of few pieces first, as long as the limits allow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from heapq import heappop, heappush

import numpy as np

from workbench.automata.dfa import DEAD, Dfa
from workbench.errors import LimitError
from workbench.limits import LIMITS, Limits
from workbench.pushdown.cfg import Cfg, terminals
from workbench.pushdown.derivations import Derivations, literals
from workbench.pushdown.network import Network
from workbench.pushdown.runner import Runner, Situation
from workbench.pushdown.shortest import rank, unranked

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
