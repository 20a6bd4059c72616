"""Terminals as regexes, automata or expressions of another notation.

Bytes that are part of no character are left out: a notation over characters describes texts only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from workbench.automata import graphs
from workbench.automata.code_points import CharacterFsa, fold
from workbench.automata.to_regex import EMPTY, StateElimination, TooLongError, one_of, plain, text
from workbench.base.dfa import State
from workbench.base.errors import BuildError, LimitError
from workbench.base.limits import LIMITS, Limits
from workbench.base.source import Source, Span
from workbench.pushdown.cfg import excepted_strings, terminal_machine
from workbench.syntax.grammar_printer import Leaf
from workbench.syntax.grammar_tree import (
    Automaton,
    Choice,
    Except,
    Expression,
    Literal,
    Nonterminal,
    Pattern,
    Repetition,
    Sequence,
    Stop,
    shape,
)
from workbench.syntax.ranges import Ranges
from workbench.syntax.regex.extensions import labels_in
from workbench.syntax.regex.printer import pattern
from workbench.syntax.regex.reader import Dialect
from workbench.syntax.regex.tree import Alternate, Characters, Concat, Regex, Repeat


def spelled(regex: Regex, span: Span) -> Expression:
    """A regex made by ``automata.to_regex`` as an expression, character by character."""
    match regex:
        case Characters() if _letter(regex):
            return Literal(_letter(regex).encode(), span)
        case Concat(parts):
            items = tuple(_items(parts, span))
            return items[0] if len(items) == 1 else Sequence(items, span)
        case Alternate(options):
            return Choice(tuple(spelled(option, span) for option in options), span)
        case Repeat(part, low, high):
            return Repetition(spelled(part, span), low, high, span)
        case _:
            return terminal(regex, span)


def terminal(regex: Regex, span: Span, dialect: Dialect | None = None) -> Pattern:
    """A regex as one terminal, printed in a dialect or in the syntax common to all dialects."""
    return Pattern(regex, Stop.ANYWHERE, pattern(regex, dialect), span)


def _items(parts: tuple[Regex, ...], span: Span) -> list[Expression]:
    """The parts of a concatenation; adjacent letters become one literal."""
    items: list[Expression] = []
    letters = ""
    for part in (*parts, EMPTY):
        if letter := _letter(part):
            letters += letter
            continue
        if letters:
            items.append(Literal(letters.encode(), span))
            letters = ""
        if part != EMPTY:
            items.append(spelled(part, span))
    return items


def _letter(regex: Regex) -> str:
    """The only character of a set, or an empty string."""
    if not isinstance(regex, Characters) or len(regex.ranges) != 1:
        return ""
    ((low, high),) = regex.ranges
    return chr(low) if low == high else ""


#: Additional initial and final states.
BEFORE, AFTER = -1, -2
#: Automata with more states between characters are not converted to a regex.
_MAX_STATES = 1_000


def machine_regex(folded: CharacterFsa, most: int, limits: Limits = LIMITS) -> Regex | None:
    """The texts of a machine as a regex of at most ``most`` characters, or None.

    Raises: LimitError past ``limits.seconds``.
    """
    if len(folded.states) > _MAX_STATES:
        return None
    try:
        return eliminating(folded, most).between(BEFORE, AFTER, limits.clock())
    except TooLongError:
        return None


def eliminating(folded: CharacterFsa, most: int) -> StateElimination[State]:
    """A machine with all its states, and an initial and a final state that are never eliminated.

    Raises: TooLongError if the pattern of an edge has more than ``most`` characters.
    """
    edges: list[tuple[State, Regex, State]] = [(BEFORE, EMPTY, folded.initial)]
    edges += [
        (source, one_of(ranges), target) for source, ranges, target in _coaccessible_edges(folded)
    ]
    edges += [(state, EMPTY, AFTER) for state in folded.finals]
    return StateElimination(edges, most)


def machine_rules(
    folded: CharacterFsa,
    names: Iterator[str],
    span: Span,
    of_character: Callable[[Ranges, Span], Expression] = lambda ranges, span: spelled(
        one_of(ranges), span
    ),
) -> tuple[tuple[str, Expression], ...]:
    """The texts of a machine as right-linear rules, one per state.

    The first rule is that of the initial state. ``names`` yields the rule names,
    ``of_character`` the expression for one character of a set. A state with one edge in and one
    edge out is inlined.
    The result is empty if the machine accepts no text.

    Cost: linear in the edges over characters.
    """
    edges: dict[State, list[tuple[Ranges, State]]] = {}
    entries: dict[State, int] = {folded.initial: 2}
    for source, ranges, target in _coaccessible_edges(folded):
        edges.setdefault(source, []).append((ranges, target))
        if source != target:
            entries[target] = entries.get(target, 0) + 1
    if folded.initial not in edges and folded.initial not in folded.finals:
        return ()
    rules = _Rules(folded, edges, entries, names, lambda ranges: of_character(ranges, span), span)
    return tuple((rules.name(state), rules.body(state)) for state in rules.called())


class _Rules:
    """Builds the rules of the states of a machine."""

    def __init__(
        self,
        folded: CharacterFsa,
        edges: dict[State, list[tuple[Ranges, State]]],
        entries: dict[State, int],
        names: Iterator[str],
        of_character: Callable[[Ranges], Expression],
        span: Span,
    ) -> None:
        self._span = span
        self._one = of_character
        self._finals = folded.finals
        self._edges = edges
        self._entries = entries
        self._free = names
        self._names = {folded.initial: next(names)}

    def called(self) -> Iterator[State]:
        """The states with rules, including those that get a name during the iteration."""
        done = 0
        while done < len(self._names):
            yield list(self._names)[done]
            done += 1

    def name(self, state: State) -> str:
        if state not in self._names:
            self._names[state] = next(self._free)
        return self._names[state]

    def body(self, state: State) -> Expression:
        """The texts from a state to a final one."""
        loops = [ranges for ranges, target in self._edges.get(state, ()) if target == state]
        paths = [self._path(*edge) for edge in self._edges.get(state, ()) if edge[1] != state]
        rest: tuple[Expression, ...] = ()
        if paths:
            body = paths[0] if len(paths) == 1 else Choice(tuple(paths), self._span)
            rest = (Repetition(body, 0, 1, self._span) if state in self._finals else body,)
        if loops:
            rest = (Repetition(self._one(loops[0]), 0, None, self._span), *rest)
        return rest[0] if len(rest) == 1 else Sequence(rest, self._span)

    def _path(self, ranges: Ranges, target: State) -> Expression:
        """A character and its continuation, up to the next state with a rule."""
        items = [self._one(ranges)]
        while self._is_inlined(target):
            ((ranges, target),) = self._edges[target]
            items.append(self._one(ranges))
        if target in self._edges:
            items.append(Nonterminal(self.name(target), self._span))
        return items[0] if len(items) == 1 else Sequence(tuple(items), self._span)

    def _is_inlined(self, state: State) -> bool:
        paths = self._edges.get(state, [])
        once = len(paths) == 1 and self._entries[state] == 1
        return once and state not in self._finals and paths[0][1] != state


def _coaccessible_edges(folded: CharacterFsa) -> Iterator[tuple[State, Ranges, State]]:
    """The edges over characters whose target is co-accessible over such edges."""
    pairs = ((source, target) for source, _, target in folded.edges)
    coaccessible = graphs.coreachable(folded.finals, pairs)
    return (edge for edge in folded.edges if edge[2] in coaccessible)


#: The lowest lead byte of a multi-byte character.
_LOWEST_LEAD = 0xC0


@dataclass(frozen=True, slots=True, eq=False)
class Leaves:
    """The terminals of one grammar as regexes and automata over characters; cached."""

    #: The name of the target notation, for messages.
    title: str
    source: Source
    #: The rules by name, including those only ``except!`` names.
    rules: Mapping[str, Expression]
    limits: Limits
    #: Whether regexes of the notation support terminal labels.
    labels: bool
    _folded: dict[object, CharacterFsa] = field(default_factory=dict)

    def regex(self, leaf: Leaf) -> Regex | None:
        """The regex of a terminal as written; None if only an automaton can express it.

        Raises: BuildError for invalid UTF-8, and for labels that cannot be written.
        """
        if isinstance(leaf, Literal):
            return text(self._decode(leaf))
        if not isinstance(leaf, Pattern):
            return None
        regex = plain(leaf.regex) if leaf.stop is Stop.ANYWHERE else None
        label = next(labels_in(leaf.regex), None)
        if label is not None and (regex is None or not self.labels):
            what = f"the label {label[0].name}, which represents one token"
            if self.labels:
                what += ", in addition to parts that only a machine can express"
            raise self.refused(what, leaf.span, "write a regex of the texts you mean")
        return regex

    def folded(self, leaf: Leaf) -> CharacterFsa:
        """The automaton of a terminal over characters; other bytes are in ``raw``."""
        assert not isinstance(leaf, Literal), "a literal has no machine"
        key = id(leaf.machine) if isinstance(leaf, Automaton) else shape(leaf)
        if key not in self._folded:
            machine = terminal_machine(leaf, self.rules, self.source, self.limits)
            self._folded[key] = fold(machine)
        return self._folded[key]

    def is_nullable(self, leaf: Leaf) -> bool:
        """Whether a terminal accepts the empty text."""
        if isinstance(leaf, Literal):
            return not leaf.value
        folded = self.folded(leaf)
        return folded.initial in folded.finals

    def excepted(self, leaf: Except) -> tuple[bytes, ...]:
        return excepted_strings(leaf, self.rules, self.source, self.limits)

    def short(self, leaf: Leaf, most: int) -> Regex | None:
        """The automaton of a terminal as a regex of at most ``most`` characters.

        None if there is none or the time limit is reached: rules can be written instead.
        """
        try:
            return machine_regex(self.folded(leaf), most, self.limits)
        except LimitError:
            return None

    def refused(self, what: str, span: Span, hint: str) -> BuildError:
        """The error for something the notation cannot express."""
        message = f"{self.title} cannot say {what}"
        return BuildError(message, self.source, span, hint, "unsupported_export")

    def _decode(self, leaf: Literal) -> str:
        try:
            return leaf.value.decode()
        except UnicodeDecodeError:
            what = f"the bytes {leaf.value!r}, which are not valid UTF-8"
            raise self.refused(what, leaf.span, "write whole characters") from None


def cuts_characters(folded: CharacterFsa) -> bool:
    """Whether a text of the machine may begin or end inside a character."""
    return bool(folded.raw)


def begins_inside(folded: CharacterFsa) -> bool:
    """Whether a text of the machine may begin with a continuation byte."""
    first = (ranges for state, ranges, _ in folded.raw if state == folded.initial)
    return any(low < _LOWEST_LEAD for ranges in first for low, _ in ranges)
