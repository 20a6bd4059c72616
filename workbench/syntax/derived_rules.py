"""Rules that a parser adds: large counted repetitions, substrings, free text with triggers.

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
    Automaton,
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
    choice,
)
from workbench.syntax.ranges import ANY_CHARACTER
from workbench.syntax.regex.tree import Characters, Concat, Regex, Repeat
from workbench.syntax.rule_attributes import LanguageOperations

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
        here: Expression = Literal(chunk.encode(), span)
        if number < len(chunks):
            rest = Choice((nothing, Nonterminal(names[number], span)), span)
            here = Sequence((here, rest), span)
        rules.append(Rule(its_name, here, span, span))
    calls = tuple(Nonterminal(name, span) for name in names)
    return Choice((nothing, *calls), span), tuple(rules)


# -- free text ------------------------------------------------------------------------------------
# Free text that switches to a rule where a trigger occurs: ``TagDispatch``, and structural tags.
#
# Free text is read byte by byte. A text is refused as soon as its free text ends in an excluded
# text. Otherwise, where the free text ends in a trigger, the rule of the trigger follows; of
# several triggers that end at the same byte the longest one counts. So free text contains no
# trigger and no excluded text. After a rule a new free text begins.
#
# xgrammar 0.2 gives the same texts where no trigger or excluded text is inside another one. Where
# one is, its matcher misses occurrences: with the triggers ``aba`` and ``b`` it reads ``ab`` as
# free text.


#: A trigger, and what follows it.
Dispatch = tuple[bytes, Expression]


def anything(span: Span) -> Expression:
    """Any text."""
    one = Pattern(Characters(ANY_CHARACTER, span), Stop.ANYWHERE, "(?s:.)", span)
    return Repetition(one, 0, None, span)


def one_word(words: Row[bytes], span: Span) -> Expression:
    """One of some words; of none, the empty choice is not allowed."""
    return choice([Literal(word, span) for word in words], span)


def free_text(words: Row[bytes], span: Span, operations: LanguageOperations) -> Expression:
    """The texts in which none of the words occurs.

    Raises: LimitError.
    """
    any_text = anything(span)
    if not words:
        return any_text
    with_word = Sequence((any_text, one_word(words, span), any_text), span)
    return Automaton(operations.but(None, with_word, {}), "free text", span)


def text_to(
    trigger: bytes,
    triggers: Row[bytes],
    excluded: Row[bytes],
    span: Span,
    operations: LanguageOperations,
) -> Automaton:
    """The free texts with a trigger at their end, which dispatches there.

    Raises: LimitError.
    """
    any_text = anything(span)
    some = one_word([*triggers, *excluded], span)
    first = Automaton(operations.shortest(Sequence((any_text, some), span), {}), "…", span)
    ending = Sequence((any_text, Literal(trigger, span)), span)
    machine = operations.both((first, ending), {})
    # other words that are complete at the same byte and take precedence
    others = [word for word in excluded if trigger.endswith(word) or word.endswith(trigger)]
    others += [word for word in triggers if word != trigger and word.endswith(trigger)]
    label = f"free text, then {trigger.decode()!r}"
    if others:
        whole = Automaton(machine, label, span)
        machine = operations.but(whole, Sequence((any_text, one_word(others, span)), span), {})
    return Automaton(machine, label, span)


def dispatched(
    rules: Row[Dispatch],
    excluded: Row[bytes],
    span: Span,
    operations: LanguageOperations,
    *,
    loop: bool,
) -> Expression:
    """Free text in which each trigger is followed by its rule, and then free text again.

    Without ``loop`` nothing follows the first rule.

    Raises: LimitError.
    """
    triggers = [trigger for trigger, _ in rules]
    free = free_text([*triggers, *excluded], span, operations)
    options: list[Expression] = []
    for trigger, rule in rules:
        before = text_to(trigger, triggers, excluded, span, operations)
        if not before.machine.is_empty:
            options.append(Sequence((before, rule), span))
    if not options:
        return free
    switch = choice(options, span)
    if loop:
        return Sequence((Repetition(switch, 0, None, span), free), span)
    return Choice((free, switch), span)
