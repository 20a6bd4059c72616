"""``workbench bench --exactness``: compares the engine's masks with brute force."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from workbench.bench.exactness.report import records, report
from workbench.bench.exactness.run import WHOLE, Findings, Plan, checked
from workbench.cli.options import line


def exactness(vocabulary: str, decisions: int, seed: int, json: bool) -> None:
    """Check, print, and exit with 1 if anything is wrong.

    Raises: VocabularyError where no vocabulary is installed; typer.Exit.
    """
    plan = Plan(decisions, seed, (vocabulary,) if vocabulary else WHOLE)
    with _bar(plan) as findings:
        found = None
        for found in findings:  # noqa: B007  # the last one counts
            pass
    assert found is not None, "there is a visit at least"
    if json:
        for record in records(found):
            line(record)
    else:
        typer.echo(report(found), nl=False)
    if found.wrong:
        raise typer.Exit(1)


@contextmanager
def _bar(plan: Plan) -> Iterator[Iterator[Findings]]:
    """The findings, with a progress bar where stderr is a terminal."""
    if not sys.stderr.isatty():
        yield checked(plan)
        return
    with typer.progressbar(length=plan.decisions, label="checking", file=sys.stderr) as bar:

        def watched() -> Iterator[Findings]:
            before = 0
            for findings in checked(plan):
                bar.label = f"wrong: {findings.wrong}"
                bar.update(findings.decisions - before)
                before = findings.decisions
                yield findings

        yield watched()
