"""Tables of the token sequences that spell a text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.drawing.text import visible
from workbench.lessons.lesson import LessonError, Table
from workbench.lessons.world import World


def cuts(
    world: World, *, rows: Sequence[Mapping[str, Any]], terminals: Sequence[str] = ()
) -> Table:
    """Tokenizations with their scores: accepted or not, and whether a token crosses terminals.

    Source: Koo et al. 2024, Appendix A.
    """
    made = []
    for row in rows:
        tokens = [str(token) for token in row["tokens"]]
        text = "".join(tokens)
        accepted = "✓" if world.grammar.accepts(text) else "✗"
        crossing = _crossing(tokens, _borders(text, terminals))
        made.append(
            (str(row["score"]), " ".join(map(visible, tokens)), text, accepted, crossing or "none")
        )
    heads = ("score", "tokens", "text", "accepted", "crosses terminals")
    return Table("Ways to spell a call", heads, tuple(made))


def _borders(text: str, terminals: Sequence[str]) -> set[int]:
    """The places between the terminals a text is made of."""
    places, place = set(), 0
    while place < len(text):
        found = max((t for t in terminals if text.startswith(t, place)), key=len, default="")
        if not found:
            raise LessonError(f"expected terminals that spell {text!r}")
        place += len(found)
        places.add(place)
    return places - {len(text)}


def _crossing(tokens: Sequence[str], borders: set[int]) -> str:
    place, found = 0, []
    for token in tokens:
        if borders & set(range(place + 1, place + len(token))):
            found.append(visible(token))
        place += len(token)
    return "  ".join(found)


def spellings(world: World, *, text: str) -> Table:
    """Every way to cut a text into tokens."""
    made = tuple(
        (str(i), "  ".join(map(visible, cut))) for i, cut in enumerate(cut_ways(world, text), 1)
    )
    return Table(f"Every way to spell {visible(text)}", ("", "tokens"), made)


def cut_ways(world: World, text: str) -> list[tuple[bytes, ...]]:
    """Every sequence of tokens that spells a text."""
    data = text.encode()
    ways: list[list[tuple[bytes, ...]]] = [[] for _ in range(len(data) + 1)]
    ways[0] = [()]
    for place in range(len(data)):
        for token in world.words:
            if data.startswith(token, place):
                ways[place + len(token)] += [(*way, token) for way in ways[place]]
    return ways[len(data)]
