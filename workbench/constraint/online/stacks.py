"""llama.cpp's recogniser: a set of stacks of what is still to be read, moved on by characters.

In comes a grammar, out comes a recogniser that makes no machine of it: rules are expanded as they
are met, until something that reads a character is on top of every stack.

Source: the grammars of llama.cpp (``llama_grammar_advance_stack``, ``llama_grammar_accept``). As
there left recursion is refused, for expanding it would not end. A regex is read as the rules it
stands for; terminals that say where a regex may not match have no such rules and are refused.
Beurer-Kellner et al. 2024, Table 1: minimally invasive, "up to implementation"; this one keeps to
the exact mask.
"""

from __future__ import annotations

from collections.abc import Iterable

from workbench.constraint.online.characters import ByCharacters, Range
from workbench.constraint.online.elements import EMPTY, Call, Elements, Read, Stack, Stacks
from workbench.grammar import Grammar
from workbench.limits import Limits
from workbench.syntax.ranges import intersection


class StackRecogniser(ByCharacters[frozenset[Stack]]):
    """The stacks of a grammar, expanded as they are met.

    Raises: WorkbenchError for left recursion, and for terminals that are no plain characters;
            LimitError past ``limits.configurations`` stacks at once, or ``limits.states`` in all.
    """

    def __init__(self, grammar: Grammar, limits: Limits) -> None:
        super().__init__(limits)
        self._elements = Elements(grammar)
        self._elements.refuse_left_recursion()
        self._stacks = Stacks(self._elements, limits)
        begin = self._stacks.pushed(self._elements.start, EMPTY)
        self.initial = self._expanded([begin]), b""

    def ends(self, whole: frozenset[Stack]) -> bool:
        return EMPTY in whole

    def may_read(self, whole: frozenset[Stack], characters: Range) -> frozenset[Stack] | None:
        return frozenset(s for s in whole if self._reads(s, characters)) or None

    def read(self, whole: frozenset[Stack]) -> frozenset[Stack]:
        return self._expanded(self._stacks.top(stack)[1] for stack in whole)

    def _reads(self, stack: Stack, characters: Range) -> bool:
        """Whether what is on top of a stack reads one of some characters."""
        if stack == EMPTY:
            return False
        top, _ = self._stacks.top(stack)
        assert isinstance(top, Read), "stacks are expanded"
        return bool(intersection(top.ranges, (characters,)))

    def _expanded(self, stacks: Iterable[Stack]) -> frozenset[Stack]:
        """The stacks with something that reads on top, or empty, that some stacks stand for."""
        seen = set(stacks)
        waiting = list(seen)
        found = set()
        while waiting:
            stack = waiting.pop()
            if stack == EMPTY:
                found.add(stack)
                continue
            match self._stacks.top(stack):
                case Read(), _:
                    found.add(stack)
                    continue
                case Call(rule=rule), below:
                    further = {self._stacks.pushed(self._elements.rules[rule], below)}
                case _:
                    further = set(self._stacks.taken_apart(stack))
            waiting.extend(further - seen)
            seen |= further
            self.limits.check("configurations", len(seen), "the grammar is too ambiguous here")
        return frozenset(found)
