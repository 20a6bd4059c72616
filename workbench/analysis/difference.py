"""Difference: two grammars in, whether they mean the same, and the shortest texts they differ in.

Regular languages are compared exactly. Of context-free ones nobody can decide it in general
(Bar-Hillel, Perles & Shamir 1961): a proof is looked for first, then a text that tells them
apart, among all texts up to a length that is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from workbench.analysis.random_texts import samples
from workbench.automata.explore import nothing
from workbench.automata.lazy_dfa import LazyDfa
from workbench.automata.nfa import BYTES
from workbench.automata.to_regex import plain
from workbench.base.dfa import DEAD, Dfa, State
from workbench.base.errors import BuildError, LimitError
from workbench.base.limits import LIMITS, Clock, Limits
from workbench.grammar.grammar import Grammar
from workbench.grammar.label_encoding import encode_labels, labels_of, show_labels
from workbench.pushdown.network import Network, bisimilar
from workbench.pushdown.runner import Runner
from workbench.pushdown.shortest_texts import rank
from workbench.syntax.grammar_tree import shape
from workbench.syntax.regex.tree import Regex

#: Whatever reads byte by byte: its states have numbers.
_Machine = Dfa | LazyDfa | Runner

#: Samples of each grammar that are tried where the search ends at a bound, and their length.
_SAMPLES, _LONG = 40, 120
#: The bytes that go on a character.
_MORE = range(0x80, 0xC0)
#: Bytes that are chosen first among those above 7F: ``é`` has them.
_SEEN_OFTEN = (0xC3, 0xA9)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What is known of how two grammars differ; true where they are proven to mean the same."""

    #: None: no difference was found up to ``bound``, and no proof that there is none.
    same: bool | None
    #: A text only the second grammar accepts, or None where none was found. The shortest, in
    #: characters, if it has at most ``bound`` of them. Bytes, for some languages hold no UTF-8.
    gained: bytes | None = None
    #: A text only the first one accepts, likewise.
    lost: bytes | None = None
    #: All texts of at most so many characters were compared; None: all texts there are.
    bound: int | None = None
    #: How it is known, in a sentence.
    why: str

    def __bool__(self) -> bool:
        return self.same is True

    @property
    def exact(self) -> bool:
        """Whether this is about all texts: also that nothing is gained, or nothing lost."""
        return self.bound is None

    def __str__(self) -> str:
        found = (("gained", self.gained), ("lost", self.lost))
        texts = [f"{word}: {_read(text)}" for word, text in found if text is not None]
        return "\n".join([*texts, self.why])


def equivalent(first: Grammar, second: Grammar, *, limits: Limits = LIMITS) -> Difference:
    """Whether two grammars accept the same texts; if not, the shortest text gained and lost.

    Both machines are walked side by side, short texts first. Two automata have finitely many pairs
    of states: the walk ends, and the answer is exact. With a stack it may have no end; then it
    stops when a budget is used up, and samples of longer texts are compared.

    Terminal labels are compared as the characters they may be; where that tells nothing apart, as
    labels: then ``why`` says which row of labels and text only one of the two reads.

    Cost:   at most |Q first| × |Q second| pairs without a stack; with one ``limits.seconds``, and
            up to two seconds for the samples. With labels twice that.
    Source: Hopcroft & Karp 1971, "A linear algorithm for testing equivalence of finite
            automata"; with a stack the same walk over sets of configurations, to a bound.
    """
    found = _compared(first, second, limits.begun())
    if not labels_of(first) and not labels_of(second):
        return found
    if found.gained is not None or found.lost is not None:
        return replace(
            found, why=f"{found.why}; labels were compared as the characters they may be"
        )
    try:
        return _of_labels(
            found, _compared(encode_labels(first), encode_labels(second), limits.begun())
        )
    except BuildError:
        why = f"{found.why}; labels were compared as characters alone"
        return replace(found, same=None, why=why)


def _compared(first: Grammar, second: Grammar, work: Limits) -> Difference:
    """Whether two grammars accept the same texts, labels told as whatever their machines read."""
    if why := _proof(first, second, work):
        return Difference(same=True, why=why)
    search = _Search(_machine(first, work), _machine(second, work), work.clock())
    bound = search.run()
    if bound is None:
        return _decided(search.gained, search.lost)
    gained = _sampled(second, first) if search.gained is None else search.gained
    lost = _sampled(first, second) if search.lost is None else search.lost
    return _bounded(gained, lost, bound)


def _of_labels(texts: Difference, signs: Difference) -> Difference:
    """What is known where no text tells two grammars apart, from what is known of their signs."""
    rows = (("second", signs.gained), ("first", signs.lost))
    told = [f"only the {which} reads {show_labels(row)}" for which, row in rows if row is not None]
    if not told:
        return signs
    why = f"{texts.why}, but tokens are read differently: {', '.join(told)}"
    return Difference(same=False, bound=texts.bound, why=why)


def _decided(gained: bytes | None, lost: bytes | None) -> Difference:
    """The answer of a search that came to its end."""
    if gained is None and lost is None:
        return Difference(same=True, why="no text distinguishes them: all states were compared")
    why = "each accepts texts the other does not"
    if lost is None:
        why = "the second accepts every text of the first"
    elif gained is None:
        why = "the first accepts every text of the second"
    return Difference(same=False, gained=gained, lost=lost, why=why)


def _bounded(gained: bytes | None, lost: bytes | None, bound: int) -> Difference:
    compared = f"all texts of up to {bound} character{'s' * (bound != 1)} were compared"
    if gained is None and lost is None:
        why = f"no difference was found: {compared}, and samples of longer ones"
        return Difference(same=None, bound=bound, why=why)
    why = f"{compared}, and samples of longer ones"
    return Difference(same=False, gained=gained, lost=lost, bound=bound, why=why)


def _proof(first: Grammar, second: Grammar, limits: Limits) -> str:
    """Why the two are the same, where that is seen without a search; else nothing."""
    if first.regex and second.regex and _alike(first.regex, second.regex):
        return "both are the same regex"  # where its automaton explodes the search would not end
    if isinstance(first.reader, Network) and isinstance(second.reader, Network):
        try:
            if bisimilar(first.reader, second.reader, limits):
                return "their rules are the same automata up to names"
        except LimitError:
            pass  # the search that follows tells how far it came
    return ""


def _alike(first: Regex, second: Regex) -> bool:
    """Whether two regexes are one but for groups, and for ``a|b`` instead of ``[ab]``."""
    one = plain(first)
    return shape(first) == shape(second) or (one is not None and one == plain(second))


def _machine(grammar: Grammar, limits: Limits) -> _Machine:
    reader = grammar.reader
    if isinstance(reader, Network):
        return Runner(reader, limits)  # situations of its own: the grammar's would stay
    return nothing(BYTES) if reader.is_empty else reader


class _Search:
    """Two machines read byte by byte side by side, texts of few characters first.

    A byte that goes on a character costs nothing, so that texts are met by how many characters
    they have. Of bytes that are one class to both machines the most readable one is read.
    """

    def __init__(self, first: _Machine, second: _Machine, clock: Clock) -> None:
        self.gained: bytes | None = None
        self.lost: bytes | None = None
        self._machines = first, second
        self._clock = clock
        behind = zip(first.classes.tolist(), second.classes.tolist(), strict=True)
        found: dict[tuple[int, int], int] = {}
        for byte, pair in sorted(enumerate(behind), key=lambda each: _order(each[0])):
            found.setdefault(pair, byte)
        self._bytes = list(found.values())
        self._rows = _row(first, self._bytes), _row(second, self._bytes)
        #: How each pair was met: the entry before it, and the byte read.
        self._ways: list[tuple[int, int]] = [(-1, 0)]

    def run(self) -> int | None:
        """Look until a text of each kind is found, or nothing is left to compare: None.

        Where a budget ends it before: all texts of at most so many characters were compared.
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
        now = [(self._machines[0].initial, self._machines[1].initial, 0)]
        seen: set[tuple[State, State]] = set()
        length = 0
        while now:
            longer: list[tuple[State, State, int]] = []
            for one, other, way in now:  # grows while it is read
                if (one, other) in seen or self._is_settled(one, other):
                    continue
                seen.add((one, other))
                self._clock.check()
                self._judge(one, other, way)
                if self.gained is not None and self.lost is not None:
                    return
                followers = zip(self._bytes, self._rows[0](one), self._rows[1](other), strict=True)
                for byte, a, b in followers:
                    if (a, b) not in seen and not self._is_settled(a, b):
                        (now if byte in _MORE else longer).append((a, b, len(self._ways)))
                        self._ways.append((way, byte))
            yield length
            now, length = longer, length + 1

    def _is_settled(self, one: State, other: State) -> bool:
        """Whether no text that goes on from here says anything new."""
        if one == DEAD:
            return other == DEAD or self.gained is not None
        return other == DEAD and self.lost is not None

    def _judge(self, one: State, other: State, way: int) -> None:
        first, second = self._machines
        before = one != DEAD and first.is_final(one)
        after = other != DEAD and second.is_final(other)
        if after and not before and self.gained is None:
            self.gained = self._text(way)
        if before and not after and self.lost is None:
            self.lost = self._text(way)

    def _text(self, way: int) -> bytes:
        read = []
        while way > 0:
            way, byte = self._ways[way]
            read.append(byte)
        return bytes(reversed(read))


def _row(machine: _Machine, wanted: list[int]) -> Callable[[State], list[State]]:
    """Where a state leads by each of some bytes; ``DEAD`` leads nowhere."""
    dead = [DEAD] * len(wanted)
    if isinstance(machine, Dfa):
        rows = machine.table[:, machine.classes[wanted]].tolist()
        return lambda state: dead if state == DEAD else rows[state]
    step = machine.step
    return lambda state: dead if state == DEAD else [step(state, byte) for byte in wanted]


def _order(byte: int) -> tuple[bool, tuple[int, bytes]]:
    """The most readable byte first."""
    return byte >= _MORE.start and byte not in _SEEN_OFTEN, rank(bytes([byte]))


def _sampled(accepting: Grammar, other: Grammar) -> bytes | None:
    """A text of a grammar that another rejects, out of some samples, with what can be left out."""
    for text in samples(accepting, _SAMPLES, longest=_LONG):
        if _tells_apart(accepting, other, text):
            return _shortened(accepting, other, text).encode()
    return None


def _shortened(accepting: Grammar, other: Grammar, text: str) -> str:
    """The text without pieces it can do without, large ones first (Zeller & Hildebrandt 2002)."""
    size = len(text) // 2
    while size:
        at = 0
        while at < len(text):
            shorter = text[:at] + text[at + size :]
            if _tells_apart(accepting, other, shorter):
                text = shorter
            else:
                at += size
        size //= 2
    return text


def _tells_apart(accepting: Grammar, other: Grammar, text: str) -> bool:
    try:
        return accepting.accepts(text) and not other.accepts(text)
    except LimitError:
        return False  # nobody knows


def _read(text: bytes) -> str:
    return repr(text.decode("utf-8", "backslashreplace"))
