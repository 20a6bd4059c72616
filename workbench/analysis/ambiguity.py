"""Searches a grammar for an ambiguous text, and counts and prints its derivations.

The derivations of one text are counted in its parse forest. ``ambiguity`` tries texts: whether a
grammar is ambiguous is undecidable (Cantor 1962; Chomsky & Schützenberger 1963), so texts of few
pieces are tried first, as long as the limits allow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from heapq import heappop, heappush

import numpy as np

from workbench.analysis.parse_forest import Forest, Symbols
from workbench.analysis.parse_trees import PlainLabels, two_trees
from workbench.base.dfa import DEAD, Dfa
from workbench.base.errors import LimitError
from workbench.base.limits import LIMITS, Limits
from workbench.pushdown.cfg import Cfg, terminals
from workbench.pushdown.network import Network
from workbench.pushdown.runner import Runner, Situation
from workbench.pushdown.shortest_texts import rank, unranked
from workbench.syntax.grammar_tree import Expression, Literal
from workbench.syntax.regex.tree import walk


def derivations(symbols: Symbols, rule: str, text: bytes, limits: Limits = LIMITS) -> Forest:
    """All complete derivations of a text from a rule."""
    return Forest(symbols, rule, text, limits, unfinished=False)


def readings(forest: Forest, rule: str) -> tuple[str, ...]:
    """Two derivations of an ambiguous text, in brackets by rule; fewer if they look alike."""
    try:
        first, second, _ = two_trees(forest, PlainLabels(), rule)
    except LimitError:
        return ()  # that there are two derivations is proven already
    found = dict.fromkeys(tree.bracketed() for tree in (first, second) if tree is not None)
    return tuple(found)


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
    symbols = Symbols.of_cfg(cfg)
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
                name = rules.names[rule]
                forest = derivations(symbols, name, text, work)
                if forest.count() > 1:
                    found = Ambiguity(name, text, readings(forest, name))
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
