"""Cheap loops: repetitions of white space, digits or signs without end; a tree in, places out.

A model that likes such a character best likes it best again: it may never leave the loop. Loops
over whole items or free text have other characters to choose from and are not spoken of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from functools import lru_cache, partial

from workbench.base.source import Span
from workbench.pushdown.cfg import least
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    GrammarTree,
    Literal,
    Nonterminal,
    Pattern,
    Repetition,
    Rule,
    Sequence,
    Stop,
    calls,
)
from workbench.syntax.ranges import Ranges, difference, intersection, union
from workbench.syntax.regex.tree import (
    Bytes,
    Characters,
    Extension,
    Group,
    Regex,
    Repeat,
)
from workbench.syntax.regex.unicode_sets import python_class

#: So many copies are proposed where there was no end.
_PROPOSED = 8

#: What follows the part of an endless repetition in a regex.
_ENDLESS = re.compile(r"[*+]\??|\{\d*,\}\??")

_SPACE, _DIGITS, _OTHER = _KINDS = "white space", "digits", "other"
_SIGNS = "signs"

#: The signs of ASCII: rows of dashes and dots are what models get stuck in, after white space.
_SIGN_SET: Ranges = ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E))

#: How a sign that means something in a regex is written in one, inside a string of KBNF.
_MEANT = {sign: f"[{sign}]" for sign in ".$*+?(){}|"} | {
    "^": r"\\^", "[": r"\\[", "]": r"\\]", "\\": r"\\\\",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Loop:
    """A repetition without end, and what to write instead."""

    message: str
    span: Span
    hint: str
    fix: str | None


def loops(tree: GrammarTree, rules: Mapping[str, Expression], used: Set[str]) -> tuple[Loop, ...]:
    """The outermost cheap loops of the rules in use."""
    kinds = _RuleKinds(rules)
    found = [
        loop for rule in tree.rules if rule.name in used for loop in _in_rule(rule, kinds, tree)
    ]
    return tuple(
        one
        for one in found
        if not any(other is not one and _holds(other.span, one.span) for other in found)
    )


def regex_loops(regex: Regex, text: str) -> Iterator[Loop]:
    """The outermost cheap loops of a regex written somewhere in ``text``."""
    match regex:
        case Repeat(part=part, low=low, high=None) if kinds := _cheap(regex) or _signs(part):
            operator = text[part.span.end : regex.span.end].strip()
            fix = None
            if _ENDLESS.fullmatch(operator):
                fix = text[regex.span.start : part.span.end] + _bounded(low)
            yield _loop(kinds, regex.span, f"bound it, for instance with {_bounded(low)}", fix)
        case _:
            for part in regex.children:
                yield from regex_loops(part, text)


def _in_rule(rule: Rule, kinds: _RuleKinds, tree: GrammarTree) -> Iterator[Loop]:
    own = kinds.of(rule.body)
    again = next((call for call in calls(rule.body) if call.name == rule.name), None)
    if own and again:
        what = _spoken(own)
        yield Loop(
            f"{rule.name!r} calls itself without end to read {what}: a model may never leave it",
            again.span,
            f"write it as one regex with an end, such as #'…{_bounded(0)}'"
            if not tree.counted
            else f"write it as a repetition with an end, such as …{_count(0, tree)}",
            None,
        )
    yield from _in(rule.body, kinds, tree)


def _in(expression: Expression, kinds: _RuleKinds, tree: GrammarTree) -> Iterator[Loop]:
    match expression:
        case Repetition(item=item, low=low, high=None) if own := kinds.of(expression) or _signs(
            item
        ):
            fix = _counted(item, low, tree)
            if tree.counted:
                hint = f"bound it, for instance with {_count(low, tree)}"
                fix = fix if _holds(expression.span, item.span) else None
            else:
                example = fix or f"#'…{_bounded(low)}'"
                hint = f"write it as a regex with an end, such as {example}"
            yield _loop(own, expression.span, hint, fix)
        case Pattern(regex=regex, stop=Stop.ANYWHERE):
            yield from regex_loops(regex, tree.source.text)
        case _:
            for part in expression.children:
                yield from _in(part, kinds, tree)


def _loop(kinds: frozenset[str], span: Span, hint: str, fix: str | None) -> Loop:
    message = f"this repetition of {_spoken(kinds)} has no end: a model may never leave it"
    return Loop(message, span, hint, fix)


def _counted(item: Expression, low: int, tree: GrammarTree) -> str | None:
    """An item with a count; in KBNF, which counts none, a regex of a terminal of one character."""
    written = tree.source.text[item.span.start : item.span.end]
    if tree.counted:
        return written + _count(low, tree)
    match item:
        case Pattern(regex=Characters()):
            return f"{written[:-1]}{_bounded(low)}{written[-1:]}"
        case Literal(value=value) if len(value) == 1:
            letter = _MEANT.get(value.decode("latin-1"), written[1:-1])
            return f"#{written[:1]}{letter}{_bounded(low)}{written[-1:]}"
        case _:
            return None


def _count(low: int, tree: GrammarTree) -> str:
    return tree.counted.format(low=low, high=max(_PROPOSED, 2 * low))


def _bounded(low: int) -> str:
    return f"{{{low},{max(_PROPOSED, 2 * low)}}}"


def _spoken(kinds: frozenset[str]) -> str:
    return " and ".join(sorted(kinds, reverse=True))


def _holds(outer: Span, inner: Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end and outer != inner


class _RuleKinds:
    """What expressions are made of, the rules they call included."""

    def __init__(self, rules: Mapping[str, Expression]) -> None:
        self._known = {kind: least(rules, partial(_reads, kind)) for kind in _KINDS}

    def of(self, expression: Expression) -> frozenset[str]:
        """The kinds of characters an expression reads; empty where it reads others too."""
        found = {kind for kind in _KINDS if _reads(kind, expression, self._known[kind])}
        return frozenset(found - {_OTHER}) if _OTHER not in found else frozenset()


def _reads(kind: str, expression: Expression, known: Set[str]) -> bool:
    """Whether an expression reads characters of a kind, if the rules ``known`` do."""
    match expression:
        case Literal(value=value):
            codes = map(ord, value.decode("utf-8", "replace"))
            return any(kind in _set_kinds(((code, code),)) for code in codes)
        case Pattern(regex=regex, stop=Stop.ANYWHERE):
            return kind in _regex_kinds(regex)
        case Sequence() | Choice() | Repetition():
            return any(_reads(kind, part, known) for part in expression.children)
        case Nonterminal(name=name):
            return name in known
        case _:
            return kind == _OTHER


def _signs(item: Expression | Regex) -> frozenset[str]:
    """Whether an item is one sign; several of them in a row are no item worth a word."""
    while isinstance(item, Group):
        item = item.part
    match item:
        case Pattern(regex=Characters(ranges=ranges)) | Characters(ranges=ranges):
            is_sign = bool(ranges) and not difference(ranges, _SIGN_SET)
        case Literal(value=value):
            is_sign = len(value) == 1 and not difference(((value[0], value[0]),), _SIGN_SET)
        case _:
            is_sign = False
    return frozenset({_SIGNS}) if is_sign else frozenset()


def _cheap(regex: Regex) -> frozenset[str]:
    found = _regex_kinds(regex)
    return frozenset() if _OTHER in found else found


def _regex_kinds(regex: Regex) -> frozenset[str]:
    match regex:
        case Characters(ranges=ranges):
            return _set_kinds(ranges)
        case Bytes() | Extension():
            return frozenset({_OTHER})
        case _:
            return frozenset().union(*map(_regex_kinds, regex.children))


@lru_cache(maxsize=256)
def _set_kinds(ranges: Ranges) -> frozenset[str]:
    spaces, digits = python_class("s"), python_class("d")
    sets = {
        _SPACE: intersection(ranges, spaces),
        _DIGITS: intersection(ranges, digits),
        _OTHER: difference(ranges, union(spaces, digits)),
    }
    return frozenset(kind for kind, members in sets.items() if members)
