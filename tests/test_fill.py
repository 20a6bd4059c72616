"""``fill``: the texts between a prefix and a suffix, compared with all texts of small languages."""

from __future__ import annotations

import itertools
import random
import time
from contextlib import suppress
from functools import cache

import pytest

import workbench as wb
from workbench.grammar.export.machine_text_export import write_machine, write_subsets
from workbench.grammar.export.writers import standalone
from workbench.grammar.gallery import load_gallery
from workbench.pushdown import quotients
from workbench.vocabulary.toy_vocabularies import toy

#: Grammars with recursion of all kinds, ambiguity, empty texts and counts: notation, text, letters,
#: and the most letters of the texts that are compared.
GRAMMARS = {
    "brackets": ("kbnf", "start ::= '(' start ')' | 'x' | start start;", "()x", 6),
    "anbn": ("kbnf", "start ::= 'a' start 'b' | '';", "ab", 8),
    "counts": (
        "gbnf",
        'root ::= ("a" "b"?){2,4} "c" | ("ab" | "c")* b | ("a"?){3,5}\nb ::= "b" | ""',
        "abc",
        6,
    ),
    "left": (
        "kbnf",
        "start ::= start 'a' n | n; n ::= '' | 'b' | 'c' start 'c';",
        "abc",
        6,
    ),
    "palindromes": ("kbnf", "start ::= 'a' start 'a' | 'b' start 'b' | 'a' | 'b' | '';", "ab", 8),
    "nested": (
        "gbnf",
        'root ::= (x ",")+ x\nx ::= "a" | "[" root? "]" | "a"* | "b"{3} | (",a"){1,2}',
        "a,[]",
        5,
    ),
    "hidden": ("kbnf", "start ::= e start 'a' | 'b' dead | 'b'; e ::= ''; dead ::= 'b' dead;", "ab", 8),
    "optional": (
        "kbnf",
        "start ::= ('a' start? 'b')? ('a' 'b'?)? 'a'? ('b' ('a' | 'b'?))?;",
        "ab",
        7,
    ),
    "stars": ("kbnf", "start ::= ((('a')* 'b'?)* 'ab')*;", "ab", 8),
    "terminals": ("kbnf", "start ::= #'(ab|a)*' start | #'b+c' | #substrs'abc';", "abc", 6),
    "regex": ("regex", "(ab|c)*(a|bc?){2,3}|(?=ab).*c", "abc", 6),
    "machine": ("machine", "initial p\nfinal p, r\np -> q : a\nq -> p : b\nq -> r : c\nr -> r : a\n", "abc", 6),
}  # fmt: skip


@cache
def texts_of(name: str) -> tuple[wb.Grammar, list[str], set[str]]:
    """A grammar, all short texts over its letters, and those it accepts."""
    notation, text, letters, longest = GRAMMARS[name]
    start = "root" if notation == "gbnf" else "start"
    grammar = wb.Grammar.from_text(text, notation, start)
    words = [
        "".join(word)
        for length in range(longest + 1)
        for word in itertools.product(letters, repeat=length)
    ]
    return grammar, words, {word for word in words if grammar.accepts(word)}


def wanted(accepted: set[str], prefix: str, suffix: str) -> set[str]:
    """The texts between a prefix and a suffix, from the definition."""
    least = len(prefix) + len(suffix)
    return {
        word[len(prefix) : len(word) - len(suffix)]
        for word in accepted
        if len(word) >= least and word.startswith(prefix) and word.endswith(suffix)
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", GRAMMARS)
def test_fill_is_the_quotient_from_its_definition(name: str) -> None:
    compare_with_definition(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["counts", "nested", "optional", "stars"])
def test_fill_in_rules_of_one_item(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sequence that is too long for one rule continues in another one."""
    monkeypatch.setattr(quotients, "_MAX_ITEMS", 1)
    monkeypatch.setattr(quotients, "_MAX_DEPTH", 1)
    compare_with_definition(name)


def compare_with_definition(name: str) -> None:
    grammar, words, accepted = texts_of(name)
    longest = max(map(len, words))
    chooser = random.Random(name)
    borders = [word for word in words if len(word) <= 1]
    borders += chooser.sample([word for word in words if 2 <= len(word) <= 3], 5)
    for prefix, suffix in itertools.product(borders, repeat=2):
        texts = wanted(accepted, prefix, suffix)
        try:
            hole = wb.fill(prefix, suffix, grammar)
        except wb.BuildError:
            assert not texts, (prefix, suffix)
            continue
        room = longest - len(prefix) - len(suffix)
        assert {word for word in words if len(word) <= room and hole.accepts(word)} == texts
        # a text that is longer than those compared may be the only one
        assert texts or len(wb.samples(hole, 1)[0]) > room


def test_fill_without_borders_is_the_grammar_itself() -> None:
    grammar = wb.Grammar.from_regex("(foo)+d")
    assert wb.fill("", "", grammar) is grammar


def test_fill_within_characters() -> None:
    """The borders may be inside a character: the bytes decide."""
    grammar = wb.Grammar.from_kbnf("start ::= 'é' | '€' start '€' | #'[à-ï]'*;")
    e, euro = "é".encode(), "€".encode()
    assert wb.fill(e[:1], b"", grammar).accepts(e[1:])
    hole = wb.fill(euro[:2], euro[1:], grammar)
    assert hole.accepts(euro[2:] + e + euro[:1])
    assert not hole.accepts(euro[2:] + e)
    assert not hole.accepts(e)


#: Tokens that cross both borders of the holes below, and some within them.
TOKENS = toy(
    ['"', "a", "b", ":", "1", "2", ",", "{", "}", '":', '",', "ab", '"a', "12", "1,", ',"']
)


def spelled(constraint: wb.Constraint, text: str) -> bool:
    """Whether tokens that the masks allow spell a text, whatever their borders."""
    data, states = text.encode(), {0: {constraint.initial}}
    for here in range(len(data)):
        for length in range(1, constraint.vocabulary.longest + 1):
            for token in constraint.vocabulary.ids_of.get(data[here : here + length], ()):
                if here + length > len(data):
                    continue
                for state in states.get(here, ()):
                    if token in constraint.mask(state):
                        after = states.setdefault(here + length, set())
                        after.add(constraint.advance(state, token))
    return any(map(constraint.is_final, states.get(len(data), ())))


@pytest.mark.parametrize("method", ["automaton", "domino", "online"])
def test_tokens_spell_exactly_the_hole(method: str) -> None:
    """Exact methods allow exactly the texts of the hole, whatever tokens cross its borders."""
    grammar = wb.Grammar.from_gbnf(
        'root ::= "{" pair ("," pair)? "}"\npair ::= "\\"" [ab]+ "\\":" value\n'
        "value ::= [12]+ | root"
    )
    prefix, suffix = '{"a', ':{"b":1}}'
    constraint = wb.compile(wb.fill(prefix, suffix, grammar), TOKENS, method)
    assert spelled(constraint, '":12,"b"')
    assert spelled(constraint, 'b":{"a":1},"ab"')
    for length in range(5):
        for letters in itertools.product('"ab:1,', repeat=length):
            text = "".join(letters)
            assert spelled(constraint, text) == grammar.accepts(prefix + text + suffix)


SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}


def test_fill_in_a_schema() -> None:
    """A hole in an instance; its value is that of the whole text."""
    hole = wb.fill('{"name": "A', '4, "tags": ["x", "y"]}', wb.Grammar.from_json_schema(SCHEMA))
    assert hole.accepts('da", "age": 3')
    assert not hole.accepts('da", "age": 303')
    assert hole.parse('da", "age": 3') == {"name": "Ada", "age": 34, "tags": ["x", "y"]}
    assert not hole.accepts("da")


def test_fill_in_lines_with_indentation() -> None:
    example = load_gallery()["blocks"]
    grammar = wb.Grammar.from_text(example.text, example.notation, example.start)
    hole = wb.fill("if x:\n  y=1\n", "=2\n", grammar)
    assert hole.accepts("  z")
    assert not hole.accepts("z")
    assert not hole.accepts("    z")


def test_a_filled_grammar_is_a_grammar() -> None:
    """It can be exported, read again, sampled, described, drawn and checked."""
    grammar = wb.Grammar.from_kbnf(
        "start ::= '[' items ']'; items ::= 'x' | items ',' start | '1';"
    )
    hole = wb.fill("[x,[", "]]", grammar)
    again = wb.Grammar.from_kbnf(wb.export(hole, "kbnf"))
    for text in wb.samples(hole, 20):
        assert grammar.accepts("[x,[" + text + "]]")
        assert again.accepts(text)
    assert wb.equivalent(hole, again).same is not False
    assert "rest of" in str(wb.in_words(hole))
    assert hole.check("x,").expected
    assert hole.live_rules("x,[")[-1] == "start"
    assert "<svg" in wb.draw(hole, "rules").svg()
    assert hole.source is grammar.source
    assert wb.fill("x", "", hole).accepts(",[1]")


#: Grammars of every kind of notation, with a hole and a text of it.
HOLES = {
    "json_schema": ({"type": "string"}, '"a', '"', "b"),
    "structural_tag": (
        {"type": "structural_tag", "format": {"type": "const_string", "value": "abc"}},
        "a",
        "",
        "bc",
    ),
    "kbnf": ("start ::= 'abc';", "a", "", "bc"),
    "gbnf": ('root ::= "abc"', "a", "", "bc"),
    "lark": ('start: "abc"', "a", "", "bc"),
    "regex": ("abc", "a", "", "bc"),
    "machine": ("initial p\nfinal r\np -> q : a\nq -> r : b\n", "a", "", "b"),
}


@pytest.mark.parametrize("notation", HOLES)
def test_exports_write_the_hole_and_not_the_whole_grammar(notation: str) -> None:
    source, prefix, suffix, text = HOLES[notation]
    whole = getattr(wb.Grammar, f"from_{notation}")(source)
    hole = wb.fill(prefix, suffix, whole)
    for to in ("kbnf", "gbnf", "lark", "regex", "structural_tag"):
        again = wb.Grammar.from_text(
            wb.export(hole, to), to, "root" if to == "gbnf" else "start" if to != "regex" else ""
        )
        assert again.accepts(text), to
        assert not again.accepts(prefix + text + suffix), to
    program = wb.export(hole, "transformers")
    made = program[program.index("GRAMMAR = ") : program.index("tokenizer = ")]
    call = program[program.index("grammar = ") : program.index("constraint = ")]
    names: dict[str, wb.Grammar] = {}
    exec(made + call, {"wb": wb}, names)
    assert wb.equivalent(names["grammar"], hole).same
    for to in ("vllm", "llguidance", "xgrammar", "guidance", "outlines"):
        assert "SCHEMA" not in wb.export(hole, to), to
        assert "TAG" not in wb.export(hole, to), to
    assert wb.equivalent(standalone(hole), hole).same
    assert standalone(whole) is whole


def test_error_where_a_hole_of_a_drawn_machine_is_written_as_its_subsets() -> None:
    whole = wb.Grammar.from_machine("initial q0\nfinal q1\nq0 -> q1 : a\nq1 -> q1 : b")
    hole = wb.fill("a", "", whole)
    assert write_subsets(whole).startswith("initial q0")
    with pytest.raises(wb.BuildError, match="only a drawn machine"):
        write_subsets(hole)
    assert wb.equivalent(wb.Grammar.from_machine(write_machine(hole)), hole).same


def test_a_hole_that_is_the_whole_grammar_keeps_its_text() -> None:
    whole = wb.Grammar.from_kbnf("start ::= '(' start ')' | 'x';")
    hole = wb.fill("(", ")", whole)
    assert wb.export(hole, "kbnf") == whole.source.text
    assert wb.fill("(", "", hole).is_rewritten


def test_a_value_of_a_hole_within_a_character() -> None:
    whole = wb.Grammar.from_json_schema({"type": "string"})
    euro = "€".encode()
    hole = wb.fill(b'"' + euro[:2], b'"', whole)
    assert hole.parse(euro[2:]) == "€"


def test_fill_keeps_a_regular_language_regular() -> None:
    hole = wb.fill("fo", "od", wb.Grammar.from_regex("(foo)+d"))
    assert hole.is_regular
    assert wb.export(hole, "regex") == "(?:ofo)*"


def test_error_where_the_prefix_fails() -> None:
    grammar = wb.Grammar.from_json_schema(SCHEMA)
    with pytest.raises(wb.BuildError) as caught:
        wb.fill('{"nom', "}", grammar)
    assert str(caught.value) == (
        "prefix, line 1, column 4: no text begins with this prefix: it fails at column 4:"
        ' expected a\n1 | {"nom\n       ^\n'
        "hint: shorten it up to this place, or move the border of the hole"
    )


def test_error_where_the_suffix_fails() -> None:
    grammar = wb.Grammar.from_json_schema(SCHEMA)
    with pytest.raises(wb.BuildError) as caught:
        wb.fill('{"name', '"x], "tags": []}', grammar)
    assert caught.value.kind == "no_text"
    assert str(caught.value).startswith("suffix, line 1, column 3: no text ends with this suffix:")
    assert "'], \"tags\": []}'" not in str(caught.value)


def test_error_where_prefix_and_suffix_exclude_each_other() -> None:
    grammar = wb.Grammar.from_kbnf("start ::= '(' start ')' | '[' start ']' | 'x';")
    with pytest.raises(wb.BuildError, match=r"the longest end that fits is '\]'") as caught:
        wb.fill("[(", "x]", grammar)
    assert caught.value.span.start == 0


def test_error_of_terminal_labels() -> None:
    grammar = wb.Grammar.from_regex(r"a(?P<PARAGRAPH_TOKEN>)+")
    with pytest.raises(wb.BuildError, match="reads a token"):
        wb.fill("a", "", grammar)


def test_error_above_limits() -> None:
    grammar = wb.Grammar.from_kbnf("start ::= '(' start ')' | 'x';")
    with pytest.raises(wb.LimitError):
        wb.fill("(" * 200, ")" * 200, grammar, limits=wb.Limits(states=100))


def stars(depth: int, item: str = "'a'") -> str:
    """Repetitions in one another, which derive each text in exponentially many ways."""
    return f"start ::= {'(' * depth}{item}{')*' * depth};"


#: Grammars in which the borders of a hole may be in very many places: grammar, prefix, suffix.
BOMBS = {
    "60 repetitions": (stars(60), "aaa", "aaa"),
    "60 repetitions, a long hole": (stars(60), "a" * 400, "a" * 400),
    "60 optional repetitions": (stars(60, "'a'? 'b'?"), "aab", "abb"),
    "200 rules without a byte": (
        "start ::= r0;"
        + "".join(f"r{i} ::= r{i + 1}? r{i + 1}? 'a'? | r{i + 1} r{i + 1};" for i in range(200))
        + "r200 ::= 'a'?;",
        "aaa",
        "aaa",
    ),
    "120 optional parts": ("start ::= " + "('a' start? 'b')? " * 120 + ";", "aba", "bab"),
    "3,000 optional letters": ("start ::= " + "('a')? " * 3_000 + ";", "a" * 30, "a" * 30),
    "pairs of itself": ("start ::= start start | 'a' start? | '';", "a" * 300, "a" * 300),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_hole_with_many_places_is_filled_in_time(name: str) -> None:
    text, prefix, suffix = BOMBS[name]
    limits = wb.Limits(seconds=1.0)
    wb.fill("a", "a", wb.Grammar.from_kbnf(stars(2)))  # loads the kernels
    grammar = wb.Grammar.from_kbnf(text, limits=wb.Limits(seconds=60))
    began = time.thread_time()
    with suppress(wb.LimitError):
        hole = wb.fill(prefix, suffix, grammar, limits=limits)
        assert grammar.accepts(prefix + wb.samples(hole, 1)[0] + suffix)
    assert time.thread_time() - began < 2 * limits.seconds


def test_a_hole_in_repetitions_has_one_rule_for_each_part() -> None:
    """Its size is proportional to the nesting, although the ways to derive it are exponential."""
    holes = [wb.fill("aaa", "aaa", wb.Grammar.from_kbnf(stars(depth))) for depth in (4, 6, 8)]
    rules = [len(hole.tree.rules) for hole in holes if hole.tree is not None]
    assert rules[2] - rules[1] == rules[1] - rules[0] > 0
    for hole in holes:
        assert all(hole.accepts("a" * count) for count in range(5))
        assert not hole.accepts("b")


def test_a_hole_in_optional_parts_has_one_rule_for_each_part() -> None:
    grammar = wb.Grammar.from_kbnf(BOMBS["120 optional parts"][0])
    hole = wb.fill("aba", "bab", grammar)
    assert hole.tree is not None
    assert len(hole.tree.rules) < 3 * 120
    for text in ("", "b", "ba", "bab", "abab", "bbaa"):
        assert hole.accepts(text) == grammar.accepts(f"aba{text}bab"), text


def test_a_part_that_is_called_once_is_in_its_caller() -> None:
    hole = wb.fill("(", ")", wb.Grammar.from_kbnf("start ::= '(' ('x' | 'y' ('z' | 'w')) ')';"))
    assert hole.tree is not None
    assert len(hole.tree.rules) == 1


def test_nested_holes_are_filled_in_turn() -> None:
    """A hole in a hole is the hole of the longer prefix and suffix."""
    grammar, words, accepted = texts_of("brackets")
    inner = wb.fill("(", ")", wb.fill("(", "x", grammar))
    assert {w for w in words if len(w) < 3 and inner.accepts(w)} == wanted(accepted, "((", ")x")
