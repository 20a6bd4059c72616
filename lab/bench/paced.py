"""The page with a model of a fixed speed, for the benchmark of the page.

``python -m lab.bench.paced 100`` serves the page and prints its address. With a number of
tokens and a regex after the speed, the command does that run in the library, without a page, and
prints its milliseconds. ``page_bench`` compares the two.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from workbench.app.ui.model_registry import TOY, ModelRoom
from workbench.app.ui.runs import TOP
from workbench.app.ui.serve import ServeSettings, start
from workbench.constraint.compile import compile
from workbench.decoding.generate import generate
from workbench.decoding.model import Logits, ToyModel
from workbench.decoding.sampling import Sampling
from workbench.grammar.grammar import Grammar
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


def run(rate: float, tokens: int, text: str) -> float:
    """Milliseconds of a run in the library, with the page's settings; the second of two runs."""
    vocabulary = Vocabulary.load("builtin")
    model = Paced(vocabulary, tokens_a_second=rate)
    constraint = compile(Grammar.from_regex(text), vocabulary)
    sampling = Sampling(temperature=1, seed=1)
    started = 0.0
    for count in (20, tokens):  # masks are computed once
        started = time.perf_counter()
        for _ in generate(model, constraint, "", sampling, max_tokens=count, top=TOP):
            pass
    return 1000 * (time.perf_counter() - started)


def serve(rate: float) -> None:
    """Serve the page until interrupted."""
    vocabulary = Vocabulary.load("builtin")
    room = ModelRoom(TOY, lambda _: Paced(vocabulary, tokens_a_second=rate), lambda _: vocabulary)
    page = start(ServeSettings(port=0, quiet=True), room)
    print(f"open at {page.local_url}", flush=True)
    page.block_thread()


if __name__ == "__main__":
    speed = float(sys.argv[1]) if len(sys.argv) > 1 else 100.0
    if len(sys.argv) > 3:
        print(f"{run(speed, int(sys.argv[2]), sys.argv[3]):.1f}")
    else:
        serve(speed)
