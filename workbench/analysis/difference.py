"""Compares two grammars: whether they accept the same texts, and the shortest differences.

Regular languages are compared exactly. For context-free languages equivalence is undecidable
(Bar-Hillel, Perles & Shamir 1961): first a proof of equality is tried, then all texts are compared
up to a length that the result reports.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from workbench.analysis.random_texts import samples
from workbench.automata.determinize import nothing
from workbench.automata.lazy_dfa import LazyDfa
from workbench.automata.nfa import BYTES
from workbench.automata.to_regex import plain
from workbench.base.arguments import checked
from workbench.base.dfa import DEAD, Dfa, State, table_rows
from workbench.base.errors import BuildError, LimitError
from workbench.base.limits import LIMITS, Clock, Limits, time_budget
from workbench.base.visible_text import count_of
from workbench.grammar.grammar import Grammar
from workbench.grammar.label_encoding import encode_labels, labels_of, show_labels
from workbench.pushdown.network import Network, bisimilar
from workbench.pushdown.runner import Runner
from workbench.pushdown.shortest_texts import rank
from workbench.syntax.grammar_tree import shape
from workbench.syntax.regex.tree import Regex

#: A deterministic machine over bytes with numbered states.
Machine = Dfa | LazyDfa | Runner

#: The samples of each grammar that are tried if the search ends at a bound, and their length.
_SAMPLE_COUNT, _MAX_SAMPLE_CHARACTERS = 40, 120
#: The bytes that continue a character.
_CONTINUATION_BYTES = range(0x80, 0xC0)
#: The bytes preferred among those above 7F: those of ``é``.
_PREFERRED_BYTES = (0xC3, 0xA9)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How two grammars differ; true if they are proven to accept the same texts."""

    #: None: no difference was found up to ``bound``, and no proof of equality.
    same: bool | None
    #: A text only the second grammar accepts, or None if none was found. It is the shortest, in
    #: characters, if it has at most ``bound`` of them. Bytes, since a language may not be UTF-8.
    gained: bytes | None = None
    #: A text only the first one accepts, likewise.
    lost: bytes | None = None
    #: All texts of at most this many characters were compared; None: all texts.
    bound: int | None = None
    #: The reason for the answer, in a sentence.
    why: str

    def __bool__(self) -> bool:
        return self.same is True

    @property
    def exact(self) -> bool:
        """Whether all texts were compared, so that a missing ``gained`` or ``lost`` is certain."""
        return self.bound is None

    def __str__(self) -> str:
        changes = (("gained", self.gained), ("lost", self.lost))
        texts = [f"{word}: {_display_text(text)}" for word, text in changes if text is not None]
        return "\n".join([*texts, self.why])


@checked
def equivalent(first: Grammar, second: Grammar, *, limits: Limits = LIMITS) -> Difference:
    """Whether two grammars accept the same texts; if not, the shortest text gained and lost.

    Both machines are run in parallel, short texts first. Two automata have finitely many pairs
    of states, so the search ends and the answer is exact. With a stack it may not end; then it
    stops when a limit is reached, and samples of longer texts are compared.

    Terminal labels are compared as the characters they may be. If that finds no difference, they
    are compared as labels; then ``why`` gives a sequence of labels and text that only one reads.

    Cost:   at most |Q first| × |Q second| pairs without a stack; with one ``limits.seconds``, and
            as many again for the samples and for labels.
    Source: Hopcroft & Karp 1971, "A linear algorithm for testing equivalence of finite
            automata"; with a stack the same search over sets of configurations, to a bound.
    """
    with time_budget(2 * limits.seconds):
        return _as_texts_and_labels(first, second, limits, _compare_texts)


def shortest_difference(first: Grammar, second: Grammar, *, limits: Limits = LIMITS) -> Difference:
    """As ``equivalent``, but the search ends at the first text that one of both accepts.

    The result has that text alone, as ``gained`` or ``lost``; which of several of the same length
    is not specified. With a stack it often takes milliseconds where ``equivalent`` needs all its
    time to look for a text of the other kind.
    """
    with time_budget(2 * limits.seconds):
        return _as_texts_and_labels(first, second, limits, _first_difference)


def _as_texts_and_labels(
    first: Grammar,
    second: Grammar,
    limits: Limits,
    compared: Callable[[Grammar, Grammar, Limits], Difference],
) -> Difference:
    """A comparison of texts; if no text differs, one of labels too."""
    difference = compared(first, second, limits.begun())
    if not labels_of(first) and not labels_of(second):
        return difference
    if difference.gained is not None or difference.lost is not None:
        return replace(
            difference, why=f"{difference.why}; labels were compared as the characters they may be"
        )
    try:
        return _with_labels(
            difference, compared(encode_labels(first), encode_labels(second), limits.begun())
        )
    except (BuildError, LimitError):
        why = f"{difference.why}; labels were compared as characters alone"
        return replace(difference, same=None, why=why)


def _compare_texts(first: Grammar, second: Grammar, work: Limits) -> Difference:
    """Whether two grammars accept the same texts; labels as their machines read them."""
    if why := _proof(first, second, work):
        return Difference(same=True, why=why)
    search = _PairSearch(machine_of(first, work), machine_of(second, work), work.clock())
    bound = search.run()
    if bound is None:
        return _complete_result(search.gained, search.lost)
    gained = _sample_difference(second, first) if search.gained is None else search.gained
    lost = _sample_difference(first, second) if search.lost is None else search.lost
    return _bounded(gained, lost, bound)


def _first_difference(first: Grammar, second: Grammar, work: Limits) -> Difference:
    """The shortest text that only one grammar accepts; labels as their machines read them."""
    if why := _proof(first, second, work):
        return Difference(same=True, why=why)
    search = _PairSearch(machine_of(first, work), machine_of(second, work), work.clock(), enough=1)
    bound = search.run()
    if search.gained is None and search.lost is None:
        if bound is None:
            return _complete_result(None, None)
        gained = _sample_difference(second, first)
        lost = _sample_difference(first, second) if gained is None else None
        return _bounded(gained, lost, bound)
    text = (search.gained or search.lost or b"").decode("utf-8", "replace")
    why = "all shorter texts were compared; longer ones were not"
    return Difference(same=False, gained=search.gained, lost=search.lost, bound=len(text), why=why)


def _with_labels(texts: Difference, encoded: Difference) -> Difference:
    """The result if no text differs, from the comparison of the grammars with encoded labels."""
    rows = (("second", encoded.gained), ("first", encoded.lost))
    differences = [
        f"only the {which} reads {show_labels(row)}" for which, row in rows if row is not None
    ]
    if not differences:
        return encoded
    why = f"{texts.why}, but tokens are read differently: {', '.join(differences)}"
    return Difference(same=False, bound=texts.bound, why=why)


def _complete_result(gained: bytes | None, lost: bytes | None) -> Difference:
    """The result of a complete search."""
    if gained is None and lost is None:
        return Difference(same=True, why="no text distinguishes them: all states were compared")
    why = "each accepts texts the other does not"
    if lost is None:
        why = "the second accepts every text of the first"
    elif gained is None:
        why = "the first accepts every text of the second"
    return Difference(same=False, gained=gained, lost=lost, why=why)


def _bounded(gained: bytes | None, lost: bytes | None, bound: int) -> Difference:
    """The result of a search that ended at a bound."""
    compared = f"all texts of up to {count_of(bound, 'character')} were compared"
    if gained is None and lost is None:
        why = f"no difference was found: {compared}, and samples of longer ones"
        return Difference(same=None, bound=bound, why=why)
    why = f"{compared}, and samples of longer ones"
    return Difference(same=False, gained=gained, lost=lost, bound=bound, why=why)


def _proof(first: Grammar, second: Grammar, limits: Limits) -> str:
    """Why the two are the same, if that is provable without a search; else empty."""
    if first.regex and second.regex and _same_regex(first.regex, second.regex):
        return (
            "both are the same regex"  # its automaton may explode, and then a search would not end
        )
    if isinstance(first.reader, Network) and isinstance(second.reader, Network):
        try:
            if bisimilar(first.reader, second.reader, limits) or _same_inlined(
                first, second, limits
            ):
                return "their rules are the same automata up to names"
        except LimitError:
            pass  # the search that follows reports its bound
    return ""


def _same_inlined(first: Grammar, second: Grammar, limits: Limits) -> bool:
    """Whether two networks are equal with all rules inlined that need no stack."""
    left, right = first.machine, second.machine
    if isinstance(left, Dfa) or isinstance(right, Dfa):
        return False
    return bisimilar(left, right, limits)


def _same_regex(first: Regex, second: Regex) -> bool:
    """Whether two regexes differ only in groups, and in ``a|b`` instead of ``[ab]``."""
    plain_regex = plain(first)
    return shape(first) == shape(second) or (
        plain_regex is not None and plain_regex == plain(second)
    )


def machine_of(grammar: Grammar, limits: Limits) -> Machine:
    """The deterministic machine of a grammar: its DFA, or a new runner."""
    reader = grammar.reader
    if isinstance(reader, Network):
        with suppress(LimitError):  # elements in any order may need too many states
            if (dfa := grammar.dfa) is not None:
                return dfa
        return Runner(reader, limits)  # a separate runner: the grammar's would keep the situations
    return nothing(BYTES) if reader.is_empty else reader


class _PairSearch:
    """Breadth-first search over pairs of states, texts of few characters first.

    A continuation byte has length 0, so texts are visited in the order of their length in
    characters. Of the bytes in one class for both machines only the most readable one is read.
    """

    def __init__(self, first: Machine, second: Machine, clock: Clock, *, enough: int = 2) -> None:
        #: How many differences end the search: one, or one of each kind.
        self._enough = enough
        self.gained: bytes | None = None
        self.lost: bytes | None = None
        self._machines = first, second
        self._clock = clock
        behind = zip(first.classes.tolist(), second.classes.tolist(), strict=True)
        byte_of: dict[tuple[int, int], int] = {}
        for byte, pair in sorted(enumerate(behind), key=lambda each: _order(each[0])):
            byte_of.setdefault(pair, byte)
        self._bytes = list(byte_of.values())
        self._rows = _row(first, self._bytes), _row(second, self._bytes)
        #: How each pair was reached: the entry before it, and the byte read.
        self._parents: list[tuple[int, int]] = [(-1, 0)]

    def run(self) -> int | None:
        """Search until a text of each kind is found or all pairs are compared; then None.

        If a limit ends the search: the length in characters up to which all texts were compared.
        """
        compared = 0
        try:
            for length in self._levels():
                compared = length
        except LimitError:
            return compared
        return None

    def _levels(self) -> Iterator[int]:
        """The lengths all of whose texts have been compared, one after the other."""
        now = deque([(self._machines[0].initial, self._machines[1].initial, 0)])
        seen: set[tuple[State, State]] = set()
        length = 0
        while now:
            longer: list[tuple[State, State, int]] = []
            while now:
                state, other, entry = now.popleft()
                if (state, other) in seen or self._is_settled(state, other):
                    continue
                seen.add((state, other))
                self._clock.check()
                self._compare(state, other, entry)
                if (self.gained is not None) + (self.lost is not None) == self._enough:
                    return
                followers = zip(
                    self._bytes, self._rows[0](state), self._rows[1](other), strict=True
                )
                for byte, a, b in followers:
                    if (a, b) not in seen and not self._is_settled(a, b):
                        (now if byte in _CONTINUATION_BYTES else longer).append(
                            (a, b, len(self._parents))
                        )
                        self._parents.append((entry, byte))
            yield length
            now, length = deque(longer), length + 1

    def _is_settled(self, state: State, other: State) -> bool:
        """Whether no continuation of this pair can be a new difference."""
        if state == DEAD:
            return other == DEAD or self.gained is not None
        return other == DEAD and self.lost is not None

    def _compare(self, state: State, other: State, entry: int) -> None:
        first, second = self._machines
        before = state != DEAD and first.is_final(state)
        after = other != DEAD and second.is_final(other)
        if after and not before and self.gained is None:
            self.gained = self._text(entry)
        if before and not after and self.lost is None:
            self.lost = self._text(entry)

    def _text(self, entry: int) -> bytes:
        read = []
        while entry > 0:
            entry, byte = self._parents[entry]
            read.append(byte)
        return bytes(reversed(read))


def _row(machine: Machine, wanted: list[int]) -> Callable[[State], Sequence[State]]:
    """The successors of a state by some bytes; those of ``DEAD`` are ``DEAD``."""
    dead = [DEAD] * len(wanted)
    if isinstance(machine, Dfa):
        rows = table_rows(machine.table[:, machine.classes[wanted]])
        return lambda state: dead if state == DEAD else rows[state]
    step = machine.step
    return lambda state: dead if state == DEAD else [step(state, byte) for byte in wanted]


def _order(byte: int) -> tuple[bool, tuple[int, bytes]]:
    """The most readable byte first."""
    return byte >= _CONTINUATION_BYTES.start and byte not in _PREFERRED_BYTES, rank(bytes([byte]))


def _sample_difference(accepting: Grammar, other: Grammar) -> bytes | None:
    """A sample of a grammar that another one rejects, shortened; None if no sample is."""
    for text in samples(accepting, _SAMPLE_COUNT, longest=_MAX_SAMPLE_CHARACTERS):
        if _is_difference(accepting, other, text):
            return _shorten(accepting, other, text).encode()
    return None


def _shorten(accepting: Grammar, other: Grammar, text: str) -> str:
    """Delta debugging: shortens a difference by pieces (Zeller & Hildebrandt 2002)."""
    size = len(text) // 2
    while size:
        offset = 0
        while offset < len(text):
            shorter = text[:offset] + text[offset + size :]
            if _is_difference(accepting, other, shorter):
                text = shorter
            else:
                offset += size
        size //= 2
    return text


def _is_difference(accepting: Grammar, other: Grammar, text: str) -> bool:
    try:
        return accepting.accepts(text) and not other.accepts(text)
    except LimitError:
        return False  # unknown


def _display_text(text: bytes) -> str:
    return repr(text.decode("utf-8", "backslashreplace"))
