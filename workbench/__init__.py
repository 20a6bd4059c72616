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
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.analysis.advice import Lint, lint
    from workbench.analysis.difference import Difference, equivalent
    from workbench.analysis.exercise import Exercise, Graded, GrammarText
    from workbench.analysis.explain import Explanation, explain, explain_id
    from workbench.analysis.in_words import in_words
    from workbench.analysis.parse_trees import ParseNode, ParseTrees, parse_trees
    from workbench.analysis.problems import problems
    from workbench.analysis.random_texts import samples
    from workbench.analysis.sentences import Wording
    from workbench.app.exercises.exercise_reader import load_exercise
    from workbench.app.notebook import Shown, replay, show
    from workbench.audits.auditor import audit
    from workbench.audits.findings import Audit
    from workbench.base.diagnostics import Advice, Problem
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
    from workbench.constraint.mask_answers import Reason, label_reason
    from workbench.constraint.masks import TokenMask
    from workbench.constraint.monitored import Monitored
    from workbench.constraint.protocol import Constraint
    from workbench.constraint.reasoning import Reasoning
    from workbench.constraint.token_machine import Capability, TokenMachine
    from workbench.constraint.within_budget import WithinBudget
    from workbench.decoding.adaptive_sampling import Asap, Cars
    from workbench.decoding.blocks import (
        Block,
        BlockModel,
        BlockStep,
        MixtureModel,
        best_block,
        generate_blocks,
    )
    from workbench.decoding.generate import Generation, generate, generate_batch
    from workbench.decoding.kbnf_engine import Advance, Engine
    from workbench.decoding.logits_processor import LogitsProcessor
    from workbench.decoding.model import ChatModel, LanguageModel, Message, Session
    from workbench.decoding.opportunistic_masking import OpportunisticMasking
    from workbench.decoding.particles import Awrs, Particles, Population
    from workbench.decoding.reading import Reading, read_text
    from workbench.decoding.retokenize import Healed, heal, infilling_prompt
    from workbench.decoding.sampling import Sampling
    from workbench.decoding.speculative import (
        CountProposer,
        CoupledSpeculation,
        DraftSpeculation,
        ForcedProposer,
    )
    from workbench.decoding.strategy import JumpForward, Proposer, Speculation, Strategy
    from workbench.decoding.template import Template
    from workbench.decoding.trace import Step, StopReason, Trace
    from workbench.decoding.transformers_model import TransformersModel, load_model
    from workbench.drawing.drawable import Drawn, draw
    from workbench.grammar.export.registry import export
    from workbench.grammar.fill import fill
    from workbench.grammar.find import find
    from workbench.grammar.grammar import Grammar
    from workbench.grammar.monitors.monitor import Monitor
    from workbench.grammar.notations import Notation
    from workbench.grammar.recognition import Verdict
    from workbench.grammar.tool_calls import ToolCall, tool_calls
    from workbench.schema.json_schema import json_regex
    from workbench.vocabulary.vocabulary import Vocabulary

__version__ = "0.1.0"

#: Where each public name lives; imported when it is first asked for, so that the command line
#: and the page start without torch.
_HOMES = {
    "Lint": "analysis.advice",
    "lint": "analysis.advice",
    "Difference": "analysis.difference",
    "equivalent": "analysis.difference",
    "Exercise": "analysis.exercise",
    "Graded": "analysis.exercise",
    "GrammarText": "analysis.exercise",
    "Explanation": "analysis.explain",
    "explain": "analysis.explain",
    "explain_id": "analysis.explain",
    "in_words": "analysis.in_words",
    "ParseNode": "analysis.parse_trees",
    "ParseTrees": "analysis.parse_trees",
    "parse_trees": "analysis.parse_trees",
    "problems": "analysis.problems",
    "samples": "analysis.random_texts",
    "Shown": "app.notebook",
    "replay": "app.notebook",
    "show": "app.notebook",
    "Wording": "analysis.sentences",
    "load_exercise": "app.exercises.exercise_reader",
    "BuildError": "base.errors",
    "LimitError": "base.errors",
    "ModelError": "base.errors",
    "ParseError": "base.errors",
    "Problem": "base.diagnostics",
    "TokenNotAllowed": "base.errors",
    "VocabularyError": "base.errors",
    "WorkbenchError": "base.errors",
    "Limits": "base.limits",
    "Advice": "base.diagnostics",
    "Intersection": "constraint.combined",
    "compile": "constraint.compile",
    "Reason": "constraint.mask_answers",
    "label_reason": "constraint.mask_answers",
    "TokenMask": "constraint.masks",
    "Monitored": "constraint.monitored",
    "Constraint": "constraint.protocol",
    "Reasoning": "constraint.reasoning",
    "Capability": "constraint.token_machine",
    "TokenMachine": "constraint.token_machine",
    "WithinBudget": "constraint.within_budget",
    "Asap": "decoding.adaptive_sampling",
    "Cars": "decoding.adaptive_sampling",
    "Block": "decoding.blocks",
    "BlockModel": "decoding.blocks",
    "BlockStep": "decoding.blocks",
    "MixtureModel": "decoding.blocks",
    "best_block": "decoding.blocks",
    "generate_blocks": "decoding.blocks",
    "Generation": "decoding.generate",
    "generate": "decoding.generate",
    "generate_batch": "decoding.generate",
    "Reading": "decoding.reading",
    "read_text": "decoding.reading",
    "Advance": "decoding.kbnf_engine",
    "Engine": "decoding.kbnf_engine",
    "LogitsProcessor": "decoding.logits_processor",
    "ChatModel": "decoding.model",
    "LanguageModel": "decoding.model",
    "Message": "decoding.model",
    "Session": "decoding.model",
    "OpportunisticMasking": "decoding.opportunistic_masking",
    "Awrs": "decoding.particles",
    "Particles": "decoding.particles",
    "Population": "decoding.particles",
    "Healed": "decoding.retokenize",
    "heal": "decoding.retokenize",
    "infilling_prompt": "decoding.retokenize",
    "Sampling": "decoding.sampling",
    "CountProposer": "decoding.speculative",
    "ForcedProposer": "decoding.speculative",
    "CoupledSpeculation": "decoding.speculative",
    "DraftSpeculation": "decoding.speculative",
    "Proposer": "decoding.strategy",
    "JumpForward": "decoding.strategy",
    "Speculation": "decoding.strategy",
    "Strategy": "decoding.strategy",
    "Template": "decoding.template",
    "Step": "decoding.trace",
    "StopReason": "decoding.trace",
    "Trace": "decoding.trace",
    "TransformersModel": "decoding.transformers_model",
    "load_model": "decoding.transformers_model",
    "Drawn": "drawing.drawable",
    "draw": "drawing.drawable",
    "export": "grammar.export.registry",
    "fill": "grammar.fill",
    "find": "grammar.find",
    "Grammar": "grammar.grammar",
    "Monitor": "grammar.monitors.monitor",
    "Notation": "grammar.notations",
    "Verdict": "grammar.recognition",
    "ToolCall": "grammar.tool_calls",
    "tool_calls": "grammar.tool_calls",
    "audit": "audits.auditor",
    "Audit": "audits.findings",
    "json_regex": "schema.json_schema",
    "Vocabulary": "vocabulary.vocabulary",
}

__all__ = [
    "Advance",
    "Advice",
    "Asap",
    "Audit",
    "Awrs",
    "Block",
    "BlockModel",
    "BlockStep",
    "BuildError",
    "Capability",
    "Cars",
    "ChatModel",
    "Constraint",
    "CountProposer",
    "CoupledSpeculation",
    "Difference",
    "DraftSpeculation",
    "Drawn",
    "Engine",
    "Exercise",
    "Explanation",
    "ForcedProposer",
    "Generation",
    "Graded",
    "Grammar",
    "GrammarText",
    "Healed",
    "Intersection",
    "JumpForward",
    "LanguageModel",
    "LimitError",
    "Limits",
    "Lint",
    "LogitsProcessor",
    "Message",
    "MixtureModel",
    "ModelError",
    "Monitor",
    "Monitored",
    "Notation",
    "OpportunisticMasking",
    "ParseError",
    "ParseNode",
    "ParseTrees",
    "Particles",
    "Population",
    "Problem",
    "Proposer",
    "Reading",
    "Reason",
    "Reasoning",
    "Sampling",
    "Session",
    "Shown",
    "Speculation",
    "Step",
    "StopReason",
    "Strategy",
    "Template",
    "TokenMachine",
    "TokenMask",
    "TokenNotAllowed",
    "ToolCall",
    "Trace",
    "TransformersModel",
    "Verdict",
    "Vocabulary",
    "VocabularyError",
    "WithinBudget",
    "Wording",
    "WorkbenchError",
    "audit",
    "best_block",
    "compile",
    "draw",
    "equivalent",
    "explain",
    "explain_id",
    "export",
    "fill",
    "find",
    "generate",
    "generate_batch",
    "generate_blocks",
    "heal",
    "in_words",
    "infilling_prompt",
    "json_regex",
    "label_reason",
    "lint",
    "load_exercise",
    "load_model",
    "parse_trees",
    "problems",
    "read_text",
    "replay",
    "samples",
    "show",
    "tool_calls",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401  # whatever the name stands for
    if name not in _HOMES:
        raise AttributeError(f"module 'workbench' has no attribute {name!r}")
    from workbench.base.extras import extras_named

    with extras_named():
        value = getattr(importlib.import_module(f"workbench.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


def _display_in_notebooks() -> None:
    """Register the displays of ``app.notebook`` with IPython, if it runs this code."""
    get_shell = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = get_shell() if get_shell is not None else None
    if shell is not None:
        from workbench.app.notebook import load_ipython_extension

        load_ipython_extension(shell)


_display_in_notebooks()
