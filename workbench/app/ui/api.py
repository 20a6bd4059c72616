"""The page's handlers as typed endpoints for programs.

``api_page`` shows their docstrings, and assistants read them if the page is served with ``--mcp``;
Gradio parses ``Args:`` and ``Returns:`` in them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial, wraps
from inspect import Parameter, isgeneratorfunction, signature
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import gradio as gr
from gradio.utils import get_function_description

from workbench.analysis.random_texts import near_misses, samples
from workbench.app.ui.admission import Events
from workbench.app.ui.compare_view import compared
from workbench.app.ui.explain_view import why
from workbench.app.ui.grammar_view import MaskRequest, allowed_tokens, check_texts, compile_grammar
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.picture_view import draw_machine
from workbench.app.ui.question import or_refusal
from workbench.app.ui.request_fields import integer, text_in
from workbench.app.ui.requests import MAX_SEED, TextRequest
from workbench.app.ui.runs import run_batches
from workbench.app.ui.streams import RUNS_AT_ONCE
from workbench.base.errors import WorkbenchError
from workbench.grammar.notations import Notation

Answer = dict[str, Any]

#: The options of a notation by name.
_Options = dict[str, str | bool | int] | None

#: Fields of pictures and steps that only the page's script uses.
_PAGE_FIELDS = frozenset({"where", "follow", "names", "ends", "path"})


def for_programs(record: Answer) -> Answer:
    """A record without the fields that only the page uses."""
    return {name: value for name, value in record.items() if name not in _PAGE_FIELDS}


def token_bytes(token: Answer) -> bytes:
    """The bytes of a token's record."""
    return bytes.fromhex(token["hex"]) if "hex" in token else token.get("text", "").encode()


def hexadecimal(text: str) -> str:
    """A text as the page sends bytes."""
    return text.encode("utf-8", "replace").hex()


def event_texts(batched: Iterator[list[Answer]]) -> Iterator[str]:
    """The events of a run, one for each batch: lines of JSON, a record each."""
    taken = b""
    # text: Gradio sends a client the differences between events, wrongly for lists in lists
    for batch in batched:
        for record in batch:
            if record["k"] == "step":
                taken += token_bytes(record["token"])
            if record["k"] == "stop":
                # an assistant sees only the last event
                record["text"] = taken.decode("utf-8", "replace")
        yield "".join(json.dumps(for_programs(record)) + "\n" for record in batch)


if TYPE_CHECKING:
    _Notation = str
else:  # the choices in the documentation of the endpoints
    _Notation = Literal[tuple(map(str, Notation))]
#: Messages of a chat, each with a role and a content.
_Chat = list[dict[str, str]] | None
#: The free part of a reasoning model.
_Reasoning = dict[str, str | int] | None
#: The texts before and after a hole.
_Hole = dict[str, str] | None
_Machine = Literal["characters", "tokens", "proper", "stack", "rules", "detokenizer"]

#: Seconds between two events of a run. Gradio's time for an event does not depend on its size.
_SECONDS = 0.25

#: Samples in one request at most.
_MAX_SAMPLES = 50


class SamplesRequest(TextRequest):
    """A grammar, and how many texts are wanted."""

    count: Annotated[int, integer(1, _MAX_SAMPLES)] = 5
    seed: Annotated[int, integer(0, MAX_SEED)] = 0


#: The endpoints that answer once; two of them are worked on at a time.
QUICK = ("compile", "check", "explain", "samples", "mask", "draw")

#: The endpoints that answer with a stream, and how many of each are worked on at a time.
STREAMED = {"generate": RUNS_AT_ONCE, "compare": 1}


class Endpoints:
    """The endpoints; each returns an error as a record too."""

    def __init__(self, handlers: Handlers) -> None:
        self._handlers = handlers

    def compile(
        self,
        text: str,
        notation: _Notation = "regex",
        start: str = "start",
        options: _Options = None,
    ) -> Answer:
        """Read a grammar: facts, problems with their places, available machines.

        Args:
            text: The grammar.
            notation: How it is written.
            start: The rule it begins with; a regex has none.
            options: Of a schema whitespace, order, format, spellings, closed, unasserted; or style.

        Returns:
            ok, facts, problems (message, hint, line, column, severity), phases with their times.
        """
        return compile_grammar(self._handlers, locals())

    def check(
        self,
        text: str,
        notation: _Notation,
        tried: str | list[str],
        start: str = "start",
        options: _Options = None,
    ) -> Answer:
        """Whether texts are accepted; if not, where each fails and what was expected there.

        Args:
            text: The grammar.
            notation: How it is written.
            tried: A text, or a list of them.
            start: The rule it begins with; a regex has none.
            options: Of a schema whitespace, order, format, spellings, closed, unasserted; or style.

        Returns:
            results, one for each text: accepted, column, expected, at_end.
        """
        texts = tried if isinstance(tried, list) else [tried]
        return check_texts(self._handlers, {**locals(), "texts": texts})

    @or_refusal
    def explain(
        self,
        text: str,
        notation: _Notation = "regex",
        so_far: str = "",
        token: str = "",
        start: str = "start",
        options: _Options = None,
    ) -> Answer:
        """Why a token is forbidden after a text: what of it was read, and what was expected next.

        Args:
            text: The grammar.
            notation: How it is written.
            so_far: What was read before.
            token: What would come next; empty asks why the text may not end here.
            start: The rule it begins with; a regex has none.
            options: Of a schema whitespace, order, format, spellings, closed, unasserted; or style.

        Returns:
            allowed, reason, read, failing, expected, stacks of rules, spans in the grammar.
        """
        read = hexadecimal(text_in({"so_far": so_far}, "so_far"))
        asked = hexadecimal(text_in({"token": token}, "token")) if token else None
        fields = {**locals(), "so_far": read}
        return why(self._handlers, {**fields, "token": asked})

    @or_refusal
    def samples(
        self,
        text: str,
        notation: _Notation = "regex",
        count: int = 5,
        seed: int = 0,
        start: str = "start",
        options: _Options = None,
    ) -> Answer:
        """Texts of the language, and texts that one edit removes from it.

        Args:
            text: The grammar.
            notation: How it is written.
            count: How many of each, at most 50.
            seed: The same seed gives the same texts.
            start: The rule it begins with; a regex has none.
            options: Of a schema whitespace, order, format, spellings, closed, unasserted; or style.

        Returns:
            samples, a list of texts; near_misses, a list of [text, what was done to a sample].
        """
        request = SamplesRequest.of(locals())
        compiled = self._handlers.compiled(request)
        if compiled.grammar is None:
            raise WorkbenchError("the grammar cannot be read", "/compile says why")
        wanted, seed = request.count, request.seed
        missed = [list(each) for each in near_misses(compiled.accepting, wanted, seed=seed)]
        return {
            "ok": True,
            "samples": list(samples(compiled.grammar, wanted, seed=seed)),
            "near_misses": missed,
        }

    @or_refusal
    def mask(
        self,
        text: str,
        notation: _Notation = "regex",
        so_far: str = "",
        start: str = "start",
        options: _Options = None,
        model: str = "",
    ) -> Answer:
        """The tokens that may come next after a text.

        Args:
            text: The grammar.
            notation: How it is written.
            so_far: What was generated before.
            start: The rule it begins with; a regex has none.
            options: Of a schema whitespace, order, format, spellings, closed, unasserted; or style.
            model: Whose tokens; empty for the first model of the page.

        Returns:
            allowed, how many; tokens, the first 500 of them; final, whether the text may end.
        """
        return allowed_tokens(self._handlers.with_model(model), MaskRequest.of(locals()))

    @or_refusal
    def draw(
        self,
        text: str,
        notation: _Notation = "regex",
        machine: _Machine = "characters",
        start: str = "start",
        options: _Options = None,
        model: str = "",
    ) -> Answer:
        """A machine of a grammar as a picture; of a large one the part around its beginning.

        Args:
            text: The grammar.
            notation: How it is written.
            machine: Which machine; nested rules have no machine of characters.
            start: The rule it begins with; a regex has none.
            options: Of a schema whitespace, order, format, spellings, closed, unasserted; or style.
            model: Whose tokens, for machines over tokens; empty for the page's first model.

        Returns:
            svg, a text; count, how much of it is shown; states and edges of the picture.
        """
        fields = {**locals(), "tab": machine}
        return for_programs(draw_machine(self._handlers.with_model(model), fields))

    def generate(
        self,
        text: str,
        notation: _Notation = "regex",
        prompt: str = "",
        max_tokens: int = 128,
        temperature: float = 0.7,
        seed: int = 1,
        start: str = "start",
        options: _Options = None,
        constraint: str = "automaton",
        model: str = "",
        lookahead: int | None = None,
        small_tokens: bool = False,
        chat: _Chat = None,
        draft: str = "",
        reasoning: _Reasoning = None,
        finish: bool = False,
        hole: _Hole = None,
        monitor: str = "",
        top_k: int | None = None,
        top_p: float | None = None,
        min_p: float | None = None,
        repetition_penalty: float | None = None,
    ) -> Iterator[str]:
        """Generate under a grammar, a record for every token; the last one says why it ended.

        Args:
            text: The grammar.
            notation: How it is written.
            prompt: What the model reads first.
            max_tokens: The most tokens, up to 1,024.
            temperature: 0 takes the likeliest token every time.
            seed: The same seed gives the same text.
            start: The rule it begins with; a regex has none.
            options: Of a schema whitespace, order, format, spellings, closed, unasserted; or style.
            constraint: automaton for the exact mask, unconstrained for none, or another method.
            model: Which model; empty for the first one of the page.
            lookahead: How far a token may reach, for methods with that option (domino).
            small_tokens: Whether only tokens of a single character are allowed.
            chat: Messages of a chat (role, content) before the prompt, the user's message; or none.
            draft: A model with the same tokens, which proposes tokens; the text stays the same.
            reasoning: Free text before the grammar's: opening, closing (markers), budget (tokens).
            finish: Whether the text must end within max_tokens.
            hole: A hole to fill instead: prefix and suffix, the texts before and after it.
            monitor: Also keeps the meaning: scope, types or keys, where the grammar fits.
            top_k: Draw from the k likeliest allowed tokens; none for all.
            top_p: Draw from the fewest tokens that together have this probability; null for all.
            min_p: Draw from tokens at least this fraction as likely as the likeliest; null for all.
            repetition_penalty: Above 1, tokens read before become less likely; none for 1.

        Returns:
            Lines of JSON, those since the last event: a record each. k is its kind: step (token, p
            and kept among others), error, and at last stop, with the whole text, and repeats where
            it fills up with white space or repeats itself.
        """
        yield from event_texts(run_batches(self._handlers, locals(), _SECONDS))

    def compare(
        self,
        text: str,
        methods: str | list[str],
        notation: _Notation = "regex",
        prompt: str | list[str] = "",
        seeds: int = 3,
        max_tokens: int = 64,
        temperature: float = 0.7,
        seed: int = 1,
        start: str = "start",
        options: _Options = None,
        model: str = "",
        chat: _Chat = None,
        top_k: int | None = None,
        top_p: float | None = None,
        min_p: float | None = None,
        repetition_penalty: float | None = None,
    ) -> Iterator[Answer]:
        """Run methods of decoding on the same prompts with the same seeds, and measure each.

        Args:
            text: The grammar.
            methods: Their names, as a list or separated by commas; an error lists all names.
            notation: How it is written.
            prompt: What the model reads first, or a list of such texts.
            seeds: How many seeds.
            max_tokens: The most tokens of a run.
            temperature: 0 takes the likeliest token every time.
            seed: The first seed.
            start: The rule it begins with; a regex has none.
            options: Of a schema whitespace, order, format, spellings, closed, unasserted; or style.
            model: Which model; empty for the first one of the page.
            chat: Messages of a chat (role, content) before each prompt, or none.
            top_k: Draw from the k likeliest allowed tokens; none for all.
            top_p: Draw from the fewest tokens that together have this probability; null for all.
            min_p: Draw from tokens at least this fraction as likely as the likeliest; null for all.
            repetition_penalty: Above 1, tokens read before become less likely; none for 1.

        Returns:
            A record for every run (method, prompt, seed, text, valid, proper, perplexity,
            mask_bits, interventions, tokens, forward_passes, tokens_per_second, or why it failed);
            at last one with all of them as runs, or an error.
        """
        fields = {
            **locals(),
            "methods": methods.split(",") if isinstance(methods, str) else methods,
            "prompts": [prompt] if isinstance(prompt, str) else prompt,
        }
        yield from compared(self._handlers, fields)


def add_endpoints(handlers: Handlers, server: gr.Server, events: Events) -> None:
    """Add the endpoints to a server that is not launched yet."""
    ours = Endpoints(handlers)
    for name in QUICK:
        endpoint = getattr(ours, name)
        server.api(
            _for_client(handlers.within_budget(endpoint), events),
            name=name,
            concurrency_id="compile",
            concurrency_limit=2,
        )
    for name, limit in STREAMED.items():
        endpoint = getattr(ours, name)
        server.api(_for_client(endpoint, events), name=name, concurrency_limit=limit)


def _for_client(endpoint: Callable[..., Any], events: Events) -> Callable[..., Any]:
    """The endpoint, whose work ends when its client leaves or reads none of its results."""
    if isgeneratorfunction(endpoint):

        def answer(request: gr.Request, *args: object) -> Any:  # noqa: ANN401
            yield from events.while_read(request.session_hash, partial(endpoint, *args))

    else:

        def answer(request: gr.Request, *args: object) -> Any:  # noqa: ANN401
            return events.while_connected(request.session_hash, partial(endpoint, *args))

    answer = wraps(endpoint)(answer)
    # Gradio passes the request to a parameter of this type, and shows the other ones
    asked = Parameter("request", Parameter.POSITIONAL_OR_KEYWORD, annotation=gr.Request)
    shown = signature(endpoint)
    vars(answer)["__signature__"] = shown.replace(parameters=[asked, *shown.parameters.values()])
    answer.__annotations__ = {"request": gr.Request, **endpoint.__annotations__}
    return answer


def label_endpoints(page: gr.Blocks) -> None:
    """Set the labels that Gradio's clients show, from the docstrings: of parameters and answers."""
    for function in page.fns.values():
        _, parameters, answers = get_function_description(
            getattr(Endpoints, str(function.api_name))
        )
        parameters.pop("self", None)
        inputs, outputs = cast("list[Any]", function.inputs), cast("list[Any]", function.outputs)
        for component, label in zip(inputs, parameters.values(), strict=True):
            component.label = label
        for component in outputs:
            component.label = " ".join(answers)
    page.config = page.get_config_file()
