"""Rules that a parser adds: large counted repetitions, substrings.

``CountRules`` replaces a large count by rules for 1, 2, 4 … copies. The language does not change,
nor does the number of derivations: the number of copies decides which blocks are used.

``substring_rules`` is ``%regex`` of llguidance and ``Substring()`` of xgrammar: any contiguous run
of chunks, the empty one included.
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

#: The most copies that are unrolled; their automaton takes a quarter of a second.
MAX_UNROLLED = 4_096
#: The beginning of a regex with flags.
_FLAGS = re.compile(r"\(\?[imsx]+:")


class CountRules:
    """Creates the rules for large counts; ``fresh`` returns unused rule names.

    Counts up to ``unrolled`` (by default ``MAX_UNROLLED``) stay repetitions.
    """

    def __init__(self, fresh: Callable[[str], str], unrolled: int | None = None) -> None:
        self.fresh = fresh
        self.unrolled = MAX_UNROLLED if unrolled is None else unrolled
        self.rules: list[Rule] = []

    def repetition(self, item: Expression, low: int, high: int | None, span: Span) -> Expression:
        """From ``low`` to ``high`` copies of an item."""
        if max(low, high or 0) <= self.unrolled:
            return Repetition(item, low, high, span)
        copy = self._rule("copy", item, span)
        blocks = [copy]  # 1, 2, 4 … copies
        while 2 ** len(blocks) <= max(low, high or 0):
            half = blocks[-1]
            name = f"copies_{2 ** len(blocks)}"
            blocks.append(self._rule(name, Sequence((half, half), span), span))
        parts = [block for size, block in enumerate(blocks) if low >> size & 1][::-1]
        if high is None:
            parts.append(Repetition(copy, 0, None, span))
        elif high > low:
            parts.append(self._up_to(high - low, blocks, span))
        return Sequence(tuple(parts), span)

    def _up_to(self, most: int, blocks: list[Expression], span: Span) -> Expression:
        """At most ``most`` copies."""
        nothing = Sequence((), span)
        #: Fewer than 1, 2, 4 … copies.
        fewer: list[Expression] = [nothing]
        while 2 ** len(fewer) <= most:
            size = len(fewer)
            less = fewer[-1]
            body = Choice((less, Sequence((blocks[size - 1], less), span)), span)
            fewer.append(self._rule(f"copies_below_{2**size}", body, span))
        # a number up to ``most`` agrees with it in the bits above some bit, and is smaller there
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
        """A regex split before and after its large counts; ``text`` returns the text of a part."""
        regex = pattern.regex
        parts = regex.parts if isinstance(regex, Concat) else (regex,)
        if pattern.stop is not Stop.ANYWHERE or not any(map(_is_large, parts)):
            return pattern
        items: list[Expression] = []
        pending: list[Regex] = []

        def leaf(*some: Regex) -> Pattern:
            span = some[0].span.to(some[-1].span)
            node = some[0] if len(some) == 1 else Concat(some, span)
            return Pattern(node, Stop.ANYWHERE, text(span), span)

        for part in (*parts, None):
            if part is not None and not _is_large(part):
                pending.append(part)
                continue
            if pending:
                items.append(leaf(*pending))
                pending = []
            if isinstance(part, Repeat):
                items.append(self.repetition(leaf(part.part), part.low, part.high, part.span))
        return Sequence(tuple(items), pattern.span)


def written_parts(source: Source, pattern: Pattern) -> Callable[[Span], str]:
    """A function that returns the text of a part of a regex, with the flags of the whole."""
    flags = _FLAGS.match(pattern.text)
    opening, closing = (flags[0], ")") if flags else ("", "")
    return lambda span: f"{opening}{source.text[span.start : span.end]}{closing}"


def _is_large(part: Regex) -> bool:
    return isinstance(part, Repeat) and max(part.low, part.high or 0) > MAX_UNROLLED


_WORDS = re.compile(r"\w+|\s+|[^\w\s]+")


def words(text: str) -> tuple[str, ...]:
    """Words, white space and punctuation, as in ``substring_words`` of llguidance."""
    return tuple(_WORDS.findall(text))


def substring_rules(chunks: Row[str], name: str, span: Span) -> tuple[Expression, tuple[Rule, ...]]:
    """The contiguous runs of chunks as an expression, and its rules, named after ``name``.

    Chunks of one ASCII character each become a ``Substrings`` leaf. Otherwise each chunk has a
    rule: the chunk, then nothing or the rule of the next chunk.
    """
    chunks = [chunk for chunk in chunks if chunk]
    if all(len(chunk) == 1 and chunk.isascii() for chunk in chunks):
        return Substrings("".join(chunks).encode(), span), ()
    nothing = Sequence((), span)
    names = [f"{name}_{number}" for number in range(1, len(chunks) + 1)]
    rules = []
    for number, (its_name, chunk) in enumerate(zip(names, chunks, strict=True), 1):
        run: Expression = Literal(chunk.encode(), span)
        if number < len(chunks):
            rest = Choice((nothing, Nonterminal(names[number], span)), span)
            run = Sequence((run, rest), span)
        rules.append(Rule(its_name, run, span, span))
    calls = tuple(Nonterminal(name, span) for name in names)
    return Choice((nothing, *calls), span), tuple(rules)
