"""llama.cpp's recogniser: a set of stacks of what is still to be read, moved on by characters.

In comes a grammar, out comes a recogniser that makes no machine of it: rules are expanded as they
are met, until something that reads a character is on top of every stack. Half a character at the
end of a token is kept as it is, and a stack stays as long as what it reads next may begin so.

Source: the grammars of llama.cpp (``llama_grammar_advance_stack``, ``llama_grammar_accept``). As
there left recursion is refused, for expanding it would not end. A regex is read as the rules it
stands for; terminals that say where a regex may not match have no such rules and are refused.
Beurer-Kellner et al. 2024, Table 1: minimally invasive, "up to implementation"; this one keeps to
the exact mask.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from workbench.constraint.online.elements import All, Call, Copies, Elements, OneOf, Read
from workbench.constraint.online.recogniser import Remembering
from workbench.grammar import Grammar
from workbench.limits import Limits
from workbench.syntax.ranges import intersection

#: The number of an interned stack; 0 is the empty one.
Stack = int
EMPTY: Stack = 0

#: All stacks after the whole characters read so far, and the bytes of the one begun.
Stacks = tuple[frozenset[Stack], bytes]

#: The lowest character that is written in so many bytes.
_LOWEST = (0, 0, 0x80, 0x800, 0x10000)


class StackRecogniser(Remembering[Stacks]):
    """The stacks of a grammar, expanded as they are met.

    Raises: WorkbenchError for left recursion, and for terminals that are no plain characters;
            LimitError past ``limits.configurations`` stacks at once, or ``limits.states`` in all.
    """

    def __init__(self, grammar: Grammar, limits: Limits) -> None:
        super().__init__(limits)
        self._elements = Elements(grammar)
        #: (what is read next, the stack below it), by number.
        self._stacks: list[tuple[int, Stack]] = [(-1, EMPTY)]
        self._numbers: dict[tuple[int, Stack], Stack] = {}
        begin = self._pushed(self._elements.start, EMPTY)
        self.initial: Stacks = self._expanded([begin]), b""

    def is_final(self, state: Stacks) -> bool:
        stacks, begun = state
        return not begun and EMPTY in stacks

    def made(self, state: Stacks, byte: int) -> Stacks | None:
        stacks, begun = state
        data = begun + bytes((byte,))
        characters = characters_from(data)
        if characters is None:
            return None
        reading = [stack for stack in stacks if stack != EMPTY and self._reads(stack, characters)]
        if not reading:
            return None
        low, high = characters
        if low != high or len(data) < _length(low):
            return frozenset(reading), data
        return self._expanded(self._stacks[stack][1] for stack in reading), b""

    def _reads(self, stack: Stack, characters: tuple[int, int]) -> bool:
        """Whether what is on top of a stack reads one of some characters."""
        top = self._elements.each[self._stacks[stack][0]]
        assert isinstance(top, Read), "stacks are expanded"
        return bool(intersection(top.ranges, (characters,)))

    def _pushed(self, element: int, below: Stack) -> Stack:
        key = element, below
        number = self._numbers.setdefault(key, len(self._stacks))
        if number == len(self._stacks):
            self.limits.check("states", number, "the text is too long for a recogniser of stacks")
            self._stacks.append(key)
        return number

    def _expanded(self, stacks: Iterable[Stack]) -> frozenset[Stack]:
        """The stacks with something that reads on top, or empty, that some stacks stand for."""
        seen = set(stacks)
        waiting = list(seen)
        found = set()
        while waiting:
            stack = waiting.pop()
            element, below = self._stacks[stack]
            if stack == EMPTY or isinstance(self._elements.each[element], Read):
                found.add(stack)
                continue
            for further in self._taken_apart(element, below):
                if further not in seen:
                    seen.add(further)
                    waiting.append(further)
            self.limits.check("configurations", len(seen), "the grammar is too ambiguous here")
        return frozenset(found)

    def _taken_apart(self, element: int, below: Stack) -> Iterator[Stack]:
        """A stack by what its top stands for, one step."""
        match self._elements.each[element]:
            case Call(rule=rule):
                yield self._pushed(self._elements.rules[rule], below)
            case OneOf(options=options):
                yield from (self._pushed(option, below) for option in options)
            case All(parts=parts):
                for part in reversed(parts):
                    below = self._pushed(part, below)
                yield below
            case Copies(item=item, low=low, high=high):
                if low == 0:
                    yield below
                if high != 0:
                    rest = Copies(item, max(low - 1, 0), None if high is None else high - 1)
                    yield self._pushed(item, self._pushed(self._elements.number(rest), below))


def characters_from(data: bytes) -> tuple[int, int] | None:
    """The first and the last character that begin with some bytes; None where none does.

    A whole character is first and last. Surrogates are not told apart: no set has them.
    """
    length = _bytes_of(data[0])
    if length is None or any(byte >> 6 != 0b10 for byte in data[1:]):
        return None
    value = data[0] if length == 1 else data[0] & (0x7F >> length)
    for byte in data[1:]:
        value = value << 6 | byte & 0x3F
    missing = 6 * (length - len(data))
    low, high = value << missing, (value + 1 << missing) - 1
    low, high = max(low, _LOWEST[length]), min(high, 0x10FFFF)
    return (low, high) if low <= high else None


def _bytes_of(first: int) -> int | None:
    """How many bytes a character has that begins with this one."""
    for length, (low, high) in enumerate(((0, 0x7F), (0xC2, 0xDF), (0xE0, 0xEF), (0xF0, 0xF4)), 1):
        if low <= first <= high:
            return length
    return None


def _length(character: int) -> int:
    return len(chr(character).encode("utf-8", "surrogatepass"))
