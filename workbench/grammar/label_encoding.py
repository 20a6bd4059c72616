"""Encodes terminal labels as pairs of reserved bytes.

The code of a label is two bytes that occur in no UTF-8 text, so every machine and every method
reads a label like any other text. Terminals that read bytes rather than characters lose the
reserved bytes.
"""

from __future__ import annotations

from dataclasses import replace

from workbench.automata.build import pattern_dfa, regex_machine
from workbench.automata.nfa import BYTES
from workbench.base.dfa import Dfa
from workbench.base.errors import BuildError
from workbench.base.source import Span
from workbench.grammar.grammar import Grammar
from workbench.grammar.label_bytes import without_bytes
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
from workbench.syntax.regex.tree import (
    Bytes,
    Concat,
    Extension,
    Group,
    Regex,
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
    encoded: Grammar | None = grammar.derived.get("encoded labels")
    return encoded or grammar.derived.setdefault("encoded labels", _encode(grammar))


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


def _encode(grammar: Grammar) -> Grammar:
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
                    raise self._refusal(
                        "expected text here: terminal labels use bytes that no text has",
                        node.span,
                        "leave out bytes from 0xF8 on, or the label",
                    )
                return node
            case Pattern(regex=regex, stop=Stop.ANYWHERE):
                return replace(node, regex=_encoded_regex(regex))
            case Pattern(regex=regex):
                for label, span in labels_in(regex):
                    raise self._refusal(
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

    def _refusal(self, message: str, span: Span, hint: str) -> BuildError:
        return BuildError(message, self._source, span, hint, kind="unsupported_regex")
