"""Texts that must end in a budget: how many tokens an end needs, and the mask that keeps them.

Numbers of tokens here include the end token, as on the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from workbench.app.lessons import stack_films, token_films
from workbench.app.lessons.automaton_films import name_of
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
)
from workbench.app.lessons.lesson_world import World, ids_of, token_bytes
from workbench.base.visible_text import count_of, visible
from workbench.constraint.engine.compose import compose
from workbench.constraint.token_distances import FAR
from workbench.constraint.within_budget import BudgetState, WithinBudget
from workbench.drawing.graph import Graph
from workbench.drawing.machines import draw_token_fsa


def fewest(world: World, *, after: str = "") -> float:
    """The fewest tokens that end a text, the end token included.

    Raises: LessonError for a text that no accepted text begins with.
    """
    constraint = world.constraint
    state = constraint.step_bytes(constraint.initial, token_bytes(after))
    distance = FAR if state is None else constraint.token_distances().distance(state)
    if distance >= FAR:
        raise LessonError(f"expected the beginning of an accepted text, not {after!r}")
    return distance + 1


def _graph(world: World) -> Graph:
    """The machine over tokens, with each state the fewest tokens from it to the end."""
    fsa = compose(world.dfa, world.vocabulary)
    graph = draw_token_fsa(fsa, world.dfa, f"{name_of(world)}, tokens to the end")
    distances = world.constraint.token_distances()
    nodes = tuple(
        replace(
            node,
            label=f"{node.label}: {distances.distance(int(node.id)) + 1}",
            title=f"{count_of(distances.distance(int(node.id)) + 1, 'token')} to the end",
        )
        for node in graph.nodes
    )
    return replace(graph, nodes=nodes)


def distances(world: World, given: Given) -> Film:
    """The breadth-first search backwards: the states of each distance, nearest first."""
    graph, distances = _graph(world), world.constraint.token_distances()
    by_distance: dict[int, list[str]] = {}
    for node in graph.nodes:
        by_distance.setdefault(distances.distance(int(node.id)), []).append(node.id)
    frames, nearer = [], tuple[str, ...]()
    for distance in sorted(by_distance):
        nodes = tuple(by_distance[distance])
        arcs = arcs_between(graph, nodes, nearer)
        say = (
            f"{count_of(distance + 1, 'token')}: a token leads to a state that needs {distance}."
            if distance
            else "1 token: in a final state the end token alone ends the text."
        )
        frames.append(Frame(say, (View(nodes, arcs),)))
        nearer = nodes
    return Film((graph,), tuple(frames))


def within_budget(world: World, given: Given, *, budget: int, tokens: tuple[str, ...] = ()) -> Film:
    """The machine over tokens under a budget; the reader takes tokens that can still end."""
    if world.grammar.is_regular:
        film = token_films.over_tokens(world, given, tokens=tokens)
        film = replace(film, graphs=(_graph(world),))
    else:
        film = stack_films.over_tokens(world, given, tokens=tokens, drawn="rules")
    within = WithinBudget(world.constraint, budget)
    state, frames = within.initial, list[Frame]()
    for position, frame in enumerate(film.frames):
        if position:
            token_id = film.taken[position - 1]
            if frame.good or not _is_allowed(within, state, token_id):
                frames.append(frame if frame.good else _budget_refused(world, frames[-1], token_id))
                break
            state = within.advance(state, token_id)
        remaining, needs = count_of(state.left, "token"), count_of(within.fewest(state), "token")
        row = Row("budget", (f"{remaining} left", f"{needs} needed"), 1)
        chosen = _budget_choices(world, within, state, frame.choices)
        frames.append(replace(frame, rows=(*frame.rows, row), choices=chosen))
    return replace(film, frames=tuple(frames))


def _is_allowed(within: WithinBudget, state: BudgetState, token_id: int) -> bool:
    return token_id in within.mask(state)


def _budget_refused(world: World, before: Frame, token_id: int) -> Frame:
    reason = next((c.why for c in before.choices if c.token_id == token_id), "")
    return replace(before, say=f"{world.shown(token_id)} is not allowed: {reason}.")


def _budget_choices(
    world: World, within: WithinBudget, state: BudgetState, choices: Sequence[Choice]
) -> tuple[Choice, ...]:
    """Every token: those that the grammar allows only if a text ends with the tokens left."""
    return token_films.narrowed(choices, within.mask(state), partial(_too_late, world, state))


def _too_late(world: World, state: BudgetState, token_id: int) -> str:
    target = world.constraint.advance(state.inner, token_id)
    needs = world.constraint.token_distances().distance(target) + 1
    left = count_of(state.left - 1, "token")
    return f"{count_of(needs, 'token')} would be needed after it, and {left} would be left"


def needed_after(world: World, *, after: Sequence[str]) -> Table:
    """For each text the fewest tokens to the end, and those needed after each next token."""
    constraint, rows = world.constraint, []
    distances = constraint.token_distances()
    ids = [i for i, token in enumerate(world.vocabulary.tokens) if token is not None]
    for text in after:
        state = constraint.step_bytes(constraint.initial, token_bytes(text))
        assert state is not None, "the lesson's texts begin accepted ones"
        mask = constraint.mask(state)
        cells = [
            str(distances.distance(constraint.advance(state, i)) + 1) if i in mask else "✗"
            for i in ids
        ]
        rows.append((visible(text) or "(nothing)", str(distances.distance(state) + 1), *cells))
    heads = ("read", "needed", *(f"after {world.shown(i)}" for i in ids))
    return Table("Tokens to the end, the end token included", heads, tuple(rows))


def allowed_within(world: World, *, after: Sequence[str], left: int) -> Question:
    """Which tokens are allowed after some tokens if a number of tokens is left."""
    within = WithinBudget(world.constraint, len(after) + left)
    state = within.initial
    for token_id in ids_of(world, after):
        state = within.advance(state, token_id)
    text = b"".join(map(token_bytes, after))
    every = _budget_choices(world, within, state, token_films.choices(world, text))
    return token_films.allowed_question(every)
