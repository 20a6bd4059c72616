"""The endpoints for programs, asked as a program would."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

# in a process of its own: Gradio's warnings are not ours
ASKING = """
import json
from gradio_client import Client
from tests.ui.toy import toy_room
from workbench.ui.serve import ServeSettings, start

page = start(ServeSettings(port=0, quiet=True), toy_room())
client = Client(page.local_url, verbose=False)
told = {
    "compiled": client.predict("[0-9]{2}", api_name="/compile"),
    "wrong": client.predict("start ::= 'a", "kbnf", api_name="/compile"),
    "checked": client.predict("[0-9]{2}", "regex", "1x", api_name="/check"),
    "mask": client.predict("[0-9]{2}:", "regex", "14", api_name="/mask"),
    "run": list(client.submit("[0-9]{2}:", "regex", "at ", api_name="/generate")),
}
print(json.dumps(told))
page.close()
"""


def test_every_endpoint_answers_plain_json() -> None:
    root = Path(__file__).resolve().parents[2]
    asked = subprocess.run(
        [sys.executable, "-c", ASKING],
        capture_output=True,
        text=True,
        check=False,
        cwd=root,
    )
    assert asked.returncode == 0, asked.stderr[-2000:]
    told = json.loads(asked.stdout.splitlines()[0])
    assert told["compiled"]["facts"] == ["regular", "3 states"]
    assert told["wrong"]["problems"][0]["line"] == 1
    assert told["checked"]["results"][0]["column"] == 2
    assert told["mask"]["tokens"][0]["text"] == ":"
    assert told["run"][-1]["k"] == "stop"
    assert told["run"][-1]["good"]
