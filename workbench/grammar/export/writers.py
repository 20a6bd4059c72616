"""Writes a grammar as KBNF, GBNF or Lark, with its comments."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

from workbench.automata.to_regex import repeat
from workbench.base.dfa import DEAD, Dfa
from workbench.base.errors import BuildError, LimitError, ParseError
from workbench.base.source import Source, Span
from workbench.grammar.export.lark_lexing import Expansions, Lexers, Places
from workbench.grammar.export.prepare import Prepared, Signs, prepared
from workbench.grammar.export.rule_names import GBNF, KBNF, LARK, Names
from workbench.grammar.export.terminals import spelled, terminal
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.syntax.grammar_tree import (
    Automaton,
    Choice,
    Expression,
    Literal,
    Pattern,
    Repetition,
    Rule,
    Sequence,
    shape,
)
from workbench.syntax.kbnf.kbnf_printer import KbnfPrinter
from workbench.syntax.ranges import ANY_CHARACTER, Ranges, difference
from workbench.syntax.regex.parser import parse_regex
from workbench.syntax.regex.reader import Dialect
from workbench.syntax.regex.tree import Alternate, Characters, Concat, Regex, Repeat
from workbench.syntax.tree_printer import Leaf, TreePrinter


def laid_out(made: Prepared, printer: TreePrinter, comment: tuple[str, str]) -> str:
    """The text of all rules; ``comment`` is what stands before and after each line of one."""
    before, after = comment
    pieces: list[str] = []
    for rule in made.rules:
        lines = made.comments.get(rule.name, ())
        if lines and pieces:
            pieces.append("\n")
        pieces += [f"{before}{line}{after}\n" for line in lines]
        pieces.append(printer.rule(rule))
    return "".join(pieces)


def write_kbnf(grammar: Grammar, start: str = "start") -> str:
    """The grammar as KBNF; a text that is KBNF already stays as it is.

    Raises: BuildError, LimitError.
    """
    if grammar.notation is Notation.KBNF and grammar.start == start:
        return grammar.source.text
    if isinstance(grammar.reader, Dfa) and not (grammar.reader.table != DEAD).any():
        whole = Span(0, len(grammar.source.text))
        message, hint = "KBNF has no grammar of the empty text alone", "let it read a character"
        raise BuildError(message, grammar.source, whole, hint, "unsupported_export")
    signs = Signs(
        title="KBNF", alphabet=KBNF, start=start, own=_own,
        regexes=True, dialect=Dialect.RUST, counts=False, labels=True,
    )  # fmt: skip
    return laid_out(prepared(grammar, signs), KbnfPrinter(), ("(* ", " *)"))


def _own(grammar: Grammar, leaf: Leaf) -> Expression | None:
    """What KBNF has signs for; a regex in the words of its author, where KBNF reads them alike."""
    if isinstance(leaf, Automaton):
        return None
    is_regex = isinstance(leaf, Pattern) and grammar.notation is not Notation.KBNF
    return leaf if not is_regex or _reads_alike(leaf) else None


def _reads_alike(leaf: Leaf) -> bool:
    assert isinstance(leaf, Pattern)
    try:
        regex = parse_regex(Source(leaf.text, "regex"), dialect=Dialect.RUST)
    except ParseError:
        return False
    return shape(regex) == shape(leaf.regex)


_GBNF_LETTERS = {"\n": r"\n", "\r": r"\r", "\t": r"\t", "\\": r"\\"}


def write_gbnf(grammar: Grammar, root: str = "root") -> str:
    """The grammar as GBNF; a text that is GBNF already stays as it is.

    Regexes are spelled in strings, sets and counts. Names are letters, digits and ``-``, options
    on several lines end with their bar: llama.cpp reads no others.

    Raises: BuildError, LimitError.
    """
    if grammar.notation is Notation.GBNF and grammar.start == root:
        return grammar.source.text
    signs = Signs(
        title="GBNF", alphabet=GBNF, start=root, own=lambda *_: None,
        regexes=False, dialect=None, counts=True,
    )  # fmt: skip
    return laid_out(prepared(grammar, signs), _GbnfPrinter(), ("# ", ""))


class _GbnfPrinter(TreePrinter):
    """Writes rules as GBNF."""

    define = " ::= "

    def leaf(self, node: Leaf) -> str:
        if isinstance(node, Literal):
            return '"' + "".join(_escaped(ord(c), '"') for c in node.value.decode()) + '"'
        assert isinstance(node, Pattern), "regexes are spelled, machines are rules"
        assert isinstance(node.regex, Characters), "one character is what is left of them"
        return _set(node.regex.ranges)

    def counted(self, part: str, low: int, high: int | None) -> str:
        if low == high:
            return f"{part}{{{low}}}"
        return f"{part}{{{low},{'' if high is None else high}}}"

    def nothing(self) -> str:
        return '""'

    def lines(self, head: str, options: list[str]) -> str:
        return head + (" |\n" + " " * len(head)).join(options) + self.end


def _set(ranges: Ranges) -> str:
    outside = difference(ANY_CHARACTER, ranges)
    if ranges[-1] == ANY_CHARACTER[-1] and outside:
        return f"[^{_members(outside)}]"
    return f"[{_members(ranges)}]"


def _members(ranges: Ranges) -> str:
    return "".join(
        _member(low) + ("" if high == low else "-" * (high > low + 1) + _member(high))
        for low, high in ranges
    )


def _member(code: int) -> str:
    # llama.cpp has no signs for these two
    return f"\\u{code:04X}" if chr(code) in "-^" else _escaped(code, "[]")


def _escaped(code: int, signs: str) -> str:
    character = chr(code)
    if character in _GBNF_LETTERS:
        return _GBNF_LETTERS[character]
    if character in signs:
        return f"\\{character}"
    if character.isprintable():
        return character
    # no \xHH: xgrammar takes more digits for it than two
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


_LARK_LETTERS = {"\n": r"\n", "\r": r"\r", "\t": r"\t", "\f": r"\f", "\\": r"\\", '"': r"\""}
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
    return laid_out(Prepared(few, made.comments), _LarkPrinter(), ("// ", ""))


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
        case Literal(value, span) if which(id(node)):
            letters = tuple(Literal(c.encode(), span) for c in value.decode())
            return Sequence(letters, span)
        case Pattern(regex, _, _, span) if which(id(node)):
            return _opened(regex, span) or Sequence((), span)
        case _:
            return node.rebuild(lambda part: _spelled(part, which))


class _LarkPrinter(TreePrinter):
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
    return '"' + "".join(_LARK_LETTERS.get(c) or _visible(c) for c in text) + '"'


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
