"""Partial credit: the share of short texts that an answer judges as the solution does.

Texts are counted by dynamic programming over pairs of states, without listing them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from workbench.analysis.difference import Machine, machine_of
from workbench.base.dfa import DEAD, State, used_bytes
from workbench.base.errors import LimitError
from workbench.base.limits import Clock, Limits
from workbench.grammar.grammar import Grammar
from workbench.pushdown.network import Network
from workbench.pushdown.shortest_texts import rank

#: Texts of at least this many are compared: those that the solution or the answer accepts.
MIN_TEXTS = 100
#: Characters of a compared text at most, and pairs of states that texts of one length lead to.
MAX_LENGTH, MAX_PAIRS = 200, 20_000
#: Stand for all characters of two, three and four bytes that the examples do not have.
_BEYOND_ASCII = "é€😀"


@dataclass(frozen=True, slots=True)
class Credit:
    """How many short texts two languages judge alike.

    The texts are all texts over ``alphabet`` of at most ``length`` characters. ``length`` is the
    smallest at which ``either`` is at least ``MIN_TEXTS``; if the solution has no longer texts
    before, it is one more than the longest of them. It is less if a limit is reached.
    """

    #: One character of each set of characters that both machines treat alike; the characters that
    #: neither can read are one set.
    alphabet: str
    length: int
    #: Texts of both languages.
    both: int
    #: Texts of at least one of the languages.
    either: int
    #: All texts.
    texts: int

    @property
    def share(self) -> float | None:
        """The credit from 0 to 1; None if neither language has such a text.

        It is the smaller of two shares. Of the texts that one of both accepts: those that both
        accept. Of the texts that one of both rejects: those that both reject. Hence an answer that
        accepts nothing, or everything, has credit 0.
        """
        if not self.either:
            return None
        rejecting = self.texts - self.both  # texts that at least one of them rejects
        rejected = (self.texts - self.either) / rejecting if rejecting else 1.0
        return min(self.both / self.either, rejected)


def credit(solution: Grammar, answer: Grammar, examples: Iterable[str], limits: Limits) -> Credit:
    """How many short texts an answer judges as the solution does.

    ``examples``  their characters are candidates for the alphabet, with all of ASCII.

    Raises: LimitError if not even the empty text is compared in time.
    Cost:   one step for each pair of states and character, within ``limits.seconds``.
    """
    work = limits.begun()
    counting = _Counting(
        (machine_of(solution, work), machine_of(answer, work)),
        alphabet(solution, answer, examples),
        work.clock(),
    )
    return counting.run()


def alphabet(first: Grammar, second: Grammar, examples: Iterable[str] = ()) -> str:
    """One character for each set of characters that two machines treat alike, readable ones first.

    Characters whose first byte neither machine can read in any state are one set.
    """
    ascii_ = sorted(map(chr, range(0x80)), key=lambda character: rank(character.encode()))
    beyond = dict.fromkeys(c for text in examples for c in text if ord(c) > 0x7F)
    classes = [_classes(grammar) for grammar in (first, second)]
    read = _first_bytes(first) | _first_bytes(second)
    found: dict[tuple[tuple[int, ...], ...], str] = {}
    for character in (*ascii_, *beyond, *_BEYOND_ASCII):
        data = character.encode()
        treated: tuple[tuple[int, ...], ...] = ()
        if data[0] in read:
            treated = tuple(tuple(each[byte] for byte in data) for each in classes)
        found.setdefault(treated, character)
    return "".join(found.values())


def _classes(grammar: Grammar) -> list[int]:
    reader = grammar.reader
    classes = reader.byte_classes if isinstance(reader, Network) else reader.classes
    return [int(each) for each in classes]


def _first_bytes(grammar: Grammar) -> set[int]:
    """The bytes that a machine reads in at least one state."""
    reader = grammar.reader
    if isinstance(reader, Network):
        return {byte for byte in used_bytes(reader.table, reader.classes) if byte < 256}
    if hasattr(reader, "table"):
        return used_bytes(reader.table, reader.classes)
    return set(range(256))  # built on demand


class _Counting:
    """Counts the texts of each length by the pair of states to which they lead."""

    def __init__(self, machines: tuple[Machine, Machine], letters: str, clock: Clock) -> None:
        self._machines = machines
        self._letters = letters
        self._bytes = [letter.encode() for letter in letters]
        self._clock = clock
        self._followers: dict[tuple[State, State], list[tuple[State, State]]] = {}

    def run(self) -> Credit:
        pairs = Counter({(self._machines[0].initial, self._machines[1].initial): 1})
        both = either = texts = 0
        length, power = 0, 1
        while True:
            accepted = [(self._accepts(pair), count) for pair, count in pairs.items()]
            both += sum(count for (one, other), count in accepted if one and other)
            either += sum(count for (one, other), count in accepted if one or other)
            texts += power
            found = Credit(self._letters, length, both, either, texts)
            ended = all(first == DEAD for first, _ in pairs)  # the solution has no longer texts
            if either >= MIN_TEXTS or length == MAX_LENGTH or ended:
                return found
            try:
                pairs = self._longer(pairs)
            except LimitError:
                return found
            if len(pairs) > MAX_PAIRS:
                return found
            length, power = length + 1, power * len(self._letters)

    def _longer(self, pairs: Counter[tuple[State, State]]) -> Counter[tuple[State, State]]:
        """The pairs of the texts with one more character."""
        longer: Counter[tuple[State, State]] = Counter()
        for pair, count in pairs.items():
            for following in self._following(pair):
                longer[following] += count
        return longer

    def _following(self, pair: tuple[State, State]) -> list[tuple[State, State]]:
        """The pairs after each letter, without the one that no text leads out of."""
        known = self._followers.get(pair)
        if known is None:
            self._clock.check()
            first, second = self._machines
            after = [(_run(first, pair[0], d), _run(second, pair[1], d)) for d in self._bytes]
            known = self._followers[pair] = [each for each in after if each != (DEAD, DEAD)]
        return known

    def _accepts(self, pair: tuple[State, State]) -> tuple[bool, bool]:
        first, second = self._machines
        return (
            pair[0] != DEAD and first.is_final(pair[0]),
            pair[1] != DEAD and second.is_final(pair[1]),
        )


def _run(machine: Machine, state: State, data: bytes) -> State:
    return DEAD if state == DEAD else machine.run(data, state)
