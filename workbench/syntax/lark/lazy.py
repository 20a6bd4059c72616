"""Restricts the terminals that compete with a lazy rule in llguidance's variant of Lark.

llguidance's lexer reads all terminals that are possible at a position in parallel, and stops as
soon as a lazy one matches. So a terminal that competes with a lazy one cannot continue past its
match: free text next to ``head[lazy]: TEXT "<tool>"`` ends before ``<tool>``. These texts are
subtracted from the other terminal, which is correct if the lazy one is possible wherever the other
one is. If it is possible only at some of these positions, the grammar is rejected.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace

from workbench.base.errors import ParseError
from workbench.base.limits import Clock
from workbench.base.source import Source, Span
from workbench.syntax.grammar_tree import (
    Automaton,
    Choice,
    Expression,
    Literal,
    Nonterminal,
    Pattern,
    Repetition,
    Rule,
    Sequence,
    Shape,
    Stop,
    called,
    shape,
)
from workbench.syntax.ranges import ANY_CHARACTER
from workbench.syntax.regex.tree import Characters, Operation, combined
from workbench.syntax.rule_attributes import LanguageOperations, Rules

#: A terminal, identified by its shape.
_Atom = Shape
#: The terminals that may come next.
_Next = frozenset[_Atom]
#: A restricted terminal; a regex if its assertions look beyond it.
_Terminal = Automaton | Pattern
#: The most pairs of a rule and the set of terminals that may follow it.
_MAX_CONTEXTS = 5_000


@dataclass(slots=True, eq=False)
class Positions:
    """The sets of terminals that are possible at one position of a text.

    Each set is of one context: a rule with the terminals that may follow it there.
    """

    #: The rules that are not terminals, by name.
    rules: Mapping[str, Expression]
    clock: Clock | None
    #: The sets of terminals that are possible at a position.
    places: set[_Next] = field(default_factory=set)
    #: The terminals that may follow each terminal.
    after: dict[_Atom, _Next] = field(default_factory=dict)
    #: An expression of each terminal.
    atoms: dict[_Atom, Expression] = field(default_factory=dict)
    _first: dict[str, tuple[_Next, bool]] = field(default_factory=dict)

    def explore(self, start: str) -> bool:
        """Compute ``places`` and ``after``, rule by rule with each set that may follow it.

        Returns whether the sets are complete: False if there are too many contexts.

        Raises: LimitError after the time limit; the sets found until then are correct.
        """
        first, _ = self._begin(Nonterminal(start, Span(0, 0)))
        self.places.add(first)
        waiting = deque([(start, frozenset[_Atom]())])
        seen = set(waiting)
        while waiting:
            name, follow = waiting.popleft()
            for call in self._visit(self.rules[name], follow):
                if call not in seen:
                    seen.add(call)
                    waiting.append(call)
            if len(seen) > _MAX_CONTEXTS:
                return False
        return True

    def _visit(self, body: Expression, follow: _Next) -> Iterator[tuple[str, _Next]]:
        """Record what may follow each terminal of a body; yields called rules with what follows."""
        self._check_clock()
        match body:
            case Sequence(items, _):
                for item in reversed(items):
                    yield from self._visit(item, follow)
                    first, empty = self._begin(item)
                    follow = first | follow if empty else first
            case Choice(options, _):
                for option in options:
                    yield from self._visit(option, follow)
            case Repetition(item, low, high, _):
                first, empty = self._begin(item)
                if high is None or high > 1:
                    yield from self._visit(item, first | follow)
                if low > 1 and not empty:
                    yield from self._visit(item, first)
                if high is not None:
                    yield from self._visit(item, follow)
            case Nonterminal(name, _) if name in self.rules:
                yield name, follow
            case Literal(b"", _):
                return
            case _:
                atom = self._atom(body)
                self.places.add(follow)
                self.after[atom] = self.after.get(atom, frozenset()) | follow

    def _atom(self, leaf: Expression) -> _Atom:
        atom = shape(leaf)
        self.atoms.setdefault(atom, leaf)
        return atom

    def _begin(self, body: Expression) -> tuple[_Next, bool]:
        """The first terminals of an expression, and whether it may contain no terminal."""
        match body:
            case Sequence(items, _):
                first: _Next = frozenset()
                for item in items:
                    its, empty = self._begin(item)
                    first |= its
                    if not empty:
                        return first, False
                return first, True
            case Choice(options, _):
                beginnings = [self._begin(option) for option in options]
                return frozenset().union(*(its for its, _ in beginnings)), any(
                    e for _, e in beginnings
                )
            case Repetition(item, low, _, _):
                its, empty = self._begin(item)
                return its, empty or low == 0
            case Nonterminal(name, _) if name in self.rules:
                return self._begin_rule(name)
            case Literal(b"", _):
                return frozenset(), True
            case _:
                return frozenset({self._atom(body)}), False

    def _begin_rule(self, name: str) -> tuple[_Next, bool]:
        """``_begin`` of a rule, as a least fixpoint over all rules."""
        if not self._first:
            self._first.update(dict.fromkeys(self.rules, (frozenset[_Atom](), False)))
            callers: dict[str, dict[str, None]] = {}
            for caller, body in self.rules.items():
                for other in called(body):
                    callers.setdefault(other, {})[caller] = None
            unread = dict.fromkeys(self.rules)
            while unread:
                these, unread = unread, {}
                for other in these:
                    self._check_clock()
                    beginning = self._begin(self.rules[other])
                    if beginning != self._first[other]:
                        self._first[other] = beginning
                        unread.update(callers.get(other, {}))
        return self._first[name]

    def _check_clock(self) -> None:
        if self.clock is not None:
            self.clock.check("the grammar has too many rules; simplify it")


@dataclass(slots=True, eq=False)
class LazyConflicts(Positions):
    """Finds the terminals that are possible at the same position as a lazy one."""

    source: Source = field(kw_only=True)
    #: The spans of the lazy terminals, by name.
    lazy: Mapping[str, Span] = field(kw_only=True)
    #: The names of the rules of nested grammars and schemas.
    inner: Set[str] = field(kw_only=True)
    operations: LanguageOperations = field(kw_only=True)
    called_by: Callable[..., Rules] = field(kw_only=True)

    def resolved(self, rules: list[Rule], start: str) -> list[Rule]:
        """The rules with restricted terminals.

        Raises: ParseError if a lazy terminal competes with another at some positions only.
        """
        if not self.explore(start):
            name, span = next(iter(self.lazy.items()))
            message = f"the lazy {name!r} is possible in too many places"
            hint = "let the one that ends it be a rule after it, instead of [lazy]"
            raise ParseError(message, self.source, span, hint, "unsupported")
        instead = {
            atom: restricted
            for atom in self.atoms
            if (restricted := self._restrict(atom)) is not None
        }
        if not instead:
            return rules
        return [
            replace(rule, body=self._replace(rule.body, instead))
            if rule.name in self.rules
            else rule
            for rule in rules
        ]

    def _restrict(self, atom: _Atom) -> _Terminal | None:
        """The restricted terminal; None if it does not change."""
        expression = self.atoms[atom]
        restricted: Expression = expression
        for name, span in self.lazy.items():
            lazy = self._lazy_atom(name)
            if lazy == atom or not self._overlaps(expression, name, atom):
                continue
            is_known = not (isinstance(expression, Nonterminal) and expression.name in self.inner)
            if is_known and all(lazy in possible for possible in self.places if atom in possible):
                restricted = self._without(
                    restricted, self._past(name, atom), self._label(expression)
                )
            elif self._may_compete(atom, lazy):
                other = self._label(expression)
                raise ParseError(
                    f"the lazy {name!r} is next to {other} in some places only",
                    self.source,
                    span,
                    "let the one that ends it be a rule after it, instead of [lazy]",
                    "unsupported",
                )
        return (
            restricted
            if isinstance(restricted, _Terminal) and restricted is not expression
            else None
        )

    def _without(self, whole: Expression, part: Expression, label: str) -> Expression:
        """The texts of a terminal that are no texts of another one."""
        rules = self.called_by(whole, part)
        looking = self.operations.looking((whole, part), rules)
        if looking is not None:
            return self.operations.terminal(combined(Operation.BUT, *looking), label, whole.span)
        return Automaton(self.operations.but(whole, part, rules), label, whole.span)

    def _may_compete(self, atom: _Atom, lazy: _Atom) -> bool:
        """Whether both are possible after the same text."""
        if any(atom in possible and lazy in possible for possible in self.places):
            return True
        for group in self._groups():
            follow = frozenset[_Atom]().union(
                *(self.after.get(rival, frozenset()) for rival in group)
            )
            if atom in follow and lazy in follow:
                return True
        return False

    def _groups(self) -> list[set[_Atom]]:
        """Classes of terminals that may match the same text: connected by a common position."""
        groups: list[set[_Atom]] = []
        for possible in self.places:
            touched = [group for group in groups if group & possible]
            groups = [group for group in groups if not group & possible]
            groups.append(set(possible).union(*touched))
        return groups

    def _overlaps(self, expression: Expression, name: str, atom: _Atom) -> bool:
        """Whether a text of a terminal continues past a match of the lazy one."""
        if isinstance(expression, Nonterminal) and expression.name in self.inner:
            return True  # its texts are not known here
        parts = (expression, self._past(name, atom))
        return self.operations.overlap(parts, self.called_by(*parts))

    def _past(self, name: str, atom: _Atom) -> Expression:
        """A match of a lazy terminal and any text after it.

        That text is not empty if ``atom`` is lazy too: two lazy ones may match the same text.
        """
        span = self.lazy[name]
        character = Pattern(Characters(ANY_CHARACTER, span), Stop.ANYWHERE, "(?s:.)", span)
        least = 1 if atom in map(self._lazy_atom, self.lazy) else 0
        return Sequence((self._call(name), Repetition(character, least, None, span)), span)

    def _call(self, name: str) -> Nonterminal:
        return Nonterminal(name, self.lazy[name])

    def _lazy_atom(self, name: str) -> _Atom:
        return shape(self._call(name))

    def _label(self, expression: Expression) -> str:
        match expression:
            case Nonterminal(name, _):
                return name
            case Automaton(_, label, _):
                return label
            case _:
                return self.source.text[expression.span.start : expression.span.end]

    def _replace(self, body: Expression, instead: Mapping[_Atom, _Terminal]) -> Expression:
        if isinstance(body, Sequence | Choice | Repetition):
            return body.rebuild(lambda part: self._replace(part, instead))
        replacement = instead.get(shape(body))
        return body if replacement is None else replace(replacement, span=body.span)
