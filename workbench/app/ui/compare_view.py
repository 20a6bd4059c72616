"""The view *Compare*: comparisons of methods as a stream of records.

The stream begins with the records of a run (``runs``): ``status``, ``start``. Then come, for every
run, ``began``, one ``step`` for each token, and ``ended`` or ``failed``; the last record is
``stop`` or ``error``. Runs are numbered in their order: by prompt, then seed, then method.
``stop`` has the two lines of ``compare.verdict``, unless the comparison was stopped.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Annotated, Any, cast

from workbench.app.ui import wire, wire_compare
from workbench.app.ui.audit_view import audited_engines
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.pictures import sentence
from workbench.app.ui.question import question
from workbench.app.ui.request_fields import checked_flag, field, up_to
from workbench.app.ui.requests import (
    MAX_PROMPTS,
    MAX_SEEDS,
    MAX_TOKENS_IN_ALL,
    CompareRequest,
    Request,
    RunRequest,
    room_left,
)
from workbench.app.ui.run_records import WORDS, Record, token_record
from workbench.app.ui.runs import replayed, with_errors
from workbench.app.ui.shares import LIGHT, MODEL
from workbench.app.ui.streams import BATCH_SECONDS, in_thread
from workbench.base.errors import TokenNotAllowed
from workbench.constraint.within_budget import WithinBudget
from workbench.decoding.compare import Event, RunBegan, RunFailed, RunStep, compare, verdict
from workbench.decoding.contenders import (
    CONVERGING_STRATEGIES,
    NARROWER_STRATEGIES,
    OWN_STRATEGIES,
    STRATEGIES,
    UNCONSTRAINED,
    Contender,
    all_contenders,
    contenders_named,
)
from workbench.decoding.distance_curves import distance_curves
from workbench.decoding.exact_distribution import ExactComparison, exact_comparison
from workbench.decoding.model import LanguageModel, chatting
from workbench.decoding.run_summaries import RunEnded
from workbench.decoding.trace import Step, StopReason
from workbench.vocabulary.vocabulary import Vocabulary

#: The methods selected at first; the page lists the others under *More methods*.
USUAL = frozenset({"unconstrained", "automaton", "proper", "asap"})

#: The beginning of a source → the heading of its methods.
_HEADINGS = {
    "Koo": "Koo, Liu & He 2024",
    "Beurer-Kellner": "DOMINO 2024",
    "Tran-Thien": "Tran-Thien 2024",
    "Willard": "Willard & Louf 2023",
    "Park": "The model's own distribution",
    "Parys": "The model's own distribution",
    "Lipkin": "The model's own distribution",
    "Loula": "The model's own distribution",
    "Mündler": "Meaning",
    "Agrawal": "Meaning",
}


def group_of(contender: Contender) -> str:
    """The heading under which a method is listed."""
    if contender.name == UNCONSTRAINED:
        return "Baseline"
    headings = (head for name, head in _HEADINGS.items() if contender.source.startswith(name))
    return next(headings, "Other systems")


#: Token prefixes of the texts of a language whose exact distribution is computed: by default, and
#: if the reader requests more. Nearly every prefix needs a pass of the model.
_DEFAULT_PREFIXES = 600
_MAX_PREFIXES = 6_000

_NOT_COMPUTED = (
    "it chooses among fewer tokens than its mask allows; its distribution is not computed"
)

#: Seconds after which curves are not repeated again.
_CURVE_SECONDS = 1.0

#: Texts that are listed separately.
_MAX_TEXTS = 24

_BITS = 1 / math.log(2)


# -- requests of the page --------------------------------------------------------------------------


@question(LIGHT)
def contender_list(_: Handlers, __: Request) -> wire_compare.Contenders:
    """Every method that can be compared, with description and source."""
    return {
        "methods": [
            {
                "name": each.name,
                "title": each.title,
                "detail": each.detail,
                "source": each.source,
                "group": group_of(each),
                "usual": each.name in USUAL,
            }
            for each in all_contenders().values()
        ],
        "limits": {"prompts": MAX_PROMPTS, "seeds": MAX_SEEDS, "in_all": MAX_TOKENS_IN_ALL},
        "engines": audited_engines(),
    }


class DistributionRequest(CompareRequest):
    """A comparison, and whether more of a large language is computed."""

    further: Annotated[bool, field(checked_flag, sent=bool)] = False


@question(MODEL, refused=lambda error: {"ok": False, "why": error.message})
def distribution(
    handlers: Handlers, request: DistributionRequest
) -> wire_compare.Distribution | wire.Refusal:
    """The probability of each text of a finite language under each method and the model alone.

    The likeliest texts are listed separately, the others together.
    """
    grammar = handlers.compiled(request).readable()
    model = chatting(handlers.room.model(), request.chat)
    prompt = request.prompts[0]
    most = _MAX_PREFIXES if request.further else _DEFAULT_PREFIXES
    drawing = [each for each in request.contenders if each.strategy not in NARROWER_STRATEGIES]
    compared = exact_comparison(model, prompt, grammar, drawing, most=most)
    curves = _curves(compared, model.vocabulary, drawing)
    record = compared.as_record()
    texts = sorted(record["texts"], key=lambda row: -row["own"])
    names = [name for name in texts[0] if name not in ("text", "proper_share")]
    listed, others = texts[:_MAX_TEXTS], texts[_MAX_TEXTS:]
    return {
        "ok": True,
        "prompt": prompt,
        "columns": [_column(name, record["distances"].get(name, {})) for name in names],
        "texts": [{"text": row["text"], "p": [row[name] for name in names]} for row in listed],
        "others": [math.fsum(row[name] for row in others) for name in names] if others else None,
        "count": len(texts),
        "failed": record["failed"]
        | {each.name: _NOT_COMPUTED for each in request.contenders if each not in drawing},
        "spellings": record["spellings"],
        "curves": curves,
    }


def _column(name: str, distances: Mapping[str, float]) -> wire_compare.Column:
    return cast("wire_compare.Column", {"name": name, **_plain(distances)})


def _curves(
    compared: ExactComparison, vocabulary: Vocabulary, contenders: Sequence[Contender]
) -> list[wire_compare.DistanceCurve]:
    """The distance from the model's own distribution by forward passes; none if it never changes.

    Computed where a method is compared that converges to that distribution or draws from it; the
    exact mask is there for comparison.
    """
    drawn = [
        each
        for each in contenders
        if each.strategy in CONVERGING_STRATEGIES | OWN_STRATEGIES and not each.program
    ]
    if not drawn or vocabulary.end is None:
        return []
    strategies = {"automaton": STRATEGIES["plain"]}
    strategies |= {each.name: STRATEGIES[each.strategy] for each in drawn}
    curves = distance_curves(compared.tree, vocabulary, strategies, seconds=_CURVE_SECONDS)
    return [
        {"name": name, "texts": round(each.texts, 1), "points": [_plain(p) for p in each.points]}
        for name, each in curves.items()
    ]


class ComparedRunRequest(RunRequest):
    """A run of a comparison, with the name of its method."""

    method: Annotated[str, up_to(80)] = ""


@question(MODEL)
def compared_run(
    handlers: Handlers, request: ComparedRunRequest
) -> wire_compare.ComparedRun | wire.Refusal:
    """One run of a comparison, repeated token by token, with everything a run shows."""
    compiled = handlers.compiled(request)
    (contender,) = contenders_named([request.method])
    model = chatting(handlers.room.model(), request.chat)
    constraint = contender.prepare(model, compiled.readable()).constraint
    if contender.finish:
        constraint = WithinBudget(constraint, request.max_tokens)
    settings = {
        "constraint": contender.method,
        "lookahead": contender.options.get("k"),
        "finish": contender.finish,
        "monitor": contender.options.get("monitor", ""),
    }
    try:
        steps = replayed(handlers, request, constraint)
    except TokenNotAllowed:
        # a strategy may insert tokens that its method's mask forbids
        settings |= {"constraint": UNCONSTRAINED, "lookahead": None, "finish": False}
        settings["monitor"] = ""
        steps = replayed(handlers, request, compiled.constraint(model.vocabulary, UNCONSTRAINED))
    run = {"ok": True, "steps": steps, "model": model.name, **settings}
    return cast("wire_compare.ComparedRun", run)


# -- the comparison --------------------------------------------------------------------------------


def compare_batches(handlers: Handlers, fields: Record) -> Iterator[list[Record]]:
    """The records of a comparison in lists, computed ahead; an error is the last one."""
    computed = in_thread(_comparison_records(handlers, fields), BATCH_SECONDS)
    return with_errors(handlers, computed)


def compare_records(handlers: Handlers, fields: Record) -> Iterator[Record]:
    """The records of a comparison; an error is the last one."""
    computed = ([record] for record in _comparison_records(handlers, fields))
    return chain.from_iterable(with_errors(handlers, computed))


def _comparison_records(handlers: Handlers, fields: Record) -> Iterator[Record]:
    request = CompareRequest.of(fields)
    yield from _records(handlers.with_model(request.model), request)


def compared(handlers: Handlers, request: Record) -> Iterator[Record]:
    """For programs: a record for each run; the last one holds all of them, or an error."""
    runs: list[Record] = []
    for record in compare_records(handlers, request):
        match record["k"]:
            case "ended" | "failed":
                fields = {name: v for name, v in record.items() if name not in ("r", "late")}
                runs.append({**fields, "k": "run"})
                yield runs[-1]
            case "stop":
                yield {**record, "runs": runs}
            case "error":
                yield record


def _records(handlers: Handlers, request: CompareRequest) -> Iterator[Record]:
    grammar = handlers.compiled(request).accepting
    if not handlers.room.is_loaded:
        yield {"k": "status", "text": "loading the model, a few seconds the first time…"}
    model = chatting(handlers.room.model(), request.chat)
    yield {"k": "start", "model": model.name}
    recorder = _Recorder(request, model.vocabulary)
    stop = handlers.closing.is_set
    ended: list[RunEnded] = []
    failed: list[RunFailed] = []
    for event in compare(
        model,
        grammar,
        request.prompts,
        request.contenders,
        request.every_seed,
        request.sampling,
        max_tokens=_budget(request, model),
        top=0,
        stop=stop,
    ):
        yield recorder.record(event)
        if isinstance(event, RunEnded):
            ended.append(event)
        elif isinstance(event, RunFailed):
            failed.append(event)
    if stop():
        yield {"k": "stop", "good": False, "words": WORDS[StopReason.STOPPED]}
    else:
        lines = [line for line in verdict(ended, failed) if line]
        yield {"k": "stop", "good": True, "words": "all runs are done", "verdict": lines}


def _budget(request: CompareRequest, model: LanguageModel) -> int:
    """The maximal tokens of every run: the requested number, or what fits into the context.

    Raises: ModelError for a prompt that is longer than the context.
    """
    rooms = [room_left(model, prompt, 0) for prompt in request.prompts]
    return min([request.max_tokens, *(room for room in rooms if room is not None)])


class _Recorder:
    """Converts events of a comparison to records."""

    def __init__(self, request: CompareRequest, vocabulary: Vocabulary) -> None:
        names = [each.name for each in request.contenders]
        runs = [(p, s, n) for p in request.prompts for s in request.every_seed for n in names]
        self._numbers = {run: number for number, run in enumerate(runs)}
        self._vocabulary = vocabulary
        #: Steps of the current run whose probability was unknown when they were recorded.
        self._unknown: list[int] = []

    def record(self, event: Event) -> Record:
        run = event.run
        who = {"method": run.contender.name, "prompt": run.prompt, "seed": run.seed}
        number = self._numbers[run.prompt, run.seed, run.contender.name]
        match event:
            case RunBegan(compile_ms=compile_ms):
                self._unknown = []
                return {"k": "began", "r": number, "compile_ms": round(compile_ms, 2)}
            case RunStep(step=step):
                if math.isnan(step.logprob):
                    self._unknown.append(step.index)
                return {"k": "step", "r": number, **self._token_fields(step)}
            case RunEnded(measures=measures, trace=trace):
                fields = {name: _plain(value) for name, value in measures.as_record().items()}
                late = [[i, _bits(trace.steps[i].surprisal)] for i in self._unknown]
                words = WORDS[trace.stop or StopReason.STOPPED]
                del fields["kept"]  # one number for each token, already in the steps
                return {"k": "ended", "r": number, **who, **fields, "words": words, "late": late}
            case RunFailed(error=error):
                return {"k": "failed", "r": number, **who, "why": sentence(error)}

    def _token_fields(self, step: Step) -> Record:
        """The fields of a token in a strip, named as in a step; few, as there are many tokens."""
        marks = {"forced": step.forced, "cut": step.intervened, "skipped": not step.forward}
        return {
            **token_record(step.token_id, step.token or None, self._vocabulary),
            "s": _bits(step.surprisal),
            "m": _number(step.mask_bits),
            **{name: True for name, holds in marks.items() if holds},
        }


def _bits(nats: float) -> float | None:
    return _number(nats * _BITS)


def _number(value: float) -> float | None:
    """A number for JSON: rounded, None if not finite, never −0."""
    return round(value, 4) + 0.0 if math.isfinite(value) else None


def _plain(value: Any) -> Any:  # noqa: ANN401  # whatever a record holds
    """A value for JSON: numbers in it as ``_number`` has them."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return _number(value) if isinstance(value, float) else value
