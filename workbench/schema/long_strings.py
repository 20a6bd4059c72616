"""Long strings: from so many to so many characters in, rules of blocks of characters out.

A machine that counts to 65,535 has twenty states for each of them, over a million. Counting by
blocks takes some thousand: a block is a rule, and how many there were is where it is called from.
"""

from __future__ import annotations

from functools import cache, lru_cache

import numpy as np

from workbench.automata.build import regex_machine
from workbench.automata.dfa import DEAD, Dfa
from workbench.source import Source, Span
from workbench.syntax.grammar_tree import (
    Automaton,
    Choice,
    Expression,
    Literal,
    Nonterminal,
    Repetition,
    Sequence,
)
from workbench.syntax.regex_parser import parse_regex

#: Characters of a block. Tried on up to 65,535 characters: 32 takes fewer states (4,600, not 6,100)
#: and more calls (first machine 2.6 ms, not 0.9); 128 and 256 take more states and no less time.
BLOCK = 64
#: One character of a JSON string in any spelling; half of a surrogate pair is none.
_CHARACTER = (
    r'(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]'
    r"|\\u(?:[0-9A-Ca-cEFef][0-9A-Fa-f]{3}|[Dd][0-7][0-9A-Fa-f]{2})"
    r"|\\u[Dd][89ABab][0-9A-Fa-f]{2}\\u[Dd][C-Fc-f][0-9A-Fa-f]{2})"
)


def long_string(low: int, high: int | None, block: str, span: Span) -> Expression:
    """The JSON strings of ``low`` to ``high`` characters; ``block`` is the rule of ``a_block``.

    At any place there are two ways to go on at most: the block that is begun is full, or the text
    ends in it.
    """
    most = [_characters(0, None, span)] if high is None else _at_most(high - low, block, span)
    quote = Literal(b'"', span)
    return Sequence((quote, *_exactly(low, block, span), *most, quote), span)


def a_block(span: Span) -> Expression:
    """What the rule of a block is."""
    return _characters(BLOCK, BLOCK, span)


def _exactly(count: int, block: str, span: Span) -> list[Expression]:
    blocks, rest = divmod(count, BLOCK)
    found: list[Expression] = [_characters(rest, rest, span)] if rest else []
    if blocks:
        found.append(Repetition(Nonterminal(block, span), blocks, blocks, span))
    return found


def _at_most(count: int, block: str, span: Span) -> list[Expression]:
    """A rest that no block holds comes first; then blocks, the last of which may end early."""
    blocks, rest = divmod(count, BLOCK)
    if not blocks:
        return [_characters(0, rest, span)]
    many: list[Expression] = [_characters(0, BLOCK, span)]
    if blocks > 1:
        many.insert(0, Repetition(Nonterminal(block, span), 0, blocks - 1, span))
    if not rest:
        return many
    all_of_it = Sequence((_characters(rest, rest, span), *many), span)
    return [Choice((_characters(0, rest - 1, span), all_of_it), span)]


def _characters(low: int, high: int | None, span: Span) -> Expression:
    told = (
        f"{low:,}"
        if low == high
        else f"{low:,} or more"
        if high is None
        else f"{low:,} to {high:,}"
    )
    return Automaton(_machine(low, high), f"{told} characters", span)


@lru_cache(maxsize=256)
def _machine(low: int, high: int | None) -> Dfa:
    """As many copies of the machine of one character, each beginning where the last one ends."""
    one, copies = _character(), 1 if high is None else high
    inner = len(one) - 1  # all states but the last, which reads nothing
    table = np.full((copies * inner + 1, one.table.shape[1]), DEAD, np.int32)
    for copy in range(copies):
        part = one.table[:inner]
        table[copy * inner : (copy + 1) * inner] = np.where(part == DEAD, DEAD, part + copy * inner)
    finals = np.zeros(len(table), np.bool_)
    if high is None:
        table = np.where(table == inner, 0, table)[:inner]
        return Dfa(one.classes, table, np.arange(inner) == 0)
    finals[low * inner :: inner] = True
    return Dfa(one.classes, table, finals)


@cache
def _character() -> Dfa:
    """The machine of one character: it begins in state 0 and ends in its last state alone."""
    machine = regex_machine(parse_regex(Source(_CHARACTER, "character")))
    assert isinstance(machine, Dfa)
    (last,) = np.flatnonzero(machine.finals).tolist()
    order = [
        machine.initial,
        *(s for s in range(len(machine)) if s not in (machine.initial, last)),
        last,
    ]
    number = np.empty(len(machine) + 1, np.int32)
    number[order], number[DEAD] = np.arange(len(machine)), DEAD
    return Dfa(machine.classes, number[machine.table[order]], machine.finals[order])
