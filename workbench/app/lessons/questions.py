"""The registries of questions and of the numbers they ask for.

No answer is stored: the engine computes it when an answer is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workbench.app.lessons import (
    block_films,
    budget_films,
    distribution_films,
    domino_films,
    engine_films,
    merge_films,
    monitor_films,
    own_distribution_films,
    region_tables,
    token_films,
)
from workbench.app.lessons.automaton_films import closure, moved
from workbench.app.lessons.construction_films import CharacterNfa, subset_steps
from workbench.app.lessons.distribution_films import bits_of, natural_tokens, share_of
from workbench.app.lessons.domino_films import planted
from workbench.app.lessons.index_films import asked_flat, paths, smallest_top
from workbench.app.lessons.lesson import (
    Answer,
    Kind,
    Question,
    Reply,
    number_question,
    options_question,
    text_of,
)
from workbench.app.lessons.lesson_tables import call_by_name
from workbench.app.lessons.lesson_world import World, ids_of, token_bytes
from workbench.app.lessons.mask_films import bits, path_perplexity, turn
from workbench.app.lessons.merge_automata_films import in_both, merged
from workbench.app.lessons.merge_films import tokenizations
from workbench.app.lessons.method_films import MethodSpec, smallest_k
from workbench.app.lessons.stack_films import configurations
from workbench.app.lessons.strategy_films import acceptance, pass_count, whole_masks
from workbench.app.lessons.token_films import allowed_question, choices
from workbench.base.dfa import DEAD
from workbench.base.visible_text import visible
from workbench.constraint.engine.compose import compose
from workbench.constraint.engine.compose_pda import compose_pda
from workbench.drawing.transducers import detokenizer, merged_detokenizer
from workbench.pushdown.runner import Runner


def _states(world: World) -> float:
    return len(world.dfa)


def _nfa_states(world: World) -> float:
    return len(world.nfa)


def _sets(world: World) -> float:
    nfa = CharacterNfa.of(world.nfa, world.regex)
    start = nfa.closure(nfa.initials)
    return len({start} | {step.target for step in subset_steps(nfa)})


def _token_edges(world: World) -> float:
    if world.grammar.is_regular:
        return compose(world.dfa, world.vocabulary).edge_count
    return compose_pda(world.grammar.rules, world.vocabulary).edge_count


def _count_allowed(world: World, *, after: str = "") -> float:
    constraint = world.constraint
    state = constraint.step_bytes(constraint.initial, after.encode())
    return 0 if state is None else len(constraint.mask(state))


def _cuts(world: World, *, text: str) -> float:
    return len(tokenizations(world, text))


def _transducer(world: World, *, merged: bool = True) -> float:
    build = merged_detokenizer if merged else detokenizer
    return build(world.words).states


def _height(world: World, *, after: str) -> float:
    reached = configurations(Runner(world.grammar.rules), after.encode()) or []
    return max(len(configuration.stack) for configuration in reached)


def _stacks(world: World, *, after: str) -> float:
    return len(configurations(Runner(world.grammar.rules), after.encode()) or [])


def _mask_bits(world: World, *, after: Sequence[str] = ()) -> float:
    return bits(turn(world, ids_of(world, after)).kept)


def _surprisal(world: World, *, token: str, after: Sequence[str] = ()) -> float:
    return bits(turn(world, ids_of(world, after), ids_of(world, [token])[0]).before)


def _surprisal_after(world: World, *, token: str, after: Sequence[str] = ()) -> float:
    return bits(turn(world, ids_of(world, after), ids_of(world, [token])[0]).after)


def _perplexity(world: World, *, tokens: Sequence[str]) -> float:
    return path_perplexity(world, ids_of(world, tokens))


def _merged_edges(world: World) -> float:
    return merged(world)[1][-1].automaton.edge_count


def _tree_nodes(world: World, *, after: str) -> float:
    return sum("call" in node.kinds for node in planted(world, after).graph.nodes)


def _per_cent(world: World, *, part: float, whole: float) -> float:
    return 100 * part / whole


def _merged_states(world: World) -> float:
    return len(merged(world)[1][-1].automaton)


def _share(world: World, *, text: str, by: MethodSpec) -> float:
    return 100 * share_of(world, by, text)


def _own_share(world: World, *, text: str) -> float:
    return 100 * share_of(world, None, text)


#: By the name in lesson files.
QUANTITIES: dict[str, Callable[..., float]] = {
    "states of the automaton": _states,
    "states of Thompson's machine": _nfa_states,
    "sets of the subset construction": _sets,
    "token edges": _token_edges,
    "allowed tokens": _count_allowed,
    "spellings": _cuts,
    "states of the transducer": _transducer,
    "height of the stack": _height,
    "stacks": _stacks,
    "mask bits": _mask_bits,
    "surprisal": _surprisal,
    "surprisal after the mask": _surprisal_after,
    "perplexity": _perplexity,
    "per cent under a method": _share,
    "per cent of the model's own": _own_share,
    "weight": own_distribution_films.weight_of,
    "weight ratio": own_distribution_films.weight_ratio,
    "valid share": own_distribution_films.valid_share,
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
    "fewest tokens": budget_films.fewest,
    "longest condition": engine_films.longest_condition,
    "per cent of the likeliest block": block_films.best_share,
    "per cent of a block": block_films.share_of_block,
    "per cent at a position": block_films.known_share,
    "tokens removed by a monitor": monitor_films.removed,
}


def quantity(kind: Kind, world: World) -> float:
    """A number of a world.

    Raises: LessonError for an unknown number, or settings it does not have.
    """
    return float(call_by_name(QUANTITIES, "number", kind, world))


def tokens(world: World, *, after: str = "") -> Question:
    """Which tokens the mask allows after a text."""
    every = choices(world, token_bytes(after))
    return allowed_question(every)


def texts(world: World, *, options: Sequence[str]) -> Question:
    """Which of these texts are accepted."""
    grammar = world.grammar
    right = {i for i, text in enumerate(options) if grammar.accepts(text)}
    shown = tuple(visible(text) or "(the empty text)" for text in options)
    return options_question(shown, right, lambda i: str(grammar.check(options[i])))


def states(world: World, *, after: str) -> Question:
    """In which states Thompson's machine can be after a text."""
    nfa = world.nfa
    reached = closure(nfa, {nfa.initial})
    for byte in after.encode():
        reached = closure(nfa, moved(nfa, reached, byte))
    return options_question(
        tuple(str(state) for state in range(len(nfa))),
        set(reached),
        lambda state: f"no path over {visible(after)} ends in state {state}",
    )


def write(
    world: World, *, accepted: bool = True, length: int = 0, refuse: Sequence[str] = ()
) -> Question:
    """Write a text that the machine accepts or rejects, of a given length if any."""

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

    return Question("text", (), judge)


def cut(world: World, *, text: str, refuse: Sequence[str] = ()) -> Question:
    """Tokenize a text, not as shown in the lesson."""

    def judge(answer: Answer) -> Reply:
        pieces = text_of(answer).split()
        unknown = [p for p in pieces if token_bytes(p) not in world.vocabulary.ids_of]
        if unknown:
            return Reply(False, f"{unknown[0]} is no token of this vocabulary.")
        joined = "".join(pieces)
        if joined != text:
            return Reply(
                False, f"Your tokens spell {visible(joined) or 'nothing'}, not {visible(text)}."
            )
        if " ".join(pieces) in refuse:
            return Reply(False, "That one is in the lesson; find another.")
        assert tuple(map(token_bytes, pieces)) in tokenizations(world, text)
        return Reply(
            True, f"Right: {len(tokenizations(world, text))} sequences of tokens spell this text."
        )

    return Question("tokens", (), judge)


def number(world: World, *, of: str, hint: str = "", **settings: Any) -> Question:  # noqa: ANN401
    """A number that the engine computes."""
    return number_question(lambda: quantity(Kind(of, settings), world), hint)


def favourite(world: World, *, after: Sequence[str] = ()) -> Question:
    """The model's first choice, if the mask forbids it."""
    next_turn = turn(world, ids_of(world, after))
    step = next_turn.step
    right = {step.favourite_id} if step.intervened else set()
    after_text = b"".join(token_bytes(token) for token in after)
    every = choices(world, after_text)

    def why(token_id: int) -> str:
        if every[token_id].allowed:
            return "the mask lets this one through"
        return "forbidden as well, but the model gives another one more probability"

    return options_question(tuple(choice.text for choice in every), right, why)


def ends(world: World, *, tokens: Sequence[str]) -> Question:
    """The state of the automaton after these tokens."""
    state = world.dfa.initial
    for token in tokens:
        state = world.dfa.run(token_bytes(token), state) if state != DEAD else DEAD
    every = tuple(str(s) for s in range(len(world.dfa)))
    return options_question(
        every, {state}, lambda i: f"follow the edges of {' '.join(tokens)} from state 0"
    )


#: By the name in lesson files.
QUESTIONS: Mapping[str, Callable[..., Question]] = {
    "tokens": tokens,
    "texts": texts,
    "states": states,
    "write": write,
    "cut": cut,
    "number": number,
    "ends": ends,
    "favourite": favourite,
    "tokens within a budget": budget_films.allowed_within,
    "decided": engine_films.decided,
    "tokens under a monitor": monitor_films.allowed_under,
    "programs": monitor_films.programs,
    "taken away": distribution_films.taken_away,
    "allowed": distribution_films.allowed,
    "writable": distribution_films.writable,
    "proper": merge_films.proper,
    "encode": merge_films.encode,
    "dead": merge_films.dead,
    "hard": region_tables.hard,
    "bridges": domino_films.bridges,
    "same value": token_films.same_value,
    "allowed by labels": token_films.allowed,
    "read by labels": token_films.by_label,
}


def question(kind: Kind, world: World) -> Question:
    """The question of a step.

    Raises: LessonError for an unknown question, or settings it does not have.
    """
    result = call_by_name(QUESTIONS, "question", kind, kind.world or world)
    assert isinstance(result, Question)
    return result
