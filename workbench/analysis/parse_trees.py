"""Parse trees of a text: how many there are, two of them, and the tree of an unfinished text.

::

    import workbench as wb

    sums = wb.Grammar.from_kbnf("start ::= start '+' start | #'[0-9]';")
    trees = wb.parse_trees(sums, "1+2+3")
    trees.count               # 2
    print(trees.first)        # an indented tree
    trees.first.children[0].characters     # Span(start=0, end=3)
    wb.parse_trees(sums, "1+").first.is_open      # True: more must follow
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import accumulate
from typing import Any

from workbench.analysis.parse_forest import (
    Counted,
    Forest,
    ForestNode,
    Symbol,
    SymbolData,
    SymbolKind,
    Symbols,
)
from workbench.automata.class_descriptions import expected as in_words
from workbench.base.arguments import checked
from workbench.base.limits import Limits, check_time_budget, time_budget
from workbench.base.source import Span
from workbench.base.visible_text import count_of, shorten, visible
from workbench.grammar.grammar import Grammar
from workbench.grammar.label_encoding import RESERVED, encode_labels, show_labels, written_text
from workbench.grammar.notations import without_gc
from workbench.grammar.recognition import utf8
from workbench.pushdown.build import context_free

#: The name of the symbols among what is stored with a grammar.
_SHARED = "parse symbols"

#: The name of a regex as the only rule.
_REGEX = "regex"

#: The most places at which a second tree is tried.
_MAX_TRIES = 64

_TOO_AMBIGUOUS = "the text has many trees, or one of many nodes; choose a shorter text"

#: The start and the end of a part that an unfinished text has not begun.
_PENDING = -1

#: The widest label of a part that is not read yet.
_LABEL_WIDTH = 24


class NodeKind(StrEnum):
    """What a node of a parse tree is."""

    RULE = "rule"
    #: The whole regex, and a capturing group of it.
    REGEX = "regex"
    GROUP = "group"
    #: All copies of a repeated part; a copy that has several parts.
    REPETITION = "repetition"
    COPY = "copy"
    #: A leaf: a string, a terminal, or a character of a regex.
    TEXT = "text"
    #: A leaf that an unfinished text has not begun to read.
    PENDING = "pending"


@dataclass(frozen=True, slots=True, eq=False)
class ParseNode:
    """A node of a parse tree, with the spans it has in the text and in the grammar."""

    kind: NodeKind
    #: The name of a rule or group, the count of a repetition, or the piece of the grammar.
    label: str
    #: What it read, as bytes.
    text: bytes
    #: Its span in the text, in characters and in bytes.
    characters: Span
    bytes: Span
    #: Its span in the grammar's source: the definition of a rule, or the piece.
    source: Span
    #: Its parts, from left to right.
    children: tuple[ParseNode, ...]
    #: Whether more must follow until it is complete.
    is_open: bool = False
    #: Whether the two trees of an ambiguous text differ below it.
    differs: bool = False

    def __repr__(self) -> str:
        return f"ParseNode({self.kind} {self.label!r}, {shorten(repr(self.text), 40)})"

    def __str__(self) -> str:
        return "\n".join(f"{'  ' * depth}{node.line}" for depth, node in self.walk())

    @property
    def line(self) -> str:
        """The node alone in one line."""
        if self.kind is NodeKind.PENDING:
            return f"… {self.label}"
        if self.kind is NodeKind.TEXT:
            return repr(show_labels(self.text))
        return f"{self.label} …" if self.is_open else self.label

    def walk(self) -> Iterator[tuple[int, ParseNode]]:
        """Every node with its depth, a node before its children."""
        stack = [(0, self)]
        while stack:
            depth, node = stack.pop()
            yield depth, node
            stack.extend((depth + 1, child) for child in reversed(node.children))

    def bracketed(self) -> str:
        """The tree in one line, in brackets by rule: ``start(start(a) + start(a))``."""
        written: list[str] = []
        stack: list[ParseNode | str] = [self]
        while stack:
            node = stack.pop()
            if isinstance(node, str):
                written.append(node)
                continue
            needs_space = written and not written[-1].endswith("(")
            named = node.kind in (NodeKind.RULE, NodeKind.REGEX)
            if node.kind is NodeKind.TEXT and node.text:
                shown = repr(node.text.decode("utf-8", "backslashreplace"))[1:-1]
                written.append(f" {shown}" if needs_space else shown)
            elif named:
                written.append(f" {node.label}(" if needs_space else f"{node.label}(")
                stack.append(")")
            stack.extend(reversed(node.children))
        return "".join(written)

    def to_json(self) -> list[dict[str, Any]]:
        """The nodes before their children, each with the number of its parent (-1: none)."""
        records: list[dict[str, Any]] = []
        stack: list[tuple[int, ParseNode]] = [(-1, self)]
        while stack:
            parent, node = stack.pop()
            stack.extend((len(records), child) for child in reversed(node.children))
            records.append(
                {
                    "parent": parent,
                    "kind": str(node.kind),
                    "label": node.label,
                    "text": written_text(node.text),
                    "characters": [node.characters.start, node.characters.end],
                    "bytes": [node.bytes.start, node.bytes.end],
                    "source": [node.source.start, node.source.end],
                    "open": node.is_open,
                    "differs": node.differs,
                }
            )
        return records


@dataclass(frozen=True, slots=True, eq=False)
class ParseTrees:
    """The parse trees of a text, or of the part of it that can be read."""

    text: bytes
    #: The number of bytes read: all, unless no accepted text begins with the text.
    read: int
    #: Whether the whole text is accepted; otherwise the trees are unfinished.
    accepted: bool
    #: The number of trees of the whole text; ``math.inf`` if a rule can derive itself without
    #: reading more, 0 if the text is not accepted.
    count: int | float
    #: A tree, or an unfinished one of the part read; None for a language without texts.
    first: ParseNode | None
    #: Another tree, if there are several.
    second: ParseNode | None
    #: What could follow an unfinished text, in words; empty if the text is accepted.
    expected: str = ""

    def __repr__(self) -> str:
        return f"ParseTrees({shorten(repr(self.text), 40)}: {self.counted})"

    def __str__(self) -> str:
        trees = [tree for tree in (self.first, self.second) if tree is not None]
        return "\n\n".join((f"{self.counted}{self._ending}", *map(str, trees)))

    @property
    def counted(self) -> str:
        """The number of trees in words: ``2 trees``, ``infinitely many trees``."""
        if math.isinf(self.count):
            return "infinitely many trees"
        if not self.accepted:
            return "unfinished tree" if self.read == len(self.text) else "no tree"
        return count_of(int(self.count), "tree")

    @property
    def _ending(self) -> str:
        if self.accepted or self.first is None:
            return ""
        rest = show_labels(self.text[self.read :])
        where = f"cannot read {shorten(repr(rest), 40)}; " if rest else ""
        return f"; {where}expected {self.expected}"

    def to_json(self) -> dict[str, Any]:
        """The trees as JSON values; an infinite count is the word ``infinite``."""
        return {
            "text": written_text(self.text),
            "read": self.read,
            "accepted": self.accepted,
            "count": "infinite" if math.isinf(self.count) else int(self.count),
            "expected": self.expected,
            "first": None if self.first is None else self.first.to_json(),
            "second": None if self.second is None else self.second.to_json(),
        }


@checked
def parse_trees(grammar: Grammar, text: str | bytes, limits: Limits | None = None) -> ParseTrees:
    """The parse trees of a text: two of them and their exact number.

    A text that is not accepted has one tree: an unfinished one of its longest readable prefix.
    Copies of a repetition that read nothing are left out, and a terminal of a grammar is one leaf.

    Cost:   about 50 µs a byte for common grammars; cubic for ambiguous ones.
    Raises: BuildError, LimitError past ``limits.seconds``.
    """
    work = (limits or grammar.limits).begun()
    # a forest is many small objects, and half of the time was the collector's
    with time_budget(work.seconds), without_gc():
        return _parse_trees(grammar, utf8(text), work)


def _parse_trees(grammar: Grammar, data: bytes, limits: Limits) -> ParseTrees:
    if max(data, default=0) >= RESERVED:
        grammar = encode_labels(grammar)
    shared = _Symbols.shared(grammar)
    if not shared.symbols.bodies:
        return ParseTrees(data, 0, False, 0, None, None)
    forest = Forest(shared.symbols, shared.rule, data, limits)
    if forest.accepted:
        first, second, count = shared.two_trees(forest)
        return ParseTrees(data, len(data), True, count, first, second)
    verdict = grammar.check(data)
    # with assertions only the verdict is exact: whether one holds may depend on what follows
    read = data[: verdict.byte]
    if len(read) < len(data) or not forest.is_prefix:
        forest = Forest(shared.symbols, shared.rule, read, limits, goes_on=True)
    first = shared.unfinished_tree(forest)
    expected = in_words([verdict.expected], end=verdict.may_end)
    return ParseTrees(data, len(read), False, 0, first, None, expected)


# -- trees of a forest -----------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class _Growing:
    """A node while its tree is built."""

    kind: NodeKind
    label: str
    start: int
    end: int
    source: Span
    is_open: bool = False
    differs: bool = False
    children: list[_Growing] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class _Choice:
    """A node of a tree whose forest node has other derivations."""

    number: int
    options: int
    chosen: int
    owner: _Growing


class _Symbols:
    """The symbols of one grammar, with what trees need to know about its source."""

    def __init__(self, grammar: Grammar) -> None:
        self._source = grammar.source.text
        #: Spans of generated rules are of what they were generated from.
        self._is_generated = grammar.is_generated
        if grammar.regex is not None:
            self.rule, self._top = _REGEX, NodeKind.REGEX
            self.symbols = Symbols.of_regex(grammar.regex, _REGEX, grammar.limits)
            self._definitions = {_REGEX: grammar.regex.span}
        else:
            assert grammar.tree is not None, "a grammar has a tree or a regex"
            self.rule, self._top = grammar.start, NodeKind.RULE
            work = grammar.limits.begun()
            self.symbols = Symbols.of_cfg(
                context_free(grammar.tree, grammar.start, work, phrases=True)
            )
            self._definitions = {rule.name: rule.span for rule in reversed(grammar.tree.rules)}

    @staticmethod
    def shared(grammar: Grammar) -> _Symbols:
        """The symbols of a grammar that all callers share."""
        symbols: _Symbols | None = grammar.derived.get(_SHARED)
        return symbols or grammar.derived.setdefault(_SHARED, _Symbols(grammar))

    def two_trees(self, forest: Forest) -> tuple[ParseNode, ParseNode | None, int | float]:
        """One tree, another one if there are several, and the number of trees."""
        return two_trees(forest, _Labels(self), self.rule, self._top)

    def unfinished_tree(self, forest: Forest) -> ParseNode:
        """A tree of a text that is not accepted."""
        return unfinished_tree(forest, _Labels(self), self.rule, self._top)

    def definition(self, rule: str) -> Span:
        """The source span of a rule."""
        return self._definitions.get(rule, Span(0, 0))

    def label(self, symbol: SymbolData) -> str:
        """A symbol by the name a reader of the grammar knows."""
        if symbol.name:
            return symbol.name
        if symbol.kind is SymbolKind.TEXT:
            return repr(visible(symbol.value))
        if symbol.kind is SymbolKind.GROUP:
            return "group"
        if self._is_generated:
            return "text" if symbol.kind is SymbolKind.MACHINE else "parts"
        written = self._source[symbol.span.start : symbol.span.end]
        return shorten(" ".join(written.split()), _LABEL_WIDTH)


class _Labels:
    """The names and spans of nodes, for a grammar with a source."""

    def __init__(self, of: _Symbols) -> None:
        self.label, self.definition = of.label, of.definition


class PlainLabels:
    """Names of nodes where only rules have one."""

    def label(self, symbol: SymbolData) -> str:
        """The name of a symbol."""
        return symbol.name

    def definition(self, _: str) -> Span:
        """No span."""
        return Span(0, 0)


def unfinished_tree(forest: Forest, labels: _Labels, rule: str, top: NodeKind) -> ParseNode:
    """A tree of a text that is not accepted, up to where it can be read."""
    if not forest.accepted and forest.is_prefix and not forest.text:
        growing = _Growing(top, rule, 0, 0, labels.definition(rule), is_open=True)
        _TreeBuilder(forest, labels, None).add_pending(growing, forest.body)
        return _freeze(forest, [growing, *growing.children])
    return _freeze(forest, _TreeBuilder(forest, labels, Counted(forest)).tree(rule, top))


def two_trees(
    forest: Forest, labels: _Labels | PlainLabels, rule: str, top: NodeKind = NodeKind.RULE
) -> tuple[ParseNode, ParseNode | None, int | float]:
    """One tree of an accepted text, another one if there are several, and the number of trees."""
    counted = Counted(forest)
    builder = _TreeBuilder(forest, labels, counted)
    first = builder.tree(rule, top)
    if counted.count == 1:
        return _freeze(forest, first), None, 1
    alternatives = [
        (choice, option)
        for choice in builder.choices[:_MAX_TRIES]
        for option in range(choice.options)
        if option != choice.chosen
    ][:_MAX_TRIES]
    before = _freeze(forest, first).bracketed()
    second: list[_Growing] | None = None
    for choice, option in alternatives:
        other = _TreeBuilder(forest, labels, counted, (choice.number, option))
        grown = other.tree(rule, top)
        looks_other = _freeze(forest, grown).bracketed() != before
        if second is None or looks_other:
            second = grown
            for each in first:
                each.differs = False
            choice.owner.differs = True
        if looks_other:
            break
    return (
        _freeze(forest, first),
        None if second is None else _freeze(forest, second),
        counted.count,
    )


class _TreeBuilder:
    """Builds one tree of a forest, without recursion."""

    def __init__(
        self,
        forest: Forest,
        labels: _Labels | PlainLabels,
        counted: Counted | None,
        deviation: tuple[int, int] = (-1, 0),
    ) -> None:
        self._forest = forest
        self._data = forest.symbols.data
        self._labels = labels
        self._counted = counted
        #: The number of a choice, and the alternative to take there instead.
        self._deviation = deviation
        self.choices: list[_Choice] = []
        self._met = 0
        self._nodes: list[_Growing] = []

    def tree(self, rule: str, top: NodeKind) -> list[_Growing]:
        """The nodes of the tree, each before its children."""
        forest = self._forest
        node = forest.top
        end = min(node.end, len(forest.text))
        is_open = node.end == forest.open
        root = _Growing(top, rule, 0, end, self._labels.definition(rule), is_open=is_open)
        self._nodes.append(root)
        work: list[tuple[_Growing, Symbol, int, int]] = [(root, forest.body, 0, node.end)]
        while work:
            check_time_budget(_TOO_AMBIGUOUS)
            above, symbol, start, end = work.pop()
            work.extend(reversed(self._expand(above, symbol, start, end)))
        return self._nodes

    def _add(self, above: _Growing, kind: NodeKind, label: str, span: Span) -> _Growing:
        node = _Growing(kind, label, above.start, above.end, span)
        above.children.append(node)
        self._nodes.append(node)
        return node

    def _expand(
        self, above: _Growing, part: Symbol, start: int, end: int
    ) -> list[tuple[_Growing, Symbol, int, int]]:
        """Add the node of a part below a node; the parts of it that are to be added next."""
        forest, symbol = self._forest, self._data[part]
        if end == _PENDING:
            self.add_pending(above, part)
            return []
        inside = forest.node_of(part, start, end)
        if symbol.kind in (SymbolKind.CALL, SymbolKind.GROUP):
            kind, span = NodeKind.GROUP, symbol.span
            if symbol.kind is SymbolKind.CALL:
                kind, span = NodeKind.RULE, self._labels.definition(symbol.name)
            node = self._add(above, kind, self._labels.label(symbol), span)
            self._place(node, start, end)
            return [(node, symbol.parts[0], start, end)]
        if symbol.kind in (SymbolKind.TEXT, SymbolKind.MACHINE, SymbolKind.LOOK):
            node = self._add(above, NodeKind.TEXT, self._labels.label(symbol), symbol.span)
            self._place(node, start, end)
            return []
        if symbol.kind is SymbolKind.CHOICE:
            option = self._alternative_at(inside, above)
            return [(above, forest.options_of(inside)[option], start, end)]
        if symbol.kind is SymbolKind.REPEAT:
            above = self._add(above, NodeKind.REPETITION, _bounds(symbol), symbol.span)
            self._place(above, start, end)
        elif not symbol.parts:
            node = self._add(above, NodeKind.TEXT, "nothing", symbol.span)
            self._place(node, start, end)
            return []
        return self._parts(above, inside)

    def _place(self, node: _Growing, start: int, end: int) -> None:
        node.start, node.end = start, min(end, len(self._forest.text))
        node.is_open = end == self._forest.open

    def _parts(self, above: _Growing, node: ForestNode) -> list[tuple[_Growing, Symbol, int, int]]:
        """The parts of a sequence or repetition that were read, and those that are pending."""
        forest, symbol, called = self._forest, node.called.symbol, node.called
        parts: list[tuple[_Growing, Symbol, int, int]] = []
        cell, last = (node.slot, node.end), node
        chosen = self._chosen_parts(node, above)
        if node.end == forest.open:
            inner, last = chosen
            cell = (last.slot, last.end)
            part = forest.part_after(called, cell)
            parts.append((above, part, last.end, inner.end))
            pending: tuple[Symbol, ...] = ()
            if symbol.kind is SymbolKind.SEQUENCE:
                pending = symbol.parts[cell[0] + 1 :]
            elif inner.end != forest.open:
                pending = symbol.parts
        else:
            (last,) = chosen
            pending = ()
        while (before := self._chosen_parts(last, above)) != ():
            inner, earlier = before
            part = forest.part_after(called, (earlier.slot, earlier.end))
            parts.append((above, part, earlier.end, inner.end))
            last = earlier
        parts.reverse()
        if symbol.kind is SymbolKind.REPEAT and self._is_composite(symbol.parts[0]):
            parts = [self._copy(number, above, entry) for number, entry in enumerate(parts, 1)]
        return [*parts, *((above, part, _PENDING, _PENDING) for part in pending)]

    def _copy(
        self, number: int, above: _Growing, entry: tuple[_Growing, Symbol, int, int]
    ) -> tuple[_Growing, Symbol, int, int]:
        _, part, start, end = entry
        node = self._add(above, NodeKind.COPY, str(number), self._data[part].span)
        self._place(node, start, end)
        return (node, part, start, end)

    def _is_composite(self, part: Symbol) -> bool:
        """Whether a copy of a part may have several nodes."""
        symbol = self._data[part]
        if symbol.kind is SymbolKind.CHOICE:
            return any(map(self._is_composite, symbol.parts))
        return symbol.kind is SymbolKind.SEQUENCE and len(symbol.parts) != 1

    def add_pending(self, above: _Growing, part: Symbol) -> None:
        """Add a part that an unfinished text has not begun."""
        symbol = self._data[part]
        node = self._add(above, NodeKind.PENDING, self._labels.label(symbol), symbol.span)
        self._place(node, len(self._forest.text), len(self._forest.text))

    def _chosen_parts(self, node: ForestNode, owner: _Growing) -> tuple[ForestNode, ...]:
        assert self._counted is not None, "a text that was read has a forest"
        return self._counted.alternatives[node][self._alternative_at(node, owner)]

    def _alternative_at(self, node: ForestNode, owner: _Growing) -> int:
        """The alternative taken at a node; the deviation if it is the node for it."""
        assert self._counted is not None, "a text that was read has a forest"
        options = len(self._counted.alternatives[node])
        if options == 1:
            return 0
        chosen = self._counted.choose(node)
        number, self._met = self._met, self._met + 1
        self.choices.append(_Choice(number, options, chosen, owner))
        if number == self._deviation[0]:
            owner.differs = True
            return self._deviation[1]
        return chosen


def _bounds(symbol: SymbolData) -> str:
    """The bounds of a repetition as in a regex."""
    usual: Mapping[tuple[int, int | None], str] = {(0, 1): "?", (0, None): "*", (1, None): "+"}
    sign = usual.get((symbol.low, symbol.high))
    if sign is not None:
        return sign
    if symbol.low == symbol.high:
        return f"{{{symbol.low}}}"
    return f"{{{symbol.low},{'' if symbol.high is None else symbol.high}}}"


def _freeze(forest: Forest, nodes: list[_Growing]) -> ParseNode:
    """The finished tree of nodes that are listed each before its children."""
    offsets = _character_offsets(forest.text)
    frozen: dict[int, ParseNode] = {}
    for node in reversed(nodes):
        check_time_budget(_TOO_AMBIGUOUS)
        span = Span(node.start, node.end)
        frozen[id(node)] = ParseNode(
            node.kind,
            node.label,
            forest.text[node.start : node.end],
            Span(offsets[node.start], offsets[node.end]),
            span,
            node.source,
            tuple(frozen[id(child)] for child in node.children),
            node.is_open,
            node.differs,
        )
    return frozen[id(nodes[0])]


def _character_offsets(text: bytes) -> list[int]:
    """The number of characters that begin before each byte, and before the end."""
    return [0, *accumulate(int(byte & 0xC0 != 0x80) for byte in text)]
