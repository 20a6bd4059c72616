"""A grammar comes in, out comes one regex of the same texts: rules are written in where called."""

from __future__ import annotations

from workbench.errors import BuildError, LimitError, WorkbenchError
from workbench.export.elimination import TooLongError
from workbench.export.from_rules import NotSoError, RuleRegexes
from workbench.export.terms import plain
from workbench.grammar import Grammar
from workbench.limits import LIMITS, Limits
from workbench.pushdown.cfg import gathered
from workbench.source import Source, Span
from workbench.syntax.grammar_tree import Expression, Literal, Pattern, Stop
from workbench.syntax.regex.tree import Bytes, Characters, Concat, Kind, Ranges, Regex

#: The regex of all rules has at most so many characters.
_LONGEST = 1_000_000
_LAST_ASCII = 0x7F

_READS_EVERY_GRAMMAR = "choose the method 'automaton', which reads every grammar"


def regex_of(grammar: Grammar, limits: Limits = LIMITS) -> Regex:
    """The regex of a grammar whose rules call themselves at their ends, or beginnings, alone.

    Of a regex, itself.
    Raises: WorkbenchError, at its place, for what no regex over characters says: other recursion,
            literals that are no UTF-8, terminals that are no plain regex; LimitError.
    """
    if grammar.regex is not None:
        return grammar.regex
    assert grammar.tree is not None, "made from the one or the other"
    source = grammar.source

    def leaf(node: Expression) -> Regex:
        made = plain(terminal_regex(node, source))
        if made is None:
            raise refused(source, node.span, "a terminal that is not a plain regex")
        return made

    try:
        rules = RuleRegexes(gathered(grammar.tree), leaf, _LONGEST, limits.clock())
        return rules.regex(grammar.start)
    except NotSoError as error:
        raise refused(
            source, error.call.span, f"a rule that calls itself before its end, {error.call.name!r}"
        ) from None
    except TooLongError:
        message = f"the rules together have more than {_LONGEST:,} characters as one regex"
        raise LimitError(message, "states", _READS_EVERY_GRAMMAR) from None


def terminal_regex(node: Expression, source: Source) -> Regex:
    """The characters of a terminal.

    Raises: WorkbenchError, at its place, for terminals that are no plain regex over characters.
    """
    match node:
        case Literal(value=value, span=span):
            try:
                text = value.decode()
            except UnicodeDecodeError:
                raise refused(source, span, "bytes that are not characters") from None
            return Concat(tuple(Characters(((ord(c), ord(c)),), span) for c in text), span)
        case Pattern(regex=regex, stop=Stop.ANYWHERE):
            return regex
        case _:
            raise refused(source, node.span, "a terminal that is not a plain regex")


def not_read(kind: Kind) -> WorkbenchError:
    """The error of an extension of regexes, for methods with regexes of their own."""
    return WorkbenchError(f"this method does not read {kind}", _READS_EVERY_GRAMMAR)


def characters_of(node: Characters | Bytes) -> Ranges:
    """The characters of a set in a regex; a byte that is ASCII is one.

    Raises: WorkbenchError for other bytes.
    """
    if isinstance(node, Bytes) and any(high > _LAST_ASCII for _, high in node.ranges):
        raise WorkbenchError(
            "this method reads characters, and the regex is one of bytes", _READS_EVERY_GRAMMAR
        )
    return node.ranges


def refused(source: Source, span: Span, what: str) -> WorkbenchError:
    """The error of a grammar that a method which speaks of characters and rules does not read."""
    return BuildError(
        f"this method does not read {what}",
        source,
        span,
        _READS_EVERY_GRAMMAR,
        kind="unsupported_regex",
    )
