"""Atomic groups and conditionals, which depend on the order of a matcher's attempts.

A backtracking matcher tries the matches of a part in an order. Of an atomic group it keeps the
first one, ``(?(1)x|y)`` asks whether it has matched a group. Both define regular languages, and
are written with assertions:

    (?>x|yz)       x|(?!x)yz
    (?>x*y)        (?:(?=x*y)x)*, ends where no longer x*y follows, then y
    (x)?(?(1)y|z)  (x)y|z
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from workbench.base.source import Span
from workbench.syntax.regex.tree import (
    Alternate,
    Bytes,
    Characters,
    Concat,
    Group,
    LeafNode,
    Look,
    LookKind,
    Regex,
    Repeat,
    walk,
)


@dataclass(frozen=True, slots=True)
class GroupTest(LeafNode):
    """The condition of ``(?(1)x|y)``: whether a group has matched, or has not."""

    group: int
    matched: bool
    span: Span


class Unordered(Exception):  # noqa: N818  # never leaves the parser
    """A regex whose first match is not known, or takes too large a regex."""


#: The most nodes of a regex with assertions that is written for an atomic group or conditional.
_MAX_NODES = 4_000
#: The most levels of parts inside one another while it is written.
_MAX_DEPTH = 120
#: The most groups that conditionals ask about; each doubles the regex in the worst case.
_MAX_TESTED = 6


_TOO_LARGE = "the conditionals need too large a regex"
_CASES = "write the cases as alternatives"

#: A part, and what follows it.
_Option = tuple[Regex, tuple[Regex, ...]]
#: The groups that have matched, of those that conditionals ask about.
_Groups = frozenset[int]


@dataclass(slots=True, eq=False)
class MatchOrder:
    """What the tree of a regex does not say: which part a matcher tries first, and the groups."""

    #: Parts that have at most one match at each position of a text, by identity.
    single: dict[int, Regex] = field(default_factory=dict)
    #: The numbers of the capturing groups, by identity.
    numbers: dict[int, tuple[int, Regex]] = field(default_factory=dict)
    #: The spans of the conditionals that ask about each group.
    tested: dict[int, Span] = field(default_factory=dict)
    _left: int = 0

    def atomic(self, regex: Regex) -> Regex:
        """``(?>x)``: only the match that a backtracking matcher finds first.

        Raises: Unordered
        """
        self._left = _MAX_NODES
        single = self._first(regex, (), 0)
        if sum(1 for _ in islice(walk(single), _MAX_NODES + 1)) > _MAX_NODES:
            raise Unordered
        self.single[id(single)] = single
        return single

    def has_one_match(self, regex: Regex) -> bool:
        """Whether a regex has at most one match at each position of a text."""
        match regex:
            case _ if id(regex) in self.single:
                return True
            case Characters() | Bytes() | Look() | GroupTest():
                return True
            case Concat(parts):
                return all(map(self.has_one_match, parts))
            case Group(part):
                return self.has_one_match(part)
            case Repeat(part, low, high):
                return low == high and self.has_one_match(part)
            case _:
                return False

    def is_sure(self, regex: Regex) -> bool:
        """Whether a copy never fails because of the match that the copy before it has chosen."""
        return self.has_one_match(regex) or _matches_empty(regex)

    def _first(self, regex: Regex, rest: tuple[Regex, ...], depth: int) -> Regex:
        """What ``regex`` reads in the first match of it and ``rest``."""
        self._left -= 1
        if self._left < 0 or depth > _MAX_DEPTH:
            raise Unordered
        if self.has_one_match(regex):
            return regex
        match regex:
            case Group(part, name, span):
                return self._group(regex, Group(self._first(part, rest, depth + 1), name, span))
            case Concat(parts, span):
                firsts = [
                    self._first(part, (*parts[index + 1 :], *rest), depth + 1)
                    for index, part in enumerate(parts)
                ]
                return Concat(tuple(firsts), span)
            case Alternate(options, span):
                tried = self._choice([(option, rest) for option in options], span, depth)
                return _any_of([reads for _, reads in tried], span)
            case Repeat():
                return self._copies(regex, rest, depth)
        raise Unordered  # an extension

    def _choice(
        self, options: Iterable[_Option], span: Span, depth: int
    ) -> Iterator[tuple[_Option, Regex]]:
        """Each option that may be the first one to match, with what it reads then."""
        failed: list[Regex] = []
        for option in options:
            part, rest = option
            yield option, Concat((*failed, self._first(part, rest, depth + 1)), span)
            tried = _without_empty_end(option[0], *rest)
            if not tried:
                return  # it always matches
            failed.append(Look(LookKind.NOT_AHEAD, Concat(tried, span), span))

    def _copies(self, regex: Repeat, rest: tuple[Regex, ...], depth: int) -> Regex:
        part, low, high, span = regex.part, regex.low, regex.high, regex.span
        if high == 0:
            return Concat((), span)
        if low:  # the copies that must match, then the others
            least = low if self.has_one_match(part) else 1
            more = self._fewer(regex, least)
            begin = Repeat(part, least, least, span) if least > 1 else part
            first = self._first(begin, (more, *rest), depth + 1)
            return Concat((first, self._first(more, rest, depth + 1)), span)
        is_lazy = regex.lazy
        ends_freely = not _may_be_empty(part) and not _without_empty_end(regex, *rest)
        if high is not None and ends_freely and not is_lazy:  # while another copy matches
            first = self._first(part, (), depth + 1)
            end = Look(LookKind.NOT_AHEAD, part, span)
            fewer = Concat((Repeat(first, 0, high - 1, span), end), span)
            return Alternate((Repeat(first, high, high, span), fewer), span)
        again = self._fewer(regex, 1)
        # a copy without text is the last one
        items = self._items(part)
        last: list[_Option] = [(item, rest) for item, is_empty in items if is_empty]
        options = [(item, rest if is_empty else (again, *rest)) for item, is_empty in items]
        last.append((Concat((), span), rest))
        options.insert(0 if is_lazy else len(options), last[-1])
        copies, ends = list[Regex](), list[Regex]()
        for option, reads in self._choice(options, span, depth):
            if any(option is other or option[0] is other[0] for other in last):
                ends.append(reads)
            elif high is None:
                copies.append(reads)
            else:
                copies.append(Concat((reads, self._first(again, rest, depth + 1)), span))
        if high is not None:
            return _any_of([*copies, *ends], span)
        return Concat((Repeat(_any_of(copies, span), 0, None, span), _any_of(ends, span)), span)

    def _fewer(self, regex: Repeat, copies: int) -> Repeat:
        """The same repetition after some copies."""
        if regex.high is None and not regex.low:
            return regex
        high = None if regex.high is None else regex.high - copies
        return Repeat(regex.part, max(regex.low - copies, 0), high, regex.span, regex.lazy)

    def _items(self, regex: Regex) -> list[tuple[Regex, bool]]:
        """A regex as options in their order, each of texts, or (True) only of the empty text."""
        self._left -= 1
        if self._left < 0:
            raise Unordered
        if not _may_be_empty(regex):
            return [(regex, False)]
        match regex:
            case Look() | GroupTest() | Concat(parts=()):
                return [(regex, True)]
            case Group(part, name, span):
                return [
                    (self._group(regex, Group(item, name, span)), is_empty)
                    for item, is_empty in self._items(part)
                ]
            case Alternate(options):
                return [item for option in options for item in self._items(option)]
            case Concat((first, *others), span):
                after = Concat(tuple(others), span)
                items: list[tuple[Regex, bool]] = []
                for whole, is_empty in self._items(first):
                    rest_items = self._items(after) if is_empty else [(after, False)]
                    items += [
                        (Concat((whole, other), span), without) for other, without in rest_items
                    ]
                return items
            case Repeat(part, low, high, span):
                if high == 0:
                    return [(Concat((), span), True)]
                again = self._fewer(regex, 1)
                if low:
                    return self._items(Concat((part, again), span))
                items = [
                    (item if is_empty else Concat((item, again), span), is_empty)
                    for item, is_empty in self._items(part)
                ]
                items.insert(0 if regex.lazy else len(items), (Concat((), span), True))
                return items
        raise Unordered

    def _group(self, old: Regex, new: Regex) -> Regex:
        """The copy of a group, with its number."""
        if id(old) in self.numbers:
            self.numbers[id(new)] = self.numbers[id(old)][0], new
        return new

    # -- conditionals ------------------------------------------------------------------------------

    def without_conditionals(self, regex: Regex) -> Regex:
        """The same texts without conditionals.

        Raises: Unordered with a message, the place and a hint.
        """
        if len(self.tested) > _MAX_TESTED:
            message = f"expected conditionals about at most {_MAX_TESTED} groups"
            raise Unordered(message, [*self.tested.values()][_MAX_TESTED], _CASES)
        self._left = _MAX_NODES
        expanded = _any_of([*self._split(regex, frozenset()).values()], regex.span)
        if sum(1 for _ in islice(walk(expanded), _MAX_NODES + 1)) > _MAX_NODES:
            raise Unordered(_TOO_LARGE, next(iter(self.tested.values())), _CASES)
        return expanded

    def _split(self, regex: Regex, matched: _Groups) -> dict[_Groups, Regex]:
        """The texts after some groups have matched, by the groups that have matched then."""
        self._left -= 1
        if self._left < 0:
            raise Unordered(_TOO_LARGE, next(iter(self.tested.values())), _CASES)
        match regex:
            case GroupTest(group, wanted, span):
                return {matched: Concat((), span)} if (group in matched) is wanted else {}
            case Look(kind, part, span):
                inside = self._split(part, matched)
                if inside.keys() - {matched} and kind in (LookKind.AHEAD, LookKind.BEHIND):
                    message = "expected no group inside an assertion that a conditional asks about"
                    raise Unordered(message, span, _CASES)
                return {matched: Look(kind, _any_of([*inside.values()], span), span)}
            case Group(part, name, span):
                inside = self._split(part, matched)
                number = self.numbers.get(id(regex), (0, regex))[0]
                by_groups = defaultdict[_Groups, list[Regex]](list)
                for after, text in inside.items():
                    now = after | {number} if number in self.tested else after
                    by_groups[now].append(Group(text, name, span))
                return {after: _any_of(texts, span) for after, texts in by_groups.items()}
            case Concat(parts, span):
                texts: dict[_Groups, Regex] = {matched: Concat((), span)}
                for part in parts:
                    by_groups = defaultdict[_Groups, list[Regex]](list)
                    for before, text in texts.items():
                        for after, more in self._split(part, before).items():
                            inner = text.parts if isinstance(text, Concat) else (text,)
                            by_groups[after].append(Concat((*inner, more), span))
                    texts = {after: _any_of(several, span) for after, several in by_groups.items()}
                return texts
            case Alternate(options, span):
                by_groups = defaultdict[_Groups, list[Regex]](list)
                for option in options:
                    for after, text in self._split(option, matched).items():
                        by_groups[after].append(text)
                return {after: _any_of(texts, span) for after, texts in by_groups.items()}
            case Repeat():
                return self._split_copies(regex, matched)
        return {matched: regex}

    def _split_copies(self, regex: Repeat, matched: _Groups) -> dict[_Groups, Regex]:
        """Copies in which no other group matches, then one in which one does, then the others."""
        part, low, high, span = regex.part, regex.low, regex.high, regex.span
        if high == 0:
            return {matched: Concat((), span)}
        once = self._split(part, matched)
        by_groups = defaultdict[_Groups, list[Regex]](list)
        same = once.pop(matched, None)
        if same is not None:
            by_groups[matched].append(Repeat(same, low, high, span))
        elif not low:
            by_groups[matched].append(Concat((), span))
        if once and high != 1 and any(map(_may_be_empty, once.values())):
            message = "expected no group in a copy without text that a conditional asks about"
            raise Unordered(message, span, "let each copy of the repetition read a character")
        if not once:
            return {after: _any_of(texts, span) for after, texts in by_groups.items()}
        least = max(low - 1, 0)
        for count in range(least + 1 if high is None else high):
            if count and same is None:
                break
            fewest = high is None and count == least
            before = (
                Repeat(same, count, None if fewest else count, span) if same else Concat((), span)
            )
            after_copies = Repeat(
                part, max(low - count - 1, 0), None if high is None else high - count - 1, span
            )
            for now, text in once.items():
                for after, more in self._split_copies(after_copies, now).items():
                    by_groups[after].append(Concat((before, text, more), span))
        return {after: _any_of(texts, span) for after, texts in by_groups.items()}


def _any_of(options: list[Regex], span: Span) -> Regex:
    """One of the options; without options, a set that is empty."""
    if not options:
        return Characters((), span)
    return options[0] if len(options) == 1 else Alternate(tuple(options), span)


def _without_empty_end(*parts: Regex) -> tuple[Regex, ...]:
    """The parts without the last ones that match the empty text everywhere."""
    end = len(parts)
    while end and _matches_empty(parts[end - 1]):
        end -= 1
    return parts[:end]


def _matches_empty(regex: Regex) -> bool:
    """Whether a regex matches the empty text at every position."""
    match regex:
        case Concat(parts):
            return all(map(_matches_empty, parts))
        case Alternate() | Group():
            return any(map(_matches_empty, regex.children))
        case Repeat(part, low):
            return low == 0 or _matches_empty(part)
        case _:
            return False


def _may_be_empty(regex: Regex) -> bool:
    """Whether a regex might match the empty text."""
    match regex:
        case Characters() | Bytes():
            return False
        case Concat(parts):
            return all(map(_may_be_empty, parts))
        case Repeat(part, low):
            return low == 0 or _may_be_empty(part)
        case Alternate() | Group():
            return any(map(_may_be_empty, regex.children))
        case _:
            return True
