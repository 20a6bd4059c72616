"""Outline of a grammar: calls, recursion, nullability and regularity of every rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace

from workbench.automata.graphs import cyclic_components, reachable
from workbench.automata.regex_program import HAS_EMPTY, HAS_NONEMPTY
from workbench.base.dfa import DEAD
from workbench.base.source import Span
from workbench.pushdown.build import context_free
from workbench.pushdown.cfg import Cfg
from workbench.syntax.grammar_tree import (
    Automaton,
    Choice,
    Expression,
    GrammarTree,
    Literal,
    Nonterminal,
    Repetition,
    Sequence,
    Substrings,
    referenced,
)


@dataclass(frozen=True, slots=True)
class RuleFacts:
    """A rule, with its calls and its decidable properties."""

    name: str
    #: The spans of its name in its definitions; a rule may have several definitions.
    definitions: tuple[Span, ...]
    #: The spans of its calls, in the order of the text.
    references: tuple[Span, ...]
    #: The rules it calls and those that call it, in the order of the text.
    calls: tuple[str, ...]
    called_by: tuple[str, ...]
    #: It calls itself, directly or through other rules.
    is_recursive: bool
    #: It can call itself before anything is read.
    is_left_recursive: bool
    #: The empty text is one of its texts.
    is_nullable: bool
    #: Some text can be derived from it.
    is_productive: bool
    #: It needs no stack: in every cycle of rules that call each other, all calls are at the ends of
    #: their rules, or all at the starts.
    is_regular: bool
    #: The start symbol reaches it.
    is_used: bool


def outline(tree: GrammarTree, start: str = "start") -> tuple[RuleFacts, ...]:
    """The rules in the order of the text, as they are in it.

    Raises: BuildError where the grammar cannot be built.
    Source: for regularity, the strongly regular grammars of Mohri & Nederhof 2001, §2.
    """
    tree = replace(tree, rules=tree.written or tree.rules)
    cfg = context_free(tree, start, phrases=True)
    called_at = {name: list(referenced(body)) for name, body in cfg.written.items()}
    called = {
        name: tuple(dict.fromkeys(call.name for call in calls)) for name, calls in called_at.items()
    }
    callers: dict[str, list[str]] = {name: [] for name in cfg.written}
    spans: dict[str, list[Span]] = {name: [] for name in cfg.written}
    for name, calls in called_at.items():
        for call in calls:
            spans[call.name].append(call.span)
            if name not in callers[call.name]:
                callers[call.name].append(name)
    cycles = cyclic_components({name: set(others) for name, others in called.items()})
    texts = dict(zip(cfg.program.names, map(cfg.program.texts_of, range(len(called))), strict=True))
    reading = {name for name, bits in texts.items() if bits & HAS_NONEMPTY}
    edges = {name: list(_linear(cfg, reading, body)) for name, body in cfg.written.items()}
    nesting = {name for cycle in cycles if not _is_linear(cycle, edges) for name in cycle}
    left_cycles = cyclic_components(
        {n: {e.name for e in targets if not e.must_read} for n, targets in edges.items()}
    )
    used = reachable([start], called.__getitem__)
    return tuple(
        RuleFacts(
            name=name,
            definitions=tuple(rule.name_span for rule in tree.rules if rule.name == name),
            references=tuple(sorted(spans[name], key=lambda span: span.start)),
            calls=called[name],
            called_by=tuple(callers[name]),
            is_recursive=any(name in cycle for cycle in cycles),
            is_left_recursive=any(name in cycle for cycle in left_cycles),
            is_nullable=bool(texts[name] & HAS_EMPTY),
            is_productive=bool(texts[name]),
            is_regular=not nesting & reachable([name], called.__getitem__).keys(),
            is_used=name in used,
        )
        for name in cfg.written
    )


@dataclass(frozen=True, slots=True)
class _Call:
    """A call, and whether something can be read before and after it in its rule."""

    name: str
    before: bool
    after: bool
    #: Something is always read before it.
    must_read: bool


def _is_linear(cycle: frozenset[str], edges: Mapping[str, list[_Call]]) -> bool:
    """Whether all calls within a cycle are at the ends of their rules, or all at the starts."""
    inner = [call for name in cycle for call in edges[name] if call.name in cycle]
    return not any(call.after for call in inner) or not any(call.before for call in inner)


def _linear(
    cfg: Cfg,
    reading: Set[str],
    expression: Expression,
    before: bool = False,
    after: bool = False,
    must: bool = False,
) -> Iterator[_Call]:
    """Every call in an expression, given whether something is read before and after it.

    ``reading`` are the rules with a nonempty text.
    """
    match expression:
        case Nonterminal(name=name):
            yield _Call(name, before, after, must)
        case Choice(options=options):
            for option in options:
                yield from _linear(cfg, reading, option, before, after, must)
        case Sequence(items=items):
            longer = [_reads(reading, item) for item in items]
            reads_before, rest, certain = before, sum(longer), must
            for item, reads in zip(items, longer, strict=True):
                rest -= reads
                yield from _linear(cfg, reading, item, reads_before, after or rest > 0, certain)
                reads_before = reads_before or reads
                certain = certain or not cfg.is_nullable(item)
        case Repetition(item=item, high=high):
            more = high != 1 and _reads(reading, item)
            yield from _linear(cfg, reading, item, before or more, after or more, must)


def _reads(reading: Set[str], expression: Expression) -> bool:
    """Whether an expression has a nonempty text."""
    match expression:
        case Nonterminal(name=name):
            return name in reading
        case Sequence(items=parts) | Choice(options=parts):
            return any(_reads(reading, part) for part in parts)
        case Repetition(item=item, high=high):
            return high != 0 and _reads(reading, item)
        case Literal(value=value) | Substrings(value=value):
            return bool(value)
        case Automaton(machine=machine):
            return bool((machine.table != DEAD).any())
        case _:
            return True
