"""Programs that repeat what the page does: Python, ``transformers``, shell, API client.

Each runs as printed: the library's own loop, transformers' ``generate`` with the constraint
as a logits processor, a line for the shell, a client of this page.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.errors import WorkbenchError
from workbench.export.quoting import quoted as quoted
from workbench.gallery import Gallery
from workbench.pipeline import Notation
from workbench.ui.models import BUILTIN, TOY
from workbench.ui.requests import RunRequest, text_in

#: The default address of the page.
_ADDRESS = "http://127.0.0.1:7860/"

#: Tests written out as assertions.
_MOST_TESTS = 50


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the code is to do."""

    run: RunRequest
    model: str
    #: Texts with whether they have to be accepted.
    tests: tuple[tuple[str, bool], ...]
    address: str
    #: The example of the gallery that says all of it by its name, or empty.
    example: str

    @staticmethod
    def of(sent: Mapping[str, Any], gallery: Gallery) -> Wanted:
        run = RunRequest.of(sent)
        name = text_in(sent, "model", 400) or BUILTIN
        return Wanted(
            run,
            BUILTIN if name == TOY else name,
            _tests(sent.get("tests", [])),
            text_in(sent, "address", 400) or _ADDRESS,
            _example(run, text_in(sent, "example", 80), gallery),
        )


def _tests(sent: object) -> tuple[tuple[str, bool], ...]:
    if not isinstance(sent, list):
        raise WorkbenchError("expected a list of tests")
    wanted = {"accept": True, "reject": False}
    return tuple(
        (text_in(test, "text", 5_000), wanted[test["expect"]])
        for test in sent[:_MOST_TESTS]
        if isinstance(test, dict) and test.get("expect") in wanted
    )


def _example(run: RunRequest, name: str, gallery: Gallery) -> str:
    """The name, where the grammar and the tokens of that example are those of the page."""
    if name not in gallery:
        return ""
    example, asked = gallery[name], run.grammar
    same = (example.text.rstrip("\n"), example.notation, example.start, "") == (
        asked.text.rstrip("\n"),
        asked.notation.value,
        asked.start,
        asked.style,
    )
    return name if same and (run.small_tokens or not example.small_tokens) else ""


def _grammar(wanted: Wanted, text: str = "GRAMMAR") -> str:
    asked = wanted.run.grammar
    if asked.notation is Notation.REGEX:
        return f"wb.Grammar.from_regex({text})"
    more = ""
    if asked.start != "start":
        more = f", {'root' if asked.notation is Notation.GBNF else 'start'}={quoted(asked.start)}"
    if asked.style:
        name = "whitespace" if asked.notation is Notation.JSON_SCHEMA else "style"
        more = f", {name}={quoted(asked.style)}"
    return f"wb.Grammar.from_{asked.notation}({text}{more})"


def _method(wanted: Wanted) -> str:
    method, small = wanted.run.method, ", small_tokens=True" * wanted.run.small_tokens
    options = "".join(f", {name}={value!r}" for name, value in wanted.run.options.items())
    return small if method == "automaton" else f", method={quoted(method)}{options}{small}"


def _head(wanted: Wanted) -> str:
    return f"GRAMMAR = {quoted(wanted.run.grammar.text)}\nPROMPT = {quoted(wanted.run.prompt)}\n"


def _assertions(wanted: Wanted) -> str:
    lines = [
        f"assert {'' if accepted else 'not '}grammar.accepts({quoted(text)})\n"
        for text, accepted in wanted.tests
    ]
    return "\n" * bool(lines) + "".join(lines)


def python(wanted: Wanted) -> str:
    """The run with the library alone."""
    run, sampling = wanted.run, wanted.run.sampling
    return f"""\
import workbench as wb

{_head(wanted)}
grammar = {_grammar(wanted)}
model = wb.TransformersModel({quoted(wanted.model)})
constraint = wb.compile(grammar, model.vocabulary{_method(wanted)})
sampling = wb.Sampling(temperature={sampling.temperature!r}, seed={sampling.seed})

generation = wb.generate(model, constraint, PROMPT, sampling, max_tokens={run.max_tokens})
for step in generation:
    print(step.token, f"kept {{step.kept:.1%}}", "forced" if step.forced else "")

print(generation.trace.text.decode("utf-8", "replace"))
print(f"perplexity {{generation.trace.perplexity:.2f}}")
{_assertions(wanted)}"""


def transformers(wanted: Wanted) -> str:
    """The run with transformers' own loop; the constraint is one of its logits processors."""
    run, sampling = wanted.run, wanted.run.sampling
    builtin = wanted.model == BUILTIN
    imports = "from workbench.resources import BUILTIN_MODEL\n" if builtin else ""
    where = "str(BUILTIN_MODEL)" if builtin else quoted(wanted.model)
    greedy = sampling.temperature == 0
    drawn = (
        "do_sample=False"
        if greedy
        else f"do_sample=True, temperature={sampling.temperature!r}, top_k=0"
    )
    seed = "" if greedy else f"set_seed({sampling.seed})\n"
    return f"""\
from transformers import AutoModelForCausalLM, AutoTokenizer, set_seed

import workbench as wb
{imports}
{_head(wanted)}
MODEL = {where}

tokenizer = AutoTokenizer.from_pretrained(MODEL)
model = AutoModelForCausalLM.from_pretrained(MODEL)
constraint = wb.compile({_grammar(wanted)}, wb.Vocabulary.load(MODEL){_method(wanted)})

{seed}\
inputs = tokenizer(PROMPT or tokenizer.eos_token, return_tensors="pt")
output = model.generate(
    **inputs,
    max_new_tokens={run.max_tokens},
    {drawn},
    logits_processor=[wb.LogitsProcessor(constraint)],
)
print(tokenizer.decode(output[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True))
"""


def shell(wanted: Wanted) -> str:
    """The run as one command."""
    run, sampling, asked = wanted.run, wanted.run.sampling, wanted.run.grammar
    words = ["workbench", "generate"]
    document = ""
    if wanted.example:
        words += ["--example", wanted.example]
    elif asked.notation is Notation.REGEX:
        words += ["--regex", asked.text]
    else:
        words += ["--" + asked.notation.replace("_", "-"), "-"]
        document = _document(asked.text)
        if asked.start != "start":
            words += ["--start", asked.start]
        if asked.style:
            words += ["--style", asked.style]
    words += ["--prompt", run.prompt, "--max-tokens", str(run.max_tokens)]
    words += ["--temperature", repr(sampling.temperature), "--seed", str(sampling.seed)]
    if run.method != "automaton":
        words += ["--method", run.method]
    for name, value in run.options.items():
        words += ["--option", f"{name}={value}"]
    if run.small_tokens:
        words.append("--small-tokens")
    if wanted.model != BUILTIN:
        words += ["--model", wanted.model]
    return shlex.join(words) + document + "\n"


def _document(text: str) -> str:
    """A text as a here-document, ended by a word that is no line of it."""
    mark = "GRAMMAR"
    while mark in text.split("\n"):
        mark += "_"
    return f" <<'{mark}'\n{text.removesuffix(chr(10))}\n{mark}"


def client(wanted: Wanted) -> str:
    """The run asked of this page."""
    run, sampling, asked = wanted.run, wanted.run.sampling, wanted.run.grammar
    more = {
        "start": "" if asked.start == "start" else asked.start,
        "style": asked.style,
        "constraint": "" if run.method == "automaton" else run.method,
        "model": "" if wanted.model == BUILTIN else wanted.model,
    }
    others = "".join(f"    {name}={quoted(value)},\n" for name, value in more.items() if value)
    if "k" in run.options:
        others += f"    lookahead={run.options['k']},\n"
    if run.small_tokens:
        others += "    small_tokens=True,\n"
    return f"""\
from gradio_client import Client

{_head(wanted)}
client = Client({quoted(wanted.address)}, verbose=False)
job = client.submit(
    GRAMMAR,
    notation={quoted(asked.notation.value)},
    prompt=PROMPT,
    max_tokens={run.max_tokens},
    temperature={sampling.temperature!r},
    seed={sampling.seed},
{others}\
    api_name="/generate",
)
for record in job:
    if record["k"] == "step":
        token = record["token"]
        print(token.get("text", token.get("hex", "end")), record["kept"])
"""


#: The programs offered, by the name of their tab.
WRITERS: Mapping[str, Callable[[Wanted], str]] = {
    "python": python,
    "transformers": transformers,
    "shell": shell,
    "client": client,
}
