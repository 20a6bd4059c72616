"""The page's questions as endpoints for programs: typed functions, plain JSON, no page needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gradio.events import api

from workbench.ui.handlers import Handlers
from workbench.ui.runs import run_records

_Answer = dict[str, Any]


def add_endpoints(handlers: Handlers) -> None:
    """Add /compile, /check, /mask and /generate to the page being built."""

    def compile_grammar(text: str, notation: str = "regex") -> _Answer:
        """Read a grammar: facts, problems with their places, which machines there are."""
        return handlers.compile({"text": text, "notation": notation})

    def check(text: str, notation: str, tried: str) -> _Answer:
        """Whether a text is accepted; if not, where it fails and what was expected there."""
        return handlers.check({"text": text, "notation": notation, "texts": [tried]})

    def mask(text: str, notation: str = "regex", so_far: str = "") -> _Answer:
        """The tokens that may come next after a text."""
        return handlers.mask({"text": text, "notation": notation, "so_far": so_far})

    def generate(
        text: str,
        notation: str = "regex",
        prompt: str = "",
        max_tokens: int = 128,
        temperature: float = 0.7,
        seed: int = 1,
    ) -> Iterator[_Answer]:
        """Generate under a grammar: a record for every token, the last says why it ended."""
        sent = {
            "text": text,
            "notation": notation,
            "prompt": prompt,
            "max_tokens": max_tokens,
            "temperature": temperature,
            "seed": seed,
        }
        yield from run_records(handlers, sent)

    for answer, name in ((compile_grammar, "compile"), (check, "check"), (mask, "mask")):
        api(answer, api_name=name, concurrency_id="compile", concurrency_limit=2)
    api(generate, api_name="generate", concurrency_id="model", concurrency_limit=1)
