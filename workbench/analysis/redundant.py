"""Redundant alternatives: a tree in; out come those that read nothing the others do not read.

Only what is certain is told: branches written alike, and terminals whose machine accepts nothing
that another's does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from workbench.automata.build import regex_dfa
from workbench.automata.operations import joint_classes, literals
from workbench.automata.regex_program import HAS_EMPTY, HAS_TEXT
from workbench.base.dfa import DEAD, Dfa
from workbench.base.errors import LimitError
from workbench.base.limits import Limits
from workbench.base.problems import Advice
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
from workbench.syntax.regex.tree import Alternate, Concat, Group, Regex, Repeat

#: More branches than these are compared by how they are written alone.
_COMPARED = 24
#: So many pairs of states are looked at until nobody knows whether one holds the other.
_PAIRS = 4_000


_Node = Expression | Regex


def redundant_advice(cfg: Cfg, tree: GrammarTree) -> tuple[Advice, ...]:
    """Alternatives that add nothing, and rules that have no text but the empty one."""
    program = cfg.program
    empty = {
        name
        for name in cfg.rules
        if program.texts_of(program.names.index(name)) == HAS_TEXT | HAS_EMPTY
    }
    rules = (
        _empty_rule(rule) for rule in tree.rules if rule.name in empty and not _labelled(rule.body)
    )
    return (*_in_time(redundant_rules(cfg)), *rules)


def _labelled(body: Expression) -> bool:
    """Whether an expression has a label, whose token may have no text."""
    regexes = (node.regex for node in _nodes(body) if isinstance(node, Pattern))
    return any(True for regex in regexes for _ in labels_in(regex))


def redundant_regex_advice(regex: Regex, source: Source, limits: Limits) -> tuple[Advice, ...]:
    """Alternatives of a regex that add nothing."""
    return tuple(_in_time(redundant_branches(regex, source.text, limits)))


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
                return None  # a label reads one token, which no machine over characters says
            case Pattern() | Substrings() | Except() | Automaton():
                return cfg.machine(node)
        return None

    for body in cfg.rules.values():
        for node in _nodes(body):
            match node:
                case Choice(options=options):
                    yield from _among(options, machine, text)
                case Pattern(regex=regex):
                    yield from redundant_branches(regex, text, cfg.limits)


def redundant_branches(regex: Regex, text: str, limits: Limits) -> Iterator[Advice]:
    """The redundant branches of a regex written somewhere in ``text``."""

    def machine(node: _Node) -> Dfa | None:
        assert not isinstance(node, _OF_RULES)
        return None if any(labels_in(node)) else regex_dfa(node, limits)

    for node in _regex_nodes(regex):
        if isinstance(node, Alternate):
            yield from _among(node.options, machine, text)


_TERMINALS = (Literal, Pattern, Substrings, Except, Automaton)
_OF_RULES = (*_TERMINALS, Nonterminal, Row, Choice, Repetition)


def _among(
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
    if len(left) > _COMPARED:
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
    """Whether each text of one machine is one of the other's; False where that takes too long."""
    _, pairs = joint_classes(smaller, larger)
    start = (smaller.initial, larger.initial)
    seen, waiting = {start}, [start]
    for one, other in waiting:  # grows while it is read
        if smaller.finals[one] and (other == DEAD or not larger.finals[other]):
            return False
        if len(waiting) > _PAIRS:
            return False
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
    """An option's place with one of its bars, and the fix that cuts it out, where that is safe."""
    span = options[place].span
    if place and text[options[place - 1].span.end : span.start].strip() == "|":
        return Span(options[place - 1].span.end, span.end), ""
    if place + 1 < len(options) and text[span.end : options[place + 1].span.start].strip() == "|":
        return Span(span.start, options[place + 1].span.start), ""
    return span, None


def _written(node: _Node, text: str) -> str:
    found = text[node.span.start : node.span.end]
    return found if len(found) <= 40 else found[:39] + "…"


def _nodes(expression: Expression) -> Iterator[Expression]:
    yield expression
    match expression:
        case Row(items=parts) | Choice(options=parts):
            for part in parts:
                yield from _nodes(part)
        case Repetition(item=item):
            yield from _nodes(item)


def _regex_nodes(regex: Regex) -> Iterator[Regex]:
    yield regex
    match regex:
        case Concat(parts=parts) | Alternate(options=parts):
            for part in parts:
                yield from _regex_nodes(part)
        case Repeat(part=part) | Group(part=part):
            yield from _regex_nodes(part)


def _in_time(found: Iterator[Advice]) -> Iterator[Advice]:
    """What is found before a limit is met: advice is worth no more than the time it has."""
    try:
        yield from found
    except LimitError:
        return
