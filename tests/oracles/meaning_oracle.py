"""Slow oracles of the monitors, written from their definitions: one reads a whole text at once.

``well_typed`` parses a program of ``grammars/typed.kbnf`` by recursive descent and computes types
from the leaves up. ``in_scope`` splits a C program into lexemes, writes keywords in a form that is
no name, asks the grammar for the syntax, and follows the blocks.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from workbench.grammar.gallery import load_gallery
from workbench.grammar.grammar import Grammar

#: A type: its name, or the types of a function's parameters and its result.
Type = Any

_MEMBERS: dict[Type, dict[str, Type]] = {
    "number": {"toFixed": (("number",), "string"), "toString": ((), "string")},
    "boolean": {"toString": ((), "string")},
    "string": {
        "length": "number",
        "charAt": (("number",), "string"),
        "indexOf": (("string",), "number"),
        "includes": (("string",), "boolean"),
        "toUpperCase": ((), "string"),
    },
}
_RESERVED = frozenset(["let", "function", "return", "true", "false", "number", "string", "boolean"])


class _WrongError(Exception):
    """The program is not well typed, or none."""


class _Typed:
    """A program and a position in it."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def takes(self, literal: str) -> bool:
        found = self.text.startswith(literal, self.at)
        self.at += len(literal) * found
        return found

    def needs(self, literal: str) -> None:
        if not self.takes(literal):
            raise _WrongError(literal)

    def pattern(self, regex: str) -> str | None:
        found = re.compile(regex).match(self.text, self.at)
        self.at = found.end() if found else self.at
        return found[0] if found else None

    def name(self, taken: dict[str, Type]) -> str:
        name = self.pattern("[a-z][a-zA-Z0-9]*")
        if name is None or name in _RESERVED or name in taken:
            raise _WrongError(f"{name} at {self.at}")
        return name

    def program(self) -> None:
        scopes: list[dict[str, Type]] = [{}]
        if not self.text:
            raise _WrongError("no statement")
        while self.at < len(self.text):
            self.statement(scopes)
            self.needs("\n")

    def statement(self, scopes: list[dict[str, Type]]) -> None:
        if self.takes("let "):
            name = self.name(scopes[-1])
            self.needs(": ")
            kind = self.type()
            self.needs(" = ")
            if self.value(scopes) != kind:
                raise _WrongError(name)
            self.needs(";")
            scopes[-1][name] = kind
            return
        self.needs("function ")
        name = self.name(scopes[-1])
        given, result = self.signature("): ")
        scopes[-1][name] = tuple(given.values()), result
        self.needs(" { ")
        inner = [*scopes, given]
        while not self.takes("return "):
            self.statement(inner)
            self.needs(" ")
        if self.value(inner) != result:
            raise _WrongError(name)
        self.needs("; }")

    def signature(self, arrow: str) -> tuple[dict[str, Type], Type]:
        self.needs("(")
        given = self.parameters(arrow)
        return given, self.type()

    def parameters(self, close: str) -> dict[str, Type]:
        given: dict[str, Type] = {}
        while not self.takes(close):
            if given:
                self.needs(", ")
            name = self.name(given)
            self.needs(": ")
            given[name] = self.type()
        return given

    def type(self) -> Type:
        for kind in ("number", "string", "boolean"):
            if self.takes(kind):
                return kind
        given, result = self.signature(") => ")
        return tuple(given.values()), result

    def value(self, scopes: list[dict[str, Type]]) -> Type:
        if re.compile(r"\(([a-z][a-zA-Z0-9]*: |\) => )").match(self.text, self.at):
            self.needs("(")
            given = self.parameters(") => ")
            return tuple(given.values()), self.value([*scopes, given])
        return self.comparison(scopes)

    def comparison(self, scopes: list[dict[str, Type]]) -> Type:
        left = self.sum(scopes)
        if self.takes(" < ") or self.takes(" > "):
            if (left, self.sum(scopes)) != ("number", "number"):
                raise _WrongError("comparison")
            return "boolean"
        return left

    def sum(self, scopes: list[dict[str, Type]]) -> Type:
        left = self.product(scopes)
        operator = self.pattern(r" [+-] ")
        right = self.product(scopes) if operator else left
        if not operator or left == right == "number":
            return left
        if operator == " + " and {left, right} <= {"number", "string"}:
            return "string"
        raise _WrongError("sum")

    def product(self, scopes: list[dict[str, Type]]) -> Type:
        left = self.unit(scopes)
        if self.pattern(r" [*/] ") and (left, self.unit(scopes)) != ("number", "number"):
            raise _WrongError("product")
        return left

    def unit(self, scopes: list[dict[str, Type]]) -> Type:
        if self.pattern("0|[1-9][0-9]*"):
            return "number"
        kind = self.primary(scopes)
        for _ in range(4):
            if self.takes("."):
                member = self.pattern("[a-zA-Z0-9]*")
                kind = _MEMBERS.get(kind, {}).get(member or "")
                if kind is None:
                    raise _WrongError(member)
            elif self.takes("("):
                if isinstance(kind, str):
                    raise _WrongError("call")
                arguments: list[Type] = []
                while not self.takes(")"):
                    if arguments:
                        self.needs(", ")
                    arguments.append(self.value(scopes))
                if tuple(arguments) != kind[0]:
                    raise _WrongError("arguments")
                kind = kind[1]
            else:
                break
        return kind

    def primary(self, scopes: list[dict[str, Type]]) -> Type:
        if self.pattern(r'"[ !#-\[\]-~]*"'):
            return "string"
        if self.takes("("):
            kind = self.comparison(scopes)
            self.needs(")")
            return kind
        name = self.pattern("[a-z][a-zA-Z0-9]*")
        if name in ("true", "false"):
            return "boolean"
        for scope in reversed(scopes):
            if name in scope:
                return scope[name]
        raise _WrongError(name)


def well_typed(text: bytes) -> bool:
    """Whether a text is a well-typed program."""
    reader = _Typed(text.decode("ascii", "replace"))
    try:
        reader.program()
    except _WrongError:
        return False
    return True


_LEXEME = re.compile(
    r'"(?:[^"\\]|\\.)*"|//[^\n]*\n|/\*(?:[^*]|\*[^/])*\*/|[A-Za-z_]\w*|.', re.DOTALL | re.ASCII
)
_KEYWORDS = frozenset(["int", "float", "char", "return", "while", "for", "if", "else"])
_OTHER_KEYWORDS = frozenset(["do", "void", "double", "static", "long"])


@cache
def _syntax() -> Grammar:
    """Listing 5 with keywords as ``@word@``, which no name is."""
    text = load_gallery()["domino_c"].text
    for word in _KEYWORDS:
        text = text.replace(f"'{word}'", f"'@{word}@'")
    return Grammar.from_kbnf(text)


def in_scope(text: bytes, library: frozenset[str]) -> bool:
    """Whether a text is a C program of listing 5 that uses declared names only."""
    lexemes = _LEXEME.findall(text.decode())
    written = "".join(f"@{one}@" if one in _KEYWORDS else one for one in lexemes)
    if not _syntax().accepts(written) or _OTHER_KEYWORDS & set(lexemes):
        return False
    words = [one for one in lexemes if not one.isspace()]
    scopes: list[set[str]] = [set()]
    # for each open brace, how many scopes its end closes
    closes: list[int] = []
    opened = 0  # scopes opened before their brace: of a function or a for
    for before, word in zip(["", *words], words, strict=False):
        if before in ("int", "float", "char"):
            if word in scopes[-1]:
                return False
            scopes[-1].add(word)
            if len(scopes) == 1:
                scopes.append(set())
                opened = 1
        elif word == "for":
            scopes.append(set())
            opened = 1
        elif word == "{":
            own = len(scopes) == 2 and opened == 1 and not closes
            if not own:  # a function's block shares the scope of its parameter
                scopes.append(set())
            closes.append(opened + (not own))
            opened = 0
        elif word == "}":
            del scopes[len(scopes) - closes.pop() :]
        elif (
            re.match(r"[A-Za-z_]", word)
            and word not in _KEYWORDS
            and not any(word in scope for scope in (*scopes, library))
        ):
            return False
    return True
