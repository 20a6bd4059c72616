"""The terminals of a grammar whose assertions look beyond them, divided by what follows from each.

``AssertedTerminals.parts`` divides the texts of a terminal by the context after them: the
obligations that its lookaheads leave for the text that follows, and the states of lookbehinds. An
obligation that every following text fulfils, by the first symbols of what may follow the rule or
terminal (``_Following``), is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import reduce
from operator import or_

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
from workbench.pushdown.cfg import terminal_machine
from workbench.pushdown.looking_beyond import Dependence
from workbench.syntax.grammar_tree import (
    Automaton,
    Choice,
    Except,
    Expression,
    GrammarTree,
    Literal,
    Nonterminal,
    Pattern,
    Repetition,
    Sequence,
    Shape,
    Stop,
    Substrings,
    called,
    shape,
)
from workbench.syntax.regex.extensions import labels_in
from workbench.syntax.regex.tree import Characters, Concat, Regex, asserted, walk, without_looks

#: A terminal, a literal included.
Leaf = Literal | Pattern | Substrings | Except | Automaton


class AssertedTerminals:
    """The terminals of a grammar, some of which (``dependent``) look beyond their texts.

    Raises: LimitError; BuildError for a label next to such a terminal.
    """

    def __init__(
        self,
        tree: GrammarTree,
        rules: Mapping[str, Expression],
        dependent: Mapping[Shape, Dependence],
        start: str,
        limits: Limits,
    ) -> None:
        self._source = tree.source
        self._rules = rules
        self._start = start
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
        self.looks = looks
        self._numbers = {key: number for number, key in enumerate(dependent)}
        on_before = (number for number, entry in enumerate(dependent.values()) if entry.on_before)
        inside = {look for number in on_before for look in looks.inside[number]}
        #: The lookbehinds that test the text before a terminal.
        self.tracked = frozenset(looks.behinds(sorted(inside)))
        self._machines: dict[bytes, Dfa] = {}
        #: The number of each terminal by its identity; those of one shape have one number.
        self._leaf_numbers: dict[int, int] = {}
        self._shapes: dict[Shape, int] = {}
        self._leaves: dict[tuple[int, Context], dict[Context, Leaf]] = {}
        #: Made when the first obligation is left after a terminal.
        self._following: _Following | None = None
        self._certain: dict[Obligation, int] = {}

    @property
    def begin(self) -> Context:
        """The context at the beginning of a text."""
        return frozenset(), self.looks.at_start(sorted(self.tracked))

    def parts(self, leaf: Leaf, before: Context) -> dict[Context, Leaf]:
        """The parts of a terminal by the context that they lead to."""
        key = self._number(leaf), before
        if key not in self._leaves:
            self._leaves[key] = self._new_parts(leaf, before)
        return self._leaves[key]

    def _number(self, leaf: Leaf) -> int:
        number = self._leaf_numbers.get(id(leaf))
        if number is None:
            number = self._shapes.setdefault(shape(leaf), len(self._shapes))
            self._leaf_numbers[id(leaf)] = number
        return number

    def _new_parts(self, leaf: Leaf, before: Context) -> dict[Context, Leaf]:
        obligations, behind = before
        number = None
        if isinstance(leaf, Pattern) and leaf.stop is Stop.ANYWHERE:
            number = self._numbers.get(shape(leaf.regex))
        if number is None:
            if not obligations and not self.tracked:
                return {before: leaf}
            machine = self._machine(leaf)
            body = self.looks.body(nfa_of_dfa(machine, self.looks.symbols))
        else:
            body = self.looks.bodies[number]
            behind_states = dict(self.looks.at_start(self.looks.inside[number])) | dict(behind)
            behind = tuple(sorted(behind_states.items()))
        product = self.looks.product(body, behind, obligations, self.tracked)
        ends: dict[Context, set[int]] = {}
        for state, context in product.exits.items():
            ends.setdefault(self.uncertain(context, self._number(leaf)), set()).add(state)
        parts: dict[Context, Leaf] = {}
        for context, finals in ends.items():
            dfa = smallest(product.builder.build(1, finals), self._limits)
            if dfa.is_empty:
                continue
            if number is None and (isinstance(leaf, Literal) or equivalent(dfa, machine)):
                parts[context] = leaf
            else:
                label = self._source.text[leaf.span.start : leaf.span.end]
                if dfa.data not in self._machines:
                    self._machines[dfa.data] = self._over_bytes(dfa)
                parts[context] = Automaton(self._machines[dfa.data], label, leaf.span)
        return parts

    def uncertain(self, context: Context, of: str | int) -> Context:
        """A context after a rule or terminal without obligations that any text after it fulfils."""
        obligations, behind = context
        if not obligations:
            return context
        if self._following is None:
            symbols = self.looks.symbols
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
            first_symbols = 1 << self.looks.symbols if self.looks.is_met(obligations) else 0
            for low, high, (then, _) in self.looks.after(obligations, ()):
                first_symbols |= 0 if then else (2 << high) - (1 << low)
            self._certain[obligation] = first_symbols
        return self._certain[obligation]

    def _first(self, leaf: Leaf) -> int:
        """The first symbols, as of ``_Following``, of at least the texts of a terminal."""
        symbols = self.looks.symbols
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

    def _machine(self, leaf: Leaf) -> Dfa:
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
                    self._source,
                    span,
                    "leave out the label, or let the assertion test the terminal's own text",
                    kind="unsupported_regex",
                )
        return terminal_machine(leaf, self._rules, self._source, self._limits)


class _Following:
    """The first symbols of what may follow each rule and each terminal.

    A set has a bit for each symbol, and one for the empty text or the end of the text. Assertions
    are left out, so some of the symbols may never follow.

    Source: Aho, Sethi & Ullman 1986, "Compilers", section 4.4: FIRST and FOLLOW.
    """

    def __init__(
        self,
        rules: Mapping[str, Expression],
        number: Callable[[Leaf], int],
        first: Callable[[Leaf], int],
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
            if isinstance(leaf, Leaf):
                regex = _over_characters(leaf)
                if regex is None:
                    return None
                read.append(regex)
    return alphabet_of(ranges for regex in read for ranges in sets_of(regex))


def _over_characters(leaf: Leaf) -> Regex | None:
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
