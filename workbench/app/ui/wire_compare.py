"""The wire format, continued: the records of comparisons, audits and results files."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from workbench.app.ui.wire import Error, Start, Status, Step, Token


class Contender(TypedDict):
    """A method that can be compared; ``usual`` ones are chosen first."""

    name: str
    title: str
    detail: str
    source: str
    group: str
    usual: bool


class CompareLimits(TypedDict):
    """The largest comparison."""

    prompts: int
    seeds: int
    in_all: int


class AuditedEngines(TypedDict):
    """The engines that can be audited: those installed, and how the others are installed."""

    installed: list[str]
    missing: list[str]
    install: str


class Contenders(TypedDict):
    """All methods, and the engines to audit."""

    methods: list[Contender]
    limits: CompareLimits
    engines: AuditedEngines


class CompareSample(TypedDict):
    """A small language with a prompt, for a comparison."""

    title: str
    text: str
    prompt: str
    notation: str


class CompareOpening(TypedDict):
    """Small languages to compare, and the lines of a recorded comparison; empty without one."""

    samples: list[CompareSample]
    recorded: str


class Column(TypedDict):
    """A method and its distances from the model's own distribution, in nats; null for infinite."""

    name: str
    total_variation: NotRequired[float | None]
    kl: NotRequired[float | None]
    kl_back: NotRequired[float | None]


class LikelyText(TypedDict):
    """A text and its probability by column."""

    text: str
    p: list[float]


class DistanceCurve(TypedDict):
    """The total variation of drawn texts from the model's own distribution, by forward passes.

    ``points`` are pairs of a number of passes and the distance; ``texts`` the number of texts at
    the last one.
    """

    name: str
    texts: float
    points: list[list[float]]


class Distribution(TypedDict):
    """The probability of each text of a finite language under each method."""

    ok: Literal[True]
    prompt: str
    columns: list[Column]
    texts: list[LikelyText]
    others: list[float] | None
    count: int
    #: By method why its distribution is not there.
    failed: dict[str, str]
    spellings: int
    #: Empty if no compared method comes closer to the model's own distribution by drawing.
    curves: list[DistanceCurve]


class Reproduction(TypedDict):
    """A shorter constraint with the same difference, and a program for the engine alone."""

    constraint: str
    text: str
    so_far: str
    token: str | None
    program: str
    printed: str
    confirmed: bool


class AuditFinding(TypedDict):
    """The first token at which an engine's mask is wrong; null is the end of the text."""

    kind: str
    level: str
    so_far: str
    token: str | None
    text: str
    why: str
    place: str
    evidence: str
    reproduction: Reproduction | None


class AuditPolicy(TypedDict):
    """A difference of interpretation."""

    name: str
    text: str


class EngineAudit(TypedDict):
    """One engine on the grammar."""

    name: str
    engine: str
    version: str
    status: str
    reason: str
    texts: int
    mutants: int
    masks: int
    skipped: int
    different: int
    findings: list[AuditFinding]
    policies: list[AuditPolicy]
    cut: bool
    seconds: float


class Audits(TypedDict):
    """The audits of all installed engines."""

    ok: Literal[True]
    audits: list[EngineAudit]


class ResultsPart(TypedDict):
    """How many bytes of a file have arrived."""

    ok: Literal[True]
    received: int


class ResultsColumn(TypedDict):
    """A column of results; ``kind``: bool, number, text, json, or empty for no values."""

    name: str
    kind: str


class ResultsReason(TypedDict):
    """Why some rows failed, with their number and the key of the first."""

    why: str
    rows: int
    first: str


class BadResultsRow(TypedDict):
    """A row that could not be read."""

    row: int
    why: str


class OpenedResults(TypedDict):
    """A results file that was read; ``file`` names it in further questions."""

    ok: Literal[True]
    file: str
    kind: str
    settings: list[list[str]]
    columns: list[ResultsColumn]
    rows: int
    failed: int
    reasons: list[ResultsReason]
    bad: list[BadResultsRow]
    bad_rows: int
    groups: list[str]
    #: The first row is the head.
    summary: list[list[str]]


class ResultsRow(TypedDict):
    """A row in the table, with its number; texts are cut."""

    n: int
    cells: list[Any]


class ResultsRows(TypedDict):
    """A page of rows; ``lost``: the server no longer has the file, which is sent again."""

    ok: Literal[True]
    lost: bool
    total: int
    rows: list[ResultsRow]


class ResultsValue(TypedDict):
    """A value of an opened row."""

    name: str
    value: Any


class ResultsGrammar(TypedDict):
    """The grammar of a row, and its prompt."""

    text: str
    notation: str
    start: str
    options: dict[str, str | bool | int]
    prompt: str


class OpenedRow(TypedDict):
    """A row with all of its values; ``tokens`` are the ids of its run, if it has them."""

    ok: Literal[True]
    lost: bool
    values: list[ResultsValue]
    grammar: ResultsGrammar | None
    tokens: list[int]


class ResultsBox(TypedDict):
    """The distribution of a group's values; ``outside``: how many are beyond the whiskers."""

    name: str
    count: int
    outside: int
    low: float
    first: float
    median: float
    third: float
    high: float


class ResultsPlot(TypedDict):
    """A box for each group; ``left`` groups have none."""

    ok: Literal[True]
    lost: bool
    groups: list[ResultsBox]
    left: int


class ResultsCsv(TypedDict):
    """Lines of CSV, and the offset of those that follow."""

    ok: Literal[True]
    lost: bool
    total: int
    next: int
    text: str


class ComparedRun(TypedDict):
    """One run of a comparison with all that is known of its tokens."""

    ok: Literal[True]
    steps: list[Step]
    model: str
    constraint: str
    lookahead: int | None
    finish: bool
    monitor: str


class Began(TypedDict):
    """A run of a comparison begins; ``r`` is its number."""

    k: Literal["began"]
    r: int
    compile_ms: float


class CompareStep(Token):
    """A token of a comparison's run; marks are left out where they do not hold."""

    k: Literal["step"]
    r: int
    s: float | None
    m: float | None
    forced: NotRequired[bool]
    cut: NotRequired[bool]
    skipped: NotRequired[bool]


class Surprisal(TypedDict):
    """Surprisal of some tokens, summed."""

    nats: float | None
    tokens: int


class Ended(TypedDict):
    """A run of a comparison and its measures; null for what was not measured.

    ``late`` has the surprisal of steps whose probability was not known when they were sent.
    """

    k: Literal["ended"]
    r: int
    method: str
    prompt: str
    seed: int
    text: str
    valid: bool
    ended: bool
    stop: str
    tokens: int
    free_tokens: int
    forced_tokens: int
    free: Surprisal
    forced: Surprisal
    interventions: int
    mask_bits: float | None
    forward_passes: int
    compile_ms: float | None
    seconds: float | None
    cpu_seconds: float | None
    proper: bool | None
    perplexity: float | None
    perplexity_free: float | None
    perplexity_forced: float | None
    tokens_per_second: float | None
    words: str
    late: list[list[float | None]]


class Failed(TypedDict):
    """A run of a comparison that could not be made."""

    k: Literal["failed"]
    r: int
    method: str
    prompt: str
    seed: int
    why: str


class CompareStop(TypedDict):
    """The end of a comparison, and the two lines of its summary."""

    k: Literal["stop"]
    good: bool
    words: str
    verdict: NotRequired[list[str]]


CompareRecord = Status | Start | Began | CompareStep | Ended | Failed | CompareStop | Error
