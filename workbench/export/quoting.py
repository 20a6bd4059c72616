"""Quotes a text as a readable Python literal."""

from __future__ import annotations

import ast


def quoted(text: str) -> str:
    """A Python literal that is exactly this text, raw where that reads better."""
    raw = "\\" in text or "\n" in text
    if text.isprintable() or text.replace("\n", "").replace("\t", "").isprintable():
        prefix = "r" if "\\" in text else ""
        marks = ('"""', "'''") if "\n" in text else ('"', "'")
        for mark in marks if raw or '"' in text else ():
            literal = f"{prefix}{mark}{text}{mark}"
            try:
                if ast.literal_eval(literal) == text:
                    return literal
            except (SyntaxError, ValueError):
                continue
    plain = repr(text)
    # the house writes double quotes where either will do
    return f'"{plain[1:-1]}"' if plain[0] == "'" and '"' not in plain else plain
