"""Writes a grammar as KBNF, GBNF or Lark, with its comments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import chain

from workbench.automata.to_regex import repeat
from workbench.base.dfa import Dfa
from workbench.base.errors import BuildError, LimitError, ParseError
from workbench.base.limits import check_time_budget
from workbench.base.source import Source, Span
from workbench.grammar.export.lark_lexing import Expansions, Lexers, PositionAutomaton
from workbench.grammar.export.prepare import NotationFeatures, Prepared, prepare_rules
from workbench.grammar.export.rule_names import GBNF, KBNF, LARK, Names
from workbench.grammar.export.terminals import spelled, terminal
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.syntax.grammar_printer import KbnfPrinter, Leaf, TreePrinter
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
from workbench.syntax.ranges import ANY_CHARACTER, Ranges, difference
from workbench.syntax.regex.parser import parse_regex
from workbench.syntax.regex.reader import Dialect
from workbench.syntax.regex.tree import Alternate, Characters, Concat, Regex, Repeat


def print_rules(prepared: Prepared, printer: TreePrinter, comment: tuple[str, str]) -> str:
    """The text of all rules; ``comment`` has the delimiters around each comment line.

    A closing delimiter inside a line is written with a space.
    """
    before, after = comment
    closing = after.strip()
    pieces: list[str] = []
    for rule in prepared.rules:
        check_time_budget()
        lines = prepared.comments.get(rule.name, ())
        if lines and pieces:
            pieces.append("\n")
        if closing:
            lines = tuple(line.replace(closing, " ".join(closing)) for line in lines)
        pieces += [f"{before}{line}{after}\n" for line in lines]
        pieces.append(printer.rule(rule))
    return "".join(pieces)


def write_kbnf(grammar: Grammar, start: str = "start") -> str:
    """The grammar as KBNF; a KBNF text is returned unchanged.

    Raises: BuildError, LimitError.
    """
    if grammar.is_written_in(Notation.KBNF) and grammar.start == start:
        return grammar.source.text
    if isinstance(grammar.reader, Dfa) and grammar.reader.is_empty:
        whole = Span(0, len(grammar.source.text))
        message, hint = "KBNF has no grammar without texts", "let it accept a text"
        raise BuildError(message, grammar.source, whole, hint, "unsupported_export")
    features = NotationFeatures(
        title="KBNF", alphabet=KBNF, start=start, own=_kbnf_leaf,
        regexes=True, dialect=Dialect.RUST, counts=False, labels=True,
    )  # fmt: skip
    return print_rules(prepare_rules(grammar, features), KbnfPrinter(), ("(* ", " *)"))


def _kbnf_leaf(grammar: Grammar, leaf: Leaf) -> Expression | None:
    """The terminal itself if KBNF can express it; a regex only if KBNF parses its text alike."""
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


def standalone(grammar: Grammar) -> Grammar:
    """A grammar whose text has its rules: itself, or the same rules as KBNF if its text has others.

    Raises: BuildError, LimitError.
    """
    if not grammar.is_rewritten:
        return grammar
    return Grammar.from_kbnf(write_kbnf(grammar), limits=grammar.limits, name=grammar.source.name)


def write_gbnf(grammar: Grammar, root: str = "root") -> str:
    """The grammar as GBNF; a GBNF text is returned unchanged.

    Regexes become strings, sets and counts. llama.cpp requires names of letters, digits and ``-``,
    and the bar at the end of a line if the options are on several lines.

    Raises: BuildError, LimitError.
    """
    if grammar.is_written_in(Notation.GBNF) and grammar.start == root:
        return grammar.source.text
    features = NotationFeatures(
        title="GBNF", alphabet=GBNF, start=root, own=lambda *_: None,
        regexes=False, dialect=None, counts=True,
    )  # fmt: skip
    return print_rules(prepare_rules(grammar, features), _GbnfPrinter(), ("# ", ""))


class _GbnfPrinter(TreePrinter):
    """Writes rules as GBNF."""

    define = " ::= "

    def leaf(self, node: Leaf) -> str:
        if isinstance(node, Literal):
            return '"' + "".join(_escape(ord(c), '"') for c in node.value.decode()) + '"'
        assert isinstance(node, Pattern), "regexes are written out, machines are rules"
        assert isinstance(node.regex, Characters), "only single characters remain of regexes"
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
        _member(low) + ("" if high == low else ("-" if high > low + 1 else "") + _member(high))
        for low, high in ranges
    )


def _member(code: int) -> str:
    # llama.cpp has no escapes for these two
    return f"\\u{code:04X}" if chr(code) in "-^" else _escape(code, "[]")


def _escape(code: int, signs: str) -> str:
    character = chr(code)
    if character in _GBNF_LETTERS:
        return _GBNF_LETTERS[character]
    if character in signs:
        return f"\\{character}"
    if character.isprintable():
        return character
    # not \xHH: xgrammar reads more than two digits there
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


_LARK_LETTERS = {"\n": r"\n", "\r": r"\r", "\t": r"\t", "\f": r"\f", "\\": r"\\", '"': r"\""}
#: Lark and llguidance read ``\uHHHH`` in strings, and no escape for higher code points.
_MAX_FOUR_DIGITS = 0xFFFF


def write_lark(grammar: Grammar, start: str = "start") -> str:
    """The grammar as Lark; a Lark text is returned unchanged.

    Raises: BuildError, LimitError.
    """
    if grammar.is_written_in(Notation.LARK) and grammar.start == start:
        return grammar.source.text
    return rewritten_lark(grammar, start)


def rewritten_lark(grammar: Grammar, start: str = "start") -> str:
    """The grammar in the syntax that Lark and llguidance share, without templates and imports.

    A regex remains a terminal if the longest match, which llguidance and Lark's dynamic lexer take,
    is always correct; otherwise it is written out in terminals of one character.

    Raises: BuildError, LimitError.
    """
    features = NotationFeatures(
        title="Lark", alphabet=LARK, start=start, own=lambda *_: None,
        regexes=True, dialect=None, counts=True,
    )  # fmt: skip
    prepared = prepare_rules(grammar, features)
    bodies = {rule.name: _without_empty_terminals(rule.body) for rule in prepared.rules}
    try:
        lexers = Lexers(replace(grammar.limits, seconds=grammar.limits.seconds / 2).begun())
        while bad := lexers.misread(bodies, start):
            bodies = {name: _split(body, bad.__contains__) for name, body in bodies.items()}
    except LimitError:  # not decided in half of the time: write out every terminal
        bodies = {name: _by_letters(body) for name, body in bodies.items()}
    rules = [Rule(r.name, bodies[r.name], r.name_span, r.span) for r in prepared.rules]
    few = Expansions(Names.of(LARK, start, bodies, start)).of(tuple(rules))
    return print_rules(Prepared(few, prepared.comments), _LarkPrinter(), ("// ", ""))


def _by_letters(node: Expression) -> Expression:
    """The expression with every terminal written out in terminals of one character."""
    split = _split(node, lambda _: True)
    while split != node:
        node, split = split, _split(split, lambda _: True)
    return split


def _split(node: Expression, which: Callable[[int], bool]) -> Expression:
    """The expression with some terminals, selected by ``id``, split into smaller ones."""
    check_time_budget()
    match node:
        case Sequence(items, span):
            parts = [_split(item, which) for item in items]
            flat = (p.items if isinstance(p, Sequence) else (p,) for p in parts)
            return Sequence(tuple(chain.from_iterable(flat)), span)
        case Literal(value, span) if which(id(node)):
            letters = tuple(Literal(c.encode(), span) for c in value.decode())
            return Sequence(letters, span)
        case Pattern(regex, _, _, span) if which(id(node)):
            return _split_regex(regex, span) or Sequence((), span)
        case _:
            return node.rebuild(lambda part: _split(part, which))


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
        # With spaces: llguidance before 1.9 reads ``1..`` as a decimal number.
        return f"{part}~{low}" if low == high else f"{part}~{low} .. {high}"

    def nothing(self) -> str:
        return ""


def _string(text: str) -> str:
    """A string, or a regex if a character has no escape in strings."""
    if any(ord(c) > _MAX_FOUR_DIGITS and not c.isprintable() for c in text):
        return "/" + "".join(f"\\U{ord(c):08x}" for c in text) + "/"
    return '"' + "".join(_LARK_LETTERS.get(c) or _visible(c) for c in text) + '"'


def _visible(character: str) -> str:
    return character if character.isprintable() else f"\\u{ord(character):04x}"


def _without_empty_terminals(node: Expression) -> Expression:
    """The expression without empty strings and options: Lark has no empty terminal."""
    return _without_empty(node) or Sequence((), node.span)


def _without_empty(node: Expression) -> Expression | None:
    """The expression without empty texts, or None; a choice with an empty option gets a ``?``."""
    check_time_budget()
    match node:
        case Literal(b""):
            return None
        case Sequence(items, span):
            kept = [reduced for item in items if (reduced := _without_empty(item)) is not None]
            return _sequence(kept, span)
        case Choice(options, span):
            kept = [
                reduced for option in options if (reduced := _without_empty(option)) is not None
            ]
            if not kept:
                return None
            rest = kept[0] if len(kept) == 1 else Choice(tuple(kept), span)
            return rest if len(kept) == len(options) else Repetition(rest, 0, 1, span)
        case Repetition(item, low, high, span):
            reduced = _without_empty(item)
            return None if reduced is None or high == 0 else Repetition(reduced, low, high, span)
        case Pattern(regex, _, _, span):
            return _nonempty(regex, span)
        case _:
            return node


def _nonempty(regex: Regex, span: Span) -> Expression | None:
    """A regex as non-empty terminals, split if Python's ``re`` might not match it all."""
    positions = PositionAutomaton(regex)
    if isinstance(regex, Characters) or (positions.reads_something and positions.is_deterministic):
        expression = spelled(regex, span)
        return expression if isinstance(expression, Literal) else terminal(regex, span)
    if (
        isinstance(regex, Repeat)
        and regex.low == 0
        and PositionAutomaton(regex.part).reads_something
    ):
        some = _nonempty(repeat(regex.part, 1, regex.high), span)
        return None if some is None else Repetition(some, 0, 1, span)
    return _split_regex(regex, span)


def _split_regex(regex: Regex, span: Span) -> Expression | None:
    """A regex as an expression of its parts; None if it matches only the empty text."""
    match regex:
        case Concat(parts):
            return _sequence(
                [expression for part in parts if (expression := _nonempty(part, span))], span
            )
        case Alternate(options):
            return _without_empty(Choice(tuple(_part(option, span) for option in options), span))
        case Repeat(part, low, high):
            expression = _nonempty(part, span)
            return None if expression is None else Repetition(expression, low, high, span)
        case _:
            return spelled(regex, span)


def _part(regex: Regex, span: Span) -> Expression:
    return _nonempty(regex, span) or Sequence((), span)


def _sequence(items: list[Expression], span: Span) -> Expression | None:
    """A sequence of items, with nested sequences flattened and adjacent strings joined."""
    flat: list[Expression] = []
    for item in items:
        for part in item.items if isinstance(item, Sequence) else (item,):
            last = flat[-1] if flat else None
            if isinstance(part, Literal) and isinstance(last, Literal) and part.span == last.span:
                flat[-1] = Literal(last.value + part.value, span)
            else:
                flat.append(part)
    if not flat:
        return None
    return flat[0] if len(flat) == 1 else Sequence(tuple(flat), span)
