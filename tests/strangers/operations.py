"""Every public operation, as calls that are measured one by one.

An operation receives a ``Case`` and a ``Call``: ``call(name, work)`` runs ``work`` as one public
call with the limits of the case. What an operation does around its calls is not measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Protocol, TypeVar

import workbench as wb
from workbench.analysis.random_texts import near_misses
from workbench.constraint.compile import METHODS
from workbench.drawing.drawable import OVER_TOKENS, Drawn, Machine
from workbench.grammar.export.registry import EXPORTS
from workbench.grammar.monitors.monitor import MONITORS

Result = TypeVar("Result")

#: Masks of one walk, and the tokens that a budget allows.
_STEPS = 6
_BUDGET = 40
#: Characters of a long text.
_LONG = 20_000


class Call(Protocol):
    """Runs a part of an operation, measured as one call of the public interface."""

    def __call__(self, name: str, work: Callable[[], Result], /, limits: int = 1) -> Result:
        """The result of ``work``; ``limits`` is how many times the limit it may spend by its word."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """What the operations work with."""

    grammar: wb.Grammar
    vocabulary: wb.Vocabulary
    limits: wb.Limits
    #: The text that the input is read with.
    text: str

    @property
    def long(self) -> str:
        return (self.text * (1 + _LONG // max(1, len(self.text))))[:_LONG]


def _texts(case: Case, call: Call) -> None:
    for kind, text in (("", case.text), (" of a long text", case.long)):
        call(f"check{kind}", partial(case.grammar.check, text))
        call(f"accepts{kind}", partial(case.grammar.accepts, text))
        call(f"is_prefix{kind}", partial(case.grammar.is_prefix, text))


def _parse(case: Case, call: Call) -> None:
    call("parse", lambda: case.grammar.parse(case.text))


def _tree(case: Case, call: Call, long: bool) -> None:
    text = case.long[:4_000] if long else case.text
    trees = call("parse_trees", lambda: wb.parse_trees(case.grammar, text, case.limits))
    call("to_json", trees.to_json)


def _properties(case: Case, call: Call) -> None:
    call("is_regular", lambda: case.grammar.is_regular)
    call("rules", lambda: case.grammar.rules)
    call("machine", lambda: case.grammar.machine)


def _lint(case: Case, call: Call, with_tokens: bool) -> None:
    tokens = case.vocabulary if with_tokens else None
    # it says: the grammar's limit, and ``seconds`` for the search
    call("lint", lambda: wb.lint(case.grammar, tokens, seconds=case.limits.seconds), limits=2)


def _in_words(case: Case, call: Call) -> None:
    wording = call("in_words", lambda: wb.in_words(case.grammar))
    call("walk", lambda: sum(1 for _ in wording.walk()))


def _samples(case: Case, call: Call) -> None:
    call("samples", lambda: wb.samples(case.grammar, 5))
    call("samples of 2,000", lambda: wb.samples(case.grammar, 5, longest=2_000))
    call("near_misses", lambda: near_misses(case.grammar, 3))


def _explain(case: Case, call: Call) -> None:
    grammar, tokens = case.grammar, case.vocabulary
    call("explain", lambda: wb.explain(grammar, case.text, "zz"))
    call("explain the end", lambda: wb.explain(grammar, case.text, None))
    call("explain a long text", lambda: wb.explain(grammar, case.long, "a"))
    ids = [tokens.longest_at(case.text.encode(), 0) or 0]
    call("explain_id", lambda: wb.explain_id(grammar, tokens, ids, ids[0]))
    call("label_reason", lambda: wb.label_reason(grammar, tokens, ids, ids[0]))


def _find(case: Case, call: Call, long: bool) -> None:
    text = case.long if long else case.text
    call("find", lambda: sum(1 for _ in wb.find(case.grammar, text, limits=case.limits)))


def _fill(case: Case, call: Call) -> None:
    third = len(case.text) // 3
    before, after = case.text[:third], case.text[len(case.text) - third :]
    hole = call("fill", lambda: wb.fill(before, after, case.grammar, limits=case.limits))
    call("check", lambda: hole.check(case.text[third : len(case.text) - third]))


def _fill_short(case: Case, call: Call) -> None:
    call("fill", lambda: wb.fill("aaa", "aaa", case.grammar, limits=case.limits))


def _equivalent(case: Case, call: Call, other: str) -> None:
    second = (
        case.grammar
        if other == "itself"
        else wb.Grammar.from_kbnf("start ::= 'a' start? 'b'? | #'[a-y]*';", limits=case.limits)
    )
    call("equivalent", lambda: wb.equivalent(case.grammar, second, limits=case.limits))


def _walk(constraint: wb.Constraint, call: Call) -> None:
    """Masks along one text: the first allowed token, the last, the middle, and again; all forced."""
    state = constraint.initial
    for step in range(_STEPS):
        mask = call("mask", partial(constraint.mask, state))
        ends = constraint.vocabulary.ends
        ids = [int(token_id) for token_id in mask.ids if token_id not in ends]
        if not ids:
            break
        token_id = ids[(0, -1, len(ids) // 2)[step % 3]]
        state = call("advance", partial(constraint.advance, state, token_id))
        call("is_final", partial(constraint.is_final, state))
        call("forced", partial(constraint.forced, state, 200))
    call("all that is forced", partial(constraint.forced, constraint.initial))


def _method(case: Case, call: Call, method: str) -> None:
    constraint = call(
        "compile", lambda: wb.compile(case.grammar, case.vocabulary, method, case.limits)
    )
    _walk(constraint, call)


def _variant(case: Case, call: Call, options: dict[str, Any]) -> None:
    constraint = call(
        "compile",
        lambda: wb.compile(case.grammar, case.vocabulary, limits=case.limits, **options),
    )
    _walk(constraint, call)


def _within_budget(case: Case, call: Call) -> None:
    constraint = call(
        "compile", lambda: wb.compile(case.grammar, case.vocabulary, limits=case.limits)
    )
    finishing = call("WithinBudget", lambda: wb.WithinBudget(constraint, _BUDGET, case.limits))
    call("fewest", lambda: finishing.fewest(finishing.initial))
    _walk(finishing, call)


def _intersection(case: Case, call: Call) -> None:
    one = call("compile", lambda: wb.compile(case.grammar, case.vocabulary, limits=case.limits))
    short = wb.Grammar.from_regex('[a-z{}\\[\\]:," 0-9()]{0,60}', limits=case.limits)
    other = wb.compile(short, case.vocabulary, limits=case.limits)
    _walk(call("Intersection", lambda: wb.Intersection(one, other, limits=case.limits)), call)


def _best_block(case: Case, call: Call) -> None:
    constraint = call(
        "compile", lambda: wb.compile(case.grammar, case.vocabulary, limits=case.limits)
    )
    logits = [[0.0] * len(case.vocabulary)] * 4
    call("best_block", lambda: wb.best_block(constraint, logits, limits=case.limits))


def _export(case: Case, call: Call, notation: str) -> None:
    call("export", lambda: wb.export(case.grammar, notation))


def _picture(case: Case, call: Call, machine: str) -> None:
    tokens = case.vocabulary if machine in OVER_TOKENS else None
    drawn = call("draw", lambda: wb.draw(case.grammar, machine, tokens, limits=case.limits))
    call("shown", drawn.shown)
    call("dot", drawn.dot)
    if machine is not Machine.TOKENS:
        call("searched", lambda: drawn.searched)


def _laid_out(case: Case, call: Call, machine: str) -> None:
    drawn: Drawn = wb.draw(case.grammar, machine, limits=case.limits)
    drawn.shown()
    call("svg", drawn.svg)
    call("tikz", drawn.tikz)


def _again(case: Case, call: Call) -> None:
    """What the page does between two requests: derived values are dropped and computed again."""
    kept = case.grammar.stored()
    call("check", lambda: case.grammar.check(case.text))
    call("forget", lambda: case.grammar.forget(kept))
    call("check", lambda: case.grammar.check(case.text))


Operation = Callable[[Case, Call], None]

#: Monitors that fit any grammar, or say that they do not.
_MONITORS: Iterator[str] = islice(MONITORS, None)

#: Every operation by its name.
OPERATIONS: dict[str, Operation] = {
    "texts": _texts,
    "parse": _parse,
    "parse_trees": partial(_tree, long=False),
    "parse_trees of a long text": partial(_tree, long=True),
    "machines": _properties,
    "lint": partial(_lint, with_tokens=False),
    "lint with a vocabulary": partial(_lint, with_tokens=True),
    "in_words": _in_words,
    "samples": _samples,
    "explain": _explain,
    "find": partial(_find, long=False),
    "find in a long text": partial(_find, long=True),
    "fill": _fill,
    "fill aaa": _fill_short,
    "equivalent to itself": partial(_equivalent, other="itself"),
    "equivalent to another": partial(_equivalent, other="another"),
    "forget": _again,
    **{f"method {method}": partial(_method, method=method) for method in METHODS},
    "small tokens": partial(_variant, options={"small_tokens": True}),
    **{f"monitor {name}": partial(_variant, options={"monitor": name}) for name in _MONITORS},
    "WithinBudget": _within_budget,
    "Intersection": _intersection,
    "best_block": _best_block,
    **{f"export {notation}": partial(_export, notation=notation) for notation in EXPORTS},
    **{f"draw {machine}": partial(_picture, machine=machine) for machine in Machine},
    **{
        f"svg {machine}": partial(_laid_out, machine=machine)
        for machine in Machine
        if machine not in OVER_TOKENS
    },
}
