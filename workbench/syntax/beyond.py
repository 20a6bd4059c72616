"""Beyond: what a notation says that needs machines or schemas, asked of whoever can make them.

Syntax knows neither. The floor that reads texts in every notation hands in one who does; without
one, such parts of a grammar are refused by their names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from workbench.source import Source
from workbench.syntax.grammar_tree import Expression, GrammarTree

if TYPE_CHECKING:
    from workbench.automata.dfa import Dfa

#: The rules that expressions call, by name.
Rules = Mapping[str, Expression]


class Beyond(Protocol):
    """Operations on the texts of expressions; none of the rules they call needs a stack.

    Raises: BuildError where one does; LimitError.
    """

    def both(self, parts: Sequence[Expression], rules: Rules) -> Dfa:
        """The texts of all the parts."""
        ...

    def but(self, whole: Expression | None, part: Expression, rules: Rules) -> Dfa:
        """The texts of the whole, or all texts, that are none of the part."""
        ...

    def shortest(self, part: Expression, rules: Rules) -> Dfa:
        """The texts of a part no shorter beginning of which is one."""
        ...

    def at_most(self, part: Expression, characters: int, rules: Rules) -> Dfa:
        """The texts of a part that have no more characters."""
        ...

    def schema(self, source: Source) -> GrammarTree:
        """The rules of a JSON Schema, whose start is ``start``.

        Raises: ParseError, BuildError.
        """
        ...
