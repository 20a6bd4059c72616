"""Leaf rules: a tree with machines in it comes in, the same with a rule for each machine out.

For pictures and for what is said of a stack: ``schema › string`` tells more than twenty states of
``schema`` do.
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
    """The same language; machines with one label that are one machine have one rule."""
    made = _LeafRules(tree)
    rules = [rule if _is_leaf(rule) else made.rule(rule) for rule in tree.rules]
    return GrammarTree((*rules, *made.leaves.values()), tree.source)


def leaf_labels(tree: GrammarTree) -> dict[str, str]:
    """The rules that are a machine and nothing else, each with its label."""
    return {rule.name: rule.body.label for rule in tree.rules if isinstance(rule.body, Automaton)}


def _is_leaf(rule: Rule) -> bool:
    return isinstance(rule.body, Automaton)


class _LeafRules:
    """Puts calls in place of machines."""

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
