"""CountRules: rules for large counts accept the same texts as unrolled copies."""

from __future__ import annotations

import pytest

from workbench.base.source import Source, Span
from workbench.grammar.grammar import Grammar
from workbench.pushdown.build import build
from workbench.pushdown.network import Network
from workbench.pushdown.runner import Runner
from workbench.syntax import derived_rules
from workbench.syntax.derived_rules import MAX_UNROLLED, CountRules
from workbench.syntax.grammar_tree import GrammarTree, Literal, Names, Repetition, Rule, Sequence

SPAN = Span(0, 0)

#   least, most        because
COUNTS = [
    (0, 3,             "below the next power"),
    (0, 4,             "a power"),
    (2, 5,             "a least one"),
    (3, 9,             "bits that are not adjacent"),
    (5, 27,            "several of them"),
    (6, 6,             "one count alone"),
    (7, None,          "no end"),
    (0, 13,            "more than one way to begin"),
]  # fmt: skip


def accepted(low: int, high: int | None, most: int) -> list[int]:
    """The accepted numbers of copies, up to ``most``."""
    counting = CountRules(Names(()).fresh)
    item, end = Literal(b"ab", SPAN), Literal(b"c", SPAN)
    body = Sequence((counting.repetition(item, low, high, SPAN), end), SPAN)
    tree = GrammarTree((Rule("start", body, SPAN, SPAN), *counting.rules), Source("", "grammar"))
    made = build(tree)
    reader = Runner(made) if isinstance(made, Network) else made
    texts = {count: b"ab" * count + b"c" for count in range(most)}
    return [
        count
        for count, text in texts.items()
        if (state := reader.run(text)) >= 0 and reader.is_final(state)
    ]


@pytest.mark.parametrize(("low", "high"), [row[:2] for row in COUNTS], ids=[r[2] for r in COUNTS])
def test_accepted_numbers_of_copies(
    low: int, high: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(derived_rules, "MAX_UNROLLED", 2)
    wanted = [count for count in range(40) if low <= count and (high is None or count <= high)]
    assert accepted(low, high, 40) == wanted


def test_small_counts_stay() -> None:
    counting = CountRules(Names(()).fresh)
    item = Literal(b"a", SPAN)
    assert counting.repetition(item, 1, MAX_UNROLLED, SPAN) == Repetition(
        item, 1, MAX_UNROLLED, SPAN
    )
    assert not counting.rules


def test_rules_are_few() -> None:
    counting = CountRules(Names({"copy"}).fresh)
    counting.repetition(Literal(b"a", SPAN), 2, 1_000_000, SPAN)
    names = [rule.name for rule in counting.rules]
    assert len(names) < 50
    assert len({"copy", *names}) == len(names) + 1


@pytest.mark.slow
def test_a_regex_is_split_at_its_large_count() -> None:
    grammar = Grammar.from_lark("start: /x(?:ab){2,50000}c/i")
    texts = {count: "X" + "aB" * count + "c" for count in (1, 2, 3, 50_000, 50_001)}
    assert [count for count, text in texts.items() if grammar.accepts(text)] == [2, 3, 50_000]
