"""``workbench lint``: in comes a grammar, out comes what its author may want to mend, and where."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from workbench.cli.options import (
    LOCAL_LIMITS,
    ExampleOption,
    JsonOption,
    KbnfOption,
    RegexFileOption,
    RegexOption,
    StartOption,
    line,
    named_grammar,
    told,
)
from workbench.grammar import Grammar
from workbench.pushdown.advice import Advice, ambiguity_advice
from workbench.pushdown.ambiguity import ambiguity
from workbench.pushdown.build import context_free


def lint(
    regex: RegexOption = None,
    regex_file: RegexFileOption = None,
    kbnf: KbnfOption = None,
    example: ExampleOption = None,
    start: StartOption = "start",
    json: JsonOption = False,
    seconds: Annotated[
        float, typer.Option("--seconds", min=0.1, help="How long to look for an ambiguous text.")
    ] = 2.0,
) -> None:
    """Say what an author may want to mend: useless rules, endless loops, conflicts, ambiguity.

    Exit status 0: nothing to say; 1: some advice; 2: the grammar cannot be read.
    """
    with told():
        grammar = named_grammar(regex, regex_file, kbnf, example, start).grammar
        found = [*grammar.advice, *_ambiguity(grammar, seconds, json=json)]
        for advice in found:
            _print(advice, grammar, json=json)
        raise typer.Exit(int(bool(found)))


def _ambiguity(grammar: Grammar, seconds: float, *, json: bool) -> list[Advice]:
    """An ambiguous text, if one is met in time; if not, how far was looked goes to stderr."""
    if grammar.tree is None:
        return []
    cfg = context_free(grammar.tree, grammar.start, LOCAL_LIMITS)
    search = ambiguity(cfg, grammar.rules, replace(LOCAL_LIMITS, seconds=seconds))
    if search.found is not None:
        return [ambiguity_advice(grammar.tree, search.found)]
    if search.pieces is not None and not json:
        typer.echo(
            f"no ambiguous text of up to {search.pieces} pieces; longer ones were not all tried",
            err=True,
        )
    return []


def _print(advice: Advice, grammar: Grammar, *, json: bool) -> None:
    row, column = grammar.source.position(advice.span.start)
    if json:
        line(
            {
                "kind": advice.kind,
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
    typer.echo(f"{grammar.source.name}:{row}:{column}: {advice.message} ({advice.kind})")
    typer.echo("  " + grammar.source.underline(advice.span).replace("\n", "\n  "))
    typer.echo(f"  hint: {advice.hint}")
