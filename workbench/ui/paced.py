"""The page with a model of a fixed speed: ``python -m workbench.ui.paced 100`` prints its address.

For the benchmark of the page: the time of a run beyond the model's is the page's.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from workbench.decoding.model import Logits
from workbench.decoding.toy_model import ToyModel
from workbench.ui.models import TOY, ModelRoom
from workbench.ui.serve import ServeSettings, start
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


@dataclass(frozen=True, eq=False)
class Paced(ToyModel):
    """A model without weights that generates a fixed number of tokens a second."""

    tokens_a_second: float = 100.0

    def logits(self, token_ids: Sequence[TokenId]) -> Logits:
        due = time.perf_counter() + 1 / self.tokens_a_second
        found = super().logits(token_ids)
        time.sleep(max(0.0, due - time.perf_counter()))
        return found


def main(rate: float) -> None:
    """Serve until interrupted."""
    vocabulary = Vocabulary.load("builtin")
    room = ModelRoom(TOY, lambda _: Paced(vocabulary, tokens_a_second=rate), lambda _: vocabulary)
    page = start(ServeSettings(port=0, quiet=True), room)
    print(f"open at {page.local_url}", flush=True)
    page.block_thread()


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 100.0)
