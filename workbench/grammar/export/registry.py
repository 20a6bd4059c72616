"""The registry of exports: other notations, and Python programs that generate with a grammar.

Each program contains the whole grammar, in the notation that its engine supports best. A JSON
Schema is passed to other engines unchanged: each interprets it differently.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any

from workbench.base.arguments import checked
from workbench.base.dfa import DEAD, Dfa
from workbench.base.diagnostics import suggestion
from workbench.base.errors import ArgumentValueError, BuildError, LimitError
from workbench.base.limits import time_budget
from workbench.grammar.export.machine_text_export import write_machine, write_subsets
from workbench.grammar.export.regular import write_regex
from workbench.grammar.export.writers import (
    rewritten_lark,
    standalone,
    write_gbnf,
    write_kbnf,
    write_lark,
)
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation, generation_options
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
#: A longer call has one argument a line.
_MAX_CALL_LENGTH = 80
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


#: What the constructor of a notation calls the arguments of ``Grammar.from_text``.
_ARGUMENTS: dict[Notation, dict[str, str]] = {
    Notation.GBNF: {"start": "root"},
}


def constructor_call(notation: Notation, text: str, options: Mapping[str, Any]) -> str:
    """Code that makes a grammar from the expression ``text``; ``options``: ``Grammar.options``."""
    constructor = getattr(Grammar, f"from_{notation}", None)
    names = _ARGUMENTS.get(notation, {})
    given = {names.get(name, name): value for name, value in options.items()}
    if constructor is not None and given.keys() <= signature(constructor).parameters.keys():
        return f"wb.Grammar.from_{notation}({text}{_keywords(given)})"
    return f"wb.Grammar.from_text({text}, {quoted(notation.value)}{_keywords(options)})"


def written_grammar(code: str, notation: Notation, text: str, options: Mapping[str, Any]) -> str:
    """Code of the grammar that a model writes: that of ``code``, JSON with one space."""
    is_same = generation_options(text, notation, options) is options
    return code if is_same else f"{code}.for_generation"


def _keywords(options: Mapping[str, Any]) -> str:
    """Options as further arguments of a call."""
    return "".join(f", {name}={_literal(value)}" for name, value in options.items())


def _literal(value: object) -> str:
    """A Python literal of an option."""
    if isinstance(value, Mapping):
        return (
            f"{{{', '.join(f'{_literal(key)}: {_literal(each)}' for key, each in value.items())}}}"
        )
    if isinstance(value, tuple):
        return f"({', '.join(map(_literal, value))})"
    return quoted(value) if isinstance(value, str) else repr(value)


#: The separators of items, and of a name and its value, of each layout without free white space.
_SEPARATORS = {"one space": (", ", ": "), "compact": (",", ":")}
#: By engine and layout: the arguments that give JSON this layout. Compared with xgrammar 0.2.9,
#: llguidance 1.9.1, guidance 0.3.1 and outlines-core 0.2.14. vLLM's option means one space in its
#: backend xgrammar and no space in its backend guidance.
_LAYOUTS: dict[str, dict[str, dict[str, Any]]] = {
    "vllm": {
        whitespace: {
            "structured_outputs_config": {"backend": backend, "disable_any_whitespace": True}
        }
        for whitespace, backend in (("one space", "xgrammar"), ("compact", "guidance"))
    },
    "llguidance": {
        whitespace: {
            "defaults": {
                "whitespace_flexible": False,
                "item_separator": item,
                "key_separator": key,
            }
        }
        for whitespace, (item, key) in _SEPARATORS.items()
    },
    "xgrammar": {
        **{
            whitespace: {"any_whitespace": False, "separators": separators}
            for whitespace, separators in _SEPARATORS.items()
        },
        **{f"indent {spaces}": {"any_whitespace": False, "indent": spaces} for spaces in (2, 4)},
    },
    "guidance": {
        "any": {"whitespace_flexible": True},
        **{name: {"separators": separators} for name, separators in _SEPARATORS.items()},
    },
    "outlines": {"compact": {"whitespace_pattern": ""}},
}
#: What a program for another engine leaves out, by the option of a JSON Schema.
_LEFT_OUT = {
    "whitespace": "the engine chooses the white space: the layout {!r} is left out",
    "order": "the engine chooses the order of properties: order={!r} is left out",
    "format": "the engine decides what 'format' means: format={!r} is left out",
    "spellings": "the engine chooses the spellings: spellings={!r} is left out",
    "closed": "the engine reads the schema as written: closed={!r} is left out",
    "unasserted": "the engine reads the schema as written: unasserted={!r} is left out",
    "documents": "the engine has only this schema: the other documents of $ref are left out",
}


def _layout(grammar: Grammar, engine: str) -> dict[str, Any]:
    """Further arguments of an engine's call that give a JSON Schema its layout."""
    if not grammar.is_written_in(Notation.JSON_SCHEMA):
        return {}
    chosen = grammar.options.get("whitespace", "any")
    if isinstance(chosen, int):
        return {"max_whitespace_cnt": chosen} if engine == "xgrammar" else {}
    return _LAYOUTS[engine].get(chosen, {})


def _call(function: str, argument: str, options: Mapping[str, Any]) -> str:
    """A call, with one argument a line if it is long."""
    code = f"{function}({argument}{_keywords(options)})"
    if len(code) <= _MAX_CALL_LENGTH:
        return code
    lines = [argument, *(f"{name}={_literal(value)}" for name, value in options.items())]
    return "\n".join([f"{function}(", *(f"    {line}," for line in lines), ")"])


def export_notes(grammar: Grammar, notation: str) -> tuple[str, ...]:
    """Which options of a JSON Schema the program for another engine leaves out, as sentences."""
    if notation not in _LAYOUTS or not grammar.is_written_in(Notation.JSON_SCHEMA):
        return ()
    return tuple(
        _LEFT_OUT[name].format(value)
        for name, value in grammar.options.items()
        if name in _LEFT_OUT and not (name == "whitespace" and _layout(grammar, notation))
    )


def transformers(grammar: Grammar, model: str = MODEL, prompt: str = PROMPT) -> str:
    """Transformers' ``generate`` with this library as its logits processor; exact."""
    grammar = standalone(grammar)
    text, notation = grammar.source.text, grammar.notation
    written = written_grammar("grammar", notation, text, grammar.options)
    return f"""\
{_TRANSFORMERS}
import workbench as wb

{_head("GRAMMAR", grammar.source.text, model, prompt)}
{_LOADED}
grammar = {constructor_call(grammar.notation, "GRAMMAR", grammar.options)}
constraint = wb.compile({written}, wb.Vocabulary.load(MODEL))

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
    layout = _layout(grammar, "vllm")
    head = "import json\n\n" if kind == "SCHEMA" else ""
    return f"""\
{head}from vllm import LLM, SamplingParams
from vllm.sampling_params import StructuredOutputsParams

{_head(kind, text, model, prompt)}
llm = {_call("LLM", "model=MODEL", layout)}
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
    layout = _layout(grammar, "xgrammar")
    return f"""\
import xgrammar as xgr
{_TRANSFORMERS}
{_head(kind, text, model, prompt)}
{_LOADED}
size = model.config.vocab_size
compiler = xgr.GrammarCompiler(xgr.TokenizerInfo.from_huggingface(tokenizer, vocab_size=size))
grammar = {_call(f"compiler.{method}", kind, layout)}
processor = xgr.contrib.hf.LogitsProcessor(grammar)

inputs = tokenizer(PROMPT, return_tensors="pt")
output = model.generate(**inputs, max_new_tokens={_TOKENS}, logits_processor=[processor])
{_PRINTED}"""


def llguidance(grammar: Grammar, model: str = MODEL, prompt: str = PROMPT) -> str:
    """llguidance, token by token: a regex if one can be written, else Lark."""
    kind, text = _schema(grammar) or _regex_or_lark(grammar)
    method = {"SCHEMA": "json_schema", "REGEX": "regex", "GRAMMAR": "lark"}[kind]
    layout = _layout(grammar, "llguidance")
    return f"""\
import llguidance.hf
import llguidance.torch
import torch
{_TRANSFORMERS}
{_head(kind, text, model, prompt)}
{_LOADED}
size = model.config.vocab_size
tokens = llguidance.hf.from_tokenizer(tokenizer, n_vocab=size)
grammar = {_call(f"llguidance.LLMatcher.grammar_from_{method}", kind, layout)}
matcher = llguidance.LLMatcher(tokens, grammar)
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
    layout = _layout(grammar, "guidance")
    function, argument = {
        "SCHEMA": ("json", "schema=SCHEMA"),
        "REGEX": ("regex", "REGEX"),
        "GRAMMAR": ("lark", "GRAMMAR"),
    }[kind]
    return f"""\
import guidance
{_TRANSFORMERS}
{_head(kind, text, model, prompt)}
model = guidance.models.Transformers(
    AutoModelForCausalLM.from_pretrained(MODEL), AutoTokenizer.from_pretrained(MODEL), echo=False
)
grammar = {_call(f"guidance.{function}", argument, {**layout, "name": "text"})}
output = model + PROMPT + guidance.token_limit(grammar, {_TOKENS})
print(output["text"])
"""


def outlines(grammar: Grammar, model: str = MODEL, prompt: str = PROMPT) -> str:
    """Outlines: a regex if outlines-core reads it exactly, else Lark."""
    kind, text = _schema(grammar) or _outlines_regex_or_lark(grammar)
    type_ = {"SCHEMA": "JsonSchema", "REGEX": "Regex", "GRAMMAR": "CFG"}[kind]
    layout = _layout(grammar, "outlines")
    return f"""\
import outlines
from outlines.types import {type_}
{_TRANSFORMERS}
{_head(kind, text, model, prompt)}
model = outlines.from_transformers(
    AutoModelForCausalLM.from_pretrained(MODEL), AutoTokenizer.from_pretrained(MODEL)
)
print(model(PROMPT, {_call(type_, kind, layout)}, max_new_tokens={_TOKENS}))
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
    return next((word for word, export in EXPORTS.items() if name.endswith(export.suffix)), None)


@checked
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

    The text accepts the same language; a JSON Schema is passed to programs unchanged, with its
    layout. Comments at the head of a program name the options of a schema that its engine has not.
    All stages share the seconds of the grammar's limits.

    Raises: WorkbenchError for an unknown notation; BuildError with the span of what the notation
            cannot express; LimitError.
    """
    if notation not in EXPORTS:
        names = ", ".join(EXPORTS)
        hint, _ = suggestion(notation, EXPORTS, f"choose one of {names}")
        raise ArgumentValueError(f"there is no notation {notation!r} to write", hint)
    with time_budget(grammar.limits.seconds):
        notes = "".join(f"# {note}\n" for note in export_notes(grammar, notation))
        try:
            return notes + EXPORTS[notation].write(grammar, **options)
        except RecursionError:
            message = "the text would be nested deeper than can be written"
            raise LimitError(message, "stack_depth", "simplify the grammar") from None
