"""The method ``pre3``: a deterministic push-down automaton with edges that look down the stack.

An LR parser reads a terminal after any number of reductions, each of which pops states and looks
up the state below: a loop at every step. Here the loop runs in advance. From a state at the top
of the stack the reductions before a terminal are followed symbolically; where one pops more than
is known, every state that can be below is tried. The result is a *prefix-conditioned edge*: if
the top of the stack equals this sequence, replace it by that one. For one terminal no condition
is a part of another, so at most one edge fits a stack: the automaton is deterministic, and
reading a terminal is one lookup.

A right-recursive rule is reduced once for each time it was entered: its edges would have no end.
A reduction that leads to the same known states again becomes an edge that reads nothing, and the
lookup is repeated (a cycle in the paper's terms).

The paper builds LR(1) tables; those here are LALR(1), over terminals, and the tokens of the model
are read as the sequences of terminals of the token spanner table.

Source: Chen et al. 2025 (Pre³).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from workbench.base.cached_property import cached_property
from workbench.base.dfa import State
from workbench.base.limits import LIMITS, Limits
from workbench.constraint.methods.lalr import END_OF_TEXT, LrTable, Reduction, Stack
from workbench.constraint.methods.lexer_tables import SpannerConstraint, reached
from workbench.constraint.token_by_token import Precomputed
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class PrefixEdge:
    """An edge of the automaton, for one terminal.

    ``condition`` are the states at the top of the stack, the top last; ``replacement`` is what
    takes their place.
    """

    condition: tuple[int, ...]
    replacement: tuple[int, ...]
    #: Whether the terminal is read; otherwise the edge only reduces.
    reads: bool


#: By the length of a condition, then by the condition: the edges of one state and terminal.
Conditions = Mapping[int, Mapping[tuple[int, ...], PrefixEdge]]


class PrefixMachine:
    """The deterministic automaton of an LR table.

    Raises: LimitError past ``limits.states`` edges of one state and terminal.
    """

    def __init__(self, table: LrTable, limits: Limits = LIMITS) -> None:
        self.table, self._limits = table, limits
        self._edges: dict[tuple[int, int], Conditions] = {}

    def edges(self, top: int, terminal: int) -> list[PrefixEdge]:
        """The edges of a state for a terminal, short conditions first."""
        conditions = self._conditions(top, terminal)
        return [edge for length in conditions for edge in conditions[length].values()]

    def _conditions(self, top: int, terminal: int) -> Conditions:
        cached = self._edges.get((top, terminal))
        if cached is None:
            by_length: dict[int, dict[tuple[int, ...], PrefixEdge]] = {}
            for count, edge in enumerate(self._follow(top, terminal), 1):
                self._limits.check("states", count, "the parser's reductions branch too much")
                by_length.setdefault(len(edge.condition), {})[edge.condition] = edge
            cached = self._edges[top, terminal] = dict(sorted(by_length.items()))
        return cached

    def _follow(self, top: int, terminal: int) -> Iterator[PrefixEdge]:
        """Follow the reductions before a terminal, with a branch for each state below."""
        table = self.table
        begin: tuple[int, ...] = (top,)
        waiting = [(begin, begin, frozenset[tuple[int, ...]]())]
        while waiting:
            condition, states, seen = waiting.pop()
            action = table.actions[states[-1]].get(terminal)
            if terminal == END_OF_TEXT and states[-1] == table.end:
                yield PrefixEdge(condition, states, reads=True)
            elif isinstance(action, int):
                yield PrefixEdge(condition, (*states, action), reads=True)
            elif action is not None and len(states) > action.size:
                reduced = _reduce(table, states, action)
                if reduced in seen:
                    yield PrefixEdge(condition, reduced, reads=False)
                else:
                    waiting.append((condition, reduced, seen | {reduced}))
            elif action is not None:
                for below in table.predecessors[states[0]]:
                    waiting.append(((below, *condition), (below, *states), seen))

    def fitting(self, stack: Stack, terminal: int) -> PrefixEdge | None:
        """The only edge whose condition is the top of the stack; None if no edge fits."""
        for length, conditions in self._conditions(stack[-1], terminal).items():
            if length <= len(stack):
                edge = conditions.get(stack[len(stack) - length :])
                if edge is not None:
                    return edge
        return None

    def step(self, stack: Stack, terminal: int) -> Stack | None:
        """The stack after a terminal; None if it is refused."""
        while (edge := self.fitting(stack, terminal)) is not None:
            stack = (*stack[: len(stack) - len(edge.condition)], *edge.replacement)
            if edge.reads:
                return stack
        return None

    @cached_property
    def every(self) -> tuple[tuple[int, int, PrefixEdge], ...]:
        """All edges, each with the top of its condition and its terminal."""
        return tuple(
            (top, terminal, edge)
            for top, row in self.table.actions.items()
            for terminal in row
            for edge in self.edges(top, terminal)
        )


def _reduce(table: LrTable, states: tuple[int, ...], by: Reduction) -> tuple[int, ...]:
    below = states[: len(states) - by.size]
    return (*below, table.gotos[below[-1]][by.nonterminal])


class Pre3Constraint(SpannerConstraint):
    """The sequences of terminals of tokens, read by the deterministic automaton."""

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary, limits: Limits = LIMITS) -> None:
        super().__init__(grammar, vocabulary, limits)
        self.machine = PrefixMachine(self.table, limits)

    def nodes(self, lexer_state: State, stack: Stack) -> list[int]:
        tree = self.trees.get(lexer_state)
        if tree is None:
            return []
        return [node for node, _ in reached(tree, self.machine.step, stack)]

    def precompute(self) -> Precomputed:
        """Make all edges."""
        edges = [edge for _, _, edge in self.machine.every]
        states = sum(len(edge.condition) + len(edge.replacement) for edge in edges)
        trees = sum(4 * len(tree.tokens) for tree in self.trees.each.values())
        return Precomputed(len(edges), 4 * states + trees)
