"""A film of Willard & Louf's index: every token is tried from every state of an automaton."""

from __future__ import annotations

from workbench.automata.dfa import DEAD, Dfa
from workbench.drawing.machines import draw_dfa
from workbench.drawing.text import visible
from workbench.lessons.lesson import Film, Frame, Given, Row, View
from workbench.lessons.running import arcs_between
from workbench.lessons.world import World


def walk(dfa: Dfa, state: int, token: bytes) -> list[int]:
    """The states met while reading a token from a state; those before the failure, if it fails."""
    met = [state]
    for byte in token:
        if (state := dfa.step(state, byte)) == DEAD:
            return met
        met.append(state)
    return met


def index(world: World, given: Given) -> Film:
    """Every token tried from every state, and the map σ that comes of it.

    Source: Willard & Louf 2023, Algorithms 3 and 4.
    """
    dfa, graph = world.dfa, draw_dfa(world.dfa, f"/{world.regex}/")
    sigma: list[list[str]] = [[] for _ in range(len(dfa))]
    frames = [Frame("The map σ is empty for every state.", (View(),), _sigma_rows(sigma, -1))]
    for token in world.words:
        for state in range(len(dfa)):
            met = walk(dfa, state, token)
            ends = tuple(map(str, met))
            arcs = tuple(
                a
                for i in range(len(met) - 1)
                for a in arcs_between(graph, (ends[i],), (ends[i + 1],))
            )
            if len(met) == len(token) + 1:
                sigma[state].append(visible(token))
                path = " → ".join(ends)
                name = visible(token)
                say = f"{name} from state {state}: {path}. It is entered in σ({state})."
            else:
                failed = visible(token[len(met) - 1 : len(met)])
                say = (
                    f"{visible(token)} from state {state}: no edge for {failed} in state {met[-1]}."
                )
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
