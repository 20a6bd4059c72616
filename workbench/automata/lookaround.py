r"""Regexes with assertions (``Look``) as automata: lookahead, lookbehind, ``\b``, ``^`` and ``$``.

An assertion is a guard on the ε-edges of the regex's NFA. A state of the product automaton is

* a state of that NFA,
* obligations: states of deterministic machines that must accept, or must not accept, all of the
  text that follows. A lookahead ``(?=x)`` adds the initial state of the machine of ``xΣ*``,
* for each lookbehind ``(?<=x)``, the set of states of ``Σ*x`` that the text before leads to.

The machine of a lookahead is built in the same way, for each left context on which it depends, so
assertions may be nested in any way. A lookahead inside a lookbehind is guessed at every position,
and the guess becomes an obligation. The product is an ordinary NFA.

Source: alternating automata (Chandra, Kozen & Stockmeyer 1981), with the universal part kept
        deterministic; lookbehind as a product is folklore.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from operator import itemgetter
from typing import cast

import numpy as np

from workbench.automata.assertion_automata import HINT, both, decided, smaller
from workbench.automata.code_points import Alphabet, alphabet_of, character_machine
from workbench.automata.graphs import reachable
from workbench.automata.leftmost_first import leftmost_first
from workbench.automata.nfa import BYTES, Ints, Nfa, NfaBuilder, nfa_of_dfa
from workbench.automata.small_dfa import smallest
from workbench.base.dfa import DEAD, Dfa
from workbench.base.errors import LimitError
from workbench.base.limits import Clock, Limits
from workbench.base.source import NO_SPAN
from workbench.syntax.grammar_tree import Shape, shape
from workbench.syntax.ranges import Ranges, normalized
from workbench.syntax.regex.tree import (
    Alternate,
    Bytes,
    Characters,
    Combined,
    Concat,
    Extension,
    Look,
    LookKind,
    Machine,
    Operation,
    Regex,
    Repeat,
    has_look,
    walk,
)

#: ``thompson``.
NfaOf = Callable[[Regex, Limits], Nfa]
#: A state of a machine whose language the rest of the text must be in, or (True) must not be in.
Obligation = tuple[int, bool, int]
Obligations = frozenset[Obligation]
#: The lookbehinds that are tracked, the innermost first, each with the states that the text before
#: a position leads to.
Behind = tuple[tuple[int, frozenset[int]], ...]
#: What the text before a position leads to.
Context = tuple[Obligations, Behind]
#: First symbol, last symbol, the context after any of them.
Run = tuple[int, int, Context]

_NEGATIVE = (LookKind.NOT_AHEAD, LookKind.NOT_BEHIND, LookKind.START, LookKind.LINE_START,
             LookKind.END, LookKind.LINE_END)  # fmt: skip
_BACKWARD = (LookKind.BEHIND, LookKind.NOT_BEHIND, LookKind.START, LookKind.LINE_START)
#: The most lookaheads inside lookbehinds; each doubles the cases at a position.
_MAX_GUESSED = 6


def asserted_nfa(regex: Regex, nfa_of: NfaOf, limits: Limits) -> Nfa:
    """The automaton over bytes of a regex with assertions, which sees the beginning and the end.

    Its initial state 1 has no incoming edges, its final state 0 no outgoing ones.

    Raises: LimitError above ``limits.states`` or ``limits.seconds``.
    """
    if reads_bytes(regex):
        return Looks([regex], BYTES, nfa_of, limits).nfa(0)
    looks, alphabet = looks_over_atoms([regex], nfa_of, limits)
    return over_bytes(smaller(looks.nfa(0), alphabet.size), alphabet, limits)


def reads_bytes(regex: Regex) -> bool:
    """Whether a regex reads single bytes or labels, so that it has no automaton over atoms."""
    return any(isinstance(node, Bytes | Extension | Machine) for node in walk(regex))


def looks_over_atoms(
    regexes: Sequence[Regex], nfa_of: NfaOf, limits: Limits
) -> tuple[Looks, Alphabet]:
    """The assertions of regexes over the atoms of all their characters, which are few."""
    clock = limits.clock()
    alphabet = alphabet_of(ranges for regex in regexes for ranges in sets_of(regex))
    trees = [of_atoms(regex, alphabet, clock) for regex in regexes]
    return Looks(trees, alphabet.size, nfa_of, limits), alphabet


def atom_nfa(regex: Regex, alphabet: Alphabet, nfa_of: NfaOf, limits: Limits) -> Nfa:
    """The automaton over the atoms of an alphabet of a regex that may have assertions."""
    tree = of_atoms(regex, alphabet, limits.clock())
    if has_look(tree):
        return Looks([tree], alphabet.size, nfa_of, limits).nfa(0)
    nfa = nfa_of(tree, limits)
    return Nfa(nfa.flat, nfa.initial, alphabet.size)


def sets_of(regex: Regex) -> Iterator[Ranges]:
    """The sets of characters of a regex, with those of its assertions."""
    return (node.ranges for node in walk(regex) if isinstance(node, Characters))


def of_atoms(regex: Regex, alphabet: Alphabet, clock: Clock) -> Regex:
    """The regex with atoms in place of characters, as ``Bytes``.

    Raises: LimitError after the time limit.
    """
    memo: dict[Ranges, Regex] = {}

    def replaced(part: Regex) -> Regex:
        if not isinstance(part, Characters):
            return part.rebuild(replaced)
        if part.ranges not in memo:
            clock.check()
            memo[part.ranges] = Bytes(alphabet.atoms_of(part.ranges), NO_SPAN)
        return memo[part.ranges]

    return replaced(regex)


def over_bytes(nfa: Nfa, alphabet: Alphabet, limits: Limits) -> Nfa:
    """The same automaton over bytes: the edges of an atom read its characters."""
    clock = limits.clock()
    builder = NfaBuilder()
    builder.new_states(len(nfa))
    pieces: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for low, high, atom in alphabet.pieces():
        pieces[atom].append((low, high))
    written: dict[tuple[Ranges, int], dict[int, int]] = {}
    for source, (edges, epsilons) in enumerate(zip(nfa.edges, nfa.epsilons, strict=True)):
        clock.check()
        limits.check("unrolled", len(builder), HINT)
        for target in epsilons:
            builder.epsilon(source, target)
        runs: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for low, high, target in edges:
            for atom in range(low, high + 1):
                runs[target] += pieces[atom]
        for target, ranges in runs.items():
            key = normalized(ranges), target
            *inner, (_, first) = enumerate(character_machine(key[0]).edges)
            states = written.get(key)
            if states is None:
                states = written[key] = {
                    node: builder.new_state() if node else target for node, _ in inner
                }
                for node, row in inner:
                    for low, high, there in row:
                        builder.edge(states[node], low, high, states[there])
            for low, high, there in first:
                builder.edge(source, low, high, states[there])
    return builder.build(nfa.initial, nfa.finals)


def dfa_over_bytes(dfa: Dfa, alphabet: Alphabet, limits: Limits) -> Dfa:
    """The smallest DFA over bytes of one over the atoms of an alphabet."""
    return smallest(over_bytes(nfa_of_dfa(dfa, alphabet.size), alphabet, limits), limits)


#: At a position: which assertions hold, the states of lookbehinds, new obligations.
_Case = tuple[dict[int, bool], Behind, Obligations]


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """An NFA whose edges read symbols or test assertions."""

    initial: int
    finals: frozenset[int]
    epsilons: tuple[tuple[int, ...], ...]
    #: For each state: first symbol, last symbol, target.
    edges: list[list[tuple[int, int, int]]]
    #: For each state: the assertion, 1 if it must be false, target.
    guards: list[list[tuple[int, int, int]]]
    #: For each state: the lookbehinds on which its assertions, or those of later states, depend.
    needed: list[frozenset[int]]


@dataclass(frozen=True, slots=True, eq=False)
class _Assertion:
    """``(?=x)`` with the NFA of ``xΣ*``, or ``(?<=x)`` with that of ``Σ*x``."""

    is_behind: bool
    nfa: Nfa
    #: The assertions it tests, and all assertions inside it, the innermost first.
    tested: tuple[int, ...]
    inside: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Machine:
    """A minimal DFA. Shape: ``rows`` (states, columns)."""

    rows: Ints
    finals: list[bool]
    #: The state from which every text is accepted, or −2.
    universal: int


@dataclass(frozen=True, slots=True, eq=False)
class Product:
    """The reachable states of a product; ``exits`` has the context of each final state."""

    builder: NfaBuilder
    exits: dict[int, Context]


class Looks:
    """The assertions of some regexes over one alphabet.

    ``regexes`` read symbols below ``symbols``: bytes, or atoms written as ``Bytes``.
    """

    def __init__(
        self, regexes: Sequence[Regex], symbols: int, nfa_of: NfaOf, limits: Limits
    ) -> None:
        self.symbols = symbols
        self._nfa_of = nfa_of
        self._limits = limits
        self._clock = limits.clock()
        self._assertions: list[_Assertion] = []
        self._numbers: dict[tuple[bool, Shape], int] = {}
        guarded = [self._with_guards(regex) for regex in regexes]
        #: The assertions of each regex, the innermost first.
        self.inside = [self._inside(regex) for regex in guarded]
        nfas = [self._nfa(regex) for regex in guarded]
        every = [*nfas, *(assertion.nfa for assertion in self._assertions)]
        self._cuts = self._columns(every)
        self.bodies = [self.body(nfa) for nfa in nfas]
        self._parts = [self.body(assertion.nfa) for assertion in self._assertions]
        self._machines: list[_Machine] = []
        self._known: dict[tuple[int, Behind], int] = {}
        self._equal: dict[bytes, int] = {}
        self._rows: dict[tuple[int, frozenset[int]], tuple[Ints, list[frozenset[int]]]] = {}
        self._contexts: dict[tuple[Obligations, Behind], list[Run]] = {}
        self._gaps: dict[Behind, list[_Case]] = {}

    # -- regexes to NFAs with guards ---------------------------------------------------------------

    def _with_guards(self, regex: Regex) -> Regex:
        """The regex with a reserved symbol for each assertion."""
        if isinstance(regex, Combined):
            return self._operation(regex)
        if not isinstance(regex, Look):
            return regex.rebuild(self._with_guards)
        if regex.kind in (LookKind.BOUNDARY, LookKind.INSIDE):
            before, after = ((self._guard(side, regex.part, negated=False),
                              self._guard(side, regex.part, negated=True))
                             for side in (True, False))  # fmt: skip
            pairs = zip(
                before, after if regex.kind is LookKind.INSIDE else after[::-1], strict=True
            )
            return Alternate(tuple(Concat(pair, regex.span) for pair in pairs), regex.span)
        return self._guard(regex.kind in _BACKWARD, regex.part, negated=regex.kind in _NEGATIVE)

    def _operation(self, regex: Combined) -> Regex:
        """The automaton of an operation, over symbols and assertions."""
        parts = [*map(self._with_guards, regex.parts)]
        if regex.operation is Operation.LEFTMOST_FIRST:
            symbols = self.symbols + 2 * len(self._assertions)
            nfa, _ = leftmost_first(parts[0], self.symbols, symbols, self._limits)
            return cast("Regex", Machine(smallest(nfa, self._limits), self.symbols, regex.span))
        first, *others = (smaller(self._nfa(part), self.symbols) for part in parts)
        if regex.operation is Operation.BOTH:
            nfa = both(first, others[0], self.symbols, self._limits)
        else:
            anything = Repeat(Bytes(((0, self.symbols - 1),), NO_SPAN), 0, None, NO_SPAN)
            shortest = regex.operation is Operation.SHORTEST
            pair = (self._nfa(anything), first) if shortest else (first, others[0])
            nfa = decided(*pair, self.symbols, self._limits, shortest=shortest)
        dfa = smallest(nfa, self._limits)
        return cast("Regex", Machine(dfa, self.symbols, regex.span))

    def _guard(self, is_behind: bool, part: Regex, *, negated: bool) -> Regex:
        key = is_behind, shape(part)
        number = self._numbers.get(key)
        if number is None:
            inner = self._with_guards(part)
            anything = Repeat(Bytes(((0, self.symbols - 1),), NO_SPAN), 0, None, NO_SPAN)
            whole = (anything, inner) if is_behind else (inner, anything)
            tested, inside = self._assertions_of(inner), self._inside(inner)
            number = self._numbers[key] = len(self._assertions)
            nfa = smaller(self._nfa(Concat(whole, NO_SPAN)), self.symbols)
            self._assertions.append(_Assertion(is_behind, nfa, tested, inside))
        symbol = self.symbols + 2 * number + negated
        return Bytes(((symbol, symbol),), NO_SPAN)

    def _assertions_of(self, guarded: Regex) -> tuple[int, ...]:
        symbols = {
            node.ranges[0][0] - self.symbols
            for node in walk(guarded)
            if isinstance(node, Bytes) and node.ranges and node.ranges[0][0] >= self.symbols
        }
        for node in walk(guarded):
            if isinstance(node, Machine):
                used = (node.dfa.table != DEAD).any(axis=0)[node.dfa.classes[node.plain :]]
                symbols.update(np.flatnonzero(used).tolist())
        return tuple(sorted({symbol // 2 for symbol in symbols}))

    def _inside(self, guarded: Regex) -> tuple[int, ...]:
        tested = self._assertions_of(guarded)
        return tuple(sorted({*tested, *(i for n in tested for i in self._assertions[n].inside)}))

    def _nfa(self, guarded: Regex) -> Nfa:
        nfa = self._nfa_of(guarded, self._limits)
        return Nfa(nfa.flat, nfa.initial, self.symbols + 2 * len(self._assertions))

    def _columns(self, nfas: Iterable[Nfa]) -> list[int]:
        """The first symbols of the ranges that no edge divides."""
        cuts = {0}
        for nfa in nfas:
            edges = nfa.flat.edges
            plain = edges[edges[:, 0] < self.symbols]
            cuts.update(plain[:, 0].tolist(), (plain[:, 1] + 1).tolist())
        return sorted(cut for cut in cuts if cut < self.symbols)

    def body(self, nfa: Nfa) -> Body:
        """An NFA over symbols and guards."""
        edges = [[edge for edge in row if edge[0] < self.symbols] for row in nfa.edges]
        guards = [
            [(*divmod(low - self.symbols, 2), to) for low, _, to in row if low >= self.symbols]
            for row in nfa.edges
        ]
        return Body(
            nfa.initial, nfa.finals, nfa.epsilons, edges, guards, self._required_guards(nfa, guards)
        )

    def _required_guards(
        self, nfa: Nfa, guards: list[list[tuple[int, int, int]]]
    ) -> list[frozenset[int]]:
        needed: list[set[int]] = [set() for _ in guards]
        if not any(guards):
            return [frozenset()] * len(guards)
        sources: list[set[int]] = [set() for _ in guards]
        for state, (row, epsilons) in enumerate(zip(nfa.edges, nfa.epsilons, strict=True)):
            for target in (*epsilons, *(edge[2] for edge in row)):
                sources[target].add(state)
        for look in {look for row in guards for look, _, _ in row}:
            testing = [state for state, row in enumerate(guards) if look in (g[0] for g in row)]
            behind = self.behinds((*self._assertions[look].inside, look))
            for state in reachable(testing, sources.__getitem__):
                needed[state].update(behind)
        return list(map(frozenset, needed))

    # -- products ----------------------------------------------------------------------------------

    def nfa(self, number: int) -> Nfa:
        """The automaton of a regex at the beginning of a text, up to its end."""
        product = self.product(self.bodies[number], self.at_start(self.inside[number]))
        return self._whole(product)

    def _whole(self, product: Product) -> Nfa:
        """The NFA of a product up to the end of the text, with state 0 as its only final state."""
        for state, (obligations, _) in product.exits.items():
            if self.is_met(obligations):
                product.builder.epsilon(state, 0)
        return product.builder.build(1, {0})

    def behinds(self, looks: Iterable[int]) -> list[int]:
        """The lookbehinds among some assertions."""
        return [look for look in looks if self._assertions[look].is_behind]

    def at_start(self, looks: Iterable[int]) -> Behind:
        """The states of the lookbehinds among some assertions at the beginning of a text."""
        return tuple(
            (look, frozenset((self._parts[look].initial,))) for look in self.behinds(looks)
        )

    def is_met(self, obligations: Obligations) -> bool:
        """Whether the empty text fulfils the obligations."""
        return all(
            self._machines[machine].finals[state] != negated
            for machine, negated, state in obligations
        )

    def product(
        self,
        body: Body,
        behind: Behind,
        obligations: Obligations = frozenset(),
        kept: frozenset[int] = frozenset(),
    ) -> Product:
        """The product of a body after a text that leads to ``behind``, with ``obligations``.

        The initial state is 1; state 0 has no edges. Lookbehinds are tracked as long as they are
        needed; the exits have those of ``kept``.
        """
        builder = NfaBuilder(self.symbols)
        builder.new_states(2)
        numbers = {(body.initial, obligations, behind): 1}
        waiting = deque(numbers)

        def number(node: int, obligations: Obligations, behind: Behind) -> int:
            tracked = body.needed[node] | kept
            if len(behind) > len(tracked):
                behind = tuple(entry for entry in behind if entry[0] in tracked)
            key = node, obligations, behind
            if key not in numbers:
                numbers[key] = builder.new_state()
                waiting.append(key)
            return numbers[key]

        exits: dict[int, Context] = {}
        while waiting:
            node, obligations, behind = waiting.popleft()
            state = numbers[node, obligations, behind]
            if not state & 63:
                self._clock.check()
                self._limits.check("states", state, HINT)
            if node in body.finals:
                exits[state] = obligations, tuple(entry for entry in behind if entry[0] in kept)
            for symbols, target, context in self._steps(body, node, obligations, behind):
                if symbols is None:
                    builder.epsilon(state, number(target, *context))
                else:
                    builder.edge(state, *symbols, number(target, *context))
        return Product(builder, exits)

    def _steps(
        self, body: Body, node: int, obligations: Obligations, behind: Behind
    ) -> Iterator[tuple[tuple[int, int] | None, int, Context]]:
        """The edges of a node in its context: symbols (None: ε), target, context after them."""
        for target in body.epsilons[node]:
            yield None, target, (obligations, behind)
        if not body.guards[node] and not body.edges[node]:
            return
        for truth, closed, guessed in self._gap(behind):
            both = self._join(obligations, guessed)
            if both is None:
                continue
            for look, negated, target in body.guards[node]:
                after = self._tested_at(look, negated, truth, behind, both)
                if after is not None:
                    yield None, target, (after, behind)
            if not both and not behind:
                for low, high, target in body.edges[node]:
                    yield (low, high), target, (both, ())
                continue
            runs = self.after(both, closed)
            for low, high, target in body.edges[node]:
                index = bisect_left(runs, low, key=itemgetter(1))
                while index < len(runs) and runs[index][0] <= high:
                    first, last, context = runs[index]
                    yield (max(low, first), min(high, last)), target, context
                    index += 1

    def after(self, obligations: Obligations, closed: Behind) -> list[Run]:
        """The contexts after each symbol that the obligations allow, as sorted ranges."""
        key = obligations, closed
        if key not in self._contexts:
            targets = [self._row(look, states) for look, states in closed]
            rows = [self._machines[machine].rows[state] for machine, _, state in obligations]
            rows += [numbers for numbers, _ in targets]
            changes = np.any(np.diff(np.array(rows), axis=1), axis=0)
            starts = [0, *(np.flatnonzero(changes) + 1).tolist(), len(self._cuts)]
            runs: list[Run] = []
            for column, end in pairwise(starts):
                after = self._without_trivial(
                    (m, no, int(self._machines[m].rows[s][column])) for m, no, s in obligations
                )
                if after is None:
                    continue
                behind = tuple(
                    (look, sets[numbers[column]])
                    for (look, _), (numbers, sets) in zip(closed, targets, strict=True)
                )
                last = self._cuts[end] - 1 if end < len(self._cuts) else self.symbols - 1
                runs.append((self._cuts[column], last, (after, behind)))
            self._contexts[key] = runs
        return self._contexts[key]

    # -- lookbehind --------------------------------------------------------------------------------

    def _gap(self, behind: Behind) -> list[_Case]:
        """The cases at a position; one, except where a lookbehind tests a lookahead."""
        if behind not in self._gaps:
            self._gaps[behind] = list(self._cases(behind))
        return self._gaps[behind]

    def _cases(self, behind: Behind) -> Iterator[_Case]:
        tested = {n for look, _ in behind for n in self._assertions[look].tested}
        guessed = [n for n in sorted(tested) if not self._assertions[n].is_behind]
        if len(guessed) > _MAX_GUESSED:
            message = f"needs more than {_MAX_GUESSED} lookaheads inside lookbehinds"
            raise LimitError(message, "states", HINT)
        for values in product((True, False), repeat=len(guessed)):
            truth = dict(zip(guessed, values, strict=True))
            obligations: Obligations | None = frozenset()
            for look, value in truth.items():
                new = self._obligation_of(look, not value, behind)
                obligations = (
                    None if obligations is None or new is None else self._join(obligations, new)
                )
            if obligations is None:
                continue
            closed = []
            for look, states in behind:
                reached = self._closure(self._parts[look], states, truth)
                closed.append((look, reached))
                truth[look] = not self._parts[look].finals.isdisjoint(reached)
            yield truth, tuple(closed), obligations

    @staticmethod
    def _closure(body: Body, states: Iterable[int], truth: dict[int, bool]) -> frozenset[int]:
        """The states reached without reading."""
        reached = set(states)
        waiting = deque(reached)
        while waiting:
            state = waiting.popleft()
            tested = [to for look, negated, to in body.guards[state] if truth[look] != negated]
            new = {*body.epsilons[state], *tested} - reached
            reached |= new
            waiting += new
        return frozenset(reached)

    def _row(self, look: int, closed: frozenset[int]) -> tuple[Ints, list[frozenset[int]]]:
        """The set of states after each column: its number, and the sets."""
        key = look, closed
        if key not in self._rows:
            row: list[set[int]] = [set() for _ in self._cuts]
            for state in closed:
                for low, high, target in self._parts[look].edges[state]:
                    first, end = bisect_left(self._cuts, low), bisect_left(self._cuts, high + 1)
                    for column in range(first, end):
                        row[column].add(target)
            numbers: dict[frozenset[int], int] = {}
            each = [numbers.setdefault(frozenset(states), len(numbers)) for states in row]
            self._rows[key] = np.array(each, np.int32), list(numbers)
        return self._rows[key]

    # -- lookahead ---------------------------------------------------------------------------------

    def _tested_at(
        self,
        look: int,
        negated: int,
        truth: dict[int, bool],
        behind: Behind,
        obligations: Obligations,
    ) -> Obligations | None:
        """The obligations after an assertion was tested; None if it is false."""
        if self._assertions[look].is_behind:
            return obligations if truth[look] != negated else None
        new = self._obligation_of(look, bool(negated), behind)
        return None if new is None else self._join(obligations, new)

    def _obligation_of(self, look: int, negated: bool, behind: Behind) -> Obligations | None:
        """The obligation of a lookahead at a position; None if no text meets it."""
        inside = self._assertions[look].inside
        machine = self._machine(look, tuple(entry for entry in behind if entry[0] in inside))
        return self._without_trivial(((machine, negated, 0),))

    def _without_trivial(self, obligations: Iterable[Obligation]) -> Obligations | None:
        """The obligations that some texts meet and others do not; None if no text meets one."""
        remaining = set()
        for machine, negated, state in obligations:
            if state in (DEAD, self._machines[machine].universal):
                if (state == DEAD) != negated:
                    return None
                continue
            if (machine, not negated, state) in remaining:
                return None
            remaining.add((machine, negated, state))
        return frozenset(remaining)

    def _join(self, obligations: Obligations, new: Obligations) -> Obligations | None:
        return (
            obligations | new
            if not new or not obligations
            else self._without_trivial(obligations | new)
        )

    def _machine(self, look: int, behind: Behind) -> int:
        """The number of the machine of a lookahead after a left context."""
        key = look, behind
        if key not in self._known:
            dfa = smallest(self._whole(self.product(self._parts[look], behind)), self._limits)
            number = self._equal.setdefault(dfa.data, len(self._machines))
            if number == len(self._machines):
                self._machines.append(self._of_dfa(dfa))
            self._known[key] = number
        return self._known[key]

    def _of_dfa(self, dfa: Dfa) -> _Machine:
        assert dfa.initial == 0, "a minimal machine begins at state 0"
        rows = dfa.table[:, dfa.classes[self._cuts]]
        loops = (rows == np.arange(len(dfa))[:, None]).all(axis=1) & dfa.finals
        return _Machine(rows, dfa.finals.tolist(), int(loops.argmax()) if loops.any() else -2)
