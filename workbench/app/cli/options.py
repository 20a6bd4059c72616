"""Options that commands share, and how a command names its grammar.

A command takes one parameter, ``named: Named``; ``takes_grammar`` puts the options in its place,
so that a grammar is named everywhere alike.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, NoReturn, get_type_hints

import typer

from workbench.base.errors import WorkbenchError
from workbench.base.limits import Limits
from workbench.base.problems import finite
from workbench.base.resources import GRAMMARS
from workbench.constraint.protocol import Constraint
from workbench.decoding.contenders import warm_up
from workbench.decoding.model import LanguageModel
from workbench.decoding.opportunistic import Opportunistic
from workbench.decoding.sampling import Sampling
from workbench.decoding.speculative import Counts, Forced
from workbench.decoding.strategy import PLAIN, Skipping, Speculating, Strategy
from workbench.grammar.gallery import Example, load_gallery
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.vocabulary.vocabulary import TokenId

ExampleOption = Annotated[
    str | None, typer.Option("--example", metavar="NAME", help="An example of the gallery.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")]
VocabularyOption = Annotated[
    str,
    typer.Option(
        "--vocab",
        metavar="NAME",
        help="builtin, mistral-v1, mistral-v3, tekken, a directory or a hub id.",
    ),
]
ModelOption = Annotated[
    str,
    typer.Option(
        "--model", metavar="NAME", help="builtin, or a transformers model: a directory or a hub id."
    ),
]

#: On the command line the machine is its owner's: more than the public page allows.
LOCAL_LIMITS = Limits(seconds=30.0, megabytes=2_048, states=500_000)


@contextmanager
def errors_reported() -> Iterator[None]:
    """Print an error of ours where people look for it, and exit with status 2."""
    try:
        yield
    except WorkbenchError as error:
        fail(str(error))
    except BrokenPipeError:
        sys.stderr.close()  # the reader went away: nothing is left to tell
        raise typer.Exit(1) from None


def fail(message: str) -> NoReturn:
    """Wrong use: the message on stderr, exit status 2."""
    typer.echo(f"error: {message}", err=True)
    raise typer.Exit(2)


def line(record: dict[str, Any]) -> None:
    """One JSON object on one line, flushed immediately; numbers JSON has no word for are null."""
    typer.echo(json.dumps(finite(record), ensure_ascii=False, allow_nan=False))
    sys.stdout.flush()


def text_of(data: bytes) -> str:
    """Bytes for reading: UTF-8, and what is none as ``\\xHH``."""
    return data.decode("utf-8", "backslashreplace")


#: What each does, and the strategy; all of them write the same text.
STRATEGIES: dict[str, tuple[str, Strategy]] = {
    "plain": ("one call for each token", PLAIN),
    "skipping": ("no call where only one token or one text is allowed", Skipping()),
    "opportunistic": (
        "a call before the mask, which is computed only if its choice is refused",
        Opportunistic(),
    ),
    "forced": (
        "one call for several tokens where the grammar forces bytes",
        Speculating(Forced()),
    ),
    # until they are learnt
    "counts": ("one call for several tokens, guessed from warm-up runs", PLAIN),
}


def strategy_of(name: str) -> Strategy:
    """The strategy of that name; counts are to be learnt (``learnt``).

    Raises: WorkbenchError for an unknown name.
    """
    if name not in STRATEGIES:
        told = "; ".join(f"{known}: {does}" for known, (does, _) in STRATEGIES.items())
        raise WorkbenchError(f"there is no strategy {name!r}", f"choose one of — {told}")
    return STRATEGIES[name][1]


def options_of(written: Sequence[str]) -> dict[str, int | str]:
    """A method's options as they are written: ``k=0``; digits are a number.

    Raises: WorkbenchError where one is not written so.
    """
    pairs = [each.partition("=") for each in written]
    for name, sign, value in pairs:
        if not (name and sign and value):
            raise WorkbenchError(
                f"expected NAME=VALUE, not {name + sign + value!r}", "as in --option k=0"
            )
    return {name: int(value) if value.isdecimal() else value for name, _, value in pairs}


def learnt(
    model: LanguageModel,
    constraint: Constraint,
    prompt: Sequence[TokenId],
    sampling: Sampling,
    max_tokens: int,
    runs: int,
) -> Strategy:
    """Speculation with the counts of some warm-up runs."""
    warmed = warm_up(model, constraint, [prompt], sampling, runs, max_tokens)
    return Speculating(Counts.learnt(constraint, [trace for _, trace in warmed]))


@dataclass(frozen=True, slots=True)
class Named:
    """A grammar as the command line names it, with what its example brings."""

    grammar: Grammar
    #: The gallery's entry for it, or None.
    example: Example | None


#: The option of each notation, and what is in its file.
_FILES = {
    "regex_file": (Notation.REGEX, "A file with one regex"),
    "kbnf": (Notation.KBNF, "A KBNF grammar"),
    "json_schema": (Notation.JSON_SCHEMA, "A JSON Schema"),
    "dataclass": (Notation.DATACLASS, "A Python file with a dataclass, read and never run"),
    "gbnf": (Notation.GBNF, "A GBNF grammar, as of llama.cpp and xgrammar"),
    "lark": (Notation.LARK, "A Lark grammar"),
}


#: The other options of a grammar, and their defaults.
_BESIDE = {"start": "start", "style": ""}


def _parameters() -> list[inspect.Parameter]:
    """The options of a grammar, as parameters of a command."""
    kinds: dict[str, Any] = {
        "regex": Annotated[
            str | None,
            typer.Option("--regex", metavar="PATTERN", help="A regular expression."),
        ]
    }
    for name, (_, what) in _FILES.items():
        option = typer.Option(
            f"--{name.replace('_', '-')}", metavar="FILE", help=f"{what}; - reads stdin."
        )
        kinds[name] = Annotated[Path | None, option]
    kinds["example"] = ExampleOption
    kinds["start"] = Annotated[
        str, typer.Option("--start", metavar="RULE", help="The rule a grammar begins with.")
    ]
    kinds["style"] = Annotated[
        str,
        typer.Option(
            "--style",
            metavar="NAME",
            help="How JSON is laid out (any, one space, compact), or a dataclass (call, json).",
        ),
    ]
    return [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=_BESIDE.get(name),
            annotation=kind,
        )
        for name, kind in kinds.items()
    ]


_PARAMETERS = _parameters()


def takes_grammar(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose ``named`` is said by options; where it may be None, by none of them too.

    A command that also reads another file may take ``start`` and ``style`` itself too.
    """
    hints = get_type_hints(command, include_extras=True)
    takes = inspect.signature(command).parameters
    optional = takes["named"].default is None

    @wraps(command)
    def asked(**given: Any) -> None:  # noqa: ANN401  # whatever the command takes
        options = {one.name: given.pop(one.name) for one in _PARAMETERS}
        given |= {name: options[name] for name in _BESIDE if name in takes}
        unnamed = optional and all(v is None for name, v in options.items() if name not in _BESIDE)
        with errors_reported():
            command(named=None if unnamed else _named(options), **given)

    own = [
        one.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[one.name])
        for one in takes.values()
        if one.name != "named" and one.name not in _BESIDE
    ]
    # typer reads both
    asked.__signature__ = inspect.Signature([*own, *_PARAMETERS])  # type: ignore[attr-defined]
    asked.__annotations__ = {one.name: one.annotation for one in (*own, *_PARAMETERS)}
    return asked


def _named(options: dict[str, Any]) -> Named:
    """The one grammar that was named.

    Raises: WorkbenchError where none or several were; ParseError, BuildError, LimitError.
    """
    start, style = options.pop("start"), options.pop("style")
    given = {name: value for name, value in options.items() if value is not None}
    if len(given) != 1:
        ways = ", ".join(f"--{name.replace('_', '-')}" for name in options)
        raise WorkbenchError(
            f"expected one grammar, not {len(given)}", f"name it with one of {ways}"
        )
    ((name, value),) = given.items()
    if name == "regex":
        return Named(Grammar.from_regex(value, limits=LOCAL_LIMITS), None)
    if name == "example":
        return _from_gallery(value)
    notation, _ = _FILES[name]
    return Named(of_file(value, notation, start, style), _entry_of(value))


def of_file(path: Path, notation: Notation, start: str = "start", style: str = "") -> Grammar:
    """The grammar in a file; ``-`` is what comes in.

    Raises: WorkbenchError where the file cannot be read; ParseError, BuildError, LimitError.
    """
    try:
        text = sys.stdin.read() if str(path) == "-" else path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise WorkbenchError(f"cannot read {path}: {error}", "name a UTF-8 text file") from error
    if notation is Notation.REGEX:
        text = text.removesuffix("\n")
    return Grammar.from_text(
        text, notation, start, style=style, limits=LOCAL_LIMITS, name=str(path)
    )


def _from_gallery(name: str) -> Named:
    gallery = load_gallery()
    if name not in gallery:
        raise WorkbenchError(
            f"there is no example {name!r} in the gallery", f"choose one of {', '.join(gallery)}"
        )
    entry = gallery[name]
    grammar = Grammar.from_text(
        entry.text, entry.notation, entry.start, limits=LOCAL_LIMITS, name=name
    )
    return Named(grammar, entry)


def _entry_of(path: Path) -> Example | None:
    """The gallery's entry for a file, if it is one of the gallery's own."""
    if path.resolve().parent != GRAMMARS.resolve():
        return None
    return next((e for e in load_gallery().values() if e.file == path.name), None)
