"""Sampling from the model's own distribution over a language: ASAp and CARS.

A mask renormalizes the model's probabilities at every token, whatever follows: a prefix that few
valid texts continue is taken as often as the model prefers its next token. So the texts have
another distribution than the model's own, given that a text is valid. Both strategies here learn,
from the texts they have drawn, an upper bound of the probability that a valid text follows a
prefix: 1 if the prefix was never read, 0 if no text continues it, and otherwise the sum over the
next tokens of their probability times the bound after them.

``Asap`` draws each token in proportion to its probability times the bound after it: every draw
gives a text, and the distribution converges to the model's own. ``Cars`` also rejects texts, and
each text it returns has the model's own distribution exactly.

Sources: Park et al. 2024, Grammar-Aligned Decoding (ASAp); Parys et al. 2025, Constrained Adaptive
Rejection Sampling (CARS).
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field

import numpy as np

from workbench.base.arguments import PositiveCount, checked
from workbench.base.errors import WorkbenchError
from workbench.base.visible_text import count_of
from workbench.constraint.masks import TokenMask
from workbench.constraint.protocol import Constraint
from workbench.decoding.candidates import TokenDistribution
from workbench.decoding.model import ForwardPass, Logits, TimedLogits
from workbench.decoding.sampling import Sampling, SamplingError, log_sum
from workbench.decoding.stages import Scores
from workbench.decoding.strategy import DecodingLoop, Steps
from workbench.decoding.trace import Step, StopReason
from workbench.vocabulary.vocabulary import TokenId

#: The most prefixes that are stored; of further ones nothing is learnt.
MAX_PREFIXES = 200_000

#: The smallest bound of a prefix that a valid text may follow: a float may round to 0.
_SMALLEST = 1e-300

#: The most texts that are rejected for one that is accepted.
MAX_ATTEMPTS = 1_000


@dataclass(slots=True, eq=False)
class _Prefix:
    """What is known about a prefix that was read; probabilities are those of the sampling."""

    #: log Σ exp of the logits of all tokens, divided by the temperature.
    log_total: float
    #: The number of allowed tokens, and their probability together.
    allowed: int
    kept: float
    #: The prefixes that are one token longer, with the probability of that token.
    longer: dict[TokenId, tuple[float, _Prefix]] = field(default_factory=dict)
    #: At most this is the probability that a valid text follows.
    bound: float = 1.0

    #: Whether no valid text follows; exact masks have no such prefixes.
    is_dead: bool = False

    def learn(self) -> None:
        """Compute the bound from those of longer prefixes and the tokens that were not taken."""
        afters = [after for _, after in self.longer.values()]
        read = math.fsum(p * after.bound for p, after in self.longer.values())
        unread = max(0.0, self.kept - math.fsum(p for p, _ in self.longer.values()))
        if len(afters) == self.allowed:
            self.is_dead, unread = all(after.is_dead for after in afters), 0.0
        self.bound = read + unread

    def weighted(self, logits: Logits, temperature: float) -> Scores:
        """The logits of the next token, with each probability times the bound after the token."""
        if not self.longer:
            return logits
        afters = [after for _, after in self.longer.values()]
        dead = np.array([after.is_dead for after in afters])
        bounds = np.array([after.bound for after in afters])
        weighted = logits.astype(np.float64)
        weighted[list(self.longer)] += temperature * np.log(np.maximum(bounds, _SMALLEST))
        weighted[np.array(list(self.longer))[dead]] = -np.inf
        return weighted


#: A constraint, a temperature, and the tokens before the text.
_Setting = tuple[Constraint, float, tuple[TokenId, ...]]


class _Prefixes:
    """All prefixes that were read, as a trie for each setting."""

    def __init__(self) -> None:
        self._first: dict[_Setting, _Prefix] = {}
        self.count = 0

    def first(self, loop: DecodingLoop) -> _Prefix | None:
        """The empty prefix of a loop's texts, None if it was never read."""
        return self._first.get(_setting(loop))

    def bound(self, setting: _Setting, token_ids: Sequence[TokenId]) -> float:
        """The bound after some tokens."""
        prefix = self._first.get(setting)
        for token_id in token_ids:
            if prefix is None:
                return 1.0
            prefix = prefix.longer[token_id][1] if token_id in prefix.longer else None
        return 1.0 if prefix is None else prefix.bound

    def add(self, loop: DecodingLoop, path: _Path, scored: TokenDistribution) -> _Prefix:
        """Store the prefix at the end of a path, whose next tokens were scored."""
        # in float64: bounds are differences of sums, and may be a billionth of their terms
        total = log_sum(scored.rows.astype(np.float64) / loop.sampling.temperature)
        within = log_sum(scored.within.astype(np.float64) / loop.sampling.temperature)
        kept = math.exp(min(within - total, 0.0))
        prefix = _Prefix(total, len(scored.ids), kept, bound=kept)
        if self.count < MAX_PREFIXES:
            self.count += 1
            if path.steps:
                path.steps[-1][0].longer[path.steps[-1][1]] = path.probability, prefix
            else:
                self._first[path.setting] = prefix
        return prefix


@dataclass(slots=True, eq=False)
class _Path:
    """The prefixes of the text that is drawn, each with the token taken after it."""

    setting: _Setting
    steps: list[tuple[_Prefix, TokenId]] = field(default_factory=list)
    #: Of the last token after the prefix before it.
    probability: float = 1.0

    def learn(self) -> None:
        """Update the bounds, from the longest prefix to the empty one."""
        for prefix, _ in reversed(self.steps):
            prefix.learn()


def _setting(loop: DecodingLoop) -> _Setting:
    return loop.constraint, loop.sampling.temperature, tuple(loop.context)


def check_drawn(name: str, sampling: Sampling) -> None:
    """Check that a sampling is one whose distribution a strategy can aim at.

    Raises: SamplingError for temperature 0, top-k, top-p, min-p and a repetition penalty.
    """
    if sampling.temperature == 0 or sampling.filters or sampling.penalizes:
        raise SamplingError(
            f"{name} draws from the model's distribution: expected a temperature above 0,"
            " and no top-k, top-p, min-p or repetition penalty",
            "temperature 1 is the model's own distribution",
        )


class _Drawing:
    """Draws one text token by token, with the bounds of an earlier moment; then updates them."""

    def __init__(self, prefixes: _Prefixes, loop: DecodingLoop) -> None:
        self._prefixes, self._loop = prefixes, loop
        self._path = _Path(_setting(loop))
        self.passes = 0
        self._here = prefixes.first(loop)

    def scored(
        self,
    ) -> Generator[ForwardPass, TimedLogits, tuple[TokenDistribution, _Prefix, bool] | None]:
        """The distribution of the next token, its prefix, and whether that was read first now.

        None if the text ends here, for the reason in ``loop.stop``.
        """
        loop = self._loop
        masked = loop.masked(loop.state)
        if not loop.can_continue(masked[0]):
            if loop.stop is StopReason.DEAD_END:
                self._dead_end(masked[0])
            return None
        rows, model_ms = yield from loop.score(())
        self.passes += 1
        scored = loop.distribution(masked, rows[0], model_ms)
        prefix, is_new = self._here, self._here is None
        if prefix is None:
            prefix = self._prefixes.add(loop, self._path, scored)
        return scored, prefix, is_new

    def take(
        self, scored: TokenDistribution, prefix: _Prefix, rng: np.random.Generator
    ) -> Step | None:
        """Draw a token in proportion to its probability times the bound after it.

        None if no valid text follows any allowed token.
        """
        loop, temperature = self._loop, self._loop.sampling.temperature
        self._path.steps.append((prefix, -1))
        if prefix.is_dead:
            loop.end()
            return None
        logits = prefix.weighted(scored.logits, temperature)
        token_id = loop.sampling.choose(logits, scored.mask, rng)
        self._path.steps[-1] = prefix, token_id
        share = float(scored.logits[token_id]) / temperature - prefix.log_total
        self._path.probability = math.exp(min(share, 0.0))
        self._here = prefix.longer[token_id][1] if token_id in prefix.longer else None
        return loop.take(scored, token_id)

    def reject(self, prefix: _Prefix) -> None:
        """End the text at a prefix whose next token was drawn and is not allowed."""
        self._path.steps.append((prefix, -1))

    def learn(self) -> None:
        """Update the bounds by what the drawn text has shown."""
        self._path.learn()

    def _dead_end(self, mask: TokenMask) -> None:
        """Store that no text continues the current prefix; exact masks have no dead ends."""
        if self._here is None and self._path.steps and not len(mask):
            prefix, token_id = self._path.steps[-1]
            prefix.longer[token_id] = (
                self._path.probability,
                _Prefix(0.0, 0, 0.0, bound=0.0, is_dead=True),
            )


class _Learning:
    """A strategy with the prefixes that its earlier texts have read."""

    def __init__(self) -> None:
        self._prefixes = _Prefixes()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._prefixes.count:,} prefixes)"

    def bound(
        self,
        constraint: Constraint,
        temperature: float,
        context: Sequence[TokenId],
        token_ids: Sequence[TokenId] = (),
    ) -> float:
        """The upper bound of the probability that a valid text follows some allowed tokens.

        ``context``  the tokens of the prompt. Without ``token_ids`` it is the bound of the
                     probability that the model writes a valid text.
        """
        return self._prefixes.bound((constraint, temperature, tuple(context)), token_ids)


class Asap(_Learning):
    """Adaptive sampling with approximate expected futures (ASAp).

    An instance learns from every text that it draws, so it is used for many texts of one model:
    the distribution of the next text converges to the model's own. What is learnt for one
    prompt, constraint and temperature is not used for another. Texts that ``max_tokens`` cuts count
    as valid; with ``finish=True`` there are none.

    Cost:   a forward pass for each token, as the plain loop; at most 200,000 prefixes are stored.
    Raises: SamplingError for what ``check_drawn`` refuses.
    Source: Park et al. 2024, Algorithm 1.
    """

    def steps(self, loop: DecodingLoop) -> Steps:
        """Implements ``Strategy``."""
        check_drawn("ASAp", loop.sampling)
        drawing = _Drawing(self._prefixes, loop)
        try:
            while (result := (yield from drawing.scored())) is not None:
                scored, prefix, _ = result
                step = drawing.take(scored, prefix, loop.sampling.rng(loop.index))
                if step is None:
                    return
                yield step
        finally:
            drawing.learn()


class Cars(_Learning):
    """Constrained adaptive rejection sampling (CARS): texts with the model's own distribution.

    A text is drawn without a mask; at its first token that the mask forbids it is rejected, and the
    probability of all forbidden tokens there is subtracted from further draws. Each accepted text
    has the model's own probability, given that the text is valid: one attempt draws it with p(text)
    divided by the bound of the empty prefix, which is the same for all texts. An instance is used
    for many texts of one model, and rejects fewer of them the more it has drawn. Texts that
    ``max_tokens`` cuts count as valid; with ``finish=True`` there are none.

    ``attempts``  the most texts that are rejected for one that is accepted.

    Cost:   ``Trace.discarded_passes`` for the rejected texts; steps come when a text is accepted.
    Raises: SamplingError for what ``check_drawn`` refuses; WorkbenchError after ``attempts``, or
            for fewer than one.
    Source: Parys et al. 2025.
    """

    @checked
    def __init__(self, attempts: PositiveCount = MAX_ATTEMPTS) -> None:
        super().__init__()
        self.attempts = attempts

    def steps(self, loop: DecodingLoop) -> Steps:
        """Implements ``Strategy``."""
        check_drawn("CARS", loop.sampling)
        for attempt in range(self.attempts):
            trial = loop.copy()
            steps, accepted = yield from self._attempt(trial, attempt)
            loop.discarded_passes += trial.discarded_passes
            if accepted:
                yield from loop.become(trial, steps)
                return
            if not loop.has_room():
                return
        raise WorkbenchError(
            f"the model wrote no valid text in {count_of(self.attempts, 'attempt')}",
            "wb.Asap() writes a valid text each time, and its distribution converges",
        )

    def _attempt(
        self, loop: DecodingLoop, attempt: int
    ) -> Generator[ForwardPass, TimedLogits, tuple[list[Step], bool]]:
        """The steps of one text, and whether it is accepted; none of a rejected one."""
        drawing, steps, accepted = _Drawing(self._prefixes, loop), list[Step](), False
        try:
            while (result := (yield from drawing.scored())) is not None:
                scored, prefix, is_new = result
                rng = loop.sampling.rng(loop.index, attempt)
                step = None
                # a prefix read first now: an unmasked draw is allowed with the probability kept
                if is_new and rng.random() >= prefix.kept:
                    drawing.reject(prefix)
                else:
                    step = drawing.take(scored, prefix, rng)
                if step is None:
                    return [], False
                steps.append(step)
            accepted = loop.stop is not StopReason.DEAD_END
            return (steps if accepted else []), accepted
        finally:
            drawing.learn()
            loop.discarded_passes = drawing.passes - (len(steps) if accepted else 0)
