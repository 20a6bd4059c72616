from __future__ import annotations

import pytest

from lab.experiments.workloads import TASKS
from workbench.analysis.random_texts import samples
from workbench.base.errors import WorkbenchError
from workbench.base.limits import LIMITS
from workbench.constraint.compile import METHODS
from workbench.decoding.compare import compare
from workbench.decoding.contenders import STRATEGIES, all_contenders, contenders_named, program_of
from workbench.decoding.model import ToyModel
from workbench.decoding.run_summaries import RunEnded
from workbench.decoding.sampling import Sampling
from workbench.decoding.strategy import PLAIN, Speculation
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.toy_vocabularies import all_bytes, words_of

MODEL = ToyModel(words_of("ab ba ab ba"), "ab ba ab ba")
GRAMMAR = Grammar.from_regex("(ab|ba)( (ab|ba)){0,3}")


def test_the_register_is_keyed_by_name_and_whole() -> None:
    for name, contender in all_contenders().items():
        assert contender.name == name
        assert contender.title
        assert contender.source
        assert contender.strategy in STRATEGIES
        assert contender.method in METHODS
        known = {*METHODS[contender.method].options, "monitor"}  # every method takes a monitor
        assert contender.options.keys() <= known
    left_out = {
        "composed": "the masks of automaton",
        "vegas": "the masks of proper",
        "direct_merge": "small vocabularies alone",
        "xgrammar": "the masks of automaton",
        "llguidance": "the masks of automaton where the longest match loses no text",
        "greatgramma": "the masks of automaton",
        "pre3": "the masks of automaton",
        "syncode": "after a token that is allowed wrongly no text ends",
    }
    assert {c.method for c in all_contenders().values()} == METHODS.keys() - left_out.keys()


def test_error_names() -> None:
    with pytest.raises(WorkbenchError, match="there is no method 'x' to compare"):
        contenders_named("automaton,x")
    with pytest.raises(WorkbenchError, match="expected at least one method"):
        contenders_named(" , ")
    twice = [c.name for c in contenders_named("automaton, automaton,unconstrained")]
    assert twice == ["automaton", "unconstrained"]


def test_free_thoughts_come_before_the_text_of_the_grammar() -> None:
    model = ToyModel(all_bytes())
    grammar = Grammar.from_regex("[ab]{2}")
    contender = all_contenders()["thinking"]
    events = [
        *compare(model, grammar, ["a"], [contender], (1,), Sampling(temperature=1.0), max_tokens=90)
    ]
    (end,) = [event for event in events if isinstance(event, RunEnded)]
    thought, _, answer = end.trace.text.partition(b"</think>")
    assert thought.startswith(b"<think>")
    assert grammar.accepts(answer)
    assert end.measures.valid
    assert not grammar.accepts(end.trace.text)
    assert end.trace.accepted


def test_only_contenders_with_proposals_learn_before_they_run() -> None:
    learnt = all_contenders()["speculation"].prepare(MODEL, GRAMMAR).taught([""], Sampling(), 8)
    assert isinstance(learnt.strategy, Speculation)
    plain = all_contenders()["automaton"].prepare(MODEL, GRAMMAR)
    assert plain.taught([""], Sampling(), 8) is plain
    assert plain.strategy is PLAIN


def test_warm_up_runs_are_not_greedy() -> None:
    """Warm-ups are drawn: a greedy run of the same prompt would tell the very text to come."""
    prepared = all_contenders()["speculation"].prepare(MODEL, GRAMMAR)
    run = prepared.taught([""], Sampling(), 8).start("", Sampling(), max_tokens=8)
    plain = prepared.start("", Sampling(), max_tokens=8)
    assert [s.token_id for s in run] == [s.token_id for s in plain]
    drawn = prepared.taught([""], Sampling(temperature=5.0), 8).start("", Sampling(), max_tokens=8)
    assert [s.token_id for s in drawn] == run.trace.token_ids


@pytest.mark.parametrize("task", ["rpg", "gsm8k", "xml"])
def test_texts_of_a_program_are_texts_of_its_grammar(task: str) -> None:
    grammar = TASKS[task].grammar
    found = samples(program_of(grammar, LIMITS), 8, longest=200)
    assert len(found) >= 3
    for text in found:
        assert grammar.accepts(text), text


def test_a_program_is_found_whatever_the_text_ends_with() -> None:
    """An editor may drop the last line break of an example."""
    grammar = TASKS["rpg"].grammar
    edited = Grammar.from_kbnf(grammar.source.text.rstrip())
    assert program_of(edited, LIMITS).source.text == program_of(grammar, LIMITS).source.text


def test_error_a_grammar_without_a_template() -> None:
    with pytest.raises(WorkbenchError) as raised:
        all_contenders()["template"].prepare(MODEL, GRAMMAR)
    assert str(raised.value) == (
        "there is no template for this grammar\nhint: there are templates for domino_rpg,"
        " domino_gsm8k, domino_xml; template-ws takes any grammar"
    )
