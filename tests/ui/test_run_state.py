"""The states of the run card, computed by its own script."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

import pytest

from workbench.base.resources import STATIC

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")

SCRIPT = """
import {{ readFileSync }} from "node:fs";
const source = readFileSync({path!r}, "utf-8");
const address = "data:text/javascript;base64," + Buffer.from(source).toString("base64");
const {{ IDLE, transition, isIdle, selectedIn }} = await import(address);
let run = IDLE;
for (const event of {events}) run = transition(run, event);
console.log(JSON.stringify([run.kind, run.cursor.kind, selectedIn(run), isIdle(run), run.before ?? null]));
"""

SELECT = {"type": "select", "index": 4}
NEXT = {"type": "select next"}
TAKE, TAKEN = {"type": "take"}, {"type": "taken"}
PLAY, FINISH = {"type": "play", "before": 3, "time": 0}, {"type": "finish"}


@pytest.mark.parametrize(
    ("events", "kind", "cursor", "selected", "because"),
    [
        ([], "idle", "none", -1, "nothing is selected first"),
        ([SELECT], "idle", "token", 4, "a token is selected"),
        ([SELECT, {"type": "select nothing"}], "idle", "none", -1, "another branch is shown"),
        ([NEXT], "idle", "next", -1, "the next token has no index yet"),
        ([NEXT, TAKE], "taking", "next", -1, "a request moves no cursor"),
        ([NEXT, TAKE, SELECT], "taking", "token", 4, "tokens are selected while one is requested"),
        ([NEXT, TAKE, TAKEN], "idle", "next", -1, "the answer ends the request"),
        ([NEXT, PLAY], "running", "none", -1, "the next token is about to be written"),
        ([SELECT, PLAY], "running", "token", 4, "a selected token stays"),
        ([PLAY, NEXT], "running", "none", -1, "there is no next token during a run"),
        ([PLAY, TAKE], "running", "none", -1, "no token is taken during a run"),
        ([TAKE, PLAY, TAKEN], "running", "none", -1, "the answer comes too late"),
        ([PLAY, SELECT, FINISH], "idle", "token", 4, "the end keeps the selection"),
        ([TAKE, FINISH], "taking", "none", -1, "only a run finishes"),
    ],
)
def test_events_lead_to_these_states_of_the_card(
    events: list[Any], kind: str, cursor: str, selected: int, because: str
) -> None:
    script = SCRIPT.format(path=str(STATIC / "run-state.js"), events=json.dumps(events))
    result = subprocess.run(
        ["node", "--input-type=module", "-e", script], capture_output=True, text=True, check=True
    )
    before = 3 if kind == "running" else None
    assert json.loads(result.stdout) == [kind, cursor, selected, kind == "idle", before], because
