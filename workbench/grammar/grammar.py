"""``Grammar``: a formal language given in any notation, compiled to a byte automaton.

Its answers are exact and independent of a vocabulary: whether a text is accepted, whether it is
a prefix of an accepted text, and where and why it fails.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from workbench.automata.build import nfa_machine
from workbench.automata.lazy_dfa import LazyDfa
from workbench.automata.thompson import thompson
from workbench.base.arguments import checked
from workbench.base.cached_property import cached_property
from workbench.base.dfa import DEAD, Dfa
from workbench.base.diagnostics import Advice
from workbench.base.errors import LimitError, WorkbenchError
from workbench.base.limits import LIMITS, Limits, Phase, time_budget, timed
from workbench.base.source import Source
from workbench.base.visible_text import shorten
from workbench.grammar.notation_guess import likely_notation_named, literal_advice
from workbench.grammar.notations import (
    Notation,
    ParsedGrammar,
    checked_options,
    generation_options,
    notation_of,
    parse_dataclass,
    parse_grammar,
    prepare_notation,
    text_source,
    without_gc,
)
from workbench.grammar.recognition import Language, Verdict, character_start, utf8
from workbench.pushdown.build import (
    build,
    build_separately,
    context_free,
    rule_network,
    separate_machine,
)
from workbench.pushdown.cfg import leaf_labels, separate_program, with_leaf_rules
from workbench.pushdown.network import Network
from workbench.pushdown.runner import Runner
from workbench.syntax.expand_phrases import without_phrases
from workbench.syntax.grammar_tree import GrammarTree
from workbench.syntax.regex.parser import parse_regex
from workbench.syntax.regex.tree import Regex

if TYPE_CHECKING:
    from workbench.schema.pydantic_models import JsonAdapter


@dataclass(frozen=True, eq=False)
class Grammar(Language):
    """A formal language given in any notation, as a machine over bytes.

    ``str`` is encoded as UTF-8. Each constructor call compiles again; there is no cache by text.
    """

    #: The text, with its name.
    source: Source
    #: How the text is written.
    notation: Notation
    #: The machine that reads texts.
    reader: Dfa | LazyDfa | Network
    #: The regex as a tree, or None.
    regex: Regex | None = None
    #: The rules as a tree, or None.
    tree: GrammarTree | None = None
    #: The name of the first rule.
    start: str = "start"
    #: What each later operation may spend.
    limits: Limits = LIMITS
    #: Converts an accepted text to a value, if the notation defines one; see ``parse``.
    value: Callable[[str], object] | None = None
    #: Advice found while the text was parsed.
    notes: tuple[Advice, ...] = ()
    #: Whether its rules are others than its text has (``fill``, ``heal``): exports write the rules.
    is_rewritten: bool = False
    #: How the text was read: the arguments of ``from_text`` that are not the defaults.
    options: Mapping[str, Any] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def __repr__(self) -> str:
        return f"Grammar({self.notation}, {shorten(repr(self.source.text), 60)})"

    def __copy__(self) -> Grammar:
        return self

    def __deepcopy__(self, _: object) -> Grammar:
        return self

    def __reduce__(self) -> tuple[type[Grammar], tuple[Any, ...]]:
        """The fields, without what is computed from them later."""
        return Grammar, tuple(getattr(self, each.name) for each in fields(self) if each.init)

    @staticmethod
    @checked
    def from_regex(
        pattern: str,
        *,
        limits: Limits = LIMITS,
        name: str = "regex",
        phases: list[Phase] | None = None,
    ) -> Grammar:
        """The language of all full matches of a regex (Python's dialect).

        ``phases`` collects the time of each phase, as in ``from_text``.

        Raises: ParseError, LimitError.
        """
        source, work = text_source(pattern, name), limits.begun()
        with (
            timed("read", phases),
            time_budget(limits.seconds),
            likely_notation_named(pattern, Notation.REGEX),
        ):
            regex = parse_regex(source, clock=work.clock())
        with timed("NFA", phases):
            nfa = thompson(regex, work)
        with timed("minimal DFA", phases):
            machine = nfa_machine(nfa, work)
        if phases is not None and isinstance(machine, LazyDfa):  # built on demand
            phases[-1] = replace(phases[-1], name="first states")
        notes = literal_advice(pattern)
        return Grammar(source, Notation.REGEX, machine, regex=regex, limits=limits, notes=notes)

    @staticmethod
    @checked
    def from_kbnf(
        text: str, start: str = "start", *, limits: Limits = LIMITS, name: str = "grammar"
    ) -> Grammar:
        """The language of a KBNF grammar.

        Raises: ParseError, BuildError, LimitError.
        """
        return Grammar.from_text(text, Notation.KBNF, start, limits=limits, name=name)

    @staticmethod
    def from_json_schema(
        schema: str | dict[str, Any] | bool | type | JsonAdapter,
        *,
        whitespace: str | int = "auto",
        order: str = "declared",
        format: str = "assert",
        spellings: str = "usual",
        closed: bool = False,
        unasserted: Sequence[str] = (),
        documents: Mapping[str, str | dict[str, Any] | bool] | None = None,
        at: str = "",
        limits: Limits = LIMITS,
        name: str = "schema",
    ) -> Grammar:
        """The instances of a JSON Schema (drafts 4 to 2020-12). ``parse`` returns the JSON value.

        ``schema``      its text, its value, or a model's class or a ``TypeAdapter`` of Pydantic,
                        with which ``parse`` returns a validated instance.
        ``whitespace``  ``any`` (in runs of at most 36 characters), a number (any, in runs of at
                        most that length), ``one space`` (as ``json.dumps``), ``compact``, or as
                        ``json.dumps`` with ``indent``: ``indent 2``, ``indent 4``, ``indent tab``;
                        ``auto`` accepts any and generates one space (``for_generation``).
        ``order``       of properties: ``declared`` by the schema, or ``any``.
        ``format``      ``assert`` accepts only strings of the format; ``python`` without leap
                        seconds, which ``datetime`` lacks; ``annotation`` all strings.
        ``spellings``   ``usual``: names, constants and formats without needless escapes, integers
                        in digits; ``any``: also ``"\\u0061"`` for ``"a"``, and 67.0 for 67.
        ``closed``      an object has only the members that its schema, or all parts of an
                        ``allOf`` together, name, as in strict tool calls; a schema that says what
                        other members are keeps them.
        ``unasserted``  keywords that are left out wherever the schema has them, such as
                        ``["uniqueItems"]``, each with a note: for a schema that is refused because
                        of one of them. Values that violate them are then accepted.
        ``documents``   other schemas by their addresses, for ``$ref``; nothing is fetched. A
                        relative address is relative to the schema's own.
        ``at``          the JSON pointer of the schema in a document around it, such as
                        ``/function/parameters`` in the definition of a tool. A document that is
                        known to be around a schema has a note with this pointer.

        Raises: ParseError for a text that is not a schema; BuildError with the keyword and JSON
                pointer of an unsupported keyword, or if there is no instance; LimitError.
        Source: Koo et al. 2024, §5.1.
        """
        from workbench.schema.pydantic_models import schema_and_parser
        from workbench.schema.schema_reader import schema_source
        from workbench.schema.wrapped_schema import schema_at

        value, parser = schema_and_parser(schema, name)
        source = schema_source(value, name)
        grammar = Grammar._read(
            schema_at(source, at) if at else source,
            Notation.JSON_SCHEMA,
            limits,
            whitespace=whitespace,
            order=order,
            format=format,
            spellings=spellings,
            closed=closed,
            unasserted=unasserted,
            documents=documents,
        )
        return grammar if parser is None else replace(grammar, value=parser)

    @staticmethod
    def from_dataclass(
        cls: type | str,
        *,
        style: str = "call",
        whitespace: str | int = "auto",
        limits: Limits = LIMITS,
    ) -> Grammar:
        """The instances of a dataclass: constructor calls, or with ``style="json"`` JSON.

        ``whitespace`` is that of JSON, as in ``from_json_schema``.

        A text is parsed as Python and never executed; the last of several definitions is used.
        ``parse`` returns the instance of a text.

        Raises: ParseError, BuildError for fields that have no literal; LimitError.
        Source: Koo et al. 2024, §5.2.
        """
        prepare_notation(Notation.DATACLASS)
        options = checked_options(Notation.DATACLASS, {"style": style, "whitespace": whitespace})
        work = limits.begun()
        read = parse_dataclass(cls, work, **options)
        grammar = Grammar._build(read.tree.source, Notation.DATACLASS, read, work, limits)
        return replace(grammar, options=Notation.DATACLASS.non_defaults("", **options))

    @staticmethod
    @checked
    def from_gbnf(
        text: str, root: str = "root", *, limits: Limits = LIMITS, name: str = "grammar"
    ) -> Grammar:
        """The language of a GBNF grammar (llama.cpp, and xgrammar's EBNF).

        Raises: ParseError, BuildError, LimitError.
        """
        return Grammar.from_text(text, Notation.GBNF, root, limits=limits, name=name)

    @staticmethod
    @checked
    def from_abnf(
        text: str, start: str = "start", *, limits: Limits = LIMITS, name: str = "grammar"
    ) -> Grammar:
        """The language of an ABNF grammar (RFC 5234 and RFC 7405); its start is the first rule.

        Numbers are Unicode code points: ``%xE9`` is é. ``start`` is the name of another start
        rule.

        Raises: ParseError, BuildError, LimitError.
        """
        return Grammar.from_text(text, Notation.ABNF, start, limits=limits, name=name)

    @staticmethod
    @checked
    def from_ebnf(
        text: str, start: str = "start", *, limits: Limits = LIMITS, name: str = "grammar"
    ) -> Grammar:
        """The language of an EBNF grammar, of W3C (``::=``) or of ISO 14977 (``=`` … ``;``).

        Its start is the first rule, or the rule ``start``. An exception ``A - B`` is exact; both
        sides must be regular.

        Raises: ParseError, BuildError, LimitError.
        """
        return Grammar.from_text(text, Notation.EBNF, start, limits=limits, name=name)

    @staticmethod
    @checked
    def from_antlr(
        text: str, start: str = "start", *, limits: Limits = LIMITS, name: str = "grammar"
    ) -> Grammar:
        """The language of an ANTLR 4 grammar: every way to split a text into tokens counts.

        A lexer's and a parser's grammar are read from one text, the lexer's first. The start is the
        first rule of the parser, or the rule ``start``. Actions, predicates and modes are left out;
        ``notes`` says so.

        Raises: ParseError, BuildError, LimitError.
        """
        return Grammar.from_text(text, Notation.ANTLR, start, limits=limits, name=name)

    @staticmethod
    @checked
    def from_lark(
        text: str, start: str = "start", *, limits: Limits = LIMITS, name: str = "grammar"
    ) -> Grammar:
        """The language of a Lark grammar: every way to split a text into terminals counts.

        ``%declare _INDENT _DEDENT`` means what lark's ``PythonIndenter`` does, or the ``Indenter``
        of a comment ``//%indenter {"NL_type": "_NL", …}``; lines are indented by at most
        ``limits.columns`` columns.

        Raises: ParseError, BuildError, LimitError.
        """
        return Grammar.from_text(text, Notation.LARK, start, limits=limits, name=name)

    @staticmethod
    def from_structural_tag(
        tag: str | dict[str, Any], *, limits: Limits = LIMITS, name: str = "structural tag"
    ) -> Grammar:
        """The language of a structural tag, the format of xgrammar, vLLM and SGLang.

        Free text, JSON Schemas, regexes and grammars between tags; ``schema.structural_tag`` has
        the exact meaning of every format. Both forms are read: ``format``, and the older
        ``structures`` with ``triggers``.

        Raises: ParseError with the JSON pointer of the place; BuildError, LimitError.
        """
        from workbench.schema.schema_reader import schema_source

        text = schema_source(tag, name).text
        return Grammar.from_text(text, Notation.STRUCTURAL_TAG, limits=limits, name=name)

    @staticmethod
    @checked
    def from_machine(text: str, *, limits: Limits = LIMITS, name: str = "machine") -> Grammar:
        """The language of a finite automaton as text (``syntax.machine_text``) or of a JFLAP file.

        Raises: ParseError, LimitError.
        """
        return Grammar.from_text(text, Notation.MACHINE, limits=limits, name=name)

    @staticmethod
    @checked
    def from_text(
        text: str,
        notation: Notation | str,
        start: str = "start",
        *,
        limits: Limits = LIMITS,
        name: str = "",
        phases: list[Phase] | None = None,
        **options: Any,  # noqa: ANN401  # those of the notation
    ) -> Grammar:
        """The language of a text in any notation.

        ``phases``   collects the time of each phase of the compilation, also if it fails.
        ``options``  of the notation (``notation.options``): those of ``from_json_schema`` and
                     ``from_dataclass``.

        Raises: ParseError, BuildError, LimitError; WorkbenchError for an unknown notation or
                option.
        """
        notation = notation_of(notation)
        if notation is Notation.REGEX:
            checked_options(notation, options)
            return Grammar.from_regex(text, limits=limits, name=name or "regex", phases=phases)
        source = text_source(text, name or "grammar")
        return Grammar._read(source, notation, limits, phases, start=start, **options)

    @staticmethod
    def _read(
        source: Source,
        notation: Notation,
        limits: Limits,
        phases: list[Phase] | None = None,
        *,
        start: str = "start",
        **options: Any,  # noqa: ANN401
    ) -> Grammar:
        """The language of a text in a notation of rules."""
        options = checked_options(notation, options)
        prepare_notation(notation)
        work = limits.begun()
        with timed("read", phases), likely_notation_named(source.text, notation):
            read = parse_grammar(source, notation, start, work, **options)
        grammar = Grammar._build(source, notation, read, work, limits, phases)
        # GBNF has another start than the default of ``from_text``; a dataclass's is always "start"
        start = start if grammar.start == "start" else grammar.start
        if not notation.start and start == read.tree.rules[0].name:
            start = ""
        return replace(grammar, options=notation.non_defaults(start, **options))

    @staticmethod
    @without_gc()
    def _build(
        source: Source,
        notation: Notation,
        read: ParsedGrammar,
        work: Limits,
        limits: Limits,
        phases: list[Phase] | None = None,
    ) -> Grammar:
        with timed("rules", phases):
            cfg = context_free(read.tree, read.start, work, separate_program, phrases=True)
        with timed("automata", phases):
            machine = separate_machine(cfg, work)
        return Grammar.of_tree(source, notation, read, machine, limits)

    @staticmethod
    def of_tree(
        source: Source,
        notation: Notation,
        read: ParsedGrammar,
        machine: Dfa | Network,
        limits: Limits,
    ) -> Grammar:
        """The grammar of parsed rules and the machine built from them."""
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

    def with_tree(self, tree: GrammarTree, start: str = "") -> Grammar:
        """The grammar with other rules, and another start symbol if one is given.

        Raises: BuildError, LimitError.
        """
        start = start or self.start
        work = self.limits if self.limits.shared_clock is not None else self.limits.begun()
        reader = build_separately(tree, start, work)
        return replace(self, reader=reader, tree=tree, start=start, regex=None)

    @cached_property
    def for_generation(self) -> Grammar:
        """The grammar of the texts that a model should write.

        JSON read with ``whitespace="auto"`` may have any white space, and is written with one
        space: that of a JSON Schema, of a dataclass with ``style="json"``, of structural tags and
        of ``%json`` in Lark. Every other grammar is its own. The page and the command line generate
        with it.

        Raises: LimitError.
        """
        options = generation_options(self.source.text, self.notation, self.options)
        if self.is_rewritten or options is self.options:
            return self
        grammar = Grammar._read(self.source, self.notation, self.limits, **options)
        return replace(grammar, value=self.value)

    @property
    def has_phrases(self) -> bool:
        """Whether elements of it are in any order (``syntax.permutation_phrases``)."""
        return isinstance(self.reader, Network) and bool(self.reader.phrases)

    @cached_property
    def without_phrases(self) -> Grammar:
        """The same language with ordinary rules in place of permutation phrases.

        Itself if it has none, as nearly all grammars.

        Raises: LimitError if the sets of their elements are too many rules.
        """
        if self.tree is None or not self.has_phrases:
            return self
        return self.with_tree(without_phrases(self.tree))

    def is_written_in(self, notation: Notation) -> bool:
        """Whether its text has its rules, in this notation: then the text is its own export."""
        return self.notation is notation and not self.is_rewritten

    @property
    def is_generated(self) -> bool:
        """Whether its rules are generated: compiled separately, without advice on them."""
        return self.notation.is_translated or bool(self.tree and self.tree.written)

    @property
    def _name(self) -> str:
        return self.start if self.tree else "regex"

    def _build_whole(self) -> Dfa | Network:
        assert self.tree is not None, "a regex has no rules"
        return build(self.tree, self.start, self.limits.begun())

    @cached_property
    def rules(self) -> Network:
        """One automaton per rule as written; for a regex the machine itself."""
        if self.tree is None:
            return self.network
        work = self.limits.begun()
        return rule_network(context_free(self._listed_rules, self.start, work, phrases=True), work)

    @cached_property
    def _listed_rules(self) -> GrammarTree:
        """The rules as listed and drawn: each ``Automaton`` leaf is a separate rule."""
        assert self.tree is not None, "a regex has no rules"
        return with_leaf_rules(self.tree) if self.is_generated else self.tree

    @property
    def leaf_rules(self) -> dict[str, str]:
        """The rules that stand in for ``Automaton`` leaves, with the label of each."""
        return {} if self.tree is None else leaf_labels(self._listed_rules)

    def parse(self, text: str | bytes) -> Any:  # noqa: ANN401  # an instance of whatever class it is
        """The value of an accepted text: a JSON value, or an instance of a dataclass or model.

        Raises: WorkbenchError if the text is not accepted, the notation defines no values, or
                Python cannot hold the value: a number of thousands of digits, deep nesting;
                ValueError of a dataclass or a model that refuses its fields.
        """
        if self.value is None:
            raise WorkbenchError(
                f"a text of a {self.notation.label} grammar has no value",
                "only schemas and dataclasses define values",
            )
        if not (verdict := self.check(text)).accepted:
            raise WorkbenchError(f"the grammar does not accept this text: it {verdict}")
        # a hole may begin or end within a character
        text = text if isinstance(text, str) else text.decode("utf-8", "surrogateescape")
        try:
            return self.value(text)
        except RecursionError:
            reason = "it nests too deeply"
        except ValueError:
            if not re.search(rf"[0-9]{{{sys.get_int_max_str_digits()}}}", text):
                raise  # a dataclass or a model refuses its fields
            reason = "a number has too many digits"
        raise WorkbenchError(f"the text is accepted, but has no value: {reason}")

    @cached_property
    def _rule_runner(self) -> Runner:
        return Runner(self.rules, self.limits)

    def check(self, text: str | bytes) -> Verdict:
        """Whether a text is accepted; if not, where it fails and what is expected there."""
        data = utf8(text)
        verdict = self.check_each(b"", (data,))[0]
        end = len(data) if verdict.byte is None else verdict.byte
        return replace(verdict, rules=self.live_rules(data[: character_start(data, end)]))

    def live_rules(self, text: str | bytes) -> tuple[str, ...]:
        """The open rules after a text, the outermost first, in one of its derivations.

        Empty for a regex or a drawn machine, for a text that is no prefix of an accepted text, and
        if the grammar is too ambiguous to decide within its limits.
        """
        if self.tree is None or self.notation is Notation.MACHINE:
            return ()
        with self._lock, time_budget(self.limits.seconds):
            try:
                situation = self._rule_runner.run(utf8(text))
            except LimitError:
                return ()
            if situation == DEAD:
                return ()
            names, owner = self.rules.names, self.rules.owner
            state, node = self._rule_runner.configurations(situation)[0]
            return tuple(names[owner[each]] for each in (*self._rule_runner.stack(node), state))
