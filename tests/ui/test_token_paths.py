from __future__ import annotations

import pytest

from workbench.analysis.run_tracing import Configuration, token_paths
from workbench.app.pipeline import compile_text
from workbench.grammar.gallery import load_gallery
from workbench.grammar.notations import Notation
from workbench.pushdown.network import Network
from workbench.pushdown.runner import Runner

NESTED = "start ::= '(' start? ')';"


def rules(text: str, notation: Notation = Notation.KBNF) -> Network:
    grammar = compile_text(text, notation).grammar
    assert grammar is not None
    return grammar.rules


def standing(runner: Runner, situation: int) -> list[Configuration]:
    return [(state, runner.stack(node)) for state, node in runner.configurations(situation)]


def test_a_call_is_passed_and_put_on_the_stack() -> None:
    network = rules(NESTED)
    runner = Runner(network)
    after_one = runner.run(b"(")
    (way,) = [w for w in token_paths(network, standing(runner, after_one), b"(") if w.after[1]]
    assert len(way.after[1]) == len(way.before[1]) + 1
    call = next(name for name in way.passed if name.startswith("call-"))
    back = way.after[1][-1]
    assert call == f"call-{network.start}-{back}"
    assert way.passed[0] == str(way.before[0])
    assert way.passed[-1] == str(way.after[0])


def test_return_passes_the_box_of_its_call() -> None:
    network = rules("start ::= '<' item '>'; item ::= 'a' | '[' item ']';")
    runner = Runner(network)
    before = standing(runner, runner.run(b"<"))
    found = token_paths(network, before, b"a")
    assert found
    assert all(way.before in before for way in found)
    (way,) = found
    box = next(i for i, name in enumerate(way.passed) if name.startswith("call-"))
    assert way.passed[box] == way.passed[-2], "in and out by the same box"
    assert way.after[1] == ()


def test_no_path_reads_a_text_outside_the_language() -> None:
    network = rules(NESTED)
    assert token_paths(network, standing(Runner(network), 0), b")") == []


@pytest.mark.parametrize("name", [e.name for e in load_gallery().values()])
def test_paths_end_where_the_runner_does(name: str) -> None:
    example = load_gallery()[name]
    compiled = compile_text(example.text, Notation(str(example.notation)), example.start)
    network = compiled.accepting.rules
    runner = Runner(network)
    for text in example.accepts:
        here, data = runner.initial, text.encode()
        for at in range(0, len(data), 3):
            token = data[at : at + 3]
            there = runner.run(token, here)
            found = token_paths(network, standing(runner, here), token)
            assert {way.after for way in found} == set(standing(runner, there)), (text, token)
            for way in found:
                assert way.before[1][: way.kept] == way.after[1][: way.kept]
            here = there


def test_pops_and_pushes_of_a_token() -> None:
    network = rules("start ::= '[' item (',' item)* ']'; item ::= 'a' 'b'? | '(' item ')';")
    runner = Runner(network)
    before = standing(runner, runner.run(b"[a"))
    again = [way for way in token_paths(network, before, b",a") if way.after[1]]
    assert again
    assert all(way.kept == 0 for way in again)
    back = token_paths(network, standing(runner, runner.run(b"[(a")), b")")
    assert back
    assert all(way.kept < len(way.before[1]) for way in back)
