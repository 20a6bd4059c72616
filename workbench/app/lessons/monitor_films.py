"""Programs that a grammar accepts and that mean nothing: what a monitor takes from the mask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from workbench.app.lessons import stack_films, token_films
from workbench.app.lessons.lesson import (
    Choice,
    Film,
    Frame,
    Given,
    LessonError,
    Question,
    Row,
    Table,
    options_question,
)
from workbench.app.lessons.lesson_world import World, token_bytes
from workbench.base.limits import LIMITS
from workbench.base.visible_text import visible
from workbench.constraint.combined import PairState
from workbench.constraint.monitored import Monitored
from workbench.grammar.monitors.monitor import MONITORS, Monitor


def _monitor(name: str) -> Monitor:
    if name not in MONITORS:
        raise LessonError(f"expected a monitor, not {name!r}", f"there are {', '.join(MONITORS)}")
    return MONITORS[name].make(LIMITS)


def _monitored_constraint(world: World, name: str) -> Monitored:
    # a lesson's grammar has a part of the monitor's programs, so it need not fit
    return Monitored(world.constraint, _monitor(name), LIMITS)


def _after(joined: Monitored, tokens: Sequence[str]) -> PairState:
    state = joined.initial
    for token_id in joined.vocabulary.ids(*map(token_bytes, tokens)):
        state = joined.advance(state, token_id)
    return state


def _why(joined: Monitored, so_far: bytes, token_id: int) -> str:
    token = joined.vocabulary.tokens[token_id]
    reason = joined.monitor.why(so_far, token)
    return reason or "no tokens lead from here to the end of a program with a meaning"


def _monitor_choices(
    joined: Monitored, state: PairState, so_far: bytes, choices: Sequence[Choice]
) -> tuple[Choice, ...]:
    """Every token: those that the grammar allows only if the monitor allows them too."""
    return token_films.narrowed(choices, joined.mask(state), partial(_why, joined, so_far))


def monitored(world: World, given: Given, *, monitor: str, tokens: tuple[str, ...] = ()) -> Film:
    """The machine of the rules under a monitor; the reader takes tokens that both allow."""
    film = stack_films.over_tokens(world, given, tokens=tokens, drawn="rules")
    joined = _monitored_constraint(world, monitor)
    state, so_far, frames = joined.initial, b"", list[Frame]()
    for position, frame in enumerate(film.frames):
        if position:
            token_id = film.taken[position - 1]
            if frame.good:
                frames.append(frame)
                break
            if token_id not in joined.mask(state):
                why = _why(joined, so_far, token_id)
                say = f"{world.shown(token_id)} is not allowed: {why}."
                frames.append(replace(frames[-1], say=say))
                break
            state = joined.advance(state, token_id)
            so_far += world.vocabulary.tokens[token_id] or b""
        chosen = _monitor_choices(joined, state, so_far, frame.choices)
        counts = (sum(each.allowed for each in frame.choices), sum(c.allowed for c in chosen))
        row = Row("allowed", (f"grammar: {counts[0]}", f"with the monitor: {counts[1]}"), 1)
        frames.append(replace(frame, rows=(*frame.rows, row), choices=chosen))
    return replace(film, frames=tuple(frames))


def meanings(world: World, *, monitor: str, texts: Sequence[str]) -> Table:
    """Which texts the grammar accepts, which of them the monitor accepts, and why not."""
    instance, rows = _monitor(monitor), []
    for text in texts:
        reason = _monitor_refused(instance, text)
        parses = "✓" if world.grammar.accepts(text) else "✗"
        rows.append((visible(text), parses, "✗" if reason else "✓", reason))
    return Table("Form and meaning", ("program", "parses", "has a meaning", "because"), tuple(rows))


def _monitor_refused(monitor: Monitor, text: str) -> str:
    """Why a monitor refuses a whole text; empty if it accepts it."""
    data = text.encode()
    return monitor.why(b"", data) or monitor.why(data, None)


def taken_away(world: World, *, monitor: str, after: Sequence[Sequence[str]]) -> Table:
    """For each beginning the tokens that the grammar allows, and those that the monitor removes."""
    joined, rows = _monitored_constraint(world, monitor), []
    for tokens in after:
        state = _after(joined, tokens)
        wide, mask = joined.a.mask(state[0]), joined.mask(state)
        allowed = "  ".join(world.shown(i) for i in mask)
        gone = "  ".join(world.shown(i) for i in wide if i not in mask) or "none"
        rows.append((visible("".join(tokens)), allowed, gone))
    return Table("What the monitor removes", ("read", "allowed", "removed"), tuple(rows))


def allowed_under(world: World, *, monitor: str, after: Sequence[str]) -> Question:
    """Which tokens are allowed after some tokens under a monitor."""
    joined = _monitored_constraint(world, monitor)
    text = b"".join(map(token_bytes, after))
    every = _monitor_choices(joined, _after(joined, after), text, token_films.choices(world, text))
    return token_films.allowed_question(every)


def programs(world: World, *, monitor: str, options: Sequence[str]) -> Question:
    """Which of these programs have a meaning."""
    reasons = [_monitor_refused(_monitor(monitor), text) for text in options]
    right = {i for i, reason in enumerate(reasons) if not reason}
    return options_question(tuple(map(visible, options)), right, reasons.__getitem__)


def removed(world: World, *, monitor: str, after: Sequence[str]) -> float:
    """The number of tokens that a monitor removes from the grammar's mask."""
    joined = _monitored_constraint(world, monitor)
    state = _after(joined, after)
    return len(joined.a.mask(state[0])) - len(joined.mask(state))
