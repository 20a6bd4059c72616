"""Prints prepared rules as text, with their comments above them."""

from __future__ import annotations

from workbench.export.prepared import Prepared
from workbench.syntax.tree_printer import TreePrinter


def laid_out(made: Prepared, printer: TreePrinter, comment: tuple[str, str]) -> str:
    """The text of all rules; ``comment`` is what stands before and after each line of one."""
    before, after = comment
    pieces: list[str] = []
    for rule in made.rules:
        lines = made.comments.get(rule.name, ())
        if lines and pieces:
            pieces.append("\n")
        pieces += [f"{before}{line}{after}\n" for line in lines]
        pieces.append(printer.rule(rule))
    return "".join(pieces)
