from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from workbench.app.pipeline import Pipeline, _Slot, compile_text, held_bytes
from workbench.base.diagnostics import Problem
from workbench.base.errors import EndedError, LimitError, SourceError, WorkbenchError
from workbench.base.limits import Limits, time_budget
from workbench.base.source import Source, Span
from workbench.base.visible_text import count_of
from workbench.drawing.drawable import Machine, draw
from workbench.grammar.gallery import load_gallery
from workbench.grammar.notations import Notation
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.vocabulary import Vocabulary

KOO = Vocabulary((b"f", b"oo", b"foo", b"for", b"food", b"<end>"), end=5)


def test_a_regex_all_the_way() -> None:
    compiled = compile_text("f(oo)*", Notation.REGEX, vocabulary=KOO)
    assert compiled.problems == ()
    assert [phase.name for phase in compiled.phases] == ["read", "NFA", "minimal DFA", "tokens"]
    assert compiled.milliseconds > 0
    constraint = compiled.constraint(KOO)
    assert {KOO.tokens[i] for i in constraint.mask(constraint.initial)} >= {b"f", b"foo"}


#   notation, text, the steps it takes
PHASES = [
    (Notation.REGEX, "[a-f]{3}", ["read", "NFA", "minimal DFA"]),
    (Notation.REGEX, "(a|b)*a(a|b){30}", ["read", "NFA", "first states", "all states"]),
    (Notation.KBNF, "start ::= 'a' start? 'b';", ["read", "rules", "automata"]),
    (Notation.REGEX, "[", ["read"]),
]


@pytest.mark.slow
@pytest.mark.parametrize(("notation", "text", "names"), PHASES, ids=[text for _, text, _ in PHASES])
def test_every_step_is_timed(notation: Notation, text: str, names: list[str]) -> None:
    compiled = compile_text(text, notation, limits=Limits(seconds=1.0))
    assert compiled.facts is compiled.facts
    assert [phase.name for phase in compiled.phases] == names
    assert all(phase.milliseconds > 0 for phase in compiled.phases)


def test_the_first_mask_is_timed_once() -> None:
    compiled = compile_text("f(oo)*", Notation.REGEX)
    phases = compiled.first_mask(KOO)
    assert [phase.name for phase in phases] == ["tokens", "first mask"]
    assert compiled.first_mask(KOO) is phases
    with pytest.raises(WorkbenchError, match="spelled"):
        compile_text("x+", Notation.REGEX).first_mask(KOO)


def test_all_advice_is_looked_for_once() -> None:
    compiled = compile_text("start ::= a | a; a ::= 'f'+;", Notation.KBNF)
    assert [one.kind for one in compiled.linted(KOO).advice] == [
        "ambiguous",
        "duplicate_alternative",
    ]
    assert compiled.linted(KOO) is compiled.linted(KOO)


def test_what_is_made_is_made_once() -> None:
    compiled = compile_text("f(oo)*", Notation.REGEX)
    assert compiled.constraint(KOO) is compiled.constraint(KOO)
    graph = compiled.graph(Machine.TOKENS, KOO)
    assert compiled.graph(Machine.TOKENS, KOO) is graph
    other = Vocabulary((b"f", b"o", None), end=2)
    assert compiled.graph(Machine.TOKENS, other) is not graph


def test_the_tokenizers_own_spellings_are_a_machine() -> None:
    vocabulary = Vocabulary([b"a", b"b", b"ab"], merges=[(b"a", b"b")])
    graph = compile_text("(ab)+", Notation.REGEX).graph(Machine.PROPER, vocabulary)
    assert [edge.labels for edge in graph.edges] == [("ab",), ("ab",)]


@pytest.mark.parametrize("first", ["constraint", "picture"])
def test_a_method_and_a_machine_may_have_one_name(first: str) -> None:
    vocabulary = Vocabulary([b"a", b"b", b"ab"], merges=[(b"a", b"b")])
    compiled = compile_text("(ab)+", Notation.REGEX)

    def allowed() -> int:
        constraint = compiled.constraint(vocabulary, "proper")
        return len(constraint.mask(constraint.initial))

    def drawn() -> int:
        return len(compiled.drawn(Machine.PROPER, vocabulary).graph.edges)

    asked = {"constraint": allowed, "picture": drawn}
    told = {name: asked[name]() for name in sorted(asked, key=lambda name: name != first)}
    assert told == {"constraint": 1, "picture": 2}


def test_error_a_vocabulary_that_cannot_spell_it_is_a_problem() -> None:
    compiled = compile_text("x+", Notation.REGEX, vocabulary=KOO)
    assert compiled.grammar is not None
    (problem,) = compiled.problems
    assert "spelled" in problem.message
    assert problem.span is None


@pytest.mark.parametrize(
    ("text", "notation", "facts"),
    [
        ("[0-9]+", Notation.REGEX, ("regular", "2 states")),
        ("start ::= 'a' b; b ::= 'c'?;", Notation.KBNF, ("2 rules", "regular", "3 states")),
        ("start ::= 'a' start? 'b';", Notation.KBNF, ("1 rule", "context-free")),
        ("[", Notation.REGEX, ()),
    ],
)
def test_a_compiled_grammar_has_these_facts(
    text: str, notation: Notation, facts: tuple[str, ...]
) -> None:
    assert compile_text(text, notation).facts[: len(facts) or None] == facts


@pytest.mark.parametrize(
    "name", [name for name in load_gallery() if name not in {"even_a", "ends_in_ab"}]
)
def test_the_number_of_states_is_that_of_the_pictures(name: str) -> None:
    """A reader who counts the circles comes to the number over the editor."""
    example = load_gallery()[name]
    compiled = compile_text(example.text, example.notation, example.start or "start")
    drawn = Machine.STACK if compiled.missing(Machine.CHARACTERS) else Machine.CHARACTERS
    assert compiled.facts[-1] == count_of(compiled.drawn(drawn).parts.states, "state")


def test_error_a_budget_is_a_problem_without_a_place() -> None:
    compiled = compile_text("(ab){200}", Notation.REGEX, limits=Limits(unrolled=100))
    (problem,) = compiled.problems
    assert problem.span is None
    assert "100 states" in problem.message


def test_error_a_machine_there_is_not() -> None:
    compiled = compile_text("start ::= 'a' start? 'b';", Notation.KBNF)
    with pytest.raises(WorkbenchError, match="stack"):
        compiled.graph(Machine.CHARACTERS, KOO)
    with pytest.raises(WorkbenchError, match="cannot be read"):
        compile_text("[", Notation.REGEX).graph(Machine.CHARACTERS, KOO)


def test_a_problem_has_the_place_of_its_error() -> None:
    error = SourceError("wrong", Source("ab\ncd", "grammar"), Span(4, 5), "mend it")
    assert Problem.of(error) == Problem("wrong", "mend it", Span(4, 5), (2, 2), kind="syntax")
    assert Problem.of(LimitError("much", "states")).position is None


def test_advice_is_no_problem() -> None:
    compiled = compile_text("start ::= 'a' ws;\nws ::= ' '*;", Notation.KBNF)
    assert compiled.problems == ()
    (advice,) = compiled.advice
    assert advice.severity == "warning"
    assert (advice.position, advice.span) == ((2, 8), Span(25, 29))
    assert advice.fix == "#' {0,8}'"
    assert compiled.advice is compiled.advice
    (advice,) = compile_text("ab [0-9]*", Notation.REGEX).advice
    assert advice.message == "this repetition of digits has no end: a model may never leave it"
    assert compile_text("[0-9]*[", Notation.REGEX).advice == ()


def test_the_last_texts_are_remembered() -> None:
    pipeline = Pipeline(cached=2)
    first = pipeline.compile("a", Notation.REGEX)
    second = pipeline.compile("b", Notation.REGEX)
    assert pipeline.compile("a", Notation.REGEX) is first
    pipeline.compile("c", Notation.REGEX)  # b is forgotten, a was asked for since
    pipeline.weigh()
    assert pipeline.compile("a", Notation.REGEX) is first
    assert pipeline.compile("b", Notation.REGEX) is not second
    assert pipeline.compile("a", Notation.KBNF) is not first


#: A text of about 50 kB: the sets of its lazy automaton.
LAZY = "(a|b)*a(a|b){%d}"


def test_remembered_texts_are_bounded_by_their_bytes() -> None:
    size = held_bytes(compile_text(LAZY % 40, Notation.REGEX))
    pipeline = Pipeline(megabytes=1)
    for count in range(40, 65):
        pipeline.compile(LAZY % count, Notation.REGEX)
        pipeline.weigh()
    assert 25 * size > 1_000_000
    assert 0.5e6 < pipeline.nbytes <= 1e6
    latest = pipeline.compile(LAZY % 64, Notation.REGEX)
    assert pipeline.compile(LAZY % 64, Notation.REGEX) is latest


def test_a_large_text_is_dropped_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    size = held_bytes(compile_text(LAZY % 40, Notation.REGEX))
    monkeypatch.setattr("workbench.app.pipeline._BYTE_SECONDS", 0.3 * size)
    monkeypatch.setattr("workbench.app.pipeline._LEAST_SECONDS", 0.0)
    monkeypatch.setattr("workbench.app.pipeline._WEIGHING_SECONDS", 0.01)
    pipeline = Pipeline()
    large, small = (
        pipeline.compile(LAZY % 40, Notation.REGEX),
        pipeline.compile("a", Notation.REGEX),
    )
    while pipeline.nbytes < size / 2:
        time.sleep(0.01)
    while pipeline.nbytes > size / 2:  # nothing is requested meanwhile
        time.sleep(0.01)
    assert pipeline.compile("a", Notation.REGEX) is small
    assert pipeline.compile(LAZY % 40, Notation.REGEX) is not large


def test_rules_are_the_stack_machine_without_what_calls_push() -> None:
    example = load_gallery()["json"]
    compiled = compile_text(example.text, example.notation)
    grammar = compiled.readable()
    stack, rules = (compiled.drawn(machine) for machine in (Machine.STACK, Machine.RULES))
    alone = draw(grammar, Machine.RULES)
    assert rules.graph.nodes == alone.graph.nodes != stack.graph.nodes
    assert rules.graph.edges == alone.graph.edges
    assert (rules.names, rules.numbers) == (alone.names, alone.numbers)


def test_the_default_is_a_quarter_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    for total, expected in ((8_000_000_000, 2_000_000_000), (None, 1_000_000_000)):
        monkeypatch.setattr("workbench.app.pipeline.total_memory", lambda total=total: total)
        assert Pipeline()._max_bytes == expected


def test_what_is_computed_later_is_weighed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A while after a request for a cached text, without another request."""
    monkeypatch.setattr("workbench.app.pipeline._WEIGHING_SECONDS", 0.01)
    pipeline = Pipeline(megabytes=1)
    first = pipeline.compile("[a-z]{1,200}", Notation.REGEX)
    while not pipeline.nbytes:
        time.sleep(0.01)
    before = pipeline.nbytes
    _ = first.graph(Machine.CHARACTERS)
    assert pipeline.compile("[a-z]{1,200}", Notation.REGEX) is first
    while pipeline.nbytes == before:
        time.sleep(0.01)
    assert pipeline.nbytes > before + 100_000
    pipeline.compile("a", Notation.REGEX)
    first._slots["large"] = _Slot(result=np.zeros(200_000))
    assert pipeline.compile("[a-z]{1,200}", Notation.REGEX) is first
    while pipeline.nbytes:
        time.sleep(0.01)
    assert pipeline.compile("[a-z]{1,200}", Notation.REGEX) is not first


def test_an_array_is_weighed_once_and_vocabularies_are_not() -> None:
    array = np.zeros(100_000, np.uint8)
    assert 100_000 <= held_bytes([array, array[5:], {"view": array[:7]}]) < 102_000

    def closure() -> np.ndarray:
        return array

    assert held_bytes(closure) >= 100_000
    vocabulary = Vocabulary([b"%d" % i for i in range(10_000)])
    assert held_bytes([vocabulary, vocabulary.trie.records]) < 1_000


def test_kernels_and_merges_are_not_weighed() -> None:
    compiled = compile_text("f(oo)*", Notation.REGEX)
    constraint = compiled.constraint(KOO)
    assert len(constraint.mask(constraint.initial))
    assert held_bytes(compiled) < 200_000
    vocabulary = Vocabulary([b"a", b"b", b"ab"], merges=[(b"a", b"b")])
    assert held_bytes([Bpe.of(vocabulary)]) < 1_000


def test_a_vocabulary_is_used_while_it_is_weighed() -> None:
    vocabulary = Vocabulary([b"a"])
    stop = threading.Event()

    def fill() -> None:
        names = vars(vocabulary.trie)
        while not stop.is_set():
            for number in range(50):
                names[f"table {number}"] = number
            for number in range(50):
                del names[f"table {number}"]

    filling = threading.Thread(target=fill)
    filling.start()
    try:
        for _ in range(2_000):
            held_bytes([vocabulary])
    finally:
        stop.set()
        filling.join()


def test_what_a_failed_limit_leaves_behind_is_dropped() -> None:
    text = "start ::= 'a' start? 'b' | #'[a-z]{1,300}' start?;"
    compiled = compile_text(text, Notation.KBNF)
    grammar = compiled.readable()
    stored = grammar.stored()

    def too_large() -> None:
        _ = grammar.rules.calling
        grammar.derived["large"] = np.zeros(100_000)
        raise LimitError("needs more states", "states")

    before = held_bytes(compiled)
    for _ in range(2):
        with pytest.raises(LimitError, match="states"):
            compiled._once("a key", too_large)
    assert grammar.stored() - stored <= {"derived"}
    assert held_bytes(compiled) < before + 10_000


def test_a_cached_error_holds_no_variables() -> None:
    grammar = compile_text(LAZY % 30, Notation.REGEX, limits=Limits(seconds=0.05)).readable()
    for _ in range(2):
        with pytest.raises(LimitError) as caught:
            _ = grammar.machine
    assert isinstance(grammar._whole, LimitError)
    assert grammar._whole.__traceback__ is None
    assert caught.value is not grammar._whole


def test_a_text_requested_by_several_is_compiled_once() -> None:
    pipeline = Pipeline()
    together = threading.Barrier(6)
    found = []

    def ask() -> None:
        together.wait()
        found.append(pipeline.compile(LAZY % 40, Notation.REGEX))

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    assert len(set(map(id, found))) == 1


def test_many_ask_at_once() -> None:
    pipeline = Pipeline()
    made = []

    def ask(number: int) -> None:
        made.append(pipeline.compile(f"a{{{number % 3 + 1}}}", Notation.REGEX).facts)

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 12
    assert set(made) == {("regular", f"{n} states") for n in (2, 3, 4)}


def test_a_text_whose_request_was_ended_is_compiled_for_the_next_one() -> None:
    """A visitor who leaves must not leave an error for all who send the same text."""
    pipeline, text = Pipeline(), "start ::= '(' start ')' | #'[a-z]{1,30}';"
    with time_budget(60) as deadline:
        deadline.end()
        with pytest.raises(EndedError):
            pipeline.compile(text, Notation.KBNF)
    compiled = pipeline.compile(text, Notation.KBNF)
    assert not compiled.problems
    with time_budget(60) as deadline:
        deadline.end()
        with pytest.raises(EndedError):
            _ = compiled.facts
    assert compiled.facts == ("1 rule", "context-free", "33 states")
