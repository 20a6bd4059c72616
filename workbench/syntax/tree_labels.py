"""Labels of rules: a tree of rules in, its terminal labels with their places out."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.source import Source, Span
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    GrammarTree,
    Pattern,
    Repetition,
    Sequence,
)
from workbench.syntax.regex.labels import LABELS, Label, labels_in


def may_have_labels(source: Source) -> bool:
    """Whether the name of a label stands in a text at all."""
    return any(label.name in source.text for label in LABELS)


def labels_in_rules(tree: GrammarTree) -> Iterator[tuple[Label, Span]]:
    """Every label of the rules with its place, from the first rule on."""
    for rule in tree.rules:
        yield from _labels_in(rule.body)


def _labels_in(node: Expression) -> Iterator[tuple[Label, Span]]:
    match node:
        case Pattern(regex=regex):
            yield from labels_in(regex)
        case Sequence(items=parts) | Choice(options=parts):
            for part in parts:
                yield from _labels_in(part)
        case Repetition(item=item):
            yield from _labels_in(item)
