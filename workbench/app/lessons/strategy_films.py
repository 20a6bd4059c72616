"""Films and tables of the forward passes of a run under a strategy.

Source: Beurer-Kellner et al. 2024 (DOMINO), §3.5 and §3.6; Tran-Thien 2024, challenge 3; Koo, Liu &
He 2024, §5.3. The rejection rule is Leviathan et al. 2023, Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from workbench.app.lessons.lesson import Film, Frame, Given, LessonError, Row, Table
from workbench.app.lessons.lesson_world import KnownModel, World, ids_of
from workbench.app.lessons.mask_films import number, share
from workbench.app.lessons.method_films import EXACT, MethodSpec, constrained, counts_of
from workbench.base.visible_text import count_of
from workbench.constraint.protocol import Constraint
from workbench.decoding.generate import generate
from workbench.decoding.model import Logits
from workbench.decoding.opportunistic_masking import LazyMask, OpportunisticMasking
from workbench.decoding.sampling import Sampling
from workbench.decoding.speculative import DraftSpeculation
from workbench.decoding.strategy import JumpForward, Plain, Speculation, Strategy
from workbench.decoding.trace import Step
from workbench.vocabulary.vocabulary import TokenId

Shares = npt.NDArray[np.float64]

#: ``FixedDice`` accepts proposals with at least this probability.
_MIN_ACCEPTED = 0.5


@dataclass(frozen=True, slots=True)
class FixedDice:
    """Deterministic choices instead of random numbers, so that a film is reproducible."""

    def draw(self, shares: Shares) -> int:
        """The index of the largest share, the first of equals."""
        return int(np.argmax(shares))

    def accepts(self, chance: float) -> bool:
        """Whether a proposal with this probability of acceptance is accepted."""
        return chance >= _MIN_ACCEPTED


@dataclass(frozen=True, eq=False)
class Place:
    """The distributions of both models after the same tokens, under the same mask."""

    ids: tuple[TokenId, ...]
    draft: tuple[float, ...]
    target: tuple[float, ...]

    @property
    def accepted(self) -> float:
        """The probability that a proposal is accepted: the sum of both models' minima."""
        return sum(map(min, self.draft, self.target))


def place(world: World, after: Sequence[str], by: MethodSpec) -> Place:
    """The shares of the allowed tokens under each model, at temperature 1."""
    constraint = constrained(world, by)
    state, taken = constraint.initial, ids_of(world, after)
    for token_id in taken:
        state = constraint.advance(state, token_id)
    allowed = constraint.mask(state).ids

    def shares(model: KnownModel) -> tuple[float, ...]:
        logits = model.logits([*model.encode(""), *taken])[allowed]
        return tuple(Sampling(temperature=1.0).shares(logits).tolist())

    return Place(tuple(map(int, allowed)), shares(world.drafter), shares(world.model))


def rejection(world: World, *, after: Sequence[str], by: MethodSpec = EXACT) -> Table:
    """For each token, the probabilities that it is proposed and accepted, or replaces a refusal."""
    position = place(world, after, by)
    refused = 1 - position.accepted
    excess = [max(0.0, p - q) for p, q in zip(position.target, position.draft, strict=True)]
    rows = []
    for token_id, q, p, more in zip(
        position.ids, position.draft, position.target, excess, strict=True
    ):
        kept, instead = min(p, q), refused * more / (sum(excess) or 1)
        if p or q:
            cells = (q, p, min(1.0, p / q) if q else 1.0, kept, instead, kept + instead)
            rows.append((world.shown(token_id), *map(share, cells)))
    kept_sum = share(position.accepted)
    rows.append(("together", share(1), share(1), "", kept_sum, share(refused), share(1)))
    heads = ("token", "draft q", "target p", "accepted", "proposed and kept", "instead", "in all")
    return Table("What is taken is distributed as the target alone", heads, tuple(rows))


def acceptance(world: World, *, after: Sequence[str], by: MethodSpec = EXACT) -> float:
    """The probability that a proposal is accepted, in per cent."""
    return 100 * place(world, after, by).accepted


#: Tokens of a run at most.
_MAX_TOKENS = 60

#: The least joint probability of the guessed tokens.
_MIN_PROBABILITY = 0.3


@dataclass(slots=True)
class _RecordingSession:
    """A session that records the tokens judged in each pass."""

    model: KnownModel
    #: For each pass the number of tokens before the guesses, and the guesses.
    passes: list[tuple[int, tuple[TokenId, ...]]] = field(default_factory=list)

    def logits(self, token_ids: Sequence[TokenId]) -> Logits:
        """The logits of one position."""
        rows: Logits = self.score(token_ids, 1)[0]
        return rows

    def score(self, token_ids: Sequence[TokenId], last: int) -> Logits:
        """The logits of several positions."""
        read = len(token_ids) - last + 1
        self.passes.append((read, tuple(token_ids[read:])))
        return self.model.score(token_ids, last)


@dataclass(frozen=True, eq=False)
class Judged:
    """One pass: its proposed tokens, and the tokens it produced.

    ``forced`` says for each proposal whether the mask allowed only this token; then it is no guess.
    """

    proposed: tuple[TokenId, ...]
    forced: tuple[bool, ...]
    taken: tuple[TokenId, ...]

    @property
    def right(self) -> int:
        """The number of right proposals."""
        return _right(self.proposed, self.taken)

    @property
    def guesses(self) -> int:
        """The number of proposals that are guesses."""
        return self.forced.count(False)

    @property
    def right_guesses(self) -> int:
        """The number of right guesses."""
        return self.forced[: self.right].count(False)


def _right(proposed: Sequence[TokenId], taken: Sequence[TokenId]) -> int:
    pairs = zip(proposed, taken, strict=False)
    return next((i for i, (p, t) in enumerate(pairs) if p != t), len(proposed))


@dataclass(frozen=True, eq=False)
class Passed:
    """A run as its passes; the tokens of ``unasked`` follow them without a pass."""

    steps: tuple[Step, ...]
    passes: tuple[Judged, ...]
    unasked: tuple[TokenId, ...]


def strategy_of(world: World, constraint: Constraint, name: str, tokens: int) -> Strategy:
    """A strategy by its name in lesson files.

    Raises: LessonError for an unknown name.
    """
    match name:
        case "plain":
            return Plain()
        case "skipping":
            return JumpForward()
        case "speculating":
            return Speculation(counts_of(world, constraint), tokens, _MIN_PROBABILITY)
        case "drafting":
            return DraftSpeculation(world.drafter, tokens, random=lambda _: FixedDice())
    raise LessonError(f"expected plain, skipping, speculating or drafting, not {name!r}")


def passed(world: World, by: MethodSpec, strategy: str, tokens: int = 0) -> Passed:
    """The greedy run of the world's model, pass by pass."""
    constraint = constrained(world, by)
    session = _RecordingSession(world.model)
    how = strategy_of(world, constraint, strategy, tokens)
    run = generate(
        world.model, constraint, "", max_tokens=_MAX_TOKENS, top=0, strategy=how, session=session
    )
    steps = tuple(run)
    ids = [step.token_id for step in steps]
    begin = len(world.model.encode(""))
    starts = [read - begin for read, _ in session.passes]
    passes = []
    for index, (_, proposed) in enumerate(session.passes):
        rest = ids[starts[index] :]
        last = index + 1 == len(starts)
        end = _right(proposed, rest) + 1 if last else starts[index + 1] - starts[index]
        forced = _are_forced(constraint, ids[: starts[index]], proposed)
        passes.append(Judged(proposed, forced, tuple(rest[:end])))
    over = sum(len(judged.taken) for judged in passes)
    return Passed(steps, tuple(passes), tuple(ids[over:]))


def _are_forced(
    constraint: Constraint, before: Sequence[TokenId], proposed: Sequence[TokenId]
) -> tuple[bool, ...]:
    """For each proposal, whether the mask allows only this token."""
    state = constraint.initial
    for token_id in before:
        state = constraint.advance(state, token_id)
    forced = []
    for token_id in proposed:
        forced.append(len(constraint.mask(state)) == 1)
        if token_id != constraint.vocabulary.end:
            state = constraint.advance(state, token_id)
    return tuple(forced)


def passes(
    world: World,
    given: Given,
    *,
    strategy: str,
    tokens: int = 0,
    by: MethodSpec = EXACT,
) -> Film:
    """The proposals of each pass and its result."""
    run = passed(world, by, strategy, tokens)
    frames, written = [Frame("Nothing is written yet.", rows=(Row("text", ()),))], list[str]()
    for count, judged in enumerate(run.passes, start=1):
        written += map(world.shown, judged.taken)
        rows = (
            Row("proposed", tuple(map(world.shown, judged.proposed)), _wrong(judged)),
            Row("text", tuple(written), len(written) - 1),
        )
        frames.append(Frame(f"Pass {count}: {_result_words(world, judged)}", rows=rows))
    if run.unasked:
        written += map(world.shown, run.unasked)
        row = Row("text", tuple(written), len(written) - 1)
        tokens_text = " ".join(map(world.shown, run.unasked))
        frames.append(Frame(f"No choice is left: {tokens_text} without a pass.", rows=(row,)))
    say = f"{count_of(len(run.steps), 'token')} in {len(run.passes)} passes."
    frames.append(Frame(say, rows=(Row("text", tuple(written)),)))
    return Film((), tuple(frames))


def _wrong(judged: Judged) -> int:
    return judged.right if judged.right < len(judged.proposed) else -1


def _result_words(world: World, judged: Judged) -> str:
    if not judged.proposed:
        return f"the model writes {world.shown(judged.taken[-1])}."
    if judged.right == len(judged.proposed):
        result = "all proposals are right" if judged.right > 1 else "the proposal is right"
    else:
        wanted = world.shown(judged.taken[judged.right])
        result = f"{judged.right} right, then the model wants {wanted}"
    taken = count_of(len(judged.taken), "token")
    forced = len(judged.proposed) - judged.guesses
    count_text = f"{judged.guesses} guessed" if judged.guesses else ""
    along = f"{forced} forced" if forced else ""
    return f"{' and '.join(filter(None, (count_text, along)))}; {result}. {taken} in one pass."


def strategies(world: World, *, rows: Sequence[MethodSpec], by: MethodSpec = EXACT) -> Table:
    """Passes for the same text under several strategies.

    Source: Beurer-Kellner et al. 2024, Figure 5, with passes in place of seconds.
    """
    lines = []
    plain = passed(world, by, "plain")
    for row in rows:
        tokens = int(row.get("tokens", 0))
        run = passed(world, by, str(row["strategy"]), tokens)
        guesses = sum(judged.guesses for judged in run.passes)
        right = sum(judged.right_guesses for judged in run.passes)
        forced = sum(len(judged.proposed) - judged.guesses for judged in run.passes)
        alike = [s.token_id for s in run.steps] == [s.token_id for s in plain.steps]
        lines.append(
            (
                str(row["name"]),
                str(len(run.steps)),
                str(len(run.passes)),
                number(len(run.steps) / max(1, len(run.passes))),
                f"{right} of {guesses}" if guesses else "",
                str(forced) if forced else "",
                "✓" if alike else "✗",
            )
        )
    heads = ("strategy", "tokens", "passes", "tokens a pass", "guesses right")
    rest = ("forced proposals", "same tokens")
    return Table("The same text in fewer passes", (*heads, *rest), tuple(lines))


def counted(world: World, *, by: MethodSpec = EXACT) -> Table:
    """The warm-up runs' choices at each position of the greedy run: P(l | α, β).

    Source: Beurer-Kellner et al. 2024, §3.6.
    """
    constraint = constrained(world, by)
    counts = counts_of(world, constraint)
    run = passed(world, by, "plain")
    rows, so_far = [], ""
    for step in run.steps:
        guess = counts.propose(constraint, step.state, ())
        cells = ("", "") if guess is None else (world.shown(guess[0]), share(guess[1]))
        rows.append((so_far or "(nothing)", *cells, world.shown(step.token_id)))
        so_far += world.shown(step.token_id)
    heads = ("after", "likeliest in the warm-up", "its share", "the model takes")
    return Table(f"Counted on {len(world.warm)} warm-up runs", heads, tuple(rows))


def pass_count(world: World, *, strategy: str, tokens: int = 0, by: MethodSpec = EXACT) -> float:
    """The number of passes under a strategy."""
    return len(passed(world, by, strategy, tokens).passes)


def chosen_first(world: World, by: MethodSpec) -> list[tuple[Step, bool]]:
    """The steps of an opportunistic run, each with whether its whole mask was computed."""
    constraint, steps = constrained(world, by), []
    run = generate(
        world.model, constraint, "", max_tokens=_MAX_TOKENS, top=0, strategy=OpportunisticMasking()
    )
    for step in run:
        assert isinstance(step.mask, LazyMask), "of an opportunistic run"
        steps.append((step, step.mask.is_computed and not step.is_end))
    return steps


def whole_masks(world: World, *, by: MethodSpec) -> float:
    """The number of masks that an opportunistic run computes."""
    return sum(whole for _, whole in chosen_first(world, by))


def opportunistic(world: World, *, by: MethodSpec = EXACT) -> Table:
    """Token by token: whether the model's choice was allowed, or the whole mask was needed.

    Source: Beurer-Kellner et al. 2024, §3.5 (opportunistic masking).
    """
    rows = []
    for position, (step, whole) in enumerate(chosen_first(world, by), start=1):
        rows.append(
            (
                str(position),
                world.shown(step.favourite_id),
                "✗" if whole else "✓",
                "the whole mask" if whole else "this token alone",
                world.shown(step.token_id),
            )
        )
    heads = ("", "the model's choice", "allowed", "what is computed", "taken")
    return Table("The model's choice is checked first", heads, tuple(rows))
