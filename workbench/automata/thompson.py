"""Thompson's construction: in comes a regex tree, out comes an Nfa over bytes."""

from __future__ import annotations

from workbench.automata.measure import check_size, simple_repeat
from workbench.automata.nfa import Nfa, NfaBuilder
from workbench.automata.utf8 import character_machine
from workbench.limits import LIMITS, Limits
from workbench.syntax.regex_tree import (
    Alternate,
    Bytes,
    Characters,
    Concat,
    Group,
    Ranges,
    Regex,
    Repeat,
)

_LAST_ASCII = 0x7F


def thompson(regex: Regex, limits: Limits = LIMITS) -> Nfa:
    """The Nfa of a regex: one state in, one state out, counted repetitions unrolled.

    Cost:   states linear in the unrolled regex; a character costs the nodes of its set.
    Raises: LimitError if unrolling needs more than ``limits.unrolled`` states, before any is made.
    Source: Thompson 1968, "Regular expression search algorithm", with the ε-edges of
            concatenation and alternation left out as in McNaughton & Yamada 1960.
    """
    check_size(regex, limits)
    builder = NfaBuilder()
    start, end = builder.new_state(), builder.new_state()
    add(builder, regex, start, end)
    return builder.build(start, {end})


def add(builder: NfaBuilder, regex: Regex, start: int, end: int) -> None:
    """Add a regex to a growing machine: its texts lead from ``start`` to ``end``.

    Only ``Repeat`` reads in circles, and it does so through states of its own; so the
    parts may share ``start`` and ``end`` with their surroundings.
    """
    match regex:
        case Characters(ranges):
            _add_characters(builder, ranges, start, end)
        case Bytes(ranges):
            for low, high in ranges:
                builder.edge(start, low, high, end)
        case Group(part):
            add(builder, part, start, end)
        case Alternate(options):
            _add_alternate(builder, options, start, end)
        case Concat(parts):
            _add_concat(builder, parts, start, end)
        case Repeat():
            _add_repeat(builder, regex, start, end)


def _add_characters(builder: NfaBuilder, ranges: Ranges, start: int, end: int) -> None:
    if ranges and ranges[-1][1] <= _LAST_ASCII:
        for low, high in ranges:
            builder.edge(start, low, high, end)
        return
    machine = character_machine(ranges)
    last = len(machine.edges) - 1
    states = [end, *(builder.new_state() for _ in range(last - 1)), start]
    for node, edges in enumerate(machine.edges):
        for low, high, target in edges:
            builder.edge(states[node], low, high, states[target])


def _add_alternate(builder: NfaBuilder, options: tuple[Regex, ...], start: int, end: int) -> None:
    """Options that begin with the same characters share those states, as in a trie of words."""
    shared: dict[tuple[int, Ranges], int] = {}
    for option in options:
        parts = option.parts if isinstance(option, Concat) else (option,)
        here = start
        read = 0
        for part in parts[:-1]:
            if not isinstance(part, Characters):
                break
            key = (here, part.ranges)
            if key not in shared:
                shared[key] = builder.new_state()
                add(builder, part, here, shared[key])
            here = shared[key]
            read += 1
        _add_concat(builder, parts[read:], here, end)


def _add_concat(builder: NfaBuilder, parts: tuple[Regex, ...], start: int, end: int) -> None:
    if not parts:
        builder.epsilon(start, end)
        return
    here = start
    for part in parts[:-1]:
        there = builder.new_state()
        add(builder, part, here, there)
        here = there
    add(builder, parts[-1], here, end)


def _add_repeat(builder: NfaBuilder, regex: Repeat, start: int, end: int) -> None:
    part, low, high = simple_repeat(regex)
    here = start
    for _ in range(low if high is not None else low - 1):
        there = builder.new_state()
        add(builder, part, here, there)
        here = there
    if high is None:
        _add_loop(builder, part, here, end, at_least_once=low > 0)
        return
    for _ in range(high - low):
        # out to the end from every copy, not through the copies that follow: short closures
        builder.epsilon(here, end)
        there = builder.new_state()
        add(builder, part, here, there)
        here = there
    builder.epsilon(here, end)


def _add_loop(
    builder: NfaBuilder, part: Regex, start: int, end: int, *, at_least_once: bool
) -> None:
    before = builder.new_state()
    after = builder.new_state() if at_least_once else before
    builder.epsilon(start, before)
    add(builder, part, before, after)
    builder.epsilon(after, before)
    builder.epsilon(after, end)
