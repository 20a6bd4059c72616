"""Films of compositions with a vocabulary and of transducers.

Source: Koo et al. 2024, §2.2 and Algorithm 2; Riley, Allauzen & Jansche 2009.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from workbench.app.lessons.automaton_films import opens_at, reading
from workbench.app.lessons.construction_films import HIDDEN, arcs_between
from workbench.app.lessons.lesson import Choice, Film, Frame, Given, LessonError, Row, Table, View
from workbench.app.lessons.lesson_world import World
from workbench.app.lessons.method_films import MethodSpec, constrained, name_of
from workbench.app.lessons.token_films import taken, taken_row
from workbench.automata import graphs
from workbench.base.dfa import DEAD, Dfa
from workbench.base.visible_text import visible
from workbench.constraint.engine.compose import compose
from workbench.drawing.graph import Edge, Graph, Node, state_kinds
from workbench.drawing.machines import draw_dfa, draw_token_fsa
from workbench.drawing.token_edges import TokenRows
from workbench.drawing.transducers import (
    AB_TO_X,
    BRACKETED_RUNS,
    ODD_TO_XOX,
    Fst,
    FstEdge,
    detokenizer,
    draw_fst,
    merged_detokenizer,
)
from workbench.vocabulary.toy_vocabularies import toy
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


def drawn(machine: Fst, name: str) -> Graph:
    """The transducer's graph, not reduced: every edge can be shown separately."""
    nodes = tuple(
        Node(str(s), "r" if s == machine.initial else str(s), _kinds(machine, s))
        for s in range(machine.states)
    )
    edges = tuple(
        Edge(
            str(edge.source),
            str(edge.target),
            (_label(edge),),
            ("epsilon",) if edge.reads is None else ("back",),
        )
        for edge in machine.edges
    )
    return Graph(name, nodes, edges)


def _kinds(machine: Fst, state: int) -> tuple[str, ...]:
    return state_kinds(initial=state == machine.initial, final=state in machine.finals)


def _label(edge: FstEdge) -> str:
    reads = "ε" if edge.reads is None else visible(edge.reads)
    return f"{reads}:{visible(edge.writes or b'')}"


def algorithm_1(world: World, given: Given) -> Film:
    """A cycle for each token, edge after edge, as Koo's Algorithm 1 builds it."""
    machine = detokenizer(world.words)
    graph = drawn(machine, "detokenizing transducer")
    nodes, edges = {"0"}, set[int]()
    frames = [Frame("A root state r, where every token begins and ends.", (_so_far(nodes, edges),))]
    rest = list(enumerate(machine.edges))
    for token in world.words:
        count = len(token.decode("utf-8", "surrogateescape"))
        cycle, rest = rest[:count], rest[count:]
        for number, edge in cycle:
            nodes.add(str(edge.target))
            edges.add(number)
        frames.append(
            Frame(
                _cycle_words(token, [edge for _, edge in cycle]),
                (_so_far(nodes, edges, tuple(number for number, _ in cycle)),),
                (Row("token", (visible(token),), 0),),
            )
        )
    say = f"{len(world.words)} tokens, {len(world.words)} cycles, {machine.states} states."
    frames.append(Frame(say, (_so_far(nodes, edges),)))
    return Film((graph,), tuple(frames))


def _so_far(nodes: set[str], edges: set[int], arcs: tuple[int, ...] = ()) -> View:
    return View((), arcs, frozenset(nodes), frozenset(edges))


def _cycle_words(token: bytes, edges: list[FstEdge]) -> str:
    if len(edges) == 1:
        return f"{visible(token)} is one character: a loop that reads the token and writes it."
    written = ", ".join(visible(edge.writes or b"") for edge in edges[:-1])
    last = visible(edges[-1].writes or b"")
    return (
        f"{visible(token)}: ε-edges write {written}; only the last edge reads the token, writes"
        f" {last} and returns to the root."
    )


def merging(world: World, given: Given) -> Film:
    """The cycles of Algorithm 1, and below them those with common prefixes merged."""
    tokens = world.words
    plain, merged = detokenizer(tokens), merged_detokenizer(tokens)
    above, below = drawn(plain, "as Algorithm 1 builds it"), drawn(merged, "prefixes merged")
    silent = [number for number, edge in enumerate(plain.edges) if edge.reads is None]
    first = [n for n in silent if plain.edges[n].source == 0]
    say = f"Of the ε-edges {len(first)} leave the root; some of them write the same character."
    hidden = View(nodes=frozenset(), edges=frozenset())
    frames = [Frame(say, (View((), tuple(first)), hidden))]
    kept = sum(edge.reads is None for edge in merged.edges)
    say = (
        f"Cycles that begin alike share their ε-edges: {len(silent)} become {kept}, and"
        f" {plain.states} states become {merged.states}. The last edges stay separate."
    )
    backs = tuple(n for n, edge in enumerate(merged.edges) if edge.reads is not None)
    frames.append(Frame(say, (View(), View((), backs))))
    return Film((above, below), tuple(frames))


#: A state of the composed machine: of the automaton, and of the transducer.
Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Joined:
    """One edge of the composed machine: both components move over the same character."""

    source: Pair
    target: Pair
    #: The token read, or None if the transducer writes without reading.
    reads: bytes | None
    character: bytes
    #: The number of the transducer's edge.
    edge: int


def compose_steps(dfa: Dfa, machine: Fst) -> Iterator[tuple[Pair, list[Joined]]]:
    """The composition with its worklist: every accessible pair, with its leaving edges."""
    start = (dfa.initial, machine.initial)
    visited, waiting = {start}, deque([start])
    while waiting:
        pair = waiting.popleft()
        edges = []
        for number, edge in enumerate(machine.edges):
            if edge.source != pair[1] or edge.writes is None:
                continue
            if (state := dfa.run(edge.writes, pair[0])) == DEAD:
                continue
            edges.append(Joined(pair, (state, edge.target), edge.reads, edge.writes, number))
        yield pair, edges
        for joined in edges:
            if joined.target not in visited:
                visited.add(joined.target)
                waiting.append(joined.target)


def alive_pairs(dfa: Dfa, joined: list[Joined]) -> set[Pair]:
    """The pairs from which a whole token sequence leads to an accepted text."""
    ends = {
        end for j in joined for end in (j.source, j.target) if not end[1] and dfa.finals[end[0]]
    }
    return set(graphs.coreachable(ends, ((j.source, j.target) for j in joined)))


def composition(world: World, given: Given) -> Film:
    """The composition of the world's automaton with its tokens."""
    return composition_film(world.dfa, world.vocabulary, f"/{world.regex}/")


def composition_film(dfa: Dfa, vocabulary: Vocabulary, name: str, note: str = "") -> Film:
    """The composition of two machines: pairs of states from a worklist, then without ε-edges.

    ``note`` is a sentence that the first frame adds.
    """
    machine = merged_detokenizer(token for token in vocabulary.tokens if token is not None)
    steps = list(compose_steps(dfa, machine))
    joined = [edge for _, edges in steps for edge in edges]
    order = [pair for pair, _ in steps]
    graphs = (
        draw_dfa(dfa, f"A: {name} over characters"),
        drawn(machine, "T: tokens into characters"),
        _pair_graph(dfa, machine, order, joined),
        draw_token_fsa(compose(dfa, vocabulary), dfa, "A ∘ T: the same over tokens"),
    )
    found_so_far = _Composition(graphs[0], {order[0]}, [order[0]])
    frames = [found_so_far.frame(f"{note} {_START}".strip(), order[0], [])]
    for pair, edges in steps:
        found_so_far.follow(edges)
        frames.append(found_so_far.frame(_pair_words(pair, edges, dfa, machine), pair, edges))
    alive = alive_pairs(dfa, joined)
    dead = frozenset(_pair_id(p) for p in order if p not in alive)
    words = "Every pair leads to an accepted text." if not dead else _dead_words(order, alive)
    whole = View(dead=dead)
    frames.append(Frame(words, (View(), View(), whole, HIDDEN)))
    roots = sum(1 for p in order if not p[1] and p in alive)
    say = f"Without ε-edges the {roots} pairs at the root are left, with tokens between them."
    frames.append(Frame(say, (View(), View(), whole, View())))
    return Film(graphs, tuple(frames))


#: The most tokens that take part in a film of a composition, and the most pairs of states.
MAX_TOKENS, MAX_PAIRS = 16, 48

#: The most characters of a token that is chosen for a film.
_MAX_CHARACTERS = 4


def few_tokens(dfa: Dfa, vocabulary: Vocabulary) -> tuple[Vocabulary, str]:
    """Tokens for a film, and a sentence on how many are left out.

    They are tokens that some state reads: for every pair of states the shortest and the longest
    one, as long as the film is within its limits.
    """
    rows = TokenRows.of(compose(dfa, vocabulary))
    pairs: dict[tuple[int, int], set[bytes]] = {}
    for source, token_id, target in zip(
        rows.sources.tolist(), rows.token_ids.tolist(), rows.targets.tolist(), strict=True
    ):
        token = vocabulary.tokens[token_id]
        if token is not None and len(token) <= _MAX_CHARACTERS and _is_text(token):
            pairs.setdefault((source, target), set()).add(token)
    usable = len(set().union(*pairs.values()))
    listed = [sorted(tokens, key=lambda token: (len(token), token)) for tokens in pairs.values()]
    shortest, longest = [tokens[0] for tokens in listed], [tokens[-1] for tokens in listed]
    rest = sorted(set().union(*pairs.values()) if usable <= MAX_TOKENS else ())
    chosen: list[bytes] = []
    for token in dict.fromkeys((*shortest, *longest, *rest)):
        within = len(chosen) < MAX_TOKENS and _count_pairs(dfa, (*chosen, token)) <= MAX_PAIRS
        chosen += [token] * within
    if not chosen:
        raise LessonError(
            f"no token of at most {_MAX_CHARACTERS} characters is read by a state of this machine",
            "choose a smaller part of the grammar",
        )
    note = ""
    if len(chosen) < usable:
        note = (
            f"The film has {len(chosen)} of the {usable:,} short tokens that some state reads: at"
            f" most {MAX_TOKENS}, and at most {MAX_PAIRS} pairs of states."
        )
    return toy(chosen, name=vocabulary.name), note


def _is_text(token: bytes) -> bool:
    try:
        return bool(token.decode())
    except UnicodeDecodeError:
        return False


def _count_pairs(dfa: Dfa, tokens: tuple[bytes, ...]) -> int:
    return sum(1 for _ in islice(compose_steps(dfa, merged_detokenizer(tokens)), MAX_PAIRS + 1))


@dataclass(slots=True)
class _Composition:
    """The pairs and edges found so far."""

    automaton: Graph
    shown: set[Pair]
    waiting: list[Pair]
    edges: int = 0
    arcs: tuple[int, ...] = field(default=())

    def follow(self, edges: list[Joined]) -> None:
        """Take the first pair off the worklist, and add the pairs found from it."""
        new = [j.target for j in edges if j.target not in self.shown]
        self.waiting = [*self.waiting[1:], *dict.fromkeys(new)]
        self.shown.update(new)
        self.arcs = tuple(range(self.edges, self.edges + len(edges)))
        self.edges += len(edges)

    def frame(self, say: str, pair: Pair, edges: list[Joined]) -> Frame:
        """A frame: both machines at a pair, the edges both can take, the pairs found so far."""
        source = (str(pair[0]),)
        ends = tuple(str(j.target[0]) for j in edges)
        views = (
            View(source, arcs_between(self.automaton, source, ends)),
            View((str(pair[1]),), tuple(j.edge for j in edges)),
            View(
                (_pair_id(pair),),
                self.arcs,
                frozenset(map(_pair_id, self.shown)),
                frozenset(range(self.edges)),
            ),
            HIDDEN,
        )
        chips = tuple(map(_pair_name, self.waiting)) or ("empty",)
        return Frame(say, views, (Row("worklist", chips, 0 if self.waiting else -1),))


_START = "Both machines are in their initial state: the pair (0, r) goes on the worklist."


def _pair_id(pair: Pair) -> str:
    return f"{pair[0]}-{pair[1]}"


def _pair_name(pair: Pair) -> str:
    return f"({pair[0]}, {'r' if not pair[1] else pair[1]})"


def _pair_graph(dfa: Dfa, machine: Fst, order: list[Pair], joined: list[Joined]) -> Graph:
    nodes = tuple(
        Node(
            _pair_id(pair),
            _pair_name(pair),
            state_kinds(initial=i == 0, final=pair[1] in machine.finals and dfa.is_final(pair[0])),
        )
        for i, pair in enumerate(order)
    )
    edges = tuple(
        Edge(
            _pair_id(j.source),
            _pair_id(j.target),
            ("ε" if j.reads is None else visible(j.reads),),
            ("epsilon",) if j.reads is None else (),
        )
        for j in joined
    )
    return Graph("pairs", nodes, edges)


def _pair_words(pair: Pair, edges: list[Joined], dfa: Dfa, machine: Fst) -> str:
    offered = [edge.writes or b"" for edge in machine.edges if edge.source == pair[1]]
    refused = sorted({visible(c) for c in offered} - {visible(j.character) for j in edges})
    moves = [
        f"over {visible(j.character)} to {_pair_name(j.target)}"
        + ("" if j.reads is None else f", reading {visible(j.reads)}")
        for j in edges
    ]
    words = (
        f"{_pair_name(pair)} goes " + "; ".join(moves) if moves else f"{_pair_name(pair)} is stuck"
    )
    if refused:
        words += f"; the automaton does not read {', '.join(refused)} in state {pair[0]}"
    return words + "."


def _dead_words(order: list[Pair], alive: set[Pair]) -> str:
    dead = ", ".join(_pair_name(p) for p in order if p not in alive)
    return f"No whole token leads on from {dead}: they are taken out."


#: Koo et al. 2024, Figure 3, by position.
_FIGURE_3 = {"left": AB_TO_X, "centre": ODD_TO_XOX, "right": BRACKETED_RUNS}


def best_path(machine: Fst, symbols: Sequence[bytes]) -> tuple[list[FstEdge], bool]:
    """The path that reads these symbols, and whether it reads all and ends in a final state.

    If no path does, the shortest of those that read the most symbols.
    """
    best: tuple[int, list[FstEdge]] = (0, [])
    seen = {(machine.initial, 0)}
    waiting: deque[tuple[int, int, list[FstEdge]]] = deque([(machine.initial, 0, [])])
    while waiting:
        state, read, path = waiting.popleft()
        if read == len(symbols) and state in machine.finals:
            return path, True
        if read > best[0]:
            best = read, path
        for edge in machine.edges:
            fits = edge.reads is None or (read < len(symbols) and symbols[read] == edge.reads)
            after = (edge.target, read + (edge.reads is not None))
            if edge.source == state and fits and after not in seen:
                seen.add(after)
                waiting.append((*after, [*path, edge]))
    return best[1], False


def transducer(world: World, given: Given, *, figure: str, text: str = "") -> Film:
    """One of the transducers of Koo's Figure 3, reading a text and writing another.

    Raises: LessonError for an unknown position.
    """
    if figure not in _FIGURE_3:
        raise LessonError(f"expected one of {', '.join(_FIGURE_3)}, not {figure!r}")
    machine = _FIGURE_3[figure]
    graph = draw_fst(machine, f"Figure 3, {figure}")
    read = given if isinstance(given, str) else text
    path, accepted = best_path(machine, [character.encode() for character in read])
    frames = [_frame(machine, graph, read, [], "The machine starts; nothing is written.")]
    for length, edge in enumerate(path, start=1):
        frames.append(_frame(machine, graph, read, path[:length], _words(edge)))
    if read:
        written = b"".join(edge.writes or b"" for edge in path)
        say = (
            f"It ends in a final state: {visible(read)} becomes {visible(written) or 'nothing'}."
            if accepted
            else f"It cannot read all of {visible(read)} and end: nothing is transduced."
        )
        frames.append(_frame(machine, graph, read, path, say, accepted))
    return Film((graph,), tuple(frames), "text", opens_at(given))


def _words(edge: FstEdge) -> str:
    writes = f"writes {visible(edge.writes)}" if edge.writes else "writes nothing"
    return (
        f"It {writes} without reading."
        if edge.reads is None
        else f"It reads {visible(edge.reads)} and {writes}."
    )


def _frame(
    machine: Fst,
    graph: Graph,
    text: str,
    path: list[FstEdge],
    say: str,
    good: bool | None = None,
) -> Frame:
    read = sum(edge.reads is not None for edge in path)
    written = tuple(visible(edge.writes) for edge in path if edge.writes)
    rows = (*reading(text, read), Row("writes", written, len(written) - 1))
    return Frame(say, (_view(machine, graph, path),), rows, good=good)


def _symbol(symbol: bytes | None) -> str:
    return "ε" if symbol is None else visible(symbol)


def _view(machine: Fst, graph: Graph, path: list[FstEdge]) -> View:
    if not path:
        return View((str(machine.initial),))
    last = path[-1]
    label = f"{_symbol(last.reads)}:{_symbol(last.writes)}"
    arcs = tuple(
        number
        for number, edge in enumerate(graph.edges)
        if (edge.source, edge.target) == (str(last.source), str(last.target))
        and label in edge.labels
    )
    return View((str(last.target),), arcs)


def detokenize(world: World, given: Given, *, tokens: tuple[str, ...] = ()) -> Film:
    """The detokenizing transducer reading tokens and writing their characters."""
    machine = merged_detokenizer(world.words)
    graph = draw_fst(machine, "detokenizing transducer")
    ids = taken(world, given, tokens)
    every = tuple(Choice(i, world.shown(i), True) for i in range(len(world.words)))
    read = [world.vocabulary.tokens[i] or b"" for i in ids]
    frames = [
        Frame(
            "It is at the root.",
            (_view(machine, graph, []),),
            (taken_row(world, ids, 0),),
            every,
        )
    ]
    for count in range(1, len(ids) + 1):
        before, _ = best_path(machine, read[: count - 1])
        path, _ = best_path(machine, read[:count])
        new = path[len(before) :]
        written = tuple(visible(edge.writes) for edge in path if edge.writes)
        silent = "".join(visible(edge.writes) for edge in new[:-1] if edge.writes)
        last = visible(new[-1].writes or b"")
        first = f"writes {silent} without reading, then " if silent else ""
        token = world.shown(ids[count - 1])
        say = f"It {first}reads {token}, writes {last}, and is at the root again."
        arcs = tuple(a for edge in new for a in _view(machine, graph, [edge]).arcs)
        rows = (taken_row(world, ids, count), Row("writes", written, len(written) - 1))
        frames.append(Frame(say, (View((str(machine.initial),), arcs),), rows, every))
    return Film((graph,), tuple(frames), "tokens", opens_at(given), ids)


#: The most states of a lesson's machine.
_MAX_STATES = 500


@dataclass(frozen=True, eq=False)
class Machine:
    """The accessible states of a constraint, and the tokens between them."""

    #: For each state, the initial one first, token → target.
    edges: tuple[Mapping[TokenId, int], ...]
    finals: frozenset[int]

    @property
    def single(self) -> int:
        """The number of states with one allowed token, in which the text may not end."""
        return sum(len(row) == 1 and s not in self.finals for s, row in enumerate(self.edges))

    @property
    def sequences(self) -> int | None:
        """The number of accepted sequences; None if it has a cycle."""
        memo: dict[int, int | None] = {}

        def count(state: int, above: frozenset[int]) -> int | None:
            if state in above:
                return None
            if state not in memo:
                below = [count(t, above | {state}) for t in self.edges[state].values()]
                counts = [n for n in below if n is not None]
                ends = len(counts) == len(below)
                memo[state] = (state in self.finals) + sum(counts) if ends else None
            return memo[state]

        return count(0, frozenset())


def machine_of(world: World, spec: MethodSpec) -> Machine:
    """The machine of a method's constraint.

    Raises: LessonError above the most states.
    """
    constraint = constrained(world, spec)
    numbers = {constraint.initial: 0}
    edges: list[dict[TokenId, int]] = []
    finals = set[int]()
    waiting = deque([constraint.initial])
    while waiting:
        state, number = waiting.popleft(), len(edges)
        row = {}
        for token_id in map(int, constraint.mask(state).ids):
            if token_id == world.vocabulary.end:
                finals.add(number)
                continue
            target = constraint.advance(state, token_id)
            if target not in numbers:
                numbers[target] = len(numbers)
                waiting.append(target)
            row[token_id] = numbers[target]
        edges.append(row)
        if len(numbers) > _MAX_STATES:
            raise LessonError(f"expected a machine of at most {_MAX_STATES} states in a lesson")
    return Machine(tuple(edges), frozenset(finals))


def machines(world: World, *, methods: Sequence[MethodSpec]) -> Table:
    """The size of each method's machine, and its number of choices."""
    rows = []
    for spec in methods:
        machine = machine_of(world, spec)
        count = machine.sequences
        rows.append(
            (
                name_of(spec),
                str(len(machine.edges)),
                str(sum(map(len, machine.edges))),
                "unlimited" if count is None else f"{count:,}",
                str(machine.single),
            )
        )
    heads = ("method", "states", "edges", "sequences", "states with one choice")
    return Table("The machines over tokens", heads, tuple(rows))
