"""A film of DirectMerge: an automaton rewritten merge rule by merge rule.

The steps are the engine's own (``constraint.proper.direct_merge``); the picture holds every state
and edge of the film, so that nothing moves while they come and go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from workbench.app.lessons.lesson import Film, Frame, Given, LessonError, Row, Table, View
from workbench.app.lessons.merge_films import Rule, rule_name, splits
from workbench.app.lessons.world import World, spelt
from workbench.constraint.methods.proper.direct_merge import (
    Split,
    Step,
    TokenDfa,
    permissive,
    steps,
)
from workbench.drawing.graph import Edge, Graph, Node
from workbench.drawing.visible_text import count_of, visible

#: The rules shown together.
_SHOWN = 7

#: An edge as a lesson writes it: from, token, to.
_Written = Sequence[Any]
_Arc = tuple[int, bytes, int]


def in_order(world: World) -> tuple[Rule, ...]:
    """The live rules of a step, by rank: what DirectMerge has to be given."""
    made = splits(world).values()
    return tuple(s.rule for s in sorted(made, key=lambda s: s.rank) if s.rule is not None)


def symbols_of(world: World) -> tuple[bytes, ...]:
    """The single characters merging begins with."""
    return tuple(word for word in world.words if len(word.decode("utf-8", "replace")) == 1)


def begun(world: World, edges: Sequence[_Written], start: int, accept: Sequence[int]) -> TokenDfa:
    """What DirectMerge starts from: the automaton written down, or that of the step's regex."""
    if not edges:
        return permissive(world.dfa, symbols_of(world))
    rows: dict[int, dict[bytes, int]] = {}
    for source, token, target in edges:
        rows.setdefault(int(source), {})[spelt(str(token))] = int(target)
        rows.setdefault(int(target), {})
    if not accept:
        raise LessonError("expected 'accept', the states that accept")
    return TokenDfa(start, frozenset(accept), rows)


def merged(
    world: World, edges: Sequence[_Written] = (), start: int = 0, accept: Sequence[int] = ()
) -> tuple[TokenDfa, list[Step]]:
    """The automaton at the beginning, and each rule with what it leaves."""
    first = begun(world, edges, start, accept)
    rules = [(spelt(left), spelt(right)) for left, right in in_order(world)]
    return first, list(steps(first, rules))


def arcs_of(fsa: TokenDfa) -> list[_Arc]:
    """Every edge, in a fixed order."""
    return [(s, token, t) for s, row in sorted(fsa.edges.items()) for token, t in row.items()]


def direct_merge(
    world: World,
    given: Given,
    *,
    edges: Sequence[_Written] = (),
    start: int = 0,
    accept: Sequence[int] = (),
) -> Film:
    """Rule by rule; rules that find no state share a frame."""
    first, made = merged(world, edges, start, accept)
    reel = _Reel(first, made)
    rules = tuple(rule_name(rule) for rule in in_order(world))
    size = f"{count_of(len(first), 'state')} and {count_of(first.edge_count, 'edge')}"
    said = f"{size}; every token is a single character."
    frames = [Frame(said, (reel.view(first),), (_rules_row(rules, 0, now=False),))]
    last, idle = first, 0
    for number, step in enumerate(made):
        if step.splits or step.parities:
            frames += reel.frames(last, step, _rules_row(rules, number), idle)
            last, idle = step.automaton, 0
        else:
            idle += 1
    row = _rules_row(rules, len(rules) - 1, now=False)
    frames.append(Frame(_ending(last, idle), (reel.view(last),), (row,)))
    return Film((reel.graph,), tuple(frames))


def _rules_row(rules: Sequence[str], number: int, *, now: bool = True) -> Row:
    """The rules around one of them: all, where they are few."""
    first = max(0, min(number - _SHOWN // 2, len(rules) - _SHOWN))
    chips = tuple(
        f"{i}  {rules[i - 1]}" for i in range(first + 1, first + _SHOWN + 1) if i <= len(rules)
    )
    return Row("rules", chips, number - first if now else -1)


def _ending(last: TokenDfa, idle: int) -> str:
    rest = f"{count_of(idle, 'last rule')} found nothing to merge. " if idle else ""
    size = f"{count_of(len(last), 'state')} and {count_of(last.edge_count, 'edge')}"
    return f"{rest}{size}: it now reads what the tokenizer writes."


class _Reel:
    """A picture with room for every state and edge there ever is."""

    def __init__(self, first: TokenDfa, made: Sequence[Step]) -> None:
        every = [first, *(step.automaton for step in made)]
        ever = dict.fromkeys(arc for fsa in every for arc in arcs_of(fsa))
        self._places = {arc: number for number, arc in enumerate(ever)}
        states = dict.fromkeys(state for fsa in every for state in fsa.edges)
        finals = {state for fsa in every for state in fsa.finals}
        nodes = tuple(
            Node(str(s), str(s), ("initial",) * (s == first.initial) + ("final",) * (s in finals))
            for s in states
        )
        drawn = tuple(
            Edge(str(s), str(t), (visible(token),), ("skip",) * (len(token) > 1))
            for s, token, t in self._places
        )
        self.graph = Graph("automaton", nodes, drawn)

    def view(self, fsa: TokenDfa, lit: Sequence[int] = (), arcs: Sequence[_Arc] = ()) -> View:
        """What is there of it."""
        return View(
            tuple(map(str, lit)),
            tuple(self._places[arc] for arc in arcs),
            frozenset(map(str, fsa.edges)),
            frozenset(self._places[arc] for arc in arcs_of(fsa)),
        )

    def frames(self, last: TokenDfa, step: Step, row: Row, idle: int) -> Iterator[Frame]:
        """Before a rule, with the states it is about; and after it, with the edges it made."""
        left, right = step.rule
        name = rule_name((left.decode(), right.decode()))
        skipped = f"{count_of(idle, 'rule')} found nothing. " if idle else ""
        concerned = [s for s, _ in step.parities] or [split.state for split in step.splits]
        meeting = [
            arc
            for arc in arcs_of(last)
            if (arc[1] == left and arc[2] in concerned) or (arc[1] == right and arc[0] in concerned)
        ]
        where = " and ".join(f"state {s}" for s in concerned)
        say = f"{skipped}{name}: in {where} {visible(left)} ends and {visible(right)} begins."
        yield Frame(say, (self.view(last, concerned, meeting),), (row,))
        new = [arc for arc in arcs_of(step.automaton) if arc not in set(arcs_of(last))]
        lit = [s.twin for s in step.splits if s.twin is not None]
        yield Frame(_said(step), (self.view(step.automaton, lit, new),), (row,))


def _said(step: Step) -> str:
    counted = [
        f"State {even} is for even runs of {visible(step.rule[0])}, state {odd} for odd ones."
        for even, odd in step.parities
        if odd in step.automaton.edges
    ]
    if not step.splits:
        return " ".join((*counted, "No odd run continues: nothing is merged."))
    return " ".join((*counted, *(_case_words(step, split) for split in step.splits)))


def _case_words(step: Step, split: Split) -> str:
    left, right = (visible(side) for side in step.rule)
    match split.case:
        case "neither":
            return f"State {split.state} was nothing but the place between them: it goes."
        case "left":
            return f"Only {left} leads into state {split.state}: it loses its {right} edge."
        case "entered":
            return (
                f"After {left} nothing but {right} could come: state {split.state} loses its"
                f" {left} edges."
            )
    return (
        f"State {split.state} has two roles and is split: {left} now leads to state {split.twin},"
        f" which reads everything but {right}."
    )


def cases(world: World, *, rows: Sequence[Mapping[str, Any]]) -> Table:
    """Small automata before and after the rules of the step.

    Source: Tran-Thien 2024, Figure 4, and its relatives in the technical appendix.
    """
    made = []
    for row in rows:
        start, accept = int(row.get("start", 0)), row["accept"]
        first, done = merged(world, row["edges"], start, accept)
        made.append((str(row["name"]), _written(first), _written(done[-1].automaton)))
    rules = " ".join(map(rule_name, in_order(world)))
    return Table(f"What {rules} does to a state", ("case", "before", "after"), tuple(made))


def _written(fsa: TokenDfa) -> str:
    """Edges as a lesson writes them, ``0 a 1``; the states that accept in brackets."""
    shown = {s: f"({s})" if s in fsa.finals else str(s) for s in fsa.edges}
    told = (f"{shown[s]}\u00a0{visible(token)}\u00a0{shown[t]}" for s, token, t in arcs_of(fsa))
    return "  ".join(told) or "∅"
