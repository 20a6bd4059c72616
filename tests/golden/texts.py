"""Texts: exports, messages about broken inputs, and what JSON Schemas become."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import workbench as wb
from tests.golden import doors
from tests.golden.entries import INPUTS, Bulk, Entry
from tests.golden.masks import masks

_CASES = Path(__file__).parents[1] / "data"

# -- exports --------------------------------------------------------------------------------------


def exports(name: str) -> Iterator[Entry]:
    """An example in every notation and as every program; or why it cannot be written so."""
    grammar = doors.grammar_of(name)
    for notation in doors.export_notations():
        key = f"{name}/{notation}"
        try:
            yield {"key": key, "text": doors.exported(grammar, notation)}
        except wb.WorkbenchError as error:
            yield {"key": key, **doors.refusal(error)}


#: Machines and formats that ``workbench draw`` writes as data.
_WRITTEN = (
    ("characters", "json"), ("characters", "fst"), ("rules", "json"), ("stack", "json"),
    ("stack", "fst"), ("tokens", "json"), ("tokens", "fst"),
)  # fmt: skip

#: Examples of which the machines over tokens are small.
_FEW_TOKENS = frozenset(
    ["yes_or_no", "date", "phone", "koo_choice", "anbn", "palindrome", "figure_2", "figure_6"]
)

#: Examples whose machines are written.
_MACHINES = (
    "yes_or_no", "date", "phone", "email", "person", "json", "csv", "order_number", "koo_choice",
    "kbnf_paragraph", "anbn", "palindrome", "arithmetic", "unicode", "weather", "domino_xml",
    "figure_2", "figure_6",
)  # fmt: skip


def machine_subjects() -> list[str]:
    """The examples whose machines are written."""
    return list(_MACHINES)


#: Bytes of a written machine of which the file has the text.
_SHORT = 600


def written_machines(name: str) -> Iterator[Entry]:
    """The machines of an example as ``workbench draw`` writes them: digests, or the message."""
    for machine, form in _WRITTEN:
        if machine == "tokens" and name not in _FEW_TOKENS:
            continue
        key = f"{name}/{machine} {form}"
        status, written, said = doors.command(
            "draw", "--example", name, "--machine", machine, "--format", form
        )
        entry: Entry = {"key": key, "status": status, "said": said.strip()}
        if status == 0:
            entry |= {"bytes": len(written), "lines": written.count(b"\n"), "file": Bulk(written)}
            if len(written) <= _SHORT:
                entry["text"] = written
        yield entry


# -- messages -------------------------------------------------------------------------------------


@cache
def broken() -> dict[str, list[dict[str, str]]]:
    """Inputs that cannot be read, by notation."""
    found: dict[str, list[dict[str, str]]] = {}
    for line in (INPUTS / "errors.jsonl").read_text("utf-8").splitlines():
        given = json.loads(line)
        found.setdefault(given["notation"], []).append(given)
    return found


def error_subjects() -> list[str]:
    """The notations, and the questions of the page."""
    return [*broken(), "page"]


def errors(subject: str) -> Iterator[Entry]:
    """The message for each broken input; ``accepted`` for an input that is read."""
    if subject == "page":
        yield from _page_errors()
        return
    for given in broken()[subject]:
        entry: Entry = {"key": given["key"], "input": given["text"]}
        try:
            doors.grammar(given["text"], subject)
            yield {**entry, "accepted": True}
        except wb.WorkbenchError as error:
            yield {**entry, **doors.refusal(error)}


_REGEX = {"text": "(Ada|name)+", "notation": "regex"}
_NESTED = {"text": "start ::= '(' start? ')';", "notation": "kbnf"}

#: Questions that the page's server refuses.
_REFUSED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("compile", {}),
    ("compile", {"text": 1}),
    ("compile", {"text": "  "}),
    ("compile", {"text": "a", "notation": "bnf"}),
    ("compile", {"text": "a" * 50_001}),
    ("compile", {"text": "(ab", "notation": "regex"}),
    ("compile", {"text": "start ::= 'a", "notation": "kbnf"}),
    ("compile", {"text": '{"type": "string"}', "notation": "regex"}),
    ("compile", {"text": "start ::= 'a';", "notation": "json_schema"}),
    ("check", {"text": "a", "texts": 7}),
    ("check", {"text": "a", "texts": [7]}),
    ("draw", {"text": "a", "tab": 7}),
    ("draw", {**_REGEX, "tab": "stack"}),
    ("draw", {**_REGEX, "tab": "rules"}),
    ("draw", {**_NESTED, "tab": "characters"}),
    ("draw", {**_NESTED, "tab": "proper"}),
    ("draw", {"text": "(a", "tab": "characters"}),
    ("draw", {**_REGEX, "width": "wide"}),
    ("draw", {**_REGEX, "so_far": "no hex"}),
    ("draw", {**_NESTED, "tab": "tokens", "so_far": "78"}),
    ("mask", {**_REGEX, "so_far": "x"}),
    ("example", {"name": "no_such"}),
    ("example", {"name": 7}),
    ("why", {**_REGEX, "so_far": "zz"}),
    ("why", {**_REGEX, "so_far": "78", "token": "61"}),
    ("why", {"text": "(a", "token": "61"}),
    ("reasons", {**_REGEX, "so_far": "78", "tokens": ["61", None]}),
    ("reasons", {**_REGEX, "tokens": 5}),
    ("about_state", {**_REGEX, "tab": "characters", "state": "99"}),
    ("about_edge", {**_REGEX, "tab": "tokens", "source": "0", "target": "99"}),
    ("about_edge", {**_REGEX, "tab": "tokens", "parts": ["x"]}),
    ("find_states", {**_NESTED, "tab": "characters", "query": "1"}),
    ("run", {**_REGEX, "constraint": "magic"}),
    ("run", {**_REGEX, "prefix": "x"}),
    ("run", {**_REGEX, "temperature": "hot"}),
    ("run", {**_NESTED, "constraint": "vegas"}),
    ("run", {**_REGEX, "prefix": [1, 2]}),
    ("turn", {**_REGEX, "small_tokens": 1}),
)


def _page_errors() -> Iterator[Entry]:
    for number, (question, sent) in enumerate(_REFUSED):
        shown = {key: one if len(str(one)) < 100 else "…" for key, one in sent.items()}
        key = f"page/{number:02d} {question}"
        try:
            answer = doors.ask(question, sent)
        except wb.WorkbenchError as error:
            answer = doors.refusal(error)
        yield {"key": key, "sent": shown, "answer": steady(answer)}


#: Fields that hold times or sizes of pictures, which are recorded elsewhere.
_UNSTEADY = frozenset({"ms", "rate", "svg"})


def steady(value: object) -> object:
    """A record without times; of a phase the name remains."""
    if isinstance(value, dict):
        return {key: steady(one) for key, one in value.items() if key not in _UNSTEADY}
    if isinstance(value, list):
        return [steady(one) for one in value]
    return value


# -- JSON Schemas ---------------------------------------------------------------------------------


@cache
def schemas() -> dict[str, Any]:
    """A sample of the schemas of the test data, by key."""
    suite = _lines("json_schema_suite.jsonl.gz")[::2]
    common = _lines("common_schemas.jsonl.gz")
    found = {row["id"]: row["schema"] for row in suite}
    return found | {f"common-{row['name']}": row["schema"] for row in common}


#: Schemas whose rules take seconds to write as KBNF.
_NOT_WRITTEN = frozenset(
    [
        "js-1450",
        "common-package_json",
        "common-kubernetes_deployment",
        "common-at_least_one_of_12",
        "common-tsconfig_like",
        "common-or_recursive_untagged_one",
    ]
)


def _lines(name: str) -> list[dict[str, Any]]:
    data = gzip.decompress((_CASES / name).read_bytes())
    return [json.loads(line) for line in data.splitlines()]


def schema_names() -> list[str]:
    """The names of the sample."""
    return list(schemas())


def schema_entries(name: str) -> Iterator[Entry]:
    """What a schema becomes: the rules as KBNF, some texts, and masks along them."""
    try:
        grammar = wb.Grammar.from_json_schema(schemas()[name], whitespace="any")
    except wb.WorkbenchError as error:
        yield {"key": f"{name}/refused", **doors.refusal(error)}
        return
    assert grammar.tree is not None, "a schema becomes rules"
    yield {
        "key": f"{name}/grammar",
        "rules": [rule.name for rule in grammar.tree.rules][:12],
        "advice": [one.message for one in doors.advice_of(grammar)],
        **({} if name in _NOT_WRITTEN else _written(grammar)),
    }
    try:
        constraint = wb.compile(grammar, doors.builtin())
    except wb.WorkbenchError as error:
        yield {"key": f"{name}/masks", **doors.refusal(error)}
        return
    for number, text in enumerate(doors.some_texts(grammar, 2)):
        yield {"key": f"{name}/{number}", **masks(constraint, text.encode(), places=7)}


#: Characters of a grammar that the file has in full.
_SHORT_GRAMMAR = 400


def _written(grammar: wb.Grammar) -> Entry:
    """The rules as KBNF: in full where they are short."""
    try:
        text = doors.exported(grammar, "kbnf")
    except wb.WorkbenchError as error:
        return {"kbnf": doors.refusal(error)}
    short = {"kbnf": text} if len(text) <= _SHORT_GRAMMAR else {"kbnf": Bulk(text)}
    return {"characters": len(text), **short}
