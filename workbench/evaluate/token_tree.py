"""TokenTree: every spelling of every text of a finite language, with the model's own chances.

In come a model, a prompt and an exact constraint; out comes a tree over tokens in which each node
knows what the model thinks of its children. Methods are then compared on it without the model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from workbench.constraint.protocol import Constraint, State
from workbench.decoding.model import LanguageModel, padded
from workbench.decoding.sampling import log_softmax
from workbench.errors import WorkbenchError
from workbench.vocabulary.vocabulary import TokenId

#: Beginnings of spellings a language may have: some seconds of the embedded model.
MOST_NODES = 20_000


@dataclass(slots=True, eq=False)
class Node:
    """A beginning of some accepted text, spelt in tokens.

    Unit: log-probabilities in nats, of the model's own distribution over all tokens.
    """

    text: bytes
    #: Whether the text is accepted as it is.
    accepted: bool
    children: dict[TokenId, Node] = field(default_factory=dict)
    #: log p of each child's token after this beginning.
    logprobs: dict[TokenId, float] = field(default_factory=dict)
    #: log p of the end token here; 0 where the vocabulary has none.
    end: float = -math.inf


@dataclass(frozen=True, slots=True, eq=False)
class TokenTree:
    """All spellings of a finite language after a prompt."""

    root: Node
    #: Forward passes it took.
    passes: int
    nodes: int

    @property
    def texts(self) -> tuple[bytes, ...]:
        """The texts of the language that the vocabulary spells, sorted."""
        return tuple(sorted({node.text for _, node, _ in self.spellings()}))

    def spellings(self) -> Iterator[tuple[tuple[TokenId, ...], Node, float]]:
        """Each spelling of each accepted text: tokens, its last node, log p of these tokens."""
        waiting: list[tuple[tuple[TokenId, ...], Node, float]] = [((), self.root, 0.0)]
        while waiting:
            ids, node, logprob = waiting.pop()
            if node.accepted:
                yield ids, node, logprob
            for token_id, child in reversed(node.children.items()):
                waiting.append(((*ids, token_id), child, logprob + node.logprobs[token_id]))


def token_tree(
    model: LanguageModel, prompt: str, constraint: Constraint, most: int = MOST_NODES
) -> TokenTree:
    """The tree of an exact constraint over a finite language, judged by the model.

    Cost:   one forward pass a leaf, over what it does not share with the leaf before.
    Raises: WorkbenchError where the language has more than ``most`` beginnings (an infinite one
            has), or no text; ModelError past the model's context.
    """
    root, count = _grown(constraint, most)
    passes = _judge(model, prompt, root)
    return TokenTree(root, passes, count)


def _grown(constraint: Constraint, most: int) -> tuple[Node, int]:
    """The tree before the model is asked, and how many nodes it has."""
    root = Node(b"", constraint.is_final(constraint.initial))
    waiting: list[tuple[Node, State]] = [(root, constraint.initial)]
    tokens, end, count = constraint.vocabulary.tokens, constraint.vocabulary.end, 1
    while waiting:
        node, state = waiting.pop()
        mask = constraint.mask(state)
        count += len(mask)
        if count > most:
            raise WorkbenchError(
                f"the language has more than {most:,} beginnings in tokens; expected a finite and"
                " small one",
                "exact distributions are for languages such as ( William)|( Theodore)",
            )
        for token_id in mask:
            if token_id == end:
                continue
            there = constraint.advance(state, token_id)
            child = Node(node.text + (tokens[token_id] or b""), constraint.is_final(there))
            node.children[token_id] = child
            waiting.append((child, there))
    if not root.children and not root.accepted:
        raise WorkbenchError("the language has no text", "write a grammar that accepts something")
    return root, count


def _judge(model: LanguageModel, prompt: str, root: Node) -> int:
    """Ask the model about every node, chain by chain; how many passes it took."""
    session, context, passes = model.session(), model.encode(prompt), 0
    size, end = len(model.vocabulary), model.vocabulary.end
    waiting: list[list[TokenId]] = [[]]  # spellings of the first node of a chain nobody judged
    while waiting:
        ids = waiting.pop()
        chain = [_at(root, ids)]
        first = len(ids)
        ids = list(ids)
        while chain[-1].children:
            around = list(chain[-1].children)
            waiting.extend([*ids, token_id] for token_id in around[1:])
            ids.append(around[0])
            chain.append(chain[-1].children[around[0]])
        rows = session.judge([*context, *ids], len(ids) - first + 1)
        passes += 1
        for node, row in zip(chain, rows, strict=True):
            logprobs = log_softmax(padded(row, size))
            node.logprobs = {i: float(logprobs[i]) for i in node.children}
            node.end = 0.0 if end is None else float(logprobs[end])
    return passes


def _at(root: Node, ids: list[TokenId]) -> Node:
    node = root
    for token_id in ids:
        node = node.children[token_id]
    return node
