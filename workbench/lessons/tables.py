"""The worked tables a lesson may name: a world and settings come in, computed cells go out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workbench.automata.dfa import DEAD
from workbench.constraint.compose import compose
from workbench.drawing.text import visible
from workbench.lessons.chances import bits, number, share, turns, wholes
from workbench.lessons.constructing import subset_steps
from workbench.lessons.films import called
from workbench.lessons.lesson import Kind, LessonError, Table
from workbench.lessons.running import set_name
from workbench.lessons.taking import choices, needed
from workbench.lessons.world import World, spelt
from workbench.resources import GRAMMARS
from workbench.vocabulary.vocabulary import Vocabulary

_YES, _NO = "✓", "✗"

#: What a lesson writes in a row of its own.
_Given = Mapping[str, Any]


def index(world: World) -> Table:
    """The map σ: for each state the tokens its mask allows, and where each leads.

    Source: Willard & Louf 2023, Algorithm 4.
    """
    fsa = compose(world.dfa, world.vocabulary)
    rows = []
    for state in range(len(fsa)):
        edges = fsa.edges(state)
        tokens = "  ".join(world.shown(token_id) for token_id, _ in edges) or "∅"
        leads = "  ".join(f"{world.shown(i)} → {target}" for i, target in edges)
        rows.append((str(state), tokens, leads, _YES if fsa.finals[state] else _NO))
    return Table("The index", ("state", "σ(state)", "leads to", "may end"), tuple(rows))


def subset_table(world: World) -> Table:
    """The transition table of the subset construction, a row a set."""
    nfa, rows = world.nfa, {}
    steps = list(subset_steps(nfa))
    letters = sorted({step.byte for step in steps})
    for states in dict.fromkeys(s for step in steps for s in (step.source, step.target)):
        ends = {step.byte: set_name(step.target) for step in steps if step.source == states}
        final = _YES if states & nfa.finals else _NO
        rows[states] = (set_name(states), *(ends.get(b, "∅") for b in letters), final)
    heads = ("set", *(visible(chr(b)) for b in letters), "accepts")
    return Table("The subset construction as a table", heads, tuple(rows.values()))


def verdicts(world: World, *, texts: Sequence[str], rows: Sequence[_Given] = ()) -> Table:
    """Which texts a grammar accepts, or each of several."""
    worlds = [(str(row.get("name", "")), _world_of(row)) for row in rows] or [("", world)]
    made = [
        (name or one.regex or one.kbnf, *(_YES if one.grammar.accepts(t) else _NO for t in texts))
        for name, one in worlds
    ]
    heads = ("written", *(visible(text) or "(empty)" for text in texts))
    return Table("What is accepted", heads, tuple(made))


def _world_of(row: _Given) -> World:
    return World(regex=str(row.get("regex", "")), kbnf=str(row.get("kbnf", "")))


def blocked(world: World, *, after: str = "") -> Table:
    """Every token after a text: allowed, or what the grammar needed where it fails."""
    live = " ▸ ".join(world.grammar.live_rules(after))
    rows = tuple((c.text, _YES if c.allowed else _NO, c.why) for c in choices(world, spelt(after)))
    said = f"After {visible(after)}" if after else "At the beginning"
    return Table(said + (f", inside {live}" if live else ""), ("token", "allowed", "why not"), rows)


def live_stack(world: World, *, text: str) -> Table:
    """Character by character the rules being read, and what may follow."""
    rows = []
    for place in range(len(text) + 1):
        rules = " ▸ ".join(world.grammar.live_rules(text[:place]))
        follow = needed(world, text[:place].encode())
        rows.append((visible(text[:place]) or "(nothing)", rules, follow))
    return Table("The live rules", ("read", "rules", "may follow"), tuple(rows))


def cuts(world: World, *, rows: Sequence[_Given], terminals: Sequence[str] = ()) -> Table:
    """Tokenizations with their scores: accepted or not, and whether a token crosses terminals.

    Source: Koo et al. 2024, Appendix A.
    """
    made = []
    for row in rows:
        tokens = [str(token) for token in row["tokens"]]
        text = "".join(tokens)
        accepted = _YES if world.grammar.accepts(text) else _NO
        crossing = _crossing(tokens, _borders(text, terminals))
        made.append(
            (str(row["score"]), " ".join(map(visible, tokens)), text, accepted, crossing or "none")
        )
    heads = ("score", "tokens", "text", "accepted", "crosses terminals")
    return Table("Ways to spell a call", heads, tuple(made))


def _borders(text: str, terminals: Sequence[str]) -> set[int]:
    """The places between the terminals a text is made of."""
    places, place = set(), 0
    while place < len(text):
        found = max((t for t in terminals if text.startswith(t, place)), key=len, default="")
        if not found:
            raise LessonError(f"expected terminals that spell {text!r}")
        place += len(found)
        places.add(place)
    return places - {len(text)}


def _crossing(tokens: Sequence[str], borders: set[int]) -> str:
    place, found = 0, []
    for token in tokens:
        if borders & set(range(place + 1, place + len(token))):
            found.append(visible(token))
        place += len(token)
    return "  ".join(found)


def spellings(world: World, *, text: str) -> Table:
    """Every way to cut a text into tokens."""
    made = tuple(
        (str(i), "  ".join(map(visible, cut))) for i, cut in enumerate(cut_ways(world, text), 1)
    )
    return Table(f"Every way to spell {visible(text)}", ("", "tokens"), made)


def cut_ways(world: World, text: str) -> list[tuple[bytes, ...]]:
    """Every sequence of tokens that spells a text."""
    data = text.encode()
    ways: list[list[tuple[bytes, ...]]] = [[] for _ in range(len(data) + 1)]
    ways[0] = [()]
    for place in range(len(data)):
        for token in world.words:
            if data.startswith(token, place):
                ways[place + len(token)] += [(*way, token) for way in ways[place]]
    return ways[len(data)]


def utf8(world: World, *, characters: Sequence[str]) -> Table:
    """Characters as the bytes that run."""
    rows = tuple(
        (c, f"U+{ord(c):04X}", " ".join(f"<0x{b:02X}>" for b in c.encode())) for c in characters
    )
    return Table("UTF-8", ("character", "code point", "bytes"), rows)


def path(world: World, *, tokens: Sequence[str]) -> Table:
    """A text token by token: probability, surprisal, kept mass, bits of the mask."""
    ids = tuple(world.vocabulary.ids(*(spelt(token) for token in tokens)))
    made = turns(world, ids)
    rows = [
        (
            world.shown(t.token_id),
            share(t.before),
            number(bits(t.before)),
            share(t.kept),
            number(bits(t.kept)),
            share(t.after),
            number(bits(t.after)),
        )
        for t in made
    ]
    numbers = [
        [bits(t.before) for t in made],
        [bits(t.kept) for t in made],
        [bits(t.after) for t in made],
    ]
    totals = [sum(column) for column in numbers]
    rows.append(("together", "", number(totals[0]), "", number(totals[1]), "", number(totals[2])))
    heads = ("token", "before", "bits", "kept", "mask bits", "after", "bits")
    return Table("Token by token", heads, tuple(rows))


def conditional(world: World) -> Table:
    """A finite language: what masking samples, and what the model itself thinks of valid texts."""
    every = wholes(world)
    valid = sum(one.free for one in every)
    rows = [
        (
            " ".join(world.shown(i) for i in one.ids[:-1]),
            share(one.free),
            share(one.free / valid),
            share(one.masked),
        )
        for one in every
    ]
    heads = ("text", "model", "model, given that it is valid", "under the mask")
    return Table(f"{share(valid)} of what the model would write is valid", heads, tuple(rows))


def widths(world: World, *, vocabulary: str = "builtin") -> Table:
    """For each state of the automaton how many tokens of a real vocabulary it allows."""
    tokens = Vocabulary.load(vocabulary)
    fsa = compose(world.dfa, tokens)
    counts = [len(fsa.row(state)) for state in range(len(fsa))]
    rows = tuple(
        (str(s), f"{count:,}", share(count / len(tokens)), str(len({t for _, t in fsa.edges(s)})))
        for s, count in enumerate(counts)
    )
    heads = ("state", "token edges", "of the vocabulary", "states they lead to")
    return Table(f"{len(tokens):,} tokens, {sum(counts):,} edges", heads, rows)


def recorded(world: World, *, example: str, first: int = 12) -> Table:
    """The run of the embedded model recorded for an example, its first tokens and its sums."""
    kept = GRAMMARS / f"{example}.trace.ndjson"
    if not example.isidentifier() or not kept.is_file():
        raise LessonError(f"expected an example with a recorded run, not {example!r}")
    records = [json.loads(line) for line in kept.read_text("utf-8").splitlines()]
    steps = [r for r in records if r["k"] == "step"]
    rows = [
        (
            _token_text(r["token"]),
            str(r["rank"]),
            number(r["s"]),
            share(r["kept"]),
            number(r["m"]),
            f"{r['allowed']:,}",
        )
        for r in steps[:first]
    ]
    asked = [r for r in steps if r["s"] is not None and not r["token"].get("end")]
    together = sum(r["s"] for r in asked)
    taken = sum(r["m"] for r in steps if r["m"] is not None)
    rows.append((f"all {len(steps)}", "", number(together), "", number(taken), ""))
    mean = 2 ** (together / len(asked))
    heads = ("token", "rank", "surprisal (bits)", "kept", "mask bits", "allowed")
    return Table(f"perplexity {number(mean)} over {len(asked)} tokens", heads, tuple(rows))


def _token_text(token: _Given) -> str:
    if token.get("end"):
        return "end"
    return visible(bytes.fromhex(token["hex"]) if "hex" in token else str(token["text"]))


def written(
    world: World, *, caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]]
) -> Table:
    """A table as the source has it, for what no engine computes."""
    return Table(caption, tuple(heads), tuple(tuple(map(str, row)) for row in rows))


def passing(world: World) -> Table:
    """The transition table of the minimal automaton over its characters."""
    dfa = world.dfa
    letters = [b for b in range(33, 127) if any(dfa.step(s, b) != DEAD for s in range(len(dfa)))]
    rows = tuple(
        (
            str(state),
            *("" if dfa.step(state, b) == DEAD else str(dfa.step(state, b)) for b in letters),
            _YES if dfa.is_final(state) else _NO,
        )
        for state in range(len(dfa))
    )
    return Table("The automaton as a table", ("state", *map(chr, letters), "accepts"), rows)


#: By the name a lesson's file uses.
TABLES: dict[str, Callable[..., Table]] = {
    "index": index,
    "subsets": subset_table,
    "automaton": passing,
    "verdicts": verdicts,
    "blocked": blocked,
    "live rules": live_stack,
    "cuts": cuts,
    "spellings": spellings,
    "utf-8": utf8,
    "path": path,
    "conditional": conditional,
    "widths": widths,
    "recorded run": recorded,
    "written": written,
}


def table(kind: Kind, world: World) -> Table:
    """The table of a step.

    Raises: LessonError for a table nobody knows, or settings it does not have.
    """
    made = called(TABLES, "table", kind, kind.world or world)
    assert isinstance(made, Table)
    return made
