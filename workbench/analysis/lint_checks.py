"""Finds unbounded repetitions of white space, digits or punctuation in a grammar.

A model that prefers such a character prefers it again at the next step, and may never leave the
loop. Loops over whole items or free text offer other characters and are not reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TypeVar

from workbench.base.limits import check_time_budget
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
    Stop,
    calls,
)
from workbench.syntax.grammar_tree import Sequence as SequenceNode
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

T = TypeVar("T")

#: The upper bound that is proposed for an unbounded repetition.
_PROPOSED_BOUND = 8

#: The operator of an unbounded repetition in a regex.
_UNBOUNDED = re.compile(r"[*+]\??|\{\d*,\}\??")

_SPACE, _DIGITS, _OTHER = _KINDS = "white space", "digits", "other"
_PUNCTUATION_KIND = "punctuation"

#: ASCII punctuation: after white space, models most often get stuck in dashes and dots.
_PUNCTUATION: Ranges = ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E))

#: How regex operators are escaped in a regex inside a KBNF string.
_ESCAPED = {sign: f"[{sign}]" for sign in ".$*+?(){}|"} | {
    "^": r"\\^", "[": r"\\[", "]": r"\\]", "\\": r"\\\\",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class CheapLoop:
    """An unbounded repetition, and its replacement."""

    message: str
    span: Span
    hint: str
    fix: str | None


def cheap_loops(
    tree: GrammarTree, rules: Mapping[str, Expression], used: Set[str]
) -> tuple[CheapLoop, ...]:
    """The outermost cheap loops of the rules in use."""
    kinds = _RuleKinds(rules)
    loops = [
        loop for rule in tree.rules if rule.name in used for loop in _in_rule(rule, kinds, tree)
    ]
    outermost: list[CheapLoop] = []
    for candidate in sorted(loops, key=lambda loop: (loop.span.start, -loop.span.end)):
        if not outermost or not _holds(outermost[-1].span, candidate.span):
            outermost.append(candidate)
    return tuple(outermost)


def cheap_regex_loops(regex: Regex, text: str) -> Iterator[CheapLoop]:
    """The outermost cheap loops of a regex that is a part of ``text``."""
    match regex:
        case Repeat(part=part, low=low, high=None) if kinds := _cheap(regex) or _punctuation(part):
            operator = text[part.span.end : regex.span.end].strip()
            fix = None
            if _UNBOUNDED.fullmatch(operator):
                fix = text[regex.span.start : part.span.end] + _bounded(low)
            yield _loop(kinds, regex.span, f"bound it, for instance with {_bounded(low)}", fix)
        case _:
            for part in regex.children:
                yield from cheap_regex_loops(part, text)


def _in_rule(rule: Rule, kinds: _RuleKinds, tree: GrammarTree) -> Iterator[CheapLoop]:
    check_time_budget()
    read_kinds = kinds.of(rule.body)
    again = next((call for call in calls(rule.body) if call.name == rule.name), None)
    if read_kinds and again and _reads_more(rule.body, rule.name, kinds):
        what = _in_words(read_kinds)
        yield CheapLoop(
            f"{rule.name!r} calls itself without end to read {what}: a model may never leave it",
            again.span,
            f"write it as one regex with an end, such as #'…{_bounded(0)}'"
            if not tree.counted
            else f"write it as a repetition with an end, such as …{_count(0, tree)}",
            None,
        )
    yield from _in(rule.body, kinds, tree)


def _reads_more(body: Expression, name: str, kinds: _RuleKinds) -> bool:
    """Whether a rule that calls itself reads more than the call does."""
    match body:
        case SequenceNode(items=items):
            for index, item in enumerate(items):
                check_time_budget()
                others = (*items[:index], *items[index + 1 :])
                if any(call.name == name for call in calls(item)) and any(map(kinds.of, others)):
                    return True
        case Repetition(item=item, high=high) if high is None or high > 1:
            return any(call.name == name for call in calls(item))
    return any(_reads_more(part, name, kinds) for part in body.children)


def _in(expression: Expression, kinds: _RuleKinds, tree: GrammarTree) -> Iterator[CheapLoop]:
    match expression:
        case Repetition(item=item, low=low, high=None) if read_kinds := kinds.of(
            expression
        ) or _punctuation(item):
            fix = _with_count(item, low, tree)
            if tree.counted:
                hint = f"bound it, for instance with {_count(low, tree)}"
                fix = fix if _holds(expression.span, item.span) else None
            else:
                example = fix or f"#'…{_bounded(low)}'"
                hint = f"write it as a regex with an end, such as {example}"
            yield _loop(read_kinds, expression.span, hint, fix)
        case Pattern(regex=regex, stop=Stop.ANYWHERE):
            yield from cheap_regex_loops(regex, tree.source.text)
        case _:
            for part in expression.children:
                yield from _in(part, kinds, tree)


def _loop(kinds: frozenset[str], span: Span, hint: str, fix: str | None) -> CheapLoop:
    message = f"this repetition of {_in_words(kinds)} has no end: a model may never leave it"
    return CheapLoop(message, span, hint, fix)


def _with_count(item: Expression, low: int, tree: GrammarTree) -> str | None:
    """An item with a count. KBNF has no counts: there, a regex for a terminal of one character."""
    written = tree.source.text[item.span.start : item.span.end]
    if tree.counted:
        return written + _count(low, tree)
    match item:
        case Pattern(regex=Characters()):
            return f"{written[:-1]}{_bounded(low)}{written[-1:]}"
        case Literal(value=value) if len(value) == 1:
            letter = _ESCAPED.get(value.decode("latin-1"), written[1:-1])
            return f"#{written[:1]}{letter}{_bounded(low)}{written[-1:]}"
        case _:
            return None


def _count(low: int, tree: GrammarTree) -> str:
    return tree.counted.format(low=low, high=max(_PROPOSED_BOUND, 2 * low))


def _bounded(low: int) -> str:
    return f"{{{low},{max(_PROPOSED_BOUND, 2 * low)}}}"


def _in_words(kinds: frozenset[str]) -> str:
    return " and ".join(sorted(kinds, reverse=True))


def _holds(outer: Span, inner: Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end and outer != inner


class _RuleKinds:
    """The kinds of characters that expressions read, including those of the rules they call."""

    def __init__(self, rules: Mapping[str, Expression]) -> None:
        self._known = {kind: least(rules, partial(_reads, kind)) for kind in _KINDS}

    def of(self, expression: Expression) -> frozenset[str]:
        """The kinds of characters an expression reads; empty if it reads other characters too."""
        kinds = {kind for kind in _KINDS if _reads(kind, expression, self._known[kind])}
        return frozenset(kinds - {_OTHER}) if _OTHER not in kinds else frozenset()


def _reads(kind: str, expression: Expression, rules: Set[str]) -> bool:
    """Whether an expression reads characters of a kind, given that ``rules`` do."""
    match expression:
        case Literal(value=value):
            codes = map(ord, value.decode("utf-8", "replace"))
            return any(kind in _set_kinds(((code, code),)) for code in codes)
        case Pattern(regex=regex, stop=Stop.ANYWHERE):
            return kind in _regex_kinds(regex)
        case SequenceNode() | Choice() | Repetition():
            return any(_reads(kind, part, rules) for part in expression.children)
        case Nonterminal(name=name):
            return name in rules
        case _:
            return kind == _OTHER


def _punctuation(item: Expression | Regex) -> frozenset[str]:
    """The kind of an item that is one punctuation character; longer items are not reported."""
    while isinstance(item, Group):
        item = item.part
    match item:
        case Pattern(regex=Characters(ranges=ranges)) | Characters(ranges=ranges):
            is_punctuation = bool(ranges) and not difference(ranges, _PUNCTUATION)
        case Literal(value=value):
            is_punctuation = len(value) == 1 and not difference(
                ((value[0], value[0]),), _PUNCTUATION
            )
        case _:
            is_punctuation = False
    return frozenset({_PUNCTUATION_KIND}) if is_punctuation else frozenset()


def _cheap(regex: Regex) -> frozenset[str]:
    kinds = _regex_kinds(regex)
    return frozenset() if _OTHER in kinds else kinds


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
