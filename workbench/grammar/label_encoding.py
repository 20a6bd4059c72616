"""Encodes terminal labels as pairs of reserved bytes.

A sign is two bytes that no text has, so every machine and every method reads a label as it reads
any other text. The bytes of signs are taken out of all that reads bytes rather than characters.
"""

from __future__ import annotations

from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np

from workbench.automata.build import pattern_dfa, regex_machine
from workbench.automata.explore import trimmed
from workbench.automata.minimize import minimize
from workbench.base.dfa import DEAD, Dfa
from workbench.base.errors import BuildError
from workbench.base.source import Span
from workbench.grammar.grammar import Grammar
from workbench.pushdown.build import build
from workbench.pushdown.cfg import gathered, terminal_machine
from workbench.syntax.grammar_tree import (
    Automaton,
    Except,
    Expression,
    Literal,
    Pattern,
    Stop,
    Substrings,
    labels_in_rules,
    may_have_labels,
)
from workbench.syntax.ranges import Ranges, intersection
from workbench.syntax.regex.extensions import LABELS, Label, label_of, labels_in
from workbench.syntax.regex.tree import Bytes, Concat, Extension, Group, Regex

#: What begins a sign, and the lowest byte that is kept for signs; UTF-8 has none of them.
LEAD, RESERVED = 0xFC, 0xF8
_TEXT: Ranges = ((0, RESERVED - 1),)

#: The sign of each label.
SIGNS: dict[str, bytes] = {
    label.name: bytes((LEAD, RESERVED + number)) for number, label in enumerate(LABELS)
}

_SIGNED: WeakKeyDictionary[Grammar, Grammar] = WeakKeyDictionary()


def labels_of(grammar: Grammar) -> tuple[tuple[Label, Span], ...]:
    """The labels of a grammar with their places, in the order they are written.

    Cost: three searches of its text where there are none.
    """
    if not may_have_labels(grammar.source):
        return ()
    if grammar.regex is not None:
        return tuple(labels_in(grammar.regex))
    assert grammar.tree is not None, "made from the one or the other"
    return tuple(labels_in_rules(grammar.tree))


def signed(grammar: Grammar) -> Grammar:
    """The grammar with a sign where it has a label; itself where it has none. Remembered.

    Raises: BuildError for a label where the end of a terminal depends on its text, and for bytes
            that signs are made of; LimitError.
    """
    if not labels_of(grammar):
        return grammar
    known = _SIGNED.get(grammar)
    if known is None:
        known = _SIGNED[grammar] = _made(grammar)
    return known


def named(data: bytes) -> str:
    """Bytes with signs as text for people, the labels by their names."""
    text = data.decode("utf-8", "surrogateescape")
    for name, sign in SIGNS.items():
        text = text.replace(sign.decode("utf-8", "surrogateescape"), f"⟨{name}⟩")
    return text


def spelt(data: bytes) -> bytes:
    """Bytes with signs as a text that the grammar reads without them."""
    for name, sign in SIGNS.items():
        data = data.replace(sign, b"" if name == "IMAGE" else b"x")
    return data


def _made(grammar: Grammar) -> Grammar:
    work = grammar.limits.begun()
    if grammar.regex is not None:
        regex = _signed_regex(grammar.regex)
        return replace(grammar, reader=regex_machine(regex, work), regex=regex)
    assert grammar.tree is not None, "made from the one or the other"
    signer = _Signer(grammar)
    rules = tuple(replace(rule, body=signer.of(rule.body)) for rule in grammar.tree.rules)
    tree = replace(grammar.tree, rules=rules)
    return replace(grammar, reader=build(tree, grammar.start, work), tree=tree)


def _signed_regex(regex: Regex) -> Regex:
    """A regex with signs where it has labels, and without their bytes anywhere else."""
    if (label := label_of(regex)) is not None:
        assert isinstance(regex, Group), "labels are"
        sign = tuple(Bytes(((byte, byte),), regex.span) for byte in SIGNS[label.name])
        return replace(regex, part=Concat(sign, regex.span))
    match regex:
        case Bytes(ranges=ranges):
            return replace(regex, ranges=intersection(ranges, _TEXT))
        case Extension(parts=parts):
            return replace(regex, parts=tuple(map(_signed_regex, parts)))
    return regex.rebuild(_signed_regex)


class _Signer:
    """Writes signs into the expressions of one grammar."""

    def __init__(self, grammar: Grammar) -> None:
        assert grammar.tree is not None, "for grammars of rules"
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
                return replace(node, regex=_signed_regex(regex))
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
        """A terminal whose machine reads bytes, without those that are kept for signs."""
        start, end = node.span.start, node.span.end
        label = node.label if isinstance(node, Automaton) else self._source.text[start:end]
        return Automaton(_without_signs(machine), label, node.span)

    def _refused(self, message: str, span: Span, hint: str) -> BuildError:
        return BuildError(message, self._source, span, hint, kind="unsupported_regex")


def _without_signs(machine: Dfa) -> Dfa:
    """The texts of a machine that hold no byte that is kept for signs; itself where none does."""
    if (machine.table[:, machine.classes[RESERVED:256]] == DEAD).all():
        return machine
    classes, width = machine.classes.copy(), machine.table.shape[1]
    classes[RESERVED:256] = width
    table = np.column_stack([machine.table, np.full(len(machine), DEAD, np.int32)])
    return minimize(trimmed(classes, table, machine.finals, machine.initial))
