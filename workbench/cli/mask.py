"""``workbench mask``: which tokens may come next after a text."""

from __future__ import annotations

from typing import Annotated

import typer

from workbench.cli.naming import Named, takes_grammar
from workbench.cli.options import LOCAL_LIMITS, JsonOption, VocabularyOption, line, text_of
from workbench.constraint.automaton import AutomatonConstraint
from workbench.constraint.compile import compile as compile_grammar
from workbench.constraint.labelled import longest_tokens
from workbench.constraint.protocol import Constraint, State
from workbench.decoding.generate import after as state_after
from workbench.vocabulary.vocabulary import Vocabulary


@takes_grammar
def mask(
    named: Named,
    after: Annotated[str, typer.Option("--after", help="The text that was read before.")] = "",
    vocab: VocabularyOption = "builtin",
    limit: Annotated[int, typer.Option(help="How many tokens to print; 0 prints all.")] = 40,
    json: JsonOption = False,
) -> None:
    """Print the tokens that may come next.

    Exit status 0: some may; 1: the text cannot be continued; 2: wrong use.
    """
    vocabulary = Vocabulary.load(vocab)
    constraint = compile_grammar(named.grammar, vocabulary, limits=LOCAL_LIMITS)
    state = _state_after(constraint, after.encode())
    if state is None:
        verdict = named.grammar.check(after)
        told = verdict if verdict.byte is not None else "no sequence of allowed tokens spells it"
        typer.echo(f"error: {told}", err=True)
        raise typer.Exit(1)
    allowed = constraint.mask(state)
    shown = allowed.ids.tolist()[: limit or None]
    spelt = {i: vocabulary.tokens[i] for i in shown}
    if json:
        line(
            {
                "after": after,
                "allowed": len(allowed),
                "of": len(vocabulary),
                "may_end": constraint.is_final(state),
                "forced": text_of(constraint.forced(state)),
                "ids": shown,
                "tokens": [None if t is None else text_of(t) for t in spelt.values()],
            }
        )
        return
    ending = ", and the text may end here" if constraint.is_final(state) else ""
    typer.echo(f"{len(allowed):,} of {len(vocabulary):,} tokens may come next{ending}")
    for token_id, token in spelt.items():
        typer.echo(f"{token_id:>7}  {'(end)' if token is None else repr(text_of(token))}")
    if len(shown) < len(allowed):
        typer.echo(f"    … {len(allowed) - len(shown):,} more (--limit 0 prints all)")


def _state_after(constraint: Constraint, text: bytes) -> State | None:
    """The state after a text; with labels it is read in the longest allowed tokens."""
    if isinstance(constraint, AutomatonConstraint):
        return constraint.step_bytes(constraint.initial, text)
    tokens = longest_tokens(constraint, text)
    return None if tokens is None else state_after(constraint, tokens)
