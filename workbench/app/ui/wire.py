"""The wire format: the records of grammars, machines and runs, as types for Python and scripts.

``wire_cards`` has those of the other cards. ``static/wire.d.ts`` is generated from both, and from
the questions (``wire_declarations``). The scripts read the
types by JSDoc imports, and ``tsc`` checks their use; ``tests/ui/test_wire.py`` checks the handlers'
answers against them.

A question is answered by its record, with ``ok: true`` where there is a ``Refusal`` too, or by
``Fault`` where the server could not answer at all (``questions.answered``, ``ask.js``). Records of
a run come as lines of JSON, distinguished by ``k``. Probabilities have six significant digits.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

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


class ExpectedText(TypedDict):
    """A test of an example."""

    text: str
    expect: str | None


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
    """The prompt's tokens as the model reads them; ``most`` fit into its context.

    ``too_long``: why no run can begin, or empty.
    """

    ok: Literal[True]
    tokens: list[ReadToken]
    count: int
    most: int | None
    too_long: str


class DraftModel(TypedDict):
    """A model that can propose tokens."""

    name: str
    title: str


class DraftModels(TypedDict):
    """The models that can propose tokens for the chosen one."""

    ok: Literal[True]
    drafts: list[DraftModel]


class AfterStages(TypedDict):
    """A token's probability after every stage of sampling, where they are recorded."""

    after_stages: NotRequired[list[float]]


class Staged(TypedDict):
    """The names of the stages of sampling in their order, where they are recorded."""

    stages: NotRequired[list[str]]


class Candidate(Token, AfterStages):
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


class _Chances(Masked, Position, Staged):
    i: int
    cut: bool
    ms: Times
    wanted: list[Candidate]
    may: list[Candidate]


class PlainTurn(_Chances):
    """The next token, which is not chosen yet."""

    k: Literal["turn"]


class Budget(TypedDict):
    """The tokens that are left, and the fewest that end the text; the end token included."""

    left: int
    needs: int


class Turn(PlainTurn):
    """The next token; ``free`` is present, and empty, in the free part of a reasoning model.

    ``budget`` is present if the text must end in its budget.
    """

    free: NotRequired[str]
    budget: NotRequired[Budget]


class UnlabelledStep(_Chances, AfterStages):
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
    in hexadecimal digits; nothing until the closing marker. ``budget`` is that before the token.
    ``read``, in a given text: the first refused token, and those that the model scores alone.
    """

    label: NotRequired[str]
    free: NotRequired[str]
    budget: NotRequired[Budget]
    draft: NotRequired[Token]
    read: NotRequired[Literal["refused", "alone"]]


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
    #: Where the run fills up with white space or repeats itself.
    repeats: NotRequired[str]
    proper: NotRequired[Improper | None]
    value: NotRequired[str]


class Alone(TypedDict):
    """What the model writes with the same prompt and settings but without a mask."""

    tokens: list[Token]
    #: Whether the grammar accepts the text.
    accepted: bool


class Head(TypedDict):
    """The first line of a recorded run: its settings."""

    k: Literal["head"]
    #: The name of the run, in recordings of earlier versions.
    run: NotRequired[str]
    temperature: NotRequired[float]
    seed: NotRequired[int]
    max_tokens: NotRequired[int]
    small_tokens: NotRequired[bool]
    finish: NotRequired[bool]
    monitor: NotRequired[str]
    alone: NotRequired[Alone]
    top_k: NotRequired[int]
    top_p: NotRequired[float]
    min_p: NotRequired[float]
    repetition_penalty: NotRequired[float]


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


RunRecord = Head | Status | Start | Step | Stop | Error


class NextAnswer(TypedDict):
    """The chances of the next token, or the reason for their absence."""

    ok: Literal[True]
    model: str
    next: Turn | Stop


class TakeAnswer(NextAnswer):
    """A token that was taken, and what may be next; no step where nothing may follow."""

    step: Step | None


class ReadText(TypedDict):
    """A given text as the steps of a run; ``end`` says whether the grammar accepts it."""

    ok: Literal[True]
    model: str
    steps: list[Step]
    end: Stop


class SearchAnswer(TypedDict):
    """Tokens that a text is part of; ``more`` were found but are not listed."""

    ok: Literal[True]
    found: list[Found]
    more: int


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
    """How far a token came after a text, and what could have read on there.

    ``before``: the text before the path, in hexadecimal digits.
    """

    ok: Literal[True]
    so_far: str
    token: str | None
    cells: list[Cell]
    before: str
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
    """A problem or a piece of advice.

    ``fix`` is a text to put in place of the span, or of the one ``fix_at``. ``rule`` is the rule
    that cannot be read because of the problem, and ``missing_rule`` a rule for an undefined name.
    ``unassertable`` is a keyword of a JSON Schema without which there is no such problem.
    """

    severity: str
    message: str
    hint: str | None
    line: int
    column: int
    fix: str | None
    fix_at: NotRequired[Span]
    rule: NotRequired[Span]
    missing_rule: NotRequired[str]
    unassertable: NotRequired[str]


class Matches(TypedDict):
    """The matches in a text: start and end of each, in code points; of many the first ones.

    ``why`` is empty, or says why the search ended early.
    """

    ok: Literal[True]
    spans: list[int]
    count: int
    why: str


class Completion(TypedDict):
    """A word that can be written: what is shown, what is inserted, and the caret from its end."""

    text: str
    about: str
    insert: str
    back: int


class CompletionContext(TypedDict):
    """A place in a text and the words that fit there (``completions.Context``)."""

    before: str
    names: str
    where: str
    eager: bool
    items: list[Completion]


class Completions(TypedDict):
    """All contexts of a notation, the most special ones first."""

    contexts: list[CompletionContext]


class Phase(TypedDict):
    """How long a step took, in milliseconds."""

    name: str
    ms: float


class SchemaInside(TypedDict):
    """A schema in a document around it, with its JSON pointer."""

    pointer: str
    text: str


class SchemasInside(TypedDict):
    """The schemas in a document that is none; ``more`` are not listed."""

    kind: str
    schemas: list[SchemaInside]
    more: int


class Empty(TypedDict):
    """What is known of a text, whether or not it can be read.

    ``looks`` names a notation the text rather has; ``inside`` are schemas found in it.
    """

    looks: str
    inside: SchemasInside | None
    facts: list[str]
    ms: float
    phases: list[Phase]
    problems: list[Problem]
    #: By tab why there is no such picture; empty where there is one.
    tabs: dict[str, str]


class Monitor(TypedDict):
    """What can keep a text's meaning besides its grammar."""

    name: str
    title: str
    source: str


class Compiled(Empty):
    """A grammar, or why the text is none.

    ``empty`` where there is no text, ``unfilled`` where its hole cannot be filled, ``drawable``
    where some rules of a text that is no grammar can be drawn.
    """

    ok: bool
    #: The monitors that fit the grammar; absent if none does.
    monitors: NotRequired[list[Monitor]]
    empty: NotRequired[bool]
    unfilled: NotRequired[bool]
    drawable: NotRequired[bool]


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


class WordedPart(TypedDict):
    """A part of a grammar in words, with its span; ``depth`` counts the parts around it."""

    depth: int
    sentence: str
    start: int
    end: int


class WordsAnswer(TypedDict):
    """A grammar in words, a part before its parts; ``cut``: there are more than are listed."""

    ok: Literal[True]
    lines: list[WordedPart]
    cut: bool


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


class StatePosition(TypedDict):
    """Where a state of a drawn machine is, in pixels."""

    name: str
    x: float
    y: float


class Arranged(TypedDict):
    """A layout of a drawn machine."""

    ok: Literal[True]
    places: list[StatePosition]


class MachineText(TypedDict):
    """A machine as text, from a file of another tool."""

    ok: Literal[True]
    text: str


class StatesRead(TypedDict):
    """A drawn machine after a beginning of a text; edges by their index in its text."""

    states: list[str]
    edges: list[int]
    inside: list[int]
    final: bool


class MachinePath(TypedDict):
    """A drawn machine along a text, from the empty beginning to the whole text."""

    ok: Literal[True]
    sets: list[StatesRead]
