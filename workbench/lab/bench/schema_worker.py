"""The worker of the schema benchmark: one engine that is asked about schemas with instances.

The traversal that puts properties into declared order shares no code with ``workbench.schema``, so
that it can check it: it validates nothing, and leaves values that fit no schema unchanged.
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
from functools import partial
from pathlib import Path
from typing import Any, Literal, Protocol
from urllib.parse import unquote

from workbench.base.errors import TokenNotAllowed, WorkbenchError
from workbench.base.kernels import wait_until_compiled
from workbench.base.limits import LIMITS, Phase, timed
from workbench.constraint.engine.automaton import automaton
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.lab.bench.answering import serve
from workbench.lab.bench.peers.others import LLGuidance, XGrammar
from workbench.lab.bench.peers.ours import Ours
from workbench.lab.bench.peers.peer import ENGINES, OURS, Compiled, Walker, greedy_tokens
from workbench.vocabulary.vocabulary import Vocabulary

#: ``compiled``: the engine computed a first mask; ``refused``: it raised its error type;
#: ``failed``: our engine raised another error; ``crashed``, ``timed out``: its process did.
Status = Literal["compiled", "refused", "failed", "crashed", "timed out"]


@dataclass(slots=True)
class Tally:
    """Counts of accepted instances of one spelling, and of all instances."""

    valid: int = 0
    of_valid: int = 0
    invalid: int = 0
    of_invalid: int = 0

    def add(self, other: Tally) -> None:
        """Add the counts of another tally."""
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

    Unit: milliseconds from the schema's text to the first mask: ``ms`` of the quickest of several
          compilations, ``cpu_ms`` in processor time, ``first_ms`` of the first compilation.
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
    #: Milliseconds of each phase of the quickest compilation.
    parts: dict[str, float] = field(default_factory=dict)
    #: By spelling.
    tallies: dict[str, Tally] = field(default_factory=dict)
    #: Instances judged wrongly: their number → the spellings.
    wrong: dict[str, list[str]] = field(default_factory=dict)
    #: Microseconds of the mask before each token of valid instances, the first mask left out.
    mask_us: list[float] = field(default_factory=list)
    #: By which the process has grown up to here.
    kilobytes: int = 0

    @property
    def passes(self) -> bool:
        """Whether it compiles and every instance in declared order is judged rightly."""
        declared = (one.startswith("declared") for how in self.wrong.values() for one in how)
        return self.status == "compiled" and not any(declared)


#: A JSON value.
Json = Any

#: Keywords whose schemas apply to the same value: lists, mappings, single schemas.
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

    The schema's own ``properties`` come first, then those of referenced and combined schemas in
    the order of the text, each name at its first mention. Undeclared names come last, in the
    instance's order.
    """
    return _ordered(schema, [schema], instance)


def undeclared_left_out(schema: Json, instance: Json) -> Json:
    """The same value without the properties that no schema names, matches or speaks of."""
    return _ordered(schema, [schema], instance, undeclared=False)


def _ordered(root: Json, schemas: list[Json], value: Json, *, undeclared: bool = True) -> Json:
    applicable = list(_applicable(root, schemas))
    ordered = partial(_ordered, root, undeclared=undeclared)
    if isinstance(value, dict):
        declared = dict.fromkeys(n for s in applicable for n in _mapping(s, "properties"))
        others = (n for n in value if n not in declared)
        kept = (n for n in others if undeclared or _is_described(applicable, n))
        names = [*(n for n in declared if n in value), *kept]
        return {n: ordered(list(_of_property(applicable, n)), value[n]) for n in names}
    if isinstance(value, list):
        return [
            ordered(list(_of_item(applicable, place)), item) for place, item in enumerate(value)
        ]
    return value


#: Keywords that describe properties without naming them.
_OTHERS = "additionalProperties", "unevaluatedProperties", "propertyNames"


def _is_described(applicable: list[dict[str, Json]], name: str) -> bool:
    """Whether a keyword other than ``properties`` speaks of a property."""
    return any(
        any(keyword in schema for keyword in _OTHERS)
        or any(_found(pattern, name) for pattern in _mapping(schema, "patternProperties"))
        for schema in applicable
    )


def _applicable(root: Json, schemas: list[Json]) -> Iterator[dict[str, Json]]:
    """The schemas that apply to one value; a referenced schema after the one that refers."""
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


def _of_property(applicable: list[dict[str, Json]], name: str) -> Iterator[Json]:
    for schema in applicable:
        own = _mapping(schema, "properties")
        fitting = [s for p, s in _mapping(schema, "patternProperties").items() if _found(p, name)]
        if name in own:
            fitting.insert(0, own[name])
        yield from fitting or [schema.get("additionalProperties")]
        yield schema.get("unevaluatedProperties")


def _of_item(applicable: list[dict[str, Json]], place: int) -> Iterator[Json]:
    for schema in applicable:
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
    """The target of a local reference; None for any other reference."""
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
class CompiledSchema:
    """A compiled schema."""

    compiled: Compiled
    accepts: Callable[[str], bool]
    #: Milliseconds by phase; empty for engines that do not report them.
    parts: dict[str, float]


class SchemaPeer(Protocol):
    """An engine that reads schemas, prepared for one vocabulary."""

    vocabulary: Vocabulary

    def compile(self, schema: str) -> CompiledSchema:
        """The engine's object of a schema's text; raises whatever the engine raises."""

    def start(self, compiled: Compiled) -> Walker:
        """A walker at the beginning of a text."""


class OurSchemas(Ours):
    """The exact engine, with the limits of the page."""

    def compile(self, schema: str) -> CompiledSchema:
        phases: list[Phase] = []
        grammar = Grammar.from_text(schema, Notation.JSON_SCHEMA, phases=phases)
        with timed("constraint", phases):
            compiled = automaton(grammar, self.vocabulary, LIMITS)
        return CompiledSchema(
            compiled, grammar.accepts, {one.name: one.milliseconds for one in phases}
        )


class LLGuidanceSchemas(LLGuidance):
    """Texts are tested byte by byte, each as the token of that byte."""

    def prepare(self) -> None:
        super().prepare()
        ids_of = self.vocabulary.ids_of
        self.byte_tokens = [ids_of[bytes((byte,))][0] for byte in range(256)]

    def compile(self, schema: str) -> CompiledSchema:
        matcher = self.of_schema(schema)

        def accepts(text: str) -> bool:
            here = matcher.deep_copy()
            tokens = [self.byte_tokens[byte] for byte in text.encode()]
            return bool(here.try_consume_tokens(tokens) == len(tokens) and here.is_accepting())

        return CompiledSchema(matcher, accepts, {})


class XGrammarSchemas(XGrammar):
    """Texts are tested as strings, followed by the end token."""

    def compile(self, schema: str) -> CompiledSchema:
        compiled = self.of_schema(schema)

        def accepts(text: str) -> bool:
            matcher = self.module.GrammarMatcher(compiled)
            return bool(matcher.accept_string(text) and matcher.accept_token(self.end))

        return CompiledSchema(compiled, accepts, {})


#: The engines that read schemas, by their names in ``ENGINES``.
SCHEMA_ENGINES: dict[str, Callable[[Vocabulary], SchemaPeer]] = {
    OURS: OurSchemas,
    "llguidance": LLGuidanceSchemas,
    "xgrammar": XGrammarSchemas,
}


#: Compilations at most, and seconds after which none begins.
_MAX_TIMES, _MAX_SECONDS = 5, 0.25

#: Our messages begin with a JSON pointer whose last part is the keyword.
_POINTER = re.compile(r"(?:^|\s)/?(?:[^\s:]*/)?([$\w]+):")


def rows_of(file: Path, only: str) -> Iterator[dict[str, Any]]:
    """The rows of a file whose id, suite or subset holds a text."""
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            if any(only in row.get(key, "") for key in ("id", "suite", "subset")):
                yield row


def _serve(engine: str, vocabulary: str, alarm: int) -> None:
    """Answer each row with its record, and the kilobytes used since the first one."""
    if engine == OURS and not wait_until_compiled():
        raise RuntimeError("the kernels are not compiled, so nothing is measured")
    peer = SCHEMA_ENGINES[engine](Vocabulary.load(vocabulary))
    _compile(peer, '{"type": "object", "properties": {"a": {"type": "integer"}}}')
    before = _peak()

    def answer(row: dict[str, Any]) -> dict[str, Any]:
        found = asdict(_record(peer, engine, row))
        return found | {"kilobytes": _peak() - before}

    serve(answer, alarm)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


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
        compiled, times, cpu = _quickest(peer, text)
    except WorkbenchError as error:
        named = _POINTER.search(error.message)
        keyword = named[1] if named else error.message[:60]
        return SchemaRecord(**about, status="refused", reason=error.message, keyword=keyword)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # panics of Rust extensions derive from BaseException
        message = f"{type(error).__name__}: {error}"[:300]
        return SchemaRecord(
            **about,
            status="failed" if engine == OURS else "refused",
            reason=message,
            keyword=message[:60],
        )
    tallies, wrong = judged(compiled.accepts, row)
    return SchemaRecord(
        **about,
        status="compiled",
        ms=1e3 * min(times),
        cpu_ms=1e3 * cpu,
        first_ms=1e3 * times[0],
        parts=compiled.parts,
        tallies=tallies,
        wrong=wrong,
        mask_us=_mask_times(peer, compiled.compiled, row),
    )


#: Valid instances whose tokens are walked, and tokens of each at most.
_WALKED, _MAX_TOKENS = 3, 500


def _mask_times(peer: SchemaPeer, compiled: Compiled, row: dict[str, Any]) -> list[float]:
    """Microseconds of each mask along the tokens of some valid instances.

    A walk ends where the engine refuses a token, so every mask belongs to a text that it allows.
    """
    found: list[float] = []
    valid = [test["data"] for test in row["tests"] if test["valid"]]
    for data in valid[:_WALKED]:
        text = spellings(row["schema"], data)["declared/spaced/raw"]
        try:
            tokens = greedy_tokens(text, peer.vocabulary)[:_MAX_TOKENS]
        except WorkbenchError:
            continue
        walker = peer.start(compiled)
        walker.mask()
        for token in tokens:
            try:
                if walker.advance(token) is False:
                    break
            except TokenNotAllowed:
                break
            begun = time.perf_counter_ns()
            walker.mask()
            found.append((time.perf_counter_ns() - begun) / 1e3)
    return [round(one, 2) for one in found]


def _compile(peer: SchemaPeer, text: str) -> CompiledSchema:
    compiled = peer.compile(text)
    peer.start(compiled.compiled).mask()
    return compiled


def _quickest(peer: SchemaPeer, text: str) -> tuple[CompiledSchema, list[float], float]:
    """The quickest of several compilations, all seconds, and the least processor seconds."""
    times: list[float] = []
    cpu: list[float] = []
    gc.collect()
    gc.disable()
    try:
        while not times or (len(times) < _MAX_TIMES and sum(times) < _MAX_SECONDS):
            spent, begun = time.process_time(), time.perf_counter()
            compiled = _compile(peer, text)
            times.append(time.perf_counter() - begun)
            cpu.append(time.process_time() - spent)
            if times[-1] == min(times):
                best = compiled
    finally:
        gc.enable()
    return best, times, min(cpu)


def judged(
    accepts: Callable[[str], bool], row: dict[str, Any]
) -> tuple[dict[str, Tally], dict[str, list[str]]]:
    """Accepted instances by spelling, and the instances judged wrongly."""
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
    except (UnicodeEncodeError, WorkbenchError):  # a lone surrogate; a limit was reached
        return False


if __name__ == "__main__":
    _serve(**json.loads(sys.argv[1]))
