"""Wrong arguments of the public functions: the class of the error, and that it names the parameter.

A wrong type is a TypeError, a wrong value a ValueError, and both are WorkbenchErrors.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import workbench as wb
from workbench.base.arguments import Between, checked
from workbench.decoding.model import ToyModel

GRAMMAR = wb.Grammar.from_regex("ab|b")
VOCABULARY = wb.Vocabulary((b"a", b"b", None), end=2, name="toy")
CONSTRAINT = wb.compile(GRAMMAR, VOCABULARY)
MODEL = ToyModel(VOCABULARY)
BLOCKS = wb.MixtureModel(VOCABULARY, {(1,): 1.0})
LABELLED = wb.Grammar.from_regex("(?P<TEXT_TOKEN>)")
TRACE = wb.Trace(())


def f(x: int) -> None:
    """A tool."""


#: For each public function and constructor: a call that works, as far as arguments are concerned.
CALLS: dict[Any, dict[str, Any]] = {
    wb.audit: {"grammar": GRAMMAR, "engines": "installed", "instances": (), "vocabulary": "builtin",
               "tokens": 9},
    wb.best_block: {"constraint": CONSTRAINT, "logits": [[0.0, 0.0, 0.0]], "finish": False,
                    "fixed": None, "limits": wb.Limits()},
    wb.compile: {"grammar": GRAMMAR, "vocabulary": VOCABULARY, "method": "automaton",
                 "limits": wb.Limits(), "small_tokens": False, "monitor": None},
    wb.draw: {"grammar": GRAMMAR, "machine": "characters", "vocabulary": None,
              "limits": wb.Limits()},
    wb.equivalent: {"first": GRAMMAR, "second": GRAMMAR, "limits": wb.Limits()},
    wb.explain: {"grammar": GRAMMAR, "so_far": "a", "token": "a", "monitor": None},
    wb.explain_id: {"grammar": GRAMMAR, "vocabulary": VOCABULARY, "so_far": [], "token_id": 0},
    wb.export: {"grammar": GRAMMAR, "notation": "kbnf"},
    wb.fill: {"prefix": "a", "suffix": "", "grammar": GRAMMAR, "limits": None},
    wb.find: {"grammar": GRAMMAR, "text": "ab", "limits": None},
    wb.generate: {"model": MODEL, "constraint": CONSTRAINT, "prompt": [0], "sampling": wb.Sampling(),
                  "max_tokens": 3, "top": 1, "stop": None, "strategy": wb.JumpForward(),
                  "prefix": (), "session": None, "finish": False, "stages": False},
    wb.generate_batch: {"generations": [], "at_once": 2},
    wb.generate_blocks: {"model": BLOCKS, "constraint": CONSTRAINT, "context": (), "length": 2,
                         "passes": 1, "blocks": 1, "limits": wb.Limits()},
    wb.heal: {"model": MODEL, "prompt": [0], "grammar": GRAMMAR},
    wb.in_words: {"grammar": GRAMMAR},
    wb.infilling_prompt: {"model": MODEL, "prefix": "a", "suffix": "b"},
    wb.json_regex: {"objects": 0, "arrays": 0, "space": "", "limits": wb.Limits()},
    wb.label_reason: {"grammar": LABELLED, "vocabulary": VOCABULARY, "so_far": [], "token_id": 0},
    wb.lint: {"grammar": GRAMMAR, "vocabulary": VOCABULARY, "seconds": 0.1},
    wb.load_exercise: {"source": "even_a"},
    wb.load_model: {"name": "builtin", "device": "auto", "dtype": "auto", "revision": None,
                    "progress": print},
    wb.parse_trees: {"grammar": GRAMMAR, "text": "ab", "limits": None},
    wb.problems: {"text": "a", "notation": "regex", "start": "start", "limits": wb.Limits()},
    wb.read_text: {"model": MODEL, "constraint": CONSTRAINT, "prompt": [0], "text": "a",
                   "sampling": wb.Sampling(), "top": 1, "stages": False, "session": None},
    wb.replay: {"trace": TRACE, "grammar": GRAMMAR, "constraint": CONSTRAINT, "prompt": "",
                "title": ""},
    wb.samples: {"grammar": GRAMMAR, "count": 2, "seed": 0, "longest": 5},
    wb.show: {"constraint": CONSTRAINT},
    wb.tool_calls: {"tools": [f], "style": "hermes", "at_least_one": False, "parallel": True,
                    "limits": wb.Limits()},
    wb.Engine: {"grammar": "start ::= 'a';", "vocabulary": VOCABULARY, "start": "start",
                "strict": False, "limits": wb.Limits()},
    wb.Template: {"parts": ("a",)},
    wb.Template.parse: {"text": "a", "name": "template"},
    wb.Limits: {"states": 1, "token_edges": 1, "configurations": 1, "stack_depth": 1, "rows": 1,
                "seconds": 1.0, "megabytes": 1, "unrolled": 1, "columns": 1},
    wb.Sampling: {"temperature": 0.5, "top_k": 1, "top_p": 0.5, "seed": 1, "min_p": 0.1,
                  "repetition_penalty": 1.1},
    wb.Speculation: {"proposer": wb.ForcedProposer(), "tokens": 1, "least": 0.5},
    wb.CoupledSpeculation: {"draft": MODEL, "tokens": 1},
    wb.DraftSpeculation: {"draft": MODEL, "tokens": 1, "counts": None, "least": 0.5},
    wb.CountProposer.learnt: {"constraint": CONSTRAINT, "traces": [], "memory": 0},
    wb.Awrs: {"trials": 1},
    wb.Particles: {"count": 1, "resample_below": 0.5, "awrs": None},
    wb.Cars: {"attempts": 1},
    wb.Intersection: {"a": CONSTRAINT, "b": CONSTRAINT, "limits": wb.Limits()},
    wb.Reasoning: {"answer": CONSTRAINT, "opening": "a", "closing": "b", "budget": 1,
                   "limits": wb.Limits()},
    wb.WithinBudget: {"constraint": CONSTRAINT, "budget": 3, "limits": None},
    wb.LogitsProcessor: {"constraint": CONSTRAINT},
    wb.MixtureModel: {"vocabulary": VOCABULARY, "texts": {}, "noise": 0.1, "name": "m"},
    wb.GrammarText: {"text": "a", "notation": "regex", "start": "start", "options": {}},
    wb.Vocabulary: {"tokens": [b"a", None], "end": 1, "merges": None, "pretokenizer": None,
                    "ignore_merges": False, "special": (), "name": "v", "names": None},
    wb.Grammar.from_regex: {"pattern": "a", "limits": wb.Limits(), "name": "r"},
    wb.Grammar.from_kbnf: {"text": "start ::= 'a';", "start": "start", "limits": wb.Limits(),
                           "name": "g"},
    wb.Grammar.from_gbnf: {"text": 'root ::= "a"', "root": "root", "limits": wb.Limits(),
                           "name": "g"},
    wb.Grammar.from_lark: {"text": 'start: "a"', "start": "start", "limits": wb.Limits(),
                           "name": "g"},
    wb.Grammar.from_machine: {"text": "-> a", "limits": wb.Limits(), "name": "m"},
    wb.Grammar.from_text: {"text": "a", "notation": "regex", "start": "start",
                           "limits": wb.Limits(), "name": "g"},
}  # fmt: skip

#   function              parameter      value      why it is wrong
WRONG_VALUES = [
    (wb.audit,            "tokens",        0,         "no token"),
    (wb.compile,          "method",        "nope",    "no method"),
    (wb.draw,             "machine",       "nope",    "no machine"),
    (wb.explain_id,       "token_id",      3,         "past the vocabulary"),
    (wb.explain_id,       "token_id",      -1,        "below the vocabulary"),
    (wb.explain_id,       "so_far",        [3],       "past the vocabulary"),
    (wb.export,           "notation",      "nope",    "no notation"),
    (wb.generate,         "max_tokens",    -1,        "below 0"),
    (wb.generate,         "top",           -1,        "below 0"),
    (wb.generate_batch,   "at_once",       0,         "none would run"),
    (wb.generate_blocks,  "length",        0,         "below 1"),
    (wb.generate_blocks,  "passes",        0,         "below 1"),
    (wb.generate_blocks,  "blocks",        0,         "below 1"),
    (wb.read_text,        "top",           -1,        "below 0"),
    (wb.json_regex,       "objects",       -1,        "below 0"),
    (wb.json_regex,       "arrays",        -1,        "below 0"),
    (wb.label_reason,     "token_id",      3,         "past the vocabulary"),
    (wb.lint,             "seconds",       -1.0,      "below 0"),
    (wb.lint,             "seconds",       float("nan"), "no duration"),
    (wb.samples,          "count",         -1,        "below 0"),
    (wb.samples,          "longest",       -1,        "below 0"),
    (wb.tool_calls,       "style",         "nope",    "no style"),
    (wb.tool_calls,       "tools",         [],        "no tool"),
    (wb.Limits,           "seconds",       0,         "no time"),
    (wb.Limits,           "states",        -1,        "below 1"),
    (wb.Sampling,         "temperature",   -1.0,      "below 0"),
    (wb.Sampling,         "top_k",         0,         "no token"),
    (wb.Sampling,         "top_p",         0.0,       "no probability"),
    (wb.Sampling,         "seed",          -1,        "below 0"),
    (wb.Speculation,      "tokens",        -1,        "below 0"),
    (wb.Speculation,      "least",         1.5,       "no probability"),
    (wb.CoupledSpeculation, "tokens",      -1,        "below 0"),
    (wb.DraftSpeculation, "least",         -0.1,      "no probability"),
    (wb.CountProposer.learnt, "memory",    -1,        "below 0"),
    (wb.Awrs,             "trials",        0,         "no draw"),
    (wb.Particles,        "count",         0,         "no particle"),
    (wb.Particles,        "resample_below", 2.0,      "no share"),
    (wb.Cars,             "attempts",      0,         "no attempt"),
    (wb.Reasoning,        "budget",        -1,        "below 0"),
    (wb.Reasoning,        "closing",       "",        "no marker"),
    (wb.MixtureModel,     "noise",         -1.0,      "below 0"),
    (wb.GrammarText,      "notation",      "nope",    "no notation"),
    (wb.Grammar.from_text, "notation",     "nope",    "no notation"),
]  # fmt: skip

#: Parameters that take any object: a state, options of the writers, and what numpy converts.
ANY_OBJECT = {(wb.best_block, "logits")}


class Stranger:
    """A value of no type that a public function takes."""


def name_of(function: Any) -> str:
    return str(getattr(function, "__qualname__", function))


PARAMETERS = [(function, name) for function, given in CALLS.items() for name in given]


@pytest.mark.parametrize(
    ("function", "name"), PARAMETERS, ids=[f"{name_of(f)}-{n}" for f, n in PARAMETERS]
)
def test_error_a_wrong_type(function: Callable[..., Any], name: str) -> None:
    if (function, name) in ANY_OBJECT:
        pytest.skip("takes any object")
    with pytest.raises(TypeError, match="expected ") as caught:
        function(**{**CALLS[function], name: Stranger()})
    assert isinstance(caught.value, wb.WorkbenchError)
    assert f"as {name!r}, not Stranger" in str(caught.value)


@pytest.mark.parametrize(
    ("function", "name", "value", "why"),
    WRONG_VALUES,
    ids=[f"{name_of(f)}-{n}-{why}" for f, n, _, why in WRONG_VALUES],
)
def test_error_a_wrong_value(
    function: Callable[..., Any], name: str, value: object, why: str
) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        function(**{**CALLS[function], name: value})
    assert isinstance(caught.value, wb.WorkbenchError), why
    words = str(caught.value).replace("-", "_")
    assert any(word in words for word in (name, name.rstrip("s"))), "the parameter is named"


def public_functions() -> list[str]:
    return [name for name in wb.__all__ if inspect.isfunction(getattr(wb, name))]


@pytest.mark.parametrize("name", public_functions())
def test_every_public_function_is_in_the_table(name: str) -> None:
    function = getattr(wb, name)
    optional = {"state", "options", "settings", "session"}
    parameters = set(inspect.signature(function).parameters) - optional
    assert parameters <= set(CALLS[function]) | optional


@checked
def sample(
    number: float = 0.0,
    flag: bool = False,
    names: tuple[str, ...] = (),
    unknown: Missing = None,  # type: ignore[name-defined]  # noqa: F821
) -> str:
    return f"{number} {flag} {names} {unknown}"


def test_what_fits() -> None:
    assert sample(1, True, ("a",), 3) == "1 True ('a',) 3"
    assert sample(names=()) == "0.0 False () None"


#   arguments             message
REFUSED = [
    ({"number": "1"},     "expected a number as 'number', not str: '1'"),
    ({"flag": 1},         "expected True or False as 'flag', not int: 1"),
    ({"flag": None},      "expected True or False as 'flag', not None"),
    ({"names": ["a"]},    "expected a tuple of texts as 'names', not list: ['a']"),
    ({"names": (1,)},     "expected a tuple of texts as 'names', not tuple: (1,)"),
    ({"number": float},   "expected a number as 'number', not the class float"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "message"), REFUSED)
def test_error_messages(given: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError) as caught:
        sample(**given)
    assert str(caught.value) == message


def test_bounds_include_their_ends_except_above() -> None:
    assert [value in Between(0, 1) for value in (-1, 0, 1, 2)] == [False, True, True, False]
    assert [value in Between(0, above=True) for value in (0, 1, float("nan"))] == [
        False,
        True,
        False,
    ]
