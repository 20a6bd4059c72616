"""Assertions of regex terminals that depend on the text around the terminal, compiled into rules.

A lookahead at the end of a terminal constrains what follows it, and a lookbehind or a boundary at
its beginning what precedes it, in the whole text. ``without_contexts`` intersects the grammar with
these constraints: a rule A becomes a rule for each pair of a context before and after it
(``lookaround.Context``), a terminal the part of its texts that leads from one to the other. The
intersection of a context-free and a regular language is context-free, so the result is exact for
every assertion; assertions that only test the terminal's own text leave the rules as they are.
Most contexts are not needed: an obligation of a lookahead that every following text fulfils, by the
first symbols of what may follow the rule or terminal (``_Following``), is dropped.

Source: Bar-Hillel, Perles & Shamir 1961, "On formal properties of simple phrase structure
        grammars", theorem 8.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from collections.abc import Sequence as Row
from contextlib import suppress
from dataclasses import replace
from functools import reduce
from operator import or_

from workbench.automata.build import regex_dfa
from workbench.automata.code_points import Alphabet, alphabet_of
from workbench.automata.graphs import reachable
from workbench.automata.lookaround import (
    Context,
    Looks,
    Obligation,
    atom_nfa,
    dfa_over_bytes,
    of_atoms,
    reads_bytes,
    sets_of,
)
from workbench.automata.nfa import BYTES, nfa_of_dfa
from workbench.automata.operations import equivalent, literals
from workbench.automata.small_dfa import smallest
from workbench.automata.thompson import thompson
from workbench.base.dfa import Dfa
from workbench.base.errors import BuildError
from workbench.base.limits import Clock, Limits
from workbench.pushdown.cfg import gathered, terminal_machine
from workbench.pushdown.looking_beyond import Dependence, asserted_patterns, dependences
from workbench.syntax.grammar_tree import (
    Automaton,
    Choice,
    Except,
    Expression,
    GrammarTree,
    Literal,
    Names,
    Nonterminal,
    Pattern,
    Repetition,
    Rule,
    Sequence,
    Shape,
    Stop,
    Substrings,
    asserted_pattern,
    called,
    choice,
    first_match,
    referenced,
    renamed,
    shape,
)
from workbench.syntax.regex.extensions import labels_in
from workbench.syntax.regex.tree import (
    Characters,
    Combined,
    Concat,
    Regex,
    asserted,
    walk,
    without_looks,
)

#: A terminal, a literal included.
_Leaf = Literal | Pattern | Substrings | Except | Automaton
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
        limits,
    ).tree(start)
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
        limits: Limits,
    ) -> None:
        self._tree = tree
        self._rules = rules
        self._limits = limits
        self._clock = limits.clock()
        regexes = [entry.regex for entry in dependent.values()]
        #: The alphabet of all terminals; None if some of their texts are no characters.
        self._alphabet = _common_alphabet(rules, regexes)
        if self._alphabet is None:
            looks = Looks(regexes, BYTES, thompson, limits)
        else:
            trees = [of_atoms(regex, self._alphabet, self._clock) for regex in regexes]
            looks = Looks(trees, self._alphabet.size, thompson, limits)
        self._looks = looks
        self._numbers = {key: number for number, key in enumerate(dependent)}
        on_before = (number for number, entry in enumerate(dependent.values()) if entry.on_before)
        inside = {look for number in on_before for look in looks.inside[number]}
        #: The lookbehinds that test the text before a terminal.
        self._tracked = frozenset(looks.behinds(sorted(inside)))
        self._machines: dict[bytes, Dfa] = {}
        #: The number of each terminal by its identity; those of one shape have one number.
        self._leaf_numbers: dict[int, int] = {}
        self._shapes: dict[Shape, int] = {}
        self._leaves: dict[tuple[int, Context], dict[Context, _Leaf]] = {}
        #: Made when the first obligation is left after a terminal.
        self._following: _Following | None = None
        self._certain: dict[Obligation, int] = {}
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

    def tree(self, start: str) -> GrammarTree:
        """The rules, the start symbol's first."""
        begin: Context = frozenset(), self._looks.at_start(sorted(self._tracked))
        head = self._head = self._heads[start]
        self._start = start
        self._find_ends(start, begin)
        met = [after for after in self._after[start, begin] if self._looks.is_met(after[0])]
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
            ends_after.setdefault(self._uncertain(end, name), []).append(end)
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
                return frozenset(self._leaf(expression, before))

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
                return self._leaf(node, before)[after]

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

    # -- terminals ---------------------------------------------------------------------------------

    def _leaf(self, leaf: _Leaf, before: Context) -> dict[Context, _Leaf]:
        """The parts of a terminal by the context that they lead to."""
        key = self._number(leaf), before
        if key not in self._leaves:
            self._leaves[key] = self._parts(leaf, before)
        return self._leaves[key]

    def _number(self, leaf: _Leaf) -> int:
        number = self._leaf_numbers.get(id(leaf))
        if number is None:
            number = self._shapes.setdefault(shape(leaf), len(self._shapes))
            self._leaf_numbers[id(leaf)] = number
        return number

    def _parts(self, leaf: _Leaf, before: Context) -> dict[Context, _Leaf]:
        obligations, behind = before
        number = None
        if isinstance(leaf, Pattern) and leaf.stop is Stop.ANYWHERE:
            number = self._numbers.get(shape(leaf.regex))
        if number is None:
            if not obligations and not self._tracked:
                return {before: leaf}
            machine = self._machine(leaf)
            body = self._looks.body(nfa_of_dfa(machine, self._looks.symbols))
        else:
            body = self._looks.bodies[number]
            behind_states = dict(self._looks.at_start(self._looks.inside[number])) | dict(behind)
            behind = tuple(sorted(behind_states.items()))
        product = self._looks.product(body, behind, obligations, self._tracked)
        ends: dict[Context, set[int]] = {}
        for state, context in product.exits.items():
            ends.setdefault(self._uncertain(context, self._number(leaf)), set()).add(state)
        parts: dict[Context, _Leaf] = {}
        for context, finals in ends.items():
            dfa = smallest(product.builder.build(1, finals), self._limits)
            if dfa.is_empty:
                continue
            if number is None and (isinstance(leaf, Literal) or equivalent(dfa, machine)):
                parts[context] = leaf
            else:
                label = self._tree.source.text[leaf.span.start : leaf.span.end]
                if dfa.data not in self._machines:
                    self._machines[dfa.data] = self._over_bytes(dfa)
                parts[context] = Automaton(self._machines[dfa.data], label, leaf.span)
        return parts

    def _uncertain(self, context: Context, of: str | int) -> Context:
        """A context after a rule or terminal without obligations that any text after it fulfils."""
        obligations, behind = context
        if not obligations:
            return context
        if self._following is None:
            symbols = self._looks.symbols
            self._following = _Following(self._rules, self._number, self._first, symbols)
            self._following.find(self._start, self._clock)
        after = self._following.after.get(of, 0)
        return frozenset(
            obligation for obligation in obligations if after & ~self._fulfilling(obligation)
        ), behind

    def _fulfilling(self, obligation: Obligation) -> int:
        """The first symbols, as of ``_Following``, of texts that all fulfil an obligation."""
        if obligation not in self._certain:
            obligations = frozenset((obligation,))
            first_symbols = 1 << self._looks.symbols if self._looks.is_met(obligations) else 0
            for low, high, (then, _) in self._looks.after(obligations, ()):
                first_symbols |= 0 if then else (2 << high) - (1 << low)
            self._certain[obligation] = first_symbols
        return self._certain[obligation]

    def _first(self, leaf: _Leaf) -> int:
        """The first symbols, as of ``_Following``, of at least the texts of a terminal."""
        symbols = self._looks.symbols
        match leaf:
            case _ if self._alphabet is not None:
                regex = _over_characters(leaf)
                assert regex is not None, "all terminals have a common alphabet"
                nfa = atom_nfa(without_looks(regex), self._alphabet, thompson, self._limits)
            case Literal(value):
                return 1 << value[0] if value else 1 << symbols
            case Automaton(machine):
                nfa = nfa_of_dfa(machine, symbols)
            case Pattern(regex, Stop.ANYWHERE) if not any(labels_in(regex)):
                nfa = thompson(without_looks(regex), self._limits)
            case _:
                return (2 << symbols) - 1
        first_symbols = 0
        for state in reachable([nfa.initial], nfa.epsilons.__getitem__):
            first_symbols |= (state in nfa.finals) << symbols
            for low, high, _ in nfa.edges[state]:
                first_symbols |= (2 << high) - (1 << low)
        return first_symbols

    def _over_bytes(self, dfa: Dfa) -> Dfa:
        if self._alphabet is None:
            return dfa
        return dfa_over_bytes(dfa, self._alphabet, self._limits)

    def _machine(self, leaf: _Leaf) -> Dfa:
        if self._alphabet is not None:
            regex = _over_characters(leaf)
            assert regex is not None, "all terminals have a common alphabet"
            nfa = atom_nfa(regex, self._alphabet, thompson, self._limits)
            return smallest(nfa, self._limits)
        if isinstance(leaf, Literal):
            return literals([leaf.value], self._limits)
        if isinstance(leaf, Pattern):
            for label, span in labels_in(leaf.regex):
                raise BuildError(
                    f"expected no {label.name} in a grammar with assertions that look beyond "
                    "their terminals: a label has no characters",
                    self._tree.source,
                    span,
                    "leave out the label, or let the assertion test the terminal's own text",
                    kind="unsupported_regex",
                )
        return terminal_machine(leaf, self._rules, self._tree.source, self._limits)


class _Following:
    """The first symbols of what may follow each rule and each terminal.

    A set has a bit for each symbol, and one for the empty text or the end of the text. Assertions
    are left out, so some of the symbols may never follow.

    Source: Aho, Sethi & Ullman 1986, "Compilers", section 4.4: FIRST and FOLLOW.
    """

    def __init__(
        self,
        rules: Mapping[str, Expression],
        number: Callable[[_Leaf], int],
        first: Callable[[_Leaf], int],
        symbols: int,
    ) -> None:
        self._rules, self._number, self._first_of_leaf = rules, number, first
        self._end = 1 << symbols
        self._first: dict[str | int, int] = {}
        #: What may follow a rule, by its name, and a terminal, by its number.
        self.after: dict[str | int, int] = {}

    def find(self, start: str, clock: Clock) -> None:
        """Fill ``after`` for all that the start symbol reaches."""
        names = reachable([start], lambda name: called(self._rules[name]))
        self._first |= dict.fromkeys(names, 0)
        changed = True
        while changed:
            changed = False
            for name in reversed(names):
                clock.check()
                first = self._first_of(self._rules[name])
                changed |= first != self._first[name]
                self._first[name] = first
        self.after[start] = self._end
        unread = {start: None}
        while unread:
            clock.check()
            name, _ = unread.popitem()
            self._pass(self._rules[name], self.after[name], unread)

    def _first_of(self, node: Expression) -> int:
        match node:
            case Nonterminal(name=name):
                return self._first[name]
            case Sequence(items=items):
                first = self._end
                for item in items:
                    if not first & self._end:
                        break
                    first = first & ~self._end | self._first_of(item)
                return first
            case Choice(options=options):
                return reduce(or_, map(self._first_of, options), 0)
            case Repetition(item=item, low=low):
                return self._first_of(item) | (0 if low else self._end)
            case _:
                number = self._number(node)
                if number not in self._first:
                    self._first[number] = self._first_of_leaf(node)
                return self._first[number]

    def _pass(self, node: Expression, after: int, unread: dict[str, None]) -> None:
        """Add what follows a node to what follows its parts, and record the changed rules."""
        match node:
            case Sequence(items=items):
                for item in reversed(items):
                    self._pass(item, after, unread)
                    first = self._first_of(item)
                    after = first & ~self._end | after if first & self._end else first
            case Choice(options=options):
                for option in options:
                    self._pass(option, after, unread)
            case Repetition(item=item, high=high):
                again = 0 if high == 1 else self._first_of(item) & ~self._end
                self._pass(item, after | again, unread)
            case Nonterminal(name=name):
                if self._add(name, after):
                    unread[name] = None
            case _:
                self._add(self._number(node), after)

    def _add(self, key: str | int, after: int) -> bool:
        """Whether some of the symbols are new."""
        earlier = self.after.get(key, 0)
        self.after[key] = earlier | after
        return self.after[key] != earlier


def _common_alphabet(rules: Mapping[str, Expression], regexes: Iterable[Regex]) -> Alphabet | None:
    """The alphabet of some regexes and all terminals; None if some texts are no characters."""
    read = list(regexes)
    for body in rules.values():
        for leaf in walk(body):
            if isinstance(leaf, _Leaf):
                regex = _over_characters(leaf)
                if regex is None:
                    return None
                read.append(regex)
    return alphabet_of(ranges for regex in read for ranges in sets_of(regex))


def _over_characters(leaf: _Leaf) -> Regex | None:
    """The regex of a terminal if it reads characters; None if it is defined over bytes."""
    match leaf:
        case Literal(value, span):
            with suppress(UnicodeDecodeError):
                codes = map(ord, value.decode())
                return Concat(tuple(Characters(((code, code),), span) for code in codes), span)
        case Pattern(regex, Stop.ANYWHERE):
            inner = asserted(regex) or regex
            return None if reads_bytes(inner) else inner
    return None


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
