"""``python -m lab.bench.batch_bench``: tokens a second of runs at the same time.

Each number of runs at a time is measured in turn, with masks and without, so that all rows see the
same noise. The runs differ in their grammar and seed, and another begins when one ends. ``threads``
runs each generation in a thread. ``page`` runs them through the endpoint ``generate`` of a page
in a separate process, as requests of different clients, and also prints the processor time of that
process, which other programs on the machine change less than the speed.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.base.text_tables import format_table
from workbench.constraint.compile import compile
from workbench.constraint.protocol import Constraint
from workbench.constraint.unconstrained import Unconstrained
from workbench.decoding.generate import Generation, generate, generate_batch
from workbench.decoding.model import LanguageModel
from workbench.decoding.sampling import Sampling
from workbench.decoding.transformers_model import load_model
from workbench.grammar.gallery import load_gallery
from workbench.grammar.grammar import Grammar

if TYPE_CHECKING:
    from httpx import AsyncClient

#: Grammars of the gallery with long texts.
GRAMMARS = ("json", "domino_c", "domino_xml", "friends")

#: The measured steps for each run of a count, about half of a run's budget.
_STEPS = 32


def runs(
    model: LanguageModel, constraints: Sequence[Constraint], tokens: int, *, different: bool = False
) -> Iterator[Generation]:
    """Endless generations with every constraint in turn, all ``different`` in their prompt or none.

    A prompt's number comes first, so that no run can take its keys and values from another.
    """
    seed = count = 0
    while True:
        for constraint in constraints:
            sampling = Sampling(temperature=1.0, seed=seed)
            prompt = f"{count} An example: " if different else "An example: "
            yield generate(model, constraint, prompt, sampling, max_tokens=tokens)
            count += 1
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


async def streamed(client: AsyncClient, number: int, count: int, tokens: int) -> int:
    """The tokens of some runs of one client, one after another."""
    from lab.bench.visitors import run_kinds  # needs Gradio

    headers = {"x-forwarded-for": f"10.0.1.{number}"}
    gallery, taken = load_gallery(), 0
    for seed in range(count):
        one = gallery[GRAMMARS[(number + seed) % len(GRAMMARS)]]
        run: dict[str, Any] = {"text": one.text, "notation": one.notation.value}
        run |= {"start": one.start, "prompt": "An example: ", "temperature": 1.0}
        run |= {"max_tokens": tokens, "seed": seed}
        kinds = await run_kinds(client, run, headers)
        if "stop" not in kinds:
            raise SystemExit(f"a run failed: {one.name}")
        taken += kinds.count("step")
    return taken


async def page_speed(url: str, process: int, at_once: int, tokens: int) -> tuple[float, float]:
    """The tokens a second of ``at_once`` clients, and the processor time of a token in ms.

    Every client has four runs, one client eight.
    """
    import httpx

    from lab.bench.visitors import cpu_seconds

    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=url, timeout=600, limits=limits) as client:
        each = 8 if at_once == 1 else 4
        before, started = cpu_seconds(process), time.perf_counter()
        clients = (streamed(client, number, each, tokens) for number in range(at_once))
        taken = sum(await asyncio.gather(*clients))
        seconds = time.perf_counter() - started
        return taken / seconds, 1000 * (cpu_seconds(process) - before) / taken


def _page_table(counts: Sequence[int], tokens: int, repeat: int) -> list[list[str]]:
    """The speed of clients of a page, and the processor time of its process, for each count."""
    from lab.bench.visitors import served

    found: dict[int, list[tuple[float, float]]] = {count: [] for count in counts}
    with served() as (url, process):
        for number in range(repeat + 1):
            for count in counts:
                measured = asyncio.run(page_speed(url, process, count, tokens))
                if number:  # the first repetition loads the model and computes masks
                    found[count].append(measured)
    table = [["runs at a time", "tokens/s", "of one", "ms of processor time", "of one"]]
    medians = {n: [statistics.median(each) for each in zip(*found[n], strict=True)] for n in counts}
    speed_alone, ms_alone = medians[counts[0]]
    for count, (speed, ms) in medians.items():
        times = f"{ms_alone / ms:.2f}×" if ms else ""
        ratio = f"{speed / speed_alone:.2f}×"
        table.append([f"{count}", f"{speed:.0f}", ratio, f"{ms:.2f}", times])
    return table


def main(
    model: Annotated[str, typer.Option(help="A model's name, directory or hub id.")] = "builtin",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto",
    rows: Annotated[str, typer.Option(help="Numbers of runs at a time.")] = "1,4,16,64",
    tokens: Annotated[int, typer.Option(min=1, help="The budget of a run.")] = 64,
    repeat: Annotated[int, typer.Option(min=1, help="Repetitions; their median is printed.")] = 3,
    threads: Annotated[bool, typer.Option(help="Each run in a thread.")] = False,
    cores: Annotated[int, typer.Option(min=1, help="Threads of torch.")] = 1,
    different: Annotated[bool, typer.Option(help="Each run has its own prompt.")] = False,
    page: Annotated[bool, typer.Option(help="Runs of the embedded model through a page.")] = False,
) -> None:
    """Print tokens a second with masks and without, for each number of runs at a time."""
    counts = [int(count) for count in rows.split(",")]
    if page:
        if (model, device, threads, cores, different) != ("builtin", "auto", False, 1, False):
            raise typer.BadParameter("--page takes only --rows, --tokens and --repeat")
        print(format_table(_page_table(counts, tokens, repeat), "markdown"))
        return
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
    found: dict[tuple[int, str], list[float]] = {}
    for number in range(repeat + 1):
        for count in counts:
            for kind, constraints in kinds.items():
                some = runs(loaded, constraints, tokens, different=different)
                speed = tokens_per_second(some, count, threads)
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
