"""Questions of lessons: the numbers they ask for, and replies to answers.

No answer is stored: the machine computes it each time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workbench.app.lessons import (
    distribution_films,
    domino_films,
    merge_films,
    region_tables,
    token_films,
)
from workbench.app.lessons.automaton_films import closure, moved, subset_steps
from workbench.app.lessons.cartesian_film import in_both
from workbench.app.lessons.direct_merge_film import merged
from workbench.app.lessons.distribution_films import bits_of, natural_tokens, share_of
from workbench.app.lessons.domino_films import planted
from workbench.app.lessons.films import called
from workbench.app.lessons.index_films import paths
from workbench.app.lessons.lesson import Answer, Asked, Kind, Reply, numbered, text_of, which
from workbench.app.lessons.mask_films import bits, path_perplexity, turn
from workbench.app.lessons.merge_films import cut_ways
from workbench.app.lessons.method_films import Way, smallest_k
from workbench.app.lessons.online_films import asked_flat, smallest_top
from workbench.app.lessons.stack_films import standings
from workbench.app.lessons.strategy_films import acceptance, pass_count, whole_masks
from workbench.app.lessons.token_films import choices
from workbench.app.lessons.world import World, spelt
from workbench.base.dfa import DEAD
from workbench.constraint.engine.compose import compose
from workbench.constraint.engine.compose_pda import compose_pda
from workbench.drawing.transducers import detokenizer, merged_detokenizer
from workbench.drawing.visible_text import visible
from workbench.pushdown.runner import Runner
from workbench.vocabulary.vocabulary import TokenId


def _states(world: World) -> float:
    return len(world.dfa)


def _nfa_states(world: World) -> float:
    return len(world.nfa)


def _sets(world: World) -> float:
    start = closure(world.nfa, {world.nfa.initial})
    return len({start} | {step.target for step in subset_steps(world.nfa)})


def _token_edges(world: World) -> float:
    if world.grammar.is_regular:
        return compose(world.dfa, world.vocabulary).edge_count
    return compose_pda(world.grammar.rules, world.vocabulary).edge_count


def _allowed(world: World, *, after: str = "") -> float:
    constraint = world.constraint
    state = constraint.step_bytes(constraint.initial, after.encode())
    return 0 if state is None else len(constraint.mask(state))


def _cuts(world: World, *, text: str) -> float:
    return len(cut_ways(world, text))


def _transducer(world: World, *, merged: bool = True) -> float:
    build = merged_detokenizer if merged else detokenizer
    return build(world.words).states


def _height(world: World, *, after: str) -> float:
    ways = standings(Runner(world.grammar.rules), after.encode()) or []
    return max(len(way.stack) for way in ways)


def _ways(world: World, *, after: str) -> float:
    return len(standings(Runner(world.grammar.rules), after.encode()) or [])


def _ids(world: World, tokens: Sequence[str]) -> tuple[TokenId, ...]:
    return tuple(world.vocabulary.ids(*(spelt(token) for token in tokens)))


def _mask_bits(world: World, *, after: Sequence[str] = ()) -> float:
    return bits(turn(world, _ids(world, after)).kept)


def _surprisal(world: World, *, token: str, after: Sequence[str] = ()) -> float:
    return bits(turn(world, _ids(world, after), _ids(world, [token])[0]).before)


def _surprisal_after(world: World, *, token: str, after: Sequence[str] = ()) -> float:
    return bits(turn(world, _ids(world, after), _ids(world, [token])[0]).after)


def _perplexity(world: World, *, tokens: Sequence[str]) -> float:
    return path_perplexity(world, _ids(world, tokens))


def _merged_edges(world: World) -> float:
    return merged(world)[1][-1].automaton.edge_count


def _tree_nodes(world: World, *, after: str) -> float:
    return sum("call" in node.kinds for node in planted(world, after).graph.nodes)


def _per_cent(world: World, *, part: float, whole: float) -> float:
    return 100 * part / whole


def _merged_states(world: World) -> float:
    return len(merged(world)[1][-1].automaton)


def _share(world: World, *, text: str, by: Way) -> float:
    return 100 * share_of(world, by, text)


def _own_share(world: World, *, text: str) -> float:
    return 100 * share_of(world, None, text)


#: By the name a lesson's file uses.
QUANTITIES: dict[str, Callable[..., float]] = {
    "states of the automaton": _states,
    "states of Thompson's machine": _nfa_states,
    "sets of the subset construction": _sets,
    "token edges": _token_edges,
    "allowed tokens": _allowed,
    "spellings": _cuts,
    "states of the transducer": _transducer,
    "height of the stack": _height,
    "stacks": _ways,
    "mask bits": _mask_bits,
    "surprisal": _surprisal,
    "surprisal after the mask": _surprisal_after,
    "perplexity": _perplexity,
    "per cent under a method": _share,
    "per cent of the model's own": _own_share,
    "merged edges": _merged_edges,
    "acceptance": acceptance,
    "natural tokens": natural_tokens,
    "bits of a token": bits_of,
    "in both": in_both,
    "nodes of the tree": _tree_nodes,
    "sub-sequences": paths,
    "bytes asked": asked_flat,
    "smallest top k": smallest_top,
    "whole masks": whole_masks,
    "smallest k": smallest_k,
    "passes": pass_count,
    "per cent": _per_cent,
    "merged states": _merged_states,
}


def quantity(kind: Kind, world: World) -> float:
    """A number of a world.

    Raises: LessonError for an unknown number, or settings it does not have.
    """
    return float(called(QUANTITIES, "number", kind, world))


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
    "taken away": distribution_films.taken_away,
    "allowed": distribution_films.allowed,
    "writable": distribution_films.writable,
    "proper": merge_films.proper,
    "encode": merge_films.encode,
    "dead": merge_films.dead,
    "hard": region_tables.hard,
    "bridges": domino_films.bridges,
    "stands for": token_films.stands_for,
    "allowed by labels": token_films.allowed,
    "read by labels": token_films.by_label,
}


def question(kind: Kind, world: World) -> Asked:
    """The question of a step.

    Raises: LessonError for an unknown question, or settings it does not have.
    """
    made = called(QUESTIONS, "question", kind, kind.world or world)
    assert isinstance(made, Asked)
    return made
