"""Outline: a grammar of rules comes in, what there is to know of each rule goes out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass

from workbench.automata.graphs import cyclic_components
from workbench.automata.regex_program import HAS_EMPTY, HAS_NONEMPTY
from workbench.base.dfa import DEAD
from workbench.base.source import Span
from workbench.pushdown.build import context_free
from workbench.pushdown.cfg import Cfg, terminals
from workbench.syntax.grammar_tree import (
    Automaton,
    Choice,
    Except,
    Expression,
    GrammarTree,
    Literal,
    Nonterminal,
    Repetition,
    Sequence,
    Substrings,
    calls,
)


@dataclass(frozen=True, slots=True)
class RuleFacts:
    """A rule, with whom it calls and what can be said of it without doubt."""

    name: str
    #: Where it is defined, the name alone; several places for rules of one name.
    definitions: tuple[Span, ...]
    #: Where it is called, in the order of the text.
    references: tuple[Span, ...]
    #: The rules it calls and those that call it, in the order of the text.
    calls: tuple[str, ...]
    called_by: tuple[str, ...]
    #: It calls itself, directly or through others.
    is_recursive: bool
    #: It can do so before anything is read.
    is_left_recursive: bool
    #: The empty text is one of its texts.
    is_nullable: bool
    #: Some text can be derived from it.
    is_productive: bool
    #: It needs no stack: wherever rules call each other in a circle, it is always at their end,
    #: or always at their start.
    is_regular: bool
    #: The start symbol reaches it.
    is_used: bool


def outline(tree: GrammarTree, start: str = "start") -> tuple[RuleFacts, ...]:
    """The rules in the order of the text.

    Raises: BuildError where the grammar cannot be built.
    Source: for regularity, the strongly regular grammars of Mohri & Nederhof 2001, §2.
    """
    cfg = context_free(tree, start)
    places = {name: list(_references(body)) for name, body in cfg.written.items()}
    called = {name: tuple(dict.fromkeys(n for n, _ in found)) for name, found in places.items()}
    callers: dict[str, list[str]] = {name: [] for name in cfg.written}
    references: dict[str, list[Span]] = {name: [] for name in cfg.written}
    for name, found in places.items():
        for other, span in found:
            references[other].append(span)
            if name not in callers[other]:
                callers[other].append(name)
    around = cyclic_components({name: set(others) for name, others in called.items()})
    texts = dict(zip(cfg.program.names, map(cfg.program.texts_of, range(len(called))), strict=True))
    reading = {name for name, bits in texts.items() if bits & HAS_NONEMPTY}
    edges = {name: list(_linear(cfg, reading, body)) for name, body in cfg.written.items()}
    nesting = {name for circle in around if not _is_linear(circle, edges) for name in circle}
    left = cyclic_components(
        {n: {e.name for e in found if not e.must_read} for n, found in edges.items()}
    )
    used = _reached(start, called)
    return tuple(
        RuleFacts(
            name=name,
            definitions=tuple(rule.name_span for rule in tree.rules if rule.name == name),
            references=tuple(sorted(references[name], key=lambda span: span.start)),
            calls=called[name],
            called_by=tuple(callers[name]),
            is_recursive=any(name in circle for circle in around),
            is_left_recursive=any(name in circle for circle in left),
            is_nullable=bool(texts[name] & HAS_EMPTY),
            is_productive=bool(texts[name]),
            is_regular=nesting.isdisjoint(_reached(name, called)),
            is_used=name in used,
        )
        for name in cfg.written
    )


def _references(expression: Expression) -> Iterator[tuple[str, Span]]:
    """Calls, and the rules that exceptions name."""
    for call in calls(expression):
        yield call.name, call.span
    for terminal in terminals(expression):
        if isinstance(terminal, Except) and isinstance(terminal.excepted, Nonterminal):
            yield terminal.excepted.name, terminal.excepted.span


def _reached(start: str, called: Mapping[str, tuple[str, ...]]) -> set[str]:
    found = {start}
    waiting = [start]
    for name in waiting:  # grows while it is read
        new = [other for other in called[name] if other not in found]
        found.update(new)
        waiting += new
    return found


@dataclass(frozen=True, slots=True)
class _Call:
    """A call, and whether something can be read before and after it in its rule."""

    name: str
    before: bool
    after: bool
    #: Something is always read before it.
    must_read: bool


def _is_linear(circle: frozenset[str], edges: Mapping[str, list[_Call]]) -> bool:
    """Whether the calls among some rules all stand at the end of theirs, or all at the start."""
    inner = [call for name in circle for call in edges[name] if call.name in circle]
    return not any(call.after for call in inner) or not any(call.before for call in inner)


def _linear(
    cfg: Cfg,
    reading: Set[str],
    expression: Expression,
    before: bool = False,
    after: bool = False,
    must: bool = False,
) -> Iterator[_Call]:
    """Every call in an expression, given what is read before and after that.

    ``reading`` are the rules that have a text which is not empty.
    """
    match expression:
        case Nonterminal(name=name):
            yield _Call(name, before, after, must)
        case Choice(options=options):
            for option in options:
                yield from _linear(cfg, reading, option, before, after, must)
        case Sequence(items=items):
            longer = [_reads(reading, item) for item in items]
            left, rest, certain = before, sum(longer), must
            for item, reads in zip(items, longer, strict=True):
                rest -= reads
                yield from _linear(cfg, reading, item, left, after or rest > 0, certain)
                left = left or reads
                certain = certain or not cfg.is_nullable(item)
        case Repetition(item=item, high=high):
            more = high != 1 and _reads(reading, item)
            yield from _linear(cfg, reading, item, before or more, after or more, must)


def _reads(reading: Set[str], expression: Expression) -> bool:
    """Whether an expression has a text that is not empty."""
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
