"""Films and tables of byte-pair encoding and canonical sequences.

Both definitions of "encode with a merge table" are here, step by step; tests compare the
rank-greedy one with the engine's encoder.

Source: the project's reference on proper tokenization, §4, the linear form of the spine condition.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import Any

from workbench.app.lessons.automaton_films import opens_at
from workbench.app.lessons.lesson import (
    Answer,
    Film,
    Frame,
    Given,
    LessonError,
    Question,
    Reply,
    Row,
    Table,
    View,
    options_question,
    text_of,
)
from workbench.app.lessons.lesson_world import World, ids_of, token_bytes
from workbench.app.lessons.stack_films import Tree, tree_graph
from workbench.base.visible_text import count_of, visible

#: A merge rule: its two sides; its result is their concatenation.
Rule = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Merged:
    """The tokens after a merge, or after a sweep of merges."""

    rule: Rule
    tokens: tuple[str, ...]
    #: The positions of the new tokens.
    places: tuple[int, ...]


def rules_of(world: World) -> tuple[Rule, ...]:
    """The merge rules of a step.

    Raises: LessonError where the step has none.
    """
    if not world.merges:
        raise LessonError("expected merges in this step")
    return world.merges


def greedy(rules: Sequence[Rule], text: str) -> Iterator[Merged]:
    """Merge by merge: the applicable rule of lowest rank, at its leftmost position.

    Source: what SentencePiece, tokenizers and tiktoken compute; Sennrich et al. 2016.
    """
    rank = {rule: i for i, rule in reversed(list(enumerate(rules)))}
    tokens = tuple(text)
    while True:
        pending = [
            (rank[pair], position) for position, pair in enumerate(pairwise(tokens)) if pair in rank
        ]
        if not pending:
            return
        _, position = min(pending)
        rule = (tokens[position], tokens[position + 1])
        tokens = (*tokens[:position], rule[0] + rule[1], *tokens[position + 2 :])
        yield Merged(rule, tokens, (position,))


def passes(rules: Sequence[Rule], text: str) -> Iterator[Merged]:
    """Rule by rule: each is applied in one pass over the tokens, from the left.

    Source: Tran-Thien 2024, Table 1.
    """
    tokens = list(text)
    for rule in rules:
        swept: list[str] = []
        places: list[int] = []
        position = 0
        while position < len(tokens):
            if tuple(tokens[position : position + 2]) == rule:
                places.append(len(swept))
                swept.append(rule[0] + rule[1])
                position += 2
            else:
                swept.append(tokens[position])
                position += 1
        tokens = swept
        yield Merged(rule, tuple(tokens), tuple(places))


def rule_name(rule: Rule) -> str:
    """A rule as the papers write it: ``(a, b)``."""
    return f"({visible(rule[0])}, {visible(rule[1])})"


def encoding(world: World, given: Given, *, text: str = "") -> Film:
    """A text encoded merge by merge, as tokenizers do; the reader may type another."""
    rules = rules_of(world)
    read = given if isinstance(given, str) else text
    characters = {side for rule in rules for side in "".join(rule)}
    if unknown := [c for c in read if c not in characters]:
        raise LessonError(f"expected characters of the rules, not {visible(unknown[0])}")
    steps = list(greedy(rules, read))
    listed = Row("rules", tuple(map(rule_name, rules)))
    tokens = tuple(read)
    frames = [Frame("Every character is a token.", rows=(listed, _tokens_row(tokens, -1)))]
    for step in steps:
        number = rules.index(step.rule)
        say = (
            f"The first rule with a place to go is {rule_name(step.rule)}; it merges at its"
            " leftmost place."
        )
        marked = Row(listed.name, listed.chips, number)
        frames.append(Frame(say, rows=(marked, _tokens_row(step.tokens, step.places[0]))))
        tokens = step.tokens
    say = f"No rule has a place left: {count_of(len(tokens), 'token')}."
    frames.append(Frame(say, rows=(listed, _tokens_row(tokens, -1))))
    return Film((), tuple(frames), "text", opens_at(given))


def _tokens_row(tokens: Sequence[str], now: int) -> Row:
    return Row("tokens", tuple(map(visible, tokens)), now)


def table_1(world: World, *, text: str) -> Table:
    """The tokens after each rule's pass; newly merged tokens are in brackets.

    Source: Tran-Thien 2024, Table 1.
    """
    rows = [("characters", "  ".join(map(visible, text)))]
    for step in passes(rules_of(world), text):
        shown = [
            f"[{visible(t)}]" if i in step.places else visible(t) for i, t in enumerate(step.tokens)
        ]
        rows.append((f"after {rule_name(step.rule)}", "  ".join(shown)))
    return Table(f"Encoding {visible(text)}, rule by rule", ("", "tokens"), tuple(rows))


def encoders(world: World, *, texts: Sequence[str]) -> Table:
    """Texts encoded by both definitions."""
    rules, rows = rules_of(world), []
    for text in texts:
        ends = []
        for encoder in (greedy, passes):
            tokens = tuple(text)
            for step in encoder(rules, text):
                tokens = step.tokens
            ends.append("  ".join(map(visible, tokens)))
        rows.append((visible(text), *ends, "✓" if ends[0] == ends[1] else "✗"))
    heads = ("text", "lowest rank first", "one sweep a rule", "alike")
    return Table("Two meanings of encoding", heads, tuple(rows))


def cuts(
    world: World, *, rows: Sequence[Mapping[str, Any]], terminals: Sequence[str] = ()
) -> Table:
    """Tokenizations with their scores: accepted or not, and whether a token crosses terminals.

    Source: Koo et al. 2024, Appendix A.
    """
    lines = []
    for row in rows:
        tokens = [str(token) for token in row["tokens"]]
        text = "".join(tokens)
        accepted = "✓" if world.grammar.accepts(text) else "✗"
        crossing = _crossing(tokens, _borders(text, terminals))
        lines.append(
            (str(row["score"]), " ".join(map(visible, tokens)), text, accepted, crossing or "none")
        )
    heads = ("score", "tokens", "text", "accepted", "crosses terminals")
    return Table("Ways to spell a call", heads, tuple(lines))


def _borders(text: str, terminals: Sequence[str]) -> set[int]:
    """The positions between the terminals of a text."""
    places, position = set(), 0
    while position < len(text):
        terminal = max((t for t in terminals if text.startswith(t, position)), key=len, default="")
        if not terminal:
            raise LessonError(f"expected terminals that make up {text!r}")
        position += len(terminal)
        places.add(position)
    return places - {len(text)}


def _crossing(tokens: Sequence[str], borders: set[int]) -> str:
    position, crossing = 0, []
    for token in tokens:
        if borders & set(range(position + 1, position + len(token))):
            crossing.append(visible(token))
        position += len(token)
    return "  ".join(crossing)


def spellings(world: World, *, text: str) -> Table:
    """Every tokenization of a text."""
    rows = tuple(
        (str(i), "  ".join(map(visible, cut)))
        for i, cut in enumerate(tokenizations(world, text), 1)
    )
    return Table(f"Every way to spell {visible(text)}", ("", "tokens"), rows)


def tokenizations(world: World, text: str) -> list[tuple[bytes, ...]]:
    """Every sequence of tokens whose text is ``text``."""
    data = text.encode()
    ways: list[list[tuple[bytes, ...]]] = [[] for _ in range(len(data) + 1)]
    ways[0] = [()]
    for position in range(len(data)):
        for token in world.words:
            if data.startswith(token, position):
                ways[position + len(token)] += [(*way, token) for way in ways[position]]
    return ways[len(data)]


@dataclass(frozen=True, slots=True)
class Split:
    """The last rule in the encoding of a token's text; None for a symbol."""

    rule: Rule | None
    rank: float = -1


def splits(world: World) -> dict[str, Split]:
    """Every canonical token (a symbol, or a token whose text encodes to itself) with its split."""
    rules, words = rules_of(world), (word.decode() for word in world.words)
    split_of = {word: Split(None) for word in words if len(word) == 1}
    for left, right in rules:
        steps = list(greedy(rules, left + right))
        if steps and steps[-1].tokens == (left + right,):
            split_of[left + right] = Split(steps[-1].rule, rules.index(steps[-1].rule))
    return split_of


def derivation(token: str, split_of: dict[str, Split]) -> Tree:
    """The merges of a canonical token as a tree.

    Raises: LessonError for a token that occurs in no encoding.
    """
    if token not in split_of:
        raise LessonError(f"expected a token some text encodes to, not {token!r}")
    rule = split_of[token].rule
    return Tree(visible(token), tuple(derivation(side, split_of) for side in rule) if rule else ())


@dataclass(frozen=True, slots=True)
class Tested:
    """One step of the pair test: two adjacent nodes and the result for them."""

    left: str
    right: str
    #: Their depths on both spines.
    depths: tuple[int, int]
    #: A rule that joins them must have a lower rank.
    limit: float
    #: The rank of the rule that joins them, if there is one.
    rank: float | None
    #: After the last step: whether the pair is proper.
    proper: bool | None = None


def turns(world: World, first: str, second: str) -> Iterator[Tested]:
    """The pair test step by step: each undoes the later of the two last merges.

    Source: the linear form of the pairwise theorem.
    """
    split_of = splits(world)
    left, right, depths, limit = first, second, (0, 0), inf
    while True:
        rule = (left, right)
        split = split_of.get(left + right)
        rank = split.rank if split is not None and split.rule == rule else None
        if rank is not None and rank < limit:
            yield Tested(left, right, depths, limit, rank, False)
            return
        left_split, right_split = split_of[left], split_of[right]
        if left_split.rule is None and right_split.rule is None:
            yield Tested(left, right, depths, limit, rank, True)
            return
        yield Tested(left, right, depths, limit, rank)
        if left_split.rule is not None and left_split.rank > right_split.rank:
            left, limit, depths = left_split.rule[1], left_split.rank, (depths[0] + 1, depths[1])
        else:
            assert right_split.rule is not None, "one of both is not a symbol"
            right, limit, depths = (
                right_split.rule[0],
                right_split.rank + 1,
                (depths[0], depths[1] + 1),
            )


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
    """Two tokens as trees, and the nodes at their border from the roots down."""
    rules = rules_of(world)
    if len(tokens) != 2:
        raise LessonError("expected two tokens")
    split_of = splits(world)
    trees = [derivation(token, split_of) for token in tokens]
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
        words = f"No live rule {rule}."
    elif turn.proper is False:
        when = "nothing is merged before it" if turn.limit == inf else "it fires first"
        return f"{rule} is rule {int(turn.rank) + 1}, and {when}: the pair merges over its border."
    else:
        words = f"{rule} is rule {int(turn.rank) + 1}, but one side is merged away before."
    if turn.proper:
        return f"{words} Nothing is left to undo: the pair is proper."
    return f"{words} The later of the two last merges is undone."


def live(world: World) -> Table:
    """Every rule: whether it is ever applied, and else the rule that makes its token."""
    rules, rows = rules_of(world), []
    split_of = splits(world)
    for number, rule in enumerate(rules, start=1):
        token = rule[0] + rule[1]
        split = split_of.get(token)
        if split is None:
            steps = list(greedy(rules, token))
            instead = "  ".join(map(visible, steps[-1].tokens if steps else token))
            rows.append(
                (str(number), rule_name(rule), "✗", f"{visible(token)} encodes to {instead}")
            )
        elif split.rule == rule:
            rows.append((str(number), rule_name(rule), "✓", f"makes {visible(token)}"))
        else:
            assert split.rule is not None, "a result has a split"
            rows.append(
                (
                    str(number),
                    rule_name(rule),
                    "✗",
                    f"{visible(token)} is made by {rule_name(split.rule)}",
                )
            )
    return Table("Live rules and dead ones", ("", "rule", "live", "why"), tuple(rows))


def encoded(world: World, text: str | bytes) -> tuple[str, ...]:
    """The encoding of a text by the step's tokenizer, as shown to the reader."""
    return tuple(map(world.shown, world.bpe.encode(text)))


def is_proper(world: World, tokens: Sequence[str]) -> bool:
    """Whether these tokens are the encoding of their text."""
    ids = ids_of(world, tokens)
    return tuple(world.bpe.encode(world.vocabulary.decode(ids))) == ids


def sequences(world: World, *, rows: Sequence[Sequence[str]]) -> Table:
    """Sequences of tokens: the encoding of their text, and the first improper pair."""
    lines = []
    for tokens in rows:
        ids = ids_of(world, tokens)
        broken = next(
            (
                f"{world.shown(first_id)}  {world.shown(other)}"
                for first_id, other in pairwise(ids)
                if not world.bpe.pair_ok(first_id, other)
            ),
            "none",
        )
        spelling = "  ".join(encoded(world, world.vocabulary.decode(ids)))
        good = "✓" if is_proper(world, tokens) else "✗"
        lines.append(("  ".join(map(world.shown, ids)), spelling, good, broken))
    heads = ("sequence", "its text encodes to", "proper", "first broken pair")
    return Table("Sequences of tokens", heads, tuple(lines))


# -- questions ---------------------------------------------------------------------------------


def proper(world: World, *, options: Sequence[Sequence[str]]) -> Question:
    """Which of these sequences are proper."""
    right = {i for i, tokens in enumerate(options) if is_proper(world, tokens)}

    def why(number: int) -> str:
        text = b"".join(map(token_bytes, options[number]))
        return f"its text encodes to {'  '.join(encoded(world, text))}"

    shown = tuple("  ".join(map(visible, tokens)) for tokens in options)
    return options_question(shown, right, why)


def encode(world: World, *, text: str) -> Question:
    """Write the proper sequence of a text."""
    right = encoded(world, text)

    def judge(answer: Answer) -> Reply:
        given = tuple(text_of(answer).split())
        if given == right:
            return Reply(True, f"Right: {count_of(len(right), 'token')}.")
        if "".join(given) != text:
            return Reply(False, f"Your tokens spell {visible(''.join(given)) or 'nothing'}.")
        unknown = [token for token in given if token_bytes(token) not in world.vocabulary.ids_of]
        if unknown:
            return Reply(False, f"{unknown[0]} is no token: no rule makes it.")
        return Reply(False, "They spell it, but the rules merge it otherwise.")

    return Question("tokens", (), judge)


def dead(world: World) -> Question:
    """Which rules are never applied."""
    rules = rules_of(world)
    split_of = splits(world)
    results = [split_of.get(left + right) for left, right in rules]
    right = {i for i, rule in enumerate(rules) if (m := results[i]) is None or m.rule != rule}

    def why(number: int) -> str:
        return f"encoding {visible(''.join(rules[number]))} ends with this rule"

    return options_question(tuple(map(rule_name, rules)), right, why)
