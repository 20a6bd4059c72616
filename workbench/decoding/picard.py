"""PICARD: the model's k likeliest tokens are checked, and nothing else may come next.

In comes a loop, out come steps that need not be those of ``Plain``: where no checked token is
allowed the run ends there, however many others the grammar allows.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from workbench.constraint.mask import TokenMask
from workbench.constraint.protocol import Constraint, State
from workbench.decoding.loop import Loop
from workbench.decoding.model import Logits
from workbench.decoding.opportunistic import allows
from workbench.decoding.sampling import likeliest
from workbench.decoding.trace import Step
from workbench.decoding.turn import since
from workbench.errors import WorkbenchError


def allowed_of_likeliest(constraint: Constraint, state: State, logits: Logits, k: int) -> TokenMask:
    """The allowed ones of the k likeliest tokens, the lower id first among equals.

    Shape: ``logits`` (V,) or longer.
    Cost:  k tokens are put to the constraint; its mask is not made where it can say of one token.
    """
    size = len(constraint.vocabulary)
    checked = map(int, likeliest(logits[:size], k))
    return TokenMask.of((i for i in checked if allows(constraint, state, i)), size)


@dataclass(frozen=True, slots=True)
class Picard:
    """Draws from the allowed ones of the k likeliest tokens.

    Not minimally invasive in the wide sense of DOMINO's Table 1: a text whose next token is not
    among the k likeliest is lost, and where none of them is allowed the run is at a dead end, or at
    its end where the text is accepted. Which of them are allowed is the constraint's to say;
    PICARD's own is a parser asked at every step (``method="online"``). The paper keeps several
    beams, so that one that dies is replaced; here there is one.

    Source: Scholak, Schucher & Bahdanau 2021; Koo et al. 2024, §4.2.
    """

    k: int = 8

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 1:
            raise WorkbenchError(
                f"expected to check at least one token, not {self.k!r}",
                "set k to how many of the likeliest tokens are checked",
            )

    def steps(self, loop: Loop) -> Iterator[Step]:
        """As ``Strategy`` says, but for the text."""
        while loop.goes_on():
            rows, model_ms = loop.judge(())
            started = time.perf_counter()
            mask = allowed_of_likeliest(loop.constraint, loop.state, rows[0], self.k)
            masked = mask, since(started)
            if not loop.opens(mask):
                return
            turn = loop.turn(masked, rows[0], model_ms)
            yield loop.take(turn, loop.draw(turn))
