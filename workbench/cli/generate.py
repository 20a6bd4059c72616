"""``workbench generate``: run a model under a grammar, token by token."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from workbench.cli.options import (
    LOCAL_LIMITS,
    ExampleOption,
    JsonOption,
    KbnfOption,
    ModelOption,
    RegexFileOption,
    RegexOption,
    StartOption,
    line,
    named_grammar,
    text_of,
    told,
)
from workbench.constraint.compile import compile as compile_grammar
from workbench.decoding.trace import Step, Trace

#: The budget where neither the command nor the gallery names one.
_MAX_TOKENS = 256


def generate(
    prompt: Annotated[
        str | None, typer.Option(help="What the model reads first; an example brings its own.")
    ] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="The budget in tokens.")] = None,
    temperature: Annotated[float, typer.Option(min=0.0, help="0 takes the likeliest token.")] = 0.0,
    top_k: Annotated[int | None, typer.Option(min=1, help="Sample among the k likeliest.")] = None,
    top_p: Annotated[float | None, typer.Option(help="Sample within this probability.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same text.")] = 0,
    method: Annotated[
        str, typer.Option(help="automaton, composed or unconstrained.")
    ] = "automaton",
    model: ModelOption = "builtin",
    regex: RegexOption = None,
    regex_file: RegexFileOption = None,
    kbnf: KbnfOption = None,
    example: ExampleOption = None,
    start: StartOption = "start",
    json: JsonOption = False,
) -> None:
    """Generate a text under a grammar; with --json each step is a line and the last is the whole.

    Exit status 0: ended in an accepted text; 1: ended otherwise; 2: wrong use.
    """
    with told():
        named = named_grammar(regex, regex_file, kbnf, example, start)
        from workbench.decoding.generate import generate as run
        from workbench.decoding.sampling import Sampling
        from workbench.decoding.transformers_model import load_model

        loaded = load_model(model)
        constraint = compile_grammar(named.grammar, loaded.vocabulary, method, LOCAL_LIMITS)
        brought = named.example
        generation = run(
            loaded,
            constraint,
            prompt if prompt is not None else brought.prompt if brought else "",
            Sampling(temperature=temperature, top_k=top_k, top_p=top_p, seed=seed),
            max_tokens=max_tokens or (brought.max_tokens if brought else _MAX_TOKENS),
        )
        for step in generation:
            if json:
                line(step_record(step))
            else:
                sys.stdout.buffer.write(step.token)
                sys.stdout.buffer.flush()
        trace = generation.trace
        accepted = trace.accepted and named.grammar.accepts(trace.text)
        if json:
            line(trace_record(trace, accepted=accepted))
        else:
            typer.echo()
            typer.echo(summary(trace, accepted=accepted), err=True)
        raise typer.Exit(int(not accepted))


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
        "model_ms": round(step.model_ms, 3),
        "mask_ms": round(step.mask_ms, 4),
        "advance_ms": round(step.advance_ms, 4),
    }


def trace_record(trace: Trace, *, accepted: bool) -> dict[str, Any]:
    """The whole of a generation as the last line of JSON."""
    return {
        "text": text_of(trace.text),
        "accepted": accepted,
        "stop": trace.stop.value if trace.stop else None,
        "tokens": len(trace.steps),
        "forward_passes": trace.forward_passes,
        "perplexity": trace.perplexity,
        "perplexity_with_end": trace.perplexity_with_end,
        "interventions": trace.interventions,
        "mask_bits": trace.mask_bits,
        "model_ms": round(sum(s.model_ms for s in trace.steps), 3),
        "mask_ms": round(sum(s.mask_ms for s in trace.steps), 3),
    }


def summary(trace: Trace, *, accepted: bool) -> str:
    """The whole of a generation in one line for a person."""
    stop = trace.stop.value if trace.stop else "unfinished"
    return (
        f"[{'accepted' if accepted else 'not accepted'} · {stop} · {len(trace.steps)} tokens · "
        f"perplexity {trace.perplexity:.2f} · {trace.interventions} interventions · "
        f"{trace.mask_bits:.1f} bits taken by the mask]"
    )
