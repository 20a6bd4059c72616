"""Checks of the lint: unbounded repetitions, redundant alternatives, what no token spells.

Finds unbounded repetitions of white space, digits or punctuation in a grammar.

A model that prefers such a character prefers it again at the next step, and may never leave the
loop. Loops over whole items or free text offer other characters and are not reported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TypeVar

from workbench.automata.build import regex_dfa
from workbench.automata.operations import joint_classes, literals
from workbench.automata.regex_program import HAS_EMPTY, HAS_TEXT
from workbench.base.cached_property import cached_property
from workbench.base.dfa import DEAD, Dfa
from workbench.base.errors import Advice, LimitError
from workbench.base.limits import Limits, check_time_budget
from workbench.base.source import Source, Span
from workbench.grammar.grammar import Grammar
from workbench.pushdown.cfg import Cfg, gathered, least
from workbench.syntax.grammar_tree import (
    Automaton,
    Choice,
    Except,
    Expression,
    GrammarTree,
    Literal,
    Nonterminal,
    Pattern,
    Repetition,
    Rule,
    Stop,
    Substrings,
    calls,
    shape,
)
from workbench.syntax.grammar_tree import Sequence as Row
from workbench.syntax.grammar_tree import Sequence as SequenceNode
from workbench.syntax.ranges import Ranges, difference, intersection, size, union
from workbench.syntax.regex import tree as regex
from workbench.syntax.regex.extensions import labels_in
from workbench.syntax.regex.tree import (
    Alternate,
    Bytes,
    Characters,
    Extension,
    Group,
    Regex,
    Repeat,
    walk,
)
from workbench.syntax.regex.unicode_sets import python_class
from workbench.vocabulary.vocabulary import Vocabulary

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
    found = [
        loop for rule in tree.rules if rule.name in used for loop in _in_rule(rule, kinds, tree)
    ]
    outermost: list[CheapLoop] = []
    for one in sorted(found, key=lambda one: (one.span.start, -one.span.end)):
        if not outermost or not _holds(outermost[-1].span, one.span):
            outermost.append(one)
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
            for place, item in enumerate(items):
                check_time_budget()
                others = (*items[:place], *items[place + 1 :])
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
            fix = _counted(item, low, tree)
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


def _counted(item: Expression, low: int, tree: GrammarTree) -> str | None:
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
        found = {kind for kind in _KINDS if _reads(kind, expression, self._known[kind])}
        return frozenset(found - {_OTHER}) if _OTHER not in found else frozenset()


def _reads(kind: str, expression: Expression, known: Set[str]) -> bool:
    """Whether an expression reads characters of a kind, given that the rules ``known`` do."""
    match expression:
        case Literal(value=value):
            codes = map(ord, value.decode("utf-8", "replace"))
            return any(kind in _set_kinds(((code, code),)) for code in codes)
        case Pattern(regex=regex, stop=Stop.ANYWHERE):
            return kind in _regex_kinds(regex)
        case SequenceNode() | Choice() | Repetition():
            return any(_reads(kind, part, known) for part in expression.children)
        case Nonterminal(name=name):
            return name in known
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


# -- redundant alternatives -----------------------------------------------------------------------
# Finds redundant alternatives: those that match no text the others do not match.
#
# Only certain cases are reported: equal branches, and terminals whose language is included in that
# of another one.


#: More alternatives than these are compared only by their syntax.
_MAX_COMPARED = 24
#: Inclusion is unknown after this many pairs of states.
_MAX_PAIRS = 4_000


_Node = Expression | Regex


def redundant_advice(cfg: Cfg, tree: GrammarTree) -> tuple[Advice, ...]:
    """Redundant alternatives, and rules whose only text is the empty one."""
    program = cfg.program
    empty = {
        name
        for number, name in enumerate(program.names)
        if name in cfg.rules and program.texts_of(number) == HAS_TEXT | HAS_EMPTY
    }
    rules = (
        _empty_rule(rule) for rule in tree.rules if rule.name in empty and not _labelled(rule.body)
    )
    return (*in_time(redundant_rules(cfg)), *rules)


def _labelled(body: Expression) -> bool:
    """Whether an expression has a terminal label; the label's token may have no text."""
    regexes = (node.regex for node in walk(body) if isinstance(node, Pattern))
    return any(True for regex in regexes for _ in labels_in(regex))


def redundant_regex_advice(regex: Regex, source: Source, limits: Limits) -> tuple[Advice, ...]:
    """The redundant alternatives of a regex."""
    return tuple(in_time(redundant_branches(regex, source.text, limits)))


def _empty_rule(rule: Rule) -> Advice:
    return Advice(
        f"the rule {rule.name!r} matches only the empty text",
        rule.name_span,
        "empty_rule",
        "let it read something, or delete its calls",
    )


def redundant_rules(cfg: Cfg) -> Iterator[Advice]:
    """The redundant branches of all rules in use.

    Raises: LimitError past the time of the grammar's limits.
    """
    text = cfg.source.text

    def machine(node: _Node) -> Dfa | None:
        match node:
            case Literal(value=value):
                return literals([value], cfg.limits)
            case Pattern(regex=regex) if any(labels_in(regex)):
                return (
                    None  # a label reads one token, which a machine over characters cannot express
                )
            case Pattern() | Substrings() | Except() | Automaton():
                return cfg.machine(node)
        return None

    for body in cfg.rules.values():
        for node in walk(body):
            match node:
                case Choice(options=options):
                    yield from _redundant_among(options, machine, text)
                case Pattern(regex=regex):
                    yield from redundant_branches(regex, text, cfg.limits)


def redundant_branches(regex: Regex, text: str, limits: Limits) -> Iterator[Advice]:
    """The redundant branches of a regex that is a part of ``text``."""

    def machine(node: _Node) -> Dfa | None:
        assert not isinstance(node, _EXPRESSIONS)
        return None if any(labels_in(node)) else regex_dfa(node, limits)

    for node in walk(regex):
        if isinstance(node, Alternate):
            yield from _redundant_among(node.options, machine, text)


_TERMINALS = (Literal, Pattern, Substrings, Except, Automaton)
_EXPRESSIONS = (*_TERMINALS, Nonterminal, Row, Choice, Repetition)


def _redundant_among(
    options: Sequence[_Node], machine_of: Callable[[_Node], Dfa | None], text: str
) -> Iterator[Advice]:
    """The redundant ones of some alternatives."""
    first: dict[object, int] = {}
    left: list[int] = []
    for place, option in enumerate(options):
        if (twin := first.setdefault(shape(option), place)) == place:
            left.append(place)
            continue
        span, fix = _cut(options, place, text)
        yield Advice(
            f"duplicate alternative: {_written(options[twin], text)}",
            span, "duplicate_alternative", "delete one of them", fix,
        )  # fmt: skip
    if len(left) > _MAX_COMPARED:
        return
    machines = {place: machine for place in left if (machine := machine_of(options[place]))}
    out: set[int] = set()
    for place, machine in reversed(machines.items()):
        for other, larger in machines.items():
            if other != place and other not in out and is_included(machine, larger):
                out.add(place)
                span, fix = _cut(options, place, text)
                yield Advice(
                    f"redundant alternative: {_written(options[other], text)} "
                    "matches all its texts",
                    span, "included_alternative", "delete it", fix,
                )  # fmt: skip
                break


def is_included(smaller: Dfa, larger: Dfa) -> bool:
    """Whether one machine's language is included in the other's; False if that takes too long."""
    _, pairs = joint_classes(smaller, larger)
    start = (smaller.initial, larger.initial)
    seen, waiting = {start}, [start]
    for one, other in waiting:  # extended in the loop
        if smaller.finals[one] and (other == DEAD or not larger.finals[other]):
            return False
        if len(waiting) > _MAX_PAIRS:
            return False
        check_time_budget()
        for here, there in pairs:
            step = int(smaller.table[one, here])
            if step == DEAD:
                continue
            place = (step, DEAD if other == DEAD else int(larger.table[other, there]))
            if place not in seen:
                seen.add(place)
                waiting.append(place)
    return True


def _cut(options: Sequence[_Node], place: int, text: str) -> tuple[Span, str | None]:
    """An option's span with one of its bars, and the fix that deletes it, if that is safe."""
    span = options[place].span
    if place and text[options[place - 1].span.end : span.start].strip() == "|":
        return Span(options[place - 1].span.end, span.end), ""
    if place + 1 < len(options) and text[span.end : options[place + 1].span.start].strip() == "|":
        return Span(span.start, options[place + 1].span.start), ""
    return span, None


def _written(node: _Node, text: str) -> str:
    found = text[node.span.start : node.span.end]
    return found if len(found) <= 40 else found[:39] + "…"


def in_time(found: Iterator[T]) -> Iterator[T]:
    """What is found before a limit is reached."""
    try:
        yield from found
    except LimitError:
        return


# -- characters without tokens --------------------------------------------------------------------
# Lint: literals and characters of a grammar that no sequence of tokens contains.


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
    found = dict.fromkeys(in_time(_unspellable_pieces(grammar, coverage)))
    return tuple(sorted(found, key=lambda one: one.span.start))


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
