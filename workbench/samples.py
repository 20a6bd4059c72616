"""Samples: a grammar and a seed in, texts of its language out, or texts that just miss it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random

from workbench.automata.dfa import Dfa
from workbench.automata.lazy import LazyDfa
from workbench.automata.paths import Paths
from workbench.errors import LimitError
from workbench.grammar import Grammar
from workbench.pushdown.network import Network
from workbench.pushdown.wander import Wander

#: The most states of an automaton whose paths are counted; larger ones are walked.
_COUNTED = 600
#: Draws for each text asked for; languages with fewer texts run out of new ones.
_DRAWS = 12
#: Seconds all of it may take; what is found until then is the answer.
_SECONDS = 1.0
#: Characters a text may have beyond the shortest, where that one is long.
_MORE = 60
#: Edits tried of a sample until one is outside the language.
_EDITS = 24


def samples(grammar: Grammar, count: int = 5, seed: int = 0, longest: int = 40) -> tuple[str, ...]:
    """Different texts of the language, at most ``count``; fewer where there are fewer.

    Each is accepted. They are about ``longest`` characters or fewer where there are such.
    A small automaton is sampled by counting (``Paths.draw``): short lengths more often, then every
    path of that length with equal chance. Other machines are walked (``Wander.draw``), the
    rules as they are written. In both the letters, digits and signs of ASCII are drawn first.

    Cost: some milliseconds; a second at most.
    """
    found: dict[str, None] = {}
    try:
        draws = _draws(grammar, Random(seed), longest)
        for _ in range(_DRAWS * count):
            if len(found) == count:
                break
            text = next(draws, None)
            if text is not None and text not in found and grammar.accepts(text):
                found[text] = None
    except LimitError:
        pass  # what was found in time
    return tuple(found)


def told(grammar: Grammar) -> str:
    """How the samples of a grammar are drawn, in a sentence."""
    if isinstance(grammar.reader, Dfa) and len(grammar.reader) <= _COUNTED:
        return "a random length, short ones more often; then each path through the automaton alike"
    return "a random walk through the rules that prefers calls and always ends"


def near_misses(
    grammar: Grammar, count: int = 3, seed: int = 0, longest: int = 40
) -> tuple[tuple[str, str], ...]:
    """Texts outside the language that one edit brings in, each with what was done to a sample."""
    random = Random(seed)
    found: dict[str, str] = {}
    for text in samples(grammar, 3 * count, seed, longest):
        if len(found) == count:
            break
        for _ in range(_EDITS):
            edited, what = _edited(text, random)
            if edited not in found and not _accepts(grammar, edited):
                found[edited] = what
                break
    return tuple(found.items())


def _accepts(grammar: Grammar, text: str) -> bool:
    try:
        return grammar.accepts(text)
    except LimitError:
        return True  # nobody knows: no example then


def _draws(grammar: Grammar, random: Random, longest: int) -> Iterator[str | None]:
    """Texts without end, accepted ones; None where a walk came to bytes that are no text.

    Raises: LimitError
    """
    machine = _machine(grammar)  # it has a budget of its own
    limits = replace(grammar.limits, seconds=min(_SECONDS, grammar.limits.seconds), began=None)
    wander = Wander(machine, limits.begun())
    if wander.shortest is None:
        return  # a language without texts
    # where the shortest text is long already, there has to be room to differ from it
    shortest = wander.shortest
    most = max(longest, shortest + min(shortest, _MORE))
    draw = _by_counting(grammar, most) or _by_walking(wander, shortest, most)
    while True:
        yield draw(random)


_Draw = Callable[[Random], str | None]


def _by_counting(grammar: Grammar, longest: int) -> _Draw | None:
    if not isinstance(grammar.reader, Dfa) or len(grammar.reader) > _COUNTED:
        return None
    paths = Paths(grammar.reader, longest)
    return paths.draw if paths.lengths else None


def _by_walking(wander: Wander, shortest: int, longest: int) -> _Draw:
    def draw(random: Random) -> str | None:
        # a length for each text, so that long ones are not all as long as they may be
        most = random.randint((shortest + longest) // 2, longest)
        try:
            return wander.draw(random, most).decode()
        except UnicodeDecodeError:
            return None

    return draw


def _machine(grammar: Grammar) -> Dfa | LazyDfa | Network:
    """The rules as they are written, or the automaton of a language that needs no stack."""
    if not isinstance(grammar.reader, Network):
        return grammar.reader
    try:
        return grammar.rules
    except LimitError:
        return grammar.reader


#: What can be done to a text at a place: how it is told, and what becomes of the text.
_WAYS: tuple[tuple[str, Callable[[str, int], str]], ...] = (
    ("left out {0!r}", lambda text, at: text[:at] + text[at + 1 :]),
    ("doubled {0!r}", lambda text, at: text[: at + 1] + text[at:]),
    (
        "swapped {0!r} with what follows",
        lambda text, at: text[:at] + text[at + 1 : at + 2] + text[at] + text[at + 2 :],
    ),
    ("ended before {0!r}", lambda text, at: text[:at]),
)


def _edited(text: str, random: Random) -> tuple[str, str]:
    """A text with one thing done to it, and what that was."""
    if not text:
        return "?", "put in '?'"
    at = random.randrange(len(text))
    told, way = random.choice(_WAYS)
    return way(text, at), told.format(text[at])
