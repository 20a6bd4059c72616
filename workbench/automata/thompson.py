"""Thompson's construction: the NFA of a regex with the extensions.

An extension such as ``(?P<TEXT_UNTIL>stop)`` (see ``syntax.regex.extensions``) has an automaton
whose size is linear in its arguments, while that of an equal plain regex is not. These automata
are computed over characters and then written as bytes, so they never accept a part of a character.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from workbench.automata.code_points import character_machine
from workbench.automata.lookaround import asserted_nfa
from workbench.automata.nfa import Ints, Nfa, NfaBuilder, nfa_of_dfa
from workbench.automata.program_nfa import program_nfa
from workbench.automata.regex_program import (
    CHOICE,
    REPEAT,
    SEQUENCE,
    Program,
    check_size,
    simple_repeat,
)
from workbench.automata.substrings import suffix_automaton
from workbench.base.limits import LIMITS, Limits
from workbench.syntax.ranges import ANY_CHARACTER, Ranges, difference, union
from workbench.syntax.regex.tree import (
    Alternate,
    Bytes,
    Characters,
    Concat,
    Extension,
    Group,
    Kind,
    Machine,
    Regex,
    Repeat,
)

#: The final state, without outgoing edges, and the initial state, without incoming edges.
END, BEGIN = 0, 1

_LAST_ASCII = 0x7F


def extension_nfa(
    node: Extension, nfa_of: Callable[[Regex, Limits], Nfa], limits: Limits = LIMITS
) -> Nfa:
    """The automaton of an extension; ``nfa_of`` builds those of the regexes in it.

    Cost:   states and edges linear in the characters of a text, and in the delimiters and items.
    Raises: LimitError above ``limits.states``.
    """
    builder = NfaBuilder()
    builder.new_state()
    builder.new_state()
    match node.kind:
        case Kind.SUBSTRING_OF:
            letters, numbers = _number_sets(node.parts)
            edges, size = suffix_automaton(numbers)
            limits.check("states", size, "shorten the text")
            _write(builder, letters, edges, size, ends=np.arange(size, dtype=np.int32))
        case Kind.TEXT_UNTIL:
            limits.check("states", len(node.parts), "shorten the phrase")
            letters, edges = until(_sets(node.parts))
            size = len(node.parts) + 1
            _write(builder, letters, edges, size, ends=np.array([size - 1]))
        case Kind.DELIMITED_SUBSEQUENCE_OF:
            _write_subsequence(builder, [nfa_of(part, limits) for part in node.parts])
            limits.check("states", len(builder), "leave out some of the items")
        case Kind.ASSERTED:
            return asserted_nfa(node.parts[0], nfa_of, limits)
    return builder.build(BEGIN, {END})


def _sets(letters: Sequence[Regex]) -> list[Ranges]:
    return [letter.ranges for letter in letters if isinstance(letter, Characters)]


def _number_sets(letters: Sequence[Regex]) -> tuple[list[Ranges], Ints]:
    """The distinct sets, and for each letter the number of its set."""
    numbers: dict[Ranges, int] = {}
    set_numbers = [numbers.setdefault(ranges, len(numbers)) for ranges in _sets(letters)]
    return list(numbers), np.array(set_numbers, np.int32)


def until(phrase: Sequence[Ranges]) -> tuple[list[Ranges], Ints]:
    """Sets of letters, and edges (state, number of a set, state) of the texts up to a phrase.

    State i: the text ends with the first i letters of the phrase; the last state is final. All
    letters that lead from a state back to state 0 form one set.

    Source: Knuth, Morris & Pratt 1977, "Fast pattern matching in strings".
    """
    rows: list[dict[Ranges, int]] = [{phrase[0]: 1}]
    fallback = 0  # the state of the text without its first letter
    for matched in range(1, len(phrase)):
        rows.append(rows[fallback] | {phrase[matched]: matched + 1})
        fallback = rows[fallback].get(phrase[matched], 0)
    numbers: dict[Ranges, int] = {}
    edges = []
    for state, row in enumerate(rows):
        others = difference(ANY_CHARACTER, union((), *row))
        for letters, target in (*row.items(), (others, 0)):
            edges.append((state, numbers.setdefault(letters, len(numbers)), target))
    return list(numbers), np.array(edges, np.int32)


def _write(
    builder: NfaBuilder, letters: Sequence[Ranges], edges: Ints, size: int, ends: Ints
) -> None:
    """Add an automaton over sets of characters, as bytes."""
    # its state 0 can have incoming edges, so it cannot be ``BEGIN`` itself
    first = builder.new_states(size)
    builder.epsilon(BEGIN, first)
    sources, targets = first + edges[:, 0], first + edges[:, 2]
    order = np.argsort(edges[:, 1], kind="stable")
    starts = np.searchsorted(edges[order, 1], np.arange(len(letters) + 1))
    for number, ranges in enumerate(letters):
        these = order[starts[number] : starts[number + 1]]
        if ranges[-1][1] <= _LAST_ASCII:
            for low, high in ranges:
                builder.edges(sources[these], low, high, targets[these])
        else:
            for source, target in zip(
                sources[these].tolist(), targets[these].tolist(), strict=True
            ):
                _write_set(builder, ranges, source, target)
    builder.epsilons(first + ends, END)


def _write_set(builder: NfaBuilder, letters: Ranges, source: int, target: int) -> None:
    """Add edges that read one character of a set."""
    *inner, begin = enumerate(character_machine(letters).edges)
    states = {0: target} | {node: builder.new_state() for node, _ in inner if node}
    states[begin[0]] = source
    for node, row in (*inner, begin):
        for low, high, there in row:
            builder.edge(states[node], low, high, states[there])


def _write_subsequence(builder: NfaBuilder, parts: Sequence[Nfa]) -> None:
    """Add a delimiter and items; before each item two states: none taken yet, and some taken."""
    delimiter, *items = parts
    none, some = BEGIN, -1
    for item in items:
        begin, end = _copy(builder, item)
        builder.epsilon(none, begin)
        if some >= 0:
            before, behind = _copy(builder, delimiter)
            builder.epsilon(some, before)
            builder.epsilon(behind, begin)
        none_next, some_next = builder.new_state(), builder.new_state()
        builder.epsilon(none, none_next)
        builder.epsilon(end, some_next)
        if some >= 0:
            builder.epsilon(some, some_next)
        none, some = none_next, some_next
    builder.epsilon(some, END)


def _copy(builder: NfaBuilder, nfa: Nfa) -> tuple[int, int]:
    """Add a copy of an automaton; return its initial state and a new final state."""
    offset = len(builder)
    for _ in range(len(nfa)):
        builder.new_state()
    for source, row in enumerate(nfa.edges, offset):
        for low, high, target in row:
            builder.edge(source, low, high, target + offset)
    for source, targets in enumerate(nfa.epsilons, offset):
        for target in targets:
            builder.epsilon(source, target + offset)
    end = builder.new_state()
    for final in nfa.finals:
        builder.epsilon(final + offset, end)
    return nfa.initial + offset, end


def thompson(regex: Regex, limits: Limits = LIMITS) -> Nfa:
    """The Nfa of a regex: one initial and one final state, counted repetitions unrolled.

    Cost:   states linear in the unrolled regex; a character needs the nodes of its set.
    Raises: LimitError if unrolling needs more than ``limits.unrolled`` states, before any is built.
    Source: Thompson 1968, "Regular expression search algorithm", with the ε-edges of
            concatenation and alternation left out as in McNaughton & Yamada 1960.
    """
    program = Program()
    add(program, regex, limits)
    code, data = program.arrays()
    check_size(code, data, [0], limits)
    return program_nfa(code, data)


def add(program: Program, regex: Regex, limits: Limits = LIMITS) -> None:
    """Add a regex to a program.

    Raises: LimitError for an extension that is too large.
    """
    match regex:
        case Characters():
            program.characters(regex.ranges)
        case Concat():
            parts = regex.parts
            program.code += (SEQUENCE, len(parts), 0)
            for part in parts:
                add(program, part, limits)
        case Repeat():
            part, low, high = simple_repeat(regex)
            program.code += (REPEAT, low, -1 if high is None else high)
            add(program, part, limits)
        case Group():
            add(program, regex.part, limits)
        case Alternate():
            program.code += (CHOICE, len(regex.options), 0)
            for option in regex.options:
                add(program, option, limits)
        case Bytes():
            program.one_byte(regex.ranges)
        case Extension():
            program.nfa(extension_nfa(regex, thompson, limits))
        case Machine():
            program.nfa(nfa_of_dfa(regex.dfa, regex.plain))
