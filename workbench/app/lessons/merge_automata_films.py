"""Films of CartesianMerge and DirectMerge.

The steps are computed by ``constraint.methods.proper.direct_merge``. The graph contains every state
and edge of the film, so that the layout stays fixed while they appear and disappear.

Source: Tran-Thien 2024, DirectMerge, Figures 2 to 4; "Scaling with the complexity of the regex",
Figure 5; technical appendix, section 4 and figure 9.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.app.lessons.automaton_films import opens_at
from workbench.app.lessons.construction_films import arcs_between
from workbench.app.lessons.lesson import Choice, Film, Frame, Given, LessonError, Row, Table, View
from workbench.app.lessons.lesson_world import World, ids_of, token_bytes
from workbench.app.lessons.merge_films import Rule, encoded, rule_name, splits
from workbench.app.lessons.token_films import taken, taken_row
from workbench.automata import graphs
from workbench.base.cached_property import cached_property
from workbench.base.visible_text import count_of, visible
from workbench.constraint.methods.proper.direct_merge import (
    Split,
    Step,
    TokenDfa,
    permissive,
    steps,
)
from workbench.drawing.graph import Edge, Graph, Node, state_kinds
from workbench.vocabulary.tokenization.pair_automaton import MergedDfa, canonical_dfa_by_merges

#: Rules shown together.
_MAX_RULES = 7

#: An edge in a lesson file: from, token, to.
_Written = Sequence[Any]
_Arc = tuple[int, bytes, int]


def in_order(world: World) -> tuple[Rule, ...]:
    """The live rules of a step by rank, the input of DirectMerge."""
    all_splits = splits(world).values()
    return tuple(s.rule for s in sorted(all_splits, key=lambda s: s.rank) if s.rule is not None)


def symbols_of(world: World) -> tuple[bytes, ...]:
    """The single characters with which merging begins."""
    return tuple(word for word in world.words if len(word.decode("utf-8", "replace")) == 1)


def initial_automaton(
    world: World, edges: Sequence[_Written], start: int, accept: Sequence[int]
) -> TokenDfa:
    """The automaton before DirectMerge: the listed edges, or that of the step's regex."""
    if not edges:
        return permissive(world.dfa, symbols_of(world))
    rows: dict[int, dict[bytes, int]] = {}
    for source, token, target in edges:
        rows.setdefault(int(source), {})[token_bytes(str(token))] = int(target)
        rows.setdefault(int(target), {})
    if not accept:
        raise LessonError("expected 'accept', the states that accept")
    return TokenDfa(start, frozenset(accept), rows)


def merged(
    world: World, edges: Sequence[_Written] = (), start: int = 0, accept: Sequence[int] = ()
) -> tuple[TokenDfa, list[Step]]:
    """The automaton before the first rule, and the step of each rule."""
    first = initial_automaton(world, edges, start, accept)
    rules = [(token_bytes(left), token_bytes(right)) for left, right in in_order(world)]
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
    first, steps = merged(world, edges, start, accept)
    fixed = _FixedGraph(first, steps)
    rules = tuple(rule_name(rule) for rule in in_order(world))
    size = f"{count_of(len(first), 'state')} and {count_of(first.edge_count, 'edge')}"
    say = f"{size}; every token is a single character."
    frames = [Frame(say, (fixed.view(first),), (_rules_row(rules, 0, now=False),))]
    last, idle = first, 0
    for number, step in enumerate(steps):
        if step.splits or step.parities:
            frames += fixed.frames(last, step, _rules_row(rules, number), idle)
            last, idle = step.automaton, 0
        else:
            idle += 1
    row = _rules_row(rules, len(rules) - 1, now=False)
    frames.append(Frame(_ending(last, idle), (fixed.view(last),), (row,)))
    return Film((fixed.graph,), tuple(frames))


def _rules_row(rules: Sequence[str], number: int, *, now: bool = True) -> Row:
    """The rules near one of them."""
    first = max(0, min(number - _MAX_RULES // 2, len(rules) - _MAX_RULES))
    chips = tuple(
        f"{i}  {rules[i - 1]}" for i in range(first + 1, first + _MAX_RULES + 1) if i <= len(rules)
    )
    return Row("rules", chips, number - first if now else -1)


def _ending(last: TokenDfa, idle: int) -> str:
    rest = f"{count_of(idle, 'last rule')} found nothing to merge. " if idle else ""
    size = f"{count_of(len(last), 'state')} and {count_of(last.edge_count, 'edge')}"
    return f"{rest}{size}: it now reads what the tokenizer writes."


class _FixedGraph:
    """The graph of all states and edges of the film."""

    def __init__(self, first: TokenDfa, steps: Sequence[Step]) -> None:
        every = [first, *(step.automaton for step in steps)]
        ever = dict.fromkeys(arc for fsa in every for arc in arcs_of(fsa))
        self._places = {arc: number for number, arc in enumerate(ever)}
        states = dict.fromkeys(state for fsa in every for state in fsa.edges)
        finals = {state for fsa in every for state in fsa.finals}
        nodes = tuple(
            Node(str(s), str(s), state_kinds(initial=s == first.initial, final=s in finals))
            for s in states
        )
        drawn = tuple(
            Edge(str(s), str(t), (visible(token),), ("skip",) if len(token) > 1 else ())
            for s, token, t in self._places
        )
        self.graph = Graph("automaton", nodes, drawn)

    def view(self, fsa: TokenDfa, lit: Sequence[int] = (), arcs: Sequence[_Arc] = ()) -> View:
        """The part of the graph that an automaton has."""
        return View(
            tuple(map(str, lit)),
            tuple(self._places[arc] for arc in arcs),
            frozenset(map(str, fsa.edges)),
            frozenset(self._places[arc] for arc in arcs_of(fsa)),
        )

    def frames(self, last: TokenDfa, step: Step, row: Row, idle: int) -> Iterator[Frame]:
        """A frame before a rule, with its states; and one after it, with the new edges."""
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
        yield Frame(_rule_words(step), (self.view(step.automaton, lit, new),), (row,))


def _rule_words(step: Step) -> str:
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
            return f"State {split.state} was only between them: it is removed."
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
    lines = []
    for row in rows:
        start, accept = int(row.get("start", 0)), row["accept"]
        first, done = merged(world, row["edges"], start, accept)
        lines.append((str(row["name"]), _edges_text(first), _edges_text(done[-1].automaton)))
    rules = " ".join(map(rule_name, in_order(world)))
    return Table(f"What {rules} does to a state", ("case", "before", "after"), tuple(lines))


def _edges_text(fsa: TokenDfa) -> str:
    """Edges as in a lesson file, ``0 a 1``; final states in brackets."""
    shown = {s: f"({s})" if s in fsa.finals else str(s) for s in fsa.edges}
    listed = (f"{shown[s]}\u00a0{visible(token)}\u00a0{shown[t]}" for s, token, t in arcs_of(fsa))
    return "  ".join(listed) or "∅"


#: A state of the product: of the regex's automaton, and the class of the last token.
Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Star:
    """The ``.*`` automaton of a step's rules."""

    automaton: MergedDfa
    tokens: tuple[str, ...]

    def step(self, state: int, token: str) -> int | None:
        """The class after a token; None if it may not come next."""
        if token in self.automaton.forbidden[state]:
            return None
        return self.automaton.state_of[token]

    @cached_property
    def edge_count(self) -> int:
        """The number of its edges."""
        every = range(len(self.automaton.forbidden))
        return sum(self.step(s, token) is not None for s in every for token in self.tokens)


def star_of(world: World) -> Star:
    """The automaton that accepts every proper sequence over the step's tokens."""
    symbols = [symbol.decode() for symbol in symbols_of(world)]
    automaton = canonical_dfa_by_merges(symbols, in_order(world))
    return Star(automaton, tuple(automaton.state_of))


def star_graph(star: Star) -> Graph:
    """The graph of its classes, titled by the tokens that lead to them."""
    leading: dict[int, list[str]] = {s: [] for s in range(len(star.automaton.forbidden))}
    for token, state in star.automaton.state_of.items():
        leading[state].append(visible(token))
    nodes = tuple(
        Node(str(s), str(s), state_kinds(initial=s == 0, final=True), f"after {', '.join(tokens)}")
        for s, tokens in leading.items()
    )
    labels: dict[Pair, list[str]] = {}
    for state in leading:
        for token in star.tokens:
            if (target := star.step(state, token)) is not None:
                labels.setdefault((state, target), []).append(visible(token))
    edges = tuple(Edge(str(s), str(t), tuple(tokens)) for (s, t), tokens in labels.items())
    return Graph("all proper sequences", nodes, edges)


def star(world: World, given: Given, *, tokens: tuple[str, ...] = ()) -> Film:
    """The reader takes tokens; tokens that may not follow the last one are struck out."""
    star, ids = star_of(world), taken(world, given, tokens)
    graph = star_graph(star)
    state, last = 0, ""
    frames = [
        _star_frame(world, star, graph, 0, "", ids, 0, "Nothing is written: every token may come.")
    ]
    for position, token_id in enumerate(ids):
        if token_id == world.vocabulary.end:
            rows = (taken_row(world, ids, len(ids)),)
            frames.append(Frame("Every state accepts.", (View((str(state),)),), rows, good=True))
            break
        token = world.vocabulary.tokens[token_id]
        assert token is not None, "only the end is special"
        target = star.step(state, token.decode())
        if target is None:
            say = f"{world.shown(token_id)} is forbidden: {_why(world, last, token.decode())}."
            frames.append(_star_frame(world, star, graph, state, last, ids, position, say))
            break
        say = f"{world.shown(token_id)} leads to state {target}."
        last, came, state = token.decode(), state, target
        frames.append(_star_frame(world, star, graph, state, last, ids, position + 1, say, came))
    return Film((graph,), tuple(frames), "tokens", opens_at(given), ids)


def _why(world: World, last: str, token: str) -> str:
    spelling = " ".join(encoded(world, last + token))
    return f"after {visible(last)} it would have become {spelling}"


def _star_frame(
    world: World,
    star: Star,
    graph: Graph,
    state: int,
    last: str,
    ids: tuple[int, ...],
    position: int,
    say: str,
    came: int | None = None,
) -> Frame:
    choices = []
    for token_id, token in enumerate(world.vocabulary.tokens):
        text = "" if token is None else token.decode()
        good = token is None or star.step(state, text) is not None
        choices.append(
            Choice(token_id, world.shown(token_id), good, "" if good else _why(world, last, text))
        )
    arcs = () if came is None else arcs_between(graph, (str(came),), (str(state),))
    rows = (taken_row(world, ids, position),)
    return Frame(say, (View((str(state),), arcs),), rows, tuple(choices))


def classes(world: World) -> Table:
    """The classes of the automaton: the tokens that lead to each, and those it forbids."""
    star, rows = star_of(world), []
    for state, forbidden in enumerate(star.automaton.forbidden):
        leads = [visible(t) for t, s in star.automaton.state_of.items() if s == state]
        first = ["the start"] if state == 0 else []
        never = [visible(t) for t in star.tokens if t in forbidden]
        rows.append((str(state), "  ".join([*first, *leads]), "  ".join(never) or "nothing"))
    heads = ("state", "after", "may not come next")
    return Table(f"{len(rows)} states, {star.edge_count} edges", heads, tuple(rows))


# -- the product --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Product:
    """The accessible pairs, the edges between them, and the final pairs."""

    order: tuple[Pair, ...]
    edges: tuple[tuple[Pair, bytes, Pair], ...]
    finals: frozenset[Pair]

    @cached_property
    def alive(self) -> frozenset[Pair]:
        """The co-accessible pairs: a final pair can be reached from them."""
        pairs = ((source, target) for source, _, target in self.edges)
        return frozenset(graphs.coreachable(self.finals, pairs))


def product_of(world: World) -> tuple[TokenDfa, Star, Product]:
    """Both automata and their product, pair by pair from a worklist."""
    star = star_of(world)
    fsa = permissive(world.dfa, [token.encode() for token in star.tokens])
    order, edges = {(fsa.initial, 0): None}, []
    waiting = deque(order)
    while waiting:
        pair = waiting.popleft()
        for token, target in fsa.edges[pair[0]].items():
            kind = star.step(pair[1], token.decode())
            if kind is None:
                continue
            edges.append((pair, token, (target, kind)))
            if (target, kind) not in order:
                order[target, kind] = None
                waiting.append((target, kind))
    finals = frozenset(pair for pair in order if pair[0] in fsa.finals)
    return fsa, star, Product(tuple(order), tuple(edges), finals)


def product(world: World, given: Given) -> Film:
    """The product of the permissive and the ``.*`` automaton; dead pairs are removed at the end."""
    fsa, star, product = product_of(world)
    graph = _product_graph(product)
    frames, shown, drawn = [], {product.order[0]}, set[int]()
    for pair in product.order:
        new = [i for i, (source, _, _) in enumerate(product.edges) if source == pair]
        shown |= {product.edges[i][2] for i in new}
        drawn |= set(new)
        view = View((_id(pair),), tuple(new), frozenset(map(_id, shown)), frozenset(drawn))
        frames.append(Frame(_pair_words(pair, fsa, star, product, new), (view,)))
    dead = frozenset(_id(pair) for pair in product.order if pair not in product.alive)
    if dead:
        names = ", ".join(_name(pair) for pair in product.order if pair not in product.alive)
        say = f"No path leads from {names} to the end: removed, with the edges into it."
        frames.append(Frame(say, (View(dead=dead),)))
    kept = [e for e in product.edges if e[0] in product.alive and e[2] in product.alive]
    say = f"{len(product.alive)} pairs and {len(kept)} edges are left: the proper sequences."
    frames.append(Frame(say, (View(dead=dead),)))
    return Film((graph,), tuple(frames))


def _id(pair: Pair) -> str:
    return f"{pair[0]}-{pair[1]}"


def _name(pair: Pair) -> str:
    return f"({pair[0]}, {pair[1]})"


def _product_graph(product: Product) -> Graph:
    nodes = tuple(
        Node(
            _id(pair),
            _name(pair),
            state_kinds(initial=number == 0, final=pair in product.finals),
        )
        for number, pair in enumerate(product.order)
    )
    edges = tuple(Edge(_id(s), _id(t), (visible(token),)) for s, token, t in product.edges)
    return Graph("pairs", nodes, edges)


def _pair_words(pair: Pair, fsa: TokenDfa, star: Star, product: Product, new: Sequence[int]) -> str:
    going = ", ".join(
        f"{visible(product.edges[i][1])} to {_name(product.edges[i][2])}" for i in new
    )
    refused = [
        visible(token) for token in fsa.edges[pair[0]] if star.step(pair[1], token.decode()) is None
    ]
    words = f"{_name(pair)}: {going or 'no edge'}"
    if refused:
        verb = "is" if len(refused) == 1 else "are"
        words += f"; {', '.join(refused)} {verb} improper after the last token"
    return words + "."


# -- counting -----------------------------------------------------------------------------------


def _sequences(world: World, longest: int) -> Iterator[tuple[str, ...]]:
    """Every sequence of the step's tokens whose text has at most ``longest`` characters."""
    words = [word.decode() for word in world.words]
    waiting: list[tuple[str, ...]] = [()]
    while waiting:
        tokens = waiting.pop()
        yield tokens
        room = longest - sum(map(len, tokens))
        waiting += [(*tokens, word) for word in words if len(word) <= room]


def counted(world: World, longest: int) -> tuple[int, int, int, int]:
    """Counts of all sequences, proper ones, those whose text matches, and both."""
    every = proper = matching = both = 0
    for tokens in _sequences(world, longest):
        ids = ids_of(world, tokens)
        text = "".join(tokens)
        is_proper = tuple(world.bpe.encode(text)) == ids
        matches = world.grammar.accepts(text)
        every, proper, matching = every + 1, proper + is_proper, matching + matches
        both += is_proper and matches
    return every, proper, matching, both


def intersection(world: World, *, lengths: Sequence[int]) -> Table:
    """Figure 5 in numbers: two languages of token sequences, and their intersection.

    Source: Tran-Thien 2024, Figure 5.
    """
    rows = tuple((str(n), *(f"{count:,}" for count in counted(world, n))) for n in lengths)
    heads = ("at most", "all sequences", "proper", "text matches", "both")
    return Table("Sequences by the length of their text", heads, rows)


def in_both(world: World, *, longest: int) -> float:
    """The number of proper sequences that match, up to a length."""
    return counted(world, longest)[3]


def piece_table(world: World, *, rows: Sequence[Sequence[str]]) -> Table:
    """Sequences under a pre-tokenizer: each pair separately, and the whole.

    Source: ``vocabulary/tokenization/pretokenizer.py``.
    """
    lines = []
    for tokens in rows:
        ids = ids_of(world, tokens)
        pairs = [list(ids[i : i + 2]) for i in range(len(ids) - 1)]
        alone = all(world.bpe.encode(world.vocabulary.decode(pair)) == pair for pair in pairs)
        text = world.vocabulary.decode(ids)
        spelling = encoded(world, text)
        good = tuple(map(world.shown, ids)) == spelling
        lines.append(
            (
                "  ".join(map(world.shown, ids)),
                "✓" if alone else "✗",
                "  ".join(spelling),
                "✓" if good else "✗",
            )
        )
    heads = ("sequence", "each pair alone", "its text encodes to", "proper")
    return Table("Pieces are cut first", heads, tuple(lines))
