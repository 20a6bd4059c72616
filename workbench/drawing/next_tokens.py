"""The tokens that may be read after a text, grouped by where they lead and by their stack effect.

The machine over the tokens of a context-free grammar can be large or infinite; the tokens of one
configuration are found by a walk over the vocabulary's trie with the runner of the grammar's
rules.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from workbench.base.cached_property import cached_property
from workbench.base.dfa import DEAD
from workbench.base.limits import Limits, check_time_budget
from workbench.base.locks import WorkLock
from workbench.base.visible_text import printable
from workbench.constraint.masks import TokenMask
from workbench.drawing.graph import Edge, Graph
from workbench.drawing.machines import kinds_of
from workbench.drawing.parts import TokenPdaParts
from workbench.drawing.token_edges import (
    MAX_SEARCHED,
    MAX_TOY_TOKENS,
    MAX_WRITTEN_OUT,
    MAX_WRITTEN_OUT_TOY,
    counted_edge,
)
from workbench.pushdown.network import Network
from workbench.pushdown.runner import Runner, Situation
from workbench.pushdown.textbook_pda import dotted
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: A state and the return states on its stack, the innermost last.
Standing = tuple[int, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Leaving:
    """The tokens after a text: the state and its stack, the edges, the tokens of each edge."""

    state: str
    stack: tuple[int, ...]
    edges: tuple[Edge, ...]
    tokens: tuple[tuple[TokenId, ...], ...]


class RuleTokens:
    """The token edges of a network of rules: of one configuration, or of the whole machine.

    ``composed`` builds the whole machine; it is called on first use. Safe to share between
    threads.
    """

    def __init__(
        self,
        network: Network,
        vocabulary: Vocabulary,
        limits: Limits,
        composed: Callable[[], TokenPdaParts],
    ) -> None:
        self.states = len(network)
        self._network = network
        self._vocabulary = vocabulary
        self._runner = Runner(network, limits)
        self._compose = composed
        self._lock = WorkLock()

    @cached_property
    def composed(self) -> TokenPdaParts:
        """The whole machine over tokens.

        Raises: LimitError if it is too large.
        """
        return self._compose()

    @property
    def as_written(self) -> bool:
        """Whether the machine has the states of these rules, not those of inlined rules."""
        return self.composed.network is self._network

    def whole(self) -> Graph:
        return self.composed.whole()

    def around(self, centre: str, count: int) -> Graph:
        return self.composed.around(centre, count)

    def tokens(self, source: str, target: str = "") -> list[TokenId]:
        return self.composed.tokens(source, target)

    def after(self, text: bytes, state: str = "", mask: TokenMask | None = None) -> Leaving | None:
        """The tokens that may follow a text; None if the text has left the language.

        With a ``mask`` those that it allows.

        If the text leads to several configurations, one is shown: one in ``state`` if there is any,
        and of these the one with the shortest stack. Of those that a token leads to, the one that
        pops the fewest symbols is shown: it has read the last byte, the others have returned since.

        Cost: a step for each node of the trie whose text can be read.
        Raises: LimitError if the text leads to too many configurations.
        """
        groups: defaultdict[tuple[int, int, tuple[int, ...]], list[TokenId]] = defaultdict(list)
        with self._lock:
            begin = self._runner.run(text)
            if begin == DEAD:
                return None
            standing = self._standing(begin, state)
            for situation, tokens in self._tokens_by_situation(begin).items():
                target, stack = self._after_reading(situation, standing)
                kept = _common(standing[1], stack)
                allowed = tokens if mask is None else [i for i in tokens if i in mask]
                if allowed:
                    groups[target, len(standing[1]) - kept, stack[kept:]] += allowed
        edges_with_ids = [
            (self._edge(standing, target, pops, pushes, tokens), tuple(tokens))
            for (target, pops, pushes), tokens in groups.items()
        ]
        return Leaving(
            str(standing[0]),
            standing[1],
            tuple(edge for edge, _ in edges_with_ids),
            tuple(ids for _, ids in edges_with_ids),
        )

    def _standing(self, situation: Situation, state: str = "") -> Standing:
        """The configuration in a given state, else the one with the shortest stack."""
        return min(
            self._configurations(situation),
            key=lambda each: (str(each[0]) != state, len(each[1]), each),
        )

    def _after_reading(self, situation: Situation, before: Standing) -> Standing:
        """The configuration that pops the fewest symbols of ``before``, and pushes the most."""

        def effect(after: Standing) -> tuple[int, int, Standing]:
            return -_common(before[1], after[1]), -len(after[1]), after

        return min(self._configurations(situation), key=effect)

    def _configurations(self, situation: Situation) -> list[Standing]:
        runner = self._runner
        return [(end, runner.stack(node)) for end, node in runner.configurations(situation)]

    def _tokens_by_situation(self, begin: Situation) -> dict[Situation, list[TokenId]]:
        """The readable tokens, by the situation they lead to."""
        trie, runner = self._vocabulary.trie, self._runner
        reached: dict[Situation, list[TokenId]] = {}
        path = [begin] * (trie.height + 1)
        node, count = 0, len(trie)
        bytes_of, depths, skips = trie.byte.tolist(), trie.depth.tolist(), trie.skip.tolist()
        first, ids = trie.first.tolist(), trie.token_ids.tolist()
        while node < count:
            check_time_budget()
            depth = depths[node]
            situation = runner.step(path[depth], bytes_of[node])
            if situation == DEAD:
                node = skips[node]
                continue
            path[depth + 1] = situation
            if first[node] < first[node + 1]:
                reached.setdefault(situation, []).extend(ids[first[node] : first[node + 1]])
            node += 1
        return reached

    def _edge(
        self, standing: Standing, state: int, pops: int, pushes: tuple[int, ...], ids: list[TokenId]
    ) -> Edge:
        vocabulary = self._vocabulary
        tokens = [vocabulary.tokens[token_id] or b"" for token_id in ids[:MAX_SEARCHED]]
        few = MAX_WRITTEN_OUT_TOY if len(vocabulary) <= MAX_TOY_TOKENS else MAX_WRITTEN_OUT
        edge = counted_edge(str(standing[0]), str(state), tokens, len(ids), few)
        pieces = ("bytes",) if all(map(_is_piece, tokens)) else ()
        popped = tuple(self._items(reversed(standing[1][len(standing[1]) - pops :])))
        pushed = tuple(self._items(iter(pushes)))
        marks = (f"▼{pops}" if pops else "", f"▲{len(pushes)}" if pushes else "")
        lines = [edge.title, *(f"pops {item}" for item in popped)]
        lines += [f"pushes {item}" for item in pushed]
        return replace(
            edge,
            kinds=(*pieces, *kinds_of(popped, pushed)),
            mark=" ".join(filter(None, marks)),
            pops=popped,
            pushes=pushed,
            title="\n".join(lines),
        )

    def _items(self, states: Iterator[int]) -> Iterator[str]:
        """Stack symbols as dotted rules."""
        for state in states:
            yield printable(dotted(self._network, state).replace("\n", "⏎"))


def _is_piece(token: bytes) -> bool:
    """Whether a token ends inside a character."""
    try:
        token.decode()
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"
    return False


def _common(first: tuple[int, ...], other: tuple[int, ...]) -> int:
    """The length of the common prefix."""
    same = 0
    for a, b in zip(first, other, strict=False):
        if a != b:
            break
        same += 1
    return same
