"""exact: a finite language → the distribution each method induces, beside the model's own.

The model's own conditional over a language gives each text its probability among the language's
texts. Masks chosen token by token induce another one: they renormalise at every step, so a first
token that many texts share is taken as often as the model likes it, whatever follows. How far
apart the two are is Tran-Thien's first challenge; here it is computed, not sampled.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from workbench.constraint.compile import compile as compile_grammar
from workbench.constraint.protocol import Constraint, State
from workbench.decoding.model import LanguageModel
from workbench.errors import WorkbenchError
from workbench.evaluate.contenders import UNCONSTRAINED, Contender
from workbench.evaluate.learning import CHOOSING_LESS
from workbench.evaluate.measures import Canonical, spelling_of
from workbench.evaluate.token_tree import MOST_NODES, Node, TokenTree, token_tree
from workbench.grammar import Grammar
from workbench.limits import LIMITS, Limits
from workbench.vocabulary.vocabulary import TokenId


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
class Exact:
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


def exact(
    model: LanguageModel,
    prompt: str,
    grammar: Grammar,
    contenders: Sequence[Contender],
    *,
    ended: bool = True,
    most: int = MOST_NODES,
    limits: Limits = LIMITS,
) -> Exact:
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
    canonical = spelling_of(vocabulary)
    everything = own(tree, ended=ended)
    proper = None if canonical is None else own(tree, canonical, ended=ended)
    methods: dict[str, Distribution] = {}
    failed: dict[str, WorkbenchError] = {}
    for contender in contenders:
        if contender.method == UNCONSTRAINED:
            continue  # alone, the model's conditional is its own
        if contender.strategy in CHOOSING_LESS:
            failed[contender.name] = WorkbenchError(
                "it draws from fewer tokens than its masks allow; only masks are computed"
            )
            continue
        try:
            constraint = contender.prepare(model, grammar, limits).constraint
            methods[contender.name] = induced(tree, constraint)
        except WorkbenchError as error:
            failed[contender.name] = error
    compared = methods if proper is None else {"own_proper": proper} | methods
    return Exact(
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


def own(tree: TokenTree, canonical: Canonical | None = None, *, ended: bool = True) -> Distribution:
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


def _masses(tree: TokenTree, canonical: Canonical | None, ended: bool) -> dict[bytes, list[float]]:
    """For each text the probabilities of its spellings, of the proper one where asked for."""
    mass: dict[bytes, list[float]] = defaultdict(list)
    for ids, node, logprob in tree.spellings():
        if canonical is None or canonical(node.text) == list(ids):
            mass[node.text].append(math.exp(logprob + (node.end if ended else 0.0)))
    return mass


def _shares(tree: TokenTree, canonical: Canonical, ended: bool) -> dict[bytes, float]:
    whole, proper = _masses(tree, None, ended), _masses(tree, canonical, ended)
    return {
        text: math.fsum(proper.get(text, ())) / total
        for text, parts in whole.items()
        if (total := math.fsum(parts)) > 0
    }


def induced(tree: TokenTree, constraint: Constraint) -> Distribution:
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
