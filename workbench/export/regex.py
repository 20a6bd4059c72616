"""Writes a grammar whose language needs no stack as one pattern."""

from __future__ import annotations

import re
import warnings

from workbench.automata.fold import fold
from workbench.errors import BuildError, LimitError
from workbench.export.elimination import TooLongError
from workbench.export.from_machine import machine_regex
from workbench.export.from_rules import NotSoError, RuleRegexes
from workbench.export.leaves import Leaves, cuts_characters
from workbench.export.regex_text import pattern
from workbench.export.terms import NOTHING
from workbench.grammar import Grammar
from workbench.notations import Notation
from workbench.pushdown.build import context_free
from workbench.pushdown.cfg import calls
from workbench.pushdown.circles import circles
from workbench.pushdown.network import Network
from workbench.source import Span
from workbench.syntax.grammar_tree import Pattern, Stop
from workbench.syntax.regex.dialect import Dialect
from workbench.syntax.regex.extensions import EXTENSIONS
from workbench.syntax.regex.labels import labels_in
from workbench.syntax.regex.tree import Regex
from workbench.syntax.tree_printer import Leaf

#: Characters of a pattern nobody would read any more, and some engines would not either.
LONGEST = 20_000


class _TornError(Exception):
    """Two leaves may share a character: the whole machine has to be asked."""


def write_regex(
    grammar: Grammar, longest: int = LONGEST, dialect: Dialect | None = Dialect.PYTHON
) -> str:
    """The texts of a grammar as a regex, for ``re.fullmatch``; one that is there stays as it is.

    Without a ``dialect`` it is written in what every engine reads alike. Terminal labels stay what
    they are in Python's dialect, though of all engines only this one knows them.

    Rules are written in where they are called; where they call each other in another way than at
    their ends, states are taken out of the automaton. Texts are UTF-8: byte strings that are
    none, which some languages hold, no regex over characters reads.

    Raises: BuildError where the language needs a stack, or the pattern would have more than
            ``longest`` characters; LimitError.
    """
    text = grammar.source.text
    labels = dialect is Dialect.PYTHON  # that of regexes here
    own = grammar.regex
    if own is not None and labels and (_python_reads(text) or any(labels_in(own))):
        return text
    regex = _of_tree(grammar, longest, labels)
    if regex is None and isinstance(grammar.reader, Network):
        _refuse_circles(grammar)
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
    """The regex as the author structured it; None where it is longer or not so structured."""
    if grammar.tree is None:
        assert grammar.regex is not None, "made from the one or the other"
        whole = Pattern(grammar.regex, Stop.ANYWHERE, grammar.source.text, _start(grammar))
        return Leaves("a regex", grammar.source, {}, grammar.limits, labels).regex(whole)
    work = grammar.limits.begun()
    cfg = context_free(grammar.tree, grammar.start, work)
    leaves = Leaves("a regex", grammar.source, cfg.written, work, labels)

    def leaf(node: Leaf) -> Regex:
        if (made := leaves.regex(node)) is not None:
            return made
        if cuts_characters(leaves.folded(node)):
            raise _TornError
        if (made := leaves.short(node, longest)) is None:
            raise TooLongError
        return made

    try:
        return RuleRegexes(cfg.rules, leaf, longest, work.clock()).regex(grammar.start)
    except (NotSoError, TooLongError, _TornError):
        return None


def _of_machine(grammar: Grammar, longest: int) -> Regex | None:
    try:
        dfa = grammar.dfa
    except LimitError:
        return None
    assert dfa is not None, "it needs no stack"
    return machine_regex(fold(dfa), longest, grammar.limits.begun())


def _python_reads(text: str) -> bool:
    """Whether Python's ``re`` reads a pattern, and reads it as we do, today and tomorrow."""
    if any(f"<{name}>" in text for name in EXTENSIONS):
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            re.compile(text)
    except (re.error, Warning, RecursionError, OverflowError):
        return False
    return True


def _start(grammar: Grammar) -> Span:
    """Where the start rule is named."""
    rules = grammar.tree.rules if grammar.tree is not None else ()
    named = (rule.name_span for rule in rules if rule.name == grammar.start)
    return next(named, Span(0, len(grammar.source.text)))


def _refuse_circles(grammar: Grammar) -> None:
    """Raise BuildError at the first rule that is called by what it calls."""
    assert grammar.tree is not None, "a regex needs no stack"
    called = {rule.name: {call.name for call in calls(rule.body)} for rule in grammar.tree.rules}
    inside = frozenset().union(*circles(called))
    for rule in grammar.tree.rules:
        if rule.name in inside:
            message = (
                f"no regex can say this: {rule.name!r} is read inside itself, which takes a stack"
            )
            hint = "write it as GBNF, Lark or KBNF"
            if grammar.notation is Notation.JSON_SCHEMA and rule.name == "value":
                closed = 'set "additionalProperties": false in each object'
                hint = (
                    f"any JSON value is allowed inside: {closed} and describe each value, or {hint}"
                )
            raise BuildError(message, grammar.source, rule.name_span, hint, "unsupported_export")
