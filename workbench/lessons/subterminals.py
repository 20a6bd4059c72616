"""Films of DOMINO's scanner, trees and their pruning for a grammar and tokens.

Source: Beurer-Kellner et al. 2024 (DOMINO), §3.2 to §3.4, Figures 3 and 4. Trees and parser are
the engine's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from workbench.constraint.domino.constraint import DominoConstraint
from workbench.constraint.domino.scanner import BETWEEN
from workbench.constraint.domino.trees import SubterminalTree
from workbench.lessons.asking import Asked, which
from workbench.lessons.lesson import Table
from workbench.lessons.methods import constrained
from workbench.lessons.world import World
from workbench.vocabulary.vocabulary import TokenId


@dataclass(frozen=True, slots=True)
class Piece:
    """A subterminal: a terminal, and whether its beginning and its end are in it."""

    terminal: str
    begins: bool
    ends: bool

    def __str__(self) -> str:
        """In the notation of the lessons: ``[int]`` full, ``[int…`` start, ``…int]`` end."""
        return f"{'[' if self.begins else '…'}{self.terminal}{']' if self.ends else '…'}"


#: What a token is read as: one subterminal after the other.
Pieces = tuple[Piece, ...]


def domino_of(world: World) -> DominoConstraint:
    """The step's constraint by subterminal trees, with no end to the lookahead."""
    made = constrained(world, {"method": "domino"})
    assert isinstance(made, DominoConstraint), "the method of that name"
    return made


def terminal_name(made: DominoConstraint, terminal: int) -> str:
    """A terminal as the grammar writes it; a literal without its quotes."""
    name = made.scanner.terminals[terminal].name
    quoted = len(name) > 2 and name[0] == name[-1] and name[0] in "'\""
    return name[1:-1] if quoted else name


def node_pieces(made: DominoConstraint, tree: SubterminalTree, node: int, partial: bool) -> Pieces:
    """The subterminals on the way from the root of a tree to a node."""
    path = tree.path(node)
    inside = tree.state != BETWEEN
    return tuple(
        Piece(
            terminal_name(made, terminal),
            begins=not (inside and place == 0),
            ends=not (partial and place == len(path) - 1),
        )
        for place, terminal in enumerate(path)
    )


def read_as(made: DominoConstraint, tree: SubterminalTree) -> Iterator[tuple[TokenId, Pieces, int]]:
    """Every token of a tree with what it is read as, and its node."""
    for node in range(len(tree)):
        for place in range(int(tree.first[node]), int(tree.first[node + 1])):
            partial = bool(tree.partial[place])
            yield int(tree.tokens[place]), node_pieces(made, tree, node, partial), node


def everywhere(world: World) -> dict[TokenId, set[Pieces]]:
    """For each token all it can be read as, wherever in a text."""
    made = domino_of(world)
    found: dict[TokenId, set[Pieces]] = {}
    for at in (BETWEEN, *made.scanner.inside):
        tree = made.trees.get(at)
        assert tree is not None, "all of these can continue"
        for token_id, pieces, _ in read_as(made, tree):
            found.setdefault(token_id, set()).add(pieces)
    return found


def written(pieces: Pieces) -> str:
    """A sequence of subterminals in one word, for a table's cell."""
    return "\u00a0".join(map(str, pieces))


def pieces(world: World) -> Table:
    """Every token with the sequences of subterminals it can be read as."""
    found, rows = everywhere(world), []
    for token_id, token in enumerate(world.vocabulary.tokens):
        if token is None:
            continue
        ways = sorted(found.get(token_id, set()), key=lambda way: (len(way), written(way)))
        bridge = "✓" if is_bridge(found, token_id) else "✗"
        rows.append((world.shown(token_id), "  ".join(map(written, ways)) or "∅", bridge))
    return Table("What each token can be read as", ("token", "subterminals", "bridge"), tuple(rows))


def is_bridge(found: dict[TokenId, set[Pieces]], token_id: TokenId) -> bool:
    """Whether a token can only be read over more than one terminal."""
    ways = found.get(token_id, set())
    return bool(ways) and all(len(way) > 1 for way in ways)


def bridges(world: World) -> Asked:
    """Which tokens are bridge tokens: wherever they are read, more than one terminal is in them."""
    found = everywhere(world)
    ids = [i for i, token in enumerate(world.vocabulary.tokens) if token is not None]
    right = {place for place, i in enumerate(ids) if is_bridge(found, i)}

    def why(place: int) -> str:
        ways = found.get(ids[place], set())
        shortest = min(ways, key=lambda way: (len(way), written(way)), default=None)
        return f"it can be {written(shortest)}" if shortest else "no text of the grammar has it"

    return which(tuple(map(world.shown, ids)), right, why)
