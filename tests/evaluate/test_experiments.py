"""Experiments: results computed from records, whole or in part, and small units of work."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from lab.experiments import (
    accuracy,
    invasiveness,
    own_distribution,
    proper_tokens,
    throughput,
)
from lab.experiments.accuracy import TABLE_2, TABLE_4
from lab.experiments.experiment import (
    Column,
    Experiment,
    Record,
    Setting,
    Size,
    Stopped,
)
from lab.experiments.finishing import FINISHING
from lab.experiments.gallery_experiments import HOLES
from lab.experiments.greedy_answers import Asked, RememberingSession, answer, answers
from lab.experiments.koo import KOO_2, RANKING
from lab.experiments.meaning import MEANING
from lab.experiments.multiple_choice import chosen, inner_object, multiple_choice
from lab.experiments.own_distribution import OWN
from lab.experiments.proper_tokens import (
    CHALLENGE_2,
    improper_spelling,
    regex_of,
    schemas_of,
)
from lab.experiments.results_page import EXPERIMENTS
from lab.experiments.throughput import AGAIN, TABLE_3, faster, gains
from lab.experiments.workloads import TASKS, answer_of, demonstrations, questions, sampled_examples
from workbench.base.errors import WorkbenchError
from workbench.decoding.contenders import all_contenders
from workbench.decoding.exact_distribution import Distribution, ScoredModel
from workbench.decoding.measures import Measures, Surprisal
from workbench.decoding.model import Logits, StatelessSession, ToyModel
from workbench.decoding.run_summaries import Run
from workbench.grammar.gallery import load_gallery
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.toy_vocabularies import all_bytes, toy

SMALL = Size(questions=2, tokens=12, repetitions=2, timings=2)


def column(records: dict[str, Record], title: str = "toy", size: Size = SMALL) -> Column:
    return Column(title, size, records)


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda e: e.name)
def test_units_have_unique_keys_and_no_results_without_records(
    experiment: Experiment,
) -> None:
    for size in (SMALL, Size()):
        keys = [unit.key for unit in experiment.units(size)]
        assert len(set(keys)) == len(keys) > 0
    told = experiment.section([])
    assert "nan" not in told
    assert "toy" not in told, "no statement about a model that was not measured"


def test_texts_are_complete_where_they_must_finish() -> None:
    model = ToyModel(all_bytes())
    units = [
        unit for unit in FINISHING.units(SMALL) if "/date/" in unit.key or "/json/" in unit.key
    ]
    records = {unit.key: unit.work(Setting(model, SMALL, lambda: False)) for unit in units}
    found = {key.split("/")[1]: record for key, record in records.items()}
    assert found["date"]["fewest"] == 11
    assert found["json"]["fewest"] == 2
    for record in found.values():
        assert all(record["0 finishing"] + record["4 finishing"])
    assert not all(found["json"]["0 automaton"])
    told = FINISHING.section([column(records)])
    assert "| 16 |" in told
    assert "1.000" in told


def test_distances_from_the_models_own_distribution_are_measured() -> None:
    language = own_distribution._Language("letters", "a|ab|b", "")
    setting = Setting(ToyModel(toy(["a", "b", "ab", "c"])), SMALL, lambda: False)
    record = own_distribution._measured(language, (5, 200), 2, setting)
    assert record["texts"] == 3
    assert 0 < record["valid"] < 1
    far = {name: curve["points"][-1] for name, curve in record["curves"].items()}
    assert {passes for passes, _ in far.values()} == {200}
    assert far["masks"] == far["awrs"], "the same texts"
    assert far["masks"][1] == pytest.approx(record["masked"], abs=0.1)
    assert far["cars"][1] < 0.15
    named = replace(language, name="six names")
    told = OWN.section([column({own_distribution._key(named): record})])
    assert f"| six names | 3 | {record['valid']:.2g} | {record['masked']:.3f} |" in told
    assert "of 1 languages" in told
    failed = own_distribution._measured(replace(language, pattern="a*"), (5,), 1, setting)
    assert "expected a finite language" in failed["failed"]


def test_the_noise_floor_is_the_distance_of_independent_texts() -> None:
    own = Distribution({b"a": 0.5, b"b": 0.5})
    assert own_distribution._floor(own, 1) == 0.5
    assert own_distribution._floor(own, 10_000) < 0.01


def test_programs_keep_their_meaning_where_a_monitor_joins_the_mask() -> None:
    size = replace(SMALL, tokens=12, repetitions=2)
    model = ToyModel(all_bytes())
    records = {
        unit.key: unit.work(Setting(model, size, lambda: False)) for unit in MEANING.units(size)
    }
    found = {tuple(key.split("/")[1:3]): record for key, record in records.items()}
    for example, monitor in (("typed", "types"), ("domino_c", "scope")):
        assert all(found[example, monitor]["kept"])
        assert len(found[example, "automaton"]["kept"]) == 2
    told = MEANING.section([column(records, size=size)])
    row = "| toy | 2 of 12 tokens at most | 0.000 [0.00, 0.66] | 1.000 [0.34, 1.00] | 0.000 "
    assert f"| grammar and types {row}" in told
    assert "* toy, C program: meaning kept with scope (1.000) not distinguishable" in told


def test_the_ranking_is_inverted_where_tokens_may_not_cross_terminals() -> None:
    (unit,) = RANKING.units(SMALL)
    model = ScoredModel(toy("a"), {(0,): 1.0})
    record = unit.work(Setting(model, SMALL, lambda: False))
    best = {name: found["best"] for name, found in record.items() if "best" in found}
    assert best["automaton"] == best["domino"] == "foo(123)"
    assert best["lalr"] == best["domino-0"] == "bar(456)"
    alone = {text: chance for text, chance in record["alone"].items() if chance}
    assert alone == pytest.approx({"foo(123)": 0.6, "bar(456)": 0.4})
    assert record["automaton"]["drawn"]["foo(123)"] == pytest.approx(0.6)
    assert record["lalr"]["drawn"]["foo(123)"] == pytest.approx(0.4)


def answered(right: int, of: int, cut: int = 0) -> list[Record]:
    """Rows of which the first are right and the last are cut."""
    return [
        {
            "right": i < right, "valid": i < of - cut, "cut": i >= of - cut, "nats": 2.0,
            "judged": 10, "tokens": 11, "interventions": 1,
        }
        for i in range(of)
    ]  # fmt: skip


def test_answers_are_added_up_with_their_intervals() -> None:
    key = "accuracy/word_problems/0 shots/12 tokens/"
    records = {
        f"{key}0": {"unconstrained": answered(8, 10), "automaton": answered(8, 10, cut=2)},
        f"{key}5": {"unconstrained": answered(6, 10), "automaton": answered(7, 10, cut=1)},
    }
    told = TABLE_2.section([column(records), column({}, "absent")])
    row = "| exact masks | toy | 0.750 [0.53, 0.89] | 0.850 [0.64, 0.95] | 3 | 0 | 1.221 | 11 | 1.00 |"
    assert row in told
    assert "toy: 20 questions, 0 worked problems before each, at most 12 tokens" in told
    assert "exact masks (0.750) not distinguishable from unconstrained (0.700)" in told
    assert "absent" not in told


def test_accuracies_differ_only_where_intervals_are_disjoint() -> None:
    key = "accuracy/word_problems/0 shots/12 tokens/0"
    rows = {"unconstrained": answered(9, 10), "domino-0": answered(0, 10)}
    told = TABLE_4.section([column({key: rows | {"domino-1": answered(1, 10)}})])
    assert "domino-0 (0.000) lower than unconstrained (0.900)" in told
    assert "domino-1 (0.100) not distinguishable from domino-0 (0.000)" in told
    assert "exact masks (" not in told


def test_a_cut_text_is_counted_and_is_not_well_formed() -> None:
    model = ToyModel(toy(["a", "b", "ab"]), sample="ab" * 40)
    setting = Setting(model, SMALL, lambda: False)
    prompt = model.encode("ab")
    for regex, cut in (("(ab){30}", True), ("(ab){2}", False)):
        grammar = Grammar.from_regex(regex)
        prepared = all_contenders()["automaton"].prepare(model, grammar)
        told = answer(setting, prepared, grammar, prompt, model.session(), 12)
        assert (told.cut, told.valid) == (cut, not cut)


def test_the_model_alone_is_read_up_to_its_first_complete_text() -> None:
    model = ToyModel(toy(["a", "b", "c"]), sample="abcbca")
    setting = Setting(model, SMALL, lambda: False)
    grammar = Grammar.from_regex("bcb")
    prepared = all_contenders()["unconstrained"].prepare(model, grammar)
    told = answer(setting, prepared, grammar, model.encode("a"), model.session(), 12)
    assert (told.text, told.valid, told.cut) == ("bcb", True, False)


def test_answers_of_a_batch_are_those_of_single_runs() -> None:
    model = ToyModel(all_bytes(), sample='{"thoughts": [], "answer": 1}')
    setting = Setting(model, SMALL, lambda: False)
    grammar = TASKS["gsm8k"].grammar
    runs, alone = [], []
    for method in ("unconstrained", "automaton", "template-ws"):
        prepared = all_contenders()[method].prepare(model, grammar)
        for text in ("Q: one?\n", "Q: two, after a longer text?\n"):
            ids, session = model.encode(text), model.session()
            runs.append(Asked(setting, prepared, grammar, ids, 40))
            alone.append(answer(setting, prepared, grammar, ids, session, 40).as_record())
    assert [found.as_record() for found in answers(setting, runs)] == alone
    assert len({row["text"] for row in alone}) > 1


def test_a_stop_ends_a_batch_of_answers() -> None:
    model = ToyModel(toy(["a", "b"]))
    grammar = Grammar.from_regex("[ab]{40}")
    prepared = all_contenders()["automaton"].prepare(model, grammar)
    left = [8]

    def stop() -> bool:
        left[0] -= 1
        return left[0] < 0

    setting = Setting(model, SMALL, stop)
    with pytest.raises(Stopped):
        answers(setting, [Asked(setting, prepared, grammar, [0], 40) for _ in range(3)])


@pytest.mark.slow
def test_accuracy_is_measured_in_batches_of_questions() -> None:
    size = Size(questions=21, tokens=6)
    setting = Setting(ToyModel(all_bytes()), size, lambda: False)
    units = [unit for unit in TABLE_2.units(size) if "/word_problems/" in unit.key]
    assert [unit.key.rpartition("/")[2] for unit in units] == ["0-20", "20-21"]
    record = units[1].work(setting)
    assert {len(rows) for rows in record.values() if "failed" not in rows} == {1}
    again = units[1].work(setting)
    assert again == record


def test_a_remembered_context_does_not_call_the_model_again() -> None:
    model = ToyModel(toy("ab"))
    calls = []

    def logits(ids: Sequence[int]) -> Logits:
        calls.append(tuple(ids))
        return model.logits(ids)

    session = RememberingSession(StatelessSession(logits))
    first = session.score([0, 1, 0], 2)
    assert (session.score([0, 1, 0], 2) == first).all()
    assert (session.logits([0, 1]) == first[0]).all()
    assert calls == [(0, 1), (0, 1, 0)]
    session.forget()
    session.logits([0, 1])
    assert len(calls) == 3


def test_only_ratios_beyond_the_noise_are_gains() -> None:
    def one(low: float, high: float) -> Record:
        return {"relative": (low + high) / 2, "low": low, "high": high, "passes_per_token": 0.5}

    record = {
        "unconstrained": one(1.0, 1.0),
        "speculation": one(1.5, 2.5),
        "skipping": one(1.05, 1.2),
        "draft": {"failed": "why"},
        AGAIN: one(0.9, 1.1),
    }
    assert gains(record) == ["speculation"]
    told = TABLE_3.section([column({"throughput/rpg/2/12 tokens": record})])
    assert "fixed template: speculation." in told
    assert "| unconstrained again | 1.00× [0.90, 1.10] |" in told


def test_an_improper_spelling_has_the_same_text() -> None:
    vocabulary = toy(["a", "b", "c", "ab", "abc", "bc"])
    proper = [4, 3, 0]
    text = vocabulary.decode(proper)
    for share in (0.5, 1.0, None):
        found = improper_spelling(vocabulary, proper, share, Random(1))
        assert vocabulary.decode(found) == text
    assert len(improper_spelling(vocabulary, proper, 1.0, Random(1))) == 5
    assert improper_spelling(vocabulary, proper, None, Random(1)) == [0, 1, 2, 0, 1, 0]
    assert improper_spelling(vocabulary, proper, 0.0, Random(1)) == proper


def test_a_text_is_more_surprising_if_its_spellings_are_in_the_mean() -> None:
    rows = [
        {
            "proper": 2.0,
            "10 %": [1.0, 2.0, 16.0],
            "50 %": [2.0],
            "100 %": [3.0],
            "single bytes": [4.0],
        },
        {
            "proper": 2.0,
            "10 %": [1.0, 2.0, 3.0],
            "50 %": [4.0],
            "100 %": [3.0],
            "single bytes": [4.0],
        },
    ]
    told = CHALLENGE_2.section([column({"challenge 2/0": {"rows": rows}})])
    assert "| tokens split | perplexity, toy | ratio | raised, of 2 texts |" in told
    assert "| 10 % | 2.402 | 1.201 | 0.500 [0.09, 0.91] |" in told
    assert "is 1.50 times as surprising in perplexity, higher in 2 of 2 texts." in told


def test_the_texts_of_templates_are_one_batch() -> None:
    model = ToyModel(all_bytes(), sample='{"thoughts": [], "answer": 1}' * 9)
    task = replace(TASKS["word_problems"], prompts=("a", "b"))
    record = invasiveness._measured_naturalness(task, Setting(model, SMALL, lambda: False))
    exact = record["automaton"]
    assert [text.encode() for text in exact["texts"]] == [
        answer(
            Setting(model, SMALL, lambda: False),
            all_contenders()["automaton"].prepare(model, task.grammar),
            task.grammar,
            model.encode(prompt),
            model.session(),
            invasiveness._MAX_TOKENS,
        ).text.encode()
        for prompt in task.prompts
    ]
    assert exact["naturalised"] == pytest.approx(exact["perplexity"]), "every token is one byte"


def test_a_smaller_budget_of_tokens_is_another_unit() -> None:
    keys = {
        experiment.name: [u.key for size in (Size(), SMALL) for u in experiment.units(size)]
        for experiment in (TABLE_3, throughput.FIGURE_5, throughput.JOINT)
    }
    assert "throughput/json/30" in keys["domino-3"]
    assert "throughput/json/2/12 tokens" in keys["domino-3"]
    told = TABLE_3.section([column({}, size=replace(SMALL, tokens=64))])
    assert "**toy**, 2 repetitions of at most 64 tokens" in told
    assert "**toy**, 2 repetitions of at most 128 tokens" in TABLE_3.section(
        [column({}, size=replace(SMALL, tokens=256))]
    )


def test_multiple_choice_questions_have_every_letter_equally_often() -> None:
    found = multiple_choice()
    assert len({one.prompt for one in found}) == len(found) == 80
    assert [sum(one.right == letter for one in found) for letter in "ABCD"] == [20] * 4
    assert "A. Mercury\nB. Venus\n" in found[0].prompt
    assert "\nB. Au\n" in found[1].prompt


def test_answers_inside_a_fence_are_found() -> None:
    text = '```json\n{"Final Answer": "B", "Solution": "it is {so}"}\n```'
    assert chosen(inner_object(text)) == "B"
    assert (chosen(text), inner_object("none")) == (None, "")


def test_schemas_become_regexes_where_their_language_is_one(tmp_path: Path) -> None:
    closed = {"enum": ["a", "b"]}
    file = tmp_path / "schemas.jsonl"
    file.write_text("".join(json.dumps({"schema": s}) + "\n" for s in (closed, {})))
    fixed, free = map(regex_of, schemas_of(str(file)))
    assert fixed is not None
    assert Grammar.from_regex(fixed).accepts('"b"')
    assert free is None, "any JSON value is no regular language"
    with pytest.raises(WorkbenchError, match="cannot read schemas"):
        schemas_of(str(tmp_path / "missing"))


def test_compilations_are_reported_above_the_baseline() -> None:
    def method(ms: float) -> Record:
        cases = ("choice", "datetime", "ip", "quoted", "json_schema_re")
        one = {"compile_ms": [ms + 1, ms + 3], "step_us": [1.0, 3.0]}
        return {"baseline": {"compile_ms": [1.0, 1.0]}, **dict.fromkeys(cases, one)}

    below = {"compile_ms": [0.0, 1.0], "step_us": [1.0, 3.0]}
    record = {
        "vocabulary": "toy", "tokens": 6, "automaton": method(1), "composed": method(2),
        "domino": method(3), "outlines": method(99),
    }  # fmt: skip
    told = KOO_2.section([column({"koo 2/own vocabulary/2": record})])
    assert "| multiple choice | 100 ± 1.41 | 2 ± 1.41 | 3 ± 1.41 | 4 ± 1.41 | 50.0× |" in told
    assert "toy: masks on demand are there 50 to 50 times sooner than with the index." in told
    told = KOO_2.section([column({"": record | {"outlines": method(1) | {"choice": below}}})])
    assert "| multiple choice | -0.5 ± 0.707 | 2 ± 1.41 | 3 ± 1.41 | 4 ± 1.41 | – |" in told
    assert "1 to 1 times sooner" in told, "a time below the baseline has no ratio"


def test_speed_is_of_processor_time() -> None:
    def run(tokens: int, seconds: float, cpu: float) -> Measures:
        return Measures(
            text="", valid=True, ended=True, stop="", tokens=tokens, free_tokens=tokens,
            forced_tokens=0, free=Surprisal(), forced=Surprisal(), interventions=0, kept=(),
            mask_bits=0.0, forward_passes=tokens, compile_ms=0.0, seconds=seconds,
            cpu_seconds=cpu, proper=None,
        )  # fmt: skip

    assert faster(run(20, 9.0, 1.0), run(10, 1.0, 1.0)) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ('{"thoughts": [], "answer": 7}', 7.0),
        ('{"answer": -0.5}', -0.5),
        ('{"answer": "7"}', None),
        ('{"answer": 7', None),
        ('{"thoughts": []}', None),
        ("[7]", None),
        ("", None),
    ],
)
def test_answers_are_extracted_from_texts(text: str, answer: float | None) -> None:
    assert answer_of(text) == answer


@pytest.mark.parametrize("name", ["gsm8k", "word_problems"])
def test_questions_are_the_same_each_time_and_their_answers_numbers(name: str) -> None:
    found = questions(name, 12)
    assert len({question.prompt for question in found}) == 12
    assert found[:5] == questions(name, 5)
    assert all(question.prompt.endswith("A: (Response in JSON)\n") for question in found)


def test_worked_problems_stand_before_a_question() -> None:
    for name in ("gsm8k", "word_problems"):
        shown = demonstrations(name, 2)
        assert shown.count("A: (Response in JSON)\n{") == 2
        assert shown.endswith("}\n\n")
        assert not any(question.prompt in shown for question in questions(name, 100))


def test_questions_come_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "test.jsonl"
    rows = [{"question": "1+1?", "answer": 2}, {"question": "Much?", "answer": "so\n#### 1,200"}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = questions("gsm8k", 9, str(file))
    assert [question.answer for question in found] == [2.0, 1200.0]
    assert found[0].prompt == "Q: 1+1?\nA: (Response in JSON)\n"
    file.write_text("{}")
    with pytest.raises(WorkbenchError, match="cannot read GSM8K's questions"):
        questions("gsm8k", 9, str(file))


def test_prompts_of_tasks_belong_to_existing_grammars() -> None:
    for name, task in TASKS.items():
        assert task.name == name
        assert len(task.prompts) >= 5
        assert task.grammar.source.text


def test_runs_are_values() -> None:
    one = Run(all_contenders()["automaton"], "p", 1)
    assert (
        one
        == Run(all_contenders()["automaton"], "p", 1)
        != Run(all_contenders()["automaton"], "p", 2)
    )


def test_every_contender_that_experiments_name_is_known() -> None:
    """Experiments name contenders as text: a renamed one would silently fall out of a table."""
    named = {
        *accuracy._METHODS,
        *invasiveness._FIGURE_1,
        *throughput._TABLE_3,
        *throughput._ACCELERATED,
        *throughput._BASES,
        *invasiveness.METHODS,
        *(name for name in invasiveness._METHODS if name != invasiveness._NATURAL),
        *proper_tokens._METHODS,
    }
    assert named <= all_contenders().keys()


def test_without_a_valid_text_of_the_model_no_method_is_called_minimally_invasive() -> None:
    row = {"outputs": 30, "valid": 0, "kept": 0, "example": None, "forbids": False}
    key = invasiveness._invasion_key(TASKS["json"])
    rows = dict.fromkeys(invasiveness.METHODS, row | {"complete": False})
    told = invasiveness.INVADING.section([column({key: rows})])
    assert "| automaton | 0 of 0 |" in told
    assert "toy: the model alone wrote no valid text (tasks: JSON), so nothing was tried." in told
    assert "in no run" not in told
    told = invasiveness.INVADING.section(
        [column({key: rows | {"domino": rows["domino"] | {"valid": 1}}})]
    )
    assert "toy: broken by none; by automaton, domino" in told


def test_holes_are_filled_where_the_text_must_finish() -> None:
    model = ToyModel(all_bytes())
    units = [unit for unit in HOLES.units(SMALL) if "/date/" in unit.key or "/json/" in unit.key]
    records = {unit.key: unit.work(Setting(model, SMALL, lambda: False)) for unit in units}
    for record in records.values():
        assert all(record["the same, must finish"])
        assert not any(record["no mask"]), "random bytes"
    told = HOLES.section([column(records)])
    assert "| no mask | 0.000 [0.00, 0.49] |" in told
    assert "\n\ntoy: 2 examples, 2 texts of each in a cell." in told
    short = {
        f"holes/{name}/2 runs": {"failed": "its texts are too short"} for name in ("one", "two")
    }
    told = HOLES.section([column(records), column(short, "other")])
    assert "| no mask | 0.000 [0.00, 0.49] | – |" in told
    assert "\n* other: its texts are too short (one, two)." in told


def test_an_experiment_that_is_stopped_has_a_sample_of_the_gallery() -> None:
    names = sampled_examples()
    assert names == sampled_examples()
    assert sorted(names) == sorted(load_gallery()) != names
    for experiment in (FINISHING, HOLES):
        assert [unit.key.split("/")[1] for unit in experiment.units(SMALL)] == names
