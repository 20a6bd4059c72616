"""Films and tables of byte-pair encoding, merge by merge.

Both meanings of "encode with a merge table" are here, each by its definition, step by step; the
tests compare the rank-greedy one with the engine's encoder.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from workbench.drawing.text import count_of, visible
from workbench.lessons.lesson import Film, Frame, Given, LessonError, Row, Table
from workbench.lessons.running import opens_at
from workbench.lessons.world import World

#: A merge rule: its two sides; its result is both together.
Rule = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Merged:
    """The tokens after a merge, or after a sweep of merges."""

    rule: Rule
    tokens: tuple[str, ...]
    #: The places of what has just been merged.
    places: tuple[int, ...]


def rules_of(world: World) -> tuple[Rule, ...]:
    """The merge rules of a step.

    Raises: LessonError where it has none.
    """
    if not world.merges:
        raise LessonError("expected merges in this step")
    return world.merges


def greedy(rules: Sequence[Rule], text: str) -> Iterator[Merged]:
    """Merge by merge: the pending rule of lowest rank, at its leftmost place.

    Source: what SentencePiece, tokenizers and tiktoken compute; Sennrich et al. 2016.
    """
    rank = {rule: i for i, rule in reversed(list(enumerate(rules)))}
    tokens = tuple(text)
    while True:
        pending = [
            (rank[pair], place) for place, pair in enumerate(pairwise(tokens)) if pair in rank
        ]
        if not pending:
            return
        _, place = min(pending)
        rule = (tokens[place], tokens[place + 1])
        tokens = (*tokens[:place], rule[0] + rule[1], *tokens[place + 2 :])
        yield Merged(rule, tokens, (place,))


def passes(rules: Sequence[Rule], text: str) -> Iterator[Merged]:
    """Rule by rule: each is swept once over the tokens, from the left.

    Source: Tran-Thien 2024, Table 1.
    """
    tokens = list(text)
    for rule in rules:
        swept: list[str] = []
        places: list[int] = []
        place = 0
        while place < len(tokens):
            if tuple(tokens[place : place + 2]) == rule:
                places.append(len(swept))
                swept.append(rule[0] + rule[1])
                place += 2
            else:
                swept.append(tokens[place])
                place += 1
        tokens = swept
        yield Merged(rule, tuple(tokens), tuple(places))


def rule_name(rule: Rule) -> str:
    """A rule as the papers write it: ``(a, b)``."""
    return f"({visible(rule[0])}, {visible(rule[1])})"


def encoding(world: World, given: Given, *, text: str = "") -> Film:
    """A text is encoded merge by merge, as tokenizers do; a reader may type another."""
    rules = rules_of(world)
    read = given if isinstance(given, str) else text
    known = {side for rule in rules for side in "".join(rule)}
    if unknown := [c for c in read if c not in known]:
        raise LessonError(f"expected characters of the rules, not {visible(unknown[0])}")
    steps = list(greedy(rules, read))
    listed = Row("rules", tuple(map(rule_name, rules)))
    tokens = tuple(read)
    frames = [Frame("Every character is a token.", rows=(listed, _tokens_row(tokens, -1)))]
    for step in steps:
        number = rules.index(step.rule)
        say = (
            f"The first rule with a place to go is {rule_name(step.rule)}; it merges at its"
            " leftmost place."
        )
        marked = Row(listed.name, listed.chips, number)
        frames.append(Frame(say, rows=(marked, _tokens_row(step.tokens, step.places[0]))))
        tokens = step.tokens
    say = f"No rule has a place left: {count_of(len(tokens), 'token')}."
    frames.append(Frame(say, rows=(listed, _tokens_row(tokens, -1))))
    return Film((), tuple(frames), "text", opens_at(given))


def _tokens_row(tokens: Sequence[str], now: int) -> Row:
    return Row("tokens", tuple(map(visible, tokens)), now)


def table_1(world: World, *, text: str) -> Table:
    """The tokens after each rule's sweep; what a sweep has merged is in brackets.

    Source: Tran-Thien 2024, Table 1.
    """
    rows = [("characters", "  ".join(map(visible, text)))]
    for step in passes(rules_of(world), text):
        shown = [
            f"[{visible(t)}]" if i in step.places else visible(t) for i, t in enumerate(step.tokens)
        ]
        rows.append((f"after {rule_name(step.rule)}", "  ".join(shown)))
    return Table(f"Encoding {visible(text)}, rule by rule", ("", "tokens"), tuple(rows))


def encoders(world: World, *, texts: Sequence[str]) -> Table:
    """Texts encoded in both ways."""
    rules, rows = rules_of(world), []
    for text in texts:
        ends = []
        for way in (greedy, passes):
            tokens = tuple(text)
            for step in way(rules, text):
                tokens = step.tokens
            ends.append("  ".join(map(visible, tokens)))
        rows.append((visible(text), *ends, "✓" if ends[0] == ends[1] else "✗"))
    heads = ("text", "lowest rank first", "one sweep a rule", "alike")
    return Table("Two meanings of encoding", heads, tuple(rows))
