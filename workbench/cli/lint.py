"""``workbench lint``: advice on a grammar, with places."""

from __future__ import annotations

from typing import Annotated

import typer

from workbench.cli.naming import Named, takes_grammar
from workbench.cli.options import JsonOption, line
from workbench.grammar import Grammar
from workbench.lint import lint as examined
from workbench.pushdown.advice import Advice
from workbench.vocabulary.vocabulary import Vocabulary


@takes_grammar
def lint(
    named: Named,
    json: JsonOption = False,
    vocab: Annotated[
        str | None,
        typer.Option(
            "--vocab",
            metavar="NAME",
            help="Also report what these tokens cannot spell: builtin, mistral-v1, a directory, …",
        ),
    ] = None,
    seconds: Annotated[
        float, typer.Option("--seconds", min=0.1, help="How long to look for an ambiguous text.")
    ] = 2.0,
) -> None:
    """Print advice on a grammar: useless rules, endless loops, conflicts, and more.

    Exit status 0: nothing to say; 1: some advice; 2: the grammar cannot be read.
    """
    grammar = named.grammar
    vocabulary = None if vocab is None else Vocabulary.load(vocab)
    found = examined(grammar, vocabulary, seconds)
    for advice in found.advice:
        _print(advice, grammar, json=json)
    if found.pieces is not None and not json:
        typer.echo(
            f"no ambiguity found in texts of up to {found.pieces} pieces; "
            "longer ones were not all tried",
            err=True,
        )
    raise typer.Exit(int(bool(found.advice)))


def _print(advice: Advice, grammar: Grammar, *, json: bool) -> None:
    row, column = grammar.source.position(advice.span.start)
    if json:
        line(
            {
                "kind": advice.kind,
                "severity": advice.severity,
                "message": advice.message,
                "hint": advice.hint,
                "start": advice.span.start,
                "end": advice.span.end,
                "line": row,
                "column": column,
                "fix": advice.fix,
            }
        )
        return
    place = f"{grammar.source.name}:{row}:{column}"
    typer.echo(f"{place}: {advice.severity}: {advice.message} ({advice.kind})")
    typer.echo("  " + grammar.source.underline(advice.span).replace("\n", "\n  "))
    typer.echo(f"  hint: {advice.hint}")
