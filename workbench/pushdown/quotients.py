"""The rules of the texts that fit between a prefix and a suffix: quotients of a grammar by words.

The quotient of a language L by a prefix p and a suffix s has exactly the texts x with ``p·x·s`` in
L. Context-free languages are closed under it: from every expression e that derives part of p or of
s, an expression ``e by (i, j)`` is made, whose texts x are those with ``p[i:]·x·s[:j]`` in e. With
the rules ``S ::= '(' S ')' | 'x'``, the prefix ``((`` and the suffix ``)``::

    S by (0, 1)  ::=  S by (1, 0)      -- the first '(' is in p, the last ')' is s
    S by (1, 0)  ::=  S ')'            -- the second '(' is in p

Only expressions along the two borders change; all others stay calls of the rules as they are
written. Terminals that contain a border become automata, so borders may be anywhere: between
terminals, in one, or in the middle of a character. Where parts of p or s are derived completely,
``_Side`` finds which (a chart recogniser over rules, for ambiguous and left-recursive ones too).

Source: Bar-Hillel, Perles & Shamir 1961, "On formal properties of simple phrase structure
        grammars" (closure under intersection with regular sets); Ginsburg & Spanier 1963,
        "Quotients of context-free languages".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace

from workbench.automata.determinize import nothing
from workbench.automata.graphs import reachable
from workbench.automata.operations import between, states_ending_with
from workbench.base.dfa import DEAD, Dfa
from workbench.base.limits import Clock, Limits
from workbench.base.source import Span
from workbench.pushdown.cfg import Cfg, least
from workbench.syntax.grammar_tree import (
    Automaton,
    Choice,
    Expression,
    GrammarTree,
    Literal,
    Names,
    Nonterminal,
    Repetition,
    Rule,
    choice,
    holds,
    referenced,
    renamed,
)
from workbench.syntax.grammar_tree import Sequence as Row

#: A rule, and how much of the prefix and of the suffix was derived before it.
_Key = tuple[str, int, int]


def quotient_tree(
    cfg: Cfg, tree: GrammarTree, prefix: bytes, suffix: bytes, limits: Limits
) -> tuple[GrammarTree, str] | None:
    """The rules of the texts x with ``prefix·x·suffix`` in the language, and their start symbol.

    None if there is no such text. New rules are named after those they are part of.

    Cost:   positions of the borders times rules, for unambiguous grammars.
    Raises: LimitError.
    """
    made = _Quotient(cfg, prefix, suffix, limits)
    if not made.has_text():
        return None
    return made.tree(tree)


class _Side:
    """Which parts of the prefix, or of the suffix read backwards, an expression derives.

    Positions are counted from the outer end of the word, so that both sides are alike: the hole
    begins at the last position. A suffix is reversed, and so are sequences and terminals.
    """

    def __init__(self, cfg: Cfg, word: bytes, clock: Clock, *, backwards: bool) -> None:
        self.cfg, self.backwards = cfg, backwards
        self.word = word[::-1] if backwards else word
        self.end = len(word)
        self._clock = clock
        self._found: dict[tuple[str, int], set[int]] = {}
        #: The rules to evaluate again when another part of the word is found for a rule.
        self._users: dict[tuple[str, int], dict[tuple[str, int], None]] = {}
        self._waiting: dict[tuple[str, int], None] = {}
        self._current: tuple[str, int] | None = None
        self._walks: dict[tuple[int, int], Set[int]] = {}

    def ends(self, node: Expression, start: int) -> Set[int]:
        """The positions k at which the expression derives ``word[start:k]``."""
        found = self._ends(node, start)
        while self._waiting:
            self._solve()
            found = self._ends(node, start)
        return found

    def _solve(self) -> None:
        """The least fixed point of the parts that rules derive."""
        while self._waiting:
            key, _ = self._waiting.popitem()  # the last first: a rule after those it calls
            self._clock.check("shorten the prefix or the suffix")
            self._current = key
            now = self._ends(self.cfg.rules[key[0]], key[1])
            self._current = None
            if not now <= self._found[key]:
                self._found[key] |= now
                self._waiting.update(self._users.get(key, {}))

    def _ends(self, node: Expression, start: int) -> Set[int]:
        match node:
            case Literal(value=value):
                value = value[::-1] if self.backwards else value
                return {start + len(value)} if self.word.startswith(value, start) else set()
            case Nonterminal(name=name):
                key = name, start
                if self._current is not None:
                    self._users.setdefault(key, {})[self._current] = None
                if key not in self._found:
                    self._found[key] = set()
                    self._waiting[key] = None
                return self._found[key]
            case Row(items=items):
                here: set[int] = {start}
                for item in self.outer_first(items):
                    here = set().union(*(self._ends(item, k) for k in here))
                return here
            case Choice(options=options):
                return set().union(*(self._ends(option, start) for option in options))
            case Repetition():
                low = self.least_copies(node)
                return {k for copies, k in self._copies(node, start) if copies >= low}
        return self._walk(self.cfg.machine(node), start)

    def _walk(self, machine: Dfa, start: int) -> Set[int]:
        """The ends of the texts of a terminal."""
        known = self._walks.get((id(machine), start))
        if known is None:
            positions = self._backward(machine, start) if self.backwards else None
            known = set(self._forward(machine, start) if positions is None else positions)
            self._walks[id(machine), start] = known
        return known

    def _forward(self, machine: Dfa, start: int) -> Iterator[int]:
        state = machine.initial
        for position in range(start, self.end + 1):
            if machine.is_final(state):
                yield position
            if position < self.end and (state := machine.step(state, self.word[position])) == DEAD:
                return

    def _backward(self, machine: Dfa, start: int) -> Iterator[int]:
        states = machine.finals
        for position in range(start, self.end + 1):
            if states[machine.initial]:
                yield position
            if position < self.end:
                states = states_ending_with(machine, self.word[position : position + 1], states)
                if not states.any():
                    return

    def outer_first(self, items: Sequence[Expression]) -> Iterable[Expression]:
        """The items of a sequence in the order in which the word is read."""
        return reversed(items) if self.backwards else items

    def least_copies(self, node: Repetition) -> int:
        """The least number of copies that derive a text: 0 if the item derives the empty text."""
        return 0 if self.cfg.is_nullable(node.item) else node.low

    def copies(self, node: Repetition, start: int) -> Set[tuple[int, int]]:
        """Numbers of non-empty copies and the ends of their text; see ``_copies``."""
        found = self._copies(node, start)
        while self._waiting:
            self._solve()
            found = self._copies(node, start)
        return found

    def _copies(self, node: Repetition, start: int) -> Set[tuple[int, int]]:
        """Numbers of copies and where their text ends; without an upper bound at most ``low``."""
        waiting = [(0, start)]
        found = set(waiting)
        for copies, here in waiting:  # the list grows during the loop
            if node.high is not None and copies == node.high:
                continue
            more = copies + 1 if node.high is not None else min(copies + 1, node.low)
            for there in self._ends(node.item, here):
                if there > here and (more, there) not in found:
                    found.add((more, there))
                    waiting.append((more, there))
        return found


class _Quotient:
    """Makes the rules of one quotient.

    Three rounds: by the prefix alone, by the suffix alone, and by both. A part that has no text in
    one of the first two rounds is not visited in the third; so that one visits few pairs of
    positions although it has two borders.
    """

    def __init__(self, cfg: Cfg, prefix: bytes, suffix: bytes, limits: Limits) -> None:
        self._cfg, self._limits, self._clock = cfg, limits, limits.clock()
        self._prefix, self._suffix = prefix, suffix
        self._left = _Side(cfg, prefix, self._clock, backwards=False)
        self._right = _Side(cfg, suffix, self._clock, backwards=True)
        #: Nothing of the prefix or of the suffix is left to derive.
        self._none = len(prefix), len(suffix)
        self._bodies: dict[_Key, Expression | None] = {}
        #: What each key is called until all rules are made, and its key.
        self._name_of: dict[_Key, str] = {}
        self._key_of: dict[str, _Key] = {}
        self._waiting: list[_Key] = []
        self._without_text: set[_Key] = set()
        self._machines: dict[tuple[int, int, bytes], Dfa] = {}

    def has_text(self) -> bool:
        """Make all rules; whether the start has a text."""
        for key in self._rounds():
            self._make(key)
            if key in self._without_text:
                return False
        return True

    def _rounds(self) -> list[_Key]:
        start, (left, right) = self._cfg.start, self._none
        return list(dict.fromkeys([(start, 0, right), (start, left, 0), (start, 0, 0)]))

    def _make(self, start: _Key) -> None:
        """Make the rule of a key and all that it calls, and find those without a text."""
        self._called(start, Span(0, 0))
        while self._waiting:
            self._clock.check("shorten the prefix or the suffix")
            key = self._waiting.pop()
            self._bodies[key] = self._of(self._cfg.rules[key[0]], key[1], key[2])
            self._limits.check("states", len(self._bodies), "shorten the prefix or the suffix")
        bodies = {
            self._name_of[key]: body for key, body in self._bodies.items() if body is not None
        }
        productive = least(bodies, self._derives)
        self._without_text = {k for k in self._bodies if self._name_of[k] not in productive}

    def _derives(self, body: Expression, known: Set[str]) -> bool:
        """Whether a body has a text if the new rules ``known`` do; all rules as written do."""
        new = self._key_of
        return holds(
            body,
            lambda leaf: (
                not isinstance(leaf, Nonterminal) or leaf.name in known or leaf.name not in new
            ),
        )

    def _called(self, key: _Key, span: Span) -> Nonterminal | None:
        """A call of the rule of a key, None if it has no text."""
        if key[1:] == self._none:
            return Nonterminal(key[0], span)
        if key in self._without_text:
            return None
        if key not in self._name_of:
            self._name_of[key] = "\0".join(map(str, key))
            self._key_of[self._name_of[key]] = key
            self._waiting.append(key)
        return Nonterminal(self._name_of[key], span)

    def _of(self, node: Expression, left: int, right: int) -> Expression | None:
        """The quotient of an expression by the rests of the prefix and of the suffix."""
        if (left, right) == self._none:
            return node
        match node:
            case Literal(value=value, span=span):
                before, after = self._prefix[left:], self._suffix[: self._none[1] - right]
                inside = len(value) - len(before) - len(after)
                if inside < 0 or not (value.startswith(before) and value.endswith(after)):
                    return None
                return Literal(value[len(before) :][:inside], span)
            case Nonterminal(name=name, span=span):
                return self._called((name, left, right), span)
            case Choice(options=options, span=span):
                return _either([self._of(option, left, right) for option in options], span)
            case Row():
                return self._of_row(node, left, right)
            case Repetition():
                return self._of_repetition(node, left, right)
        machine = self._of_machine(self._cfg.machine(node), left, right)
        label = node.label if isinstance(node, Automaton) else self._text(node.span)
        return None if machine.is_empty else Automaton(machine, label, node.span)

    def _text(self, span: Span) -> str:
        return self._cfg.source.text[span.start : span.end]

    def _of_machine(self, machine: Dfa, left: int, right: int) -> Dfa:
        """The quotient of a terminal; one object for each beginning and set of ends."""
        state = machine.run(self._prefix[left:])
        if state == DEAD:
            return nothing(len(machine.classes))
        finals = states_ending_with(machine, self._suffix[: self._none[1] - right])
        key = id(machine), state, finals.tobytes()
        if key not in self._machines:
            self._machines[key] = between(machine, state, finals, self._limits)
        return self._machines[key]

    def _of_row(self, row: Row, left: int, right: int) -> Expression | None:
        """One option for each item in which the hole may begin and each in which it may end."""
        last, (no_left, no_right) = len(row.items) - 1, self._none
        begins = self._borders(row, self._left, left)
        ends = [(last - b, k) for b, k in self._borders(row, self._right, right)]
        # where a border leaves no text in its item alone, it leaves none together with the other
        first = [(a, k, self._of(row.items[a], k, no_right)) for a, k in begins]
        final = [(b, k, self._of(row.items[b], no_left, k)) for b, k in ends]
        options: list[Expression | None] = []
        for a, i, beginning in first:
            for b, j, ending in final:
                if beginning is None or ending is None or a > b:
                    continue
                if a < b:
                    items = (beginning, *row.items[a + 1 : b], ending)
                    options.append(_row(items, row.span))
                else:
                    options.append(self._of(row.items[a], i, j))
        return _either(options, row.span)

    def _borders(self, row: Row, side: _Side, start: int) -> list[tuple[int, int]]:
        """The items, counted from the outside, that may derive the last byte of the word.

        With each where it begins. If nothing is left of the word: the first item.
        """
        if start == side.end:
            return [(0, start)] if row.items else []
        found, here = [], {start}
        for index, item in enumerate(side.outer_first(row.items)):
            found += [(index, k) for k in sorted(here)]
            here = {there for k in here for there in side.ends(item, k) if there < side.end}
        return found

    def _of_repetition(self, node: Repetition, left: int, right: int) -> Expression | None:
        """One option for each number of copies before the hole and after it."""
        (no_left, no_right), item, span = self._none, node.item, node.span
        before, after = (
            self._outside(node, self._left, left),
            self._outside(node, self._right, right),
        )
        low = self._left.least_copies(node)
        options: list[Expression | None] = []

        def rest(copies: int) -> Expression | None:
            """All further copies, given those that were counted."""
            if node.high is not None and copies > node.high:
                return None
            high = None if node.high is None else node.high - copies
            return Repetition(item, max(0, low - copies), high, span)

        first = [(c, i, self._of(item, i, no_right)) for c, i in before if i < no_left]
        final = [(c, j, self._of(item, no_left, j)) for c, j in after if j < no_right]
        first = [part for part in first if part[2] is not None]
        final = [part for part in final if part[2] is not None]
        if left == no_left:
            for c, _, ending in final:
                options.append(_row_of((rest(c + 1), ending), span))
        elif right == no_right:
            for c, _, beginning in first:
                options.append(_row_of((beginning, rest(c + 1)), span))
        else:
            for c, i, beginning in first:
                for d, j, ending in final:
                    options.append(_row_of((beginning, rest(c + d + 2), ending), span))
                    many = rest(c + d + 1)
                    if isinstance(many, Repetition) and many.low == 0:
                        options.append(self._of(item, i, j))
        return _either(options, span)

    @staticmethod
    def _outside(node: Repetition, side: _Side, start: int) -> list[tuple[int, int]]:
        return [] if start == side.end else sorted(side.copies(node, start))

    def tree(self, tree: GrammarTree) -> tuple[GrammarTree, str]:
        """The new rules and those they call, and the start symbol."""
        dead = {self._name_of[key] for key in self._without_text}
        pruned = {
            name: _without(body, dead)
            for name, key in self._key_of.items()
            if name not in dead and (body := self._bodies[key]) is not None
        }
        calls = {name: body.name for name, body in pruned.items() if isinstance(body, Nonterminal)}

        def called_by(name: str) -> str:
            """The rule that a call of a new rule which only calls another one is a call of."""
            seen = {name}
            while (target := calls.get(name)) is not None and target not in seen:
                seen.add(name := target)
            return name

        bodies = {n: renamed(body, called_by) for n, body in pruned.items() if body is not None}
        written: dict[str, list[Rule]] = {}
        for rule in tree.rules:
            written.setdefault(rule.name, []).append(rule)

        def parts(name: str) -> list[Rule]:
            """The rules of a name: a new one in the place of those it is part of."""
            if name not in bodies:
                return written[name]
            first = written[self._key_of[name][0]][0]
            return [replace(first, name=name, body=bodies[name])]

        def called(name: str) -> list[str]:
            return [call.name for rule in parts(name) for call in referenced(rule.body)]

        start = called_by(self._name_of[self._cfg.start, 0, 0])
        reached = list(reachable([start], called))
        names = Names(name for name in reached if name not in bodies)
        final = {name: names.fresh(self._named(name)) for name in reached if name in bodies}
        rules = tuple(
            replace(
                rule,
                name=final.get(name, name),
                body=renamed(rule.body, lambda called: final.get(called, called)),
            )
            for name in reached
            for rule in parts(name)
        )
        return GrammarTree(rules, tree.source, tree.counted), final.get(start, start)

    def _named(self, name: str) -> str:
        """The base of the final name of a new rule."""
        rule, left, right = self._key_of[name]
        if right == self._none[1]:
            return f"rest of {rule}"
        return f"{'beginning' if left == self._none[0] else 'middle'} of {rule}"


def _without(node: Expression, dead: Set[str]) -> Expression | None:
    """An expression without the calls of rules that have no text; None if it has none itself."""
    match node:
        case Nonterminal(name=name):
            return None if name in dead else node
        case Choice(options=options, span=span):
            return _either([_without(option, dead) for option in options], span)
        case Row(items=items, span=span):
            return _row_of([_without(item, dead) for item in items], span)
    return node  # copies are of rules as they are written


def _row_of(items: Iterable[Expression | None], span: Span) -> Expression | None:
    """The items as a sequence, None if one has no text."""
    listed = list(items)
    kept = [item for item in listed if item is not None]
    return _row(kept, span) if len(kept) == len(listed) else None


def _row(items: Iterable[Expression], span: Span) -> Expression:
    parts = (item.items if isinstance(item, Row) else (item,) for item in items)
    kept = [part for row in parts for part in row if not _is_empty(part)]
    return kept[0] if len(kept) == 1 else Row(tuple(kept), span)


def _is_empty(node: Expression) -> bool:
    """Whether an expression derives the empty text alone, by its form."""
    match node:
        case Literal(value=value):
            return not value
        case Row(items=items):
            return not items
        case Repetition(high=high):
            return high == 0
    return False


def _either(options: Iterable[Expression | None], span: Span) -> Expression | None:
    """The options that have a text as a choice; None if there are none."""
    # calls are compared by name: comparing whole trees takes longer than the rest of the work
    distinct = {one.name if isinstance(one, Nonterminal) else id(one): one for one in options}
    kept = [option for option in distinct.values() if option is not None]
    if not kept:
        return None
    return choice(kept, span)
