"""Strategies and options of ``workbench generate`` by name."""

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
    "plain": ("one call for each token", PLAIN),
    "skipping": ("no call where only one token or one text is allowed", Skipping()),
    "opportunistic": (
        "a call before the mask, which is computed only if its choice is refused",
        Opportunistic(),
    ),
    "forced": (
        "one call for several tokens where the grammar forces bytes",
        Speculating(Forced()),
    ),
    # until they are learnt
    "counts": ("one call for several tokens, guessed from warm-up runs", PLAIN),
}


def strategy_of(name: str) -> Strategy:
    """The strategy of that name; counts are to be learnt (``learnt``).

    Raises: WorkbenchError for an unknown name.
    """
    if name not in STRATEGIES:
        told = "; ".join(f"{known}: {does}" for known, (does, _) in STRATEGIES.items())
        raise WorkbenchError(f"there is no strategy {name!r}", f"choose one of — {told}")
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
