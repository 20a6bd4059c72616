"""Methods by what they are for: in comes a contender, out the heading it stands under."""

from __future__ import annotations

from workbench.constraint.compile import METHODS
from workbench.evaluate.contenders import Contender

#: The methods a comparison begins with.
USUAL = frozenset({"unconstrained", "automaton"})

#: The heading of each kind of mask, asked token by token.
_OF_METHOD = {
    "unconstrained": "The model and the exact mask",
    "automaton": "The model and the exact mask",
    "composed": "The model and the exact mask",
    "domino": "Subterminal trees and lookahead",
    "outlines": "Earlier masks",
    "lalr": "Earlier masks",
    "online": "Checked token by token",
    "proper": "Proper tokenization",
    "direct_merge": "Proper tokenization",
}


def group_of(contender: Contender) -> str:
    """The heading a method stands under."""
    if contender.method not in METHODS:
        return "Templates"
    if contender.strategy != "plain":
        return "Fewer model calls"
    return _OF_METHOD.get(contender.method, "Others")
