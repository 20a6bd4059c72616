"""Methods compared on one world, and their ends.

Source: Beurer-Kellner et al. 2024 (DOMINO), §3.6.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from workbench.app.lessons.automaton_films import opens_at
from workbench.app.lessons.lesson import Choice, Film, Frame, Given, LessonError, Row, Table
from workbench.app.lessons.mask_films import in_bits, number
from workbench.app.lessons.token_films import choices, taken, taken_row
from workbench.app.lessons.world import KnownModel, World, spelt
from workbench.constraint.compile import compile as compile_constraint
from workbench.constraint.methods.lalr import LalrConstraint
from workbench.constraint.protocol import Constraint, State
from workbench.decoding.generate import generate
from workbench.decoding.kbnf_engine import Advance, Engine
from workbench.decoding.speculative import Counts
from workbench.decoding.template import Template
from workbench.decoding.trace import Step, Trace, perplexity
from workbench.drawing.visible_text import count_of, visible
from workbench.vocabulary.vocabulary import TokenId


def eager(world: World, given: Given, *, tokens: tuple[str, ...] = ()) -> Film:
    """The engine taking tokens: its flags, and what both of them would allow next."""
    if not world.kbnf:
        raise LessonError("expected KBNF in this step: the engine reads nothing else")
    engine = Engine(world.kbnf, world.vocabulary, world.start)
    ids = taken(world, given, tokens)
    frames = [_ending_frame(world, engine, ids, 0, "Nothing is read.")]
    for place, token_id in enumerate(ids):
        flag = engine.advance(token_id)
        if flag is Advance.INVALID:
            state = "it is finished" if engine.is_finished else "the grammar cannot read it here"
            say = f"{world.shown(token_id)}: INVALID, since {state}."
            frames.append(_ending_frame(world, engine, ids, place, say))
            break
        words = (
            "EXHAUSTED: the text is a sentence, and the engine accepts no more tokens"
            if flag is Advance.EXHAUSTED
            else "CONTINUE: no sentence yet"
        )
        frames.append(
            _ending_frame(world, engine, ids, place + 1, f"{world.shown(token_id)}: {words}.")
        )
    return Film((), tuple(frames), "tokens", opens_at(given), ids)


def _ending_frame(
    world: World, engine: Engine, ids: tuple[int, ...], place: int, say: str
) -> Frame:
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


#: A method as a lesson names it: ``{ name = "k = 0", method = "domino", k = 0 }``.
#: With ``template`` a program takes the place of the step's language; ``flexible`` is its variant.
Way = Mapping[str, Any]

#: The exact mask, where a lesson names no method.
EXACT: Way = MappingProxyType({"name": "the exact mask", "method": "automaton"})

#: The darkest shade there is; what a model holds for impossible has no number of bits.
_MOST_BITS = 99.0

#: The tokens a run of a lesson may take.
_LONGEST = 40


def constrained(world: World, way: Way) -> Constraint:
    """The constraint of a method over the world's language and tokens, made once.

    Raises: WorkbenchError for an unknown method.
    """
    settings = {key: value for key, value in way.items() if key != "name"}
    written, loose = settings.pop("template", ""), settings.pop("flexible", False)
    method = settings.pop("method", "automaton")
    return _constrained(world, written, loose, method, tuple(settings.items()))


@lru_cache(maxsize=256)
def _constrained(
    world: World, written: str, loose: bool, method: str, options: tuple[tuple[str, Any], ...]
) -> Constraint:
    grammar = template_of(written, loose).grammar if written else world.grammar
    return compile_constraint(grammar, world.vocabulary, method, **dict(options))


def template_of(written: str, loose: bool = False) -> Template:
    """A template program; with its white space left to the model, where that is wanted.

    Raises: ParseError.
    """
    template = Template.parse(written)
    return template.flexible() if loose else template


def name_of(way: Way) -> str:
    """What a way is called in a figure."""
    return str(way.get("name") or way.get("method", "automaton"))


def surprise(step: Step) -> float:
    """The surprisal of a step's token in bits, before the mask."""
    return step.surprisal / math.log(2)


@dataclass(frozen=True, eq=False)
class Run:
    """What the known model writes under a method, greedily."""

    name: str
    steps: tuple[Step, ...]

    @property
    def spelt(self) -> tuple[Step, ...]:
        """The steps without the end."""
        return tuple(step for step in self.steps if not step.is_end)

    @property
    def text(self) -> str:
        """What was written."""
        return b"".join(step.token for step in self.spelt).decode("utf-8", "replace")

    @property
    def bits(self) -> float:
        """The surprisal of all its tokens together, before the mask; the end left out."""
        return math.fsum(map(surprise, self.spelt))

    @property
    def perplexity(self) -> float:
        """Over the same tokens."""
        return perplexity(step.logprob for step in self.spelt)


def run_of(world: World, way: Way) -> Run:
    """The greedy run of the world's model under a method."""
    constraint = constrained(world, way)
    steps = generate(world.model, constraint, "", max_tokens=_LONGEST, top=len(world.vocabulary))
    return Run(name_of(way), tuple(steps))


def ids_of(world: World, tokens: Sequence[str]) -> tuple[TokenId, ...]:
    """The numbers of tokens as a lesson writes them."""
    return tuple(world.vocabulary.ids(*(spelt(token) for token in tokens)))


def allowed_by(world: World, way: Way, after: Sequence[str] = ()) -> set[TokenId]:
    """The mask of a method after some tokens.

    Raises: TokenNotAllowed where the method forbids one of them.
    """
    constraint = constrained(world, way)
    state = constraint.initial
    for token_id in ids_of(world, after):
        state = constraint.advance(state, token_id)
    return set(map(int, constraint.mask(state).ids))


# -- figures and tables ------------------------------------------------------------------------


def side_by_side(world: World, given: Given, *, methods: Sequence[Way]) -> Film:
    """One model under several methods, token by token; the shade of a token is its surprisal."""
    if not methods:
        raise LessonError("expected methods to lay side by side")
    runs = [run_of(world, way) for way in methods]
    frames = [Frame(_opening(runs), rows=_rows(world, runs, 0))]
    for place in range(max(len(run.spelt) for run in runs)):
        frames.append(Frame(_turn_words(world, runs, place), rows=_rows(world, runs, place + 1)))
    frames.append(Frame(_ending(runs), rows=_rows(world, runs, len(frames))))
    return Film((), tuple(frames))


def _opening(runs: Sequence[Run]) -> str:
    return f"The same model, {len(runs)} masks: nothing else differs."


def _rows(world: World, runs: Sequence[Run], taken: int) -> tuple[Row, ...]:
    rows = []
    for run in runs:
        steps = run.spelt[:taken]
        chips = tuple(world.shown(step.token_id) for step in steps)
        heat = tuple(min(_MOST_BITS, round(surprise(step), 6)) for step in steps)
        rows.append(Row(run.name, chips, taken - 1 if len(steps) == taken else -1, heat))
    return tuple(rows)


def _turn_words(world: World, runs: Sequence[Run], place: int) -> str:
    told = []
    for run in runs:
        if place >= len(run.spelt):
            continue
        step = run.spelt[place]
        words = f"{run.name}: {world.shown(step.token_id)}, {in_bits(surprise(step))}"
        if step.intervened:
            words += f" ({world.shown(step.favourite_id)} is masked)"
        told.append(words)
    return "; ".join(told) + "."


def _ending(runs: Sequence[Run]) -> str:
    told = [
        f"{run.name}: {count_of(len(run.spelt), 'token')}, {in_bits(run.bits)},"
        f" perplexity {number(run.perplexity)}"
        for run in runs
    ]
    return "; ".join(told) + "."


def runs(world: World, *, methods: Sequence[Way]) -> Table:
    """What each method lets the known model write, and how natural it is to the model."""
    rows = []
    for way in methods:
        run = run_of(world, way)
        rows.append(
            (
                run.name,
                visible(run.text),
                str(len(run.spelt)),
                str(sum(step.intervened for step in run.steps)),
                number(run.bits),
                number(run.perplexity),
            )
        )
    heads = ("method", "text", "tokens", "interventions", "bits", "perplexity")
    return Table("The same model under each method", heads, tuple(rows))


def masks(
    world: World, *, methods: Sequence[Way], after: Sequence[str] = (), only: Sequence[str] = ()
) -> Table:
    """Every token after some others: whether each method lets it through."""
    allowed = [allowed_by(world, way, after) for way in methods]
    ids = ids_of(world, only) if only else range(len(world.vocabulary))
    rows = tuple((world.shown(i), *("✓" if i in one else "✗" for one in allowed)) for i in ids)
    where = f"After {visible(''.join(after))}" if after else "At the beginning"
    return Table(where, ("token", *map(name_of, methods)), rows)


def calls(world: World, *, methods: Sequence[Way]) -> Table:
    """What each greedy run asks of the model where single choices are taken without asking.

    Source: Tran-Thien 2024, challenge 3.
    """
    rows = []
    for way in methods:
        run = run_of(world, way)
        asked = [step for step in run.steps if not step.forced]
        told = "  ".join(world.shown(step.token_id) for step in run.steps)
        rows.append((run.name, told, str(len(run.steps)), str(len(asked))))
    heads = ("method", "tokens", "tokens taken", "calls of the model")
    return Table("Calls of the model, single choices skipped", heads, tuple(rows))


def smallest_k(world: World, *, token: str, after: Sequence[str] = ()) -> float:
    """The smallest lookahead with which DOMINO allows a token after some others."""
    (token_id,) = ids_of(world, [token])
    if token_id not in allowed_by(world, EXACT, after):
        raise LessonError("expected a token the grammar allows here")
    k = 0
    while token_id not in allowed_by(world, {"method": "domino", "k": k}, after):
        k += 1
    return k


def warmed(world: World, constraint: Constraint) -> list[Trace]:
    """The step's warm-up runs, as traces.

    Raises: LessonError where it has none.
    """
    if not world.warm:
        raise LessonError("expected warm, the runs to learn from, in this step")
    runs = []
    for tokens in world.warm:
        run = generate(_certain(world, tokens), constraint, "", max_tokens=len(tokens) + 1, top=0)
        for _ in run:
            pass
        runs.append(run.trace)
    return runs


def _certain(world: World, tokens: Sequence[str]) -> KnownModel:
    """A model that writes these tokens and nothing else."""
    texts = ["".join(tokens[:place]) for place in range(len(tokens) + 1)]
    following = zip(texts, (*tokens, "end"), strict=True)
    return KnownModel(world.vocabulary, {text: {token: 1.0} for text, token in following})


def warm_up(world: World, given: Given) -> Film:
    """The runs the counts are learned on."""
    rows = tuple(
        Row(f"run {number}", tuple(map(world.shown, ids_of(world, tokens))))
        for number, tokens in enumerate(world.warm, start=1)
    )
    return Film((), (Frame("Counted is which token was taken at which place.", rows=rows),))


def counts_of(world: World, constraint: Constraint) -> Counts:
    """What the warm-up runs chose under a constraint; earlier tokens are not distinguished."""
    return Counts.learnt(constraint, warmed(world, constraint), memory=0)


def under(world: World, given: Given, *, by: Way, tokens: tuple[str, ...] = ()) -> Film:
    """A reader takes tokens; struck out is what the method forbids, with whose doing it is."""
    constraint, ids = constrained(world, by), taken(world, given, tokens)
    state, so_far = constraint.initial, b""
    frames = [_choice_frame(world, by, constraint, state, so_far, ids, 0, "Nothing is written.")]
    for place, token_id in enumerate(ids):
        token = world.vocabulary.tokens[token_id]
        if token_id not in constraint.mask(state):
            every = _choices(world, by, constraint, state, so_far)
            say = f"{world.shown(token_id)} is not allowed: {every[token_id].why}."
            frames.append(_choice_frame(world, by, constraint, state, so_far, ids, place, say))
            break
        if token is None:
            rows = (taken_row(world, ids, len(ids)),)
            frames.append(Frame("The end: the text is accepted.", rows=rows, good=True))
            break
        state, so_far = constraint.advance(state, token_id), so_far + token
        say = f"{world.shown(token_id)} is taken."
        frames.append(_choice_frame(world, by, constraint, state, so_far, ids, place + 1, say))
    return Film((), tuple(frames), "tokens", opens_at(given), ids)


def _choice_frame(
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
