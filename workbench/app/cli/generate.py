"""``workbench generate``, ``fill`` and ``replay``."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from workbench import __version__
from workbench.app.cli.options import (
    STRATEGIES,
    ChatOption,
    DeviceOption,
    DraftOption,
    DtypeOption,
    ExampleOption,
    JsonOption,
    MinPOption,
    ModelOption,
    MonitorOption,
    Named,
    PenaltyOption,
    RevisionOption,
    SystemOption,
    TopKOption,
    TopPOption,
    before_prompt,
    errors_reported,
    learnt,
    line,
    loaded_model,
    options_of,
    strategy_of,
    takes_grammar,
    text_of,
    write_file,
)
from workbench.app.cli.options import (
    read_text as text_of_file,
)
from workbench.base.errors import WorkbenchError
from workbench.base.limits import LOCAL_LIMITS
from workbench.base.visible_text import visible
from workbench.constraint.compile import METHODS
from workbench.constraint.compile import compile as compile_grammar
from workbench.constraint.reasoning import Reasoning
from workbench.constraint.token_machine import TokenMachine
from workbench.constraint.within_budget import WithinBudget
from workbench.decoding.generate import generate as run
from workbench.decoding.measures import repetition
from workbench.decoding.model import LanguageModel, chatting
from workbench.decoding.reading import read_text
from workbench.decoding.retokenize import Healed, infilling_prompt
from workbench.decoding.retokenize import heal as healed
from workbench.decoding.sampling import Sampling
from workbench.decoding.speculative import CoupledSpeculation
from workbench.decoding.trace import Step, Trace
from workbench.grammar.fill import fill as fill_hole
from workbench.grammar.gallery import Example, load_gallery
from workbench.grammar.notations import FINISHING, notation_of, options_in

#: What helps where a run repeats itself.
_AGAINST_REPETITION = (
    "choose another --temperature or --seed, bound the repetition in the grammar, or for JSON leave"
    " out --whitespace any"
)

#: The budget where neither the command nor the gallery names one.
_MAX_TOKENS = 256


@takes_grammar
def generate(
    named: Named,
    prompt: Annotated[
        str | None, typer.Option(help="What the model reads first; default: the example's.")
    ] = None,
    chat: ChatOption = False,
    system: SystemOption = None,
    reasoning: Annotated[
        int | None,
        typer.Option(min=0, help="Let the model think before its answer, for this many tokens."),
    ] = None,
    markers: Annotated[
        tuple[str, str],
        typer.Option(metavar="OPENING CLOSING", help="Around the model's thoughts."),
    ] = ("<think>", "</think>"),
    max_tokens: Annotated[int | None, typer.Option(min=1, help="The budget in tokens.")] = None,
    finish: Annotated[
        bool | None,
        typer.Option(
            help="Only tokens after which the text can end in budget; default: for a JSON Schema."
        ),
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(min=0.0, help="0 takes the likeliest token; default: the example's, or 0."),
    ] = None,
    top_k: TopKOption = None,
    top_p: TopPOption = None,
    min_p: MinPOption = None,
    repetition_penalty: PenaltyOption = 1.0,
    seed: Annotated[
        int | None, typer.Option(help="The same seed gives the same text; default: the example's.")
    ] = None,
    method: Annotated[
        str, typer.Option(help=f"How it is constrained: {', '.join(METHODS)}.")
    ] = "automaton",
    option: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Of the method, as k=0.")
    ] = None,
    small_tokens: Annotated[
        bool | None,
        typer.Option(
            help="Allow tokens of a single character only; default: the example's setting."
        ),
    ] = None,
    monitor: MonitorOption = None,
    strategy: Annotated[
        str, typer.Option(help=f"When the model is called: {', '.join(STRATEGIES)}.")
    ] = "plain",
    warm_up: Annotated[int, typer.Option(min=1, help="Runs that counts learn from.")] = 10,
    heal: Annotated[
        bool, typer.Option("--heal", help="The prompt's last token may join with the text.")
    ] = False,
    draft: DraftOption = None,
    model: ModelOption = "builtin",
    device: DeviceOption = "auto",
    dtype: DtypeOption = "auto",
    revision: RevisionOption = None,
    json: JsonOption = False,
) -> None:
    """Generate a text under a grammar; with --json one line for each step, then a summary.

    Exit status 0: ended in an accepted text; 1: ended otherwise; 2: wrong use.
    """
    chosen, example = strategy_of(strategy), named.example
    if draft is not None and strategy != "plain":
        raise WorkbenchError(f"--draft and --strategy {strategy} exclude each other")
    base = loaded_model(model, device, dtype, revision)
    if draft is not None:
        chosen = CoupledSpeculation(loaded_model(draft, device, dtype))
    loaded = chatting(base, before_prompt(chat, system))
    begun = _begin(loaded, replace(named, grammar=named.grammar.for_generation), prompt, heal)
    if small_tokens is None:
        small_tokens = example is not None and example.small_tokens
    if temperature is None:
        temperature = example.temperature if example else 0.0
    if seed is None:
        seed = example.seed if example else 0
    constraint = compile_grammar(
        begun.grammar,
        loaded.vocabulary,
        method,
        LOCAL_LIMITS,
        small_tokens=small_tokens,
        monitor=monitor,
        **options_of(option or ()),
    )
    thinking = None if reasoning is None else Reasoning(constraint, *markers, budget=reasoning)
    constraint = thinking or constraint
    sampling = Sampling(temperature, top_k, top_p, seed, min_p, repetition_penalty)
    budget = max_tokens or (example.max_tokens if example else _MAX_TOKENS)
    if finish is None and method == "unconstrained":
        finish = False  # the model alone
    constraint = _finishing(constraint, budget, finish, named)
    if strategy == "counts":
        chosen = learnt(loaded, constraint, begun.prompt, sampling, budget, warm_up)
    stages = json and not sampling.is_plain
    generation = run(
        loaded,
        constraint,
        begun.prompt,
        sampling,
        max_tokens=budget,
        strategy=chosen,
        stages=stages,
    )
    _print_steps(generation, len(begun.prefix), constraint, json)
    trace = generation.trace
    answer = trace.text if thinking is None else thinking.answer_in(trace.token_ids)
    accepted = trace.accepted and begun.grammar.accepts(answer)
    _print_end(trace, {"healed": text_of(begun.prefix)} if json else None, accepted=accepted)
    if not json and (repeats := repetition([step.token for step in trace.steps])):
        typer.echo(f"note: {repeats}; {_AGAINST_REPETITION}", err=True)
    raise typer.Exit(int(not accepted))


@takes_grammar
def fill(
    named: Named,
    prefix: Annotated[str, typer.Option(help="The text before the hole.")] = "",
    suffix: Annotated[str, typer.Option(help="The text after the hole.")] = "",
    prompt: Annotated[str, typer.Option(help="What the model reads before the prefix.")] = "",
    infilling: Annotated[
        bool,
        typer.Option(
            "--infilling", help="The model also reads the suffix; it must be trained for it."
        ),
    ] = False,
    heal: Annotated[
        bool,
        typer.Option("--heal", help="The last token of the prefix may continue into the hole."),
    ] = False,
    max_tokens: Annotated[int, typer.Option(min=1, help="The budget in tokens.")] = 64,
    finish: Annotated[
        bool, typer.Option(help="Only tokens after which the hole can end within the budget.")
    ] = True,
    temperature: Annotated[float, typer.Option(min=0.0, help="0 takes the likeliest token.")] = 0.0,
    top_k: TopKOption = None,
    top_p: TopPOption = None,
    min_p: MinPOption = None,
    repetition_penalty: PenaltyOption = 1.0,
    seed: Annotated[int, typer.Option(help="The same seed gives the same text.")] = 0,
    method: Annotated[
        str, typer.Option(help=f"How it is constrained: {', '.join(METHODS)}.")
    ] = "automaton",
    model: ModelOption = "builtin",
    device: DeviceOption = "auto",
    dtype: DtypeOption = "auto",
    revision: RevisionOption = None,
    json: JsonOption = False,
) -> None:
    """Fill the hole between a prefix and a suffix, so that the grammar accepts the whole text.

    Exit status 0: the whole text is accepted; 1: it is not; 2: wrong use.
    """
    if infilling and heal:
        raise WorkbenchError("--infilling and --heal exclude each other")
    hole = fill_hole(prefix, suffix, named.grammar, limits=LOCAL_LIMITS)
    loaded = loaded_model(model, device, dtype, revision)
    read = infilling_prompt(loaded, prefix, suffix) if infilling else prefix
    if heal:
        begun = healed(loaded, prompt + read, hole)
    else:
        begun = Healed(tuple(loaded.encode(prompt + read)), b"", hole)
    constraint = compile_grammar(begun.grammar, loaded.vocabulary, method, LOCAL_LIMITS)
    if finish:
        constraint = WithinBudget(constraint, max_tokens, LOCAL_LIMITS)
    sampling = Sampling(temperature, top_k, top_p, seed, min_p, repetition_penalty)
    generation = run(loaded, constraint, begun.prompt, sampling, max_tokens=max_tokens)
    if not json:
        typer.echo(prefix, nl=False)
    _print_steps(generation, len(begun.prefix), constraint, json)
    trace = generation.trace
    text = trace.text[len(begun.prefix) :]
    accepted = trace.accepted and named.grammar.accepts(prefix.encode() + text + suffix.encode())
    record = {"prefix": prefix, "filled": text_of(text), "suffix": suffix}
    _print_end(trace, record if json else None, suffix, accepted=accepted)
    raise typer.Exit(int(not accepted))


@takes_grammar
def read(
    named: Named,
    text: Annotated[str, typer.Argument(help="The text; - reads it from stdin.")],
    prompt: Annotated[
        str | None, typer.Option(help="What the model reads first; default: the example's.")
    ] = None,
    chat: ChatOption = False,
    system: SystemOption = None,
    method: Annotated[
        str, typer.Option(help=f"How it is constrained: {', '.join(METHODS)}.")
    ] = "automaton",
    monitor: MonitorOption = None,
    model: ModelOption = "builtin",
    device: DeviceOption = "auto",
    dtype: DtypeOption = "auto",
    revision: RevisionOption = None,
    json: JsonOption = False,
) -> None:
    """Score the tokens of a given text before and after the mask; the first refused one is marked.

    After a refused token the model alone scores the rest. Exit status 0: the text is accepted; 1:
    it is not; 2: wrong use.
    """
    loaded = chatting(loaded_model(model, device, dtype, revision), before_prompt(chat, system))
    constraint = compile_grammar(
        named.grammar, loaded.vocabulary, method, LOCAL_LIMITS, monitor=monitor
    )
    if prompt is None:
        prompt = named.example.prompt if named.example else ""
    written = sys.stdin.read() if text == "-" else text
    reading = read_text(loaded, constraint, prompt, written, top=0)
    for step in reading.steps:
        if json:
            line(step_record(step) | {"refused": step.index == reading.refused})
        else:
            typer.echo(_reading_line(step, reading.refused))
    if json:
        line({"accepted": reading.accepted, "refused": reading.refused})
    raise typer.Exit(int(not reading.accepted))


def _reading_line(step: Step, refused: int | None) -> str:
    """A token of a text that is read: before the mask, after it, the token."""
    shown = "the end" if step.is_end else visible(step.token)
    after = f"{math.exp(step.masked_logprob):8.2%}"
    if refused is not None and step.index >= refused:
        after = f"{'refused' if step.index == refused else '-':>8}"
    return f"{math.exp(step.logprob):8.2%} {after}  {shown}"


def _finishing(
    constraint: TokenMachine, budget: int, finish: bool | None, named: Named
) -> TokenMachine:
    """The constraint whose texts end within the budget, if that is requested or the default.

    Where it is only the default and not possible, a note says why.
    """
    if not (named.grammar.notation in FINISHING if finish is None else finish):
        return constraint
    try:
        return WithinBudget(constraint, budget, LOCAL_LIMITS)
    except WorkbenchError as error:
        if finish:
            raise
        typer.echo(f"note: the text may be cut: {error.message}", err=True)
        return constraint


def _begin(model: LanguageModel, named: Named, prompt: str | None, heal: bool) -> Healed:
    """The tokens of the prompt, the example's by default, and what the grammar becomes after it."""
    text = prompt if prompt is not None else named.example.prompt if named.example else ""
    plain = Healed(tuple(model.encode(text)), b"", named.grammar)
    return healed(model, text, named.grammar) if heal else plain


def _print_steps(
    steps: Iterable[Step], repeated: int, constraint: TokenMachine, json: bool
) -> None:
    """Print the steps while they are made, without the repeated bytes of the prompt as text."""
    for step in steps:
        if json:
            line(step_record(step) | _budget_record(step, constraint))
        else:
            sys.stdout.buffer.write(step.token[repeated:])
            sys.stdout.buffer.flush()
        repeated = max(0, repeated - len(step.token))


def _print_end(
    trace: Trace, record: dict[str, str] | None, suffix: str = "", *, accepted: bool
) -> None:
    """The last line of JSON with the fields of ``record``; without one the rest as text."""
    if record is not None:
        line(trace_record(trace, accepted=accepted) | record)
    else:
        typer.echo(suffix)
        typer.echo(summary(trace, accepted=accepted), err=True)


def _budget_record(step: Step, constraint: TokenMachine) -> dict[str, int]:
    """The tokens left before a step, and the fewest that end the text then."""
    budget = constraint.budget_left(step.state)
    return {} if budget is None else {"left": budget.tokens, "needs": budget.fewest}


def step_record(step: Step) -> dict[str, Any]:
    """A step as a line of JSON; log-probabilities in nats, times in milliseconds."""
    return {
        "index": step.index,
        "token_id": step.token_id,
        "token": text_of(step.token),
        "is_end": step.is_end,
        "logprob": step.logprob,
        "masked_logprob": step.masked_logprob,
        "allowed": len(step.mask),
        "kept": step.kept,
        "rank": step.rank,
        "favourite_id": step.favourite_id,
        "intervened": step.intervened,
        "forward": step.forward,
        "draft_id": step.draft_id,
        "model_ms": round(step.model_ms, 3),
        "mask_ms": round(step.mask_ms, 4),
        "advance_ms": round(step.advance_ms, 4),
    } | ({"stages": dict(step.stages)} if step.stages else {})


def trace_record(trace: Trace, *, accepted: bool) -> dict[str, Any]:
    """The last line of JSON: the generation as a whole."""
    return {
        "text": text_of(trace.text),
        "accepted": accepted,
        "repeats": repetition([step.token for step in trace.steps]),
        "stop": trace.stop.value if trace.stop else None,
        "tokens": len(trace.steps),
        "forward_passes": trace.forward_passes,
        "drafted": trace.drafted,
        "drafts_taken": trace.drafts_taken,
        "perplexity": trace.perplexity,
        "perplexity_with_end": trace.perplexity_with_end,
        "interventions": trace.interventions,
        "mask_bits": trace.mask_bits,
        "model_ms": round(sum(s.model_ms for s in trace.steps), 3),
        "mask_ms": round(sum(s.mask_ms for s in trace.steps), 3),
    }


def summary(trace: Trace, *, accepted: bool) -> str:
    """The generation in one line of text."""
    stop = trace.stop.value if trace.stop else "unfinished"
    taken = f" · {trace.drafts_taken} of {trace.drafted} drafted tokens taken"
    drafts = taken if trace.drafted else ""
    # a text without tokens has none
    perplexity = "" if math.isnan(trace.perplexity) else f"perplexity {trace.perplexity:.2f} · "
    return (
        f"[{'accepted' if accepted else 'not accepted'} · {stop} · {len(trace.steps)} tokens · "
        f"{perplexity}{trace.interventions} interventions · "
        f"{trace.mask_bits:.1f} bits removed by the mask{drafts}]"
    )


_Record = dict[str, Any]


def replay(
    trace: Annotated[
        Path, typer.Argument(help="A run as NDJSON, as the page exports it; - reads it from stdin.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A file; without one it goes to stdout.")
    ] = None,
    example: ExampleOption = None,
) -> None:
    """Make a page of a run: one file that plays it with its machines, without a server.

    Traces of older versions do not name their grammar; --example names it then.
    """
    with errors_reported():
        text = text_of_file(trace, "name a run that the page exported as NDJSON")
        page = replay_page(text, _example_of(trace, example))
        write_file(out, page.encode(), "choose another --out")


#: What a run's pictures and explanations depend on, besides its grammar.
_RUN = (
    *("prompt", "chat", "hole", "constraint", "lookahead", "small_tokens"),
    *("monitor", "reasoning", "finish", "max_tokens"),
)


def replay_page(text: str, example: Example | None = None) -> str:
    """The page of a run, from its lines; ``example`` for one that does not name its grammar.

    Raises: WorkbenchError if the lines are no run, or its grammar cannot be read.
    """
    from workbench.app.ui.handlers import Handlers
    from workbench.app.ui.model_registry import BUILTIN, ModelRoom
    from workbench.app.ui.replay import ReplayRequest, drawn, run_masks, taken
    from workbench.app.ui.replay import replay as written
    from workbench.app.ui.request_fields import text_in
    from workbench.app.ui.requests import MAX_NAME

    records = _records(text)
    head = next((record for record in records if record["k"] == "head"), {})
    about = _about(head, example)
    steps = [record for record in records if record["k"] == "step"]
    end = next((record for record in records if record["k"] == "stop"), None)
    handlers = Handlers(ModelRoom(text_in(about, "model", MAX_NAME) or BUILTIN))
    fields = {
        key: about.get(key, "") for key in ("text", "notation", "start", "options", "example")
    }
    settings = {name: about[name] for name in _RUN if about.get(name) is not None}
    run = ReplayRequest.of({**fields, **settings})
    masks = run_masks(handlers, run, [step.get("id", -1) for step in steps])
    return written(about, steps, end, drawn(handlers, run, taken(steps), masks))


def _records(text: str) -> list[_Record]:
    """The records, one on each line.

    Raises: WorkbenchError where a line is not a record, or there is no step.
    """
    records = []
    for number, written in enumerate(text.split("\n"), start=1):
        if not written.strip():
            continue
        try:
            record = json.loads(written)
        except json.JSONDecodeError:
            record = None
        if isinstance(record, dict) and "token_id" in record:
            raise WorkbenchError(
                f"line {number} is of generate --json, which names neither grammar nor masks",
                "call wb.replay(trace, grammar, constraint), or export the run on the page",
            )
        if not isinstance(record, dict) or "k" not in record:
            hint = "the page exports runs as NDJSON under Export"
            raise WorkbenchError(f"line {number} is not a record of a run", hint)
        records.append(record)
    if not any(record["k"] == "step" for record in records):
        raise WorkbenchError("this run has no tokens", "a replay needs at least one")
    return records


def _example_of(trace: Path, example: str | None) -> Example | None:
    """The example given by name, or by the name of the file."""
    gallery = load_gallery()
    if example is not None and example not in gallery:
        hint = f"choose one of {', '.join(gallery)}"
        raise WorkbenchError(f"there is no example {example!r} in the gallery", hint)
    name = example or trace.name.partition(".")[0]
    return gallery.get(name)


def _about(head: _Record, example: Example | None) -> _Record:
    """The grammar, prompt, model and settings of a run.

    Raises: WorkbenchError where its grammar is unknown.
    """
    recorded = {key: value for key, value in head.items() if key not in ("k", "run", "prefix")}
    title = {"title": example.title} if example is not None else {}
    if recorded.get("text") and recorded.get("notation"):
        options = options_in(recorded.get("options") or recorded, notation_of(recorded["notation"]))
        recorded.pop("style", None)  # of earlier versions
        return {**title, **recorded, "options": options, "version": __version__}
    if example is None:
        raise WorkbenchError(
            "the run does not name its grammar", "pass the --example it was made with"
        )
    settings = {
        "text": example.text,
        "notation": str(example.notation),
        "start": example.start,
        "prompt": example.prompt,
        "example": example.name,
    }
    return {**title, **recorded, **settings, "version": __version__}
