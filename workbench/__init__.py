"""The grammar workbench: grammars, their automata, and language models under their masks.

::

    import workbench as wb

    g = wb.Grammar.from_regex(r"(foo)+d")
    v = wb.Vocabulary((b"f", b"oo", b"foo", b"for", b"food", b"<end>"), end=5)
    c = wb.compile(g, v)
    c.mask(c.initial).ids                    # which tokens may come first
    c.advance(c.initial, 4)                  # the state after b"food"

Text goes one way: ``syntax`` reads it to a tree; ``automata`` and ``pushdown`` build a machine
over bytes; ``vocabulary`` knows tokens as bytes; the two meet in ``constraint``, whose masks
``decoding`` lays on a model's logits; ``drawing``, ``pipeline`` and ``ui`` show it. No floor looks
up.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.constraint.compile import compile
    from workbench.constraint.intersection import Intersection
    from workbench.constraint.label_reasons import label_reason
    from workbench.constraint.mask import TokenMask
    from workbench.constraint.protocol import Constraint
    from workbench.decoding.engine import Advance, Engine
    from workbench.decoding.generate import generate
    from workbench.decoding.healing import heal
    from workbench.decoding.logits_processor import LogitsProcessor
    from workbench.decoding.opportunistic import Opportunistic
    from workbench.decoding.proposers import Counts, Forced
    from workbench.decoding.sampling import Sampling
    from workbench.decoding.speculative import speculative
    from workbench.decoding.strategy import Skipping, Speculating
    from workbench.decoding.template import Template
    from workbench.decoding.trace import Step, StopReason, Trace
    from workbench.decoding.transformers_model import TransformersModel
    from workbench.difference import Difference, equivalent
    from workbench.errors import (
        BuildError,
        LimitError,
        ModelError,
        ParseError,
        TokenNotAllowed,
        VocabularyError,
        WorkbenchError,
    )
    from workbench.explanation import Explanation, explain, explain_id
    from workbench.grammar import Grammar, Verdict
    from workbench.limits import Limits
    from workbench.vocabulary.vocabulary import Vocabulary

__version__ = "0.1.0"

#: Where each public name lives; imported when it is first asked for, so that the command line
#: and the page start without torch.
_HOMES = {
    "compile": "constraint.compile",
    "Intersection": "constraint.intersection",
    "label_reason": "constraint.label_reasons",
    "TokenMask": "constraint.mask",
    "Constraint": "constraint.protocol",
    "Advance": "decoding.engine",
    "Engine": "decoding.engine",
    "generate": "decoding.generate",
    "heal": "decoding.healing",
    "LogitsProcessor": "decoding.logits_processor",
    "Opportunistic": "decoding.opportunistic",
    "Counts": "decoding.proposers",
    "Forced": "decoding.proposers",
    "Sampling": "decoding.sampling",
    "speculative": "decoding.speculative",
    "Skipping": "decoding.strategy",
    "Speculating": "decoding.strategy",
    "Template": "decoding.template",
    "Step": "decoding.trace",
    "StopReason": "decoding.trace",
    "Trace": "decoding.trace",
    "TransformersModel": "decoding.transformers_model",
    "Difference": "difference",
    "equivalent": "difference",
    "BuildError": "errors",
    "LimitError": "errors",
    "ModelError": "errors",
    "ParseError": "errors",
    "TokenNotAllowed": "errors",
    "VocabularyError": "errors",
    "WorkbenchError": "errors",
    "Explanation": "explanation",
    "explain": "explanation",
    "explain_id": "explanation",
    "Grammar": "grammar",
    "Verdict": "grammar",
    "Limits": "limits",
    "Vocabulary": "vocabulary.vocabulary",
}

__all__ = [
    "Advance",
    "BuildError",
    "Constraint",
    "Counts",
    "Difference",
    "Engine",
    "Explanation",
    "Forced",
    "Grammar",
    "Intersection",
    "LimitError",
    "Limits",
    "LogitsProcessor",
    "ModelError",
    "Opportunistic",
    "ParseError",
    "Sampling",
    "Skipping",
    "Speculating",
    "Step",
    "StopReason",
    "Template",
    "TokenMask",
    "TokenNotAllowed",
    "Trace",
    "TransformersModel",
    "Verdict",
    "Vocabulary",
    "VocabularyError",
    "WorkbenchError",
    "compile",
    "equivalent",
    "explain",
    "explain_id",
    "generate",
    "heal",
    "label_reason",
    "speculative",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401  # whatever the name stands for
    if name not in _HOMES:
        raise AttributeError(f"module 'workbench' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"workbench.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
