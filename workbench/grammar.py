"""Grammar: the front door to the machine half; text of any notation in, one machine out.

What it says is exact and knows no vocabulary: whether a text is accepted, whether it can still
become one, and where and why it fails.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

from workbench.automata.build import regex_machine, smallest
from workbench.automata.dfa import DEAD, Dfa
from workbench.automata.lazy import LazyDfa
from workbench.automata.small import ready
from workbench.checker import Checker
from workbench.errors import LimitError, WorkbenchError
from workbench.limits import LIMITS, Limits
from workbench.notations import Notation, Written, written
from workbench.notations import ready as ready_to_read
from workbench.pushdown.advice import Advice, advice, regex_advice
from workbench.pushdown.build import build, context_free, network_of, rule_network
from workbench.pushdown.build import ready as ready_for_rules
from workbench.pushdown.network import Network
from workbench.pushdown.places import Places
from workbench.pushdown.runner import Runner
from workbench.source import Source
from workbench.syntax.grammar_tree import GrammarTree
from workbench.syntax.regex_parser import parse_regex
from workbench.syntax.regex_tree import Regex
from workbench.verdict import Verdict as Verdict
from workbench.verdict import character_start


@dataclass(frozen=True, eq=False)
class Grammar:
    """A formal language given in any notation, as a machine over bytes.

    ``str`` is read as UTF-8, ``bytes`` as they are. Making one does the work anew at
    every call; nothing is remembered by text.
    """

    source: Source
    notation: Notation
    #: What reads texts: a plain automaton where the language needs no stack, made as it is read
    #: where it is large.
    reader: Dfa | LazyDfa | Network
    #: The regex as a tree, or None.
    regex: Regex | None = None
    #: The rules as a tree, or None.
    tree: GrammarTree | None = None
    start: str = "start"
    limits: Limits = LIMITS
    #: What an accepted text stands for, where the notation knows; see ``parse``.
    value: Callable[[str], object] | None = None
    #: What reading the text left to be told.
    notes: tuple[Advice, ...] = ()
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
        return Grammar(source, Notation.REGEX, machine, regex=regex, limits=limits)

    @staticmethod
    def from_kbnf(
        text: str, start: str = "start", *, limits: Limits = LIMITS, name: str = "grammar"
    ) -> Grammar:
        """The language of a KBNF grammar.

        Raises: ParseError, BuildError, LimitError.
        """
        return Grammar.from_text(text, Notation.KBNF, start, limits=limits, name=name)

    @staticmethod
    def from_gbnf(
        text: str, root: str = "root", *, limits: Limits = LIMITS, name: str = "grammar"
    ) -> Grammar:
        """The language of a GBNF grammar (llama.cpp, and xgrammar's EBNF).

        Raises: ParseError, BuildError, LimitError.
        """
        return Grammar.from_text(text, Notation.GBNF, root, limits=limits, name=name)

    @staticmethod
    def from_lark(
        text: str, start: str = "start", *, limits: Limits = LIMITS, name: str = "grammar"
    ) -> Grammar:
        """The language of a Lark grammar.

        Raises: ParseError, BuildError, LimitError.
        """
        return Grammar.from_text(text, Notation.LARK, start, limits=limits, name=name)

    @staticmethod
    def from_text(
        text: str,
        notation: Notation,
        start: str = "start",
        *,
        limits: Limits = LIMITS,
        name: str = "grammar",
    ) -> Grammar:
        """The language of a text in any notation.

        Raises: ParseError, BuildError, LimitError.
        """
        if notation is Notation.REGEX:
            return Grammar.from_regex(text, limits=limits, name=name)
        ready_to_read(notation)
        ready_for_rules()
        source, work = Source(text, name), limits.begun()
        read = written(source, notation, start, work)
        return Grammar.of_tree(source, notation, read, build(read.tree, read.start, work), limits)

    @staticmethod
    def of_tree(
        source: Source, notation: Notation, read: Written, machine: Dfa | Network, limits: Limits
    ) -> Grammar:
        """The grammar of rules that have been read, and their machine."""
        return Grammar(
            source,
            notation,
            machine,
            tree=read.tree,
            start=read.start,
            limits=limits,
            value=read.value,
            notes=read.notes,
        )

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
        return (*self.notes, *advice(self.tree, self.start))

    def parse(self, text: str) -> object:
        """What an accepted text stands for: a JSON value, an instance of a dataclass.

        Raises: WorkbenchError where the text is not accepted, or stands for nothing but itself.
        """
        if self.value is None:
            raise WorkbenchError(
                f"a text of a {self.notation.label} grammar stands for nothing but itself",
                "schemas and dataclasses have values",
            )
        if not self.accepts(text):
            raise WorkbenchError("the grammar does not accept this text", "see Grammar.check")
        return self.value(text)

    @cached_property
    def _checker(self) -> Checker:
        machine = self.reader
        return Checker(
            Runner(self.network, self.limits) if isinstance(machine, Network) else machine
        )

    @cached_property
    def _rule_runner(self) -> Runner:
        return Runner(self.rules, self.limits)

    def accepts(self, text: str | bytes) -> bool:
        """Whether the whole text is in the language."""
        return self._checker.accepts(utf8(text))

    def is_prefix(self, text: str | bytes) -> bool:
        """Whether some accepted text begins so."""
        return self._checker.is_prefix(utf8(text))

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
        return self._checker.check_each(so_far, texts)

    @cached_property
    def places(self) -> Places:
        """Which pieces of its text could read next, and how they came to be read.

        Raises: LimitError.
        """
        if self.tree is not None:
            return Places.of_grammar(self.tree, self.start, self.limits)
        assert self.regex is not None, "made from the one or the other"
        return Places.of_regex(self.regex, self.limits)

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


def utf8(text: str | bytes) -> bytes:
    """A text as the bytes a machine reads; bytes are what they are."""
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
