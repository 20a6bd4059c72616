"""StackConstraint: the exact engine over a grammar network, rows shared by what they looked at.

In come a ``Network`` and a ``Vocabulary``. A row is one walk of the trie from a situation; the walk
notes the lowest place of the stack it looked at, and the row is remembered under the states and
exactly those symbols. So one row serves every depth of nesting. This is Koo's composed machine
𝒫 ∘ T_V one row at a time: a row is the set of its edges whose pop string is that piece of stack
(Koo et al. 2024, Algorithm 3).
"""

from __future__ import annotations

from workbench.automata.dfa import State
from workbench.constraint.automaton import AutomatonConstraint
from workbench.constraint.compose import cannot_spell
from workbench.constraint.dead_ends import Spelling
from workbench.constraint.marking import Marker, used_bytes
from workbench.constraint.mask import TokenMask
from workbench.limits import LIMITS, Limits
from workbench.pushdown.network import CALLS, Network
from workbench.pushdown.runner import Runner
from workbench.vocabulary.vocabulary import Vocabulary


class StackConstraint(AutomatonConstraint):
    """A context-free language over tokens; its states are situations of a ``Runner``.

    Raises: VocabularyError where the vocabulary spells no accepted text.
    """

    def __init__(self, network: Network, vocabulary: Vocabulary, limits: Limits = LIMITS) -> None:
        super().__init__(vocabulary, limits)
        self.runner = Runner(network, limits)
        self._marker = Marker(self.runner, vocabulary, limits)
        used = used_bytes(network.table, network.classes[:CALLS])
        complete = used <= vocabulary.single_bytes
        self._spelling = None if complete else Spelling(network, vocabulary, limits)
        if not self.leads_on(self.initial):
            raise cannot_spell(vocabulary)

    @property
    def initial(self) -> State:
        return self.runner.initial

    def is_final(self, state: State) -> bool:
        return self.runner.is_final(state)

    def step(self, state: State, byte: int) -> State:
        return self.runner.step(state, byte)

    def leads_on(self, state: State) -> bool:
        return self._spelling is None or any(
            self._spelling.finishes(at, self.runner.unstack(node))
            for at, node in self.runner.configurations(state)
        )

    def _computed(self, state: State) -> TokenMask:
        mask = self._of_row(self._marker, state)
        if self._spelling is None:
            return mask
        # dead ends depend on the whole stack, so these masks are not shared
        leading_on = [i for i in mask if self._reaches(state, i)]
        bits = TokenMask.of(leading_on, len(self.vocabulary)).bits.copy()
        return self._mask_of(bits, ends=self.is_final(state))

    def _reaches(self, state: State, token_id: int) -> bool:
        token = self.vocabulary.tokens[token_id]
        there = self.step_bytes(state, token) if token is not None else None
        return there is not None and self.leads_on(there)
