"""Finds the conflicts of a pushdown network by the rules' names.

A conflict is a point where the network the engine runs is not deterministic. Each is reported as a
``Conflict`` with a shortest text after which one character can be read in two ways. The message
uses the rules as they were written, because the network has inlined some of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest

from workbench.automata.class_descriptions import describe
from workbench.automata.code_points import character_edges
from workbench.base.dfa import DEAD, State
from workbench.base.errors import LimitError
from workbench.base.limits import LIMITS, Limits
from workbench.base.source import Span
from workbench.pushdown.network import Move, Network
from workbench.pushdown.runner import Runner
from workbench.pushdown.shortest_texts import Shortest, rank
from workbench.syntax.grammar_tree import (
    GrammarTree,
)
from workbench.syntax.ranges import Ranges, intersection, normalized

#: The most characters of an example that a message shows.
_MAX_EXAMPLE_CHARACTERS = 60

#: The most transitions on one byte that are compared with each other.
_MAX_TRANSITIONS = 100

#: The two alternatives in words, and the rules they belong to.
_Choice = tuple[str, tuple[str, ...]]

#: Ranges of lead bytes, and how many bits their continuation bytes add.
_LEADS = ((0xC2, 0xDF, 6), (0xE0, 0xEF, 12), (0xF0, 0xF4, 18))


@dataclass(frozen=True, slots=True)
class ConflictText:
    """A conflict in words, with the data of its message."""

    message: str
    #: The two alternatives, without the example; conflicts with equal choices are reported once.
    choice: str
    next: Ranges
    #: The bytes that can be read in these two ways.
    bytes: tuple[int, ...]
    rules: tuple[str, ...]
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True, order=True)
class _Transition:
    """A transition on one byte: the states of all rules being read, before and after it."""

    before: tuple[State, ...]
    after: tuple[State, ...]

    def depth(self) -> tuple[int, _Transition]:
        return len(self.before), self


class ConflictDescriber:
    """Describes conflicts by the rules of the first network that has two transitions there.

    The network of the written rules comes first and that of the engine second: inlining
    loses rule names, and a network whose stack says less loses transitions.
    """

    def __init__(
        self, networks: Sequence[Network], tree: GrammarTree | None, limits: Limits
    ) -> None:
        self._runners = [Runner(network, limits) for network in networks]
        rules = tree.rules if tree else ()
        self._added = added_rules(tree) if tree else {}
        self._spans = {rule.name: rule.name_span for rule in reversed(rules)}
        self._spans |= {text: self._spans[name] for name, text in self._added.items()}

    def texts(self, text: bytes, columns: Sequence[Sequence[int]]) -> list[ConflictText]:
        """Describes what some bytes can do after a text; bytes with the same choice are grouped."""
        members_of: dict[_Choice, list[int]] = {}
        for members in columns:
            members_of.setdefault(self._choice(text, members[0]), []).extend(members)
        return [self._text(text, choice, members) for choice, members in members_of.items()]

    def _text(self, text: bytes, choice: _Choice, members: Sequence[int]) -> ConflictText:
        alternatives, rules = choice
        following = self._following(text, members)
        position = f"after {quoted_end(text)}" if text else "at the beginning"
        return ConflictText(
            message=f"{position}, {_characters_text(following, members)} can {alternatives}",
            choice=alternatives,
            next=following or normalized([(byte, byte) for byte in members]),
            bytes=tuple(sorted(members)),
            rules=rules,
            spans=tuple(self._spans[name] for name in rules if name in self._spans),
        )

    def _following(self, text: bytes, members: Sequence[int]) -> Ranges:
        """The characters that begin with some bytes and can be read after a text."""
        following = characters_beginning_with(members)
        if not following or max(members) < 0x80:
            return following
        runner = self._runners[-1]
        edges = character_edges(runner.step, runner.run(text), runner.classes)
        return intersection(
            following, normalized([bounds for pieces, _ in edges for bounds in pieces])
        )

    def _choice(self, text: bytes, byte: int) -> _Choice:
        for runner in self._runners:
            # compared in pairs: of the thousands in an ambiguous grammar only the shallowest
            candidates = set(_transitions(runner, text, byte))
            transitions = sorted(nsmallest(_MAX_TRANSITIONS, candidates, _Transition.depth))
            called = frozenset(self._runners[-1].network.names)
            names = _ChoiceText(runner.network, self._spans, called, self._added)
            if (choice := names.choice(transitions)) is not None:
                return choice
        return "be read in two ways", ()


def added_rules(tree: GrammarTree) -> dict[str, str]:
    """The rules that a parser has added, for large counts, each with the text that it replaces."""
    text = tree.source.text
    return {
        rule.name: text[rule.span.start : rule.span.end]
        for rule in tree.rules
        if not rule.is_written
    }


def _transitions(runner: Runner, text: bytes, byte: int) -> Iterator[_Transition]:
    """All transitions on a byte after a text; none if the text exceeds the runner's limits."""
    try:
        situation = runner.run(text)
    except LimitError:
        return
    if situation == DEAD:
        return
    byte_class = int(runner.classes[byte])
    for state, node in runner.configurations(situation):
        stack = runner.stack(node)
        for target, pushed in runner.network.moves(state, byte_class):
            yield _Transition((*stack, state), (*stack, *pushed, target))


@dataclass(frozen=True, slots=True)
class _ChoiceText:
    """Describes the clearest two of several transitions."""

    network: Network
    spans: Mapping[str, Span]
    #: The rules the engine's network calls; the others are inlined, and beginning one is no choice.
    called: frozenset[str]
    #: The text that each rule that a parser has added replaces.
    added: Mapping[str, str]

    def choice(self, transitions: Sequence[_Transition]) -> _Choice | None:
        """The two alternatives and their rules; None if there are fewer than two transitions."""
        calls = {transition: self._calls(transition) for transition in transitions}
        pairs = [
            (first, other)
            for first in transitions
            for other in transitions
            if first.after != other.after
        ]
        apart = [(first, other) for first, other in pairs if calls[first] != calls[other]]
        pairs = apart or pairs
        texts = {
            self._rule(state)
            for pair in pairs
            for transition in pair
            for state in transition.after[-1:]
        }
        if len(texts) == 1 and (text := next(iter(texts))) in self.added.values():
            return f"be read in two places of {text!r}", (text,)
        for first, other in pairs:
            if first.before[: len(other.before)] == other.before != first.before:
                return self._after_a_rule(first, other)
        for first, other in pairs:
            if first.before == other.before:
                return self._from_one_stack(first, other)
        return self._elsewhere(*pairs[0]) if pairs else None

    def _calls(self, transition: _Transition) -> list[str]:
        """The rules of a transition that the engine's network calls as well."""
        names = (self.network.names[int(self.network.owner[state])] for state in transition.after)
        return [name for name in names if name in self.called]

    def _after_a_rule(self, inner: _Transition, outer: _Transition) -> _Choice:
        ended = self._rule(inner.before[len(outer.before)])
        around = self._rule(outer.before[-1])
        if ended == around:
            return f"belong to {ended!r} or to the {around!r} around it", (ended,)
        return f"belong to {ended!r} or come after it in {around!r}", (ended, around)

    def _from_one_stack(self, first: _Transition, other: _Transition) -> _Choice:
        index = _first_difference(first.after, other.after)
        rules = [self._rule(transition.after[index]) for transition in (first, other)]
        if rules[0] != rules[1]:
            earlier, later = sorted(rules, key=self._order)
            return f"begin {earlier!r} or {later!r}", (earlier, later)
        around = rules[0]
        begun = [
            self._rule(transition.after[index + 1])
            for transition in (first, other)
            if len(transition.after) > index + 1
        ]
        if len(begun) == 2 and begun[0] == begun[1]:
            return f"begin {begun[0]!r} in two places of {around!r}", (begun[0], around)
        if len(begun) == 2:
            earlier, later = sorted(begun, key=self._order)
            return f"begin {earlier!r} or {later!r}", (earlier, later)
        inner = begun[0] if begun else around
        if inner == around:
            return f"begin an inner {inner!r} or be read by the {around!r} around it", (inner,)
        return f"begin {inner!r} or be read by {around!r} itself", (inner, around)

    def _elsewhere(self, first: _Transition, other: _Transition) -> _Choice:
        index = _first_difference(first.after, other.after)
        names = [self._rule(transition.after[index]) for transition in (first, other)]
        if names[0] == names[1]:
            names = [
                self._rule(transition.after[min(index + 1, len(transition.after) - 1)])
                for transition in (first, other)
            ]
        earlier, later = sorted(names, key=self._order)
        if earlier == later:
            return f"be read in two places of {earlier!r}", (earlier,)
        return f"be read by {earlier!r} or {later!r}", (earlier, later)

    def _rule(self, state: State) -> str:
        name = self.network.names[int(self.network.owner[state])]
        return self.added.get(name, name)

    def _order(self, name: str) -> tuple[int, str]:
        """Rules in the order they are written."""
        return (self.spans[name].start if name in self.spans else 0), name


def _first_difference(first: Sequence[State], other: Sequence[State]) -> int:
    """The first index at which two lists of states differ."""
    return next(
        (i for i, (left, right) in enumerate(zip(first, other, strict=False)) if left != right),
        min(len(first), len(other)) - 1,
    )


def characters_beginning_with(members: Sequence[int]) -> Ranges:
    """The characters that begin with some bytes; none if one of the bytes begins no character."""
    ranges: list[tuple[int, int]] = []
    for byte in members:
        if byte < 0x80:
            ranges.append((byte, byte))
            continue
        bits = next((bits for low, high, bits in _LEADS if low <= byte <= high), None)
        if bits is None:
            return ()
        base = (byte & (0x1F if bits == 6 else 0x0F if bits == 12 else 0x07)) << bits
        least = 0x800 if byte == 0xE0 else 0x10000 if byte == 0xF0 else base
        ranges.append((max(base, least), min(base + (1 << bits) - 1, 0x10FFFF)))
    return normalized(ranges)


def quoted_end(text: bytes) -> str:
    """A text in quotes; a long one is cut on the left, because its end is what matters."""
    decoded = text.decode("utf-8", "backslashreplace")
    is_short = len(decoded) <= _MAX_EXAMPLE_CHARACTERS
    return repr(decoded if is_short else "…" + decoded[-_MAX_EXAMPLE_CHARACTERS:])


def _characters_text(following: Ranges, members: Sequence[int]) -> str:
    if not following:
        return "a byte " + (f"{members[0]:#04x}" if len(members) == 1 else "inside a character")
    if following[0][0] == following[-1][1]:
        return repr(chr(following[0][0]))
    return describe(following)


#: The most conflicts reported; an author fixes one at a time.
_MAX_CONFLICTS = 10

#: The most sites described; several may have the same description.
_MAX_DESCRIBED_SITES = 60

HINT = (
    "the engine follows both; a deterministic grammar would let them begin with different "
    "characters, or mark where the first one ends"
)


@dataclass(frozen=True, slots=True)
class Conflict:
    """A point where one character can be read in two ways.

    ``message`` is a whole sentence: after ``example``, ``next`` can do one thing or another.
    """

    message: str
    #: A shortest text after which the network is not deterministic.
    example: str
    #: The example as bytes: it may end inside a character.
    text: bytes
    #: The characters that can be read in two ways; bytes if the text ends inside a character.
    next: Ranges
    #: The first bytes of these characters.
    bytes: tuple[int, ...]
    #: The rules the two alternatives belong to, and the spans of their names.
    rules: tuple[str, ...]
    spans: tuple[Span, ...]
    hint: str = HINT


@dataclass(frozen=True, slots=True)
class ConflictSite:
    """A text and the bytes that can be read in two ways after it."""

    text: bytes
    #: The bytes by byte class; in each class the most readable byte first.
    columns: tuple[tuple[int, ...], ...]


def conflicts(
    network: Network,
    written: Callable[[], Network] | None = None,
    tree: GrammarTree | None = None,
    limits: Limits = LIMITS,
) -> tuple[Conflict, ...]:
    """The conflicts of a network, shortest examples first, at most ten.

    ``written`` returns the network of separate rules (``rule_network``), whose names the
    messages use; it is called only if there is a conflict. Conflicts with equal choices are
    reported once. If the time runs out, those found until then are reported.

    Source: Koo et al. 2024, §3.1 ("detects non-deterministic grammars and signals an
            error"); this engine follows both alternatives, so a conflict is only advice.
    """
    by_choice: dict[str, Conflict] = {}
    try:
        if not (sites := conflict_sites(network, limits)):
            return ()
        describer = ConflictDescriber([written() if written else network, network], tree, limits)
        for site in sites[:_MAX_DESCRIBED_SITES]:
            for text in describer.texts(site.text, site.columns):
                by_choice.setdefault(text.choice, _conflict(site.text, text))
            if len(by_choice) >= _MAX_CONFLICTS:
                break
    except LimitError:
        pass  # out of time: the conflicts found until then are reported
    return tuple(by_choice.values())[:_MAX_CONFLICTS]


def _conflict(text: bytes, described: ConflictText) -> Conflict:
    return Conflict(
        message=described.message,
        example=text.decode("utf-8", "backslashreplace"),
        text=text,
        next=described.next,
        bytes=described.bytes,
        rules=described.rules,
        spans=described.spans,
    )


def conflict_sites(network: Network, limits: Limits = LIMITS) -> list[ConflictSite]:
    """All points where a byte has two transitions, each with a shortest text that leads there.

    A point is a state with the return states below it that are reached when rules end. There is
    a conflict if the same byte begins two calls, or a call and an edge of the state, or an
    edge of the state and what follows its rule. Without any, the network is deterministic.

    Raises: LimitError past ``limits.seconds``.
    Cost: about the edges of the network, once for every chain of rules that can end together.
    """
    if len(network.names) == 1 and not any(network.calling):
        return []
    shortest = Shortest(network, limits)
    sites = dict.fromkeys(_sites(network, shortest))
    return sorted(sites, key=lambda site: (rank(site.text), site.columns))


def _sites(network: Network, shortest: Shortest) -> Iterator[ConflictSite]:
    moves: dict[State, dict[int, list[Move]]] = {}
    for state in _states_between_bytes(network, shortest):
        shortest.clock.check()
        moves[state] = _moves(network, shortest, state)
    for state, by_column in moves.items():
        shortest.clock.check()
        before = shortest.to(state)
        if before is None:
            continue
        columns = [
            c
            for c, column_moves in by_column.items()
            if len(_settled_moves(network, column_moves, ())) > 1
        ]
        if columns:
            yield _site(shortest, before, columns)
        if not network.finals[state] or not by_column or state not in shortest.arrived:
            continue
        for back in shortest.ways_back(int(network.owner[state])):
            return_state = back.chain[-1]
            if back.chain[0] == state and network.stars[state]:
                continue  # the runner never pushes such a state onto itself
            theirs = moves.get(return_state) or {}
            columns = [
                column
                for column, column_moves in by_column.items()
                if column in theirs
                and len(
                    _settled_moves(network, column_moves, back.chain[::-1])
                    | _settled_moves(network, theirs[column], ())
                )
                > 1
            ]
            if columns:
                outer = shortest.before[int(network.owner[return_state])]
                yield _site(shortest, outer + back.text + shortest.arrived[state], columns)


def _states_between_bytes(network: Network, shortest: Shortest) -> list[State]:
    """The states a network can be in between two bytes."""
    return sorted({network.initial, *shortest.arrived})


def _moves(network: Network, shortest: Shortest, state: State) -> dict[int, list[Move]]:
    """The moves from a state, by column."""
    by_column: dict[int, list[Move]] = {}
    for inner, pushed in network.openings(state):
        for column, target in shortest.edges(inner):
            by_column.setdefault(column, []).append((target, pushed))
    return by_column


def _settled_moves(network: Network, moves: Sequence[Move], below: tuple[State, ...]) -> set[Move]:
    """Moves as the runner keeps them, above the same stack: finished rules are popped."""
    return {_settle(network, target, (*below, *pushed)) for target, pushed in moves}


def _settle(network: Network, target: State, stack: tuple[State, ...]) -> Move:
    kept: list[State] = []
    for symbol in stack:
        if not (kept and kept[-1] == symbol and network.stars[symbol]):
            kept.append(symbol)
    while kept and (
        (network.finals[target] and not network.goes_on[target])
        or (network.stars[target] and target == kept[-1])
    ):
        target = kept.pop()
    return target, tuple(kept)


def _site(shortest: Shortest, text: bytes, columns: Sequence[int]) -> ConflictSite:
    return ConflictSite(
        text, tuple(members for c, members in shortest.columns.items() if c in columns)
    )
