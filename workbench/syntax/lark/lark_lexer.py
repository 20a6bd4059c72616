r"""The lexemes of Lark grammars: names, strings, ranges, regexes, JSON.

A regex is parsed in Python's dialect, as in Lark, and if that fails in Rust's, as in llguidance.
Anchors at the edges of a regex have no effect, and ``\cA`` is a control character.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache

from workbench.base.errors import ParseError
from workbench.base.limits import Clock
from workbench.base.source import Source, Span, Unescaped
from workbench.syntax.cursor import LexemeNames, Part
from workbench.syntax.grammar_tree import Expression, Literal, Pattern, Stop
from workbench.syntax.kbnf.kbnf_lexer import END, NOTHING, Lexemes, lexemes
from workbench.syntax.ranges import ANY_CHARACTER, Ranges, intersection
from workbench.syntax.regex.character_classes import without_javascript
from workbench.syntax.regex.parser import parse_regex
from workbench.syntax.regex.printer import class_text
from workbench.syntax.regex.reader import Dialect, Flags
from workbench.syntax.regex.tree import Characters, Concat, Regex
from workbench.syntax.regex.unicode_sets import folded
from workbench.syntax.string_escapes import Escapes

#: A regex may contain line breaks only with the flag ``x``, so that an unclosed one is reported in
#: its line. Brackets followed by a colon are the attributes of a rule (llguidance), other brackets
#: an optional part.
LEXEMES = re.compile(
    rf"""(?:\s++|//(?!%indenter\b)[^\r\n]*+|\#[^\r\n]*+)*
    (?: (?P<NAME>_*[A-Za-z]\w*+(?:-(?!>)\w*+)*|_) | (?P<INDENTER>//%indenter)
      | (?P<STRING>"(?:[^"\\\r\n]|\\[^\r\n])*+"(?:i(?![\w]))?)
      | (?P<REGEX>/(?![/*])(?:[^/\\\r\n]|\\[^\r\n])++/[imslux]*
                 |/(?![/*])(?:[^/\\]|\\[\s\S])++/[imslu]*x[imslux]*)
      | (?P<OPTIONS>%(?:llguidance|grammar_options)(?![\w]))
      | (?P<JSON>%json(?![\w])) | (?P<PIECES>%regex(?![\w])) | (?P<NESTED>%lark(?![\w]))
      | (?P<IF>%if(?![\w]))
      | (?P<STATEMENT>%[a-z]\w*)
      | (?P<ATTRIBUTES>\[(?=(?:[^]["/\r\n]++|"(?:[^"\\\r\n]|\\[^\r\n])*+"
                                    |/(?:[^/\\\r\n]|\\[^\r\n])*+/)*\]
                                 [ \t]*(?:\.[ \t]*-?\d+[ \t]*)?:(?!:)))
      | (?P<COUNT>\{{\s*\d*\s*(?:,\s*\d*\s*)?\}})
      | (?P<ALIAS>->)
      | (?P<TOKEN><[^<>\s"][^<>\s"]*+>)
      | (?P<SUBGRAMMAR>@[\w-]+)
      | (?P<RANGE>\.\.)
      | (?P<PRIORITY>\.[ \t]*[+-]?\d+)
      | (?P<NUMBER>0x[0-9A-Fa-f]+|\d+)
      | (?P<PARAMETER>::) | (?P<COLON>:)
      | (?P<LPAR>\() | (?P<RPAR>\)) | (?P<LBRACKET>\[) | (?P<RBRACKET>\])
      | (?P<LBRACE>\{{) | (?P<RBRACE>\}})
      | (?P<BAR>\|) | (?P<STAR>\*) | (?P<PLUS>\+) | (?P<OPTIONAL>\?(?![!a-z_]))
      | (?P<MODIFIER>[!?]{{1,2}}(?=[a-z_]))
      | (?P<TILDE>~) | (?P<AND>&) | (?P<COMMA>,) | (?P<EQUALS>=) | (?P<DOT>\.)
      | (?P<{END}>\Z) | (?P<{NOTHING}>) )""",
    re.VERBOSE | re.ASCII,
)

LEXEME_NAMES = LexemeNames(
    shown={
        "LPAR": "(", "RPAR": ")", "LBRACKET": "[", "RBRACKET": "]", "LBRACE": "{", "RBRACE": "}",
    },
    closing={
        "LPAR": "RPAR", "LBRACKET": "RBRACKET", "LBRACE": "RBRACE", "ATTRIBUTES": "RBRACKET",
    },
    define="COLON",
    unclosed=(
        (r'"', "string", "'\"' on the same line"),
        (r"/(?!\*)", "regex", "'/' on the same line"),
    ),
    foreign=(
        (r"/\*", "this is not a comment in Lark", "comments are written // … to the end of a line"),
        (r"'", "Lark writes strings in double quotes", "write \"…\" instead of '…'"),
        (r";", "a rule of Lark ends with its line", "leave the ';' out"),
        (r"→", "expected '->'", "an alias is written -> name"),
        (r"%", "expected a statement such as %import or %ignore", "put the sign between quotes"),
        (r"<", "a rule's name is written without angle brackets", "write name instead of <name>"),
        (r"-", "expected a name of letters, digits and '_'", "put the sign between quotes"),
        (r"\^|\$|@", "this sign has no meaning outside quotes",
         "put it between quotes, or write a regex: /…/"),
        (r"\\", "a backslash has a meaning only in strings and regexes",
         "put the text between quotes"),
        (r"[‘’‚“”„`´«»]", "expected a straight quote", 'write strings between " and "'),
    ),
    rewrites=(
        (r"'([^'\"\\\n]*)'", r'"\1"'),
        (r"/\*\s*(.*?)\s*\*/", r"// \1"),
        (r";", ""),
        (r"→", "->"),
        (r'[‘’‚“”„`´«»]([^"‘’‚“”„`´«»\n]*)[‘’‚“”„`´«»]', r'"\1"'),
    ),
)  # fmt: skip

#: Kinds followed by a JSON value, which is one lexeme of kind ``OBJECT``.
_BEFORE_JSON = frozenset({"OPTIONS", "JSON", "PIECES", "INDENTER"})
_BLANKS = re.compile(r"\s*")
_DECODER = json.JSONDecoder()


def lark_lexemes(source: Source) -> Iterator[Lexemes]:
    """The lexemes of a text; the last one is ``END``, or ``NOTHING`` where none matches.

    Raises: ParseError if JSON is expected and missing.
    """
    begin: int | None = 0
    while begin is not None:
        some, begin = lexemes(source.text, pattern=LEXEMES, begin=begin), None
        for kinds, starts, ends in some:
            if _BEFORE_JSON.isdisjoint(kinds):
                yield kinds, starts, ends
                continue
            size = 1 + next(index for index, kind in enumerate(kinds) if kind in _BEFORE_JSON)
            yield kinds[:size], starts[:size], ends[:size]
            after = source.text[starts[size - 1] : ends[size - 1]]
            value, begin = _object(source, after, ends[size - 1])
            yield ["OBJECT"], [value], [begin]
            break


def json_value(source: Source, part: Part) -> object:
    """The JSON value of an ``OBJECT``."""
    return _DECODER.raw_decode(source.text, part.start)[0]


def _object(source: Source, after: str, position: int) -> tuple[int, int]:
    """The start and the end of the JSON value at a position."""
    blank = _BLANKS.match(source.text, position)
    start = blank.end() if blank else position
    try:
        _, end = _DECODER.raw_decode(source.text, start)
    except json.JSONDecodeError as error:
        offset = min(error.pos, len(source.text))
        message = f"expected JSON after '{after}': {error.msg.lower()}"
        hint = f"write {after} followed by an object: {{ … }}"
        raise ParseError(message, source, Span(offset, offset), hint) from None
    except (RecursionError, ValueError):
        message = f"the JSON after '{after}' is nested too deeply, or has a number too long"
        raise ParseError(message, source, Span(start, start), "simplify it") from None
    return start, end


#: The escapes of JSON and Python. Lark keeps any other backslash, llguidance rejects it.
_ESCAPES = Escapes(
    {
        "n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "\\": "\\", '"': '"', "/": "/",
    },
    pairs=True,
    hint="write a backslash itself as \\\\; the escapes are \\n \\r \\t \\b \\f \\\\ \\\" \\/ "
    "\\xHH \\uHHHH \\UHHHHHHHH",
)  # fmt: skip
_FLAGS = {"i": "ignorecase", "m": "multiline", "s": "dotall", "x": "verbose"}


def string(source: Source, span: Span) -> Expression:
    """``"text"`` or ``"text"i``.

    Raises: ParseError of kind ``bad_escape``.
    """
    text, ignores_case = _string(source, span)
    if not ignores_case:
        return Literal(text.encode(), span)
    characters = [Characters(_both_cases(character), span) for character in text]
    regex = characters[0] if len(text) == 1 else Concat(tuple(characters), span)
    return Pattern(regex, Stop.ANYWHERE, f"(?i:{re.escape(text)})", span)


@lru_cache(maxsize=512)
def _both_cases(character: str) -> Ranges:
    """A character in both cases."""
    code = ord(character)
    return folded(((code, code),), turkic_i=Dialect.PYTHON.value.turkic_i)


def character_range(source: Source, low: Span, high: Span) -> Pattern:
    """``"a".."z"``.

    Raises: ParseError
    """
    span = low.to(high)
    ends = [_string(source, end) for end in (low, high)]
    if any(len(text) != 1 or ignores_case for text, ignores_case in ends):
        message = "expected one character at each end of the range"
        raise ParseError(message, source, span, 'write for example "a".."z"')
    first, last = (ord(text) for text, _ in ends)
    if first > last:
        message = "expected a range from a lower to a higher character"
        swapped = "..".join(source.text[end.start : end.end] for end in (high, low))
        raise ParseError(message, source, span, "swap the two ends").with_fix(swapped)
    ranges = intersection(ANY_CHARACTER, ((first, last),))
    return Pattern(Characters(ranges, span), Stop.ANYWHERE, class_text(ranges), span)


def regex(source: Source, span: Span, clock: Clock | None = None) -> Pattern:
    """``/regex/flags``.

    Raises: ParseError of kind ``bad_regex`` or ``unsupported_regex``.
    """
    end = source.text.rindex("/", span.start, span.end)
    letters = source.text[end + 1 : span.end]
    if "l" in letters:
        message = "the flag 'l' cannot be read: what it means depends on where it is run"
        error = ParseError(message, source, Span(end + 1, span.end), "leave it out", "unsupported")
        raise error.with_fix(letters.replace("l", ""))
    flags = Flags(**{_FLAGS[letter]: True for letter in letters if letter in _FLAGS})
    written = Unescaped(source.text[span.start + 1 : end], range(span.start + 1, end + 1))
    written = without_javascript(written)
    tree = _parse(source, written, flags, clock)
    inline_flags = "".join(sorted({letter for letter in letters if letter in _FLAGS}))
    text = f"(?{inline_flags}:{written.text})" if inline_flags else written.text
    return Pattern(tree, Stop.ANYWHERE, text, span)


def _parse(source: Source, written: Unescaped, flags: Flags, clock: Clock | None) -> Regex:
    try:
        return parse_regex(source, flags=flags, written=written, clock=clock)
    except ParseError as error:
        try:
            return parse_regex(
                source, dialect=Dialect.RUST, flags=flags, written=written, clock=clock
            )
        except ParseError:
            raise error from None


def _string(source: Source, span: Span) -> tuple[str, bool]:
    """The text of a string, and whether its case is ignored."""
    end = span.end - 1
    ignores_case = source.text[end] == "i"
    start, end = span.start + 1, end - ignores_case
    text = source.text[start:end]
    if "\\" in text:
        text = _ESCAPES.unescaped(source, Span(start, end)).text
    return text, ignores_case
