"""The monitor ``types``: a program of a small typed language is well typed.

The language is a part of TypeScript (``grammars/typed.kbnf``): numbers, strings, booleans and
functions, ``let`` and ``function`` with written types, arrow functions, members, calls, arithmetic.
A text is allowed if and only if it can be completed to a program in which

* every name is declared before it is used, and once in its block (a function's parameters belong to
  its block; a function may call itself);
* every value has the written type, and every argument that of the parameter: types are equal if
  they have the same parts, whatever their parameters are named;
* ``+`` adds numbers or joins texts (one side may be a number), ``- * /`` take numbers, ``<`` and
  ``>`` compare numbers; a sum and a product have one operator each, and a value at
  most four members and calls; more need parentheses.

Where an expression must have one of some types (the *goal*), a name is allowed if its type is a
goal or *reaches* one: by members and calls, and by the operators that may follow. Types have
finitely many members, and a call leads to a part of the type, so the types that one reaches are
finitely many, and a search finds them. Arguments can always be written: every base type has a
literal, and every function type an arrow function.

Source: prefix automata and type reachability: Mündler et al. 2025, Type-constrained code generation
        with language models.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple, TypeAlias

from workbench.base.limits import LIMITS, Limits
from workbench.grammar.monitors.attribute_rules import (
    DIGITS,
    WORD,
    AttributeRules,
    NewName,
    Reads,
    Rule,
    Symbols,
    Then,
    word_at,
)


class Function(NamedTuple):
    """The type of a function."""

    parameters: tuple[Type, ...]
    result: Type


#: ``number``, ``string``, ``boolean``, or the type of a function.
Type: TypeAlias = str | Function
Types: TypeAlias = frozenset[Type]

_METHODS: Mapping[str, Mapping[str, Type]] = {
    "number": {"toFixed": Function(("number",), "string"), "toString": Function((), "string")},
    "string": {
        "charAt": Function(("number",), "string"),
        "includes": Function(("string",), "boolean"),
        "indexOf": Function(("string",), "number"),
        "length": "number",
        "toUpperCase": Function((), "string"),
    },
    "boolean": {"toString": Function((), "string")},
}
_BASE = ("boolean", "string", "number")
_NUMBERS: Types = frozenset({"number"})
_TERMS: Types = frozenset({"number", "string"})

_RESERVED = (
    "any arguments as async await boolean break case catch class const continue debugger "
    "declare default delete do else enum eval export extends false finally for from function "
    "get if implements import in instanceof interface is let module namespace never new null "
    "number object of package private protected public require return set static string super "
    "switch symbol this throw true try type typeof undefined unknown var void while with yield"
)
_KEYWORDS = frozenset(_RESERVED.split())
_BEGINS = frozenset(b"abcdefghijklmnopqrstuvwxyz")
_LETTERS_OF_NAMES = WORD - {ord("_")}
_IN_STRING = frozenset(range(0x20, 0x7F)) - frozenset(b'"\\')


class Names(NamedTuple):
    """The names in scope with their types, the latest last, and those of the innermost block."""

    known: tuple[tuple[str, Type], ...] = ()
    here: frozenset[str] = frozenset()

    def declaring(self, name: str, kind: Type) -> Names:
        """The names after a declaration."""
        others = tuple(pair for pair in self.known if pair[0] != name)
        return Names((*others, (name, kind)), self.here | {name})

    def block(self) -> Names:
        """The names at the beginning of an inner block."""
        return Names(self.known)


def shown(kind: Type) -> str:
    """A type in the notation of the language, without the names of parameters."""
    if isinstance(kind, str):
        return kind
    return f"({', '.join(map(shown, kind.parameters))}) => {shown(kind.result)}"


#: Members and calls after one unit at most; more need parentheses.
MAX_STEPS = 4


# ── Which types a value reaches ───────────────────────────────────────────────────────────────────


def _nearest(kind: Type) -> dict[Type, bytes]:
    """The types one step away: each member, and the result of a call; with how it is written."""
    if isinstance(kind, str):
        return {member: b"." + name.encode() for name, member in _METHODS[kind].items()}
    return {kind.result: b"("}


@cache
def reached(kind: Type) -> Mapping[Type, int]:
    """The types that members and calls lead to, with the fewest steps to each."""
    steps: dict[Type, int] = {kind: 0}
    queue = deque([kind])
    while queue:
        current = queue.popleft()
        for other in _nearest(current):
            if other not in steps:
                steps[other] = steps[current] + 1
                queue.append(other)
    return steps


def _distance(kind: Type, goal: Types, most: int = MAX_STEPS) -> int | None:
    """The fewest steps from a type to one of a goal; None if more than ``most`` are needed."""
    steps = reached(kind)
    return min(
        (steps[target] for target in goal if steps.get(target, most + 1) <= most), default=None
    )


def _leading_to(names: Names, goal: Types) -> Types:
    """The types of values in scope, and of literals, that reach a goal."""
    universe: set[Type] = set()
    for kind in (*_BASE, *(kind for _, kind in names.known)):
        universe |= reached(kind).keys()
    return frozenset(kind for kind in universe if _distance(kind, goal) is not None)


# ── Statements ────────────────────────────────────────────────────────────────────────────────────


def _program() -> Iterator[Symbols]:
    yield from _statement(Names(), Then(_next_line))


def _lines(names: Names) -> Iterator[Symbols]:
    yield ()
    yield from _statement(names, Then(_next_line))


def _next_line(names: Names) -> Symbols:
    return (b"\n", Rule(_lines, names))


def _statement(names: Names, then: Then) -> Iterator[Symbols]:
    yield (b"let ", _new_name(names.here, Then(_let_type, names, then)))
    yield (b"function ", _new_name(names.here, Then(_function, names, then)))


def _new_name(block: frozenset[str], then: Then) -> NewName:
    return NewName(_KEYWORDS | block, then, _BEGINS, _LETTERS_OF_NAMES)


def _let_type(names: Names, then: Then, name: str) -> Symbols:
    return (b": ", Rule(_type, Then(_let_value, names, then, name)))


def _let_value(names: Names, then: Then, name: str, kind: Type) -> Symbols:
    value = Rule(_value, names, kind)
    return (b" = ", value, b";", *then(names.declaring(name, kind)))


def _function(names: Names, then: Then, name: str) -> Symbols:
    done = Then(_function_body, names, then, name)
    return (b"(", Rule(_parameters, (), b"): ", done))


def _function_body(
    names: Names, then: Then, name: str, given: tuple[tuple[str, Type], ...], result: Type
) -> Symbols:
    after = names.declaring(name, Function(tuple(kind for _, kind in given), result))
    inside = after.block()
    for parameter, kind in given:
        inside = inside.declaring(parameter, kind)
    return (b" { ", Rule(_block, inside, result), b" }", *then(after))


def _block(names: Names, result: Type) -> Iterator[Symbols]:
    yield (b"return ", Rule(_value, names, result), b";")
    yield from _statement(names, Then(_next_in_block, result))


def _next_in_block(result: Type, names: Names) -> Symbols:
    return (b" ", Rule(_block, names, result))


# ── Types, as they are written ────────────────────────────────────────────────────────────────────


def _type(then: Then) -> Iterator[Symbols]:
    for kind in ("number", "string", "boolean"):
        yield (kind.encode(), *then(kind))
    yield (b"(", Rule(_parameters, (), b") => ", Then(_function_type, then)))


def _function_type(then: Then, given: tuple[tuple[str, Type], ...], result: Type) -> Symbols:
    return then(Function(tuple(kind for _, kind in given), result))


def _parameters(given: tuple[tuple[str, Type], ...], arrow: bytes, then: Then) -> Iterator[Symbols]:
    """The rest of a list of parameters and the type of the result."""
    yield (arrow, Rule(_type, Then(_result, given, then)))
    names = frozenset(name for name, _ in given)
    comma = b", " if given else b""
    yield (comma, _new_name(names, Then(_parameter_type, given, arrow, then)))


def _result(given: tuple[tuple[str, Type], ...], then: Then, result: Type) -> Symbols:
    return then(given, result)


def _parameter_type(
    given: tuple[tuple[str, Type], ...], arrow: bytes, then: Then, name: str
) -> Symbols:
    return (b": ", Rule(_type, Then(_more_parameters, given, arrow, then, name)))


def _more_parameters(
    given: tuple[tuple[str, Type], ...], arrow: bytes, then: Then, name: str, kind: Type
) -> Symbols:
    return (Rule(_parameters, (*given, (name, kind)), arrow, then),)


def _write_type(kind: Type) -> Symbols:
    """A known type, with any names for its parameters."""
    if isinstance(kind, str):
        return (kind.encode(),)
    named = Rule(_name_parameters, Names(), kind.parameters, Then(_end_of_type, kind.result))
    return (b"(", named)


def _end_of_type(result: Type, _: Names) -> Symbols:
    return (b") => ", *_write_type(result))


def _name_parameters(names: Names, kinds: tuple[Type, ...], then: Then) -> Iterator[Symbols]:
    """Parameters of known types; ``then`` gets the names with them."""
    if not kinds:
        yield then(names)
    else:
        yield (_new_name(names.here, Then(_named_type, names, kinds, then)),)


def _named_type(names: Names, kinds: tuple[Type, ...], then: Then, name: str) -> Symbols:
    more = Rule(_name_parameters, names.declaring(name, kinds[0]), kinds[1:], then)
    return (b": ", *_write_type(kinds[0]), *((b", ", more) if kinds[1:] else (more,)))


# ── Expressions ───────────────────────────────────────────────────────────────────────────────────
#
# The rules of operands have a goal, a set of types, and ``then``, which gets the type that was
# read. What an operator needs is added to the goal of its left operand.


def _string() -> Iterator[Symbols]:
    yield (b'"',)
    yield (Reads(_IN_STRING), Rule(_string))


def _number() -> Iterator[Symbols]:
    yield (b"0",)
    yield (Reads(DIGITS - {ord("0")}), Rule(_digits))


def _digits() -> Iterator[Symbols]:
    yield ()
    yield (Reads(DIGITS), Rule(_digits))


def _done(_: Type) -> Symbols:
    return ()


def _value(names: Names, kind: Type) -> Iterator[Symbols]:
    """An expression of one type."""
    goal = frozenset({kind})
    if isinstance(kind, Function):
        arrow = Rule(_name_parameters, names.block(), kind.parameters, Then(_arrow, kind.result))
        yield (b"(", arrow)
        if not _leading_to(names, goal):
            return
    yield (Rule(_comparison, names, goal, Then(_done)),)


def _arrow(result: Type, names: Names) -> Symbols:
    return (b") => ", Rule(_value, names, result))


def _comparison(names: Names, goal: Types, then: Then) -> Iterator[Symbols]:
    left_goal = goal | _NUMBERS if "boolean" in goal else goal
    yield (Rule(_sum, names, left_goal, Then(_compare, names, goal, then)),)


def _compare(names: Names, goal: Types, then: Then, left: Type) -> Symbols:
    return (Rule(_after_left, names, goal, then, left),)


def _after_left(names: Names, goal: Types, then: Then, left: Type) -> Iterator[Symbols]:
    if left in goal:
        yield then(left)
    if left == "number" and "boolean" in goal:
        right = Rule(_sum, names, _NUMBERS, Then(_done))
        for operator in (b" < ", b" > "):
            yield (operator, right, *then("boolean"))


def _sum(names: Names, goal: Types, then: Then) -> Iterator[Symbols]:
    left_goal = goal | _TERMS if "string" in goal else goal
    yield (Rule(_product, names, left_goal, Then(_add, names, goal, then)),)


def _add(names: Names, goal: Types, then: Then, left: Type) -> Symbols:
    return (Rule(_after_term, names, goal, then, left),)


def _after_term(names: Names, goal: Types, then: Then, left: Type) -> Iterator[Symbols]:
    """What may follow a term: one operator, if its result can be a goal."""
    if left in goal:
        yield then(left)
    if left not in _TERMS:
        return
    terms = frozenset(right for right in _TERMS if _sum_of(left, right) in goal)
    if terms:
        yield (b" + ", Rule(_product, names, terms, Then(_join, then, left)))
    if left == "number" and "number" in goal:
        yield (b" - ", Rule(_product, names, _NUMBERS, then))


def _join(then: Then, left: Type, right: Type) -> Symbols:
    return then(_sum_of(left, right))


def _sum_of(left: Type, right: Type) -> Type:
    return "string" if "string" in (left, right) else "number"


def _product(names: Names, goal: Types, then: Then) -> Iterator[Symbols]:
    yield (Rule(_unit, names, goal, Then(_multiply, names, then)),)


def _multiply(names: Names, then: Then, left: Type) -> Symbols:
    return (Rule(_after_factor, names, then, left),)


def _after_factor(names: Names, then: Then, left: Type) -> Iterator[Symbols]:
    yield then(left)
    if left == "number":
        right = Rule(_unit, names, _NUMBERS, then)
        for operator in (b" * ", b" / "):
            yield (operator, right)


_LITERALS: tuple[tuple[Type, Symbols], ...] = (
    ("boolean", (b"true",)),
    ("boolean", (b"false",)),
    ("string", (b'"', Rule(_string))),
)


def _unit(names: Names, goal: Types, then: Then) -> Iterator[Symbols]:
    """A literal, a name or an expression in parentheses, with its members and calls."""
    for kind, symbols in _LITERALS:
        if kind in goal:
            yield (*symbols, Rule(_after_unit, names, goal, then, kind, MAX_STEPS))
    if "number" in goal:  # a number has no members: 1.toFixed is no TypeScript
        yield (Rule(_number), *then("number"))
    named = ((kind, (name.encode(),)) for name, kind in names.known)
    starts: list[tuple[int, Symbols]] = []
    for kind, symbols in (*_LITERALS, *named):
        steps = _distance(kind, goal)
        if steps:
            starts.append(
                (steps, (*symbols, Rule(_after_unit, names, goal, then, kind, MAX_STEPS)))
            )
        elif steps == 0 and (kind, symbols) not in _LITERALS:
            yield (*symbols, Rule(_after_unit, names, goal, then, kind, MAX_STEPS))
    yield from (symbols for _, symbols in sorted(starts, key=lambda start: start[0]))
    inner = Then(_close, names, goal, then)
    yield (b"(", Rule(_comparison, names, _leading_to(names, goal), inner))


def _close(names: Names, goal: Types, then: Then, kind: Type) -> Symbols:
    return (b")", Rule(_after_unit, names, goal, then, kind, MAX_STEPS))


def _after_unit(names: Names, goal: Types, then: Then, kind: Type, rest: int) -> Iterator[Symbols]:
    """What may follow a value: the members and the call that lead to a goal, the nearest first."""
    if kind in goal:
        yield then(kind)
    steps: list[tuple[int, Symbols]] = []
    for name, member in _members(kind).items():
        distance = _distance(member, goal, rest - 1)
        if distance is not None:
            after = Rule(_after_unit, names, goal, then, member, rest - 1)
            steps.append((distance, (b"." + name.encode(), after)))
    if isinstance(kind, Function):
        distance = _distance(kind.result, goal, rest - 1)
        if distance is not None:
            after = Rule(_after_unit, names, goal, then, kind.result, rest - 1)
            steps.append((distance, (b"(", *_arguments(names, kind.parameters), b")", after)))
    yield from (symbols for _, symbols in sorted(steps, key=lambda step: step[0]))


def _members(kind: Type) -> Mapping[str, Type]:
    return _METHODS[kind] if isinstance(kind, str) else {}


def _arguments(names: Names, kinds: tuple[Type, ...]) -> Symbols:
    symbols: list[bytes | Rule | Reads] = []
    for kind in kinds:
        symbols += [b", " if symbols else b"", Rule(_value, names, kind)]
    return tuple(symbols)


# ── Why a token is refused ────────────────────────────────────────────────────────────────────────

#: Names in a message at most.
_MAX_LISTED = 8


class TypeMonitor(AttributeRules):
    """The monitor ``types``."""

    def __init__(self, limits: Limits = LIMITS) -> None:
        super().__init__(Rule(_program), limits)

    def why(self, text: bytes, token: bytes | None) -> str:
        """Why no well-typed program continues a text with a token; empty if one does."""
        data = text + (token or b"")
        state, read = self.read(data)
        if read == len(data):
            return "" if token is not None or self.is_final(state) else "the line is not finished"
        begin, word = word_at(data, read)
        declared = self.new_name(data[:begin])
        if declared is not None and word in declared.refused:
            what = "a keyword" if word in _KEYWORDS else "declared already in this block"
            return f"{word} is {what}"
        at_word = self.rules_after(data[: begin - data[:begin].endswith(b".")])
        if data[read] in WORD:
            return _of_word(at_word, word, read + 1 >= len(data))
        after = self.rules_after(data[:read].rstrip(b" "))
        return _of_operator(after, data[read:].lstrip(b" ")[:1]) or _of_word(at_word, word, False)


def _of_word(begun: list[Rule], word: str, may_go_on: bool) -> str:
    for rule in begun:
        given: tuple[Any, ...] = rule.given
        if rule.make is _unit:
            return _of_use(given[0], given[1], word, may_go_on)
        if rule.make is _after_unit:
            return _of_member(given[3], given[1], word)
    wanted = next((rule.given[1] for rule in begun if rule.make is _value), None)
    if wanted is not None:
        return f"{shown(wanted)} is expected"  # type: ignore[arg-type]
    return "a different type is expected here"


def _of_operator(begun: list[Rule], character: bytes) -> str:
    """Why a value cannot be followed so; empty if no value has ended."""
    arguments = {rule.make: rule.given for rule in begun}
    for make in (_after_left, _after_term, _after_unit):  # the outermost rule has the goal
        if make in arguments:
            given: tuple[Any, ...] = arguments[make]
            return _of_value(given[3], given[1], character.decode("ascii", "replace"))
    return f"expected {_one_of(arguments[_unit][1])}" if _unit in arguments else ""  # type: ignore[arg-type]


def _one_of(goal: Types) -> str:
    *others, last = sorted(map(shown, goal))
    return f"{', '.join(others)} or {last}" if others else last


def _of_use(names: Names, goal: Types, word: str, may_go_on: bool) -> str:
    types = dict(names.known)
    if word.isdigit():
        return f"a number is not {_one_of(goal)}"
    if word in types:
        return f"{word} is {shown(types[word])}, which does not lead to {_one_of(goal)}"
    if word in _KEYWORDS:
        return f"{word} is not {_one_of(goal)}"
    fitting = [name for name, kind in names.known if _distance(kind, goal) is not None]
    listed_names = f"; possible: {', '.join(fitting[-_MAX_LISTED:])}" if fitting else ""
    begins = any(name.startswith(word) for name in types)
    if may_go_on and not begins:
        return f"no declared name begins with {word}{listed_names}"
    if may_go_on:
        return f"no name of {_one_of(goal)} begins with {word}{listed_names}"
    return f"{word} is not declared{listed_names}"


def _of_member(kind: Type, goal: Types, word: str) -> str:
    members = _members(kind)
    if word in members:
        return f"{word} is {shown(members[word])}, which does not lead to {_one_of(goal)}"
    return f"{shown(kind)} has no member {word}"


def _of_value(kind: Type, goal: Types, character: str) -> str:
    """Why a value of a type cannot be followed by a character, or end before it."""
    if character == "(":
        return f"{shown(kind)} cannot be called here"
    if character == ".":
        return f"no member of {shown(kind)} leads to {_one_of(goal)}"
    if character in "<>":
        return f"a comparison is boolean, and {_one_of(goal)} is expected"
    if character in "+-*/":
        return f"{shown(kind)} has no {character} that leads to {_one_of(goal)}"
    return f"this is {shown(kind)}, and {_one_of(goal)} is expected"
