"""Regex: a grammar whose language needs no stack in, one pattern of the same texts out."""

from __future__ import annotations

import re
import warnings

from workbench.errors import BuildError, LimitError
from workbench.export.elimination import TooLongError
from workbench.export.from_machine import machine_regex
from workbench.export.from_rules import NotSoError, RuleRegexes
from workbench.export.leaves import Leaves, cuts_characters
from workbench.export.regex_text import pattern
from workbench.export.terms import NOTHING
from workbench.grammar import Grammar
from workbench.pushdown.build import context_free
from workbench.pushdown.network import Network
from workbench.source import Span
from workbench.syntax.grammar_tree import Pattern, Stop
from workbench.syntax.regex_dialect import Dialect
from workbench.syntax.regex_extensions import EXTENSIONS
from workbench.syntax.regex_tree import Regex
from workbench.syntax.tree_printer import Leaf

#: Characters of a pattern nobody would read any more, and some engines would not either.
LONGEST = 20_000


def write_regex(
    grammar: Grammar, longest: int = LONGEST, dialect: Dialect | None = Dialect.PYTHON
) -> str:
    """The texts of a grammar as a regex, for ``re.fullmatch``; one that is there stays as it is.

    Without a ``dialect`` it is written in what every engine reads alike.

    Rules are written in where they are called; where they call each other in another way than at
    their ends, states are taken out of the automaton. Texts are UTF-8: byte strings that are
    none, which some languages hold, no regex over characters reads.

    Raises: BuildError where the language needs a stack, or the pattern would have more than
            ``longest`` characters; LimitError.
    """
    text = grammar.source.text
    if grammar.regex is not None and dialect is Dialect.PYTHON and _python_reads(text):
        return text
    regex = _of_tree(grammar, longest)
    if isinstance(grammar.reader, Network) and regex is None:
        raise _needs_a_stack(grammar, grammar.reader)
    if regex is None:
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


def _of_tree(grammar: Grammar, longest: int) -> Regex | None:
    """The regex as the author structured it; None where it is longer or not so structured."""
    if grammar.tree is None:
        assert grammar.regex is not None, "made from the one or the other"
        whole = Pattern(grammar.regex, Stop.ANYWHERE, grammar.source.text, _start(grammar))
        return Leaves("a regex", grammar.source, {}, grammar.limits).regex(whole)
    work = grammar.limits.begun()
    cfg = context_free(grammar.tree, grammar.start, work)
    leaves = Leaves("a regex", grammar.source, cfg.written, work)

    def leaf(node: Leaf) -> Regex:
        if (made := leaves.regex(node)) is not None:
            return made
        machine = leaves.machine(node)
        if cuts_characters(machine):
            raise NotSoError  # two such leaves may share a character: ask the whole machine
        if (made := leaves.short(machine, longest)) is None:
            raise TooLongError
        return made

    try:
        return RuleRegexes(cfg.rules, leaf, longest, work.clock()).regex(grammar.start)
    except (NotSoError, TooLongError):
        return None


def _of_machine(grammar: Grammar, longest: int) -> Regex | None:
    try:
        dfa = grammar.dfa
    except LimitError:
        return None
    assert dfa is not None, "it needs no stack"
    return machine_regex(dfa, longest, grammar.limits.begun())


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


def _needs_a_stack(grammar: Grammar, network: Network) -> BuildError:
    """The error of a grammar with a rule that is called in its own middle."""
    assert grammar.tree is not None, "a regex needs no stack"
    spans = {rule.name: rule.name_span for rule in reversed(grammar.tree.rules)}
    names = [name for name in network.names if name != grammar.start] or [grammar.start]
    message = f"no regex can say this: {names[0]!r} is read inside itself, which takes a stack"
    span = spans.get(names[0], _start(grammar))
    hint = "write it as GBNF, Lark or KBNF"
    return BuildError(message, grammar.source, span, hint, "unsupported_export")
