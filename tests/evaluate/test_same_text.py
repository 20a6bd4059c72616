"""Methods that allow the same tokens write the same text at equal seeds."""

from __future__ import annotations

import pytest

from lab.experiments.workloads import TASKS
from workbench.decoding.compare import compare
from workbench.decoding.contenders import contenders_named
from workbench.decoding.run_summaries import RunEnded
from workbench.decoding.sampling import Sampling
from workbench.decoding.transformers_model import load_model

#: All of them have the exact mask.
EXACT = "automaton,domino,skipping,opportunistic,domino-opportunistic,speculation,online-trie"


@pytest.mark.slow
@pytest.mark.parametrize("task", ["json", "gsm8k", "xml", "c"])
def test_automaton_and_domino_without_end_write_the_same_text(task: str) -> None:
    found: dict[tuple[str, int], dict[str, list[int]]] = {}
    for temperature in (0.0, 1.0):
        events = compare(
            load_model(),
            TASKS[task].grammar,
            TASKS[task].prompts[:1],
            contenders_named("automaton,domino"),
            [1],
            Sampling(temperature=temperature),
            max_tokens=32,
        )
        for event in events:
            if isinstance(event, RunEnded):
                key = (event.run.prompt, event.run.seed * 10 + int(temperature))
                own = found.setdefault(key, {})
                own[event.run.contender.name] = event.trace.token_ids
    assert len(found) == 2
    for own in found.values():
        assert own["automaton"] == own["domino"]
        assert len(own["automaton"]) > 10


@pytest.mark.exhaustive
@pytest.mark.parametrize("task", ["json", "gsm8k", "xml", "rpg"])
def test_every_strategy_over_the_exact_mask_writes_the_same_text(task: str) -> None:
    found: dict[tuple[str, int], dict[str, list[int]]] = {}
    for event in compare(
        load_model(),
        TASKS[task].grammar,
        TASKS[task].prompts[:1],
        contenders_named(EXACT),
        range(2),
        Sampling(temperature=1.0),
        max_tokens=48,
    ):
        if isinstance(event, RunEnded):
            own = found.setdefault((event.run.prompt, event.run.seed), {})
            own[event.run.contender.name] = event.trace.token_ids
    for own in found.values():
        assert len(own) == len(EXACT.split(","))
        assert len({tuple(ids) for ids in own.values()}) == 1, own
