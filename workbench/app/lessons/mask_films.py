"""The effect of masks on a model with known probabilities; masks of budgets and monitors."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from workbench.app.lessons import stack_films, token_films
from workbench.app.lessons.automaton_films import name_of, opens_at
from workbench.app.lessons.construction_films import arcs_between
from workbench.app.lessons.lesson import (
    Bar,
    Choice,
    Film,
    Frame,
    Given,
    LessonError,
    Question,
    Row,
    Table,
    View,
    World,
    options_question,
    token_bytes,
)
from workbench.app.lessons.token_films import taken, taken_row
from workbench.base.limits import LIMITS
from workbench.base.visible_text import visible
from workbench.constraint.combined import Monitored, PairState
from workbench.constraint.engine.compose import compose
from workbench.constraint.engine.token_distances import FAR
from workbench.constraint.within_budget import BudgetState, WithinBudget, token_distances
from workbench.decoding.generate import generate
from workbench.decoding.sampling import Sampling
from workbench.decoding.trace import Step, perplexity
from workbench.drawing.graph import Graph
from workbench.drawing.machines import draw_token_fsa
from workbench.grammar.gallery import recorded_run
from workbench.grammar.monitors.monitor import MONITORS, Monitor
from workbench.vocabulary.vocabulary import TokenId


@dataclass(frozen=True, slots=True)
class Turn:
    """One step of a token sequence, as in the engine's trace."""

    step: Step
    token_id: TokenId

    @property
    def before(self) -> float:
        """The probability of the token before the mask."""
        return next(c.probability for c in self.step.wanted if c.token_id == self.token_id)

    @property
    def after(self) -> float:
        """The probability of the token after the mask; 0 if it is forbidden."""
        found = (c.masked_probability for c in self.step.allowed if c.token_id == self.token_id)
        return next(found, 0.0)

    @property
    def kept(self) -> float:
        """The probability of all allowed tokens."""
        return self.step.kept


def turn(world: World, prefix: tuple[TokenId, ...], token_id: TokenId | None = None) -> Turn:
    """The engine's step after some tokens, for a token or the likeliest allowed one."""
    everything = len(world.vocabulary)
    run = generate(
        world.model, world.constraint, "", Sampling(), max_tokens=1, top=everything, prefix=prefix
    )
    step = next(run)
    return Turn(step, step.token_id if token_id is None else token_id)


def turns(world: World, ids: tuple[TokenId, ...]) -> list[Turn]:
    """A step for each token of a sequence."""
    return [turn(world, ids[:place], token_id) for place, token_id in enumerate(ids)]


def bars(made: Turn, world: World, taken_id: TokenId | None) -> tuple[Bar, ...]:
    """Every token with a probability above 0, likeliest first, before and after the mask."""
    after = {c.token_id: c.masked_probability for c in made.step.allowed}
    return tuple(
        Bar(world.shown(c.token_id), c.probability, after.get(c.token_id), c.token_id == taken_id)
        for c in made.step.wanted
        if c.probability > 0 or after.get(c.token_id)
    )


def bits(probability: float) -> float:
    """−log2 of a probability, its surprisal."""
    return math.inf if probability == 0 else -math.log2(probability)


def number(value: float) -> str:
    """A number for a table: at most two decimals, without trailing zeros."""
    if math.isinf(value):
        return "∞"
    return f"{abs(value):.2f}".rstrip("0").rstrip(".")  # abs: never −0


def in_bits(amount: float) -> str:
    """An amount of bits with its unit."""
    return f"{number(amount)} bit{'' if number(amount) == '1' else 's'}"


def share(value: float) -> str:
    """A probability in per cent, with at most two decimals."""
    return f"{100 * value:.2f}".rstrip("0").rstrip(".") + " %"


def chances(world: World, given: Given, *, tokens: tuple[str, ...] = ()) -> Film:
    """Two columns for every step: the model's probabilities, and those after the mask."""
    ids = taken(world, given, tokens)
    frames = []
    for place, made in enumerate(turns(world, ids)):
        before, after = share(made.before), share(made.after)
        change = f"stays at {after}" if before == after else f"rises from {before} to {after}"
        say = (
            f"The mask keeps {share(made.kept)} of the probability, which costs"
            f" {in_bits(bits(made.kept))}; {world.shown(made.token_id)} {change}."
        )
        rows = (taken_row(world, ids, place), *_sums(made))
        frames.append(Frame(say, (), rows, (), bars(made, world, made.token_id)))
    if not frames:
        made = turn(world, ())
        say = f"Before the mask all tokens share 100 %; the mask keeps {share(made.kept)} of it."
        frames.append(Frame(say, (), (), (), bars(made, world, None)))
    return Film((), tuple(frames), "", opens_at(given))


def _sums(made: Turn) -> Iterator[Row]:
    """Surprisal before = bits removed by the mask + surprisal after."""
    parts = (
        f"surprisal {in_bits(bits(made.before))}",
        f"mask {in_bits(bits(made.kept))}",
        f"after it {in_bits(bits(made.after))}",
    )
    yield Row("bits", parts)


def path_perplexity(world: World, ids: tuple[TokenId, ...]) -> float:
    """exp of the mean surprisal of a sequence, before the mask."""
    return perplexity(math.log(made.before) for made in turns(world, ids))


def path(world: World, *, tokens: Sequence[str]) -> Table:
    """A text token by token: probability, surprisal, kept mass, bits of the mask."""
    ids = tuple(world.vocabulary.ids(*(token_bytes(token) for token in tokens)))
    made = turns(world, ids)
    rows = [
        (
            world.shown(t.token_id),
            share(t.before),
            number(bits(t.before)),
            share(t.kept),
            number(bits(t.kept)),
            share(t.after),
            number(bits(t.after)),
        )
        for t in made
    ]
    numbers = [
        [bits(t.before) for t in made],
        [bits(t.kept) for t in made],
        [bits(t.after) for t in made],
    ]
    totals = [sum(column) for column in numbers]
    rows.append(("together", "", number(totals[0]), "", number(totals[1]), "", number(totals[2])))
    heads = ("token", "before", "bits", "kept", "mask bits", "after", "bits")
    return Table("Token by token", heads, tuple(rows))


def recorded(world: World, *, example: str, first: int = 12) -> Table:
    """The first tokens and the sums of an example's recorded run."""
    run = recorded_run(example) if example.isidentifier() else ""
    if not run:
        raise LessonError(f"expected an example with a recorded run, not {example!r}")
    records = [json.loads(line) for line in run.splitlines()]
    steps = [r for r in records if r["k"] == "step"]
    rows = [
        (
            _token_text(r["token"]),
            str(r["rank"]),
            number(r["s"]),
            share(r["kept"]),
            number(r["m"]),
            f"{r['allowed']:,}",
        )
        for r in steps[:first]
    ]
    asked = [r for r in steps if r["s"] is not None and not r["token"].get("end")]
    together = sum(r["s"] for r in asked)
    taken = sum(r["m"] for r in steps if r["m"] is not None)
    rows.append((f"all {len(steps)}", "", number(together), "", number(taken), ""))
    mean = 2 ** (together / len(asked))
    heads = ("token", "rank", "surprisal (bits)", "kept", "mask bits", "allowed")
    return Table(f"perplexity {number(mean)} over {len(asked)} tokens", heads, tuple(rows))


def _token_text(token: Mapping[str, Any]) -> str:
    if token.get("end"):
        return "end"
    return visible(bytes.fromhex(token["hex"]) if "hex" in token else str(token["text"]))


# -- budgets --------------------------------------------------------------------------------------
# Texts that must end in a budget: how many tokens an end needs, and the mask that keeps them.
#
# Numbers of tokens here include the end token, as on the page.


def _tokens(count: int) -> str:
    return f"{count} token{'s' * (count != 1)}"


def fewest(world: World, *, after: str = "") -> float:
    """The fewest tokens that end a text, the end token included.

    Raises: LessonError for a text that no accepted text begins with.
    """
    constraint = world.constraint
    state = constraint.step_bytes(constraint.initial, token_bytes(after))
    found = FAR if state is None else token_distances(constraint).distance(state)
    if found >= FAR:
        raise LessonError(f"expected the beginning of an accepted text, not {after!r}")
    return found + 1


def _graph(world: World) -> Graph:
    """The machine over tokens, with each state the fewest tokens from it to the end."""
    fsa = compose(world.dfa, world.vocabulary)
    graph = draw_token_fsa(fsa, world.dfa, f"{name_of(world)}, tokens to the end")
    distances = token_distances(world.constraint)
    nodes = tuple(
        replace(
            node,
            label=f"{node.label}: {distances.distance(int(node.id)) + 1}",
            title=f"{_tokens(distances.distance(int(node.id)) + 1)} to the end",
        )
        for node in graph.nodes
    )
    return replace(graph, nodes=nodes)


def distances(world: World, given: Given) -> Film:
    """The breadth-first search backwards: the states of each distance, nearest first."""
    graph, found = _graph(world), token_distances(world.constraint)
    by_distance: dict[int, list[str]] = {}
    for node in graph.nodes:
        by_distance.setdefault(found.distance(int(node.id)), []).append(node.id)
    frames, nearer = [], tuple[str, ...]()
    for distance in sorted(by_distance):
        here = tuple(by_distance[distance])
        arcs = arcs_between(graph, here, nearer)
        say = (
            f"{_tokens(distance + 1)}: a token leads to a state that needs {distance}."
            if distance
            else "1 token: in a final state the end token alone ends the text."
        )
        frames.append(Frame(say, (View(here, arcs),)))
        nearer = here
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
    for place, frame in enumerate(film.frames):
        if place:
            token_id = film.taken[place - 1]
            if frame.good or not _is_allowed(within, state, token_id):
                frames.append(frame if frame.good else _budget_refused(world, frames[-1], token_id))
                break
            state = within.advance(state, token_id)
        left, needs = _tokens(state.left), _tokens(within.fewest(state))
        row = Row("budget", (f"{left} left", f"{needs} needed"), 1)
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
    there = world.constraint.advance(state.inner, token_id)
    needs = token_distances(world.constraint).distance(there) + 1
    return f"{_tokens(needs)} would be needed after it, and {_tokens(state.left - 1)} would be left"


def needed_after(world: World, *, after: Sequence[str]) -> Table:
    """For each text the fewest tokens to the end, and those needed after each next token."""
    constraint, rows = world.constraint, []
    found = token_distances(constraint)
    ids = [i for i, token in enumerate(world.vocabulary.tokens) if token is not None]
    for text in after:
        state = constraint.step_bytes(constraint.initial, token_bytes(text))
        assert state is not None, "the lesson's texts begin accepted ones"
        mask = constraint.mask(state)
        cells = [
            str(found.distance(constraint.advance(state, i)) + 1) if i in mask else "✗" for i in ids
        ]
        rows.append((visible(text) or "(nothing)", str(found.distance(state) + 1), *cells))
    heads = ("read", "needed", *(f"after {world.shown(i)}" for i in ids))
    return Table("Tokens to the end, the end token included", heads, tuple(rows))


def allowed_within(world: World, *, after: Sequence[str], left: int) -> Question:
    """Which tokens are allowed after some tokens if a number of tokens is left."""
    within = WithinBudget(world.constraint, len(after) + left)
    state = within.initial
    for token_id in world.vocabulary.ids(*(token_bytes(token) for token in after)):
        state = within.advance(state, token_id)
    text = b"".join(map(token_bytes, after))
    every = _budget_choices(world, within, state, token_films.choices(world, text))
    return token_films.allowed_question(every)


# -- monitors -------------------------------------------------------------------------------------
# Programs that a grammar accepts and that mean nothing: what a monitor takes from the mask.


def _monitor(name: str) -> Monitor:
    if name not in MONITORS:
        raise LessonError(f"expected a monitor, not {name!r}", f"there are {', '.join(MONITORS)}")
    return MONITORS[name].make(LIMITS)


def _joined(world: World, name: str) -> Monitored:
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
    joined = _joined(world, monitor)
    state, so_far, frames = joined.initial, b"", list[Frame]()
    for place, frame in enumerate(film.frames):
        if place:
            token_id = film.taken[place - 1]
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
    own, rows = _monitor(monitor), []
    for text in texts:
        reason = _monitor_refused(own, text)
        parses = "✓" if world.grammar.accepts(text) else "✗"
        rows.append((visible(text), parses, "✗" if reason else "✓", reason))
    return Table("Form and meaning", ("program", "parses", "has a meaning", "because"), tuple(rows))


def _monitor_refused(monitor: Monitor, text: str) -> str:
    """Why a monitor refuses a whole text; empty if it accepts it."""
    data = text.encode()
    return monitor.why(b"", data) or monitor.why(data, None)


def taken_away(world: World, *, monitor: str, after: Sequence[Sequence[str]]) -> Table:
    """For each beginning the tokens that the grammar allows, and those that the monitor removes."""
    joined, rows = _joined(world, monitor), []
    for tokens in after:
        state = _after(joined, tokens)
        wide, mask = joined.a.mask(state[0]), joined.mask(state)
        left = "  ".join(world.shown(i) for i in mask)
        gone = "  ".join(world.shown(i) for i in wide if i not in mask) or "none"
        rows.append((visible("".join(tokens)), left, gone))
    return Table("What the monitor removes", ("read", "allowed", "removed"), tuple(rows))


def allowed_under(world: World, *, monitor: str, after: Sequence[str]) -> Question:
    """Which tokens are allowed after some tokens under a monitor."""
    joined = _joined(world, monitor)
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
    joined = _joined(world, monitor)
    state = _after(joined, after)
    return len(joined.a.mask(state[0])) - len(joined.mask(state))
