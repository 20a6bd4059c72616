"""Writes a grammar whose language needs no stack as one pattern.

Rules are inlined. Rules that call each other in a cycle, each call at the end of its rule (or each
at the beginning), become states of a graph whose paths are the regex.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import SupportsIndex

from workbench.automata.code_points import fold
from workbench.automata.graphs import cyclic_components
from workbench.automata.to_regex import (
    EMPTY,
    NOTHING,
    StateElimination,
    TooLongError,
    concat,
    either,
    repeat,
)
from workbench.base.errors import BuildError, LimitError
from workbench.base.limits import Clock, check_time_budget
from workbench.base.source import Span
from workbench.grammar.export.terminals import Leaves, cuts_characters, machine_regex
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.pushdown.build import context_free
from workbench.syntax.grammar_printer import Leaf
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    Nonterminal,
    Pattern,
    Repetition,
    Sequence,
    Stop,
    calls,
)
from workbench.syntax.regex.extensions import EXTENSIONS, labels_in
from workbench.syntax.regex.printer import pattern
from workbench.syntax.regex.reader import Dialect
from workbench.syntax.regex.tree import Regex

#: Additional initial and final states of a component; no rule has these names.
_BEFORE, _AFTER = "<", ">"


class NotLinearError(Exception):
    """A recursive call is neither at the end nor at the beginning of its rule."""

    def __init__(self, call: Nonterminal) -> None:
        self.call = call


class RuleRegexes:
    """The regexes of rules, cached.

    Raises: NotLinearError, TooLongError past ``most`` characters; LimitError past the clock's time.
    Source: Arden 1961, "Delayed-logic and finite-state machines", for right- and left-linear rules.
    """

    def __init__(
        self,
        rules: Mapping[str, Expression],
        leaf: Callable[[Leaf], Regex],
        most: int,
        clock: Clock,
    ) -> None:
        self._rules = rules
        self._leaf = leaf
        self._most = most
        self._clock = clock
        self._made: dict[str, Regex] = {}
        called = {name: {call.name for call in calls(body)} for name, body in rules.items()}
        self._component = {
            name: component for component in cyclic_components(called) for name in component
        }

    def regex(self, name: str) -> Regex:
        """The texts of a rule."""
        if name not in self._made:
            self._clock.check()
            component = self._component.get(name)
            regex = (
                self._of(self._rules[name])
                if component is None
                else self._of_component(name, component)
            )
            if len(pattern(regex)) > self._most:
                raise TooLongError
            self._made[name] = regex
        return self._made[name]

    def _of(self, node: Expression) -> Regex:
        self._clock.check()
        match node:
            case Nonterminal(name):
                return self.regex(name)
            case Sequence(items):
                return concat(*map(self._of, items))
            case Choice(options):
                return either(*map(self._of, options))
            case Repetition(item, low, high):
                return repeat(self._of(item), low, high)
            case leaf:
                return self._leaf(leaf)

    def _of_component(self, name: str, component: frozenset[str]) -> Regex:
        try:
            edges = [
                (member, regex, _AFTER if after is None else after)
                for member in sorted(component)
                for regex, after in self._alternatives(self._rules[member], component, at_end=True)
            ]
            return StateElimination([(_BEFORE, EMPTY, name), *edges], self._most).between(
                _BEFORE, _AFTER, self._clock
            )
        except NotLinearError:
            edges = [
                (_BEFORE if before is None else before, regex, member)
                for member in sorted(component)
                for regex, before in self._alternatives(
                    self._rules[member], component, at_end=False
                )
            ]
            return StateElimination([*edges, (name, EMPTY, _AFTER)], self._most).between(
                _BEFORE, _AFTER, self._clock
            )

    def _alternatives(
        self, node: Expression, component: frozenset[str], *, at_end: bool
    ) -> Iterator[tuple[Regex, str | None]]:
        """The alternatives of a rule: a regex, and the rule of the component called next to it."""
        match node:
            case Nonterminal(name) if name in component:
                yield EMPTY, name
            case Choice(options):
                for option in options:
                    yield from self._alternatives(option, component, at_end=at_end)
            case Repetition(item, 0, 1):
                yield EMPTY, None
                yield from self._alternatives(item, component, at_end=at_end)
            case Sequence((_, *_) as items):
                inner, outer = (items[:-1], items[-1]) if at_end else (items[1:], items[0])
                self._refuse(inner, component)
                rest = concat(*map(self._of, inner))
                for regex, called in self._alternatives(outer, component, at_end=at_end):
                    yield concat(rest, regex) if at_end else concat(regex, rest), called
            case _:
                self._refuse((node,), component)
                yield self._of(node), None

    @staticmethod
    def _refuse(parts: tuple[Expression, ...], component: frozenset[str]) -> None:
        """Raise NotLinearError at the first call of a rule of the component."""
        for part in parts:
            for call in calls(part):
                if call.name in component:
                    raise NotLinearError(call)


#: The most characters of a pattern; some engines do not accept longer ones.
MAX_REGEX_LENGTH = 20_000


class _SplitCharacterError(Exception):
    """Two terminals may share a character: only the whole machine has a regex over characters."""


def write_regex(
    grammar: Grammar, longest: int = MAX_REGEX_LENGTH, dialect: Dialect | None = Dialect.PYTHON
) -> str:
    """The texts of a grammar as a regex for ``re.fullmatch``; a regex is returned unchanged.

    ``dialect`` None is the syntax that all engines read alike. Python's dialect keeps terminal
    labels, which only this library supports.

    Rules are inlined. If their recursion is not linear, states are eliminated from the automaton.
    Byte strings that are not valid UTF-8, which some languages contain, are left out.

    Raises: BuildError if the language needs a stack, or the pattern would have more than
            ``longest`` characters; LimitError.
    """
    grammar = grammar.without_phrases
    text = grammar.source.text
    labels = dialect is Dialect.PYTHON  # the dialect of regexes in this library
    own_regex = grammar.regex
    if own_regex is not None and labels and (_python_reads(text) or any(labels_in(own_regex))):
        return text
    regex = _of_tree(grammar, longest, labels)
    if regex is None and not grammar.is_regular:
        refuse_recursion(grammar, "no regex can say this", "GBNF, Lark or KBNF")
    elif regex is None:
        regex = _of_machine(grammar, longest)
    if regex is None:
        message = f"a regex of this grammar would have more than {longest:,} characters"
        hint = "write it as GBNF or Lark, whose rules are written once however often they are used"
        raise BuildError(message, grammar.source, _start(grammar), hint, "unsupported_export")
    if regex == NOTHING:
        message = "the language has no text at all"
        raise BuildError(
            message, grammar.source, _start(grammar), "let it have one", "unproductive"
        )
    return pattern(regex, dialect)


def _of_tree(grammar: Grammar, longest: int, labels: bool) -> Regex | None:
    """The regex that follows the structure of the rules; None if it is too long or not linear."""
    if grammar.tree is None:
        assert grammar.regex is not None, "a grammar has a regex or a tree"
        whole = Pattern(grammar.regex, Stop.ANYWHERE, grammar.source.text, _start(grammar))
        return Leaves("a regex", grammar.source, {}, grammar.limits, labels).regex(whole)
    work = grammar.limits.begun()
    cfg = context_free(grammar.tree, grammar.start, work)
    leaves = Leaves("a regex", grammar.source, cfg.written, work, labels)

    def leaf(node: Leaf) -> Regex:
        if (regex := leaves.regex(node)) is not None:
            return regex
        if cuts_characters(leaves.folded(node)):
            raise _SplitCharacterError
        if (regex := leaves.short(node, longest)) is None:
            raise TooLongError
        return regex

    try:
        return RuleRegexes(cfg.rules, leaf, longest, work.clock()).regex(grammar.start)
    except (NotLinearError, TooLongError, _SplitCharacterError):
        return None


def _of_machine(grammar: Grammar, longest: int) -> Regex | None:
    try:
        dfa = grammar.dfa
    except LimitError:
        return None
    assert dfa is not None, "the language needs no stack"
    return machine_regex(fold(dfa), longest, grammar.limits.begun())


class _TimedText(str):
    """A text that checks the budget when ``re``, which is written in Python, reads a character."""

    __slots__ = ()

    def __getitem__(self, index: SupportsIndex | slice) -> str:
        check_time_budget()
        return super().__getitem__(index)


def _python_reads(text: str) -> bool:
    """Whether Python's ``re`` compiles a pattern without warnings, with the same meaning."""
    if any(f"<{name}>" in text for name in EXTENSIONS):
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            re.compile(_TimedText(text))
    except (re.error, Warning, RecursionError, OverflowError):
        return False
    return True


def _start(grammar: Grammar) -> Span:
    """The span of the start rule's name."""
    rules = grammar.tree.rules if grammar.tree is not None else ()
    named = (rule.name_span for rule in rules if rule.name == grammar.start)
    return next(named, Span(0, len(grammar.source.text)))


def refuse_recursion(grammar: Grammar, what: str, others: str) -> None:
    """Raise BuildError at the first recursive rule; ``others`` are notations with rules."""
    assert grammar.tree is not None, "a regex needs no stack"
    called = {rule.name: {call.name for call in calls(rule.body)} for rule in grammar.tree.rules}
    inside = frozenset().union(*cyclic_components(called))
    for rule in grammar.tree.rules:
        if rule.name in inside:
            message = f"{what}: {rule.name!r} is read inside itself, which takes a stack"
            hint = f"write it as {others}"
            if grammar.notation is Notation.JSON_SCHEMA and rule.name == "value":
                closed = 'set "additionalProperties": false in each object'
                hint = (
                    f"any JSON value is allowed inside: {closed} and describe each value, or {hint}"
                )
            raise BuildError(message, grammar.source, rule.name_span, hint, "unsupported_export")
