"""Films of push-down automata over characters and tokens, and derivation trees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from workbench.analysis.ambiguity import Ambiguity, ambiguity
from workbench.app.lessons.automaton_films import opens_at, reading
from workbench.app.lessons.construction_films import arcs_between
from workbench.app.lessons.lesson import Film, Frame, Given, LessonError, Row, View
from workbench.app.lessons.lesson_world import World
from workbench.app.lessons.token_films import allows, choices, needed, taken, taken_row, why
from workbench.base.dfa import DEAD
from workbench.base.visible_text import count_of, visible
from workbench.constraint.engine.compose_pda import compose_pda
from workbench.drawing.graph import Edge, Graph, Node
from workbench.drawing.machines import STACK_NOTE, draw_network, draw_pda, draw_token_pda
from workbench.pushdown.build import context_free, rule_network
from workbench.pushdown.network import Network
from workbench.pushdown.runner import Runner
from workbench.pushdown.textbook_pda import dotted, pda

#: Stacks shown together, if the machine has several.
_MAX_STACKS = 4


@dataclass(frozen=True, slots=True)
class Configuration:
    """A configuration of the network: a state of a rule, and the states to return to."""

    state: int
    stack: tuple[int, ...]


def configurations(runner: Runner, data: bytes) -> list[Configuration] | None:
    """All configurations after a text; None if it cannot be read."""
    if (situation := runner.run(data)) == DEAD:
        return None
    pairs = runner.configurations(situation)
    return [Configuration(state, runner.stack(node)) for state, node in pairs]


def stack_rows(world: World, configs: list[Configuration]) -> tuple[Row, ...]:
    """The stacks, bottom first; the initial symbol is S, as in the pictures."""
    rules = world.grammar.rules
    return tuple(
        Row(
            "stack" if len(configs) == 1 else f"stack {number}",
            ("S", *_places(rules, config)),
            len(config.stack),
        )
        for number, config in enumerate(configs[:_MAX_STACKS], start=1)
    )


def live(world: World, configs: list[Configuration]) -> tuple[str, ...]:
    """The rules being read in the first configuration, the outermost first."""
    rules = world.grammar.rules
    states = (*configs[0].stack, configs[0].state) if configs else ()
    return tuple(rules.names[rules.owner[state]] for state in states)


def _places(rules: Network, config: Configuration) -> Iterator[str]:
    """The states to return to, as dotted rules with the pending call."""
    for depth, back in enumerate(config.stack):
        inner = config.stack[depth + 1] if depth + 1 < len(config.stack) else config.state
        yield _place(rules, int(rules.owner[inner]), back)


@lru_cache(maxsize=1024)
def _place(rules: Network, called: int, back: int) -> str:
    """A dotted rule; the call distinguishes alternatives that share a state."""
    callers = [s for s in range(len(rules)) if (called, back) in rules.calling[s]]
    if not callers:
        return dotted(rules, back)
    before = dotted(rules, callers[0]).partition("•")[0].strip()
    after = dotted(rules, back).partition("•")[2].strip()
    return f"{before} {rules.names[called]} • {after}".strip()


def over_characters(world: World, given: Given, *, text: str = "") -> Film:
    """The push-down automaton reading a text, with its stack or stacks."""
    return _reading(world, draw_pda(pda(world.grammar.rules), "push-down automaton"), given, text)


def rules(world: World, given: Given, *, text: str = "") -> Film:
    """The rules as small machines that call each other; the current states are highlighted."""
    return _reading(world, draw_network(world.grammar.rules), given, text)


def _reading(world: World, graph: Graph, given: Given, text: str) -> Film:
    read = given if isinstance(given, str) else text
    runner = Runner(world.grammar.rules)
    configs = configurations(runner, b"") or []
    frames = [
        _frame(
            world, graph, configs, read, 0, "Nothing is read; the stack contains its first symbol."
        )
    ]
    for position, character in enumerate(read):
        after = configurations(runner, read[: position + 1].encode())
        if after is None:
            wanted = needed(world, read[:position].encode())
            frames.append(
                _frame(
                    world,
                    graph,
                    configs,
                    read,
                    position,
                    f"{visible(character)} cannot be read: here it needs {wanted}.",
                )
            )
            return Film((graph,), tuple(frames), "text", opens_at(given))
        say = f"It reads {visible(character)}{_change(configs, after)}."
        frames.append(_frame(world, graph, after, read, position + 1, say, configs))
        configs = after
    if read:
        good = world.grammar.accepts(read)
        say = (
            "Every rule is finished and the stack is empty: the text is accepted."
            if good
            else f"The text may not end here: it needs {needed(world, read.encode())}."
        )
        frames.append(_frame(world, graph, configs, read, len(read), say))
    return Film((graph,), tuple(frames), "text", opens_at(given))


def _change(before: list[Configuration], after: list[Configuration]) -> str:
    """The change of the stack in a few words."""
    if len(after) > 1:
        return f"; now there are {len(after)} possibilities, each with a separate stack"
    if len(before) > 1:
        return "; one possibility is left"
    change = len(after[0].stack) - len(before[0].stack)
    if change > 0:
        return f" and pushes {_symbols(change)}"
    return f" after popping {_symbols(-change)}" if change < 0 else "; the stack is unchanged"


def _symbols(count: int) -> str:
    return "one symbol" if count == 1 else f"{count} symbols"


def _frame(
    world: World,
    graph: Graph,
    configs: list[Configuration],
    text: str,
    position: int,
    say: str,
    came: list[Configuration] | None = None,
) -> Frame:
    good = world.grammar.accepts(text) if text and position == len(text) else None
    if "cannot be read" in say:
        good = False
    view = _view(graph, configs, came or [])
    rows = (*reading(text, position), *stack_rows(world, configs))
    return Frame(say, (view,), rows, rules=live(world, configs), good=good)


def _view(graph: Graph, configs: list[Configuration], came: list[Configuration]) -> View:
    """The current states, and in the graph of rules the pending calls."""
    node_ids = {node.id for node in graph.nodes}
    calls = {
        node.id for node in graph.nodes for config in configs for waiting in config.stack
        if node.id.startswith("call-") and node.id.endswith(f"-{waiting}")
    }  # fmt: skip
    lit = {str(config.state) for config in configs} & node_ids
    if configs and not lit and "end" in node_ids:
        lit = {"end"}  # the token read the last character and popped the initial symbol
    arcs = _arcs(graph, tuple(str(config.state) for config in came), lit)
    return View((*sorted(lit), *sorted(calls)), arcs)


def _arcs(graph: Graph, came: tuple[str, ...], lit: set[str]) -> tuple[int, ...]:
    """The edges taken: one that reads, then any that only pop."""
    if direct := arcs_between(graph, came, tuple(lit)):
        return direct
    for first, edge in enumerate(graph.edges):
        if edge.source in came and "epsilon" not in edge.kinds:
            then = arcs_between(graph, (edge.target,), tuple(lit))
            if popping := tuple(a for a in then if "epsilon" in graph.edges[a].kinds):
                return (first, *popping)
    return ()


def construction_film(network: Network) -> Film:
    """The rules as automata, and below them the push-down automaton, built from their edges.

    Source: Koo et al. 2024, §3.1 and Figure 6.
    """
    above = draw_network(network, "rules: an automaton for each, with calls")
    below = draw_pda(pda(network), "push-down automaton")
    building = _Building(network, above, below)
    say = "Each rule is an automaton. A box calls a rule: the push-down automaton needs a stack."
    frames = [building.frame(say, ())]
    for name in network.names:
        if plain := building.inside(name):
            reads = count_of(len(plain), "edge")
            copied = "is copied and does" if len(plain) == 1 else "are copied and do"
            say = f"{name}: {reads} without a call {copied} not change the stack."
            frames.append(building.frame(say, plain))
    for number, edge in enumerate(below.edges):
        if edge.pushes:
            frames.append(building.frame(building.pushing(edge), (number,)))
    for number, edge in enumerate(below.edges):
        if edge.pops and edge.target != "end":
            frames.append(building.frame(building.popping(edge), (number,)))
    last = [number for number, edge in enumerate(below.edges) if edge.target == "end"]
    say = "Where the start rule ends, S is popped: the stack is empty, and the text may end."
    frames.append(building.frame(say, tuple(last)))
    states, edges = count_of(len(below.nodes), "state"), count_of(len(below.edges), "edge")
    say = f"The push-down automaton has {states} and {edges}; {STACK_NOTE}."
    frames.append(building.frame(say, ()))
    return Film((above, below), tuple(frames))


class _Building:
    """The edges of the push-down automaton that were made."""

    def __init__(self, network: Network, above: Graph, below: Graph) -> None:
        self.network, self.above, self.below = network, above, below
        self.edges = set[int]()

    def inside(self, name: str) -> tuple[int, ...]:
        """The edges of a rule that do not change the stack."""
        return tuple(
            number
            for number, edge in enumerate(self.below.edges)
            if not edge.pops and not edge.pushes and self._rule(edge.source) == name
        )

    def _rule(self, state: str) -> str:
        return self.network.names[int(self.network.owner[int(state)])]

    def pushing(self, edge: Edge) -> str:
        backs = " and ".join(mark.removeprefix("▲") for mark in edge.mark.split())
        returns = "the states to return to" if " and " in backs else "the state to return to"
        return (
            f"In state {edge.source}, {self._rule(edge.source)} calls a rule: the edge reads"
            f" {' '.join(edge.labels)}, pushes {backs} ({returns}), and leads to state"
            f" {edge.target} of {self._rule(edge.target)}."
        )

    def popping(self, edge: Edge) -> str:
        return (
            f"In state {edge.source}, {self._rule(edge.source)} may end: an ε-edge pops"
            f" {edge.target} and leads there, into {self._rule(edge.target)}."
        )

    def frame(self, say: str, new: tuple[int, ...]) -> Frame:
        """A frame in which these edges are new; above, what they come from."""
        self.edges.update(new)
        edges = [self.below.edges[number] for number in new]
        lit = {end for edge in edges for end in (edge.source, edge.target)}
        nodes = {end for n in self.edges for end in self._ends(n)} | {self.below.initial or ""}
        if len(new) != 1:
            lit = set()
        calls = {
            node.id
            for edge in edges
            for mark in edge.mark.split()
            for node in self.above.nodes
            if node.id.startswith("call-") and node.id.endswith(f"-{mark[1:]}")
        }
        node_ids = {node.id for node in self.above.nodes}
        above = View((*sorted(lit & node_ids), *sorted(calls)), self._above(edges))
        return Frame(
            say, (above, View(tuple(sorted(lit)), new, frozenset(nodes), frozenset(self.edges)))
        )

    def _ends(self, number: int) -> tuple[str, str]:
        return self.below.edges[number].source, self.below.edges[number].target

    def _above(self, edges: list[Edge]) -> tuple[int, ...]:
        """The edges of the rules from which edges without a stack effect are taken over."""
        return tuple(
            arc
            for edge in edges
            if not edge.pops and not edge.pushes
            for arc in arcs_between(self.above, (edge.source,), (edge.target,))
        )


def over_tokens(
    world: World, given: Given, *, tokens: tuple[str, ...] = (), drawn: str = "tokens"
) -> Film:
    """The push-down automaton over tokens: one token may push and pop several symbols.

    ``drawn`` is ``tokens`` for its own graph, or ``rules`` for the graph of the rules, if its own
    has too many edges.
    """
    network = world.grammar.rules
    if drawn == "rules":
        graph = draw_network(network)
    else:
        graph = draw_token_pda(compose_pda(network, world.vocabulary), "over tokens")
    runner = Runner(network)
    ids, so_far = taken(world, given, tokens), b""
    configs = configurations(runner, b"") or []
    say = "Nothing is read; these tokens may come first."
    frames = [_token_frame(world, graph, configs, ids, 0, so_far, say)]
    for position, token_id in enumerate(ids):
        token = world.vocabulary.tokens[token_id]
        if not allows(world, so_far, token_id):
            say = f"{world.shown(token_id)} is not allowed: {why(world, so_far, token_id)}."
            frames.append(_token_frame(world, graph, configs, ids, position, so_far, say))
            break
        if token is None:
            rows = (taken_row(world, ids, position + 1), *stack_rows(world, configs))
            view = View(("end",), arcs_between(graph, (str(configs[0].state),), ("end",)))
            frames.append(Frame("The end: the text is accepted.", (view,), rows, good=True))
            break
        after = configurations(runner, so_far + token) or []
        say = f"{world.shown(token_id)}{_edits(runner, so_far, token)}."
        so_far += token
        frames.append(_token_frame(world, graph, after, ids, position + 1, so_far, say, configs))
        configs = after
    return Film((graph,), tuple(frames), "tokens", opens_at(given), ids)


def _edits(runner: Runner, so_far: bytes, token: bytes) -> str:
    """How often the token pushes and pops, summed over its characters."""
    pushes = pops = 0
    before = configurations(runner, so_far) or []
    for position in range(len(token)):
        after = configurations(runner, so_far + token[: position + 1]) or []
        change = len(after[0].stack) - len(before[0].stack)
        pushes += max(0, change)
        pops += max(0, -change)
        before = after
    parts = [f"{verb} {_symbols(n)}" for verb, n in (("pushes", pushes), ("pops", pops)) if n]
    return f" {' and '.join(parts)}" if parts else " leaves the stack unchanged"


def _token_frame(
    world: World,
    graph: Graph,
    configs: list[Configuration],
    ids: tuple[int, ...],
    position: int,
    so_far: bytes,
    say: str,
    came: list[Configuration] | None = None,
) -> Frame:
    view = _view(graph, configs, came or [])
    if came and position:
        token = world.shown(ids[position - 1])
        named = [a for a in view.arcs if token in graph.edges[a].labels]
        view = View(view.lit, tuple(named[:1]) or view.arcs)
    rows = (taken_row(world, ids, position), *stack_rows(world, configs))
    return Frame(say, (view,), rows, choices(world, so_far), rules=live(world, configs))


@dataclass(frozen=True, slots=True)
class Tree:
    """A derivation: a rule and its parts; a leaf is a part of the text."""

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
    if search.found is None or not search.found.readings:
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
        node_id = str(len(nodes))
        nodes.append(Node(node_id, part.name, () if part.parts else ("call",), part.name))
        for child in part.parts:
            edges.append(Edge(node_id, add(child)))
        return node_id

    add(tree)
    return Graph(name, tuple(nodes), tuple(edges))


def trees(world: World, given: Given) -> Film:
    """The two derivations of the shortest ambiguous text."""
    case = found(world)
    names = world.grammar.rules.names
    graphs = tuple(
        tree_graph(tree_of(reading, names), f"derivation {number}")
        for number, reading in enumerate(case.readings, start=1)
    )
    say = f"The engine tried texts, short ones first, and found {case.example}: two derivations."
    rows = tuple(
        Row(f"tree {number}", (reading,)) for number, reading in enumerate(case.readings, 1)
    )
    return Film(graphs, (Frame(say, rows=rows),))
