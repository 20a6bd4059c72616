"""Assertions of regex terminals that depend on the text around the terminal, compiled into rules.

A lookahead at the end of a terminal constrains what follows it, and a lookbehind or a boundary at
its beginning what precedes it, in the whole text. ``without_contexts`` intersects the grammar with
these constraints: a rule A becomes a rule for each pair of a context before and after it
(``lookaround.Context``), a terminal the part of its texts that leads from one to the other. The
intersection of a context-free and a regular language is context-free, so the result is exact for
every assertion; assertions that only test the terminal's own text leave the rules as they are.
Most contexts are not needed: obligations that every following text fulfils are dropped
(``asserted_terminals``).

Source: Bar-Hillel, Perles & Shamir 1961, "On formal properties of simple phrase structure
        grammars", theorem 8.1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from collections.abc import Sequence as Row
from dataclasses import replace

from workbench.automata.build import regex_dfa
from workbench.automata.lookaround import (
    Context,
)
from workbench.base.errors import BuildError
from workbench.base.limits import Clock, Limits
from workbench.pushdown.asserted_terminals import AssertedTerminals
from workbench.pushdown.cfg import gathered
from workbench.pushdown.looking_beyond import Dependence, asserted_patterns, dependences
from workbench.syntax.grammar_tree import (
    Automaton,
    Choice,
    Except,
    Expression,
    GrammarTree,
    Names,
    Nonterminal,
    Pattern,
    Repetition,
    Rule,
    Sequence,
    Shape,
    Stop,
    asserted_pattern,
    called,
    choice,
    first_match,
    referenced,
    renamed,
    shape,
)
from workbench.syntax.regex.tree import (
    Combined,
    asserted,
    walk,
)

#: The name of a rule and the context before it.
_Call = tuple[str, Context]
_HINT = "use fewer assertions that look beyond their terminals"


def without_contexts(tree: GrammarTree, start: str, limits: Limits) -> GrammarTree:
    """The same language in rules whose assertions test the text of their terminals only.

    The tree itself if they do already, or if a name has no rule.

    Raises: BuildError for a label next to such an assertion, for ``#e`` with one, and if no text is
            left; LimitError for too many contexts.
    """
    patterns = [(shape(pattern.regex), pattern) for pattern in asserted_patterns(tree)]
    if not patterns:
        return tree
    dependence_of = dependences(patterns, limits)
    if not any(dependence_of.values()):
        return tree
    if any(dependence_of[key] and pattern.stop is Stop.FIRST_MATCH for key, pattern in patterns):
        rewritten = tuple(
            replace(rule, body=_with_first_matches(rule.body, dependence_of)) for rule in tree.rules
        )
        tree = replace(tree, rules=rewritten)
        patterns = [(shape(pattern.regex), pattern) for pattern in asserted_patterns(tree)]
        dependence_of = dependences(patterns, limits)
    rules = gathered(tree)
    names = {call.name for rule in tree.rules for call in referenced(rule.body)}
    if not names | {start} <= rules.keys():
        return tree
    plain_tree = _Contexts(
        tree,
        rules,
        {k: dependence for k, dependence in dependence_of.items() if dependence},
        start,
        limits,
    ).tree()
    settled = (
        replace(rule, body=_without_operations(rule.body, limits)) for rule in plain_tree.rules
    )
    return replace(plain_tree, rules=tuple(settled))


def _with_first_matches(body: Expression, dependence_of: Mapping[Shape, Dependence]) -> Expression:
    """The body with ``#e`` as an operation on regexes where assertions look beyond it."""
    if isinstance(body, Pattern) and body.stop is Stop.FIRST_MATCH:
        regex = asserted(body.regex)
        if regex is not None and dependence_of[shape(body.regex)]:
            return asserted_pattern(first_match(regex), body.text, body.span)
    return body.rebuild(lambda part: _with_first_matches(part, dependence_of))


def _without_operations(body: Expression, limits: Limits) -> Expression:
    """The body with automata for operations in rules without a text, and on their own text."""
    if isinstance(body, Pattern):
        if isinstance(asserted(body.regex), Combined):
            return Automaton(regex_dfa(body.regex, limits), body.text, body.span)
        return body
    return body.rebuild(lambda part: _without_operations(part, limits))


class _Contexts:
    """The rules for each pair of contexts."""

    def __init__(
        self,
        tree: GrammarTree,
        rules: Mapping[str, Expression],
        dependent: Mapping[Shape, Dependence],
        start: str,
        limits: Limits,
    ) -> None:
        self._tree = tree
        self._rules = rules
        self._limits = limits
        self._clock = limits.clock()
        self._start = start
        self._terminals = AssertedTerminals(tree, rules, dependent, start, limits)
        #: The contexts after a rule, by its name and the context before it: the least fixed point.
        self._after: dict[_Call, frozenset[Context]] = {}
        #: The calls whose contexts depend on those of a call, and those to be computed (again).
        self._readers: dict[_Call, dict[_Call, None]] = {}
        self._unread: dict[_Call, None] = {}
        #: The call whose contexts are computed.
        self._reading: _Call | None = None
        #: The contexts after expressions, by identity, once those after all rules are known.
        self._ends_known: dict[tuple[int, Context], frozenset[Context]] = {}
        self._heads = {rule.name: rule for rule in reversed(tree.rules)}
        self._taken = Names(self._heads)
        self._names: dict[object, str] = {}
        #: The rule that each new rule is a variant of.
        self._head_names: dict[str, str] = {}
        #: Names that no new rule takes: ``except!`` expands these rules.
        self._reserved = {
            node.excepted.name
            for body in rules.values()
            for node in walk(body)
            if isinstance(node, Except) and isinstance(node.excepted, Nonterminal)
        }
        self._waiting: list[tuple[str, Rule, Callable[[], Expression]]] = []

    def tree(self) -> GrammarTree:
        """The rules, the start symbol's first."""
        start, begin = self._start, self._terminals.begin
        head = self._head = self._heads[start]
        self._find_ends(start, begin)
        met = [
            after for after in self._after[start, begin] if self._terminals.looks.is_met(after[0])
        ]
        if not met:
            raise BuildError(
                f"{start!r} never finishes: no text is left for which all assertions hold",
                self._tree.source,
                head.name_span,
                "leave out the assertions that exclude each other",
                kind="unproductive",
            )
        if len(met) != 1:
            self._reserved.add(start)
        call = Nonterminal(start, head.name_span)
        options = [self._between(call, begin, after) for after in met]
        written: dict[str, Rule] = {}
        if options != [call]:
            written[start] = replace(head, body=choice(options, head.span))
        for name, head, body in self._waiting:  # grows during the iteration
            self._head = head
            self._clock.check()
            self._limits.check("states", len(self._waiting), _HINT)
            written[name] = replace(head, name=name, body=body())
        others = [rule for rule in self._tree.rules if rule.name not in written]
        rules = (*_merge(written, self._head_names, self._clock), *others)
        return GrammarTree(rules, self._tree.source, self._tree.counted)

    # -- the contexts after an expression ----------------------------------------------------------

    def _find_ends(self, start: str, begin: Context) -> None:
        """Fill ``_after`` for all rules that the start symbol reaches, with a worklist."""
        self._after_call(start, begin)
        while self._unread:
            calls, self._unread = self._unread, {}
            for call in calls:
                self._clock.check()
                self._limits.check("states", len(self._after), _HINT)
                self._reading = call
                name, context = call
                ends = self._after[call] | self._ends_of_rule(name, context).keys()
                if ends != self._after[call]:
                    self._after[call] = ends
                    self._unread.update(self._readers[call])
        self._reading = None

    def _after_call(self, name: str, before: Context) -> frozenset[Context]:
        """The contexts after a rule as far as they are known; records who reads them."""
        call = name, before
        if call not in self._after:
            self._after[call] = frozenset()
            self._unread[call] = None
            self._readers[call] = {}
        if self._reading is not None:
            self._readers[call][self._reading] = None
        return self._after[call]

    def _ends_of_rule(self, name: str, before: Context) -> dict[Context, list[Context]]:
        """The contexts after a rule, each with those after its body that become it."""
        ends_after: dict[Context, list[Context]] = {}
        for end in self._ends(self._rules[name], before):
            ends_after.setdefault(self._terminals.uncertain(end, name), []).append(end)
        return ends_after

    def _ends(self, expression: Expression, before: Context) -> frozenset[Context]:
        """The contexts after an expression; those of calls as far as they are known."""
        if self._reading is not None:
            return self._new_ends(expression, before)
        key = id(expression), before
        if key not in self._ends_known:
            self._ends_known[key] = self._new_ends(expression, before)
        return self._ends_known[key]

    def _new_ends(self, expression: Expression, before: Context) -> frozenset[Context]:
        match expression:
            case Nonterminal(name=name):
                return self._after_call(name, before)
            case Sequence(items=items):
                return self._ends_of_row(items, before)
            case Choice(options=options):
                return frozenset().union(*(self._ends(option, before) for option in options))
            case Repetition(item=item, low=low, high=high):
                return self._ends_of_copies(item, low, high, before)
            case _:
                return frozenset(self._terminals.parts(expression, before))

    def _ends_of_row(self, items: tuple[Expression, ...], before: Context) -> frozenset[Context]:
        reached = frozenset((before,))
        for item in items:
            self._clock.check()
            reached = self._ends_of_each(item, reached)
        return reached

    def _ends_of_each(self, item: Expression, before: Set[Context]) -> frozenset[Context]:
        return frozenset().union(*(self._ends(item, context) for context in before))

    def _ends_of_copies(
        self, item: Expression, low: int, high: int | None, before: Context
    ) -> frozenset[Context]:
        reached, ends = frozenset((before,)), frozenset[Context]()
        count = 0
        while True:
            if count >= low:
                if reached <= ends:
                    return ends
                ends |= reached
            if count == high:
                return ends
            following = self._ends_of_each(item, reached)
            count = low if following == reached and count < low else count + 1
            reached = following

    # -- expressions between two contexts ----------------------------------------------------------

    def _between(self, node: Expression, before: Context, after: Context) -> Expression:
        """The texts of an expression that lead from one context to another one."""
        match node:
            case Nonterminal(name=name, span=span):
                return Nonterminal(self._variant(name, before, after), span)
            case Sequence(items=items, span=span):
                leads = self._leading(items, before, after)
                return Sequence(self._row(items, 0, before, leads), span)
            case Choice(options=options, span=span):
                kept = [option for option in options if after in self._ends(option, before)]
                return choice([self._between(option, before, after) for option in kept], span)
            case Repetition(item=item, low=low, high=high, span=span):
                ends = self._ends(item, before)
                if ends <= {before} and after == before:
                    inner = self._between(item, before, after) if ends else Sequence((), span)
                    return Repetition(inner, low, high, span)
                return self._copies(node, 0, before, after)
            case _:
                return self._terminals.parts(node, before)[after]

    def _variant(self, name: str, before: Context, after: Context) -> str:
        body, head = self._rules[name], self._heads[name]

        def between() -> Expression:
            ends = self._ends_of_rule(name, before)[after]
            return choice([self._between(body, before, end) for end in ends], head.span)

        return self._rule((name, before, after), head, between)

    def _rule(self, key: object, head: Rule, body: Callable[[], Expression]) -> str:
        """The name of a new rule, after that of ``head``; its body is written later."""
        if key not in self._names:
            is_taken = head.name in self._reserved
            self._names[key] = name = self._taken.fresh(head.name) if is_taken else head.name
            self._reserved.add(head.name)
            self._waiting.append((name, head, body))
            self._head_names[name] = head.name
        return self._names[key]

    def _leading(
        self, items: tuple[Expression, ...], before: Context, after: Context
    ) -> list[Set[Context]]:
        """At each position between items, the contexts that lead from ``before`` to ``after``."""
        contexts: list[Set[Context]] = [{before}]
        for item in items:
            self._clock.check()
            contexts.append(self._ends_of_each(item, contexts[-1]))
        contexts[-1] = {after}
        for index in reversed(range(len(items))):
            self._clock.check()
            item, then = items[index], contexts[index + 1]
            contexts[index] = {
                context
                for context in contexts[index]
                if not then.isdisjoint(self._ends(item, context))
            }
        return contexts

    def _row(
        self, items: tuple[Expression, ...], start: int, before: Context, leads: Row[Set[Context]]
    ) -> tuple[Expression, ...]:
        """The items from index ``start`` on after a context; ``leads`` as of ``_leading``."""
        row: list[Expression] = []
        for index in range(start, len(items)):
            self._clock.check()
            item = items[index]
            between = [
                context for context in self._ends(item, before) if context in leads[index + 1]
            ]
            if len(between) > 1:
                options: list[Expression] = []
                for context in between:
                    first = self._between(item, before, context)
                    rest = self._rest_of_row(items, index + 1, context, leads)
                    options.append(Sequence((first, *rest), item.span.to(items[-1].span)))
                return (*row, choice(options, options[0].span))
            row.append(self._between(item, before, between[0]))
            before = between[0]
        return tuple(row)

    def _rest_of_row(
        self, items: tuple[Expression, ...], first: int, before: Context, leads: Row[Set[Context]]
    ) -> tuple[Expression, ...]:
        """As ``_row``; several items are a rule, because several choices may lead to them."""
        if first + 1 >= len(items):
            return self._row(items, first, before, leads)
        span = items[first].span.to(items[-1].span)
        (after,) = leads[-1]
        key = id(items), first, before, after
        name = self._rule(
            key, self._head, lambda: Sequence(self._row(items, first, before, leads), span)
        )
        return (Nonterminal(name, span),)

    def _copies(self, node: Repetition, count: int, before: Context, after: Context) -> Expression:
        """The copies after the first ``count`` ones; counts above both bounds are equal."""
        item, low, high, span = node.item, node.low, node.high, node.span
        options: list[Expression] = []
        count_after = min(count + 1, low if high is None else high)
        remaining = (max(low - count_after, 0), None if high is None else high - count_after)
        for context in self._ends(item, before):
            if after in self._ends_of_copies(item, *remaining, context):
                first = self._between(item, before, context)
                rest = self._rest_of_copies(node, count_after, context, after)
                options.append(Sequence((first, *rest), span))
        if count < low or before != after:
            return choice(options, span)
        return Repetition(choice(options, span), 0, 1, span) if options else Sequence((), span)

    def _rest_of_copies(
        self, node: Repetition, count: int, before: Context, after: Context
    ) -> tuple[Expression, ...]:
        if count == node.high:
            return ()
        key = id(node), count, before, after
        name = self._rule(key, self._head, lambda: self._copies(node, count, before, after))
        return (Nonterminal(name, node.span),)


def _merge(rules: Mapping[str, Rule], heads: Mapping[str, str], clock: Clock) -> list[Rule]:
    """The rules without variants of the same rule that derive the same by the same steps.

    Source: Moore 1956, the refinement of a partition until it is stable.
    """
    steps: dict[str, tuple[object, tuple[str, ...]]] = {}
    for name, rule in rules.items():
        clock.check()
        body = shape(renamed(rule.body, lambda _: ""))
        steps[name] = (heads.get(name), body), tuple(called(rule.body))
    first: dict[object, str] = {}
    refined = {name: first.setdefault(step, name) for name, (step, _) in steps.items()}
    classes: dict[str, str] = {}
    while refined != classes:
        classes, first, refined = refined, {}, {}
        for name, (_, others) in steps.items():
            clock.check()
            key = classes[name], tuple([classes.get(other, other) for other in others])
            refined[name] = first.setdefault(key, name)
    return [
        replace(rule, body=renamed(rule.body, lambda other: classes.get(other, other)))
        for name, rule in rules.items()
        if classes[name] == name
    ]
