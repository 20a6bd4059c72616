"""``workbench compare``: methods of decoding side by side on one grammar."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.naming import Named, takes_grammar
from workbench.cli.options import LOCAL_LIMITS, JsonOption, ModelOption, line
from workbench.errors import WorkbenchError

if TYPE_CHECKING:
    from workbench.evaluate.compare import Ended, Event, Failed

#: The methods that are compared by default.
_METHODS = "unconstrained,automaton"


@takes_grammar
def compare(
    named: Named,
    prompt: Annotated[
        list[str] | None,
        typer.Option(help="What the model reads first; may be given several times."),
    ] = None,
    methods: Annotated[
        str,
        typer.Option(metavar="NAMES", help="Separated by commas; all: every method."),
    ] = _METHODS,
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds, counted from --seed.")] = 3,
    seed: Annotated[int, typer.Option(min=0, help="The first seed.")] = 0,
    temperature: Annotated[float, typer.Option(min=0.0, help="0 takes the likeliest token.")] = 1.0,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="The budget of a run.")] = None,
    model: ModelOption = "builtin",
    json: JsonOption = False,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="Print a line of CSV for each run.")
    ] = False,
) -> None:
    """Run methods on the same prompts and seeds: a table, and where their texts part.

    Ctrl-C ends it with what is done. Exit status 0: every run ended; 1: one could not be, or it
    was stopped; 2: wrong use.
    """
    if json and as_csv:
        raise WorkbenchError("expected one of --json and --csv, not both")
    from workbench.decoding.sampling import Sampling
    from workbench.decoding.transformers_model import load_model
    from workbench.evaluate.compare import compare as compared
    from workbench.evaluate.contenders import CONTENDERS, chosen

    contenders = chosen(CONTENDERS if methods == "all" else methods)
    brought = named.example
    prompts = prompt or [brought.prompt if brought else ""]
    numbers = range(seed, seed + seeds)
    events = compared(
        load_model(model),
        named.grammar,
        prompts,
        contenders,
        numbers,
        Sampling(temperature=temperature),
        max_tokens=max_tokens or (brought.max_tokens if brought else 128),
        limits=LOCAL_LIMITS,
    )
    runs = len(prompts) * len(numbers) * len(contenders)
    ended, failed, stopped = _taken(events, runs, json=json)
    if as_csv:
        _print_csv(ended)
        typer.echo(_reasons(failed), nl=False, err=True)
    elif json:
        _print_summaries(ended)
    else:
        typer.echo(_report(ended, failed))
    if stopped:
        typer.echo("stopped: the completed runs are above", err=True)
    raise typer.Exit(int(bool(failed) or stopped))


def _taken(
    events: Iterable[Event], runs: int, *, json: bool
) -> tuple[list[Ended], list[Failed], bool]:
    """Runs that ended, runs that failed, and whether they were stopped."""
    from workbench.evaluate.compare import Ended, Failed

    ended: list[Ended] = []
    failed: list[Failed] = []
    with _progress(runs) as advance:
        try:
            for event in events:
                advance(event)
                if isinstance(event, Ended):
                    ended.append(event)
                    if json:
                        line(_run_record(event))
                elif isinstance(event, Failed):
                    failed.append(event)
                    if json:
                        line(_failed_record(event))
        except KeyboardInterrupt:
            return ended, failed, True
    return ended, failed, False


def _run_record(end: Ended) -> dict[str, Any]:
    run = end.run
    head = {"method": run.contender.name, "prompt": run.prompt, "seed": run.seed}
    return {"kind": "run", **head, **end.measures.as_record(), "token_ids": end.trace.token_ids}


def _failed_record(fail: Failed) -> dict[str, Any]:
    run = fail.run
    return {
        "kind": "failed",
        "method": run.contender.name,
        "prompt": run.prompt,
        "seed": run.seed,
        "message": fail.error.message,
        "hint": fail.error.hint,
    }


def _print_summaries(ended: list[Ended]) -> None:
    from workbench.evaluate.summary import summaries

    for summary in summaries(ended):
        line({"kind": "summary", **summary.as_record()})


#: Of a run's record, what does not fit into a cell.
_NO_CELL = ("kind", "kept", "free", "forced", "token_ids")


def _print_csv(ended: list[Ended]) -> None:
    records = [
        {key: value for key, value in _run_record(end).items() if key not in _NO_CELL}
        for end in ended
    ]
    if records:
        writer = csv.DictWriter(sys.stdout, records[0].keys())
        writer.writeheader()
        writer.writerows(records)


def _report(ended: list[Ended], failed: list[Failed]) -> str:
    """For people: the table, what does not apply, and for every prompt and seed the strips."""
    from workbench.evaluate.strips import strips
    from workbench.evaluate.summary import summaries, table, verdict

    parts = (
        ["\n".join(filter(None, verdict(ended, failed))), table(summaries(ended))] if ended else []
    )
    if failed:
        parts.append(_reasons(failed).rstrip())
    groups: dict[tuple[str, int], list[Ended]] = {}
    for end in ended:
        groups.setdefault((end.run.prompt, end.run.seed), []).append(end)
    parts.extend(strips(group) for group in groups.values())
    return "\n\n".join(parts)


def _reasons(failed: list[Failed]) -> str:
    """A line for each method that could not be."""
    reasons = {fail.run.contender.name: fail.error.message for fail in failed}
    return "".join(f"{name}: {message}\n" for name, message in reasons.items())


@contextmanager
def _progress(runs: int) -> Iterator[Any]:
    """Progress bar on stderr; disabled when stderr is not a terminal."""
    from workbench.evaluate.compare import Began, Ended, Failed

    if not sys.stderr.isatty():
        yield lambda _: None
        return
    with typer.progressbar(length=runs, label="comparing", file=sys.stderr) as bar:

        def advance(event: Event) -> None:
            if isinstance(event, Began):
                bar.label = f"{event.run.contender.name:22}"
                bar.update(0)
            elif isinstance(event, Ended | Failed):
                bar.update(1)

        yield advance
