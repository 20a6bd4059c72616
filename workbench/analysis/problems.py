"""All problems of the text of a grammar: every error, and the advice that remains possible.

``Grammar.from_text`` raises the first error. ``problems`` reports all of them, for editors: syntax
errors of every rule, undefined names, a missing start symbol, and rules that are never used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from workbench.analysis.advice import tree_advice, unused_advice
from workbench.base.arguments import checked
from workbench.base.diagnostics import AdvisedBuildError, Problem
from workbench.base.errors import ParseError, SourceError, WorkbenchError
from workbench.base.limits import LIMITS, Limits, time_budget
from workbench.base.source import Source, Span
from workbench.grammar.grammar import Grammar
from workbench.grammar.notation_guess import marked_notation, name_likely_notation
from workbench.grammar.notations import Notation, checked_options, notation_of, parse_grammar
from workbench.pushdown.build import check_defined, missing_start
from workbench.pushdown.cfg import gathered
from workbench.syntax.grammar_tree import GrammarTree, Rule, Sequence
from workbench.syntax.recovery import Layout, Located, Recovered, layout_of, recover

#: Seconds of the search for further errors, at most half of the limit.
_SECONDS = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Diagnosis:
    """Why a text is no grammar: its errors, and the problems of an editor's list."""

    errors: tuple[WorkbenchError, ...] = ()
    problems: tuple[Problem, ...] = ()
    #: The rules that can be read; None if there are none.
    tree: GrammarTree | None = None
    #: The names without a rule that can be read.
    absent: frozenset[str] = frozenset()


@checked
def problems(
    text: str,
    notation: Notation | str,
    start: str = "start",
    *,
    limits: Limits = LIMITS,
    **options: Any,  # noqa: ANN401  # those of the notation
) -> tuple[Problem, ...]:
    """All errors of a text in its order, with the advice on it.

    If the text is a grammar, the result is the advice that ``lint`` gives without a search.
    All errors of rules are reported; of a schema, a dataclass, a machine or a regex the first one.

    Cost:   half a second after the first error at most, and half of the limit.
    Raises: WorkbenchError for an unknown notation or option.
    """
    notation = notation_of(notation)
    options = checked_options(notation, options)
    try:
        grammar = Grammar.from_text(text, notation, start, limits=limits, **options)
    except WorkbenchError as error:
        return diagnose(error, text, notation, start, limits, **options).problems
    return tuple(Problem.advised(advice, grammar.source) for advice in tree_advice(grammar))


def diagnose(
    error: WorkbenchError,
    text: str,
    notation: Notation,
    start: str,
    limits: Limits = LIMITS,
    **options: Any,  # noqa: ANN401  # those of the notation
) -> Diagnosis:
    """All problems of a text whose first error is known."""
    if isinstance(error, AdvisedBuildError):
        notes = (Problem.advised(advice, error.source) for advice in error.notes)
        return Diagnosis((error,), (Problem.of(error), *notes))
    if not isinstance(error, SourceError) or error.source.text != text:
        return Diagnosis((error,), (Problem.of(error),))
    layout = layout_of(notation, error.source)
    looks = marked_notation(text, notation) if isinstance(error, ParseError) else None
    if layout is None or (looks is not None and layout_of(looks, error.source) is None):
        return Diagnosis((error,), (Problem.of(error),))

    def read(source: Source) -> GrammarTree:
        tree = parse_grammar(source, notation, start, limits, **options).tree
        if tree.rules:
            check_defined(tree, gathered(tree), tree.rules[0].name)
        return tree

    with time_budget(min(_SECONDS, limits.seconds / 2)):
        recovered = recover(error.source, layout, read)
    start = _start(recovered, notation, start)
    located = [*_missing_start(recovered, start), *recovered.errors]
    if not located:  # it can be read, and not be built
        located = [Located(error)]
    located.sort(key=lambda each: each.error.span.start)
    if looks is not None:
        name_likely_notation(located[0].error, text, notation)
    return Diagnosis(
        tuple(each.error for each in located),
        (*(_problem(each, layout) for each in located), *_unused(recovered, start)),
        recovered.tree,
        recovered.absent,
    )


def _problem(located: Located, layout: Layout) -> Problem:
    error = located.error
    problem = replace(Problem.of(error), rule=located.rule)
    if not located.undefined:
        return problem
    rule = layout.rule.format(name=located.undefined)
    end = len(error.source.text)
    if error.fix and error.fix_span == Span(end, end):  # an import
        rule = error.fix.strip()
    return replace(problem, missing_rule=rule)


def _start(recovered: Recovered, notation: Notation, start: str) -> str:
    """The start symbol: the notation's own if the default one of all notations has no rule."""
    if start != "start" or start in recovered.names:
        return start
    return notation.start or next(iter(recovered.names), start)


def _missing_start(recovered: Recovered, start: str) -> Iterator[Located]:
    """The error of a start symbol without a rule, even one that cannot be read."""
    tree, names = recovered.tree, recovered.names
    if tree is None or not names or start in names or start in recovered.words:
        return
    name, span = next(iter(names.items()))
    first = Rule(name, Sequence((), span), span, span)
    yield Located(missing_start(replace(tree, rules=(first, *tree.rules)), start))


def _unused(recovered: Recovered, start: str) -> Iterator[Problem]:
    """The rules that are never used, as far as that is known."""
    tree = recovered.tree
    if tree is None or not recovered.names:
        return
    first = start if start in recovered.names else next(iter(recovered.names))
    roots = [first, *recovered.words]
    for advice in unused_advice(tree, start, roots):
        yield Problem.advised(advice, tree.source)
