"""``workbench check``: whether the grammar accepts texts, and why not."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from workbench.automata.describe import describe
from workbench.cli.naming import Named, takes_grammar
from workbench.cli.options import JsonOption, line
from workbench.grammar import Verdict
from workbench.source import Source, Span


@takes_grammar
def check(
    named: Named,
    texts: Annotated[
        list[str] | None, typer.Argument(help="Texts to try; none: the lines of stdin.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Say whether texts are accepted; where one fails, the place and what was expected there.

    Exit status 0: all accepted; 1: some rejected; 2: the grammar cannot be used.
    """
    rejected = False
    for text in texts if texts is not None else (one.rstrip("\n") for one in sys.stdin):
        verdict = named.grammar.check(text)
        rejected |= not verdict.accepted
        _print(text, verdict, named, json=json)
    raise typer.Exit(int(rejected))


def _print(text: str, verdict: Verdict, named: Named, *, json: bool) -> None:
    if json:
        line(
            {
                "text": text,
                "accepted": verdict.accepted,
                "incomplete": verdict.incomplete,
                "offset": verdict.offset,
                "expected": describe(verdict.expected) if verdict.expected else "",
                "may_end": verdict.may_end,
                "rules": list(verdict.rules),
            }
        )
        return
    typer.echo(f"{'accepted' if verdict.accepted else 'rejected'}  {text}")
    if verdict.accepted:
        return
    typer.echo(f"  {verdict}")
    source = Source(text, "text")
    at = len(text) if verdict.offset is None else verdict.offset
    typer.echo("  " + source.underline(Span(at, min(len(text), at + 1))).replace("\n", "\n  "))
    if verdict.rules:
        typer.echo(f"  while reading {' ▸ '.join(verdict.rules)}")
