"""Whether a language accepts a text, and if not, where it fails and what is expected there.

Runs a DFA, a lazily built DFA or a pushdown network over the bytes. Exact, and independent of a
vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from workbench.automata.class_descriptions import describe
from workbench.automata.code_points import character_edges
from workbench.automata.lazy_dfa import LazyDfa
from workbench.automata.small_dfa import smallest
from workbench.base.cached_property import cached_property
from workbench.base.dfa import DEAD, Dfa, State
from workbench.base.errors import LimitError, WorkbenchError
from workbench.base.limits import Limits, time_budget
from workbench.base.locks import WorkLock
from workbench.pushdown.build import network_of
from workbench.pushdown.network import Network
from workbench.pushdown.runner import Runner
from workbench.syntax.ranges import Ranges, union

T = TypeVar("T")

#: The states of separate rules that are inlined for each second of the limit. Of 740 schemas those
#: with up to 6,000 took at most 0.5 s of processor time, the page's limit is 2 s.
_INLINED_PER_SECOND = 3_000


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of ``Grammar.check``.

    Unit: ``offset`` counts characters of the text, ``byte`` its UTF-8 bytes.
    """

    #: Whether the whole text is accepted.
    accepted: bool
    #: The character at which the text fails; None if it is accepted or only ends too early.
    offset: int | None
    #: The byte at which the text fails, likewise.
    byte: int | None
    #: The characters that are possible there, or at the end of the text.
    expected: Ranges
    #: Whether the text may end there.
    may_end: bool
    #: The open rules there, the outermost first, of one derivation.
    rules: tuple[str, ...]

    @property
    def incomplete(self) -> bool:
        """Whether the text is a proper prefix of an accepted text, and not accepted itself."""
        return not self.accepted and self.offset is None

    def __str__(self) -> str:
        if self.accepted:
            return "accepted"
        wanted = describe(self.expected) if self.expected else ""
        ending = "the end" if self.may_end else ""
        expected = " or ".join(part for part in (wanted, ending) if part)
        if not expected:
            return "no text is accepted"
        where = "ends too early" if self.offset is None else f"fails at column {self.offset + 1}"
        return f"{where}: expected {expected}"


def character_start(data: bytes, position: int) -> int:
    """The last character boundary at or before ``position``."""
    start = position
    while start > 0 and (
        data[start] & 0xC0 == 0x80 if start < len(data) else _is_cut(data[max(0, start - 4) :])
    ):
        start -= 1
    return start


def _is_cut(tail: bytes) -> bool:
    """Whether a text ends inside a character."""
    return any(
        tail[-back] >= lead for back, lead in ((1, 0xC0), (2, 0xE0), (3, 0xF0)) if len(tail) >= back
    )


#: The most bytes of a UTF-8 character.
_MAX_CHARACTER_BYTES = 4


class Checker:
    """Runs a machine over texts; safe to share between threads."""

    def __init__(self, machine: Dfa | LazyDfa | Runner, limits: Limits) -> None:
        self._machine = machine
        self._limits = limits
        self._lock = WorkLock()

    def accepts(self, data: bytes) -> bool:
        """Whether the whole text is in the language."""

        def reading() -> bool:
            state = self._machine.run(data)
            return state != DEAD and self._machine.is_final(state)

        return self._read(reading)

    def is_prefix(self, data: bytes) -> bool:
        """Whether some accepted text begins with ``data``."""
        if not isinstance(self._machine, Runner) and self._machine.is_empty:
            return False
        return self._read(lambda: self._machine.run(data) != DEAD)

    def check_each(self, so_far: bytes, texts: Iterable[bytes]) -> list[Verdict]:
        """The verdict, without ``rules``, on ``so_far`` followed by each of the texts.

        Cost: ``so_far`` is read once.
        """
        rows = list(texts)

        def reading() -> list[Verdict]:
            length = max(0, len(so_far) - _MAX_CHARACTER_BYTES)  # it may end inside a character
            state = self._machine.run(so_far[:length])
            if state == DEAD:
                length, state = 0, self._machine.initial
            expected: dict[State, Ranges] = {}
            return [self._verdict(so_far + text, length, state, expected) for text in rows]

        return self._read(reading)

    def _read(self, reading: Callable[[], T]) -> T:
        """The result of a reading, with new situations if those of earlier texts fill the memory.

        Raises: LimitError
        """
        with self._lock, time_budget(self._limits.seconds):
            try:
                return reading()
            except LimitError as error:
                if error.budget != "megabytes" or not isinstance(self._machine, Runner):
                    raise
                self._machine = Runner(self._machine.network, self._machine.limits)
            return reading()

    def _verdict(
        self, data: bytes, length: int, state: State, expected: dict[State, Ranges]
    ) -> Verdict:
        """The verdict on a text; ``state`` is the state after its first ``length`` bytes."""
        machine, states, failed = self._machine, [state], None
        for position in range(length, len(data)):
            there = machine.step(states[-1], data[position])
            if there == DEAD:
                failed = position
                break
            states.append(there)
        start = character_start(data, len(data) if failed is None else failed)
        state = states[start - length] if start >= length else machine.run(data[:start])
        if state not in expected:
            expected[state] = self._next_characters(state)
        may_end = machine.is_final(state)
        return Verdict(
            accepted=failed is None and start == len(data) and may_end,
            offset=None if failed is None else len(data[:start].decode("utf-8", "replace")),
            byte=failed,
            expected=expected[state],
            may_end=may_end,
            rules=(),
        )

    def _next_characters(self, state: State) -> Ranges:
        """The characters that can be read next."""
        edges = character_edges(self._machine.step, state, self._machine.classes)
        return union(*(ranges for ranges, _ in edges))


class Language:
    """A formal language as a machine over bytes; ``str`` is encoded as UTF-8."""

    #: The machine that runs over texts: a DFA if the language needs no stack, built on demand if
    #: it is large.
    reader: Dfa | LazyDfa | Network
    limits: Limits

    @property
    def _name(self) -> str:
        """The name of the only rule of a regular language."""
        raise NotImplementedError

    @cached_property
    def derived(self) -> dict[str, Any]:
        """What other packages compute from this language and store with it, by name."""
        return {}

    def stored(self) -> frozenset[str]:
        """The names of all values that are stored with this language."""
        return frozenset((*self.derived, *vars(self)))

    def forget(self, kept: Collection[str]) -> None:
        """Drop the stored values whose names are not in ``kept``; each is computed again on demand.

        The error why there is no whole machine is kept too: finding it takes all the time allowed.
        """
        for values in (vars(self), self.derived):
            for name in values.keys() - set(kept):
                if not isinstance(values.get(name), LimitError):
                    values.pop(name, None)

    @property
    def is_regular(self) -> bool:
        """Whether the machine needs no stack, as far as the limits allow to decide.

        False with permutation phrases, whose machine has their elements on its stack.
        """
        if not isinstance(self.reader, Network):
            return True
        if self.reader.together or self.reader.phrases:
            return False
        return isinstance(self._whole, Dfa)

    @property
    def machine(self) -> Dfa | Network:
        """The whole machine: the minimal DFA if the language needs no stack.

        Raises: LimitError if ``reader`` is built on demand, or has permutation phrases, and the
                whole machine is too large.
        """
        whole = self._whole
        if isinstance(whole, LimitError):
            raise whole.copy()
        return whole

    @cached_property
    def _whole(self) -> Dfa | Network | LimitError:
        """The whole machine, or the error of its construction; both are cached.

        Rules with more states than can be inlined in time stay separate: whether they can must not
        depend on what else the computer does.
        """
        reader = self.reader
        try:
            if isinstance(reader, LazyDfa):
                return smallest(reader.nfa, self.limits)
            if isinstance(reader, Network) and not reader.together:
                most = _INLINED_PER_SECOND * self.limits.seconds
                if len(reader) <= most or reader.phrases:
                    return self._build_whole()
        except LimitError as error:
            if isinstance(reader, Network) and not reader.phrases:
                return reader
            return error.copy()
        return reader

    def _build_whole(self) -> Dfa | Network:
        """The machine with all regular rules inlined, for rules that were compiled separately.

        Raises: LimitError
        """
        raise NotImplementedError

    @property
    def dfa(self) -> Dfa | None:
        """The minimal DFA of a regular grammar, None for others.

        Raises: LimitError if it is too large.
        """
        return self.machine if isinstance(self.machine, Dfa) else None

    @cached_property
    def network(self) -> Network:
        """The rules as automata that call each other; one rule if no stack is needed."""
        if isinstance(self.machine, Network):
            return self.machine
        return network_of(self.machine, self._name)

    @cached_property
    def _checker(self) -> Checker:
        machine = self.reader
        runner = Runner(machine, self.limits) if isinstance(machine, Network) else machine
        return Checker(runner, self.limits)

    def accepts(self, text: str | bytes) -> bool:
        """Whether the whole text is in the language."""
        return self._checker.accepts(utf8(text))

    def is_prefix(self, text: str | bytes) -> bool:
        """Whether some accepted text begins with ``text``."""
        return self._checker.is_prefix(utf8(text))

    def check_each(self, so_far: bytes, texts: Iterable[bytes]) -> list[Verdict]:
        """The verdict, without ``rules``, on ``so_far`` followed by each of the texts.

        Cost: ``so_far`` is read once.
        """
        return self._checker.check_each(so_far, texts)


def utf8(text: str | bytes) -> bytes:
    """The bytes of a text; bytes are returned unchanged.

    Raises: WorkbenchError for anything else.
    """
    if isinstance(text, str):
        return text.encode("utf-8", "surrogatepass")
    if not isinstance(text, bytes | bytearray):
        raise WorkbenchError(f"expected a text or bytes, not {type(text).__name__}")
    return bytes(text)
