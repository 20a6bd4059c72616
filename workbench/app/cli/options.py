"""Options, input, output and errors that the commands share.

A command that needs a grammar has one parameter, ``named: Named``; ``takes_grammar`` replaces it by
the options that name a grammar, so that they are equal in all commands.
"""

from __future__ import annotations

import errno
import inspect
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, cast, get_type_hints

import typer

from workbench.analysis.problems import diagnose
from workbench.base.diagnostics import Problem, finite
from workbench.base.errors import SourceError, WorkbenchError
from workbench.base.extras import extras_named
from workbench.base.limits import LOCAL_LIMITS
from workbench.base.resources import GRAMMARS
from workbench.base.source import Source
from workbench.constraint.compile import MethodOptions
from workbench.constraint.protocol import Constraint
from workbench.decoding.adaptive_sampling import Cars
from workbench.decoding.checkpoint import set_threads
from workbench.decoding.contenders import warm_up
from workbench.decoding.model import LanguageModel, Message
from workbench.decoding.opportunistic_masking import OpportunisticMasking
from workbench.decoding.particles import Awrs, Particles
from workbench.decoding.sampling import Sampling
from workbench.decoding.speculative import CountProposer, ForcedProposer
from workbench.decoding.strategy import PLAIN, JumpForward, Speculation, Strategy
from workbench.grammar.gallery import Example, load_gallery
from workbench.grammar.grammar import Grammar
from workbench.grammar.monitors.monitor import MONITORS
from workbench.grammar.notations import Notation
from workbench.schema.wrapped_schema import schema_at
from workbench.vocabulary.vocabulary import TokenId

if TYPE_CHECKING:
    from workbench.decoding.transformers_model import TransformersModel

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
        "--model",
        metavar="NAME",
        help="builtin, smollm2 (if installed), a directory, a GGUF file or a hub id.",
    ),
]
DeviceOption = Annotated[str, typer.Option("--device", help="auto, cpu, cuda or mps.")]
DtypeOption = Annotated[
    str, typer.Option("--dtype", help="The weights' format: auto, float32, bfloat16 or float16.")
]
RevisionOption = Annotated[
    str | None, typer.Option("--revision", help="A branch, tag or commit of a hub id.")
]

ChatOption = Annotated[
    bool, typer.Option("--chat", help="The prompt is a user's message in a chat.")
]
SystemOption = Annotated[
    str | None, typer.Option("--system", help="The system message of a chat; implies --chat.")
]
DraftOption = Annotated[
    str | None,
    typer.Option(
        "--draft",
        metavar="NAME",
        help="A smaller model with the same tokens, which proposes; the text stays the same.",
    ),
]

TopKOption = Annotated[
    int | None, typer.Option("--top-k", min=1, help="Sample among the k likeliest allowed tokens.")
]
TopPOption = Annotated[
    float | None,
    typer.Option(
        "--top-p",
        help="Sample among the fewest allowed tokens that together have this probability.",
    ),
]
MinPOption = Annotated[
    float | None,
    typer.Option(
        "--min-p",
        help="Sample among allowed tokens at least this fraction as likely as the likeliest.",
    ),
]
PenaltyOption = Annotated[
    float,
    typer.Option(
        "--repetition-penalty",
        metavar="FACTOR",
        help="Above 1, tokens already read become less likely.",
    ),
]

MonitorOption = Annotated[
    str | None,
    typer.Option(
        "--monitor",
        metavar="NAME",
        help=f"Also check the meaning of the text: {', '.join(MONITORS)}.",
    ),
]


def before_prompt(chat: bool, system: str | None) -> tuple[Message, ...] | None:
    """The messages before the prompt; None if no chat is requested."""
    if system is not None:
        return (Message(role="system", content=system),)
    return () if chat else None


class GrammarError(WorkbenchError):
    """All errors of the text of a grammar."""

    def __init__(self, errors: Sequence[WorkbenchError]) -> None:
        super().__init__("\nerror: ".join(map(str, errors)))
        self.errors = errors


@contextmanager
def errors_reported(json: bool = False) -> Iterator[None]:
    """Print a ``WorkbenchError`` to stderr, and exit with status 2.

    So for a package that is not installed, and a disk that is full.

    With ``json`` each error is also a record on stdout.
    """
    try:
        with extras_named():
            yield
    except WorkbenchError as error:
        if json:
            for each in error.errors if isinstance(error, GrammarError) else (error,):
                line(problem_record(Problem.of(each)))
        fail(str(error))
    except BrokenPipeError:
        sys.stderr.close()  # the reader of stdout has closed it
        raise typer.Exit(1) from None
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
            raise
        # what stdout still holds would fail again at the end of the process
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        fail(f"cannot write the output: {error.strerror}\nhint: free space, or write elsewhere")


def fail(message: str) -> NoReturn:
    """Report wrong use: the message on stderr, exit status 2."""
    typer.echo(f"error: {message}", err=True)
    raise typer.Exit(2)


def line(record: dict[str, Any]) -> None:
    """Print a record as one line of JSON, flushed immediately; NaN and infinities are null."""
    typer.echo(json.dumps(finite(record), ensure_ascii=False, allow_nan=False))
    sys.stdout.flush()


def problem_record(problem: Problem) -> dict[str, Any]:
    """An error or advice as JSON; its numbers are null where it has no place in the grammar."""
    span, fixed = problem.span, problem.fix_span
    row, column = problem.position or (None, None)
    return {
        "kind": problem.kind,
        "severity": problem.severity,
        "message": problem.message,
        "hint": problem.hint,
        "start": span and span.start,
        "end": span and span.end,
        "line": row,
        "column": column,
        "fix": problem.fix,
        "fix_start": fixed and fixed.start,
        "fix_end": fixed and fixed.end,
    }


def read_text(path: Path, hint: str) -> str:
    """The text of a file; ``-`` is stdin.

    Raises: WorkbenchError where it cannot be read.
    """
    try:
        return sys.stdin.read() if str(path) == "-" else path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise WorkbenchError(f"cannot read {path}: {error}", hint) from error


def write_file(path: Path | None, content: bytes, hint: str) -> None:
    """Write a file; without a path write to stdout.

    Raises: WorkbenchError where it cannot be written.
    """
    if path is None:
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
        return
    try:
        path.write_bytes(content)
    except OSError as error:
        raise WorkbenchError(f"cannot write {path}: {error}", hint) from error


@contextmanager
def progress_bar(length: int, label: str) -> Iterator[Callable[[str, int], None]]:
    """A progress bar on stderr, disabled when stderr is not a terminal.

    Yields a function that sets the label and adds a number of steps.
    """
    if not sys.stderr.isatty():
        yield lambda label, steps: None
        return
    with typer.progressbar(length=length, label=label, file=sys.stderr) as bar:

        def advance(label: str, steps: int) -> None:
            bar.label = label
            bar.update(steps)

        yield advance


def loaded_model(
    name: str, device: str = "auto", dtype: str = "auto", revision: str | None = None
) -> TransformersModel:
    """The model of a name, with a line of progress on stderr if that is a terminal.

    Raises: ModelError, VocabularyError.
    """
    from workbench.decoding.transformers_model import load_model

    shown = sys.stderr.isatty()

    def show(stage: str, done: float | None) -> None:
        part = "" if done is None else f" {done:.0%}"
        if shown:
            typer.echo(f"\r\x1b[K{name}: {stage}{part}", nl=False, err=True)

    try:
        model = load_model(name, device, dtype, revision=revision, progress=show)
    finally:
        if shown:
            typer.echo("\r\x1b[K", nl=False, err=True)
    set_threads(model.module)
    return model


def text_of(data: bytes) -> str:
    """Bytes for reading: UTF-8, and what is none as ``\\xHH``."""
    return data.decode("utf-8", "backslashreplace")


#: Name → description and strategy. All but ``cars`` and ``particles`` generate the same text.
STRATEGIES: dict[str, tuple[str, Strategy]] = {
    "plain": ("one call for each token", PLAIN),
    "skipping": ("no call where only one token or one text is allowed", JumpForward()),
    "opportunistic": (
        "a call before the mask, which is computed only if its choice is refused",
        OpportunisticMasking(),
    ),
    "forced": (
        "one call for several tokens where the grammar forces bytes",
        Speculation(ForcedProposer()),
    ),
    "awrs": ("tokens are tested one by one, no mask is computed", Awrs()),
    "cars": ("texts are rejected: the model's own distribution over valid texts", Cars()),
    "particles": ("one of eight weighted texts, close to that distribution", Particles()),
    # replaced by ``learnt`` after the warm-up runs
    "counts": ("one call for several tokens, guessed from warm-up runs", PLAIN),
}


def strategy_of(name: str) -> Strategy:
    """The strategy of a name; ``counts`` is still without counts (``learnt``).

    Raises: WorkbenchError for an unknown name.
    """
    if name not in STRATEGIES:
        choices = "; ".join(f"{strategy}: {does}" for strategy, (does, _) in STRATEGIES.items())
        raise WorkbenchError(f"there is no strategy {name!r}", f"choose one of — {choices}")
    return STRATEGIES[name][1]


def options_of(written: Sequence[str]) -> MethodOptions:
    """A method's options from texts such as ``k=0``; digits become a number.

    Raises: WorkbenchError where a text has another form.
    """
    pairs = [each.partition("=") for each in written]
    for name, sign, value in pairs:
        if not (name and sign and value):
            raise WorkbenchError(
                f"expected NAME=VALUE, not {name + sign + value!r}", "as in --option k=0"
            )
    given = {name: int(value) if value.isdecimal() else value for name, _, value in pairs}
    return cast(MethodOptions, given)  # the method checks them


def learnt(
    model: LanguageModel,
    constraint: Constraint,
    prompt: Sequence[TokenId],
    sampling: Sampling,
    max_tokens: int,
    runs: int,
) -> Strategy:
    """Speculation with counts from warm-up runs."""
    warmed = warm_up(model, constraint, [prompt], sampling, runs, max_tokens)
    return Speculation(CountProposer.learnt(constraint, [trace for _, trace in warmed]))


@dataclass(frozen=True, slots=True)
class Named:
    """A grammar named on the command line, and its example if it is one of the gallery."""

    grammar: Grammar
    #: The gallery's entry, or None.
    example: Example | None


#: The option of each notation; ``--regex`` is a pattern, and ``draw --machine`` chooses a picture.
_FILES = {
    f"{notation}_file"
    if notation in (Notation.REGEX, Notation.MACHINE)
    else str(notation): notation
    for notation in Notation
}


#: The hint of a file that cannot be read.
_TEXT_FILE = "name a UTF-8 text file"


#: The fields of ``Reading`` by the options of notations.
_FIELDS = {
    "style": "style",
    "whitespace": "whitespace",
    "order": "order",
    "format": "formats",
    "spellings": "spellings",
    "closed": "closed",
    "unasserted": "unasserted",
    "documents": "document",
    "at": "at",
}


@dataclass(frozen=True, slots=True)
class Reading:
    """How a grammar is read: the options besides the one that names it."""

    start: str = "start"
    #: Of a dataclass alone.
    style: str = "call"
    #: White space is of everything with JSON, the others of JSON Schema alone.
    whitespace: str = "auto"
    order: str = "declared"
    formats: str = "assert"
    spellings: str = "usual"
    closed: bool = False
    unasserted: Sequence[str] | None = None
    document: Sequence[Path] | None = None
    at: str = ""

    def given(self, names: Sequence[str] = ()) -> str:
        """The options of these names, or of all, that are not the defaults."""
        usual = asdict(Reading())
        changed = (option for option in names or usual if getattr(self, option) != usual[option])
        return ", ".join(f"--{name}" for name in changed)

    def of_file(self, path: Path, notation: Notation) -> Grammar:
        """The grammar in a file; ``-`` is stdin.

        Raises: WorkbenchError where the file cannot be read; and as ``grammar``.
        """
        text = read_text(path, _TEXT_FILE)
        if notation is Notation.REGEX:
            text = text.removesuffix("\n")
        return self.grammar(text, notation, str(path))

    def of_example(self, example: Example) -> Grammar:
        """The grammar of the gallery's entry; its own start is the default one.

        Raises: as ``grammar``.
        """
        start = example.start if self.start == Reading().start else self.start
        return replace(self, start=start).grammar(example.text, example.notation, example.name)

    def grammar(self, text: str, notation: Notation, name: str) -> Grammar:
        """The grammar of a text.

        Raises: WorkbenchError where the notation has no such option, or a document cannot be read;
                LimitError; GrammarError.
        """
        options = {
            name: getattr(self, field) for name, field in _FIELDS.items() if self.given([field])
        }
        if notation is Notation.JSON_SCHEMA and options.pop("at", ""):
            text = schema_at(Source(text, name), self.at).text
        unknown = [name for name in options if name not in notation.options]
        if "style" in unknown:
            schema = notation is Notation.JSON_SCHEMA
            hint = "use --whitespace" if schema else "use --dataclass FILE"
            raise WorkbenchError("--style: an option of a dataclass", hint)
        if unknown:
            flags = ", ".join(f"--{_FIELDS[name]}" for name in unknown)
            raise WorkbenchError(f"{flags}: options of a JSON Schema", "use --json-schema FILE")
        if "documents" in options:
            folder = Path(name).parent  # the current one for stdin
            options["documents"] = {
                os.path.relpath(path, folder).replace(os.sep, "/"): read_text(path, _TEXT_FILE)
                for path in self.document or ()
            }
        try:
            return Grammar.from_text(
                text, notation, self.start, limits=LOCAL_LIMITS, name=name, **options
            )
        except SourceError as error:
            diagnosis = diagnose(error, text, notation, self.start, LOCAL_LIMITS, **options)
            raise GrammarError(diagnosis.errors) from error


#: The codes of notes that a grammar is another than its author may mean; the last two say what is.
_CHANGING = ("keyword_narrowed", "keyword_unasserted", "wrapped_schema", "other_notation")


#: Type, placeholder and help of the options that name a grammar.
_OPTIONS: dict[str, tuple[Any, str | None, str]] = {
    "regex": (str | None, "PATTERN", "A regular expression."),
    **{
        name: (Path | None, "FILE", f"{notation.content}; - reads stdin.")
        for name, notation in _FILES.items()
    },
    "start": (str, "RULE", "The rule a grammar begins with."),
    "style": (str, "NAME", "How the instances of a dataclass are written: call or json."),
    "whitespace": (
        str,
        "NAME",
        "White space of JSON: any, one space, compact, indent 2, indent 4, indent tab, or N (any,"
        " at most N characters in a row); auto writes one space and accepts any.",
    ),
    "order": (
        str,
        "NAME",
        "The properties of a JSON Schema's objects: in declared order, or in any.",
    ),
    "formats": (
        str,
        "NAME",
        "'format' in a JSON Schema: assert it; python, without leap seconds; or annotation.",
    ),
    "spellings": (
        str,
        "NAME",
        "Names, constants and integers of a JSON Schema: usual, or any (with every JSON escape).",
    ),
    "closed": (
        bool,
        None,
        "Objects have only the members that a JSON Schema names, as in strict tool calls.",
    ),
    "unasserted": (
        list[str] | None,
        "KEYWORD",
        "A keyword of a JSON Schema that is left out, such as uniqueItems; repeatable.",
    ),
    "document": (
        list[Path] | None,
        "FILE",
        "Another JSON Schema to which '$ref' refers, by its '$id', or by its path from the folder"
        " of the schema; repeatable.",
    ),
    "at": (
        str,
        "POINTER",
        "The JSON pointer of the schema in a document around it, such as /function/parameters.",
    ),
}


def _parameters() -> list[inspect.Parameter]:
    """The options that name a grammar, as parameters of a command."""
    kinds: dict[str, Any] = {}
    for name, (kind, metavar, text) in _OPTIONS.items():
        if name == "start":
            kinds["example"] = ExampleOption
        option = typer.Option(f"--{name.replace('_', '-')}", metavar=metavar, help=text)
        kinds[name] = Annotated[kind, option]
    return [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=getattr(Reading(), name, None),
            annotation=kind,
        )
        for name, kind in kinds.items()
    ]


_PARAMETERS = _parameters()


def print_notes(grammar: Grammar) -> None:
    """Print on stderr that a grammar is another than its author may mean."""
    for note in grammar.notes:
        if note.kind in _CHANGING:
            hint = f"\nhint: {note.hint}" if note.kind in _CHANGING[2:] else ""
            typer.echo(f"note: {note.message}{hint}", err=True)


def takes_grammar(command: Callable[..., None]) -> Callable[..., None]:
    """Replace a command's parameter ``named`` by the options of a grammar.

    Notes that a schema's instances and the accepted texts differ are printed; ``lint`` does so.

    If ``named`` has the default None, all of these options may be absent. A command that also reads
    another file has a parameter ``reading: Reading``.
    """
    hints = get_type_hints(command, include_extras=True)
    takes = inspect.signature(command).parameters
    optional = takes["named"].default is None

    @wraps(command)
    def with_options(**given: Any) -> None:  # noqa: ANN401  # the command's parameters
        options = {parameter.name: given.pop(parameter.name) for parameter in _PARAMETERS}
        reading = Reading(**{field.name: options.pop(field.name) for field in fields(Reading)})
        unnamed = optional and all(value is None for value in options.values())
        with errors_reported(json=given.get("json", False)):
            if "reading" in takes:
                given["reading"] = reading
            elif unnamed and (idle := reading.given()):
                raise WorkbenchError(f"{idle} has no effect without a grammar", "leave it out")
            named = None if unnamed else _grammar_of(options, reading)
            if named and command.__name__ != "lint":
                print_notes(named.grammar)
            command(named=named, **given)

    parameters = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[parameter.name])
        for parameter in takes.values()
        if parameter.name not in ("named", "reading")
    ]
    # typer reads both
    with_options.__signature__ = inspect.Signature([*parameters, *_PARAMETERS])  # type: ignore[attr-defined]
    with_options.__annotations__ = {
        parameter.name: parameter.annotation for parameter in (*parameters, *_PARAMETERS)
    }
    return with_options


def _grammar_of(options: dict[str, Any], reading: Reading) -> Named:
    """The grammar that the options name.

    Raises: WorkbenchError where they name none or several; and as ``Reading.grammar``.
    """
    given = {name: value for name, value in options.items() if value is not None}
    if len(given) != 1:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in options)
        raise WorkbenchError(
            f"expected one grammar, not {len(given)}", f"name it with one of {flags}"
        )
    ((name, value),) = given.items()
    if name == "regex":
        return Named(reading.grammar(value, Notation.REGEX, "regex"), None)
    if name == "example":
        example = _example_named(value)
        return Named(reading.of_example(example), example)
    return Named(reading.of_file(value, _FILES[name]), _entry_of(value))


def _example_named(name: str) -> Example:
    """The gallery's entry of a name.

    Raises: WorkbenchError for an unknown one.
    """
    gallery = load_gallery()
    if name not in gallery:
        raise WorkbenchError(
            f"there is no example {name!r} in the gallery", f"choose one of {', '.join(gallery)}"
        )
    return gallery[name]


def _entry_of(path: Path) -> Example | None:
    """The gallery's entry of a file, if the file is in the gallery."""
    if path.resolve().parent != GRAMMARS.resolve():
        return None
    return next((e for e in load_gallery().values() if e.file == path.name), None)
