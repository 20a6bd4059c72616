"""Methods by what they are for: in comes a contender, out the heading it stands under."""

from __future__ import annotations

from workbench.constraint.compile import METHODS
from workbench.evaluate.contenders import Contender

#: The methods a comparison begins with.
USUAL = frozenset({"unconstrained", "automaton", "domino-0", "speculation", "proper", "template"})

#: The heading of each kind of mask, asked token by token.
_OF_METHOD = {
    "unconstrained": "The model and the exact mask",
    "automaton": "The model and the exact mask",
    "composed": "The model and the exact mask",
    "domino": "Subterminal trees and lookahead",
    "outlines": "Earlier masks",
    "lalr": "Earlier masks",
    "online": "Every token tested at every step",
    "proper": "Proper tokenization",
    "direct_merge": "Proper tokenization",
}


#: The heading where the model is asked otherwise.
_OF_STRATEGY = {
    "skipping": "Fewer model calls, the same text",
    "speculation": "Fewer model calls, the same text",
    "opportunistic": "A mask only where the choice is refused",
}


def group_of(contender: Contender) -> str:
    """The heading a method stands under."""
    if contender.method not in METHODS:
        return "Templates"
    return _OF_STRATEGY.get(contender.strategy) or _OF_METHOD.get(contender.method, "Others")
