"""Tool calls of the Berkeley Function Calling Leaderboard: one function, one call, right or wrong.

The questions are read from the installed package ``bfcl-eval`` (Apache-2.0), whose module is not
imported; nothing of them is stored with the results but the model's own texts. A call is right if
its name is the function's, every argument is one of the accepted values, and every argument that is
left out may be. Texts are compared without case, blanks and the signs ``, . / - _ * ^``, as in the
leaderboard, where types are checked too; here the grammar of the function does that.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from lab.experiments.experiment import LIMITS, Column, Experiment, Record, Setting, Size, Unit
from lab.experiments.greedy_answers import Answer, Asked, asked, tried_answers
from lab.experiments.proportions import Proportion
from workbench.base.errors import WorkbenchError
from workbench.base.text_tables import format_table
from workbench.decoding.contenders import UNCONSTRAINED, all_contenders
from workbench.grammar.tool_calls import STYLES, Tool, ToolCall, tool_calls
from workbench.vocabulary.vocabulary import TokenId

PACKAGE = "bfcl_eval"
_QUESTIONS = "BFCL_v*_simple_python.json"
#: The questions of the file of 2026; fewer are used if a version has fewer.
_COUNT = 400
_PER_UNIT = 4
_STYLE = "hermes"
_METHODS = {
    UNCONSTRAINED: "alone",
    "automaton": "constrained",
    "finishing": "constrained, must finish",
}

#: The leaderboard's names of types that JSON Schema calls otherwise.
_TYPES = {"dict": "object", "float": "number", "tuple": "array"}
_KEPT = ("enum", "required", "description")

_PROMPT = """You can call this function:
{tool}
Answer with one call and nothing else:
<tool_call>
{{"name": …, "arguments": {{…}}}}
</tool_call>

{question}
"""


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A question, the function to call, and the accepted arguments of each name."""

    text: str
    tool: Tool
    accepted: Mapping[str, Any]


def data_folder() -> Path:
    """The data of the installed package.

    Raises: WorkbenchError if it is not installed.
    """
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise WorkbenchError(
            "the questions of tool-calls are in the package bfcl-eval, which is not installed",
            "pip install --no-deps bfcl-eval (Apache-2.0); only its data are read",
        )
    return Path(next(iter(spec.submodule_search_locations))) / "data"


@cache
def simple_questions(folder: Path) -> tuple[Question, ...]:
    """The questions of the newest version of the simple calls.

    Raises: WorkbenchError for files of another format.
    """
    try:
        asked_in = sorted(folder.glob(_QUESTIONS))[-1]
        answers = folder / "possible_answer" / asked_in.name
        rows = [json.loads(line) for line in asked_in.read_text("utf-8").splitlines()]
        given = [json.loads(line) for line in answers.read_text("utf-8").splitlines()]
        right = {row["id"]: row["ground_truth"][0] for row in given}
        return tuple(_question(row, right[row["id"]]) for row in rows)
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise WorkbenchError(
            f"cannot read the questions of bfcl-eval in {folder}: {error!r}",
            "install another version: this one was written for the data of version 4",
        ) from error


def _question(row: Mapping[str, Any], right: Mapping[str, Any]) -> Question:
    (function,) = row["function"]
    schema = as_json_schema(function["parameters"])
    described = {"name": function["name"], "parameters": schema}
    text = row["question"][0][-1]["content"]
    tool = Tool.of(described)
    return Question(text, tool, right[tool.name])


def as_json_schema(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """A schema of the leaderboard as a JSON Schema with closed objects."""
    kind = _TYPES.get(parameters["type"], parameters["type"])
    schema: dict[str, Any] = {} if kind == "any" else {"type": kind}
    schema |= {name: parameters[name] for name in _KEPT if name in parameters}
    if "properties" in parameters:
        members = parameters["properties"].items()
        schema["properties"] = {name: as_json_schema(one) for name, one in members}
        schema["additionalProperties"] = False
    if "items" in parameters:
        schema["items"] = as_json_schema(parameters["items"])
    return schema


def call_in(text: str) -> ToolCall | None:
    """The first call in a text of the model, also if the text around it is wrong."""
    for match in re.finditer(r'\{\s*"name"', text):
        try:
            found, _ = json.JSONDecoder().raw_decode(text, match.start())
        except ValueError:
            continue
        if isinstance(found.get("name"), str) and isinstance(found.get("arguments"), dict):
            return ToolCall(found["name"], found["arguments"])
    return None


def is_right(call: ToolCall | None, question: Question) -> bool:
    """Whether a call is one of the accepted ones."""
    return (
        call is not None
        and call.name == question.tool.name
        and _arguments(call.arguments, question.accepted)
    )


def _arguments(given: Mapping[str, Any], accepted: Mapping[str, Sequence[Any]]) -> bool:
    """Whether each argument is one of its values; ``""`` says that it may be left out."""
    return all(name in accepted for name in given) and all(
        _equals_one(given[name], values) if name in given else "" in values
        for name, values in accepted.items()
    )


def _equals_one(value: object, accepted: Sequence[Any]) -> bool:
    if isinstance(value, dict):
        return any(isinstance(one, dict) and _arguments(value, one) for one in accepted)
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return any(
            isinstance(one, list)
            and len(one) == len(value)
            and all(map(_equals_one, value, ([each] for each in one)))
            for one in accepted
        )
    return any(_comparable(value) == _comparable(one) for one in accepted if one != "" or not value)


def _comparable(value: object) -> object:
    """A value in a form in which texts differ only if the leaderboard distinguishes them."""
    if isinstance(value, str):
        return re.sub(r"[ ,./\-_*^]", "", value).lower().replace("'", '"')
    if isinstance(value, list):
        return [_comparable(one) for one in value]
    return ("bool", value) if isinstance(value, bool) else value


def prompt_of(question: Question) -> str:
    """The function and the question."""
    tool = {"name": question.tool.name, "parameters": question.tool.parameters}
    return _PROMPT.format(tool=json.dumps(tool), question=question.text)


def _measured(first: int, setting: Setting) -> Record:
    """Some questions alone and under the grammar of the function, answered greedily in one batch.

    A run that fails, for instance because no call ends in these tokens, is a row with the reason.
    """
    record: Record = {}
    asked_of: list[tuple[str, Question, Asked | WorkbenchError]] = []
    for question in simple_questions(data_folder())[first : first + _PER_UNIT]:
        prompt = asked(setting.model, prompt_of(question), chat=setting.size.chat)
        length = getattr(setting.model, "context_length", None)
        if length is not None and len(prompt) >= length:
            record.setdefault("too long", []).append(question.tool.name)
            continue
        runs = _asked(question, prompt, setting)
        asked_of += [(method, question, run) for method, run in runs.items()]
    running = [run for _, _, run in asked_of if isinstance(run, Asked)]
    given = iter(tried_answers(setting, running))
    for method, question, run in asked_of:
        found = run if isinstance(run, WorkbenchError) else next(given)
        record.setdefault(method, []).append(_row(question, found))
    return record


def _asked(
    question: Question, prompt: Sequence[TokenId], setting: Setting
) -> dict[str, Asked | WorkbenchError]:
    """The run of each method, or why it cannot begin."""
    grammar = tool_calls(
        [{"name": question.tool.name, "parameters": question.tool.parameters}],
        style=_STYLE,
        at_least_one=True,
        parallel=False,
        limits=LIMITS,
    )
    found: dict[str, Asked | WorkbenchError] = {}
    for method in _METHODS:
        try:
            prepared = all_contenders()[method].prepare(setting.model, grammar, LIMITS)
            found[method] = Asked(setting, prepared, grammar, prompt, setting.size.tokens)
        except WorkbenchError as error:
            found[method] = error
    return found


def _row(question: Question, found: Answer | WorkbenchError) -> Record:
    """An answer and its score; one that failed counts as cut."""
    if isinstance(found, WorkbenchError):
        row = {"text": "", "valid": False, "cut": True, "named": False, "right": False}
        return row | {"failed": found.message}
    call = STYLES[_STYLE].calls(found.text)[0] if found.valid else call_in(found.text)
    return {
        "text": found.text,
        "valid": found.valid,
        "cut": found.cut,
        "named": call is not None and call.name == question.tool.name,
        "right": is_right(call, question),
    }


def _units(size: Size) -> list[Unit]:
    chat = ", chat" if size.chat else ""
    return [
        Unit(f"tool-calls/{size.tokens} tokens{chat}/{first}", partial(_measured, first))
        for first in range(0, min(size.questions, _COUNT), _PER_UNIT)
    ]


_INTRODUCTION = """Simple calls of the Berkeley Function Calling Leaderboard: one function, one
right call. Greedy answers in the style of Hermes, intervals of 95 % (Wilson). *Well-formed* is a
text of the function's grammar; *named* has a call of the function, also with other text around it;
*right* has the accepted arguments too. A *cut* answer reached the budget of tokens. Questions whose
prompt is longer than the model's context are left out."""


def _section(columns: Sequence[Column]) -> str:
    rows = [["model", "", "questions", "well-formed", "named", "right", "cut", "left out"]]
    notes: list[str] = []
    for column in columns:
        records = list(column.records.values())
        left_out = sum(len(record.get("too long", ())) for record in records)
        rights = {}
        failed: list[str] = []
        for method, title in _METHODS.items():
            found = [row for record in records for row in record.get(method, ())]
            valid, named, rights[method] = (
                Proportion.among(row[key] for row in found) for key in ("valid", "named", "right")
            )
            shares = (str(valid), str(named), str(rights[method]))
            cut = str(sum(row["cut"] for row in found))
            rows.append([column.title, title, str(len(found)), *shares, cut, str(left_out)])
            reasons = Counter(row["failed"] for row in found if "failed" in row)
            failed += [
                f"* {column.title}, {title}: {count} of {len(found)} failed and count as cut:"
                f" {reason}."
                for reason, count in reasons.items()
            ]
        notes += [_verdict(column, rights), *failed]
    return "\n\n".join([_INTRODUCTION, format_table(rows, "markdown"), "\n".join(notes)])


def _verdict(column: Column, rights: Mapping[str, Proportion]) -> str:
    """Whether the constraint changes how many calls are right."""
    alone, constrained = rights[UNCONSTRAINED], rights["automaton"]
    chat = "as a message of a chat" if column.size.chat else "without a chat template"
    under = f"* {column.title} ({chat}, at most {column.size.tokens} tokens)"
    if not alone.of:
        return f"{under}: no question fits into its context."
    return (
        f"{under}: right constrained ({constrained.value:.3f}) {constrained.compared(alone)} alone"
        f" ({alone.value:.3f})."
    )


TOOL_CALLS = Experiment(
    name="tool-calls",
    title="Tool calls",
    source="Patil et al. 2025, the Berkeley Function Calling Leaderboard, simple calls",
    units=_units,
    section=_section,
    package=PACKAGE,
)
