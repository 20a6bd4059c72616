"""Sets of strings, as words, length bounds or an automaton."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from workbench.automata.determinize import nothing
from workbench.base.dfa import Dfa
from workbench.base.limits import LIMITS, Limits
from workbench.base.source import SURROGATE, quick_init
from workbench.schema import string_machines
from workbench.schema.bounded_lengths import with_lengths
from workbench.schema.format_strings import format_strings
from workbench.schema.json_literals import all_but_words_machine, literals_machine, words_machine
from workbench.schema.string_machines import Content, search


@quick_init
@dataclass(frozen=True, slots=True)
class StringSet:
    """A set of strings, independent of how JSON escapes them.

    Either it is finite and given by ``words``; or it contains every string of ``low`` to ``high``
    characters that is not in ``without`` and, if ``content`` is given, is in ``content``.
    """

    words: frozenset[str] | None = None
    low: int = 0
    high: int | None = None
    without: frozenset[str] = frozenset()
    content: Content | None = None

    @staticmethod
    def everything() -> StringSet:
        """Every string."""
        return _EVERYTHING

    @staticmethod
    def nothing() -> StringSet:
        """No string."""
        return _NOTHING

    @staticmethod
    def of(words: Iterable[str]) -> StringSet:
        """Exactly these strings, except those with a lone surrogate."""
        return StringSet(words=_strings(words))

    @staticmethod
    def all_but(words: Iterable[str]) -> StringSet:
        """Every string except these."""
        return _bounded(StringSet(without=_strings(words)))

    @staticmethod
    def lengths(low: int = 0, high: int | None = None) -> StringSet:
        """The strings of ``low`` to ``high`` code points."""
        return _bounded(StringSet(low=max(low, 0), high=high))

    @staticmethod
    def pattern(pattern: str, limits: Limits = LIMITS) -> StringSet:
        """The strings in which an ECMA-262 regex is found at some position.

        Raises: ParseError if it cannot be parsed or is not regular; LimitError if its automaton
                is too large.
        """
        content = search(pattern, limits)
        run = string_machines.uniform_run(content)
        if run is None:
            return StringSet(content=content)
        low, high, characters = run
        return _bounded(StringSet(low=low, high=high, content=characters))

    @staticmethod
    def format(name: str, *, python: bool = False) -> StringSet | None:
        """The strings of a format, as ``format_strings``; None if the format is unknown."""
        content = format_strings(name, python=python)
        return None if content is None else StringSet(content=content)

    def __and__(self, other: StringSet) -> StringSet:
        if other is self or other is _EVERYTHING:
            return self
        if self is _EVERYTHING:
            return other
        if self.words is not None:
            kept = frozenset(filter(other.contains, self.words))
            return self if len(kept) == len(self.words) else StringSet(words=kept)
        if other.words is not None:
            return other & self
        if self.is_complement and other.is_complement:
            without = self.without | other.without
            if len(without) == len(self.without):
                return self
            return other if len(without) == len(other.without) else StringSet(without=without)
        highs = [high for high in (self.high, other.high) if high is not None]
        content = self.content or other.content
        if self.content and other.content and self.content is not other.content:
            content = _both(self.content, other.content)
        low, high = max(self.low, other.low), min(highs, default=None)
        without = self.without | other.without
        return _bounded(StringSet(low=low, high=high, without=without, content=content))

    def __invert__(self) -> StringSet:
        return _complement(self)

    def __or__(self, other: StringSet) -> StringSet:
        if other is self or other is _NOTHING:
            return self
        return other if self is _NOTHING else _union(self, other)

    @property
    def only_counts(self) -> bool:
        """Whether it is all strings of ``low`` to ``high`` characters, of one character class."""
        if self.words is not None or self.without:
            return False
        run = (0, None, None) if self.content is None else string_machines.uniform_run(self.content)
        return run is not None and run[:2] == (0, None)

    @property
    def is_complement(self) -> bool:
        """Whether it is all strings except those in ``without``."""
        return self.words is None and not self.low and self.high is None and self.content is None

    @property
    def is_empty(self) -> bool:
        """Whether no string is a member."""
        if self.words is not None:
            return not self.words
        if self.content is None:
            return False
        return _has_no_member(self)

    def contains(self, text: str) -> bool:
        """Whether a string is a member."""
        if self.words is not None:
            return text in self.words
        if not text.isascii() and SURROGATE.search(text):
            return False
        if len(text) < self.low or (self.high is not None and len(text) > self.high):
            return False
        return text not in self.without and (self.content is None or self.content.contains(text))

    def finite(self, most: int) -> tuple[str, ...] | None:
        """The members if there are at most ``most``; None if there are more."""
        if self.words is not None:
            return tuple(sorted(self.words)) if len(self.words) <= most else None
        if self.content is None or self._has_more_than(most + len(self.without)):
            return None
        words: list[str] = []
        for word in string_machines.members(replace(self, without=frozenset()).as_content()):
            if word not in self.without:
                words.append(word)
            if len(words) > most:
                return None
        return tuple(sorted(words))

    def _has_more_than(self, most: int) -> bool:
        """Whether the length bounds alone imply more than ``most`` members.

        An infinite content has a member in every range of lengths as wide as its automaton has
        states.
        """
        assert self.content is not None
        if string_machines.is_finite(self.content):
            return False
        states = len(self.content.machine)
        return self.high is None or (self.high - self.low) // states > most + 1

    def as_content(self, limits: Limits = LIMITS) -> Content:
        """The same set as one automaton over characters."""
        if self.words is not None:
            return string_machines.of_words(self.words, limits)
        content = self.content
        if content is None:
            limits.check("states", max(self.low, self.high or 0), "lower the string's length")
            content = string_machines.of_lengths(self.low, self.high)
        elif self.low > 0 or self.high is not None:
            content = with_lengths(content, self.low, self.high, limits)
        if self.without:
            content = string_machines.difference(
                content, string_machines.of_words(self.without, limits), limits
            )
        return content

    @property
    def in_any_spelling(self) -> StringSet:
        """The same set, whose printable ASCII may be escaped in literals."""
        if self.content is None or not self.content.unescaped:
            return self
        return replace(self, content=_in_any_spelling(self.content))

    def machine(self, limits: Limits = LIMITS, *, any_spelling: bool = False) -> Dfa:
        """The automaton of the JSON literals of all members, with quotes.

        ``any_spelling``  every character of a word by any of its escapes too.

        Raises: LimitError if it is too large.
        """
        return _machine(self, limits, any_spelling)


_EVERYTHING = StringSet()
_NOTHING = StringSet(words=frozenset())


def _strings(words: Iterable[str]) -> frozenset[str]:
    """The words without a lone surrogate."""
    return frozenset(word for word in words if word.isascii() or not SURROGATE.search(word))


def _bounded(texts: StringSet) -> StringSet:
    """The same set in its simplest representation."""
    if texts.high is not None and (texts.high < texts.low or texts.high < 0):
        return _NOTHING
    if texts.high == 0:
        return StringSet.of([""] if texts.contains("") else [])
    if texts.without == {""}:
        return replace(texts, low=max(texts.low, 1), without=frozenset())
    return texts


# A schema uses the same few sets of strings again and again, and with patterns or formats each
# operation builds an automaton: the operations are cached.


@lru_cache(maxsize=2048)
def _complement(texts: StringSet) -> StringSet:
    if texts.words is not None:
        return StringSet.all_but(texts.words)
    if texts.is_complement:
        return StringSet.of(texts.without)
    if not texts.without and texts.content is None and (texts.low == 0 or texts.high is None):
        low = 0 if texts.high is None else texts.high + 1
        return StringSet.lengths(low, texts.low - 1 if texts.high is None else None)
    return StringSet(content=string_machines.complement(texts.as_content()))


@lru_cache(maxsize=2048)
def _union(left: StringSet, right: StringSet) -> StringSet:
    if left.words is not None and right.words is not None:
        return StringSet(words=left.words | right.words)
    for listed, rest in ((left, right), (right, left)):
        if listed.words is not None and all(rest.contains(word) for word in listed.words):
            return rest
        if rest.is_complement:
            return StringSet(without=frozenset(w for w in rest.without if not listed.contains(w)))
    return StringSet(content=string_machines.union(left.as_content(), right.as_content()))


@lru_cache(maxsize=2048)
def _has_no_member(texts: StringSet) -> bool:
    assert texts.content is not None
    if not string_machines.has_member(texts.content, texts.low, texts.high):
        return True
    return bool(texts.without) and texts.finite(0) == ()


@lru_cache(maxsize=1024)
def _both(left: Content, right: Content) -> Content:
    return string_machines.intersection(left, right)


@lru_cache(maxsize=64)
def _in_any_spelling(content: Content) -> Content:
    return replace(content, unescaped=False)


@lru_cache(maxsize=1024)
def _machine(texts: StringSet, limits: Limits, any_spelling: bool) -> Dfa:
    if texts.is_empty:
        return nothing(256)
    if texts.words is not None:
        return words_machine(sorted(texts.words), limits, any_spelling=any_spelling)
    if texts.without and texts.is_complement:
        return all_but_words_machine(sorted(texts.without), limits, any_spelling=any_spelling)
    return literals_machine(texts.as_content(limits), limits)
