"""``workbench check``, ``parse``, ``find``, ``lint``, ``convert``, ``mask`` and ``draw``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from workbench.analysis.advice import lint as examined
from workbench.analysis.parse_trees import parse_trees
from workbench.app.cli.options import (
    JsonOption,
    MonitorOption,
    Named,
    Reading,
    VocabularyOption,
    line,
    print_notes,
    problem_record,
    read_text,
    takes_grammar,
    text_of,
    write_file,
)
from workbench.automata.class_descriptions import describe
from workbench.base.diagnostics import Advice, Problem
from workbench.base.errors import WorkbenchError
from workbench.base.limits import LOCAL_LIMITS
from workbench.base.source import Source, Span
from workbench.constraint.compile import compile as compile_constraint
from workbench.constraint.labels import longest_tokens
from workbench.constraint.protocol import State
from workbench.constraint.token_machine import Capability, TokenMachine
from workbench.decoding.generate import after as state_after
from workbench.drawing import machine_files
from workbench.drawing.drawable import OVER_TOKENS, Drawn, Machine
from workbench.drawing.drawable import draw as drawing
from workbench.drawing.graph import Graph
from workbench.drawing.parts import Whole
from workbench.drawing.whole_machines import att, automaton
from workbench.grammar.export.registry import EXPORTS, export, export_notes, named_by_suffix
from workbench.grammar.find import find as matches_in
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.grammar.recognition import Verdict, utf8
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


@takes_grammar
def check(
    named: Named,
    texts: Annotated[
        list[str] | None, typer.Argument(help="Texts to try; none: the lines of stdin.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Report whether texts are accepted; if not, where one fails and what was expected there.

    With --json the errors of a grammar that cannot be used are records as those of lint.

    Exit status 0: all accepted; 1: some rejected; 2: the grammar cannot be used.
    """
    rejected = False
    for text in _given(texts):
        verdict = named.grammar.check(text)
        rejected |= not verdict.accepted
        _print_verdict(text, verdict, named, json=json)
    raise typer.Exit(int(rejected))


def _given(texts: list[str] | None) -> Iterable[str]:
    """The texts of the command line, else the lines of stdin."""
    return (entry.rstrip("\n") for entry in sys.stdin) if texts is None else texts


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
    offset = len(text) if verdict.offset is None else verdict.offset
    typer.echo(
        "  " + source.underline(Span(offset, min(len(text), offset + 1))).replace("\n", "\n  ")
    )
    if verdict.rules:
        typer.echo(f"  while reading {' ▸ '.join(verdict.rules)}")


@takes_grammar
def parse(
    named: Named,
    texts: Annotated[
        list[str] | None, typer.Argument(help="Texts to parse; none: the lines of stdin.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Print the parse tree of each text: two of them and their number if it is ambiguous.

    A text that is not accepted has an unfinished tree of the part that can be read. Exit status
    0: all accepted; 1: some not; 2: the grammar cannot be used.
    """
    rejected = False
    for text in _given(texts):
        trees = parse_trees(named.grammar, text, LOCAL_LIMITS)
        rejected |= not trees.accepted
        if json:
            line(trees.to_json())
        else:
            typer.echo(str(trees))
    raise typer.Exit(int(rejected))


@takes_grammar
def find(
    named: Named,
    files: Annotated[
        list[Path] | None, typer.Argument(help="Files to search; none, or '-': stdin.")
    ] = None,
    count: Annotated[
        bool, typer.Option("--count", "-c", help="Print the number of matches alone.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Print all parts of texts that the grammar accepts, each with its line and column.

    Of the matches that begin first the longest is printed; the search continues after it. Empty
    matches are not printed.

    Exit status 0: some matches; 1: none; 2: the grammar or a file cannot be read.
    """
    paths, total = files or [Path("-")], 0
    for path in paths:
        text = read_text(path, "name a text file, or - for stdin")
        source, before = Source(text, str(path)), "" if len(paths) == 1 else f"{path}:"
        match_count = 0
        for span in matches_in(named.grammar, text):
            match_count += 1
            if not count:
                _print_match(source, span, before, json=json)
        if count:
            typer.echo(f"{before}{match_count}")
        total += match_count
    raise typer.Exit(int(not total))


def _print_match(source: Source, span: Span, before: str, *, json: bool) -> None:
    row, column = source.position(span.start)
    text = source.text[span.start : span.end]
    if json:
        position = {"start": span.start, "end": span.end, "line": row, "column": column}
        line({"file": source.name, **position, "text": text})
        return
    typer.echo(f"{before}{row}:{column}:{text}")


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

    With --json each advice is a record, and each error of a grammar that cannot be read: one with
    the severity "error". The fix replaces the text from fix_start to fix_end.

    Exit status 0: no advice; 1: some advice; 2: the grammar cannot be read.
    """
    grammar = named.grammar
    vocabulary = None if vocab is None else Vocabulary.load(vocab)
    report = examined(grammar, vocabulary, seconds=seconds)
    for advice in report.advice:
        _print_advice(advice, grammar, json=json)
    if report.pieces is not None and not json:
        typer.echo(
            f"no ambiguity found in texts of up to {report.pieces} pieces; "
            "longer ones were not all tried",
            err=True,
        )
    raise typer.Exit(int(bool(report.advice)))


def _print_advice(advice: Advice, grammar: Grammar, *, json: bool) -> None:
    if json:
        line(problem_record(Problem.advised(advice, grammar.source)))
        return
    row, column = grammar.source.position(advice.span.start)
    position = f"{grammar.source.name}:{row}:{column}"
    typer.echo(f"{position}: {advice.severity}: {advice.message} ({advice.kind})")
    typer.echo("  " + grammar.source.underline(advice.span).replace("\n", "\n  "))
    typer.echo(f"  hint: {advice.hint}")


_STDIO, _READING = Path("-"), Reading()


@takes_grammar
def convert(
    named: Named | None = None,
    reading: Reading = _READING,
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
        grammar = _read(source, from_, reading)
        print_notes(grammar)
    to = _target_notation(target, to)
    text = export(grammar, to)
    for note in export_notes(grammar, to):
        typer.echo(f"note: {note}", err=True)
    if target is None or target == _STDIO:
        typer.echo(text, nl=not text.endswith("\n"))
        return
    write_file(target, (text if text.endswith("\n") else f"{text}\n").encode(), "name another file")


def _read(source: Path | None, notation: str | None, reading: Reading) -> Grammar:
    if source is None:
        raise WorkbenchError("expected a grammar", "name a file, or one of the options for it")
    if notation is not None and notation not in list(Notation):
        raise WorkbenchError(f"expected one of {', '.join(Notation)}, not {notation!r}")
    source_notation = Notation.of_file(source.name) if notation is None else Notation(notation)
    if source_notation is None:
        hint = f"pass --from, or name the file {', '.join(n.suffix for n in Notation)}"
        raise WorkbenchError(f"the notation of {source} does not follow from its name", hint)
    return reading.of_file(source, source_notation)


def _target_notation(target: Path | None, notation: str | None) -> str:
    """The notation to write.

    Raises: WorkbenchError where neither an option nor the file's name gives one.
    """
    if notation is not None:
        return notation
    target_notation = None if target is None else named_by_suffix(target.name)
    if target_notation is None:
        ends = ", ".join(dict.fromkeys(export.suffix for export in EXPORTS.values()))
        hint = f"pass --to, or name a file that ends with {ends}"
        raise WorkbenchError("expected a notation to write", hint)
    return target_notation


@takes_grammar
def mask(
    named: Named,
    after: Annotated[str, typer.Option("--after", help="The text that was read before.")] = "",
    vocab: VocabularyOption = "builtin",
    monitor: MonitorOption = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=0, help="How many tokens to print; 0 prints all.  [default: 40; all with --json]"
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Print the tokens that may come next, those together that lead to the same state.

    Of each state only a few are printed, unless --limit 0 is given; tokens of white space alone are
    the last. With --json all are in one record, in the order of their numbers.

    Exit status 0: some may; 1: the text cannot be continued; 2: wrong use.
    """
    vocabulary = Vocabulary.load(vocab)
    constraint = compile_constraint(named.grammar, vocabulary, limits=LOCAL_LIMITS, monitor=monitor)
    state = _state_after(constraint, after.encode())
    if state is None:
        verdict = named.grammar.check(after)
        reason = str(verdict) if verdict.byte is not None else ""
        reason = (
            reason or constraint.why(after.encode()) or "no sequence of allowed tokens encodes it"
        )
        typer.echo(f"error: {reason}", err=True)
        raise typer.Exit(1)
    allowed = constraint.mask(state)
    if json:
        shown = allowed.ids.tolist()[: limit or None]
        line(
            {
                "after": after,
                "allowed": len(allowed),
                "of": len(vocabulary),
                "may_end": constraint.is_final(state),
                "forced": text_of(constraint.forced(state)),
                "ids": shown,
                "tokens": [
                    None if t is None else text_of(t)
                    for t in map(vocabulary.tokens.__getitem__, shown)
                ],
            }
        )
        return
    ending = ", and the text may end here" if constraint.is_final(state) else ""
    typer.echo(f"{len(allowed):,} of {len(vocabulary):,} tokens may come next{ending}")
    groups = _by_next_state(constraint, state, allowed.ids.tolist(), vocabulary)
    _print_groups(groups, vocabulary, 40 if limit is None else limit)


def _by_next_state(
    constraint: TokenMachine, state: State, ids: Sequence[TokenId], vocabulary: Vocabulary
) -> list[list[TokenId]]:
    """Tokens that lead to the same state together, large groups first, white space last."""
    groups: dict[State | None, list[TokenId]] = {}
    for token_id in ids:
        is_end = vocabulary.tokens[token_id] is None
        groups.setdefault(None if is_end else constraint.advance(state, token_id), []).append(
            token_id
        )

    def is_blank(group: list[TokenId]) -> bool:
        return not any((vocabulary.tokens[token_id] or b"end").strip() for token_id in group)

    return sorted(groups.values(), key=lambda group: (is_blank(group), -len(group)))


#: The most tokens printed of those that lead to one state.
_MAX_OF_STATE = 8


def _print_groups(groups: list[list[TokenId]], vocabulary: Vocabulary, limit: int) -> None:
    """Print a number of tokens; 0 prints all."""
    remaining = limit or sum(map(len, groups))
    for number, group in enumerate(groups):
        count = min(
            remaining, len(group), _MAX_OF_STATE if limit and len(groups) > 1 else len(group)
        )
        if not count:
            rest = sum(map(len, groups[number:]))
            typer.echo(f"    … {rest:,} more, to {len(groups) - number:,} other states (--limit 0)")
            return
        for token_id in group[:count]:
            token = vocabulary.tokens[token_id]
            typer.echo(f"{token_id:>7}  {'(end)' if token is None else repr(text_of(token))}")
        if count < len(group):
            typer.echo(
                f"    … {len(group) - count:,} more to the same state (--limit 0 prints all)"
            )
        remaining -= count


def _state_after(constraint: TokenMachine, text: bytes) -> State | None:
    """The state after a text; with terminal labels, after its longest allowed tokens."""
    if constraint.can(Capability.BYTES):
        return constraint.step_bytes(constraint.initial, text)
    tokens = longest_tokens(constraint, text)
    return None if tokens is None else state_after(constraint, tokens)


class Picture(StrEnum):
    """What is drawn: a machine of the page, or one of DOMINO's."""

    CHARACTERS = Machine.CHARACTERS
    TOKENS = Machine.TOKENS
    PROPER = Machine.PROPER
    STACK = Machine.STACK
    RULES = Machine.RULES
    DETOKENIZER = Machine.DETOKENIZER
    #: The automaton of all sequences of terminals.
    SCANNER = "scanner"
    #: The subterminal trees after a text, and the part of them that the parser allows.
    SUBTERMINALS = "subterminals"


class Format(StrEnum):
    """What a machine is written as."""

    DOT = "dot"
    SVG = "svg"
    PNG = "png"
    #: A picture for LaTeX (``drawing.tikz``).
    TIKZ = "tikz"
    #: The whole machine as a record (``drawing.machine_files``).
    JSON = "json"
    #: AT&T text for OpenFst's tools (``drawing.machine_files``).
    FST = "fst"
    OPENFST = "openfst"


@takes_grammar
def draw(
    named: Named,
    machine: Annotated[Picture, typer.Option(help="Which machine.")] = Picture.CHARACTERS,
    form: Annotated[Format, typer.Option("--format", help="The output format.")] = Format.SVG,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A file; without one it goes to stdout.")
    ] = None,
    states: Annotated[
        int, typer.Option(min=1, help="The most states shown; larger machines show a part.")
    ] = 60,
    vocab: VocabularyOption = "builtin",
    after: Annotated[str, typer.Option(help="subterminals: after this text.")] = "",
    k: Annotated[
        int | None, typer.Option(min=0, help="subterminals: the lookahead; unlimited by default.")
    ] = None,
) -> None:
    """Draw the character FSA, token FSA, PDA, rules or detokenizer of a grammar.

    Or DOMINO's scanner, or the subterminal trees after a text.

    fst: labels are numbers on stdout (a byte is itself, 0x00 is 256; token i is i + 1; 0 is ε);
    a file named …zip has them by name, with both tables of symbols.
    """
    grammar = named.grammar
    if machine in (Picture.SCANNER, Picture.SUBTERMINALS):
        drawn = Drawn(Whole(_domino_graph(grammar, machine, vocab, after, k)))
        content = picture(drawn, _drawn_form(form, machine), states)
    else:
        content = _machine(grammar, Machine(machine), form, out, vocab, states)
    write_file(out, content, "choose another --out")


def _machine(
    grammar: Grammar, machine: Machine, form: Format, out: Path | None, vocab: str, states: int
) -> bytes:
    """A machine as the content of a file."""
    vocabulary = Vocabulary.load(vocab) if machine in OVER_TOKENS else None
    if form in (Format.FST, Format.OPENFST):
        written = att(grammar, machine, vocabulary, LOCAL_LIMITS)
        zipped = out is not None and out.suffix == ".zip"
        return written.archive(str(machine)) if zipped else written.numbered().encode()
    if form is Format.JSON:
        return machine_files.text(automaton(grammar, machine, vocabulary, LOCAL_LIMITS)).encode()
    return picture(drawing(grammar, machine, vocabulary, limits=LOCAL_LIMITS), form, states)


def _domino_graph(
    grammar: Grammar, machine: Picture, vocab: str, after: str, k: int | None
) -> Graph:
    """The scanner, or the subterminal trees after a text, pruned by parser and lookahead.

    Raises: WorkbenchError where no accepted text begins with it; LimitError; VocabularyError.
    """
    from workbench.constraint.methods.domino.domino import domino
    from workbench.constraint.methods.domino.scanner import Scanner, terminals_of
    from workbench.drawing.subterminals import draw_pruned, draw_scanner

    if machine is Picture.SCANNER:
        return draw_scanner(Scanner.of(terminals_of(grammar, LOCAL_LIMITS).each))
    constraint = domino(grammar, Vocabulary.load(vocab), LOCAL_LIMITS, k)
    state = constraint.readings.after(constraint.initial, utf8(after))
    if state is None:
        raise WorkbenchError(f"no accepted text begins with {after!r}", "workbench check says why")
    return draw_pruned(constraint, state)


def _drawn_form(form: Format, machine: Picture) -> Format:
    """The form, if it is a format of pictures.

    Raises: WorkbenchError for others.
    """
    if form in (Format.DOT, Format.SVG, Format.PNG, Format.TIKZ):
        return form
    raise WorkbenchError(f"{machine} is a picture, not {form}", "choose svg, png, tikz or dot")


def picture(drawn: Drawn, form: Format, states: int) -> bytes:
    """A picture of a machine as a file's content.

    Raises: LimitError where no layout ends in time.
    """
    shown = drawn.shown(states)
    if shown.shown_nodes < shown.total_nodes:
        typer.echo(shown.text, err=True)
    if form is Format.PNG:
        return drawn.png(states)
    written = {Format.SVG: drawn.svg, Format.TIKZ: drawn.tikz}.get(form, drawn.dot)
    return written(states).encode()
