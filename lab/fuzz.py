"""Random changes of real grammars and requests, each tested against independent oracles.

A text is an example of the gallery or a grammar of the benchmark after a few random edits, or the
beginning of one example and the end of another. It must become a grammar or a ``WorkbenchError``
within its limits; of a grammar, independent parts of the library and other libraries must agree on
the same texts. A request of the page with random values must get an answer, never an exception.

The same seed gives the same texts. Source: mutation-based fuzzing with differential oracles
(Zeller et al., The Fuzzing Book, chapters "Mutation-Based Fuzzing" and "Testing Compilers").
"""

from __future__ import annotations

import hashlib
import json
import re
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from functools import cache, partial
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from workbench.analysis.random_texts import near_misses, samples
from workbench.app.cli.replay import replay_page
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.model_registry import TOY, ModelRoom
from workbench.base.errors import LimitError, WorkbenchError
from workbench.base.limits import LIMITS as DEFAULTS
from workbench.base.limits import Limits
from workbench.base.resources import GRAMMARS
from workbench.constraint.compile import compile as compile_constraint
from workbench.grammar.export.registry import export
from workbench.grammar.gallery import load_gallery
from workbench.grammar.grammar import Grammar
from workbench.grammar.label_encoding import labels_of
from workbench.grammar.notations import Notation
from workbench.vocabulary.vocabulary import Vocabulary

#: Limits of a text, which explode rarely and are reached often.
LIMITS = Limits(seconds=1.0, states=20_000)

#: CPU seconds of one stage that count as a hang: the limit, the time to its next check, and the
#: machine's noise.
MAX_STAGE_SECONDS = 1.6 * LIMITS.seconds + 1.0

#: The same for a question of the page, whose limits are the default ones.
MAX_QUESTION_SECONDS = 1.6 * DEFAULTS.seconds + 2.0

#: The same for the page of a run, whose pictures and explanations have 12 seconds.
MAX_REPLAY_SECONDS = MAX_QUESTION_SECONDS + 12.0

#: Characters of a text that the oracles read: they compute every mask along it.
MAX_SAMPLE = 300

#: The folder of the grammars that the benchmark uses.
_REAL = Path(__file__).parent / "bench" / "real"

#: Parts of many notations, inserted at random places.
_PARTS: tuple[str, ...] = (
    *"(){}[]|*+?.\\^$\"'/:;=,-~&!@#%<>_0aé\t\n ",
    "::=", "??", "*?", "{2,3}", "{0,}", "(?:", "(?=", "(?!", "(?<=", "(?P<x>", "\\b", "\\d",
    "\\p{L}", "[^", "[a-z]", "\\u0041", "\\x41", "#'", "#ex'", "start", "%ignore ", "null", "true",
    "%import common.WS\n", "%declare ", '"type": ', '"$ref": "#"', '"anyOf": [', "1e9", "-1",
    "Literal[", "😀", "\u2028",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Subject:
    """A text with how it is read."""

    text: str
    notation: Notation
    start: str = "start"


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault: what happened, where, and the text with which it happens again."""

    stage: str
    fault: str
    subject: Subject


@dataclass(slots=True)
class Report:
    """What was tested, and what was found."""

    counts: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)

    def __str__(self) -> str:
        counted = ", ".join(f"{name} {number:,}" for name, number in sorted(self.counts.items()))
        return f"{counted}; faults {len(self.findings)}"


def fuzz(
    texts: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    notations: Sequence[Notation] = tuple(Notation),
    found: Callable[[Finding], None] = lambda _: None,
) -> Iterator[Report]:
    """Test random texts and requests; yields the report after each.

    It ends after that many texts or seconds, whichever is first; without both it does not end.
    """
    report, ends = Report(), None if seconds is None else time.monotonic() + seconds
    seeds = [subject for subject in subjects() if subject.notation in notations]
    questions = Questions()
    for number in count():
        if number == texts or (ends is not None and time.monotonic() > ends):
            return
        random = Random(f"{seed} {number}")
        subject = mutated(random, seeds)
        faults = [shrunk(one) for one in tested(subject, random, report.counts)]
        for finding in (*faults, *questions.asked(subject, random), *replayed(subject, random)):
            report.findings.append(finding)
            found(finding)
        report.counts["texts"] += 1
        yield report


# -- texts -----------------------------------------------------------------------------------------


@cache
def subjects() -> tuple[Subject, ...]:
    """The texts that are changed: the gallery's, and those of the benchmark's real grammars."""
    found = [Subject(one.text, one.notation, one.start) for one in load_gallery().values()]
    for path in sorted(_REAL.iterdir()):
        if path.suffix in (".lark", ".gbnf"):
            notation = Notation.LARK if path.suffix == ".lark" else Notation.GBNF
            start = "start" if notation is Notation.LARK else "root"
            found.append(Subject(path.read_text("utf-8"), notation, start))
    return tuple(found)


def mutated(random: Random, seeds: Sequence[Subject]) -> Subject:
    """A seed after one to four edits."""
    subject = random.choice(seeds)
    text = subject.text
    alike = [one.text for one in seeds if one.notation is subject.notation]
    for _ in range(random.randint(1, 4)):
        text = random.choice(_EDITS)(text, random, alike)
    return Subject(text, subject.notation, subject.start)


def _span(text: str, random: Random) -> tuple[int, int]:
    """A random part of a text, short ones more often."""
    begin = random.randint(0, len(text))
    return begin, min(len(text), begin + int(random.expovariate(0.1)))


def _delete(text: str, random: Random, _: Sequence[str]) -> str:
    begin, end = _span(text, random)
    return text[:begin] + text[end:]


def _repeat(text: str, random: Random, _: Sequence[str]) -> str:
    begin, end = _span(text, random)
    return text[:begin] + text[begin:end] * random.randint(2, 5) + text[end:]


def _move(text: str, random: Random, _: Sequence[str]) -> str:
    begin, end = _span(text, random)
    rest = text[:begin] + text[end:]
    place = random.randint(0, len(rest))
    return rest[:place] + text[begin:end] + rest[place:]


def _insert(text: str, random: Random, _: Sequence[str]) -> str:
    place = random.randint(0, len(text))
    return text[:place] + random.choice(_PARTS) + text[place:]


def _replace(text: str, random: Random, alike: Sequence[str]) -> str:
    return _insert(_delete(text, random, alike), random, alike)


def _change_number(text: str, random: Random, _: Sequence[str]) -> str:
    numbers: list[re.Match[str]] = list(re.finditer(r"\d+", text))
    if not numbers:
        return text
    begin, end = random.choice(numbers).span()
    number = random.choice((0, 1, 2, 7, 30, 1000, 100_000, 10**12))
    return f"{text[:begin]}{number}{text[end:]}"


def _splice(text: str, random: Random, alike: Sequence[str]) -> str:
    other = random.choice(alike)
    return text[: random.randint(0, len(text))] + other[random.randint(0, len(other)) :]


#: (text, random, texts in the same notation) → the changed text.
_Edit = Callable[[str, Random, Sequence[str]], str]

_EDITS: tuple[_Edit, ...] = (
    _delete,
    _repeat,
    _move,
    _insert,
    _insert,  # twice as often
    _replace,
    _change_number,
    _splice,
)


# -- the oracles of grammars -----------------------------------------------------------------------


class Disagreement(Exception):  # noqa: N818  # no error: what an oracle reports
    """Two parts that should agree do not."""


def tested(subject: Subject, random: Random, counts: Counter[str]) -> Iterator[Finding]:
    """Build a text and apply every oracle; yields what is wrong. ``counts`` gets what was done."""
    built: list[Grammar] = []

    def build() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of Python's parser, on dataclasses
            made = Grammar.from_text(subject.text, subject.notation, subject.start, limits=LIMITS)
        built.append(made)

    yield from _staged("build", subject, build)
    if not built:
        counts["refused"] += 1
        return
    counts["grammars"] += 1
    (grammar,), seed = built, random.getrandbits(30)
    inside, outside = list[str](), list[str]()

    def sample() -> None:
        misses = (text for text, _ in near_misses(grammar, 4, seed=seed))
        inside.extend(text for text in samples(grammar, 4, seed=seed) if len(text) <= MAX_SAMPLE)
        outside.extend(text for text in misses if len(text) <= MAX_SAMPLE)

    yield from _staged("samples", subject, sample)
    for stage, oracle in _ORACLES.items():
        if labels_of(grammar) and oracle in _WITHOUT_LABELS:
            continue
        counts[stage] += 1
        yield from _staged(
            stage, subject, partial(oracle, subject, grammar, inside, outside, random)
        )


def shrunk(finding: Finding, seconds: float = 5.0) -> Finding:
    """The fault with a shorter text, of which every part that can be left out is left out."""
    ends, size = time.monotonic() + seconds, len(finding.subject.text) // 2
    while size and time.monotonic() < ends:
        text = finding.subject.text
        for begin in range(0, len(text), size):
            shorter = replace(finding.subject, text=text[:begin] + text[begin + size :])
            again = tested(shorter, Random(0), Counter())
            alike = next((one for one in again if one.stage == finding.stage), None)
            if alike is not None:
                finding = alike
                break
            if time.monotonic() > ends:
                break
        else:
            size //= 2
    return finding


def _staged(
    stage: str, subject: Subject, work: Callable[[], object], most: float = MAX_STAGE_SECONDS
) -> Iterator[Finding]:
    """Do the work of a stage; yields a fault, or nothing. ``most``: CPU seconds."""
    began = time.thread_time()
    try:
        work()
    except WorkbenchError:
        pass
    except Disagreement as error:
        yield Finding(stage, str(error), subject)
    except Exception as error:
        yield Finding(stage, f"{type(error).__name__}: {error}"[:300], subject)
    if (seconds := time.thread_time() - began) > most:
        yield Finding(stage, f"took {seconds:.1f} s of CPU time", subject)


#: (subject, grammar, its samples, its near misses, random) → Disagreement, or None.
_Oracle = Callable[[Subject, Grammar, Sequence[str], Sequence[str], Random], None]


@cache
def vocabulary() -> Vocabulary:
    """All bytes, and two hundred pieces of the seeds, which cross the borders of terminals."""
    random, pieces = Random(0), dict[bytes, None]()
    texts = [text.encode() for one in load_gallery().values() for text in one.accepts]
    while len(pieces) < 200:
        text = random.choice(texts)
        begin = random.randint(0, len(text))
        piece = text[begin : begin + random.randint(2, 5)]
        if len(piece) > 1:
            pieces[piece] = None
    tokens = [*(bytes([byte]) for byte in range(256)), *pieces]
    return Vocabulary([*tokens, None], end=len(tokens), name="fuzz")


def _cut(text: bytes, random: Random) -> list[int]:
    """A random tokenization of a text."""
    ids = {token: i for i, token in enumerate(vocabulary().tokens) if token is not None}
    cuts, place = list[int](), 0
    while place < len(text):
        fits = [text[place : place + n] for n in range(1, 6) if text[place : place + n] in ids]
        piece = random.choice(fits)
        cuts.append(ids[piece])
        place += len(piece)
    return cuts


def _masks(
    _: Subject, grammar: Grammar, inside: Sequence[str], outside: Sequence[str], random: Random
) -> None:
    """Along texts, the exact methods have the same masks, which agree with ``accepts``."""
    own = compile_constraint(grammar, vocabulary(), "automaton", LIMITS)
    method = random.choice(("composed", "online", "domino"))
    others = [compile_constraint(grammar, vocabulary(), method, LIMITS)]
    for text, accepted in [*((one, True) for one in inside), *((one, False) for one in outside)]:
        states = [one.initial for one in (own, *others)]
        taken = 0
        cut = _cut(text.encode(), random)
        for token in cut:
            masks = [one.mask(state) for one, state in zip((own, *others), states, strict=True)]
            if any(set(mask.ids) != set(masks[0].ids) for mask in masks):
                raise Disagreement(f"masks differ after {taken} tokens of {text!r}")
            if token not in masks[0]:
                break
            states = [
                one.advance(state, token) for one, state in zip((own, *others), states, strict=True)
            ]
            taken += 1
        reached = taken == len(cut) and own.is_final(states[0])
        if reached != accepted:
            verb = "reach" if reached else "do not reach"
            raise Disagreement(f"the masks {verb} the end of {text!r}, accepted: {accepted}")


def _generation(
    _: Subject, grammar: Grammar, __: Sequence[str], ___: Sequence[str], random: Random
) -> None:
    """A random walk through the masks never ends without a next token, and ends in the language."""
    constraint = compile_constraint(grammar, vocabulary(), "automaton", LIMITS)
    state, text = constraint.initial, b""
    for _step in range(60):
        mask = constraint.mask(state)
        if not len(mask):
            raise Disagreement(f"no token may follow {text!r}")
        token = int(random.choice(mask.ids))
        if token in constraint.vocabulary.ends:
            break
        text += vocabulary().tokens[token] or b""
        state = constraint.advance(state, token)
    if constraint.is_final(state) != (grammar.accepts(text)):
        raise Disagreement(f"the end of {text!r}: mask {constraint.is_final(state)}")


def _conversions(
    _: Subject, grammar: Grammar, inside: Sequence[str], outside: Sequence[str], random: Random
) -> None:
    """The grammar in another notation reads the same texts."""
    to = random.choice((Notation.KBNF, Notation.GBNF, Notation.LARK))
    start = "root" if to is Notation.GBNF else "start"
    text = export(grammar, to)
    try:
        other = Grammar.from_text(text, to, start, limits=LIMITS)
    except LimitError:
        return
    except WorkbenchError as error:
        raise Disagreement(f"its {to} is refused: {error}") from error
    _compare(f"its {to}", other.accepts, inside, outside)


def _libraries(
    subject: Subject, _: Grammar, inside: Sequence[str], outside: Sequence[str], __: Random
) -> None:
    """Python's ``re`` reads a regex alike, and ``jsonschema`` a schema."""
    if subject.notation is Notation.REGEX:
        if _NAMED_GROUP.search(subject.text):
            return
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of sets that may become nested
                pattern = re.compile(subject.text)
        except (re.error, OverflowError, RecursionError):
            return
        short = [text for text in inside if len(text) <= _MAX_BACKTRACKED]
        misses = [text for text in outside if len(text) <= _MAX_BACKTRACKED]
        _compare("re", lambda text: pattern.fullmatch(text) is not None, short, misses)
    elif subject.notation is Notation.JSON_SCHEMA:
        try:
            from jsonschema import Draft202012Validator
        except ImportError:
            return
        try:
            # numbers with a fraction are decimal in JSON: 75.13 is a multiple of 0.01
            schema = json.loads(subject.text, parse_float=Decimal)
            Draft202012Validator.check_schema(schema)
            validator = Draft202012Validator(schema)
            values = (
                json.loads(text, object_pairs_hook=_unique, parse_float=Decimal) for text in inside
            )
            wrong = [
                text
                for text, value in zip(inside, values, strict=True)
                if not validator.is_valid(value)
            ]
        except Exception:  # whatever the other library cannot read
            return
        if wrong:
            raise Disagreement(f"jsonschema rejects {wrong[0]!r}")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; refuses names that occur twice, of which ``json`` reads the last alone."""
    if len(found := dict(pairs)) < len(pairs):
        raise ValueError("a name occurs twice")
    return found


#: A group that has a meaning of its own here (``syntax.regex``).
_NAMED_GROUP = re.compile(r"\(\?P<[A-Z_]+>")

#: Characters of a text that a backtracking matcher is given.
_MAX_BACKTRACKED = 24

_ORACLES: Mapping[str, _Oracle] = {
    "masks": _masks,
    "generation": _generation,
    "conversions": _conversions,
    "libraries": _libraries,
}


#: The vocabulary of these has no token for a terminal label.
_WITHOUT_LABELS = (_masks, _generation)


def _compare(
    who: str, accepts: Callable[[str], bool], inside: Sequence[str], outside: Sequence[str]
) -> None:
    for text in inside:
        if not accepts(text):
            raise Disagreement(f"{who} rejects {text!r}")
    for text in outside:
        if accepts(text):
            raise Disagreement(f"{who} accepts {text!r}")


# -- requests of the page --------------------------------------------------------------------------

#: Values that a hostile client may send in any field.
_VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 10**30, 1.5, float("nan"), float("inf"), "", "x", "\ud800", "0" * 200, [],
    [[]], [None], {}, {"": {}}, "__class__", "../../etc", "regex", "kbnf", [1, "a"],
)  # fmt: skip

#: Fields of requests.
_FIELDS = (
    "text", "notation", "start", "options", "texts", "model", "example", "tab", "centre",
    "so_far", "of", "level", "size", "width", "chains", "token", "prompt", "seed",
    "temperature", "max_tokens", "constraint", "lookahead", "small_tokens", "chat", "prefix",
    "query", "run", "from", "to", "before", "lesson", "step", "given", "figure", "methods",
    "prompts", "seeds", "steps", "records", "name", "format", "draft", "reasoning", "states",
    "edge", "state", "language", "method",
)  # fmt: skip


class Questions:
    """Asks the page's questions with random records."""

    def __init__(self) -> None:
        from workbench.app.ui.questions import QUESTIONS, answered

        self._answered = answered
        self._handlers = Handlers(ModelRoom(TOY))
        self._names = QUESTIONS.keys() - {"distribution"}  # its cost is that of the model

    def asked(self, subject: Subject, random: Random) -> Iterator[Finding]:
        """Ask one question about a text; yields an exception, or a hang."""
        name = random.choice([*self._names])
        sent: dict[str, Any] = {
            "text": subject.text[:2_000],
            "notation": str(subject.notation),
            "start": subject.start,
        }
        for _ in range(random.randint(0, 5)):
            sent[random.choice(_FIELDS)] = random.choice(_VALUES)
        yield from self.repeated(name, Subject(json.dumps(sent), subject.notation))

    def repeated(self, name: str, subject: Subject) -> Iterator[Finding]:
        """Ask a question with the record that is the text of ``subject``."""
        ask = self._handlers.within_budget(self._answered)
        sent = json.loads(subject.text)
        work = partial(ask, self._handlers, name, sent)
        yield from _staged(name, subject, work, MAX_QUESTION_SECONDS)


# -- files of runs ---------------------------------------------------------------------------------


@cache
def _recorded_runs() -> tuple[str, ...]:
    return tuple(path.read_text("utf-8") for path in sorted(GRAMMARS.glob("*.trace.ndjson")))


def changed_run(subject: Subject, random: Random) -> str:
    """The file of a recorded run with the grammar of ``subject``, after a few random changes."""
    records = [json.loads(line) for line in random.choice(_recorded_runs()).splitlines()]
    grammar = {"text": subject.text, "notation": str(subject.notation), "start": subject.start}
    records[0] |= {**grammar, "model": TOY}
    for _ in range(random.randint(0, 3)):
        place: Any = records
        while True:
            keys = range(len(place)) if isinstance(place, list) else [*place]
            key = random.choice(keys)
            if not (isinstance(place[key], list | dict) and place[key]) or random.random() < 0.1:
                break
            place = place[key]
        place[key] = random.choice(_VALUES)
    text = "\n".join(map(json.dumps, records))
    return random.choice(_EDITS)(text, random, _recorded_runs()) if random.random() < 0.2 else text


def replayed(subject: Subject, random: Random) -> Iterator[Finding]:
    """Make the page of a changed run, for one text in eight."""
    if random.random() < 1 / 8:
        changed = Subject(changed_run(subject, random), subject.notation)
        yield from _replay(changed)


def _replay(changed: Subject) -> Iterator[Finding]:
    work = partial(replay_page, changed.text)
    yield from _staged("replay", changed, work, MAX_REPLAY_SECONDS)


def again(path: Path) -> list[Finding]:
    """Test the text of a stored finding once more.

    Raises: ValueError, KeyError if the file has none.
    """
    record = json.loads(path.read_text("utf-8"))
    sent = record["subject"]
    subject = Subject(sent["text"], Notation(sent["notation"]), sent["start"])
    if record["stage"] == "replay":
        return [*_replay(subject)]
    if record["stage"] in ("build", "samples", *_ORACLES):
        return [*tested(subject, Random(0), Counter())]
    return [*Questions().repeated(record["stage"], subject)]


def stored(finding: Finding, folder: Path) -> Path:
    """Write a finding to a folder, as JSON with its text."""
    folder.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(repr(finding.subject).encode()).hexdigest()[:12]
    path = folder / f"{finding.stage}-{digest}.json"
    path.write_text(json.dumps(asdict(finding), indent=1))
    return path
