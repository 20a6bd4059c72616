"""Experiments: results computed from records, whole or in part, and small units of work."""

from __future__ import annotations

import pytest

from workbench.decoding.compare import Run
from workbench.decoding.contenders import all_contenders
from workbench.decoding.exact_distribution import ScoredModel
from workbench.decoding.measures import Measures, Surprisal
from workbench.lab.experiments import accuracy, invasiveness, proper_tokens, throughput
from workbench.lab.experiments.accuracy import TABLE_2, TABLE_4
from workbench.lab.experiments.experiment import FULL, QUICK, Experiment, Record, Setting
from workbench.lab.experiments.koo import RANKING
from workbench.lab.experiments.results_page import EXPERIMENTS
from workbench.lab.experiments.tasks import TASKS, answer_of, questions
from workbench.lab.experiments.throughput import TABLE_3, best_of, faster
from workbench.vocabulary.toy import toy


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda e: e.name)
def test_units_have_unique_keys_and_no_results_without_records(
    experiment: Experiment,
) -> None:
    for size in (QUICK, FULL):
        keys = [unit.key for unit in experiment.units(size)]
        assert len(set(keys)) == len(keys) > 0
    told = experiment.section({})
    assert "nan" not in told
    assert "gree" not in told.partition("DOMINO")[2], "no verdict on nothing"


def test_the_ranking_is_inverted_where_tokens_may_not_cross_terminals() -> None:
    (unit,) = RANKING.units(QUICK)
    model = ScoredModel(toy("a"), {(0,): 1.0})
    record = unit.work(Setting(model, QUICK, lambda: False))
    best = {name: found["best"] for name, found in record.items() if "best" in found}
    assert best["automaton"] == best["domino"] == "foo(123)"
    assert best["lalr"] == best["domino-0"] == "bar(456)"
    alone = {text: chance for text, chance in record["alone"].items() if chance}
    assert alone == pytest.approx({"foo(123)": 0.6, "bar(456)": 0.4})
    assert record["automaton"]["drawn"]["foo(123)"] == pytest.approx(0.6)
    assert record["lalr"]["drawn"]["foo(123)"] == pytest.approx(0.4)


def unit_of(right: int, ratios: list[float]) -> Record:
    return {
        "questions": 10, "right": right, "valid": 9, "nats": 20.0, "judged": 100,
        "tokens": 110, "interventions": 5, "ratios": ratios,
    }  # fmt: skip


def test_blocks_of_questions_are_added_up() -> None:
    records = {
        "accuracy/word_problems/0": {
            "unconstrained": unit_of(8, [1.0]),
            "domino": unit_of(8, [2.0]),
            "domino-0": unit_of(1, [1.0]),
        },
        "accuracy/word_problems/10": {
            "unconstrained": unit_of(6, [1.0]),
            "domino": unit_of(7, [2.0]),
            "domino-0": unit_of(3, [1.0]),
        },
    }
    told = TABLE_4.section(records)
    assert "| domino | 0.750 | 0.900 | 1.221 | 2.00× | 11.0 | 0.50 |" in told
    assert "Agrees with the paper: without bridge tokens accuracy falls to 0.200 to 0.200" in told
    assert "cost no accuracy (0.700 alone, 0.750 with DOMINO): agrees" in TABLE_2.section(records)


def test_disagreements_are_reported() -> None:
    records = {
        "accuracy/word_problems/0": {
            "unconstrained": unit_of(8, [1.0]),
            "domino": unit_of(2, [2.0]),
            "domino-0": unit_of(9, [1.0]),
        }
    }
    assert "Does not agree with the paper" in TABLE_4.section(records)
    assert "does not agree with the paper" in TABLE_2.section(records)


def test_targets_are_reached_or_not() -> None:
    def one(ratio: float) -> Record:
        return {"relative": ratio, "low": ratio, "high": ratio, "passes_per_token": 0.5}

    records = {
        "throughput/rpg": {"unconstrained": one(1.0), "speculation": one(2.0), "template": one(9)},
        "throughput/json": {"skipping": one(0.9), "opportunistic": {"failed": "why"}},
    }
    assert best_of(records["throughput/rpg"]) == ("speculation", 2.0), "templates do not count"
    assert best_of({}) is None
    told = TABLE_3.section(records)
    assert "| fixed template | ≥ 1.8× | 1.30× (s = 10) | 2.00× | speculation | met |" in told
    assert "| 0.90× | skipping | not met (90%) |" in told


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
        *throughput._TABLE_3,
        *throughput._ACCELERATED,
        *throughput._BASES,
        *invasiveness.METHODS,
        *invasiveness._METHODS,
        *proper_tokens._METHODS,
    }
    assert named <= all_contenders().keys()
