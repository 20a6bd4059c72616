"""Tables and questions about the values of texts."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.drawing.text import visible
from workbench.lessons.asking import Answer, Asked, text_of
from workbench.lessons.lesson import Reply, Table
from workbench.lessons.world import World


def instances(world: World, *, texts: Sequence[str]) -> Table:
    """Texts, whether each is accepted, and its value if it is."""
    grammar = world.grammar
    rows = tuple(
        (visible(text), "✓", repr(grammar.parse(text)))
        if grammar.accepts(text)
        else (visible(text), "✗", "nothing")
        for text in texts
    )
    return Table("The value of a text", ("text", "accepted", "value"), rows)


def stands_for(world: World, *, text: str) -> Asked:
    """Write another accepted text with the same value."""

    def judge(answer: Answer) -> Reply:
        written = text_of(answer)
        if written == text:
            return Reply(False, "That one is in the question; find another.")
        verdict = world.grammar.check(written)
        if not verdict.accepted:
            return Reply(False, f"The machine rejects it: it {verdict}.")
        made, wanted = world.grammar.parse(written), world.grammar.parse(text)
        if made != wanted:
            return Reply(False, f"Its value is {made!r}, not {wanted!r}.")
        return Reply(True, f"Right: both have the value {wanted!r}.")

    return Asked("text", (), judge)
