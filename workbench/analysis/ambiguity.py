"""Searches a grammar for an ambiguous text, and counts and prints its derivations.

The derivations of one text are counted in its parse forest. ``ambiguity`` tries texts: whether a
grammar is ambiguous is undecidable (Cantor 1962; Chomsky & Schützenberger 1963), so texts of few
pieces are tried first, as long as the limits allow.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from workbench.analysis.parse_forest import Forest, Symbols
from workbench.analysis.parse_trees import NodeKind, ParseNode, PlainLabels, two_trees
from workbench.base.dfa import DEAD, Dfa
from workbench.base.errors import LimitError
from workbench.base.limits import LIMITS, Limits
from workbench.base.source import Source, Span
from workbench.base.visible_text import shorten
from workbench.pushdown.cfg import Cfg, terminals
from workbench.pushdown.network import Network
from workbench.pushdown.runner import Runner, Situation
from workbench.pushdown.shortest_texts import rank, unranked
from workbench.syntax.grammar_tree import Expression, Literal
from workbench.syntax.regex.tree import walk


def derivations(symbols: Symbols, rule: str, text: bytes, limits: Limits = LIMITS) -> Forest:
    """All complete derivations of a text from a rule."""
    return Forest(symbols, rule, text, limits, unfinished=False)


def readings(forest: Forest, rule: str, source: Source) -> tuple[str, ...]:
    """How two derivations of an ambiguous text differ; empty if that takes too long to find.

    In brackets by rule; where these are equal, by the pieces of the grammar that read the text.
    """
    try:
        first, second, _ = two_trees(forest, PlainLabels(), rule)
    except LimitError:
        return ()  # that there are two derivations is proven already
    assert second is not None, "an ambiguous text has two trees"
    brackets = first.bracketed(), second.bracketed()
    return brackets if brackets[0] != brackets[1] else different_pieces(first, second, source)


def different_pieces(first: ParseNode, second: ParseNode, source: Source) -> tuple[str, ...]:
    """How the first part that two trees do not derive in the same way is read in each of them.

    Empty if no piece of the source tells them apart.
    """
    while (rows := (_row(first), _row(second)))[0] == rows[1]:
        pairs = zip(first.children, second.children, strict=True)
        different = next((pair for pair in pairs if _shape(pair[0]) != _shape(pair[1])), None)
        if different is None:
            return ()
        first, second = different
    if first.kind is NodeKind.REPETITION:
        copies = [[child.text for child in node.children] for node in (first, second)]
        if copies[0] != copies[1]:
            piece = _piece(first, source)
            return tuple(
                f"{piece} reads the cop{'y' if len(texts) == 1 else 'ies'} {_list_text(texts)}"
                for texts in copies
            )
    same = _common(rows[0], rows[1])
    ends = _common(rows[0][same:][::-1], rows[1][same:][::-1])
    parts = [node.children[same : len(node.children) - ends] for node in (first, second)]
    for placed in (False, True):
        sides = tuple(_reading(part, source, placed=placed) for part in parts)
        if sides[0] != sides[1]:
            return sides
    return ()


def _reading(parts: Sequence[ParseNode], source: Source, *, placed: bool) -> str:
    """Which pieces of the grammar read which texts; ``placed`` adds the positions of the pieces."""
    texts = [part for part in parts if part.text] or parts
    return (
        " and ".join(
            f"{_piece(part, source, placed=placed)} reads {_list_text([part.text])}"
            for part in texts
        )
        or "nothing is read"
    )


def _piece(node: ParseNode, source: Source, *, placed: bool = False) -> str:
    written = " ".join(source.text[node.source.start : node.source.end].split())
    shown = shorten(written, _PIECE_WIDTH)
    if not placed:
        return shown
    line, column = source.position(node.source.start)
    return f"{shown} (line {line}, column {column})"


def _list_text(texts: Sequence[bytes]) -> str:
    quoted = [repr(t.decode("utf-8", "backslashreplace")) if t else "nothing" for t in texts]
    return " and ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)


def _row(node: ParseNode) -> list[tuple[NodeKind, Span, Span]]:
    return [(child.kind, child.source, child.bytes) for child in node.children]


def _shape(node: ParseNode) -> list[tuple[int, NodeKind, Span, Span]]:
    return [(depth, each.kind, each.source, each.bytes) for depth, each in node.walk()]


def _common(first: Sequence[object], other: Sequence[object]) -> int:
    """The length of the longest common prefix."""
    pairs = enumerate(zip(first, other, strict=False))
    return next((i for i, (x, y) in pairs if x != y), min(len(first), len(other)))


#: The most characters that a hint shows of a piece of the grammar.
_PIECE_WIDTH = 40


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
    #: The two derivations, in brackets by rule: ``start(start(a) + start(a + a))``, or the pieces
    #: of the grammar by which they differ; empty if they take too long to find.
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
        """The two derivations."""
        if self.readings:
            return f"either {self.readings[0]} or {self.readings[1]}"
        return "the engine follows both; lint found no short description of the two"


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
    work = limits.begun() if limits.shared_clock is None else limits
    clock, pieces = work.clock(), _pieces(cfg)
    tried = 0
    symbols = Symbols.of_cfg(cfg)
    runner, queue = Runner(rules, work), _Queue()
    count = 0
    try:
        for rule, initial in enumerate(rules.initials):
            queue.push(0, rule, b"", runner.situation_of(initial))
        while queue and len(queue.pushed) <= _MAX_QUEUED:
            clock.check()
            count, rule, text, situation = queue.pop()
            if runner.is_final(situation):
                name = rules.names[rule]
                forest = derivations(symbols, name, text, work)
                if forest.count() > 1:
                    example = Ambiguity(name, text, readings(forest, name, cfg.source))
                    return AmbiguitySearch(example, tried, count)
                tried += 1
            for piece in pieces:
                queue.push(count + 1, rule, text + piece, runner.run(piece, situation))
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

    def push(self, pieces: int, rule: int, text: bytes, situation: Situation) -> None:
        if situation != DEAD and len(text) <= _MAX_TEXT_BYTES and (rule, text) not in self.pushed:
            self.pushed.add((rule, text))
            heappush(self._heap, (pieces, rank(text), -rule, situation))

    def pop(self) -> tuple[int, int, bytes, Situation]:
        pieces, order, before, situation = heappop(self._heap)
        return pieces, -before, unranked(order), situation


def _pieces(cfg: Cfg) -> list[bytes]:
    """The literals of a grammar and examples of its other terminals, shortest first."""
    machines = [
        cfg.machine(terminal) for body in cfg.rules.values() for terminal in terminals(body)
    ]
    pieces = {value for body in cfg.rules.values() for value in literals(body) if value}
    if machines:
        byte_classes = np.stack([machine.classes[:256] for machine in machines])
        for value in pieces:
            alone = np.zeros((1, 256), byte_classes.dtype)
            alone[0, value[0]] = 1
            byte_classes = np.concatenate([byte_classes, alone])
        _, kinds = np.unique(byte_classes, axis=1, return_inverse=True)
        members: dict[int, int] = {}
        for byte in sorted(range(256), key=lambda code: rank(bytes([code]))):
            members.setdefault(int(kinds.reshape(-1)[byte]), byte)
        for machine in machines:
            pieces.update(_examples(machine, list(members.values())))
    return sorted(pieces, key=rank)


def _examples(machine: Dfa, members: list[int]) -> Iterator[bytes]:
    """The shortest nonempty texts of a machine."""
    waiting = deque([(b"", machine.initial)])
    count = visited = 0
    while waiting:
        text, state = waiting.popleft()
        visited += 1
        if text and machine.finals[state]:
            yield text
            count += 1
        if count >= _MAX_EXAMPLES or visited + len(waiting) > 50 * _MAX_EXAMPLES:
            return
        if len(text) < _MAX_EXAMPLE_BYTES:
            for byte in members:
                target = machine.step(state, byte)
                if target != DEAD:
                    waiting.append((text + bytes([byte]), target))
