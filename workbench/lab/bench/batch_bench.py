"""``python -m workbench.lab.bench.batch_bench``: tokens a second of runs at the same time.

Each number of runs at a time is measured in turn, with masks and without, so that all rows see the
same noise. The runs differ in their grammar and seed, and another begins when one ends. ``threads``
runs each generation in a thread, as the page does.
"""

from __future__ import annotations

import statistics
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Annotated

import typer

from workbench.base.tables import format_table
from workbench.constraint.compile import compile
from workbench.constraint.protocol import Constraint, Unconstrained
from workbench.decoding.generate import Generation, generate, generate_batch
from workbench.decoding.model import LanguageModel
from workbench.decoding.sampling import Sampling
from workbench.decoding.transformers_model import load_model
from workbench.grammar.gallery import load_gallery
from workbench.grammar.grammar import Grammar

#: Grammars of the gallery with long texts.
GRAMMARS = ("json", "domino_c", "domino_xml", "friends")

#: The measured steps for each run of a count, about half of a run's budget.
_STEPS = 32


def runs(
    model: LanguageModel, constraints: Sequence[Constraint], tokens: int
) -> Iterator[Generation]:
    """Endless generations with every constraint in turn."""
    seed = 0
    while True:
        for constraint in constraints:
            sampling = Sampling(temperature=1.0, seed=seed)
            yield generate(model, constraint, "An example: ", sampling, max_tokens=tokens)
        seed += 1


def tokens_per_second(some: Iterator[Generation], at_once: int, threads: bool) -> float:
    """The speed of ``at_once`` runs.

    In one thread it is measured while all of them run: another begins when one ends, and the last
    ones are not completed. Threads complete ``4 at_once`` runs, at least 8, so that fewer run at
    the end.
    """
    count = max(8, 4 * at_once)
    if threads:
        chosen = list(islice(some, count))
        started = time.perf_counter()
        with ThreadPoolExecutor(at_once) as pool:
            list(pool.map(list, chosen))
        return sum(len(run.steps) for run in chosen) / (time.perf_counter() - started)
    steps = generate_batch(some, at_once=at_once)
    deque(islice(steps, at_once), maxlen=0)  # all have begun
    started = time.perf_counter()
    taken = sum(1 for _ in islice(steps, count * _STEPS))
    return taken / (time.perf_counter() - started)


def main(
    model: Annotated[str, typer.Option(help="A model's name, directory or hub id.")] = "builtin",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto",
    rows: Annotated[str, typer.Option(help="Numbers of runs at a time.")] = "1,4,16,64",
    tokens: Annotated[int, typer.Option(min=1, help="The budget of a run.")] = 64,
    repeat: Annotated[int, typer.Option(min=1, help="Repetitions; their median is printed.")] = 3,
    threads: Annotated[bool, typer.Option(help="Each run in a thread.")] = False,
    cores: Annotated[int, typer.Option(min=1, help="Threads of torch.")] = 1,
) -> None:
    """Print tokens a second with masks and without, for each number of runs at a time."""
    import torch

    torch.set_num_threads(cores)
    loaded = load_model(model, device)
    gallery = load_gallery()
    masked = [
        compile(Grammar.from_text(one.text, one.notation, one.start), loaded.vocabulary)
        for one in map(gallery.__getitem__, GRAMMARS)
    ]
    kinds: dict[str, Sequence[Constraint]] = {
        "masks": masked,
        "no masks": [Unconstrained(loaded.vocabulary)],
    }
    counts = [int(count) for count in rows.split(",")]
    found: dict[tuple[int, str], list[float]] = {}
    for number in range(repeat + 1):
        for count in counts:
            for kind, constraints in kinds.items():
                speed = tokens_per_second(runs(loaded, constraints, tokens), count, threads)
                if number:  # the first repetition computes masks and is not counted
                    found.setdefault((count, kind), []).append(speed)
    table = [["runs at a time", "tokens/s", "of one", "without masks", "with masks, of without"]]
    for count in counts:
        with_masks, without = (statistics.median(found[count, kind]) for kind in kinds)
        alone = statistics.median(found[counts[0], "masks"])
        table.append(
            [
                str(count),
                f"{with_masks:.0f}",
                f"{with_masks / alone:.2f}×",
                f"{without:.0f}",
                f"{100 * with_masks / without:.0f} %",
            ]
        )
    print(format_table(table, "markdown"))


if __name__ == "__main__":
    typer.run(main)
