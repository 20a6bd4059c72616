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

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace
from itertools import product
from typing import NamedTuple

from workbench.automata.determinize import nothing
from workbench.automata.graphs import reachable
from workbench.automata.nfa import Flags
from workbench.automata.operations import between, states_ending_with
from workbench.base.dfa import DEAD, Dfa, State
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
    called,
    choice,
    holds,
    referenced,
    renamed,
)
from workbench.syntax.grammar_tree import Sequence as Row
from workbench.syntax.regex.tree import LeafNode

#: An expression, by its identity, and the position at which its text begins.
_Part = tuple[int, int]

#: Texts and numbers of copies are many only where the borders are long.
_HINT = "shorten the prefix or the suffix"

#: The most items of a sequence that one new rule repeats as they are written.
_MAX_ITEMS = 256

#: The deepest nesting of new parts in one rule: functions over the tree may recurse.
_MAX_DEPTH = 32


class _Key(NamedTuple):
    """What a new rule derives: the quotient of an expression by rests of the borders.

    Keys of one expression in one rule are equal for equal rests, so each is made only once.
    """

    #: The written rule that the expression is part of.
    rule: str
    #: The identity of the expression, and for a sequence the first item that is read.
    node: int
    item: int
    #: How much of the prefix and of the suffix was derived before it.
    left: int
    right: int


def quotient_tree(
    cfg: Cfg, tree: GrammarTree, prefix: bytes, suffix: bytes, limits: Limits
) -> tuple[GrammarTree, str] | None:
    """The rules of the texts x with ``prefix·x·suffix`` in the language, and their start symbol.

    None if there is no such text. New rules are named after those they are part of.

    Cost:   positions of the borders times rules, for unambiguous grammars.
    Raises: LimitError.
    """
    quotient = _Quotient(cfg, prefix, suffix, limits)
    if not quotient.has_text():
        return None
    return quotient.tree(tree)


class _Side:
    """Which parts of the prefix, or of the suffix read backwards, an expression derives.

    Positions are counted from the outer end of the word, so that both sides are alike: the hole
    begins at the last position. A suffix is reversed, and so are sequences and terminals.

    Cost: every part of the grammar is evaluated once for each position at which its text begins,
          and again when a rule it calls derives more.
    """

    def __init__(self, cfg: Cfg, word: bytes, clock: Clock, *, backwards: bool) -> None:
        self.cfg, self.backwards = cfg, backwards
        self.word = word[::-1] if backwards else word
        self.end = len(word)
        self._clock = clock
        self._found: dict[_Part, set[int]] = {}
        #: The parts to evaluate again when another end of a part is found.
        self._users: dict[_Part, dict[_Part, Expression]] = {}
        self._waiting: dict[_Part, Expression] = {}
        #: The parts that are being evaluated, the innermost last.
        self._open: list[tuple[_Part, Expression]] = []
        self._walks: dict[_Part, Set[int]] = {}
        self._low: dict[int, int] = {}

    def ends(self, node: Expression, start: int) -> Set[int]:
        """The positions k at which the expression derives ``word[start:k]``."""
        ends = self._ends(node, start)
        while self._waiting:
            self._solve()
            ends = self._ends(node, start)
        return ends

    def _solve(self) -> None:
        """The least fixed point of the ends of all parts."""
        while self._waiting:
            part, node = self._waiting.popitem()  # the last first: a rule after those it calls
            if self._grows(part, node):
                self._waiting.update(self._users.get(part, {}))

    def _grows(self, part: _Part, node: Expression) -> bool:
        """Evaluate a part; whether it has more ends than before."""
        self._clock.check(_HINT)
        self._open.append((part, node))
        now = self._evaluate(node, part[1])
        self._open.pop()
        grows = not now <= self._found[part]
        self._found[part] |= now
        return grows

    def _ends(self, node: Expression, start: int) -> Set[int]:
        """As ``ends``, from what is known of the rules; the others are evaluated later."""
        if isinstance(node, Literal):
            value = node.value[::-1] if self.backwards else node.value
            return {start + len(value)} if self.word.startswith(value, start) else set()
        if not isinstance(node, Nonterminal | Row | Choice | Repetition):
            return self._walk(self.cfg.machine(node), start)
        inner = self.cfg.rules[node.name] if isinstance(node, Nonterminal) else node
        part = id(inner), start
        if self._open:
            user, its_node = self._open[-1]
            self._users.setdefault(part, {})[user] = its_node
        if part not in self._found:
            self._found[part] = set()
            if inner is node:
                self._grows(part, inner)
            else:
                self._waiting[part] = inner
        return self._found[part]

    def _evaluate(self, node: Expression, start: int) -> Set[int]:
        """The ends of an expression, given those of its parts."""
        match node:
            case Row(items=items):
                positions: set[int] = {start}
                for item in self.outer_first(items):
                    self._clock.check(_HINT)
                    positions = set().union(*(self._ends(item, k) for k in positions))
                    if not positions:
                        break
                return positions
            case Choice(options=options):
                return set().union(*(self._ends(option, start) for option in options))
            case Repetition():
                low = self.least_copies(node)
                return {k for copies, k in self._copies(node, start) if copies >= low}
        return self._ends(node, start)

    def _walk(self, machine: Dfa, start: int) -> Set[int]:
        """The ends of the texts of a terminal."""
        ends = self._walks.get((id(machine), start))
        if ends is None:
            positions = self._backward(machine, start) if self.backwards else None
            ends = set(self._forward(machine, start) if positions is None else positions)
            self._walks[id(machine), start] = ends
        return ends

    def _forward(self, machine: Dfa, start: int) -> Iterator[int]:
        state = machine.initial
        for position in range(start, self.end + 1):
            self._clock.check(_HINT)
            if machine.is_final(state):
                yield position
            if position < self.end and (state := machine.step(state, self.word[position])) == DEAD:
                return

    def _backward(self, machine: Dfa, start: int) -> Iterator[int]:
        states = machine.finals
        for position in range(start, self.end + 1):
            self._clock.check(_HINT)
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
        if id(node) not in self._low:
            self._low[id(node)] = 0 if self.cfg.is_nullable(node.item) else node.low
        return self._low[id(node)]

    def copies(self, node: Repetition, start: int) -> Set[tuple[int, int]]:
        """Numbers of non-empty copies and the ends of their text; see ``_copies``."""
        pairs = self._copies(node, start)
        while self._waiting:
            self._solve()
            pairs = self._copies(node, start)
        return pairs

    def _copies(self, node: Repetition, start: int) -> Set[tuple[int, int]]:
        """Numbers of copies and where their text ends; without an upper bound at most ``low``."""
        waiting = deque([(0, start)])
        pairs = set(waiting)
        while waiting:
            copies, position = waiting.popleft()
            self._clock.check(_HINT)
            if node.high is not None and copies == node.high:
                continue
            more = copies + 1 if node.high is not None else min(copies + 1, node.low)
            for end in self._ends(node.item, position):
                if end > position and (more, end) not in pairs:
                    pairs.add((more, end))
                    waiting.append((more, end))
        return pairs


class _Quotient:
    """Makes the rules of one quotient: one for each part of a rule that contains a border.

    Three rounds: by the prefix alone, by the suffix alone, and by both. A part that has no text in
    one of the first two rounds is not visited in the third; so that one visits few pairs of
    positions although it has two borders. At the end, a part that is called only once is written
    into its caller.
    """

    def __init__(self, cfg: Cfg, prefix: bytes, suffix: bytes, limits: Limits) -> None:
        self._cfg, self._limits, self._clock = cfg, limits, limits.clock()
        self._prefix, self._suffix = prefix, suffix
        self._left = _Side(cfg, prefix, self._clock, backwards=False)
        self._right = _Side(cfg, suffix, self._clock, backwards=True)
        #: Nothing of the prefix or of the suffix is left to derive.
        self._none = len(prefix), len(suffix)
        self._nodes: dict[int, Expression] = {}
        self._bodies: dict[_Key, Expression | None] = {}
        #: What each key is called until all rules are made, and its key.
        self._name_of: dict[_Key, str] = {}
        self._key_of: dict[str, _Key] = {}
        #: The keys of rules; the others are of their parts.
        self._rules: set[_Key] = set()
        self._waiting: list[_Key] = []
        self._without_text: set[_Key] = set()
        self._machines: dict[tuple[int, int, bytes], Dfa] = {}
        self._states: dict[tuple[int, int], State] = {}
        self._finals: dict[tuple[int, int], Flags] = {}
        self._borders: dict[tuple[int, bool, int], dict[int, list[int]]] = {}

    def has_text(self) -> bool:
        """Make all rules; whether the start has a text."""
        for left, right in self._rounds():
            if self._call_rule(self._cfg.start, left, right, Span(0, 0)) is None:
                return False
            self._make()
            if self._start(left, right) in self._without_text:
                return False
        return True

    def _rounds(self) -> list[tuple[int, int]]:
        left, right = self._none
        return list(dict.fromkeys([(0, right), (left, 0), (0, 0)]))

    def _start(self, left: int, right: int) -> _Key:
        return self._rule_key(self._cfg.start, left, right)

    def _make(self) -> None:
        """Make the rules of all keys that were called, and find those without a text."""
        while self._waiting:
            self._clock.check(_HINT)
            key = self._waiting.pop()
            self._bodies[key] = self._of_key(key)
            self._limits.check("states", len(self._bodies), _HINT)
        bodies = {
            self._name_of[key]: body for key, body in self._bodies.items() if body is not None
        }
        productive = least(bodies, self._derives)
        self._without_text = {k for k in self._bodies if self._name_of[k] not in productive}

    def _derives(self, body: Expression, names: Set[str]) -> bool:
        """Whether a body has a text if the new rules ``names`` do; all rules as written do."""
        self._clock.check(_HINT)
        new = self._key_of
        return holds(
            body,
            lambda leaf: (
                not isinstance(leaf, Nonterminal) or leaf.name in names or leaf.name not in new
            ),
        )

    def _rule_key(self, name: str, left: int, right: int) -> _Key:
        return _Key(name, id(self._cfg.rules[name]), 0, left, right)

    def _call_rule(self, name: str, left: int, right: int, span: Span) -> Nonterminal | None:
        """A call of the quotient of a rule, None if it has no text."""
        if (left, right) == self._none:
            return Nonterminal(name, span)
        key = self._rule_key(name, left, right)
        self._nodes[key.node] = self._cfg.rules[name]
        self._rules.add(key)
        return self._call(key, span)

    def _call(self, key: _Key, span: Span) -> Nonterminal | None:
        """A call of the rule of a key, None if it has no text."""
        if key in self._without_text:
            return None
        if key not in self._name_of:
            self._name_of[key] = name = f"\0{len(self._name_of)}"
            self._key_of[name] = key
            self._waiting.append(key)
        return Nonterminal(self._name_of[key], span)

    def _of(self, key: _Key, node: Expression, left: int, right: int) -> Expression | None:
        """The quotient of a part of the expression of ``key`` by the rests of the borders."""
        if (left, right) == self._none:
            return node
        match node:
            case Literal(value=value, span=span):
                before, after = self._none[0] - left, self._none[1] - right
                inside = len(value) - before - after
                if inside < 0 or not (
                    value.startswith(self._prefix[left:]) and value.endswith(self._suffix[:after])
                ):
                    return None
                return Literal(value[before:][:inside], span)
            case Nonterminal(name=name, span=span):
                return self._call_rule(name, left, right, span)
            case Choice() | Row() | Repetition():
                self._nodes[id(node)] = node
                return self._call(_Key(key.rule, id(node), 0, left, right), node.span)
        machine = self._of_machine(self._cfg.machine(node), left, right)
        label = node.label if isinstance(node, Automaton) else self._text(node.span)
        return None if machine.is_empty else Automaton(machine, label, node.span)

    def _of_key(self, key: _Key) -> Expression | None:
        """The body of the rule of a key."""
        node = self._nodes[key.node]
        match node:
            case Choice(options=options, span=span):
                parts = [self._of(key, option, key.left, key.right) for option in options]
                return _either(parts, span)
            case Row():
                return self._of_row(key, node)
            case Repetition():
                return self._of_repetition(key, node)
        return self._of(key, node, key.left, key.right)

    def _text(self, span: Span) -> str:
        return self._cfg.source.text[span.start : span.end]

    def _of_machine(self, machine: Dfa, left: int, right: int) -> Dfa:
        """The quotient of a terminal; one object for each beginning and set of ends."""
        state, finals = self._state_after(machine, left), self._finals_before(machine, right)
        if state == DEAD or not finals.any():
            return nothing(len(machine.classes))
        key = id(machine), state, finals.tobytes()
        if key not in self._machines:
            self._machines[key] = between(machine, state, finals, self._limits)
        return self._machines[key]

    def _state_after(self, machine: Dfa, left: int) -> State:
        """The state of a terminal after the rest of the prefix, or ``DEAD``."""
        if (id(machine), left) not in self._states:
            state = machine.initial
            for byte in self._prefix[left:]:
                self._clock.check(_HINT)
                if (state := machine.step(state, byte)) == DEAD:
                    break
            self._states[id(machine), left] = state
        return self._states[id(machine), left]

    def _finals_before(self, machine: Dfa, right: int) -> Flags:
        """The states of a terminal from which the rest of the suffix is accepted, (Q,)."""
        if (id(machine), right) not in self._finals:
            states = machine.finals
            for end in range(self._none[1] - right, 0, -1):
                self._clock.check(_HINT)
                states = states_ending_with(machine, self._suffix[end - 1 : end], states)
                if not states.any():
                    break
            self._finals[id(machine), right] = states
        return self._finals[id(machine), right]

    def _parts(
        self, key: _Key, node: Expression, pairs: Iterable[tuple[int, int]]
    ) -> dict[tuple[int, int], Expression]:
        """The quotients of a part by pairs of rests, without those that have no text."""
        parts = {}
        for left, right in pairs:
            self._clock.check(_HINT)
            part = self._of(key, node, left, right)
            if part is not None:
                parts[left, right] = part
        return parts

    def _of_row(self, key: _Key, row: Row) -> Expression | None:
        """One option for each item in which the hole may begin; see ``_rest_of_row``."""
        no_left, no_right = self._none
        if key.left == no_left:
            return self._rest_of_row(key, row)
        ends = {} if key.right == no_right else self._row_borders(row, self._right, key.right)
        last = len(row.items) if key.right == no_right else next(reversed(ends), -1)
        options: list[Expression | None] = []
        for item, positions in self._row_borders(row, self._left, key.left).items():
            node = row.items[item]
            first = self._parts(key, node, ((i, no_right) for i in positions))
            # where a border leaves no text in its item alone, it leaves none with the other
            if first and item < last:
                rest = self._call_rest(key, row, item + 1)
                options.append(_row_of((_either(first.values(), row.span), rest), row.span))
            if first and item in ends:
                final = self._parts(key, node, ((no_left, j) for j in ends[item]))
                pairs = ((i, j) for (i, _), (_, j) in product(first, final))
                options += self._parts(key, node, pairs).values()
        return _either(options, row.span)

    def _call_rest(self, key: _Key, row: Row, item: int) -> Expression | None:
        """The items of a row from one on, by the suffix alone."""
        if item == len(row.items):
            return Row((), row.span)
        return self._call(_Key(key.rule, id(row), item, self._none[0], key.right), row.span)

    def _rest_of_row(self, key: _Key, row: Row) -> Expression | None:
        """The items of a row from ``key.item`` on, by the suffix alone.

        The hole ends either in the next item in which it may, or in a later one.
        """
        no_left, no_right = self._none
        if key.right == no_right:
            end = min(key.item + _MAX_ITEMS, len(row.items))
            rest = self._call_rest(key, row, end)
            return _row_of((*row.items[key.item : end], rest), row.span)
        ends = self._row_borders(row, self._right, key.right)
        last = next(reversed(ends), -1)
        for item in range(key.item, last + 1):
            pairs = ((no_left, j) for j in ends.get(item, ()))
            options: list[Expression | None] = [*self._parts(key, row.items[item], pairs).values()]
            if options and item < last:
                rest = self._call_rest(key, row, item + 1)
                options.append(_row_of((row.items[item], rest), row.span))
            if options:
                final = _either(options, row.span)
                return _row_of((*row.items[key.item : item], final), row.span)
        return None

    def _row_borders(self, row: Row, side: _Side, start: int) -> dict[int, list[int]]:
        """The items that may derive the last byte of the word, in order, each with its beginnings.

        There must be something left of the word.
        """
        cached = self._borders.get((id(row), side.backwards, start))
        if cached is not None:
            return cached
        borders, positions = list[tuple[int, list[int]]](), {start}
        last = len(row.items) - 1
        for index, item in enumerate(side.outer_first(row.items)):
            self._clock.check(_HINT)
            if not positions:
                break
            borders.append((last - index if side.backwards else index, sorted(positions)))
            positions = {k for p in positions for k in side.ends(item, p) if k < side.end}
        sorted_borders = self._borders[id(row), side.backwards, start] = dict(sorted(borders))
        return sorted_borders

    def _of_repetition(self, key: _Key, node: Repetition) -> Expression | None:
        """One option for each number of copies before the hole and after it."""
        (no_left, no_right), item, span = self._none, node.item, node.span
        before = self._outside(node, self._left, key.left)
        after = self._outside(node, self._right, key.right)
        low = self._left.least_copies(node)

        def rest(copies: int) -> Expression | None:
            """All further copies, given those that were counted."""
            if node.high is not None and copies > node.high:
                return None
            high = None if node.high is None else node.high - copies
            return Repetition(item, max(0, low - copies), high, span)

        first = {
            copies: _either(self._parts(key, item, ((i, no_right) for i in ks)).values(), span)
            for copies, ks in before.items()
        }
        final = {
            copies: _either(self._parts(key, item, ((no_left, j) for j in ks)).values(), span)
            for copies, ks in after.items()
        }
        if key.left == no_left:
            return _either((_row_of((rest(d + 1), final[d]), span) for d in final), span)
        if key.right == no_right:
            return _either((_row_of((first[c], rest(c + 1)), span) for c in first), span)
        options: list[Expression | None] = []
        for c, d in product(first, final):
            self._clock.check(_HINT)
            if first[c] is None or final[d] is None:
                continue
            options.append(_row_of((first[c], rest(c + d + 2), final[d]), span))
            many = rest(c + d + 1)
            if isinstance(many, Repetition) and many.low == 0:
                options += self._parts(key, item, product(before[c], after[d])).values()
        return _either(options, span)

    @staticmethod
    def _outside(node: Repetition, side: _Side, start: int) -> dict[int, list[int]]:
        """The positions at which a copy with a border may begin, by the copies outside of it."""
        positions: dict[int, list[int]] = {}
        for copies, position in sorted(side.copies(node, start)) if start < side.end else ():
            if position < side.end:
                positions.setdefault(copies, []).append(position)
        return positions

    def tree(self, tree: GrammarTree) -> tuple[GrammarTree, str]:
        """The new rules and those they call, and the start symbol."""
        bodies = self._written_bodies()
        calls = {name: body.name for name, body in bodies.items() if isinstance(body, Nonterminal)}

        def called_by(name: str) -> str:
            """The rule that a call of a new rule which only calls another one is a call of."""
            seen = {name}
            while (target := calls.get(name)) is not None and target not in seen:
                seen.add(name := target)
            return name

        bodies = {name: renamed(body, called_by) for name, body in bodies.items()}
        written: dict[str, list[Rule]] = {}
        for rule in tree.rules:
            written.setdefault(rule.name, []).append(rule)

        def parts(name: str) -> list[Rule]:
            """The rules of a name: a new one in the place of those it is part of."""
            if name not in bodies:
                return written[name]
            first = written[self._key_of[name].rule][0]
            return [replace(first, name=name, body=bodies[name])]

        def referenced_by(name: str) -> list[str]:
            self._clock.check(_HINT)
            return [call.name for rule in parts(name) for call in referenced(rule.body)]

        start = called_by(self._name_of[self._start(0, 0)])
        reached = list(reachable([start], referenced_by))
        names = Names(name for name in reached if name not in bodies)
        final = {name: names.fresh(self._base_name(name)) for name in reached if name in bodies}
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

    def _written_bodies(self) -> dict[str, Expression]:
        """The bodies by name; a part that is called once is written into its caller."""
        dead = {self._name_of[key] for key in self._without_text}
        bodies = {
            name: body
            for name, key in self._key_of.items()
            if (body := self._bodies[key]) is not None
            and (body := _without(body, dead)) is not None
            and name not in dead
        }
        start = self._name_of[self._start(0, 0)]
        reached = reachable([start], lambda name: called(bodies[name]) if name in bodies else ())
        bodies = {name: body for name, body in bodies.items() if name in reached}
        uses = Counter(name for body in bodies.values() for name in called(body))
        depths: dict[str, int] = {}

        def is_inside(name: str) -> bool:
            """Whether a called rule is written into its callers."""
            return (
                depths.get(name, _MAX_DEPTH) < _MAX_DEPTH
                and self._key_of[name] not in self._rules
                and (uses[name] == 1 or isinstance(bodies[name], LeafNode))
            )

        def with_parts(node: Expression) -> Expression:
            match node:
                case Nonterminal(name=name):
                    return bodies[name] if is_inside(name) else node
                case Choice(options=options, span=span):
                    return _either(map(with_parts, options), span) or node
                case Row(items=items, span=span):
                    return _row(map(with_parts, items), span)
            return node  # copies are of rules as they are written

        for name in reversed(bodies):  # most parts are called by rules with smaller numbers
            self._clock.check(_HINT)
            inside = [depths[part] for part in called(bodies[name]) if is_inside(part)]
            bodies[name] = with_parts(bodies[name])
            depths[name] = 1 + max(inside, default=0)
        return bodies

    def _base_name(self, name: str) -> str:
        """The base of the final name of a new rule."""
        key = self._key_of[name]
        if key.right == self._none[1]:
            return f"rest of {key.rule}"
        return f"{'beginning' if key.left == self._none[0] else 'middle'} of {key.rule}"


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
    distinct = {
        option.name if isinstance(option, Nonterminal) else id(option): option for option in options
    }
    kept = [option for option in distinct.values() if option is not None]
    if not kept:
        return None
    return choice(kept, span)
