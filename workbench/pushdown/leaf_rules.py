"""Gives every automaton in a grammar tree a separate rule, named after its label.

For pictures and for descriptions of a stack: ``schema › string`` is clearer than one of twenty
states inside ``schema``.
"""

from __future__ import annotations

from workbench.syntax.grammar_tree import (
    Automaton,
    Expression,
    GrammarTree,
    Nonterminal,
    Rule,
)


def with_leaf_rules(tree: GrammarTree) -> GrammarTree:
    """The same language; occurrences of one automaton with one label share a rule."""
    leaf_rules = _LeafRules(tree)
    rules = [rule if _is_leaf(rule) else leaf_rules.rule(rule) for rule in tree.rules]
    return GrammarTree((*rules, *leaf_rules.leaves.values()), tree.source)


def leaf_labels(tree: GrammarTree) -> dict[str, str]:
    """The labels of the rules that are only an automaton."""
    return {rule.name: rule.body.label for rule in tree.rules if isinstance(rule.body, Automaton)}


def _is_leaf(rule: Rule) -> bool:
    return isinstance(rule.body, Automaton)


class _LeafRules:
    """Replaces automata by calls of new rules."""

    def __init__(self, tree: GrammarTree) -> None:
        self._taken = {rule.name for rule in tree.rules}
        #: By the identity of the machine, and its label.
        self.leaves: dict[tuple[int, str], Rule] = {}

    def rule(self, rule: Rule) -> Rule:
        return Rule(rule.name, self._called(rule.body), rule.name_span, rule.span)

    def _called(self, body: Expression) -> Expression:
        if isinstance(body, Automaton):
            return Nonterminal(self._name(body), body.span)
        return body.rebuild(self._called)

    def _name(self, leaf: Automaton) -> str:
        key = id(leaf.machine), leaf.label
        if key not in self.leaves:
            name, count = leaf.label, 1
            while name in self._taken:
                count += 1
                name = f"{leaf.label} {count}"
            self._taken.add(name)
            self.leaves[key] = Rule(name, leaf, leaf.span, leaf.span)
        return self.leaves[key].name
