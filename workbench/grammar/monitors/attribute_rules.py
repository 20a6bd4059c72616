"""Rules with attributes, read byte by byte: the texts of a language with meaning.

A context-free grammar cannot say "a declared name": its rules do not depend on earlier text. Here a
rule is a function of attributes, and its alternatives depend on them. The names in scope, or
the type that an expression must have, are arguments. What a rule has read is passed on in
continuations (``then``): after the name of a declaration, the rules that follow have one more name.

The language is infinite in rules, so they are expanded only where a text leads. A position is a set
of stacks of symbols, as in a nondeterministic push-down automaton.

The rules of a monitor must keep these laws; its tests check them by enumeration.

* A rule never comes back to itself before a byte is read (no left recursion).
* What follows a new name is not empty.
* Taking the first alternative of every rule leads to the end of a text. So every position that is
  reached can be completed, and a byte is refused if and only if no text of the language continues
  with it.

Source: two-level grammars (van Wijngaarden 1965); attribute grammars (Knuth 1968); data-dependent
        grammars (Jim, Mandelbaum & Walker 2010). Prefix automata: Mündler et al. 2025.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from typing import Any, TypeAlias

from workbench.base.errors import LimitError
from workbench.base.limits import LIMITS, Limits

#: The alternatives of a rule, or what follows a value.
Maker: TypeAlias = Callable[..., Any]

#: Bytes of a completion at most; a longer one shows that first alternatives do not end.
_MAX_FINISH = 1_000_000

#: Steps that a recogniser caches; each name makes another position.
_MAX_STEPS = 50_000


#: The bytes between lexemes in the rules below.
SPACES = frozenset(b" \t\n")
DIGITS = frozenset(b"0123456789")
#: The bytes of a name after its first one.
WORD = DIGITS | frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")

#: Equal symbols and stacks are one object, so that nested ones are hashed and compared quickly.
#: Where the tables are cleared, equal ones are made again: then a step is computed again.
_SYMBOLS: dict[tuple[Any, ...], Any] = {}
_STACKS: dict[tuple[Symbol, int], Stack] = {}
_MAX_INTERNED = 100_000


class _Interned:
    """A function with arguments; equal ones are one object."""

    __slots__ = ("given", "make")

    make: Maker
    given: tuple[Hashable, ...]

    def __new__(cls, make: Maker, *given: Hashable) -> Any:  # noqa: ANN401  # its own class
        key = (cls, make, given)
        cached = _SYMBOLS.get(key)
        if cached is None:
            if len(_SYMBOLS) >= _MAX_INTERNED:
                _SYMBOLS.clear()
            symbol = super().__new__(cls)
            symbol.make, symbol.given = make, given
            cached = _SYMBOLS.setdefault(key, symbol)
        return cached

    def __repr__(self) -> str:
        return f"{self.make.__name__}(…)"


class Rule(_Interned):
    """A nonterminal with its attributes: ``make(*given)`` yields its alternatives."""

    __slots__ = ("_alternatives", "_shortest")

    @property
    def alternatives(self) -> tuple[Symbols, ...]:
        """Each alternative is a sequence of symbols; the first one leads to the end."""
        try:
            return self._alternatives
        except AttributeError:
            self._alternatives: tuple[Symbols, ...] = tuple(self.make(*self.given))
            return self._alternatives

    @property
    def shortest(self) -> bytes:
        """A text of the rule: the first alternative of every rule, a byte of each set."""
        try:
            return self._shortest
        except AttributeError:
            self._shortest: bytes = _text_of(next(iter(self.make(*self.given))))
            return self._shortest


def _text_of(symbols: Symbols) -> bytes:
    """A text of a sequence of symbols."""
    read, remaining = bytearray(), list(reversed(symbols))
    while remaining:
        top = remaining.pop()
        if isinstance(top, bytes):
            read += top
        elif isinstance(top, Rule):
            remaining.extend(reversed(next(iter(top.make(*top.given)))))
        elif isinstance(top, NewName):
            read += top.shortest
        else:
            byte = ord(" ") if ord(" ") in top.allowed else min(top.allowed)
            read.append(byte)
            remaining.extend(reversed(top.after(byte)))
        if len(read) > _MAX_FINISH:
            raise LimitError("the end of this text is too long", "stack_depth")
    return bytes(read)


class Then(_Interned):
    """What follows a value that was read: ``then(value)`` is a sequence of symbols."""

    __slots__ = ("_shortest",)

    def __call__(self, *value: Hashable) -> Symbols:
        symbols: Symbols = self.make(*self.given, *value)
        return symbols

    @property
    def shortest(self) -> bytes:
        """A text that follows any name."""
        try:
            return self._shortest
        except AttributeError:
            self._shortest: bytes = _text_of(self(_ANY_NAME))
            return self._shortest


class Reads(_Interned):
    """One byte of a set; ``then`` gets it and says what follows; nothing without one."""

    __slots__ = ()

    def __new__(cls, allowed: frozenset[int], then: Then | None = None) -> Reads:
        symbol: Reads = super().__new__(cls, frozenset, allowed, then)
        return symbol

    @property
    def allowed(self) -> frozenset[int]:
        return self.given[0]  # type: ignore[return-value]  # as constructed

    def after(self, byte: int) -> Symbols:
        """What follows the byte."""
        then = self.given[1]
        return then(byte) if isinstance(then, Then) else ()


class NewName(_Interned):
    """A name that is none of some; ``then`` gets it. The longest name is read.

    What follows is expanded when the name has ended: a vocabulary has thousands of tokens that
    continue a name, and each makes another one. Rules only compare names, so a completion that
    neither has the name nor must avoid it is one after every name; it is computed once, for
    ``_ANY_NAME``.
    """

    __slots__ = ()

    def __new__(
        cls,
        refused: frozenset[str],
        then: Then,
        first: frozenset[int] = WORD - DIGITS,
        others: frozenset[int] = WORD,
        read: str = "",
    ) -> NewName:
        symbol: NewName = super().__new__(cls, frozenset, refused, then, first, others, read)
        return symbol

    @property
    def refused(self) -> frozenset[str]:
        """The names that it is not."""
        return self.given[0]  # type: ignore[return-value]  # as constructed

    @property
    def others(self) -> frozenset[int]:
        """The bytes that continue it."""
        return self.given[3]  # type: ignore[return-value]

    @property
    def read(self) -> str:
        """What is read of the name."""
        return self.given[4]  # type: ignore[return-value]

    def longer(self, byte: int) -> NewName | None:
        """The name with a byte more; None if the byte is not part of a name."""
        _, _, first, others, read = self.given
        if byte not in (others if read else first):  # type: ignore[operator]
            return None
        return self._reading(f"{read}{chr(byte)}")

    def unknown(self) -> NewName:
        """A name that no text has, in the place of this one."""
        return self._reading(_ANY_NAME)

    def _reading(self, read: str) -> NewName:
        refused, then, first, others, _ = self.given
        return NewName(refused, then, first, others, read)  # type: ignore[arg-type]

    def ended(self) -> Symbols | None:
        """What follows the name; None if it cannot end here."""
        then, name = self.given[1], self.read
        assert isinstance(then, Then), "as constructed"
        return then(name) if name and name not in self.refused else None

    @property
    def shortest(self) -> bytes:
        """The rest of a name and a text that follows it."""
        if _ANY_NAME in self.refused:
            return _ANY_NAME.encode()  # not the unknown name: which one depends on it
        name = self.read
        while not name or name in self.refused:
            name += "a"
        then = self.given[1]
        assert isinstance(then, Then), "as constructed"
        after = then.shortest
        if _ANY_NAME.encode() in after:  # the end needs the name itself
            after = _text_of(then(name))
        return name[len(self.read) :].encode() + after


#: A name that no text has, after all others in order.
_ANY_NAME = "\x7f"

Symbol: TypeAlias = bytes | Rule | Reads | NewName
Symbols: TypeAlias = tuple[Symbol, ...]


class Stack:
    """A stack of symbols; equal stacks are one object."""

    __slots__ = ("below", "ending", "top")

    def __init__(self, top: Symbol, below: Stack | None) -> None:
        self.top, self.below = top, below
        #: A text that completes the stack, once it is known.
        self.ending: bytes | None = None


def _push(symbols: Symbols, below: Stack | None) -> Stack | None:
    """The stack with symbols on top, the first one uppermost."""
    for symbol in reversed(symbols):
        if symbol == b"":
            continue
        key = symbol, id(below)  # the table keeps the stack below alive, so its id is not reused
        pushed = _STACKS.get(key)
        if pushed is None:
            if len(_STACKS) >= _MAX_INTERNED:
                _STACKS.clear()
            pushed = _STACKS.setdefault(key, Stack(symbol, below))
        below = pushed
    return below


#: A position: the stacks whose top reads a byte; None among them if the text may end.
Position: TypeAlias = frozenset[Stack | None]


def _top(state: Position) -> Symbol | None:
    """The symbol on top of the only stack of a position; None if it has several."""
    (stack,) = state if len(state) == 1 else (None,)
    return None if stack is None else stack.top


class AttributeRules:
    """A recogniser of the texts that a rule reads.

    Raises: LimitError above ``limits.configurations`` stacks of one position.
    """

    def __init__(self, start: Rule, limits: Limits = LIMITS) -> None:
        self.limits = limits
        self._start = start
        self._cache: dict[tuple[Position, int], Position | None] = {}
        self.initial: Position = self._expand([_push((start,), None)])

    def step(self, state: Position, byte: int) -> Position | None:
        """The position after a byte; None where no text continues with it."""
        key = state, byte
        if key in self._cache:
            return self._cache[key]
        if len(self._cache) >= _MAX_STEPS:
            self._cache.clear()
        after = self._cache[key] = self._expand(self._after(state, byte)) or None
        return after

    def read(self, data: bytes) -> tuple[Position, int]:
        """The position after the longest prefix of a text that can be read, and its length."""
        state = self.initial
        for index, byte in enumerate(data):
            target = self.step(state, byte)
            if target is None:
                return state, index
            state = target
        return state, len(data)

    def is_final(self, state: Position) -> bool:
        """Whether the text read is one of the language."""
        return None in state

    def finish(self, state: Position) -> bytes:
        """A short text that completes the text read; empty if it is complete."""
        if None in state:
            return b""
        return min((_ending(stack) for stack in state if stack), key=lambda end: (len(end), end))

    def letters(self, state: Position) -> frozenset[int]:
        """Implements ``ReadsNames``: after the first byte of a new name, its other ones."""
        top = _top(state)
        return top.others if isinstance(top, NewName) and top.read else frozenset()

    def clashes(self, state: Position, end: bytes) -> Collection[bytes] | None:
        """Implements ``ReadsNames``: what makes a name refused here, or contained in ``end``.

        ``end`` is read after a name that no text has. If this completes the text, so does ``end``
        after each name that it does not contain, because rules only compare names.
        """
        name, letters = _top(state), self.letters(state)
        if not isinstance(name, NewName) or not letters or (end and end[0] in letters):
            return None
        (stack,) = state
        assert stack is not None, "it has a top"
        position = frozenset([_push((name.unknown(),), stack.below)])
        for byte in end:
            after = self.step(position, byte)
            if after is None:
                return None
            position = after
        if not self.is_final(position):
            return None
        begun = name.read.encode()
        refused = (other.encode() for other in name.refused)
        rests = {other[len(begun) :] for other in refused if other.startswith(begun)}
        return rests.union(_rests(end, begun, letters))

    def rules_after(self, data: bytes) -> list[Rule]:
        """The rules that begin where a text ends, for messages."""
        begun: list[Rule] = []
        stacks: Iterable[Stack | None] = [_push((self._start,), None)]
        if data:
            stacks = self._after(self.read(data[:-1])[0], data[-1])
        self._expand(stacks, begun)
        return begun

    def new_name(self, data: bytes) -> NewName | None:
        """The new name that is being read, or begins, where a text ends; None for none."""
        tops = (stack.top for stack in self.read(data)[0] if stack is not None)
        return next((top for top in tops if isinstance(top, NewName)), None)

    def _expand(self, stacks: Iterable[Stack | None], begun: list[Rule] | None = None) -> Position:
        """The stacks after all rules on top have been replaced by their alternatives."""
        results: set[Stack | None] = set()
        seen: set[Stack | None] = set()
        queue = list(stacks)
        while queue:
            stack = queue.pop()
            if stack in seen:
                continue
            seen.add(stack)
            self.limits.check("configurations", len(seen))
            if stack is None or not isinstance(stack.top, Rule):
                results.add(stack)
                continue
            if begun is not None:
                begun.append(stack.top)
            queue.extend(_push(symbols, stack.below) for symbols in stack.top.alternatives)
        return frozenset(results)

    def _after(self, state: Position, byte: int) -> Iterator[Stack | None]:
        """The stacks after a byte, their rules not yet expanded."""
        for stack in state:
            if stack is None:
                continue
            top, below = stack.top, stack.below
            if isinstance(top, bytes):
                if top[0] == byte:
                    yield _push((top[1:],), below)
            elif isinstance(top, NewName):
                if (longer := top.longer(byte)) is not None:
                    yield _push((longer,), below)
                elif (symbols := top.ended()) is not None:
                    yield from self._after(self._expand([_push(symbols, below)]), byte)
            elif isinstance(top, Reads) and byte in top.allowed:
                yield _push(top.after(byte), below)


def _rests(text: bytes, begun: bytes, letters: frozenset[int]) -> Iterator[bytes]:
    """The rests of all names in a text that begin with ``begun``, and of their prefixes."""
    for index in range(len(begun), len(text) + 1):
        if text.endswith(begun, 0, index):
            end = index
            yield b""
            while end < len(text) and text[end] in letters:
                end += 1
                yield text[index:end]


def _ending(stack: Stack) -> bytes:
    """A text that completes a stack; each stack keeps its own."""
    above: list[Stack] = []
    current: Stack | None = stack
    while current is not None and current.ending is None:
        above.append(current)
        current = current.below
    ending = b"" if current is None else current.ending or b""
    for upper in reversed(above):
        top = upper.top
        ending = (top.shortest if isinstance(top, Rule | NewName) else _text_of((top,))) + ending
        upper.ending = ending
    return ending


#: UTF-8 beyond ASCII: the ranges of the bytes of a character (Unicode, table 3-7).
_BEYOND_ASCII = (
    ((0xC2, 0xDF), (0x80, 0xBF)),
    ((0xE0, 0xE0), (0xA0, 0xBF), (0x80, 0xBF)),
    ((0xE1, 0xEC), (0x80, 0xBF), (0x80, 0xBF)),
    ((0xED, 0xED), (0x80, 0x9F), (0x80, 0xBF)),
    ((0xEE, 0xEF), (0x80, 0xBF), (0x80, 0xBF)),
    ((0xF0, 0xF0), (0x90, 0xBF), (0x80, 0xBF), (0x80, 0xBF)),
    ((0xF1, 0xF3), (0x80, 0xBF), (0x80, 0xBF), (0x80, 0xBF)),
    ((0xF4, 0xF4), (0x80, 0x8F), (0x80, 0xBF), (0x80, 0xBF)),
)


def characters(excluded: bytes) -> tuple[Symbols, ...]:
    """The alternatives of one character that is not one of some ASCII characters."""
    plain: Symbols = (Reads(frozenset(range(128)) - frozenset(excluded)),)
    beyond = [
        tuple(Reads(frozenset(range(low, high + 1))) for low, high in ranges)
        for ranges in _BEYOND_ASCII
    ]
    return (plain, *beyond)


def word_at(data: bytes, position: int) -> tuple[int, str]:
    """The word around a position of a text: where it begins, and the word; empty between words."""
    begin = end = position
    while begin and data[begin - 1] in WORD:
        begin -= 1
    while end < len(data) and data[end] in WORD:
        end += 1
    return begin, data[begin:end].decode("ascii")
