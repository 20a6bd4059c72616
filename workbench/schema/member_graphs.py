"""Writes a graph over the members of an object or array as rules.

Such a graph counts members or records which ones have occurred; its edges read a member or skip
an optional one. Each called state becomes a rule that ends in a call of the next one. The
automaton builder turns these tail calls into edges, so the result has the size of the graph and
no stack.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable, Iterable, Mapping, Set
from typing import Generic, Protocol, TypeVar

from workbench.automata import graphs
from workbench.base.source import Span
from workbench.schema.schema_reader import Node
from workbench.schema.write_values import RuleWriter, optional
from workbench.syntax.grammar_tree import Expression, Nonterminal, Repetition, choice, sequence

State = TypeVar("State", bound=Hashable)


class MemberGraph(Protocol[State]):
    """The interface of a graph."""

    def edges(self, state: State) -> Iterable[tuple[Expression | None, State]]:
        """The edges of a state: the expression read (None: nothing) and the target, in order."""

    def is_final(self, state: State) -> bool:
        """Whether the members may end in a state."""

    def name_of(self, state: State) -> str:
        """The preferred name of the rule of a state."""


def write_graph(
    graph: MemberGraph[State], start: State, writer: RuleWriter, owner: Node
) -> tuple[Expression | None, bool]:
    """The expression read from the start, None if none; and whether the members may end there.

    No edge may lead to the start. Writes the rules of called states, with the span of ``owner``.

    Raises: BuildError if there are too many states; LimitError.
    """
    edges: dict[State, list[tuple[Expression | None, State]]] = {}
    waiting = deque([start])
    while waiting:
        state = waiting.popleft()
        if state not in edges:
            writer.count_state(owner)
            edges[state] = [*graph.edges(state)]
            waiting += [target for _, target in edges[state]]
    finals = {state for state in edges if graph.is_final(state)}
    return _GraphWriter(graph, edges, finals, writer, owner.span).start(start)


def _alive(
    edges: Mapping[State, list[tuple[Expression | None, State]]], finals: Set[State]
) -> set[State]:
    """The co-accessible states: those from which a final one is reachable."""
    pairs = ((source, target) for source, outgoing in edges.items() for _, target in outgoing)
    return set(graphs.coreachable(finals, pairs))


def _after_skips(
    edges: Mapping[State, list[tuple[Expression | None, State]]], finals: Set[State], state: State
) -> State:
    """The first state after a chain of states whose only edge skips a member."""
    while state not in finals and len(outgoing := edges[state]) == 1 and outgoing[0][0] is None:
        state = outgoing[0][1]
    return state


class _GraphWriter(Generic[State]):
    """Writes the rules of a graph."""

    def __init__(
        self,
        graph: MemberGraph[State],
        edges: Mapping[State, list[tuple[Expression | None, State]]],
        finals: Set[State],
        writer: RuleWriter,
        span: Span,
    ) -> None:
        self._graph = graph
        self._finals = finals
        self._writer = writer
        self._span = span
        alive = _alive(edges, finals)
        living = {
            state: [(read, target) for read, target in outgoing if target in alive]
            for state, outgoing in edges.items()
            if state in alive
        }
        self._edges = {
            state: [(read, _after_skips(living, finals, target)) for read, target in outgoing]
            for state, outgoing in living.items()
        }
        self._in_degree = Counter(
            target for state, its in self._edges.items() for _, target in its if target != state
        )
        self._rules: dict[State, str] = {}
        self._waiting: list[State] = []

    def start(self, state: State) -> tuple[Expression | None, bool]:
        """The expression read from the start, and whether the members may end there."""
        options, may_end = self._options(state) if state in self._edges else ([], False)
        while self._waiting:
            self._writer.clock.check()
            called = self._waiting.pop()
            self._writer.rule(self._rules[called], self._body(called), self._span)
        return choice(options, self._span) if options else None, may_end

    def _options(self, state: State) -> tuple[list[Expression], bool]:
        """The alternatives after a state, and whether the members may end in it.

        A state with a single incoming edge, which skips, and without a loop is inlined.
        """
        options: list[Expression] = []
        may_end, waiting = False, [state]
        while waiting:
            current = waiting.pop()
            may_end |= current in self._finals
            edges = [(read, target) for read, target in self._edges[current] if target != current]
            read_to = {target for read, target in edges if read is not None}
            skipped_to = {target for read, target in edges if read is None}
            for read, target in edges:
                if read is not None:
                    first = optional(read, self._span) if target in skipped_to else read
                    options.append(sequence([first, *self._call(target)], self._span))
                elif self._in_degree[target] == 1 and not self._loops(target):
                    waiting.append(target)
                elif target not in read_to:
                    row = self._call(target)
                    options += row
                    may_end |= not row
        return options, may_end

    def _call(self, state: State) -> list[Expression]:
        """A state at the end of a sequence: a call of its rule, or its loop, or nothing."""
        if any(target != state for _, target in self._edges[state]):
            if state not in self._rules:
                self._rules[state] = self._writer.new_name(self._graph.name_of(state))
                self._waiting.append(state)
            return [Nonterminal(self._rules[state], self._span)]
        return self._loops(state)

    def _loops(self, state: State) -> list[Expression]:
        """Any number of the members that do not change the state."""
        loops = [read for read, target in self._edges[state] if target == state and read]
        return [Repetition(choice(loops, self._span), 0, None, self._span)] if loops else []

    def _body(self, state: State) -> Expression:
        """The body of a state's rule."""
        options, may_end = self._options(state)
        rest = choice(options, self._span)
        rest = optional(rest, self._span) if may_end else rest
        return sequence([*self._loops(state), rest], self._span)
