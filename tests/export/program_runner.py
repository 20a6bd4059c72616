"""Runs exported programs, unchanged, with the embedded model and prescribed logits.

``python -m tests.export.program_runner`` reads one JSON record a line, ``{"program": …, "texts": …}``,
and answers with a line of outcomes. A program is run once for each text. The logits prefer the
longest token with which the prompt and the text continue, and the end token after the text. An engine
that accepts the text therefore generates it; one that refuses it has to choose another token.
"""

from __future__ import annotations

import io
import json
import os
import sys
from contextlib import redirect_stdout
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TextIO

import torch
import transformers

from workbench.base.resources import BUILTIN_MODEL
from workbench.decoding.checkpoint import cache_argument
from workbench.vocabulary.vocabulary import Vocabulary

ACCEPTED, REFUSED = "accepted", "refused"
#: Above every logit of the model.
_PREFERRED = 1e4
#: The most tokens of a text: fewer than the programs generate.
_LONGEST = 250


class RefusedError(Exception):
    """The engine chose a token that does not continue the text."""


class PrescribedModel:
    """The embedded model, whose logits prefer one text."""

    def __init__(self) -> None:
        self.vocabulary = Vocabulary.load("builtin")
        torch.set_num_threads(1)
        # One of its layers: the logits are prescribed.
        self.module = transformers.AutoModelForCausalLM.from_pretrained(
            BUILTIN_MODEL, num_hidden_layers=1
        )
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(BUILTIN_MODEL)
        self.module.register_forward_pre_hook(self._before, with_kwargs=True)
        self.module.register_forward_hook(self._after)
        self._longest = max(len(token) for token in self.vocabulary.tokens if token is not None)
        self._wanted = b""
        self._ids: list[int] = []

    def prescribe(self, prompt: str, text: str) -> None:
        """Prefer ``text`` after ``prompt``, and then the end token."""
        self._wanted = (prompt + text).encode()
        self._ids = []

    def _before(self, _: object, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        """Keep the tokens of the context: those of the cache, and those of this call."""
        cache = named.get(cache_argument(self.module))
        known = 0 if cache is None else int(cache.get_seq_length())
        ids = named["input_ids"] if "input_ids" in named else args[0]
        self._ids = self._ids[:known] + ids[0].tolist()

    def _after(self, _: object, args: tuple[Any, ...], output: Any) -> None:
        read = b"".join(self.vocabulary.tokens[i] or b"\xff" for i in self._ids)
        if not self._wanted.startswith(read):
            raise RefusedError
        rest = self._wanted[len(read) :]
        logits = output.logits[0, -1]
        if not rest:
            logits[self.vocabulary.end] = _PREFERRED
        for length in range(1, min(self._longest, len(rest)) + 1):
            for token_id in self.vocabulary.ids_of.get(rest[:length], ()):
                logits[token_id] = _PREFERRED * length


def outcome(model: PrescribedModel, program: str, prompt: str, text: str) -> str:
    """Whether the program generates the text, or its error."""
    written = io.StringIO()
    model.prescribe(prompt, text)
    try:
        with redirect_stdout(written):
            exec(compile(program, "program", "exec"), {"__name__": "__main__"})
    except RefusedError:
        return REFUSED
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ACCEPTED if written.getvalue() == f"{text}\n" else REFUSED


def share_indices() -> None:
    """Let all texts of a program share the index that Outlines compiles for its regex."""
    backend: Any = import_module("outlines.backends.outlines_core")
    compiled, made = backend.Index, {}

    def index(regex: str, vocabulary: object) -> object:
        if regex not in made:
            made[regex] = compiled(regex, vocabulary)
        return made[regex]

    backend.Index = index


def answer(records: TextIO, answers: TextIO) -> None:
    """Run the program of each record; the model is loaded once."""
    model = PrescribedModel()
    replaced: tuple[tuple[Any, Any], ...] = (
        (transformers.AutoModelForCausalLM, model.module),
        (transformers.AutoTokenizer, model.tokenizer),
    )
    for loader, loaded in replaced:
        loader.from_pretrained = lambda *_, loaded=loaded, **__: loaded
    if find_spec("outlines"):
        share_indices()
    for line in records:
        record = json.loads(line)
        found = [
            outcome(model, record["program"], record["prompt"], text) for text in record["texts"]
        ]
        print(json.dumps(found), file=answers, flush=True)


if __name__ == "__main__":
    # What an engine writes to the standard output must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    answer(sys.stdin, answers)
