"""The notations of grammars and the parser of each.

All notations but the regex are parsed into the same nodes (``GrammarTree``), so that one builder
serves them. ``Grammar.from_regex`` parses a regex into a tree of ``syntax.regex``.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from workbench.base.diagnostics import Advice, suggestion
from workbench.base.errors import ArgumentValueError, ParseError, WorkbenchError
from workbench.base.limits import Limits, time_budget
from workbench.base.source import Source, Span
from workbench.pushdown.build import Combining
from workbench.pushdown.contexts import without_contexts
from workbench.syntax.grammar_tree import Automaton, GrammarTree, Rule, Sequence
from workbench.syntax.other_notations import other_notations_named


@dataclass(frozen=True, slots=True)
class Importing(Combining):
    """``LanguageOperations`` for one text, embedded JSON Schemas included."""

    #: The white space of the schemas.
    whitespace: str | int = "auto"

    def schema(self, source: Source) -> GrammarTree:
        """The rules of an embedded JSON Schema, without white space around the whole instance.

        The grammar around the schema defines the white space there.

        Raises: ParseError, BuildError, LimitError.
        """
        from workbench.schema.json_schema import schema_grammar
        from workbench.schema.schema_options import KEYWORD, SchemaOptions

        options = SchemaOptions(whitespace=self.whitespace)
        parsed = schema_grammar(source, options, self.limits)
        for note in parsed.notes:
            if note.pointer.startswith(f"/{KEYWORD}"):  # notes on a part are not shown
                message = f"{note.pointer} cannot be read: it says how one engine writes JSON"
                raise ParseError(message, source, note.span, "leave it out", "unsupported")
        tree = parsed.tree
        start, *others = tree.rules
        match start.body:
            case Sequence((before, whole, after), _) if before == after:
                start = replace(start, body=whole)
        return GrammarTree((start, *others), source)


@dataclass(frozen=True, slots=True, eq=False)
class ParsedGrammar:
    """The result of a notation's parser."""

    tree: GrammarTree
    start: str
    #: Converts an accepted text to a JSON value or an instance of a dataclass.
    value: Callable[[str], object] | None = None
    #: Advice found by the parser.
    notes: tuple[Advice, ...] = ()


@contextmanager
def without_gc() -> Iterator[None]:
    """Suspend Python's cyclic garbage collector.

    The nodes of a grammar are short-lived, and one collection over a whole process costs more than
    most grammars: 250 compilations of Java's took 21 ms in the mean, now 19, and the slowest
    hundredth of 726 JSON Schemas 104 ms, now 63. Collections due meanwhile follow afterwards.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


# parsers are imported on first use: most processes need one of them


def _kbnf(source: Source, start: str, limits: Limits) -> ParsedGrammar:
    from workbench.syntax.kbnf.kbnf_parser import parse_kbnf

    with other_notations_named(source):
        return ParsedGrammar(parse_kbnf(source, limits.clock()), start)


def _gbnf(source: Source, start: str, limits: Limits) -> ParsedGrammar:
    from workbench.syntax.gbnf import parse_gbnf

    with other_notations_named(source):
        tree = parse_gbnf(source, limits.clock(), Importing(source, limits))
    # "start" is the default of the caller; the default of this notation is "root"
    named = any(rule.name == start for rule in tree.rules)
    return ParsedGrammar(tree, "root" if start == "start" and not named else start)


def _abnf(source: Source, start: str, limits: Limits) -> ParsedGrammar:
    from workbench.syntax.abnf import parse_abnf, start_of

    read = parse_abnf(source, limits.clock(), start)
    return ParsedGrammar(read.tree, start_of(read.tree.rules, start), notes=read.notes)


def _ebnf(source: Source, start: str, limits: Limits) -> ParsedGrammar:
    from workbench.syntax.ebnf.ebnf import parse_ebnf
    from workbench.syntax.leaves import first_rule

    read = parse_ebnf(source, limits.clock(), Importing(source, limits), start)
    return ParsedGrammar(read.tree, first_rule(read.tree.rules, start), notes=read.notes)


def _antlr(source: Source, start: str, limits: Limits) -> ParsedGrammar:
    from workbench.syntax.antlr.antlr import parse_antlr

    read = parse_antlr(source, limits.clock(), Importing(source, limits), start)
    return ParsedGrammar(read.tree, read.start, notes=read.notes)


def _lark(source: Source, start: str, limits: Limits, *, whitespace: str | int) -> ParsedGrammar:
    from workbench.syntax.lark.lowering import parse_lark

    tree = parse_lark(
        source, limits.clock(), Importing(source, limits, whitespace=whitespace), start
    )
    notes: tuple[Advice, ...] = ()
    if tree.written:  # it has an indenter
        indent = tree.written[-2]  # the last two rules are the declared terminals
        message = f"lines are indented by at most {limits.columns} columns here"
        hint = "raise the limit (Limits.columns) when running locally, for texts that need more"
        notes = (Advice(message, indent.name_span, "indentation", hint),)
    return ParsedGrammar(tree, start, notes=notes)


def _json_schema(
    source: Source,
    _: str,
    limits: Limits,
    *,
    documents: Mapping[str, Any] | None,
    **options: Any,  # noqa: ANN401  # the fields of ``SchemaOptions``
) -> ParsedGrammar:
    from workbench.schema.json_schema import schema_grammar
    from workbench.schema.schema_options import SchemaOptions
    from workbench.schema.wrapped_schema import explained, wrapped_schema

    try:
        with time_budget(limits.seconds):
            parsed = schema_grammar(source, SchemaOptions(**options), limits, documents)
    except ParseError as error:
        raise explained(error, source.text) from None
    wrapped = wrapped_schema(source.text)
    if wrapped is not None:
        message = (
            f"this is {wrapped.kind}, of which every JSON value is an instance; {wrapped.places}"
        )
        whole = Advice(message, parsed.instances.span, "wrapped_schema", wrapped.hint)
        return ParsedGrammar(parsed.tree, "start", json.loads, (whole,))
    notes = tuple(
        Advice(advice.message, advice.span, advice.effect, advice.hint, advice.fix)
        for advice in parsed.notes
    )
    return ParsedGrammar(parsed.tree, "start", json.loads, notes)


def _dataclass(
    source: Source, start: str, limits: Limits, *, style: str, whitespace: str | int
) -> ParsedGrammar:
    from workbench.schema.typed.dataclass_grammar import text_tree

    # without a name the last definition is used
    parsed = text_tree(source, style, limits, "" if start == "start" else start, whitespace)
    return ParsedGrammar(parsed.tree, "start", parsed.parse)


def parse_dataclass(
    cls: type | str, limits: Limits, *, style: str, whitespace: str | int
) -> ParsedGrammar:
    """Parse a dataclass or its source text, with the options of its notation.

    Raises: ParseError, BuildError, LimitError; WorkbenchError for an unknown choice.
    """
    from workbench.schema.typed.dataclass_grammar import class_tree, text_tree

    with time_budget(limits.seconds):
        if isinstance(cls, str):
            parsed = text_tree(Source(cls, "dataclass"), style, limits, whitespace=whitespace)
        else:
            parsed = class_tree(cls, style, limits, whitespace)
    return ParsedGrammar(parsed.tree, "start", parsed.parse)


def _prepare_lark() -> None:
    from workbench.syntax.lark.resolve import module_terminals

    module_terminals("common")


def _structural_tag(
    source: Source, _: str, limits: Limits, *, whitespace: str | int
) -> ParsedGrammar:
    from workbench.schema.schema_options import SchemaOptions
    from workbench.schema.structural_tag import parse_structural_tag

    options, operations = SchemaOptions(whitespace=whitespace), Importing(source, limits)
    parsed = parse_structural_tag(source, limits, operations, options)
    return ParsedGrammar(parsed.tree, "start", notes=parsed.notes)


def _machine(source: Source, start: str, limits: Limits) -> ParsedGrammar:
    from workbench.automata.drawn_machine import machine_advice, machine_dfa, no_text
    from workbench.syntax.machine_text import read_machine

    drawn = read_machine(source, limits.clock())
    notes, dfa = machine_advice(drawn, limits), machine_dfa(drawn, limits)
    whole = Span(0, len(source.text))
    if drawn.source is not source:  # a file of JFLAP: its parts have no place in this text
        notes = tuple(replace(note, span=Span(0, 0), fix=None) for note in notes)
    if dfa.is_empty:
        raise no_text(drawn, source, notes)
    body = Automaton(dfa, "the machine", whole)
    tree = GrammarTree((Rule(start, body, Span(0, 0), whole),), source)
    return ParsedGrammar(tree, start, notes=notes)


#: (source, start, limits, and the notation's options by name) → the rules.
Reader = Callable[..., ParsedGrammar]


@dataclass(frozen=True, slots=True)
class Option:
    """A further argument of a notation's parser."""

    default: Any
    #: The values it takes; empty for an argument that is not a choice, and that no text names.
    choices: tuple[str | bool, ...] = ()
    #: Whether it also takes a positive whole number, or the digits of one.
    takes_number: bool = False
    #: Whether it takes several words: a list, or a text with commas.
    takes_words: bool = False


#: The white space between the lexemes of JSON; a number is the most characters of each run.
_WHITESPACE = Option(
    "auto",
    ("auto", "any", "one space", "compact", "indent 2", "indent 4", "indent tab"),
    takes_number=True,
)
#: The most digits of a number: a larger one than any limit is an error of the limit.
_MOST_DIGITS = 9


class Notation(StrEnum):
    """How a grammar is written: the registry for the library, the command line and the page."""

    #: The name to display.
    label: str
    #: The file name suffix.
    suffix: str
    #: What its file contains, in the help of the command line.
    content: str
    #: Its parser; None for the regex, which has no rules.
    reader: Reader | None
    #: Initializes the parser once, before a time limit starts.
    prepare: Callable[[], None] | None
    #: Whether its rules, often hundreds, are generated; such rules are compiled separately.
    is_translated: bool
    #: Suffixes of files of other tools that its parser reads too.
    other_suffixes: tuple[str, ...]
    #: The further arguments of its parser.
    options: Mapping[str, Option]
    #: The usual name of the start rule; empty where it is the first rule, whatever its name.
    start: str

    REGEX = "regex", "Regex", ".regex", "A file with one regex", None
    KBNF = "kbnf", "KBNF", ".kbnf", "A KBNF grammar", _kbnf
    JSON_SCHEMA = (
        "json_schema",
        "JSON Schema",
        ".schema.json",
        "A JSON Schema",
        _json_schema,
        None,
        True,
        (),
        {
            "whitespace": _WHITESPACE,
            "order": Option("declared", ("declared", "any")),
            "format": Option("assert", ("assert", "annotation", "python")),
            "spellings": Option("usual", ("usual", "any")),
            "closed": Option(False, (False, True)),
            "unasserted": Option("", takes_words=True),
            "documents": Option(None),
        },
    )
    DATACLASS = (
        "dataclass",
        "Dataclass",
        ".dataclass.py",
        "A Python file with a dataclass, read and never run",
        _dataclass,
        None,
        True,
        (),
        # a constructor call, or JSON
        {"style": Option("call", ("call", "json")), "whitespace": _WHITESPACE},
    )
    GBNF = (
        "gbnf",
        "GBNF",
        ".gbnf",
        "A GBNF grammar, as of llama.cpp and xgrammar",
        _gbnf,
        None,
        False,
        (),
        MappingProxyType[str, Option]({}),
        "root",
    )
    LARK = (
        "lark",
        "Lark",
        ".lark",
        "A Lark grammar",
        _lark,
        _prepare_lark,
        False,
        (),
        {"whitespace": _WHITESPACE},  # of embedded schemas
    )
    MACHINE = (
        "machine",
        "Machine",
        ".fsa",
        "A finite automaton as text, or a file of JFLAP (.jff)",
        _machine,
        None,
        True,
        (".jff",),
    )

    STRUCTURAL_TAG = (
        "structural_tag",
        "Structural tag",
        ".tag.json",
        "A structural tag (JSON), as of xgrammar, vLLM and SGLang",
        _structural_tag,
        None,
        True,
        (),
        {"whitespace": _WHITESPACE},
    )

    ABNF = (
        "abnf",
        "ABNF",
        ".abnf",
        "An ABNF grammar, as in RFCs",
        _abnf,
        None,
        False,
        (),
        MappingProxyType[str, Option]({}),
        "",
    )

    EBNF = (
        "ebnf",
        "EBNF",
        ".ebnf",
        "An EBNF grammar, as of W3C or ISO 14977",
        _ebnf,
        None,
        False,
        (),
        MappingProxyType[str, Option]({}),
        "",
    )

    ANTLR = (
        "antlr",
        "ANTLR",
        ".g4",
        "An ANTLR 4 grammar, or a lexer's and a parser's together",
        _antlr,
        None,
        False,
        (),
        MappingProxyType[str, Option]({}),
        "",
    )

    # the defaults are for type checkers, for which the look-up Notation("kbnf") is a call of this
    def __new__(
        cls,
        name: str,
        label: str = "",
        suffix: str = "",
        content: str = "",
        reader: Reader | None = None,
        prepare: Callable[[], None] | None = None,
        is_translated: bool = False,
        other_suffixes: tuple[str, ...] = (),
        options: Mapping[str, Option] = MappingProxyType({}),
        start: str = "start",
    ) -> Notation:
        member = str.__new__(cls, name)
        member._value_ = name
        member.label, member.suffix, member.content = label, suffix, content
        member.reader, member.prepare = reader, prepare
        member.is_translated, member.other_suffixes = is_translated, other_suffixes
        member.options, member.start = options, start
        return member

    def non_defaults(self, start: str, **options: Any) -> dict[str, Any]:  # noqa: ANN401
        """Of the arguments of ``Grammar.from_text`` those that are not the defaults."""
        usual = {
            "start": self.start,
            **{name: option.default for name, option in self.options.items()},
        }
        given = {"start": start, **options}
        return {name: value for name, value in given.items() if value and value != usual[name]}

    @property
    def choices(self) -> dict[str, tuple[str | bool, ...]]:
        """The options that are choices: those that requests and files can name."""
        return {name: option.choices for name, option in self.options.items() if option.choices}

    @staticmethod
    def of_file(name: str) -> Notation | None:
        """The notation of a file by its suffix, or None."""
        return next(
            (
                notation
                for notation in Notation
                if name.endswith((notation.suffix, *notation.other_suffixes))
            ),
            None,
        )


#: The notations whose runs must end within their budget unless something else is chosen: a JSON
#: text that is cut is of no use.
FINISHING = frozenset({Notation.JSON_SCHEMA})

#: What reading a character takes at most: measured with a JSON text of empty objects.
_BYTES_PER_CHARACTER = 150


@without_gc()
def parse_grammar(
    source: Source,
    notation: Notation,
    start: str,
    limits: Limits,
    **options: Any,  # noqa: ANN401  # those of the notation
) -> ParsedGrammar:
    """Parse a text in any notation of rules.

    Raises: ParseError, BuildError, LimitError.
    """
    assert notation.reader is not None, "a regex has no rules"
    size = len(source.text) * _BYTES_PER_CHARACTER // 1_000_000
    limits.check("megabytes", size, "shorten the text, or raise the limit when running locally")
    defaults = {name: option.default for name, option in notation.options.items()}
    with time_budget(limits.seconds):
        read = notation.reader(source, start, limits, **{**defaults, **options})
        if notation.is_translated:
            return read
        tree = without_contexts(read.tree, read.start, limits)
    return read if tree is read.tree else replace(read, tree=tree)


#: The sign with which some editors begin a file; it is no part of the text.
_BYTE_ORDER_MARK = "\ufeff"


def text_source(text: str, name: str) -> Source:
    """The text of a grammar with its name, without a byte order mark.

    Raises: WorkbenchError if it is not a text.
    """
    if not isinstance(text, str):
        raise WorkbenchError(
            f"expected the text of a {name}, not {type(text).__name__}",
            "give its text; a file is read with Path.read_text",
        )
    return Source(text.removeprefix(_BYTE_ORDER_MARK), name)


def notation_of(name: str) -> Notation:
    """The notation of a name.

    Raises: WorkbenchError for an unknown one.
    """
    if name not in [*Notation]:
        hint, _ = suggestion(str(name), Notation, f"choose from {', '.join(Notation)}")
        raise ArgumentValueError(f"there is no notation {name!r}", hint)
    return Notation(name)


def checked_options(notation: Notation, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options, if a notation has them with these values; digits become a number.

    Raises: WorkbenchError for an unknown option or value.
    """
    read = {}
    for name, value in options.items():
        if name not in notation.options:
            names = ", ".join(notation.options)
            raise WorkbenchError(
                f"{notation.label} has no option {name!r}",
                f"choose from {names}" if names else "leave it out",
            )
        option = notation.options[name]
        read[name] = _number(value) if option.takes_number else value
        if option.takes_words:
            read[name] = _words(name, value)
        if option.choices and read[name] not in option.choices and type(read[name]) is not int:
            number = " or a positive whole number" if option.takes_number else ""
            raise ArgumentValueError(
                f"{notation.label} has no {name} {value!r}",
                f"choose {' or '.join(map(repr, option.choices))}{number}",
            )
    return read


def _words(name: str, value: object) -> str:
    """Some words, sorted, as one text with commas.

    Raises: WorkbenchError for other values.
    """
    words = value.replace(",", " ").split() if isinstance(value, str) else value
    if not isinstance(words, list | tuple | set | frozenset) or not all(
        isinstance(word, str) for word in words
    ):
        raise ArgumentValueError(f"expected {name} as a list of words, not {value!r}")
    return ",".join(sorted(set(words)))


def _number(value: object) -> object:
    """A positive whole number, also from its digits; any other value unchanged."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value[:_MOST_DIGITS])
    return str(value) if type(value) is int and value < 1 else value


def generation_options(
    text: str, notation: Notation, options: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The options under which a model writes the texts of a grammar.

    JSON for which nothing chooses the white space is written with one space: where any white space
    may follow, a model that has nothing to say writes white space up to its budget.
    """
    if options.get("whitespace", "auto") != "auto" or not _is_free(text, notation, options):
        return options
    return {**options, "whitespace": "one space"}


def _is_free(text: str, notation: Notation, options: Mapping[str, Any]) -> bool:
    """Whether a grammar has JSON and does not choose its white space itself."""
    from workbench.schema.schema_options import KEYWORD, chooses_whitespace

    match notation:
        case Notation.JSON_SCHEMA:
            return not chooses_whitespace(text)
        case Notation.STRUCTURAL_TAG:
            return KEYWORD not in text
        case Notation.DATACLASS:
            return options.get("style") == "json"
        case Notation.LARK:
            return "%json" in text
        case _:
            return False


def options_in(record: Mapping[str, Any], notation: Notation) -> dict[str, Any]:
    """The options of a notation that a record can name; empty values mean the default.

    Records of earlier versions call the white space of a JSON Schema ``style``.
    """
    if notation is Notation.JSON_SCHEMA and "whitespace" not in record and record.get("style"):
        record = {**record, "whitespace": record["style"]}
    return {
        name: record[name]
        for name, option in notation.options.items()
        if (option.choices or option.takes_words) and record.get(name)
    }


def prepare_notation(notation: Notation) -> None:
    """Initialize the parser and builder of a notation once, before a time limit starts."""
    if notation.prepare is not None:
        notation.prepare()
