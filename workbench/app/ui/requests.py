"""The requests of the page's scripts: models that check what a browser sends.

A field has its default and its bounds; numbers are clipped to these. ``static/wire.d.ts`` has what
a script may send. A question with further fields has its model beside its function.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self, cast

from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo, model_validator

from workbench.app.pipeline import Compiled, Options
from workbench.app.ui.request_fields import (
    Checked,
    bytes_in,
    checked_switch,
    checked_text,
    field,
    integer,
    number,
    optional,
    text_in,
    texts_in,
    up_to,
)
from workbench.base.errors import WorkbenchError
from workbench.constraint.compile import METHODS, CompileOptions, MethodOptions
from workbench.constraint.token_machine import TokenMachine
from workbench.decoding.contenders import Contender, contenders_named
from workbench.decoding.model import LanguageModel, Message, context_of
from workbench.decoding.sampling import Sampling
from workbench.grammar.monitors.monitor import MONITORS
from workbench.grammar.notations import Notation, checked_options
from workbench.vocabulary.vocabulary import Vocabulary

#: Texts tried in one request, and characters of each, at most.
MAX_TRIED_TEXTS = 50
MAX_TRIED_CHARACTERS = 5_000

#: Characters of a model's name at most.
MAX_NAME = 500

#: Tokens of one run of the page at most.
MAX_RUN_TOKENS = 1_024

#: Tokens of the prefix of a run at most.
_MAX_PREFIX = 2_048

#: The largest lookahead; larger ones forbid nothing more.
_MAX_LOOKAHEAD = 1_000

#: Messages before a prompt at most.
MAX_MESSAGES = 64

#: Characters of a marker at most.
_MAX_MARKER = 100

#: The largest seed.
MAX_SEED = 2**31 - 1


def _checked_notation(value: object, _: str) -> Notation:
    try:
        return Notation(cast("Any", value))
    except ValueError:
        names = ", ".join(Notation)
        raise WorkbenchError(f"expected one of {names}, not {value!r}") from None


def _checked_start(value: object, name: str) -> str:
    return checked_text(value, name, 200) or "start"


def _checked_options(value: object, info: ValidationInfo) -> Options:
    """The options of a notation that are not the defaults."""
    options = value or {}
    if not isinstance(options, dict) or not all(
        isinstance(value, str | int) for value in options.values()
    ):
        raise WorkbenchError("expected options by name, each a text, a number or a truth value")
    notation: Notation = info.data["notation"]
    read = checked_options(notation, options)
    return tuple(sorted(notation.non_defaults("", **read).items()))


def _checked_hole(hole: object, _: str) -> tuple[str, str] | None:
    """The texts before and after a hole; None without one."""
    if not hole:
        return None
    if not isinstance(hole, dict):
        raise WorkbenchError("expected a hole with a prefix and a suffix")
    prefix, suffix = (text_in(hole, name, MAX_TRIED_CHARACTERS) for name in ("prefix", "suffix"))
    return (prefix, suffix) if prefix or suffix else None


def checked_tokens(value: object, _: str) -> list[bytes | None]:
    """Tokens as hexadecimal digits, null for the end.

    Raises: WorkbenchError where they are malformed.
    """
    if not isinstance(value, list):
        raise WorkbenchError("expected a list of tokens")
    return [None if token is None else bytes_in(token) for token in value[:MAX_TRIED_TEXTS]]


def checked_tried(value: object, _: str) -> list[str]:
    """The texts to try.

    Raises: WorkbenchError where they are not a list of texts.
    """
    return texts_in(value, "text to try", MAX_TRIED_TEXTS, MAX_TRIED_CHARACTERS)


def _checked_method(value: object, _: str) -> str:
    if not isinstance(value, str) or value not in METHODS:
        raise WorkbenchError(f"expected one of {', '.join(METHODS)}, not {value!r}")
    return value


def _checked_monitor(value: object, info: ValidationInfo) -> str:
    """The name of a monitor; empty for none, and without a mask."""
    monitor = checked_text(value, "monitor", 40)
    if monitor and monitor not in MONITORS:
        raise WorkbenchError(f"expected one of {', '.join(MONITORS)}, not {monitor!r}")
    return "" if info.data["constraint"] == "unconstrained" else monitor


def _checked_finish(value: object, info: ValidationInfo) -> bool:
    """A switch; without a mask a text may be cut: its end would be no choice of the model."""
    return checked_switch(value, "finish") and info.data["constraint"] != "unconstrained"


def checked_prefix(prefix: object, _: str = "") -> tuple[int, ...]:
    """The ids of tokens.

    Raises: WorkbenchError where they are malformed, or too many.
    """
    if not isinstance(prefix, list | tuple) or not all(type(i) is int for i in prefix):
        raise WorkbenchError("expected a list of token ids as prefix")
    if len(prefix) > _MAX_PREFIX:
        raise WorkbenchError(
            f"expected at most {_MAX_PREFIX:,} tokens to continue from, not {len(prefix):,}",
            "rewind to an earlier token",
        )
    return tuple(prefix)


def checked_run(value: object, info: ValidationInfo) -> RunRequest | None:
    """The settings of a run of the same grammar; None where they cannot be used."""
    if not isinstance(value, dict):
        return None
    grammar = {name: info.data[name] for name in GRAMMAR_FIELDS if name not in value}
    try:
        return RunRequest.of(value).with_fields(**grammar)
    except WorkbenchError:
        return None


def checked_token(token: object, _: str) -> int | None:
    """A token that is taken, or None if the model chooses.

    Raises: WorkbenchError for anything but an id.
    """
    if token is not None and type(token) is not int:
        raise WorkbenchError("expected a token id as token")
    return token


def _checked_chat(chat: object, _: str) -> tuple[Message, ...] | None:
    """The messages before the prompt; None if the prompt is a text and no message."""
    if chat is None:
        return None
    if not isinstance(chat, list) or len(chat) > MAX_MESSAGES:
        raise WorkbenchError(f"expected a list of at most {MAX_MESSAGES} messages as chat")
    if not all(isinstance(message, dict) for message in chat):
        raise WorkbenchError("expected messages with a role and a content")
    messages = tuple(
        Message(role=text_in(each, "role", 40), content=text_in(each, "content")) for each in chat
    )
    checked_text("".join(message["content"] for message in messages), "chat")
    return messages


def _checked_reasoning(part: object, _: str) -> object:
    if part is None:
        return None
    if not isinstance(part, dict):
        raise WorkbenchError("expected reasoning with opening, closing and budget")
    free_part = FreePart.of(part)
    if not free_part.closing:
        raise WorkbenchError("expected a closing marker", "such as </think>")
    return free_part


class Fields(BaseModel):
    """Checked fields of a JSON object."""

    model_config = ConfigDict(frozen=True)

    @classmethod
    def of(cls, fields: Mapping[str, object]) -> Self:
        """The fields of this type; others are ignored.

        Raises: WorkbenchError for a field that has another form.
        """
        try:
            return cls.model_validate({**fields})
        except ValidationError as error:  # the checks of fields raise other errors
            missing = ", ".join(str(each["loc"][0]) for each in error.errors())
            raise WorkbenchError(f"expected the fields {missing}") from None

    def with_fields(self, **changes: object) -> Self:
        """The same with other values in some fields, which are not checked."""
        return self.model_copy(update=changes)


class Request(Fields):
    """What a script sends with each question."""

    #: The model of the page whose tokens are meant; empty for its first one.
    model: Annotated[str, up_to(MAX_NAME)] = ""


class NotationRequest(Request):
    """The name of a notation; an unknown one has nothing to show."""

    notation: Annotated[str, up_to(40)] = ""


class TextRequest(Request):
    """The grammar in the editor."""

    text: Annotated[str, up_to()] = ""
    notation: Annotated[Notation, field(_checked_notation, sent=str)] = Notation.REGEX
    start: Annotated[str, field(_checked_start, sent=str)] = "start"
    #: The options of its notation that are not the defaults.
    options: Annotated[
        Options,
        Checked(_checked_options, dict[str, str | int | bool] | None),
    ] = ()
    #: The texts before and after a hole that is filled; None for whole texts.
    hole: Annotated[tuple[str, str] | None, field(_checked_hole, sent=dict[str, str] | None)] = None


#: The fields of a request that are a grammar.
GRAMMAR_FIELDS = {"text", "notation", "start", "options", "hole"}


class FreePart(Fields):
    """The free text of a reasoning model, before the grammar's."""

    #: Empty if the prompt ends with it.
    opening: Annotated[str, up_to(_MAX_MARKER)] = ""
    closing: Annotated[str, up_to(_MAX_MARKER)] = ""
    #: In tokens, the opening marker included.
    budget: Annotated[int, integer(0, MAX_RUN_TOKENS)] = 64


class ConstrainedRequest(TextRequest):
    """A grammar, and what else restricts a run."""

    #: The name of the method; ``unconstrained`` for the model alone.
    constraint: Annotated[str, field(_checked_method, sent=str)] = "automaton"
    #: The option ``k`` of the methods that have it; null for no bound.
    lookahead: Annotated[int | None, optional(integer(0, _MAX_LOOKAHEAD))] = None
    #: Whether only tokens of a single character are allowed.
    small_tokens: Annotated[bool, field(checked_switch, sent=bool | None)] = False
    #: Free text before the grammar's; None for none.
    reasoning: Annotated[
        FreePart | None, field(_checked_reasoning, sent=dict[str, str | int] | None)
    ] = None
    #: Whether the text must end within ``max_tokens``, those of the prefix included.
    finish: Annotated[bool, Checked(_checked_finish, bool | None)] = False
    #: The monitor that also keeps the text's meaning; empty for none.
    monitor: Annotated[str, Checked(_checked_monitor, str)] = ""

    @property
    def method_options(self) -> MethodOptions:
        """The options of the method."""
        if self.lookahead is None or "k" not in METHODS[self.constraint].options:
            return {}
        return {"k": self.lookahead}


class SampledRequest(TextRequest):
    """A grammar, a chat, and how tokens are drawn; a setting that is null is not used."""

    #: The messages before the prompt; None if the prompt is a text and no message.
    chat: Annotated[
        tuple[Message, ...] | None, field(_checked_chat, sent=list[dict[str, str]] | None)
    ] = None
    temperature: Annotated[float, number(0, 5)] = 0.7
    seed: Annotated[int, integer(0, MAX_SEED)] = 1
    top_k: Annotated[int | None, optional(integer(1, 1_000_000))] = None
    top_p: Annotated[float | None, optional(number(0.001, 1))] = None
    min_p: Annotated[float | None, optional(number(0, 1))] = None
    repetition_penalty: Annotated[float | None, optional(number(0.1, 10))] = None

    @property
    def sampling(self) -> Sampling:
        """How tokens are drawn."""
        names = ("temperature", "top_k", "top_p", "min_p", "repetition_penalty")
        settings = {name: getattr(self, name) for name in names}
        return Sampling.of({k: v for k, v in settings.items() if v is not None}, self.seed)


#: The methods whose pictures show all tokens that the grammar allows; ``branches.js`` has the same.
_EXACT = frozenset({"automaton", "composed", "unconstrained"})


class RunRequest(ConstrainedRequest, SampledRequest):
    """A requested generation."""

    prompt: Annotated[str, up_to()] = ""
    max_tokens: Annotated[int, integer(1, MAX_RUN_TOKENS)] = 128
    #: The tokens taken before.
    prefix: Annotated[tuple[int, ...], field(checked_prefix, sent=list[int])] = ()
    #: The model that proposes tokens, by its name on the page; empty for none.
    draft: Annotated[str, up_to(MAX_NAME)] = ""

    @property
    def _before(self) -> str:
        """The text before the hole; empty without one."""
        return "" if self.hole is None else self.hole[0]

    @property
    def context(self) -> str:
        """What the model reads: the prompt, and without a chat the text before the hole."""
        return self.prompt + (self._before if self.chat is None else "")

    @property
    def reply(self) -> str:
        """The beginning of the model's reply in a chat: the text before the hole."""
        return "" if self.chat is None else self._before

    def machine(self, compiled: Compiled, vocabulary: Vocabulary) -> TokenMachine:
        """The constraint of the requested method, after the free part if there is one.

        Raises: VocabularyError, LimitError; WorkbenchError where the method does not apply.
        """
        options = cast(CompileOptions, dict(self.method_options))
        if self.monitor:
            options["monitor"] = self.monitor
        answer = compiled.constraint(
            vocabulary, self.constraint, small_tokens=self.small_tokens, **options
        )
        part = self.reasoning
        if part is None:
            return answer
        return compiled.after_free_text(answer, part.opening, part.closing, part.budget)

    @property
    def narrows(self) -> bool:
        """Whether the run may allow fewer tokens than the grammar, or others."""
        return (
            self.constraint not in _EXACT
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


def _checked_prompts(prompts: object, _: str) -> tuple[str, ...]:
    """The prompts, each once."""
    if not isinstance(prompts, list):
        raise WorkbenchError("expected a list of prompts")
    texts = dict.fromkeys(checked_text(each, "prompt", MAX_TRIED_CHARACTERS) for each in prompts)
    if len(texts) > MAX_PROMPTS:
        raise WorkbenchError(f"expected at most {MAX_PROMPTS} prompts, not {len(texts)}")
    return tuple(texts) or ("",)


def _checked_methods(names: object, _: str) -> tuple[str, ...]:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise WorkbenchError("expected a list of methods by their names")
    return tuple(names)


class CompareRequest(SampledRequest):
    """A requested comparison; its runs have the ``seeds`` from ``seed`` on.

    Raises: WorkbenchError for unknown methods, for none, and for too many tokens in all.
    """

    prompts: Annotated[tuple[str, ...], field(_checked_prompts, sent=list[str])] = ("",)
    methods: Annotated[tuple[str, ...], field(_checked_methods, sent=list[str])] = ()
    seeds: Annotated[int, integer(1, MAX_SEEDS)] = 3
    seed: Annotated[int, integer(0, MAX_SEED - MAX_SEEDS)] = 1
    max_tokens: Annotated[int, integer(1, MAX_COMPARED_TOKENS)] = 64

    @property
    def contenders(self) -> tuple[Contender, ...]:
        """The methods."""
        return contenders_named(self.methods)

    @property
    def every_seed(self) -> tuple[int, ...]:
        """The seeds of all runs."""
        return tuple(range(self.seed, self.seed + self.seeds))

    @model_validator(mode="after")
    def _check_extent(self) -> Self:
        runs = len(self.prompts) * len(self.contenders) * self.seeds
        if (tokens := runs * self.max_tokens) > MAX_TOKENS_IN_ALL:
            raise WorkbenchError(
                f"{runs:,} runs of {self.max_tokens} tokens are {tokens:,} tokens;"
                f" this page takes at most {MAX_TOKENS_IN_ALL:,}",
                "choose fewer methods, seeds or tokens, or use workbench compare",
            )
        return self
