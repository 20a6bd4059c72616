"""How ``workbench generate`` asks the model: names come in, a strategy and options go out."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.constraint.protocol import Constraint
from workbench.decoding.model import LanguageModel
from workbench.decoding.opportunistic import Opportunistic
from workbench.decoding.proposers import Counts, Forced
from workbench.decoding.sampling import Sampling
from workbench.decoding.strategy import PLAIN, Skipping, Speculating, Strategy
from workbench.errors import WorkbenchError
from workbench.evaluate.learning import warm_up
from workbench.vocabulary.vocabulary import TokenId

#: What each does, and the strategy; all of them write the same text.
STRATEGIES: dict[str, tuple[str, Strategy]] = {
    "plain": ("once a token", PLAIN),
    "skipping": ("not where one token or one text is left", Skipping()),
    "opportunistic": (
        "before the mask is made, which is only where its choice is refused",
        Opportunistic(),
    ),
    "forced": (
        "about several tokens at once where the grammar forces bytes",
        Speculating(Forced()),
    ),
    # until they are learnt
    "counts": ("about several tokens at once, guessed from what warm-up runs chose", PLAIN),
}


def strategy_of(name: str) -> Strategy:
    """The strategy of that name; counts are to be learnt (``learnt``).

    Raises: WorkbenchError for a name nobody knows.
    """
    if name not in STRATEGIES:
        told = "; ".join(f"{known}: {does}" for known, (does, _) in STRATEGIES.items())
        raise WorkbenchError(f"there is no strategy {name!r}", f"ask the model — {told}")
    return STRATEGIES[name][1]


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
    prompt: Sequence[TokenId],
    sampling: Sampling,
    max_tokens: int,
    runs: int,
) -> Strategy:
    """Speculation with the counts of some warm-up runs."""
    warmed = warm_up(model, constraint, [prompt], sampling, runs, max_tokens)
    return Speculating(Counts.learnt(constraint, [trace for _, trace in warmed]))
