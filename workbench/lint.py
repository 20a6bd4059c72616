"""Lint: a grammar in, and a vocabulary or none; all its author may want to mend goes out."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

from workbench.errors import LimitError
from workbench.grammar import Grammar
from workbench.limits import Limits
from workbench.pushdown.advice import Advice, ambiguity_advice, conflict_advice
from workbench.pushdown.ambiguity import ambiguity
from workbench.pushdown.build import context_free
from workbench.pushdown.redundant import redundant_advice, redundant_regex_advice
from workbench.spelling import spelling_advice
from workbench.vocabulary.vocabulary import Vocabulary

#: So long conflicts and redundant alternatives are looked for; the examples take milliseconds.
_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Lint:
    """What there is to say of a grammar: warnings, then notes, both in the order of the text."""

    advice: tuple[Advice, ...]
    #: How many pieces the longest texts had that were all tried for ambiguity; None where there
    #: was nothing to try, or one was found.
    pieces: int | None = None


def lint(grammar: Grammar, vocabulary: Vocabulary | None = None, seconds: float = 1.0) -> Lint:
    """All advice on a grammar, the ambiguity search for at most ``seconds``.

    None of it keeps the grammar from being used, and none of it is a guess: each is said only
    where it is certain. ``vocabulary`` is that of the model which is to write.
    """
    limits = replace(grammar.limits, seconds=min(_SECONDS, grammar.limits.seconds), began=None)
    found = [*grammar.advice]
    if vocabulary is not None:
        found += spelling_advice(grammar, vocabulary)
    if grammar.notation.is_translated:
        return Lint(tuple(sorted(found, key=_order)))  # its rules are nobody's to mend
    found += _of_machine(grammar, limits)
    ambiguous, pieces = _ambiguity(grammar, replace(limits, seconds=seconds))
    told = dict.fromkeys([*found, *ambiguous])
    return Lint(tuple(sorted(told, key=_order)), pieces)


def _order(one: Advice) -> tuple[bool, int, str]:
    return one.severity == "note", one.span.start, one.kind


def _of_machine(grammar: Grammar, limits: Limits) -> tuple[Advice, ...]:
    """What only the rules' machines show."""
    work = limits.begun()
    if grammar.tree is None:
        assert grammar.regex is not None, "a grammar is made of one of both"
        return redundant_regex_advice(grammar.regex, grammar.source, work)
    found: tuple[Advice, ...] = ()
    with suppress(LimitError):  # its terminals take longer to make than this is worth
        found = redundant_advice(context_free(grammar.tree, grammar.start, work), grammar.tree)
    try:
        network = grammar.network
    except LimitError:
        return found  # too large to be made whole: there is nothing to look for conflicts in
    conflicts = conflict_advice(
        network, lambda: grammar.rules, grammar.tree, grammar.start, limits.begun()
    )
    return (*found, *conflicts)


def _ambiguity(grammar: Grammar, limits: Limits) -> tuple[list[Advice], int | None]:
    """An ambiguous text, if one is met in time, and how far was looked."""
    if grammar.tree is None:
        return [], None
    try:
        cfg = context_free(grammar.tree, grammar.start, grammar.limits)
        search = ambiguity(cfg, grammar.rules, limits.begun())
    except LimitError:
        return [], 0  # the rules apart are too large: no text was tried
    if search.found is not None:
        return [ambiguity_advice(grammar.tree, search.found)], None
    return [], search.pieces
