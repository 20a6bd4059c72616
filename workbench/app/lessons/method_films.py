"""Methods compared on one world: runs, masks, calls of the model, warm-up counts.

Source: Beurer-Kellner et al. 2024 (DOMINO), §3.6; Tran-Thien 2024, challenge 3.
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
from workbench.app.lessons.lesson_world import KnownModel, World, ids_of, of_class
from workbench.app.lessons.mask_films import in_bits, number
from workbench.app.lessons.token_films import choices, taken, taken_row
from workbench.base.visible_text import count_of, visible
from workbench.constraint.compile import compile as compile_constraint
from workbench.constraint.methods.lalr import LalrConstraint
from workbench.constraint.protocol import Constraint, State
from workbench.constraint.token_machine import TokenMachine
from workbench.decoding.generate import generate
from workbench.decoding.kbnf_engine import Advance, Engine
from workbench.decoding.speculative import CountProposer
from workbench.decoding.template import Template
from workbench.decoding.trace import Step, Trace, perplexity
from workbench.grammar.notations import Notation
from workbench.vocabulary.vocabulary import TokenId


def eager(world: World, given: Given, *, tokens: tuple[str, ...] = ()) -> Film:
    """KBNF's engine taking tokens: its flags, its allowed tokens, and those of the exact mask."""
    if world.notation is not Notation.KBNF:
        raise LessonError("expected KBNF in this step: the engine reads nothing else")
    engine = Engine(world.text, world.vocabulary, world.start)
    ids = taken(world, given, tokens)
    frames = [_ending_frame(world, engine, ids, 0, "Nothing is read.")]
    for position, token_id in enumerate(ids):
        flag = engine.advance(token_id)
        if flag is Advance.INVALID:
            state = "it is finished" if engine.is_finished else "the grammar cannot read it here"
            say = f"{world.shown(token_id)}: INVALID, since {state}."
            frames.append(_ending_frame(world, engine, ids, position, say))
            break
        words = (
            "EXHAUSTED: the text is a sentence, and the engine accepts no more tokens"
            if flag is Advance.EXHAUSTED
            else "CONTINUE: no sentence yet"
        )
        frames.append(
            _ending_frame(world, engine, ids, position + 1, f"{world.shown(token_id)}: {words}.")
        )
    return Film((), tuple(frames), "tokens", opens_at(given), ids)


def _ending_frame(
    world: World, engine: Engine, ids: tuple[int, ...], position: int, say: str
) -> Frame:
    so_far = world.vocabulary.decode(ids[:position])
    constraint = world.constraint
    state = constraint.step_bytes(constraint.initial, so_far)
    exact = () if state is None else tuple(map(world.shown, constraint.mask(state)))
    possible = engine.current_possible_tokens()
    rows = (
        taken_row(world, ids, position),
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


#: A method in a lesson file: ``{ name = "k = 0", method = "domino", k = 0 }``.
#: ``template`` is a program that replaces the step's language; ``flexible`` is its variant.
MethodSpec = Mapping[str, Any]

#: The exact mask, the default.
EXACT: MethodSpec = MappingProxyType({"name": "the exact mask", "method": "automaton"})

#: The surprisal of the darkest shade; tokens of probability 0 have an infinite surprisal.
_MAX_BITS = 99.0

#: Tokens of a lesson's run at most.
_MAX_TOKENS = 40


def constrained(world: World, spec: MethodSpec) -> TokenMachine:
    """The constraint of a method over the world's language and tokens, cached.

    Raises: WorkbenchError for an unknown method.
    """
    settings = {key: value for key, value in spec.items() if key != "name"}
    written, loose = settings.pop("template", ""), settings.pop("flexible", False)
    method = settings.pop("method", "automaton")
    return _build_constraint(world, written, loose, method, tuple(settings.items()))


@lru_cache(maxsize=256)
def _build_constraint(
    world: World, written: str, loose: bool, method: str, options: tuple[tuple[str, Any], ...]
) -> TokenMachine:
    grammar = template_of(written, loose).grammar if written else world.grammar
    return compile_constraint(grammar, world.vocabulary, method, **dict(options))


def template_of(written: str, loose: bool = False) -> Template:
    """A template program; if ``loose``, the model writes its white space.

    Raises: ParseError.
    """
    template = Template.parse(written)
    return template.flexible() if loose else template


def name_of(spec: MethodSpec) -> str:
    """The name of a method in a figure."""
    return str(spec.get("name") or spec.get("method", "automaton"))


def surprise(step: Step) -> float:
    """The surprisal of a step's token in bits, before the mask."""
    return step.surprisal / math.log(2)


@dataclass(frozen=True, eq=False)
class Run:
    """The greedy run of the known model under a method."""

    name: str
    steps: tuple[Step, ...]

    @property
    def text_steps(self) -> tuple[Step, ...]:
        """The steps without the end token."""
        return tuple(step for step in self.steps if not step.is_end)

    @property
    def text(self) -> str:
        """The generated text."""
        return b"".join(step.token for step in self.text_steps).decode("utf-8", "replace")

    @property
    def bits(self) -> float:
        """The sum of the surprisals before the mask, without the end token."""
        return math.fsum(map(surprise, self.text_steps))

    @property
    def perplexity(self) -> float:
        """The perplexity of the same tokens."""
        return perplexity(step.logprob for step in self.text_steps)


def run_of(world: World, spec: MethodSpec) -> Run:
    """The greedy run of the world's model under a method."""
    constraint = constrained(world, spec)
    steps = generate(world.model, constraint, "", max_tokens=_MAX_TOKENS, top=len(world.vocabulary))
    return Run(name_of(spec), tuple(steps))


def allowed_by(world: World, spec: MethodSpec, after: Sequence[str] = ()) -> set[TokenId]:
    """The mask of a method after some tokens.

    Raises: TokenNotAllowed where the method forbids one of them.
    """
    constraint = constrained(world, spec)
    state = constraint.initial
    for token_id in ids_of(world, after):
        state = constraint.advance(state, token_id)
    return set(map(int, constraint.mask(state).ids))


# -- figures and tables ------------------------------------------------------------------------


def side_by_side(world: World, given: Given, *, methods: Sequence[MethodSpec]) -> Film:
    """One model under several methods, token by token; the shade of a token is its surprisal."""
    if not methods:
        raise LessonError("expected methods to compare")
    runs = [run_of(world, spec) for spec in methods]
    frames = [Frame(_opening(runs), rows=_rows(world, runs, 0))]
    for position in range(max(len(run.text_steps) for run in runs)):
        frames.append(
            Frame(_turn_words(world, runs, position), rows=_rows(world, runs, position + 1))
        )
    frames.append(Frame(_ending(runs), rows=_rows(world, runs, len(frames))))
    return Film((), tuple(frames))


def _opening(runs: Sequence[Run]) -> str:
    return f"The same model, {len(runs)} masks: nothing else differs."


def _rows(world: World, runs: Sequence[Run], taken: int) -> tuple[Row, ...]:
    rows = []
    for run in runs:
        steps = run.text_steps[:taken]
        chips = tuple(world.shown(step.token_id) for step in steps)
        heat = tuple(min(_MAX_BITS, round(surprise(step), 6)) for step in steps)
        rows.append(Row(run.name, chips, taken - 1 if len(steps) == taken else -1, heat))
    return tuple(rows)


def _turn_words(world: World, runs: Sequence[Run], position: int) -> str:
    parts = []
    for run in runs:
        if position >= len(run.text_steps):
            continue
        step = run.text_steps[position]
        words = f"{run.name}: {world.shown(step.token_id)}, {in_bits(surprise(step))}"
        if step.intervened:
            words += f" ({world.shown(step.favourite_id)} is masked)"
        parts.append(words)
    return "; ".join(parts) + "."


def _ending(runs: Sequence[Run]) -> str:
    parts = [
        f"{run.name}: {count_of(len(run.text_steps), 'token')}, {in_bits(run.bits)},"
        f" perplexity {number(run.perplexity)}"
        for run in runs
    ]
    return "; ".join(parts) + "."


def runs(world: World, *, methods: Sequence[MethodSpec]) -> Table:
    """The known model's text under each method, with bits and perplexity."""
    rows = []
    for spec in methods:
        run = run_of(world, spec)
        rows.append(
            (
                run.name,
                visible(run.text),
                str(len(run.text_steps)),
                str(sum(step.intervened for step in run.steps)),
                number(run.bits),
                number(run.perplexity),
            )
        )
    heads = ("method", "text", "tokens", "interventions", "bits", "perplexity")
    return Table("The same model under each method", heads, tuple(rows))


def masks(
    world: World,
    *,
    methods: Sequence[MethodSpec],
    after: Sequence[str] = (),
    only: Sequence[str] = (),
) -> Table:
    """Every token after some others: whether each method allows it."""
    allowed = [allowed_by(world, spec, after) for spec in methods]
    ids = ids_of(world, only) if only else range(len(world.vocabulary))
    rows = tuple((world.shown(i), *("✓" if i in mask else "✗" for mask in allowed)) for i in ids)
    where = f"After {visible(''.join(after))}" if after else "At the beginning"
    return Table(where, ("token", *map(name_of, methods)), rows)


def calls(world: World, *, methods: Sequence[MethodSpec]) -> Table:
    """The calls of the model in each greedy run, if single choices need no call.

    Source: Tran-Thien 2024, challenge 3.
    """
    rows = []
    for spec in methods:
        run = run_of(world, spec)
        called = [step for step in run.steps if not step.forced]
        tokens = "  ".join(world.shown(step.token_id) for step in run.steps)
        rows.append((run.name, tokens, str(len(run.steps)), str(len(called))))
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

    Raises: LessonError where the step has none.
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
    """A model that gives these tokens probability 1."""
    texts = ["".join(tokens[:length]) for length in range(len(tokens) + 1)]
    following = zip(texts, (*tokens, "end"), strict=True)
    return KnownModel(world.vocabulary, {text: {token: 1.0} for text, token in following})


def warm_up(world: World, given: Given) -> Film:
    """The runs from which counts are learnt."""
    rows = tuple(
        Row(f"run {number}", tuple(map(world.shown, ids_of(world, tokens))))
        for number, tokens in enumerate(world.warm, start=1)
    )
    return Film((), (Frame("Counted is which token was taken at which place.", rows=rows),))


def counts_of(world: World, constraint: Constraint) -> CountProposer:
    """The counts of the warm-up runs under a constraint, without earlier tokens (memory 0)."""
    return CountProposer.learnt(constraint, warmed(world, constraint), memory=0)


def under(world: World, given: Given, *, by: MethodSpec, tokens: tuple[str, ...] = ()) -> Film:
    """The reader takes tokens; forbidden tokens are struck out, with the reason."""
    constraint, ids = constrained(world, by), taken(world, given, tokens)
    state, so_far = constraint.initial, b""
    frames = [_choice_frame(world, by, constraint, state, so_far, ids, 0, "Nothing is written.")]
    for position, token_id in enumerate(ids):
        token = world.vocabulary.tokens[token_id]
        if token_id not in constraint.mask(state):
            every = _choices(world, by, constraint, state, so_far)
            say = f"{world.shown(token_id)} is not allowed: {every[token_id].why}."
            frames.append(_choice_frame(world, by, constraint, state, so_far, ids, position, say))
            break
        if token is None:
            rows = (taken_row(world, ids, len(ids)),)
            frames.append(Frame("The end: the text is accepted.", rows=rows, good=True))
            break
        state, so_far = constraint.advance(state, token_id), so_far + token
        say = f"{world.shown(token_id)} is taken."
        frames.append(_choice_frame(world, by, constraint, state, so_far, ids, position + 1, say))
    return Film((), tuple(frames), "tokens", opens_at(given), ids)


def _choice_frame(
    world: World,
    by: MethodSpec,
    constraint: TokenMachine,
    state: State,
    so_far: bytes,
    ids: Sequence[TokenId],
    position: int,
    say: str,
) -> Frame:
    rows = [taken_row(world, tuple(ids), position)]
    if by.get("method") == "lalr":
        rows += _parser_rows(of_class(LalrConstraint, constraint), state)
    return Frame(say, rows=tuple(rows), choices=_choices(world, by, constraint, state, so_far))


def _choices(
    world: World, by: MethodSpec, constraint: TokenMachine, state: State, so_far: bytes
) -> tuple[Choice, ...]:
    mask = constraint.mask(state)
    return tuple(
        Choice(c.token_id, c.text, c.token_id in mask, "" if c.token_id in mask else _why(c, by))
        for c in choices(world, so_far)
    )


def _why(choice: Choice, by: MethodSpec) -> str:
    return f"the grammar can read it, {name_of(by)} forbids it" if choice.allowed else choice.why


def _parser_rows(constraint: LalrConstraint, state: State) -> list[Row]:
    """The terminals being read, and those the parser accepts after them."""
    reader = constraint.reader
    names = [terminal.name for terminal in reader.terminals.each]
    inside = dict.fromkeys(names[terminal] for _, terminal, _ in state if terminal >= 0)
    accepted = dict.fromkeys(
        names[terminal]
        for stack in reader.after_terminals(state)
        for terminal in reader.parser.accepts(stack)[0]
    )
    return [
        Row("in terminal", tuple(inside) or ("none",)),
        Row("parser accepts", tuple(accepted) or ("nothing yet",)),
    ]
