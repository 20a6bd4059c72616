"""The constructions of any grammar as films; those of a regex and of state elimination.

Lessons show them on examples, the page on the grammar in its editor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from workbench.app.lessons.composition_films import composition_film, few_tokens
from workbench.app.lessons.construction_films import (
    CharacterNfa,
    characters_of,
    deterministic,
    minimisation_film,
    set_name,
    subset_film,
)
from workbench.app.lessons.lesson import Film, Frame, Given, LessonError, Row, View
from workbench.app.lessons.lesson_world import World
from workbench.app.lessons.stack_films import construction_film
from workbench.automata.code_points import CharacterFsa
from workbench.automata.nfa import Nfa
from workbench.automata.regex_program import simple_repeat
from workbench.automata.thompson import thompson
from workbench.automata.to_regex import StateElimination, TooLongError
from workbench.base.dfa import Dfa
from workbench.base.errors import LimitError, WorkbenchError
from workbench.base.limits import LIMITS
from workbench.base.source import Source
from workbench.base.visible_text import count_of, shorten, visible
from workbench.drawing.graph import Edge, Graph, Node, state_kinds
from workbench.drawing.machines import character_label
from workbench.grammar.export.regular import write_regex
from workbench.grammar.export.terminals import AFTER, BEFORE, eliminating
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.pushdown.network import Network
from workbench.syntax.machine_text import read_machine
from workbench.syntax.ranges import Ranges
from workbench.syntax.regex.parser import parse_regex
from workbench.syntax.regex.printer import pattern
from workbench.syntax.regex.tree import Alternate, Characters, Concat, Group, Regex, Repeat, walk
from workbench.vocabulary.vocabulary import Vocabulary

#: The most characters of a regex in the film of the elimination.
MAX_PATTERN = 20_000

#: The most states of an automaton over bytes whose rules are written as a regex: above,
#: elimination takes seconds.
_MAX_WRITTEN = 400

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
                    any(part.empty for part in ends),
                    tuple(p for part in ends for p in part.first),
                    tuple(p for part in ends for p in part.last),
                )
            case Repeat():
                return self._repeat(*simple_repeat(regex))
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
            ends = self._join(ends, self._ends(part))
        return ends

    def _join(self, left: Ends, right: Ends) -> Ends:
        for position in left.last:
            followers = self.follow.setdefault(position, [])
            followers += [follower for follower in right.first if follower not in followers]
        return Ends(
            left.empty and right.empty,
            (*left.first, *right.first) if left.empty else left.first,
            (*left.last, *right.last) if right.empty else right.last,
        )

    def _repeat(self, part: Regex, low: int, high: int | None) -> Ends:
        if high == 0:
            return Ends(True, (), ())
        ends = Ends(True, (), ())
        for copy in range(max(1, low) if high is None else high):
            copy_ends = self._ends(part)
            if high is None and copy == max(1, low) - 1:
                self._join(copy_ends, copy_ends)  # the last copy repeats
            ends = self._join(ends, copy_ends if copy < low else replace(copy_ends, empty=True))
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
            state_kinds(initial=state == 0, final=state in positions.finals),
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
    arcs = (0,) if edges else ()
    frames.append(Frame(say, (View(arcs=arcs),), (row,), only=len(graphs) - 1))
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
            state_kinds(initial=state == BEFORE, final=state == AFTER),
            {BEFORE: "the new initial state", AFTER: "the new final state"}.get(
                state, f"state {state}"
            ),
        )
        for state in states
    )
    graph_edges = tuple(
        Edge(
            _state_id(source),
            _state_id(target),
            (_label(regex),),
            ("epsilon",) if _label(regex) == "ε" else (),
            title=_whole(regex),
        )
        for (source, target), regex in edges.items()
    )
    return Graph("edges with regexes", nodes, graph_edges)


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
        f"{_state_name(source)} → {_state_name(target)}: {_label(edges[source, target])}"
        for source, target in new
    )
    rows = (Row("new edges", chips),) if before else ()
    return Frame(say, (View(arcs=arcs),), rows, only=only)


def _state_name(state: int) -> str:
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
    remaining = sorted({s for ends in edges for s in ends} - {BEFORE, AFTER})
    row = Row("states left", tuple(map(str, remaining)), remaining.index(state))
    return Frame(say, (View((str(state),), arcs),), (row,), only=only)


# -- constructions --------------------------------------------------------------------------------


class Construction(StrEnum):
    """A construction that turns one machine of a grammar into another."""

    POSITIONS = "positions"
    SUBSETS = "subsets"
    MINIMAL = "minimal"
    REGEX = "regex"
    STACK = "stack"
    TOKENS = "tokens"

    @property
    def heading(self) -> str:
        """What is built, and by which construction."""
        return _HEADINGS[self]

    @property
    def most(self) -> int:
        """The most states of the machine that the film begins with."""
        return _MAX_STATES[self]


_HEADINGS = {
    Construction.POSITIONS: "Regex → NFA: positions",
    Construction.SUBSETS: "NFA → DFA: subset construction",
    Construction.MINIMAL: "DFA → minimal DFA: partition refinement",
    Construction.REGEX: "DFA → regex: state elimination",
    Construction.STACK: "Rules → push-down automaton",
    Construction.TOKENS: "Characters → tokens: composition with a vocabulary",
}

_MAX_STATES = {
    Construction.POSITIONS: 30,
    Construction.SUBSETS: 60,
    Construction.MINIMAL: 40,
    Construction.REGEX: 24,
    Construction.STACK: 80,
    Construction.TOKENS: 24,
}


#: The most states of a machine over bytes whose states between characters are counted.
_MAX_FOLDED = 2_000


def missing_construction(grammar: Grammar, construction: Construction) -> str:
    """Why a grammar has no such construction; empty if it has one."""
    if construction is Construction.STACK:
        return "a regular language needs no stack" if grammar.is_regular else ""
    return "" if grammar.is_regular else "rules that call themselves need a stack"


def obstacle(grammar: Grammar, construction: Construction) -> str:
    """Why a grammar has no film of a construction: none exists, or its machine is too large.

    Empty where there is one.
    """
    if why := missing_construction(grammar, construction):
        return why
    try:
        _BEGINNINGS[construction](grammar)
    except WorkbenchError as error:
        return error.message
    return ""


def construct(
    grammar: Grammar, construction: Construction, vocabulary: Vocabulary | None = None
) -> Film:
    """The film of a construction; ``vocabulary`` is for the composition.

    Raises: WorkbenchError where the grammar has no such construction; LessonError where it reads
            bytes that are no characters; LimitError for a grammar that is too large for a film.
    """
    if why := missing_construction(grammar, construction):
        raise WorkbenchError(why)
    if construction is Construction.TOKENS:
        if vocabulary is None:
            raise WorkbenchError("expected a vocabulary for a composition")
        dfa = _minimal(grammar, construction)
        few, note = few_tokens(dfa, vocabulary)
        return composition_film(dfa, few, _name(grammar), note)
    return _FILMS[construction](grammar)


def constructed(world: World, given: Given, *, construction: str) -> Film:
    """A construction of a lesson's world, by its name.

    Raises: LessonError for an unknown name; as ``construct``.
    """
    if construction not in list(Construction):
        raise LessonError(f"expected one of {', '.join(Construction)}, not {construction!r}")
    vocabulary = world.vocabulary if world.tokens else None
    return construct(world.grammar, Construction(construction), vocabulary)


def _name(grammar: Grammar) -> str:
    text = grammar.source.text.strip()
    if grammar.notation is Notation.MACHINE:
        return "the machine"
    return f"/{shorten(text, 30)}/" if grammar.regex is not None else grammar.start


def regex_of(grammar: Grammar) -> Regex:
    """The regex of a grammar that needs no stack; of rules, one with the same texts.

    Raises: LimitError if the automaton of the rules is too large for a regex; WorkbenchError if the
            regex would be too long.
    """
    if grammar.regex is not None:
        return grammar.regex
    if grammar.dfa is not None and len(grammar.dfa) > _MAX_WRITTEN:
        raise LimitError(
            f"the automaton of these rules has {len(grammar.dfa):,} states; a film begins with at"
            f" most {_MAX_WRITTEN}",
            "states",
            "choose a smaller part of the grammar",
        )
    return parse_regex(Source(write_regex(grammar), "rules as a regex"))


def nfa_of(grammar: Grammar) -> Nfa:
    """Thompson's automaton of ``regex_of``."""
    return thompson(regex_of(grammar), grammar.limits.begun())


def _all_positions(grammar: Grammar) -> Positions:
    return Positions(regex_of(grammar), Construction.POSITIONS.most)


def _positions(grammar: Grammar) -> Film:
    regex = regex_of(grammar)
    name = f"positions of /{shorten(pattern(regex), 40)}/"
    return position_film(regex, name, Construction.POSITIONS.most)


def character_nfa(grammar: Grammar) -> CharacterNfa:
    """The nondeterministic automaton of a grammar; a drawn one has its author's states.

    Raises: LessonError where it reads bytes that are no characters; WorkbenchError as ``nfa_of``.
    """
    if grammar.notation is Notation.MACHINE:
        return CharacterNfa.drawn(read_machine(grammar.source, grammar.limits.clock()))
    return CharacterNfa.of(nfa_of(grammar), f"{_name(grammar)} with choices")


def _nondeterministic(grammar: Grammar) -> CharacterNfa:
    machine = character_nfa(grammar)
    _check(len(machine.graph.nodes), Construction.SUBSETS)
    return machine


def _deterministic(grammar: Grammar) -> CharacterFsa:
    return deterministic(character_nfa(grammar), Construction.MINIMAL.most)


def _few_rules(grammar: Grammar) -> Network:
    _check(len(grammar.rules), Construction.STACK)
    return grammar.rules


#: What each film begins with; a LimitError where that is too large.
_BEGINNINGS: dict[Construction, Callable[[Grammar], object]] = {
    Construction.POSITIONS: _all_positions,
    Construction.SUBSETS: _nondeterministic,
    Construction.MINIMAL: _deterministic,
    Construction.REGEX: lambda grammar: _minimal(grammar, Construction.REGEX),
    Construction.STACK: _few_rules,
    Construction.TOKENS: lambda grammar: _minimal(grammar, Construction.TOKENS),
}

_FILMS: dict[Construction, Callable[[Grammar], Film]] = {
    Construction.POSITIONS: _positions,
    Construction.SUBSETS: lambda grammar: subset_film(_nondeterministic(grammar)),
    Construction.MINIMAL: lambda grammar: minimisation_film(_deterministic(grammar)),
    Construction.REGEX: lambda grammar: elimination_film(_minimal(grammar, Construction.REGEX)),
    Construction.STACK: lambda grammar: construction_film(_few_rules(grammar)),
}


def _minimal(grammar: Grammar, construction: Construction) -> Dfa:
    dfa = grammar.dfa
    assert dfa is not None, "missing_construction() excludes the others"
    _check_characters(dfa, construction)
    return dfa


def _check_characters(dfa: Dfa, construction: Construction) -> None:
    """Refuse a machine with too many states between two characters."""
    if len(dfa) <= _MAX_FOLDED:
        _check(len(characters_of(dfa).states), construction)
    else:
        _check(len(dfa), construction)


def _check(states: int, construction: Construction) -> None:
    if states > construction.most:
        raise LimitError(
            f"the machine has {states:,} states; the film shows at most {construction.most}",
            "states",
            "choose a smaller part of the grammar",
        )


# -- parts ------------------------------------------------------------------------------------

#: The most parts that are offered.
_MAX_PARTS = 30


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a grammar that is a grammar itself: a rule, or a piece of a regex."""

    #: ``rule:NAME``, or ``piece:FIRST:END`` of the text.
    key: str
    title: str


def parts_of(grammar: Grammar) -> tuple[Part, ...]:
    """The parts of a grammar, the whole left out."""
    if grammar.tree is not None:
        names = dict.fromkeys(rule.name for rule in grammar.tree.rules)
        rules = [Part(f"rule:{name}", name) for name in names if name != grammar.start]
        return tuple(rules[:_MAX_PARTS])
    assert grammar.regex is not None, "a grammar has a regex or a tree"
    return tuple(_pieces(grammar.regex, grammar.source.text))


def _pieces(regex: Regex, text: str) -> Iterator[Part]:
    """The pieces of a regex with several parts, the outer ones first."""
    seen = {text}
    for node in walk(regex):
        if not isinstance(node, Concat | Alternate | Repeat | Group):
            continue
        piece = text[node.span.start : node.span.end]
        if len(piece) > 2 and piece not in seen and len(seen) <= _MAX_PARTS:
            seen.add(piece)
            yield Part(f"piece:{node.span.start}:{node.span.end}", shorten(piece, 40))


def part_of(grammar: Grammar, key: str) -> Grammar:
    """A part by its key; an empty key is the whole grammar.

    Raises: LessonError for an unknown key; ParseError where a piece cannot be read alone.
    """
    if not key:
        return grammar
    if key not in {part.key for part in parts_of(grammar)}:
        raise LessonError("expected a part of the grammar")
    kind, _, rest = key.partition(":")
    if kind == "rule":
        return grammar.with_tree(grammar.tree, rest) if grammar.tree is not None else grammar
    first, _, end = rest.partition(":")
    return Grammar.from_regex(grammar.source.text[int(first) : int(end)], limits=grammar.limits)
