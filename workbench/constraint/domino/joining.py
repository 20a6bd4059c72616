"""Joining: which pieces of a grammar are one terminal though its author wrote them apart.

In come expressions; out comes whether single characters go round in a loop, and what is called is
written in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice

from workbench.syntax.grammar_tree import (
    Automaton,
    Choice,
    Except,
    Expression,
    Literal,
    Nonterminal,
    Pattern,
    Repetition,
    Sequence,
    Stop,
    Substrings,
)
from workbench.syntax.regex.tree import (
    Alternate,
    Bytes,
    Characters,
    Concat,
    Extension,
    Group,
    Regex,
    Repeat,
)

#: Pieces of the largest loop that is taken for a terminal: what is larger has a structure.
_MOST = 200


def goes_round(loop: Expression, rules: Mapping[str, Expression]) -> bool:
    """Whether single characters go round in a loop, and no other loop is in it."""
    if not isinstance(loop, Repetition) or loop.high == 1:
        return False
    found = tuple(islice(_pieces(loop.item, rules), _MOST + 1))
    return len(found) <= _MOST and all(map(_bounded, found)) and _may_be_one(loop.item, rules)


def _pieces(expression: Expression, rules: Mapping[str, Expression]) -> Iterator[Expression]:
    """Every piece of an expression and of the rules it calls; without end where they recurse."""
    waiting = [expression]
    while waiting:
        piece = waiting.pop()
        yield piece
        match piece:
            case Nonterminal(name=name):
                waiting.append(rules[name])
            case Sequence(items=parts) | Choice(options=parts):
                waiting.extend(parts)
            case Repetition(item=item):
                waiting.append(item)


def _bounded(piece: Expression) -> bool:
    """Whether a piece is no loop without end itself."""
    match piece:
        case Pattern(regex=regex, stop=stop):
            return stop is Stop.ANYWHERE and _bounded_regex(regex)
        case Repetition(high=high):
            return high is not None
    return not isinstance(piece, Substrings | Except | Automaton)


def loop_of(name: str, body: Expression) -> Expression:
    """``ws ::= (x ws)?`` as the loop it is; any other rule as it stands."""
    match body:
        case Repetition(
            item=Sequence(items=(*items, Nonterminal(name=called))), low=0, high=1, span=span
        ) if called == name and len(items) == 1:
            return Repetition(items[0], 0, None, span)
    return body


def _bounded_regex(regex: Regex) -> bool:
    match regex:
        case Concat(parts=parts) | Alternate(options=parts):
            return all(map(_bounded_regex, parts))
        case Group(part=part):
            return _bounded_regex(part)
        case Repeat(part=part, high=high):
            return high is not None and _bounded_regex(part)
        case Extension():
            return False
    return True


def _may_be_one(expression: Expression, rules: Mapping[str, Expression]) -> bool:
    """Whether an expression has a way that is a single character, as far as it is plain to see."""
    match expression:
        case Literal(value=value):
            return len(value.decode("utf-8", "replace")) == 1
        case Pattern(regex=regex):
            return is_character(regex)
        case Nonterminal(name=name):
            return _may_be_one(rules[name], rules)
        case Choice(options=options):
            return any(_may_be_one(option, rules) for option in options)
        case Sequence(items=(item,)):
            return _may_be_one(item, rules)
    return False


def is_character(regex: Regex) -> bool:
    """Whether a regex, or one of its alternatives, is a class of characters."""
    match regex:
        case Characters() | Bytes():
            return True
        case Alternate(options=options):
            return any(map(is_character, options))
        case Concat(parts=(part,)) | Group(part=part):
            return is_character(part)
    return False


def expanded(expression: Expression, rules: Mapping[str, Expression]) -> Expression:
    """An expression without recursion, what it calls written in."""
    match expression:
        case Nonterminal(name=name):
            return expanded(rules[name], rules)
        case Sequence(items=items):
            return replace(expression, items=tuple(expanded(item, rules) for item in items))
        case Choice(options=options):
            return replace(expression, options=tuple(expanded(o, rules) for o in options))
        case Repetition(item=item):
            return replace(expression, item=expanded(item, rules))
    return expression
