"""Writer: rules → NFAs over bytes and calls, rules that need no stack written in.

In comes a ``RuleProgram`` and which rules stay calls; out comes the automaton of a rule. A call at
the end of a rule is a jump, so right recursion needs no stack.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

import numpy as np

from workbench.automata.nfa import Nfa
from workbench.automata.writing import rule_nfa
from workbench.limits import Limits
from workbench.pushdown.network import CALLS
from workbench.pushdown.rule_program import RuleProgram


class Writer:
    """Writes rules as NFAs over bytes and calls."""

    def __init__(
        self, program: RuleProgram, number: Mapping[int, int], jumps: Set[int], limits: Limits
    ) -> None:
        self._program = program
        self._symbols = CALLS + max(number.values(), default=0) + 1
        self._limits = limits
        rules = np.empty((len(program.names), 4), np.int32)
        rules[:, 0] = program.first[:-1]
        rules[:, 1] = program.texts[program.first[:-1]]
        rules[:, 2] = -1
        rules[:, 3] = 0
        for rule, its_number in number.items():
            rules[rule, 2] = CALLS + its_number
        rules[list(jumps), 3] = 1
        self._rules = rules

    def rule(self, rule: int) -> Nfa:
        """The automaton of a rule, everything that needs no stack written in.

        Raises: LimitError past ``limits.states``.
        """
        program, most = self._program, self._limits.states
        nfa = rule_nfa(
            program.code, program.data, program.texts, self._rules, rule, self._symbols, most
        )
        if nfa is None:
            self._limits.check("states", most + 1)
            raise AssertionError("the budget is overdrawn")
        return nfa
