"""Films, tables and questions about terminal labels."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.constraint.compile import compile as compile_constraint
from workbench.constraint.label_reasons import label_reason
from workbench.constraint.labelled import Labelled, read_by
from workbench.constraint.labels import signed_vocabulary
from workbench.decoding.generate import after as state_after
from workbench.drawing.graph import Graph
from workbench.drawn import Machine, draw, draw_tokens
from workbench.errors import WorkbenchError
from workbench.lessons.asking import Asked, which
from workbench.lessons.lesson import Choice, Film, Frame, Given, Table, View
from workbench.lessons.running import arcs_between, opens_at
from workbench.lessons.taking import taken, taken_row
from workbench.lessons.world import World, spelt
from workbench.limits import LIMITS
from workbench.signs import signed
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

_Ids = Sequence[TokenId]


def constraint_of(world: World) -> Labelled:
    """The constraint of a grammar with labels.

    Raises: WorkbenchError where it has none.
    """
    made = compile_constraint(world.grammar, world.vocabulary)
    if not isinstance(made, Labelled):
        raise WorkbenchError("expected a grammar with terminal labels in this step")
    return made


def over_labels(world: World, given: Given, *, tokens: tuple[str, ...] = ()) -> Film:
    """The machine over tokens, an edge a label; a reader takes tokens and sees how each is read."""
    constraint, graph = constraint_of(world), token_graph(world)
    ids = taken(world, given, tokens)
    frames = [_frame(world, graph, (), "State 0: these tokens may come first.")]
    for place, token_id in enumerate(ids):
        here = state_after(constraint, ids[:place])
        shown, how = world.shown(token_id), _reason(world, ids[:place], token_id)
        if token_id not in constraint.mask(here):
            frames.append(_frame(world, graph, ids[:place], f"{shown} is not allowed: {how}."))
            break
        if token_id == world.vocabulary.end:
            view, row = View((_standing(world, ids[:place]),)), taken_row(world, ids, place)
            frames.append(Frame("The end: the text is accepted.", (view,), (row,), good=True))
            break
        frames.append(_frame(world, graph, ids[: place + 1], f"{shown} is {how}."))
    return Film((graph,), tuple(frames), "tokens", opens_at(given), ids)


def token_graph(world: World) -> Graph:
    """The machine over the step's tokens."""
    characters = draw(world.grammar, Machine.CHARACTERS)
    return draw_tokens(world.grammar, characters, world.vocabulary, LIMITS).graph


def _frame(world: World, graph: Graph, ids: _Ids, say: str) -> Frame:
    """Where the machine stands after some tokens, and the edge it took last."""
    lit = _standing(world, ids)
    arcs: tuple[int, ...] = ()
    if ids:
        constraint = constraint_of(world)
        label = constraint.label(state_after(constraint, ids[:-1]), ids[-1])
        name = label.name if label else world.shown(ids[-1])
        found = arcs_between(graph, (_standing(world, ids[:-1]),), (lit,))
        arcs = tuple(a for a in found if any(name in one for one in graph.edges[a].labels))
    row = taken_row(world, tuple(ids), len(ids))
    return Frame(say, (View((lit,), arcs),), (row,), _choices(world, ids))


def _standing(world: World, ids: _Ids) -> str:
    """The state of the picture after some tokens."""
    dfa = signed(world.grammar).dfa
    assert dfa is not None, "it was drawn"
    return str(dfa.run(b"".join(read_by(constraint_of(world), ids))))


def _choices(world: World, so_far: _Ids) -> tuple[Choice, ...]:
    """Every token after others: allowed or not, and why not."""
    constraint = constraint_of(world)
    mask = constraint.mask(state_after(constraint, so_far))
    return tuple(
        Choice(i, world.shown(i), i in mask, "" if i in mask else _reason(world, so_far, i))
        for i in range(len(world.vocabulary))
    )


def _reason(world: World, so_far: _Ids, token_id: TokenId) -> str:
    return str(label_reason(world.grammar, world.vocabulary, so_far, token_id))


def read(world: World, *, tokens: Sequence[str]) -> Table:
    """Token by token how it is read."""
    ids = world.vocabulary.ids(*map(spelt, tokens))
    rows = [
        (
            world.shown(token_id),
            _reason(world, ids[:place], token_id),
            str(sum(choice.allowed for choice in _choices(world, ids[:place]))),
        )
        for place, token_id in enumerate(ids)
    ]
    return Table("How each token is read", ("token", "how", "tokens allowed"), tuple(rows))


def sizes(world: World, *, vocabularies: Sequence[str]) -> Table:
    """How many tokens each label has in real vocabularies."""
    rows = [
        (name, one.label.name, f"{len(one.mask):,} of {len(loaded):,}")
        for name, loaded in ((name, Vocabulary.load(name)) for name in vocabularies)
        for one in signed_vocabulary(loaded).labels
    ]
    return Table("What one edge represents", ("vocabulary", "label", "tokens"), tuple(rows))


def allowed(world: World, *, after: Sequence[str] = ()) -> Asked:
    """Which tokens may come next."""
    every = _choices(world, world.vocabulary.ids(*map(spelt, after)))
    right = {i for i, choice in enumerate(every) if choice.allowed}
    return which(tuple(choice.text for choice in every), right, lambda i: every[i].why)


def by_label(world: World, *, after: Sequence[str] = ()) -> Asked:
    """Which tokens are read by a label, of those that may come next."""
    so_far = world.vocabulary.ids(*map(spelt, after))
    constraint = constraint_of(world)
    state, ids = state_after(constraint, so_far), range(len(world.vocabulary))
    right = {i for i in ids if constraint.label(state, i) is not None}
    return which(tuple(map(world.shown, ids)), right, lambda i: _reason(world, so_far, i))
