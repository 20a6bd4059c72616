"""Slow implementations of the definitions, to compare the kernels with."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

DATA = Path(__file__).parents[2] / "data"

#: left, right → rank; equal ranks tie.
Ranked = dict[tuple[str, str], int]


def cases(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((DATA / f"{name}.json").read_text("utf-8"))["cases"]
    return found


def table(
    merges: Sequence[Sequence[str]],
    alphabet: Iterable[str],
    extra: Iterable[str] = (),
    pattern: str | None = None,
    *,
    ignore_merges: bool = False,
) -> Vocabulary:
    """A vocabulary of the alphabet, all sides and results of the rules, and an end token."""
    sides = [side for left, right in merges for side in (left, right, left + right)]
    words = list(dict.fromkeys([*alphabet, *sides, *extra]))
    return Vocabulary(
        [*(word.encode() for word in words), None],
        end=len(words),
        merges=[(left.encode(), right.encode()) for left, right in merges],
        pretokenizer=pattern,
        ignore_merges=ignore_merges,
    )


def case_table(case: dict[str, Any]) -> Vocabulary:
    return table(
        case["merges"],
        case["alphabet"],
        case.get("extra_tokens", ()),
        case.get("pattern"),
        ignore_merges=case.get("ignore_merges", False),
    )


def ranked(merges: Sequence[Sequence[str]]) -> Ranked:
    return {(left, right): rank for rank, (left, right) in enumerate(merges)}


def greedy(rules: Ranked, symbols: Iterable[str]) -> list[str]:
    """While some adjacent pair has a rule, the one of lowest rank is merged, leftmost first."""
    found = list(symbols)
    while True:
        pairs = pairwise(found)
        best = min(((rules[p], i) for i, p in enumerate(pairs) if p in rules), default=None)
        if best is None:
            return found
        found[best[1] : best[1] + 2] = ["".join(found[best[1] : best[1] + 2])]


def passes(merges: Sequence[Sequence[str]], symbols: Iterable[str]) -> list[str]:
    """For each rule in order, one sweep from left to right (the article's encoder)."""
    found = list(symbols)
    for left, right in merges:
        place = 0
        while place < len(found) - 1:
            if found[place] == left and found[place + 1] == right:
                found[place : place + 2] = [left + right]
            place += 1
    return found


def spines_ok(bpe: Bpe, first: TokenId, second: TokenId) -> bool:
    """The pair test as the theorem states it: every token of one spine with every one of the other."""
    tables = bpe.tables
    never = 10**9

    def spine(token: TokenId, sides: Sequence[int]) -> Iterator[tuple[int, int]]:
        """The tokens of a spine, each with the rank of the node above it."""
        above = never
        while token >= 0:
            yield token, above
            above, token = int(tables.rank[token]), int(sides[token])

    rules = {
        (int(tables.left[t]), int(tables.right[t])): int(tables.rank[t])
        for t in range(len(tables.rank))
        if tables.left[t] >= 0
    }
    return not any(
        (left, right) in rules
        and rules[left, right] < left_above
        and rules[left, right] <= right_above
        for left, left_above in spine(first, tables.right.tolist())
        for right, right_above in spine(second, tables.left.tolist())
    )


def walks(bpe: Bpe, tokens: Sequence[TokenId]) -> bool:
    """Whether a sequence is proper, tested as in a constraint: token by token, with guesses."""
    guide = bpe.guide
    guesses: set[int] = {0 if guide is None else guide.start}
    last: TokenId | None = None
    for token in tokens:
        if not bpe.is_canonical(token):
            return False
        inside = last is None or bpe.pair_ok(last, token)
        if guide is None:
            guesses = guesses if inside else set()
        else:
            read = {
                guide.take(guess, token, marked)
                for guess in guesses
                for marked in (False, True)
                if marked or inside
            }
            guesses = {guess for guess in read if guess is not None}
        last = token
    return bool(guesses) and (guide is None or any(map(guide.may_end, guesses)))


def sequences(vocabulary: Vocabulary, longest: int) -> Iterator[tuple[TokenId, ...]]:
    """All token sequences of at most ``longest`` characters."""
    lengths = {t: len(text.decode()) for t, text in enumerate(vocabulary.tokens) if text}
    queue: list[tuple[tuple[TokenId, ...], int]] = [((), 0)]
    for tokens, size in queue:
        yield tokens
        more = ((t, n) for t, n in lengths.items() if size + n <= longest)
        queue.extend(((*tokens, t), size + n) for t, n in more)


def rows_of(bpe: Bpe) -> dict[bytes, npt.NDArray[np.int32]]:
    """The different rows of canonical tokens, and the empty one: states of the article's automaton."""
    rows = [np.empty((0, 2), np.int32), *map(bpe.row, bpe.tables.order.tolist())]
    return {row.tobytes(): row for row in rows}
