"""The registry of questions: checks an answer and replies with the reasons.

No answer is stored: the machine computes it each time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workbench.automata.dfa import DEAD
from workbench.drawing.text import visible
from workbench.lessons import instances, judging, labelling, proper, regions, subterminals
from workbench.lessons.asking import Answer, Asked, numbered, text_of, which
from workbench.lessons.chances import turn
from workbench.lessons.cutting import cut_ways
from workbench.lessons.films import called
from workbench.lessons.lesson import Kind, Reply
from workbench.lessons.quantities import quantity
from workbench.lessons.running import closure, moved
from workbench.lessons.taking import choices
from workbench.lessons.world import World, spelt


def tokens(world: World, *, after: str = "") -> Asked:
    """Which tokens the mask allows after a text."""
    every = choices(world, spelt(after))
    right = {i for i, choice in enumerate(every) if choice.allowed}
    return which(tuple(c.text for c in every), right, lambda i: every[i].why)


def texts(world: World, *, options: Sequence[str]) -> Asked:
    """Which of these texts are accepted."""
    grammar = world.grammar
    right = {i for i, text in enumerate(options) if grammar.accepts(text)}
    shown = tuple(visible(text) or "(the empty text)" for text in options)
    return which(shown, right, lambda i: str(grammar.check(options[i])))


def states(world: World, *, after: str) -> Asked:
    """In which states Thompson's machine can be after a text."""
    nfa = world.nfa
    here = closure(nfa, {nfa.initial})
    for byte in after.encode():
        here = closure(nfa, moved(nfa, here, byte))
    return which(
        tuple(str(state) for state in range(len(nfa))),
        set(here),
        lambda state: f"no way of reading {visible(after)} ends in state {state}",
    )


def write(
    world: World, *, accepted: bool = True, length: int = 0, refuse: Sequence[str] = ()
) -> Asked:
    """Write a text the machine accepts, or one it rejects; of a length, where one is given."""

    def judge(answer: Answer) -> Reply:
        text = text_of(answer)
        if text in refuse:
            return Reply(False, "That one is in the lesson; find another.")
        if length and len(text) != length:
            return Reply(
                False, f"{visible(text) or 'nothing'} has {len(text)} characters, not {length}."
            )
        verdict = world.grammar.check(text)
        if verdict.accepted is accepted:
            return Reply(
                True, f"Right: the machine {'accepts' if accepted else 'rejects'} {visible(text)}."
            )
        if accepted:
            return Reply(False, f"The machine rejects it: it {verdict}.")
        return Reply(False, "The machine accepts it; write one that it rejects.")

    return Asked("text", (), judge)


def cut(world: World, *, text: str, refuse: Sequence[str] = ()) -> Asked:
    """Cut a text into tokens, in a way the lesson has not shown."""

    def judge(answer: Answer) -> Reply:
        pieces = text_of(answer).split()
        unknown = [p for p in pieces if spelt(p) not in world.vocabulary.ids_of]
        if unknown:
            return Reply(False, f"{unknown[0]} is no token of this vocabulary.")
        joined = "".join(pieces)
        if joined != text:
            return Reply(
                False, f"Your tokens spell {visible(joined) or 'nothing'}, not {visible(text)}."
            )
        if " ".join(pieces) in refuse:
            return Reply(False, "That one is in the lesson; find another.")
        assert tuple(map(spelt, pieces)) in cut_ways(world, text)
        return Reply(
            True, f"Right: {len(cut_ways(world, text))} sequences of tokens spell this text."
        )

    return Asked("tokens", (), judge)


def number(world: World, *, of: str, hint: str = "", **settings: Any) -> Asked:  # noqa: ANN401
    """A number the engine computes."""
    return numbered(lambda: quantity(Kind(of, settings), world), hint)


def favourite(world: World, *, after: Sequence[str] = ()) -> Asked:
    """Which token the mask takes from the model: its first choice, where that is forbidden."""
    made = turn(world, tuple(world.vocabulary.ids(*(spelt(token) for token in after))))
    step = made.step
    right = {step.favourite_id} if step.intervened else set()
    after_text = b"".join(spelt(token) for token in after)
    every = choices(world, after_text)

    def why(token_id: int) -> str:
        if every[token_id].allowed:
            return "the mask lets this one through"
        return "forbidden as well, but the model gives another one more probability"

    return which(tuple(choice.text for choice in every), right, why)


def ends(world: World, *, tokens: Sequence[str]) -> Asked:
    """In which state the automaton stands after these tokens."""
    here = world.dfa.initial
    for token in tokens:
        here = world.dfa.run(spelt(token), here) if here != DEAD else DEAD
    every = tuple(str(s) for s in range(len(world.dfa)))
    return which(every, {here}, lambda i: f"follow the edges of {' '.join(tokens)} from state 0")


#: By the name a lesson's file uses.
QUESTIONS: Mapping[str, Callable[..., Asked]] = {
    "tokens": tokens,
    "texts": texts,
    "states": states,
    "write": write,
    "cut": cut,
    "number": number,
    "ends": ends,
    "favourite": favourite,
    "taken away": judging.taken_away,
    "allowed": judging.allowed,
    "writable": judging.writable,
    "proper": proper.proper,
    "encode": proper.encode,
    "dead": proper.dead,
    "hard": regions.hard,
    "bridges": subterminals.bridges,
    "stands for": instances.stands_for,
    "allowed by labels": labelling.allowed,
    "read by labels": labelling.by_label,
}


def question(kind: Kind, world: World) -> Asked:
    """The question of a step.

    Raises: LessonError for an unknown question, or settings it does not have.
    """
    made = called(QUESTIONS, "question", kind, kind.world or world)
    assert isinstance(made, Asked)
    return made
