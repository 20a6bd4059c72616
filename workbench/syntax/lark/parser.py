"""Lark text becomes a grammar tree, or an error a person understands.

Both Lark's own notation and llguidance's variant are read; where they differ, ``lark_ignoring``,
``lark_literals`` and ``lark_lazy`` say what was chosen. Refused by name is what no text can show
(tokens, ``max_tokens``), what stands elsewhere (files, ``@grammars``, modules but ``common``), and
what no automaton reads (looking around in regexes).
"""

from __future__ import annotations

from workbench.limits import Clock
from workbench.source import Source
from workbench.syntax.beyond import Beyond
from workbench.syntax.grammar_tree import GrammarTree
from workbench.syntax.lark.lowering import lowered
from workbench.syntax.lark.reader import read


def parse_lark(
    source: Source,
    clock: Clock | None = None,
    beyond: Beyond | None = None,
    start: str = "start",
) -> GrammarTree:
    """The rules of a grammar: those written, then those made of templates and the like.

    ``beyond`` makes what syntax cannot: ``&``, ``~``, lazy rules, ``%json``. What is ignored may
    stand before the ``start``.

    Cost:   linear in the text, but for templates and parameters: a rule for each use.
    Raises: ParseError of kind ``syntax``, ``bad_escape``, ``bad_regex``, ``unsupported_regex`` or
            ``unsupported`` (what no machine over texts can be made of, by its name); BuildError
            of kind ``undefined_nonterminal``, or what ``beyond`` raises; LimitError.
    Source: Lark 1.3, docs/grammar.md; llguidance, docs/syntax.md.
    """
    rules = lowered(source, read(source, clock), start, beyond, clock)
    return GrammarTree(rules, source, counted="~{low}..{high}")
