"""Writes a grammar as Lark text, which Lark's Earley parser and llguidance read."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

from workbench.errors import LimitError
from workbench.export.expansions import Expansions
from workbench.export.laid_out import laid_out
from workbench.export.lexing import Lexers
from workbench.export.names import LARK, Names
from workbench.export.places import Places
from workbench.export.prepared import Prepared, Signs, prepared
from workbench.export.spelled import spelled, terminal
from workbench.export.terms import repeat
from workbench.grammar import Grammar
from workbench.notations import Notation
from workbench.source import Span
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    Literal,
    Pattern,
    Repetition,
    Rule,
    Sequence,
)
from workbench.syntax.regex.tree import Alternate, Characters, Concat, Regex, Repeat
from workbench.syntax.tree_printer import Leaf, TreePrinter

_LETTERS = {"\n": r"\n", "\r": r"\r", "\t": r"\t", "\f": r"\f", "\\": r"\\", '"': r"\""}
#: Both readers of Lark's strings know ``\uHHHH``, and nothing for what is higher.
_FOUR_DIGITS = 0xFFFF


def write_lark(grammar: Grammar, start: str = "start") -> str:
    """The grammar as Lark; a text that is Lark already stays as it is.

    Raises: BuildError, LimitError.
    """
    if grammar.notation is Notation.LARK and grammar.start == start:
        return grammar.source.text
    return rewritten_lark(grammar, start)


def rewritten_lark(grammar: Grammar, start: str = "start") -> str:
    """The grammar in what Lark and llguidance both read; templates and imports are none of it.

    A regex stays a terminal where the longest match is always the right one, as llguidance and
    Lark's dynamic lexer take it; elsewhere it is spelled in sets of one character.

    Raises: BuildError, LimitError.
    """
    signs = Signs(
        title="Lark", alphabet=LARK, start=start, own=lambda *_: None,
        regexes=True, dialect=None, counts=True,
    )  # fmt: skip
    made = prepared(grammar, signs)
    bodies = {rule.name: _filled(rule.body) for rule in made.rules}
    try:
        lexers = Lexers(grammar.limits.begun())
        while bad := lexers.misread(bodies, start):
            bodies = {name: _spelled(body, bad.__contains__) for name, body in bodies.items()}
    except LimitError:  # nobody knows in time which are safe: none stays
        bodies = {name: _by_letters(body) for name, body in bodies.items()}
    rules = [Rule(r.name, bodies[r.name], r.name_span, r.span) for r in made.rules]
    few = Expansions(Names.of(LARK, start, bodies, start)).of(tuple(rules))
    return laid_out(Prepared(few, made.comments), _Printer(), ("// ", ""))


def _by_letters(node: Expression) -> Expression:
    """The same with every terminal as those of one character."""
    made = _spelled(node, lambda _: True)
    while made != node:
        node, made = made, _spelled(made, lambda _: True)
    return made


def _spelled(node: Expression, which: Callable[[int], bool]) -> Expression:
    """The same with some terminals, told by their ``id``, as smaller ones."""
    match node:
        case Sequence(items, span):
            parts = [_spelled(item, which) for item in items]
            flat = (p.items if isinstance(p, Sequence) else (p,) for p in parts)
            return Sequence(tuple(chain.from_iterable(flat)), span)
        case Choice(options, span):
            return Choice(tuple(_spelled(option, which) for option in options), span)
        case Repetition(item, low, high, span):
            return Repetition(_spelled(item, which), low, high, span)
        case Literal(value, span) if which(id(node)):
            letters = tuple(Literal(c.encode(), span) for c in value.decode())
            return Sequence(letters, span)
        case Pattern(regex, _, _, span) if which(id(node)):
            return _opened(regex, span) or Sequence((), span)
        case _:
            return node


class _Printer(TreePrinter):
    """Writes rules as Lark."""

    define = ": "

    def leaf(self, node: Leaf) -> str:
        if isinstance(node, Literal):
            return _string(node.value.decode())
        assert isinstance(node, Pattern), "machines are rules"
        return "/" + node.text.replace("/", r"\/") + "/"

    def counted(self, part: str, low: int, high: int | None) -> str:
        if high is None:
            return f"({part}~{low} {part}*)"
        return f"{part}~{low}" if low == high else f"{part}~{low}..{high}"

    def nothing(self) -> str:
        return ""


def _string(text: str) -> str:
    """A string, or a regex where a character has no sign in strings."""
    if any(ord(c) > _FOUR_DIGITS and not c.isprintable() for c in text):
        return "/" + "".join(f"\\U{ord(c):08x}" for c in text) + "/"
    return '"' + "".join(_LETTERS.get(c) or _visible(c) for c in text) + '"'


def _visible(character: str) -> str:
    return character if character.isprintable() else f"\\u{ord(character):04x}"


def _filled(node: Expression) -> Expression:
    """The same without empty strings and empty options: Lark has no terminal for the empty text."""
    return _without_empty(node) or Sequence((), node.span)


def _without_empty(node: Expression) -> Expression | None:
    """The same, None for what reads nothing; where an option reads nothing there is a ``?``."""
    match node:
        case Literal(b""):
            return None
        case Sequence(items, span):
            kept = [made for item in items if (made := _without_empty(item)) is not None]
            return _together(kept, span)
        case Choice(options, span):
            kept = [made for option in options if (made := _without_empty(option)) is not None]
            if not kept:
                return None
            rest = kept[0] if len(kept) == 1 else Choice(tuple(kept), span)
            return rest if len(kept) == len(options) else Repetition(rest, 0, 1, span)
        case Repetition(item, low, high, span):
            made = _without_empty(item)
            return None if made is None or high == 0 else Repetition(made, low, high, span)
        case Pattern(regex, _, _, span):
            return _never_empty(regex, span)
        case _:
            return node


def _never_empty(regex: Regex, span: Span) -> Expression | None:
    """A regex as terminals that read something, smaller ones where Python would not read it all."""
    places = Places(regex)
    if isinstance(regex, Characters) or (places.reads_something and places.go_one_way):
        made = spelled(regex, span)
        return made if isinstance(made, Literal) else terminal(regex, span)
    if isinstance(regex, Repeat) and regex.low == 0 and Places(regex.part).reads_something:
        some = _never_empty(repeat(regex.part, 1, regex.high), span)
        return None if some is None else Repetition(some, 0, 1, span)
    return _opened(regex, span)


def _opened(regex: Regex, span: Span) -> Expression | None:
    """A regex as an expression of its parts; None where it reads nothing."""
    match regex:
        case Concat(parts):
            return _together([made for part in parts if (made := _never_empty(part, span))], span)
        case Alternate(options):
            return _without_empty(Choice(tuple(_part(option, span) for option in options), span))
        case Repeat(part, low, high):
            made = _never_empty(part, span)
            return None if made is None else Repetition(made, low, high, span)
        case _:
            return spelled(regex, span)


def _part(regex: Regex, span: Span) -> Expression:
    return _never_empty(regex, span) or Sequence((), span)


def _together(items: list[Expression], span: Span) -> Expression | None:
    """One item after the other, rows inside it opened, strings side by side as one."""
    flat: list[Expression] = []
    for item in items:
        for one in item.items if isinstance(item, Sequence) else (item,):
            last = flat[-1] if flat else None
            if isinstance(one, Literal) and isinstance(last, Literal) and one.span == last.span:
                flat[-1] = Literal(last.value + one.value, span)
            else:
                flat.append(one)
    if not flat:
        return None
    return flat[0] if len(flat) == 1 else Sequence(tuple(flat), span)
