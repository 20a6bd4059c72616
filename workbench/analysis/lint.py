"""Lint: all advice on a grammar that can be built."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

from workbench.analysis.advice import (
    advice,
    ambiguity_advice,
    conflict_advice,
    regex_advice,
    unicode_class_advice,
)
from workbench.analysis.ambiguity import ambiguity
from workbench.analysis.redundant import redundant_advice, redundant_regex_advice
from workbench.analysis.unspellable import literals_and_sets, unspellable_advice
from workbench.base.errors import LimitError
from workbench.base.limits import Limits
from workbench.base.problems import Advice
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.pushdown.build import context_free
from workbench.syntax.regex.tree import Characters
from workbench.vocabulary.vocabulary import Vocabulary

#: The seconds for conflicts and redundant alternatives each; typical grammars take milliseconds.
_MAX_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Lint:
    """The advice on a grammar: warnings, then notes, both in the order of the text."""

    advice: tuple[Advice, ...]
    #: All texts of up to this many pieces were tried for ambiguity; None if the search does not
    #: apply, or found an ambiguous text.
    pieces: int | None = None


def tree_advice(grammar: Grammar) -> tuple[Advice, ...]:
    """The advice found in the tree of a grammar without a machine, in milliseconds."""
    if grammar.tree is None:
        return regex_advice(grammar.regex, grammar.source) if grammar.regex else ()
    of_rules = () if grammar.notation.is_translated else advice(grammar.tree, grammar.start)
    return (*grammar.notes, *of_rules)


def lint(grammar: Grammar, vocabulary: Vocabulary | None = None, seconds: float = 1.0) -> Lint:
    """All advice on a grammar; the ambiguity search takes at most ``seconds``.

    All advice is certain, and optional: the grammar works unchanged. ``vocabulary`` is the
    vocabulary of the model that generates.
    """
    limits = replace(grammar.limits, seconds=min(_MAX_SECONDS, grammar.limits.seconds), began=None)
    found = [*tree_advice(grammar)]
    if vocabulary is not None:
        found += unspellable_advice(grammar, vocabulary)
    if grammar.notation.is_translated:
        return Lint(tuple(sorted(found, key=_order)))  # its rules are generated
    sets = (piece for piece in literals_and_sets(grammar) if isinstance(piece, Characters))
    in_quotes = grammar.notation is Notation.KBNF
    found += unicode_class_advice(sets, grammar.source, in_quotes=in_quotes)
    found += _machine_advice(grammar, limits)
    ambiguous, pieces = _ambiguity(grammar, replace(limits, seconds=seconds))
    unique = dict.fromkeys([*found, *ambiguous])
    return Lint(tuple(sorted(unique, key=_order)), pieces)


def _order(one: Advice) -> tuple[bool, int, str]:
    return one.severity == "note", one.span.start, one.kind


def _machine_advice(grammar: Grammar, limits: Limits) -> tuple[Advice, ...]:
    """The advice found in the machines of the rules."""
    work = limits.begun()
    if grammar.tree is None:
        assert grammar.regex is not None, "a grammar has a tree or a regex"
        return redundant_regex_advice(grammar.regex, grammar.source, work)
    found: tuple[Advice, ...] = ()
    with suppress(LimitError):  # building its terminals takes too long for lint
        found = redundant_advice(context_free(grammar.tree, grammar.start, work), grammar.tree)
    try:
        network = grammar.network
    except LimitError:
        return found  # the network exceeds a limit, so it has no conflicts to report
    conflicts = conflict_advice(
        network, lambda: grammar.rules, grammar.tree, grammar.start, limits.begun()
    )
    return (*found, *conflicts)


def _ambiguity(grammar: Grammar, limits: Limits) -> tuple[list[Advice], int | None]:
    """An ambiguous text, if one is found in time, and up to how many pieces texts were tried."""
    if grammar.tree is None:
        return [], None
    try:
        cfg = context_free(grammar.tree, grammar.start, grammar.limits)
        search = ambiguity(cfg, grammar.rules, limits.begun())
    except LimitError:
        return [], 0  # the separate rules exceed a limit: no text was tried
    if search.found is not None:
        return [ambiguity_advice(grammar.tree, search.found)], None
    return [], search.pieces
