"""Counting: from so many to so many copies in, rules of blocks of copies out.

A machine that counts to 65,535 has a state for each of them; for characters of a string, which are
spelled in many ways, twenty. Counting by blocks takes a hundredth: a block is a rule, and how many
there were is where it is called from. Of many blocks there are blocks again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from workbench.source import Span
from workbench.syntax.grammar_tree import Choice, Expression, Nonterminal, Repetition, Sequence

#: Copies in a block. Tried on strings of up to 65,535 characters: 32 takes fewer states (4,600, not
#: 6,100) and more calls (a machine in 2.6 ms, not 0.9); 128 and 256 more states and no less time.
BLOCK = 64
#: Bounds up to here are counted one by one.
FEW = 256


@dataclass(frozen=True, slots=True)
class Counting:
    """What is counted, and the names of its blocks."""

    #: The expression of so many to so many copies, without end for None.
    copies: Callable[[int, int | None], Expression]
    #: The name of the rule of ``BLOCK ** level`` copies, level 1 or more.
    block: Callable[[int], str]
    span: Span

    def body(self, level: int) -> Expression:
        """The body of the rule of a block."""
        if level == 1:
            return self.copies(BLOCK, BLOCK)
        return Sequence(tuple(self._blocks(BLOCK, BLOCK, level - 1)), self.span)

    def counted(self, low: int, high: int | None) -> list[Expression]:
        """``low`` to ``high`` copies one after the other.

        At any place there are few ways to go on, two for each size of blocks: the block that is
        begun is full, or the text ends in it.
        """
        if high is None:
            return [*self._exactly(low), self.copies(0, None)]
        return [*self._exactly(low), *self._at_most(high - low, _level(high - low))]

    def _exactly(self, count: int) -> list[Expression]:
        blocks, rest = divmod(count, BLOCK)
        found: list[Expression] = [self.copies(rest, rest)] if rest else []
        level = 1
        while blocks:
            blocks, rest = divmod(blocks, BLOCK)
            found += self._blocks(rest, rest, level)
            level += 1
        return found

    def _at_most(self, count: int, level: int) -> list[Expression]:
        """A rest that no block holds comes first; then blocks, the last of which may end early."""
        if level == 0:
            return [self.copies(0, count)] if count else []
        size = BLOCK**level
        blocks, rest = divmod(count, size)
        if not blocks:
            return self._at_most(count, level - 1)
        many = [*self._blocks(0, blocks - 1, level), *self._at_most(size, level - 1)]
        if not rest:
            return many
        less = Sequence(tuple(self._at_most(rest - 1, level - 1)), self.span)
        return [Choice((less, Sequence((*self._exactly(rest), *many), self.span)), self.span)]

    def _blocks(self, low: int, high: int, level: int) -> list[Expression]:
        """``low`` to ``high`` blocks, the first apart: what is called once is written in."""
        if not high:
            return []
        call = Nonterminal(self.block(level), self.span)
        further = (Repetition(call, max(low - 1, 0), high - 1, self.span),) if high > 1 else ()
        row = Sequence((call, *further), self.span)
        return [row if low else Repetition(row, 0, 1, self.span)]


def _level(count: int) -> int:
    """The largest blocks of which there are some."""
    level = 0
    while BLOCK ** (level + 1) <= count:
        level += 1
    return level
