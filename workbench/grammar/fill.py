"""``fill``: the texts that fit between a prefix and a suffix, as a grammar.

A language model writes from left to right; a hole in a text has text on both sides. The grammar of
the hole accepts x if and only if the whole grammar accepts ``prefix·x·suffix``. It is a grammar
like any other: with masks of every method, pictures, explanations, budgets and exports.

The bytes decide, not tokens: the prefix may end and the suffix may begin within a token, and even
within a character; the tokens of a generation then spell exactly x.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from workbench.base.arguments import checked
from workbench.base.errors import BuildError
from workbench.base.limits import Limits
from workbench.base.source import Source, Span
from workbench.base.visible_text import shorten
from workbench.grammar.grammar import Grammar
from workbench.grammar.label_encoding import labels_of
from workbench.grammar.notations import Notation
from workbench.grammar.recognition import character_start, utf8
from workbench.pushdown.build import context_free
from workbench.pushdown.cfg import Cfg
from workbench.pushdown.quotients import quotient_tree
from workbench.syntax.grammar_tree import Automaton, GrammarTree, Rule


@checked
def fill(
    prefix: str | bytes, suffix: str | bytes, grammar: Grammar, *, limits: Limits | None = None
) -> Grammar:
    """The grammar of exactly the texts x for which ``grammar`` accepts ``prefix + x + suffix``.

    Its rules are those of ``grammar``, with new ones for the parts that contain a border of the
    hole; their places are places in ``grammar.source``. ``parse`` gives the value of the whole
    text.

    Raises: BuildError of kind ``no_text`` if no text fits, at the place in the prefix or in the
            suffix up to which one would; BuildError for a grammar with terminal labels, which read
            tokens; LimitError.
    Source: Bar-Hillel, Perles & Shamir 1961; see ``pushdown.quotients``.
    """
    before, after = utf8(prefix), utf8(suffix)
    if not before and not after:
        return grammar
    if labels := labels_of(grammar):
        label, span = labels[0]
        raise BuildError(
            f"the label {label.name} reads a token, so a grammar with it has no quotient by a text",
            grammar.source,
            span,
            "write a regex of the intended texts instead of the label",
            kind="unsupported",
        )
    work = (limits or grammar.limits).begun()
    grammar = grammar.without_phrases
    tree = grammar.tree or _one_rule(grammar)
    cfg = context_free(tree, grammar.start, work)
    quotient = quotient_tree(cfg, tree, before, after, work)
    if quotient is None:
        raise _no_text(grammar, cfg, tree, before, after, work)
    filled = replace(grammar, limits=work).with_tree(*quotient)
    return replace(
        filled,
        limits=limits or grammar.limits,
        notation=Notation.KBNF if grammar.tree is None else grammar.notation,
        value=_value(grammar, before, after),
        notes=(),
        is_rewritten=grammar.is_rewritten or filled.start != grammar.start,
    )


def _one_rule(grammar: Grammar) -> GrammarTree:
    """A regex as a grammar of one rule, its minimal automaton.

    Raises: LimitError if the automaton is too large.
    """
    machine, span = grammar.dfa, Span(0, len(grammar.source.text))
    assert machine is not None, "a regex needs no stack"
    body = Automaton(machine, grammar.source.text, span)
    return GrammarTree((Rule(grammar.start, body, span, span),), grammar.source)


def _value(grammar: Grammar, before: bytes, after: bytes) -> Callable[[str], object] | None:
    """The value of the whole text, for a text of the hole."""
    value = grammar.value
    if value is None:
        return None
    return lambda text: value(
        (before + text.encode("utf-8", "surrogateescape") + after).decode(
            "utf-8", "surrogateescape"
        )
    )


def _no_text(
    grammar: Grammar, cfg: Cfg, tree: GrammarTree, before: bytes, after: bytes, work: Limits
) -> BuildError:
    """The error that says up to which place of the prefix, or of the suffix, a text fits."""
    verdict = grammar.check(before)
    if verdict.byte is not None:
        shown = Source(before.decode("utf-8", "replace"), "prefix")
        offset = verdict.offset or 0
        return _error(f"no text begins with this prefix: it {verdict}", shown, offset, offset + 1)

    def fits(prefix: bytes, kept: int) -> bool:
        tail = after[len(after) - kept :]
        return not kept or quotient_tree(cfg, tree, prefix, tail, work) is not None

    alone = _most(len(after), lambda kept: fits(b"", kept))
    kept = alone if alone < len(after) else _most(len(after), lambda kept: fits(before, kept))
    cut = len(after) - kept
    shown = Source(after.decode("utf-8", "replace"), "suffix")
    end = len(after[:cut].decode("utf-8", "replace"))
    start = len(after[: character_start(after, cut - 1)].decode("utf-8", "replace"))
    tail = shorten(repr(shown.text[end:]), 40)
    what = "ends with this suffix" if alone < len(after) else "has this prefix and this suffix"
    most = f"the longest end that fits is {tail}" if kept else "not even its last byte fits"
    return _error(f"no text {what}: {most}", shown, start, max(end, start + 1))


def _error(message: str, source: Source, start: int, end: int) -> BuildError:
    hint = "shorten it up to this place, or move the border of the hole"
    end = min(end, max(start, len(source.text)))
    return BuildError(message, source, Span(start, max(start, end)), hint, kind="no_text")


def _most(count: int, holds: Callable[[int], bool]) -> int:
    """The largest number up to ``count`` that has a property all smaller numbers have too."""
    low, high = 0, count
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low
