"""Parse forest of one text: all its derivations, shared, counted exactly, complete or unfinished.

``Symbols`` flattens a grammar or a regex; every symbol keeps its source span. ``Forest`` finds for
each symbol and each position where it can end, and how. A text that only begins an accepted text
has unfinished derivations: the end ``forest.open`` means that a symbol has read something and
needs more.

Source: descriptors and shared call results of generalised LL parsing (Scott & Johnstone 2010); the
        packed forest with splits as separate nodes is that of Scott 2008.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from workbench.analysis.source_pieces import Matcher, NfaMatcher, byte_matcher, character_matcher
from workbench.automata.thompson import thompson
from workbench.base.dfa import DEAD, Dfa
from workbench.base.limits import LIMITS, Limits, check_time_budget
from workbench.base.source import Span
from workbench.pushdown.cfg import Cfg
from workbench.syntax.grammar_tree import (
    Automaton,
    Choice,
    Expression,
    Literal,
    Nonterminal,
    Repetition,
    Sequence,
)
from workbench.syntax.regex.tree import (
    Alternate,
    Bytes,
    Characters,
    Concat,
    Extension,
    Group,
    Look,
    LookKind,
    Regex,
    Repeat,
    asserted,
    has_look,
    walk,
)

#: The number of a symbol.
Symbol = int

#: How many descriptors are processed between two checks of the clock.
_STEPS_PER_CLOCK_CHECK = 256

_HINT = "the text has too many derivations, or is too long; take a shorter one"


class SymbolKind(IntEnum):
    """What a symbol is; the first two have no parts."""

    TEXT = 0
    MACHINE = 1
    SEQUENCE = 2
    CHOICE = 3
    REPEAT = 4
    #: A call of a rule, and a group of a regex: they only add a node to the tree.
    CALL = 5
    GROUP = 6
    #: A condition of a regex on the text around a position; it reads nothing.
    LOOK = 7


@dataclass(slots=True, eq=False)
class SymbolData:
    """One symbol of a grammar."""

    kind: SymbolKind
    span: Span
    #: The name of a rule or a group, or the label of a machine.
    name: str = ""
    parts: tuple[Symbol, ...] = ()
    low: int = 0
    high: int | None = None
    value: bytes = b""
    matcher: Matcher | None = None
    look: LookKind | None = None
    #: The symbol itself, or the first one inside calls and groups that is neither.
    core: Symbol = -1
    #: The bytes it can begin with, as bits, and whether it derives the empty text.
    first: int = 0
    is_nullable: bool = False


class Symbols:
    """The symbols of a grammar or a regex; parts that derive no text are left out."""

    def __init__(self) -> None:
        self.data: list[SymbolData] = []
        #: The symbol of each rule's body.
        self.bodies: dict[str, Symbol] = {}

    @staticmethod
    def of_cfg(cfg: Cfg) -> Symbols:
        """The symbols of all rules of a grammar that the start symbol reaches.

        Raises: BuildError, LimitError for terminals that cannot be built.
        """
        symbols = Symbols()
        for name, body in cfg.rules.items():
            symbols.bodies[name] = symbols._add_expression(cfg, body)
        symbols._link()
        return symbols

    @staticmethod
    def of_regex(regex: Regex, name: str, limits: Limits = LIMITS) -> Symbols:
        """The symbols of a regex as one rule of that name; without rules if no text matches."""
        symbols = Symbols()
        body = symbols._add_regex(regex, limits)
        if body is not None:
            symbols.bodies[name] = body
            symbols._link()
        return symbols

    def _add(self, kind: SymbolKind, span: Span, parts: tuple[Symbol, ...] = ()) -> SymbolData:
        check_time_budget()
        data = SymbolData(kind, span, parts=parts)
        self.data.append(data)
        return data

    def _add_expression(self, cfg: Cfg, expression: Expression) -> Symbol:
        match expression:
            case Literal(value=value, span=span):
                self._add(SymbolKind.TEXT, span).value = value
            case Nonterminal(name=name, span=span):
                self._add(SymbolKind.CALL, span).name = name
            case Sequence(items=parts, span=span) | Choice(options=parts, span=span):
                numbers = tuple(self._add_expression(cfg, part) for part in parts)
                is_choice = isinstance(expression, Choice)
                kind = SymbolKind.CHOICE if is_choice else SymbolKind.SEQUENCE
                self._add(kind, span, numbers)
            case Repetition(item=item, low=low, high=high, span=span):
                part = self._add_expression(cfg, item)
                data = self._add(SymbolKind.REPEAT, span, (part,))
                data.low, data.high = 0 if cfg.is_nullable(item) else low, high
            case _:
                data = self._add(SymbolKind.MACHINE, expression.span)
                data.matcher = DfaRows(cfg.machine(expression))
                data.name = expression.label if isinstance(expression, Automaton) else ""
        return len(self.data) - 1

    def _add_regex(self, regex: Regex, limits: Limits) -> Symbol | None:
        match regex:
            case Characters(ranges=ranges, span=span) | Bytes(ranges=ranges, span=span):
                if not ranges:
                    return None
                of_set = character_matcher if isinstance(regex, Characters) else byte_matcher
                self._add(SymbolKind.MACHINE, span).matcher = of_set(ranges)
            case Concat(parts=parts, span=span) | Alternate(options=parts, span=span):
                symbols = [self._add_regex(part, limits) for part in parts]
                kept = tuple(part for part in symbols if part is not None)
                if isinstance(regex, Concat):
                    if len(kept) < len(parts):
                        return None
                    self._add(SymbolKind.SEQUENCE, span, kept)
                elif not kept:
                    return None
                else:
                    self._add(SymbolKind.CHOICE, span, kept)
            case Repeat(part=part, low=low, high=high, span=span):
                number = self._add_regex(part, limits) if high != 0 else None
                if number is None and (low > 0 and high != 0):
                    return None
                parts_of = () if number is None else (number,)
                kind = SymbolKind.SEQUENCE if number is None else SymbolKind.REPEAT
                data = self._add(kind, span, parts_of)
                # ``_link`` sets the bound of a nullable part to 0
                data.low, data.high = low, high
            case Group(part=part, name=name, span=span):
                number = self._add_regex(part, limits)
                if number is None:
                    return None
                self._add(SymbolKind.GROUP, span, (number,)).name = name or ""
            case Extension() if (inner := asserted(regex)) is not None and _is_simple(inner):
                return self._add_regex(inner, limits)
            case Look(kind=kind, part=part, span=span):
                data = self._add(SymbolKind.LOOK, span)
                data.look, data.matcher = kind, NfaMatcher(thompson(part, limits))
            case Extension(span=span):
                matcher = NfaMatcher(thompson(regex, limits))
                if not matcher.initial:
                    return None
                self._add(SymbolKind.MACHINE, span).matcher = matcher
        return len(self.data) - 1

    def _link(self) -> None:
        """Resolve calls and compute the first sets, as least fixed points."""
        for data in self.data:
            if data.kind is SymbolKind.CALL:
                data.parts = (self.bodies[data.name],)
            elif data.kind is SymbolKind.TEXT:
                data.first = 1 << data.value[0] if data.value else 0
                data.is_nullable = not data.value
            elif data.kind is SymbolKind.LOOK:
                data.is_nullable = True
            elif data.kind is SymbolKind.MACHINE:
                assert data.matcher is not None
                data.first, data.is_nullable = first_bytes(data.matcher)
        for number, data in enumerate(self.data):
            core = number
            while self.data[core].kind in (SymbolKind.CALL, SymbolKind.GROUP):
                core = self.data[core].parts[0]
            data.core = core
        changed = True
        while changed:
            changed = False
            for data in self.data:
                check_time_budget()
                previous = data.first, data.is_nullable
                self._update_first(data)
                changed = changed or previous != (data.first, data.is_nullable)
        for data in self.data:
            if data.kind is SymbolKind.REPEAT and self.data[data.parts[0]].is_nullable:
                data.low = 0

    def _update_first(self, data: SymbolData) -> None:
        parts = [self.data[part] for part in data.parts]
        if data.kind is SymbolKind.CHOICE:
            for part in parts:
                data.first |= part.first
                data.is_nullable = data.is_nullable or part.is_nullable
        elif data.kind is SymbolKind.SEQUENCE:
            for part in parts:
                data.first |= part.first
                if not part.is_nullable:
                    return
            data.is_nullable = True
        elif parts:
            data.first |= parts[0].first if data.high != 0 else 0
            is_optional = data.kind is SymbolKind.REPEAT and (data.low == 0 or data.high == 0)
            data.is_nullable = data.is_nullable or is_optional or parts[0].is_nullable


def _is_simple(regex: Regex) -> bool:
    """Whether no assertion of a regex contains another one."""
    return not any(has_look(node.part) for node in walk(regex) if isinstance(node, Look))


class DfaRows:
    """A DFA as a ``Matcher`` whose rows are tuples; one row is converted when it is first read."""

    def __init__(self, machine: Dfa) -> None:
        self._machine = machine
        self._rows: dict[int, tuple[int, ...]] = {}
        self._finals = machine.finals.tolist()
        self.initial = machine.initial

    def step(self, state: object, byte: int) -> int | None:
        assert isinstance(state, int)
        row = self._rows.get(state)
        if row is None:
            machine = self._machine
            row = self._rows[state] = tuple(machine.table[state][machine.classes[:256]].tolist())
        there = row[byte]
        return None if there == DEAD else there

    def is_final(self, state: object) -> bool:
        assert isinstance(state, int)
        return bool(self._finals[state])

    def is_exhausted(self, state: object) -> bool:
        assert isinstance(state, int)
        return not (self._machine.table[state] != DEAD).any()

    def boundaries(self) -> Iterator[int]:
        changes: list[int] = np.flatnonzero(np.diff(self._machine.classes[:256])).tolist()
        return (byte + 1 for byte in changes)


def first_bytes(matcher: Matcher) -> tuple[int, bool]:
    """The bytes a matcher can begin with, as bits, and whether it reads the empty text."""
    initial = matcher.initial
    bits = 0
    reads = False
    edges = {0, *(edge for edge in matcher.boundaries() if 0 <= edge < 256)}
    for byte in range(256):
        if byte in edges:
            reads = matcher.step(initial, byte) is not None
        bits |= reads << byte
    return bits, matcher.is_final(initial)


# -- recognition -----------------------------------------------------------------------------------

#: How many parts of a sequence, or copies of a repetition, are read, and up to where. Copies beyond
#: the lower bound of a repetition without an upper one are not counted.
_Cell = tuple[int, int]


@dataclass(slots=True, eq=False)
class _Called:
    """A symbol that begins at one position: its ends, and how it comes to each."""

    symbol: SymbolData
    start: int
    #: The ends, in the order of discovery; for a choice the options that end there.
    ends: dict[int, list[Symbol]] = field(default_factory=dict)
    #: The cells before each cell.
    cells: dict[_Cell, list[_Cell]] = field(default_factory=dict)
    #: Unfinished readings: the last cell that is complete, and the end of the part after it.
    unfinished: list[tuple[_Cell, int]] = field(default_factory=list)
    #: Those that called it: who, the cell there, and for a choice the option.
    waiting: list[tuple[_Called, _Cell, Symbol]] = field(default_factory=list)


class ForestNode(NamedTuple):
    """A node of the forest: a symbol with its span, or a cell of a symbol as a split."""

    called: _Called
    end: int
    #: The parts read, for a split; -1 for the whole symbol.
    slot: int = -1


#: The nodes below a node in one of its derivations; the texts of leaves have none.
Alternative = tuple[ForestNode, ...]


class Forest:
    """All derivations of a text from one rule.

    Copies of a repetition that read nothing are not distinguished, and a terminal is one leaf
    however it matches. In an unfinished derivation every part that is complete where the text ends
    counts as complete, and what follows it is pending.

    Cost:   linear in the text for the grammars of most notations, cubic for ambiguous ones.
    Raises: LimitError past ``limits.seconds``.
    """

    def __init__(
        self,
        symbols: Symbols,
        rule: str,
        text: bytes,
        limits: Limits = LIMITS,
        *,
        unfinished: bool = True,
        goes_on: bool = False,
    ) -> None:
        """``goes_on``: the text will be continued, so what follows it may satisfy an assertion."""
        self.symbols = symbols
        self.text = text
        self.body = symbols.bodies[rule]
        #: The end of an unfinished symbol.
        self.open = len(text) + 1
        self._unfinished = unfinished
        self._goes_on = goes_on
        self._clock = limits.clock()
        self._called: dict[tuple[Symbol, int], _Called] = {}
        self._work: list[tuple[_Called, _Cell]] = []
        self.root = self._call(symbols.data[self.body].core, 0)
        self._run()

    @property
    def accepted(self) -> bool:
        """Whether the rule derives the text."""
        return len(self.text) in self.root.ends

    @property
    def is_prefix(self) -> bool:
        """Whether the text begins a derived text and is none, and was read to that end."""
        return not self.accepted and (not self.text or self.open in self.root.ends)

    @property
    def top(self) -> ForestNode:
        """The node of the whole text."""
        return ForestNode(self.root, len(self.text) if self.accepted else self.open)

    def check_time(self) -> None:
        """Raise LimitError past the time limit."""
        self._clock.check(_HINT)

    def _run(self) -> None:
        steps = 0
        while self._work:
            steps += 1
            if steps % _STEPS_PER_CLOCK_CHECK == 0:
                self.check_time()
            called, cell = self._work.pop()
            if cell[0] < 0:
                self._return(called, -cell[0] - 1, cell[1])
            else:
                self._advance(called, cell)

    def _call(self, core: Symbol, start: int) -> _Called:
        cached = self._called.get((core, start))
        if cached is not None:
            return cached
        symbol = self.symbols.data[core]
        called = self._called[core, start] = _Called(symbol, start)
        if symbol.kind is SymbolKind.TEXT:
            self._read_text(called)
        elif symbol.kind is SymbolKind.MACHINE:
            self._read_machine(called)
        elif symbol.kind is SymbolKind.LOOK:
            if self._is_satisfied(symbol, start):
                called.ends[start] = []
        else:
            called.cells[0, start] = []
            self._work.append((called, (0, start)))
        return called

    def _read_text(self, called: _Called) -> None:
        value, start = called.symbol.value, called.start
        if self.text.startswith(value, start):
            called.ends[start + len(value)] = []
        elif start < len(self.text) and value.startswith(self.text[start:]):
            called.ends[self.open] = []

    def _read_machine(self, called: _Called) -> None:
        matcher, text = called.symbol.matcher, self.text
        assert matcher is not None
        step, is_final = matcher.step, matcher.is_final
        state: object = matcher.initial
        if is_final(state):
            called.ends[called.start] = []
        for position in range(called.start, len(text)):
            there = step(state, text[position])
            if there is None:
                return
            state = there
            if is_final(state):
                called.ends[position + 1] = []
        if called.start < len(text) and len(text) not in called.ends:
            called.ends[self.open] = []

    def _is_satisfied(self, symbol: SymbolData, position: int) -> bool:
        """Whether an assertion holds at a position, or may hold if the text goes on."""
        matcher, kind = symbol.matcher, symbol.look
        assert matcher is not None
        if kind in (LookKind.BEHIND, LookKind.NOT_BEHIND, LookKind.START, LookKind.LINE_START):
            return self._is_matched_before(matcher, position) == (kind is LookKind.BEHIND)
        ahead, is_sure = self._matched_after(matcher, position)
        if not is_sure and self._goes_on:
            return True
        if kind in (LookKind.BOUNDARY, LookKind.INSIDE):
            differs = ahead != self._is_matched_before(matcher, position)
            return differs == (kind is LookKind.BOUNDARY)
        return ahead == (kind is LookKind.AHEAD)

    def _matched_after(self, matcher: Matcher, position: int) -> tuple[bool, bool]:
        """Whether a match begins at a position, and whether more text cannot change that."""
        state: Hashable | None = matcher.initial
        for byte in self.text[position:]:
            if state is None or matcher.is_final(state):
                break
            state = matcher.step(state, byte)
        if state is None or not matcher.initial:
            return False, True
        is_matched = matcher.is_final(state)
        return is_matched, is_matched

    def _is_matched_before(self, matcher: Matcher, position: int) -> bool:
        """Whether a match ends at a position."""
        for start in range(position, -1, -1):
            state: Hashable | None = matcher.initial
            for byte in self.text[start:position]:
                if state is None:
                    break
                state = matcher.step(state, byte)
            if state is not None and matcher.is_final(state):
                return True
        return False

    def _advance(self, called: _Called, cell: _Cell) -> None:
        """Continue a symbol after the parts of a cell."""
        slot, position = cell
        symbol = called.symbol
        if symbol.kind is SymbolKind.CHOICE:
            for option in symbol.parts:
                self._expect(called, cell, option)
        elif symbol.kind is SymbolKind.SEQUENCE:
            if slot == len(symbol.parts):
                self._end(called, position)
            else:
                self._expect(called, cell, symbol.parts[slot])
        else:
            if slot >= symbol.low:
                self._end(called, position)
            if symbol.high is None or slot < symbol.high:
                self._expect(called, cell, symbol.parts[0])

    def _expect(self, called: _Called, cell: _Cell, part: Symbol) -> None:
        """Read a part after a cell, if it can begin there."""
        data, position = self.symbols.data, cell[1]
        symbol = data[data[part].core]
        begins = position < len(self.text) and symbol.first >> self.text[position] & 1
        if not begins and not symbol.is_nullable:
            return
        inner = self._call(symbol.core, position)
        inner.waiting.append((called, cell, part))
        for end in list(inner.ends):
            self._reach(called, cell, part, end)

    def _end(self, called: _Called, position: int) -> None:
        if position not in called.ends:
            called.ends[position] = []
            # callers that come later read it in ``ends``
            self._work.append((called, (-1 - len(called.waiting), position)))

    def _return(self, called: _Called, callers: int, position: int) -> None:
        for caller, cell, part in called.waiting[:callers]:
            self._reach(caller, cell, part, position)

    def _reach(self, called: _Called, cell: _Cell, part: Symbol, end: int) -> None:
        """A part of a symbol ended."""
        slot, position = cell
        symbol = called.symbol
        if end == self.open and not self._unfinished:
            return
        if symbol.kind is SymbolKind.CHOICE:
            self._end(called, end)
            options = called.ends[end]
            if part not in options:
                options.append(part)
            return
        if symbol.kind is SymbolKind.REPEAT:
            if end == position:
                return  # a copy that reads nothing
            needs_more = slot + 1 < symbol.low
            after = slot + 1 if symbol.high is not None else min(slot + 1, symbol.low)
        else:
            needs_more = slot + 1 < len(symbol.parts)
            after = slot + 1
        if end == self.open or (needs_more and position < end == len(self.text)):
            if self._unfinished:
                called.unfinished.append((cell, end))
                self._end(called, self.open)
            if end == self.open:
                return
        before = called.cells.get((after, end))
        if before is None:
            called.cells[after, end] = [cell]
            self._work.append((called, (after, end)))
        else:
            before.append(cell)

    # -- the forest ----------------------------------------------------------------------------

    def node_of(self, part: Symbol, start: int, end: int) -> ForestNode:
        """The node of a part that was read from ``start`` to ``end``."""
        return ForestNode(self._called[self.symbols.data[part].core, start], end)

    def part_after(self, called: _Called, cell: _Cell) -> Symbol:
        """The part of a sequence or repetition that follows a cell."""
        parts = called.symbol.parts
        return parts[0] if called.symbol.kind is SymbolKind.REPEAT else parts[cell[0]]

    def options_of(self, node: ForestNode) -> list[Symbol]:
        """The options of a choice that derive a node, in the order of the grammar."""
        options = node.called.ends[node.end]
        return sorted(options, key=node.called.symbol.parts.index) if len(options) > 1 else options

    def alternatives(self, node: ForestNode) -> list[Alternative]:
        """The derivations of a node, each as the nodes below it; splits come last part first.

        Options are in the order of the grammar; of several splits the longest left part is first.
        """
        called, end, slot = node
        symbol = called.symbol
        if slot >= 0:
            return self._splits(called, (slot, end))
        if symbol.kind in (SymbolKind.TEXT, SymbolKind.MACHINE, SymbolKind.LOOK):
            return [()]
        if symbol.kind is SymbolKind.CHOICE:
            return [(self.node_of(option, called.start, end),) for option in self.options_of(node)]
        if end == self.open:
            return [
                (
                    self.node_of(self.part_after(called, cell), cell[1], inner),
                    ForestNode(called, cell[1], cell[0]),
                )
                for cell, inner in sorted(called.unfinished, reverse=True)
            ]
        if symbol.kind is SymbolKind.SEQUENCE:
            return [(ForestNode(called, end, len(symbol.parts)),)]
        cells = sorted(cell for cell in called.cells if cell[1] == end and cell[0] >= symbol.low)
        return [(ForestNode(called, end, slot),) for slot, end in cells]

    def _splits(self, called: _Called, cell: _Cell) -> list[Alternative]:
        if cell == (0, called.start):
            return [()]
        befores = called.cells[cell]
        if len(befores) > 1:
            befores = sorted(befores, key=lambda pair: (-pair[1], pair[0]))
        return [
            (
                self.node_of(self.part_after(called, before), before[1], cell[1]),
                ForestNode(called, before[1], before[0]),
            )
            for before in befores
        ]

    def count(self) -> int | float:
        """The number of derivations of the text, ``math.inf`` if a cycle reads nothing."""
        return Counted(self).count if self.accepted else 0


class Counted:
    """The counts of all nodes of a forest, and one finite derivation of each node."""

    def __init__(self, forest: Forest) -> None:
        self._forest = forest
        self.alternatives: dict[ForestNode, list[Alternative]] = {}
        counts = self._counts(forest.top)
        self.count: int | float = math.inf if counts is None else counts[forest.top]
        self._heights = self._smallest_heights() if counts is None else {}

    def choose(self, node: ForestNode) -> int:
        """The first alternative; in a cyclic forest the first of those with the lowest tree."""
        options = self.alternatives[node]
        if not self._heights or len(options) == 1:
            return 0
        return min(range(len(options)), key=lambda number: self._height(options[number]))

    def _counts(self, top: ForestNode) -> dict[ForestNode, int] | None:
        """The number of derivations of each node, in post-order; None if there is a cycle."""
        counts: dict[ForestNode, int] = {}
        entered: set[ForestNode] = set()
        stack, is_cyclic, steps = [top], False, 0
        while stack:
            steps += 1
            if steps % _STEPS_PER_CLOCK_CHECK == 0:
                self._forest.check_time()
            node = stack[-1]
            if node in counts:
                stack.pop()
                continue
            if node not in entered:
                entered.add(node)
                options = self.alternatives[node] = self._forest.alternatives(node)
                waiting = [inner for each in options for inner in each if inner not in counts]
                is_cyclic = is_cyclic or not entered.isdisjoint(waiting)
                stack.extend(inner for inner in waiting if inner not in entered)
                continue
            stack.pop()
            total = 0
            for each in self.alternatives[node]:
                product = 1
                for inner in each:
                    product *= counts.get(inner, 1)
                total += product
            counts[node] = total
        return None if is_cyclic else counts

    def _height(self, alternative: Alternative) -> float:
        return 1 + max((self._heights.get(inner, math.inf) for inner in alternative), default=0)

    def _smallest_heights(self) -> dict[ForestNode, float]:
        """The height of the lowest derivation of each node."""
        above: dict[ForestNode, list[ForestNode]] = {}
        for node, options in self.alternatives.items():
            for inner in {inner for each in options for inner in each}:
                above.setdefault(inner, []).append(node)
        self._heights = {}
        waiting = dict.fromkeys(
            node for node, options in self.alternatives.items() if () in options
        )
        while waiting:
            self._forest.check_time()
            node = next(iter(waiting))
            del waiting[node]
            height = min(map(self._height, self.alternatives[node]))
            if height < self._heights.get(node, math.inf):
                self._heights[node] = height
                waiting.update(dict.fromkeys(above.get(node, ())))
        return self._heights
