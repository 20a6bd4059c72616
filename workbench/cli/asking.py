"""How ``workbench generate`` asks the model: names come in, a strategy and options go out."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

from workbench.constraint.protocol import Constraint
from workbench.decoding.generate import generate
from workbench.decoding.model import LanguageModel
from workbench.decoding.opportunistic import Opportunistic
from workbench.decoding.proposers import Counts, Forced
from workbench.decoding.sampling import Sampling
from workbench.decoding.strategy import PLAIN, Skipping, Speculating, Strategy
from workbench.errors import WorkbenchError
from workbench.vocabulary.vocabulary import TokenId

#: What each does; all of them write the same text.
STRATEGIES: dict[str, str] = {
    "plain": "once a token",
    "skipping": "not where one token or one text is left",
    "opportunistic": "before the mask is made, which is only where its choice is refused",
    "forced": "about several tokens at once where the grammar forces bytes",
    "counts": "about several tokens at once, guessed from what warm-up runs chose",
}


def strategy_of(name: str) -> Strategy:
    """The strategy of that name; counts are to be learnt (``learnt``).

    Raises: WorkbenchError for a name nobody knows.
    """
    made: dict[str, Strategy] = {
        "plain": PLAIN,
        "skipping": Skipping(),
        "opportunistic": Opportunistic(),
        "forced": Speculating(Forced()),
        "counts": PLAIN,
    }
    if name not in made:
        raise WorkbenchError(
            f"there is no strategy {name!r}", f"choose one of {', '.join(STRATEGIES)}"
        )
    return made[name]


def options_of(written: Sequence[str]) -> dict[str, int | str]:
    """A method's options as they are written: ``k=0``; digits are a number.

    Raises: WorkbenchError where one is not written so.
    """
    pairs = [each.partition("=") for each in written]
    for name, sign, value in pairs:
        if not (name and sign and value):
            raise WorkbenchError(
                f"expected NAME=VALUE, not {name + sign + value!r}", "as in --option k=0"
            )
    return {name: int(value) if value.isdecimal() else value for name, _, value in pairs}


def learnt(
    model: LanguageModel,
    constraint: Constraint,
    prompt: str | Sequence[TokenId],
    sampling: Sampling,
    max_tokens: int,
    runs: int,
) -> Strategy:
    """Speculation with the counts of some runs at temperature 1, of other seeds than ``sampling``.

    Source: Beurer-Kellner et al. 2024 (DOMINO), §4.3.
    """
    traces = []
    for number in range(1, runs + 1):
        warm = replace(sampling, temperature=1.0, seed=sampling.seed + number)
        run = generate(model, constraint, prompt, warm, max_tokens=max_tokens, top=0)
        deque(run, maxlen=0)
        traces.append(run.trace)
    return Speculating(Counts.learnt(constraint, traces))
