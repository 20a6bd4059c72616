"""Films of other engines: how each of them makes the mask of one grammar over one vocabulary.

In each film the reader takes tokens. Caches, rows, tables and edges are those of the methods.

Sources: Dong et al. 2024 (XGrammar); llguidance; Park et al. 2025 (GreatGramma); Ugare et al. 2024
(SynCode); Chen et al. 2025 (Pre³).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import takewhile
from typing import Any

from workbench.app.lessons.automaton_films import opens_at
from workbench.app.lessons.construction_films import arcs_between
from workbench.app.lessons.lesson import (
    Choice,
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
from workbench.app.lessons.lesson_world import C, World, ids_of, of_class, token_bytes
from workbench.app.lessons.method_films import constrained
from workbench.app.lessons.token_films import choices, taken, taken_row
from workbench.automata.derivatives import classes, derivatives, is_nullable, plain, shown
from workbench.base.source import Source
from workbench.base.visible_text import count_of, visible
from workbench.constraint.mask_comparison import compare_masks
from workbench.constraint.methods.adaptive_cache import AdaptiveCacheConstraint
from workbench.constraint.methods.domino.scanner import BETWEEN
from workbench.constraint.methods.lalr import END_OF_TEXT, LrTable
from workbench.constraint.methods.lexeme_earley import Item, LexemeConstraint
from workbench.constraint.methods.lexer_tables import GreatGrammaConstraint, TerminalConstraint
from workbench.constraint.methods.pre3 import Pre3Constraint, PrefixEdge
from workbench.constraint.methods.syncode import SynCodeConstraint
from workbench.constraint.protocol import Constraint, State
from workbench.drawing.graph import Edge, Graph, Node, state_kinds
from workbench.drawing.machines import character_label, draw_dfa, draw_network
from workbench.syntax.ranges import normalized
from workbench.syntax.regex.parser import parse_regex
from workbench.syntax.regex.tree import Regex
from workbench.vocabulary.vocabulary import TokenId


def engine_of(world: World, kind: type[C], method: str, **options: str) -> C:
    """The step's constraint by a method, of its class."""
    return of_class(kind, constrained(world, {"method": method, **options}))


@dataclass(frozen=True, slots=True)
class Shown:
    """What a film shows of a state, besides the tokens taken and to take."""

    views: tuple[View, ...]
    rows: tuple[Row, ...]
    only: int | None = None


def _chips(world: World, ids: Iterable[TokenId]) -> tuple[str, ...]:
    return tuple(world.shown(i) for i in sorted(ids)) or ("∅",)


#: The state before a token, and the token; None at the beginning.
Came = tuple[State, TokenId] | None


def _taking(
    world: World,
    given: Given,
    tokens: tuple[str, ...],
    constraint: Constraint,
    graphs: tuple[Graph, ...],
    show: Callable[[State, Came, bytes], Shown],
) -> Film:
    """A film in which the reader takes tokens that a constraint allows."""
    ids, state, came, so_far = taken(world, given, tokens), constraint.initial, None, b""
    say, frames = "Nothing is read.", list[Frame]()
    for position in range(len(ids) + 1):
        content, every = show(state, came, so_far), _choices(world, constraint, state, so_far)
        rows = (taken_row(world, ids, position), *content.rows)
        frames.append(Frame(say, content.views, rows, every, only=content.only))
        if position == len(ids):
            break
        token_id, token = ids[position], world.vocabulary.tokens[ids[position]]
        if token_id not in constraint.mask(state):
            why = every[token_id].why
            frames.append(
                replace(frames[-1], say=f"{world.shown(token_id)} is not allowed: {why}.")
            )
            break
        if token is None:
            say = "The end: the text is accepted."
            frames.append(replace(frames[-1], say=say, choices=(), good=True))
            break
        came = state, token_id
        state, so_far = constraint.advance(state, token_id), so_far + token
        say = f"{world.shown(token_id)} is taken."
        if not len(constraint.mask(state)):
            say = f"{world.shown(token_id)} was allowed wrongly: no token can follow."
    return Film(graphs, tuple(frames), "tokens", opens_at(given), ids)


def _choices(
    world: World, constraint: Constraint, state: State, so_far: bytes
) -> tuple[Choice, ...]:
    """Every token: as the method decides; the reasons are the grammar's."""
    mask = constraint.mask(state)
    return tuple(
        replace(choice, allowed=choice.token_id in mask) for choice in choices(world, so_far)
    )


def state_after(world: World, constraint: Constraint, after: Sequence[str]) -> State:
    """The state of a constraint after tokens of the lesson.

    Raises: TokenNotAllowed.
    """
    state = constraint.initial
    for token_id in ids_of(world, after):
        state = constraint.advance(state, token_id)
    return state


# -- xgrammar ----------------------------------------------------------------------------------


def mask_cache(world: World, given: Given, *, tokens: tuple[str, ...] = ()) -> Film:
    """The cache entry of each position, and the tokens that the stack decides."""
    constraint = engine_of(world, AdaptiveCacheConstraint, "xgrammar")

    def show(state: State, came: Came, so_far: bytes) -> Shown:
        positions = constraint.positions(state)
        lit = tuple(map(str, positions))
        entries = [constraint.entry(position) for position in positions]
        accepted = {i for entry in entries for i in entry.accepted.tolist()}
        mask = constraint.mask(state)
        decided = tuple(
            f"{world.shown(i)} {'✓' if i in mask else '✗'}" for i in constraint.undecided(state)
        )
        stored = tuple(
            f"state {position}: {entry.storage}, {entry.bytes} bytes"
            for position, entry in zip(positions, entries, strict=True)
        )
        rows = (
            Row("accepted", _chips(world, accepted)),
            Row("stack decides", decided or ("∅",)),
            Row("stored", stored),
        )
        return Shown((View(lit),), rows)

    graph = draw_network(constraint.network, "push-down automaton")
    return _taking(world, given, tokens, constraint, (graph,), show)


def cache(world: World) -> Table:
    """The cache: one entry for each position."""
    constraint = engine_of(world, AdaptiveCacheConstraint, "xgrammar")
    rows = []
    for position in range(len(constraint.network)):
        entry = constraint.entry(position)
        cells = (entry.accepted, entry.dependent)
        accepted, decided = ("  ".join(_chips(world, ids.tolist())) for ids in cells)
        stored = f"{entry.storage}, {entry.bytes} bytes"
        rows.append((str(position), accepted, str(len(entry.rejected)), decided, stored))
    heads = ("position", "accepted", "rejected", "the stack decides", "stored as")
    return Table("The adaptive token mask cache", heads, tuple(rows))


# -- llguidance --------------------------------------------------------------------------------


@lru_cache(maxsize=32)
def _derivative_automaton(regex: str) -> tuple[Graph, tuple[Regex, ...]]:
    """The automaton of all derivatives of a regex, and these in the order of its nodes."""
    begin = plain(parse_regex(Source(regex, "lesson")))
    numbers: dict[Regex, int] = {begin: 0}
    read: dict[tuple[int, int], list[int]] = {}
    for source, code, target in derivatives(begin):
        number = numbers.setdefault(target, len(numbers))
        read.setdefault((numbers[source], number), []).append(code)
    nodes = tuple(
        Node(
            str(number),
            shown(rest),
            state_kinds(initial=number == 0, final=is_nullable(rest)),
            f"still to be read: {shown(rest)}",
        )
        for rest, number in numbers.items()
    )
    letters = {ranges[0][0]: ranges for ranges in classes(begin)}
    edges = tuple(
        Edge(str(s), str(t), (character_label(normalized(r for c in codes for r in letters[c])),))
        for (s, t), codes in read.items()
    )
    return Graph(f"derivatives of {regex}", nodes, edges), tuple(numbers)


def _states(constraint: LexemeConstraint, lexeme: int, regex: Regex) -> Mapping[int, Regex]:
    """For each state of a lexeme's automaton a derivative with the same texts."""
    machine = constraint.machines[lexeme]
    states = {regex: machine.initial}
    for source, code, target in derivatives(regex):
        states[target] = machine.run(chr(code).encode(), states[source])
    return {state: rest for rest, state in states.items()}


def lexer_and_rows(
    world: World,
    given: Given,
    *,
    lexeme: str,
    regex: str,
    slices: str = "none",
    tokens: tuple[str, ...] = (),
) -> Film:
    """The derivatives of a lexeme, the Earley row, and the tokens that a slice answers."""
    constraint = engine_of(world, LexemeConstraint, "llguidance", slices=slices)
    graph, rests = _derivative_automaton(regex)
    number = constraint.lexemes.index(lexeme)
    states = _states(constraint, number, rests[0])

    def show(state: State, came: Came, so_far: bytes) -> Shown:
        row, lexing = constraint.row(state), constraint.lexing(state)
        lit = tuple(
            str(rests.index(states[lexer_state]))
            for which, lexer_state in lexing
            if which == number
        )
        begun, complete = bool(state[1]), constraint.complete(lexing)
        names = tuple(
            _plain_name(constraint.lexemes[which]) + (" ✓" if which in complete else "")
            for which, _ in sorted(lexing)
        )
        kernel = sorted(item for item in row.items if item[1] or not row.number)
        items = tuple(_item(constraint, item) for item in kernel)
        token_slice = constraint.fitting(state)
        at_once = (
            ()
            if token_slice is None
            else [i for i, inside in enumerate(token_slice.tokens) if inside]
        )
        seen, parsed = constraint.walked(state)
        rows = (
            Row("in a lexeme" if begun else "may begin", names),
            Row(f"row {row.number}", items),
            Row("slice", _chips(world, at_once)),
            Row("walk", (f"{seen} of {len(world.vocabulary.trie)} nodes, parser at {parsed}",)),
        )
        return Shown((View(lit),), rows)

    return _taking(world, given, tokens, constraint, (graph,), show)


def _plain_name(name: str) -> str:
    """A terminal as the grammar writes it; a literal without its quotes."""
    quoted = len(name) > 2 and name[0] == name[-1] and name[0] in "'\""
    return name[1:-1] if quoted else name


def _item(constraint: LexemeConstraint, item: Item) -> str:
    """An Earley item as a dotted rule and the row in which it began."""
    rule, read, begun = item
    left_side, symbols = constraint.parser.rules[rule]
    names = [
        _plain_name(constraint.lexemes[symbol])
        if symbol >= 0
        else constraint.parser.names[-1 - symbol]
        for symbol in symbols
    ]
    names.insert(read, "•")
    return f"{constraint.parser.names[-1 - left_side]} → {' '.join(names)}, {begun}"


# -- GreatGramma -------------------------------------------------------------------------------


def terminals_shown(constraint: TerminalConstraint) -> tuple[str, ...]:
    """The terminals as the grammar writes them."""
    return tuple(_plain_name(terminal.name) for terminal in constraint.scanner.terminals)


def _place(constraint: TerminalConstraint, state: State) -> str:
    """A state of the lexer in words."""
    if state == BETWEEN:
        return "between terminals"
    owner = int(constraint.scanner.owner[state])
    return f"inside {terminals_shown(constraint)[owner]}, state {state}"


def spanner(world: World, given: Given, *, tokens: tuple[str, ...] = ()) -> Film:
    """The sequences of terminals from each lexer state, decided by the parser's state."""
    constraint = engine_of(world, GreatGrammaConstraint, "greatgramma")
    places = (BETWEEN, *constraint.scanner.inside)
    graphs = tuple(_sequences(world, constraint, state) for state in places)

    def show(state: State, came: Came, so_far: bytes) -> Shown:
        lexer_state, stack = min(constraint.places(state))
        tree, entry = constraint.trees.get(lexer_state), constraint.entry(lexer_state, stack[-1])
        assert tree is not None, "a lexer state of a reading has a tree"
        good = set(constraint.nodes(lexer_state, stack))
        never = set(range(len(tree))) - set(entry.always) - set(entry.depends)
        names = {node: _sequence(constraint, tree.path(node)) for node in range(len(tree))}
        depends = tuple(f"{names[n]} {'✓' if n in good else '✗'}" for n in entry.depends)
        rows = (
            Row("always", tuple(names[n] for n in entry.always) or ("∅",)),
            Row("stack decides", depends or ("∅",)),
        )
        view = View(tuple(f"{n}" for n in sorted(good)), dead=frozenset(f"{n}" for n in never))
        return Shown((view,), rows, places.index(lexer_state))

    return _taking(world, given, tokens, constraint, graphs, show)


def _sequence(constraint: TerminalConstraint, path: Iterable[int]) -> str:
    names = terminals_shown(constraint)
    return " ".join(names[terminal] for terminal in path)


def _sequences(world: World, constraint: GreatGrammaConstraint, state: State) -> Graph:
    """A tree of sequences: each node a terminal, with the tokens that end there."""
    tree, names = constraint.trees.get(state), terminals_shown(constraint)
    assert tree is not None, "a lexer state that continues has a tree"
    nodes = [Node("root", _place(constraint, state), ("initial",), _place(constraint, state))]
    edges = []
    for node, above in enumerate(tree.parent.tolist()):
        listed = "  ".join(_chips(world, constraint.tokens_of(state, [node]).tolist()))
        name = names[int(tree.terminal[node])]
        label = name if listed == "∅" else f"{name}: {listed}"
        nodes.append(Node(str(node), label, ("call",), f"{_sequence(constraint, tree.path(node))}"))
        edges.append(Edge("root" if above < 0 else str(above), str(node)))
    return Graph(f"sequences {_place(constraint, state)}", tuple(nodes), tuple(edges))


def spanner_table(world: World, *, after: Sequence[str] = ()) -> Table:
    """The rows of the token spanner table for the lexer state after some tokens."""
    constraint = engine_of(world, GreatGrammaConstraint, "greatgramma")
    rows = []
    for lexer_state, stack in sorted(constraint.places(state_after(world, constraint, after))):
        tree, entry = constraint.trees.get(lexer_state), constraint.entry(lexer_state, stack[-1])
        good = set(constraint.nodes(lexer_state, stack))
        for node in range(0 if tree is None else len(tree)):
            assert tree is not None
            ids = constraint.tokens_of(lexer_state, [node]).tolist()
            by = "always" if node in entry.always else "never"
            if node in entry.depends:
                by = f"the stack: {'✓' if node in good else '✗'}"
            if ids:
                listed = "  ".join(_chips(world, ids))
                rows.append((_sequence(constraint, tree.path(node)), listed, by))
    heads = ("sequence of terminals", "tokens", "accepted")
    return Table(f"The token spanner table {_after(after)}", heads, tuple(rows))


def _after(after: Sequence[str]) -> str:
    return f"after {visible(''.join(after))}" if after else "at the beginning"


# -- SynCode -----------------------------------------------------------------------------------


def store(world: World, given: Given, *, tokens: tuple[str, ...] = ()) -> Film:
    """The accept sequences and their rows of the store; wrong tokens are named."""
    constraint = engine_of(world, SynCodeConstraint, "syncode")
    names, ids = terminals_shown(constraint), range(len(world.vocabulary))
    graphs = tuple(
        draw_dfa(terminal.dfa, f"DFA of {name}")
        for terminal, name in zip(constraint.scanner.terminals, names, strict=True)
    )

    def show(state: State, came: Came, so_far: bytes) -> Shown:
        keys = constraint.sequences(state)
        rows = [
            Row(
                _accepting(constraint, lexer_state, second),
                _chips(world, (i for i in ids if constraint.store.allows(lexer_state, second, i))),
            )
            for lexer_state, second in keys
        ]
        right = world.constraint.step_bytes(world.constraint.initial, so_far)
        if right is not None:
            rows.append(
                Row("allowed wrongly", _chips(world, _wrong(world, constraint, state, right)))
            )
        if not keys:  # after a token that was allowed wrongly: the automaton before it
            assert came is not None, "the beginning has accept sequences"
            last = constraint.sequences(came[0])[0][0]
            return Shown((View(),), tuple(rows), int(constraint.scanner.owner[last]))
        lexer_state = keys[0][0]
        owner = int(constraint.scanner.owner[lexer_state])
        local_state = lexer_state - constraint.scanner_state(owner, 0)
        return Shown((View((str(local_state),)),), tuple(rows), owner)

    return _taking(world, given, tokens, constraint, graphs, show)


def _accepting(constraint: SynCodeConstraint, state: State, second: int | None) -> str:
    """An accept sequence: the first terminal, and the second or the end."""
    names, first = terminals_shown(constraint), int(constraint.scanner.owner[state])
    return f"{names[first]} {'end' if second is None else names[second]}"


def _wrong(world: World, constraint: Constraint, state: State, right: State) -> list[TokenId]:
    """The tokens that a method allows in a state and the exact mask does not."""
    return sorted(set(constraint.mask(state)) - set(world.constraint.mask(right)))


def wrong_after(world: World, *, after: Sequence[Sequence[str]]) -> Table:
    """After some texts: the accept sequences, and the tokens that SynCode allows wrongly."""
    constraint, rows = engine_of(world, SynCodeConstraint, "syncode"), []
    for tokens in after:
        state, right = (state_after(world, each, tokens) for each in (constraint, world.constraint))
        sequences = dict.fromkeys(
            _accepting(constraint, *key) for key in constraint.sequences(state)
        )
        rows.append(
            (
                visible("".join(tokens)) or "(nothing)",
                "  ".join(sequences),
                "  ".join(_chips(world, world.constraint.mask(right))),
                "  ".join(_chips(world, _wrong(world, constraint, state, right))),
            )
        )
    heads = ("read", "accept sequences", "exact mask", "allowed wrongly")
    return Table("The store compared with the exact mask", heads, tuple(rows))


# -- Pre³ --------------------------------------------------------------------------------------


@lru_cache(maxsize=32)
def _numbers(table: LrTable) -> Mapping[int, int]:
    """New numbers of a parser's states, breadth first: lark's may differ between processes."""
    numbers = {table.initial: 0}
    queue = deque([table.initial])
    while queue:
        state = queue.popleft()
        shifts = sorted(table.actions[state].items())
        reads = sorted(table.gotos[state].items())
        for target in (target for _, target in (*shifts, *reads) if isinstance(target, int)):
            if target not in numbers:
                numbers[target] = len(numbers)
                queue.append(target)
    return numbers


def _edge(constraint: Pre3Constraint, terminal: int, edge: PrefixEdge) -> str:
    """An edge in words: the terminal, the condition and what replaces it, the top last."""
    numbers = _numbers(constraint.table)
    name = "end" if terminal == END_OF_TEXT else terminals_shown(constraint)[terminal]
    before, after = (
        " ".join(str(numbers[state]) for state in states)
        for states in (edge.condition, edge.replacement)
    )
    return f"{name}: {before} ⇒ {after}{'' if edge.reads else ' (reads nothing)'}"


def prefix_machine(world: World, given: Given, *, tokens: tuple[str, ...] = ()) -> Film:
    """The edges of the deterministic automaton that the tokens take, and its stack."""
    constraint = engine_of(world, Pre3Constraint, "pre3")
    numbers = _numbers(constraint.table)
    taken_edges: list[list[tuple[int, PrefixEdge]]] = []

    def show(state: State, came: Came, so_far: bytes) -> Shown:
        _, stack = min(constraint.places(state), key=lambda pair: (-pair[0], pair[1]))
        edges = [] if came is None else _edges_of(constraint, *came, state)
        taken_edges.append(edges)
        rows = (
            Row("edges", tuple(_edge(constraint, *item) for item in edges) or ("∅",)),
            Row("stack", tuple(str(numbers[s]) for s in stack), len(stack) - 1),
        )
        return Shown((View((str(numbers[stack[-1]]),)),), rows)

    film = _taking(world, given, tokens, constraint, (), show)
    graph = _machine(constraint, [edge for some in taken_edges for edge in some])
    frames = []
    for position, frame in enumerate(film.frames):
        some = taken_edges[position] if position < len(taken_edges) else []
        arcs = tuple(
            arc for _, edge in some for arc in arcs_between(graph, *_tops(constraint, edge))
        )
        frames.append(replace(frame, views=(replace(frame.views[0], arcs=arcs),)))
    return replace(film, graphs=(graph,), frames=tuple(frames))


def _tops(constraint: Pre3Constraint, edge: PrefixEdge) -> tuple[tuple[str], tuple[str]]:
    """The nodes that an edge leads from and to: the tops of the stack before and after it."""
    numbers = _numbers(constraint.table)
    return (str(numbers[edge.condition[-1]]),), (str(numbers[edge.replacement[-1]]),)


def _edges_of(
    constraint: Pre3Constraint, before: State, token_id: TokenId, after: State
) -> list[tuple[int, PrefixEdge]]:
    """The edges that complete terminals of a token take, of one of its readings."""
    stacks = {stack for _, stack in constraint.places(after)}
    for lexer_state, stack in constraint.places(before):
        tree = constraint.trees.get(lexer_state)
        for node in () if tree is None else tree.nodes_of(token_id):
            assert tree is not None
            current, taken_edges = stack, list[tuple[int, PrefixEdge]]()
            for terminal in tree.path(node):
                if current in stacks and taken_edges:
                    break
                while (edge := constraint.machine.fitting(current, terminal)) is not None:
                    taken_edges.append((terminal, edge))
                    current = (*current[: len(current) - len(edge.condition)], *edge.replacement)
                    if edge.reads:
                        break
                if edge is None:
                    break
            if current in stacks:
                return taken_edges if current != stack else []
    return []


def _machine(constraint: Pre3Constraint, used: Iterable[tuple[int, PrefixEdge]]) -> Graph:
    """The part of the automaton that some edges are; a mark says what each pops and pushes."""
    names = terminals_shown(constraint)
    states, arcs = {"0": None}, dict[tuple[str, str, str, str], PrefixEdge]()
    for terminal, edge in used:
        (source,), (target,) = _tops(constraint, edge)
        states.update({source: None, target: None})
        pairs = zip(edge.condition, edge.replacement, strict=False)
        kept = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        pops, pushes = len(edge.condition) - kept, len(edge.replacement) - kept
        mark = f"▼{pops} ▲{pushes}" if pops else f"▲{pushes}"
        arcs.setdefault((source, target, names[terminal], mark), edge)
    nodes = tuple(
        Node(state, state, state_kinds(initial=state == "0", final=False), f"state {state}")
        for state in states
    )
    edges = tuple(Edge(source, target, (name,), mark=mark) for source, target, name, mark in arcs)
    return Graph("the edges that are taken", nodes, edges)


def edges(world: World, *, terminal: str) -> Table:
    """The edges for one terminal."""
    constraint = engine_of(world, Pre3Constraint, "pre3")
    names, numbers = terminals_shown(constraint), _numbers(constraint.table)
    if terminal not in names:
        raise LessonError(f"expected a terminal, not {terminal!r}", f"there are {', '.join(names)}")
    rows = []
    for _, which, edge in constraint.machine.every:
        if which == names.index(terminal):
            before, after = (
                tuple(numbers[state] for state in states)
                for states in (edge.condition, edge.replacement)
            )
            reductions = _reductions(constraint, edge, which)
            rows.append((before[::-1], (_state_names(before), _state_names(after), reductions)))
    heads = ("top of the stack", "becomes", "reductions")
    caption = f"The edges that read {terminal}; the top is last"
    return Table(caption, heads, tuple(row for _, row in sorted(rows)))


def _state_names(states: Iterable[int]) -> str:
    return " ".join(map(str, states))


def _reductions(constraint: Pre3Constraint, edge: PrefixEdge, terminal: int) -> str:
    """The nonterminals that the parser reduces to before it reads the terminal."""
    table, states, nonterminals = constraint.table, edge.condition, list[str]()
    while not isinstance(action := table.actions[states[-1]].get(terminal), int):
        if action is None or len(states) <= action.size or len(nonterminals) > len(table.actions):
            break
        nonterminals.append(constraint.reader.parser.names[int(action.nonterminal[1:])])
        states = states[: len(states) - action.size]
        states = (*states, table.gotos[states[-1]][action.nonterminal])
    return ", ".join(nonterminals) or "∅"


def longest_condition(world: World, *, terminal: str) -> float:
    """The most states that an edge for a terminal looks at."""
    return max(len(row[0].split()) for row in edges(world, terminal=terminal).rows)


# -- all five ----------------------------------------------------------------------------------

#: Each engine, with the method that computes its masks.
ENGINES = {
    "this engine": "automaton",
    "xgrammar": "xgrammar",
    "llguidance": "llguidance",
    "GreatGramma": "greatgramma",
    "SynCode": "syncode",
    "Pre³": "pre3",
}


def engines(world: World, *, length: int = 4) -> Table:
    """What each engine computes before the first mask, and how its masks differ."""
    rows = []
    for name, method in ENGINES.items():
        comparison = compare_masks(world.grammar, world.vocabulary, method, length=length)
        constraint = constrained(world, {"method": method})
        before = constraint.precompute() if hasattr(constraint, "precompute") else None
        rows.append(
            (
                name,
                "rows on demand" if before is None else f"{before.entries:,} entries",
                "" if before is None else f"{before.bytes:,}",
                f"{comparison.allowed_wrongly:,}",
                f"{comparison.forbidden_wrongly:,}",
            )
        )
    heads = ("engine", "before the first mask", "bytes", "allowed wrongly", "forbidden wrongly")
    texts = count_of(comparison.masks, "mask")
    return Table(f"{texts}, after all texts of up to {length} tokens", heads, tuple(rows))


def audited(world: World, *, method: str, text: Sequence[str]) -> Table:
    """The masks of a method and the exact ones, before each token of a text and at its end.

    The walk ends where the method forbids what the text needs.
    """
    exact, other = world.constraint, constrained(world, {"method": method})
    right, state, rows = exact.initial, other.initial, list[tuple[str, ...]]()
    ids = (*ids_of(world, text), world.vocabulary.end)
    for position, token_id in enumerate(ids):
        assert token_id is not None, "a lesson's vocabulary has an end token"
        wanted, mask = set(exact.mask(right)), set(other.mask(state))
        differing = ("  ".join(_chips(world, ids)) for ids in (wanted - mask, mask - wanted))
        rows.append((visible("".join(text[:position])) or "(nothing)", world.shown(token_id),
                     str(len(wanted)), *differing))  # fmt: skip
        if token_id not in wanted & mask or token_id == world.vocabulary.end:
            break
        right, state = exact.advance(right, token_id), other.advance(state, token_id)
    heads = ("read", "needed next", "exact mask", "forbidden wrongly", "allowed wrongly")
    return Table(f"The masks of {method} and the exact ones", heads, tuple(rows))


#: For a question: the tokens that an engine decides in one of its ways, and why an allowed token
#: is not among them.
_WAYS: Mapping[str, tuple[type[Any], str, str]] = {
    "the stack decides": (AdaptiveCacheConstraint, "xgrammar", "the entry accepts it"),
    "left to the stack": (GreatGrammaConstraint, "greatgramma", "its sequence is always accepted"),
    "answered by the slice": (LexemeConstraint, "llguidance", "it does not match the regex"),
    "allowed wrongly": (SynCodeConstraint, "syncode", "the exact mask allows it too"),
}


def decided(world: World, *, way: str, after: Sequence[str] = (), slices: str = "json") -> Question:
    """Which tokens an engine decides in one way after some others."""
    if way not in _WAYS:
        raise LessonError(f"expected a way, not {way!r}", f"there are {', '.join(_WAYS)}")
    kind, method, allowed = _WAYS[way]
    options = {"slices": slices} if method == "llguidance" else {}
    constraint: Any = engine_of(world, kind, method, **options)
    state = state_after(world, constraint, after)
    right = state_after(world, world.constraint, after)
    match constraint:
        case AdaptiveCacheConstraint():
            ids = set(constraint.undecided(state))
        case GreatGrammaConstraint():
            places = [
                (lexer_state, constraint.entry(lexer_state, stack[-1]))
                for lexer_state, stack in constraint.places(state)
            ]
            ids = {
                i
                for lexer_state, e in places
                for i in constraint.tokens_of(lexer_state, list(e.depends)).tolist()
            }
        case LexemeConstraint():
            token_slice = constraint.fitting(state)
            ids = (
                set()
                if token_slice is None
                else {i for i, inside in enumerate(token_slice.tokens) if inside}
            )
        case _:
            ids = set(_wrong(world, constraint, state, right))
    mask = world.constraint.mask(right)
    every = choices(world, b"".join(map(token_bytes, after)))

    def why(token_id: int) -> str:
        return allowed if token_id in mask else every[token_id].why

    return options_question(tuple(choice.text for choice in every), ids, why)
