"""The worker of the schema benchmark: one engine that is asked about schemas with instances."""

from __future__ import annotations

import gc
import json
import re
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol, get_args

from lab.bench.peers.others import GlrMask
from lab.bench.peers.ours import Ours
from lab.bench.peers.registry import ENGINES, OURS
from workbench.audits.engines import Outlines
from workbench.audits.instances import spellings
from workbench.base.errors import TokenNotAllowed, WorkbenchError
from workbench.base.kernels import wait_until_compiled
from workbench.base.limits import LIMITS, Phase, timed
from workbench.constraint.engine.automaton import automaton
from workbench.engines.answering import serve
from workbench.engines.peer import Compiled, Walker, greedy_tokens
from workbench.engines.peers import LLGuidance, XGrammar
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.vocabulary.vocabulary import Vocabulary

#: The spelling of an instance in MaskBench.
AS_WRITTEN = "file/spaced/raw"

#: ``compiled``: the engine computed a first mask; ``refused``: it raised its error type;
#: ``failed``: our engine raised another error; ``crashed``, ``timed out``: its process did.
Status = Literal["compiled", "refused", "failed", "crashed", "timed out"]


#: What is said of an engine and a schema: how it ended, or how instances were judged that are
#: written as in MaskBench.
Verdict = Literal[
    "passes", "over-constrained", "under-constrained", "refused", "failed", "timed out", "crashed"
]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


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

    #: The instances that are valid.
    valid_tests: list[int] = field(default_factory=list)

    @property
    def passes(self) -> bool:
        """Whether it compiles and every instance in declared order is judged rightly."""
        declared = (one.startswith("declared") for how in self.wrong.values() for one in how)
        return self.status == "compiled" and not any(declared)

    @property
    def refuses_valid(self) -> bool:
        """Whether it compiles and refuses a valid instance as ``json.dumps`` writes it."""
        return self._is_wrong(valid=True)

    @property
    def accepts_invalid(self) -> bool:
        """Whether it compiles and accepts an invalid instance as ``json.dumps`` writes it."""
        return self._is_wrong(valid=False)

    @property
    def wrong_as_written(self) -> list[int]:
        """The instances that are judged wrongly, written as in MaskBench."""
        return [int(number) for number, how in self.wrong.items() if AS_WRITTEN in how]

    @property
    def verdict(self) -> Verdict:
        """What is said of the engine and the schema; an accepted invalid instance comes first."""
        if self.status != "compiled":
            return self.status
        if self.accepts_invalid:
            return "under-constrained"
        return "over-constrained" if self.refuses_valid else "passes"

    def _is_wrong(self, *, valid: bool) -> bool:
        """Whether an instance is judged wrongly, written as in MaskBench."""
        return self.status == "compiled" and any(
            (number in self.valid_tests) == valid for number in self.wrong_as_written
        )


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

    order = "declared"

    def compile(self, schema: str) -> CompiledSchema:
        phases: list[Phase] = []
        grammar = Grammar.from_text(schema, Notation.JSON_SCHEMA, phases=phases, order=self.order)
        with timed("constraint", phases):
            compiled = automaton(grammar, self.vocabulary, LIMITS)
        return CompiledSchema(
            compiled, grammar.accepts, {one.name: one.milliseconds for one in phases}
        )


class OurSchemasInAnyOrder(OurSchemas):
    """The exact engine, with properties in any order."""

    order = "any"


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


class OutlinesSchemas(Outlines):
    """Texts are tested byte by byte, each as the token of that byte."""

    def compile(self, schema: str) -> CompiledSchema:
        index = self.of_schema(schema)
        ids_of = self.vocabulary.ids_of

        def accepts(text: str) -> bool:
            state = index.get_initial_state()
            for byte in text.encode():
                state = index.get_next_state(state, ids_of[bytes((byte,))][0])
                if state is None:
                    return False
            return bool(index.is_final_state(state))

        return CompiledSchema(index, accepts, {})


class GlrMaskSchemas(GlrMask):
    """Texts are tested as bytes."""

    def compile(self, schema: str) -> CompiledSchema:
        grammar = self.module.Grammar.from_json_schema(schema)
        compiled = grammar.compile(self.tokens, mask_strategy=self.chosen)

        def accepts(text: str) -> bool:
            state = compiled.start()
            return bool(state.commit_bytes(text.encode()) and state.is_accepting())

        return CompiledSchema(compiled, accepts, {})


#: Our engine, with properties in any order.
ANY_ORDER = f"{OURS}-any-order"

#: The engines that read schemas, by their names in ``ENGINES``, and ``ANY_ORDER``.
SCHEMA_ENGINES: dict[str, Callable[[Vocabulary], SchemaPeer]] = {
    OURS: OurSchemas,
    ANY_ORDER: OurSchemasInAnyOrder,
    "llguidance": LLGuidanceSchemas,
    "xgrammar": XGrammarSchemas,
    "outlines-core": OutlinesSchemas,
    "glrmask": GlrMaskSchemas,
}


def version_of(engine: str) -> str:
    """The installed version of an engine of ``SCHEMA_ENGINES``."""
    return ENGINES[OURS if engine == ANY_ORDER else engine].version


#: Compilations at most, and seconds after which none begins.
_MAX_TIMES, _MAX_SECONDS = 5, 0.25

#: Our messages begin with a JSON pointer whose last part is the keyword.
_POINTER = re.compile(r"(?:^|\s)/?(?:[^\s:]*/)?([$\w]+):")


def _serve(engine: str, vocabulary: str, alarm: int) -> None:
    """Answer each row with its record, and the kilobytes used since the first one."""
    if engine in (OURS, ANY_ORDER) and not wait_until_compiled():
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
        "version": version_of(engine),
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
            status="failed" if engine in (OURS, ANY_ORDER) else "refused",
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
        valid_tests=[number for number, test in enumerate(row["tests"]) if test["valid"]],
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
