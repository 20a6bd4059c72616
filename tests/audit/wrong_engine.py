"""An engine with mistakes: the exact one, on a constraint or with masks that a ``title`` changes."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from lab.bench.peers.ours import Ours
from workbench.audits.engines import AuditedEngine
from workbench.base.limits import LOCAL_LIMITS
from workbench.constraint.engine.automaton import automaton
from workbench.engines.case import Case
from workbench.engines.peer import Compiled
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.vocabulary import Vocabulary

#: A schema's ``$comment`` → the options of its reading.
OPTIONS: dict[str, dict[str, Any]] = {
    "compact": {"whitespace": "compact"},
    "any order": {"order": "any"},
    "no formats": {"format": "annotation"},
}
#: The token that masks of the engine lack for ``$comment`` "no token".
LACKING = b"true"


def wrong_schema(schema: Any) -> Any:
    """The schema as this engine understands it: no maximum, numbers are not negative, closed."""
    if isinstance(schema, list):
        return [wrong_schema(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: wrong_schema(each) for name, each in schema.items() if name != "maximum"}
    if found.get("type") == "number":
        found["minimum"] = 0
    if schema.get("$comment") == "closed":
        found["additionalProperties"] = False
    if schema.get("$comment") == "objects":
        found["type"] = "object"
    return found


class Wrong(Ours):
    """Reads schemas and regexes; a regex's "x" is left out, and its "y" may be missing."""

    lacks = False

    def compiler(self, case: Case) -> Callable[[], Compiled] | None:
        if case.schema is not None:
            return lambda: self._of_schema(json.loads(case.schema or ""))
        if case.regex is not None:
            pattern = case.regex.replace("|x", "").replace("y", "y?")
            return lambda: automaton(Grammar.from_regex(pattern), self.vocabulary, LOCAL_LIMITS)
        return None

    def _of_schema(self, schema: Any) -> Compiled:
        comment = schema.get("$comment", "") if isinstance(schema, dict) else ""
        if comment == "refuse":
            raise ValueError("keyword $comment is not supported")
        if comment == "crash":
            os._exit(3)
        if comment == "hang":
            time.sleep(60)
        self.lacks = comment == "no token"
        text = json.dumps(wrong_schema(schema))
        grammar = Grammar.from_json_schema(text, **OPTIONS.get(comment, {}))
        return automaton(grammar, self.vocabulary, LOCAL_LIMITS)

    def bits(self) -> npt.NDArray[np.uint32]:
        found = super().bits()
        if self.lacks:
            for token in self.vocabulary.ids_of.get(LACKING, ()):
                found[token >> 5] &= ~np.uint32(1 << (token & 31))
        return found


def is_allowed(text: str, so_far: list[bytes], tokens: list[bytes], wanted: int) -> bool:
    """Whether the mask of this engine allows a token: what its programs call."""
    end = len(tokens) - 1
    engine = Wrong(Vocabulary([*tokens[:-1], None], end=end))
    is_schema = text.startswith(("{", "true", "false"))
    compile_ = engine.compiler(Case("", "", schema=text) if is_schema else Case("", "", regex=text))
    assert compile_ is not None
    walker = engine.start(compile_())
    for token in so_far:
        walker.mask()
        walker.advance(tokens.index(token))
    walker.mask()
    return bool(engine.bits()[wanted >> 5] >> (wanted & 31) & 1)


WRONG = AuditedEngine(
    "wrong",
    "pytest",  # installed for certain
    "tests.audit.wrong_engine:Wrong",
    "from tests.audit.wrong_engine import is_allowed",
    "allowed = is_allowed({read}, SO_FAR, tokens, wanted)\n",
    {"schema": "TEXT", "regex": "TEXT", "grammar": "TEXT"},
)
