"""Checks that a grammar can be built; every error has a source span.

Checked are undefined nonterminals (also in unused rules) and whether the start symbol derives a
non-empty text; ``cfg.excepted_strings`` checks the arguments of ``except!``. Unused rules,
ambiguity and recursion of any kind are not errors.
"""

from __future__ import annotations

from collections.abc import Mapping

from workbench.automata.graphs import reachable
from workbench.automata.regex_program import HAS_NONEMPTY
from workbench.base.dfa import DEAD
from workbench.base.errors import BuildError
from workbench.base.source import Span
from workbench.pushdown.cfg import Cfg, terminals
from workbench.syntax.grammar_tree import (
    Expression,
    GrammarTree,
    Literal,
    calls,
    referenced,
)
from workbench.syntax.regex.tree import walk


def check_defined(tree: GrammarTree, rules: Mapping[str, Expression], start: str) -> None:
    """Every called nonterminal has a rule, and so has the start symbol.

    Raises: BuildError of kind ``undefined_nonterminal`` at the first call without one.
    """
    for rule in tree.rules:
        for call in referenced(rule.body):
            if call.name not in rules:
                raise BuildError(
                    f"the nonterminal {call.name!r} has no rule",
                    tree.source,
                    call.span,
                    _near(call.name, rules) or f"add a rule such as  {call.name} ::= '…';",
                    kind="undefined_nonterminal",
                )
    if start not in rules:
        whole = tree.rules[0].name_span if tree.rules else Span(0, len(tree.source.text))
        raise BuildError(
            f"the start symbol {start!r} has no rule",
            tree.source,
            whole,
            f"name the first rule {start!r}, or choose another start symbol",
            kind="undefined_nonterminal",
        )


def _near(name: str, rules: Mapping[str, Expression]) -> str:
    """A hint that names a rule with a similar name, or an empty text."""
    from difflib import get_close_matches

    close = get_close_matches(name, list(rules), n=1)
    return f"did you mean {close[0]!r}?" if close else ""


def check_something_left(cfg: Cfg, tree: GrammarTree) -> None:
    """Check that the start symbol derives a text that is not empty.

    Raises: BuildError of kind ``unproductive`` or ``empty_grammar``.
    """
    texts = cfg.program.texts_of(cfg.program.names.index(cfg.start))
    if texts & HAS_NONEMPTY:
        return
    span = next(rule.name_span for rule in tree.rules if rule.name == cfg.start)
    if not texts and _reads_bytes(cfg):
        raise BuildError(
            f"{cfg.start!r} never finishes: no text can be derived from it",
            cfg.source,
            span,
            "give a recursive rule an alternative that ends",
            kind="unproductive",
        )
    raise BuildError(
        "nothing is left of the grammar but the empty text",
        cfg.source,
        span,
        "let the start symbol read at least one character",
        kind="empty_grammar",
    )


def _reads_bytes(cfg: Cfg) -> bool:
    """Whether a rule that the start symbol reaches has a terminal that reads a byte."""
    rules = reachable([cfg.start], lambda name: [call.name for call in calls(cfg.written[name])])
    bodies = [cfg.written[name] for name in rules]
    return any(map(_has_bytes, bodies)) or any(
        (cfg.machine(one).table != DEAD).any() for body in bodies for one in terminals(body)
    )


def _has_bytes(expression: Expression) -> bool:
    return any(isinstance(node, Literal) and node.value for node in walk(expression))
