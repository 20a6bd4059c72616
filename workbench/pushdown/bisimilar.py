"""Bisimilar: two networks in, whether they are one machine but for how it is numbered and named.

The languages are then equal, which nobody can decide of context-free ones in general. Rules are
minimal automata, so most rewritings that change no text (brackets, a rule written in, other names)
end in the same machine.
"""

from __future__ import annotations

from workbench.automata.dfa import DEAD, State
from workbench.limits import LIMITS, Limits
from workbench.pushdown.network import CALLS, Network

#: A call: the rule, and the state it returns to.
_Call = tuple[int, State]


def bisimilar(left: Network, right: Network, limits: Limits = LIMITS) -> bool:
    """Whether a pairing of rules and states was found under which both machines do the same.

    Calls made from one state are paired with rules paired before, then in the order the rules
    have: other orders are not tried, so False says nothing of the languages.

    Cost:   pairs met (as many as there are states, where the machines are alike) times the
            byte classes.
    Raises: LimitError past ``limits.seconds``.
    Source: bisimulation (Park 1981); calls are labels, equal where their rules are paired.
    """
    clock = limits.clock()
    behind = zip(left.classes[:CALLS].tolist(), right.classes[:CALLS].tolist(), strict=True)
    columns = list(dict.fromkeys(behind))
    rules = {(left.start, right.start)}
    waiting = [(left.initial, right.initial)]
    seen = set(waiting)
    for here, there in waiting:  # grows while it is read
        clock.check()
        calls = _paired(left.calling[here], right.calling[there], rules)
        if calls is None or left.finals[here] != right.finals[there]:
            return False
        followers = [(int(left.table[here, a]), int(right.table[there, b])) for a, b in columns]
        for (rule, after), (twin, after_twin) in calls:
            rules.add((rule, twin))
            followers += [(left.initials[rule], right.initials[twin]), (after, after_twin)]
        for pair in followers:
            if (pair[0] == DEAD) != (pair[1] == DEAD):
                return False
            if pair[0] != DEAD and pair not in seen:
                seen.add(pair)
                waiting.append(pair)
    return True


def _paired(
    left: tuple[_Call, ...], right: tuple[_Call, ...], rules: set[tuple[int, int]]
) -> list[tuple[_Call, _Call]] | None:
    """The calls of two states side by side; None where there are more of one machine."""
    if len(left) != len(right):
        return None
    pairs, rest, free = [], [], list(right)
    for call in left:
        twin = next((other for other in free if (call[0], other[0]) in rules), None)
        if twin is None:
            rest.append(call)
        else:
            free.remove(twin)
            pairs.append((call, twin))
    return [*pairs, *zip(rest, free, strict=True)]
