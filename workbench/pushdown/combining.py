"""Combining: expressions that need no stack in, the machine of an operation on their texts out.

What imported notations say of terminals and a grammar tree has no nodes for: ``A & B``, ``~A``,
lazy rules, bounds of characters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.automata.build import regex_dfa
from workbench.automata.dfa import Dfa
from workbench.automata.operations import difference, first_match, intersection
from workbench.errors import BuildError
from workbench.limits import Limits
from workbench.pushdown.build import machine
from workbench.pushdown.cfg import Cfg
from workbench.pushdown.checks import check_defined
from workbench.pushdown.rule_program import rule_program
from workbench.source import Source, Span
from workbench.syntax.beyond import Rules
from workbench.syntax.grammar_tree import Expression, GrammarTree, Rule
from workbench.syntax.ranges import ANY_CHARACTER
from workbench.syntax.regex.tree import Characters, Repeat
from workbench.syntax.tree_labels import labels_in_rules, may_have_labels

_NOWHERE = Span(0, 0)
#: A name no notation can give a rule.
_WHOLE = "·"


@dataclass(frozen=True, slots=True, eq=False)
class Combining:
    """Operations on the texts of expressions of one grammar; see ``syntax.beyond``."""

    source: Source
    limits: Limits

    def both(self, parts: Sequence[Expression], rules: Rules) -> Dfa:
        """The texts of all the parts."""
        first, *others = (self._machine(part, rules) for part in parts)
        for other in others:
            first = intersection(first, other, self.limits)
        return first

    def but(self, whole: Expression | None, part: Expression, rules: Rules) -> Dfa:
        """The texts of the whole, or all texts, that are none of the part."""
        left = self._characters(None) if whole is None else self._machine(whole, rules)
        return difference(left, self._machine(part, rules), self.limits)

    def shortest(self, part: Expression, rules: Rules) -> Dfa:
        """The texts of a part no shorter beginning of which is one."""
        found = self._machine(part, rules)
        if found.finals[found.initial]:
            return self._characters(0)
        return first_match(found, self.limits)

    def at_most(self, part: Expression, characters: int, rules: Rules) -> Dfa:
        """The texts of a part that have no more characters."""
        return intersection(self._machine(part, rules), self._characters(characters), self.limits)

    def _characters(self, most: int | None) -> Dfa:
        """All texts of so many characters."""
        one = Characters(ANY_CHARACTER, _NOWHERE)
        return regex_dfa(Repeat(one, 0, most, _NOWHERE), self.limits)

    def _machine(self, part: Expression, rules: Rules) -> Dfa:
        bodies = {_WHOLE: part, **rules}
        span = part.span
        tree = GrammarTree(
            tuple(Rule(name, body, span, span) for name, body in bodies.items()), self.source
        )
        self._refuse_labels(tree)
        try:
            program = rule_program(tree, bodies, self.limits)
        except KeyError:
            check_defined(tree, bodies, _WHOLE)
            raise
        made = machine(Cfg(_WHOLE, bodies, program, self.source, self.limits), self.limits)
        if isinstance(made, Dfa):
            return made
        raise BuildError(
            "expected texts that can be read without a stack",
            self.source,
            span,
            "only terminals can be combined, negated or cut short",
            kind="unsupported",
        )

    def _refuse_labels(self, tree: GrammarTree) -> None:
        for label, span in labels_in_rules(tree) if may_have_labels(self.source) else ():
            raise BuildError(
                f"{label.name} cannot be combined, negated or cut short: it reads one token, "
                "whatever its text",
                self.source,
                span,
                "leave it out of what is made of terminals, or write a regex of the texts you mean",
                kind="unsupported",
            )
