"""The methods of the compare view, grouped by the source that describes them."""

from __future__ import annotations

from workbench.evaluate.contenders import UNCONSTRAINED, Contender

#: The methods a comparison begins with.
USUAL = frozenset(
    {"unconstrained", "automaton", "domino-0", "speculation", "proper", "template-ws"}
)

#: How a source begins, and the heading of its methods.
_HEADINGS = {
    "Koo": "Koo, Liu & He 2024",
    "Beurer-Kellner": "DOMINO 2024",
    "Tran-Thien": "Tran-Thien 2024",
    "Willard": "Willard & Louf 2023",
}


def group_of(contender: Contender) -> str:
    """The heading under which a method is listed."""
    if contender.name == UNCONSTRAINED:
        return "Baseline"
    found = (head for name, head in _HEADINGS.items() if contender.source.startswith(name))
    return next(found, "Other systems")
