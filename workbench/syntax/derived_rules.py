"""Rules that a parser adds: large counted repetitions, and substrings in chunks.

The texts are the same and so are the ways to read one: how many blocks of each size there are is
decided by how many copies there are.

``%regex`` of llguidance and ``Substring()`` of xgrammar: any chunks that stand beside each other,
joined; none of them too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from collections.abc import Sequence as Row

from workbench.base.source import Source, Span
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    Literal,
    Nonterminal,
    Pattern,
    Repetition,
    Rule,
    Sequence,
    Stop,
    Substrings,
)
from workbench.syntax.regex.tree import Concat, Regex, Repeat

#: So many copies are left to be written out; a machine of them is made in a quarter of a second.
LARGE = 4_096
#: How a regex begins that has flags.
_FLAGS = re.compile(r"\(\?[imsx]+:")


class Counting:
    """Rules for large counts, with names from whoever knows which are free."""

    def __init__(self, fresh: Callable[[str], str]) -> None:
        self.fresh = fresh
        self.rules: list[Rule] = []

    def repetition(self, item: Expression, low: int, high: int | None, span: Span) -> Expression:
        """From ``low`` to ``high`` copies of an item."""
        if max(low, high or 0) <= LARGE:
            return Repetition(item, low, high, span)
        one = self._rule("copy", item, span)
        blocks = [one]  # 1, 2, 4 … copies
        while 2 ** len(blocks) <= max(low, high or 0):
            half = blocks[-1]
            name = f"copies_{2 ** len(blocks)}"
            blocks.append(self._rule(name, Sequence((half, half), span), span))
        parts = [block for size, block in enumerate(blocks) if low >> size & 1][::-1]
        if high is None:
            parts.append(Repetition(one, 0, None, span))
        elif high > low:
            parts.append(self._up_to(high - low, blocks, span))
        return Sequence(tuple(parts), span)

    def _up_to(self, most: int, blocks: list[Expression], span: Span) -> Expression:
        """At most so many copies."""
        nothing = Sequence((), span)
        #: Fewer than 1, 2, 4 … copies.
        fewer: list[Expression] = [nothing]
        while 2 ** len(fewer) <= most:
            size = len(fewer)
            less = fewer[-1]
            body = Choice((less, Sequence((blocks[size - 1], less), span)), span)
            fewer.append(self._rule(f"copies_below_{2**size}", body, span))
        # a number of copies up to ``most`` has its bits up to some place, and a smaller one there
        whole: Expression = nothing
        for size in range(len(fewer)):
            if most >> size & 1:
                more = Sequence((blocks[size], whole), span)
                whole = Choice((fewer[size], more), span)
        return whole

    def _rule(self, base: str, body: Expression, span: Span) -> Expression:
        name = self.fresh(base)
        self.rules.append(Rule(name, body, span, span))
        return Nonterminal(name, span)

    def pattern(self, pattern: Pattern, text: Callable[[Span], str]) -> Expression:
        """A regex, cut beside its large counts; ``text`` says how a part of it is written."""
        regex = pattern.regex
        parts = regex.parts if isinstance(regex, Concat) else (regex,)
        if pattern.stop is not Stop.ANYWHERE or not any(map(_is_large, parts)):
            return pattern
        items: list[Expression] = []
        held: list[Regex] = []

        def leaf(*some: Regex) -> Pattern:
            span = some[0].span.to(some[-1].span)
            node = some[0] if len(some) == 1 else Concat(some, span)
            return Pattern(node, Stop.ANYWHERE, text(span), span)

        for part in (*parts, None):
            if part is not None and not _is_large(part):
                held.append(part)
                continue
            if held:
                items.append(leaf(*held))
                held = []
            if isinstance(part, Repeat):
                items.append(self.repetition(leaf(part.part), part.low, part.high, part.span))
        return Sequence(tuple(items), pattern.span)


def written_parts(source: Source, pattern: Pattern) -> Callable[[Span], str]:
    """How a part of a regex is written, under the flags of the whole."""
    flags = _FLAGS.match(pattern.text)
    opening, closing = (flags[0], ")") if flags else ("", "")
    return lambda span: f"{opening}{source.text[span.start : span.end]}{closing}"


def _is_large(part: Regex) -> bool:
    return isinstance(part, Repeat) and max(part.low, part.high or 0) > LARGE


_WORDS = re.compile(r"\w+|\s+|[^\w\s]+")


def words(text: str) -> tuple[str, ...]:
    """Words, white space and what stands between, as ``substring_words`` has them."""
    return tuple(_WORDS.findall(text))


def pieces(chunks: Row[str], name: str, span: Span) -> tuple[Expression, tuple[Rule, ...]]:
    """The pieces as an expression, and the rules it calls; their names begin with ``name``.

    Characters that are a byte each are a ``Substrings`` leaf. Else there is a rule for every
    place in the row: what begins there is nothing, or its chunk and what begins at the next.
    """
    chunks = [chunk for chunk in chunks if chunk]
    if all(len(chunk) == 1 and chunk.isascii() for chunk in chunks):
        return Substrings("".join(chunks).encode(), span), ()
    nothing = Sequence((), span)
    names = [f"{name}_{number}" for number in range(1, len(chunks) + 1)]
    rules = []
    for number, (its_name, chunk) in enumerate(zip(names, chunks, strict=True), 1):
        here: Expression = Literal(chunk.encode(), span)
        if number < len(chunks):
            rest = Choice((nothing, Nonterminal(names[number], span)), span)
            here = Sequence((here, rest), span)
        rules.append(Rule(its_name, here, span, span))
    calls = tuple(Nonterminal(name, span) for name in names)
    return Choice((nothing, *calls), span), tuple(rules)
