"""Free text that switches to a rule where a trigger occurs: ``TagDispatch``, and structural tags.

Free text is read byte by byte. A text is refused as soon as its free text ends in an excluded
text. Otherwise, where the free text ends in a trigger, the rule of the trigger follows; of
several triggers that end at the same byte the longest one counts. So free text contains no
trigger and no excluded text. After a rule a new free text begins.

xgrammar 0.2 gives the same texts where no trigger or excluded text is inside another one. Where
one is, its matcher misses occurrences: with the triggers ``aba`` and ``b`` it reads ``ab`` as
free text.
"""

from __future__ import annotations

from collections.abc import Sequence as Row

from workbench.base.source import Span
from workbench.syntax.grammar_tree import (
    Automaton,
    Choice,
    Expression,
    Literal,
    Pattern,
    Repetition,
    Sequence,
    Stop,
    choice,
)
from workbench.syntax.ranges import ANY_CHARACTER
from workbench.syntax.regex.tree import Characters
from workbench.syntax.rule_attributes import LanguageOperations

#: A trigger, and what follows it.
Dispatch = tuple[bytes, Expression]


def anything(span: Span) -> Expression:
    """Any text."""
    character = Pattern(Characters(ANY_CHARACTER, span), Stop.ANYWHERE, "(?s:.)", span)
    return Repetition(character, 0, None, span)


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
