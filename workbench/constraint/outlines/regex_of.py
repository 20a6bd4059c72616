"""A grammar comes in, out comes one regex of the same texts: rules are written in where called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from workbench.errors import BuildError, WorkbenchError
from workbench.grammar import Grammar
from workbench.pushdown.cfg import gathered
from workbench.source import Source, Span
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    Literal,
    Nonterminal,
    Pattern,
    Repetition,
    Sequence,
    Stop,
)
from workbench.syntax.regex_tree import (
    Alternate,
    Bytes,
    Characters,
    Concat,
    Kind,
    Ranges,
    Regex,
    Repeat,
)

_LAST_ASCII = 0x7F

_READS_EVERY_GRAMMAR = "choose the method 'automaton', which reads every grammar"


def regex_of(grammar: Grammar) -> Regex:
    """The regex of a grammar whose rules recurse at their own end at most; of a regex, itself.

    A rule that calls itself at its end is a loop: ``a ::= x a | y`` is ``x*y`` (Arden 1961). One
    called twice is one object in the tree, which may so be larger than it looks.
    Raises: WorkbenchError, at its place, for what no regex over characters says: other recursion,
            literals that are no UTF-8, terminals that are no plain regex.
    """
    if grammar.regex is not None:
        return grammar.regex
    assert grammar.tree is not None, "made from the one or the other"
    return _Writer(gathered(grammar.tree), grammar.source).rule(grammar.start)


class _Writer:
    """Rules → regexes, each once."""

    def __init__(self, rules: Mapping[str, Expression], source: Source) -> None:
        self._rules = rules
        self._source = source
        self._written: dict[str, Regex | None] = {}

    def rule(self, name: str) -> Regex:
        self._written[name] = None  # under way
        loops: list[Regex] = []
        ends: list[Regex] = []
        body = self._rules[name]
        for before, again in self._tails(name, body):
            (loops if again else ends).append(Concat(before, body.span))
        made = _any_of(ends, body.span)
        if loops:
            made = Concat((Repeat(_any_of(loops, body.span), 0, None, body.span), made), body.span)
        self._written[name] = made
        return made

    def _tails(self, name: str, node: Expression) -> Iterator[tuple[tuple[Regex, ...], bool]]:
        """The ways through a rule: what they read, and whether the rule is called after it."""
        match node:
            case Nonterminal(name=called) if called == name:
                yield (), True
            case Choice(options=options):
                for option in options:
                    yield from self._tails(name, option)
            case Repetition(item=item, low=0, high=1):
                yield (), False
                yield from self._tails(name, item)
            case Sequence(items=(*items, last)):
                before = tuple(map(self._of, items))
                for after, again in self._tails(name, last):
                    yield (*before, *after), again
            case _:
                yield (self._of(node),), False

    def _of(self, node: Expression) -> Regex:
        match node:
            case Sequence(items=items, span=span):
                return Concat(tuple(map(self._of, items)), span)
            case Choice(options=options, span=span):
                return Alternate(tuple(map(self._of, options)), span)
            case Repetition(item=item, low=low, high=high, span=span):
                return Repeat(self._of(item), low, high, span)
            case Nonterminal(name=name):
                return self._called(node, name)
            case terminal:
                return terminal_regex(terminal, self._source)

    def _called(self, node: Nonterminal, name: str) -> Regex:
        if name not in self._written:
            return self.rule(name)
        known = self._written[name]
        if known is None:
            raise refused(
                self._source, node.span, f"a rule that calls itself before its end, {name!r}"
            )
        return known


def terminal_regex(node: Expression, source: Source) -> Regex:
    """The characters of a terminal.

    Raises: WorkbenchError, at its place, for terminals that are no plain regex over characters.
    """
    match node:
        case Literal(value=value, span=span):
            try:
                text = value.decode()
            except UnicodeDecodeError:
                raise refused(source, span, "bytes that are no characters") from None
            return Concat(tuple(Characters(((ord(c), ord(c)),), span) for c in text), span)
        case Pattern(regex=regex, stop=Stop.ANYWHERE):
            return regex
        case _:
            raise refused(source, node.span, "a terminal that is no plain regex")


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


def _any_of(options: list[Regex], span: Span) -> Regex:
    return options[0] if len(options) == 1 else Alternate(tuple(options), span)
