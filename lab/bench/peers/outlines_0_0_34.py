"""Times Outlines 0.0.34; a script for the Python of an environment that has it.

That version needs NumPy 1 and an old numba, so it cannot share an environment with this project,
and this file imports nothing of it. A request comes as JSON on stdin: ``tokens`` (text of each
token id, null for those without text), ``end`` (a token id), ``warm_up`` and ``baseline``
(regexes), ``regexes`` (by name), ``runs`` and ``steps``. The answer is JSON on stdout: for
``baseline`` and for each name the seconds of processor time of each compilation and each step.

Source: Koo, Liu & He 2024, appendix C.1 to C.3.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np


class Tokenizer:
    """What Outlines asks of a tokenizer."""

    def __init__(self, tokens: list[str | None], end: int) -> None:
        self._texts = tokens
        #: The token's id as text → its id: two tokens may have one text.
        self.vocabulary = {str(i): i for i, text in enumerate(tokens) if text is not None}
        self.vocabulary[str(end)] = end
        self.special_tokens = {str(end)}
        self.eos_token_id = end
        self.eos_token = str(end)

    def convert_token_to_string(self, token: str) -> str:
        """The text of a token."""
        return self._texts[int(token)] or ""


def seconds(work: Callable[[], object]) -> float:
    """How long a call takes, in processor time."""
    started = time.process_time()
    work()
    return time.process_time() - started


def main() -> None:
    """Answer the request on stdin."""
    request = json.load(sys.stdin)
    import_module("outlines.caching").disable_cache()
    machine: Any = import_module("outlines.fsm.fsm").RegexFSM
    tokenizer = Tokenizer(request["tokens"], request["end"])
    size, runs = len(request["tokens"]), request["runs"]

    def step(fsm: Any) -> None:  # noqa: ANN401  # of another project
        allowed = fsm.allowed_token_ids(fsm.first_state)
        mask = np.zeros(size, bool)
        mask[allowed] = True
        fsm.next_state(fsm.first_state, allowed[0])

    def compiled(pattern: str) -> list[float]:
        return [seconds(lambda: machine(pattern, tokenizer)) for _ in range(runs)]

    machine(request["warm_up"], tokenizer)
    found: dict[str, dict[str, list[float]]] = {}
    for name, pattern in {"baseline": request["baseline"], **request["regexes"]}.items():
        fsm = machine(pattern, tokenizer)
        steps = [seconds(lambda: step(fsm)) for _ in range(request["steps"])]  # noqa: B023
        found[name] = {"compile": compiled(pattern), "step": steps}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
