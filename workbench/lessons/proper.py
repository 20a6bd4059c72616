"""Tables, films and questions about proper token sequences."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from workbench.drawing.text import count_of, visible
from workbench.lessons.asking import Answer, Asked, text_of, which
from workbench.lessons.lesson import Reply, Table
from workbench.lessons.merging import rule_name, rules_of
from workbench.lessons.methods import ids_of
from workbench.lessons.pairing import splits
from workbench.lessons.world import World, spelt


def encoded(world: World, text: str | bytes) -> tuple[str, ...]:
    """The tokens the tokenizer of the step writes a text in, as a reader sees them."""
    return tuple(map(world.shown, world.bpe.encode(text)))


def is_proper(world: World, tokens: Sequence[str]) -> bool:
    """Whether the tokenizer writes the text of these tokens in these tokens."""
    ids = ids_of(world, tokens)
    return tuple(world.bpe.encode(world.vocabulary.decode(ids))) == ids


def sequences(world: World, *, rows: Sequence[Sequence[str]]) -> Table:
    """Sequences of tokens: what their text encodes to, and the first pair that is broken."""
    made = []
    for tokens in rows:
        ids = ids_of(world, tokens)
        broken = next(
            (
                f"{world.shown(one)}  {world.shown(other)}"
                for one, other in pairwise(ids)
                if not world.bpe.pair_ok(one, other)
            ),
            "none",
        )
        spelling = "  ".join(encoded(world, world.vocabulary.decode(ids)))
        good = "✓" if is_proper(world, tokens) else "✗"
        made.append(("  ".join(map(world.shown, ids)), spelling, good, broken))
    heads = ("sequence", "its text encodes to", "proper", "first broken pair")
    return Table("Sequences of tokens", heads, tuple(made))


# -- questions ---------------------------------------------------------------------------------


def proper(world: World, *, options: Sequence[Sequence[str]]) -> Asked:
    """Which of these sequences are proper."""
    right = {i for i, tokens in enumerate(options) if is_proper(world, tokens)}

    def why(number: int) -> str:
        text = b"".join(map(spelt, options[number]))
        return f"its text encodes to {'  '.join(encoded(world, text))}"

    shown = tuple("  ".join(map(visible, tokens)) for tokens in options)
    return which(shown, right, why)


def encode(world: World, *, text: str) -> Asked:
    """Write the proper sequence of a text."""
    right = encoded(world, text)

    def judge(answer: Answer) -> Reply:
        said = tuple(text_of(answer).split())
        if said == right:
            return Reply(True, f"Right: {count_of(len(right), 'token')}.")
        if "".join(said) != text:
            return Reply(False, f"Your tokens spell {visible(''.join(said)) or 'nothing'}.")
        unknown = [token for token in said if spelt(token) not in world.vocabulary.ids_of]
        if unknown:
            return Reply(False, f"{unknown[0]} is no token: no rule makes it.")
        return Reply(False, "They spell it, but the rules merge it otherwise.")

    return Asked("tokens", (), judge)


def dead(world: World) -> Asked:
    """Which rules never fire."""
    rules = rules_of(world)
    known = splits(world)
    made = [known.get(left + right) for left, right in rules]
    right = {i for i, rule in enumerate(rules) if (m := made[i]) is None or m.rule != rule}

    def why(number: int) -> str:
        return f"encoding {visible(''.join(rules[number]))} ends with this rule"

    return which(tuple(map(rule_name, rules)), right, why)
