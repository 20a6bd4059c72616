"""Grammar: the front door to the machine half; text of any notation in, one machine out.

What it says is exact and knows no vocabulary: whether a text is accepted, whether it can still
become one, and where and why it fails.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from workbench.automata.build import regex_machine, smallest
from workbench.automata.describe import describe
from workbench.automata.dfa import DEAD, Dfa, State
from workbench.automata.fold import character_edges
from workbench.automata.lazy import LazyDfa
from workbench.automata.small import ready
from workbench.errors import LimitError
from workbench.limits import LIMITS, Limits
from workbench.pushdown.advice import Advice, advice, conflict_advice, regex_advice
from workbench.pushdown.build import build, context_free, network_of, rule_network
from workbench.pushdown.build import ready as ready_for_rules
from workbench.pushdown.network import Network
from workbench.pushdown.runner import Runner
from workbench.source import Source
from workbench.syntax.grammar_tree import GrammarTree
from workbench.syntax.kbnf_parser import parse_kbnf
from workbench.syntax.kbnf_parser import ready as ready_to_read
from workbench.syntax.regex_parser import parse_regex
from workbench.syntax.regex_tree import Ranges, Regex

#: So long conflicts are looked for; in the examples it takes some milliseconds.
_ADVICE_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a grammar says of a text.

    Unit: ``offset`` counts characters of the text, ``byte`` its UTF-8 bytes.
    """

    accepted: bool
    #: The first character after which nothing can be accepted; None where the text is accepted
    #: or only ends too early.
    offset: int | None
    byte: int | None
    #: The characters that could have stood at the place of failure (or at the end).
    expected: Ranges
    #: Whether the text could have ended there.
    may_end: bool
    #: The rules that were being read there, the outermost first (of one way to read it).
    rules: tuple[str, ...]

    @property
    def incomplete(self) -> bool:
        """Whether the text is the beginning of an accepted one, and not accepted itself."""
        return not self.accepted and self.offset is None

    def __str__(self) -> str:
        if self.accepted:
            return "accepted"
        wanted = describe(self.expected) if self.expected else ""
        ending = "the end" if self.may_end else ""
        expected = " or ".join(part for part in (wanted, ending) if part)
        where = "ends too early" if self.offset is None else f"fails at column {self.offset + 1}"
        return f"{where}: expected {expected}"


@dataclass(frozen=True, eq=False)
class Grammar:
    """A formal language given by a regex or a grammar, as a machine over bytes.

    ``str`` is read as UTF-8, ``bytes`` as they are. Making one does the work anew at
    every call; nothing is remembered by text.
    """

    source: Source
    #: ``regex`` or ``kbnf``.
    notation: str
    #: What reads texts: a plain automaton where the language needs no stack, made as it is read
    #: where it is large.
    reader: Dfa | LazyDfa | Network
    #: The regex as a tree, or None.
    regex: Regex | None = None
    #: The rules as a tree, or None.
    tree: GrammarTree | None = None
    start: str = "start"
    limits: Limits = LIMITS
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @staticmethod
    def from_regex(pattern: str, *, limits: Limits = LIMITS, name: str = "regex") -> Grammar:
        """The language of all full matches of a regex (Python's dialect).

        Raises: ParseError, LimitError.
        """
        ready()
        source, work = Source(pattern, name), limits.begun()
        regex = parse_regex(source, clock=work.clock())
        machine = regex_machine(regex, work)
        return Grammar(source, "regex", machine, regex=regex, limits=limits)

    @staticmethod
    def from_kbnf(
        text: str, start: str = "start", *, limits: Limits = LIMITS, name: str = "grammar"
    ) -> Grammar:
        """The language of a KBNF grammar.

        Raises: ParseError, BuildError, LimitError.
        """
        ready_for_rules()
        ready_to_read()
        source, work = Source(text, name), limits.begun()
        tree = parse_kbnf(source, work.clock())
        machine = build(tree, start, work)
        return Grammar(source, "kbnf", machine, tree=tree, start=start, limits=limits)

    @property
    def is_regular(self) -> bool:
        """Whether the machine needs no stack."""
        return not isinstance(self.reader, Network)

    @property
    def machine(self) -> Dfa | Network:
        """The whole machine: the minimal automaton where the language needs no stack.

        Raises: LimitError where an automaton that is only made as it is read would explode.
        """
        whole = self._whole
        if isinstance(whole, LimitError):
            raise whole.with_traceback(None)
        return whole

    @cached_property
    def _whole(self) -> Dfa | Network | LimitError:
        """The whole machine or why there is none: a machine explodes once, not at every look."""
        if not isinstance(self.reader, LazyDfa):
            return self.reader
        try:
            return smallest(self.reader.nfa, self.limits)
        except LimitError as error:
            return error

    @property
    def dfa(self) -> Dfa | None:
        """The minimal automaton of a regular grammar, None for others.

        Raises: LimitError where it would explode.
        """
        return self.machine if isinstance(self.machine, Dfa) else None

    @cached_property
    def network(self) -> Network:
        """The rules as automata that call each other; one rule where no stack is needed."""
        if isinstance(self.machine, Network):
            return self.machine
        return network_of(self.machine, self.start if self.tree else "regex")

    @cached_property
    def rules(self) -> Network:
        """Every rule as its author wrote it, one automaton each; the machine itself for a regex."""
        if self.tree is None:
            return self.network
        work = self.limits.begun()
        return rule_network(context_free(self.tree, self.start, work), work)

    @cached_property
    def advice(self) -> tuple[Advice, ...]:
        """What its author may want to mend; none of it keeps the grammar from being used."""
        if self.tree is None:
            return regex_advice(self.regex, self.source) if self.regex else ()
        work = replace(self.limits, seconds=min(self.limits.seconds, _ADVICE_SECONDS), began=None)
        conflicts = conflict_advice(
            self.network, lambda: self.rules, self.tree, self.start, work.begun()
        )
        return (*advice(self.tree, self.start), *conflicts)

    @cached_property
    def _runner(self) -> Runner:
        return Runner(self.network, self.limits)

    @cached_property
    def _rule_runner(self) -> Runner:
        return Runner(self.rules, self.limits)

    def accepts(self, text: str | bytes) -> bool:
        """Whether the whole text is in the language."""
        with self._lock:
            here = self._run(_utf8(text))
            return here != DEAD and self._is_final(here)

    def is_prefix(self, text: str | bytes) -> bool:
        """Whether some accepted text begins so."""
        if not isinstance(self.reader, Network) and self.reader.is_empty:
            return False
        with self._lock:
            return self._run(_utf8(text)) != DEAD

    def check(self, text: str | bytes) -> Verdict:
        """Whether a text is accepted; if not, where it fails and what was expected there."""
        data = _utf8(text)
        with self._lock:
            here, failed = self._initial, None
            for position, byte in enumerate(data):
                there = self._step(here, byte)
                if there == DEAD:
                    failed = position
                    break
                here = there
            start = _boundary(data, len(data) if failed is None else failed)
            here = self._run(data[:start])
            may_end = self._is_final(here)
            expected = self._expected(here)
        return Verdict(
            accepted=failed is None and start == len(data) and may_end,
            offset=None if failed is None else len(data[:start].decode("utf-8", "replace")),
            byte=failed,
            expected=expected,
            may_end=may_end,
            rules=self.live_rules(data[:start]),
        )

    def _expected(self, here: State) -> Ranges:
        """The characters that can be read next."""
        found: Iterable[tuple[Ranges, State]] = character_edges(
            self._step, here, self._byte_classes
        )
        return _union(ranges for ranges, _ in found)

    def live_rules(self, text: str | bytes) -> tuple[str, ...]:
        """The rules being read after a text, the outermost first, in one way to read it.

        Empty for a regex, for what is no beginning of an accepted text, and where the
        grammar is too ambiguous to tell within its limits.
        """
        if self.tree is None:
            return ()
        with self._lock:
            try:
                here = self._rule_runner.run(_utf8(text))
            except LimitError:
                return ()
            if here == DEAD:
                return ()
            names, owner = self.rules.names, self.rules.owner
            state, node = self._rule_runner.configurations(here)[0]
            return tuple(names[owner[at]] for at in (*self._rule_runner.stack(node), state))

    @property
    def _initial(self) -> State:
        return self._reading.initial

    @property
    def _byte_classes(self) -> npt.NDArray[np.uint16]:
        return self._reading.classes

    @property
    def _reading(self) -> Dfa | LazyDfa | Runner:
        return self._runner if isinstance(self.reader, Network) else self.reader

    def _step(self, state: State, byte: int) -> State:
        return self._reading.step(state, byte)

    def _run(self, data: bytes) -> State:
        return self._reading.run(data)

    def _is_final(self, state: State) -> bool:
        return self._reading.is_final(state)


def _boundary(data: bytes, position: int) -> int:
    """The last place up to ``position`` at which a character begins (or the text ends)."""
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


def _utf8(text: str | bytes) -> bytes:
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text


def _union(parts: Iterable[Ranges]) -> Ranges:
    """Code point ranges as one sorted, disjoint list."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(piece for ranges in parts for piece in ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = merged[-1][0], max(high, merged[-1][1])
        else:
            merged.append((low, high))
    return tuple(merged)
