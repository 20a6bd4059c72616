"""Characters and texts of a grammar that no sequence of tokens can write."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from workbench.base.problems import Advice
from workbench.base.source import Span
from workbench.grammar.grammar import Grammar
from workbench.pushdown.cfg import gathered
from workbench.syntax.grammar_tree import (
    Expression,
    Literal,
    Pattern,
)
from workbench.syntax.ranges import Ranges, size
from workbench.syntax.regex import tree as regex
from workbench.syntax.regex.tree import Regex, walk
from workbench.vocabulary.vocabulary import Vocabulary

#: Members of a set that are asked for one by one, and how many of the lost ones are named.
_ASKED, _TOLD = 512, 4


@dataclass(frozen=True)
class Speller:
    """Which byte strings some sequence of tokens holds, anywhere in it.

    A token may begin before such a piece and may end after it, so "no" is certain whatever
    stands around the piece; "yes" says nothing of what a grammar allows there.
    """

    vocabulary: Vocabulary

    @property
    def spells_all(self) -> bool:
        """Whether every byte is a token, and so every text can be spelled."""
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
        """Whether some sequence of tokens holds these bytes.

        Cost: for each place of the piece the tokens that may stand there.
        """
        if self.spells_all or not piece:
            return True
        if any(piece in token for token in self._tokens if len(token) >= len(piece)):
            return True
        # reached[i]: the first i bytes end with a token, which may have begun before them
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

    def lost(self, ranges: Ranges) -> tuple[str, ...]:
        """The characters of a set that cannot be spelled; none where it is too large to ask."""
        if self.spells_all or size(ranges) > _ASKED:
            return ()
        members = (chr(code) for low, high in ranges for code in range(low, high + 1))
        return tuple(member for member in members if not self.holds(member.encode()))


def spelling_advice(grammar: Grammar, vocabulary: Vocabulary) -> tuple[Advice, ...]:
    """The literals and characters of a grammar that the vocabulary cannot spell."""
    speller = Speller(vocabulary)
    if speller.spells_all:
        return ()
    found: dict[Advice, None] = {}
    for piece in written(grammar):
        if isinstance(piece, tuple):
            text, span = piece
            if not speller.holds(text):
                found[_unspellable(repr(text.decode("utf-8", "replace")), span, speller)] = None
        elif lost := speller.lost(piece.ranges):
            found[_lost(lost, piece, speller)] = None
    return tuple(sorted(found, key=lambda one: one.span.start))


def _unspellable(what: str, span: Span, speller: Speller) -> Advice:
    return Advice(
        f"{what} cannot be spelled with the tokens of {speller.vocabulary.name}",
        span,
        "unspellable",
        "texts that need it are never generated; rewrite it, or choose another model",
    )


def _lost(lost: tuple[str, ...], piece: regex.Characters, speller: Speller) -> Advice:
    """What is said of a set some or all of whose characters cannot be spelled."""
    told = ", ".join(map(repr, lost[:_TOLD])) + (" and others" if len(lost) > _TOLD else "")
    if len(lost) == size(piece.ranges):
        return _unspellable(told, piece.span, speller)
    return Advice(
        f"of this set {told} cannot be spelled with the tokens of {speller.vocabulary.name}",
        piece.span,
        "partly_unspellable",
        "a model can generate only the others",
    )


def written(grammar: Grammar) -> Iterator[tuple[bytes, Span] | regex.Characters]:
    """The literals and sets of a grammar, from left to right."""
    if grammar.regex is not None:
        yield from _of_regex(grammar.regex)
    elif grammar.tree is not None:
        for body in gathered(grammar.tree).values():
            yield from _of_rules(body)


def _of_rules(node: Expression) -> Iterator[tuple[bytes, Span] | regex.Characters]:
    for part in walk(node):
        match part:
            case Literal(value=value, span=span):
                yield value, span
            case Pattern(regex=inner):
                yield from _of_regex(inner)


def _of_regex(node: Regex) -> Iterator[tuple[bytes, Span] | regex.Characters]:
    """Letters that follow each other come as one piece."""
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
                yield from _of_regex(part)
            if word:
                yield word.encode(), begun
        case regex.Alternate(options=parts):
            for part in parts:
                yield from _of_regex(part)
        case regex.Repeat(part=part) | regex.Group(part=part):
            yield from _of_regex(part)
