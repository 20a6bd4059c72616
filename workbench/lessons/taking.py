"""Films of machines over tokens or bytes with the mask after each choice."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.automata.describe import expected
from workbench.automata.dfa import DEAD, Dfa
from workbench.constraint.compose import compose
from workbench.drawing.graph import Edge, Graph, Node
from workbench.drawing.machines import describe_bytes, draw_token_fsa
from workbench.drawing.text import count_of, visible
from workbench.lessons.lesson import Choice, Film, Frame, Given, LessonError, Row, View
from workbench.lessons.running import arcs_between, name_of, opens_at
from workbench.lessons.world import World, spelt
from workbench.syntax.ranges import normalized
from workbench.vocabulary.vocabulary import TokenId


def taken(world: World, given: Given, tokens: tuple[str, ...]) -> tuple[TokenId, ...]:
    """The tokens a reader took, or those the lesson names.

    Raises: LessonError for numbers that are no tokens.
    """
    if isinstance(given, tuple):
        if any(not 0 <= i < len(world.vocabulary) for i in given):
            raise LessonError("expected tokens of this lesson")
        return given
    return tuple(world.vocabulary.ids(*(spelt(token) for token in tokens)))


def choices(world: World, so_far: bytes) -> tuple[Choice, ...]:
    """Every token of the world after a text: allowed or not, and why not."""
    constraint = world.constraint
    state = constraint.step_bytes(constraint.initial, so_far)
    allowed = set() if state is None else set(constraint.mask(state))
    ids = range(len(world.vocabulary))
    return tuple(
        Choice(i, world.shown(i), i in allowed, "" if i in allowed else why(world, so_far, i))
        for i in ids
    )


def why(world: World, so_far: bytes, token_id: TokenId) -> str:
    """What the grammar says to a token that the mask forbids."""
    token = world.vocabulary.tokens[token_id]
    if token is None:
        return f"the text may not end yet: it needs {needed(world, so_far)}"
    verdict = world.grammar.check(so_far + token)
    state = world.constraint.step_bytes(world.constraint.initial, so_far)
    read = 0
    while state is not None and read < len(token):
        if (state := world.constraint.step_bytes(state, token[read : read + 1])) is not None:
            read += 1
    if verdict.byte is None or read == len(token):
        return "no tokens lead from here to the end of an accepted text"
    before = f"reads {visible(token[:read])}, then needs" if read else "needs"
    return f"{before} {needed(world, so_far + token[:read])}"


def needed(world: World, text: bytes) -> str:
    """What can follow a text, in words; bytes where it ends inside a character."""
    verdict = world.grammar.check(text)
    try:
        text.decode()
    except UnicodeDecodeError:
        constraint = world.constraint
        state = constraint.step_bytes(constraint.initial, text)
        follow = [] if state is None else constraint.next_bytes(state)
        return describe_bytes(normalized((byte, byte) for byte in follow)) or "nothing"
    return expected([verdict.expected], end=verdict.may_end) or "nothing"


def over_tokens(world: World, given: Given, *, tokens: tuple[str, ...] = ()) -> Film:
    """The machine over tokens; a reader takes allowed ones and sees the mask of every state."""
    dfa = world.dfa
    graph = draw_token_fsa(compose(dfa, world.vocabulary), dfa, f"{name_of(world)} over tokens")
    frames, here, so_far = [], dfa.initial, b""
    ids = taken(world, given, tokens)
    say = "State 0: these tokens may come first."
    frames.append(_masked(world, graph, here, ids, 0, so_far, say))
    for place, token_id in enumerate(ids):
        token = world.vocabulary.tokens[token_id]
        if token is None:
            frames.append(_ended(world, graph, here, ids, so_far))
            break
        there = dfa.run(token, here)
        if there == DEAD or not allows(world, so_far, token_id):
            say = f"{world.shown(token_id)} is not allowed: {why(world, so_far, token_id)}."
            frames.append(_masked(world, graph, here, ids, place, so_far, say))
            break
        so_far += token
        say = f"{world.shown(token_id)} leads from state {here} to state {there}."
        frames.append(_masked(world, graph, there, ids, place + 1, so_far, say, here, token_id))
        here = there
    return Film((graph,), tuple(frames), "tokens", opens_at(given), ids)


def allows(world: World, so_far: bytes, token_id: TokenId) -> bool:
    """Whether the mask after a text has a token in it."""
    state = world.constraint.step_bytes(world.constraint.initial, so_far)
    return state is not None and token_id in world.constraint.mask(state)


def _masked(
    world: World,
    graph: Graph,
    here: int,
    ids: tuple[TokenId, ...],
    place: int,
    so_far: bytes,
    say: str,
    came: int | None = None,
    token_id: TokenId = 0,
) -> Frame:
    lit = (str(here),)
    arcs = () if came is None else _arcs_of(graph, str(came), str(here), world.shown(token_id))
    rows = (taken_row(world, ids, place),)
    return Frame(say, (View(lit, arcs),), rows, choices(world, so_far))


def _arcs_of(graph: Graph, source: str, target: str, token: str) -> tuple[int, ...]:
    """The edge with this token; the label tells apart those that pass over states."""
    found = arcs_between(graph, (source,), (target,))
    return tuple(a for a in found if token in graph.edges[a].labels) or found


def _ended(world: World, graph: Graph, here: int, ids: tuple[TokenId, ...], so_far: bytes) -> Frame:
    good = world.grammar.accepts(so_far)
    say = "The end: the text is accepted." if good else "The text may not end here."
    rows = (taken_row(world, ids, len(ids)),)
    return Frame(say, (View((str(here),)),), rows, good=good)


def taken_row(world: World, ids: tuple[TokenId, ...], place: int) -> Row:
    """The tokens taken."""
    return Row("tokens", tuple(world.shown(i) for i in ids[:place]), place - 1)


def over_bytes(world: World, given: Given, *, tokens: tuple[str, ...] = ()) -> Film:
    """The automaton as it runs, byte by byte; tokens may stop inside a character."""
    dfa, graph = world.dfa, _byte_graph(world)
    frames, here, so_far = [], dfa.initial, b""
    ids = taken(world, given, tokens)
    say = "The machine starts in state 0; its edges are bytes."
    frames.append(_masked(world, graph, here, ids, 0, so_far, say))
    for place, token_id in enumerate(ids):
        token = world.vocabulary.tokens[token_id]
        if token is None:
            frames.append(_ended(world, graph, here, ids, so_far))
            break
        if not allows(world, so_far, token_id):
            say = f"{world.shown(token_id)} is not allowed: {why(world, so_far, token_id)}."
            frames.append(_masked(world, graph, here, ids, place, so_far, say))
            break
        there = dfa.run(token, here)
        so_far += token
        say = f"{world.shown(token_id)} is {count_of(len(token), 'byte')}: state {there}."
        frame = _masked(world, graph, there, ids, place + 1, so_far, say)
        passed = tuple(_passed(dfa, token, here))
        arcs = tuple(a for s, t in passed for a in arcs_between(graph, (str(s),), (str(t),)))
        frames.append(Frame(frame.say, (View((str(there),), arcs),), frame.rows, frame.choices))
        here = there
    return Film((graph,), tuple(frames), "tokens", opens_at(given), ids)


def _passed(dfa: Dfa, token: bytes, here: int) -> Iterator[tuple[int, int]]:
    for byte in token:
        there = dfa.step(here, byte)
        yield here, there
        here = there


def _byte_graph(world: World) -> Graph:
    """Every state and, for every two, the bytes between them."""
    dfa = world.dfa
    nodes = tuple(
        Node(str(s), str(s), ("initial",) * (s == dfa.initial) + ("final",) * dfa.is_final(s))
        for s in range(len(dfa))
    )
    found: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for state in range(len(dfa)):
        for byte in range(256):
            if (target := dfa.step(state, byte)) != DEAD:
                found.setdefault((state, target), []).append((byte, byte))
    edges = tuple(
        Edge(str(source), str(target), (_bytes_label(normalized(ranges)),))
        for (source, target), ranges in found.items()
    )
    return Graph(f"{name_of(world)} over bytes", nodes, edges)


def _bytes_label(ranges: tuple[tuple[int, int], ...]) -> str:
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1] < 0x80:
        return visible(chr(ranges[0][0]))
    return describe_bytes(ranges)
