"""A constraint in the notations of several engines."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.base.limits import LOCAL_LIMITS
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation


@dataclass(frozen=True, slots=True)
class Case:
    """A constraint, and an accepted text along which masks are computed.

    A notation is None if the constraint is not written in it; engines that read only that
    notation skip the case.
    """

    name: str
    walk: str
    #: A regex with the same meaning in Python, Rust and C++ engines.
    regex: str | None = None
    #: KBNF, start symbol ``start``.
    kbnf: str | None = None
    #: Lark's notation, for llguidance and glrmask.
    lark: str | None = None
    #: The EBNF of xgrammar (GBNF), root rule ``root``.
    ebnf: str | None = None
    #: A JSON Schema; each engine uses its default reading, with any white space if it can.
    schema: str | None = None
    #: The notation and the text of a real grammar; peers read what our exports write.
    written: tuple[Notation, str] | None = None


def grammar_of(case: Case) -> Grammar:
    """The case as a ``Grammar``."""
    if case.regex is not None:
        return Grammar.from_regex(case.regex, limits=LOCAL_LIMITS)
    if case.schema is not None:
        return Grammar.from_json_schema(case.schema, limits=LOCAL_LIMITS)
    if case.written is not None:
        notation, text = case.written
        start = "root" if notation is Notation.GBNF else "start"
        return Grammar.from_text(text, notation, start, limits=LOCAL_LIMITS)
    assert case.kbnf is not None
    return Grammar.from_kbnf(case.kbnf, limits=LOCAL_LIMITS)
