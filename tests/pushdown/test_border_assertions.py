"""``A & B``, ``~A``, lazy terminals and ``#e`` with assertions that look beyond the terminal.

The oracle is Python's ``re``.
"""

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
    (r"(/a(?=a|c)/)~2 & /a+/",                          lambda m: m("(?:a(?=a|c)){2}")),
    (r"(/a(?=.?[bc])|b/)~1..3 & ~/a+b/",
     lambda m: m("(?:a(?=.?[bc])|b){1,3}") and not m("a+b")),
    (r"/(?:a(?=b)|b)+/ & /[ab]{1,2}/",                  lambda m: m("(?:a(?=b)|b){1,2}")),
    (r"/[ab]+/ & ~(/(?:[ab](?!c))*/ /b?/)",
     lambda m: m("[ab]+") and not m("(?:[ab](?!c))*b?")),
    (r"(/[ab](?=.*c)/ & ~/b(?!b)/)+",                   lambda m: m("(?:a(?=.*c)|b(?=.*c)(?=b))+")),
    (r"((/a|ab/ /(?=b|c)/) & ~/ab/) /b?/ & /ab?/",      lambda m: m("a(?=b|c)b?")),
    (r"~(/[abc]/ & ~/(?<=a)b|c(?!.)/)",
     lambda m: not (m("[abc]") and not m("(?<=a)b|c(?!.)"))),
    (" & ".join(["(/[ab]*(?=b)/ | /[ab]*(?=c)/)"] * 7), lambda m: m("[ab]*(?=[bc])")),
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
    read = Grammar.from_kbnf if "::=" in written else Grammar.from_lark
    try:
        grammar = read(written, limits=PATIENT)
    except BuildError as error:
        if error.kind not in ("unproductive", "empty_grammar"):
            raise
        return set()
    return {text for text in TEXTS if grammar.accepts(before + text + after)}


def test_masks_obey_an_assertion_beyond_the_terminal() -> None:
    grammar = Grammar.from_lark('start: A ("c" | "d")\nA: /[ab]+(?=c)/ & ~/b+/')
    vocabulary = Vocabulary([b"a", b"b", b"bc", b"ac", b"c", b"d", b"ad", None], end=7)
    constraint = compile(grammar, vocabulary)
    state = constraint.initial
    allowed = {vocabulary.tokens[i] for i in constraint.mask(state).ids}
    assert allowed == {b"a", b"b", b"ac"}, "bc would be the text b alone"
    state = constraint.advance(state, vocabulary.tokens.index(b"a"))
    allowed = {vocabulary.tokens[i] for i in constraint.mask(state).ids}
    assert allowed == {b"a", b"b", b"bc", b"ac", b"c"}, "only c follows"


#: Regexes of lazy terminals; the empty text is a text of the last ones.
LAZY = [
    "[ab]+(?=c)", "a(?=b)|a[bc]", "(?:a(?=[ab])|b)+(?!a)", r"[ab]{1,3}\b", "(?<=c)a|ab+", "a+(?=$|c)",
    "[ab]*(?=b)b", "(?<!a)[abc]+(?<!a)", "(?=aa|b)[ab]+", "[ab]*(?=b)", "a?(?!b)[abc]?", "(?=.b)|a+",
]  # fmt: skip


@pytest.mark.parametrize("regex", LAZY)
@pytest.mark.parametrize("form", ["A[lazy]: /{}/", "#e'{}'", "A[lazy, max_chars=2]: /{}/"])
def test_shortest_matches_in_all_frames(form: str, regex: str) -> None:
    written = form.format(regex.replace("\\", "\\\\") if form.startswith("#e") else regex)
    for before, after in product(("", "a", "c"), ("", "b", "ca")):
        least = 1 if form.startswith("#e") else 0
        wanted = {
            text
            for text in TEXTS
            if len(text) >= least
            and (len(text) <= 2 or "max_chars" not in form)
            and matches(regex, before=before, text=text, after=after)
            and not any(
                matches(regex, before=before, text=text[:end], after=text[end:] + after)
                for end in range(least, len(text))
            )
        }
        if least:
            texts = accepted(f"start ::= '{before}' {written} '{after}';", before, after)
        else:
            row = [f'"{before}"' if before else "", "A", f'"{after}"' if after else ""]
            texts = accepted(f"start: {' '.join(row)}\n{written}", before, after)
        assert texts == wanted, (before, after)


def test_a_terminal_ends_before_a_lazy_one_that_looks_beyond_it() -> None:
    grammar = Grammar.from_lark(
        'start: (TEXT | stop) "!"\nTEXT: /[ab]*/\nstop[lazy]: /[ab]*b(?=a|!)/', limits=PATIENT
    )
    # with the text up to a b before an a or the end, the lazy terminal ends, and "!" must follow
    for text in ("!", "a!", "b!", "aab!"):
        assert grammar.accepts(text), text
    for text in ("ba!", "bb!a", "aba!", "abab!"):
        assert not grammar.accepts(text), text


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (
            'start: A /[abc]/\nA: /a(?=b)/ & %json {"type": "object"}',
            "next to a terminal that is no regex",
        ),
        ("start: A /[abc]/\nA: /a(?=b)/ & /(?P<TEXT_TOKEN>)/", "cannot be combined"),
    ],
)
def test_error_next_to_what_is_no_regex(written: str, message: str) -> None:
    with pytest.raises(WorkbenchError, match=message):
        Grammar.from_lark(written)
