r"""The escapes in strings of KBNF and GBNF.

Both have ``\xHH``, ``\uHHHH`` and ``\UHHHHHHHH``, which are code points: ``\x80`` is U+0080, not
a byte. The other escapes differ. (For KBNF see ``kbnf.kbnf_lexer``.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from workbench.base.errors import ParseError
from workbench.base.source import Source, Span, Unescaped
from workbench.syntax.ranges import MAX_CODE_POINT

_NUMBER = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8}))")
_HALVES = re.compile(r"\\u([dD][89abAB][0-9A-Fa-f]{2})\\u([dD][c-fC-F][0-9A-Fa-f]{2})")
#: After the backslash: what is missing, what to type.
_UNFINISHED = {
    "x": ("two hexadecimal digits after \\x", "write exactly two, as in \\x41"),
    "u": ("four hexadecimal digits after \\u", "write exactly four, as in \\u00e9"),
    "U": ("eight hexadecimal digits after \\U", "write exactly eight, as in \\U0001F600"),
}
_SETS = {"d": "[0-9]", "w": "[A-Za-z0-9_]", "s": "[ \\t\\r\\n]"}
_SURROGATES = range(0xD800, 0xE000)


@dataclass(frozen=True, slots=True)
class Escapes:
    """The escapes of one notation."""

    #: The character after the backslash, and the character it represents.
    simple: Mapping[str, str]
    #: Whether ``\ud83d\ude00`` is one character.
    pairs: bool
    #: The hint for an unknown escape.
    hint: str

    def unescaped(self, source: Source, inside: Span) -> Unescaped:
        """The text that a string represents, with the position of each character.

        Raises: ParseError of kind ``bad_escape``.
        """
        written = source.text[inside.start : inside.end]
        if "\\" not in written:
            return Unescaped(written, range(inside.start, inside.end + 1), "\\\\")
        characters = list(self.characters(source, inside))
        text = "".join(chr(code) for code, _ in characters)
        places = [*(span.start for _, span in characters), inside.end]
        return Unescaped(text, places, "\\\\")

    def characters(self, source: Source, inside: Span) -> Iterator[tuple[int, Span]]:
        """The code point and the span of each character.

        Raises: ParseError of kind ``bad_escape``.
        """
        text, position = source.text, inside.start
        while position < inside.end:
            if text[position] != "\\":
                code, end = ord(text[position]), position + 1
            elif halves := self.pairs and _HALVES.match(text, position, inside.end):
                high, low = (int(half, 16) for half in halves.groups())
                code, end = 0x10000 + ((high - 0xD800) << 10) + low - 0xDC00, halves.end()
            elif number := _NUMBER.match(text, position, inside.end):
                end = number.end()
                code = self._code(source, number[number.lastindex or 0], Span(position, end))
            else:
                after = text[position + 1 : min(position + 2, inside.end)]
                if after not in self.simple:
                    raise self._unknown(source, after, Span(position, position + 1 + len(after)))
                code, end = ord(self.simple[after]), position + 2
            yield code, Span(position, end)
            position = end

    def _code(self, source: Source, digits: str, span: Span) -> int:
        code = int(digits, 16)
        if code in _SURROGATES or code > MAX_CODE_POINT:
            message = f"expected the code point of a character, not U+{code:04X}"
            hint = (
                "surrogates are halves of UTF-16; write the whole number: \\U0001F600"
                if code in _SURROGATES
                else "the highest character is \\U0010FFFF"
            )
            raise ParseError(message, source, span, hint, "bad_escape")
        return code

    def _unknown(self, source: Source, after: str, span: Span) -> ParseError:
        if after in _UNFINISHED:
            expected, hint = _UNFINISHED[after]
            return ParseError(f"expected {expected}", source, span, hint, "bad_escape")
        shown = after if after.isprintable() else repr(after)[1:-1]
        hint = self.hint
        if after.lower() in _SETS:
            hint = f"write the characters out, as in {_SETS[after.lower()]}; {hint}"
        message = f"expected an escape that exists after the backslash, not {shown}"
        return ParseError(message, source, span, hint, "bad_escape")
