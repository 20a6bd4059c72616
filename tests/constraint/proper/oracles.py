"""Slow, obvious twins of proper tokenization: texts are encoded, sequences are enumerated."""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.oracles.brute_force import texts
from workbench.vocabulary.vocabulary import Vocabulary

DATA = Path(__file__).parents[2] / "data"

Rules = Sequence[tuple[str, str]]


def figures() -> dict[str, Any]:
    """Every figure of the article and its appendix, as data."""
    found: dict[str, Any] = json.loads((DATA / "proper_figures.json").read_text())
    return found


def cases(name: str) -> list[dict[str, Any]]:
    """The cases of one file."""
    found: list[dict[str, Any]] = json.loads((DATA / name).read_text())["cases"]
    return found


def encode(rules: Rules, text: str) -> list[str]:
    """Rank-greedy: the pending merge of lowest rank, the leftmost of several."""
    rank = {tuple(rule): place for place, rule in reversed(list(enumerate(rules)))}
    pieces = list(text)
    while True:
        pending = [
            (rank[pair], i) for i, pair in enumerate(itertools.pairwise(pieces)) if pair in rank
        ]
        if not pending:
            return pieces
        _, at = min(pending)
        pieces[at : at + 2] = [pieces[at] + pieces[at + 1]]


def random_rules(choose: random.Random, most: int) -> list[tuple[str, str]]:
    """Up to ``most`` rules over a and b, each for another token."""
    tokens, rules = ["a", "b"], list[tuple[str, str]]()
    for _ in range(choose.randint(0, most)):
        rule = choose.choice(tokens), choose.choice(tokens)
        if rule[0] + rule[1] not in tokens:
            rules.append(rule)
            tokens.append(rule[0] + rule[1])
    return rules


def live_rules(rules: Rules) -> list[tuple[str, str]]:
    """The rules that can fire, in rank order: those whose token is canonical for its text."""
    found = set()
    for left, right in rules:
        pieces = _before_the_last(rules, left + right)
        if len(pieces) == 2:
            found.add(tuple(pieces))
    return [rule for rule in dict.fromkeys(map(tuple, rules)) if rule in found]  # type: ignore[misc]


def _before_the_last(rules: Rules, text: str) -> list[str]:
    """The two pieces the last merge joins; something else where the text is no token."""
    rank = {tuple(rule): place for place, rule in reversed(list(enumerate(rules)))}
    pieces = list(text)
    while len(pieces) > 2:
        pending = [
            (rank[pair], i) for i, pair in enumerate(itertools.pairwise(pieces)) if pair in rank
        ]
        if not pending:
            return pieces
        _, at = min(pending)
        pieces[at : at + 2] = [pieces[at] + pieces[at + 1]]
    return pieces if tuple(pieces) in rank else []


def spellings(tokens: Iterable[str], text: str) -> Iterator[tuple[str, ...]]:
    """Every sequence of tokens that spells a text."""
    known = tuple(tokens)

    def spell(rest: str) -> Iterator[tuple[str, ...]]:
        if not rest:
            yield ()
        for token in known:
            if rest.startswith(token):
                for more in spell(rest[len(token) :]):
                    yield (token, *more)

    return spell(text)


def proper_sequences(
    encoder: Callable[[str], Sequence[str]], regex: str, alphabet: str, longest: int
) -> list[tuple[str, ...]]:
    """The encoding of every matching text."""
    matching = (t for t in texts(alphabet, longest) if re.fullmatch(regex, t, re.DOTALL))
    return [tuple(encoder(text)) for text in matching]


def toy(
    alphabet: str, rules: Rules, *, extra: Iterable[str] = (), pattern: str | None = None,
    ignore_merges: bool = False,
) -> Vocabulary:  # fmt: skip
    """A vocabulary of an alphabet and all that can be merged from it."""
    tokens = dict.fromkeys([*alphabet, *(a + b for a, b in rules), *extra])
    return Vocabulary(
        [*(t.encode() for t in tokens), None],
        end=len(tokens),
        merges=[(a.encode(), b.encode()) for a, b in rules],
        pretokenizer=pattern,
        ignore_merges=ignore_merges,
        name="toy merges",
    )


def of_case(case: dict[str, Any]) -> Vocabulary:
    """The vocabulary of a case."""
    return toy(
        case["alphabet"],
        case["merges"],
        extra=case.get("extra_tokens", ()),
        pattern=case.get("pattern"),
        ignore_merges=case.get("ignore_merges", False),
    )


def labels(tokens: Iterable[str]) -> tuple[bytes, ...]:
    """Texts as labels of a token automaton."""
    return tuple(token.encode() for token in tokens)
