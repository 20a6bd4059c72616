"""Files and programs for download.

The programs run as written: the library's loop, transformers' ``generate`` with the constraint as a
logits processor, a shell command, a client of this page. The files are whole machines and replays;
pictures are saved by the page's script.
"""

from __future__ import annotations

import base64
import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from workbench import __version__
from workbench.app.ui import wire_cards
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.model_registry import BUILTIN, TOY
from workbench.app.ui.pictures import sentence
from workbench.app.ui.question import question
from workbench.app.ui.replay import MARK, ReplayRequest, drawn, replay_shell, run_masks
from workbench.app.ui.request_fields import checked_text, field, text_in, up_to
from workbench.app.ui.requests import GRAMMAR_FIELDS, RunRequest, TextRequest
from workbench.app.ui.shares import HEAVY
from workbench.base.errors import WorkbenchError
from workbench.decoding.model import ChatPrompts, Message
from workbench.decoding.sampling import Sampling
from workbench.drawing import machine_files
from workbench.drawing.drawable import OVER_TOKENS, Machine
from workbench.drawing.whole_machines import att, automaton
from workbench.grammar.export.registry import (
    PROGRAMS,
    constructor_call,
    export,
    quoted,
    written_grammar,
)
from workbench.grammar.gallery import Gallery
from workbench.grammar.notations import FINISHING, Notation

#: The default address of the page.
_ADDRESS = "http://127.0.0.1:7860/"

#: Tests written as assertions at most.
_MAX_TESTS = 50


def _checked_tests(tests: object, _: str) -> tuple[tuple[str, bool], ...]:
    if not isinstance(tests, list):
        raise WorkbenchError("expected a list of tests")
    wanted = {"accept": True, "reject": False}
    return tuple(
        (text_in(test, "text", 5_000), wanted[test["expect"]])
        for test in tests[:_MAX_TESTS]
        if isinstance(test, dict) and test.get("expect") in wanted
    )


class CodeRequest(RunRequest):
    """A run, its tests, and the engine whose program is wanted too; empty for none."""

    tests: Annotated[
        tuple[tuple[str, bool], ...], field(_checked_tests, sent=list[dict[str, str | None]])
    ] = ()
    #: The address of the page.
    address: Annotated[str, up_to(400)] = ""
    #: The name of an example; empty for none.
    example: Annotated[str, up_to(80)] = ""
    code: Annotated[str, up_to(40)] = ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The run that a program repeats, and its tests."""

    run: RunRequest
    model: str
    #: The model that proposes tokens, or empty.
    draft: str
    #: Texts, each with whether it must be accepted.
    tests: tuple[tuple[str, bool], ...]
    address: str
    #: The gallery example with the same grammar and tokens, or empty.
    example: str

    @staticmethod
    def of(request: CodeRequest, gallery: Gallery) -> Wanted:
        return Wanted(
            request,
            request.model if request.model not in ("", TOY) else BUILTIN,
            BUILTIN if request.draft == TOY else request.draft,
            request.tests,
            request.address or _ADDRESS,
            _example(request, request.example, gallery),
        )


def _example(run: RunRequest, name: str, gallery: Gallery) -> str:
    """The name of an example if its grammar and tokens are those of the page, else empty."""
    if name not in gallery:
        return ""
    example = gallery[name]
    same = (example.text.rstrip("\n"), example.notation, example.start, ()) == (
        run.text.rstrip("\n"),
        run.notation.value,
        run.start,
        run.options,
    )
    return name if same and (run.small_tokens or not example.small_tokens) else ""


def _grammar(wanted: Wanted) -> str:
    """The grammar, or that of its hole."""
    hole, whole = wanted.run.hole, _whole_grammar(wanted)
    return whole if hole is None else f"wb.fill({quoted(hole[0])}, {quoted(hole[1])}, {whole})"


def _grammar_text(wanted: Wanted, code: str) -> str:
    """The grammar of ``code`` as the model writes it; what stands around a hole is free."""
    grammar = wanted.run
    if grammar.hole is not None:
        return code
    return written_grammar(code, grammar.notation, grammar.text, dict(grammar.options))


def _whole_grammar(wanted: Wanted, text: str = "GRAMMAR") -> str:
    grammar = wanted.run
    options = grammar.notation.non_defaults(grammar.start, **dict(grammar.options))
    return constructor_call(grammar.notation, text, options)


def _method(wanted: Wanted) -> str:
    method, small = wanted.run.constraint, ", small_tokens=True" if wanted.run.small_tokens else ""
    if wanted.run.monitor:
        small += f", monitor={quoted(wanted.run.monitor)}"
    options = "".join(f", {name}={value!r}" for name, value in wanted.run.method_options.items())
    return small if method == "automaton" else f", method={quoted(method)}{options}{small}"


def _reasoning(wanted: Wanted) -> str:
    """The line that puts a free part before the constraint's text; empty without one."""
    part = wanted.run.reasoning
    if part is None:
        return ""
    markers = f"{quoted(part.opening)}, {quoted(part.closing)}"
    return f"constraint = wb.Reasoning(constraint, {markers}, budget={part.budget})\n"


def _finish(wanted: Wanted) -> str:
    """The line under which every text ends in its budget; empty without it."""
    run = wanted.run
    return f"constraint = wb.WithinBudget(constraint, {run.max_tokens})\n" if run.finish else ""


def _head(wanted: Wanted, *, messages: bool = True) -> str:
    """Grammar and prompt; of a chat the whole list of messages, or the user's last one alone.

    Without ``messages`` the text before a hole is not part of the prompt either.
    """
    run = wanted.run
    prompt = quoted(run.context if messages else run.prompt)
    if messages and run.chat is not None:
        prompt = _python_list([*run.chat, Message(role="user", content=run.prompt)])
    return f"GRAMMAR = {quoted(run.text)}\nPROMPT = {prompt}\n"


def _python_list(messages: Sequence[Message], margin: str = "") -> str:
    """Messages as a list in Python."""
    if not messages:
        return "[]"
    lines = (
        f'{margin}    {{"role": {quoted(each["role"])}, "content": {quoted(each["content"])}}},\n'
        for each in messages
    )
    return f"[\n{''.join(lines)}{margin}]"


def _assertions(wanted: Wanted) -> str:
    """The tests, which are whole texts: none for a hole."""
    if wanted.run.hole is not None:
        return ""
    lines = [
        f"assert {'' if accepted else 'not '}grammar.accepts({quoted(text)})\n"
        for text, accepted in wanted.tests
    ]
    return "".join(["\n", *lines] if lines else [])


def python(wanted: Wanted) -> str:
    """The run with the library."""
    run, sampling = wanted.run, wanted.run.sampling
    draft = more = ""
    prompt = f"model.encode(PROMPT, {quoted(run.reply)})" if run.reply else "PROMPT"
    if wanted.draft:
        draft = f"draft = wb.TransformersModel({quoted(wanted.draft)})\n"
        more = ", strategy=wb.CoupledSpeculation(draft)"
    if run.finish:
        more += ", finish=True"
    return f"""\
import workbench as wb

{_head(wanted)}
grammar = {_grammar(wanted)}
model = wb.TransformersModel({quoted(wanted.model)})
constraint = wb.compile({_grammar_text(wanted, "grammar")}, model.vocabulary{_method(wanted)})
{_reasoning(wanted)}\
sampling = wb.Sampling({_settings(sampling)}, seed={sampling.seed})
{draft}
generation = wb.generate(model, constraint, {prompt}, sampling, max_tokens={run.max_tokens}{more})
for step in generation:
    print(step.token, f"kept {{step.kept:.1%}}", "forced" if step.forced else "")

print(generation.trace.text.decode("utf-8", "replace"))
print(f"perplexity {{generation.trace.perplexity:.2f}}")
{_assertions(wanted)}"""


def transformers(wanted: Wanted) -> str:
    """The run with transformers' loop; the constraint is a logits processor.

    A draft model proposes the tokens (assisted generation): greedy texts are those without it, and
    drawn ones have the same distribution.
    """
    run, sampling = wanted.run, wanted.run.sampling
    builtin = BUILTIN in (wanted.model, wanted.draft)
    imports = "from workbench.base.resources import BUILTIN_MODEL\n" if builtin else ""
    draft = drafted = ""
    if wanted.draft:
        draft = f"draft = AutoModelForCausalLM.from_pretrained({_directory(wanted.draft)})\n"
        drafted = "    assistant_model=draft,\n"
    greedy = sampling.temperature == 0
    drawn = "do_sample=False" if greedy else f"do_sample=True, {_settings(sampling, top_k=0)}"
    if greedy and sampling.penalizes:
        drawn += f", repetition_penalty={sampling.repetition_penalty!r}"
    seed = "" if greedy else f"set_seed({sampling.seed})\n"
    if run.reply:
        return "# transformers' chat template cannot begin a reply with the text before the hole\n"
    inputs = 'tokenizer(PROMPT or tokenizer.eos_token, return_tensors="pt")'
    if run.chat is not None:
        inputs = """\
tokenizer.apply_chat_template(
    PROMPT, add_generation_prompt=True, return_dict=True, return_tensors="pt"
)"""
    grammar = _grammar_text(wanted, _grammar(wanted))
    return f"""\
from transformers import AutoModelForCausalLM, AutoTokenizer, set_seed

import workbench as wb
{imports}
{_head(wanted)}
MODEL = {_directory(wanted.model)}

tokenizer = AutoTokenizer.from_pretrained(MODEL)
model = AutoModelForCausalLM.from_pretrained(MODEL)
{draft}\
constraint = wb.compile({grammar}, wb.Vocabulary.load(MODEL){_method(wanted)})
{_reasoning(wanted)}{_finish(wanted)}
{seed}\
inputs = {inputs}
output = model.generate(
    **inputs,
    max_new_tokens={run.max_tokens},
    {drawn},
    logits_processor=[wb.LogitsProcessor(constraint)],
{drafted}\
)
print(tokenizer.decode(output[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True))
"""


def _settings(sampling: Sampling, **defaults: float) -> str:
    """Code for the settings of a sampling but the seed, as arguments."""
    settings = sampling.as_record()
    settings = {**settings, **defaults, **settings}
    return ", ".join(f"{name}={value!r}" for name, value in settings.items())


def _directory(model: str) -> str:
    """Code for the directory or hub id of a model."""
    return "str(BUILTIN_MODEL)" if model == BUILTIN else quoted(model)


#: The options of the command line with another name than the notation's.
_FLAGS = {"format": "formats"}


def shell(wanted: Wanted) -> str:
    """The run as one command."""
    run, sampling = wanted.run, wanted.run.sampling
    grammar = run
    hole = grammar.hole
    if hole is not None and (
        run.method_options
        or run.small_tokens
        or run.reasoning
        or wanted.draft
        or run.chat is not None
    ):
        return "# workbench fill has none of: chat, reasoning, drafts, small tokens, options\n"
    words = ["workbench", "generate" if hole is None else "fill"]
    document = ""
    if wanted.example:
        words += ["--example", wanted.example]
    elif grammar.notation is Notation.REGEX:
        words += ["--regex", grammar.text]
    else:
        words += ["--" + grammar.notation.replace("_", "-"), "-"]
        document = _document(grammar.text)
        if grammar.start != "start":
            words += ["--start", grammar.start]
        for name, choice in grammar.options:
            words.append(f"--{_FLAGS.get(name, name)}")
            if choice is not True:
                words.append(str(choice))
    words += ["--prompt", run.prompt]
    if hole is not None:
        words += ["--prefix", hole[0], "--suffix", hole[1]]
        words += [] if run.finish else ["--no-finish"]
    if run.chat is not None:
        words += ["--system", run.chat[0]["content"]] if run.chat else ["--chat"]
    words += ["--max-tokens", str(run.max_tokens)]
    for setting, number in sampling.as_record().items():
        words += [f"--{setting.replace('_', '-')}", repr(number)]
    words += ["--seed", str(sampling.seed)]
    if run.constraint != "automaton":
        words += ["--method", run.constraint]
    for name, value in run.method_options.items():
        words += ["--option", f"{name}={value}"]
    if run.small_tokens:
        words.append("--small-tokens")
    if hole is None and run.finish != (grammar.notation in FINISHING):
        words.append("--finish" if run.finish else "--no-finish")
    if run.monitor:
        words += ["--monitor", run.monitor]
    if part := run.reasoning:
        words += ["--reasoning", str(part.budget), "--markers", part.opening, part.closing]
    if wanted.model != BUILTIN:
        words += ["--model", wanted.model]
    if wanted.draft:
        words += ["--draft", wanted.draft]
    return shlex.join(words) + document + "\n"


def _document(text: str) -> str:
    """A text as a here-document, ended by a word that is not a line of it."""
    mark = "GRAMMAR"
    while mark in text.split("\n"):
        mark += "_"
    return f" <<'{mark}'\n{text.removesuffix(chr(10))}\n{mark}"


def client(wanted: Wanted) -> str:
    """The run as a request to this page."""
    run, sampling = wanted.run, wanted.run.sampling
    grammar = run
    more = {
        "start": "" if grammar.start == "start" else grammar.start,
        "constraint": "" if run.constraint == "automaton" else run.constraint,
        "model": "" if wanted.model == BUILTIN else wanted.model,
        "draft": wanted.draft,
        "monitor": run.monitor,
    }
    others = "".join(f"    {name}={quoted(value)},\n" for name, value in more.items() if value)
    if grammar.options:
        others += f"    options={dict(grammar.options)!r},\n"
    if "k" in run.method_options:
        others += f"    lookahead={run.method_options['k']},\n"
    if run.small_tokens:
        others += "    small_tokens=True,\n"
    if run.finish:
        others += "    finish=True,\n"
    if grammar.hole is not None:
        hole = {"prefix": grammar.hole[0], "suffix": grammar.hole[1]}
        others += f"    hole={json.dumps(hole, ensure_ascii=False)},\n"
    if run.reasoning is not None:
        others += f"    reasoning={json.dumps(run.reasoning.model_dump(), ensure_ascii=False)},\n"
    if run.chat is not None:
        others += f"    chat={_python_list(run.chat, '    ')},\n"
    return f"""\
import json

from gradio_client import Client

{_head(wanted, messages=False)}
client = Client({quoted(wanted.address)}, verbose=False)
job = client.submit(
    GRAMMAR,
    notation={quoted(grammar.notation.value)},
    prompt=PROMPT,
    max_tokens={run.max_tokens},
    {_settings(sampling)},
    seed={sampling.seed},
{others}\
    api_name="/generate",
)
for lines in job:
    for record in map(json.loads, lines.splitlines()):
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


#: Bytes of a file for the browser at most.
_MAX_FILE_BYTES = 16_000_000


class Form(StrEnum):
    """The format of a machine's file."""

    JSON = "json"
    #: AT&T text with its symbol tables, in a zip file.
    FST = "fst"


def _checked_choice(value: object, name: str, choices: type[StrEnum]) -> StrEnum:
    text = checked_text(value, name, 40)
    if text not in list(choices):
        raise WorkbenchError(f"expected one of {', '.join(choices)} as {name}, not {text!r}")
    return choices(text)


class MachineFileRequest(TextRequest):
    """A grammar, and which machine of it is wanted in which format."""

    machine: Annotated[Machine, field(_checked_choice, Machine, sent=str)]
    form: Annotated[Form, field(_checked_choice, Form, sent=str)]


@question(HEAVY)
def take_machine(handlers: Handlers, request: MachineFileRequest) -> wire_cards.File:
    """A whole machine as a file: name, type, bytes in base 64.

    Raises: WorkbenchError for a machine the grammar does not have, or that has no such format.
    """
    compiled, machine = handlers.compiled(request), request.machine
    grammar = compiled.readable()
    if why := compiled.missing(machine):
        raise WorkbenchError(why)
    vocabulary = handlers.room.vocabulary() if machine in OVER_TOKENS else None
    limits = handlers.pipeline.limits
    if request.form is Form.FST:
        content = att(grammar, machine, vocabulary, limits).archive(str(machine))
        return _file(f"{machine}.fst.zip", "application/zip", content)
    record = automaton(grammar, machine, vocabulary, limits)
    text = machine_files.text({**record, "grammar": request.model_dump(include=GRAMMAR_FIELDS)})
    return _file(f"{machine}.json", "application/json", text.encode())


def _file(name: str, kind: str, content: bytes) -> wire_cards.File:
    if len(content) > _MAX_FILE_BYTES:
        raise WorkbenchError(
            f"the file would have {len(content) / 1e6:.0f} MB", "use workbench draw instead"
        )
    return {"name": name, "type": kind, "base64": base64.b64encode(content).decode()}


@question(HEAVY)
def take_code(handlers: Handlers, request: CodeRequest) -> dict[str, str]:
    """The run on the page as programs by tab, and for another engine if requested.

    Raises: WorkbenchError for malformed settings.
    """
    wanted = Wanted.of(request.with_fields(model=handlers.room.name), handlers.gallery)
    written = {name: write(wanted) for name, write in WRITERS.items()}
    engine = request.code
    if engine in PROGRAMS and engine not in written:
        written[engine] = _for_engine(handlers, wanted, engine)
    return written


def _for_engine(handlers: Handlers, wanted: Wanted, engine: str) -> str:
    """A program for another engine, or a comment with the reason why there is no program."""
    grammar = handlers.compiled(wanted.run).grammar
    if grammar is None:
        return "# the grammar cannot be read yet"
    named = {} if wanted.model == BUILTIN else {"model": wanted.model}
    try:
        if wanted.run.reasoning is not None:
            raise WorkbenchError("this program can have no reasoning before the grammar's text")
        prompt, chat = wanted.run.context, wanted.run.chat
        if chat is not None:
            prompt = ChatPrompts(handlers.room.model(), chat, wanted.run.reply).render(prompt)
        return _left_out(wanted) + export(grammar, engine, prompt=prompt, **named)
    except WorkbenchError as error:
        return "".join(f"# {line}\n" for line in sentence(error).splitlines())


def _left_out(wanted: Wanted) -> str:
    """Comments on the settings of the run that a program for another engine does not have."""
    comments = ""
    if wanted.draft:
        comments += "# Without the draft model, which changes the number of forward passes alone.\n"
    if wanted.run.finish:
        comments += "# Without the budget of tokens in which every text ends: a text may be cut.\n"
    return comments


@question(HEAVY)
def take_replay(handlers: Handlers, request: ReplayRequest) -> wire_cards.Replay:
    """A page that replays a run, in which the browser replaces ``mark`` by its recording.

    Raises: WorkbenchError where the grammar cannot be read, or a field has another form.
    """
    masks = run_masks(handlers, request, request.ids)
    pictures = drawn(handlers, request, request.taken, masks)
    return {"html": replay_shell(), "mark": MARK, "drawn": pictures, "version": __version__}
