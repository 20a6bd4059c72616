"""Round trips: instances to text and back, for random classes."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.typed.generated import Colour, Point, Rank, Size, Tree, instances
from workbench.analysis.random_texts import samples
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.pushdown.build import build
from workbench.schema.typed.dataclass_grammar import TypedGrammar, class_tree, text_tree
from workbench.schema.typed.python_printer import literal_text


def grammar(typed: TypedGrammar) -> Grammar:
    """The grammar of a dataclass."""
    return Grammar(typed.tree.source, Notation.DATACLASS, build(typed.tree), tree=typed.tree)


MEMBER = re.compile(r"<(Colour|Size|Rank)\.")


def exact(value: Any) -> Any:
    """A value with the types of its parts, since 1 == True and 0.0 == -0.0."""
    if dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
        return type(value), [exact(getattr(value, field.name)) for field in fields]
    if isinstance(value, dict):
        return dict, [(exact(key), exact(each)) for key, each in value.items()]
    if isinstance(value, list | tuple):
        return type(value), [exact(each) for each in value]
    if isinstance(value, set | frozenset):
        return type(value), sorted(repr(exact(each)) for each in value)
    return type(value), repr(value)


@pytest.mark.exhaustive
@settings(max_examples=50)
@given(instances())
def test_round_trip_of_repr_and_literal_text(instance: Any) -> None:
    typed = class_tree(type(instance))
    read = grammar(typed)
    assert read.accepts(literal_text(instance))
    # the repr of a member is not Python, but it is accepted
    assert read.accepts(repr(instance)) or MEMBER.search(repr(instance))
    for text in (repr(instance), literal_text(instance)):
        assert exact(typed.parse(text)) == exact(instance)


@pytest.mark.exhaustive
@settings(max_examples=50)
@given(instances())
def test_the_text_of_a_class_defines_the_same_grammar(instance: Any) -> None:
    of_class = class_tree(type(instance))
    of_text = text_tree(of_class.tree.source)
    assert of_text.types.definitions == of_class.types.definitions
    text = repr(of_text.parse(literal_text(instance)))
    assert grammar(of_text).accepts(text)
    assert of_class.parse(text) == instance


@pytest.mark.exhaustive
@settings(max_examples=50)
@given(instances(), st.integers(0, 99))
def test_samples_are_instances_as_in_python(instance: Any, seed: int) -> None:
    cls = type(instance)
    typed = class_tree(cls)
    known = {one.__name__: one for one in (cls, Point, Tree, Colour, Size, Rank)}
    for text in samples(grammar(typed), 4, seed=seed):
        made = typed.parse(text)
        assert isinstance(made, cls)
        # generated text, so executing it is safe
        run = eval(text, {"inf": math.inf, "nan": math.nan, **known})
        assert made == run or "nan" in text


def test_a_recursive_class_survives_the_round_trip() -> None:
    typed = class_tree(Tree)
    tree = Tree("a", [Tree("b"), Tree("c", [Tree("d")])], Tree("e"))
    assert grammar(typed).accepts(repr(tree))
    assert typed.parse(repr(tree)) == tree


def test_json_of_a_tree() -> None:
    typed = class_tree(Tree, "json")
    tree = Tree("a", [Tree("b"), Tree("c", [Tree("d")])], Tree("e"))
    for text in (
        json.dumps(dataclasses.asdict(tree)),
        json.dumps(dataclasses.asdict(tree), indent=2),
    ):
        assert grammar(typed).accepts(text)
        assert typed.parse(text) == tree
