"""``without_phrases``: a grammar tree in which permutation phrases are ordinary rules.

A rule with a phrase becomes one rule for each position in it where texts can differ and each set of
elements that may be written there: up to 2ⁿ sets of n elements. Needed by everything that does not
support marks: exports to other notations, pictures of small machines, and methods other than the
exact engine.
"""

from __future__ import annotations

from collections.abc import Sequence as Row
from dataclasses import replace
from typing import NamedTuple

from workbench.base.errors import LimitError
from workbench.base.limits import check_time_budget
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    GrammarTree,
    Mark,
    Names,
    Nonterminal,
    Repetition,
    Rule,
    Sequence,
    choice,
    sequence,
)
from workbench.syntax.permutation_phrases import Written
from workbench.syntax.regex.tree import outermost

#: The most rules that may replace a rule with a phrase.
_MAX_RULES = 5_000

#: The number of a leaf, in the order of the grammar text; the end of the rule has the number after
#: the last one.
_Leaf = int


def has_phrases(tree: GrammarTree) -> bool:
    """Whether a rule has a permutation phrase."""
    return any(outermost(rule.body, Mark) for rule in tree.rules)


def without_phrases(tree: GrammarTree) -> GrammarTree:
    """The same language without permutation phrases; the tree itself if it has none.

    Raises: LimitError of ``states`` if a phrase becomes too many rules.
    """
    if not has_phrases(tree):
        return tree
    names = Names(rule.name for rule in tree.rules)
    rules: list[Rule] = []
    for rule in tree.rules:
        rules += _Expansion(rule, names).rules() if outermost(rule.body, Mark) else [rule]
    return replace(tree, rules=tuple(rules))


class _State(NamedTuple):
    """A position in a rule, with what is written of its phrase."""

    #: The leaves that can be read next.
    following: frozenset[_Leaf]
    #: None before the phrase.
    written: Written | None


class _Ends(NamedTuple):
    """The leaves with which a part of a rule can begin and end."""

    first: set[_Leaf]
    last: set[_Leaf]
    #: Whether the part can be read without any leaf.
    is_nullable: bool


class _Expansion:
    """The rules that replace one rule with a phrase.

    Source: Glushkov 1961, the position automaton of an expression; positions are the leaves of the
            rule.
    """

    def __init__(self, rule: Rule, names: Names) -> None:
        self._rule, self._names = rule, names
        self._leaves: list[Expression] = []
        #: The leaves that can follow each leaf.
        self._after: list[set[_Leaf]] = []
        first, last, is_nullable = self._add_leaves(rule.body)
        self._end = len(self._leaves)
        for leaf in last:
            self._after[leaf].add(self._end)
        self._initial = _State(frozenset(first | ({self._end} if is_nullable else set())), None)
        #: What can be read from each state: leaves, and the state after them, None at the end.
        self._options: dict[_State, list[tuple[list[Expression], _State | None]]] = {}

    def _add_leaves(self, node: Expression) -> _Ends:
        """Add the leaves of an expression, and those that can follow them inside it."""
        match node:
            case Sequence(items=items):
                return self._add_row(items)
            case Choice(options=options):
                parts = [self._add_leaves(option) for option in options]
                first = set[_Leaf]().union(*(part.first for part in parts))
                last = set[_Leaf]().union(*(part.last for part in parts))
                return _Ends(first, last, any(part.is_nullable for part in parts))
            case Repetition(item=item, low=low, high=high):
                assert (low, high) in ((0, 1), (0, None)), "a phrase has no counts"
                first, last, _ = self._add_leaves(item)
                if high is None:
                    for leaf in last:
                        self._after[leaf] |= first
                return _Ends(first, last, is_nullable=True)
            case _:
                self._leaves.append(node)
                self._after.append(set())
                only = {len(self._leaves) - 1}
                return _Ends(only, only, is_nullable=False)

    def _add_row(self, items: Row[Expression]) -> _Ends:
        """Add the leaves of a sequence."""
        first, last, is_nullable = set[_Leaf](), set[_Leaf](), True
        for item in items:
            ends = self._add_leaves(item)
            for leaf in last:
                self._after[leaf] |= ends.first
            if is_nullable:
                first |= ends.first
            last = last | ends.last if ends.is_nullable else ends.last
            is_nullable &= ends.is_nullable
        return _Ends(first, last, is_nullable)

    def rules(self) -> list[Rule]:
        """The rule without marks, and those it calls."""
        waiting = [self._initial]
        while waiting:
            check_time_budget()
            state = waiting.pop()
            if state not in self._options:
                self._options[state] = self._rows(state)
                waiting += [after for _, after in self._options[state] if after is not None]
            if len(self._options) > _MAX_RULES:
                raise LimitError(
                    f"elements in any order need more than {_MAX_RULES:,} rules, one for each set"
                    " of them",
                    "states",
                    "use the method 'automaton', which needs no rules, or allow fewer elements",
                )
        productive = self._productive()
        names = {
            state: self._rule.name if state is self._initial else self._names.fresh(self._rule.name)
            for state in self._options
            if state in productive
        }
        span = self._rule.span
        return [
            replace(self._rule, body=self._body(state, names))
            if state is self._initial
            else Rule(name, self._body(state, names), span, span)
            for state, name in names.items()
        ]

    def _productive(self) -> set[_State]:
        """The states from which the end of the rule can be reached."""
        callers: dict[_State, list[_State]] = {}
        waiting = []
        for state, options in self._options.items():
            for _, after in options:
                if after is None:
                    waiting.append(state)
                else:
                    callers.setdefault(after, []).append(state)
        productive = set[_State]()
        while waiting:
            state = waiting.pop()
            if state not in productive:
                productive.add(state)
                waiting += callers.get(state, ())
        return productive | {self._initial}

    def _body(self, state: _State, names: dict[_State, str]) -> Expression:
        """What can be read from a state to the end of the rule."""
        span, options = self._rule.body.span, list[Expression]()
        for row, after in self._options[state]:
            if after is None:
                options.append(sequence(row, span))
            elif after in names:
                options.append(sequence([*row, Nonterminal(names[after], span)], span))
        return choice(options, span)

    def _rows(self, state: _State) -> list[tuple[list[Expression], _State | None]]:
        """What can be read from a state, up to the next one with several ways or the end."""
        rows: list[tuple[list[Expression], _State | None]] = []
        for number in sorted(state.following):
            if number == self._end:
                rows.append(([], None))
                continue
            leaf, after = self._leaves[number], frozenset(self._after[number])
            if not isinstance(leaf, Mark):
                rows += self._row(leaf, _State(after, state.written))
                continue
            written = leaf.phrase.following(state.written, leaf.number)
            if written is not None:
                rows += self._rows(_State(after, written))
        return rows

    def _row(self, leaf: Expression, state: _State) -> list[tuple[list[Expression], _State | None]]:
        """A leaf and what follows it; nothing if that ends at a mark that is not free."""
        row = [leaf]
        while len(state.following) == 1:
            (number,) = state.following
            if number == self._end:
                return [(row, None)]
            leaf, written = self._leaves[number], state.written
            if isinstance(leaf, Mark):
                written = leaf.phrase.following(written, leaf.number)
                if written is None:
                    return []
            else:
                row.append(leaf)
            state = _State(frozenset(self._after[number]), written)
        return [(row, state)]
