"""Encodes terminal labels as pairs of reserved bytes; what of a language some bytes write.

The code of a label is two bytes that occur in no UTF-8 text, so every machine and every method
reads a label like any other text. Terminals that read bytes rather than characters lose the
reserved bytes.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from workbench.automata.build import pattern_dfa, regex_machine
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
    Except,
    Expression,
    GrammarTree,
    Literal,
    Nonterminal,
    Pattern,
    Rule,
    Stop,
    Substrings,
    labels_in_rules,
    may_have_labels,
)
from workbench.syntax.ranges import MAX_CODE_POINT, Ranges, intersection
from workbench.syntax.regex.extensions import LABELS, Label, label_of, labels_in
from workbench.syntax.regex.tree import (
    Bytes,
    Characters,
    Concat,
    Extension,
    Group,
    LeafNode,
    Regex,
    walk,
)

#: The first byte of a label code, and the lowest reserved byte. Neither occurs in UTF-8.
LEAD, RESERVED = 0xFC, 0xF8
_TEXT: Ranges = ((0, RESERVED - 1),)
_RESERVED = frozenset(range(RESERVED, BYTES))

#: The code of each label, by name.
LABEL_CODES: dict[str, bytes] = {
    label.name: bytes((LEAD, RESERVED + number)) for number, label in enumerate(LABELS)
}


def labels_of(grammar: Grammar) -> tuple[tuple[Label, Span], ...]:
    """The labels of a grammar with their spans, in source order.

    Cost: three searches of the text if there are none.
    """
    if not may_have_labels(grammar.source):
        return ()
    if grammar.regex is not None:
        return tuple(labels_in(grammar.regex))
    assert grammar.tree is not None, "a grammar has a regex or a tree"
    return tuple(labels_in_rules(grammar.tree))


def encode_labels(grammar: Grammar) -> Grammar:
    """The grammar with each label replaced by its code; itself if it has no labels. Cached.

    Raises: BuildError for a label in a terminal whose end depends on its text, and for
            reserved bytes in the grammar; LimitError.
    """
    if not labels_of(grammar):
        return grammar
    found: Grammar | None = grammar.derived.get("encoded labels")
    return found or grammar.derived.setdefault("encoded labels", _encoded(grammar))


def show_labels(data: bytes) -> str:
    """Bytes with label codes as text to display; labels appear by name."""
    text = data.decode("utf-8", "surrogateescape")
    for name, code in LABEL_CODES.items():
        text = text.replace(code.decode("utf-8", "surrogateescape"), f"⟨{name}⟩")
    return text


def written_text(data: bytes) -> str:
    """As ``show_labels``; bytes that are no whole character are written as ``\\xHH``."""
    return show_labels(data).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def plain_text(data: bytes) -> bytes:
    """Bytes with label codes replaced by a text that the original label matches."""
    for name, code in LABEL_CODES.items():
        data = data.replace(code, b"" if name == "IMAGE" else b"x")
    return data


def _encoded(grammar: Grammar) -> Grammar:
    if grammar.regex is not None:
        regex = _encoded_regex(grammar.regex)
        return replace(grammar, reader=regex_machine(regex, grammar.limits.begun()), regex=regex)
    assert grammar.tree is not None, "a grammar has a regex or a tree"
    encoder = _LabelEncoder(grammar)
    rules = tuple(replace(rule, body=encoder.of(rule.body)) for rule in grammar.tree.rules)
    return grammar.with_tree(replace(grammar.tree, rules=rules))


def _encoded_regex(regex: Regex) -> Regex:
    """The regex with labels replaced by their codes and without other reserved bytes."""
    if (label := label_of(regex)) is not None:
        assert isinstance(regex, Group), "a label is a group"
        code = tuple(Bytes(((byte, byte),), regex.span) for byte in LABEL_CODES[label.name])
        return replace(regex, part=Concat(code, regex.span))
    match regex:
        case Bytes(ranges=ranges):
            return replace(regex, ranges=intersection(ranges, _TEXT))
        case Extension(parts=parts):
            return replace(regex, parts=tuple(map(_encoded_regex, parts)))
    return regex.rebuild(_encoded_regex)


class _LabelEncoder:
    """Replaces labels by their codes in the expressions of one grammar."""

    def __init__(self, grammar: Grammar) -> None:
        assert grammar.tree is not None, "grammars of rules have a tree"
        self._rules = gathered(grammar.tree)
        self._source = grammar.source
        self._limits = grammar.limits

    def of(self, node: Expression) -> Expression:
        match node:
            case Literal(value=value) | Substrings(value=value):
                if any(byte >= RESERVED for byte in value):
                    raise self._refused(
                        "expected text here: terminal labels use bytes that no text has",
                        node.span,
                        "leave out bytes from 0xF8 on, or the label",
                    )
                return node
            case Pattern(regex=regex, stop=Stop.ANYWHERE):
                return replace(node, regex=_encoded_regex(regex))
            case Pattern(regex=regex):
                for label, span in labels_in(regex):
                    raise self._refused(
                        f"{label.name} is not allowed where a match ends by its text",
                        span,
                        f"write it as a separate regex: #'(?P<{label.name}>)'",
                    )
                return self._text(node, pattern_dfa(node, self._limits))
            case Except():
                machine = terminal_machine(node, self._rules, self._source, self._limits)
                return self._text(node, machine)
            case Automaton(machine=machine):
                return self._text(node, machine)
        return node.rebuild(self.of)

    def _text(self, node: Pattern | Except | Automaton, machine: Dfa) -> Automaton:
        """A terminal as an automaton without the reserved bytes."""
        start, end = node.span.start, node.span.end
        label = node.label if isinstance(node, Automaton) else self._source.text[start:end]
        return Automaton(without_bytes(machine, _RESERVED), label, node.span)

    def _refused(self, message: str, span: Span, hint: str) -> BuildError:
        return BuildError(message, self._source, span, hint, kind="unsupported_regex")


# -- bytes ----------------------------------------------------------------------------------------
# The part of a language that some of the 256 bytes can write.
#
# A byte that no token of a vocabulary contains can never be generated. Every method compiles the
# grammar without the texts that need such a byte (``over_bytes``); the vocabulary is then complete
# over the texts that remain.
#
# The terminals are intersected with Σ'*, where Σ' are the given bytes. A terminal that is a plain
# regex stays a regex, over the characters that Σ' can write; any other becomes an automaton. Rules
# without texts are removed when the machine is built.


#: Sets of characters with more ranges make large automata: their terminals become automata first.
_MAX_RANGES = 256


def over_bytes(grammar: Grammar, alphabet: frozenset[int]) -> Grammar:
    """The grammar of the texts whose bytes are all in an alphabet; itself if all are. Cached.

    Raises: BuildError of kind ``unproductive`` if there is no such text; LimitError.
    """
    if len(alphabet) == BYTES or _read_by(grammar) <= alphabet:
        return grammar
    known: dict[frozenset[int], Grammar] = grammar.derived.setdefault("over alphabets", {})
    if alphabet not in known:
        known[alphabet] = _restricted(grammar, alphabet)
    return known[alphabet]


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


def _restricted(grammar: Grammar, alphabet: frozenset[int]) -> Grammar:
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
                return _narrowed(node, intersection(ranges, characters))
            case Bytes(ranges=ranges):
                return _narrowed(node, intersection(ranges, bytes_))
        return node.rebuild(over)

    return over(regex)


def _narrowed(node: Characters | Bytes, ranges: Ranges) -> Characters | Bytes:
    return node if ranges == node.ranges else replace(node, ranges=ranges)


@lru_cache(maxsize=64)
def _characters_of(alphabet: frozenset[int]) -> Ranges:
    """The characters whose UTF-8 bytes are all in an alphabet."""
    is_in = np.zeros(BYTES, np.bool_)
    is_in[sorted(alphabet)] = True
    found = np.zeros(MAX_CODE_POINT + 3, np.bool_)  # with a gap before and behind
    codes = np.arange(MAX_CODE_POINT + 1)
    last = is_in[0x80 | codes & 0x3F]
    third, second = is_in[0x80 | codes >> 6 & 0x3F], is_in[0x80 | codes >> 12 & 0x3F]
    found[1:-1] = np.select(
        [codes < 0x80, codes < 0x800, (codes >= 0xD800) & (codes < 0xE000), codes < 0x10000],
        [
            is_in[codes & 0x7F],
            is_in[0xC0 | codes >> 6 & 0x1F] & last,
            np.False_,
            is_in[0xE0 | codes >> 12 & 0x0F] & third & last,
        ],
        is_in[0xF0 | codes >> 18 & 0x07] & second & third & last,
    )
    borders = np.flatnonzero(found[1:] != found[:-1])
    return tuple((low, high - 1) for low, high in borders.reshape(-1, 2).tolist())
