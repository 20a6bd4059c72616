"""The endpoints for programs, asked as a program would."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.ui.toy import toy_room
from workbench.app.ui.api import event_texts
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.runs import run_records
from workbench.grammar.notations import Notation

pytestmark = pytest.mark.slow

#: A page that answers a program; in a separate process: Gradio's warnings must not fail the tests.
ASKING = """
import json
from gradio_client import Client
from tests.ui.toy import toy_room
from workbench.app.ui.serve import ServeSettings, start

page = start(ServeSettings(port=0, quiet=True), toy_room())
client = Client(page.local_url, verbose=False)
NEST = 'start ::= "(" start? ")";'


def generated(*given, **named):
    events = client.submit(*given, **named, api_name="/generate")
    return [json.loads(each) for event in events for each in event.splitlines()]

reported = {
    "compiled": client.predict("[0-9]{2}", api_name="/compile"),
    "wrong": client.predict("start ::= 'a", "kbnf", api_name="/compile"),
    "checked": client.predict("[0-9]{2}", "regex", "1x", api_name="/check"),
    "checked_both": client.predict("[0-9]{2}", "regex", ["1x", "12"], api_name="/check"),
    "mask": client.predict("[0-9]{2}:", "regex", "14", api_name="/mask"),
    "nobody": client.predict("[0-9]{2}:", model="nobody/has-it", api_name="/mask"),
    "explained": client.predict(NEST, "kbnf", "((", "x", api_name="/explain"),
    "unfinished": client.predict(NEST, "kbnf", "((", api_name="/explain"),
    "drawn": client.predict(NEST, notation="kbnf", machine="stack", api_name="/draw"),
    "no_such": client.predict(NEST, notation="kbnf", machine="characters", api_name="/draw"),
    "samples": client.predict(NEST, notation="kbnf", count=3, seed=4, api_name="/samples"),
    "no_samples": client.predict("(", api_name="/samples"),
    "run": generated("[0-9]{2}:", "regex", "at "),
    "drafted": generated("[0-9]{2}:", "regex", "at ", draft="toy"),
    "instance": generated("@dataclass\\nclass P:\\n    x: int", "dataclass", max_tokens=9),
    "laid_out": client.predict('{"type": "object"}', "json_schema", "{ }", options={"whitespace": "compact"}, api_name="/check"),
    "free": generated("a", max_tokens=3, constraint="unconstrained"),
    "compared": list(client.submit("[0-9]{2}:", "unconstrained,automaton", seeds=1, max_tokens=5, api_name="/compare")),
    "bad": generated("a", temperature="hot"),
    "api": client.view_api(print_info=False, return_format="dict"),
}
print(json.dumps(reported))
"""


ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def lines() -> list[str]:
    """What a process prints: what it was answered, what the documented example prints, how two runs ended."""
    codes = re.findall(
        r"```python\n(.*?)```",
        (ROOT / "docs" / "reference" / "endpoints.md").read_text("utf-8"),
        re.DOTALL,
    )
    (code,) = (each for each in codes if '"http://127.0.0.1:7860/"' in each)
    shown = code.replace('"http://127.0.0.1:7860/"', "page.local_url")
    asked = subprocess.run(
        [sys.executable, "-c", f"{ASKING}\n{shown}\npage.close()\n{TWO_VISITORS}"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        timeout=300,
    )
    assert asked.returncode == 0, asked.stderr[-2000:]
    closing = "Closing server running on port"
    return [line for line in asked.stdout.splitlines() if not line.startswith(closing)]


@pytest.fixture(scope="module")
def reported(lines: list[str]) -> Any:
    return json.loads(lines[0])


TWO_VISITORS = """
import json, threading
from gradio_client import Client
from tests.ui.toy import toy_room
from workbench.app.ui.serve import ServeSettings, start
from workbench.decoding.model import ToyModel

both = threading.Barrier(2)

class Meeting(ToyModel):
    def logits(self, token_ids):
        both.wait(timeout=30)  # fails unless two runs are computed at the same time
        return super().logits(token_ids)

page = start(ServeSettings(port=0, quiet=True), toy_room(Meeting))
clients = [Client(page.local_url, verbose=False) for _ in range(2)]
runs = [client.submit("[0-9]{2}:", "regex", "at ", api_name="/generate") for client in clients]
print(json.dumps([json.loads(list(run)[-1].splitlines()[-1])["k"] for run in runs]))
page.close()
"""


def test_runs_of_two_visitors_are_computed_at_the_same_time(lines: list[str]) -> None:
    assert json.loads(lines[-1]) == ["stop", "stop"]


def test_the_documented_client_runs(lines: list[str]) -> None:
    assert "'k': 'stop'" in lines[-2]


def test_a_grammar_is_read_and_its_problems_placed(reported: Any) -> None:
    assert reported["compiled"]["facts"] == ["regular", "3 states"]
    assert reported["wrong"]["problems"][0]["line"] == 1


def test_texts_are_checked_one_or_many(reported: Any) -> None:
    assert reported["checked"]["results"][0]["column"] == 2
    assert [result["accepted"] for result in reported["checked_both"]["results"]] == [False, True]


def test_masks_name_tokens(reported: Any) -> None:
    assert reported["mask"]["tokens"][0]["text"] == ":"
    assert "nobody/has-it" in reported["nobody"]["why"]


def test_why_a_token_is_forbidden(reported: Any) -> None:
    assert not reported["explained"]["allowed"]
    assert reported["explained"]["failing"] == "x"
    assert reported["unfinished"]["token"] is None
    assert not reported["unfinished"]["allowed"]


def test_machines_are_drawn_without_what_only_the_page_reads(reported: Any) -> None:
    assert reported["drawn"]["svg"].startswith("<svg")
    assert reported["drawn"]["states"]
    assert "where" not in reported["drawn"]
    assert reported["no_such"] == {
        "ok": False,
        "why": "rules that call themselves need a stack: see Stack",
    }


def test_samples_are_of_the_language_and_misses_are_not(reported: Any) -> None:
    assert len(reported["samples"]["samples"]) == 3
    assert all(text.startswith("(") for text in reported["samples"]["samples"])
    assert reported["samples"]["near_misses"][0][0] not in reported["samples"]["samples"]
    assert not reported["no_samples"]["ok"]


def test_run_streams_records_and_its_end(reported: Any) -> None:
    assert reported["run"][-1]["k"] == "stop"
    assert reported["run"][-1]["good"]
    assert reported["drafted"][-1]["text"] == reported["run"][-1]["text"]
    assert any("draft" in record for record in reported["drafted"])
    steps = [record for record in reported["run"] if record["k"] == "step"]
    assert reported["run"][-1]["text"] == "".join(step["token"].get("text", "") for step in steps)
    assert sum(record["k"] == "step" for record in reported["free"]) == 3
    assert reported["bad"][-1]["k"] == "error"
    assert "temperature" in reported["bad"][-1]["message"]


def test_methods_are_compared(reported: Any) -> None:
    *runs, last = reported["compared"]
    assert [run["method"] for run in runs] == ["unconstrained", "automaton"]
    assert runs[1]["valid"]
    assert last["runs"] == runs


def test_every_endpoint_is_documented_with_types_and_defaults(reported: Any) -> None:
    named = reported["api"]["named_endpoints"]
    assert set(named) == {
        "/compile",
        "/check",
        "/explain",
        "/samples",
        "/mask",
        "/draw",
        "/generate",
        "/compare",
    }
    for name, endpoint in named.items():
        for parameter in endpoint["parameters"]:
            assert parameter["python_type"]["type"], (name, parameter)
            assert parameter["parameter_name"] not in ("self", ""), name
            assert parameter["label"].endswith("."), (name, parameter)
    notation = named["/generate"]["parameters"][1]
    assert notation["parameter_name"] == "notation"
    assert notation["parameter_default"] == "regex"
    known = ", ".join(repr(str(each)) for each in Notation)
    assert f"Literal[{known}]" in notation["python_type"]["type"]


def test_a_program_has_every_record_of_a_run_whatever_its_places(reported: Any) -> None:
    kinds = [record["k"] for record in reported["instance"]]
    assert kinds[-1] == "stop"
    assert not any("path" in record for record in reported["instance"])


def test_options_are_requested_by_their_names(reported: Any) -> None:
    (result,) = reported["laid_out"]["results"]
    assert not result["accepted"]


def test_an_event_has_the_records_of_its_batch() -> None:
    sent = {"text": "[a-z]{200}", "notation": "regex", "max_tokens": 200}
    records = list(run_records(Handlers(toy_room()), sent))
    events = list(event_texts(iter([records[:1], records[1:9], records[9:]])))
    assert len(events) == 3
    lines = [json.loads(each) for event in events for each in event.splitlines()]
    assert [line["k"] for line in lines] == [record["k"] for record in records]
    steps = [line for line in lines if line["k"] == "step"]
    assert lines[-1]["text"] == "".join(step["token"].get("text", "") for step in steps)
