"""Blocks of tokens that are not chosen from left to right: the likeliest block a constraint allows.

A diffusion language model predicts all tokens of a block together, one distribution for each
position, independent of the other positions. The likeliest token of each position need not be a
text of the grammar. ``best_block`` finds the likeliest block that is one: a shortest path through
the trellis of positions and states, which Viterbi's algorithm finds from left to right::

    best[0][initial] = 0
    best[i + 1][there] = max over states here and tokens t with here ─t→ there
                         of best[i][here] + log p_i(t)

``generate_blocks`` fills block after block, a few positions in each pass of the model: those of
whose tokens it is most certain. Every pass has an allowed block, so every position can be filled.

Source: Suresh et al. 2025, "DINGO: Constrained inference for diffusion LLMs"; Viterbi 1967; Nie et
        al. 2025, "Large language diffusion models" (positions by certainty).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from workbench.base.arguments import Between, PositiveCount, check_fields, checked
from workbench.base.errors import WorkbenchError
from workbench.base.limits import LIMITS, Clock, Limits
from workbench.base.visible_text import count_of
from workbench.constraint.protocol import Constraint, State
from workbench.constraint.within_budget import WithinBudget
from workbench.decoding.model import Logits
from workbench.decoding.sampling import log_softmax
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


class Place(NamedTuple):
    """A state of the trellis."""

    #: The state of the constraint, None after an end token.
    state: State
    #: Whether an end token was read: then only end tokens follow.
    ended: bool = False


class Arrival(NamedTuple):
    """The likeliest way to a place."""

    #: The log-probability of its tokens, in nats.
    logprob: float
    #: The place before the last token.
    before: Place
    token_id: TokenId


#: The place after an end token.
ENDED = Place(None, True)

#: The likeliest way to each place after a number of tokens.
Layer = dict[Place, Arrival]


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """The likeliest block of tokens that a constraint allows."""

    token_ids: tuple[TokenId, ...]
    #: The sum of the tokens' log-probabilities, in nats.
    logprob: float
    #: The constraint's state after the block, or before its first end token.
    state: State
    #: The places after 1, 2, … tokens.
    layers: tuple[Layer, ...]

    def __repr__(self) -> str:
        return f"Block({count_of(len(self.token_ids), 'token')}, logprob={self.logprob:.3f})"


@checked
def best_block(
    constraint: Constraint,
    logits: npt.ArrayLike,
    *,
    state: State | None = None,
    finish: bool = False,
    fixed: Mapping[int, TokenId] | None = None,
    limits: Limits = LIMITS,
) -> Block:
    """The likeliest block of tokens that a constraint allows, given a distribution each position.

    The positions are independent: the probability of a block is the product of its tokens'. The
    result is exact. It is one also for grammars with a stack: their states after the same number
    of tokens are finitely many, but may be many.

    ``logits``   (N, V): a row for each position; each is normalised, so log-probabilities are
                 logits too. Of equally likely blocks one is returned.
    ``state``    where the block begins; the constraint's initial state by default.
    ``finish``   whether the text must be accepted after the block; else it must be a beginning of
                 an accepted text. End tokens fill the positions after the end of a text.
    ``fixed``    tokens that are known already, by position.

    Cost:   a step of the constraint for each state and each of its tokens, once; and for each
            position and state a maximum over its tokens.
    Raises: WorkbenchError if no block is allowed; LimitError above ``limits.states`` places in all,
            ``limits.token_edges`` steps or ``limits.seconds``.
    Source: DINGO (Suresh et al. 2025).
    """
    rows = _rows(constraint.vocabulary, logits, fixed or {})
    trellis = _Trellis(constraint, limits)
    start = Place(constraint.initial if state is None else state)
    layers: list[Layer] = []
    layer = {start: Arrival(0.0, start, -1)}
    for position, row in enumerate(rows):
        layer = trellis.next_layer(layer, row)
        if not layer:
            raise _no_block(position, fixed)
        layers.append(layer)
    last = likeliest_end(constraint, layer, finish=finish)
    if last is None:
        count = count_of(len(rows), "token")
        raise WorkbenchError(
            f"no accepted text has {count} of nonzero probability here",
            "take a longer block, or leave out finish",
        )
    token_ids, end = _way(layers, last)
    return Block(token_ids, layer[last].logprob, end.state, tuple(layers))


def _rows(
    vocabulary: Vocabulary, logits: npt.ArrayLike, fixed: Mapping[int, TokenId]
) -> list[npt.NDArray[np.float64]]:
    """The log-probabilities of each position; only the fixed token where there is one."""
    given = np.asarray(logits, np.float64)
    if given.ndim != 2 or given.shape[1] < len(vocabulary):
        raise WorkbenchError(
            f"expected logits of shape (positions, {len(vocabulary)}), not {given.shape}",
            "a row for each position of the block",
        )
    if bad := [i for i in fixed if not 0 <= i < len(given)]:
        raise WorkbenchError(f"expected positions of the block, not {bad[0]}")
    rows = []
    for position, row in enumerate(given[:, : len(vocabulary)]):
        if np.isnan(row).any() or not np.isfinite(row.max()):
            raise WorkbenchError(f"expected a distribution at position {position}")
        normal = np.asarray(log_softmax(row), np.float64)
        if position in fixed:
            only = np.full_like(normal, -math.inf)
            only[fixed[position]] = normal[fixed[position]]
            normal = only
        rows.append(normal)
    return rows


def _no_block(position: int, fixed: Mapping[int, TokenId] | None) -> WorkbenchError:
    hint = "give some allowed token a probability above 0"
    if fixed:
        hint += ", or fix fewer tokens"
    return WorkbenchError(
        f"no block is allowed: no token of nonzero probability fits at position {position}", hint
    )


def _way(layers: Sequence[Layer], last: Place) -> tuple[tuple[TokenId, ...], Place]:
    """The tokens of the likeliest way to a place of the last layer, and its last state."""
    token_ids: list[TokenId] = []
    end = node = last
    for layer in reversed(layers):
        _, before, token_id = layer[node]
        token_ids.append(token_id)
        end, node = (before, before) if end.ended else (end, before)
    return tuple(reversed(token_ids)), end


def likeliest_end(constraint: Constraint, layer: Layer, *, finish: bool) -> Place | None:
    """The likeliest place of a layer in which a block may end, or None."""

    def may_end(node: Place) -> bool:
        accepted = node.ended or constraint.is_final(node.state)
        return accepted or (not finish and len(constraint.mask(node.state)) > 0)

    ends = [node for node in layer if may_end(node)]
    return max(ends, key=lambda node: layer[node].logprob, default=None)


class _Trellis:
    """The steps of a constraint, by the place they lead to."""

    def __init__(self, constraint: Constraint, limits: Limits) -> None:
        self._constraint, self._limits = constraint, limits
        self._clock: Clock = limits.clock()
        self._steps: dict[Place, list[tuple[Place, npt.NDArray[np.int64]]]] = {}
        self._places = self._edges = 0

    def next_layer(self, layer: Layer, row: npt.NDArray[np.float64]) -> Layer:
        """The places after one more token, each with the likeliest way to it."""
        following: Layer = {}
        for node, way in layer.items():
            for there, token_ids in self._steps_of(node):
                best = int(token_ids[int(np.argmax(row[token_ids]))])
                logprob = way.logprob + float(row[best])
                previous = following.get(there)
                if logprob > (-math.inf if previous is None else previous.logprob):
                    following[there] = Arrival(logprob, node, best)
        self._places += len(following)
        self._limits.check("states", self._places, "take a shorter block")
        return following

    def _steps_of(self, node: Place) -> list[tuple[Place, npt.NDArray[np.int64]]]:
        """The places that one token leads to, with the tokens that lead there."""
        cached = self._steps.get(node)
        if cached is not None:
            return cached
        by_target: dict[Place, list[TokenId]] = {}
        ends = self._constraint.vocabulary.ends
        if node.ended or self._constraint.is_final(node.state):
            by_target[ENDED] = sorted(ends)
        if not node.ended:
            for token_id in self._constraint.mask(node.state):
                self._clock.check("take a shorter block, or a smaller grammar")
                if token_id not in ends:
                    there = Place(self._constraint.advance(node.state, token_id))
                    by_target.setdefault(there, []).append(token_id)
        self._edges += sum(map(len, by_target.values()))
        self._limits.check("token_edges", self._edges, "take a shorter block")
        steps = [(there, np.array(ids, np.int64)) for there, ids in by_target.items() if ids]
        self._steps[node] = steps
        return steps


class BlockModel(Protocol):
    """A model that predicts all tokens of a block together."""

    @property
    def vocabulary(self) -> Vocabulary: ...

    def block_logits(
        self, context: Sequence[TokenId], block: Sequence[TokenId | None]
    ) -> Logits | npt.NDArray[np.float64]:
        """The logits of each position of a block after a context; None is a masked position.

        Shape: (N, V).
        """
        ...


@dataclass(frozen=True, eq=False)
class MixtureModel:
    """A block model that knows some texts, each with a weight; for tests and lessons.

    Its distribution of a position is exact: the share of each token in the texts that agree with
    the context and with the tokens of the block that are known. But it predicts each position
    alone, as diffusion models do, so a block of likeliest tokens may be none of its texts.

    Shape:  each text (N,), its tokens from the first position after an empty context; after the
            end of a text the end token follows.
    """

    vocabulary: Vocabulary
    texts: Mapping[tuple[TokenId, ...], float]
    #: The part of the probability that is the same for all tokens.
    noise: Annotated[float, Between(0)] = 1e-6
    name: str = "mixture"

    def __post_init__(self) -> None:
        check_fields(self)

    def block_logits(
        self, context: Sequence[TokenId], block: Sequence[TokenId | None]
    ) -> npt.NDArray[np.float64]:
        """Implements ``BlockModel``."""
        size, begun = len(self.vocabulary), len(context)
        shares = np.full((len(block), size), self.noise)
        for text, weight in self.texts.items():
            padded = self._pad(text, begun + len(block))
            window = padded[begun : begun + len(block)]
            if len(window) < len(block):  # without an end token nothing follows a text
                continue
            agrees = all(b is None or a == b for a, b in zip(window, block, strict=True))
            if agrees and padded[:begun] == tuple(context):
                shares[np.arange(len(block)), window] += weight
        totals = shares.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore"):
            logits: npt.NDArray[np.float64] = np.log(shares / np.where(totals > 0, totals, 1.0))
        return logits

    def _pad(self, text: tuple[TokenId, ...], length: int) -> tuple[TokenId, ...]:
        end = self.vocabulary.end
        missing = length - len(text)
        return text if end is None or missing <= 0 else (*text, *[end] * missing)


@dataclass(frozen=True, slots=True)
class BlockStep:
    """One pass of a block model."""

    #: The number of the block, from 0.
    block: int
    #: The tokens of the block after the pass; None where none was chosen yet.
    token_ids: tuple[TokenId | None, ...]
    #: The positions that were chosen in this pass.
    chosen: tuple[int, ...]
    #: The likeliest allowed block in this pass.
    best: tuple[TokenId, ...]
    #: The likeliest token of each position, allowed or not.
    greedy: tuple[TokenId, ...]
    logprob: float


@checked
def generate_blocks(
    model: BlockModel,
    constraint: Constraint,
    context: Sequence[TokenId] = (),
    *,
    length: PositiveCount = 8,
    passes: PositiveCount = 4,
    blocks: PositiveCount = 1,
    limits: Limits = LIMITS,
) -> Iterator[BlockStep]:
    """Fill blocks of ``length`` tokens one after the other, each in at most ``passes`` passes.

    In each pass the likeliest allowed block is found; its tokens with the highest probabilities
    are chosen, and the model reads them in the next pass. Every block leaves enough tokens to end
    the text (``WithinBudget``), the last one ends it, and no block follows an end token.

    Raises: WorkbenchError if no block is allowed, or every text has more tokens; LimitError.
    """
    # the token that is added is the end token, for a text that fills all blocks
    constraint = WithinBudget(constraint, length * blocks + 1, limits)
    state, context = constraint.initial, list(context)
    for number in range(blocks):
        tokens: dict[int, TokenId] = {}
        block: Block | None = None
        while len(tokens) < length:
            masked = [tokens.get(position) for position in range(length)]
            logits = np.asarray(model.block_logits(context, masked), np.float64)
            block = best_block(
                constraint, logits, state=state, finish=number + 1 == blocks, fixed=tokens,
                limits=limits,
            )  # fmt: skip
            chosen = _most_certain(logits, block, tokens, math.ceil(length / passes))
            tokens |= {position: block.token_ids[position] for position in chosen}
            yield BlockStep(
                number,
                tuple(tokens.get(position) for position in range(length)),
                chosen,
                block.token_ids,
                tuple(np.argmax(logits[:, : len(model.vocabulary)], axis=1).tolist()),
                block.logprob,
            )
        assert block is not None, "a block has at least one position"
        state = block.state
        context += block.token_ids
        if context[-1] in model.vocabulary.ends:
            return


def _most_certain(
    logits: npt.NDArray[np.float64], block: Block, tokens: Mapping[int, TokenId], count: int
) -> tuple[int, ...]:
    """The masked positions of whose tokens the model is most certain."""
    masked = [position for position in range(len(logits)) if position not in tokens]

    def certainty(position: int) -> float:
        return float(log_softmax(logits[position])[block.token_ids[position]])

    return tuple(sorted(sorted(masked, key=certainty, reverse=True)[:count]))
