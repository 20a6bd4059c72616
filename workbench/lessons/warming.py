"""The counts of warm-up runs, as DOMINO learns them.

Source: Beurer-Kellner et al. 2024 (DOMINO), §3.6.
"""

from __future__ import annotations

from collections.abc import Sequence

from workbench.constraint.protocol import Constraint
from workbench.decoding.generate import generate
from workbench.decoding.proposers import Counts
from workbench.decoding.trace import Trace
from workbench.lessons.lesson import Film, Frame, Given, LessonError, Row
from workbench.lessons.methods import ids_of
from workbench.lessons.world import KnownModel, World


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
