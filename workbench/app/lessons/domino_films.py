"""Films of DOMINO's scanner and subterminal trees.

The films are Figure 3 (b), (d) and (e); scanner, trees and parser are the engine's.
``drawing.subterminals`` draws whole trees; here every token is a node, so that tokens can be added
one by one.

Source: Beurer-Kellner et al. 2024 (DOMINO), §3.2 to §3.4, Figures 3 and 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from workbench.app.lessons.automaton_films import closure, moved, opens_at, reading
from workbench.app.lessons.construction_films import arcs_between
from workbench.app.lessons.lesson import (
    Film,
    Frame,
    Given,
    LessonError,
    Question,
    Row,
    Table,
    View,
    options_question,
)
from workbench.app.lessons.lesson_world import World, of_class, token_bytes
from workbench.app.lessons.method_films import constrained
from workbench.base.dfa import DEAD
from workbench.base.visible_text import visible
from workbench.constraint.methods.domino.domino import DominoConstraint
from workbench.constraint.methods.domino.scanner import BETWEEN
from workbench.constraint.methods.domino.subterminal_trees import SubterminalTree
from workbench.constraint.protocol import State
from workbench.drawing.graph import Edge, Graph, Node
from workbench.drawing.machines import draw_nfa
from workbench.vocabulary.vocabulary import TokenId


@dataclass(frozen=True, slots=True)
class Piece:
    """A subterminal: a terminal, and whether it contains its beginning and its end."""

    terminal: str
    begins: bool
    ends: bool

    def __str__(self) -> str:
        """In the notation of the lessons: ``[int]`` full, ``[int…`` start, ``…int]`` end."""
        return f"{'[' if self.begins else '…'}{self.terminal}{']' if self.ends else '…'}"


#: One reading of a token: a sequence of subterminals.
Pieces = tuple[Piece, ...]


def domino_of(world: World) -> DominoConstraint:
    """The step's DOMINO constraint with unlimited lookahead."""
    return of_class(DominoConstraint, constrained(world, {"method": "domino"}))


def terminal_name(constraint: DominoConstraint, terminal: int) -> str:
    """A terminal as the grammar writes it; a literal without its quotes."""
    name = constraint.scanner.terminals[terminal].name
    quoted = len(name) > 2 and name[0] == name[-1] and name[0] in "'\""
    return name[1:-1] if quoted else name


def node_pieces(
    constraint: DominoConstraint, tree: SubterminalTree, node: int, partial: bool
) -> Pieces:
    """The subterminals on the path from the root of a tree to a node."""
    path = tree.path(node)
    inside = tree.state != BETWEEN
    return tuple(
        Piece(
            terminal_name(constraint, terminal),
            begins=not (inside and number == 0),
            ends=not (partial and number == len(path) - 1),
        )
        for number, terminal in enumerate(path)
    )


def read_as(
    constraint: DominoConstraint, tree: SubterminalTree
) -> Iterator[tuple[TokenId, Pieces, int]]:
    """Every token of a tree with its reading and its node."""
    for node in range(len(tree)):
        for row in range(int(tree.first[node]), int(tree.first[node + 1])):
            partial = bool(tree.partial[row])
            yield int(tree.tokens[row]), node_pieces(constraint, tree, node, partial), node


def everywhere(world: World) -> dict[TokenId, set[Pieces]]:
    """For each token all its readings at any position of a text."""
    constraint = domino_of(world)
    readings: dict[TokenId, set[Pieces]] = {}
    for state in (BETWEEN, *constraint.scanner.inside):
        tree = constraint.trees.get(state)
        assert tree is not None, "a terminal can continue from each of these states"
        for token_id, pieces, _ in read_as(constraint, tree):
            readings.setdefault(token_id, set()).add(pieces)
    return readings


def written(pieces: Pieces) -> str:
    """A sequence of subterminals without line breaks, for a table's cell."""
    return "\u00a0".join(map(str, pieces))


def pieces(world: World) -> Table:
    """Every token with the sequences of subterminals it can be read as."""
    readings_of, rows = everywhere(world), []
    for token_id, token in enumerate(world.vocabulary.tokens):
        if token is None:
            continue
        readings = sorted(
            readings_of.get(token_id, set()), key=lambda reading: (len(reading), written(reading))
        )
        bridge = "✓" if is_bridge(readings_of, token_id) else "✗"
        rows.append((world.shown(token_id), "  ".join(map(written, readings)) or "∅", bridge))
    return Table("What each token can be read as", ("token", "subterminals", "bridge"), tuple(rows))


def is_bridge(readings_of: dict[TokenId, set[Pieces]], token_id: TokenId) -> bool:
    """Whether a token can only be read over more than one terminal."""
    readings = readings_of.get(token_id, set())
    return bool(readings) and all(len(reading) > 1 for reading in readings)


def bridges(world: World) -> Question:
    """Which tokens are bridge tokens: every reading has more than one subterminal."""
    readings_of = everywhere(world)
    ids = [i for i, token in enumerate(world.vocabulary.tokens) if token is not None]
    right = {number for number, i in enumerate(ids) if is_bridge(readings_of, i)}

    def why(number: int) -> str:
        readings = readings_of.get(ids[number], set())
        shortest = min(readings, key=lambda reading: (len(reading), written(reading)), default=None)
        return f"it can be {written(shortest)}" if shortest else "no text of the grammar has it"

    return options_question(tuple(map(world.shown, ids)), right, why)


_ROOT = "root"


@dataclass(frozen=True, eq=False)
class Planted:
    """The trees of all scanner states after a text, as one graph."""

    constraint: DominoConstraint
    state: State
    graph: Graph
    #: Each reading of a token, with the ids of the nodes from the root to its own.
    readings: tuple[tuple[TokenId, Pieces, tuple[str, ...]], ...]


def planted(world: World, after: str) -> Planted:
    """The trees after a text.

    Raises: LessonError where the grammar cannot read it.
    """
    constraint = domino_of(world)
    state = constraint.readings.after(constraint.initial, token_bytes(after))
    if state is None:
        raise LessonError(f"expected a text the grammar can read, not {after!r}")
    nodes, edges, readings = [Node(_ROOT, "", ("initial",), "the root")], list[Edge](), []
    for scanner_state in dict.fromkeys(inside for inside, _ in constraint.readings[state]):
        tree = constraint.trees.get(scanner_state)
        if tree is None:
            continue
        parents = tree.parent.tolist()
        for node, parent in enumerate(parents):
            node_id, above = (
                f"{scanner_state}-{node}",
                _ROOT if parent < 0 else f"{scanner_state}-{parent}",
            )
            begun = "…" if scanner_state != BETWEEN and parent < 0 else ""
            label = begun + terminal_name(constraint, int(tree.terminal[node]))
            nodes.append(Node(node_id, label, ("call",), label))
            edges.append(Edge(above, node_id))
        for token_id, pieces, node in read_as(constraint, tree):
            leaf = f"{scanner_state}-{node}-{token_id}"
            path, above_it = [leaf], node
            while above_it >= 0:
                path.append(f"{scanner_state}-{above_it}")
                above_it = parents[above_it]
            if leaf not in {n.id for n in nodes}:
                nodes.append(Node(leaf, world.shown(token_id), ("final",), written(pieces)))
                edges.append(Edge(path[1], leaf, (), ("epsilon",)))
            readings.append((token_id, pieces, (_ROOT, *reversed(path))))
    order = sorted(readings, key=lambda reading: (reading[0], len(reading[1])))
    return Planted(
        constraint, state, Graph("subterminal tree", tuple(nodes), tuple(edges)), tuple(order)
    )


def tree(world: World, given: Given, *, after: str) -> Film:
    """Algorithm 2: the readings of each token are added to the tree."""
    trees = planted(world, after)
    shown, drawn = {_ROOT}, set[int]()
    frames = [Frame("The tree is empty.", (View((), (), frozenset(shown), frozenset()),))]
    tokens = dict.fromkeys(token_id for token_id, _, _ in trees.readings)
    for token_id in tokens:
        readings = [(pieces, path) for i, pieces, path in trees.readings if i == token_id]
        new = [arc for _, path in readings for arc in _arcs(trees.graph, path)]
        shown.update(node for _, path in readings for node in path)
        drawn.update(new)
        listed = " or ".join(written(pieces).replace("\u00a0", " ") for pieces, _ in readings)
        say = f"{world.shown(token_id)} is read as {listed}."
        lit = tuple(path[-1] for _, path in readings)
        view = View(lit, tuple(new), frozenset(shown), frozenset(drawn))
        frames.append(Frame(say, (view,), _rows(world, tokens, token_id)))
    lost = [world.shown(i) for i in range(len(world.vocabulary)) if i not in tokens]
    lost = [name for name in lost if name != "end"]
    rest = f"; {', '.join(lost)} cannot be read here at all" if lost else ""
    frames.append(Frame(f"{len(tokens)} tokens are in the tree{rest}.", (View(),)))
    return Film((trees.graph,), tuple(frames))


def _rows(
    world: World, tokens: Sequence[TokenId] | dict[TokenId, None], now: TokenId
) -> tuple[Row, ...]:
    ids = list(tokens)
    return (Row("tokens", tuple(map(world.shown, ids)), ids.index(now)),)


def _arcs(graph: Graph, path: Sequence[str]) -> Iterator[int]:
    for node, other in pairwise(path):
        yield from arcs_between(graph, (node,), (other,))


def pruned(world: World, given: Given, *, after: str) -> Film:
    """Level by level, nodes that the parser refuses are removed; the tokens left are the mask."""
    trees = planted(world, after)
    every = {node.id for node in trees.graph.nodes}
    kept = {_ROOT}
    for read in trees.constraint.readings[trees.state]:
        kept |= {f"{read[0]}-{node}" for node in trees.constraint.allowed_nodes(read)}
    depth = {_ROOT: 0}
    for edge in trees.graph.edges:
        if len(edge.target.split("-")) == 2:
            depth[edge.target] = depth[edge.source] + 1
    alive = kept | {path[-1] for _, _, path in trees.readings if path[-2] in kept}
    frames = [Frame("The tree describes the tokens, not the text before them.", (View(),))]
    deepest = max(depth.values())
    for level in range(1, deepest + 1):
        near = {node for node, its in depth.items() if its <= level}
        dead = _below(trees.graph, {node for node in near if node not in kept})
        within = {
            i: None for i, _, path in trees.readings if path[-1] in alive and path[-2] in near
        }
        lit = tuple(sorted(node for node in near & kept if depth[node] == level))
        say = f"k = {level - 1}: {_level_words(trees, level, depth, kept)}"
        row = Row("mask", tuple(map(world.shown, sorted(within))) or ("∅",))
        frames.append(Frame(say, (View(lit, dead=frozenset(dead)),), (row,)))
    allowed = sorted({i for i, _, path in trees.readings if path[-1] in alive})
    row = Row("mask", tuple(map(world.shown, allowed)) or ("∅",))
    say = f"All levels are tested: the mask has {len(allowed)} of {len(world.words)} tokens."
    frames.append(Frame(say, (View(dead=frozenset(every - alive)),), (row,)))
    return Film((trees.graph,), tuple(frames))


def _below(graph: Graph, roots: set[str]) -> set[str]:
    nodes = set(roots)
    for edge in graph.edges:  # parents precede their children
        if edge.source in nodes:
            nodes.add(edge.target)
    return nodes


def _level_words(trees: Planted, level: int, depth: dict[str, int], kept: set[str]) -> str:
    label = {node.id: node.label for node in trees.graph.nodes}
    above = {edge.target: edge.source for edge in trees.graph.edges}
    asked = [node for node, its in depth.items() if its == level and above[node] in kept]
    good = dict.fromkeys(label[node] for node in asked if node in kept)
    bad = dict.fromkeys(label[node] for node in asked if node not in kept)
    words = f"the parser can continue with {', '.join(good)}" if good else "nothing can continue"
    return f"{words}{', not with ' + ', '.join(bad) if bad else ''}."


def scanner(world: World, given: Given, *, text: str = "") -> Film:
    """The scanner reading a text: all terminals in parallel, and again after each.

    Source: Beurer-Kellner et al. 2024, Figure 3 (b) and Lemma 3.1.
    """
    constraint = domino_of(world)
    nfa = constraint.scanner.nfa
    graph = draw_nfa(nfa, "character scanner")
    read = given if isinstance(given, str) else text
    states, places = closure(nfa, {nfa.initial}), frozenset({BETWEEN})
    frames = [_scan_frame(constraint, graph, states, places, read, 0)]
    for position, character in enumerate(read):
        for byte in character.encode():
            states = closure(nfa, moved(nfa, states, byte))
            places = frozenset(_scan(constraint, places, byte))
        frames.append(_scan_frame(constraint, graph, states, places, read, position + 1))
        if not states:
            break
    return Film((graph,), tuple(frames), "text", opens_at(given))


def _scan(constraint: DominoConstraint, states: frozenset[int], byte: int) -> Iterator[int]:
    """The scanner's states after a byte, without the parser."""
    scanner, kind = constraint.scanner, int(constraint.scanner.classes[byte])
    for state in states:
        ends = [int(scanner.table[state, kind])]
        if state == BETWEEN:
            ends = [end for _, end in scanner.starting[kind]]
        for end in ends:
            if end != DEAD:
                yield end
                if scanner.accepting[end]:
                    yield BETWEEN


def _scan_frame(
    constraint: DominoConstraint,
    graph: Graph,
    states: frozenset[int],
    places: frozenset[int],
    text: str,
    position: int,
) -> Frame:
    view = View(tuple(map(str, sorted(states))))
    if not places:
        failed = visible(text[position - 1])
        say = f"No terminal continues with {failed}: this is no sequence of terminals."
        return Frame(say, (view,), reading(text, position - 1), good=False)
    if constraint.readings.after(constraint.initial, text[:position].encode()) is None:
        say = "A sequence of terminals, so the scanner reads on. The parser knows it is no text."
        return Frame(say, (view,), reading(text, position), good=False)
    owners = sorted({int(constraint.scanner.owner[state]) for state in places if state != BETWEEN})
    names = ", ".join(terminal_name(constraint, owner) for owner in owners)
    where = [f"in {names}"] if names else []
    where += ["between two terminals"] if BETWEEN in places else []
    return Frame(f"It is {' and '.join(where)}.", (view,), reading(text, position))
