"""The Earley recogniser, checked against the machine and against `re`."""

from __future__ import annotations

from random import Random

import pytest

from tests.oracles.exactness.subjects import HARD, grammar, regex
from tests.oracles.grammar_oracle import GrammarOracle
from workbench.analysis.earley import Expected, SourceRecognizer
from workbench.base.errors import LimitError, WorkbenchError
from workbench.base.limits import Limits
from workbench.base.source import Source
from workbench.grammar.gallery import Example, load_gallery
from workbench.grammar.grammar import Grammar
from workbench.grammar.recognition import character_start
from workbench.syntax.kbnf.kbnf_parser import parse_kbnf
from workbench.syntax.regex.parser import parse_regex

JSON = """start ::= value;
value ::= object | list | number | 'true';
object ::= '{' (member (',' member)*)? '}';
member ::= '"' #'[a-z\\\\d]+' '":' value;
list ::= '[' (value (',' value)*)? ']';
number ::= #'-?[0-9]+';"""


def kbnf(text: str, limits: Limits | None = None) -> SourceRecognizer:
    tree = parse_kbnf(Source(text, "g"))
    return SourceRecognizer.of_grammar(tree, limits=limits or Limits())


def of_regex(pattern: str) -> SourceRecognizer:
    return SourceRecognizer.of_regex(parse_regex(Source(pattern, "regex")))


def reached(recognizer: SourceRecognizer, text: str | bytes) -> Expected:
    found = recognizer.after(text.encode() if isinstance(text, str) else text)
    assert found is not None
    return found


def pieces(source: str, recognizer: SourceRecognizer, text: str | bytes) -> list[str]:
    return [source[p.span.start : p.span.end] for p in reached(recognizer, text).pieces]


#   regex                    text        could read next          because
REGEXES = [
    ("[0-9]{2}:[0-9]",       "1",        ["[0-9]"],               "the class, not its repetition"),
    ("[0-9]{2}:[0-9]",       "12",       [":"],                   "copies are counted"),
    ("(foo|four)+d",         "fo",       ["o", "u"],              "letters of words, one by one"),
    ("(foo|four)+d",         "foo",      ["f", "f", "d"],         "a loop may go round or out"),
    (r"\d+(\.\d+)?",         "1",        [r"\d", r"\."],          "escapes are shown as written"),
    (r"(?i)ab",              "",         ["a"],                   "flags change the characters, not the span"),
    (r"a{,2}b",              "aa",       ["b"],                   "an upper bound is kept"),
    (r"(a?b?)*c",            "a",        ["a", "b", "c"],         "parts that may be empty"),
    (r"(?P<x>a)|b",          "",         ["a", "b"],              "groups are looked into"),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "text", "expected", "because"), REGEXES)
def test_pieces_of_a_regex(pattern: str, text: str, expected: list[str], because: str) -> None:
    assert pieces(pattern, of_regex(pattern), text) == expected, because


#   text            could read next                                                 stack of the first
NESTED = [
    ("",            ["t", "{", "[", "-", "[0-9]"],                                  "start value"),
    ("[tr",         ["u"],                                                          "start value list value"),
    ('{"a',         ["[a-z\\\\d]", '"'],                                            "start value object member"),
    ('{"a":[12',    [",", "]", "[0-9]"],                                            "start value object member value list"),
    ("[[]",         [",", "]"],                                                     "start value list"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected", "stack"), NESTED)
def test_pieces_of_a_grammar_and_their_calls(text: str, expected: list[str], stack: str) -> None:
    recognizer = kbnf(JSON)
    assert pieces(JSON, recognizer, text) == expected
    first = reached(recognizer, text).pieces[0]
    assert [" ".join(frame.rule for frame in s) for s in first.stacks] == [stack]
    for found in reached(recognizer, text).pieces:
        for frames in found.stacks:
            assert frames[0].span.start == JSON.index("start ::=")
            for frame in frames[1:]:  # the span of the call: the name of the rule
                assert JSON[frame.span.start : frame.span.end] == frame.rule


def test_named_groups_are_the_rules_of_a_regex() -> None:
    found = reached(of_regex("(?P<day>[0-9](x))|(?P<word>(?P<first>[a-z])+)"), "").pieces
    assert [[f.rule for f in place.stacks[0]] for place in found] == [["day"], ["word", "first"]]


#   grammar                                        text     could read next
TERMINALS = [
    ("start ::= 'a\\n\\u00e9';",                   "a",     ["\\n"]),
    ("start ::= 'a\\n\\u00e9';",                   "a\n",   ["\\u00e9"]),
    ("start ::= #e'[ab]*c' 'd';",                  "a",     ["[ab]", "c"]),
    ("start ::= #e'[ab]*c' 'd';",                  "ac",    ["d"]),
    ("start ::= #ex'ab' 'ab';",                    "a",     ["#ex'ab'", "a"]),
    ("start ::= #ex'ab' 'ab';",                    "ca",    ["#ex'ab'", "a", "b"]),
    ("start ::= except!('end', 2) 'end';",         "xy",    ["e"]),
    ("start ::= #substrs'foo bar' '.';",           "oo",    ["#substrs'foo bar'", "."]),
    ("start ::= 'a' start 'b' | '';",              "a",     ["a", "b"]),
    ("start ::= start 'x' | 'y';",                 "y",     ["x"]),
    ("start ::= dead 'x' | 'y'; dead ::= dead;",   "",      ["y"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "so_far", "expected"), TERMINALS)
def test_every_kind_of_terminal(text: str, so_far: str, expected: list[str]) -> None:
    assert pieces(text, kbnf(text), so_far) == expected


def test_after_a_text_that_is_no_prefix_there_are_no_pieces() -> None:
    assert kbnf(JSON).after(b"[}") is None
    assert kbnf(JSON).after(b'{"\xff') is None
    assert of_regex(r"[^\s\S]").after(b"") is None


def test_an_incomplete_character_is_not_the_character() -> None:
    recognizer = of_regex("[é-ü]x")
    assert [p.reads for p in reached(recognizer, b"\xc3").pieces] == [()], (
        "no character begins inside"
    )
    assert pieces("[é-ü]x", recognizer, b"\xc3\xa9") == ["x"]
    assert recognizer.after(b"\xc3\x28") is None


def test_halves_of_a_character_may_be_of_two_terminals() -> None:
    recognizer = kbnf("start ::= except!('é') #ex'x' 'b';")
    first = reached(recognizer, "a").pieces[0]
    assert any(low <= ord("é") <= high for low, high in first.reads)


#   reason                          grammar                                                  text
HARMLESS = [
    ("a regex that explodes",       "start ::= #'(a|b)*a(a|b){30}';",                        "ab" * 500),
    ("counts inside counts",        "start ::= #'((a{1,9}){1,9}){1,9}';",                    "a" * 200),
    ("right recursion",             "start ::= 'a' start | 'b';",                            "a" * 3000),
    ("left recursion",              "start ::= start 'a' | 'b';",                            "b" + "a" * 3000),
    ("nesting",                     "start ::= '(' start ')' | 'x';",                        "(" * 2000),
    ("ambiguous without bound",     "start ::= start start | 'a' | '';",                     "a" * 60),
    ("a chain that returns",        "start ::= 'a' b | ''; b ::= start;",                    "a" * 2000),
    ("loops of what may be empty",  "start ::= (('a'? 'b'?)* 'c'?)* 'd';",                   "abcab" * 200),
]  # fmt: skip


@pytest.mark.parametrize(("reason", "text", "so_far"), HARMLESS, ids=[h[0] for h in HARMLESS])
def test_regexes_whose_automata_explode(reason: str, text: str, so_far: str) -> None:
    found = kbnf(text).after(so_far.encode(), Limits(seconds=30.0))
    assert found is not None
    assert found.pieces, reason
    assert all(1 <= len(place.stacks) <= 4 for place in found.pieces)


def test_error_when_the_time_is_over() -> None:
    recognizer = kbnf("start ::= start start start | start start | 'a' #' *' | '';")
    with pytest.raises(LimitError, match=r"0\.01 seconds"):
        recognizer.after(b"a" * 2000, Limits(seconds=0.01))


def test_a_text_continues_where_the_last_one_ended() -> None:
    recognizer = kbnf(JSON)
    begun = reached(recognizer, "[" * 50)
    assert reached(recognizer, "[" * 50 + "1,") == reached(kbnf(JSON), "[" * 50 + "1,")
    assert reached(recognizer, "[" * 50) == begun


# -- against the machine: all pieces together read what it expects --------------------


def agree(built: Grammar, recognizer: SourceRecognizer, data: bytes) -> None:
    found = recognizer.after(data, Limits(seconds=30.0))
    assert (found is not None) == built.is_prefix(data)
    if found is None or character_start(data, len(data)) != len(data):
        return
    verdict = built.check(data)
    assert found.reads == verdict.expected
    assert found.may_end == verdict.may_end
    assert all(place.stacks for place in found.pieces)


def wander(built: Grammar, random: Random, steps: int) -> None:
    """Read on at random, mostly what may come, now and then something else or half a character."""
    recognizer, data = SourceRecognizer.of(built), b""
    for _ in range(steps):
        agree(built, recognizer, data)
        if not built.is_prefix(data):
            return
        expected = built.check(data).expected
        character = random.choice(("a", "b", '"', "é", "東", "😀", " ", "1"))
        if expected and random.random() < 0.85:
            low, high = random.choice(expected)
            character = chr(random.choice((low, high, random.randint(low, high))))
        read = character.encode("utf-8", "replace")
        data += read[: random.randint(1, len(read))] if random.random() < 0.1 else read


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(40))
def test_law_pieces_read_what_the_machine_expects(seed: int) -> None:
    random = Random(seed)
    for make, text in ((Grammar.from_kbnf, grammar(random)), (Grammar.from_regex, regex(random))):
        try:
            built = make(text)
            for _ in range(2):
                wander(built, random, 10)
        except (LimitError, WorkbenchError):  # the machine is too ambiguous: nothing to compare
            continue


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", HARD)
def test_law_in_grammars_that_are_hard_to_read(name: str) -> None:
    built = Grammar.from_kbnf(HARD[name])
    for seed in range(3):
        wander(built, Random(seed), 16)


@pytest.mark.parametrize("example", load_gallery().values(), ids=lambda example: str(example.name))
def test_law_in_the_gallery(example: Example) -> None:
    built = Grammar.from_text(example.text, example.notation, example.start)
    recognizer = SourceRecognizer.of(built)
    for text in (*example.accepts[:2], *example.rejects[:2]):
        data = text.encode()
        for end in {*range(0, len(data), 1 + len(data) // 12), len(data)}:
            agree(built, recognizer, data[:end])


@pytest.mark.parametrize(
    "text",
    [
        "start ::= 'a' start 'b' | start 'c' | '' ;",
        "start ::= x y | y 'b'; x ::= 'a' | ''; y ::= x 'c' | 'a' y?;",
        "start ::= start start | 'ab' | 'a';",
    ],
)
def test_against_the_oracle(text: str) -> None:
    """Every text of up to five letters: whether it is read, may end, and may continue with each."""
    tree = parse_kbnf(Source(text, "g"))
    recognizer = SourceRecognizer.of_grammar(tree)
    waiting = [b""]
    for data in waiting:  # grows while it is read
        oracle = GrammarOracle(tree, data)
        found = recognizer.after(data)
        assert (found is not None) == oracle.is_prefix, data
        if found is None:
            continue
        assert found.may_end == oracle.accepts, data
        onward = {chr(c) for low, high in found.reads for c in range(low, high + 1)}
        assert onward == {c for c in "abc" if GrammarOracle(tree, data + c.encode()).is_prefix}
        waiting += [data + letter for letter in (b"a", b"b", b"c")] if len(data) < 5 else []
