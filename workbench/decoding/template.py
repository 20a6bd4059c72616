"""Templates: fixed text with holes, as GUIDANCE programs."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from workbench.base.dfa import DEAD, Dfa
from workbench.base.errors import ParseError, WorkbenchError
from workbench.base.source import Source, Span
from workbench.grammar.grammar import Grammar
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
from workbench.syntax.kbnf.kbnf_printer import print_kbnf
from workbench.syntax.regex.parser import parse_regex

_WHITE = r"[ \t\n]*"
_NOWHERE = Span(0, 0)


@dataclass(frozen=True, slots=True)
class Gen:
    """A hole the model fills: a text that a regex matches, or any text without ``stop`` in it.

    The fixed text after a hole that stops begins with ``stop``, if it is to be found there.
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
    """A hole with one of these texts in it."""

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
    """Fixed text and holes, one after the other.

    Compiled with ``method="template"`` and run with the strategy ``Skipping`` the fixed text is
    inserted by the tokenizer and the model is asked for the holes alone.

    Source: GUIDANCE as in Beurer-Kellner et al. 2024 (DOMINO), appendix A.
    """

    parts: tuple[Part, ...]

    @staticmethod
    def parse(text: str, name: str = "template") -> Template:
        """A template as the paper prints them: ``{gen('age', regex='[0-9]+')}`` is a hole.

        Others are ``{gen('name', stop='"')}``, ``{select(['yes', 'no'])}`` and ``{WS}``; a brace
        itself is doubled, as in the f-strings of the listings.

        Raises: ParseError with the place of what cannot be read (regexes are read later).
        """
        # it makes parts

        return Template(tuple(parts_of(Source(text, name))))

    @cached_property
    def grammar(self) -> Grammar:
        """The language of all fillings.

        Raises: ParseError for a regex that cannot be read, with its place in the regex; LimitError.
        """
        return Grammar.from_kbnf(self.kbnf, name="template")

    @cached_property
    def kbnf(self) -> str:
        """The same as text: one rule."""
        items = tuple(map(_expression, self.parts))
        body = items[0] if len(items) == 1 else Sequence(items, _NOWHERE)
        source = Source("", "template")
        return print_kbnf(GrammarTree((Rule("start", body, _NOWHERE, _NOWHERE),), source))

    def flexible(self) -> Template:
        """The whitespace-flexible variant: white space in fixed text is left to the model.

        What stands between double quotes is text of the program's own and stays.
        Source: DOMINO, appendix A, listing 2.
        """
        parts: list[Part] = []
        quoted = False
        for part in self.parts:
            if not isinstance(part, str):
                parts.append(part)
                continue
            for place, piece in enumerate(part.split('"')):
                if place:
                    quoted = not quoted
                    parts.append('"')
                parts.extend([piece] if quoted else _loosened(piece))
        return Template(tuple(_joined(parts)))

    def values(self, text: str) -> list[tuple[str, str]]:
        """What the holes with names hold, in order; the shortest filling where there are several.

        Raises: WorkbenchError where the text does not fill the template.
        """
        data = text.encode("utf-8", "surrogatepass")  # halves fill no hole
        ways = self._ways(data)
        begin, found = 0, []
        for part, way in zip(self.parts, ways, strict=True):
            if begin not in way:
                raise WorkbenchError("expected a text that fills the template")
            end = way[begin]
            if isinstance(part, Gen | Select) and part.name:
                found.append((part.name, data[begin:end].decode()))
            begin = end
        if begin != len(data):
            raise WorkbenchError("expected a text that fills the template")
        return found

    def _ways(self, data: bytes) -> list[dict[int, int]]:
        """For each part, from where it may go how far at least, so that all the rest fits."""
        readers = [_reader(part) for part in self.parts]
        begins: list[set[int]] = [{0}]
        for ends in readers:
            begins.append({end for begin in begins[-1] for end in ends(data, begin)})
        good, ways = {len(data)}, list[dict[int, int]]()
        for ends, places in zip(reversed(readers), reversed(begins[:-1]), strict=True):
            nearest = ((begin, _first_in(good, ends(data, begin))) for begin in places)
            ways.append({begin: end for begin, end in nearest if end is not None})
            good = set(ways[-1])
        return ways[::-1]


def _reader(part: Part) -> Callable[[bytes, int], Iterator[int]]:
    """Where a part that begins somewhere in a text may end, the nearest first."""
    match part:
        case str():
            return partial(_literal_ends, [part])
        case Select(options):
            return partial(_literal_ends, sorted(options, key=len))
        case Gen(regex=None, stop=stop):
            return partial(_stopped_ends, (stop or "").encode())
        case _:
            dfa = Grammar.from_regex(_WHITE if isinstance(part, White) else part.regex or "").dfa
            assert dfa is not None, "a regex needs no stack"
            return partial(_ends, dfa)


def _literal_ends(texts: list[str], data: bytes, begin: int) -> Iterator[int]:
    for text in map(str.encode, texts):
        if data.startswith(text, begin):
            yield begin + len(text)


def _stopped_ends(stop: bytes, data: bytes, begin: int) -> Iterator[int]:
    found = data.find(stop, begin)
    return iter(range(begin, len(data) + 1 if found < 0 else found + len(stop)))


def _ends(dfa: Dfa, data: bytes, begin: int) -> Iterator[int]:
    state = dfa.initial
    for place in range(begin, len(data) + 1):
        if dfa.is_final(state):
            yield place
        if place == len(data) or (state := dfa.step(state, data[place])) == DEAD:
            return


def _first_in(good: set[int], ends: Iterator[int]) -> int | None:
    return next((end for end in ends if end in good), None)


def _loosened(text: str) -> Iterator[Part]:
    """Fixed text with a hole for each stretch of white space."""
    for piece in re.split(r"([ \t\n]+)", text):
        if piece:
            yield White() if piece.isspace() else piece


def _joined(parts: list[Part]) -> Iterator[Part]:
    """Fixed texts side by side as one."""
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
            return Literal(part.encode(), _NOWHERE)
        case White():
            return _pattern(_WHITE, Stop.ANYWHERE)
        case Select(options):
            texts = [Literal(option.encode(), _NOWHERE) for option in options]
            return Choice(tuple(texts), _NOWHERE) if len(texts) > 1 else texts[0]
        case Gen(regex=None, stop=stop):
            before = _pattern(re.escape(stop or ""), Stop.BEFORE_MATCH)
            return Repetition(before, 0, 1, _NOWHERE)
        case Gen(regex=regex):
            return _pattern(regex or "", Stop.ANYWHERE)


def _pattern(text: str, stop: Stop) -> Pattern:
    return Pattern(parse_regex(Source(text, "regex")), stop, text, _NOWHERE)


_HINT = "write {gen('age', regex='[0-9]+')}, {select(['yes', 'no'])} or {WS}, and {{ for a brace"

#: The names of arguments without one.
_ARGUMENTS = {"gen": ("name",), "select": ("options", "name")}
_MADE = {"gen": Gen, "select": Select}


def parts_of(source: Source) -> Iterator[Part]:
    """The parts of a template.

    Raises: ParseError.
    """
    text, fixed, place = source.text, "", 0
    if half := re.search("[\ud800-\udfff]", text):
        message = "expected a whole character, not one half of a surrogate pair"
        raise ParseError(message, source, Span(*half.span()))
    while place < len(text):
        if text[place] not in "{}" or text[place : place + 2] in ("{{", "}}"):
            fixed += text[place]
            place += 2 if text[place] in "{}" else 1
            continue
        if text[place] == "}":
            raise ParseError(
                "expected a hole before this brace", source, Span(place, place + 1), _HINT
            )
        if fixed:
            yield fixed
        end, call = _hole(source, place)
        yield _part(source, Span(place, end), call)
        fixed, place = "", end
    if fixed:
        yield fixed


def _hole(source: Source, place: int) -> tuple[int, ast.expr]:
    """Where a hole ends, and what it says: up to the first brace that makes it an expression."""
    end = place
    while (end := source.text.find("}", end) + 1) > 0:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # regexes are full of what Python warns of: '\\d'
                return end, ast.parse(source.text[place + 1 : end - 1].strip(), mode="eval").body
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            continue
    line = source.text[place:].partition("\n")[0]
    raise ParseError("expected a hole", source, Span(place, place + len(line)), _HINT)


def _part(source: Source, span: Span, call: ast.expr) -> Part:
    """What a hole is. Nothing is evaluated: arguments are texts and lists of texts."""
    if isinstance(call, ast.Name) and call.id == "WS":
        return White()
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
        raise ParseError("expected gen(…), select(…) or WS", source, span, _HINT)
    made = _MADE.get(call.func.id)
    if made is None:
        raise ParseError(f"there is no {call.func.id!r} in templates", source, span, _HINT)
    names = _ARGUMENTS[call.func.id]
    try:
        given: dict[str, Any] = dict(zip(names, map(_value, call.args), strict=False))
        given |= {argument.arg or "**": _value(argument.value) for argument in call.keywords}
        if any(isinstance(value, tuple) is (key != "options") for key, value in given.items()):
            raise TypeError
        if len(call.args) > len(names) or len(given) < len(call.args) + len(call.keywords):
            raise TypeError  # more than there are, or one of them twice
        part: Part = made(**given)
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
