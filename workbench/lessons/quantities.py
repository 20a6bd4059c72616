"""The registry of numbers a question may ask for, computed by the engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from workbench.constraint.compose import compose
from workbench.constraint.compose_pda import compose_pda
from workbench.drawing.transducers import detokenizer, merged_detokenizer
from workbench.lessons.asked_online import asked_flat, smallest_top
from workbench.lessons.chances import bits, path_perplexity, turn
from workbench.lessons.constructing import subset_steps
from workbench.lessons.crossing import in_both
from workbench.lessons.cutting import cut_ways
from workbench.lessons.direct import merged
from workbench.lessons.drafting import acceptance
from workbench.lessons.films import called
from workbench.lessons.judging import share_of
from workbench.lessons.lesson import Kind
from workbench.lessons.methods import Way, smallest_k
from workbench.lessons.naturalising import bits_of, natural_tokens
from workbench.lessons.passing import pass_count, whole_masks
from workbench.lessons.planting import planted
from workbench.lessons.running import closure
from workbench.lessons.stacking import standings
from workbench.lessons.tracing import paths
from workbench.lessons.world import World, spelt
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
