"""From regex to DFA: patterns of Koo et al., the stop modes of KBNF, and time limits."""

from __future__ import annotations

import time

import pytest

from tests.automata.machines import machine, tree
from workbench.automata.build import pattern_dfa
from workbench.base.source import Span
from workbench.syntax.grammar_tree import Pattern, Stop

ISO = r"\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-5]\d([+-][0-2]\d:[0-5]\d|Z)"
IPV4 = r"((25[0-5]|2[0-4]\d|[01]?\d\d?)\.){3}(25[0-5]|2[0-4]\d|[01]?\d\d?)"
JSON_STRING = r'"([^"\\\x00-\x1F\x7F-\x9F]|\\["\\/bfnrt])*"'
QUOTED = r'" *(?:[^\s"\\]|\\["n\\])(?: |[^\s"\\]|\\["n\\])*"'

#   pattern         accepted                        rejected                        (Koo et al. 2024, C.4)
SOURCES = [
    (ISO,           ["2024-07-11T09:30:00Z", "1999-12-31T23:59:59+01:00"],
                    ["2024-07-11", "2024-27-11T09:30:00Z", "2024-07-11T09:30:00"]),
    (IPV4,          ["0.0.0.0", "255.255.255.255", "192.168.01.1"],
                    ["256.1.1.1", "1.2.3", "1.2.3.4."]),
    (JSON_STRING,   ['""', '"a"', r'"\n\""', '"é漢😀"'],
                    ['"', '"\n"', r'"\x"', '"a"b']),
    (QUOTED,        ['"foo"', '" x y"', r'"\n"'],
                    ['""', '"  "', '"\t"']),
    ("Red|Orange|Yellow|Green|Blue|Indigo|Violet", ["Red", "Violet"], ["Re", "RedRed", "red"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "yes", "no"), SOURCES, ids=["iso", "ip", "json", "quoted", "choice"]
)
def test_the_regexes_of_the_sources(pattern: str, yes: list[str], no: list[str]) -> None:
    dfa = machine(pattern)
    assert [text for text in yes if not dfa.accepts(text.encode())] == []
    assert [text for text in no if dfa.accepts(text.encode())] == []


#   stop                accepted            rejected
STOPS = [
    (Stop.ANYWHERE,     ["ab", "abab"],     ["", "aba"]),
    (Stop.FIRST_MATCH,  ["ab"],             ["", "abab"]),
    (Stop.BEFORE_MATCH, ["a", "ba", "é"],   ["", "ab", "xabx"]),
]  # fmt: skip


@pytest.mark.parametrize(("stop", "yes", "no"), STOPS)
def test_pattern_dfa(stop: Stop, yes: list[str], no: list[str]) -> None:
    dfa = pattern_dfa(Pattern(tree("(ab)+"), stop, "(ab)+", Span(0, 5)))
    assert [text for text in yes if not dfa.accepts(text.encode())] == []
    assert [text for text in no if dfa.accepts(text.encode())] == []


#   pattern                     seconds     (of thread time, several times what is needed)
QUICK = [
    (ISO,                       0.05),
    (IPV4,                      0.05),
    (JSON_STRING,               0.02),
    ("[a-z]{0,200}x",           0.05),
    ("(a|b)*a(a|b){12}",        1.0),
    (r"[\w.%+-]+@[\w.-]+\.[A-Za-z]{2,63}", 0.5),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("pattern", "seconds"), QUICK)
def test_quick_enough_for_every_keystroke(pattern: str, seconds: float) -> None:
    machine(pattern)  # Unicode's tables are read once in a process
    best = min(_seconds(pattern) for _ in range(3))
    assert best < seconds


def _seconds(pattern: str) -> float:
    started = time.thread_time()
    machine(pattern)
    return time.thread_time() - started
