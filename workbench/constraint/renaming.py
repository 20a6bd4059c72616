"""Renaming: whether the row of a state is another's with its states renamed, asked of the machine.

In come a row that is written, by the states its walk met, and the state of another; out come the
names. So a counted repetition has one row and many maps: ``[a-z]{0,200}x`` over 131k tokens has
6.6 million edges, of which 17 thousand are written.
"""

from __future__ import annotations

from workbench.automata.dfa import DEAD
from workbench.constraint.layout import Ints
from workbench.kernel import inner

_DEAD = DEAD
#: A state that has no name yet.
_NAMELESS = -3


@inner
def rename(
    table: Ints, width: int, begin: int, end: int, start: int, maps: Ints, local: Ints, to: int
) -> int:
    """Write names ``maps[to:]`` for the states ``maps[begin:end]``; how many, 0 if there are none.

    A walk from state 0 of the row meets these states and no others, so it is enough that each
    step between them is one between their names. A state may be renamed to ``DEAD``, if so is
    all that follows it: then the other row lacks its tokens. What the walk met first stands
    first, so the name of each is known when its steps are compared.

    Cost: the number of states times C; most differ at the first step.
    """
    here, there = maps[begin] * width, start * width
    for column in range(width):
        if table[here + column] == _DEAD and table[there + column] != _DEAD:
            return 0
    for k in range(begin, end):
        local[maps[k]] = k
        maps[to + k - begin] = _NAMELESS
    maps[to] = start
    for k in range(begin, end):
        here, name = maps[k] * width, maps[to + k - begin]
        for column in range(width):
            state = table[here + column]
            renamed = table[name * width + column] if name >= 0 else _DEAD
            if state == _DEAD:
                if renamed != _DEAD:
                    return 0
                continue
            if state < 0 or renamed < _DEAD:
                return 0  # a step that is not known yet
            met = local[state]
            if met < begin or met >= end or maps[met] != state:
                continue  # no token goes on this way
            its = to + met - begin
            if maps[its] == _NAMELESS:
                maps[its] = renamed
            elif maps[its] != renamed:
                return 0
    return end - begin
