"""The two trees of an ambiguous text of a grammar."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.drawing.graph import Edge, Graph, Node
from workbench.lessons.lesson import Film, Frame, Given, LessonError, Row
from workbench.lessons.world import World
from workbench.pushdown.ambiguity import Ambiguity, ambiguity
from workbench.pushdown.build import context_free, rule_network


@dataclass(frozen=True, slots=True)
class Tree:
    """A derivation: a rule and what it was read as; a leaf is a piece of the text."""

    name: str
    parts: tuple[Tree, ...] = ()


def found(world: World) -> Ambiguity:
    """The shortest text with two derivations.

    Raises: LessonError where the engine finds none.
    """
    grammar = world.grammar
    if grammar.tree is None:
        raise LessonError("expected rules in this step: a regex has no derivations")
    work = grammar.limits.begun()
    cfg = context_free(grammar.tree, grammar.start, work)
    search = ambiguity(cfg, rule_network(cfg, work), work)
    if search.found is None or len(search.found.readings) != 2:
        raise LessonError("expected an ambiguous grammar in this step")
    return search.found


def tree_of(reading: str, rules: tuple[str, ...]) -> Tree:
    """A reading in brackets, ``S(a S(b))``, as a tree; its text has no brackets."""
    stack: list[tuple[str, list[Tree]]] = [("", [])]
    for piece in reading.replace(")", " ) ").split():
        if piece == ")":
            name, parts = stack.pop()
            stack[-1][1].append(Tree(name, tuple(parts)))
            continue
        *opened, rest = piece.split("(")
        stack += [(name, []) for name in opened]
        stack[-1][1].extend(Tree(letter) for letter in rest)
    if len(stack) != 1 or len(stack[0][1]) != 1:
        raise LessonError(f"expected a reading in brackets, not {reading!r}")
    (tree,) = stack[0][1]
    if tree.name not in rules:
        raise LessonError(f"expected a rule, not {tree.name!r}")
    return tree


def tree_graph(tree: Tree, name: str) -> Graph:
    """A derivation with its root at the top."""
    nodes: list[Node] = []
    edges: list[Edge] = []

    def add(part: Tree) -> str:
        own = str(len(nodes))
        nodes.append(Node(own, part.name, () if part.parts else ("call",), part.name))
        for child in part.parts:
            edges.append(Edge(own, add(child)))
        return own

    add(tree)
    return Graph(name, tuple(nodes), tuple(edges))


def trees(world: World, given: Given) -> Film:
    """The two derivations of the shortest ambiguous text."""
    case = found(world)
    names = world.grammar.rules.names
    graphs = tuple(
        tree_graph(tree_of(reading, names), f"derivation {place}")
        for place, reading in enumerate(case.readings, start=1)
    )
    say = f"The engine tried texts, short ones first, and found {case.example}: two derivations."
    rows = tuple(Row(f"tree {place}", (reading,)) for place, reading in enumerate(case.readings, 1))
    return Film(graphs, (Frame(say, rows=rows),))
