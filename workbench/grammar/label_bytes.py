"""The part of a language that some of the 256 bytes can write.

A byte that no token of a vocabulary contains can never be generated. Every method compiles the
grammar without the texts that need such a byte (``over_bytes``); the vocabulary is then complete
over the texts that remain.

The terminals are intersected with Σ'*, where Σ' are the given bytes. A terminal that is a plain
regex stays a regex, over the characters that Σ' can write; any other becomes an automaton. Rules
without texts are removed when the machine is built.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from workbench.automata.build import regex_machine
from workbench.automata.lazy_dfa import LazyDfa
from workbench.automata.minimize import minimize
from workbench.automata.nfa import BYTES
from workbench.base.dfa import DEAD, Dfa, used_bytes
from workbench.base.errors import BuildError
from workbench.base.source import Span
from workbench.grammar.grammar import Grammar
from workbench.pushdown.cfg import gathered, terminal_machine
from workbench.pushdown.network import CALLS
from workbench.syntax.grammar_tree import (
    Automaton,
    Expression,
    GrammarTree,
    Literal,
    Nonterminal,
    Pattern,
    Rule,
    Stop,
)
from workbench.syntax.ranges import MAX_CODE_POINT, Ranges, intersection
from workbench.syntax.regex.tree import Bytes, Characters, Extension, LeafNode, Regex, walk

#: Sets of characters with more ranges make large automata: their terminals become automata first.
_MAX_RANGES = 256


def over_bytes(grammar: Grammar, alphabet: frozenset[int]) -> Grammar:
    """The grammar of the texts whose bytes are all in an alphabet; itself if all are. Cached.

    Raises: BuildError of kind ``unproductive`` if there is no such text; LimitError.
    """
    if len(alphabet) == BYTES or _read_by(grammar) <= alphabet:
        return grammar
    by_alphabet: dict[frozenset[int], Grammar] = grammar.derived.setdefault("over alphabets", {})
    if alphabet not in by_alphabet:
        by_alphabet[alphabet] = _restrict(grammar, alphabet)
    return by_alphabet[alphabet]


def without_bytes(machine: Dfa, bytes_: frozenset[int]) -> Dfa:
    """The minimal machine of the texts without these bytes; itself if it reads none of them."""
    missing = sorted(bytes_)
    if (machine.table[:, machine.classes[missing]] == DEAD).all():
        return machine
    classes, width = machine.classes.copy(), machine.table.shape[1]
    classes[missing] = width
    table = np.column_stack([machine.table, np.full(len(machine), DEAD, np.int32)])
    # edges whose bytes are all missing: without this a state behind them counts as accessible
    table[:, np.setdiff1d(np.arange(width), classes)] = DEAD
    return minimize(Dfa(classes, table, machine.finals, machine.initial))


def _read_by(grammar: Grammar) -> set[int]:
    reader = grammar.reader
    if isinstance(reader, LazyDfa):
        return reader.used_bytes
    return used_bytes(reader.table, reader.classes[:CALLS])


def _restrict(grammar: Grammar, alphabet: frozenset[int]) -> Grammar:
    if grammar.tree is None:
        assert grammar.regex is not None, "a grammar has a regex or a tree"
        regex = _regex_over(grammar.regex, alphabet)
        if regex is not None:
            machine = regex_machine(regex, grammar.limits.begun())
            if machine.is_empty:
                raise _no_text(grammar)
            return replace(grammar, reader=machine, regex=regex)
        tree = _one_terminal(grammar, grammar.regex)
    else:
        tree = grammar.tree
    leaf = _LeafRestriction(grammar, tree, alphabet)
    rules = tuple(replace(rule, body=leaf.of(rule.body)) for rule in tree.rules)
    try:
        restricted = grammar.with_tree(replace(tree, rules=rules))
    except BuildError as error:
        if error.kind != "empty_grammar":
            raise
        raise _no_text(grammar) from error
    # a regex stays an automaton
    return restricted if grammar.tree else replace(restricted, reader=restricted.machine)


def _no_text(grammar: Grammar) -> BuildError:
    return BuildError(
        "no accepted text consists of these bytes alone",
        grammar.source,
        Span(0, len(grammar.source.text)),
        kind="unproductive",
    )


def _one_terminal(grammar: Grammar, regex: Regex) -> GrammarTree:
    """A regex as the only rule of a grammar."""
    text = grammar.source.text
    span = Span(0, len(text))
    terminal = Pattern(regex, Stop.ANYWHERE, text, span)
    return GrammarTree((Rule(grammar.start, terminal, span, span),), grammar.source)


class _LeafRestriction:
    """Intersects the terminals of one grammar with the texts over an alphabet."""

    def __init__(self, grammar: Grammar, tree: GrammarTree, alphabet: frozenset[int]) -> None:
        self._rules = gathered(tree)
        self._grammar = grammar
        self._alphabet = alphabet
        self._missing = frozenset(range(BYTES)) - alphabet
        self._machines: dict[int, Dfa] = {}

    def of(self, node: Expression) -> Expression:
        if not isinstance(node, LeafNode):
            return node.rebuild(self.of)
        match node:
            case Nonterminal():
                return node
            case Literal(value=value):
                if self._alphabet.issuperset(value):
                    return node
                none = Characters((), node.span)
                return Pattern(none, Stop.ANYWHERE, self._text(node), node.span)
            case Pattern(regex=regex, stop=Stop.ANYWHERE):
                restricted = _regex_over(regex, self._alphabet)
                if restricted is not None:
                    return node if restricted is regex else replace(node, regex=restricted)
            case Automaton(machine=machine):
                # leaves share machines, and so do their restrictions
                if id(machine) not in self._machines:
                    self._machines[id(machine)] = without_bytes(machine, self._missing)
                return replace(node, machine=self._machines[id(machine)])
        grammar = self._grammar
        machine = terminal_machine(node, self._rules, grammar.source, grammar.limits)
        return Automaton(without_bytes(machine, self._missing), self._text(node), node.span)

    def _text(self, node: Expression) -> str:
        return self._grammar.source.text[node.span.start : node.span.end]


def _regex_over(regex: Regex, alphabet: frozenset[int]) -> Regex | None:
    """The regex over the characters that the bytes can write; None if it has to be a machine."""
    characters = _characters_of(alphabet)
    if len(characters) > _MAX_RANGES or any(isinstance(n, Extension) for n in walk(regex)):
        return None
    bytes_ = tuple((byte, byte) for byte in sorted(alphabet))

    def over(node: Regex) -> Regex:
        match node:
            case Characters(ranges=ranges):
                return _narrow(node, intersection(ranges, characters))
            case Bytes(ranges=ranges):
                return _narrow(node, intersection(ranges, bytes_))
        return node.rebuild(over)

    return over(regex)


def _narrow(node: Characters | Bytes, ranges: Ranges) -> Characters | Bytes:
    return node if ranges == node.ranges else replace(node, ranges=ranges)


@lru_cache(maxsize=64)
def _characters_of(alphabet: frozenset[int]) -> Ranges:
    """The characters whose UTF-8 bytes are all in an alphabet."""
    is_in = np.zeros(BYTES, np.bool_)
    is_in[sorted(alphabet)] = True
    is_allowed = np.zeros(MAX_CODE_POINT + 3, np.bool_)  # with a gap before and behind
    codes = np.arange(MAX_CODE_POINT + 1)
    last = is_in[0x80 | codes & 0x3F]
    third, second = is_in[0x80 | codes >> 6 & 0x3F], is_in[0x80 | codes >> 12 & 0x3F]
    is_allowed[1:-1] = np.select(
        [codes < 0x80, codes < 0x800, (codes >= 0xD800) & (codes < 0xE000), codes < 0x10000],
        [
            is_in[codes & 0x7F],
            is_in[0xC0 | codes >> 6 & 0x1F] & last,
            np.False_,
            is_in[0xE0 | codes >> 12 & 0x0F] & third & last,
        ],
        is_in[0xF0 | codes >> 18 & 0x07] & second & third & last,
    )
    borders = np.flatnonzero(is_allowed[1:] != is_allowed[:-1])
    return tuple((low, high - 1) for low, high in borders.reshape(-1, 2).tolist())
