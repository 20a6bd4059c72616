"""Checks a request for a comparison and converts it to a typed one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.errors import WorkbenchError
from workbench.evaluate.contenders import Contender, chosen
from workbench.ui.requests import LONGEST_TRIED, TextRequest, number_in, text_in

#: What one comparison may ask for: the page has one model for all its visitors.
MOST_PROMPTS = 10
MOST_SEEDS = 30
MOST_TOKENS = 512
MOST_IN_ALL = 60_000


@dataclass(frozen=True, slots=True)
class CompareRequest:
    """A comparison as a visitor requests it."""

    #: The browser's own name for the comparison.
    run: str
    grammar: TextRequest
    prompts: tuple[str, ...]
    contenders: tuple[Contender, ...]
    seeds: tuple[int, ...]
    temperature: float
    max_tokens: int

    @staticmethod
    def of(sent: Mapping[str, Any]) -> CompareRequest:
        first = int(number_in(sent, "seed", 1, 0, 2**31 - 1 - MOST_SEEDS))
        count = int(number_in(sent, "seeds", 3, 1, MOST_SEEDS))
        request = CompareRequest(
            run=text_in(sent, "run", 64),
            grammar=TextRequest.of(sent),
            prompts=_prompts_in(sent),
            contenders=_contenders_in(sent),
            seeds=tuple(range(first, first + count)),
            temperature=number_in(sent, "temperature", 0.7, 0, 5),
            max_tokens=int(number_in(sent, "max_tokens", 64, 1, MOST_TOKENS)),
        )
        runs = len(request.prompts) * len(request.contenders) * count
        if (tokens := runs * request.max_tokens) > MOST_IN_ALL:
            raise WorkbenchError(
                f"{runs:,} runs of {request.max_tokens} tokens are {tokens:,} tokens;"
                f" this page takes at most {MOST_IN_ALL:,}",
                "choose fewer methods, seeds or tokens, or use workbench compare",
            )
        return request


def _prompts_in(sent: Mapping[str, Any]) -> tuple[str, ...]:
    """The prompts, each once.

    Raises: WorkbenchError where they are no list of texts, or too many.
    """
    prompts = sent.get("prompts", [""])
    if not isinstance(prompts, list):
        raise WorkbenchError("expected a list of prompts")
    texts = dict.fromkeys(text_in({"prompt": each}, "prompt", LONGEST_TRIED) for each in prompts)
    if len(texts) > MOST_PROMPTS:
        raise WorkbenchError(f"expected at most {MOST_PROMPTS} prompts, not {len(texts)}")
    return tuple(texts) or ("",)


def _contenders_in(sent: Mapping[str, Any]) -> tuple[Contender, ...]:
    """The methods, by their names.

    Raises: WorkbenchError for no method, and for an unknown one.
    """
    names = sent.get("methods", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise WorkbenchError("expected a list of methods by their names")
    return chosen(names)
