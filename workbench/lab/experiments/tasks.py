"""The papers' workloads, and greedy answers to them, which no experiment times.

A workload is a grammar of the gallery with prompts that the embedded model knows.

Questions with answers are held-out documents of the model's corpus: GSM8K's test questions, and
generated problems of a seed that training did not use. GSM8K's questions may come from a file
instead.

All methods answer one prompt over one session that remembers the model's logits, so that methods
which write the same tokens call the model once, and examples before the question are read once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np

from workbench.base.errors import WorkbenchError
from workbench.decoding.contenders import UNCONSTRAINED, PreparedContender
from workbench.decoding.measures import Surprisal
from workbench.decoding.model import LanguageModel, Logits, Message, Prompt, Session, context_of
from workbench.decoding.sampling import Sampling
from workbench.decoding.trace import StopReason, Trace
from workbench.grammar.gallery import load_gallery
from workbench.grammar.grammar import Grammar
from workbench.lab.experiments.experiment import LIMITS, Record, Setting, check_running
from workbench.lab.training.corpus import programs, structured, sums
from workbench.lab.training.corpus.document import stream
from workbench.vocabulary.vocabulary import TokenId

#: The seeds of the generated problems; training uses others.
_HELD_OUT, _DEMONSTRATED = "evaluate", "demonstrations"


@dataclass(frozen=True, eq=False)
class Task:
    """A kind of text to be generated, with its prompts."""

    name: str
    title: str
    #: The name of the gallery example with the grammar.
    example: str
    prompts: tuple[str, ...]
    source: str

    @cached_property
    def grammar(self) -> Grammar:
        """The grammar of the example."""
        entry = load_gallery()[self.example]
        return Grammar.from_kbnf(entry.text, entry.start, limits=LIMITS, name=entry.name)


@dataclass(frozen=True, slots=True)
class Question:
    """A word problem as prompt, and its answer."""

    prompt: str
    answer: float


def _generated(seed: str) -> Iterator[tuple[str, str]]:
    """Different generated problems, as prompt and JSON."""
    form = next(f for f in sums.WORD_PROBLEM_FORMATS if f.name == "word problem json")
    seen = set()
    for document in stream(form, seed):
        if document.prompt not in seen:
            seen.add(document.prompt)
            yield document.prompt, document.text


def _pairs(name: str, *, held_out: bool) -> Iterator[tuple[str, str]]:
    """Problems of a set as prompt and JSON."""
    if name == "gsm8k":
        return iter(sums.json_problems("held_out" if held_out else "train"))
    return _generated(_HELD_OUT if held_out else _DEMONSTRATED)


def demonstrations(name: str, count: int) -> str:
    """Worked problems of the training split, to be put before a question.

    Source: DOMINO, appendix D, five demonstrations as question and answer in JSON.
    """
    pairs = islice(_pairs(name, held_out=False), count)
    return "".join(f"{prompt}{text}\n\n" for prompt, text in pairs)


def questions(name: str, count: int, file: str | None = None) -> list[Question]:
    """The first ``count`` questions of ``gsm8k`` (the package has 187) or ``word_problems``.

    ``file``  JSON lines of GSM8K's questions, with ``question`` and ``answer``.

    Raises: WorkbenchError for a file of another format.
    """
    if name == "gsm8k" and file is not None:
        return _read(Path(file))[:count]
    pairs = islice(_pairs(name, held_out=True), count)
    return [Question(prompt, float(json.loads(text)["answer"])) for prompt, text in pairs]


def _read(file: Path) -> list[Question]:
    """The questions of a file; an answer is a number, or text that ends in ``#### number``."""
    found = []
    try:
        for line in file.read_text("utf-8").splitlines():
            row = json.loads(line)
            answer = str(row["answer"]).rpartition("####")[2].replace(",", "")
            prompt = f"Q: {row['question']}\nA: (Response in JSON)\n"
            found.append(Question(prompt, float(answer)))
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise WorkbenchError(
            f"cannot read GSM8K's questions from {file}: {error}",
            "name JSON lines with question and answer, such as the test split of GSM8K",
        ) from error
    return found


def answer_of(text: str) -> float | None:
    """The answer in the JSON of a worked problem; None where the text has none or is not JSON."""
    try:
        answer = json.loads(text)["answer"]
    except (ValueError, TypeError, KeyError, IndexError):
        return None
    return float(answer) if isinstance(answer, int | float) else None


def _first_prompts(name: str) -> tuple[str, ...]:
    return tuple(question.prompt for question in questions(name, 5))


_LISTINGS = "DOMINO, appendix C, listing"

_ALL = (
    Task("json", "JSON", "domino_json", structured.PERSON_PROMPTS, f"{_LISTINGS} 3"),
    Task("gsm8k", "JSON, GSM8K", "domino_gsm8k", _first_prompts("gsm8k"), f"{_LISTINGS} 4"),
    Task(
        "word_problems",
        "JSON, easy problems",
        "domino_gsm8k",
        _first_prompts("word_problems"),
        f"{_LISTINGS} 4, problems the embedded model can do",
    ),
    Task("c", "C", "domino_c", programs.PROMPTS[:6], f"{_LISTINGS} 5"),
    Task("xml", "XML", "domino_xml", structured.XML_PROMPTS[:5], f"{_LISTINGS} 6"),
    Task("rpg", "fixed template", "domino_rpg", structured.RPG_PROMPTS, f"{_LISTINGS} 7"),
)

#: Every task by its name, in the order of DOMINO's table 3.
TASKS: dict[str, Task] = {task.name: task for task in _ALL}


#: The model alone ends an answer where it begins another question.
NEXT_QUESTION = b"\nQ:"
#: Rows of logits that a session remembers at most; one of 50,000 tokens takes 200 kB.
_MAX_ROWS = 2_000


@dataclass(eq=False)
class RememberingSession:
    """A session that answers a context it has seen since ``forget`` without calling the model."""

    session: Session
    _rows: dict[tuple[TokenId, ...], Logits] = field(default_factory=dict)

    def forget(self) -> None:
        """Drop the remembered logits; the model's own cache is kept."""
        self._rows.clear()

    def logits(self, token_ids: Sequence[TokenId]) -> Logits:
        """Implements ``Session``."""
        found: Logits = self.score(token_ids, 1)[0]
        return found

    def score(self, token_ids: Sequence[TokenId], last: int) -> Logits:
        """Implements ``Session``."""
        ids = tuple(token_ids)
        contexts = [ids[:end] for end in range(len(ids) - last + 1, len(ids) + 1)]
        if not all(context in self._rows for context in contexts):
            rows = self.session.score(token_ids, last)
            if len(self._rows) + last > _MAX_ROWS:
                return rows
            for context, row in zip(contexts, rows, strict=True):
                if context not in self._rows:
                    self._rows[context] = row.copy()  # a view would keep all rows of the pass
        return np.stack([self._rows[context] for context in contexts])


def asked(model: LanguageModel, text: str, *, chat: bool) -> list[TokenId]:
    """The tokens of a prompt, as one message of a chat if ``chat``.

    Raises: ModelError for a chat, if the model has no chat template.
    """
    prompt: Prompt = [Message(role="user", content=text)] if chat else text
    return context_of(model, prompt)


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """A greedy text of one method."""

    #: Up to the last token after which the grammar accepts it, if there is one.
    text: str
    valid: bool
    #: Whether it reached the budget of tokens before it was complete.
    cut: bool
    trace: Trace

    def as_record(self) -> Record:
        """The counts that tables add up."""
        steps = [step for step in self.trace.steps if not step.is_end]
        surprisal = Surprisal.of(steps)
        return {
            "text": self.text,
            "valid": self.valid,
            "cut": self.cut,
            "nats": surprisal.nats,
            "judged": surprisal.tokens,
            "tokens": len(steps),
            "interventions": self.trace.interventions,
        }


def answer(
    setting: Setting,
    prepared: PreparedContender,
    grammar: Grammar,
    prompt: Sequence[TokenId],
    session: Session,
    tokens: int,
) -> Answer:
    """The greedy text of at most ``tokens`` tokens, fewer where the model's context ends.

    The model alone does not know where the grammar's text ends: it is stopped after the first token
    that no accepted text has, or where it begins another question (``NEXT_QUESTION``), and its
    answer is the longest part that the grammar accepts.

    Raises: Stopped; WorkbenchError where the run fails.
    """
    length = getattr(setting.model, "context_length", None)
    budget = tokens if length is None else min(tokens, length - len(prompt))
    alone = prepared.contender.method == UNCONSTRAINED
    run = prepared.start(
        prompt, Sampling(), max_tokens=budget, top=0, stop=setting.stop, session=session
    )
    text, complete, ended = b"", 0, False
    for number, step in enumerate(run, 1):
        text += step.token
        if alone:
            if grammar.accepts(text):
                complete = number
            ended = (complete and not grammar.is_prefix(text)) or NEXT_QUESTION in text
        if ended:
            break
    check_running(setting)
    trace = run.scored_trace()
    if not alone and grammar.accepts(text):
        complete = len(trace.steps)
    cut = trace.stop is StopReason.TOKEN_BUDGET and not complete and not ended
    if complete:
        trace = Trace(trace.steps[:complete], trace.stop)
    return Answer(trace.text.decode("utf-8", "backslashreplace"), complete > 0, cut, trace)
