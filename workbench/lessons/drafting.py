"""A draft and a target model at one place under one mask: which draft tokens are accepted.

Source: Koo, Liu & He 2024, §5.3; the rejection rule is Leviathan et al. 2023, Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workbench.decoding.sampling import Sampling
from workbench.lessons.chances import share
from workbench.lessons.lesson import Table
from workbench.lessons.methods import EXACT, Way, constrained, ids_of
from workbench.lessons.world import KnownModel, World
from workbench.vocabulary.vocabulary import TokenId

Shares = npt.NDArray[np.float64]

#: Proposals at least this likely to be accepted are accepted where no die is thrown.
_EVEN = 0.5


@dataclass(frozen=True, slots=True)
class Steady:
    """Dice that always fall alike, so that a film is the same for every reader."""

    def draw(self, shares: Shares) -> int:
        """The largest share; of equals the first."""
        return int(np.argmax(shares))

    def accepts(self, chance: float) -> bool:
        """What is more likely accepted than not."""
        return chance >= _EVEN


@dataclass(frozen=True, eq=False)
class Place:
    """Both models after the same tokens, under the same mask."""

    ids: tuple[TokenId, ...]
    draft: tuple[float, ...]
    target: tuple[float, ...]

    @property
    def accepted(self) -> float:
        """How likely a proposal is accepted: the sum of what both give each token."""
        return sum(map(min, self.draft, self.target))


def place(world: World, after: Sequence[str], by: Way) -> Place:
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


def rejection(world: World, *, after: Sequence[str], by: Way = EXACT) -> Table:
    """Token by token: proposed and accepted, or taken in the place of a refused one."""
    here = place(world, after, by)
    refused = 1 - here.accepted
    excess = [max(0.0, p - q) for p, q in zip(here.target, here.draft, strict=True)]
    rows = []
    for token_id, q, p, more in zip(here.ids, here.draft, here.target, excess, strict=True):
        kept, instead = min(p, q), refused * more / (sum(excess) or 1)
        if p or q:
            cells = (q, p, min(1.0, p / q) if q else 1.0, kept, instead, kept + instead)
            rows.append((world.shown(token_id), *map(share, cells)))
    kept_sum = share(here.accepted)
    rows.append(("together", share(1), share(1), "", kept_sum, share(refused), share(1)))
    heads = ("token", "draft q", "target p", "accepted", "proposed and kept", "instead", "in all")
    return Table("What is taken is distributed as the target alone", heads, tuple(rows))


def acceptance(world: World, *, after: Sequence[str], by: Way = EXACT) -> float:
    """How likely a proposal is accepted, in per cent."""
    return 100 * place(world, after, by).accepted
