"""``A & B`` and ``~A`` with assertions that look beyond the terminal, against Python's ``re``."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from itertools import product

import pytest

from workbench import Grammar, Vocabulary, compile
from workbench.base.errors import BuildError, WorkbenchError
from workbench.base.limits import Limits

#: The machine these tests run on may be busy.
PATIENT = Limits(seconds=60)
#: Whether a regex matches exactly the terminal's part of the text.
Matches = Callable[[str], bool]

#   terminal                                            its texts
CASES: list[tuple[str, Callable[[Matches], bool]]] = [
    (r"/[ab]+(?=c)/ & /[ab]{2}/",                       lambda m: m("[ab]+(?=c)") and m("[ab]{2}")),
    (r"/(?<!c)[ab]+/ & /[bc]*/",                        lambda m: m("(?<!c)[ab]+") and m("[bc]*")),
    (r"/[ab]+(?=c)/ & /(?<=a)[ab]+/",                   lambda m: m("[ab]+(?=c)") and m("(?<=a)[ab]+")),
    (r"/[ab]*/ & ~/a+(?!c)/",                           lambda m: m("[ab]*") and not m("a+(?!c)")),
    (r"~/(?<=a)b*(?=c)/",                               lambda m: not m("(?<=a)b*(?=c)")),
    (r"/[abc]*(?!a)/ & ~/(?<!b)[ab]*(?=c)/ & ~/c/",
     lambda m: m("[abc]*(?!a)") and not m("(?<!b)[ab]*(?=c)") and not m("c")),
    (r"(/a+(?!c)/ | /b+(?=c)/ | /ab/ | /ba/) & /[ab]{1,2}/",
     lambda m: (m("a+(?!c)") or m("b+(?=c)") or m("ab|ba")) and m("[ab]{1,2}")),
    (r"/(?:a+(?=$)|(?<!^)b+)/ & /[ab]{1,2}/",
     lambda m: (m("a+(?=$)") or m("(?!^)b+")) and m("[ab]{1,2}")),
    (r"~/a?b?(?=$)/",                                  lambda m: not m("a?b?(?=$)")),
    (r"/a/ /(?=b)/ & /a|b/",                            lambda m: m("a(?=b)")),
    (r"/[ab]/ & (/(?<=c)/ /[abc]/)",                    lambda m: m("(?<=c)[ab]")),
    (r"~(~/a(?=c)/ & ~/b/)",                            lambda m: m("a(?=c)|b")),
    (r"~(/[ab]*(?=c)/ & ~/(?<=a)b/)",
     lambda m: not (m("[ab]*(?=c)") and not m("(?<=a)b"))),
    (r"/(?=ab)[ab]+/ & /[ab]{1,2}/",                    lambda m: m("(?=ab)[ab]+") and m("[ab]{1,2}")),
    (r"/(?!ab)[ab]+/ & /[ab]{1,2}/",                    lambda m: m("(?!ab)[ab]+") and m("[ab]{1,2}")),
    (r"/\b[ab]+\b/ & /[bc]*a+/",                        lambda m: m(r"\b[ab]+\b") and m("[bc]*a+")),
    (r"/[ab]+\B/ & ~/a/",                               lambda m: m(r"[ab]+\B") and not m("a")),
    (r"/a(?=b)/ & /a(?!b)/ | /b/",                      lambda m: m("b")),
]  # fmt: skip
FRAMES = list(product(("", "a", "c", "-"), ("", "b", "ca", "-")))
TEXTS = ["".join(letters) for size in range(4) for letters in product("abc", repeat=size)]


def matches(regex: str, *, before: str, text: str, after: str) -> bool:
    whole = f"(?s:.{{{len(before)}}})(?:{regex})(?s:.{{{len(after)}}})\\Z"
    return re.match(whole, before + text + after) is not None


@pytest.mark.parametrize(("terminal", "expected"), CASES, ids=[text for text, _ in CASES])
def test_texts_in_all_frames(terminal: str, expected: Callable[[Matches], bool]) -> None:
    found = set()
    for before, after in FRAMES:
        row = [f'"{before}"' if before else "", "A", f'"{after}"' if after else ""]
        texts = accepted(f"start: {' '.join(row)}\nA: {terminal}", before, after)
        wanted = {
            text
            for text in TEXTS
            if expected(partial(matches, before=before, text=text, after=after))
        }
        assert texts == wanted, (before, after)
        found.add(frozenset(texts))
    assert len(found) > 1 or terminal.endswith("| /b/"), "the frame decides"


def test_called_terminals() -> None:
    grammar = Grammar.from_lark('start: A ("b" | "c")\nA: /a/ & (B | C)\nB: /a(?=c)/\nC: /d/')
    assert grammar.accepts("ac")
    assert not grammar.accepts("ab")


def accepted(written: str, before: str, after: str) -> set[str]:
    """The texts between ``before`` and ``after`` that a grammar accepts; it may have none."""
    try:
        grammar = Grammar.from_lark(written, limits=PATIENT)
    except BuildError as error:
        if "no text" not in error.message:
            raise
        return set()
    return {text for text in TEXTS if grammar.accepts(before + text + after)}


def test_masks() -> None:
    grammar = Grammar.from_lark('start: A ("c" | "d")\nA: /[ab]+(?=c)/ & ~/b+/')
    vocabulary = Vocabulary([b"a", b"b", b"bc", b"ac", b"c", b"d", b"ad", None], end=7)
    constraint = compile(grammar, vocabulary)
    state = constraint.initial
    allowed = {vocabulary.tokens[i] for i in constraint.mask(state).ids}
    assert allowed == {b"a", b"b", b"ac"}, "bc would be the text b alone"
    state = constraint.advance(state, vocabulary.tokens.index(b"a"))
    allowed = {vocabulary.tokens[i] for i in constraint.mask(state).ids}
    assert allowed == {b"a", b"b", b"bc", b"ac", b"c"}, "only c follows"


@pytest.mark.parametrize(
    ("terminal", "message"),
    [
        (r"(/a(?=b)/)~2 & /a+/", "looks beyond the terminal"),
        (r"/(?:a(?=b)|b)+/ & /[ab]+/", "looks beyond the terminal"),
        (" & ".join(["(/[ab]*(?=b)/ | /[ab]*(?=c)/)"] * 7), "at most 64 cases"),
    ],
)
def test_error_when_an_assertion_is_not_at_a_border(terminal: str, message: str) -> None:
    with pytest.raises(WorkbenchError, match=message):
        Grammar.from_lark(f"start: A /[abc]/\nA: {terminal}")
