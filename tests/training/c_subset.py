"""DOMINO's listing 5 as a recognizer with backtracking; slow, for short programs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

Parser = Callable[[str, int], Iterator[int]]


def match(pattern: str) -> Parser:
    found = re.compile(pattern)

    def parse(text: str, at: int) -> Iterator[int]:
        hit = found.match(text, at)
        if hit:
            yield hit.end()

    return parse


def sequence(*parts: Parser) -> Parser:
    def parse(text: str, at: int) -> Iterator[int]:
        if not parts:
            yield at
            return
        for middle in parts[0](text, at):
            yield from sequence(*parts[1:])(text, middle)

    return parse


def either(*parts: Parser) -> Parser:
    def parse(text: str, at: int) -> Iterator[int]:
        for part in parts:
            yield from part(text, at)

    return parse


def many(part: Parser) -> Parser:
    def parse(text: str, at: int) -> Iterator[int]:
        for middle in part(text, at):
            if middle > at:
                yield from parse(text, middle)
        yield at

    return parse


def later(name: str) -> Parser:
    return lambda text, at: globals()[name](text, at)


WS = match(r"[ \t\n]*")
NAME = match(r"[A-Za-z_][A-Za-z_0-9]*")
TYPE = match(r"(int|float|char)[ \t\n]*")
STRING = match(r'"([^"\\]|\\(["\\/bfnrt]|u[0-9A-Fa-f]{4}))*"[ \t\n]*')
EXPRESSION, STATEMENT = later("expression"), later("statement")
ARGUMENTS = either(sequence(EXPRESSION, many(sequence(match(r",[ \t\n]*"), EXPRESSION))), match(""))
CALL = sequence(NAME, match(r"\("), ARGUMENTS, match(r"\)"))
SUBSCRIPT = sequence(NAME, match(r"\["), WS, EXPRESSION, WS, match(r"\]"))
PARENS = sequence(match(r"\("), WS, EXPRESSION, WS, match(r"\)"))
FACTOR = either(
    CALL,
    SUBSCRIPT,
    NAME,
    match(r"[0-9]+"),
    sequence(match("-"), later("FACTOR")),
    PARENS,
    STRING,
)
TERM = sequence(FACTOR, many(sequence(match("[*/]"), FACTOR)))
expression = sequence(TERM, many(sequence(match("[-+]"), TERM)))
CONDITION = sequence(EXPRESSION, match("<=|==|!=|>=|<|>"), EXPRESSION)
BLOCK = sequence(match(r"\{"), many(STATEMENT), match(r"\}"))
ASSIGN = sequence(NAME, WS, match("="), WS, EXPRESSION)
DECLARE = sequence(TYPE, ASSIGN)
DONE = match(r";[ \t\n]*")
ARRAY = sequence(TYPE, NAME, WS, match(r"\["), WS, EXPRESSION, WS, match(r"\]"), WS)
FOR = sequence(
    match(r"for\("),
    either(DECLARE, ASSIGN),
    DONE,
    CONDITION,
    DONE,
    ASSIGN,
    match(r"\)"),
    BLOCK,
    WS,
)
IF = sequence(
    match(r"if\("),
    CONDITION,
    match(r"\)"),
    BLOCK,
    either(sequence(match("else"), BLOCK), match("")),
    WS,
)
statement = either(
    sequence(DECLARE, DONE),
    sequence(ARRAY, DONE),
    sequence(ASSIGN, DONE),
    sequence(CALL, DONE),
    sequence(match(r"return[ \t\n]*"), EXPRESSION, DONE),
    sequence(match(r"while\("), CONDITION, match(r"\)"), BLOCK),
    FOR,
    IF,
    match(r"//[^\n]*\n[ \t\n]*"),
)
PARAMETER = either(sequence(TYPE, NAME), match(""))
HEAD = sequence(TYPE, NAME, WS, match(r"\("), WS, PARAMETER, WS, match(r"\)"), WS, match(r"\{"), WS)
PROGRAM = many(sequence(HEAD, many(STATEMENT), match(r"\}")))


def in_subset(text: str) -> bool:
    return any(end == len(text) for end in PROGRAM(text, 0))
