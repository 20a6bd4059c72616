"""Graphs: what has to be counted or remembered along a row of members, written as rules.

In comes a small graph whose edges read members or skip them; out comes a rule for every state that
has more than one way in. Each rule ends in the call of the next one, which the machine's builder
makes a jump of: the whole is as large as the graph, and needs no stack.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Set
from typing import Generic, Protocol, TypeVar

from workbench.base.source import Span
from workbench.schema.schema_reader import Node
from workbench.schema.write_values import RuleWriter, choice, optional, sequence
from workbench.syntax.grammar_tree import Expression, Nonterminal, Repetition

State = TypeVar("State", bound=Hashable)


class MemberGraph(Protocol[State]):
    """What is asked of a graph."""

    def edges(self, state: State) -> Iterable[tuple[Expression | None, State]]:
        """What the edges of a state read (None: nothing) and where they lead, in written order."""

    def is_final(self, state: State) -> bool:
        """Whether the row may end in a state."""

    def name_of(self, state: State) -> str:
        """What the rule of a state is called, if that is free."""


def write_graph(
    graph: MemberGraph[State], start: State, writer: RuleWriter, owner: Node
) -> tuple[Expression | None, bool]:
    """What is read from a state that no edge leads to, None if nothing; whether it may end there.

    Writes the rules of all states that are called; ``owner`` is the place they point at.

    Raises: BuildError where there are too many; LimitError.
    """
    edges: dict[State, list[tuple[Expression | None, State]]] = {}
    waiting = [start]
    for state in waiting:  # grows while it is read
        if state not in edges:
            writer.count_state(owner)
            edges[state] = [*graph.edges(state)]
            waiting += [target for _, target in edges[state]]
    finals = {state for state in edges if graph.is_final(state)}
    return _GraphWriter(graph, edges, finals, writer, owner.span).start(start)


def _alive(
    edges: Mapping[State, list[tuple[Expression | None, State]]], finals: Set[State]
) -> set[State]:
    """The states from which a final one is reached."""
    sources: dict[State, list[State]] = {}
    for source, its in edges.items():
        for _, target in its:
            sources.setdefault(target, []).append(source)
    found = set(finals)
    waiting = list(found)
    for state in waiting:  # grows while it is read
        new = [source for source in sources.get(state, ()) if source not in found]
        found.update(new)
        waiting += new
    return found


def _skipped(
    edges: Mapping[State, list[tuple[Expression | None, State]]], finals: Set[State], state: State
) -> State:
    """The state behind those where nothing can be done but to skip."""
    while state not in finals and len(its := edges[state]) == 1 and its[0][0] is None:
        state = its[0][1]
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
            state: [(read, target) for read, target in its if target in alive]
            for state, its in edges.items()
            if state in alive
        }
        self._edges = {
            state: [(read, _skipped(living, finals, target)) for read, target in its]
            for state, its in living.items()
        }
        self._ways_in = Counter(
            target for state, its in self._edges.items() for _, target in its if target != state
        )
        self._rules: dict[State, str] = {}
        self._waiting: list[State] = []

    def start(self, state: State) -> tuple[Expression | None, bool]:
        """What is read from the start, and whether it may end there."""
        options, may_end = self._options(state) if state in self._edges else ([], False)
        while self._waiting:
            self._writer.clock.check()
            called = self._waiting.pop()
            self._writer.rule(self._rules[called], self._body(called), self._span)
        return choice(options, self._span) if options else None, may_end

    def _options(self, state: State) -> tuple[list[Expression], bool]:
        """The ways on from a state; whether it may end at once.

        A state that is only skipped to, and has no loop, is written into who skips.
        """
        options: list[Expression] = []
        may_end, waiting = False, [state]
        while waiting:
            here = waiting.pop()
            may_end |= here in self._finals
            edges = [(read, target) for read, target in self._edges[here] if target != here]
            read_to = {target for read, target in edges if read is not None}
            skipped_to = {target for read, target in edges if read is None}
            for read, target in edges:
                if read is not None:
                    both = target in skipped_to
                    row = [optional(read, self._span) if both else read, *self._call(target)]
                    options.append(sequence(row, self._span))
                elif self._ways_in[target] == 1 and not self._loops(target):
                    waiting.append(target)
                elif target not in read_to:
                    row = self._call(target)
                    options += row
                    may_end |= not row
        return options, may_end

    def _call(self, state: State) -> list[Expression]:
        """A state as the end of a row: a call of its rule, or its loop, or nothing."""
        if any(target != state for _, target in self._edges[state]):
            if state not in self._rules:
                self._rules[state] = self._writer.new_name(self._graph.name_of(state))
                self._waiting.append(state)
            return [Nonterminal(self._rules[state], self._span)]
        return self._loops(state)

    def _loops(self, state: State) -> list[Expression]:
        """The members that change nothing, any number of them."""
        loops = [read for read, target in self._edges[state] if target == state and read]
        return [Repetition(choice(loops, self._span), 0, None, self._span)] if loops else []

    def _body(self, state: State) -> Expression:
        """The body of a state's rule."""
        options, may_end = self._options(state)
        rest = choice(options, self._span)
        rest = optional(rest, self._span) if may_end else rest
        return sequence([*self._loops(state), rest], self._span)
