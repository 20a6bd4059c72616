"""The registry of exports: other notations, and Python programs that generate with a grammar.

Each program contains the whole grammar, in the notation that its engine supports best. A JSON
Schema is passed to other engines unchanged: each interprets it differently.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from dataclasses import dataclass

from workbench.base.dfa import DEAD, Dfa
from workbench.base.errors import BuildError, WorkbenchError
from workbench.grammar.export.regular import write_machine, write_regex, write_subsets
from workbench.grammar.export.writers import (
    rewritten_lark,
    standalone,
    write_gbnf,
    write_kbnf,
    write_lark,
)
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.pushdown.network import Network


def quoted(text: str) -> str:
    """A Python literal of this text, raw if that is more readable."""
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
    # prefer double quotes
    return f'"{plain[1:-1]}"' if plain[0] == "'" and '"' not in plain else plain


#: The default model and prompt of the programs.
MODEL = "mistralai/Mistral-7B-Instruct-v0.3"
PROMPT = "Answer in the format of the grammar.\n"
_TOKENS = 256
#: A longer regex is less readable than rules.
_MAX_READABLE_REGEX = 2_000

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
    """The constants at the head of a program."""
    return f"MODEL = {quoted(model)}\nPROMPT = {quoted(prompt)}\n{kind} = {quoted(text)}\n"


def constructor_call(notation: Notation, text: str, more: str = "") -> str:
    """Code that makes a grammar from the expression ``text``; ``more`` are further arguments."""
    if hasattr(Grammar, f"from_{notation}"):
        return f"wb.Grammar.from_{notation}({text}{more})"
    return f"wb.Grammar.from_text({text}, {quoted(notation)}{more})"


def transformers(grammar: Grammar, model: str = MODEL, prompt: str = PROMPT) -> str:
    """Transformers' ``generate`` with this library as its logits processor; exact."""
    grammar = standalone(grammar)
    start = "" if grammar.start == "start" else f", {quoted(grammar.start)}"
    if grammar.notation in (
        Notation.REGEX, Notation.JSON_SCHEMA, Notation.DATACLASS, Notation.MACHINE,
        Notation.STRUCTURAL_TAG,
    ):  # fmt: skip
        start = ""  # no start symbol
    elif grammar.notation is Notation.GBNF and grammar.start == "root":
        start = ""
    return f"""\
{_TRANSFORMERS}
import workbench as wb

{_head("GRAMMAR", grammar.source.text, model, prompt)}
{_LOADED}
grammar = {constructor_call(grammar.notation, "GRAMMAR", start)}
constraint = wb.compile(grammar, wb.Vocabulary.load(MODEL))

inputs = tokenizer(PROMPT, return_tensors="pt")
output = model.generate(
    **inputs, max_new_tokens={_TOKENS}, logits_processor=[wb.LogitsProcessor(constraint)]
)
{_PRINTED}"""


def vllm(grammar: Grammar, model: str = MODEL, prompt: str = PROMPT) -> str:
    """vLLM's structured outputs: GBNF, which both of its backends read, or a structural tag."""
    kind, text = _schema_or_tag(grammar) or ("GRAMMAR", write_gbnf(grammar))
    argument = {
        "SCHEMA": "json=json.loads(SCHEMA)",
        "TAG": "structural_tag=TAG",
        "GRAMMAR": "grammar=GRAMMAR",
    }[kind]
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
    kind, text = _schema_or_tag(grammar) or ("GRAMMAR", write_gbnf(grammar))
    method = {
        "SCHEMA": "compile_json_schema",
        "TAG": "compile_structural_tag",
        "GRAMMAR": "compile_grammar",
    }[kind]
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
    """llguidance, token by token: a regex if one can be written, else Lark."""
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
if matcher.is_error():
    raise ValueError(matcher.get_error())
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


def guidance(grammar: Grammar, model: str = MODEL, prompt: str = PROMPT) -> str:
    """guidance: a regex if one can be written, else Lark."""
    kind, text = _schema(grammar) or _regex_or_lark(grammar)
    call = {
        "SCHEMA": "json(schema=SCHEMA, whitespace_flexible=True",
        "REGEX": "regex(REGEX",
        "GRAMMAR": "lark(GRAMMAR",
    }[kind]
    return f"""\
import guidance
{_TRANSFORMERS}
{_head(kind, text, model, prompt)}
model = guidance.models.Transformers(
    AutoModelForCausalLM.from_pretrained(MODEL), AutoTokenizer.from_pretrained(MODEL), echo=False
)
grammar = guidance.{call}, name="text")
output = model + PROMPT + guidance.token_limit(grammar, {_TOKENS})
print(output["text"])
"""


def outlines(grammar: Grammar, model: str = MODEL, prompt: str = PROMPT) -> str:
    """Outlines: a regex if outlines-core reads it exactly, else Lark."""
    kind, text = _schema(grammar) or _outlines_regex_or_lark(grammar)
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
    if not grammar.is_written_in(Notation.JSON_SCHEMA):
        return None
    return "SCHEMA", grammar.source.text


def _schema_or_tag(grammar: Grammar) -> tuple[str, str] | None:
    """A schema or a structural tag, which the engine reads itself."""
    if grammar.is_written_in(Notation.STRUCTURAL_TAG):
        return "TAG", grammar.source.text
    return _schema(grammar)


def write_structural_tag(grammar: Grammar) -> str:
    """A structural tag: its own text, or one that contains the grammar as GBNF."""
    if grammar.is_written_in(Notation.STRUCTURAL_TAG):
        return grammar.source.text
    form = {"type": "grammar", "grammar": write_gbnf(grammar)}
    return _json({"type": "structural_tag", "format": form})


def request(grammar: Grammar, model: str = MODEL, prompt: str = PROMPT) -> str:
    """The body of a chat request to vLLM or SGLang, with a structural tag as response format."""
    tag = json.loads(write_structural_tag(grammar))
    messages = [{"role": "user", "content": prompt}]
    return _json(
        {"model": model, "messages": messages, "max_tokens": _TOKENS, "response_format": tag}
    )


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _regex_or_lark(grammar: Grammar) -> tuple[str, str]:
    """A short regex in the syntax common to all dialects, or else Lark."""
    try:
        return "REGEX", write_regex(grammar, longest=_MAX_READABLE_REGEX, dialect=None)
    except BuildError:
        return "GRAMMAR", rewritten_lark(grammar)


def _outlines_regex_or_lark(grammar: Grammar) -> tuple[str, str]:
    """A regex of ASCII characters with ``$`` at its end, or else Lark.

    outlines-core 0.2 takes the first option that matches, so ``a|ab`` without ``$`` refuses "ab";
    with it, a regex that accepts the empty text is an error. It drops tokens that cut characters.
    """
    reader = grammar.dfa if isinstance(grammar.reader, Network) else grammar.reader
    if isinstance(reader, Dfa) and not reader.is_final(reader.initial):
        beyond_ascii = reader.table[:, reader.classes[0x80:256]]
        if (beyond_ascii == DEAD).all():
            kind, text = _regex_or_lark(grammar)
            return kind, f"(?:{text})$" if kind == "REGEX" else text
    return "GRAMMAR", rewritten_lark(grammar)


#: The title and the writer of each program, by the value of ``--to``.
PROGRAMS: dict[str, tuple[str, Callable[..., str]]] = {
    "transformers": ("Python: transformers with this library", transformers),
    "vllm": ("Python: vLLM", vllm),
    "llguidance": ("Python: llguidance", llguidance),
    "xgrammar": ("Python: xgrammar", xgrammar),
    "guidance": ("Python: guidance", guidance),
    "outlines": ("Python: Outlines", outlines),
}


@dataclass(frozen=True, slots=True)
class Export:
    """An export format."""

    #: The name to display.
    title: str
    #: The file name suffix.
    suffix: str
    write: Callable[..., str]


#: The export formats, by the value of ``--to``.
EXPORTS: dict[str, Export] = {
    "kbnf": Export("KBNF", ".kbnf", write_kbnf),
    "gbnf": Export("GBNF", ".gbnf", write_gbnf),
    "lark": Export("Lark", ".lark", write_lark),
    "regex": Export("Regex", ".regex", write_regex),
    "machine": Export("Machine (deterministic, minimal)", ".fsa", write_machine),
    "subsets": Export("Machine (deterministic, sets of states)", ".fsa", write_subsets),
    "structural_tag": Export("Structural tag", ".tag.json", write_structural_tag),
    "request": Export("Request for vLLM or SGLang (JSON)", ".request.json", request),
    **{name: Export(title, ".py", write) for name, (title, write) in PROGRAMS.items()},
}


def named_by_suffix(name: str) -> str | None:
    """The first export format whose suffix a file name has."""
    return next((word for word, one in EXPORTS.items() if name.endswith(one.suffix)), None)


def export(grammar: Grammar, notation: str, **options: object) -> str:
    """A grammar as text in another notation, or as a program.

    ``notation``  ``kbnf``, ``gbnf``, ``lark``, ``regex``, ``machine`` or ``structural_tag``;
                  ``subsets`` of a drawn machine; ``request``, the body of a chat request to
                  vLLM or SGLang; or the library of a Python program that generates with the
                  grammar: ``transformers``, ``vllm``, ``llguidance``, ``xgrammar``, ``guidance``,
                  ``outlines``.
    ``options``   of the writer: ``start`` or ``root``, the name of the first rule; ``longest``, the
                  most characters of a regex; ``states``, the most states of a machine; ``model``
                  and ``prompt`` of a program.

    The text accepts the same language; a JSON Schema is passed to programs unchanged.

    Raises: WorkbenchError for an unknown notation; BuildError with the span of what the notation
            cannot express; LimitError.
    """
    if notation not in EXPORTS:
        known = ", ".join(EXPORTS)
        raise WorkbenchError(f"expected one of {known}, not {notation!r}")
    return EXPORTS[notation].write(grammar, **options)
