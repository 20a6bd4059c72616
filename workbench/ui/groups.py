"""Methods by what they are for: in comes a contender, out the heading it stands under."""

from __future__ import annotations

from workbench.evaluate.contenders import Contender

#: The methods a comparison begins with.
USUAL = frozenset(
    {"unconstrained", "automaton", "domino-0", "speculation", "proper", "template-ws"}
)

_FEWER_CALLS = "Fewer model calls"
_EXACT = "The model and the exact mask"

#: The headings of what is known by how the model is asked.
_OF_STRATEGY = {
    "skipping": _FEWER_CALLS,
    "speculation": _FEWER_CALLS,
    "opportunistic": "A mask only where the choice is refused",
}

#: The headings of masks made another way, however the model is asked.
_OF_TEXT = {"template": "Templates", "proper": "Proper tokenization"}

#: The headings of masks asked for token by token.
_OF_MASK = {
    "unconstrained": _EXACT,
    "automaton": _EXACT,
    "domino": "Subterminal trees and lookahead",
    "outlines": "Earlier masks",
    "lalr": "Earlier masks",
    "online": "Every token tested at every step",
}


def group_of(contender: Contender) -> str:
    """The heading a method stands under."""
    by_mask = _OF_MASK.get(contender.method, "Others")
    return _OF_TEXT.get(contender.method) or _OF_STRATEGY.get(contender.strategy, by_mask)
