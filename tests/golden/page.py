"""What the page's server answers for every example: pictures, and all other records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.golden import doors
from tests.golden.entries import Bulk, Entry
from tests.golden.texts import steady

Record = dict[str, Any]

# -- pictures -------------------------------------------------------------------------------------

#: A box of a desktop and one of a phone.
_BOXES = ((640, 420), (340, 300))

#: Examples whose pictures take seconds, drawn in the first box alone.
_LARGE = frozenset(["bullets", "todo", "weather", "product", "settings"])

_TABS = ("together", "characters", "tokens", "rules", "table")
_LEVELS = ("calls", "states", "around")

#: Examples whose machine over proper tokens is small; the others refuse after a second of work.
_PROPER = frozenset(
    [
        "yes_or_no",
        "date",
        "answer",
        "sentiment",
        "time",
        "duration",
        "phone",
        "order_number",
        "koo_choice",
        "koo_utterance",
        "koo_subset",
        "kbnf_repeat",
        "kbnf_digits",
        "figure_1_ab",
        "figure_1_odd",
        "figure_1_runs",
        "figure_2",
        "figure_5",
        "chess",
        "anbn",
        "koo_bullets",
    ]
)

#: What a picture's record says that is stored in full.
_SAID = ("count", "note", "whole", "legible", "partial", "centre", "follow", "heads")


def pictures(name: str) -> Iterator[Entry]:
    """Every tab of an example in two boxes, and at a text that has been read in part."""
    example = doors.gallery()[name]
    sent = doors.sent_for(example)
    tabs: list[Record] = [{"tab": tab} for tab in _TABS]
    tabs += [{"tab": "stack", "level": level} for level in _LEVELS]
    tabs += [{"tab": "proper"}] if name in _PROPER else []
    with doors.without_graphviz():
        for box in _BOXES[:1] if name in _LARGE else _BOXES:
            width, height = box
            sized = {**sent, "width": width, "height": height}
            for tab in tabs:
                if tab["tab"] == "table" and box != _BOXES[0]:
                    continue  # a list has no box
                words = " ".join([*tab.values(), f"{width}x{height}"])
                yield _picture(f"{name}/{words}", doors.ask("draw", {**sized, **tab}))
            yield _picture(f"{name}/railroad {width}x{height}", doors.ask("railroad", sized))
        begun = example.accepts[0].encode()[: len(example.accepts[0].encode()) // 2]
        after = {**sent, "tab": "together", "so_far": begun.hex()}
        flags = doors.ask("flags", after)
        said = {"count": flags.get("count"), "why": flags.get("why")}
        yield {"key": f"{name}/flags after a text", **said, "record": Bulk(flags)}
        folded = {**sent, "width": 640, "height": 420, "tab": "characters", "chains": True}
        yield _picture(f"{name}/characters folded", doors.ask("draw", folded))


def _picture(key: str, record: Record) -> Entry:
    if not record["ok"]:
        return {"key": key, **record}
    entry: Entry = {"key": key}
    if svg := record.get("svg"):
        kind = "lanes" if 'class="machine lanes' in svg else "railroad"
        entry |= {"svg": "dot" if "digraph" in svg else kind, "size": len(svg)}
        entry["picture"] = Bulk(svg)
    entry |= {field: record[field] for field in _SAID if record.get(field) not in (None, "", False)}
    entry |= {"states": len(record["states"]), "edges": len(record["edges"])}
    entry |= {"rows": len(record["rows"])} if "rows" in record else {}
    left = {field: one for field, one in record.items() if field not in {*_SAID, "svg"}}
    entry |= {"labels": Bulk([_labels(record), left.pop("states"), left.pop("edges")])}
    return {**entry, "rest": Bulk(left)}


def _labels(record: Record) -> list[Any]:
    return [edge["labels"] for edge in record["edges"]]


# -- other records --------------------------------------------------------------------------------

_SEED = 7

#: Tokens of a run.
_STEPS = 12

#: Tokens of which the server is asked why they are forbidden.
_ASKED = ("x", " ", "}", '"', "0", "\n", "é", None)


def records(name: str) -> Iterator[Entry]:
    """What the server answers about an example."""
    example = doors.gallery()[name]
    sent = doors.sent_for(example)
    yield {"key": f"{name}/example", "record": Bulk(doors.ask("example", {"name": name}))}
    compiled = steady(doors.ask("compile", sent))
    assert isinstance(compiled, dict)
    yield {"key": f"{name}/compile", **compiled}
    tried = [*example.accepts, *example.rejects]
    for number, result in enumerate(doors.ask("check", {**sent, "texts": tried})["results"]):
        yield {"key": f"{name}/check {number:02d}", **result}
    yield _outline(f"{name}/outline", sent)
    yield {"key": f"{name}/samples", **doors.ask("samples", {**sent, "seed": _SEED})}
    yield from _edited(name, sent)
    yield from _reasons(name, sent)
    yield from _states(name, sent)
    yield from _run(name, sent)


def advice(name: str) -> Iterator[Entry]:
    """The advice on a grammar; how far ambiguous texts were searched is left out."""
    with doors.fixed_clock(doors.LINT_TICK):
        answer = doors.ask("lint", doors.sent_for(doors.gallery()[name]))
    yield {"key": f"{name}/count", "problems": len(answer["problems"])}
    for number, problem in enumerate(answer["problems"]):
        yield {"key": f"{name}/{number:02d}", **problem}


def _outline(key: str, sent: Record) -> Entry:
    answer = doors.ask("outline", sent)
    rules = {rule["name"]: " · ".join(rule["flags"]) for rule in answer["rules"]}
    return {"key": key, "rules": rules, "record": Bulk(answer)}


def _edited(name: str, sent: Record) -> Iterator[Entry]:
    """What changes where the example is broken as the page proposes."""
    breaks = doors.gallery()[name].breaks
    if breaks:
        edited = {**sent, "text": sent["text"].replace(breaks[0], breaks[1]), "before": sent}
        yield {"key": f"{name}/changes", **doors.ask("changes", edited)}


def _reasons(name: str, sent: Record) -> Iterator[Entry]:
    """Why tokens are forbidden at the beginning and in the middle of a text."""
    example = doors.gallery()[name]
    text = example.accepts[0].encode()
    tokens = [None if token is None else token.encode().hex() for token in _ASKED]
    for at, so_far in (("start", b""), ("middle", text[: (len(text) + 1) // 2])):
        here = {**sent, "so_far": so_far.hex()}
        notes = doors.ask("reasons", {**here, "tokens": tokens})
        yield {"key": f"{name}/reasons at {at}", **notes}
        for token in tokens[:2]:  # in hexadecimal digits, as the page sends them
            answer = doors.ask("why", {**here, "token": token})
            yield _why(f"{name}/why at {at} {token}", answer)
    for number, rejected in enumerate(example.rejects[:2]):
        answer = doors.ask("why", {**sent, "token": rejected.encode().hex()})
        yield _why(f"{name}/why rejected {number}", answer)
    yield _why(f"{name}/why not end", doors.ask("why", {**sent, "so_far": "", "token": None}))


def _why(key: str, answer: Record) -> Entry:
    named = ("ok", "why", "allowed", "reason", "read", "failing", "expected", "may_end")
    entry = {field: answer[field] for field in named if field in answer}
    if "spans" in answer:
        entry["spans"] = [[span["start"], span["end"]] for span in answer["spans"][:6]]
        entry["stacks"] = [[frame["rule"] for frame in one] for one in answer["stacks"][:3]]
    return {"key": key, **entry, "record": Bulk(answer)}


def _states(name: str, sent: Record) -> Iterator[Entry]:
    """What is known of some states, and what a search finds."""
    first = doors.gallery()[name].accepts[0][:1]
    for tab in ("characters", "tokens", "rules"):
        for state in ("0", "1", "5"):
            answer = doors.ask("about_state", {**sent, "tab": tab, "state": state})
            if answer["ok"]:
                yield {"key": f"{name}/state {tab} {state}", **answer}
        for query in dict.fromkeys(("1", first, "start")):
            answer = doors.ask("find_states", {**sent, "tab": tab, "query": query})
            if answer["found"]:
                yield {"key": f"{name}/find {tab} {query!r}", **answer}


def _run(name: str, sent: Record) -> Iterator[Entry]:
    """A run of the toy model at temperature 0, step by step; then its next token."""
    example = doors.gallery()[name]
    asked = {**sent, "prompt": example.prompt, "max_tokens": _STEPS, "temperature": 0}
    asked["small_tokens"] = example.small_tokens
    prefix = []
    for record in doors.ask("run", asked)["records"]:
        plain = steady(record)
        assert isinstance(plain, dict)
        if record["k"] != "step":
            yield {"key": f"{name}/run {record['k']}", **plain}
            continue
        prefix.append(record["id"])
        yield {"key": f"{name}/run step {record['i']:02d}", **_step(plain)}
    turn = steady(doors.ask("turn", {**asked, "prefix": prefix[:3]}))
    yield {"key": f"{name}/turn", "record": Bulk(turn)}
    found = steady(doors.ask("find_tokens", {**asked, "prefix": prefix[:1], "query": "a"}))
    yield {"key": f"{name}/find tokens", "record": Bulk(found)}


def _step(record: Record) -> Entry:
    named = ("token", "state", "allowed", "cut", "rank", "rankm", "p", "pm", "stack", "loop")
    entry = {field: record[field] for field in named}
    return {**entry, "path": Bulk(record["path"]), "record": Bulk(record)}
