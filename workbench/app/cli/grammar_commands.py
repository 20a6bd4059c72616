"""``workbench check``, ``lint``, ``convert`` and ``mask``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from workbench.analysis.lint import lint as examined
from workbench.app.cli.options import (
    LOCAL_LIMITS,
    JsonOption,
    Named,
    VocabularyOption,
    line,
    of_file,
    takes_grammar,
    text_of,
    write_file,
)
from workbench.automata.describe import describe
from workbench.base.errors import WorkbenchError
from workbench.base.problems import Advice
from workbench.base.source import Source, Span
from workbench.constraint.compile import compile as compile_grammar
from workbench.constraint.engine.automaton import AutomatonConstraint
from workbench.constraint.labels import longest_tokens
from workbench.constraint.protocol import Constraint, State
from workbench.decoding.generate import after as state_after
from workbench.grammar.export.registry import EXPORTS, export, named_by_suffix
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.grammar.recognition import Verdict
from workbench.vocabulary.vocabulary import Vocabulary


@takes_grammar
def check(
    named: Named,
    texts: Annotated[
        list[str] | None, typer.Argument(help="Texts to try; none: the lines of stdin.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Report whether texts are accepted; if not, where one fails and what was expected there.

    Exit status 0: all accepted; 1: some rejected; 2: the grammar cannot be used.
    """
    rejected = False
    for text in texts if texts is not None else (one.rstrip("\n") for one in sys.stdin):
        verdict = named.grammar.check(text)
        rejected |= not verdict.accepted
        _print_verdict(text, verdict, named, json=json)
    raise typer.Exit(int(rejected))


def _print_verdict(text: str, verdict: Verdict, named: Named, *, json: bool) -> None:
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


@takes_grammar
def lint(
    named: Named,
    json: JsonOption = False,
    vocab: Annotated[
        str | None,
        typer.Option(
            "--vocab",
            metavar="NAME",
            help="Also report what these tokens cannot encode: builtin, mistral-v1, a directory, …",
        ),
    ] = None,
    seconds: Annotated[
        float, typer.Option("--seconds", min=0.1, help="How long to look for an ambiguous text.")
    ] = 2.0,
) -> None:
    """Print advice on a grammar: useless rules, endless loops, conflicts, and more.

    Exit status 0: no advice; 1: some advice; 2: the grammar cannot be read.
    """
    grammar = named.grammar
    vocabulary = None if vocab is None else Vocabulary.load(vocab)
    found = examined(grammar, vocabulary, seconds)
    for advice in found.advice:
        _print_advice(advice, grammar, json=json)
    if found.pieces is not None and not json:
        typer.echo(
            f"no ambiguity found in texts of up to {found.pieces} pieces; "
            "longer ones were not all tried",
            err=True,
        )
    raise typer.Exit(int(bool(found.advice)))


def _print_advice(advice: Advice, grammar: Grammar, *, json: bool) -> None:
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


_STDIO = Path("-")


@takes_grammar
def convert(
    named: Named | None = None,
    start: str = "start",
    style: str = "",
    source: Annotated[
        Path | None,
        typer.Argument(
            metavar="FROM", help="A grammar; its suffix names the notation; - reads stdin."
        ),
    ] = None,
    target: Annotated[
        Path | None,
        typer.Argument(
            metavar="TO", help="The file to write, likewise; stdout where omitted or -."
        ),
    ] = None,
    from_: Annotated[
        str | None,
        typer.Option("--from", metavar="NOTATION", help=f"One of {', '.join(Notation)}."),
    ] = None,
    to: Annotated[
        str | None, typer.Option("--to", metavar="NOTATION", help=f"One of {', '.join(EXPORTS)}.")
    ] = None,
) -> None:
    """Write a grammar in another notation, or as a Python program that generates under it.

    Exit status 0: written; 2: the grammar cannot be read, or not be written so.
    """
    if named is not None:
        if target is not None:
            raise WorkbenchError("expected one grammar, not two", "leave FROM or the option out")
        grammar, target = named.grammar, source
    else:
        grammar = _read(source, from_, start, style)
    text = export(grammar, _wanted(target, to))
    if target is None or target == _STDIO:
        typer.echo(text, nl=not text.endswith("\n"))
        return
    write_file(target, (text if text.endswith("\n") else f"{text}\n").encode(), "name another file")


def _read(source: Path | None, notation: str | None, start: str, style: str) -> Grammar:
    if source is None:
        raise WorkbenchError("expected a grammar", "name a file, or one of the options for it")
    if notation is not None and notation not in list(Notation):
        raise WorkbenchError(f"expected one of {', '.join(Notation)}, not {notation!r}")
    known = Notation.of_file(source.name) if notation is None else Notation(notation)
    if known is None:
        hint = f"pass --from, or name the file {', '.join(n.suffix for n in Notation)}"
        raise WorkbenchError(f"the notation of {source} does not follow from its name", hint)
    return of_file(source, known, start, style)


def _wanted(target: Path | None, notation: str | None) -> str:
    """The notation to write.

    Raises: WorkbenchError where neither an option nor the file's name gives one.
    """
    if notation is not None:
        return notation
    known = None if target is None else named_by_suffix(target.name)
    if known is None:
        ends = ", ".join(dict.fromkeys(one.suffix for one in EXPORTS.values()))
        hint = f"pass --to, or name a file that ends with {ends}"
        raise WorkbenchError("expected a notation to write", hint)
    return known


@takes_grammar
def mask(
    named: Named,
    after: Annotated[str, typer.Option("--after", help="The text that was read before.")] = "",
    vocab: VocabularyOption = "builtin",
    limit: Annotated[int, typer.Option(help="How many tokens to print; 0 prints all.")] = 40,
    json: JsonOption = False,
) -> None:
    """Print the tokens that may come next.

    Exit status 0: some may; 1: the text cannot be continued; 2: wrong use.
    """
    vocabulary = Vocabulary.load(vocab)
    constraint = compile_grammar(named.grammar, vocabulary, limits=LOCAL_LIMITS)
    state = _state_after(constraint, after.encode())
    if state is None:
        verdict = named.grammar.check(after)
        reason = verdict if verdict.byte is not None else "no sequence of allowed tokens encodes it"
        typer.echo(f"error: {reason}", err=True)
        raise typer.Exit(1)
    allowed = constraint.mask(state)
    shown = allowed.ids.tolist()[: limit or None]
    tokens = {i: vocabulary.tokens[i] for i in shown}
    if json:
        line(
            {
                "after": after,
                "allowed": len(allowed),
                "of": len(vocabulary),
                "may_end": constraint.is_final(state),
                "forced": text_of(constraint.forced(state)),
                "ids": shown,
                "tokens": [None if t is None else text_of(t) for t in tokens.values()],
            }
        )
        return
    ending = ", and the text may end here" if constraint.is_final(state) else ""
    typer.echo(f"{len(allowed):,} of {len(vocabulary):,} tokens may come next{ending}")
    for token_id, token in tokens.items():
        typer.echo(f"{token_id:>7}  {'(end)' if token is None else repr(text_of(token))}")
    if len(shown) < len(allowed):
        typer.echo(f"    … {len(allowed) - len(shown):,} more (--limit 0 prints all)")


def _state_after(constraint: Constraint, text: bytes) -> State | None:
    """The state after a text; with terminal labels, after its longest allowed tokens."""
    if isinstance(constraint, AutomatonConstraint):
        return constraint.step_bytes(constraint.initial, text)
    tokens = longest_tokens(constraint, text)
    return None if tokens is None else state_after(constraint, tokens)
