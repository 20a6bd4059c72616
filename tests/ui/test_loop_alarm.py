"""The alarm for repetitions in a run, computed by the page's script."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

import pytest

from workbench.base.resources import STATIC

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")

SCRIPT = """
globalThis.matchMedia = () => ({{ matches: false, addEventListener() {{}} }});
globalThis.document = {{ addEventListener() {{}}, documentElement: {{ dataset: {{}} }} }};
globalThis.window = globalThis;
const {{ loopAlarm }} = await import({address});
const steps = {steps}, compiled = {compiled};
const traps = loopAlarm.traps(steps);
console.log(JSON.stringify(traps.map((trap) => ({{ ...trap, fix: loopAlarm.bound(trap, steps, compiled)?.fix ?? null }}))));
"""

CONFIG = "start ::= header line+; header ::= '[' name ']'; line ::= name '=' number; number ::= #'[0-9]+';"
NUMBER = {"fix": "#'[0-9]{1,8}'", "start": CONFIG.index("#'[0-9]+'"), "end": len(CONFIG) - 1}


def step(index: int, rules: list[str], loop: int | None, text: str = "x", m: float = 3.0) -> Any:
    return {"i": index, "id": index, "token": {"text": text, "end": False}, "rules": rules,
            "loop": loop, "m": m, "read_in": []}  # fmt: skip


def traps(steps: list[Any], compiled: Any) -> list[Any]:
    script = SCRIPT.format(
        address=json.dumps((STATIC / "measures.js").as_uri()),
        steps=json.dumps(steps),
        compiled=json.dumps(compiled),
    )
    run = subprocess.run(
        ["node", "--input-type=module", "-e", script], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    found: list[Any] = json.loads(run.stdout)
    return found


def test_the_rule_is_one_that_reads_all_tokens() -> None:
    """The first token of the loop is in the rule header, the others are not."""
    steps = [step(0, ["start", "header"], 5)]
    steps += [step(i, ["start", "line", *(["number"] if i % 3 else [])], 5) for i in range(1, 15)]
    (trap,) = traps(steps, {"text": CONFIG, "problems": [NUMBER]})
    assert (trap["rule"], trap["loops"]) == ("start", True)
    assert trap["fix"] is None, "a bound in 'number' does not end the loop of 'start'"


def test_the_fix_is_a_bound_in_that_rule() -> None:
    entered = step(0, ["start", "line"], None, "7")
    digits = [entered, *(step(i, ["start", "line", "number"], 8, "7") for i in range(1, 14))]
    (trap,) = traps(digits, {"text": CONFIG, "problems": [NUMBER]})
    assert (trap["from"], trap["why"]) == (1, "13 tokens of digits"), "the first enters the loop"
    assert (trap["rule"], trap["loops"], trap["fix"]) == ("number", True, NUMBER["fix"])
    other = {**NUMBER, "fix": "[0-9]"}
    (trap,) = traps(digits, {"text": CONFIG, "problems": [other]})
    assert trap["fix"] is None, "the fix of another piece of advice ends no repetition"


def test_tokens_of_one_kind_without_a_cycle_are_no_loop() -> None:
    digits = [step(i, ["start", "number"], None, "7") for i in range(14)]
    (trap,) = traps(digits, {"text": CONFIG, "problems": [NUMBER]})
    assert (trap["rule"], trap["loops"], trap["fix"]) == ("number", False, None)


def test_the_bound_of_a_regex_is_in_the_part_that_reads_the_tokens() -> None:
    text = "(x*)-[0-9]+"
    white = {"fix": "x{0,8}", "start": 1, "end": 3}
    number = {"fix": "[0-9]{1,8}", "start": 5, "end": 11}
    digits = [{**step(i, [], 2, "7"), "read_in": [{"start": 5, "end": 10}]} for i in range(14)]
    (trap,) = traps(digits, {"text": text, "problems": [white, number]})
    assert trap["fix"] == number["fix"]
