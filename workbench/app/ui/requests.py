"""Checks what the browser sends, and converts it to typed requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from workbench.app.pipeline import Compiled, Options
from workbench.base.errors import WorkbenchError
from workbench.constraint.compile import METHODS, CompileOptions, MethodOptions
from workbench.constraint.token_machine import TokenMachine
from workbench.decoding.contenders import Contender, contenders_named
from workbench.decoding.model import LanguageModel, Message, context_of
from workbench.decoding.sampling import Sampling
from workbench.grammar.monitors.monitor import MONITORS
from workbench.grammar.notations import Notation, checked_options
from workbench.vocabulary.vocabulary import Vocabulary

#: Characters of a grammar or a prompt at most.
MAX_TEXT_CHARACTERS = 50_000

#: Texts tried in one request, and characters of each, at most.
MAX_TRIED_TEXTS = 50
MAX_TRIED_CHARACTERS = 5_000

#: Characters of a model's name at most.
MAX_NAME = 500

#: Tokens of one run of the page at most.
MAX_RUN_TOKENS = 1_024

#: Tokens of the prefix of a run at most.
_MAX_PREFIX = 2_048

_Fields = Mapping[str, Any]


def text_in(fields: _Fields, name: str, most: int = MAX_TEXT_CHARACTERS) -> str:
    """A text field.

    Raises: WorkbenchError where it is not a text or too long.
    """
    value = fields.get(name, "")
    if not isinstance(value, str):
        raise WorkbenchError(f"expected a text as {name}")
    if len(value) > most:
        raise WorkbenchError(
            f"the {name} has {len(value):,} characters; this page takes at most {most:,}",
            "use the command line, or the library, for larger ones",
        )
    # a lone surrogate cannot be written as UTF-8; browsers send them for broken pastes
    return value.encode("utf-8", "replace").decode("utf-8")


def number_in(fields: _Fields, name: str, default: float, low: float, high: float) -> float:
    """A number field, clipped to bounds.

    Raises: WorkbenchError where it is not a number.
    """
    value = fields.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise WorkbenchError(f"expected a number as {name}, not {value!r}")
    return min(high, max(low, value))


def notation_in(fields: _Fields) -> Notation:
    """The notation of a grammar.

    Raises: WorkbenchError for an unknown one.
    """
    named = fields.get("notation", Notation.REGEX)
    try:
        return Notation(named)
    except ValueError:
        names = ", ".join(Notation)
        raise WorkbenchError(f"expected one of {names}, not {named!r}") from None


@dataclass(frozen=True, slots=True)
class TextRequest:
    """The grammar in the editor."""

    text: str
    notation: Notation
    start: str = "start"
    #: The options of its notation that are not the defaults.
    options: Options = ()
    #: The texts before and after a hole that is filled; None for whole texts.
    hole: tuple[str, str] | None = None

    @staticmethod
    def of(fields: _Fields) -> TextRequest:
        start = text_in(fields, "start", 200) or "start"
        notation = notation_in(fields)
        options = notation_options_in(fields, notation)
        return TextRequest(text_in(fields, "text"), notation, start, options, hole_in(fields))


def notation_options_in(fields: _Fields, notation: Notation) -> Options:
    """The options of a notation that are not the defaults.

    Raises: WorkbenchError where they are malformed.
    """
    options = fields.get("options") or {}
    if not isinstance(options, dict) or not all(
        isinstance(value, str | int) for value in options.values()
    ):
        raise WorkbenchError("expected options by name, each a text, a number or a truth value")
    read = checked_options(notation, options)
    return tuple(sorted(notation.non_defaults("", **read).items()))


def hole_in(fields: _Fields) -> tuple[str, str] | None:
    """The texts before and after a hole; None without one.

    Raises: WorkbenchError where it has another form, or is too long.
    """
    hole = fields.get("hole")
    if not hole:
        return None
    if not isinstance(hole, dict):
        raise WorkbenchError("expected a hole with a prefix and a suffix")
    prefix, suffix = (text_in(hole, name, MAX_TRIED_CHARACTERS) for name in ("prefix", "suffix"))
    return (prefix, suffix) if prefix or suffix else None


def tried_in(fields: _Fields) -> list[str]:
    """The texts to try.

    Raises: WorkbenchError where they are not a list of texts.
    """
    return texts_in(fields.get("texts", []), "text to try", MAX_TRIED_TEXTS, MAX_TRIED_CHARACTERS)


def texts_in(value: object, name: str, most: int, longest: int) -> list[str]:
    """The first ``most`` texts of a list, each with at most ``longest`` characters.

    Raises: WorkbenchError where it is no such list.
    """
    if not isinstance(value, list):
        raise WorkbenchError("expected a list of texts")
    return [text_in({name: each}, name, longest) for each in value[:most]]


def bytes_in(value: object) -> bytes:
    """Bytes sent as hexadecimal digits.

    Raises: WorkbenchError where they are malformed, or too many.
    """
    if not isinstance(value, str) or len(value) > 2 * MAX_TEXT_CHARACTERS:
        raise WorkbenchError("expected bytes as hexadecimal digits")
    try:
        return bytes.fromhex(value)
    except ValueError:
        raise WorkbenchError("expected bytes as hexadecimal digits") from None


def tokens_in(fields: _Fields) -> list[bytes | None]:
    """Tokens as hexadecimal digits, null for the end.

    Raises: WorkbenchError where they are malformed.
    """
    tokens = fields.get("tokens", [])
    if not isinstance(tokens, list):
        raise WorkbenchError("expected a list of tokens")
    return [None if token is None else bytes_in(token) for token in tokens[:MAX_TRIED_TEXTS]]


def prefix_in(fields: _Fields) -> tuple[int, ...]:
    """The ids of the tokens taken before.

    Raises: WorkbenchError where they are malformed, or too many.
    """
    prefix = fields.get("prefix", [])
    if not isinstance(prefix, list) or not all(type(i) is int for i in prefix):
        raise WorkbenchError("expected a list of token ids as prefix")
    if len(prefix) > _MAX_PREFIX:
        raise WorkbenchError(
            f"expected at most {_MAX_PREFIX:,} tokens to continue from, not {len(prefix):,}",
            "rewind to an earlier token",
        )
    return tuple(prefix)


def token_in(fields: _Fields) -> int | None:
    """The token to be taken, or None if the model chooses.

    Raises: WorkbenchError for anything but an id.
    """
    token = fields.get("token")
    if token is not None and type(token) is not int:
        raise WorkbenchError("expected a token id as token")
    return token


#: The largest lookahead; larger ones forbid nothing more.
_MAX_LOOKAHEAD = 1_000


def method_in(fields: _Fields, name: str = "constraint") -> str:
    """The name of a method.

    Raises: WorkbenchError for an unknown one.
    """
    method = fields.get(name, "automaton")
    if not isinstance(method, str) or method not in METHODS:
        raise WorkbenchError(f"expected one of {', '.join(METHODS)}, not {method!r}")
    return method


def options_in(fields: _Fields, method: str) -> MethodOptions:
    """The options of a method that the page can set: ``lookahead`` is ``k``, null for no bound."""
    if fields.get("lookahead") is None or "k" not in METHODS[method].options:
        return {}
    return {"k": int(number_in(fields, "lookahead", 0, 0, _MAX_LOOKAHEAD))}


def switch_in(fields: _Fields, name: str) -> bool:
    """A switch; false by default.

    Raises: WorkbenchError where it is neither true nor false.
    """
    value = fields.get(name) or False
    if not isinstance(value, bool):
        raise WorkbenchError(f"expected true or false as {name}, not {value!r}")
    return value


#: Messages before a prompt at most.
MAX_MESSAGES = 64


def chat_in(fields: _Fields) -> tuple[Message, ...] | None:
    """The messages before the prompt; None if the prompt is a text and no message.

    Raises: WorkbenchError where they are not messages, or too long.
    """
    chat = fields.get("chat")
    if chat is None:
        return None
    if not isinstance(chat, list) or len(chat) > MAX_MESSAGES:
        raise WorkbenchError(f"expected a list of at most {MAX_MESSAGES} messages as chat")
    if not all(isinstance(message, dict) for message in chat):
        raise WorkbenchError("expected messages with a role and a content")
    messages = tuple(
        Message(role=text_in(each, "role", 40), content=text_in(each, "content")) for each in chat
    )
    text_in({"chat": "".join(message["content"] for message in messages)}, "chat")
    return messages


#: Characters of a marker at most.
_MAX_MARKER = 100


@dataclass(frozen=True, slots=True)
class FreePart:
    """The free text of a reasoning model, before the grammar's."""

    #: Empty if the prompt ends with it.
    opening: str
    closing: str
    #: In tokens, the opening marker included.
    budget: int


def reasoning_in(fields: _Fields) -> FreePart | None:
    """The free part; None without one.

    Raises: WorkbenchError where it has another form, or no closing marker.
    """
    part = fields.get("reasoning")
    if part is None:
        return None
    if not isinstance(part, dict):
        raise WorkbenchError("expected reasoning with opening, closing and budget")
    free_part = FreePart(
        text_in(part, "opening", _MAX_MARKER),
        text_in(part, "closing", _MAX_MARKER),
        int(number_in(part, "budget", 64, 0, MAX_RUN_TOKENS)),
    )
    if not free_part.closing:
        raise WorkbenchError("expected a closing marker", "such as </think>")
    return free_part


def monitor_in(fields: _Fields) -> str:
    """The name of a monitor; empty for none, and without a mask.

    Raises: WorkbenchError for an unknown one.
    """
    monitor = text_in(fields, "monitor", 40)
    if monitor and monitor not in MONITORS:
        raise WorkbenchError(f"expected one of {', '.join(MONITORS)}, not {monitor!r}")
    return "" if method_in(fields) == "unconstrained" else monitor


#: The methods whose pictures show all tokens that the grammar allows; ``branches.js`` has the same.
_EXACT = frozenset({"automaton", "composed", "unconstrained"})


#: The bounds of a setting of sampling, where it is given.
_SAMPLING_BOUNDS = {
    "top_k": (1, 1_000_000),
    "top_p": (0.001, 1),
    "min_p": (0, 1),
    "repetition_penalty": (0.1, 10),
}


def sampling_in(fields: _Fields, seed: int) -> Sampling:
    """How tokens are drawn: the temperature, and the settings that are not null.

    Raises: WorkbenchError where one is not a number.
    """
    others = {
        name: number_in(fields, name, low, low, high)
        for name, (low, high) in _SAMPLING_BOUNDS.items()
        if fields.get(name) is not None
    }
    if "top_k" in others:
        others["top_k"] = int(others["top_k"])
    return Sampling.of({"temperature": number_in(fields, "temperature", 0.7, 0, 5), **others}, seed)


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A requested generation."""

    grammar: TextRequest
    prompt: str
    sampling: Sampling
    max_tokens: int
    #: The name of the method; ``unconstrained`` for the model alone.
    method: str
    prefix: tuple[int, ...]
    #: The options of the method.
    options: MethodOptions = field(default_factory=MethodOptions)
    #: Whether only tokens of a single character are allowed.
    small_tokens: bool = False
    #: The messages before the prompt; None if the prompt is a text and no message.
    chat: tuple[Message, ...] | None = None
    #: The model that proposes tokens, by its name on the page; empty for none.
    draft: str = ""
    #: Free text before the grammar's; None for none.
    reasoning: FreePart | None = None
    #: Whether the text must end within ``max_tokens``, those of the prefix included.
    finish: bool = False
    #: The monitor that also keeps the text's meaning; empty for none.
    monitor: str = ""

    @staticmethod
    def of(fields: _Fields) -> RunRequest:
        method = method_in(fields)
        return RunRequest(
            grammar=TextRequest.of(fields),
            prompt=text_in(fields, "prompt"),
            sampling=sampling_in(fields, int(number_in(fields, "seed", 1, 0, 2**31 - 1))),
            max_tokens=int(number_in(fields, "max_tokens", 128, 1, MAX_RUN_TOKENS)),
            method=method,
            prefix=prefix_in(fields),
            options=options_in(fields, method),
            small_tokens=switch_in(fields, "small_tokens"),
            chat=chat_in(fields),
            draft=text_in(fields, "draft", MAX_NAME),
            reasoning=reasoning_in(fields),
            # without a mask a text may be cut: its end would be no choice of the model
            finish=switch_in(fields, "finish") and method != "unconstrained",
            monitor=monitor_in(fields),
        )

    @property
    def _before(self) -> str:
        """The text before the hole; empty without one."""
        return "" if self.grammar.hole is None else self.grammar.hole[0]

    @property
    def context(self) -> str:
        """What the model reads: the prompt, and without a chat the text before the hole."""
        return self.prompt + (self._before if self.chat is None else "")

    @property
    def reply(self) -> str:
        """The beginning of the model's reply in a chat: the text before the hole."""
        return "" if self.chat is None else self._before

    def constraint(self, compiled: Compiled, vocabulary: Vocabulary) -> TokenMachine:
        """The constraint of the requested method, after the free part if there is one.

        Raises: VocabularyError, LimitError; WorkbenchError where the method does not apply.
        """
        options = cast(CompileOptions, dict(self.options))
        if self.monitor:
            options["monitor"] = self.monitor
        answer = compiled.constraint(
            vocabulary, self.method, small_tokens=self.small_tokens, **options
        )
        part = self.reasoning
        if part is None:
            return answer
        return compiled.after_free_text(answer, part.opening, part.closing, part.budget)

    @property
    def narrows(self) -> bool:
        """Whether the run may allow fewer tokens than the grammar, or others."""
        return (
            self.method not in _EXACT
            or self.small_tokens
            or bool(self.monitor)
            or self.reasoning is not None
            or self.finish
        )

    def within_budget(
        self, constraint: TokenMachine, compiled: Compiled, model: LanguageModel
    ) -> TokenMachine:
        """The constraint under the budget of the whole text, which must end in it.

        Raises: as ``WithinBudget``.
        """
        room = room_left(model, self.context, 0)
        budget = self.max_tokens if room is None else min(room, self.max_tokens)
        return compiled.within_budget(constraint, budget)


def room_left(model: LanguageModel, prompt: str, taken: int) -> int | None:
    """The number of tokens until the model's context is full; None if it has no known limit.

    Raises: ModelError for a prompt that is longer than the context.
    """
    longest: int | None = getattr(model, "context_length", None)
    if longest is None:
        return None
    # the token taken last is never read
    return max(0, longest + 1 - len(context_of(model, prompt)) - taken)


#: Limits of one comparison: the page has one model for all its visitors.
MAX_PROMPTS = 10
MAX_SEEDS = 30
MAX_COMPARED_TOKENS = 512
MAX_TOKENS_IN_ALL = 60_000


@dataclass(frozen=True, slots=True)
class CompareRequest:
    """A requested comparison."""

    grammar: TextRequest
    prompts: tuple[str, ...]
    contenders: tuple[Contender, ...]
    seeds: tuple[int, ...]
    #: Its seed is replaced by each of ``seeds``.
    sampling: Sampling
    max_tokens: int
    #: The messages before each prompt; None if the prompts are texts and no messages.
    chat: tuple[Message, ...] | None

    @staticmethod
    def of(fields: Mapping[str, Any]) -> CompareRequest:
        first = int(number_in(fields, "seed", 1, 0, 2**31 - 1 - MAX_SEEDS))
        count = int(number_in(fields, "seeds", 3, 1, MAX_SEEDS))
        request = CompareRequest(
            grammar=TextRequest.of(fields),
            prompts=_prompts_in(fields),
            contenders=_contenders_in(fields),
            seeds=tuple(range(first, first + count)),
            sampling=sampling_in(fields, first),
            max_tokens=int(number_in(fields, "max_tokens", 64, 1, MAX_COMPARED_TOKENS)),
            chat=chat_in(fields),
        )
        runs = len(request.prompts) * len(request.contenders) * count
        if (tokens := runs * request.max_tokens) > MAX_TOKENS_IN_ALL:
            raise WorkbenchError(
                f"{runs:,} runs of {request.max_tokens} tokens are {tokens:,} tokens;"
                f" this page takes at most {MAX_TOKENS_IN_ALL:,}",
                "choose fewer methods, seeds or tokens, or use workbench compare",
            )
        return request


def _prompts_in(fields: Mapping[str, Any]) -> tuple[str, ...]:
    """The prompts, each once.

    Raises: WorkbenchError where they are not a list of texts, or too many.
    """
    prompts = fields.get("prompts", [""])
    if not isinstance(prompts, list):
        raise WorkbenchError("expected a list of prompts")
    texts = dict.fromkeys(
        text_in({"prompt": each}, "prompt", MAX_TRIED_CHARACTERS) for each in prompts
    )
    if len(texts) > MAX_PROMPTS:
        raise WorkbenchError(f"expected at most {MAX_PROMPTS} prompts, not {len(texts)}")
    return tuple(texts) or ("",)


def _contenders_in(fields: Mapping[str, Any]) -> tuple[Contender, ...]:
    """The methods, by their names.

    Raises: WorkbenchError for no method, and for an unknown one.
    """
    names = fields.get("methods", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise WorkbenchError("expected a list of methods by their names")
    return contenders_named(names)
