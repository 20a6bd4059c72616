"""Thompson's construction: in comes a regex tree, out comes an Nfa over bytes."""

from __future__ import annotations

from workbench.automata.nfa import Nfa, NfaBuilder
from workbench.automata.utf8 import character_machine
from workbench.errors import LimitError
from workbench.limits import LIMITS, Limits
from workbench.syntax.regex_tree import (
    Alternate,
    Bytes,
    Characters,
    Concat,
    Group,
    Regex,
    Repeat,
)


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


def check_size(regex: Regex, limits: Limits) -> None:
    """Raise LimitError if unrolling would need too many states, before any is made."""
    if _size(regex) > limits.unrolled:
        raise LimitError(
            f"the counted repetitions need more than {limits.unrolled:,} states",
            "unrolled",
            "lower the bound of a repetition, or use '*' or '+'",
        )


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
            for option in options:
                add(builder, option, start, end)
        case Concat(parts):
            _add_concat(builder, parts, start, end)
        case Repeat():
            _add_repeat(builder, regex, start, end)


def _add_characters(
    builder: NfaBuilder, ranges: tuple[tuple[int, int], ...], start: int, end: int
) -> None:
    machine = character_machine(ranges)
    last = len(machine.edges) - 1
    states = [end, *(builder.new_state() for _ in range(last - 1)), start]
    for node, edges in enumerate(machine.edges):
        for low, high, target in edges:
            builder.edge(states[node], low, high, states[target])


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


def simple_repeat(regex: Repeat) -> tuple[Regex, int, int | None]:
    """A repetition with the same texts: ``(x?){n}`` as ``x{0,n}``, ``(x*){2,}`` as ``x*``."""
    part, low, high = regex.part, regex.low, regex.high
    while True:
        if isinstance(part, Group):
            part = part.part
        elif isinstance(part, Repeat) and part.low == 0 and (part.high == 1 or part.high is None):
            low, high = 0, (None if part.high is None and high != 0 else high)
            part = part.part
        else:
            return part, low, high


def _size(regex: Regex) -> int:
    """States the regex needs once its repetitions are unrolled, about."""
    match regex:
        case Characters(ranges):
            return max(1, len(character_machine(ranges).edges) - 1)
        case Bytes():
            return 1
        case Group(part):
            return _size(part)
        case Concat(parts) | Alternate(parts):
            return 1 + sum(map(_size, parts))
        case Repeat():
            part, low, high = simple_repeat(regex)
            return 2 + _size(part) * (max(low, 1) if high is None else high)
