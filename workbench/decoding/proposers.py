"""Proposers: guesses for ``Speculating``; traces or a constraint come in, likely tokens go out."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from workbench.constraint.automaton import AutomatonConstraint
from workbench.constraint.labelled import Labelled
from workbench.constraint.protocol import Constraint, State
from workbench.constraint.stack import StackConstraint
from workbench.decoding.trace import Trace
from workbench.vocabulary.vocabulary import TokenId

#: What a state is counted under.
Key = Callable[[State], Hashable]


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """The token chosen most often where the constraint stood alike: P(l | α, β), frozen.

    For the constraint it was learnt under: keys of another mean nothing.

    Source: Beurer-Kellner et al. 2024 (DOMINO), §3.6.
    """

    key: Key
    #: The likeliest token and its share, by the state's key and up to ``memory`` tokens before.
    likeliest: Mapping[tuple[Hashable, tuple[TokenId, ...]], tuple[TokenId, float]]
    memory: int

    @staticmethod
    def learnt(constraint: Constraint, traces: Iterable[Trace], memory: int = 4) -> Counts:
        """The counts of some runs under this constraint.

        ``memory``  so many tokens before are told apart too, and fewer where these were never met
                    together; the paper has none (0).
        """
        key = standing(constraint)
        seen: defaultdict[tuple[Hashable, tuple[TokenId, ...]], Counter[TokenId]]
        seen = defaultdict(Counter)
        for trace in traces:
            ids = trace.token_ids
            for place, step in enumerate(trace.steps):
                where = key(step.state)
                for begin in range(max(0, place - memory), place + 1):
                    seen[where, tuple(ids[begin:place])][step.token_id] += 1
        shares = {
            where: (chosen.most_common(1)[0][0], chosen.most_common(1)[0][1] / chosen.total())
            for where, chosen in seen.items()
        }
        return Counts(key, shares, memory)

    def propose(
        self, constraint: Constraint, state: State, taken: Sequence[TokenId]
    ) -> tuple[TokenId, float] | None:
        """As ``Proposer`` says."""
        where, end = self.key(state), len(taken)
        for begin in range(max(0, end - self.memory), end + 1):
            known = self.likeliest.get((where, tuple(taken[begin:end])))
            if known is not None:
                return known
        return None


class Forced:
    """The longest token of the bytes that every accepted text goes on with.

    The text is certain, how the model spells it is not: a guess like any other, and needs no runs
    to learn from. Grammars that allow white space between lexemes force little.
    """

    def __init__(self) -> None:
        self._constraint: Constraint | None = None
        #: The forced bytes of states of this constraint, so far.
        self._known: dict[State, bytes] = {}

    def propose(
        self, constraint: Constraint, state: State, taken: Sequence[TokenId]
    ) -> tuple[TokenId, float] | None:
        """As ``Proposer`` says."""
        if self._constraint is not constraint:
            self._constraint, self._known = constraint, {}
        data = self._known.get(state)
        if data is None:
            data = self._known[state] = self._forced(constraint, state)
        token_id = constraint.vocabulary.longest_at(data, 0)
        return None if token_id is None else (token_id, 1.0)

    @staticmethod
    def _forced(constraint: Constraint, state: State) -> bytes:
        if isinstance(constraint, AutomatonConstraint | Labelled):
            # no token reaches further
            return constraint.forced(state, constraint.vocabulary.longest)
        return constraint.forced(state)


def standing(constraint: Constraint) -> Key:
    """What of a state is likely to be met again: (α, β), the subterminal and the parser's substate.

    Of a ``StackConstraint`` α are the states of its automata and β the places that wait for them
    to return, one deep. Without a stack α is all there is.
    """
    from workbench.constraint.inserting import Inserting  # it reads merge tables

    if isinstance(constraint, Inserting):
        exact = standing(constraint.exact)
        return lambda state: (exact(state[0]), *state[1:])
    if isinstance(constraint, Labelled):
        return standing(constraint.signed)
    if isinstance(constraint, StackConstraint):
        runner = constraint.runner

        def tops(state: State) -> Hashable:
            configurations = runner.configurations(state)
            return frozenset((at, next(runner.unstack(node), None)) for at, node in configurations)

        return tops
    subterminal = getattr(constraint, "subterminal", None)
    substate = getattr(constraint, "parser_substate", None)
    if subterminal is None or substate is None:
        return lambda state: state
    return lambda state: (subterminal(state), substate(state))
