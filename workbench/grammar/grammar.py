"""Grammar: text of any notation to one machine.

What it says is exact and knows no vocabulary: whether a text is accepted, whether it can still
become one, and where and why it fails.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from workbench.automata.build import nfa_machine
from workbench.automata.lazy_dfa import LazyDfa
from workbench.automata.small_dfa import compile_kernels
from workbench.automata.thompson import thompson
from workbench.base.dfa import DEAD, Dfa
from workbench.base.errors import LimitError, WorkbenchError
from workbench.base.limits import LIMITS, Limits, Phase, timed
from workbench.base.problems import Advice
from workbench.base.source import Source
from workbench.grammar.notations import (
    Notation,
    Written,
    check_style,
    written,
    written_dataclass,
    written_schema,
)
from workbench.grammar.notations import ready as ready_to_read
from workbench.grammar.recognition import Language, Verdict, character_start, utf8
from workbench.pushdown.build import (
    build,
    build_separately,
    context_free,
    rule_network,
    whole_machine,
)
from workbench.pushdown.leaf_rules import leaf_labels, with_leaf_rules
from workbench.pushdown.network import Network
from workbench.pushdown.runner import Runner
from workbench.syntax.grammar_tree import GrammarTree
from workbench.syntax.regex.parser import parse_regex
from workbench.syntax.regex.tree import Regex


@dataclass(frozen=True, eq=False)
class Grammar(Language):
    """A formal language given in any notation, as a machine over bytes.

    ``str`` is read as UTF-8, ``bytes`` as they are. Making one does the work anew at
    every call; nothing is remembered by text.
    """

    source: Source
    notation: Notation
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
    def from_regex(
        pattern: str,
        *,
        limits: Limits = LIMITS,
        name: str = "regex",
        phases: list[Phase] | None = None,
    ) -> Grammar:
        """The language of all full matches of a regex (Python's dialect).

        ``phases`` is given the time of each phase, as in ``from_text``.

        Raises: ParseError, LimitError.
        """
        compile_kernels()
        source, work = Source(pattern, name), limits.begun()
        with timed("read", phases):
            regex = parse_regex(source, clock=work.clock())
        with timed("NFA", phases):
            nfa = thompson(regex, work)
        with timed("minimal DFA", phases):
            machine = nfa_machine(nfa, work)
        if phases is not None and isinstance(machine, LazyDfa):  # the rest is made while it is read
            phases[-1] = replace(phases[-1], name="first states")
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
    def from_json_schema(
        schema: str | dict[str, Any] | bool,
        *,
        whitespace: str = "any",
        limits: Limits = LIMITS,
        name: str = "schema",
    ) -> Grammar:
        """The instances of a JSON Schema, properties in declared order (draft 2020-12, 7).

        ``whitespace`` is ``any`` (each run bounded), ``one space`` (as ``json.dumps`` writes) or
        ``compact``. No ``$ref`` is ever fetched. ``parse`` gives the JSON value of a text.

        Raises: ParseError where it is no schema; BuildError with keyword and JSON pointer for
                what cannot be honoured, or where nothing is an instance; LimitError.
        Source: Koo et al. 2024, §5.1.
        """
        from workbench.schema.schema_reader import schema_source

        ready_to_read(Notation.JSON_SCHEMA)
        source, work = schema_source(schema, name), limits.begun()
        read = written_schema(source, work, whitespace=whitespace)
        return Grammar._built(source, Notation.JSON_SCHEMA, read, work, limits)

    @staticmethod
    def from_dataclass(cls: type | str, *, style: str = "call", limits: Limits = LIMITS) -> Grammar:
        """The instances of a dataclass: constructor calls, or with ``style="json"`` JSON.

        A text is read as Python and never executed; of several definitions the last is meant.
        ``parse`` gives the instance of a text.

        Raises: ParseError, BuildError for fields that cannot be written; LimitError.
        Source: Koo et al. 2024, §5.2.
        """
        ready_to_read(Notation.DATACLASS)
        work = limits.begun()
        read = written_dataclass(cls, style, work)
        return Grammar._built(read.tree.source, Notation.DATACLASS, read, work, limits)

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
        style: str = "",
        limits: Limits = LIMITS,
        name: str = "",
        phases: list[Phase] | None = None,
    ) -> Grammar:
        """The language of a text in any notation; ``style`` is one of ``notation.styles``.

        ``phases`` is given the time of each phase of the compilation, also of one that fails.

        Raises: ParseError, BuildError, LimitError; WorkbenchError for a style it has not.
        """
        check_style(notation, style)
        if notation is Notation.REGEX:
            return Grammar.from_regex(text, limits=limits, name=name or "regex", phases=phases)
        ready_to_read(notation)
        source, work = Source(text, name or "grammar"), limits.begun()
        with timed("read", phases):
            read = written(source, notation, start, work, style)
        return Grammar._built(source, notation, read, work, limits, phases)

    @staticmethod
    def _built(
        source: Source,
        notation: Notation,
        read: Written,
        work: Limits,
        limits: Limits,
        phases: list[Phase] | None = None,
    ) -> Grammar:
        machine: Dfa | Network
        if notation.is_translated:
            with timed("automata", phases):
                machine = build_separately(read.tree, read.start, work)
        else:
            with timed("rules", phases):
                cfg = context_free(read.tree, read.start, work)
            with timed("automata", phases):
                machine = whole_machine(cfg, work)
        return Grammar.of_tree(source, notation, read, machine, limits)

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
    def _name(self) -> str:
        return self.start if self.tree else "regex"

    def _together(self) -> Dfa | Network:
        assert self.tree is not None, "a regex has no rules"
        return build(self.tree, self.start, self.limits.begun())

    @cached_property
    def rules(self) -> Network:
        """Every rule as its author wrote it, one automaton each; the machine itself for a regex."""
        if self.tree is None:
            return self.network
        work = self.limits.begun()
        return rule_network(context_free(self._written_out, self.start, work), work)

    @cached_property
    def _written_out(self) -> GrammarTree:
        """The rules as they are told and drawn: the machines a program brought are rules."""
        assert self.tree is not None, "a regex has no rules"
        return with_leaf_rules(self.tree) if self.notation.is_translated else self.tree

    @property
    def leaf_rules(self) -> dict[str, str]:
        """Of ``rules`` those that are a machine a program brought, and what each is called."""
        return {} if self.tree is None else leaf_labels(self._written_out)

    def parse(self, text: str) -> Any:  # noqa: ANN401  # an instance of whatever class it is
        """What an accepted text stands for: a JSON value, an instance of a dataclass.

        Raises: WorkbenchError where the text is not accepted, or stands for nothing but itself.
        """
        if self.value is None:
            raise WorkbenchError(
                f"a text of a {self.notation.label} grammar has no value",
                "only schemas and dataclasses define values",
            )
        if not (verdict := self.check(text)).accepted:
            raise WorkbenchError(f"the grammar does not accept this text: it {verdict}")
        return self.value(text)

    @cached_property
    def _rule_runner(self) -> Runner:
        return Runner(self.rules, self.limits)

    def check(self, text: str | bytes) -> Verdict:
        """Whether a text is accepted; if not, where it fails and what was expected there."""
        data = utf8(text)
        verdict = self.check_each(b"", (data,))[0]
        end = len(data) if verdict.byte is None else verdict.byte
        return replace(verdict, rules=self.live_rules(data[: character_start(data, end)]))

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
