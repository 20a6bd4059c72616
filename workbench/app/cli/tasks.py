"""Lists of tasks on the command line: their options, their progress, and ``workbench results``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.app.cli.options import JsonOption, errors_reported, line
from workbench.base.errors import WorkbenchError
from workbench.base.text_tables import format_table
from workbench.tasks.summary import column_drawn, default_groups, failures_of, summary_of

if TYPE_CHECKING:
    from workbench.tasks.runners import Runner
    from workbench.tasks.task import Outcome, Record, Task, Work

JobsOption = Annotated[
    int, typer.Option("--jobs", min=1, metavar="N", help="Processes, one thread of torch each.")
]
RayOption = Annotated[
    str | None,
    typer.Option(
        "--ray",
        metavar="ADDRESS",
        help="Run on a Ray cluster: local for a new one here, auto, or ray://HOST:PORT.",
    ),
]
GpusOption = Annotated[
    float, typer.Option(min=0.0, help="With --ray: graphics processors of each worker.")
]


def runner_named(jobs: int, ray: str | None, gpus: float = 0.0) -> Runner:
    """The runner that the options choose. Raises: WorkbenchError."""
    if ray is not None:
        from workbench.tasks.ray_runner import RayCluster

        return RayCluster(ray, None if jobs == 1 else jobs, gpus)
    if gpus:
        raise WorkbenchError("--gpus has no effect without --ray", "--device cuda uses one here")
    from workbench.tasks.runners import InProcess, LocalProcesses

    return InProcess() if jobs == 1 else LocalProcesses(jobs)


def run_tasks(
    runner: Runner,
    work: Work,
    tasks: Sequence[Task],
    out: Path | None,
    settings: Mapping[str, Any],
    each: Callable[[Outcome], None] | None = None,
) -> tuple[list[Outcome], bool]:
    """Run the tasks that have no result in ``out``, with progress on stderr.

    ``out``   a Parquet file that keeps the results, or None.
    ``each``  called with every outcome, first with those that the file has.

    Returns the outcomes in the order of the tasks, and whether Ctrl-C stopped them.
    Raises: WorkbenchError for a file of other settings, or one that cannot be written.
    """
    from tqdm import tqdm

    from workbench.tasks.results import ResultsFile
    from workbench.tasks.runners import run_missing

    results = None if out is None else ResultsFile(out, tasks, settings, work)
    outcomes = {} if results is None else {outcome.key: outcome for outcome in results.ordered()}
    if each:
        for outcome in outcomes.values():
            each(outcome)
    stopped = False
    running = (
        runner.outcomes(work, tasks)
        if results is None
        else run_missing(runner, work, tasks, results)
    )
    failed = 0
    with tqdm(total=len(tasks), initial=len(outcomes), unit="task", disable=None) as bar:
        try:
            for outcome in running:
                bar.update(
                    outcome.key not in outcomes
                )  # a batch may repeat tasks that have a result
                outcomes[outcome.key] = outcome
                failed += outcome.status == "failed"
                if each:
                    each(outcome)
                bar.set_postfix_str(f"{failed} failed" if failed else "", refresh=False)
        except KeyboardInterrupt:
            stopped = True
    return [outcomes[task.key] for task in tasks if task.key in outcomes], stopped


def results(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The Parquet file that --out named.")
    ],
    by: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMNS",
            help="A row for each value of these columns; by default those of model and method, "
            "or of subset and engine.",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="IMAGE", help="Draw a column's distribution; .svg, .png or .pdf."),
    ] = None,
    column: Annotated[
        str | None,
        typer.Option(help="With --plot: the column; perplexity, or milliseconds to a first mask."),
    ] = None,
    json: JsonOption = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print all results as CSV.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> None:
    """Show the results of tasks: a table, all rows, or a plot. It works while the tasks run."""
    with errors_reported():
        if json + csv + markdown > 1:
            raise WorkbenchError("expected one of --json, --csv and --markdown")
        from workbench.tasks.results import read_results

        settings, rows = read_results(file)
        if json:
            for row in rows:
                line(row)
            return
        if csv:
            import pandas as pd

            typer.echo(pd.DataFrame(rows).to_csv(index=False), nl=False)
            return
        names = by.split(",") if by else default_groups(rows)
        if plot is not None:
            _plot(rows, names, column or column_drawn(rows), plot)
            return
        table = summary_of(rows, names)
        if table:
            typer.echo(format_table(table, "markdown" if markdown else "text"))
        _print_failures(rows)
        if settings:
            facts = (
                f"{name} {value}" for name, value in settings.items() if value not in ("", None)
            )
            typer.echo("\n" + ", ".join(facts))


def _print_failures(rows: Sequence[Record]) -> None:
    from workbench.tasks.task import Outcome

    failed = [
        Outcome(key=row["key"], status="failed", error=row["error"], hint=row["hint"])
        for row in rows
        if row["status"] == "failed"
    ]
    if failed:
        typer.echo(f"\n{len(failed)} failed:\n{failures_of(failed)}")


def _plot(rows: Sequence[Record], by: Sequence[str], column: str, path: Path) -> None:
    """Draw the distribution of a column for each group, as boxes. Raises: WorkbenchError."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise WorkbenchError(
            "matplotlib is not installed", "pip install 'grammar-workbench[plots]'"
        ) from error
    import pandas as pd

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    frame = pd.DataFrame([row for row in rows if row["status"] == "done"])
    for name in (column, *by):
        if name not in frame:
            raise WorkbenchError(
                f"the results have no column {name!r}", f"they have {', '.join(frame.columns)}"
            )
    groups = {
        " ".join(map(str, key if isinstance(key, tuple) else (key,))): its[column].dropna()
        for key, its in frame.groupby(list(by), sort=False)
    }
    figure_, axes = plt.subplots(figsize=(7.0, 1.2 + 0.5 * len(groups)), layout="constrained")
    axes.boxplot([its.astype(float) for its in groups.values()], orientation="horizontal")
    axes.set_yticklabels([f"{name} ({len(its)})" for name, its in groups.items()])
    axes.set_xlabel(column)
    axes.grid(axis="x", alpha=0.3)
    try:
        figure_.savefig(path)
    except (OSError, ValueError) as error:
        raise WorkbenchError(
            f"cannot write {path}: {error}", "end it in .svg, .png or .pdf"
        ) from error
    finally:
        plt.close(figure_)
    typer.echo(f"{path}")
