"""The monitor ``scope``: a C program uses declared names only.

The programs are those of DOMINO's listing 5. The rules below have the names in scope as an
attribute; the stack of symbols ends a scope at its brace, so nothing has to be undone.

* Names are read as C reads them: ``intx`` is one name, not ``int`` and ``x``, and a keyword is no
  name. (Listing 5 itself reads both.)
* A name is in scope after its declarator, to the end of its block: ``int x = x;`` is allowed, as in
  C. A parameter, or the variable of a ``for``, is in scope in the body. A function is in scope in
  its body and in the functions after it.
* A block declares a name once; the outermost block of a function shares the scope of its parameter.
  An inner block may declare the name again.
* ``library`` are names that are in scope everywhere: functions of the standard library.

Source: the trigger and the names allowed at it: Agrawal et al. 2023, Monitor-guided decoding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from workbench.base.limits import LIMITS, Limits
from workbench.grammar.monitors.attribute_rules import (
    DIGITS,
    SPACES,
    WORD,
    AttributeRules,
    NewName,
    Reads,
    Rule,
    Symbols,
    Then,
    characters,
    word_at,
)

#: Functions that a program may call without declaring them.
LIBRARY = ("abs", "getchar", "printf", "putchar", "puts", "rand", "scanf")

_RESERVED = (
    "auto break case char const continue default do double else enum extern float for goto if "
    "inline int long register restrict return short signed sizeof static struct switch typedef "
    "union unsigned void volatile while"
)
_KEYWORDS = frozenset(_RESERVED.split())
_TYPES = (b"int", b"float", b"char")


class Scope(NamedTuple):
    """The names that may be used, and those of the innermost block."""

    visible: frozenset[str]
    here: frozenset[str] = frozenset()

    def declaring(self, name: str) -> Scope:
        """The scope after a declaration."""
        return Scope(self.visible | {name}, self.here | {name})

    def block(self) -> Scope:
        """The scope at the beginning of an inner block."""
        return Scope(self.visible)


# White space is ``ws`` where it is optional and ``gap`` where a word would join the next one.


def _spaces() -> Iterator[Symbols]:
    yield ()
    yield (Reads(SPACES), ws)


ws = Rule(_spaces)
gap: Symbols = (Reads(SPACES), ws)


def _program(scope: Scope) -> Iterator[Symbols]:
    yield ()
    for word in _TYPES:
        yield (word, *gap, _new_name(scope, Then(_function, scope)))


def _new_name(scope: Scope, then: Then) -> NewName:
    return NewName(_KEYWORDS | scope.here, then)


def _function(scope: Scope, name: str) -> Symbols:
    after = scope.declaring(name)
    return (ws, b"(", ws, Rule(_parameter, after), Rule(_program, after))


def _parameter(outside: Scope) -> Iterator[Symbols]:
    yield _body(outside.block())
    for word in _TYPES:
        inside = outside.block()
        yield (word, *gap, _new_name(inside, Then(_after_parameter, inside)))


def _after_parameter(scope: Scope, name: str) -> Symbols:
    return _body(scope.declaring(name))


def _body(scope: Scope) -> Symbols:
    return (ws, b")", ws, b"{", ws, Rule(_statements, scope))


def _statements(scope: Scope) -> Iterator[Symbols]:
    """The statements of a block and its closing brace."""
    more = Rule(_statements, scope)
    yield (b"}",)
    for word in _TYPES:
        yield (word, *gap, _new_name(scope, Then(_variable, scope)))
    for name in _names(scope):
        yield (name, ws, b"=", ws, Rule(_expression, scope, False), b";", ws, more)
        yield (name, ws, b"(", Rule(_arguments, scope), b";", ws, more)
    for glued in (False, True):
        between: Symbols = () if glued else gap
        yield (b"return", *between, Rule(_expression, scope, glued), b";", ws, more)
    inner = Rule(_statements, scope.block())
    yield (b"while(", *_condition(scope), b")", ws, b"{", inner, more)
    yield (b"for(", Rule(_for_begins, scope, more))
    yield (b"if(", *_condition(scope), b"){", inner, Rule(_else, scope, more))
    yield (b"//", Rule(_line_comment), ws, more)
    yield (b"/*", Rule(_comment), ws, more)


def _variable(scope: Scope, name: str) -> Symbols:
    return (Rule(_initialiser, scope.declaring(name)),)


def _initialiser(scope: Scope) -> Iterator[Symbols]:
    value = Rule(_expression, scope, False)
    end: Symbols = (b";", ws, Rule(_statements, scope))
    yield (ws, b"=", ws, value, *end)
    yield (ws, b"[", ws, value, ws, b"]", ws, *end)
    yield (ws, b"[", ws, value, ws, b"]", ws, b"=", ws, value, *end)


def _for_begins(scope: Scope, more: Rule) -> Iterator[Symbols]:
    inner = scope.block()
    for word in _TYPES:
        yield (word, *gap, _new_name(inner, Then(_for_variable, inner, more)))
    for name in _names(scope):
        yield (name, *_for_rest(inner, more))


def _for_variable(scope: Scope, more: Rule, name: str) -> Symbols:
    return _for_rest(scope.declaring(name), more)


def _for_rest(scope: Scope, more: Rule) -> Symbols:
    value = Rule(_expression, scope, False)
    update = Rule(_update, scope)
    body = Rule(_statements, scope.block())
    begin: Symbols = (ws, b"=", ws, value, b";", ws, *_condition(scope), b";", ws)
    return (*begin, update, b"){", body, ws, more)


def _update(scope: Scope) -> Iterator[Symbols]:
    for name in _names(scope):
        yield (name, ws, b"=", ws, Rule(_expression, scope, False))


def _else(scope: Scope, more: Rule) -> Iterator[Symbols]:
    yield (ws, more)
    yield (b"else{", Rule(_statements, scope.block()), ws, more)


def _condition(scope: Scope) -> Symbols:
    value = Rule(_expression, scope, False)
    return (value, Rule(_relation), value)


def _relation() -> Iterator[Symbols]:
    for operator in (b"<", b">", b"<=", b">=", b"==", b"!="):
        yield (operator,)


def _expression(scope: Scope, glued: bool) -> Iterator[Symbols]:
    """An expression; ``glued``: right after a word, so it may not begin with one."""
    yield (Rule(_factor, scope, glued), Rule(_operators, scope))


def _operators(scope: Scope) -> Iterator[Symbols]:
    yield ()
    for operator in (b"+", b"-", b"*", b"/"):
        yield (operator, Rule(_factor, scope, False), Rule(_operators, scope))


def _factor(scope: Scope, glued: bool) -> Iterator[Symbols]:
    inner = Rule(_expression, scope, False)
    if not glued:
        yield (Reads(DIGITS), Rule(_digits))
        for name in _names(scope):
            yield (name,)
            yield (name, b"(", Rule(_arguments, scope))
            yield (name, b"[", ws, inner, ws, b"]")
    yield (b'"', Rule(_string), ws)
    yield (b"-", Rule(_factor, scope, False))
    yield (b"(", ws, inner, ws, b")")


def _digits() -> Iterator[Symbols]:
    yield ()
    yield (Reads(DIGITS), Rule(_digits))


def _arguments(scope: Scope) -> Iterator[Symbols]:
    yield (b")",)
    yield (Rule(_expression, scope, False), Rule(_more_arguments, scope))


def _more_arguments(scope: Scope) -> Iterator[Symbols]:
    yield (b")",)
    yield (b",", ws, Rule(_expression, scope, False), Rule(_more_arguments, scope))


def _string() -> Iterator[Symbols]:
    more = Rule(_string)
    yield (b'"',)
    for character in characters(b'"\\'):
        yield (*character, more)
    yield (b"\\", Reads(frozenset(b'"\\/bfnrt')), more)
    yield (b"\\u", *[Reads(frozenset(b"0123456789abcdefABCDEF"))] * 4, more)


def _line_comment() -> Iterator[Symbols]:
    yield (b"\n",)
    for character in characters(b"\n"):
        yield (*character, Rule(_line_comment))


def _comment() -> Iterator[Symbols]:
    yield (b"*/",)
    for character in characters(b"*"):
        yield (*character, Rule(_comment))
    for character in characters(b"/"):
        yield (b"*", *character, Rule(_comment))


def _names(scope: Scope) -> list[bytes]:
    return sorted(name.encode() for name in scope.visible)


#: The rules that use names; all have the scope as their first attribute.
_USES = frozenset({_statements, _factor, _for_begins, _update})

#: Declared names in a message at most.
_MAX_LISTED = 8


class ScopeMonitor(AttributeRules):
    """The monitor ``scope``.

    ``library``  names in scope everywhere; the library's input and output by default.
    """

    def __init__(self, library: Iterable[str] = LIBRARY, limits: Limits = LIMITS) -> None:
        super().__init__(Rule(_program, Scope(frozenset(library))), limits)
        self._library = frozenset(library)

    def why(self, text: bytes, token: bytes | None) -> str:
        """Why no program continues a text with a token; empty if one does."""
        data = text + (token or b"")
        state, read = self.read(data)
        if read == len(data):
            return "" if token is not None or self.is_final(state) else "the block is not closed"
        begin, word = word_at(data, read)
        begun = self.rules_after(data[:begin])
        declared = self.new_name(data[:begin])
        if declared is not None and word in declared.refused:
            what = "a keyword" if word in _KEYWORDS else "declared already in this block"
            return f"{word} is {what}"
        scopes = [rule.given[0] for rule in begun if rule.make in _USES]
        if not word or word[0].isdigit() or not scopes:
            return "this is not a statement; names are read as in C"
        if word in _KEYWORDS:
            return f"{word} is a keyword, not a name"
        scope = scopes[0]
        assert isinstance(scope, Scope), "the first attribute of these rules"
        names = sorted(scope.visible - self._library)[:_MAX_LISTED]
        listed = f"; in scope: {', '.join(names)}" if names else "; no name is in scope"
        begins = data[read] in WORD and read + 1 >= len(data) and word not in scope.visible
        what = f"no declared name begins with {word}" if begins else f"{word} is not declared"
        return what + listed
