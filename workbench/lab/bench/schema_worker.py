"""One engine over a file of schemas.

Written apart from the reading of schemas, so that the one can be held against the other: nothing
is validated, and what does not fit is left as it stands.
"""

from __future__ import annotations

import gc
import json
import re
import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol
from urllib.parse import unquote

from workbench.base.errors import WorkbenchError
from workbench.base.limits import LIMITS, Phase, timed
from workbench.constraint.engine.automaton import automaton
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.lab.bench.peers.others import LLGuidance, XGrammar
from workbench.lab.bench.peers.ours import Ours
from workbench.lab.bench.peers.peer import ENGINES, OURS, Compiled, Walker
from workbench.vocabulary.vocabulary import Vocabulary

#: ``compiled``: it made a first mask; ``refused``: it said no, by an error of its own;
#: ``failed``: we did, by an error that is none of ours; ``crashed``, ``timed out``: its process.
Status = Literal["compiled", "refused", "failed", "crashed", "timed out"]


@dataclass(slots=True)
class Tally:
    """How many instances of a spelling were accepted, of how many."""

    valid: int = 0
    of_valid: int = 0
    invalid: int = 0
    of_invalid: int = 0

    def add(self, other: Tally) -> None:
        """Count those of another too."""
        self.valid += other.valid
        self.of_valid += other.of_valid
        self.invalid += other.invalid
        self.of_invalid += other.of_invalid

    def count(self, valid: bool, accepted: bool) -> None:
        """Count one instance."""
        if valid:
            self.add(Tally(valid=accepted, of_valid=1))
        else:
            self.add(Tally(invalid=accepted, of_invalid=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaRecord:
    """An engine on a schema.

    Unit: milliseconds from the schema's text to the first mask: ``ms`` of the quickest of some
          compilations, ``cpu_ms`` the same by the processor's time, ``first_ms`` of the first.
    """

    engine: str
    version: str
    id: str
    suite: str
    subset: str
    chars: int
    status: Status
    #: The error, and the keyword it names.
    reason: str = ""
    keyword: str = ""
    ms: float | None = None
    cpu_ms: float | None = None
    first_ms: float | None = None
    #: Milliseconds by what was made, of the quickest.
    parts: dict[str, float] = field(default_factory=dict)
    #: By spelling.
    tallies: dict[str, Tally] = field(default_factory=dict)
    #: Instances that were judged wrongly: their numbers, and in which spellings.
    wrong: dict[str, list[str]] = field(default_factory=dict)


#: A JSON value.
Json = Any

#: Whatever holds schemas that speak of the same value.
_ALL, _MAPS = ("allOf", "anyOf", "oneOf"), ("dependentSchemas", "dependencies")
_ONE = ("$ref", "if", "then", "else")

_GAPS: dict[str, dict[str, Any]] = {
    "spaced": {},
    "compact": {"separators": (",", ":")},
    "indented": {"indent": 2},
}


def spellings(schema: Json, instance: Json) -> dict[str, str]:
    """An instance as ``json.dumps`` writes it, by order, separators and whether ASCII only."""
    declared = in_declared_order(schema, instance)
    return {
        f"{order}/{gaps}/{letters}": json.dumps(value, ensure_ascii=ascii_only, **how)
        for order, value in (("declared", declared), ("file", instance))
        for gaps, how in _GAPS.items()
        for letters, ascii_only in (("raw", False), ("ascii", True))
    }


def in_declared_order(schema: Json, instance: Json) -> Json:
    """The same value, properties ordered as the schema names them.

    Its own ``properties`` come first, then those of what it refers to and is put together of, in
    the order of the text, the first mention counting; names the schema does not have come last, in
    the order they stand.
    """
    return _ordered(schema, [schema], instance)


def _ordered(root: Json, schemas: list[Json], value: Json) -> Json:
    speaking = list(_speaking(root, schemas))
    if isinstance(value, dict):
        declared = dict.fromkeys(n for s in speaking for n in _mapping(s, "properties"))
        names = [*(n for n in declared if n in value), *(n for n in value if n not in declared)]
        return {n: _ordered(root, list(_of_property(speaking, n)), value[n]) for n in names}
    if isinstance(value, list):
        return [
            _ordered(root, list(_of_item(speaking, place)), item)
            for place, item in enumerate(value)
        ]
    return value


def _speaking(root: Json, schemas: list[Json]) -> Iterator[dict[str, Json]]:
    """The schemas that speak of one value, those referred to after those that refer."""
    seen: set[int] = set()
    waiting = schemas[::-1]
    while waiting:
        schema = waiting.pop()
        if not isinstance(schema, dict) or id(schema) in seen:
            continue
        seen.add(id(schema))
        yield schema
        waiting += list(_beside(root, schema))[::-1]


def _beside(root: Json, schema: dict[str, Json]) -> Iterator[Json]:
    for keyword, held in schema.items():
        if keyword in _ONE:
            yield _resolved(root, held) if keyword == "$ref" else held
        elif keyword in _ALL and isinstance(held, list):
            yield from held
        elif keyword in _MAPS:
            yield from _mapping(schema, keyword).values()


def _of_property(speaking: list[dict[str, Json]], name: str) -> Iterator[Json]:
    for schema in speaking:
        own = _mapping(schema, "properties")
        fitting = [s for p, s in _mapping(schema, "patternProperties").items() if _found(p, name)]
        if name in own:
            fitting.insert(0, own[name])
        yield from fitting or [schema.get("additionalProperties")]
        yield schema.get("unevaluatedProperties")


def _of_item(speaking: list[dict[str, Json]], place: int) -> Iterator[Json]:
    for schema in speaking:
        items = schema.get("items")
        first = items if isinstance(items, list) else schema.get("prefixItems")
        if isinstance(first, list) and place < len(first):
            yield first[place]
        else:
            yield schema.get("additionalItems") if isinstance(items, list) else items
        yield schema.get("unevaluatedItems")
        yield schema.get("contains")


def _mapping(schema: dict[str, Json], keyword: str) -> dict[str, Json]:
    held = schema.get(keyword)
    return held if isinstance(held, dict) else {}


def _found(pattern: str, name: str) -> bool:
    try:
        return re.search(pattern, name) is not None
    except re.error:
        return False


def _resolved(root: Json, reference: Json) -> Json:
    """What a local reference points at; None for any other."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    here = root
    for part in reference[1:].split("/")[1:]:
        name = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(here, list) and name.isdigit() and int(name) < len(here):
            here = here[int(name)]
        elif isinstance(here, dict) and name in here:
            here = here[name]
        else:
            return None
    return here


@dataclass(frozen=True, slots=True)
class Made:
    """A compiled schema."""

    compiled: Compiled
    accepts: Callable[[str], bool]
    #: Milliseconds of what it was made of, by name; empty for engines that do not tell.
    parts: dict[str, float]


class SchemaPeer(Protocol):
    """An engine made ready for one vocabulary that reads schemas."""

    def made(self, schema: str) -> Made:
        """The engine's object of a schema's text; raises whatever the engine raises."""

    def start(self, compiled: Compiled) -> Walker:
        """A text that has not begun."""


class OurSchemas(Ours):
    """The exact engine, with the limits of the page."""

    def made(self, schema: str) -> Made:
        phases: list[Phase] = []
        grammar = Grammar.from_text(schema, Notation.JSON_SCHEMA, phases=phases)
        with timed("constraint", phases):
            compiled = automaton(grammar, self.vocabulary, LIMITS)
        return Made(compiled, grammar.accepts, {one.name: one.milliseconds for one in phases})


class LLGuidanceSchemas(LLGuidance):
    """Texts are put to it byte by byte, each as the token of that byte."""

    def prepare(self) -> None:
        super().prepare()
        ids_of = self.vocabulary.ids_of
        self.byte_tokens = [ids_of[bytes((byte,))][0] for byte in range(256)]

    def made(self, schema: str) -> Made:
        matcher = self.of_schema(schema)

        def accepts(text: str) -> bool:
            here = matcher.deep_copy()
            tokens = [self.byte_tokens[byte] for byte in text.encode()]
            return bool(here.try_consume_tokens(tokens) == len(tokens) and here.is_accepting())

        return Made(matcher, accepts, {})


class XGrammarSchemas(XGrammar):
    """Texts are put to it as they are; then the end token."""

    def made(self, schema: str) -> Made:
        compiled = self.of_schema(schema)

        def accepts(text: str) -> bool:
            matcher = self.module.GrammarMatcher(compiled)
            return bool(matcher.accept_string(text) and matcher.accept_token(self.end))

        return Made(compiled, accepts, {})


#: Those that read schemas, by their names among all engines.
SCHEMA_ENGINES: dict[str, Callable[[Vocabulary], SchemaPeer]] = {
    OURS: OurSchemas,
    "llguidance": LLGuidanceSchemas,
    "xgrammar": XGrammarSchemas,
}


#: Compilations go on until there are so many, or so many seconds are spent.
_TIMES, _SECONDS = 5, 0.25

#: A message of ours ends its pointer with the keyword.
_POINTER = re.compile(r"(?:^|\s)/?(?:[^\s:]*/)?([$\w]+):")


@dataclass(frozen=True, slots=True)
class Job:
    """What one process is to do."""

    engine: str
    vocabulary: str
    file: str
    #: Rows whose id, suite or subset holds this.
    only: str
    #: So many of them are done.
    done: int


def rows_of(file: Path, only: str) -> Iterator[dict[str, Any]]:
    """The rows of a file whose id, suite or subset holds a text."""
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            if any(only in row.get(key, "") for key in ("id", "suite", "subset")):
                yield row


def run(job: Job) -> None:
    """Tell the record of every row, and at the end what memory it took."""
    vocabulary = Vocabulary.load(job.vocabulary)
    peer = SCHEMA_ENGINES[job.engine](vocabulary)
    _masked(peer, '{"type": "object", "properties": {"a": {"type": "integer"}}}')
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number, row in enumerate(rows_of(Path(job.file), job.only)):
        if number >= job.done:
            _tell("schema", asdict(_record(peer, job.engine, row)))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    _tell("over", {"kilobytes": after - before})


def _record(peer: SchemaPeer, engine: str, row: dict[str, Any]) -> SchemaRecord:
    text = json.dumps(row["schema"], ensure_ascii=False)
    about: dict[str, Any] = {
        "engine": engine,
        "version": ENGINES[engine].version,
        "id": row["id"],
        "suite": row.get("suite", ""),
        "subset": row.get("subset", ""),
        "chars": len(text),
    }
    try:
        made, times, cpu = _quickest(peer, text)
    except WorkbenchError as error:
        named = _POINTER.search(error.message)
        keyword = named[1] if named else error.message[:60]
        return SchemaRecord(**about, status="refused", reason=error.message, keyword=keyword)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # panics of Rust extensions derive from BaseException
        told = f"{type(error).__name__}: {error}"[:300]
        return SchemaRecord(
            **about,
            status="failed" if engine == OURS else "refused",
            reason=told,
            keyword=told[:60],
        )
    tallies, wrong = judged(made.accepts, row)
    return SchemaRecord(
        **about,
        status="compiled",
        ms=1e3 * min(times),
        cpu_ms=1e3 * cpu,
        first_ms=1e3 * times[0],
        parts=made.parts,
        tallies=tallies,
        wrong=wrong,
    )


def _masked(peer: SchemaPeer, text: str) -> Made:
    made = peer.made(text)
    peer.start(made.compiled).mask()
    return made


def _quickest(peer: SchemaPeer, text: str) -> tuple[Made, list[float], float]:
    """The quickest of some compilations, the seconds of all, and the least of the processor's."""
    times: list[float] = []
    cpu: list[float] = []
    gc.collect()
    gc.disable()
    try:
        while not times or (len(times) < _TIMES and sum(times) < _SECONDS):
            spent, begun = time.process_time(), time.perf_counter()
            made = _masked(peer, text)
            times.append(time.perf_counter() - begun)
            cpu.append(time.process_time() - spent)
            if times[-1] == min(times):
                best = made
    finally:
        gc.enable()
    return best, times, min(cpu)


def judged(
    accepts: Callable[[str], bool], row: dict[str, Any]
) -> tuple[dict[str, Tally], dict[str, list[str]]]:
    """What is accepted of the instances, by spelling; and which are judged wrongly."""
    tallies: dict[str, Tally] = {}
    wrong: dict[str, list[str]] = {}
    for number, test in enumerate(row["tests"]):
        known: dict[str, bool] = {}
        for spelling, text in spellings(row["schema"], test["data"]).items():
            if text not in known:
                known[text] = _accepted(accepts, text)
            tallies.setdefault(spelling, Tally()).count(test["valid"], known[text])
            if known[text] != test["valid"]:
                wrong.setdefault(str(number), []).append(spelling)
    return tallies, wrong


def _accepted(accepts: Callable[[str], bool], text: str) -> bool:
    try:
        return accepts(text)
    except (UnicodeEncodeError, WorkbenchError):  # half a character; too much for the limits
        return False


def _tell(event: str, said: dict[str, object]) -> None:
    print(json.dumps({"event": event, **said}), flush=True)


if __name__ == "__main__":
    run(Job(**json.loads(sys.argv[1])))
