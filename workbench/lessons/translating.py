"""Films of transducers: the input that is read and the output."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.drawing.graph import Graph
from workbench.drawing.text import visible
from workbench.drawing.transducers import (
    AB_TO_X,
    BRACKETED_RUNS,
    ODD_TO_XOX,
    Fst,
    FstEdge,
    draw_fst,
    merged_detokenizer,
)
from workbench.lessons.lesson import Choice, Film, Frame, Given, LessonError, Row, View
from workbench.lessons.running import opens_at, reading
from workbench.lessons.taking import taken, taken_row
from workbench.lessons.world import World

#: Koo et al. 2024, Figure 3, by their place in it.
_FIGURE_3 = {"left": AB_TO_X, "centre": ODD_TO_XOX, "right": BRACKETED_RUNS}


def way(machine: Fst, symbols: Sequence[bytes]) -> tuple[list[FstEdge], bool]:
    """The edges taken while these symbols are read, and whether all are, to a final state.

    Where they are not, the way that reads most of them, the shortest of those.
    """
    best: tuple[int, list[FstEdge]] = (0, [])
    seen = {(machine.initial, 0)}
    waiting: list[tuple[int, int, list[FstEdge]]] = [(machine.initial, 0, [])]
    for state, read, path in waiting:  # grows while it is read, shorter ways first
        if read == len(symbols) and state in machine.finals:
            return path, True
        if read > best[0]:
            best = read, path
        for edge in machine.edges:
            fits = edge.reads is None or (read < len(symbols) and symbols[read] == edge.reads)
            after = (edge.target, read + (edge.reads is not None))
            if edge.source == state and fits and after not in seen:
                seen.add(after)
                waiting.append((*after, [*path, edge]))
    return best[1], False


def transducer(world: World, given: Given, *, figure: str, text: str = "") -> Film:
    """One of the transducers of Koo's Figure 3, reading a text and writing another.

    Raises: LessonError for a place there is not.
    """
    if figure not in _FIGURE_3:
        raise LessonError(f"expected one of {', '.join(_FIGURE_3)}, not {figure!r}")
    machine = _FIGURE_3[figure]
    graph = draw_fst(machine, f"Figure 3, {figure}")
    read = given if isinstance(given, str) else text
    path, accepted = way(machine, [character.encode() for character in read])
    frames = [_frame(machine, graph, read, [], "The machine starts; nothing is written.")]
    for place, edge in enumerate(path, start=1):
        frames.append(_frame(machine, graph, read, path[:place], _words(edge)))
    if read:
        written = b"".join(edge.writes or b"" for edge in path)
        say = (
            f"It ends in a final state: {visible(read)} becomes {visible(written) or 'nothing'}."
            if accepted
            else f"It cannot read all of {visible(read)} and end: nothing is transduced."
        )
        frames.append(_frame(machine, graph, read, path, say, accepted))
    return Film((graph,), tuple(frames), "text", opens_at(given))


def _words(edge: FstEdge) -> str:
    writes = f"writes {visible(edge.writes)}" if edge.writes else "writes nothing"
    return (
        f"It {writes} without reading."
        if edge.reads is None
        else f"It reads {visible(edge.reads)} and {writes}."
    )


def _frame(
    machine: Fst,
    graph: Graph,
    text: str,
    path: list[FstEdge],
    say: str,
    good: bool | None = None,
) -> Frame:
    read = sum(edge.reads is not None for edge in path)
    written = tuple(visible(edge.writes) for edge in path if edge.writes)
    rows = (*reading(text, read), Row("writes", written, len(written) - 1))
    return Frame(say, (_view(machine, graph, path),), rows, good=good)


def _symbol(symbol: bytes | None) -> str:
    return "ε" if symbol is None else visible(symbol)


def _view(machine: Fst, graph: Graph, path: list[FstEdge]) -> View:
    if not path:
        return View((str(machine.initial),))
    last = path[-1]
    label = f"{_symbol(last.reads)}:{_symbol(last.writes)}"
    arcs = tuple(
        number
        for number, edge in enumerate(graph.edges)
        if (edge.source, edge.target) == (str(last.source), str(last.target))
        and label in edge.labels
    )
    return View((str(last.target),), arcs)


def detokenize(world: World, given: Given, *, tokens: tuple[str, ...] = ()) -> Film:
    """The detokenizing transducer reading tokens; it writes their characters, the last one last."""
    machine = merged_detokenizer(world.words)
    graph = draw_fst(machine, "detokenizing transducer")
    ids = taken(world, given, tokens)
    every = tuple(Choice(i, world.shown(i), True) for i in range(len(world.words)))
    spelt = [world.vocabulary.tokens[i] or b"" for i in ids]
    frames = [
        Frame(
            "It is at the root.",
            (_view(machine, graph, []),),
            (taken_row(world, ids, 0),),
            every,
        )
    ]
    for place in range(1, len(ids) + 1):
        before, _ = way(machine, spelt[: place - 1])
        path, _ = way(machine, spelt[:place])
        new = path[len(before) :]
        written = tuple(visible(edge.writes) for edge in path if edge.writes)
        silent = "".join(visible(edge.writes) for edge in new[:-1] if edge.writes)
        last = visible(new[-1].writes or b"")
        first = f"writes {silent} without reading, then " if silent else ""
        token = world.shown(ids[place - 1])
        say = f"It {first}reads {token}, writes {last}, and is at the root again."
        arcs = tuple(a for edge in new for a in _view(machine, graph, [edge]).arcs)
        rows = (taken_row(world, ids, place), Row("writes", written, len(written) - 1))
        frames.append(Frame(say, (View((str(machine.initial),), arcs),), rows, every))
    return Film((graph,), tuple(frames), "tokens", opens_at(given), ids)
