"""Templates: what they say as grammars, their listings, and what is inserted without the model."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench.constraint.inserting import Inserting
from workbench.decoding.generate import generate
from workbench.decoding.sampling import Sampling
from workbench.decoding.strategy import PLAIN, Skipping
from workbench.decoding.template import Gen, Select, Template, White
from workbench.decoding.toy_model import ToyModel
from workbench.decoding.trace import Trace
from workbench.errors import ParseError, TokenNotAllowed, WorkbenchError
from workbench.vocabulary.toy import toy

#: Listing 1 of DOMINO; the paper prints the first brace single, which no f-string is.
LISTING_1 = """{{
    "id": {gen('id', regex='[1-9][0-9]*')},
    "description": "A nimble fighter",
    "name": "{gen('name', stop='"')}",
    "age": {gen('age', regex='[1-9][0-9]*')},
    "armor": "{select(['leather', 'chainmail', 'plate'])}",
    "weapon": "{select(['sword', 'axe', 'bow'])}",
    "class": "{gen('class', stop='"')}",
    "mantra": "{gen('mantra', stop='"')}",
    "strength": {gen('strength', regex='[1-9][0-9]*')},
    "items": [ "{gen('item', stop='"')}", "{gen('item', stop='"')}"],
}}"""

FILLED = """{
    "id": 17,
    "description": "A nimble fighter",
    "name": "",
    "age": 31,
    "armor": "plate",
    "weapon": "axe",
    "class": "knight",
    "mantra": "No fear, {no} retreat",
    "strength": 13,
    "items": [ "torch", "war horn"],
}"""


def test_listing_1() -> None:
    template = Template.parse(LISTING_1)
    assert template.grammar.accepts(FILLED)
    assert not template.grammar.accepts(FILLED.replace("plate", "silk"))
    assert not template.grammar.accepts(FILLED.replace("    ", "  "))
    assert not template.grammar.accepts(FILLED.replace("31", "031"))
    assert template.values(FILLED) == [
        ("id", "17"), ("name", ""), ("age", "31"), ("class", "knight"),
        ("mantra", "No fear, {no} retreat"), ("strength", "13"),
        ("item", "torch"), ("item", "war horn"),
    ]  # fmt: skip


def test_the_flexible_variant_leaves_white_space_to_the_model() -> None:
    template = Template.parse(LISTING_1).flexible()
    assert template.grammar.accepts(FILLED)
    assert template.grammar.accepts(FILLED.replace("    ", "\t").replace(": ", ":"))
    assert not template.grammar.accepts(FILLED.replace("A nimble", "A  nimble"))
    assert template.values(FILLED) == Template.parse(LISTING_1).values(FILLED)
    assert sum(isinstance(part, White) for part in template.parts) == 23, (
        "one a line, one a colon, two in the list"
    )


PARTS = [
    ("{gen('a', regex='[0-9]{2}')}!", (Gen("a", regex="[0-9]{2}"), "!")),
    ("{gen(name='a', stop='}')}", (Gen("a", stop="}"),)),
    ("{{{select(['x', \"y\"])}}}", ("{", Select(("x", "y")), "}")),
    ("{ select(('x',), name='s') }{WS}", (Select(("x",), "s"), White())),
    ("no hole", ("no hole",)),
    ("", ()),
]


@pytest.mark.parametrize(("text", "parts"), PARTS)
def test_parsing(text: str, parts: tuple[object, ...]) -> None:
    assert Template.parse(text).parts == parts


ERRORS = [
    ("ab{cd", "1, column 3: expected a hole"),
    ("a}", "1, column 2: expected a hole before this brace"),
    ("x\n{foo('a')}", "2, column 1: there is no 'foo' in templates"),
    ("{gen('a')}", "1, column 1: expected the hole 'a' to have a regex or a stop"),
    ("{gen('a', regex='x', stop='y')}", "expected the hole 'a' to have a regex or a stop"),
    ("{gen('a', stop='')}", "expected the hole 'a' to stop at some text"),
    ("{gen('a', b='c')}", "expected other arguments"),
    ("{gen('a', 'b')}", "expected other arguments"),
    ("{gen(['a'], stop='x')}", "expected other arguments"),
    ("{gen(name(), stop='x')}", "expected other arguments"),
    ("{select([])}", "expected something to select from"),
    ("{select('ab')}", "expected other arguments"),
    ("{select([1])}", "expected other arguments"),
    ("{1 + 1}", "expected gen(…), select(…) or WS"),
]


@pytest.mark.parametrize(("text", "told"), ERRORS)
def test_errors(text: str, told: str) -> None:
    with pytest.raises(ParseError) as caught:
        Template.parse(text)
    assert told in str(caught.value)


def test_error_regex_and_values() -> None:
    with pytest.raises(ParseError):
        _ = Template.parse("{gen('a', regex='(')}").grammar
    with pytest.raises(WorkbenchError, match="fills the template"):
        Template.parse("a{gen('a', regex='b*')}").values("ac")
    with pytest.raises(WorkbenchError, match="fills the template"):
        Template(()).values("a")
    assert Template(()).values("") == []


TEXTS = st.text(st.sampled_from('ab "\n{}'), max_size=4)
HOLES = st.sampled_from(
    [Gen("g", regex="[ab]*"), Gen("g", stop='"'), Gen("g", stop="ab"), Select(("a", "", "ba"), "s")]
)


@given(st.lists(st.one_of(TEXTS, HOLES, st.just(White())), max_size=5), st.data())
def test_values_are_found_again(
    parts: list[str | Gen | Select | White], data: st.DataObject
) -> None:
    template = Template(tuple(parts))
    filled = ""
    for part in parts:
        match part:
            case str():
                filled += part
            case White():
                filled += data.draw(st.sampled_from(["", " ", "\n\t"]))
            case Select(options):
                filled += data.draw(st.sampled_from(options))
            case Gen(stop=None):
                filled += data.draw(st.sampled_from(["", "a", "abba"]))
            case Gen(stop=stop):
                filled += data.draw(TEXTS).replace(str(stop), "")
    if filled:
        assert template.grammar.accepts(filled)
    found = template.values(filled)
    assert [name for name, _ in found] == [p.name for p in parts if isinstance(p, Gen | Select)]
    assert all(value in filled for _, value in found)


# -- what is inserted -----------------------------------------------------------------------

WORDS = toy([*'abcdn: ",{}', "na", '"n', '":', ': "', '"}', "name", "abc", '",', '"ab'])


def ran(template: Template, sample: str, *, healing: bool = True, skip: bool = True) -> Trace:
    constraint = wb.compile(template.grammar, WORDS)
    run = generate(
        ToyModel(WORDS, sample=sample),
        wb.compile(template.grammar, WORDS, method="template", healing=healing),
        ":",
        strategy=Skipping() if skip else PLAIN,
    )
    tokens = [step.token_id for step in run if not step.is_end]
    state = constraint.initial
    for token_id in tokens:  # what is inserted is allowed by the exact mask too
        state = constraint.advance(state, token_id)
    return run.trace


def spelt(trace: Trace) -> list[str]:
    return [step.token.decode() for step in trace.steps if not step.is_end]


FIXED = Template.parse("{{\"na\": \"{gen('x', regex='[abc]+')}\"}}")


def test_fixed_text_is_inserted_and_its_last_token_healed() -> None:
    trace = ran(FIXED, ':{"na": "abc"}')
    assert spelt(trace) == ["{", '"n', "a", '":', " ", '"ab', "c", '"}']
    assert [step.forward for step in trace.steps] == [False] * 5 + [True, True, True, False]
    assert trace.accepted


def test_without_healing_the_last_token_is_inserted_too() -> None:
    trace = ran(FIXED, ':{"na": "abc"}', healing=False)
    assert spelt(trace) == ["{", '"n', "a", '":', " ", '"', "abc", '"}']
    assert [step.forward for step in trace.steps] == [False] * 6 + [True, True, False]


def test_a_token_may_spell_the_end_of_fixed_text_and_the_filling() -> None:
    template = Template.parse("a{gen('x', regex='bc|c')}.")
    words = toy(["a", "b", "c", "ab", "abc", ".", ":"])
    model = ToyModel(words, sample=":abc.")
    healed = generate(model, Inserting(wb.compile(template.grammar, words)), [6])  # type: ignore[arg-type]
    assert [step.token for step in healed] == [b"abc", b".", b""]
    plain = Inserting(wb.compile(template.grammar, words), healing=False)  # type: ignore[arg-type]
    assert [step.token for step in generate(model, plain, [6])] == [b"a", b"b", b"c", b".", b""]


def test_the_tokenizer_spells_fixed_text() -> None:
    vocabulary = wb.Vocabulary.load("builtin")
    template = Template.parse(LISTING_1)
    constraint = wb.compile(template.grammar, vocabulary, method="template")
    state, taken = constraint.initial, []
    while len(mask := constraint.mask(state)) == 1:
        taken.append(next(iter(mask)))
        state = constraint.advance(state, taken[-1])
    spelling = [t for t in taken if vocabulary.tokens[t] is not None]
    assert vocabulary.decode(spelling) == b'{\n    "id": ', "no token spells a space and a digit"
    assert len(spelling) < 8
    with pytest.raises(TokenNotAllowed, match="is inserted"):
        constraint.advance(constraint.initial, vocabulary.ids("}")[0])


@given(st.integers(0, 20), st.booleans(), st.booleans())
def test_skipping_a_template_is_its_plain_loop(seed: int, healing: bool, dense: bool) -> None:
    longer = [b"na", b'": ', b'"n', b"abc", b'"}', b'{"'] if dense else []
    vocabulary = toy([*(bytes([byte]) for byte in range(128)), *longer])
    constraint = wb.compile(FIXED.grammar, vocabulary, method="template", healing=healing)
    model, sampling = ToyModel(vocabulary, seed=seed), Sampling(1.0, seed=seed)
    runs = [
        generate(model, constraint, ":", sampling, max_tokens=40, strategy=strategy)
        for strategy in (PLAIN, Skipping())
    ]
    plain, skipped = ([step.token_id for step in run] for run in runs)
    assert plain == skipped
    assert constraint.is_final(constraint.initial) is False
    assert FIXED.grammar.is_prefix(runs[0].trace.text)


def test_json_of_a_filled_listing_but_for_its_last_comma() -> None:
    assert json.loads(FILLED.replace("],", "]"))["id"] == 17
