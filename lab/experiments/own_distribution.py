"""How close strategies come to the model's own distribution, by the forward passes they spend.

All tokenizations of a finite language are scored by the model once; texts are then drawn from this
tree, and the passes that they would cost are counted (``distance_curves``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

import numpy as np

from lab.experiments.experiment import (
    LIMITS,
    Column,
    Experiment,
    Record,
    Setting,
    Unit,
    check_running,
)
from workbench.base.errors import WorkbenchError
from workbench.base.text_tables import format_table
from workbench.constraint.compile import compile as compile_grammar
from workbench.decoding.adaptive_sampling import Asap, Cars
from workbench.decoding.distance_curves import CHECKPOINTS, REPETITIONS, distance_curves
from workbench.decoding.exact_distribution import (
    Distribution,
    distance,
    masked_distribution,
    model_distribution,
    token_tree,
)
from workbench.decoding.particles import Awrs, Particles
from workbench.decoding.strategy import PLAIN, Strategy
from workbench.grammar.grammar import Grammar


@dataclass(frozen=True, slots=True)
class _Language:
    name: str
    pattern: str
    prompt: str


_PERSON = 'A person encoded as JSON object:\n{"name": "'
_LANGUAGES = (
    _Language("six names", "Anna|Anne|Annabel|John|Johanna|Jonathan", _PERSON),
    _Language("colours", "Red|Orange|Yellow|Green|Blue|Indigo|Violet", "The colour of the sky is "),
    _Language("armour", '"(leather|chainmail|plate)"', 'A character profile:\n{"armor": '),
    _Language("days", "(Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day", "The meeting is on "),
    _Language("numbers", "[1-9][0-9]?", "A person encoded as JSON object:\n{'age': "),
)

_STRATEGIES: dict[str, Callable[[], Strategy]] = {
    "masks": lambda: PLAIN,
    "awrs": Awrs,
    "asap": Asap,
    "cars": Cars,
    "particles": Particles,
}
_TITLES = {
    "masks": "masks alone",
    "awrs": "`Awrs`",
    "asap": "`Asap`",
    "cars": "`Cars`",
    "particles": f"`Particles({Particles().count})`",
}

#: Samples of the model's own distribution whose mean distance is the noise floor.
_SAMPLES = 400


def _measured(
    language: _Language, checkpoints: Sequence[int], repetitions: int, setting: Setting
) -> Record:
    """The curve of each strategy on one language, and what they are compared with."""
    vocabulary = setting.model.vocabulary
    try:
        grammar = Grammar.from_regex(language.pattern, limits=LIMITS)
        constraint = compile_grammar(grammar, vocabulary, limits=LIMITS)
        tree = token_tree(setting.model, language.prompt, constraint)
        own = model_distribution(tree)
        masked = distance(own, masked_distribution(tree, constraint)).total_variation
        check_running(setting)
        curves = distance_curves(
            tree, vocabulary, _STRATEGIES, checkpoints=checkpoints, repetitions=repetitions
        )
    except WorkbenchError as error:
        return {"failed": error.message}
    check_running(setting)
    valid = math.fsum(math.exp(chance + node.end) for _, node, chance in tree.spellings())
    return {
        "texts": len(tree.texts),
        "valid": valid,
        "masked": masked,
        "floor": _floor(own, round(curves["masks"].texts)),
        "curves": {
            name: {"points": [list(point) for point in curve.points], "texts": curve.texts}
            for name, curve in curves.items()
        },
    }


def _floor(own: Distribution, count: int) -> float:
    """The mean distance of ``count`` independent texts of the model's own distribution."""
    chances = np.array(list(own.probability.values()))
    chances /= chances.sum()  # rounding
    drawn = np.random.default_rng(0).multinomial(max(1, count), chances, size=_SAMPLES)
    return float(np.abs(drawn / max(1, count) - chances).sum(axis=1).mean() / 2)


_NOTE = f"""Total variation from the model's own distribution over a finite language (the largest
difference in the probability of any set of texts), at temperature 1, by the forward passes of the
texts that were drawn; means of {REPETITIONS} repetitions. All texts count alike, those of
`Particles` by their weights. *Masks, exactly* is what masks alone converge to, `Awrs` draws the
same texts without a mask, and the *noise floor* is the mean distance of as many independent texts
of the model's own distribution as masks alone write with the most passes. *Valid* is the
probability that the model gives to the language. Passes are those of texts alone: a real run reads
the prompt too."""


def _section(columns: Sequence[Column]) -> str:
    parts = [_NOTE]
    for column in columns:
        found = {
            language: record
            for language in _LANGUAGES
            if "curves" in (record := column.records.get(_key(language), {}))
        }
        failed = [
            f"* {language.name}, {column.title}: {record['failed']}."
            for language in _LANGUAGES
            if "failed" in (record := column.records.get(_key(language), {}))
        ]
        if found:
            parts += [f"**{column.title}**", _by_language(found), _by_passes(found)]
            parts.append(_verdict(column.title, list(found.values())))
        parts += failed
    return "\n\n".join(parts)


def _by_language(found: dict[_Language, Record]) -> str:
    head = ["language", "texts", "valid", "masks, exactly", *_TITLES.values(), "noise floor"]
    rows = [head]
    for language, record in found.items():
        cells = [
            f"{curve['points'][-1][1]:.3f} ({curve['texts']:.0f} texts)"
            for curve in (record["curves"][name] for name in _TITLES)
        ]
        numbers = [str(record["texts"]), f"{record['valid']:.2g}", f"{record['masked']:.3f}"]
        rows.append([language.name, *numbers, *cells, f"{record['floor']:.3f}"])
    return format_table(rows, "markdown")


def _by_passes(found: dict[_Language, Record]) -> str:
    rows = [[f"forward passes, mean of {len(found)} languages", *_TITLES.values()]]
    records = list(found.values())
    for number, (passes, _) in enumerate(records[0]["curves"]["masks"]["points"]):
        means = (
            fmean(record["curves"][name]["points"][number][1] for record in records)
            for name in _TITLES
        )
        rows.append([str(passes), *(f"{mean:.3f}" for mean in means)])
    return format_table(rows, "markdown")


def _verdict(title: str, records: Sequence[Record]) -> str:
    """On how many languages each strategy is nearer than masks alone with the same passes."""
    sentences = []
    for name in ("asap", "cars", "particles"):
        last = [
            (record["curves"][name]["points"][-1][1], record["curves"]["masks"]["points"][-1][1])
            for record in records
        ]
        nearer = sum(own < masks for own, masks in last)
        sentences.append(f"{_TITLES[name]} on {nearer}")
    most = records[0]["curves"]["masks"]["points"][-1][0]
    return (
        f"* {title}, nearer than masks alone after {most} passes, of {len(records)} languages:"
        f" {', '.join(sentences)}."
    )


def _key(language: _Language) -> str:
    return f"own distribution/{language.name}"


OWN = Experiment(
    name="own",
    title="The model's own distribution",
    source="Park et al. 2024 (ASAp), Parys et al. 2025 (CARS), Lipkin et al. 2025 (AWRS), Loula et"
    " al. 2025 (sequential Monte Carlo)",
    units=lambda _: [
        Unit(_key(language), partial(_measured, language, CHECKPOINTS, REPETITIONS))
        for language in _LANGUAGES
    ],
    section=_section,
)
