"""Lint: literals and characters of a grammar that no sequence of tokens contains."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from workbench.analysis.redundant_alternatives import in_time
from workbench.base.cached_property import cached_property
from workbench.base.diagnostics import Advice
from workbench.base.limits import check_time_budget
from workbench.base.source import Span
from workbench.grammar.grammar import Grammar
from workbench.pushdown.cfg import gathered
from workbench.syntax.grammar_tree import Expression, Literal, Pattern
from workbench.syntax.ranges import Ranges, size
from workbench.syntax.regex import tree as regex
from workbench.syntax.regex.tree import Regex, walk
from workbench.vocabulary.vocabulary import Vocabulary

#: The most members of a set that are tried one by one, and the most missing ones that are named.
_MAX_TRIED, _MAX_NAMED = 512, 4


@dataclass(frozen=True)
class TokenCoverage:
    """Which byte strings occur in some sequence of tokens.

    A token may begin before such a string and end after it, so "no" is certain in any context;
    "yes" does not mean that a grammar allows the surrounding bytes.
    """

    vocabulary: Vocabulary

    @property
    def covers_all(self) -> bool:
        """Whether every byte is a token, so that every text can be tokenized."""
        return len(self.vocabulary.single_bytes) == 256

    @cached_property
    def _tokens(self) -> frozenset[bytes]:
        return frozenset(token for token in self.vocabulary.tokens if token)

    @cached_property
    def _beginnings(self) -> frozenset[bytes]:
        return frozenset(token[:end] for token in self._tokens for end in range(1, len(token) + 1))

    @cached_property
    def _endings(self) -> frozenset[bytes]:
        return frozenset(token[start:] for token in self._tokens for start in range(len(token)))

    def holds(self, piece: bytes) -> bool:
        """Whether some sequence of tokens contains these bytes.

        Cost: for each position of the piece the tokens that may begin there.
        """
        if self.covers_all or not piece:
            return True
        if any(piece in token for token in self._tokens if len(token) >= len(piece)):
            return True
        # reached[i]: a token can end after the first i bytes; it may have begun before them
        longest = max(map(len, self._tokens), default=0)
        reached = [True] + [piece[:end] in self._endings for end in range(1, len(piece) + 1)]
        for start in range(len(piece)):
            if not reached[start]:
                continue
            if piece[start:] in self._beginnings:
                return True
            for end in range(start + 1, min(len(piece), start + longest) + 1):
                if piece[start:end] in self._tokens:
                    reached[end] = True
        return reached[-1]

    def missing(self, ranges: Ranges) -> tuple[str, ...]:
        """The characters of a set that cannot be tokenized; none if the set is too large to try."""
        if self.covers_all or size(ranges) > _MAX_TRIED:
            return ()
        members = (chr(code) for low, high in ranges for code in range(low, high + 1))
        return tuple(member for member in members if not self.holds(member.encode()))


def unspellable_advice(grammar: Grammar, vocabulary: Vocabulary) -> tuple[Advice, ...]:
    """The literals and characters of a grammar that the vocabulary cannot produce."""
    coverage = TokenCoverage(vocabulary)
    if coverage.covers_all:
        return ()
    advice = dict.fromkeys(in_time(_unspellable_pieces(grammar, coverage)))
    return tuple(sorted(advice, key=lambda item: item.span.start))


def _unspellable_pieces(grammar: Grammar, coverage: TokenCoverage) -> Iterator[Advice]:
    for piece in literals_and_sets(grammar):
        check_time_budget()
        if isinstance(piece, tuple):
            text, span = piece
            if not coverage.holds(text):
                yield _unspellable(repr(text.decode("utf-8", "replace")), span, coverage)
        elif missing := coverage.missing(piece.ranges):
            yield _missing_advice(missing, piece, coverage)


def _unspellable(what: str, span: Span, coverage: TokenCoverage) -> Advice:
    return Advice(
        f"{what} cannot be spelled with the tokens of {coverage.vocabulary.name}",
        span,
        "unspellable",
        "texts that need it are never generated; rewrite it, or choose another model",
    )


def _missing_advice(
    missing: tuple[str, ...], piece: regex.Characters, coverage: TokenCoverage
) -> Advice:
    """The advice on a set of which some or all characters cannot be tokenized."""
    names = ", ".join(map(repr, missing[:_MAX_NAMED]))
    names += " and others" if len(missing) > _MAX_NAMED else ""
    if len(missing) == size(piece.ranges):
        return _unspellable(names, piece.span, coverage)
    return Advice(
        f"of this set {names} cannot be spelled with the tokens of {coverage.vocabulary.name}",
        piece.span,
        "partly_unspellable",
        "a model can generate only the others",
    )


def literals_and_sets(grammar: Grammar) -> Iterator[tuple[bytes, Span] | regex.Characters]:
    """The literals and sets of a grammar, from left to right."""
    if grammar.regex is not None:
        yield from _in_regex(grammar.regex)
    elif grammar.tree is not None:
        for body in gathered(grammar.tree).values():
            check_time_budget()
            yield from _in_expression(body)


def _in_expression(node: Expression) -> Iterator[tuple[bytes, Span] | regex.Characters]:
    for part in walk(node):
        match part:
            case Literal(value=value, span=span):
                yield value, span
            case Pattern(regex=inner):
                yield from _in_regex(inner)


def _in_regex(node: Regex) -> Iterator[tuple[bytes, Span] | regex.Characters]:
    """Adjacent letters are one piece."""
    match node:
        case regex.Characters():
            yield node
        case regex.Concat(parts=parts):
            word, begun = "", Span(0, 0)
            for part in parts:
                if isinstance(part, regex.Characters) and size(part.ranges) == 1:
                    begun = part.span if not word else begun.to(part.span)
                    word += chr(part.ranges[0][0])
                    continue
                if word:
                    yield word.encode(), begun
                word = ""
                yield from _in_regex(part)
            if word:
                yield word.encode(), begun
        case regex.Alternate(options=parts):
            for part in parts:
                yield from _in_regex(part)
        case regex.Repeat(part=part) | regex.Group(part=part):
            yield from _in_regex(part)
