"""Films of tokens chosen under any method, with its mask."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.constraint.outlines.lalr import LalrConstraint
from workbench.constraint.protocol import Constraint, State
from workbench.lessons.lesson import Choice, Film, Frame, Given, Row
from workbench.lessons.methods import Way, constrained, name_of
from workbench.lessons.running import opens_at
from workbench.lessons.taking import choices, taken, taken_row
from workbench.lessons.world import World
from workbench.vocabulary.vocabulary import TokenId


def under(world: World, given: Given, *, by: Way, tokens: tuple[str, ...] = ()) -> Film:
    """A reader takes tokens; struck out is what the method forbids, with whose doing it is."""
    constraint, ids = constrained(world, by), taken(world, given, tokens)
    state, so_far = constraint.initial, b""
    frames = [_frame(world, by, constraint, state, so_far, ids, 0, "Nothing is written.")]
    for place, token_id in enumerate(ids):
        token = world.vocabulary.tokens[token_id]
        if token_id not in constraint.mask(state):
            every = _choices(world, by, constraint, state, so_far)
            say = f"{world.shown(token_id)} is not allowed: {every[token_id].why}."
            frames.append(_frame(world, by, constraint, state, so_far, ids, place, say))
            break
        if token is None:
            rows = (taken_row(world, ids, len(ids)),)
            frames.append(Frame("The end: the text is accepted.", rows=rows, good=True))
            break
        state, so_far = constraint.advance(state, token_id), so_far + token
        say = f"{world.shown(token_id)} is taken."
        frames.append(_frame(world, by, constraint, state, so_far, ids, place + 1, say))
    return Film((), tuple(frames), "tokens", opens_at(given), ids)


def _frame(
    world: World,
    by: Way,
    constraint: Constraint,
    state: State,
    so_far: bytes,
    ids: Sequence[TokenId],
    place: int,
    say: str,
) -> Frame:
    rows = [taken_row(world, tuple(ids), place)]
    if isinstance(constraint, LalrConstraint):
        rows += _parser_rows(constraint, state)
    return Frame(say, rows=tuple(rows), choices=_choices(world, by, constraint, state, so_far))


def _choices(
    world: World, by: Way, constraint: Constraint, state: State, so_far: bytes
) -> tuple[Choice, ...]:
    mask = constraint.mask(state)
    return tuple(
        Choice(c.token_id, c.text, c.token_id in mask, "" if c.token_id in mask else _why(c, by))
        for c in choices(world, so_far)
    )


def _why(choice: Choice, by: Way) -> str:
    return f"the grammar can read it, {name_of(by)} forbids it" if choice.allowed else choice.why


def _parser_rows(constraint: LalrConstraint, state: State) -> list[Row]:
    """What is being read, and the terminals the parser accepts after it."""
    reader = constraint.reader
    names = [terminal.name for terminal in reader.terminals.each]
    inside = dict.fromkeys(names[terminal] for _, terminal, _ in state if terminal >= 0)
    accepted = dict.fromkeys(
        names[terminal]
        for stack in reader.ended(state)
        for terminal in reader.parser.accepts(stack)[0]
    )
    return [
        Row("in terminal", tuple(inside) or ("none",)),
        Row("parser accepts", tuple(accepted) or ("nothing yet",)),
    ]
