"""Extensions of regexes as machines: an ``Extension`` in, the states and edges of its machine out.

The machines are made of characters and written out in bytes, so they never cut one; each is linear
in what is written, which a regex of the same texts is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from workbench.automata.nfa import Nfa, NfaBuilder
from workbench.automata.utf8 import character_machine
from workbench.limits import LIMITS, Limits
from workbench.syntax.ranges import ANY_CHARACTER, difference, union
from workbench.syntax.regex_tree import Characters, Extension, Kind, Ranges, Regex

#: Where the machine ends and where it begins: the end reads nothing, the beginning is not entered
#: again.
END, BEGIN = 0, 1

_LAST_ASCII = 0x7F

#: A machine over sets of characters: for each state where each set leads.
_Edges = list[dict[Ranges, int]]


def extension_nfa(
    node: Extension, nfa_of: Callable[[Regex, Limits], Nfa], limits: Limits = LIMITS
) -> Nfa:
    """The machine of an extension; ``nfa_of`` makes those of the regexes in it.

    Cost:   states and edges linear in the characters of a text, and in the delimiters and items.
    Raises: LimitError past ``limits.states``.
    """
    builder = NfaBuilder()
    builder.new_state()
    builder.new_state()
    match node.kind:
        case Kind.SUBSTRING_OF:
            edges = suffix_automaton(_sets(node.parts))
            limits.check("states", len(edges), "shorten the text")
            _write(builder, edges, ends=range(len(edges)))
        case Kind.TEXT_UNTIL:
            limits.check("states", len(node.parts), "shorten the phrase")
            edges = until(_sets(node.parts))
            _write(builder, edges, ends=(len(edges) - 1,))
        case Kind.DELIMITED_SUBSEQUENCE_OF:
            _write_subsequence(builder, [nfa_of(part, limits) for part in node.parts])
            limits.check("states", len(builder), "leave out some of the items")
    return builder.build(BEGIN, {END})


def _sets(letters: Sequence[Regex]) -> list[Ranges]:
    return [letter.ranges for letter in letters if isinstance(letter, Characters)]


def suffix_automaton(letters: Sequence[Ranges]) -> _Edges:
    """Where each state leads by each letter; state 0 is the beginning, and every state an end.

    Cost:   at most twice as many states as letters, and three times as many edges.
    Source: Blumer & others 1985, "The smallest automaton recognizing the subwords of a text".
    """
    links, longest = [-1], [0]
    edges: _Edges = [{}]
    last = 0
    for letter in letters:
        here, new = last, len(edges)
        links.append(0)
        longest.append(longest[last] + 1)
        edges.append({})
        while here >= 0 and letter not in edges[here]:
            edges[here][letter] = new
            here = links[here]
        last = new
        if here < 0:
            continue
        there = edges[here][letter]
        if longest[there] == longest[here] + 1:
            links[new] = there
            continue
        twin = len(edges)
        links.append(links[there])
        longest.append(longest[here] + 1)
        edges.append(dict(edges[there]))
        links[there] = links[new] = twin
        while here >= 0 and edges[here].get(letter) == there:
            edges[here][letter] = twin
            here = links[here]
    return edges


def until(phrase: Sequence[Ranges]) -> _Edges:
    """Where each state leads by each letter: as many letters of the phrase as the text ends with.

    The last state is the end. What leads back to the beginning is one set a state.

    Source: Knuth, Morris & Pratt 1977, "Fast pattern matching in strings".
    """
    edges: _Edges = [{phrase[0]: 1}]
    fallen = 0  # where the text without its first letter leads
    for place in range(1, len(phrase)):
        edges.append(edges[fallen] | {phrase[place]: place + 1})
        fallen = edges[fallen].get(phrase[place], 0)
    for row in edges:
        others = difference(ANY_CHARACTER, union((), *row))
        row[others] = 0
    edges.append({})
    return edges


def _write(builder: NfaBuilder, edges: _Edges, ends: Iterator[int] | Sequence[int]) -> None:
    """Write a machine over characters in bytes."""
    # its state 0 may be entered again, so it is not where all begins
    first = len(builder)
    for _ in edges:
        builder.new_state()
    builder.epsilon(BEGIN, first)
    for state, row in enumerate(edges, first):
        for letters, target in row.items():
            if letters[-1][1] <= _LAST_ASCII:
                for low, high in letters:
                    builder.edge(state, low, high, first + target)
            else:
                _write_set(builder, letters, state, first + target)
    for state in ends:
        builder.epsilon(first + state, END)


def _write_set(builder: NfaBuilder, letters: Ranges, source: int, target: int) -> None:
    """One character out of a set."""
    *inner, begin = enumerate(character_machine(letters).edges)
    states = {0: target} | {node: builder.new_state() for node, _ in inner if node}
    states[begin[0]] = source
    for node, row in (*inner, begin):
        for low, high, there in row:
            builder.edge(states[node], low, high, states[there])


def _write_subsequence(builder: NfaBuilder, parts: Sequence[Nfa]) -> None:
    """Delimiter and items: a place before each item, once none was taken and once some was."""
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
    """A copy of a machine: where it begins, and where it ends."""
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
