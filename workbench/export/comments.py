"""Finds the comments that belong to each rule of a grammar's text."""

from __future__ import annotations

import re
from collections.abc import Mapping

from workbench.notations import Notation
from workbench.syntax.grammar_tree import GrammarTree

_QUOTED = r"""'(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" """
#: What is quoted, or a comment: its text is the group.
_LEXEMES = {
    Notation.KBNF: re.compile(rf"{_QUOTED} | \(\*(?P<text>.*?)\*\)", re.VERBOSE | re.DOTALL),
    Notation.GBNF: re.compile(
        rf"{_QUOTED} | \[(?:[^\]\\]|\\.)*\] | \#(?P<text>[^\n]*)", re.VERBOSE | re.DOTALL
    ),
    Notation.LARK: re.compile(
        rf"""{_QUOTED} | //(?P<text>[^\n]*) | /(?:[^/\\\n]|\\.)+/""", re.VERBOSE | re.DOTALL
    ),
}


def comments_of(tree: GrammarTree, notation: Notation) -> Mapping[str, tuple[str, ...]]:
    """The lines of the comments before, beside and inside each rule, by the rule's name.

    What stands after the last rule belongs to it; a rule written in parts has those of all.
    """
    lexeme = _LEXEMES.get(notation)
    found: dict[str, list[str]] = {}
    if lexeme is None or not tree.rules:
        return {}
    text, rules = tree.source.text, sorted(tree.rules, key=lambda rule: rule.span.start)
    owner = 0
    for match in lexeme.finditer(text):
        if match["text"] is None:
            continue
        while owner + 1 < len(rules) and "\n" in text[rules[owner].span.end : match.start()]:
            owner += 1
        lines = (line.strip() for line in match["text"].splitlines())
        found.setdefault(rules[owner].name, []).extend(line for line in lines if line)
    return {name: tuple(lines) for name, lines in found.items()}
