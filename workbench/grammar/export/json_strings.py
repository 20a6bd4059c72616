"""Rules for terminals of JSON strings, from the machine of their values.

A character of a JSON string has several spellings; spelled out, each state has some twenty more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from collections.abc import Sequence as Row
from dataclasses import dataclass, field

from workbench.automata.code_points import CharacterFsa, Steps, character_edges
from workbench.automata.to_regex import EMPTY, concat, either, one_of, text
from workbench.base.dfa import DEAD, Dfa, State
from workbench.base.errors import LimitError
from workbench.base.limits import Limits
from workbench.base.source import Span
from workbench.grammar.export.rule_names import Names
from workbench.grammar.export.terminals import machine_regex, machine_rules
from workbench.syntax.grammar_tree import Choice, Expression, Literal, Nonterminal, Sequence
from workbench.syntax.ranges import Ranges, difference, intersection, normalized, size
from workbench.syntax.regex.printer import members
from workbench.syntax.regex.tree import Alternate, Characters, Concat, Regex, Repeat

#: What may follow a backslash, and the character it says.
SHORT = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_CONTROLS = ((0x00, 0x1F),)
#: What stands in a string by an escape alone, and what has a short one.
ESCAPED = normalized([*_CONTROLS, (ord('"'), ord('"')), (ord("\\"), ord("\\"))])
SHORTENED = normalized((ord(c), ord(c)) for c in SHORT.values())
_HIGH_SURROGATES, _LOW_SURROGATES, _FURTHER = (
    (0xD800, 0xDBFF),
    (0xDC00, 0xDFFF),
    ((0x10000, 0x10FFFF),),
)
_HALVES = (_HIGH_SURROGATES[0], _LOW_SURROGATES[1])
#: Code points or units, and where they lead.
_Pieces = list[tuple[int, int, State]]
_Edges = dict[State, Ranges]


class _OtherwiseError(Exception):
    """Some spelling of a character means something else than another."""


def json_contents(dfa: Dfa) -> tuple[CharacterFsa, bool] | None:
    """The machine of what is said, its states those of the Dfa; and whether quotes stand around.

    None where the texts are no JSON strings or parts of them, or a character may be written in some
    of its ways alone, as in the words of an ``enum``.

    Law: a text is accepted if and only if each of its characters stands in any spelling of
         RFC 8259, §7, and the machine accepts what they say.
    """
    reading = _Reading(dfa)
    try:
        return reading.contents(), reading.quoted
    except _OtherwiseError:
        return None


class _Reading:
    def __init__(self, dfa: Dfa) -> None:
        self._dfa = dfa
        self._rows: list[list[State]] = dfa.table.tolist()
        self._steps = Steps(dfa)
        self._units: dict[tuple[State, int], _Pieces] = {}
        self._finals: list[bool] = dfa.finals.tolist()
        self.quoted = self._read(dfa.initial, '"') != DEAD

    def contents(self) -> CharacterFsa:
        first = self._begun() if self.quoted else self._dfa.initial
        seen, finals = {first}, set[State]()
        waiting = [first]
        edges: list[tuple[State, Ranges, State]] = []
        for state in waiting:  # grows while it is read
            if self._ends(state):
                finals.add(state)
            for target, ranges in sorted(self._edges(state).items(), key=lambda edge: edge[1]):
                edges.append((state, ranges, target))
                if target not in seen:
                    seen.add(target)
                    waiting.append(target)
        return CharacterFsa(first, tuple(waiting), frozenset(finals), tuple(edges), ())

    def _step(self, state: State, byte: int) -> State:
        return DEAD if state == DEAD else self._steps.step(state, byte)

    def _read(self, state: State, text: str) -> State:
        for character in text:
            state = self._step(state, ord(character))
        return state

    def _begun(self) -> State:
        """The state behind the first quote, which is all a text may begin with."""
        initial = self._dfa.initial
        if any(self._step(initial, byte) != DEAD for byte in range(256) if byte != ord('"')):
            raise _OtherwiseError
        return self._read(initial, '"')

    def _ends(self, state: State) -> bool:
        """Whether the string, or the part of one, may end here; nothing may follow a last quote."""
        behind = self._read(state, '"')
        if not self.quoted and behind == DEAD:
            return self._finals[state]
        if self._finals[state] or not self.quoted:
            raise _OtherwiseError
        if behind == DEAD:
            return False
        if not self._finals[behind] or any(there != DEAD for there in self._rows[behind]):
            raise _OtherwiseError
        return True

    def _edges(self, state: State) -> _Edges:
        """Which characters lead where, in every spelling alike."""
        if self._steps.stray(state):
            raise _OtherwiseError
        escape = self._read(state, "\\")
        spelled = self._by_numbers(escape)
        plain: _Edges = {}
        for ranges, target in character_edges(self._step, state, self._dfa.classes):
            if intersection(ranges, _CONTROLS):
                raise _OtherwiseError
            if rest := difference(ranges, ESCAPED):  # else it is the last quote or a backslash
                plain[target] = rest
        short: dict[State, list[tuple[int, int]]] = defaultdict(list)
        for letter, said in SHORT.items():
            if (target := self._read(escape, letter)) != DEAD:
                short[target].append((ord(said), ord(said)))
        for target in {*spelled, *plain, *short}:
            ranges = spelled.get(target, ())
            if plain.get(target, ()) != difference(ranges, ESCAPED):
                raise _OtherwiseError
            if normalized(short.get(target, ())) != intersection(ranges, SHORTENED):
                raise _OtherwiseError
        return spelled

    def _by_numbers(self, escape: State) -> _Edges:
        """What ``\\uXXXX`` leads to, behind the backslash, and two of them of a character."""
        found: dict[State, list[tuple[int, int]]] = defaultdict(list)
        for low, high, target in self._unit(self._read(escape, "u"), 4):
            for ranges in difference(((low, high),), (_HALVES,)):
                found[target].append(ranges)
            for first, last in intersection(((low, high),), (_HALVES,)):
                for piece in self._pairs(first, last, target):
                    found[piece[2]].append(piece[:2])
        return {target: normalized(pieces) for target, pieces in found.items()}

    def _pairs(self, first: int, last: int, between: State) -> Iterator[tuple[int, int, State]]:
        """The characters of a first half of a pair, from a range of such, and any second half."""
        for low, high, target in self._unit(self._read(between, "\\u"), 4):
            if last > _HIGH_SURROGATES[1] or low < _LOW_SURROGATES[0] or high > _LOW_SURROGATES[1]:
                raise _OtherwiseError
            if (low, high) == _LOW_SURROGATES:
                yield _character(first, low), _character(last, high), target
                continue
            for half in range(first, last + 1):
                yield _character(half, low), _character(half, high), target

    def _unit(self, state: State, digits: int) -> _Pieces:
        """Numbers of so many hexadecimal digits, in letters of either case."""
        if digits == 0:
            return [(0, 0, state)]
        key = state, digits
        if key in self._units or state == DEAD:
            return self._units.get(key, [])
        pieces: _Pieces = []
        for digit in range(16):
            target = self._step(state, ord(f"{digit:x}"))
            if target != self._step(state, ord(f"{digit:X}")):
                raise _OtherwiseError
            base = digit << 4 * (digits - 1)
            for low, high, there in self._unit(target, digits - 1) if target != DEAD else ():
                if pieces and pieces[-1][1:] == (base + low - 1, there):
                    pieces[-1] = pieces[-1][0], base + high, there
                else:
                    pieces.append((base + low, base + high, there))
        self._units[key] = pieces
        return pieces


def _character(high: int, low: int) -> int:
    """The character of two halves (RFC 8259, §7)."""
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
        for letter, said in SHORT.items()
        if intersection(ranges, ((ord(said), ord(said)),))
    ]
    ways = [one_of(plain)] if plain else []
    if letters:
        ways.append(concat(text("\\"), one_of(normalized(letters))))
    if near := intersection(ranges, _PLANE):
        ways.append(concat(text("\\u"), _digits(near, 4)))
    ways += [
        concat(text("\\u"), _digits(first, 4), text("\\u"), _digits(second, 4))
        for first, second in _halves(difference(ranges, _PLANE))
    ]
    return either(*ways)


def _digits(ranges: Ranges, digits: int) -> Regex:
    """The numbers of a set in so many hexadecimal digits; those that go on alike side by side."""
    if not digits:
        return EMPTY
    size = 1 << 4 * (digits - 1)
    rests: dict[Ranges, list[int]] = defaultdict(list)
    for digit in range(16):
        block = intersection(ranges, ((digit * size, (digit + 1) * size - 1),))
        if block:
            rests[_moved(block, -digit * size)].append(digit)
    return either(
        *(concat(_of_digits(some), _digits(rest, digits - 1)) for rest, some in rests.items())
    )


def _of_digits(some: list[int]) -> Regex:
    signs = {ord(sign) for digit in some for sign in f"{digit:x}{digit:X}"}
    return one_of(normalized((sign, sign) for sign in signs))


def _halves(ranges: Ranges) -> list[tuple[Ranges, Ranges]]:
    """First and second halves of surrogate pairs, those first halves together that go on alike."""
    whole = (1 << _HALF) - 1
    seconds: dict[int, list[tuple[int, int]]] = defaultdict(list)
    firsts: dict[Ranges, list[tuple[int, int]]] = defaultdict(list)
    for low, high in _moved(ranges, -_BASE):
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
        (_moved(normalized(first), _HIGH), _moved(second, _LOW)) for second, first in firsts.items()
    ]


def _moved(ranges: Ranges, by: int) -> Ranges:
    return tuple((low + by, high + by) for low, high in ranges)


#: The regex of a content has at most so many characters.
_REGEX = 600
#: A set of fewer characters names its rule.
_FEW = 100

#: Rules by their names.
Rules = Row[tuple[str, Expression]]


@dataclass(frozen=True, slots=True, eq=False)
class JsonStrings:
    """The strings of one text."""

    names: Names
    #: Takes rules, and gives the call of the first.
    written: Callable[[Rules, Span], Nonterminal]
    repeated: Callable[[Expression, int, int | None, Span], Expression]
    #: A regex as terminals of the notation.
    terminal: Callable[[Regex, Span], Expression]
    limits: Limits
    _characters: dict[Ranges, Nonterminal] = field(default_factory=dict)

    def expression(self, machine: Dfa, span: Span) -> Expression | None:
        """The texts of a machine, None where they are no JSON strings spelled as anybody likes.

        A string of 3 to 255 letters has 256 states by what it says, and 2,553 by its spellings.
        """
        found = json_contents(machine)
        if found is None:
            return None
        content, quoted = found
        try:
            regex = machine_regex(content, _REGEX, self.limits)
        except LimitError:
            regex = None
        if regex is not None:
            body = self._of(regex, span)
        else:
            rules = machine_rules(content, self.names.series("content"), span, self._character)
            body = self.written(rules, span)
        quote = Literal(b'"', span)
        return Sequence((quote, body, quote), span) if quoted else body

    def _of(self, regex: Regex, span: Span) -> Expression:
        """The regex of a content, each set of characters as the rule of their spellings."""
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
                raise AssertionError("machines have no other parts")

    def _character(self, ranges: Ranges, span: Span) -> Nonterminal:
        if ranges not in self._characters:
            wanted = f"character {members(ranges)}" if size(ranges) < _FEW else "character"
            body = self.terminal(json_character(ranges), span)
            self._characters[ranges] = self.written([(self.names.fresh(wanted), body)], span)
        return self._characters[ranges]
