"""Films of Willard & Louf's index.

The machine is interegular's, as in the method ``outlines``; the paths are computed by
``outlines.find_sub_sequences``.

Source: Willard & Louf 2023, Algorithms 3 and 4.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from workbench.app.lessons.construction_films import arcs_between, set_name
from workbench.app.lessons.lesson import Film, Frame, Given, Row, Table, View
from workbench.app.lessons.lesson_world import World, ids_of, token_bytes
from workbench.app.lessons.mask_films import share, turn
from workbench.app.lessons.online_films import bytes_asked, recogniser, state_after
from workbench.base.dfa import DEAD, Dfa
from workbench.base.source import Source
from workbench.base.visible_text import visible
from workbench.constraint.methods.outlines import (
    CharacterMachine,
    State,
    character_machine,
    find_sub_sequences,
)
from workbench.constraint.protocol import State as AnyState
from workbench.drawing.graph import Edge, Graph, Node, state_kinds
from workbench.drawing.machines import character_label, draw_dfa
from workbench.syntax.ranges import normalized
from workbench.syntax.regex.parser import parse_regex
from workbench.vocabulary.vocabulary import TokenId

#: The characters in the graph of a machine.
_CODES = range(ord(" "), 0x7F)


@dataclass(frozen=True, slots=True)
class Walked:
    """Algorithm 3 from one start state."""

    start: int
    #: The visited states by their new numbers, the start first; those before a failure.
    path: tuple[int, ...]
    #: Whether the whole token was read.
    whole: bool


def machine_of(world: World) -> CharacterMachine:
    """The machine M of the step's regex."""
    return character_machine(parse_regex(Source(world.regex, "lesson")))


def numbers_of(machine: CharacterMachine) -> dict[State, int]:
    """New numbers for its states, in breadth-first order.

    interegular's numbers follow the order of its character sets, which differs in each process.
    """
    numbers = {machine.initial: 0}
    waiting = deque([machine.initial])
    while waiting:
        state = waiting.popleft()
        for code in _CODES:
            symbols = machine.symbols(chr(code)) or ()
            for target in (machine.edges[state].get(symbol) for symbol in symbols):
                if target is not None and target not in numbers:
                    numbers[target] = len(numbers)
                    waiting.append(target)
    return numbers


def walks(machine: CharacterMachine, token: str) -> list[Walked]:
    """Every start state of Algorithm 3, line 4, with its path."""
    symbols = machine.symbols(token)
    if symbols is None:
        return []
    whole = {path[0]: path for path in find_sub_sequences(machine, symbols)}
    paths, numbers = [], numbers_of(machine)
    for start in sorted(machine.readers.get(symbols[0], ()), key=numbers.__getitem__):
        path = [start]
        for symbol in symbols:
            if (target := machine.delta(path[-1], symbol)) is None:
                break
            path.append(target)
        numbered = tuple(numbers[state] for state in whole.get(start, tuple(path)))
        paths.append(Walked(numbered[0], numbered, start in whole))
    return paths


def drawn(machine: CharacterMachine, name: str) -> Graph:
    """The machine, not reduced, with new state numbers."""
    numbers = numbers_of(machine)
    nodes = tuple(
        Node(
            str(number),
            str(number),
            state_kinds(initial=s == machine.initial, final=s in machine.finals),
        )
        for s, number in numbers.items()
    )
    read: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for code in _CODES:
        symbols = machine.symbols(chr(code)) or ()
        for state, row in machine.edges.items():
            for target in (row[symbol] for symbol in symbols if symbol in row):
                pair = numbers[state], numbers[target]
                read.setdefault(pair, []).append((code, code))
    edges = tuple(
        Edge(str(source), str(target), (character_label(normalized(ranges)),))
        for (source, target), ranges in sorted(read.items())
    )
    return Graph(name, nodes, edges)


def algorithms(world: World, given: Given) -> Film:
    """Line by line: the start states of each token, its paths, and the resulting map σ.

    Source: Willard & Louf 2023, Algorithms 3 and 4.
    """
    machine = machine_of(world)
    graph = drawn(machine, f"/{world.regex}/ as interegular makes it")
    sigma: dict[int, list[str]] = {number: [] for number in numbers_of(machine).values()}
    frames = [Frame("σ is empty for every state.", (View(),), _rows(sigma, "", ""))]
    for word in world.words:
        token = word.decode()
        shown, paths = visible(token), walks(machine, token)
        starts = set_name({walk.start for walk in paths}) if paths else "∅"
        words = (
            f"the states that read {visible(token[0])} are {starts}"
            if paths
            else "no state reads it"
        )
        say = f"v = {shown}: {words}."
        lit = tuple(str(walk.start) for walk in paths)
        frames.append(Frame(say, (View(lit),), _rows(sigma, shown, starts)))
        for walk in paths:
            frames.append(_walk_frame(graph, walk, shown, sigma, starts))
    say = "All tokens are done: σ is complete."
    frames.append(Frame(say, (View(),), _rows(sigma, "", "")))
    return Film((graph,), tuple(frames))


def _walk_frame(
    graph: Graph, walk: Walked, shown: str, sigma: dict[int, list[str]], starts: str
) -> Frame:
    ends = tuple(map(str, walk.path))
    arcs = tuple(
        arc for first, other in pairwise(ends) for arc in arcs_between(graph, (first,), (other,))
    )
    path = " → ".join(ends)
    if walk.whole:
        sigma[walk.start].append(shown)
        say = f"From {walk.start}: {path}. The path is kept, and {shown} goes into σ({walk.start})."
    else:
        failed = visible(shown[len(walk.path) - 1 :][:1])
        say = f"From {walk.start}: {path}, and there δ has nothing for {failed}: p is dropped."
    return Frame(say, (View((ends[-1],), arcs),), _rows(sigma, shown, starts, walk.start))


def _rows(
    sigma: dict[int, list[str]], token: str, starts: str, state: int | None = None
) -> tuple[Row, ...]:
    token_row = Row("token", (f"v = {token}", f"δ(·, v₀) = {starts}") if token else ("none yet",))
    listed = (
        Row(f"σ({s})", tuple(tokens) or ("∅",), len(tokens) - 1 if s == state else -1)
        for s, tokens in sigma.items()
    )
    return (token_row, *listed)


def sub_sequences(world: World) -> Table:
    """What Algorithm 3 returns for every token."""
    machine, rows = machine_of(world), []
    for word in world.words:
        paths = walks(machine, word.decode())
        starts = set_name({walk.start for walk in paths}) if paths else "∅"
        kept = "  ".join(_path(walk.path) for walk in paths if walk.whole) or "∅"
        lost = "  ".join(str(walk.start) for walk in paths if not walk.whole)
        rows.append((visible(word), starts, kept, lost))
    heads = ("token v", "states that read v₀", "sub-sequences", "dropped from")
    return Table("Algorithm 3 on every token", heads, tuple(rows))


def _path(path: Sequence[int]) -> str:
    return "→".join(map(str, path))


def paths(world: World, *, token: str) -> float:
    """The number of sub-sequences that Algorithm 3 returns for a token."""
    return sum(walk.whole for walk in walks(machine_of(world), token))


def read_states(dfa: Dfa, state: int, token: bytes) -> list[int]:
    """The states visited while reading a token from a state; those before a failure."""
    visited = [state]
    for byte in token:
        if (state := dfa.step(state, byte)) == DEAD:
            return visited
        visited.append(state)
    return visited


def index(world: World, given: Given) -> Film:
    """Every token tried from every state, and the resulting map σ.

    Source: Willard & Louf 2023, Algorithms 3 and 4.
    """
    dfa, graph = world.dfa, draw_dfa(world.dfa, f"/{world.regex}/")
    sigma: list[list[str]] = [[] for _ in range(len(dfa))]
    frames = [Frame("The map σ is empty for every state.", (View(),), _sigma_rows(sigma, -1))]
    for token in world.words:
        for state in range(len(dfa)):
            visited = read_states(dfa, state, token)
            ends = tuple(map(str, visited))
            arcs = tuple(
                a
                for i in range(len(visited) - 1)
                for a in arcs_between(graph, (ends[i],), (ends[i + 1],))
            )
            if len(visited) == len(token) + 1:
                sigma[state].append(visible(token))
                path = " → ".join(ends)
                name = visible(token)
                say = f"{name} from state {state}: {path}. It is entered in σ({state})."
            else:
                failed = visible(token[len(visited) - 1 : len(visited)])
                last = visited[-1]
                say = f"{visible(token)} from state {state}: no edge for {failed} in state {last}."
            frames.append(Frame(say, (View((ends[-1],), arcs),), _sigma_rows(sigma, state)))
    frames.append(
        Frame(
            "Every token has been tried from every state: the index is complete.",
            (View(),),
            _sigma_rows(sigma, -1),
        )
    )
    return Film((graph,), tuple(frames))


def _sigma_rows(sigma: list[list[str]], state: int) -> tuple[Row, ...]:
    return tuple(
        Row(f"σ({s})", tuple(tokens) or ("∅",), len(tokens) - 1 if s == state else -1)
        for s, tokens in enumerate(sigma)
    )


def trie_walk(world: World, given: Given, *, after: str = "") -> Film:
    """The trie of the tokens, node by node; below a byte that cannot be read it is skipped."""
    machine = recogniser(world, world.vocabulary)
    words = sorted(set(world.words))
    prefixes = sorted({word[:end] for word in words for end in range(len(word) + 1)})
    graph = _trie_graph(prefixes, set(words))
    number = {prefix: str(i) for i, prefix in enumerate(prefixes)}
    states: dict[bytes, AnyState] = {b"": state_after(machine, token_bytes(after))}
    allowed, dead, steps = list[str](), set[bytes](), 0
    frames = [_trie_frame("The walk begins at the root.", "0", allowed, dead, number, 0)]
    for prefix in prefixes[1:]:
        if any(prefix.startswith(branch) for branch in dead):
            continue
        steps += 1
        state = machine.step(states[prefix[:-1]], prefix[-1])
        if state is None:
            dead.add(prefix)
            below = sum(word.startswith(prefix) for word in words)
            skipped = f"{below} token{'s are' if below != 1 else ' is'} skipped"
            say = f"{visible(prefix)} cannot be read: {skipped}."
        else:
            states[prefix] = state
            say = f"{visible(prefix)} can be read."
            if prefix in words and machine.is_coaccessible(state):
                allowed.append(visible(prefix))
                say = f"{visible(prefix)} can be read, and is a token: allowed."
            elif prefix in words:
                say = f"{visible(prefix)} can be read, but no tokens continue from there."
        frames.append(_trie_frame(say, number[prefix], allowed, dead, number, steps))
    say = f"{steps} bytes tested for {len(words)} tokens."
    frames.append(_trie_frame(say, None, allowed, dead, number, steps))
    return Film((graph,), tuple(frames))


def _trie_graph(prefixes: Sequence[bytes], words: set[bytes]) -> Graph:
    number = {prefix: str(i) for i, prefix in enumerate(prefixes)}
    nodes = tuple(
        Node(
            number[prefix],
            visible(prefix) if prefix in words else "",
            state_kinds(initial=not prefix, final=prefix in words),
            visible(prefix) or "the root",
        )
        for prefix in prefixes
    )
    edges = tuple(
        Edge(number[prefix[:-1]], number[prefix], (visible(prefix[-1:]),))
        for prefix in prefixes
        if prefix
    )
    return Graph("trie of the tokens", nodes, edges)


def _trie_frame(
    say: str,
    node: str | None,
    allowed: Sequence[str],
    dead: set[bytes],
    number: dict[bytes, str],
    steps: int,
) -> Frame:
    gone = frozenset(
        node_id
        for prefix, node_id in number.items()
        if any(prefix.startswith(branch) for branch in dead)
    )
    rows = (Row("allowed", tuple(allowed)), Row("bytes tested", (str(steps),)))
    return Frame(say, (View((node,) if node else (), dead=gone),), rows)


def top_k(world: World, *, ks: Sequence[int], after: Sequence[str] = ()) -> Table:
    """PICARD's check: the model's k likeliest tokens, and which of them the grammar can read.

    Source: Scholak et al. 2021 (PICARD), §3; Beurer-Kellner et al. 2024, Table 1.
    """
    ids = ids_of(world, after)
    next_turn = turn(world, ids)
    likely = sorted(next_turn.step.wanted, key=lambda c: -c.probability)
    rows = []
    for k in ks:
        first = likely[:k]
        names = "  ".join(world.shown(c.token_id) for c in first)
        good = [c for c in first if c.allowed]
        kept = "  ".join(world.shown(c.token_id) for c in good) or "∅"
        rows.append((str(k), names, kept, share(sum(c.probability for c in good))))
    heads = ("k", "checked", "allowed of them", "probability kept")
    return Table(f"After {visible(''.join(after)) or 'nothing'}", heads, tuple(rows))


def smallest_top(world: World, *, after: Sequence[str] = ()) -> float:
    """The smallest k with which one of the model's likeliest tokens is allowed."""
    likely: list[tuple[TokenId, bool]] = [
        (c.token_id, c.allowed) for c in turn(world, ids_of(world, after)).step.wanted
    ]
    return next(rank for rank, (_, good) in enumerate(likely, start=1) if good)


def asked_flat(world: World, *, after: str = "", how: str = "flat") -> float:
    """The bytes tested for one mask over the step's tokens."""
    return bytes_asked(world, world.vocabulary, how, after)
