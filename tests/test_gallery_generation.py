"""The embedded model generates an accepted text for every grammar of the gallery, in time."""

from __future__ import annotations

import pytest

from workbench.base.limits import Limits
from workbench.constraint.compile import compile as compile_grammar
from workbench.decoding.generate import Generation, generate, generate_batch
from workbench.decoding.sampling import Sampling
from workbench.decoding.transformers_model import TransformersModel, load_model
from workbench.grammar.gallery import Example, load_gallery
from workbench.grammar.grammar import Grammar
from workbench.grammar.monitors.monitor import monitor_named

EXAMPLES = list(load_gallery().values())
SAMPLINGS = {"greedy": Sampling(temperature=0.0), "sampled": Sampling(temperature=0.7, seed=1)}


@pytest.fixture(scope="module")
def model() -> TransformersModel:
    return load_model("builtin")


@pytest.mark.exhaustive
@pytest.mark.parametrize("sampling", SAMPLINGS.values(), ids=list(SAMPLINGS))
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_ends_accepted_within_its_budget(
    example: Example, sampling: Sampling, model: TransformersModel
) -> None:
    grammar = Grammar.from_text(example.text, example.notation, example.start)
    constraint = compile_grammar(grammar, model.vocabulary)
    generation = generate(
        model, constraint, example.prompt, sampling, max_tokens=example.max_tokens
    )
    for _ in generation:
        pass
    trace = generation.trace
    assert trace.accepted, trace.text
    assert grammar.accepts(trace.text)
    assert trace.stop is not None
    assert trace.stop.value in ("accepted", "forced end"), trace.text


@pytest.mark.exhaustive
@pytest.mark.parametrize("sampling", SAMPLINGS.values(), ids=list(SAMPLINGS))
@pytest.mark.parametrize(
    "example", [one for one in EXAMPLES if one.monitor], ids=lambda example: example.name
)
def test_a_monitor_changes_a_text_without_meaning(
    example: Example, sampling: Sampling, model: TransformersModel
) -> None:
    grammar = Grammar.from_text(example.text, example.notation, example.start)
    limits = Limits(seconds=60)
    why = monitor_named(example.monitor, grammar, limits).why
    whole = []
    for monitor in (None, example.monitor):
        constraint = compile_grammar(grammar, model.vocabulary, monitor=monitor, limits=limits)
        generation = generate(
            model, constraint, example.prompt, sampling, max_tokens=example.max_tokens
        )
        for _ in generation:
            pass
        text = generation.trace.text
        assert generation.trace.accepted, text
        assert grammar.accepts(text)
        whole.append(not why(b"", text) and not why(text, None))
    assert whole == [False, True]


@pytest.mark.exhaustive
def test_runs_at_the_same_time_take_the_same_tokens(model: TransformersModel) -> None:
    def begun() -> list[Generation]:
        return [
            generate(
                model,
                compile_grammar(
                    Grammar.from_text(example.text, example.notation, example.start),
                    model.vocabulary,
                ),
                example.prompt,
                max_tokens=min(40, example.max_tokens),
            )
            for example in EXAMPLES
        ]

    alone, together = begun(), begun()
    for generation in alone:
        list(generation)
    list(generate_batch(together, at_once=16))
    for example, one, other in zip(EXAMPLES, alone, together, strict=True):
        assert one.trace.token_ids == other.trace.token_ids, example.name
        assert one.stop is other.stop, example.name
