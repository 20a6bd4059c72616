"""Token healing: the bytes removed from the prompt are the prefix of the grammar."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench.base.errors import WorkbenchError
from workbench.decoding.generate import generate
from workbench.decoding.model import ToyModel
from workbench.decoding.retokenize import heal, with_prefix
from workbench.vocabulary.toy_vocabularies import toy
from workbench.vocabulary.vocabulary import Vocabulary

WORDS = toy(["the", " ", "re", "reply", "ply", "p", "l", "y", "s", "é", b"\xc3", b"\xa9"])
MODEL = ToyModel(WORDS, sample="the reply")
REGEX = wb.Grammar.from_regex("ply(s|e?)")
KBNF = wb.Grammar.from_kbnf("start ::= 'ply' ('s' | 'e')? | '(' start ')';")


@pytest.mark.parametrize("grammar", [REGEX, KBNF])
def test_a_cut_word_is_generated_as_one_token(grammar: wb.Grammar) -> None:
    cut = generate(MODEL, wb.compile(grammar, WORDS), "the re")
    assert next(step.token for step in cut) == b"ply"
    healed = heal(MODEL, "the re", grammar)
    assert (healed.prompt, healed.prefix) == (tuple(WORDS.ids("the", " ")), b"re")
    run = generate(MODEL, wb.compile(healed.grammar, WORDS), healed.prompt)
    assert [step.token for step in run] == [b"reply", b""]
    assert healed.text(run.trace.text) == b"ply"
    with pytest.raises(WorkbenchError, match="begins with b're'"):
        healed.text(b"ply")


@pytest.mark.parametrize("grammar", [REGEX, KBNF])
@pytest.mark.parametrize("prefix", ["x", "re(", "é'\"\\\n"])
def test_the_grammar_is_the_old_one_after_the_prefix(grammar: wb.Grammar, prefix: str) -> None:
    whole = with_prefix(grammar, prefix.encode())
    for text in ("ply", "plys", "plye", "", "pl", "(ply)", "((plys))", "ply)"):
        assert whole.accepts(prefix + text) is grammar.accepts(text), text
        assert not whole.accepts(text)


def test_a_schema_is_built_after_the_prefix_as_it_was_built_before() -> None:
    texts = {f"p{i}": {"type": "string", "maxLength": 40} for i in range(40)}
    schema = wb.Grammar.from_json_schema({"type": "object", "properties": texts})
    whole = with_prefix(schema, b" {")  # its rules written into each other pass every budget
    assert whole.notation is schema.notation
    assert [whole.accepts(text) for text in (' {{"p1": "a"}', '{"p1": "a"}')] == [True, False]


@pytest.mark.parametrize(
    ("prompt", "kept", "prefix", "because"),
    [
        ("the re", ["the", " "], b"re", "the last token"),
        ("the", ["the"], b"", "a model has to read something"),
        ("", [], b"", "the end token is all there is to read"),
    ],
)
def test_the_removed_tokens(prompt: str, kept: list[str], prefix: bytes, because: str) -> None:
    healed = heal(MODEL, prompt, REGEX)
    assert healed.prefix == prefix, because
    assert healed.prompt == (tuple(WORDS.ids(*kept)) or (WORDS.end,))
    if not prefix:
        assert healed.grammar is REGEX


def test_special_tokens_are_not_removed() -> None:
    class Chat(ToyModel):
        def encode(self, text: str) -> list[int]:
            return [*super().encode(text), 1]  # as chat templates end

    marked = Vocabulary((b"a", None, None), end=2, name="marked")
    grammar = wb.Grammar.from_regex("a+")
    healed = heal(Chat(marked), "aa", grammar)
    assert (healed.prompt, healed.prefix, healed.grammar) == ((0, 0, 1), b"", grammar)


def test_incomplete_characters_are_removed_completely() -> None:
    halves = toy(["a", b"\xc3", b"\xa9"])
    healed = heal(ToyModel(halves), "aaé", REGEX)
    assert (healed.prompt, healed.prefix) == ((0, 0), "é".encode())
