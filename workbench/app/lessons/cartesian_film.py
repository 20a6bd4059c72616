"""A film of CartesianMerge: the automata of a regex and of merge rules, and their product.

Source: Tran-Thien 2024, "Scaling with the complexity of the regex", Figure 5, and the technical
appendix, section 4 and figure 9.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from workbench.app.lessons.automaton_films import arcs_between, opens_at
from workbench.app.lessons.direct_merge_film import in_order, symbols_of
from workbench.app.lessons.lesson import Choice, Film, Frame, Given, Table, View
from workbench.app.lessons.merge_films import encoded
from workbench.app.lessons.method_films import ids_of
from workbench.app.lessons.token_films import taken, taken_row
from workbench.app.lessons.world import World
from workbench.constraint.methods.proper.direct_merge import TokenDfa, permissive
from workbench.drawing.graph import Edge, Graph, Node
from workbench.drawing.visible_text import visible
from workbench.vocabulary.tokenization.canonical_dfa import StarByMerges, star_by_merges

#: A state of the product: of the regex's automaton, and the class of the last token.
Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Star:
    """The ``.*`` automaton of a step's rules."""

    made: StarByMerges
    tokens: tuple[str, ...]

    def step(self, state: int, token: str) -> int | None:
        """The class after a token; None where it may not come next."""
        if token in self.made.forbidden[state]:
            return None
        return self.made.state_of[token]

    @cached_property
    def edge_count(self) -> int:
        """How many edges it has."""
        every = range(len(self.made.forbidden))
        return sum(self.step(s, token) is not None for s in every for token in self.tokens)


def star_of(world: World) -> Star:
    """The automaton that accepts every proper sequence over the step's tokens."""
    symbols = [symbol.decode() for symbol in symbols_of(world)]
    made = star_by_merges(symbols, in_order(world))
    return Star(made, tuple(made.state_of))


def star_graph(star: Star) -> Graph:
    """Its classes, each under the tokens that lead to it."""
    leading: dict[int, list[str]] = {s: [] for s in range(len(star.made.forbidden))}
    for token, state in star.made.state_of.items():
        leading[state].append(visible(token))
    nodes = tuple(
        Node(str(s), str(s), ("initial",) * (s == 0) + ("final",), f"after {', '.join(tokens)}")
        for s, tokens in leading.items()
    )
    found: dict[Pair, list[str]] = {}
    for state in leading:
        for token in star.tokens:
            if (there := star.step(state, token)) is not None:
                found.setdefault((state, there), []).append(visible(token))
    edges = tuple(Edge(str(s), str(t), tuple(tokens)) for (s, t), tokens in found.items())
    return Graph("all proper sequences", nodes, edges)


def star(world: World, given: Given, *, tokens: tuple[str, ...] = ()) -> Film:
    """A reader takes tokens; struck out is what may not follow the last one."""
    made, ids = star_of(world), taken(world, given, tokens)
    graph = star_graph(made)
    here, last = 0, ""
    frames = [_star_frame(world, made, graph, 0, "", ids, 0, "Nothing is written: all may come.")]
    for place, token_id in enumerate(ids):
        if token_id == world.vocabulary.end:
            rows = (taken_row(world, ids, len(ids)),)
            frames.append(Frame("Every state accepts.", (View((str(here),)),), rows, good=True))
            break
        token = world.vocabulary.tokens[token_id]
        assert token is not None, "only the end is special"
        there = made.step(here, token.decode())
        if there is None:
            say = f"{world.shown(token_id)} is forbidden: {_why(world, last, token.decode())}."
            frames.append(_star_frame(world, made, graph, here, last, ids, place, say))
            break
        say = f"{world.shown(token_id)} leads to state {there}."
        last, came, here = token.decode(), here, there
        frames.append(_star_frame(world, made, graph, here, last, ids, place + 1, say, came))
    return Film((graph,), tuple(frames), "tokens", opens_at(given), ids)


def _why(world: World, last: str, token: str) -> str:
    spelling = " ".join(encoded(world, last + token))
    return f"after {visible(last)} it would have become {spelling}"


def _star_frame(
    world: World,
    made: Star,
    graph: Graph,
    here: int,
    last: str,
    ids: tuple[int, ...],
    place: int,
    say: str,
    came: int | None = None,
) -> Frame:
    choices = []
    for token_id, token in enumerate(world.vocabulary.tokens):
        text = "" if token is None else token.decode()
        good = token is None or made.step(here, text) is not None
        choices.append(
            Choice(token_id, world.shown(token_id), good, "" if good else _why(world, last, text))
        )
    arcs = () if came is None else arcs_between(graph, (str(came),), (str(here),))
    rows = (taken_row(world, ids, place),)
    return Frame(say, (View((str(here),), arcs),), rows, tuple(choices))


def classes(world: World) -> Table:
    """The classes of the automaton: which tokens lead there, and what they forbid."""
    made, rows = star_of(world), []
    for state, forbidden in enumerate(made.made.forbidden):
        leads = [visible(t) for t, s in made.made.state_of.items() if s == state]
        first = ["the start"] if state == 0 else []
        never = [visible(t) for t in made.tokens if t in forbidden]
        rows.append((str(state), "  ".join([*first, *leads]), "  ".join(never) or "nothing"))
    heads = ("state", "after", "may not come next")
    return Table(f"{len(rows)} states, {made.edge_count} edges", heads, tuple(rows))


# -- the product --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Product:
    """Pairs met from the start, the edges between them, and those that lead to the end."""

    order: tuple[Pair, ...]
    edges: tuple[tuple[Pair, bytes, Pair], ...]
    finals: frozenset[Pair]

    @cached_property
    def alive(self) -> frozenset[Pair]:
        """The pairs from which an accepting one can be reached."""
        found = set(self.finals)
        while True:
            more = {s for s, _, t in self.edges if t in found} - found
            if not more:
                return frozenset(found)
            found |= more


def product_of(world: World) -> tuple[TokenDfa, Star, Product]:
    """Both automata and their product, pair by pair from a worklist."""
    star = star_of(world)
    fsa = permissive(world.dfa, [token.encode() for token in star.tokens])
    order, edges = [(fsa.initial, 0)], []
    for pair in order:  # grows while it is read
        for token, there in fsa.edges[pair[0]].items():
            kind = star.step(pair[1], token.decode())
            if kind is None:
                continue
            edges.append((pair, token, (there, kind)))
            if (there, kind) not in order:
                order.append((there, kind))
    finals = frozenset(pair for pair in order if pair[0] in fsa.finals)
    return fsa, star, Product(tuple(order), tuple(edges), finals)


def product(world: World, given: Given) -> Film:
    """The permissive automaton and the ``.*`` automaton in step; dead pairs go at the end."""
    fsa, star, made = product_of(world)
    graph = _product_graph(made)
    frames, shown, drawn = [], {made.order[0]}, set[int]()
    for pair in made.order:
        new = [i for i, (source, _, _) in enumerate(made.edges) if source == pair]
        shown |= {made.edges[i][2] for i in new}
        drawn |= set(new)
        view = View((_id(pair),), tuple(new), frozenset(map(_id, shown)), frozenset(drawn))
        frames.append(Frame(_pair_words(pair, fsa, star, made, new), (view,)))
    dead = frozenset(_id(pair) for pair in made.order if pair not in made.alive)
    if dead:
        names = ", ".join(_name(pair) for pair in made.order if pair not in made.alive)
        say = f"No way leads from {names} to the end: out, with the edges into it."
        frames.append(Frame(say, (View(dead=dead),)))
    kept = [e for e in made.edges if e[0] in made.alive and e[2] in made.alive]
    say = f"{len(made.alive)} pairs and {len(kept)} edges are left: the proper sequences."
    frames.append(Frame(say, (View(dead=dead),)))
    return Film((graph,), tuple(frames))


def _id(pair: Pair) -> str:
    return f"{pair[0]}-{pair[1]}"


def _name(pair: Pair) -> str:
    return f"({pair[0]}, {pair[1]})"


def _product_graph(made: Product) -> Graph:
    nodes = tuple(
        Node(
            _id(pair),
            _name(pair),
            ("initial",) * (place == 0) + ("final",) * (pair in made.finals),
        )
        for place, pair in enumerate(made.order)
    )
    edges = tuple(Edge(_id(s), _id(t), (visible(token),)) for s, token, t in made.edges)
    return Graph("pairs", nodes, edges)


def _pair_words(pair: Pair, fsa: TokenDfa, star: Star, made: Product, new: Sequence[int]) -> str:
    going = ", ".join(f"{visible(made.edges[i][1])} to {_name(made.edges[i][2])}" for i in new)
    refused = [
        visible(token) for token in fsa.edges[pair[0]] if star.step(pair[1], token.decode()) is None
    ]
    told = f"{_name(pair)}: {going or 'nothing goes on'}"
    if refused:
        verb = "is" if len(refused) == 1 else "are"
        told += f"; {', '.join(refused)} {verb} improper after the last token"
    return told + "."


# -- counting -----------------------------------------------------------------------------------


def _sequences(world: World, longest: int) -> Iterator[tuple[str, ...]]:
    """Every sequence of the step's tokens whose text has at most that many characters."""
    words = [word.decode() for word in world.words]
    waiting: list[tuple[str, ...]] = [()]
    while waiting:
        tokens = waiting.pop()
        yield tokens
        room = longest - sum(map(len, tokens))
        waiting += [(*tokens, word) for word in words if len(word) <= room]


def counted(world: World, longest: int) -> tuple[int, int, int, int]:
    """All sequences, the proper ones, those whose text matches, and those that are both."""
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
    """Figure 5 in numbers: two languages of token sequences, and what they have in common.

    Source: Tran-Thien 2024, Figure 5.
    """
    rows = tuple((str(n), *(f"{count:,}" for count in counted(world, n))) for n in lengths)
    heads = ("at most", "all sequences", "proper", "text matches", "both")
    return Table("Sequences by the length of their text", heads, rows)


def in_both(world: World, *, longest: int) -> float:
    """How many proper sequences match, up to a length."""
    return counted(world, longest)[3]


def piece_table(world: World, *, rows: Sequence[Sequence[str]]) -> Table:
    """Sequences under a pre-tokenizer: each pair alone, and the whole.

    Source: the reference on proper tokenization, §9.
    """
    made = []
    for tokens in rows:
        ids = ids_of(world, tokens)
        pairs = [list(ids[i : i + 2]) for i in range(len(ids) - 1)]
        alone = all(world.bpe.encode(world.vocabulary.decode(pair)) == pair for pair in pairs)
        text = world.vocabulary.decode(ids)
        spelling = encoded(world, text)
        good = tuple(map(world.shown, ids)) == spelling
        made.append(
            (
                "  ".join(map(world.shown, ids)),
                "✓" if alone else "✗",
                "  ".join(spelling),
                "✓" if good else "✗",
            )
        )
    heads = ("sequence", "each pair alone", "its text encodes to", "proper")
    return Table("Pieces are cut first", heads, tuple(made))
