"""Follows a run in the grammar's text: tokens become the pieces of text that read them.

For notations whose rules have no separate lines: a schema, a dataclass, a regex. Elsewhere the
lines of the rules being read are enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from workbench.errors import LimitError
from workbench.grammar import Grammar
from workbench.pushdown.places import Places
from workbench.source import Span

#: Pieces that are reported at most; more would be the whole text.
_MOST = 40


class ReadIn:
    """Follows a generation in the text of a grammar, token by token."""

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar
        self._taken = b""
        self._lost = grammar.tree is not None and not grammar.notation.is_translated

    @cached_property
    def _places(self) -> Places:
        """A separate copy that continues where the last token of this run ended."""
        grammar = self._grammar
        if grammar.tree is None:
            assert grammar.regex is not None, "made from the one or the other"
            return Places.of_regex(grammar.regex, grammar.limits)
        return Places.of_grammar(grammar.tree, grammar.start, grammar.limits)

    def take(self, token: bytes) -> tuple[Span, ...]:
        """The pieces that could read before this token; none from where the text has left them.

        Cost: some 10 µs a byte for a regex, up to 50 for rules.
        """
        if self._lost:
            return ()
        try:
            here = self._places.after(self._taken, self._grammar.limits)
        except LimitError:
            here = None
        self._taken += token
        if here is None:
            self._lost = True
            return ()
        return innermost([place.span for place in here.places[:_MOST]])


def innermost(spans: Sequence[Span]) -> tuple[Span, ...]:
    """Those inside which no other is: an object is not marked where one of its values is read."""
    each = dict.fromkeys(spans)
    return tuple(
        outer
        for outer in each
        if not any(
            inner != outer and outer.start <= inner.start and inner.end <= outer.end
            for inner in each
        )
    )
