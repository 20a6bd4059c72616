"""Display in notebooks: grammars as pictures, runs as coloured tokens, replays in a frame.

The types do not know their display. ``load_ipython_extension`` registers a function of HTML for
each of them with IPython, by the names of their modules, so nothing is imported before an object is
shown. Importing ``workbench`` in a running IPython calls it; ``%load_ext workbench.app.notebook``
does the same.

The HTML has no scripts, except in a replay's frame, and no style sheet, because notebooks remove
both from untrusted files. Colours come from the notebook and the background is transparent, so the
output is readable in light and dark themes. Every text is escaped. An error in a display is not
raised: IPython then prints the ``repr``.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.base.arguments import checked
from workbench.base.errors import WorkbenchError
from workbench.base.visible_text import count_of, visible

if TYPE_CHECKING:
    from workbench.constraint.protocol import Constraint, State
    from workbench.decoding.generate import Generation
    from workbench.decoding.trace import Candidate, Step, Trace
    from workbench.drawing.drawable import Drawn
    from workbench.drawing.graph import Graph
    from workbench.grammar.grammar import Grammar

_MONO = "font-family:ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace"
_QUIET = "opacity:.72;font-size:12px"
#: The page's amber, for a token that the mask changed, and its green, for the only one allowed.
_CUT, _FORCED = "#d9822b", "#2a9d78"

#: How opaque the ground of a token is, by its surprisal in whole bits.
_OPACITY = (0.0, 0.08, 0.15, 0.23, 0.32, 0.42, 0.53, 0.65)

#: Rows of a table, and tokens of a list, at most.
_MAX_ROWS, _MAX_TOKENS, _MAX_EDGES = 400, 60, 60

_BITS = 1 / math.log(2)


class _Html(str):
    """A text that is HTML already; any other text is escaped."""

    __slots__ = ()


def _text(text: object) -> str:
    return text if isinstance(text, _Html) else html.escape(str(text), quote=True)


def _box(*parts: str) -> str:
    return f'<div style="line-height:1.5;max-width:100%">{"".join(parts)}</div>'


def _line(text: str) -> str:
    return f'<div style="{_QUIET};margin:2px 0 6px">{_text(text)}</div>'


def _code(text: str) -> str:
    return (
        f'<code style="background:none;color:inherit;{_MONO};font-size:13px">{_text(text)}</code>'
    )


# -- machines -----------------------------------------------------------------------------------


def grammar_html(grammar: Grammar) -> str:
    """A grammar: its characters as an automaton, or its rules as automata that call each other."""
    from workbench.drawing.drawable import draw

    machine = "characters" if grammar.is_regular else "rules"
    drawn = draw(grammar, machine)
    kind = "regular" if grammar.is_regular else "needs a stack"
    states = drawn.parts.states
    size = count_of(states, "state") if states else "too many states to build them all"
    return _box(_code(repr(grammar)), _line(f"{kind} · {machine} · {size}"), _picture(drawn))


def drawn_html(drawn: Drawn) -> str:
    """A machine as a picture."""
    return _box(_picture(drawn))


def _picture(drawn: Drawn) -> str:
    """The picture; without Graphviz the edges as a table."""
    from workbench.drawing.render import LayoutError

    shown = drawn.shown()
    note = _line(shown.text) if shown.shown_nodes < shown.total_nodes else ""
    try:
        svg = drawn.svg()
    except LayoutError as error:
        return _line(f"no picture: {error.message}") + _edge_table(shown.graph)
    return f'<div style="overflow:auto;max-width:100%">{svg}</div>{note}'


def _edge_table(graph: Graph) -> str:
    names = {node.id: node.label or node.id for node in graph.nodes}
    final = {node.id for node in graph.nodes if "final" in node.kinds}
    ends = {key: f"{name} (final)" if key in final else name for key, name in names.items()}
    rows = (
        (ends[edge.source], " ".join(edge.labels) or "ε", ends[edge.target])
        for edge in graph.edges[:_MAX_EDGES]
    )
    more = len(graph.edges) - _MAX_EDGES
    return _table(("state", "reads", "goes to"), rows) + (
        _line(f"and {more:,} more edges") if more > 0 else ""
    )


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table."""
    cell = "text-align:left;padding:2px 12px 2px 0;background:none;border:0;vertical-align:top"

    def filled(tag: str, value: str) -> str:
        return f'<{tag} style="{cell}">{_text(value)}</{tag}>'

    head = "".join(filled("th", each) for each in heads)
    body = "".join(
        f'<tr style="background:none">{"".join(filled("td", each) for each in row)}</tr>'
        for row in rows
    )
    return (
        f'<table style="border-collapse:collapse;{_MONO};font-size:12.5px;margin:4px 0">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


# -- a state of a constraint --------------------------------------------------------------------


def constraint_html(constraint: Constraint) -> str:
    """A constraint at its beginning: the tokens that may come first."""
    return _state_html(constraint, constraint.initial, "at the beginning")


def _state_html(constraint: Constraint, state: State, where: str) -> str:
    mask, vocabulary = constraint.mask(state), constraint.vocabulary
    ids = mask.ids.tolist()
    texts = [i for i in ids if vocabulary.tokens[i] is not None][:_MAX_TOKENS]
    chips = "".join(_chip(visible(vocabulary.tokens[i] or b""), f"token {i}") for i in texts)
    more = len(ids) - len(texts) - any(end in mask for end in vocabulary.ends)
    says = f"{where}: {len(ids):,} of {len(vocabulary):,} tokens may follow"
    if constraint.is_final(state):
        says += ", and the text may end"
    rest = _line(f"and {more:,} more") if more > 0 else ""
    return _box(_code(repr(constraint)), _line(says), f'<div style="{_MONO}">{chips}</div>', rest)


def _chip(text: str, title: str = "") -> str:
    border = "border:1px solid rgba(128,128,128,.45);border-radius:4px;padding:0 5px"
    return (
        f'<span title="{_text(title)}" style="display:inline-block;margin:0 4px 4px 0;{border};'
        f'font-size:12.5px;white-space:pre">{_text(text)}</span>'
    )


# -- runs ---------------------------------------------------------------------------------------


def trace_html(trace: Trace) -> str:
    """A run as coloured tokens, with its numbers and a table of its steps."""
    tokens = "".join(map(_token, trace.steps))
    strip = (
        f'<div style="{_MONO};font-size:14px;line-height:1.9;white-space:pre-wrap">{tokens}</div>'
    )
    return _box(_line(_numbers(trace)), strip, _LEGEND, _steps_table(trace))


def generation_html(generation: Generation) -> str:
    """The steps that were taken."""
    return trace_html(generation.trace)


def _numbers(trace: Trace) -> str:
    parts = [count_of(len(trace.steps), "token")]
    parts += [trace.stop.value if trace.stop else "not ended"]
    if not math.isnan(trace.perplexity):
        parts.append(f"perplexity {trace.perplexity:.3g}")
    if trace.interventions:
        parts.append(f"the mask changed the choice {count_of(trace.interventions, 'time')}")
    return " · ".join(parts)


def _token_text(step: Step) -> str:
    """The token as text; a line break is also a sign."""
    if step.is_end:
        return "⟨end⟩"
    if not step.token:
        return f"⟨token {step.token_id}⟩"
    return visible(step.token).replace("·", " ").replace("⏎", "⏎\n")


def _token(step: Step) -> str:
    ground = f"background:rgba(47,111,184,{_OPACITY[_bin(step)]})"
    line = f"border-bottom:2px solid {_CUT}" if step.intervened else ""
    if not line and step.forced:
        line = f"border-bottom:2px dotted {_FORCED}"
    line = line or "border-bottom:2px solid transparent"
    return (
        f'<span title="{_text(_details(step))}" style="{ground};{line};color:inherit;'
        f'border-radius:3px;padding:1px 0">{_text(_token_text(step))}</span>'
    )


def _bin(step: Step) -> int:
    if not step.is_scored:
        return 0
    return min(len(_OPACITY) - 1, int(min(step.surprisal * _BITS, 99)))


def _details(step: Step) -> str:
    """The numbers of a step, for its hover text."""
    lines = [
        f"token {step.index + 1}: {visible(step.token) or _token_text(step)} (id {step.token_id})"
    ]
    if step.is_scored:
        lines.append(
            f"surprisal {step.surprisal * _BITS:.2f} bits, probability {math.exp(step.logprob):.3g}"
        )
        lines.append(f"rank {step.rank:,}, among the allowed tokens {step.masked_rank:,}")
        lines.append(f"the mask kept {step.kept:.1%} of the probability")
    else:
        lines.append("not scored by the model")
    lines.append(f"{count_of(len(step.mask), 'token')} allowed")
    if step.intervened and step.wanted:
        lines.append(f"the model preferred {_name(step.wanted[0])}, which is forbidden")
    return "\n".join(lines)


def _name(candidate: Candidate) -> str:
    return visible(candidate.token) if candidate.token else f"⟨token {candidate.token_id}⟩"


def _swatch(style: str, text: str) -> str:
    return f'<span style="{style};padding:0 6px;border-radius:3px;margin-right:6px">{text}</span>'


_LEGEND = (
    f'<div style="{_QUIET};margin:6px 0">surprisal in bits '
    + "".join(
        _swatch(f"background:rgba(47,111,184,{opacity})", f"{bits}" if bits < 7 else "7+")
        for bits, opacity in enumerate(_OPACITY)
    )
    + _swatch(f"border-bottom:2px solid {_CUT}", "the model preferred a forbidden token")
    + _swatch(f"border-bottom:2px dotted {_FORCED}", "only one token was allowed")
    + "</div>"
)


def _steps_table(trace: Trace) -> str:
    heads = ("", "token", "bits", "kept", "rank", "allowed", "the model preferred")
    rows = (
        (
            str(step.index + 1),
            visible(step.token) or _token_text(step),
            f"{step.surprisal * _BITS:.2f}" if step.is_scored else "",
            f"{step.kept:.1%}" if step.is_scored else "",
            f"{step.rank:,}" if step.is_scored else "",
            f"{len(step.mask):,}",
            f"{_name(step.wanted[0])} ✗" if step.intervened and step.wanted else "",
        )
        for step in trace.steps[:_MAX_ROWS]
    )
    more = len(trace.steps) - _MAX_ROWS
    rest = _line(f"and {more:,} more") if more > 0 else ""
    summary = f'<summary style="{_QUIET};cursor:pointer">the tokens as a table</summary>'
    return f"<details>{summary}{_table(heads, rows)}{rest}</details>"


def step_html(step: Step) -> str:
    """A step: its numbers, and the likeliest tokens before and after the mask."""
    rows = (
        (
            _name(candidate),
            _bar(candidate.probability),
            _bar(candidate.masked_probability) if candidate.allowed else "✗ forbidden",
            "taken" if candidate.token_id == step.token_id else "",
        )
        for candidate in step.wanted
    )
    heads = ("token", "before the mask", "after the mask", "")
    says = "".join(_line(line) for line in _details(step).split("\n")[1:])
    return _box(_code(repr(step)), says, _table(heads, rows))


def _bar(share: float) -> _Html:
    width = f"width:{max(1, round(90 * share))}px;height:9px"
    colour = "background:rgba(47,111,184,.75)"
    bar = f'<span style="display:inline-block;{width};{colour};border-radius:2px"></span>'
    return _Html(f"{bar} {share:.1%}")


# -- what a caller asks for ---------------------------------------------------------------------


@dataclass(frozen=True)
class Shown:
    """HTML that a notebook displays.

    ``save`` writes it as a file.
    """

    title: str
    #: The whole page as a file has it.
    page: str = field(repr=False)
    #: What a notebook shows.
    body: str = field(repr=False)

    def _repr_html_(self) -> str:
        return self.body

    def save(self, path: str | Path) -> Path:
        """Write the page into a file.

        Raises: WorkbenchError where that is not possible.
        """
        target = Path(path)
        try:
            target.write_text(self.page, "utf-8")
        except OSError as error:
            raise WorkbenchError(
                f"{target} cannot be written: {error.strerror}", "choose another path"
            ) from None
        return target


@checked
def show(constraint: Constraint, state: State | None = None) -> Shown:
    """The tokens that may follow in a state of a constraint; without one, at the beginning."""
    if state is None:
        state = constraint.initial
    where = "at the beginning" if state == constraint.initial else f"in state {state}"
    body = _state_html(constraint, state, where)
    title = f"Tokens that may follow {where}"
    return Shown(title, _document(title, body), body)


def _document(title: str, body: str) -> str:
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{_text(title)}</title>'
        '<meta name="color-scheme" content="light dark">'
        f'<body style="font-family:system-ui,sans-serif">{body}</body></html>\n'
    )


#: The height of a replay's frame, in pixels.
_FRAME_HEIGHT = 720


@checked
def replay(
    trace: Trace, grammar: Grammar, constraint: Constraint, *, prompt: str = "", title: str = ""
) -> Shown:
    """A run with its machines, to be played: the page that ``workbench replay`` writes.

    ``constraint`` is the one under which the run was made, of this grammar.

    Raises: WorkbenchError for a run without tokens.
    """
    from workbench.app.ui.replay import replay_of

    if not trace.steps:
        raise WorkbenchError("this run has no tokens", "a replay needs at least one")
    title = title or "A run under a grammar"
    page = replay_of(trace, grammar, constraint, prompt, title)
    frame = (
        f'<iframe title="{_text(title)}" sandbox="allow-scripts" srcdoc="{_text(page)}" style="'
        f"width:100%;height:{_FRAME_HEIGHT}px;border:1px solid rgba(128,128,128,.45);"
        'border-radius:6px"></iframe>'
    )
    return Shown(title, page, frame)


# -- registration -------------------------------------------------------------------------------

_DECODING = "workbench.decoding"

#: The module and name of each type, with the function of its HTML.
DISPLAYS: dict[tuple[str, str], Callable[[Any], str]] = {
    ("workbench.grammar.grammar", "Grammar"): grammar_html,
    ("workbench.drawing.drawable", "Drawn"): drawn_html,
    (f"{_DECODING}.trace", "Trace"): trace_html,
    (f"{_DECODING}.trace", "Step"): step_html,
    (f"{_DECODING}.generate", "Generation"): generation_html,
    ("workbench.constraint.token_machine", "TokenMachine"): constraint_html,
}


def _safely(display: Callable[[Any], str]) -> Callable[[Any], str | None]:
    """A display that returns None where it fails; IPython then prints the ``repr``."""

    def shown(value: object) -> str | None:
        try:
            return display(value)
        except Exception:  # whatever it is, the cell has its value
            return None

    return shown


def load_ipython_extension(ipython: Any) -> None:  # noqa: ANN401  # a shell of IPython
    """Register the displays; ``%load_ext workbench.app.notebook`` calls this."""
    formatter = ipython.display_formatter.formatters["text/html"]
    for (module, name), display in DISPLAYS.items():
        formatter.for_type_by_name(module, name, _safely(display))
