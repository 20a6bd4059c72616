"""The exact distribution of each method over a finite language.

In come a model, a prompt and an exact constraint; out comes a tree over tokens in which each node
knows what the model thinks of its children. Methods are then compared on it without the model.

The model's own conditional over a language gives each text its probability among the language's
texts. Masks chosen token by token induce another one: they renormalise at every step, so a first
token that many texts share is taken as often as the model likes it, whatever follows. How far
apart the two are is Tran-Thien's first challenge; here it is computed, not sampled.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from workbench.base.errors import WorkbenchError
from workbench.base.limits import LIMITS, Limits
from workbench.constraint.compile import compile as compile_grammar
from workbench.constraint.protocol import Constraint, State
from workbench.decoding.contenders import NARROWER_STRATEGIES, UNCONSTRAINED, Contender
from workbench.decoding.measures import CanonicalSpelling, canonical_spelling
from workbench.decoding.model import LanguageModel, Logits, StatelessSession, padded
from workbench.decoding.sampling import log_softmax
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


@dataclass(frozen=True, eq=False)
class ScoredModel:
    """A model that writes some sequences and no others; each ends with the end token.

    After a beginning that none of them has it ends at once. Prompts are not read. The scores
    need not add up to 1.
    """

    vocabulary: Vocabulary
    scores: Mapping[tuple[TokenId, ...], float]
    name: str = "scored"

    def encode(self, text: str) -> list[TokenId]:
        """One token, whatever the prompt."""
        return [0]

    def session(self) -> StatelessSession:
        return StatelessSession(self.logits)

    def logits(self, token_ids: Sequence[TokenId]) -> Logits:
        """The logarithms of what goes on so, summed over the sequences (V,)."""
        taken = tuple(token_ids[1:])
        end = self.vocabulary.end
        assert end is not None, "its sequences end"
        mass = np.zeros(len(self.vocabulary))
        for ids, score in self.scores.items():
            if ids[: len(taken)] == taken:
                mass[ids[len(taken)] if len(ids) > len(taken) else end] += score
        if not mass.any():
            mass[end] = 1
        with np.errstate(divide="ignore"):
            logits: Logits = np.log(mass / mass.sum()).astype(np.float32)
        return logits


#: Beginnings of spellings a language may have: some seconds of the embedded model.
MAX_NODES = 20_000


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
    model: LanguageModel, prompt: str, constraint: Constraint, most: int = MAX_NODES
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


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """The texts of a finite language with their probabilities, at temperature 1."""

    probability: dict[bytes, float]
    #: What ends nowhere: the mass of dead ends, which sampling would reach and be stuck in.
    lost: float = 0.0
    #: The spellings that have a chance.
    spellings: int = 0


@dataclass(frozen=True, slots=True)
class Distance:
    """How far a method's distribution is from the model's own.

    Unit: ``kl`` and ``kl_back`` in nats, infinite where a text has lost all its chance.
    """

    #: The largest difference in the probability of any set of texts, between 0 and 1.
    total_variation: float
    #: KL(own ‖ method).
    kl: float
    #: KL(method ‖ own).
    kl_back: float


@dataclass(frozen=True, slots=True, eq=False)
class ExactComparison:
    """A finite language under a model: its own conditional, and what methods make of it."""

    texts: tuple[bytes, ...]
    #: Over all spellings of each text.
    own: Distribution
    #: Over the spellings of the tokenizer alone; None where the vocabulary does not tell them.
    own_proper: Distribution | None
    #: For each text the part of its own probability that its proper spelling holds.
    proper_share: dict[bytes, float]
    #: By the contender's name.
    methods: dict[str, Distribution]
    #: Why a contender has none.
    failed: dict[str, WorkbenchError]
    #: Of the own conditional.
    distances: dict[str, Distance]
    spellings: int
    passes: int

    def as_record(self) -> dict[str, Any]:
        """Plain values for JSON: a row for each text, a distance for each method."""
        columns = {"own": self.own}
        if self.own_proper is not None:
            columns["own_proper"] = self.own_proper
        columns |= self.methods
        return {
            "texts": [
                {
                    "text": text.decode("utf-8", "backslashreplace"),
                    "proper_share": self.proper_share.get(text),
                    **{name: found.probability.get(text, 0.0) for name, found in columns.items()},
                }
                for text in self.texts
            ],
            "distances": {
                name: {
                    "total_variation": found.total_variation,
                    "kl": found.kl,
                    "kl_back": found.kl_back,
                }
                for name, found in self.distances.items()
            },
            "failed": {name: error.message for name, error in self.failed.items()},
            "spellings": self.spellings,
            "passes": self.passes,
        }


def exact_comparison(
    model: LanguageModel,
    prompt: str,
    grammar: Grammar,
    contenders: Sequence[Contender],
    *,
    ended: bool = True,
    most: int = MAX_NODES,
    limits: Limits = LIMITS,
) -> ExactComparison:
    """What each contender's mask makes of the model's own conditional over a finite language.

    ``ended``  the model's own probability of a text is that of the text and the end token after
               it; False leaves the end token out, as Tran-Thien does (the texts' probabilities
               are then those of beginning so).

    A method's distribution is that of sampling at temperature 1 with its mask at every token, the
    end token included where the text may go on. A contender that does not apply, or draws from
    fewer tokens than its masks allow, is in ``failed``.

    Raises: WorkbenchError where the language is infinite or has more than ``most`` beginnings;
            ModelError.
    Source: Tran-Thien 2024, challenge 1.
    """
    vocabulary = model.vocabulary
    tree = token_tree(model, prompt, compile_grammar(grammar, vocabulary, limits=limits), most)
    canonical = canonical_spelling(vocabulary)
    everything = model_distribution(tree, ended=ended)
    proper = None if canonical is None else model_distribution(tree, canonical, ended=ended)
    methods: dict[str, Distribution] = {}
    failed: dict[str, WorkbenchError] = {}
    for contender in contenders:
        if contender.method == UNCONSTRAINED:
            continue  # alone, the model's conditional is its own
        if contender.strategy in NARROWER_STRATEGIES:
            failed[contender.name] = WorkbenchError(
                "it draws from fewer tokens than its masks allow; only masks are computed"
            )
            continue
        try:
            constraint = contender.prepare(model, grammar, limits).constraint
            methods[contender.name] = masked_distribution(tree, constraint)
        except WorkbenchError as error:
            failed[contender.name] = error
    compared = methods if proper is None else {"own_proper": proper} | methods
    return ExactComparison(
        texts=tree.texts,
        own=everything,
        own_proper=proper,
        proper_share={} if canonical is None else _shares(tree, canonical, ended),
        methods=methods,
        failed=failed,
        distances={name: distance(everything, found) for name, found in compared.items()},
        spellings=sum(1 for _ in tree.spellings()),
        passes=tree.passes,
    )


def model_distribution(
    tree: TokenTree, canonical: CanonicalSpelling | None = None, *, ended: bool = True
) -> Distribution:
    """The model's own conditional over the language: over all spellings, or the proper ones."""
    mass = _masses(tree, canonical, ended)
    total = math.fsum(p for parts in mass.values() for p in parts)
    if total == 0:
        raise WorkbenchError(
            "the model gives every text of the language probability 0", "try another prompt"
        )
    return Distribution(
        {text: math.fsum(mass.get(text, ())) / total for text in tree.texts},
        spellings=sum(map(len, mass.values())),
    )


def _masses(
    tree: TokenTree, canonical: CanonicalSpelling | None, ended: bool
) -> dict[bytes, list[float]]:
    """For each text the probabilities of its spellings, of the proper one where asked for."""
    mass: dict[bytes, list[float]] = defaultdict(list)
    for ids, node, logprob in tree.spellings():
        if canonical is None or canonical(node.text) == list(ids):
            mass[node.text].append(math.exp(logprob + (node.end if ended else 0.0)))
    return mass


def _shares(tree: TokenTree, canonical: CanonicalSpelling, ended: bool) -> dict[bytes, float]:
    whole, proper = _masses(tree, None, ended), _masses(tree, canonical, ended)
    return {
        text: math.fsum(proper.get(text, ())) / total
        for text, parts in whole.items()
        if (total := math.fsum(parts)) > 0
    }


def masked_distribution(tree: TokenTree, constraint: Constraint) -> Distribution:
    """The texts that sampling at temperature 1 under a constraint's masks ends in.

    Raises: WorkbenchError where the constraint allows a token after which no accepted text is
            left: it is not sound.
    """
    found: dict[bytes, list[float]] = defaultdict(list)
    end, lost = constraint.vocabulary.end, list[float]()
    waiting: list[tuple[Node, State, float]] = [(tree.root, constraint.initial, 1.0)]
    while waiting:
        node, state, probability = waiting.pop()
        mask = constraint.mask(state)
        allowed = [i for i in mask if i != end]
        ends = node.accepted and not allowed if end is None else end in mask
        _check_sound(node, allowed, ends)
        weights = [math.exp(node.logprobs[i]) for i in allowed]
        ending = math.exp(node.end) if ends else 0.0
        total = math.fsum(weights) + ending
        if not allowed:
            (found[node.text] if ends else lost).append(probability)
            continue
        if total == 0:  # the model gives all of them nothing: sampling takes any alike
            weights, ending, total = [1.0] * len(allowed), float(ends), len(allowed) + ends
        if ends:
            found[node.text].append(probability * ending / total)
        for token_id, weight in zip(allowed, weights, strict=True):
            there = constraint.advance(state, token_id)
            waiting.append((node.children[token_id], there, probability * weight / total))
    return Distribution(
        {text: math.fsum(found.get(text, ())) for text in tree.texts},
        lost=math.fsum(lost),
        spellings=sum(map(len, found.values())),
    )


def _check_sound(node: Node, allowed: list[TokenId], ends: bool) -> None:
    wrong = [i for i in allowed if i not in node.children]
    if wrong or (ends and not node.accepted):
        what = f"token {wrong[0]}" if wrong else "the end"
        raise WorkbenchError(
            f"this method allows {what} after {node.text!r}, where no accepted text goes on so",
            "its distribution is not one over the language",
        )


def distance(first: Distribution, second: Distribution) -> Distance:
    """How far the second is from the first; what a dead end loses counts as a text of its own."""
    texts = first.probability.keys() | second.probability.keys()
    pairs = [(first.probability.get(t, 0.0), second.probability.get(t, 0.0)) for t in sorted(texts)]
    pairs.append((first.lost, second.lost))
    return Distance(
        total_variation=math.fsum(abs(p - q) for p, q in pairs) / 2,
        kl=_divergence(pairs),
        kl_back=_divergence([(q, p) for p, q in pairs]),
    )


def _divergence(pairs: list[tuple[float, float]]) -> float:
    """Kullback and Leibler's, of pairs (p, q)."""
    if any(p > 0 and q == 0 for p, q in pairs):
        return math.inf
    return max(0.0, math.fsum(p * math.log(p / q) for p, q in pairs if p > 0))
