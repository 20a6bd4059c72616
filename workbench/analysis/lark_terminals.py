"""Finds terminals of a Lark grammar that match the same text at the same position.

A text is accepted if some reading of it is, but lark's contextual lexer decides for one of the
terminals by their priorities and lengths, before the parser sees the text. With the others the
text may be refused. Priorities therefore do not change the language, and this module reports
where they would.

Source: lark 1.3, ``lark/lexer.py``: ``BasicLexer``, ``_create_unless``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import combinations

from workbench.analysis.conflicts import quoted_end
from workbench.automata.operations import intersection as dfa_intersection
from workbench.automata.operations import shortest
from workbench.base.dfa import Dfa
from workbench.base.diagnostics import Advice
from workbench.base.errors import BuildError, LimitError
from workbench.base.limits import Limits
from workbench.base.source import Span
from workbench.base.visible_text import count_of
from workbench.pushdown.build import Combining
from workbench.syntax.grammar_tree import (
    Expression,
    GrammarTree,
    Literal,
    Nonterminal,
    Rule,
    Shape,
    all_called,
    shape,
)
from workbench.syntax.lark.lark_tree import is_terminal
from workbench.syntax.lark.lazy import Positions


def collision_advice(tree: GrammarTree, start: str, limits: Limits) -> tuple[Advice, ...]:
    """A note for each terminal of which lark's contextual lexer would not read some texts.

    Two terminals are compared only where both may come next in one context; the search stops at
    the limits, and what was found until then is certain.
    """
    rules = {rule.name: rule for rule in tree.written or tree.rules}
    bodies = {name: rule.body for name, rule in rules.items() if not is_terminal(name)}
    if start not in bodies:
        return ()
    limits = limits.begun()
    positions = Positions(bodies, limits.clock())
    with suppress(LimitError):  # the positions found until then are correct
        positions.explore(start)
    bodies = {name: rule.body for name, rule in rules.items()}
    return tuple(_Collisions(tree, rules, bodies, positions, limits).advice())


@dataclass(frozen=True, slots=True, eq=False)
class _Collisions:
    tree: GrammarTree
    rules: dict[str, Rule]
    bodies: dict[str, Expression]
    positions: Positions
    limits: Limits
    _machines: dict[Shape, Dfa | None] = field(default_factory=dict)

    def advice(self) -> Iterator[Advice]:
        atoms = self.positions.atoms
        #: The terminals that are preferred to each terminal, with a text that both match.
        preferred: dict[Shape, list[tuple[str, bytes]]] = {}
        with suppress(LimitError):  # what was found is true
            for first, other in self._pairs():
                text = self._common(atoms[first], atoms[other])
                if text is None:
                    continue
                ranks = self._rank(atoms[first]), self._rank(atoms[other])
                if ranks[0] == ranks[1]:
                    yield self._tie(atoms[first], atoms[other], text)
                    continue
                lost, kept = (first, other) if ranks[0] < ranks[1] else (other, first)
                preferred.setdefault(lost, []).append((self._name(atoms[kept]), text))
        for lost, others in preferred.items():
            yield self._note(atoms[lost], others)

    def _pairs(self) -> Iterator[tuple[Shape, Shape]]:
        """The pairs of terminals that are possible at one position; those with a string first."""
        clock = self.limits.clock()
        atoms = list(self.positions.atoms)
        rank = {atom: index for index, atom in enumerate(atoms)}.__getitem__
        places: list[list[int]] = []
        for terminals in self.positions.places:
            clock.check()
            places.append(sorted(map(rank, terminals)))
        pairs: dict[tuple[int, int], None] = {}
        for ranks in sorted(places):
            clock.check()
            pairs.update(dict.fromkeys(combinations(ranks, 2)))
        strings = [self._string(leaf) is not None for leaf in self.positions.atoms.values()]
        for has_string in (True, False):
            for first, other in pairs:
                if (strings[first] != strings[other]) is has_string and not (
                    strings[first] and strings[other]
                ):
                    yield atoms[first], atoms[other]

    def _string(self, leaf: Expression) -> bytes | None:
        """The text of a terminal that is one string."""
        if isinstance(leaf, Nonterminal) and leaf.name in self.rules:
            leaf = self.rules[leaf.name].body
        return leaf.value if isinstance(leaf, Literal) else None

    def _rank(self, leaf: Expression) -> tuple[int, bool]:
        """Lark's order where two terminals match the same text: by priority, strings first."""
        rule = self.rules.get(leaf.name) if isinstance(leaf, Nonterminal) else None
        return rule.priority if rule else 0, self._string(leaf) is not None

    def _common(self, first: Expression, other: Expression) -> bytes | None:
        """A shortest text that both terminals match, or None."""
        for string, leaf in ((self._string(first), other), (self._string(other), first)):
            if string is not None:
                machine = self._machine(leaf)
                return string if machine is not None and machine.accepts(string) else None
        left, right = self._machine(first), self._machine(other)
        if left is None or right is None:
            return None
        return shortest(dfa_intersection(left, right, self.limits)) or None

    def _machine(self, leaf: Expression) -> Dfa | None:
        """The texts of a terminal; None if it is no set that can be read without a stack."""
        key = shape(leaf)
        if key not in self._machines:
            called = {name: self.bodies[name] for name in all_called(leaf, self.bodies)}
            self._machines[key] = None
            with suppress(BuildError):
                self._machines[key] = Combining(self.tree.source, self.limits).both([leaf], called)
        return self._machines[key]

    def _name(self, leaf: Expression) -> str:
        if isinstance(leaf, Nonterminal):
            return leaf.name
        return self.tree.source.text[leaf.span.start : leaf.span.end]

    def _span(self, leaf: Expression) -> Span:
        if isinstance(leaf, Nonterminal) and leaf.name in self.rules:
            return self.rules[leaf.name].name_span
        return leaf.span

    def _note(self, leaf: Expression, others: list[tuple[str, bytes]]) -> Advice:
        """A note on a terminal to which others are preferred."""
        lost, (kept, text) = self._name(leaf), others[0]
        more = len(others) - 1
        also = f", and so for {count_of(more, 'other terminal')}" if more else ""
        message = (
            f"{lost} and {kept} both match {quoted_end(text)} at the same position, and lark's "
            f"contextual lexer reads only {kept} there{also}"
        )
        hint = f"here both are read; to exclude one, write {lost} as the terminal & ~{kept}"
        return Advice(message, self._span(leaf), "terminal_collision", hint)

    def _tie(self, first: Expression, other: Expression, text: bytes) -> Advice:
        message = (
            f"{self._name(first)} and {self._name(other)} both match {quoted_end(text)} at the "
            "same position, and lark's contextual lexer reads only one of them there"
        )
        hint = "here both are read; a priority, as in NAME.2: …, says which one lark reads"
        return Advice(message, self._span(first), "terminal_collision", hint)
