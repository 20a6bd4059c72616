"""Finds redundant alternatives: those that match no text the others do not match.

Only certain cases are reported: equal branches, and terminals whose language is included in that
of another one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence

from workbench.analysis.lint_checks import T
from workbench.automata.build import regex_dfa
from workbench.automata.operations import joint_classes, literals
from workbench.automata.regex_program import HAS_EMPTY, HAS_TEXT
from workbench.base.dfa import DEAD, Dfa
from workbench.base.diagnostics import Advice
from workbench.base.errors import LimitError
from workbench.base.limits import Limits, check_time_budget
from workbench.base.source import Source, Span
from workbench.pushdown.cfg import Cfg
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
    Substrings,
    shape,
)
from workbench.syntax.grammar_tree import Sequence as Row
from workbench.syntax.regex.extensions import labels_in
from workbench.syntax.regex.tree import Alternate, Regex, walk

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
        _empty_rule(rule) for rule in tree.rules if rule.name in empty and not _has_label(rule.body)
    )
    return (*in_time(redundant_rules(cfg)), *rules)


def _has_label(body: Expression) -> bool:
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
    remaining: list[int] = []
    for number, option in enumerate(options):
        if (twin := first.setdefault(shape(option), number)) == number:
            remaining.append(number)
            continue
        span, fix = _cut(options, number, text)
        yield Advice(
            f"duplicate alternative: {_source_text(options[twin], text)}",
            span, "duplicate_alternative", "delete one of them", fix,
        )  # fmt: skip
    if len(remaining) > _MAX_COMPARED:
        return
    machines = {number: machine for number in remaining if (machine := machine_of(options[number]))}
    out: set[int] = set()
    for number, machine in reversed(machines.items()):
        for other, larger in machines.items():
            if other != number and other not in out and is_included(machine, larger):
                out.add(number)
                span, fix = _cut(options, number, text)
                yield Advice(
                    f"redundant alternative: {_source_text(options[other], text)} "
                    "matches all its texts",
                    span, "included_alternative", "delete it", fix,
                )  # fmt: skip
                break


def is_included(smaller: Dfa, larger: Dfa) -> bool:
    """Whether one machine's language is included in the other's; False if that takes too long."""
    _, pairs = joint_classes(smaller, larger)
    start = (smaller.initial, larger.initial)
    seen, waiting = {start}, deque([start])
    while waiting:
        state, other = waiting.popleft()
        if smaller.finals[state] and (other == DEAD or not larger.finals[other]):
            return False
        if len(seen) > _MAX_PAIRS:
            return False
        check_time_budget()
        for column, other_column in pairs:
            step = int(smaller.table[state, column])
            if step == DEAD:
                continue
            pair = (step, DEAD if other == DEAD else int(larger.table[other, other_column]))
            if pair not in seen:
                seen.add(pair)
                waiting.append(pair)
    return True


def _cut(options: Sequence[_Node], number: int, text: str) -> tuple[Span, str | None]:
    """An option's span with one of its bars, and the fix that deletes it, if that is safe."""
    span = options[number].span
    if number and text[options[number - 1].span.end : span.start].strip() == "|":
        return Span(options[number - 1].span.end, span.end), ""
    if number + 1 < len(options) and text[span.end : options[number + 1].span.start].strip() == "|":
        return Span(span.start, options[number + 1].span.start), ""
    return span, None


def _source_text(node: _Node, text: str) -> str:
    written = text[node.span.start : node.span.end]
    return written if len(written) <= 40 else written[:39] + "…"


def in_time(items: Iterator[T]) -> Iterator[T]:
    """What is found before a limit is reached."""
    try:
        yield from items
    except LimitError:
        return
