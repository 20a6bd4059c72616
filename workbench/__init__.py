"""The grammar workbench: grammars, their automata, and language models under their masks.

::

    import workbench as wb

    g = wb.Grammar.from_regex(r"(foo)+d")
    v = wb.Vocabulary((b"f", b"oo", b"foo", b"for", b"food", b"<end>"), end=5)
    c = wb.compile(g, v)
    c.mask(c.initial).ids                    # which tokens may come first
    c.advance(c.initial, 4)                  # the state after b"food"

``syntax`` parses texts to trees; ``automata`` and ``pushdown`` build machines over bytes;
``vocabulary`` holds tokens as bytes; ``constraint`` combines both into masks, which ``decoding``
applies to a model's logits; ``drawing`` and ``app`` show it. Imports go one way.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.analysis.difference import Difference, equivalent
    from workbench.analysis.explain import Explanation, explain, explain_id
    from workbench.base.errors import (
        BuildError,
        LimitError,
        ModelError,
        ParseError,
        TokenNotAllowed,
        VocabularyError,
        WorkbenchError,
    )
    from workbench.base.limits import Limits
    from workbench.constraint.combined import Intersection
    from workbench.constraint.compile import compile
    from workbench.constraint.label_reasons import label_reason
    from workbench.constraint.mask import TokenMask
    from workbench.constraint.protocol import Constraint
    from workbench.decoding.generate import generate
    from workbench.decoding.kbnf_engine import Advance, Engine
    from workbench.decoding.logits_processor import LogitsProcessor
    from workbench.decoding.opportunistic import Opportunistic
    from workbench.decoding.retokenize import heal
    from workbench.decoding.sampling import Sampling
    from workbench.decoding.speculative import Counts, Forced, speculative
    from workbench.decoding.strategy import Skipping, Speculating
    from workbench.decoding.template import Template
    from workbench.decoding.trace import Step, StopReason, Trace
    from workbench.decoding.transformers_model import TransformersModel
    from workbench.grammar.grammar import Grammar
    from workbench.grammar.recognition import Verdict
    from workbench.vocabulary.vocabulary import Vocabulary

__version__ = "0.1.0"

#: Where each public name lives; imported when it is first asked for, so that the command line
#: and the page start without torch.
_HOMES = {
    "Difference": "analysis.difference",
    "equivalent": "analysis.difference",
    "Explanation": "analysis.explain",
    "explain": "analysis.explain",
    "explain_id": "analysis.explain",
    "BuildError": "base.errors",
    "LimitError": "base.errors",
    "ModelError": "base.errors",
    "ParseError": "base.errors",
    "TokenNotAllowed": "base.errors",
    "VocabularyError": "base.errors",
    "WorkbenchError": "base.errors",
    "Limits": "base.limits",
    "Intersection": "constraint.combined",
    "compile": "constraint.compile",
    "label_reason": "constraint.label_reasons",
    "TokenMask": "constraint.mask",
    "Constraint": "constraint.protocol",
    "generate": "decoding.generate",
    "Advance": "decoding.kbnf_engine",
    "Engine": "decoding.kbnf_engine",
    "LogitsProcessor": "decoding.logits_processor",
    "Opportunistic": "decoding.opportunistic",
    "heal": "decoding.retokenize",
    "Sampling": "decoding.sampling",
    "Counts": "decoding.speculative",
    "Forced": "decoding.speculative",
    "speculative": "decoding.speculative",
    "Skipping": "decoding.strategy",
    "Speculating": "decoding.strategy",
    "Template": "decoding.template",
    "Step": "decoding.trace",
    "StopReason": "decoding.trace",
    "Trace": "decoding.trace",
    "TransformersModel": "decoding.transformers_model",
    "Grammar": "grammar.grammar",
    "Verdict": "grammar.recognition",
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
