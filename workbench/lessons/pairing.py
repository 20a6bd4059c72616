"""A film of the pair test: the merge rules that could join two tokens.

Source: the project's reference on proper tokenization, §4, the linear form of the spine condition.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

from workbench.drawing.text import visible
from workbench.lessons.deriving import Tree, tree_graph
from workbench.lessons.lesson import Film, Frame, Given, LessonError, Row, Table, View
from workbench.lessons.merging import Rule, greedy, rule_name, rules_of
from workbench.lessons.world import World


@dataclass(frozen=True, slots=True)
class Split:
    """The rule that makes a token when its text is encoded alone; a symbol has none."""

    rule: Rule | None
    rank: float = -1


def splits(world: World) -> dict[str, Split]:
    """Every canonical token with its live split: symbols, and what encodes to itself."""
    rules, words = rules_of(world), (word.decode() for word in world.words)
    found = {word: Split(None) for word in words if len(word) == 1}
    for left, right in rules:
        steps = list(greedy(rules, left + right))
        if steps and steps[-1].tokens == (left + right,):
            found[left + right] = Split(steps[-1].rule, rules.index(steps[-1].rule))
    return found


def derivation(token: str, known: dict[str, Split]) -> Tree:
    """How a canonical token is merged together, as a tree.

    Raises: LessonError for a token that is in no encoding.
    """
    if token not in known:
        raise LessonError(f"expected a token some text encodes to, not {token!r}")
    rule = known[token].rule
    return Tree(visible(token), tuple(derivation(side, known) for side in rule) if rule else ())


@dataclass(frozen=True, slots=True)
class Tested:
    """One turn of the pair test: two nodes that touch, and what is found of them."""

    left: str
    right: str
    #: How far down each spine they are.
    depths: tuple[int, int]
    #: A rule that joins them has to come before this rank.
    limit: float
    #: The rank of the rule that joins them, if there is one.
    rank: float | None
    #: Known after the last turn: whether both tokens may stand side by side.
    proper: bool | None = None


def turns(world: World, first: str, second: str) -> Iterator[Tested]:
    """The pair test turn by turn: each undoes the later of the two last merges.

    Source: the linear form of the pairwise theorem.
    """
    known = splits(world)
    left, right, depths, limit = first, second, (0, 0), inf
    while True:
        rule = (left, right)
        made = known.get(left + right)
        rank = made.rank if made is not None and made.rule == rule else None
        if rank is not None and rank < limit:
            yield Tested(left, right, depths, limit, rank, False)
            return
        one, other = known[left], known[right]
        if one.rule is None and other.rule is None:
            yield Tested(left, right, depths, limit, rank, True)
            return
        yield Tested(left, right, depths, limit, rank)
        if one.rule is not None and one.rank > other.rank:
            left, limit, depths = one.rule[1], one.rank, (depths[0] + 1, depths[1])
        else:
            assert other.rule is not None, "one of both is no symbol"
            right, limit, depths = other.rule[0], other.rank + 1, (depths[0], depths[1] + 1)


def _size(tree: Tree) -> int:
    return 1 + sum(map(_size, tree.parts))


def _spine(tree: Tree, depth: int, *, right: bool) -> str:
    """The id of a node on the right or left spine; nodes are numbered parents first."""
    number = 0
    for _ in range(depth):
        number += 1 + (_size(tree.parts[0]) if right else 0)
        tree = tree.parts[-1 if right else 0]
    return str(number)


def pair(world: World, given: Given, *, tokens: Sequence[str]) -> Film:
    """Two tokens as trees, and the nodes at their border from the outside in."""
    rules = rules_of(world)
    if len(tokens) != 2:
        raise LessonError("expected two tokens")
    known = splits(world)
    trees = [derivation(token, known) for token in tokens]
    graphs = tuple(
        tree_graph(tree, f"{side}: {visible(token)}")
        for side, token, tree in zip(("left", "right"), tokens, trees, strict=True)
    )
    frames = []
    for turn in turns(world, *tokens):
        lit = [
            View((_spine(tree, depth, right=side == 0),))
            for side, (tree, depth) in enumerate(zip(trees, turn.depths, strict=True))
        ]
        now = -1 if turn.rank is None else int(turn.rank)
        row = Row("rules", tuple(map(rule_name, rules)), now)
        frames.append(Frame(_words(turn), tuple(lit), (row,), good=turn.proper))
    return Film(graphs, tuple(frames))


def _words(turn: Tested) -> str:
    rule = rule_name((turn.left, turn.right))
    if turn.rank is None:
        told = f"No live rule {rule}."
    elif turn.proper is False:
        when = "nothing is merged before it" if turn.limit == inf else "it fires first"
        return f"{rule} is rule {int(turn.rank) + 1}, and {when}: the pair merges over its border."
    else:
        told = f"{rule} is rule {int(turn.rank) + 1}, but one side is merged away before."
    if turn.proper:
        return f"{told} Nothing is left to undo: the pair is proper."
    return f"{told} The later of the two last merges is undone."


def live(world: World) -> Table:
    """Every rule: whether it ever fires, and which rule makes its token instead."""
    rules, rows = rules_of(world), []
    known = splits(world)
    for number, rule in enumerate(rules, start=1):
        token = rule[0] + rule[1]
        made = known.get(token)
        if made is None:
            steps = list(greedy(rules, token))
            instead = "  ".join(map(visible, steps[-1].tokens if steps else token))
            rows.append(
                (str(number), rule_name(rule), "✗", f"{visible(token)} encodes to {instead}")
            )
        elif made.rule == rule:
            rows.append((str(number), rule_name(rule), "✓", f"makes {visible(token)}"))
        else:
            assert made.rule is not None, "a result has a split"
            rows.append(
                (
                    str(number),
                    rule_name(rule),
                    "✗",
                    f"{visible(token)} is made by {rule_name(made.rule)}",
                )
            )
    return Table("Live rules and dead ones", ("", "rule", "live", "why"), tuple(rows))
