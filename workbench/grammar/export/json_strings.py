"""Writes automata of JSON strings as rules over the unescaped contents.

A character of a JSON string has several escaped forms, which add about twenty states to each state
of the contents. The automaton of the contents is recovered and add_rules as rules, and the escaped
forms of each character set are one rule.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from collections.abc import Sequence as Row
from dataclasses import dataclass, field

from workbench.automata.code_points import CharacterFsa, Steps, character_edges
from workbench.automata.to_regex import EMPTY, concat, either, one_of, text
from workbench.base.dfa import DEAD, Dfa, State, table_rows
from workbench.base.errors import LimitError
from workbench.base.limits import Limits
from workbench.base.source import Span
from workbench.grammar.export.rule_names import Names
from workbench.grammar.export.terminals import machine_regex, machine_rules
from workbench.schema.json_literals import SHORT_ESCAPES
from workbench.syntax.grammar_tree import Choice, Expression, Literal, Nonterminal, Sequence
from workbench.syntax.ranges import Ranges, difference, intersection, normalized, size
from workbench.syntax.regex.printer import members
from workbench.syntax.regex.tree import Alternate, Characters, Concat, Regex, Repeat

_CONTROLS = ((0x00, 0x1F),)
#: The characters that must be escaped, and those with a short escape.
ESCAPED = normalized([*_CONTROLS, (ord('"'), ord('"')), (ord("\\"), ord("\\"))])
SHORTENED = normalized((ord(c), ord(c)) for c in SHORT_ESCAPES.values())
_HIGH_SURROGATES, _LOW_SURROGATES, _FURTHER = (
    (0xD800, 0xDBFF),
    (0xDC00, 0xDFFF),
    ((0x10000, 0x10FFFF),),
)
_HALVES = (_HIGH_SURROGATES[0], _LOW_SURROGATES[1])
#: Ranges of code points or UTF-16 units, with the state after them.
_Pieces = list[tuple[int, int, State]]
_Edges = dict[State, Ranges]


class _EscapeDependentError(Exception):
    """Two escaped forms of a character do not lead to the same state."""


def json_contents(dfa: Dfa) -> tuple[CharacterFsa, bool] | None:
    """The automaton of the unescaped contents, over the states of ``dfa``; whether quotes surround.

    None if the texts are no JSON strings or parts of them, or if only some escaped forms of a
    character are accepted, as in the values of an ``enum``.

    Law: a text is accepted if and only if it consists of escaped forms of RFC 8259, §7, and the
         returned automaton accepts their characters.
    """
    reading = _Reading(dfa)
    try:
        return reading.contents(), reading.quoted
    except _EscapeDependentError:
        return None


class _Reading:
    def __init__(self, dfa: Dfa) -> None:
        self._dfa = dfa
        self._rows = table_rows(dfa.table)
        self._steps = Steps(dfa)
        self._units: dict[tuple[State, int], _Pieces] = {}
        self._finals: list[bool] = dfa.finals.tolist()
        self.quoted = self._read(dfa.initial, '"') != DEAD

    def contents(self) -> CharacterFsa:
        first = self._after_quote() if self.quoted else self._dfa.initial
        states, finals = {first: None}, set[State]()
        waiting = deque([first])
        edges: list[tuple[State, Ranges, State]] = []
        while waiting:
            state = waiting.popleft()
            if self._ends(state):
                finals.add(state)
            for target, ranges in sorted(self._edges(state).items(), key=lambda edge: edge[1]):
                edges.append((state, ranges, target))
                if target not in states:
                    states[target] = None
                    waiting.append(target)
        return CharacterFsa(first, tuple(states), frozenset(finals), tuple(edges), ())

    def _step(self, state: State, byte: int) -> State:
        return DEAD if state == DEAD else self._steps.step(state, byte)

    def _read(self, state: State, text: str) -> State:
        for character in text:
            state = self._step(state, ord(character))
        return state

    def _after_quote(self) -> State:
        """The state after the opening quote, the only possible first byte."""
        initial = self._dfa.initial
        if any(self._step(initial, byte) != DEAD for byte in range(256) if byte != ord('"')):
            raise _EscapeDependentError
        return self._read(initial, '"')

    def _ends(self, state: State) -> bool:
        """Whether the contents may end here; nothing may follow the closing quote."""
        after = self._read(state, '"')
        if not self.quoted and after == DEAD:
            return self._finals[state]
        if self._finals[state] or not self.quoted:
            raise _EscapeDependentError
        if after == DEAD:
            return False
        if not self._finals[after] or any(there != DEAD for there in self._rows[after]):
            raise _EscapeDependentError
        return True

    def _edges(self, state: State) -> _Edges:
        """The edges over characters; all escaped forms of a character must agree."""
        if self._steps.stray(state):
            raise _EscapeDependentError
        escape = self._read(state, "\\")
        numeric = self._by_numbers(escape)
        plain: _Edges = {}
        for ranges, target in character_edges(self._step, state, self._dfa.classes):
            if intersection(ranges, _CONTROLS):
                raise _EscapeDependentError
            if rest := difference(ranges, ESCAPED):  # otherwise the closing quote or a backslash
                plain[target] = rest
        short: dict[State, list[tuple[int, int]]] = defaultdict(list)
        for letter, character in SHORT_ESCAPES.items():
            if (target := self._read(escape, letter)) != DEAD:
                short[target].append((ord(character), ord(character)))
        for target in {*numeric, *plain, *short}:
            ranges = numeric.get(target, ())
            if plain.get(target, ()) != difference(ranges, ESCAPED):
                raise _EscapeDependentError
            if normalized(short.get(target, ())) != intersection(ranges, SHORTENED):
                raise _EscapeDependentError
        return numeric

    def _by_numbers(self, escape: State) -> _Edges:
        """The edges of ``\\uXXXX`` and of surrogate pairs, from the state after a backslash."""
        ranges_of: dict[State, list[tuple[int, int]]] = defaultdict(list)
        for low, high, target in self._unit(self._read(escape, "u"), 4):
            for ranges in difference(((low, high),), (_HALVES,)):
                ranges_of[target].append(ranges)
            for first, last in intersection(((low, high),), (_HALVES,)):
                for piece in self._pairs(first, last, target):
                    ranges_of[piece[2]].append(piece[:2])
        return {target: normalized(pieces) for target, pieces in ranges_of.items()}

    def _pairs(self, first: int, last: int, between: State) -> Iterator[tuple[int, int, State]]:
        """The characters with a high surrogate ``first`` to ``last`` and any low surrogate."""
        for low, high, target in self._unit(self._read(between, "\\u"), 4):
            if last > _HIGH_SURROGATES[1] or low < _LOW_SURROGATES[0] or high > _LOW_SURROGATES[1]:
                raise _EscapeDependentError
            if (low, high) == _LOW_SURROGATES:
                yield _character(first, low), _character(last, high), target
                continue
            for half in range(first, last + 1):
                yield _character(half, low), _character(half, high), target

    def _unit(self, state: State, digits: int) -> _Pieces:
        """The numbers of ``digits`` hexadecimal digits; both letter cases must agree."""
        if digits == 0:
            return [(0, 0, state)]
        key = state, digits
        if key in self._units or state == DEAD:
            return self._units.get(key, [])
        pieces: _Pieces = []
        for digit in range(16):
            target = self._step(state, ord(f"{digit:x}"))
            if target != self._step(state, ord(f"{digit:X}")):
                raise _EscapeDependentError
            base = digit << 4 * (digits - 1)
            for low, high, there in self._unit(target, digits - 1) if target != DEAD else ():
                if pieces and pieces[-1][1:] == (base + low - 1, there):
                    pieces[-1] = pieces[-1][0], base + high, there
                else:
                    pieces.append((base + low, base + high, there))
        self._units[key] = pieces
        return pieces


def _character(high: int, low: int) -> int:
    """The character of a surrogate pair (RFC 8259, §7)."""
    return 0x10000 + (high - _HIGH_SURROGATES[0] << 10) + low - _LOW_SURROGATES[0]


_PLANE = ((0x0000, 0xFFFF),)
_BASE, _HIGH, _LOW, _HALF = 0x10000, 0xD800, 0xDC00, 10


def json_character(ranges: Ranges) -> Regex:
    """One character of a set: itself, a short escape, ``\\uXXXX`` or two of them.

    Cost: below 1 ms, and 40 ms for the 694 ranges of all letters.
    """
    plain = difference(ranges, ESCAPED)
    letters = [
        (ord(letter), ord(letter))
        for letter, character in SHORT_ESCAPES.items()
        if intersection(ranges, ((ord(character), ord(character)),))
    ]
    options = [one_of(plain)] if plain else []
    if letters:
        options.append(concat(text("\\"), one_of(normalized(letters))))
    if near := intersection(ranges, _PLANE):
        options.append(concat(text("\\u"), _digits(near, 4)))
    options += [
        concat(text("\\u"), _digits(first, 4), text("\\u"), _digits(second, 4))
        for first, second in _halves(difference(ranges, _PLANE))
    ]
    return either(*options)


def _digits(ranges: Ranges, digits: int) -> Regex:
    """The numbers of a set as ``digits`` hexadecimal digits; digits with equal rests are merged."""
    if not digits:
        return EMPTY
    size = 1 << 4 * (digits - 1)
    rests: dict[Ranges, list[int]] = defaultdict(list)
    for digit in range(16):
        block = intersection(ranges, ((digit * size, (digit + 1) * size - 1),))
        if block:
            rests[_shift(block, -digit * size)].append(digit)
    return either(
        *(concat(_of_digits(some), _digits(rest, digits - 1)) for rest, some in rests.items())
    )


def _of_digits(some: list[int]) -> Regex:
    signs = {ord(sign) for digit in some for sign in f"{digit:x}{digit:X}"}
    return one_of(normalized((sign, sign) for sign in signs))


def _halves(ranges: Ranges) -> list[tuple[Ranges, Ranges]]:
    """Surrogate pairs of a set; high surrogates with the same low ones are merged."""
    whole = (1 << _HALF) - 1
    seconds: dict[int, list[tuple[int, int]]] = defaultdict(list)
    firsts: dict[Ranges, list[tuple[int, int]]] = defaultdict(list)
    for low, high in _shift(ranges, -_BASE):
        begin, end = low >> _HALF, high >> _HALF
        inside = begin + (low & whole > 0), end - (high & whole < whole)
        if inside[0] <= inside[1]:
            firsts[((0, whole),)].append(inside)
        for half in {begin, end} - set(range(inside[0], inside[1] + 1)):
            base = half << _HALF
            seconds[half].append((max(low, base) - base, min(high, base + whole) - base))
    for half, pieces in seconds.items():
        firsts[normalized(pieces)].append((half, half))
    return [
        (_shift(normalized(first), _HIGH), _shift(second, _LOW)) for second, first in firsts.items()
    ]


def _shift(ranges: Ranges, by: int) -> Ranges:
    return tuple((low + by, high + by) for low, high in ranges)


#: The most characters of the regex of the contents.
_MAX_REGEX = 600
#: The rule of a set of fewer characters is named after them.
_MAX_NAMED_SET = 100

#: Rules by their names.
Rules = Row[tuple[str, Expression]]


@dataclass(frozen=True, slots=True, eq=False)
class JsonStrings:
    """Builds the rules for the JSON strings of one exported text; cached."""

    names: Names
    #: Adds rules to the text and returns a call of the first.
    add_rules: Callable[[Rules, Span], Nonterminal]
    repeated: Callable[[Expression, int, int | None, Span], Expression]
    #: A regex as terminals of the notation.
    terminal: Callable[[Regex, Span], Expression]
    limits: Limits
    _characters: dict[Ranges, Nonterminal] = field(default_factory=dict)

    def expression(self, machine: Dfa, span: Span) -> Expression | None:
        """The texts of a machine; None unless they are JSON strings in all escaped forms.

        A string of 3 to 255 letters has 256 states over its contents and 2,553 over escaped text.
        """
        contents = json_contents(machine)
        if contents is None:
            return None
        content, quoted = contents
        try:
            regex = machine_regex(content, _MAX_REGEX, self.limits)
        except LimitError:
            regex = None
        if regex is not None:
            body = self._of(regex, span)
        else:
            rules = machine_rules(content, self.names.series("content"), span, self._character)
            body = self.add_rules(rules, span)
        quote = Literal(b'"', span)
        return Sequence((quote, body, quote), span) if quoted else body

    def _of(self, regex: Regex, span: Span) -> Expression:
        """The regex of the contents, each character set as the rule of its escaped forms."""
        match regex:
            case Concat(parts):
                return Sequence(tuple(self._of(part, span) for part in parts), span)
            case Alternate(options):
                return Choice(tuple(self._of(option, span) for option in options), span)
            case Repeat(part, low, high):
                return self.repeated(self._of(part, span), low, high, span)
            case Characters(ranges):
                return self._character(ranges, span)
            case _:
                raise AssertionError("regexes of automata have no other nodes")

    def _character(self, ranges: Ranges, span: Span) -> Nonterminal:
        if ranges not in self._characters:
            wanted = (
                f"character {members(ranges)}" if size(ranges) < _MAX_NAMED_SET else "character"
            )
            body = self.terminal(json_character(ranges), span)
            self._characters[ranges] = self.add_rules([(self.names.fresh(wanted), body)], span)
        return self._characters[ranges]
