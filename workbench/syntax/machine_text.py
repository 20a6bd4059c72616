r"""Finite automata as lines of text: the notation that a drawing edits and that people can type.

::

    # even number of a
    initial even
    final even
    even -> odd : a
    odd -> even : a
    even -> even : b, c
    place even 120 80

A state is declared by any line that names it. Its name has letters, digits (also ``₀`` and ``²``),
``_``, ``'``, ``′``. The items of a label are separated by commas; each is a regex in Python's
dialect, so that the generalised automata of state elimination are texts of this notation too.
``ε``, ``eps`` and an empty label are the empty text; in an item ``\,`` is a comma and ``\#`` a
number sign. ``place`` is a position in a drawing. There may be any number of initial states.

What a textbook would forbid or call a mistake (no initial state, unreachable states,
nondeterminism) can be read: ``automata.drawn_machine`` gives advice on it.

A JFLAP file (``.jff``, XML) becomes such a text by ``from_jflap``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from xml.etree import ElementTree

from workbench.base.errors import ParseError
from workbench.base.limits import LIMITS, Clock
from workbench.base.source import Source, Span, Unescaped
from workbench.syntax.regex.extensions import labels_in
from workbench.syntax.regex.parser import parse_regex
from workbench.syntax.regex.tree import Regex, asserted, walk

#: A state's name.
NAME = r"[\w'′]+"
#: The label of an edge that reads nothing.
EPSILON = "ε"
_EPSILONS = frozenset({"", EPSILON, "eps"})
#: The largest coordinate of a position.
_MAX_COORDINATE = 100_000

_WORD = re.compile(r"[^\s,]+")
_EDGE = re.compile(rf"[ \t]*({NAME})[ \t]*(?:->|→)[ \t]*({NAME})[ \t]*(?:(:)|(?=#|$))")
_ARROW = re.compile(r"->|→")
_DECLARATION = re.compile(r"[ \t]*(initial|final|place)(?![\w'′]|[ \t]*(?:->|→))(?:[ \t]*:)?(.*)")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
#: The bounds of a repetition, whose comma separates no items.
_COUNT = re.compile(r"\{\d*,\d*\}")
#: Words of other tools for what this notation calls initial and final.
_OTHER_WORDS = {"start": "initial", "begin": "initial", "accept": "final", "accepting": "final"}


@dataclass(frozen=True, slots=True)
class Item:
    """One of the texts that an edge may read."""

    #: The item as written; empty or a name of ε for the empty text.
    text: str
    #: None for ε.
    regex: Regex | None
    span: Span


@dataclass(frozen=True, slots=True)
class DrawnEdge:
    """An edge with all items of its label."""

    source: str
    target: str
    items: tuple[Item, ...]
    #: The label; an empty span after the target of an edge without one.
    label_span: Span
    #: The line without its comment.
    span: Span


@dataclass(frozen=True, slots=True)
class DrawnState:
    """A state."""

    name: str
    is_initial: bool
    is_final: bool
    #: The position in the drawing, or None.
    place: tuple[float, float] | None
    #: The first occurrence of its name.
    span: Span


@dataclass(frozen=True, slots=True)
class Mention:
    """The name of a state in an ``initial``, ``final`` or ``place`` line."""

    keyword: str
    name: str
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class DrawnMachine:
    """A finite automaton as its author wrote it: nothing is removed or merged."""

    #: In the order of their first occurrence.
    states: tuple[DrawnState, ...]
    edges: tuple[DrawnEdge, ...]
    #: Every name after ``initial``, ``final`` and ``place``, duplicates included.
    mentions: tuple[Mention, ...]
    source: Source

    @property
    def initials(self) -> tuple[str, ...]:
        """The names of the initial states."""
        return tuple(state.name for state in self.states if state.is_initial)

    @property
    def finals(self) -> frozenset[str]:
        """The names of the final states."""
        return frozenset(state.name for state in self.states if state.is_final)


# -- reader ----------------------------------------------------------------------------------------


def parse_machine(source: Source, clock: Clock | None = None) -> DrawnMachine:
    """The automaton of a text.

    Raises: ParseError for a line of no known form and for an item that is no regex; LimitError.
    """
    return _Parser(source, clock or LIMITS.clock()).machine()


class _Parser:
    """Reads line by line."""

    def __init__(self, source: Source, clock: Clock) -> None:
        self._source = source
        self._clock = clock
        #: The first occurrence of each state.
        self._spans: dict[str, Span] = {}
        self._edges: list[DrawnEdge] = []
        self._mentions: list[Mention] = []
        self._places: dict[str, tuple[float, float]] = {}

    def machine(self) -> DrawnMachine:
        start = 0
        for line in self._source.text.split("\n"):
            self._clock.check()
            self._line(line.rstrip("\r"), start)
            start += len(line) + 1
        self._clock.limits.check("states", len(self._spans))
        initials = {mention.name for mention in self._mentions if mention.keyword == "initial"}
        finals = {mention.name for mention in self._mentions if mention.keyword == "final"}
        states = tuple(
            DrawnState(name, name in initials, name in finals, self._places.get(name), span)
            for name, span in self._spans.items()
        )
        return DrawnMachine(states, tuple(self._edges), tuple(self._mentions), self._source)

    def _line(self, line: str, start: int) -> None:
        if not line.strip() or line.lstrip().startswith("#"):
            return
        if declared := _DECLARATION.match(line):
            content = declared[2].partition("#")[0]
            keyword_start, offset = (start + declared.start(group) for group in (1, 2))
            self._declaration(declared[1], content, offset, keyword_start)
        elif edge := _EDGE.match(line):
            self._edge(edge, line, start)
        else:
            raise self._unknown(line, start)

    def _declaration(self, keyword: str, content: str, offset: int, start: int) -> None:
        """initial NAME…, final NAME…, place NAME X Y."""
        words = [(word[0], Span(*word.span()).shifted(offset)) for word in _WORD.finditer(content)]
        whole = Span(start, words[-1][1].end if words else start + len(keyword))
        numbers = words[1:] if keyword == "place" else []
        for word, span in words[: len(words) - len(numbers)]:
            if not re.fullmatch(NAME, word):
                raise self._bad_name(word, span)
            self._mentions.append(Mention(keyword, word, span))
            self._spans.setdefault(word, span)
        if keyword == "place":
            self._place(words, numbers, whole)
        elif not words:
            raise self._fail(
                f"expected the name of a state after '{keyword}'", whole, f"as in '{keyword} q0'"
            )

    def _place(
        self, words: list[tuple[str, Span]], numbers: list[tuple[str, Span]], whole: Span
    ) -> None:
        hint = "as in 'place q0 120 80'"
        if len(numbers) != 2:
            raise self._fail("expected a state and two numbers after 'place'", whole, hint)
        for word, span in numbers:
            if not _NUMBER.fullmatch(word) or abs(float(word)) > _MAX_COORDINATE:
                message = f"expected a number of at most {_MAX_COORDINATE:,}, not {word!r}"
                raise self._fail(message, span, hint)
        self._places[words[0][0]] = (float(numbers[0][0]), float(numbers[1][0]))

    def _edge(self, match: re.Match[str], line: str, start: int) -> None:
        for group in (1, 2):
            self._spans.setdefault(match[group], Span(*match.span(group)).shifted(start))
        pieces = list(_pieces(line, match.end())) if match[3] else []
        items = tuple(self._item(line, begin, end, start) for begin, end in pieces)
        begin, end = (pieces[0][0], pieces[-1][1]) if pieces else (match.end(2),) * 2
        if not items:
            items = (Item("", None, Span(start + end, start + end)),)
        self._edges.append(
            DrawnEdge(
                match[1],
                match[2],
                items,
                Span(start + begin, start + end),
                Span(start + match.start(1), start + max(end, match.end(2))),
            )
        )

    def _item(self, line: str, begin: int, end: int, start: int) -> Item:
        text, span = line[begin:end], Span(begin, end).shifted(start)
        if text in _EPSILONS:
            return Item(text, None, span)
        written = Unescaped(text, range(span.start, span.end + 1))
        regex = parse_regex(self._source, written=written, clock=self._clock)
        self._check_item(regex)
        return Item(text, regex, span)

    def _check_item(self, regex: Regex) -> None:
        for node in walk(regex):
            if asserted(node) is not None:
                raise self._fail(
                    "expected no assertion in a label: an edge reads its own part of the text",
                    node.span,
                    "leave it out, and let the states say what comes before and after",
                    "unsupported_regex",
                )
        for label, span in labels_in(regex):
            raise self._fail(
                f"expected characters, not {label.name}, which represents one token",
                span,
                "write a regex of the texts you mean",
                "unsupported_regex",
            )

    def _unknown(self, line: str, start: int) -> ParseError:
        """The error for a line that is neither a declaration nor an edge."""
        content = line.partition("#")[0].rstrip() or line.rstrip()
        begin = len(content) - len(content.lstrip())
        whole = Span(start + begin, start + len(content))
        hint = "write an edge as in 'q0 -> q1 : a', or 'initial q0', 'final q1', 'place q0 120 80'"
        arrow = _ARROW.search(content)
        if arrow is None:
            word = content.split()[0].rstrip(":=").lower()
            if word in _OTHER_WORDS:
                hint = f"write '{_OTHER_WORDS[word]}' and the names of states"
            return self._fail("expected an edge or a declaration", whole, hint)
        for side, offset in ((content[: arrow.start()], 0), (content[arrow.end() :], arrow.end())):
            name = side.split(":")[0].strip() if offset else side.strip()
            position = start + offset + side.find(name) if name else start + offset
            if not name:
                message = (
                    f"expected the name of a state {'after' if offset else 'before'} the arrow"
                )
                return self._fail(message, Span(position, position), "as in 'q0 -> q1 : a'")
            if not re.fullmatch(NAME, name):
                rest = name.split()
                if offset and len(rest) > 1 and re.fullmatch(NAME, rest[0]):
                    position += len(rest[0])
                    message = "expected ':' between the target and the label"
                    return self._fail(message, Span(position, position + 1), "as in 'q0 -> q1 : a'")
                return self._bad_name(name, Span(position, position + len(name)))
        return self._fail("expected an edge or a declaration", whole, hint)

    def _bad_name(self, name: str, span: Span) -> ParseError:
        return self._fail(
            f"expected the name of a state, not {name!r}",
            span,
            "a name has letters, digits, '_' and \"'\", such as q0, even or q'",
        )

    def _fail(self, message: str, span: Span, hint: str, kind: str = "syntax") -> ParseError:
        return ParseError(message, self._source, span, hint, kind)


def _pieces(line: str, begin: int) -> Iterator[tuple[int, int]]:
    """The first and the last position of each item of a label, without white space around it."""
    position, depth, item = begin, 0, begin
    while position < len(line):
        character = line[position]
        if character == "#":
            break
        if character == "," and depth == 0:
            yield _strip(line, item, position)
            item = position + 1
        elif character == "\\":
            position += 1
        elif character == "[":
            position = _class_end(line, position)
        elif character == "{" and (count := _COUNT.match(line, position)):
            position = count.end() - 1
        elif character in "()":
            depth = max(0, depth + (1 if character == "(" else -1))
        position += 1
    yield _strip(line, item, min(position, len(line)))


def _class_end(line: str, position: int) -> int:
    """The position of the bracket that closes a class; the last one of the line without it."""
    position += 2 if line.startswith("[^", position) else 1
    first = position
    while position < len(line) and (line[position] != "]" or position == first):
        position += 2 if line[position] == "\\" else 1
    return min(position, len(line))


def _strip(line: str, begin: int, end: int) -> tuple[int, int]:
    while begin < end and line[begin] in " \t\r":
        begin += 1
    while end > begin and line[end - 1] in " \t\r":
        backslashes = len(line[begin : end - 1]) - len(line[begin : end - 1].rstrip("\\"))
        if backslashes % 2:  # an escaped blank
            break
        end -= 1
    return begin, end


# -- printer ---------------------------------------------------------------------------------------


def machine_text(
    initials: Iterable[str],
    finals: Iterable[str],
    edges: Iterable[tuple[str, str, str]],
    places: Iterable[tuple[str, float, float]] = (),
) -> str:
    """The text of an automaton; an edge is its source, its target and its label."""
    lines = []
    for keyword, names in (("initial", initials), ("final", finals)):
        if line := " ".join(names):
            lines.append(f"{keyword} {line}")
    lines += [f"{source} -> {target} : {label}" for source, target, label in edges]
    lines += [f"place {name} {x:g} {y:g}" for name, x, y in places]
    return "".join(f"{line}\n" for line in lines)


def printed(machine: DrawnMachine) -> str:
    """The text of an automaton without comments, its states and edges in their order."""
    return machine_text(
        machine.initials,
        (state.name for state in machine.states if state.is_final),
        (
            (edge.source, edge.target, ", ".join(item.text or EPSILON for item in edge.items))
            for edge in machine.edges
        ),
        ((state.name, *state.place) for state in machine.states if state.place is not None),
    )


def item_text(pattern: str) -> str:
    """A pattern as one item of a label: signs of this notation outside classes are escaped."""
    if pattern in _EPSILONS - {""}:
        return f"[{pattern[0]}]{pattern[1:]}"
    pieces, position, depth = [], 0, 0
    while position < len(pattern):
        character, end = pattern[position], position + 1
        if character == "\\":
            end = position + 2
        elif character == "[":
            end = _class_end(pattern, position) + 1
        elif character == "{" and (count := _COUNT.match(pattern, position)):
            end = count.end()
        elif character in "()":
            depth += 1 if character == "(" else -1
        is_edge = position == 0 or end == len(pattern)
        escaped = (
            character == "#" or (character == "," and depth <= 0) or (character == " " and is_edge)
        )
        pieces.append("\\" + character if escaped else pattern[position:end])
        position = end
    return "".join(pieces)


# -- JFLAP -----------------------------------------------------------------------------------------

_JFLAP = re.compile(r"<structure[\s>/]")
#: The root element is among the first characters, after the XML declaration and comments.
_JFLAP_HEAD = 2_000
_JFLAP_RANGE = re.compile(r"\[(.)-(.)\]")
#: JFLAP's drawings are dense: its states are 30 wide.
_JFLAP_SCALE = 1.5


def is_jflap(text: str) -> bool:
    """Whether a text is a file of JFLAP."""
    head = text[:_JFLAP_HEAD]
    return head.lstrip().startswith("<") and _JFLAP.search(head) is not None


def from_jflap(source: Source) -> str:
    """The text of a finite automaton that JFLAP saved.

    The label of a transition is read as its characters, and ``[a-z]`` as a range. A name with other
    characters than this notation allows has ``_`` in their place.

    Raises: ParseError for other types of machines and for XML that is not such a file.
    """
    root = _xml(source)
    whole = Span(0, len(source.text))
    kind = (root.findtext("type") or "fa").strip()
    if kind not in ("fa", "finite automaton"):
        hint = "a grammar with a stack is written as KBNF or Lark"
        raise ParseError(
            f"expected a finite automaton, not JFLAP's type {kind!r}", source, whole, hint
        )
    names: dict[str, str] = {}
    initials, finals, places = [], [], []
    for state in root.iter("state"):
        name = _jflap_name(state, set(names.values()))
        names[state.get("id", "")] = name
        if state.find("initial") is not None:
            initials.append(name)
        if state.find("final") is not None:
            finals.append(name)
        x, y = (_coordinate(state.findtext(axis)) for axis in "xy")
        if x is not None and y is not None:
            places.append((name, x, y))
    edges = []
    for transition in root.iter("transition"):
        ends = [(transition.findtext(end) or "").strip() for end in ("from", "to")]
        if unknown := [end for end in ends if end not in names]:
            message = f"a transition names the state {unknown[0]!r}, which is not in the file"
            raise ParseError(message, source, whole, "save the automaton in JFLAP again")
        edges.append((names[ends[0]], names[ends[1]], _jflap_label(transition.findtext("read"))))
    if not names:
        raise ParseError("expected an automaton with a state", source, whole, "add one in JFLAP")
    return machine_text(initials, finals, edges, places)


def _xml(source: Source) -> ElementTree.Element:
    """The root of an XML text without declarations of types or entities, which could expand."""
    if declared := re.search(r"<!(?:DOCTYPE|ENTITY)", source.text, re.IGNORECASE):
        message = "expected no declaration of a document type or of entities"
        raise ParseError(message, source, Span(*declared.span()), "delete it")
    parser = ElementTree.XMLParser()  # without declarations nothing expands
    try:
        parser.feed(source.text.encode("utf-8", "replace").decode())
        return parser.close()
    except ElementTree.ParseError as error:
        line, column = error.position
        starts = [0, *(line_break.end() for line_break in re.finditer("\n", source.text))]
        offset = min(starts[min(line, len(starts)) - 1] + column, len(source.text))
        message = "expected XML as JFLAP saves it"
        raise ParseError(
            message, source, Span(offset, offset), "save the automaton again"
        ) from None


def _jflap_name(state: ElementTree.Element, taken: set[str]) -> str:
    number = state.get("id", "")
    wanted = (state.get("name") or f"q{number}").strip()
    base = re.sub(r"[^\w'′]+", "_", wanted).strip("_") or f"q{len(taken)}"
    name, copy = base, 1
    while name in taken:
        copy += 1
        name = f"{base}_{copy}"
    return name


def _coordinate(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return round(_JFLAP_SCALE * value) if abs(value) < _MAX_COORDINATE / 2 else None


def _jflap_label(read: str | None) -> str:
    text = read or ""
    if not text:
        return EPSILON
    if (range_ := _JFLAP_RANGE.fullmatch(text)) and range_[1] <= range_[2]:
        return f"[{re.escape(range_[1])}-{re.escape(range_[2])}]"
    escaped = re.escape(text).replace("\\ ", " ")
    return item_text(escaped.replace("\\\n", "\\n").replace("\\\r", "\\r"))


def read_machine(source: Source, clock: Clock | None = None) -> DrawnMachine:
    """The automaton of a text of this notation or of a JFLAP file.

    Raises: ParseError; LimitError.
    """
    if is_jflap(source.text):
        source = Source(from_jflap(source), source.name)
    return parse_machine(source, clock)
