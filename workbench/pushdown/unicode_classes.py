r"""Notes where ``\d``, ``\w`` or ``\s`` matches more than ASCII, with the ASCII class as the fix.

Their Unicode meaning costs a machine over bytes hundreds of edges, and most authors mean ASCII.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from workbench.pushdown.advice import Advice
from workbench.source import Source, Span
from workbench.syntax.ranges import difference
from workbench.syntax.regex.tree import Characters
from workbench.syntax.regex.unicode_sets import python_class, rust_class

#: What each class also matches, its ASCII members as they are written inside brackets, and what
#: these are called.
_CLASSES = {
    "d": ("hundreds of other digits, such as ٣ and ५", "0-9", "ASCII digits"),
    "w": ("letters and digits of all scripts, such as é and я", "A-Za-z0-9_", "ASCII alone"),
    "s": ("other white space, such as the no-break space", r" \t\n\r\f\v", "ASCII white space"),
}
#: An escape with the letter after its backslash; where the quotes around a regex resolve escapes
#: first, the backslash of the regex is written twice.
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPE_IN_QUOTES = re.compile(r"\\\\(\\\\|[^\\])|\\[^\\]")
#: The flag x: Rust then skips blanks inside brackets.
_VERBOSE = re.compile(r"\(\?[a-zA-Z]*x")
#: Nested classes and set operations: a fix inside them could change more than the class.
_ALGEBRA = re.compile(r".\[|&&|--|~~", re.DOTALL)


def unicode_class_advice(
    sets: Iterable[Characters], source: Source, *, in_quotes: bool
) -> tuple[Advice, ...]:
    """A note for each place where such a class is written and read with its Unicode meaning.

    A negated class gets none: there the Unicode meaning forbids more, not less.
    ``in_quotes`` says whether quotes around a regex resolve escapes first, as in KBNF.
    """
    found: dict[Advice, None] = {}
    for one in sets:
        text = source.text[one.span.start : one.span.end]
        if text.startswith("\\") or (text.startswith("[") and not _ALGEBRA.search(text)):
            found |= dict.fromkeys(_of_set(one, text, source, in_quotes))
    return tuple(found)


def _of_set(one: Characters, text: str, source: Source, in_quotes: bool) -> Iterator[Advice]:
    for match in (_ESCAPE_IN_QUOTES if in_quotes else _ESCAPE).finditer(text):
        letter = match[1]
        if letter not in _CLASSES or not _is_unicode(one, letter):
            continue
        others, members, called = _CLASSES[letter]
        if _VERBOSE.search(source.text):
            members = members.replace(" ", r"\x20")
        if in_quotes:
            members = members.replace("\\", "\\\\")
        fix = members if text.startswith("[") else f"[{members}]"
        yield Advice(
            rf"\{letter} also matches {others}",
            Span(one.span.start + match.start(), one.span.start + match.end()),
            "unicode_class",
            f"write {fix} for {called}",
            fix,
        )


def _is_unicode(one: Characters, letter: str) -> bool:
    """Whether a set holds all that the class matches in Python or in Rust."""
    return any(not difference(each(letter), one.ranges) for each in (python_class, rust_class))
