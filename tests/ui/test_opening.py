"""The opening example on a new installation, while its kernels run as ordinary Python."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

#: Processor seconds for the answers of the first screen; they take 0.15 on the machine of the tests.
MOST_SECONDS = 3.0

#: The requests of the page for its first example, with the processor time of all.
REQUESTS = """
import json, time
from workbench.app.ui.grammar_view import compile_grammar
from workbench.app.ui.opening_view import page_record, recorded_run
from workbench.app.ui.picture_view import draw_flags, draw_machine
from workbench.app.ui.explain_view import why
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.model_registry import ModelRoom

handlers = Handlers(ModelRoom())
handlers.room.vocabulary()
first = page_record(handlers)["first"]
begin = time.process_time()
lines = [json.loads(line) for line in recorded_run(handlers, {"example": first["name"]}).splitlines()]
steps = [line for line in lines if line["k"] == "step"]
index = next(i for i, step in enumerate(steps) if step["cut"])
text = {key: first[key] for key in ("text", "notation", "start")} | {"example": first["name"]}
so_far = "".join(step["token"]["text"] for step in steps[:index]).encode().hex()
picture = {**text, "tab": "together", "width": 700, "height": 310}
preferred = steps[index]["wanted"][0]["text"].encode().hex()
answers = [
    compile_grammar(handlers, text),
    draw_machine(handlers, picture),
    draw_flags(handlers, {**picture, "centre": steps[index]["path"]["characters"][0][0]}),
    why(handlers, {**text, "so_far": so_far, "token": preferred}),
]
print(json.dumps([time.process_time() - begin, [answer["ok"] for answer in answers]]))
"""


@pytest.mark.slow
def test_its_picture_does_not_wait_for_the_kernels() -> None:
    """Nothing of it is shipped as an answer, which could be stale: it is computed in time."""
    answer = subprocess.run(
        [sys.executable, "-c", REQUESTS],
        env={**os.environ, "WORKBENCH_KERNELS": "python"},
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, answers = json.loads(answer.stdout)
    assert answers == [True] * 4, "the grammar, its picture, the tokens, the reason"
    assert seconds < MOST_SECONDS
