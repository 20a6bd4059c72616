"""Films of automata that read a text.

They show the states of the engine's machine, and their sentences are derived from them.
"""

from __future__ import annotations

from workbench.app.lessons.construction_films import arcs_between, set_name
from workbench.app.lessons.lesson import Film, Frame, Given, Row, View
from workbench.app.lessons.lesson_world import World
from workbench.automata.nfa import Nfa
from workbench.base.dfa import DEAD, Dfa
from workbench.base.visible_text import visible
from workbench.drawing.graph import Graph
from workbench.drawing.machines import draw_dfa, draw_nfa

#: Characters of a typed text, and taken tokens, at most.
MAX_INPUT = 60


def characters(world: World, given: Given, *, text: str = "") -> Film:
    """The minimal automaton reading a text, character by character."""
    dfa, graph = world.dfa, draw_dfa(world.dfa, name_of(world))
    read = given if isinstance(given, str) else text
    frames = [_reading_frame(graph, dfa, dfa.initial, read, 0, "The machine starts in state 0.")]
    state = dfa.initial
    for position, character in enumerate(read):
        target = dfa.run(character.encode(), state)
        if target == DEAD:
            say = f"No edge for {visible(character)} leaves state {state}: the text is rejected."
            frames.append(_reading_frame(graph, dfa, None, read, position, say))
            return Film((graph,), tuple(frames), "text", opens_at(given))
        say = f"It reads {visible(character)} and goes from state {state} to state {target}."
        frames.append(_reading_frame(graph, dfa, target, read, position + 1, say, state))
        state = target
    if read:
        final = dfa.is_final(state)
        ends = "a final state: the text is accepted" if final else "which is not final: rejected"
        frames.append(
            _reading_frame(graph, dfa, state, read, len(read), f"It ends in state {state}, {ends}.")
        )
    return Film((graph,), tuple(frames), "text", opens_at(given))


def opens_at(given: Given) -> int:
    """The first frame shown: the beginning of the lesson's input, the end of a reader's."""
    return 0 if given is None else -1


def name_of(world: World) -> str:
    """The name of a world's automaton in a picture."""
    return f"/{world.regex}/" if world.regex else "character automaton"


def _reading_frame(
    graph: Graph,
    dfa: Dfa,
    state: int | None,
    text: str,
    position: int,
    say: str,
    came: int | None = None,
) -> Frame:
    lit = () if state is None else (str(state),)
    arcs = () if came is None else arcs_between(graph, (str(came),), lit)
    good = (
        None
        if state is not None and position < len(text)
        else state is not None and dfa.is_final(state)
    )
    return Frame(say, (View(lit, arcs),), reading(text, position), good=good if text else None)


def reading(text: str, position: int) -> tuple[Row, ...]:
    """The text as a row; the character before ``position`` was just read. None if it is empty."""
    if not text:
        return ()
    chips = tuple(map(visible, text))
    return (Row("reads", chips, position - 1, next=position if position < len(text) else -1),)


def nondeterministic(world: World, given: Given, *, text: str = "") -> Film:
    """Thompson's automaton reading a text: all states it can be in."""
    nfa, graph = world.nfa, draw_nfa(world.nfa, name_of(world))
    read = given if isinstance(given, str) else text
    states = closure(nfa, {nfa.initial})
    frames = [
        _states_frame(graph, nfa, states, read, 0, "It may start in {}, ε-edges cost nothing.")
    ]
    for position, character in enumerate(read):
        after = states
        for byte in character.encode():
            after = closure(nfa, moved(nfa, after, byte))
        if not after:
            say = f"None of these states has an edge for {visible(character)}: rejected."
            frames.append(_states_frame(graph, nfa, after, read, position, say))
            break
        say = f"After {visible(read[: position + 1])} it may be in {{}}."
        frames.append(_states_frame(graph, nfa, after, read, position + 1, say, states))
        states = after
    return Film((graph,), tuple(frames), "text", opens_at(given))


def _states_frame(
    graph: Graph,
    nfa: Nfa,
    states: frozenset[int],
    text: str,
    position: int,
    say: str,
    came: frozenset[int] = frozenset(),
) -> Frame:
    lit = tuple(str(s) for s in sorted(states))
    arcs = arcs_between(graph, tuple(str(s) for s in came), lit)
    arcs = tuple(a for a in arcs if "epsilon" not in graph.edges[a].kinds)
    good = bool(states & nfa.finals) if text and (position == len(text) or not states) else None
    return Frame(
        say.format(set_name(states)), (View(lit, arcs),), reading(text, position), good=good
    )


def closure(nfa: Nfa, states: set[int]) -> frozenset[int]:
    """The ε-closure of some states."""
    reached, waiting = set(states), list(states)
    while waiting:
        for target in nfa.epsilons[waiting.pop()]:
            if target not in reached:
                reached.add(target)
                waiting.append(target)
    return frozenset(reached)


def moved(nfa: Nfa, states: frozenset[int], byte: int) -> set[int]:
    """The states reached by edges with this byte."""
    return {t for s in states for low, high, t in nfa.edges[s] if low <= byte <= high}
