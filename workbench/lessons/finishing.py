"""A film of two ways to end: the KBNF engine's eager end and the exact mask."""

from __future__ import annotations

from workbench.decoding.engine import Advance, Engine
from workbench.lessons.lesson import Choice, Film, Frame, Given, LessonError, Row
from workbench.lessons.running import opens_at
from workbench.lessons.taking import taken, taken_row
from workbench.lessons.world import World


def eager(world: World, given: Given, *, tokens: tuple[str, ...] = ()) -> Film:
    """The engine taking tokens: its flags, and what both of them would allow next."""
    if not world.kbnf:
        raise LessonError("expected KBNF in this step: the engine reads nothing else")
    engine = Engine(world.kbnf, world.vocabulary, world.start)
    ids = taken(world, given, tokens)
    frames = [_frame(world, engine, ids, 0, "Nothing is read.")]
    for place, token_id in enumerate(ids):
        flag = engine.advance(token_id)
        if flag is Advance.INVALID:
            state = "it is finished" if engine.is_finished else "the grammar cannot read it here"
            say = f"{world.shown(token_id)}: INVALID, since {state}."
            frames.append(_frame(world, engine, ids, place, say))
            break
        words = (
            "EXHAUSTED: the text is a sentence, and the engine accepts no more tokens"
            if flag is Advance.EXHAUSTED
            else "CONTINUE: no sentence yet"
        )
        frames.append(_frame(world, engine, ids, place + 1, f"{world.shown(token_id)}: {words}."))
    return Film((), tuple(frames), "tokens", opens_at(given), ids)


def _frame(world: World, engine: Engine, ids: tuple[int, ...], place: int, say: str) -> Frame:
    so_far = world.vocabulary.decode(ids[:place])
    constraint = world.constraint
    state = constraint.step_bytes(constraint.initial, so_far)
    exact = () if state is None else tuple(map(world.shown, constraint.mask(state)))
    possible = engine.current_possible_tokens()
    rows = (
        taken_row(world, ids, place),
        Row("engine allows", tuple(map(world.shown, possible)) or ("nothing",)),
        Row("exact mask allows", exact or ("nothing",)),
    )
    why = "the engine is finished" if engine.is_finished else "the engine refuses it"
    return Frame(
        say,
        (),
        rows,
        tuple(
            Choice(i, world.shown(i), i in possible, "" if i in possible else why)
            for i, token in enumerate(world.vocabulary.tokens)
            if token is not None
        ),
        good=engine.is_finished or None,
    )
