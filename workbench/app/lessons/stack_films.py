"""Films of machines with a stack, and derivation trees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from workbench.analysis.ambiguity import Ambiguity, ambiguity
from workbench.app.lessons.automaton_films import arcs_between, opens_at, reading
from workbench.app.lessons.lesson import Film, Frame, Given, LessonError, Row, View
from workbench.app.lessons.token_films import allows, choices, needed, taken, taken_row, why
from workbench.app.lessons.world import World
from workbench.base.dfa import DEAD
from workbench.constraint.engine.compose_pda import compose_pda
from workbench.drawing.graph import Edge, Graph, Node
from workbench.drawing.machines import draw_network, draw_pda, draw_token_pda
from workbench.drawing.visible_text import visible
from workbench.pushdown.build import context_free, rule_network
from workbench.pushdown.network import Network
from workbench.pushdown.pda import dotted, pda
from workbench.pushdown.runner import Runner

#: Stacks shown together of a machine that is in several.
_MOST = 4


@dataclass(frozen=True, slots=True)
class Standing:
    """One way a text can have been read: a state of a rule, and the places to return to."""

    state: int
    stack: tuple[int, ...]


def standings(runner: Runner, data: bytes) -> list[Standing] | None:
    """All ways the text can have been read; None where it cannot be read."""
    if (situation := runner.run(data)) == DEAD:
        return None
    found = runner.configurations(situation)
    return [Standing(state, runner.stack(node)) for state, node in found]


def stack_rows(world: World, ways: list[Standing]) -> tuple[Row, ...]:
    """The stacks, the bottom first; the initial symbol is S, as in the pictures."""
    rules = world.grammar.rules
    return tuple(
        Row(
            "stack" if len(ways) == 1 else f"stack {number}",
            ("S", *_places(rules, way)),
            len(way.stack),
        )
        for number, way in enumerate(ways[:_MOST], start=1)
    )


def live(world: World, ways: list[Standing]) -> tuple[str, ...]:
    """The rules being read in the first way, the outermost first."""
    rules = world.grammar.rules
    states = (*ways[0].stack, ways[0].state) if ways else ()
    return tuple(rules.names[rules.owner[state]] for state in states)


def _places(rules: Network, way: Standing) -> Iterator[str]:
    """The places to return to, as dotted rules with the call that is waited for."""
    for place, back in enumerate(way.stack):
        inner = way.stack[place + 1] if place + 1 < len(way.stack) else way.state
        yield _place(rules, int(rules.owner[inner]), back)


@lru_cache(maxsize=1024)
def _place(rules: Network, called: int, back: int) -> str:
    """A dotted rule; where alternatives share a state, the call says which of them it was."""
    callers = [s for s in range(len(rules)) if (called, back) in rules.calling[s]]
    if not callers:
        return dotted(rules, back)
    before = dotted(rules, callers[0]).partition("•")[0].strip()
    after = dotted(rules, back).partition("•")[2].strip()
    return f"{before} {rules.names[called]} • {after}".strip()


def over_characters(world: World, given: Given, *, text: str = "") -> Film:
    """The push-down automaton reading a text, with its stack or, where it has to guess, stacks."""
    return _reading(world, draw_pda(pda(world.grammar.rules), "push-down automaton"), given, text)


def rules(world: World, given: Given, *, text: str = "") -> Film:
    """The rules as small machines that call each other; the current state of each is lit."""
    return _reading(world, draw_network(world.grammar.rules), given, text)


def _reading(world: World, graph: Graph, given: Given, text: str) -> Film:
    read = given if isinstance(given, str) else text
    runner = Runner(world.grammar.rules)
    ways = standings(runner, b"") or []
    frames = [
        _frame(world, graph, ways, read, 0, "Nothing is read; the stack contains its first symbol.")
    ]
    for place, character in enumerate(read):
        there = standings(runner, read[: place + 1].encode())
        if there is None:
            wanted = needed(world, read[:place].encode())
            frames.append(
                _frame(
                    world,
                    graph,
                    ways,
                    read,
                    place,
                    f"{visible(character)} cannot be read: here it needs {wanted}.",
                )
            )
            return Film((graph,), tuple(frames), "text", opens_at(given))
        say = f"It reads {visible(character)}{_change(ways, there)}."
        frames.append(_frame(world, graph, there, read, place + 1, say, ways))
        ways = there
    if read:
        good = world.grammar.accepts(read)
        say = (
            "Every rule is finished and the stack is empty: the text is accepted."
            if good
            else f"The text may not end here: it needs {needed(world, read.encode())}."
        )
        frames.append(_frame(world, graph, ways, read, len(read), say))
    return Film((graph,), tuple(frames), "text", opens_at(given))


def _change(before: list[Standing], after: list[Standing]) -> str:
    """What happened to the stack, where that can be said in a word."""
    if len(after) > 1:
        return f"; now there are {len(after)} ways to have read this, each with a separate stack"
    if len(before) > 1:
        return "; one way is left"
    change = len(after[0].stack) - len(before[0].stack)
    if change > 0:
        return f" and pushes {_symbols(change)}"
    return f" after popping {_symbols(-change)}" if change < 0 else "; the stack is unchanged"


def _symbols(count: int) -> str:
    return "one symbol" if count == 1 else f"{count} symbols"


def _frame(
    world: World,
    graph: Graph,
    ways: list[Standing],
    text: str,
    place: int,
    say: str,
    came: list[Standing] | None = None,
) -> Frame:
    good = world.grammar.accepts(text) if text and place == len(text) else None
    if "cannot be read" in say:
        good = False
    view = _view(graph, ways, came or [])
    rows = (*reading(text, place), *stack_rows(world, ways))
    return Frame(say, (view,), rows, rules=live(world, ways), good=good)


def _view(graph: Graph, ways: list[Standing], came: list[Standing]) -> View:
    """The states lit; among the rules also the calls that wait."""
    known = {node.id for node in graph.nodes}
    calls = {
        node.id for node in graph.nodes for way in ways for waiting in way.stack
        if node.id.startswith("call-") and node.id.endswith(f"-{waiting}")
    }  # fmt: skip
    lit = {str(way.state) for way in ways} & known
    if ways and not lit and "end" in known:
        lit = {"end"}  # the token read the last character and popped the initial symbol
    arcs = _way(graph, tuple(str(way.state) for way in came), lit)
    return View((*sorted(lit), *sorted(calls)), arcs)


def _way(graph: Graph, came: tuple[str, ...], lit: set[str]) -> tuple[int, ...]:
    """The edges from where it came: one that reads, then any that only pop."""
    if direct := arcs_between(graph, came, tuple(lit)):
        return direct
    for first, edge in enumerate(graph.edges):
        if edge.source in came and "epsilon" not in edge.kinds:
            then = arcs_between(graph, (edge.target,), tuple(lit))
            if popping := tuple(a for a in then if "epsilon" in graph.edges[a].kinds):
                return (first, *popping)
    return ()


def over_tokens(
    world: World, given: Given, *, tokens: tuple[str, ...] = (), drawn: str = "tokens"
) -> Film:
    """The push-down automaton over tokens: one token may push and pop several symbols.

    ``drawn`` is ``tokens`` for its own picture, ``rules`` for that of the rules, where its own
    would have too many edges.
    """
    network = world.grammar.rules
    if drawn == "rules":
        graph = draw_network(network)
    else:
        graph = draw_token_pda(compose_pda(network, world.vocabulary), "over tokens")
    runner = Runner(network)
    ids, so_far = taken(world, given, tokens), b""
    ways = standings(runner, b"") or []
    say = "Nothing is read; these tokens may come first."
    frames = [_token_frame(world, graph, ways, ids, 0, so_far, say)]
    for place, token_id in enumerate(ids):
        token = world.vocabulary.tokens[token_id]
        if not allows(world, so_far, token_id):
            say = f"{world.shown(token_id)} is not allowed: {why(world, so_far, token_id)}."
            frames.append(_token_frame(world, graph, ways, ids, place, so_far, say))
            break
        if token is None:
            rows = (taken_row(world, ids, place + 1), *stack_rows(world, ways))
            view = View(("end",), arcs_between(graph, (str(ways[0].state),), ("end",)))
            frames.append(Frame("The end: the text is accepted.", (view,), rows, good=True))
            break
        there = standings(runner, so_far + token) or []
        say = f"{world.shown(token_id)}{_edits(runner, so_far, token)}."
        so_far += token
        frames.append(_token_frame(world, graph, there, ids, place + 1, so_far, say, ways))
        ways = there
    return Film((graph,), tuple(frames), "tokens", opens_at(given), ids)


def _edits(runner: Runner, so_far: bytes, token: bytes) -> str:
    """How often the token pushed and popped on its way, character by character."""
    pushes = pops = 0
    before = standings(runner, so_far) or []
    for place in range(len(token)):
        after = standings(runner, so_far + token[: place + 1]) or []
        change = len(after[0].stack) - len(before[0].stack)
        pushes += max(0, change)
        pops += max(0, -change)
        before = after
    told = [f"pushes {_symbols(pushes)}"] * bool(pushes) + [f"pops {_symbols(pops)}"] * bool(pops)
    return f" {' and '.join(told)}" if told else " leaves the stack unchanged"


def _token_frame(
    world: World,
    graph: Graph,
    ways: list[Standing],
    ids: tuple[int, ...],
    place: int,
    so_far: bytes,
    say: str,
    came: list[Standing] | None = None,
) -> Frame:
    view = _view(graph, ways, came or [])
    if came and place:
        token = world.shown(ids[place - 1])
        named = [a for a in view.arcs if token in graph.edges[a].labels]
        view = View(view.lit, tuple(named[:1]) or view.arcs)
    rows = (taken_row(world, ids, place), *stack_rows(world, ways))
    return Frame(say, (view,), rows, choices(world, so_far), rules=live(world, ways))


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
