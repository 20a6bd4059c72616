"""The wire format: every record the page receives, as types for Python and for its scripts.

``static/wire.d.ts`` is generated from this module (``wire_declarations``). The scripts read the
types by JSDoc imports, and ``tsc`` checks their use; ``tests/ui/test_wire.py`` checks the handlers'
answers against them.

A question is answered by its record, with ``ok: true`` where there is a ``Refusal`` too, or by
``Fault`` where the server could not answer at all (``page.part``, ``state.js``). Records of a run
come as lines of JSON, distinguished by ``k``. Probabilities have six significant digits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NotRequired, TypedDict

# -- answers in general ----------------------------------------------------------------------------


class Fault(TypedDict):
    """The question could not be answered: a sentence for the reader.

    ``busy``: how many questions wait, where it was not taken; the page asks again.
    """

    fault: str
    busy: NotRequired[int]


class Refusal(TypedDict):
    """There is no such answer: a sentence that says why."""

    ok: Literal[False]
    why: str


class Done(TypedDict):
    """Whether it was done."""

    ok: bool


class Span(TypedDict):
    """A piece of a text, in code points."""

    start: int
    end: int


# -- tokens and steps of a run ---------------------------------------------------------------------


class Token(TypedDict):
    """A token: as text, as hexadecimal digits where it is no text by itself, or the end."""

    id: int
    text: NotRequired[str]
    hex: NotRequired[str]
    end: NotRequired[Literal[True]]


class ReadToken(Token):
    """A token of the prompt; special ones have a name instead of a text."""

    special: bool


class ReadPrompt(TypedDict):
    """The prompt's tokens as the model reads them; ``most`` fit into its context."""

    ok: Literal[True]
    tokens: list[ReadToken]
    count: int
    most: int | None


class DraftModel(TypedDict):
    """A model that can propose tokens."""

    name: str
    title: str


class DraftModels(TypedDict):
    """The models that can propose tokens for the chosen one."""

    ok: Literal[True]
    drafts: list[DraftModel]


class Candidate(Token):
    """A token with its probability before the mask and after it; ``ok`` where it is allowed."""

    before: float
    after: float
    ok: bool


class Found(Candidate):
    """A token that was searched for; ``rankm`` is its rank among the allowed."""

    rank: int
    rankm: int | None


class Box(TypedDict):
    """A rule on the stack, and the state it returns to; ``number`` is its name in pictures."""

    state: str
    rule: str
    number: str


class Stack(TypedDict):
    """The stack before or after a token; of a high one the innermost boxes.

    ``kept`` boxes of the one before are in the one after. ``ways`` counts the readings of the text,
    ``others`` are the stacks of some of them.
    """

    depth: int
    boxes: list[Box]
    ways: int
    others: list[list[Box]]
    kept: NotRequired[int]


class Path(TypedDict):
    """The moments of a piece of text by machine: each the state, then those of other readings."""

    characters: NotRequired[list[list[str]]]
    network: NotRequired[list[list[str]]]
    rules: NotRequired[list[list[str]]]
    stacks: NotRequired[list[Stack]]


class Times(TypedDict):
    """Milliseconds."""

    model: float
    mask: float
    advance: NotRequired[float]


class Masked(TypedDict):
    """What the mask let through: ``m`` bits taken (null for infinite), ``kept`` probability."""

    m: float | None
    kept: float
    allowed: int
    forced: bool
    may_end: bool


class Position(TypedDict):
    """Where the machines are: ``read_in`` are the pieces of the grammar that read the token."""

    state: str
    path: Path
    stack: list[str]
    rules: list[str]
    read_in: list[Span]


class _Chances(Masked, Position):
    i: int
    cut: bool
    ms: Times
    wanted: list[Candidate]
    may: list[Candidate]


class PlainTurn(_Chances):
    """The next token, which is not chosen yet."""

    k: Literal["turn"]


class Turn(PlainTurn):
    """The next token; ``free`` is present, and empty, in the free part of a reasoning model."""

    free: NotRequired[str]


class UnlabelledStep(_Chances):
    """A token of a run.

    ``p``, ``s`` and ``rank`` are the model's own, before the mask; ``pm``, ``sm`` and ``rankm``
    among what the mask allows; ``s`` and ``sm`` in bits, null for infinite. ``loop`` names the
    cycle of the machine the token stays in.
    """

    k: Literal["step"]
    id: int
    token: Token
    s: float | None
    sm: float | None
    p: float
    pm: float
    rank: int
    rankm: int
    loop: int | None


class Step(UnlabelledStep):
    """A token of a run, with the terminal label that reads it, and what a draft model proposed.

    ``free`` is present in the free part of a reasoning model: what the grammar reads of the token,
    in hexadecimal digits; nothing until the closing marker.
    """

    label: NotRequired[str]
    free: NotRequired[str]
    draft: NotRequired[Token]


class Improper(TypedDict):
    """The first token that the tokenizer would have written otherwise, and its own tokens."""

    at: int
    own: list[Token]
    at_prompt: bool


class Stop(TypedDict):
    """Why there is no further token; ``rate`` in tokens a second."""

    k: Literal["stop"]
    reason: str
    words: str
    good: bool
    rate: NotRequired[float]
    perplexity: NotRequired[float | None]
    proper: NotRequired[Improper | None]
    value: NotRequired[str]


class Head(TypedDict):
    """The first line of every text: the run it belongs to; of a recorded run its settings too."""

    k: Literal["head"]
    run: str
    temperature: NotRequired[float]
    seed: NotRequired[int]
    max_tokens: NotRequired[int]
    small_tokens: NotRequired[bool]


class From(TypedDict):
    """How many lines the run has before this text."""

    k: Literal["from"]
    n: int


class Status(TypedDict):
    """What the reader waits for."""

    k: Literal["status"]
    text: str


class Start(TypedDict):
    """The model is there and begins."""

    k: Literal["start"]
    model: str


class Error(TypedDict):
    """The run cannot continue."""

    k: Literal["error"]
    message: str
    hint: str | None


RunRecord = Head | From | Status | Start | Step | Stop | Error


class NextAnswer(TypedDict):
    """The chances of the next token, or the reason for their absence."""

    ok: Literal[True]
    model: str
    next: Turn | Stop


class TakeAnswer(NextAnswer):
    """A token that was taken, and what may be next; no step where nothing may follow."""

    step: Step | None


class SearchAnswer(TypedDict):
    """Tokens that a text is part of; ``more`` were found but are not listed."""

    ok: Literal[True]
    found: list[Found]
    more: int


#: Lines of a run that the page lacks, and the number of the first.
Missed = TypedDict("Missed", {"from": int, "lines": str})


class Reasons(TypedDict):
    """For each token why it is forbidden; empty where it is allowed."""

    reasons: list[str]
    problem: NotRequired[str]


# -- why a token is forbidden ----------------------------------------------------------------------


#: A piece of a token: read, the one that fails, after it, or left out.
Cell = TypedDict("Cell", {"text": str, "is": Literal["read", "fails", "after", "more"]})


class StackFrame(Span):
    """A rule that is being read, and its piece of the grammar."""

    rule: str


class Place(Span):
    """A piece of the grammar that could read on, in the terminal around it."""

    line: int
    column: int
    what: str
    before: str
    behind: str
    rule: str


class Why(TypedDict):
    """How far a token came after a text, and what could have read on there."""

    ok: Literal[True]
    so_far: str
    token: str | None
    cells: list[Cell]
    read: str
    failing: str
    allowed: bool
    reason: str
    expected: str
    may_end: bool
    stacks: list[list[StackFrame]]
    left_out: list[int]
    spans: list[Place]
    complete: bool
    path: Path


# -- the grammar card ------------------------------------------------------------------------------


class Problem(Span):
    """A problem or a piece of advice; ``fix`` is a text to put in place of the span."""

    severity: str
    message: str
    hint: str | None
    line: int
    column: int
    fix: str | None


class Phase(TypedDict):
    """How long a step took, in milliseconds."""

    name: str
    ms: float


class Empty(TypedDict):
    """What is known of a text, whether or not it can be read.

    ``looks`` names a notation the text rather has; ``inside`` is a schema found in it.
    """

    looks: str
    inside: str | None
    facts: list[str]
    ms: float
    phases: list[Phase]
    problems: list[Problem]
    #: By tab why there is no such picture; empty where there is one.
    tabs: dict[str, str]


class Compiled(Empty):
    """A grammar, or why the text is none; ``empty`` where there is no text."""

    ok: bool
    empty: NotRequired[bool]


class TestResult(TypedDict):
    """Whether a text is accepted; else where it fails and what was expected there."""

    text: str
    accepted: bool
    at_end: bool
    offset: int | None
    column: int | None
    expected: str
    rules: list[str]


class TestResults(TypedDict):
    """The results of all texts, in their order."""

    results: list[TestResult]
    problem: NotRequired[str]


class LintAnswer(TypedDict):
    """All advice; ``searched`` says how far ambiguous texts were looked for."""

    ok: Literal[True]
    problems: list[Problem]
    searched: str


class MaskTimes(TypedDict):
    """How long the first mask takes, or the problems with it."""

    ok: bool
    phases: list[Phase]
    problems: list[Problem]


class Rule(TypedDict):
    """A rule, the rules it calls and those that call it, and its properties."""

    name: str
    places: list[Span]
    references: list[Span]
    calls: list[str]
    called_by: list[str]
    flags: list[str]


class OutlineAnswer(TypedDict):
    """Every rule, up to a limit."""

    ok: Literal[True]
    rules: list[Rule]
    left_out: int


class Miss(TypedDict):
    """A text outside the language, and the edit that led out of it."""

    text: str
    what: str


class SampleAnswer(TypedDict):
    """Texts of the language, and texts that miss it by one edit."""

    ok: Literal[True]
    texts: list[str]
    misses: list[Miss]
    how: str


class Sample(TypedDict):
    """A text."""

    text: str


class ChangeAnswer(TypedDict):
    """A shortest text gained and lost by an edit; ``exact`` where nothing was left out."""

    ok: Literal[True]
    same: bool
    exact: bool
    gained: Sample | None
    lost: Sample | None
    how: str


class Converted(TypedDict):
    """The grammar in another notation."""

    ok: Literal[True]
    text: str
    start: str


# -- pictures --------------------------------------------------------------------------------------


class Opening(TypedDict):
    """The part of a picture that is seen first."""

    x: float
    y: float
    scale: float
    height: float


class State(TypedDict):
    """A state of a picture; ``kinds`` as in ``drawing.graph``."""

    id: str
    label: str
    title: str
    kinds: list[str]
    rule: NotRequired[str]


class Edge(TypedDict):
    """An edge of a picture: ``count`` labels of which some are listed, what it pops and pushes."""

    source: str
    target: str
    labels: list[str]
    title: str
    kinds: NotRequired[list[str]]
    count: NotRequired[int]
    pops: NotRequired[list[str]]
    pushes: NotRequired[list[str]]
    mark: NotRequired[str]
    detail: NotRequired[str]
    inside: NotRequired[list[str]]


class Picture(TypedDict):
    """A machine, or a part of it, as SVG or as a table, with what can be asked of it.

    ``where`` has the state that shows each state, ``names`` the ids of states by what others call
    them, ``follow`` the machine of the run whose states are shown. A picture of tokens over a
    machine has ``current``, ``parts`` (the server's edges in each edge) and ``landings``.
    """

    ok: Literal[True]
    count: str
    partial: bool
    note: str
    where: dict[str, str]
    follow: str | None
    names: dict[str, str]
    ends: bool
    states: list[State]
    edges: list[Edge]
    svg: NotRequired[str]
    centre: NotRequired[str]
    heads: NotRequired[list[str]]
    rows: NotRequired[list[list[str]]]
    opening: NotRequired[Opening]
    whole: NotRequired[bool]
    legible: NotRequired[bool]
    folded: NotRequired[list[str]]
    rules: NotRequired[dict[str, str]]
    current: NotRequired[str]
    parts: NotRequired[dict[str, list[int]]]
    landings: NotRequired[dict[str, list[str]]]


class FoundState(TypedDict):
    """A state a search found."""

    id: str
    number: str
    why: str


class FoundStates(TypedDict):
    """States a search found; ``why`` there are none."""

    ok: bool
    found: list[FoundState]
    why: NotRequired[str]


class StatePlace(Span):
    """A piece of the grammar that is read from a state."""

    what: str


class AboutState(TypedDict):
    """What may be read in a state, and a text that leads there."""

    ok: Literal[True]
    state: str
    number: str
    reads: str
    reached: str | None
    places: list[StatePlace]
    may_end: NotRequired[bool]
    tokens: NotRequired[int]
    examples: NotRequired[list[str]]


class AboutEdge(TypedDict):
    """The tokens of an edge, up to a limit; ``why`` there are none."""

    ok: bool
    count: int
    tokens: list[str]
    why: NotRequired[str]


# -- the page --------------------------------------------------------------------------------------


class ExampleName(TypedDict):
    """An example in the gallery; ``refused`` choices of its recorded run were forbidden."""

    name: str
    title: str
    group: str
    refused: int | None


class Settings(TypedDict):
    """Settings of an example's runs."""

    small_tokens: bool


class Example(TypedDict):
    """An example as the page opens it."""

    name: str
    title: str
    note: str
    notation: str
    text: str
    prompt: str
    max_tokens: int
    accepts: list[str]
    rejects: list[str]
    group: str
    start: str
    breaks: list[str] | None
    settings: Settings


class Method(TypedDict):
    """A method of constraining; ``deep`` where ``k`` can be set."""

    name: str
    title: str
    source: str
    deep: bool


class PageRecord(TypedDict):
    """What the page is opened with."""

    gallery: list[ExampleName]
    first: Example | None
    methods: list[Method]
    space: str


class ModelState(TypedDict):
    """Whether a model is loading, ready or failed."""

    state: str
    text: str
    title: str
    #: Whether it has a chat template.
    chat: bool


class KnownModel(ModelState):
    """A model that can be chosen; ``about``: what to expect of it, or empty."""

    name: str
    about: str


class Models(ModelState):
    """The chosen model and all others; ``compiling``: the engine's kernels are being compiled."""

    models: list[KnownModel]
    may_open: bool
    compiling: bool


class OpenedModel(TypedDict):
    """The name of a model on the page."""

    name: str


class About(TypedDict):
    """Names and values."""

    versions: list[list[str]]
    limits: list[list[str]]


class Release(TypedDict):
    """The version and the address of the source."""

    version: str
    source: str


# -- downloads -------------------------------------------------------------------------------------


class File(TypedDict):
    """A file."""

    name: str
    type: str
    base64: str


class ReplayDrawing(TypedDict):
    """What a replay would request: pictures by tab, and for each token its reasons."""

    pictures: dict[str, list[dict[str, Any]]]
    reasons: list[Any]


class Replay(TypedDict):
    """A page that plays a run; its recording goes in the place of ``mark``."""

    html: str
    mark: str
    drawn: ReplayDrawing
    version: str


# -- lessons ---------------------------------------------------------------------------------------


class LessonEntry(TypedDict):
    """A lesson in the list; ``steps`` are titles."""

    name: str
    title: str
    aim: str
    source: str
    steps: list[str]


class ShelvedLesson(LessonEntry):
    """A lesson with its shelf."""

    shelf: str


class LessonList(TypedDict):
    """All lessons."""

    ok: Literal[True]
    lessons: list[ShelvedLesson]


class LessonWorld(TypedDict):
    """The language and the tokens of a step."""

    text: str
    notation: str
    tokens: list[str]
    merges: list[str]


class LessonTable(TypedDict):
    """A table; the ``hidden`` columns are covered until the question is answered."""

    caption: str
    heads: list[str]
    rows: list[list[str]]
    hidden: list[int]


class LessonQuestion(TypedDict):
    """A question and the form of its answer."""

    ask: str
    form: str
    options: list[str]


class ExpectedText(TypedDict):
    """A test of an example."""

    text: str
    expect: str


class LessonOpening(TypedDict):
    """What a step opens in the workbench."""

    text: str
    notation: str
    start: str
    style: str
    prompt: str
    tab: str
    name: str
    tests: list[ExpectedText]


class LessonPage(TypedDict):
    """One step of a lesson."""

    title: str
    paragraphs: list[str]
    source: str
    figure: bool
    broad: bool
    explained: bool
    caption: str
    given: LessonWorld
    table: LessonTable | None
    question: LessonQuestion | None
    open: LessonOpening | None


class LessonContent(LessonEntry):
    """A lesson."""

    ok: Literal[True]
    pages: list[LessonPage]


class FilmView(TypedDict):
    """What is lit in a picture, and what is in it (null for all), by the ids of its elements."""

    lit: list[str]
    arcs: list[str]
    dead: list[str]
    shown: list[str] | None


class FilmRow(TypedDict):
    """A line of chips under a picture."""

    name: str
    chips: list[str]
    now: int
    next: int
    bits: list[float]


class FilmChoice(TypedDict):
    """A token that can be taken."""

    id: int
    text: str
    ok: bool
    why: str


class FilmBar(TypedDict):
    """A token's probabilities before the mask and after it."""

    text: str
    before: float
    after: float | None
    taken: bool


class FilmFrame(TypedDict):
    """A moment of a film."""

    say: str
    good: bool | None
    rules: list[str]
    views: list[FilmView]
    rows: list[FilmRow]
    choices: list[FilmChoice]
    bars: list[FilmBar]


class FilmGraph(TypedDict):
    """A picture of a film."""

    name: str
    svg: str
    centre: str
    where: dict[str, str]
    names: dict[str, str]
    states: list[State]
    edges: list[Edge]


class FilmAnswer(TypedDict):
    """A film; no pictures where the page has them already."""

    ok: Literal[True]
    takes: str
    opens_at: int
    taken: list[int]
    frames: list[FilmFrame]
    graphs: list[FilmGraph]


class Note(TypedDict):
    """Why an option is right or wrong."""

    option: str
    why: str


class Judged(TypedDict):
    """What the engine says of an answer."""

    ok: Literal[True]
    right: bool
    say: str
    notes: list[Note]


# -- comparisons -----------------------------------------------------------------------------------


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


class Contenders(TypedDict):
    """All methods."""

    methods: list[Contender]
    limits: CompareLimits


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


class ComparedRun(TypedDict):
    """One run of a comparison with all that is known of its tokens."""

    ok: Literal[True]
    steps: list[Step]
    model: str
    constraint: str
    lookahead: int | None


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


CompareRecord = (
    Head | From | Status | Start | Began | CompareStep | Ended | Failed | CompareStop | Error
)

#: The answers, by the part of the page that asks and the name of the question (``page.QUESTIONS``).
ANSWERS: Mapping[str, Mapping[str, Any]] = {
    "header": {"model_state": Models, "open_model": OpenedModel, "open_example": Example},
    "grammar": {
        "compile_grammar": Compiled,
        "check_texts": TestResults,
        "lint_grammar": LintAnswer | Refusal,
        "time_mask": MaskTimes,
        "outline_rules": OutlineAnswer | Refusal,
        "sample_texts": SampleAnswer | Refusal,
        "what_changed": ChangeAnswer | Refusal,
        "convert_grammar": Converted | Refusal,
        "read_prompt": ReadPrompt | Refusal,
        "why": Why | Refusal,
    },
    "picture": {
        "draw_machine": Picture | Refusal,
        "draw_railroad": Picture | Refusal,
        "find_states": FoundStates,
        "about_state": AboutState | Refusal,
        "about_edge": AboutEdge,
    },
    "takeaway": {"take_machine": File, "take_code": dict[str, str], "take_replay": Replay},
    "learn": {
        "lesson_list": LessonList | Refusal,
        "lesson": LessonContent | Refusal,
        "lesson_figure": FilmAnswer | Refusal,
        "lesson_why": Why | Refusal,
        "lesson_answer": Judged | Refusal,
    },
    "compare": {
        "contender_list": Contenders,
        "compared_run": ComparedRun | Refusal,
        "distribution": Distribution | Refusal,
        "missed_lines": Missed,
        "stop_run": Done,
    },
    "footer": {"about": About},
    "run": {
        "recorded_run": str,
        "draft_models": DraftModels | Refusal,
        "explain_tokens": Reasons,
        "why": Why | Refusal,
        "missed_lines": Missed,
        "stop_run": Done,
        "turn": NextAnswer | Refusal,
        "take_token": TakeAnswer | Refusal,
        "find_tokens": SearchAnswer | Refusal,
    },
}
