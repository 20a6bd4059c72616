"""The registry of exports: notations, and Python programs that generate under a grammar.

Each gets the notation it takes best, the whole grammar in it. What is a JSON Schema goes to other
engines as it is: each reads it in its own way.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

from workbench.base.errors import BuildError, WorkbenchError
from workbench.grammar.export.as_regex import write_regex
from workbench.grammar.export.writers import rewritten_lark, write_gbnf, write_kbnf, write_lark
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation


def quoted(text: str) -> str:
    """A Python literal that is exactly this text, raw where that reads better."""
    raw = "\\" in text or "\n" in text
    if text.isprintable() or text.replace("\n", "").replace("\t", "").isprintable():
        prefix = "r" if "\\" in text else ""
        marks = ('"""', "'''") if "\n" in text else ('"', "'")
        for mark in marks if raw or '"' in text else ():
            literal = f"{prefix}{mark}{text}{mark}"
            try:
                if ast.literal_eval(literal) == text:
                    return literal
            except (SyntaxError, ValueError):
                continue
    plain = repr(text)
    # the house writes double quotes where either will do
    return f'"{plain[1:-1]}"' if plain[0] == "'" and '"' not in plain else plain


#: What the programs load where nothing else is asked for, and what they ask it.
MODEL = "mistralai/Mistral-7B-Instruct-v0.3"
PROMPT = "Answer in the format of the grammar.\n"
_TOKENS = 256
#: A longer regex is no easier to read than rules.
_SHORT = 2_000

_TRANSFORMERS = """\
from transformers import AutoModelForCausalLM, AutoTokenizer
"""
_LOADED = """\
tokenizer = AutoTokenizer.from_pretrained(MODEL)
model = AutoModelForCausalLM.from_pretrained(MODEL)
"""
_PRINTED = """\
print(tokenizer.decode(output[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True))
"""


def _head(kind: str, text: str, model: str, prompt: str) -> str:
    """The constants a program begins with."""
    return f"MODEL = {quoted(model)}\nPROMPT = {quoted(prompt)}\n{kind} = {quoted(text)}\n"


def transformers(grammar: Grammar, model: str = MODEL, prompt: str = PROMPT) -> str:
    """Transformers' ``generate`` with this library as its logits processor; exact."""
    start = "" if grammar.start == "start" else f", {quoted(grammar.start)}"
    if grammar.notation in (Notation.REGEX, Notation.JSON_SCHEMA, Notation.DATACLASS):
        start = ""  # they have no start symbol
    elif grammar.notation is Notation.GBNF and grammar.start == "root":
        start = ""
    return f"""\
{_TRANSFORMERS}
import workbench as wb

{_head("GRAMMAR", grammar.source.text, model, prompt)}
{_LOADED}
grammar = wb.Grammar.from_{grammar.notation}(GRAMMAR{start})
constraint = wb.compile(grammar, wb.Vocabulary.load(MODEL))

inputs = tokenizer(PROMPT, return_tensors="pt")
output = model.generate(
    **inputs, max_new_tokens={_TOKENS}, logits_processor=[wb.LogitsProcessor(constraint)]
)
{_PRINTED}"""


def vllm(grammar: Grammar, model: str = MODEL, prompt: str = PROMPT) -> str:
    """vLLM's structured outputs: GBNF, which its xgrammar and its guidance both read."""
    kind, text = _schema(grammar) or ("GRAMMAR", write_gbnf(grammar))
    argument = "json=json.loads(SCHEMA)" if kind == "SCHEMA" else "grammar=GRAMMAR"
    head = "import json\n\n" if kind == "SCHEMA" else ""
    return f"""\
{head}from vllm import LLM, SamplingParams
from vllm.sampling_params import StructuredOutputsParams

{_head(kind, text, model, prompt)}
llm = LLM(model=MODEL)
sampling = SamplingParams(
    max_tokens={_TOKENS}, structured_outputs=StructuredOutputsParams({argument})
)
print(llm.generate(PROMPT, sampling)[0].outputs[0].text)
"""


def xgrammar(grammar: Grammar, model: str = MODEL, prompt: str = PROMPT) -> str:
    """xgrammar as a logits processor of transformers' ``generate``: its EBNF is GBNF."""
    kind, text = _schema(grammar) or ("GRAMMAR", write_gbnf(grammar))
    method = "compile_json_schema" if kind == "SCHEMA" else "compile_grammar"
    return f"""\
import xgrammar as xgr
{_TRANSFORMERS}
{_head(kind, text, model, prompt)}
{_LOADED}
size = model.config.vocab_size
compiler = xgr.GrammarCompiler(xgr.TokenizerInfo.from_huggingface(tokenizer, vocab_size=size))
processor = xgr.contrib.hf.LogitsProcessor(compiler.{method}({kind}))

inputs = tokenizer(PROMPT, return_tensors="pt")
output = model.generate(**inputs, max_new_tokens={_TOKENS}, logits_processor=[processor])
{_PRINTED}"""


def llguidance(grammar: Grammar, model: str = MODEL, prompt: str = PROMPT) -> str:
    """llguidance, token by token: a regex where there is one, else Lark."""
    kind, text = _schema(grammar) or _regex_or_lark(grammar)
    method = {"SCHEMA": "json_schema", "REGEX": "regex", "GRAMMAR": "lark"}[kind]
    return f"""\
import llguidance.hf
import llguidance.torch
import torch
{_TRANSFORMERS}
{_head(kind, text, model, prompt)}
{_LOADED}
size = model.config.vocab_size
tokens = llguidance.hf.from_tokenizer(tokenizer, n_vocab=size)
matcher = llguidance.LLMatcher(tokens, llguidance.LLMatcher.grammar_from_{method}({kind}))
mask = llguidance.torch.allocate_token_bitmask(1, size)

ids = tokenizer(PROMPT, return_tensors="pt")["input_ids"]
begin = ids.shape[1]
while ids.shape[1] < begin + {_TOKENS} and not matcher.is_stopped():
    with torch.no_grad():
        logits = model(ids).logits[:, -1, :]
    llguidance.torch.fill_next_token_bitmask(matcher, mask)
    llguidance.torch.apply_token_bitmask_inplace(logits, mask)
    token = int(logits.argmax())
    matcher.consume_token(token)
    ids = torch.cat([ids, torch.tensor([[token]])], dim=1)
print(tokenizer.decode(ids[0, begin:], skip_special_tokens=True))
"""


def outlines(grammar: Grammar, model: str = MODEL, prompt: str = PROMPT) -> str:
    """Outlines: a regex where there is one, else Lark."""
    kind, text = _schema(grammar) or _regex_or_lark(grammar)
    type_ = {"SCHEMA": "JsonSchema", "REGEX": "Regex", "GRAMMAR": "CFG"}[kind]
    return f"""\
import outlines
from outlines.types import {type_}
{_TRANSFORMERS}
{_head(kind, text, model, prompt)}
model = outlines.from_transformers(
    AutoModelForCausalLM.from_pretrained(MODEL), AutoTokenizer.from_pretrained(MODEL)
)
print(model(PROMPT, {type_}({kind}), max_new_tokens={_TOKENS}))
"""


def _schema(grammar: Grammar) -> tuple[str, str] | None:
    if grammar.notation is not Notation.JSON_SCHEMA:
        return None
    return "SCHEMA", grammar.source.text


def _regex_or_lark(grammar: Grammar) -> tuple[str, str]:
    """A regex every dialect reads alike, where the language has one of some lines."""
    try:
        return "REGEX", write_regex(grammar, longest=_SHORT, dialect=None)
    except BuildError:
        return "GRAMMAR", rewritten_lark(grammar)


#: By the word ``--to`` takes: what people call it, and what writes it.
PROGRAMS: dict[str, tuple[str, Callable[..., str]]] = {
    "transformers": ("Python: transformers with this library", transformers),
    "vllm": ("Python: vLLM", vllm),
    "llguidance": ("Python: llguidance", llguidance),
    "xgrammar": ("Python: xgrammar", xgrammar),
    "outlines": ("Python: Outlines", outlines),
}


@dataclass(frozen=True, slots=True)
class Export:
    """One thing to write."""

    #: What people call it.
    title: str
    #: How the name of its file ends.
    suffix: str
    write: Callable[..., str]


#: By the word ``--to`` takes.
EXPORTS: dict[str, Export] = {
    "kbnf": Export("KBNF", ".kbnf", write_kbnf),
    "gbnf": Export("GBNF", ".gbnf", write_gbnf),
    "lark": Export("Lark", ".lark", write_lark),
    "regex": Export("Regex", ".regex", write_regex),
    **{name: Export(title, ".py", write) for name, (title, write) in PROGRAMS.items()},
}


def named_by_suffix(name: str) -> str | None:
    """What a file of this name is written as; of several the first."""
    return next((word for word, one in EXPORTS.items() if name.endswith(one.suffix)), None)


def export(grammar: Grammar, notation: str, **options: object) -> str:
    """A grammar as text in another notation, or as a program.

    ``options`` are those of the writer: ``start`` or ``root`` of rules, ``longest`` of a regex,
    ``model`` and ``prompt`` of a program.

    Raises: WorkbenchError for a notation there is none of; BuildError for what it cannot say, at
            its place; LimitError.
    """
    if notation not in EXPORTS:
        known = ", ".join(EXPORTS)
        raise WorkbenchError(f"expected one of {known}, not {notation!r}")
    return EXPORTS[notation].write(grammar, **options)
