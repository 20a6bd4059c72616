"""Templates: fixed text with holes, as in GUIDANCE programs."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from workbench.base.arguments import check_fields, checked
from workbench.base.cached_property import cached_property
from workbench.base.dfa import DEAD, Dfa
from workbench.base.errors import ParseError, WorkbenchError
from workbench.base.source import NO_SPAN, Source, Span
from workbench.base.visible_text import count_of, shorten
from workbench.grammar.grammar import Grammar
from workbench.syntax.grammar_printer import print_kbnf
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    GrammarTree,
    Literal,
    Pattern,
    Repetition,
    Rule,
    Sequence,
    Stop,
)
from workbench.syntax.regex.parser import parse_regex

_WHITE_SPACE = r"[ \t\n]*"


@dataclass(frozen=True, slots=True)
class Gen:
    """A hole the model fills: a match of a regex, or any text that does not contain ``stop``.

    ``stop`` is not part of the hole: write it at the start of the fixed text after the hole.
    """

    name: str
    regex: str | None = None
    stop: str | None = None

    def __post_init__(self) -> None:
        if (self.regex is None) is (self.stop is None):
            raise WorkbenchError(
                f"expected the hole {self.name!r} to have a regex or a stop",
                "gen('age', regex='[0-9]+') or gen('name', stop='\"')",
            )
        if self.stop == "":
            raise WorkbenchError(f"expected the hole {self.name!r} to stop at some text")


@dataclass(frozen=True, slots=True)
class Select:
    """A hole that holds one of some texts."""

    options: tuple[str, ...]
    name: str = ""

    def __post_init__(self) -> None:
        if not self.options or not isinstance(self.options, tuple):
            raise WorkbenchError("expected something to select from", "select(['yes', 'no'])")


@dataclass(frozen=True, slots=True)
class White:
    """Spaces, tabs and line breaks, any number of them."""


#: A string is fixed text.
Part = str | Gen | Select | White


@dataclass(frozen=True)
class Template:
    """A sequence of fixed texts and holes.

    Compiled with ``method="template"`` and run with the strategy ``JumpForward``, the tokenizer
    inserts the fixed text and the model fills only the holes.

    Source: GUIDANCE as in Beurer-Kellner et al. 2024 (DOMINO), appendix A.
    """

    parts: tuple[Part, ...]

    def __post_init__(self) -> None:
        check_fields(self)

    def __repr__(self) -> str:
        return f"Template({count_of(len(self.parts), 'part')}, {shorten(repr(self.kbnf), 80)})"

    @staticmethod
    @checked
    def parse(text: str, name: str = "template") -> Template:
        """Parse a template in the paper's notation: ``{gen('age', regex='[0-9]+')}`` is a hole.

        Others are ``{gen('name', stop='"')}``, ``{select(['yes', 'no'])}`` and ``{WS}``; a literal
        brace is doubled, as in f-strings.

        Raises: ParseError with the span of the error (regexes are parsed later).
        """
        return Template(tuple(parts_of(Source(text, name))))

    @cached_property
    def grammar(self) -> Grammar:
        """The language of all fillings.

        Raises: ParseError for an invalid regex, with the position in the regex; LimitError.
        """
        return Grammar.from_kbnf(self.kbnf, name="template")

    @cached_property
    def kbnf(self) -> str:
        """The language as KBNF text: one rule."""
        items = tuple(map(_expression, self.parts))
        body = items[0] if len(items) == 1 else Sequence(items, NO_SPAN)
        source = Source("", "template")
        return print_kbnf(GrammarTree((Rule("start", body, NO_SPAN, NO_SPAN),), source))

    def flexible(self) -> Template:
        """The whitespace-flexible variant: the model chooses the white space in fixed text.

        Text between double quotes is not changed.
        Source: DOMINO, appendix A, listing 2.
        """
        parts: list[Part] = []
        quoted = False
        for part in self.parts:
            if not isinstance(part, str):
                parts.append(part)
                continue
            for position, piece in enumerate(part.split('"')):
                if position:
                    quoted = not quoted
                    parts.append('"')
                parts.extend([piece] if quoted else _loosen(piece))
        return Template(tuple(_join(parts)))

    def values(self, text: str) -> list[tuple[str, str]]:
        """The names and contents of the named holes, in order; of several fillings the shortest.

        Raises: WorkbenchError if the text does not fill the template.
        """
        data = text.encode("utf-8", "surrogatepass")  # surrogates match no hole
        ends = self._part_ends(data)
        begin, values = 0, []
        for part, end_of in zip(self.parts, ends, strict=True):
            if begin not in end_of:
                raise WorkbenchError("expected a text that fills the template")
            end = end_of[begin]
            if isinstance(part, Gen | Select) and part.name:
                values.append((part.name, data[begin:end].decode()))
            begin = end
        if begin != len(data):
            raise WorkbenchError("expected a text that fills the template")
        return values

    def _part_ends(self, data: bytes) -> list[dict[int, int]]:
        """For each part and possible begin, the nearest end from which the other parts fit."""
        readers = [_reader(part) for part in self.parts]
        begins: list[set[int]] = [{0}]
        for ends in readers:
            begins.append({end for begin in begins[-1] for end in ends(data, begin)})
        good, nearest_ends = {len(data)}, list[dict[int, int]]()
        for ends, positions in zip(reversed(readers), reversed(begins[:-1]), strict=True):
            nearest = ((begin, _first_in(good, ends(data, begin))) for begin in positions)
            nearest_ends.append({begin: end for begin, end in nearest if end is not None})
            good = set(nearest_ends[-1])
        return nearest_ends[::-1]


def _reader(part: Part) -> Callable[[bytes, int], Iterator[int]]:
    """A function from a text and a begin to the possible ends of a part, nearest first."""
    match part:
        case str():
            return partial(_literal_ends, [part])
        case Select(options):
            return partial(_literal_ends, sorted(options, key=len))
        case Gen(regex=None, stop=stop):
            return partial(_stopped_ends, (stop or "").encode())
        case _:
            dfa = Grammar.from_regex(
                _WHITE_SPACE if isinstance(part, White) else part.regex or ""
            ).dfa
            assert dfa is not None, "a regex needs no stack"
            return partial(_ends, dfa)


def _literal_ends(texts: list[str], data: bytes, begin: int) -> Iterator[int]:
    for text in map(str.encode, texts):
        if data.startswith(text, begin):
            yield begin + len(text)


def _stopped_ends(stop: bytes, data: bytes, begin: int) -> Iterator[int]:
    index = data.find(stop, begin)
    return iter(range(begin, len(data) + 1 if index < 0 else index + len(stop)))


def _ends(dfa: Dfa, data: bytes, begin: int) -> Iterator[int]:
    state = dfa.initial
    for position in range(begin, len(data) + 1):
        if dfa.is_final(state):
            yield position
        if position == len(data) or (state := dfa.step(state, data[position])) == DEAD:
            return


def _first_in(good: set[int], ends: Iterator[int]) -> int | None:
    return next((end for end in ends if end in good), None)


def _loosen(text: str) -> Iterator[Part]:
    """Fixed text with a hole for each run of white space."""
    for piece in re.split(r"([ \t\n]+)", text):
        if piece:
            yield White() if piece.isspace() else piece


def _join(parts: list[Part]) -> Iterator[Part]:
    """Join adjacent fixed texts."""
    text = ""
    for part in parts:
        if isinstance(part, str):
            text += part
            continue
        if text:
            yield text
        text = ""
        yield part
    if text:
        yield text


def _expression(part: Part) -> Expression:
    match part:
        case str():
            return Literal(part.encode(), NO_SPAN)
        case White():
            return _pattern(_WHITE_SPACE, Stop.ANYWHERE)
        case Select(options):
            texts = [Literal(option.encode(), NO_SPAN) for option in options]
            return Choice(tuple(texts), NO_SPAN) if len(texts) > 1 else texts[0]
        case Gen(regex=None, stop=stop):
            before = _pattern(re.escape(stop or ""), Stop.BEFORE_MATCH)
            return Repetition(before, 0, 1, NO_SPAN)
        case Gen(regex=regex):
            return _pattern(regex or "", Stop.ANYWHERE)


def _pattern(text: str, stop: Stop) -> Pattern:
    return Pattern(parse_regex(Source(text, "regex")), stop, text, NO_SPAN)


_HINT = "write {gen('age', regex='[0-9]+')}, {select(['yes', 'no'])} or {WS}, and {{ for a brace"

#: The names of positional arguments.
_ARGUMENTS = {"gen": ("name",), "select": ("options", "name")}
_HOLES = {"gen": Gen, "select": Select}


def parts_of(source: Source) -> Iterator[Part]:
    """The parts of a template.

    Raises: ParseError.
    """
    text, fixed, position = source.text, "", 0
    if half := re.search("[\ud800-\udfff]", text):
        message = "expected a whole character, not one half of a surrogate pair"
        raise ParseError(message, source, Span(*half.span()))
    while position < len(text):
        if text[position] not in "{}" or text[position : position + 2] in ("{{", "}}"):
            fixed += text[position]
            position += 2 if text[position] in "{}" else 1
            continue
        if text[position] == "}":
            raise ParseError(
                "expected a hole before this brace", source, Span(position, position + 1), _HINT
            )
        if fixed:
            yield fixed
        end, call = _hole(source, position)
        yield _part(source, Span(position, end), call)
        fixed, position = "", end
    if fixed:
        yield fixed


def _hole(source: Source, position: int) -> tuple[int, ast.expr]:
    """The end of a hole and its expression: up to the first brace that completes one."""
    end = position
    while (end := source.text.find("}", end) + 1) > 0:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Python warns of escapes in regexes, such as '\\d'
                return end, ast.parse(source.text[position + 1 : end - 1].strip(), mode="eval").body
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            continue
    line = source.text[position:].partition("\n")[0]
    raise ParseError("expected a hole", source, Span(position, position + len(line)), _HINT)


def _part(source: Source, span: Span, call: ast.expr) -> Part:
    """The part of a hole's call. Nothing is evaluated: arguments are texts and lists of texts."""
    if isinstance(call, ast.Name) and call.id == "WS":
        return White()
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
        raise ParseError("expected gen(…), select(…) or WS", source, span, _HINT)
    hole = _HOLES.get(call.func.id)
    if hole is None:
        raise ParseError(f"there is no {call.func.id!r} in templates", source, span, _HINT)
    names = _ARGUMENTS[call.func.id]
    try:
        given: dict[str, Any] = dict(zip(names, map(_value, call.args), strict=False))
        given |= {argument.arg or "**": _value(argument.value) for argument in call.keywords}
        if any(isinstance(value, tuple) is (key != "options") for key, value in given.items()):
            raise TypeError
        if len(call.args) > len(names) or len(given) < len(call.args) + len(call.keywords):
            raise TypeError  # too many arguments, or one of them twice
        part: Part = hole(**given)
        return part
    except (TypeError, ValueError):
        raise ParseError("expected other arguments", source, span, _HINT) from None
    except WorkbenchError as error:
        raise ParseError(error.message, source, span, error.hint or _HINT) from None


def _value(node: ast.expr) -> str | tuple[str, ...]:
    """A text, or texts as a tuple. Raises: ValueError for anything else."""
    value = ast.literal_eval(node)
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and all(isinstance(option, str) for option in value):
        return tuple(value)
    raise ValueError
