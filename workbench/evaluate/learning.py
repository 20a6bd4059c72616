"""Strategies by name, and those that learn on warm-up runs first; runs in, a strategy out."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from workbench.constraint.protocol import Constraint
from workbench.decoding.count_model import CountModel
from workbench.decoding.generate import generate
from workbench.decoding.model import LanguageModel, Prompt, context_of
from workbench.decoding.opportunistic import Opportunistic
from workbench.decoding.picard import Picard
from workbench.decoding.proposers import Counts
from workbench.decoding.sampling import Sampling
from workbench.decoding.speculative import Drafting
from workbench.decoding.strategy import PLAIN, Skipping, Speculating, Strategy
from workbench.decoding.trace import Trace

#: How the model is asked, by the name a contender has for it.
STRATEGIES: dict[str, Strategy] = {
    "plain": PLAIN,
    "speculation": PLAIN,  # until it is taught
    "skipping": Skipping(),
    "opportunistic": Opportunistic(),
    "picard": Picard(),
}

#: Those that draw from fewer tokens than the mask allows.
CHOOSING_LESS = frozenset({"picard"})

#: Where the seeds of warm-up runs begin, far from those anybody asks for.
_WARM_UP_SEED = 1_000_000

#: A prompt and the run that followed it.
WarmUp = tuple[Prompt, Trace]


def warm_up(
    model: LanguageModel,
    constraint: Constraint,
    prompts: Sequence[Prompt],
    sampling: Sampling,
    runs: int,
    max_tokens: int,
    stop: Callable[[], bool] | None = None,
) -> list[WarmUp]:
    """Plain runs on some prompts in turn, with seeds of their own.

    Drawn at a temperature of 1 at least, also where what follows is greedy: the greedy text of a
    prompt must not be learnt by heart.

    Raises: as ``generate``.
    Source: DOMINO §4.3, 10 repetitions, after which the priors stay as they are.
    """
    found = []
    for number in range(runs):
        prompt = prompts[number % len(prompts)]
        drawn = replace(
            sampling, temperature=max(1.0, sampling.temperature), seed=_WARM_UP_SEED + number
        )
        run = generate(model, constraint, prompt, drawn, max_tokens=max_tokens, top=0, stop=stop)
        deque(run, maxlen=0)
        found.append((prompt, run.trace))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Guessing:
    """Tokens guessed from counts, P(l | α, β); the text is the plain loop's.

    Source: DOMINO §3.6.
    """

    #: The paper's s: how many guesses go into one pass.
    tokens: int = 10
    #: Guesses go on while all of them together are right with this probability.
    least: float = 0.3
    #: So many tokens before are told apart too; the paper has none.
    memory: int = 0
    warm_up: int = 10

    def learnt(
        self, model: LanguageModel, constraint: Constraint, runs: Sequence[WarmUp]
    ) -> Strategy:
        """The strategy, its counts frozen."""
        counts = Counts.learnt(constraint, [trace for _, trace in runs], self.memory)
        return Speculating(counts, self.tokens, self.least)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafts:
    """Tokens drawn from a draft that counted, judged by rejection; the distribution is the same.

    Source: Koo et al. 2024, §5.3.
    """

    tokens: int = 6
    #: How many tokens before each are counted with.
    memory: int = 4
    warm_up: int = 10

    def learnt(
        self, model: LanguageModel, constraint: Constraint, runs: Sequence[WarmUp]
    ) -> Strategy:
        """The strategy; prompts are counted too, since texts repeat their words."""
        texts = [[*context_of(model, prompt), *trace.token_ids] for prompt, trace in runs]
        return Drafting(CountModel.learnt(model, texts, self.memory), self.tokens)
