"""The exact distribution of each method over a finite language, and counterexamples.

The model scores a tree of all tokenizations of the language once; methods are then compared on that
tree without the model.

The model's conditional distribution over a language gives each text its probability relative to all
texts of the language. Masking token by token induces another distribution: it renormalizes at every
step, so a first token that many texts share is taken as often as the model prefers it, whatever
follows. The distance between the two is Tran-Thien's first challenge; here it is computed, not
sampled.

There are two questions. *With a model*: is every valid output of the unconstrained model also
generated under the constraint (DOMINO, definition 2.1)? *Without a model*: do the masks allow every
tokenization of every accepted text? The second shows what any model could be prevented from. One
counterexample refutes either; the first cannot be proven by trials.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from workbench.base.cpu_time import uncounted
from workbench.base.errors import WorkbenchError
from workbench.base.limits import LIMITS, Limits
from workbench.constraint.compile import compile as compile_grammar
from workbench.constraint.masks import TokenMask
from workbench.constraint.protocol import Constraint, State
from workbench.constraint.unconstrained import Unconstrained
from workbench.decoding.contenders import (
    CONVERGING_STRATEGIES,
    NARROWER_STRATEGIES,
    OWN_STRATEGIES,
    UNCONSTRAINED,
    Contender,
    PreparedContender,
)
from workbench.decoding.generate import Generation, generate, generate_batch
from workbench.decoding.measures import CanonicalSpelling, canonical_spelling
from workbench.decoding.model import LanguageModel, Logits, StatelessSession, padded
from workbench.decoding.sampling import Sampling, log_softmax, log_sum
from workbench.decoding.trace import Step, Trace
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


@dataclass(frozen=True, eq=False)
class ScoredModel:
    """A model that generates only given sequences; each ends with the end token.

    After a prefix of none of them it generates the end token. Prompts are ignored. The scores need
    not add up to 1.
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
        """The log-probability of each next token, summed over the matching sequences (V,)."""
        taken = tuple(token_ids[1:])
        end = self.vocabulary.end
        assert end is not None, "the model needs an end token"
        mass = np.zeros(len(self.vocabulary))
        for ids, score in self.scores.items():
            if ids[: len(taken)] == taken:
                mass[ids[len(taken)] if len(ids) > len(taken) else end] += score
        if not mass.any():
            mass[end] = 1
        with np.errstate(divide="ignore"):
            logits: Logits = np.log(mass / mass.sum()).astype(np.float32)
        return logits


#: The most nodes of a token tree: a few seconds of the embedded model.
MAX_NODES = 20_000


@dataclass(slots=True, eq=False)
class Node:
    """A tokenized prefix of an accepted text.

    Unit: log-probabilities in nats, of the model's distribution before any mask.
    """

    text: bytes
    #: Whether the prefix is an accepted text.
    accepted: bool
    children: dict[TokenId, Node] = field(default_factory=dict)
    #: log p of each child's token after this prefix.
    logprobs: dict[TokenId, float] = field(default_factory=dict)
    #: log p of all end tokens together here; 0 if the vocabulary has none.
    end: float = -math.inf


@dataclass(frozen=True, slots=True, eq=False)
class TokenTree:
    """All tokenizations of a finite language after a prompt."""

    root: Node
    #: The number of forward passes it took.
    passes: int
    nodes: int

    @property
    def texts(self) -> tuple[bytes, ...]:
        """The texts of the language that the vocabulary can tokenize, sorted."""
        return tuple(sorted({node.text for _, node, _ in self.spellings()}))

    def spellings(self) -> Iterator[tuple[tuple[TokenId, ...], Node, float]]:
        """Each tokenization of each accepted text: its tokens, last node, and log p."""
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
    """The token tree of an exact constraint over a finite language, scored by the model.

    Cost:   one forward pass per leaf, over the tokens it does not share with the previous leaf.
    Raises: WorkbenchError if the language has more than ``most`` prefixes (as infinite languages
            have), or no text; ModelError past the model's context.
    """
    root, count = _unscored_tree(constraint, most)
    passes = _score(model, prompt, root)
    return TokenTree(root, passes, count)


def _unscored_tree(constraint: Constraint, most: int) -> tuple[Node, int]:
    """The tree without scores, and its number of nodes."""
    root = Node(b"", constraint.is_final(constraint.initial))
    waiting: list[tuple[Node, State]] = [(root, constraint.initial)]
    tokens, ends, count = constraint.vocabulary.tokens, constraint.vocabulary.ends, 1
    while waiting:
        node, state = waiting.pop()
        mask = constraint.mask(state)
        count += len(mask)
        if count > most:
            raise WorkbenchError(
                f"expected a finite language with at most {most:,} prefixes in tokens",
                "exact distributions are for languages such as ( William)|( Theodore)",
            )
        for token_id in mask:
            if token_id in ends:
                continue
            there = constraint.advance(state, token_id)
            child = Node(node.text + (tokens[token_id] or b""), constraint.is_final(there))
            node.children[token_id] = child
            waiting.append((child, there))
    if not root.children and not root.accepted:
        raise WorkbenchError("the language has no text", "write a grammar that accepts something")
    return root, count


def _score(model: LanguageModel, prompt: str, root: Node) -> int:
    """Score every node, one pass per chain of first children; returns the number of passes."""
    session, context, passes = model.session(), model.encode(prompt), 0
    size, ends = len(model.vocabulary), list(model.vocabulary.ends)
    waiting: list[list[TokenId]] = [[]]  # the tokens of the first node of each unscored chain
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
        with uncounted():
            rows = session.score([*context, *ids], len(ids) - first + 1)
        passes += 1
        for node, row in zip(chain, rows, strict=True):
            logprobs = log_softmax(padded(row, size))
            node.logprobs = {i: float(logprobs[i]) for i in node.children}
            node.end = log_sum(logprobs[ends]) if ends else 0.0
    return passes


def _at(root: Node, ids: list[TokenId]) -> Node:
    node = root
    for token_id in ids:
        node = node.children[token_id]
    return node


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """Probabilities of the texts of a finite language, at temperature 1."""

    probability: dict[bytes, float]
    #: The probability of reaching a dead end.
    lost: float = 0.0
    #: The number of tokenizations with a probability above 0.
    spellings: int = 0


@dataclass(frozen=True, slots=True)
class Distance:
    """The distance of a method's distribution from the model's.

    Unit: ``kl`` and ``kl_back`` in nats, infinite if a text has lost all its probability.
    """

    #: The largest difference in the probability of any set of texts, between 0 and 1.
    total_variation: float
    #: KL(model ‖ method).
    kl: float
    #: KL(method ‖ model).
    kl_back: float


@dataclass(frozen=True, slots=True, eq=False)
class ExactComparison:
    """The model's conditional over a finite language, and the distributions of methods."""

    texts: tuple[bytes, ...]
    #: The model's conditional over all tokenizations of each text.
    own: Distribution
    #: Over canonical tokenizations only; None if the vocabulary's tokenizer is unknown.
    own_proper: Distribution | None
    #: For each text the share of its probability that its canonical tokenization has.
    proper_share: dict[bytes, float]
    #: By the contender's name.
    methods: dict[str, Distribution]
    #: Why a contender has no distribution.
    failed: dict[str, WorkbenchError]
    #: From the model's conditional.
    distances: dict[str, Distance]
    spellings: int
    #: All tokenizations of the texts, scored by the model.
    tree: TokenTree

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
                    **{
                        name: distribution.probability.get(text, 0.0)
                        for name, distribution in columns.items()
                    },
                }
                for text in self.texts
            ],
            "distances": {
                name: {
                    "total_variation": difference.total_variation,
                    "kl": difference.kl,
                    "kl_back": difference.kl_back,
                }
                for name, difference in self.distances.items()
            },
            "failed": {name: error.message for name, error in self.failed.items()},
            "spellings": self.spellings,
            "passes": self.tree.passes,
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
    """Compares each contender's distribution with the model's conditional over a finite language.

    ``ended``  the model's probability of a text includes the end token after it; False leaves it
               out, as Tran-Thien does (the probability is then that of beginning with the text).

    A method's distribution is that of sampling at temperature 1 with its mask at every token,
    including the choice of the end token. A contender that does not apply, draws from fewer
    tokens than its masks allow, or converges to the model's own distribution is in ``failed``
    (``distance_curves`` for the latter).

    Raises: WorkbenchError if the language is infinite or has more than ``most`` prefixes;
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
            continue  # the unconstrained model has no distribution over the language
        if contender.strategy in OWN_STRATEGIES and ended:
            methods[contender.name] = everything
            continue
        try:
            _check_comparable(contender)
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
        distances={
            name: distance(everything, distribution) for name, distribution in compared.items()
        },
        spellings=sum(1 for _ in tree.spellings()),
        tree=tree,
    )


def _check_comparable(contender: Contender) -> None:
    """Raises: WorkbenchError if the contender's distribution is not that of its masks."""
    if contender.strategy in NARROWER_STRATEGIES:
        raise WorkbenchError(
            "expected a method that draws from all allowed tokens; only masks are compared"
        )
    if contender.strategy in CONVERGING_STRATEGIES:
        raise WorkbenchError("its distribution depends on the number of forward passes")
    if contender.finish:
        raise WorkbenchError(
            "its distribution depends on the budget, and is the exact mask's in a large one"
        )
    if contender.thinking:
        raise WorkbenchError("its distribution depends on the thoughts before the text")


def model_distribution(
    tree: TokenTree, canonical: CanonicalSpelling | None = None, *, ended: bool = True
) -> Distribution:
    """The model's conditional over the language: all tokenizations, or canonical ones only."""
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
    """For each text the probabilities of its tokenizations, or of its canonical one."""
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
    """The distribution of sampling at temperature 1 under a constraint's masks.

    Raises: WorkbenchError if the constraint is not sound: it allows a token after which no
            accepted text is possible.
    """
    probabilities: dict[bytes, list[float]] = defaultdict(list)
    end_ids, lost = constraint.vocabulary.ends, list[float]()
    waiting: list[tuple[Node, State, float]] = [(tree.root, constraint.initial, 1.0)]
    while waiting:
        node, state, probability = waiting.pop()
        mask = constraint.mask(state)
        allowed = [i for i in mask if i not in end_ids]
        ends = end_ids[0] in mask if end_ids else node.accepted and not allowed
        _check_sound(node, allowed, ends)
        weights = [math.exp(node.logprobs[i]) for i in allowed]
        ending = math.exp(node.end) if ends else 0.0
        total = math.fsum(weights) + ending
        if not allowed:
            (probabilities[node.text] if ends else lost).append(probability)
            continue
        if total == 0:  # the model gives all of them probability 0: sampling is uniform
            weights, ending, total = [1.0] * len(allowed), float(ends), len(allowed) + ends
        if ends:
            probabilities[node.text].append(probability * ending / total)
        for token_id, weight in zip(allowed, weights, strict=True):
            there = constraint.advance(state, token_id)
            waiting.append((node.children[token_id], there, probability * weight / total))
    return Distribution(
        {text: math.fsum(probabilities.get(text, ())) for text in tree.texts},
        lost=math.fsum(lost),
        spellings=sum(map(len, probabilities.values())),
    )


def _check_sound(node: Node, allowed: list[TokenId], ends: bool) -> None:
    wrong = [i for i in allowed if i not in node.children]
    if wrong or (ends and not node.accepted):
        what = f"token {wrong[0]}" if wrong else "the end"
        raise WorkbenchError(
            f"this method allows {what} after {node.text!r}, which no accepted text continues with",
            "its distribution is not one over the language",
        )


def distance(first: Distribution, second: Distribution) -> Distance:
    """The distance of the second from the first; dead ends count as one more text."""
    texts = first.probability.keys() | second.probability.keys()
    pairs = [(first.probability.get(t, 0.0), second.probability.get(t, 0.0)) for t in sorted(texts)]
    pairs.append((first.lost, second.lost))
    return Distance(
        total_variation=math.fsum(abs(p - q) for p, q in pairs) / 2,
        kl=_divergence(pairs),
        kl_back=_divergence([(q, p) for p, q in pairs]),
    )


def _divergence(pairs: list[tuple[float, float]]) -> float:
    """The Kullback–Leibler divergence of pairs (p, q)."""
    if any(p > 0 and q == 0 for p, q in pairs):
        return math.inf
    return max(0.0, math.fsum(p * math.log(p / q) for p, q in pairs if p > 0))


#: The most pairs of states and the most tokens that the search for forbidden tokenizations tries.
_MAX_PAIRS = 2_000
_MAX_TOKENS = 200_000


@dataclass(frozen=True, slots=True, eq=False)
class ModelOutput:
    """An output of the unconstrained model, up to the last token after which it is accepted.

    If the model continued, a minimally invasive constraint ends there (DOMINO §2). Without tokens
    the output was not valid.
    """

    prompt: str
    sampling: Sampling
    token_ids: tuple[TokenId, ...]


def model_outputs(
    model: LanguageModel,
    grammar: Grammar,
    prompts: Sequence[str],
    samplings: Iterable[Sampling],
    *,
    max_tokens: int = 128,
    stop: Callable[[], bool] = lambda: False,
) -> list[ModelOutput]:
    """Outputs of the unconstrained model; a sampling of temperature 0 is greedy.

    All are written in shared forward passes; one ends where no accepted text continues it. After
    ``stop`` they are incomplete.

    Raises: ModelError, LimitError.
    """
    free = Unconstrained(model.vocabulary)
    written: dict[Generation, _Written] = {}
    for sampling in samplings:
        for prompt in prompts:
            text = _Written(grammar, prompt, sampling, stop)
            run = generate(
                model, free, prompt, sampling, max_tokens=max_tokens, top=0, stop=text.ends
            )
            written[run] = text
    for run, step in generate_batch(list(written)):
        if isinstance(step, WorkbenchError):
            raise step
        written[run].read(step)
    return [text.output() for text in written.values()]


@dataclass(slots=True, eq=False)
class _Written:
    """What an unconstrained run has written, and how much of it the grammar accepts."""

    grammar: Grammar
    prompt: str
    sampling: Sampling
    stop: Callable[[], bool]
    _text: bytes = b""
    _ids: list[TokenId] = field(default_factory=list)
    #: The number of tokens of the longest accepted beginning.
    _valid: int = 0
    #: Whether no accepted text continues it.
    _lost: bool = False

    def read(self, step: Step) -> None:
        """Read the run's next step."""
        if step.is_end or self._lost:
            return
        self._text += step.token
        self._ids.append(step.token_id)
        if self.grammar.accepts(self._text):
            self._valid = len(self._ids)
        else:
            self._lost = not self.grammar.is_prefix(self._text)

    def ends(self) -> bool:
        """Whether the run can end."""
        return self._lost or self.stop()

    def output(self) -> ModelOutput:
        """The output, up to the last token after which it is accepted."""
        return ModelOutput(self.prompt, self.sampling, tuple(self._ids[: self._valid]))


@dataclass(frozen=True, slots=True, eq=False)
class Counterexample:
    """A valid output of the unconstrained model that the constrained model does not generate."""

    output: ModelOutput
    #: The first of its tokens the mask forbids, counted from 0.
    index: int
    #: The constrained run with the same seed; only for the first counterexample, since it costs a
    #: run.
    instead: Trace | None


@dataclass(frozen=True, slots=True, eq=False)
class InvasiveTrial:
    """The result of trials of definition 2.1."""

    #: The number of outputs of the unconstrained model, and how many were valid.
    outputs: int
    valid: int
    kept: tuple[Counterexample, ...]

    @property
    def holds(self) -> bool | None:
        """False if a counterexample was found; None if no output was valid."""
        return False if self.kept else True if self.valid else None


def try_outputs(
    prepared: PreparedContender, outputs: Iterable[ModelOutput], *, max_tokens: int = 128
) -> InvasiveTrial:
    """Test definition 2.1 on some outputs of the unconstrained model.

    The constrained model *can* generate an output if the mask allows each of its tokens; with
    greedy decoding it then does.

    Raises: ModelError, LimitError.
    Source: DOMINO, definition 2.1.
    """
    count, valid = 0, 0
    kept: list[Counterexample] = []
    for output in outputs:
        count += 1
        valid += bool(output.token_ids)
        index = forbidden_at(prepared.constraint, output.token_ids)
        if index is not None:
            run = prepared.start(output.prompt, output.sampling, max_tokens=max_tokens, top=0)
            kept.append(Counterexample(output, index, None if kept else _trace(run)))
    return InvasiveTrial(count, valid, tuple(kept))


def _trace(run: Generation) -> Trace:
    """Run to the end."""
    deque(run, maxlen=0)
    return run.trace


def forbidden_at(constraint: Constraint, token_ids: Sequence[TokenId]) -> int | None:
    """The index of the first token that the masks forbid; None if all are allowed."""
    state = constraint.initial
    for index, token_id in enumerate(token_ids):
        if token_id not in constraint.mask(state):
            return index
        state = constraint.advance(state, token_id)
    return None


@dataclass(frozen=True, slots=True)
class ForbiddenSpelling:
    """A tokenization of an accepted text that a method's masks forbid and the exact masks allow.

    ``before`` are the allowed tokens, ``token_id`` the forbidden one (an end token if the text may
    not end); ``after`` completes an accepted text, None if none was found within the limit.
    """

    before: tuple[TokenId, ...]
    token_id: TokenId
    after: tuple[TokenId, ...] | None


@dataclass(frozen=True, slots=True)
class SpellingSearch:
    """The result of a search for forbidden tokenizations, and the number of pairs visited."""

    forbidden: ForbiddenSpelling | None
    pairs: int
    #: Whether all reachable pairs were visited; then finding nothing is a proof.
    complete: bool


def search_spellings(
    exact: Constraint, constraint: Constraint, most: int = _MAX_PAIRS
) -> SpellingSearch:
    """The first forbidden tokenization, breadth-first over pairs of states of both constraints.

    ``exact`` is any exact constraint of the same grammar.
    Cost: two masks and one comparison per pair; every allowed token of a pair leads to a pair.
    """
    first = (exact.initial, constraint.initial)
    seen = {first}
    waiting: deque[tuple[State, State, tuple[TokenId, ...]]] = deque([(*first, ())])
    token_count = 0
    while waiting:
        state, other, before = waiting.popleft()
        allowed, there = exact.mask(state), constraint.mask(other)
        missing = TokenMask(allowed.bits & ~there.bits, allowed.size)
        if len(missing):
            token_id = int(missing.ids[0])
            return SpellingSearch(
                ForbiddenSpelling(before, token_id, _rest(exact, state, token_id)), len(seen), False
            )
        for token_id in allowed:
            token_count += 1
            if token_id in exact.vocabulary.ends:
                continue
            pair = exact.advance(state, token_id), constraint.advance(other, token_id)
            if pair not in seen:
                if len(seen) >= most or token_count > _MAX_TOKENS:
                    return SpellingSearch(None, len(seen), False)
                seen.add(pair)
                waiting.append((*pair, (*before, token_id)))
    return SpellingSearch(None, len(seen), True)


def _rest(exact: Constraint, state: State, token_id: TokenId) -> tuple[TokenId, ...] | None:
    """The fewest tokens that complete an accepted text after ``token_id``."""
    if token_id in exact.vocabulary.ends:
        return ()
    first = exact.advance(state, token_id)
    seen, token_count = {first}, 0
    waiting: deque[tuple[State, tuple[TokenId, ...]]] = deque([(first, ())])
    while waiting:
        current, ids = waiting.popleft()
        if exact.is_final(current):
            return ids
        for next_id in exact.mask(current):
            token_count += 1
            if token_count > _MAX_TOKENS:
                return None
            there = exact.advance(current, next_id)
            if there not in seen:
                seen.add(there)
                waiting.append((there, (*ids, next_id)))
    return None
