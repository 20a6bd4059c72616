"""``workbench generate``, ``fill`` and ``read``."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from typing import Annotated, Any

import typer

from workbench.app.cli.options import (
    STRATEGIES,
    ChatOption,
    DeviceOption,
    DraftOption,
    DtypeOption,
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
    learnt,
    line,
    loaded_model,
    options_of,
    strategy_of,
    takes_grammar,
    text_of,
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
from workbench.decoding.retokenize import heal as heal_prompt
from workbench.decoding.sampling import Sampling
from workbench.decoding.speculative import CoupledSpeculation
from workbench.decoding.trace import Step, Trace
from workbench.grammar.fill import fill as fill_hole
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import FINISHING

#: The advice for a run that repeats itself.
_AGAINST_REPETITION = (
    "choose another --temperature or --seed, bound the repetition in the grammar, or for JSON leave"
    " out --whitespace any"
)

#: The budget if neither the command nor the example has one.
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
    grammar = named.grammar.for_generation
    begun = _begin(loaded, _prompt_of(named, prompt), grammar, heal=heal)
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
    thinking = None
    if reasoning is not None:
        constraint = thinking = Reasoning(constraint, *markers, budget=reasoning)
    sampling = Sampling(temperature, top_k, top_p, seed, min_p, repetition_penalty)
    budget = max_tokens or (example.max_tokens if example else _MAX_TOKENS)
    if finish is None and method == "unconstrained":
        finish = False  # the model alone
    constraint = _within_budget(constraint, budget, finish, named.grammar)
    if strategy == "counts":
        chosen = learnt(loaded, constraint, begun.prompt, sampling, budget, warm_up)
    generation = run(
        loaded,
        constraint,
        begun.prompt,
        sampling,
        max_tokens=budget,
        strategy=chosen,
        stages=json and not sampling.is_plain,
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
    before_hole = infilling_prompt(loaded, prefix, suffix) if infilling else prefix
    begun = _begin(loaded, prompt + before_hole, hole, heal=heal)
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
    given = sys.stdin.read() if text == "-" else text
    reading = read_text(loaded, constraint, _prompt_of(named, prompt), given, top=0)
    for step in reading.steps:
        if json:
            line(step_record(step) | {"refused": step.index == reading.refused})
        else:
            typer.echo(_reading_line(step, reading.refused))
    if json:
        line({"accepted": reading.accepted, "refused": reading.refused})
    raise typer.Exit(int(not reading.accepted))


def _reading_line(step: Step, refused: int | None) -> str:
    """One token of a text that is read: its probability before the mask and after it, the token."""
    shown = "the end" if step.is_end else visible(step.token)
    after = f"{math.exp(step.masked_logprob):8.2%}"
    if refused is not None and step.index >= refused:
        after = f"{'refused' if step.index == refused else '-':>8}"
    return f"{math.exp(step.logprob):8.2%} {after}  {shown}"


def _within_budget(
    constraint: TokenMachine, budget: int, finish: bool | None, grammar: Grammar
) -> TokenMachine:
    """The constraint whose texts end within the budget, if ``finish`` is set.

    None is the default of the grammar's notation; if that is not possible, a note says why.

    Raises: WorkbenchError if it is requested and not possible.
    """
    if not (grammar.notation in FINISHING if finish is None else finish):
        return constraint
    try:
        return WithinBudget(constraint, budget, LOCAL_LIMITS)
    except WorkbenchError as error:
        if finish:
            raise
        typer.echo(f"note: the text may be cut: {error.message}", err=True)
        return constraint


def _prompt_of(named: Named, prompt: str | None) -> str:
    """The given prompt, or else that of the example."""
    if prompt is not None:
        return prompt
    return named.example.prompt if named.example else ""


def _begin(model: LanguageModel, prompt: str, grammar: Grammar, *, heal: bool) -> Healed:
    """The tokens of a prompt and the grammar after them, healed if requested."""
    if heal:
        return heal_prompt(model, prompt, grammar)
    return Healed(tuple(model.encode(prompt)), b"", grammar)


def _print_steps(
    steps: Iterable[Step], repeated: int, constraint: TokenMachine, json: bool
) -> None:
    """Print the steps as they are computed, as lines of JSON or as text.

    The text leaves out its first ``repeated`` bytes, which a healed prompt already has.
    """
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
    """Print the last line: JSON with the fields of ``record``, or without one the suffix as text.

    With the text, a summary goes to stderr.
    """
    if record is not None:
        line(trace_record(trace, accepted=accepted) | record)
    else:
        typer.echo(suffix)
        typer.echo(summary(trace, accepted=accepted), err=True)


def _budget_record(step: Step, constraint: TokenMachine) -> dict[str, int]:
    """The tokens left before a step, and the fewest that can end the text; empty without budget."""
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
    # a text without tokens has no perplexity
    perplexity = "" if math.isnan(trace.perplexity) else f"perplexity {trace.perplexity:.2f} · "
    return (
        f"[{'accepted' if accepted else 'not accepted'} · {stop} · {len(trace.steps)} tokens · "
        f"{perplexity}{trace.interventions} interventions · "
        f"{trace.mask_bits:.1f} bits removed by the mask{drafts}]"
    )
