"""Terminal labels against an oracle: derivatives of a regex over letters and labels."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.base.errors import TokenNotAllowed, VocabularyError
from workbench.constraint.compile import compile
from workbench.constraint.protocol import State
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

# -- the oracle ------------------------------------------------------------------------------------

#: A regex over symbols: letters, and labels by their name. ("one", symbol), ("all", *parts),
#: ("any", *options), ("star", part); NOTHING has no text, EMPTY the empty one alone.
Tree = tuple[object, ...]
NOTHING: Tree = ("any",)
EMPTY: Tree = ("all",)
PRECEDENCE = ("IMAGE", "PARAGRAPH_TOKEN", "TEXT_TOKEN")


def both(left: Tree, right: Tree) -> Tree:
    if NOTHING in (left, right):
        return NOTHING
    parts = [p for one in (left, right) for p in (one[1:] if one[0] == "all" else (one,))]
    return parts[0] if len(parts) == 1 else ("all", *parts)  # type: ignore[return-value]


def either(options: list[Tree]) -> Tree:
    flat = {o for one in options for o in (one[1:] if one[0] == "any" else (one,))}
    return flat.pop() if len(flat) == 1 else ("any", *sorted(flat, key=repr))  # type: ignore[return-value]


@cache
def nullable(tree: Tree) -> bool:
    kind, *parts = tree
    if kind == "all":
        return all(map(nullable, parts))
    return any(map(nullable, parts)) if kind == "any" else kind == "star"


@cache
def after(tree: Tree, symbol: str) -> Tree:
    """The derivative of a tree by a symbol (Brzozowski 1964)."""
    kind, *parts = tree
    if kind == "one":
        return EMPTY if parts[0] == symbol else NOTHING
    if kind == "any":
        return either([after(part, symbol) for part in parts])
    if kind == "star":
        return both(after(parts[0], symbol), tree)
    found: list[Tree] = []
    for place, part in enumerate(parts):
        rest: Tree = ("all", *parts[place + 1 :])
        found.append(both(after(part, symbol), both(rest, EMPTY)))
        if not nullable(part):
            break
    return either(found)


def written(tree: Tree) -> str:
    kind, *parts = tree
    if kind == "one":
        return str(parts[0]) if len(str(parts[0])) == 1 else f"(?P<{parts[0]}>)"
    if kind == "star":
        return f"(?:{written(parts[0])})*"  # type: ignore[arg-type]
    joint = "" if kind == "all" else "|"
    return f"(?:{joint.join(written(part) for part in parts)})"  # type: ignore[arg-type]


class Twin:
    """The rule of the paper token by token: text first, then the first label with the token."""

    def __init__(self, tree: Tree, vocabulary: Vocabulary) -> None:
        self.tree, self.vocabulary = tree, vocabulary

    def ways(self, tree: Tree) -> Iterator[tuple[TokenId | str, Tree]]:
        """Every token as text, and every label, each with the derivative after it."""
        for token_id, token in enumerate(self.vocabulary.tokens):
            if token is not None:
                left = tree
                for letter in token.decode("latin-1"):
                    left = after(left, letter)
                yield token_id, left
        for label in PRECEDENCE:
            if any(self.reads(label, t) for t in range(len(self.vocabulary))):
                yield label, after(tree, label)

    def reads(self, label: str, token_id: TokenId) -> bool:
        token = self.vocabulary.tokens[token_id]
        if label == "IMAGE":
            return self.vocabulary.names.get(token_id) == "[IMG]"
        return token is not None and (label == "TEXT_TOKEN" or b"\n" not in token)

    def is_alive(self, tree: Tree) -> bool:
        """Whether tokens and labels lead to a nullable tree."""
        seen, waiting = {tree}, [tree]
        for here in waiting:
            if nullable(here):
                return True
            new = {left for _, left in self.ways(here)} - seen
            seen |= new
            waiting += new
        return False

    def rows(self, tree: Tree) -> dict[TokenId, Tree]:
        """The tokens that may come next, and the tree after each."""
        ways = {way: left for way, left in self.ways(tree) if self.is_alive(left)}
        found = {}
        for token_id in range(len(self.vocabulary)):
            order = (token_id, *(label for label in PRECEDENCE if self.reads(label, token_id)))
            led = next((ways[way] for way in order if way in ways), None)
            if led is not None:
                found[token_id] = led
        if nullable(tree) and self.vocabulary.end is not None:
            found[self.vocabulary.end] = tree
        return found


SYMBOLS = st.sampled_from(["a", "b", "\n", "TEXT_TOKEN", "PARAGRAPH_TOKEN", "IMAGE"])
TREES = st.recursive(
    st.builds(lambda symbol: ("one", symbol), SYMBOLS),
    lambda inner: st.one_of(
        st.builds(lambda parts: ("all", *parts), st.lists(inner, min_size=2, max_size=3)),
        st.builds(lambda parts: ("any", *parts), st.lists(inner, min_size=2, max_size=3)),
        st.builds(lambda part: ("star", part), inner),
    ),
    max_leaves=7,
)
WORDS = st.lists(
    st.text("ab\n\xc3", min_size=1, max_size=3).map(lambda t: t.encode("latin-1")),
    min_size=1,
    max_size=6,
    unique=True,
)


def with_image(words: list[bytes]) -> Vocabulary:
    """Words, "a" among them, an end token and an image."""
    words = [b"a", *(word for word in words if word != b"a")]
    end = len(words)
    return Vocabulary((*words, None, None), end=end, special=(end + 1,), names={end + 1: "[IMG]"})


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("automaton", {}),
        ("composed", {}),
        ("domino", {}),
        ("online", {}),
        ("online", {"how": "trie"}),
        ("online", {"checker": "synchromesh"}),
    ],
)
@settings(max_examples=60, deadline=None)
@given(tree=TREES, words=WORDS)
def test_masks_and_steps_are_those_of_the_oracle(
    method: str, options: dict[str, Any], tree: Tree, words: list[bytes]
) -> None:
    if "checker" in options:  # other checkers do not recognize dead ends over tokens
        words = [*{*words, b"b", b"\n"}]
    vocabulary = with_image(words)
    twin = Twin(tree, vocabulary)
    grammar = Grammar.from_regex(written(tree))
    try:
        constraint = compile(grammar, vocabulary, method, **options)
    except VocabularyError:
        assert not twin.is_alive(tree)
        return
    waiting: list[tuple[State, Tree, bytes, int]] = [(constraint.initial, tree, b"", 3)]
    seen = set()
    while waiting:
        state, left, text, depth = waiting.pop()
        rows = twin.rows(left)
        assert set(constraint.mask(state)) == set(rows), (text, left)
        assert constraint.is_final(state) == nullable(left), text
        # as a grammar over characters it accepts all texts of its tokens
        assert grammar.is_prefix(text), text
        assert not nullable(left) or grammar.accepts(text), text
        for token_id in range(-1, len(vocabulary) + 2):
            if token_id not in rows:
                with pytest.raises(TokenNotAllowed):
                    constraint.advance(state, token_id)
            elif depth and (left, token_id) not in seen:
                seen.add((left, token_id))
                spelt = text + (vocabulary.tokens[token_id] or b"")
                there = constraint.advance(state, token_id)
                waiting.append((there, rows[token_id], spelt, depth - 1))
