"""Intersection: two constraints over one vocabulary in, the constraint that both allow out.

A text is accepted if both accept it, token by token. What both allow may still lead where they
never agree on an end; such dead ends are looked for ahead and pruned.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from workbench.base.errors import TokenNotAllowed, VocabularyError
from workbench.base.limits import LIMITS, Clock, Limits
from workbench.constraint.engine.compose import cannot_spell
from workbench.constraint.mask import TokenMask
from workbench.constraint.protocol import Constraint, State
from workbench.vocabulary.vocabulary import TokenId

#: A state of each.
Both = tuple[State, State]

#: How many tokens of a state are tried before the search goes on from another one: wide states
#: need not be seen whole where an end is near.
_AT_ONCE = 64


class Intersection:
    """Both must allow; a state is a state of each.

    Dead ends are found by a search over pairs of states, token by token, each pair looked at once.
    It is exact where the pairs that can be reached without an end come to at most
    ``limits.states``, its steps to ``limits.token_edges`` and the time of a mask's searches to
    ``limits.seconds``. A search that is given up is told by ``is_exact``; what it was about is then
    allowed, so a mask never loses a token, and may come to be empty before the end.

    Cost:   of a mask, two steps for every token both allow, and the search; remembered.
    Raises: VocabularyError where the vocabularies differ, or nothing is accepted by both.
    """

    def __init__(self, a: Constraint, b: Constraint, limits: Limits = LIMITS) -> None:
        if a.vocabulary is not b.vocabulary and (
            a.vocabulary.tokens != b.vocabulary.tokens or a.vocabulary.end != b.vocabulary.end
        ):
            raise VocabularyError(
                f"expected two constraints over one vocabulary, not over {a.vocabulary.name} and"
                f" {b.vocabulary.name}",
                "compile both grammars with the same vocabulary",
            )
        self.a, self.b = a, b
        self.vocabulary = a.vocabulary
        self.limits = limits
        #: Whether every search so far came to an answer.
        self.is_exact = True
        self.initial: Both = a.initial, b.initial
        self._alive: dict[Both, bool] = {}
        self.mask = lru_cache(maxsize=limits.rows_of(len(self.vocabulary) // 8 + 1))(self._mask)
        if not self.is_coaccessible(self.initial):
            raise cannot_spell(self.vocabulary)

    def _mask(self, state: Both) -> TokenMask:
        clock = self.limits.clock()
        allowed = [i for i, there in self._steps(state) if self._is_coaccessible(there, clock)]
        end = self.vocabulary.end
        if end is not None and self.is_final(state):
            allowed.append(end)
        return TokenMask.of(allowed, len(self.vocabulary))

    def _steps(self, state: Both) -> Iterator[tuple[TokenId, Both]]:
        """The tokens both allow, the end token left out, with where they lead."""
        here, there = state
        bits = self.a.mask(here).bits & self.b.mask(there).bits
        for token_id in TokenMask(bits, len(self.vocabulary)):
            if token_id != self.vocabulary.end:
                yield token_id, (self.a.advance(here, token_id), self.b.advance(there, token_id))

    def advance(self, state: Both, token_id: TokenId) -> Both:
        if token_id == self.vocabulary.end and self.is_final(state):
            return state
        if token_id != self.vocabulary.end:
            there = self.a.advance(state[0], token_id), self.b.advance(state[1], token_id)
            if self.is_coaccessible(there):
                return there
        raise TokenNotAllowed(f"token {token_id} is not allowed here")

    def is_final(self, state: Both) -> bool:
        return self.a.is_final(state[0]) and self.b.is_final(state[1])

    def forced(self, state: Both) -> bytes:
        """The longer of what either forces; each is the beginning of every text both accept."""
        return max(self.a.forced(state[0]), self.b.forced(state[1]), key=len)

    def is_coaccessible(self, state: Both) -> bool:
        """Whether tokens both allow lead to a text both accept, as far as the search goes."""
        return self._is_coaccessible(state, self.limits.clock())

    def _is_coaccessible(self, state: Both, clock: Clock) -> bool:
        if self.is_final(state):
            return True
        known = self._alive.get(state)
        return self._searched(state, clock) if known is None else known

    def _searched(self, start: Both, clock: Clock) -> bool:
        """Search breadth first, a few tokens of each state at a time, and note what it shows."""
        came_from: dict[Both, Both | None] = {start: None}
        waiting = deque([(start, self._steps(start))])
        tried = 0
        while waiting:
            state, steps = waiting.popleft()
            some = list(islice(steps, _AT_ONCE))
            tried += len(some)
            for _, there in some:
                if self.is_final(there) or self._alive.get(there):
                    self._note_path(came_from, state)
                    return True
                if there not in came_from and there not in self._alive:
                    came_from[there] = state
                    waiting.append((there, self._steps(there)))
            if some:
                waiting.append((state, steps))
            if self._is_too_much(len(came_from), tried, clock):
                self.is_exact = False
                self._alive.update(dict.fromkeys(came_from, True))  # none is looked at again
                return True
        # everything that can be reached was seen, and none of it ends
        self._alive.update(dict.fromkeys(came_from, False))
        return False

    def _note_path(self, came_from: dict[Both, Both | None], state: Both | None) -> None:
        """The states on the way to one that leads on do so too; those beside it are not known."""
        if len(self._alive) > self.limits.states:
            self._alive.clear()
        while state is not None:
            self._alive[state] = True
            state = came_from[state]

    def _is_too_much(self, states: int, tried: int, clock: Clock) -> bool:
        limits = self.limits
        return (
            states > limits.states or tried > limits.token_edges or clock.seconds > limits.seconds
        )
