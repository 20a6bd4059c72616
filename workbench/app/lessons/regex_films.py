"""Films of the position automaton of a regex, and of the regex of an automaton."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from workbench.app.lessons.construction_films import characters_of, set_name
from workbench.app.lessons.lesson import Film, Frame, LessonError, Row, View
from workbench.automata.regex_program import simple_repeat
from workbench.automata.to_regex import StateElimination, TooLongError
from workbench.base.dfa import Dfa
from workbench.base.errors import LimitError
from workbench.base.limits import LIMITS
from workbench.base.visible_text import count_of, shorten, visible
from workbench.drawing.graph import Edge, Graph, Node
from workbench.drawing.machines import character_label
from workbench.grammar.export.terminals import AFTER, BEFORE, eliminating
from workbench.syntax.ranges import Ranges
from workbench.syntax.regex.printer import pattern
from workbench.syntax.regex.tree import Alternate, Characters, Concat, Group, Regex, Repeat

#: The most characters of a regex in the film of the elimination.
MAX_PATTERN = 20_000

#: The most characters of a regex that are shown.
_MAX_SHOWN = 300


# -- positions ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ends:
    """Of a part of a regex: whether it matches the empty text, its first and its last positions."""

    empty: bool
    first: tuple[int, ...]
    last: tuple[int, ...]


class Positions:
    """The occurrences of characters in a regex, with those that may follow each other.

    Position 0 is the beginning. Each copy of a counted repetition has separate positions.

    Raises: LessonError for parts that are not built of characters, such as extensions;
            LimitError above ``most`` positions.
    Source: Glushkov 1961, "The abstract theory of automata"; McNaughton & Yamada 1960.
    """

    def __init__(self, regex: Regex, most: int) -> None:
        self.most = most
        #: The characters of each position, from position 1.
        self.letters: list[Ranges] = []
        self.follow: dict[int, list[int]] = {}
        self.whole = self._ends(regex)

    @property
    def finals(self) -> frozenset[int]:
        """The positions at which a text may end; 0 if that is the empty text."""
        return frozenset(self.whole.last) | (frozenset({0}) if self.whole.empty else frozenset())

    def _ends(self, regex: Regex) -> Ends:
        match regex:
            case Characters(ranges):
                return self._position(ranges) if ranges else Ends(False, (), ())
            case Group(part):
                return self._ends(part)
            case Concat(parts):
                return self._row(parts)
            case Alternate(options):
                ends = [self._ends(option) for option in options]
                return Ends(
                    any(one.empty for one in ends),
                    tuple(p for one in ends for p in one.first),
                    tuple(p for one in ends for p in one.last),
                )
            case Repeat():
                return self._repeated(*simple_repeat(regex))
            case _:
                raise LessonError(
                    "expected characters, groups, alternatives and repetitions alone",
                    "other parts of a regex have special automata; see the next construction",
                )

    def _position(self, letters: Ranges) -> Ends:
        if len(self.letters) == self.most:
            raise LimitError(
                f"the regex has more positions than the film shows, at most {self.most}",
                "states",
                "choose a smaller part of the grammar",
            )
        self.letters.append(letters)
        new = len(self.letters)
        return Ends(False, (new,), (new,))

    def _row(self, parts: Iterable[Regex]) -> Ends:
        ends = Ends(True, (), ())
        for part in parts:
            ends = self._joined(ends, self._ends(part))
        return ends

    def _joined(self, left: Ends, right: Ends) -> Ends:
        for position in left.last:
            known = self.follow.setdefault(position, [])
            known += [one for one in right.first if one not in known]
        return Ends(
            left.empty and right.empty,
            (*left.first, *right.first) if left.empty else left.first,
            (*left.last, *right.last) if right.empty else right.last,
        )

    def _repeated(self, part: Regex, low: int, high: int | None) -> Ends:
        if high == 0:
            return Ends(True, (), ())
        ends = Ends(True, (), ())
        for copy in range(max(1, low) if high is None else high):
            one = self._ends(part)
            if high is None and copy == max(1, low) - 1:
                self._joined(one, one)  # the last copy repeats
            ends = self._joined(ends, one if copy < low else replace(one, empty=True))
        return ends


def position_film(regex: Regex, name: str, most: int) -> Film:
    """The position automaton of a regex: a state for each occurrence of a character, no ε-edges."""
    positions = Positions(regex, most)
    reads = dict(enumerate(map(character_label, positions.letters), start=1))
    ends = {0: list(positions.whole.first), **dict(sorted(positions.follow.items()))}
    graph = _position_graph(positions, reads, ends, name)
    nodes = frozenset(node.id for node in graph.nodes)
    row = Row("positions", tuple(f"{number} {label}" for number, label in reads.items()))
    say = "Every character or class of the regex is a position. Each is a state; 0 is the start."
    frames = [Frame(say, (View((), (), nodes, frozenset()),), (row,))]
    shown = set[int]()
    for source, targets in ends.items():
        if not targets:
            continue
        new = tuple(n for n, edge in enumerate(graph.edges) if edge.source == str(source))
        shown.update(new)
        may = "A text may begin at" if source == 0 else f"After position {source} may follow"
        say = f"{may} {set_name(targets)}: an edge to each, with the characters of its target."
        view = View((str(source),), new, nodes, frozenset(shown))
        frames.append(Frame(say, (view,), (replace(row, now=source - 1),)))
    finals = positions.finals
    empty = " The empty text is accepted, so 0 is one of them." if 0 in finals else ""
    say = f"A text may end at {set_name(finals)}: these states are final.{empty}"
    if not finals:
        say = "No state is final: no text is accepted."
    frames.append(Frame(say, (View(tuple(map(str, sorted(finals)))),), (row,)))
    return Film((graph,), tuple(frames))


def _position_graph(
    positions: Positions, reads: Mapping[int, str], ends: Mapping[int, Iterable[int]], name: str
) -> Graph:
    nodes = tuple(
        Node(
            str(state),
            str(state),
            ("initial",) * (state == 0) + ("final",) * (state in positions.finals),
            f"position {state}: {reads[state]}" if state else "the start",
        )
        for state in range(len(positions.letters) + 1)
    )
    edges = tuple(
        Edge(str(source), str(target), (reads[target],))
        for source, targets in ends.items()
        for target in targets
    )
    return Graph(name, nodes, edges)


# -- state elimination ------------------------------------------------------------------------

#: The edges between the states that are left, each with its regex.
Labelled = dict[tuple[int, int], Regex]


def elimination_film(dfa: Dfa) -> Film:
    """A deterministic automaton whose states are eliminated, until one edge has the regex.

    Each frame shows one picture: the states that are left, and their edges with regexes.
    """
    machine = characters_of(dfa)
    frames: list[Frame] = []
    graphs: list[Graph] = []
    last: int | None = None
    before: Labelled = {}
    say = (
        "A new initial state and a new final state are joined by ε-edges. No edge enters the"
        " first one or leaves the last one."
    )
    try:
        elimination = eliminating(machine, MAX_PATTERN)
    except TooLongError:
        raise LessonError(
            f"an edge of this machine needs more than {MAX_PATTERN:,} characters as a regex"
        ) from None
    try:
        for state in elimination.order(BEFORE, AFTER, LIMITS.clock()):
            edges = dict(elimination.edges)
            graphs.append(_labelled_graph(edges))
            frames.append(_after_frame(say, len(graphs) - 1, before, edges, graphs[-1]))
            frames.append(_chosen_frame(elimination, state, len(graphs) - 1, edges, graphs[-1]))
            last, before = state, edges
            say = _without(last, edges)
        edges = dict(elimination.edges)
    except TooLongError:
        say = (
            f"The film ends here: a regex would have more than {MAX_PATTERN:,} characters, its"
            " limit."
        )
        return Film(tuple(graphs), (*frames, Frame(say, frames[-1].views, only=len(graphs) - 1)))
    graphs.append(_labelled_graph(edges))
    frames.append(_after_frame(say, len(graphs) - 1, before, edges, graphs[-1]))
    result = edges.get((BEFORE, AFTER))
    whole = "∅" if result is None else _whole(result)
    say = "One edge is left; its label is the regex of the whole machine."
    row = Row("regex", (whole,), 0)
    frames.append(Frame(say, (View(arcs=(0,) * bool(edges)),), (row,), only=len(graphs) - 1))
    return Film(tuple(graphs), tuple(frames))


def _state_id(state: int) -> str:
    return {BEFORE: "begin", AFTER: "end"}.get(state, str(state))


def _label(regex: Regex) -> str:
    """A regex in a picture; a class is named as in the other pictures."""
    if isinstance(regex, Characters) and regex.ranges:
        return character_label(regex.ranges)
    return _whole(regex)


def _whole(regex: Regex) -> str:
    return shorten(visible(pattern(regex)), _MAX_SHOWN) or "ε"


def _labelled_graph(edges: Labelled) -> Graph:
    states = sorted({state for ends in edges for state in ends} | {BEFORE, AFTER})
    nodes = tuple(
        Node(
            _state_id(state),
            "" if state in (BEFORE, AFTER) else str(state),
            ("initial",) * (state == BEFORE) + ("final",) * (state == AFTER),
            {BEFORE: "the new initial state", AFTER: "the new final state"}.get(
                state, f"state {state}"
            ),
        )
        for state in states
    )
    made = tuple(
        Edge(
            _state_id(source),
            _state_id(target),
            (_label(regex),),
            ("epsilon",) * (_label(regex) == "ε"),
            title=_whole(regex),
        )
        for (source, target), regex in edges.items()
    )
    return Graph("edges with regexes", nodes, made)


def _without(state: int, before: Labelled) -> str:
    entering = sum(target == state != source for source, target in before)
    leaving = sum(source == state != target for source, target in before)
    paths = entering * leaving
    through = "The path through it becomes an edge"
    if paths != 1:
        through = f"Each of the {paths} paths through it becomes an edge"
    return (
        f"State {state} is removed. {through}; where there was one already, the two regexes are"
        " joined by |."
    )


def _after_frame(say: str, only: int, before: Labelled, edges: Labelled, graph: Graph) -> Frame:
    """A frame with the edges that are new or have another regex."""
    new = [ends for ends, regex in edges.items() if before and before.get(ends) != regex]
    arcs = tuple(number for number, ends in enumerate(edges) if ends in new)
    chips = tuple(
        f"{_name(source)} → {_name(target)}: {_label(edges[source, target])}"
        for source, target in new
    )
    rows = (Row("new edges", chips),) * bool(before)
    return Frame(say, (View(arcs=arcs),), rows, only=only)


def _name(state: int) -> str:
    return {BEFORE: "start", AFTER: "end"}.get(state, str(state))


def _chosen_frame(
    elimination: StateElimination[int], state: int, only: int, edges: Labelled, graph: Graph
) -> Frame:
    """The state that is eliminated next, with its edges."""
    arcs = tuple(number for number, ends in enumerate(edges) if state in ends)
    loop = edges.get((state, state))
    around = "" if loop is None else f", with any number of {_label(loop)} between"
    entering = sum(target == state != source for source, target in edges)
    leaving = sum(source == state != target for source, target in edges)
    say = (
        f"State {state} is next, because the regexes grow least without it:"
        f" {count_of(entering, 'edge')} in, {count_of(leaving, 'edge')} out{around}."
    )
    left = sorted({s for ends in edges for s in ends} - {BEFORE, AFTER})
    row = Row("states left", tuple(map(str, left)), left.index(state))
    return Frame(say, (View((str(state),), arcs),), (row,), only=only)
