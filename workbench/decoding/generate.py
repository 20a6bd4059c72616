"""The decoding loop: in come a model, a constraint and a prompt, out a Step for every token."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from workbench.constraint.mask import TokenMask
from workbench.constraint.protocol import Constraint, State
from workbench.decoding.model import LanguageModel, Session
from workbench.decoding.sampling import Sampling
from workbench.decoding.trace import Candidate, Step, StopReason, Trace
from workbench.decoding.turn import Turn, since
from workbench.errors import TokenNotAllowed, VocabularyError, WorkbenchError
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: The usual sampling: greedy.
GREEDY = Sampling()


def generate(
    model: LanguageModel,
    constraint: Constraint,
    prompt: str | Sequence[TokenId],
    sampling: Sampling = GREEDY,
    *,
    max_tokens: int = 256,
    top: int = 10,
    stop: Callable[[], bool] | None = None,
    skip_single: bool = False,
    prefix: Sequence[TokenId] = (),
    session: Session | None = None,
) -> Generation:
    """Generate under a constraint, one Step a turn; the iterator keeps the Trace so far.

    ``prompt``       text, or the model's own token ids.
    ``max_tokens``   how many tokens this call may take, the end token included.
    ``top``          how many candidates a step remembers, wanted and allowed.
    ``stop``         asked before every token; True ends with StopReason.STOPPED.
    ``skip_single``  where a single token is allowed the model is not asked: faster, but what
                     the model thought of that token stays unknown (its log-probability is nan).
    ``prefix``       tokens already taken after the prompt. With the same seed the generation
                     goes on exactly as it would have: rewinding and forking are other prefixes.
    ``session``      the model's conversation to go on with: the prompt is not computed again.

    Raises: TokenNotAllowed where the constraint forbids ``prefix``; VocabularyError where the
            constraint was compiled for another vocabulary than the model's; while iterating
            ModelError and LimitError.
    Source: Koo et al. 2024, Algorithm 2; Beurer-Kellner et al. 2024 (DOMINO), Algorithm 1.
    """
    _same_tokens(model.vocabulary, constraint.vocabulary)
    if max_tokens < 0 or top < 0:
        raise WorkbenchError(f"expected counts of 0 or more, not {min(max_tokens, top)}")
    asked = model.encode(prompt) if isinstance(prompt, str) else list(prompt)
    return Generation(
        constraint=constraint,
        sampling=sampling,
        session=model.session() if session is None else session,
        context=[*(asked or model.encode("")), *prefix],
        state=after(constraint, prefix),
        max_tokens=max_tokens,
        top=top,
        stop_asked=stop,
        skip_single=skip_single,
        begin=len(prefix),
    )


def _same_tokens(model: Vocabulary, constraint: Vocabulary) -> None:
    if model is constraint or (model.tokens == constraint.tokens and model.end == constraint.end):
        return
    raise VocabularyError(
        f"expected a constraint over the model's own vocabulary ({model.name},"
        f" {len(model)} tokens), not over {constraint.name} ({len(constraint)} tokens)",
        "compile the grammar with model.vocabulary",
    )


def after(constraint: Constraint, prefix: Sequence[TokenId]) -> State:
    """The constraint's state after tokens already taken."""
    state = constraint.initial
    for token_id in prefix:
        if token_id == constraint.vocabulary.end:
            raise TokenNotAllowed(
                "expected a prefix without the end token", "nothing comes after the end token"
            )
        state = constraint.advance(state, token_id)
    return state


@dataclass(slots=True, eq=False, kw_only=True)
class Generation(Iterator[Step]):
    """A generation under way: iterate for steps; ``trace`` holds those so far.

    ``stop`` is None while it goes on, and known as soon as the last step is out.
    """

    constraint: Constraint
    sampling: Sampling
    session: Session
    #: Prompt, prefix and everything taken since, as the model reads it.
    context: list[TokenId]
    #: The constraint's state after everything taken.
    state: State
    max_tokens: int
    top: int
    stop_asked: Callable[[], bool] | None
    skip_single: bool
    #: The index of the first step: how many tokens were taken before this call.
    begin: int
    steps: list[Step] = field(default_factory=list)
    stop: StopReason | None = None

    @property
    def trace(self) -> Trace:
        """The steps of this call so far, and why it ended."""
        return Trace(tuple(self.steps), self.stop)

    def __next__(self) -> Step:
        if self.stop is not None:
            raise StopIteration
        started = time.perf_counter()
        mask = self.constraint.mask(self.state)
        ids = mask.ids
        mask_ms = since(started)
        self.stop = self._reason_before(len(ids))
        if self.stop is not None:
            raise StopIteration
        if self.skip_single and len(ids) == 1:
            step = self._skipped(mask, mask_ms)
        else:
            step = self._turn(mask, mask_ms)
        self.steps.append(step)
        self.context.append(step.token_id)
        if step.is_end:
            self.stop = StopReason.FORCED_END if len(ids) == 1 else StopReason.ACCEPTED
        return step

    def _reason_before(self, allowed: int) -> StopReason | None:
        """Why there is no further step, if so."""
        if not allowed:
            final = self.constraint.is_final(self.state)
            return StopReason.FORCED_END if final else StopReason.DEAD_END
        if len(self.steps) >= self.max_tokens:
            return StopReason.TOKEN_BUDGET
        if self.stop_asked is not None and self.stop_asked():
            return StopReason.STOPPED
        return None

    def _turn(self, mask: TokenMask, mask_ms: float) -> Step:
        """Ask the model, choose among the allowed tokens, advance."""
        vocabulary = self.constraint.vocabulary
        turn = Turn.ask(self.session, self.context, vocabulary, self.state, mask, mask_ms)
        index = self.begin + len(self.steps)
        token_id = int(turn.ids[self.sampling.pick(turn.within, self.sampling.rng(index))])
        _, advance_ms = self._advance(token_id)
        return turn.taken(token_id, index, self.top, advance_ms)

    def _skipped(self, mask: TokenMask, mask_ms: float) -> Step:
        """Take the only allowed token; what the model thinks of it is not known."""
        vocabulary = self.constraint.vocabulary
        token_id = int(mask.ids[0])
        state, advance_ms = self._advance(token_id)
        token = vocabulary.tokens[token_id]
        candidate = Candidate(token_id, token, math.nan, 1.0, True)
        return Step(
            index=self.begin + len(self.steps),
            token_id=token_id,
            token=token or b"",
            state=state,
            mask=mask,
            logprob=math.nan,
            masked_logprob=0.0,
            favourite_id=token_id,
            kept=math.nan,
            rank=1,
            masked_rank=1,
            wanted=(),
            allowed=(candidate,)[: self.top],
            forward=False,
            model_ms=0.0,
            mask_ms=mask_ms,
            advance_ms=advance_ms,
            is_end=token_id == vocabulary.end,
        )

    def _advance(self, token_id: TokenId) -> tuple[State, float]:
        """Move on; the state before, and the milliseconds it took."""
        before = self.state
        started = time.perf_counter()
        if token_id != self.constraint.vocabulary.end:
            self.state = self.constraint.advance(before, token_id)
        return before, since(started)
