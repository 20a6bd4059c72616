"""Terminals: in come the pieces of a rule that are machines, out come these machines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from workbench.automata.build import pattern_dfa
from workbench.automata.dfa import Dfa
from workbench.automata.operations import excluding, substrings
from workbench.errors import BuildError
from workbench.limits import Limits
from workbench.source import Source
from workbench.syntax.grammar_tree import (
    Automaton,
    Choice,
    Except,
    Expression,
    Literal,
    Nonterminal,
    Pattern,
    Sequence,
    Substrings,
)

#: A terminal whose language is a byte machine rather than one string.
Terminal = Pattern | Substrings | Except | Automaton


def terminal_machine(
    terminal: Terminal, rules: Mapping[str, Expression], source: Source, limits: Limits
) -> Dfa:
    """The machine of a terminal; ``rules`` say what an ``except!`` excepts.

    It is the smallest there is, but for one that an ``Automaton`` brings.

    Raises: BuildError of kind ``invalid_except``; LimitError.
    """
    match terminal:
        case Pattern():
            return pattern_dfa(terminal, limits)
        case Substrings(value=value):
            return substrings(value, limits)
        case Except(limit=limit):
            return excluding(excepted_strings(terminal, rules, source, limits), limit, limits)
        case Automaton(machine=machine):
            return machine


def excepted_strings(
    node: Except, rules: Mapping[str, Expression], source: Source, limits: Limits
) -> tuple[bytes, ...]:
    """The strings of an ``except!``: a literal, or a nonterminal fully expanded.

    Raises: BuildError of kind ``invalid_except`` for regexes, repetitions, recursion and
            empty strings; LimitError where the strings come to more than
            ``limits.unrolled`` bytes.
    """

    def refuse(place: Expression, what: str) -> BuildError:
        span = place.span if not seen else node.excepted.span
        return BuildError(
            f"except! takes an alternation of non-empty strings, not {what}",
            source,
            span,
            "name a rule that is nothing but strings and '|'",
            kind="invalid_except",
        )

    seen: list[str] = []

    def expand(expression: Expression) -> Iterator[bytes]:
        match expression:
            case Literal(value=value):
                yield value
            case Choice(options=options):
                for option in options:
                    yield from expand(option)
            case Sequence(items=items):
                pieces = [b""]
                for item in items:
                    last = list(expand(item))
                    limits.check("unrolled", len(pieces) * len(last) * max(map(len, last + pieces)))
                    pieces = [left + right for left in pieces for right in last]
                yield from pieces
            case Nonterminal(name=name):
                if name in seen:
                    raise refuse(expression, f"the recursive rule {name!r}")
                seen.append(name)
                yield from expand(rules[name])
                seen.pop()
            case _:
                raise refuse(expression, "regexes or repetitions")

    strings = tuple(expand(node.excepted))
    if not all(strings):
        raise refuse(node.excepted, "the empty string")
    return strings
