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
from workbench.automata.dfa import DEAD, Dfa, State
from workbench.automata.fold import character_edges
from workbench.automata.lazy import LazyDfa
from workbench.automata.small import ready
from workbench.errors import LimitError
from workbench.limits import LIMITS, Limits
from workbench.pushdown.advice import Advice, advice, regex_advice
from workbench.pushdown.build import build, context_free, network_of, rule_network
from workbench.pushdown.build import ready as ready_for_rules
from workbench.pushdown.network import Network
from workbench.pushdown.places import Places
from workbench.pushdown.runner import Runner
from workbench.source import Source
from workbench.syntax.grammar_tree import GrammarTree
from workbench.syntax.kbnf_parser import parse_kbnf
from workbench.syntax.kbnf_parser import ready as ready_to_read
from workbench.syntax.regex_parser import parse_regex
from workbench.syntax.regex_tree import Ranges, Regex
from workbench.verdict import Verdict as Verdict
from workbench.verdict import character_start

#: Bytes of a character in UTF-8, at most.
_LONGEST_CHARACTER = 4


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
        """What its author may want to mend, as far as the tree alone shows it; see ``lint``."""
        if self.tree is None:
            return regex_advice(self.regex, self.source) if self.regex else ()
        return advice(self.tree, self.start)

    @cached_property
    def _runner(self) -> Runner:
        return Runner(self.network, self.limits)

    @cached_property
    def _rule_runner(self) -> Runner:
        return Runner(self.rules, self.limits)

    def accepts(self, text: str | bytes) -> bool:
        """Whether the whole text is in the language."""
        with self._lock:
            here = self._run(utf8(text))
            return here != DEAD and self._is_final(here)

    def is_prefix(self, text: str | bytes) -> bool:
        """Whether some accepted text begins so."""
        if not isinstance(self.reader, Network) and self.reader.is_empty:
            return False
        with self._lock:
            return self._run(utf8(text)) != DEAD

    def check(self, text: str | bytes) -> Verdict:
        """Whether a text is accepted; if not, where it fails and what was expected there."""
        data = utf8(text)
        verdict = self.check_each(b"", (data,))[0]
        end = len(data) if verdict.byte is None else verdict.byte
        return replace(verdict, rules=self.live_rules(data[: character_start(data, end)]))

    def check_each(self, so_far: bytes, texts: Iterable[bytes]) -> list[Verdict]:
        """What ``check`` says of a text with each of some others after it, but for the rules.

        Cost: the text so far is read once.
        """
        with self._lock:
            known = max(0, len(so_far) - _LONGEST_CHARACTER)  # one may be cut at its end
            here = self._run(so_far[:known])
            if here == DEAD:
                known, here = 0, self._initial
            expected: dict[State, Ranges] = {}
            return [self._verdict(so_far + text, known, here, expected) for text in texts]

    def _verdict(
        self, data: bytes, known: int, here: State, expected: dict[State, Ranges]
    ) -> Verdict:
        """Of a text that begins with ``known`` bytes after which the machine is ``here``."""
        states, failed = [here], None
        for position in range(known, len(data)):
            there = self._step(states[-1], data[position])
            if there == DEAD:
                failed = position
                break
            states.append(there)
        start = character_start(data, len(data) if failed is None else failed)
        here = states[start - known] if start >= known else self._run(data[:start])
        if here not in expected:
            expected[here] = self._expected(here)
        may_end = self._is_final(here)
        return Verdict(
            accepted=failed is None and start == len(data) and may_end,
            offset=None if failed is None else len(data[:start].decode("utf-8", "replace")),
            byte=failed,
            expected=expected[here],
            may_end=may_end,
            rules=(),
        )

    @cached_property
    def places(self) -> Places:
        """Which pieces of its text could read next, and how they came to be read.

        Raises: LimitError.
        """
        if self.tree is not None:
            return Places.of_grammar(self.tree, self.start, self.limits)
        assert self.regex is not None, "made from the one or the other"
        return Places.of_regex(self.regex, self.limits)

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
                here = self._rule_runner.run(utf8(text))
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


def utf8(text: str | bytes) -> bytes:
    """A text as the bytes a machine reads; bytes are what they are."""
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
